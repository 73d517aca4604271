//! Against which adversary is each sensitive column protected?
//!
//! Shorthands are expanded here: `k_anonymity` is a minimum group size, `l_diversity` a skyline point.
//! Dominated points are dropped by the mathematics. Groups belong to the whole table: a minimum group size
//! holds for all columns. `[privacy]` also applies to columns with their own section, in addition to what is
//! written there; only a model can be replaced.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::path::Path;

use super::adversaries::{Grouping, Kind, Model};
use super::shares::ShareCriterion;
use super::skyline::SkylineModel;
use super::suppression::{self, SuppressedShare};
use super::{shares, skyline};
use crate::math::exact::Rational;
use crate::math::shares::Ground;
use crate::math::skyline::Values;
use crate::policy::{Columns, Item, Mistakes, Nearness, Section, closest, fraction_text, quoted};

/// What must hold for a release.
#[derive(Debug, Clone, PartialEq)]
pub struct Privacy {
    /// The fewest people in a group; default: 1.
    pub minimum_group_size: u64,
    /// How many people may be left out because no group is safe for them; default: nobody.
    pub suppress: SuppressedShare,
    /// What must hold for each sensitive column and for the joint one, all at once on the same groups.
    pub targets: Vec<Target>,
}

/// A protected column, or a protected combination of columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// One sensitive column, or those of `joint`.
    pub columns: Vec<String>,
    /// How many values a person may have.
    pub values: Values,
    /// The adversary.
    pub model: Model,
    /// The fewest distinct values in a group; default: 1.
    pub minimum_distinct: u64,
    /// Criteria of other tools, in addition to the model.
    pub criteria: Vec<ShareCriterion>,
}

impl Target {
    /// Whether nearly equal numbers are protected together.
    pub fn has_closeness_rule(&self) -> bool {
        self.model.skyline().is_some_and(SkylineModel::has_closeness_rule)
    }

    /// The name of the column; the names of a combination are joined by `+`.
    pub fn name(&self) -> String {
        self.columns.join("+")
    }

    /// Whether something bounds how closely a number is learned, not only whether it is learned exactly.
    pub fn bounds_closeness(&self) -> bool {
        let ordered = |criterion: &ShareCriterion| {
            matches!(criterion, ShareCriterion::Closeness { distance: Ground::Ordered, .. })
        };
        self.criteria.iter().any(ordered) || self.model.bounds_closeness()
    }
}

/// Keys about a column other than those of the models and of the share criteria.
const OTHER_COLUMN_KEYS: [&str; 4] = ["model", "values", "minimum_distinct", "distinct_l_diversity"];

/// Keys that are defined, or proven, only if every person has exactly one value.
const SINGLE_ONLY: [&str; 4] =
    [skyline::L_DIVERSITY, shares::T_CLOSENESS, "distinct_l_diversity", shares::LARGEST_SHARE];

/// The largest l, k, m, implications and group size.
pub(super) const MAX_COUNT: u64 = 1_000_000_000;

/// Keys about a column; allowed in `[privacy]` and `[privacy.column.NAME]`.
fn column_keys() -> Vec<&'static str> {
    let models = Kind::NAMES.iter().flat_map(|(_, kind)| kind.keys());
    OTHER_COLUMN_KEYS.iter().chain(models).chain(&shares::KEYS).copied().collect()
}

/// The context for reading a model.
#[derive(Clone, Copy)]
pub(super) struct Reading<'a> {
    /// The roles of the columns.
    pub columns: &'a Columns,
    /// The folder of the policy.
    pub folder: &'a Path,
}

impl Privacy {
    pub(super) fn read(
        section: &Section,
        columns: &Columns,
        folder: &Path,
        mistakes: &mut Mistakes,
    ) -> Privacy {
        let group_keys = ["k_anonymity", "minimum_group_size", suppression::KEY, "column"];
        section.only(&column_keys().into_iter().chain(group_keys).collect::<Vec<_>>(), mistakes);
        let reading = Reading { columns, folder };
        let size = |key: &str, mistakes: &mut Mistakes| {
            section.get(key).map_or(1, |item| item.whole(1..=MAX_COUNT, mistakes).unwrap_or(MAX_COUNT))
        };
        let minimum_group_size = size("k_anonymity", mistakes).max(size("minimum_group_size", mistakes));
        let mut names: Vec<Vec<String>> =
            columns.sensitive.iter().map(|column| vec![column.name.clone()]).collect();
        if columns.joint.len() > 1 {
            names.push(columns.joint.clone());
        }
        let own = own_sections(section, &names, mistakes);
        let takes =
            |name: &Vec<String>| own.get(&name.join("+")).is_none_or(|own| takes_shared_model(own, section));
        let taken = names.is_empty() || names.iter().any(takes);
        let model = taken.then(|| read_shared_model(section, reading, mistakes));
        if !taken {
            refuse_unused_model(section, mistakes);
        }
        let (minimum_distinct, criteria) = read_other(section, mistakes);
        let shared = |model| Shared { section, model, minimum_distinct, criteria: &criteria };
        // Mistakes below [privacy] are reported once, regardless of the number of columns without a section.
        let base = (names.is_empty() || names.iter().any(|name| !own.contains_key(&name.join("+"))))
            .then(|| read_target(section, &shared(model.as_ref()), reading, mistakes));
        let mut targets = Vec::new();
        for name in names {
            let own = own.get(&name.join("+"));
            let mut target = match (&base, own) {
                (_, Some(own)) => {
                    let model = model.as_ref().filter(|_| takes_shared_model(own, section));
                    read_target(own, &shared(model), reading, mistakes)
                }
                (Some(base), None) => base.clone(),
                (None, None) => continue,
            };
            target.columns = name;
            target.check(own.unwrap_or(section), section, columns, minimum_group_size, mistakes);
            targets.push(target);
        }
        let suppress = read_suppress(section, &targets, mistakes);
        Privacy { minimum_group_size, suppress, targets }
    }

    /// Whether the values of a sensitive column are published apart from those of the others: people have several of some.
    pub fn stand_apart(&self) -> bool {
        self.targets.len() > 1 && self.targets.iter().any(|target| target.values != Values::Single)
    }

    /// Writes `[privacy]` and a section for every protected column.
    pub(super) fn write(&self, text: &mut String) -> fmt::Result {
        writeln!(text, "[privacy]\nminimum_group_size = {}", self.minimum_group_size)?;
        if self.suppress.allows_some() {
            writeln!(text, "{} = {}", suppression::KEY, fraction_text(self.suppress.exact()))?;
        }
        self.targets.iter().try_for_each(|target| target.write(text))
    }
}

/// How many people may be left out, which every model must be able to judge.
fn read_suppress(section: &Section, targets: &[Target], mistakes: &mut Mistakes) -> SuppressedShare {
    let Some(item) = section.get(suppression::KEY) else { return SuppressedShare::NOBODY };
    if let Some(other) = targets.iter().map(|target| &target.model).find(|model| !model.may_leave_out()) {
        let problem = format!("model = {} leaves nobody out", quoted(other.name()));
        item.wrong(
            problem,
            "leave it out: only \"robust\" and \"beliefs\" can judge who is missing",
            mistakes,
        );
    }
    SuppressedShare::read(&item, mistakes)
}

/// The sections `[privacy.column.NAME]` of protected columns.
fn own_sections<'a>(
    section: &Section<'a>,
    names: &[Vec<String>],
    mistakes: &mut Mistakes,
) -> BTreeMap<String, Section<'a>> {
    let known: Vec<String> = names.iter().map(|name| name.join("+")).collect();
    let mut own = BTreeMap::new();
    let Some(item) = section.get("column") else { return own };
    let Some(table) = item.section("[privacy.column.NAME]", mistakes) else { return own };
    for (name, item) in table.entries() {
        let Some(stated) = item.section("[privacy.column.NAME]", mistakes) else { continue };
        if !known.contains(&name) {
            let remedy = match closest(&name, known.iter().map(String::as_str)) {
                Some(near) => format!("did you mean {near}?"),
                None => "name a column of columns.sensitive, or the joint one as a+b".to_string(),
            };
            item.wrong("is not a sensitive column", remedy, mistakes);
            continue;
        }
        stated.only(&column_keys(), mistakes);
        own.insert(name, stated);
    }
    own
}

impl Target {
    fn write(&self, text: &mut String) -> fmt::Result {
        let section = format!("privacy.column.{}", quoted(&self.name()));
        writeln!(text, "[{section}]\nvalues = \"{}\"", self.values.name())?;
        writeln!(text, "minimum_distinct = {}", self.minimum_distinct)?;
        self.criteria.iter().try_for_each(|criterion| criterion.write(text))?;
        self.model.write(&section, text)
    }

    /// Records mistakes that can only be found once the column is known.
    fn check(
        &self,
        stated: &Section,
        shared: &Section,
        columns: &Columns,
        group_size: u64,
        mistakes: &mut Mistakes,
    ) {
        let configured = |key: &&str| stated.get(key).or_else(|| shared.get(key)).is_some();
        let says_nothing = self.model.protects_nothing()
            && !self.model.keys().iter().chain(&shares::KEYS).any(configured)
            && self.minimum_distinct == 1
            && group_size == 1;
        if says_nothing {
            let remedy = "add [[privacy.skyline]] with l, k, m and confidence, or k_anonymity = 10";
            let problem = format!("states nothing that protects column {}", quoted(&self.name()));
            mistakes.add(stated.at, &stated.key, problem, remedy);
        }
        let place = |key: &str| stated.get(key).map_or(stated.at, |item: Item| item.at);
        if self.model.grouping() == Grouping::SimilarPeople && columns.sensitive.len() > 1 {
            let remedy = "keep one sensitive column, or choose another model";
            let problem = format!("{} makes groups for one sensitive column only", quoted(self.model.name()));
            mistakes.add(place("model"), &format!("{}.model", stated.key), problem, remedy);
        }
        let joint = self.columns.len() > 1;
        if joint && self.values != Values::Single {
            let remedy = "leave out columns.joint, or make its columns single-valued";
            let problem = "a joint column has one value per person";
            mistakes.add(place("values"), &format!("{}.values", stated.key), problem, remedy);
        }
        if !joint && self.values != Values::Single && columns.joint.contains(&self.name()) {
            let remedy = format!("leave {} out of columns.joint", quoted(&self.name()));
            let problem = "a list has no single value that could be joined with those of other columns";
            mistakes.add(place("values"), &format!("{}.values", stated.key), problem, remedy);
        }
        if self.has_closeness_rule() && (joint || self.values != Values::Single) {
            let problem = match joint {
                true => "within protects numbers, and a joint column holds combinations",
                false => "within is defined where every person has one value",
            };
            let remedy =
                "write the point below the [privacy.column.NAME] of a column with one number per person";
            mistakes.add(place("skyline"), &format!("{}.skyline", stated.key), problem, remedy);
        }
        let ordered = |criterion: &ShareCriterion| {
            matches!(criterion, ShareCriterion::Closeness { distance: Ground::Ordered, .. })
        };
        let nearness = columns.sensitive(&self.name()).map(|column| &column.nearness);
        if self.criteria.iter().any(ordered)
            && !matches!(nearness, Some(Nearness::Numeric | Nearness::Order(_)))
        {
            let remedy = format!(
                "state it: [columns.sensitive.{}] order = \"numeric\" or a list of values from low to high",
                self.name()
            );
            let key = format!("{}.t_closeness", stated.key);
            let problem = format!("column {} has no order", quoted(&self.name()));
            mistakes.add(place("t_closeness"), &key, problem, remedy);
        }
    }
}

/// The rules below `[privacy]`, which also apply to columns with their own section.
struct Shared<'a> {
    /// `[privacy]`.
    section: &'a Section<'a>,
    /// The model there, if the column does not replace it.
    model: Option<&'a Model>,
    /// The fewest distinct values there.
    minimum_distinct: u64,
    /// The criteria there.
    criteria: &'a [ShareCriterion],
}

/// The model that a section names, otherwise that of `base`.
fn named<'a>(section: &Section<'a>, base: &Section<'a>) -> &'a str {
    let name = |section: &Section<'a>| section.get("model").and_then(|item| item.as_text());
    name(section).or_else(|| name(base)).unwrap_or(Kind::DEFAULT.name())
}

/// Whether the model below `[privacy]` applies to a column with this section: the section names no other
/// model and, unless the rules of the model add up, has no numbers of its own for it.
fn takes_shared_model(section: &Section, base: &Section) -> bool {
    let kind = named(base, base);
    let own = Kind::NAMES.iter().find(|(name, _)| *name == kind).map(|(_, kind)| *kind);
    let replaces = |kind: Kind| !kind.adds_up() && kind.keys().iter().any(|key| section.get(key).is_some());
    named(section, base) == kind && !own.is_some_and(replaces)
}

/// Records a mistake for each rule of the model below `[privacy]` that no column uses.
fn refuse_unused_model(base: &Section, mistakes: &mut Mistakes) {
    for key in Kind::NAMES.iter().flat_map(|(_, kind)| kind.keys()) {
        if let Some(item) = base.get(key) {
            let remedy = "move it below one of the [privacy.column.NAME], or leave it out";
            item.wrong("is used by no column: each states a model of its own", remedy, mistakes);
        }
    }
}

/// Reads the rules of a section other than its model.
fn read_other(section: &Section, mistakes: &mut Mistakes) -> (u64, Vec<ShareCriterion>) {
    let distinct = |key: &str, mistakes: &mut Mistakes| {
        section.get(key).map_or(1, |item| item.whole(1..=MAX_COUNT, mistakes).unwrap_or(MAX_COUNT))
    };
    let minimum_distinct =
        distinct("minimum_distinct", mistakes).max(distinct("distinct_l_diversity", mistakes));
    (minimum_distinct, shares::read(section, mistakes))
}

/// The model below `[privacy]`.
fn read_shared_model(base: &Section, reading: Reading<'_>, mistakes: &mut Mistakes) -> Model {
    let kind = Kind::NAMES.iter().find(|(name, _)| *name == named(base, base));
    kind.map_or(Kind::DEFAULT, |(_, kind)| *kind).read(base, reading, mistakes)
}

/// Reads a section; if it does not set `model` and `values`, the shared ones apply, and shared rules are
/// added.
///
/// For a column without its own section, `section` is the shared one.
fn read_target(section: &Section, shared: &Shared, reading: Reading<'_>, mistakes: &mut Mistakes) -> Target {
    let base = shared.section;
    let has_own = section.key != base.key;
    let own_or_base = |key: &str| section.get(key).or_else(|| base.get(key));
    let kind = own_or_base("model").and_then(|item| item.choice(&Kind::NAMES, mistakes));
    let kind = kind.unwrap_or(Kind::DEFAULT);
    let values = own_or_base("values").and_then(|item| item.choice(&Values::NAMES, mistakes));
    let values = values.unwrap_or(Values::Single);
    for (_, owner) in Kind::NAMES.into_iter().filter(|(_, owner)| *owner != kind) {
        for item in owner.keys().iter().filter_map(|key| section.get(key)) {
            let problem = format!("belongs to model = {}", quoted(owner.name()));
            item.wrong(problem, format!("leave it out, or change model = {}", quoted(kind.name())), mistakes);
        }
    }
    if values != Values::Single {
        let remedy = "write values = \"single\", or protect the column by [[privacy.skyline]] points";
        let problem = format!("is not defined for values = {}", quoted(values.name()));
        let taken = |key: &&str| *key != skyline::L_DIVERSITY || shared.model.is_some();
        let of_base = SINGLE_ONLY.into_iter().filter(taken).filter_map(|key| base.get(key));
        let own = SINGLE_ONLY.into_iter().filter(|_| has_own).filter_map(|key| section.get(key));
        for item in own.chain(of_base) {
            item.wrong(problem.clone(), remedy, mistakes);
        }
        if !kind.takes_several_values() {
            let at = own_or_base("model").map_or(section.at, |item| item.at);
            let key = format!("{}.model", section.key);
            mistakes.add(at, &key, format!("{} {problem}", quoted(kind.name())), remedy);
        }
    }
    let model = match shared.model {
        Some(model) if has_own => model.extended(section, mistakes),
        Some(model) => model.clone(),
        None => kind.read(section, reading, mistakes),
    };
    let (mut minimum_distinct, mut criteria) = (shared.minimum_distinct, shared.criteria.to_vec());
    if has_own {
        let (own_minimum, own) = read_other(section, mistakes);
        minimum_distinct = minimum_distinct.max(own_minimum);
        own.into_iter().for_each(|criterion| shares::add(&mut criteria, criterion, section, mistakes));
    }
    Target { columns: Vec::new(), values, model, minimum_distinct, criteria }
}

/// Reads the confidence that an adversary must not reach.
pub(super) fn read_confidence(section: &Section, mistakes: &mut Mistakes) -> Option<Rational> {
    let Some(item) = section.get("confidence") else {
        section.missing(
            "confidence",
            "write how sure the adversary must not become: confidence = 0.5",
            mistakes,
        );
        return None;
    };
    let allowed = |c: &Rational| *c > Rational::ZERO && *c <= Rational::ONE;
    item.fraction_where(allowed, "a confidence is more than 0 and at most 1", "0.5 or \"1/3\"", mistakes)
}

/// Distances of distributions are between 0 and 1, so 1 would allow everything.
pub(super) fn read_t(item: &Item, mistakes: &mut Mistakes) -> Option<Rational> {
    let allowed = |t: &Rational| *t >= Rational::ZERO && *t < Rational::ONE;
    item.fraction_where(allowed, "t is at least 0 and less than 1", "0.2", mistakes)
}

/// How to name a misspelled quasi-identifier.
pub(super) fn name_quasi(name: &str, columns: &Columns) -> String {
    match closest(name, columns.quasi.iter().map(|column| column.name.as_str())) {
        Some(near) => format!("did you mean {near}?"),
        None => "name a column of columns.quasi".to_string(),
    }
}
