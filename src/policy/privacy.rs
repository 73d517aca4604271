//! Against which adversary is each sensitive column protected?
//!
//! Shorthands are expanded here: `k_anonymity` is a minimum group size, `l_diversity` the skyline point
//! (l-2, 0, 0) with confidence c/(c+1) for every value. Dropping dominated points is left to the
//! mathematics. Groups belong to the whole table: a minimum group size holds for all columns. What stands below
//! `[privacy]` holds for columns with a section of their own too, beside what stands there; only a model can be replaced.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::columns::{Columns, Nearness};
use super::models::{
    Shared, read_beside, read_shared_model, read_target, refuse_unused_model, takes_shared_model,
};
use super::parse::{Item, Mistakes, Section, closest, quoted};
use crate::math::exact::Rational;

/// What must hold for a release.
#[derive(Debug, Clone, PartialEq)]
pub struct Privacy {
    /// The fewest people in a group; 1 if nothing is stated.
    pub minimum_group_size: u64,
    /// What must hold for each sensitive column and for the joint one; all at once, on the same groups.
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
    /// The fewest distinct values in a group; 1 if nothing is stated.
    pub minimum_distinct: u64,
    /// Criteria of other tools, beside the model.
    pub criteria: Vec<Criterion>,
}

impl Target {
    /// The name of the column; the names of a combination are joined by `+`.
    pub fn name(&self) -> String {
        self.columns.join("+")
    }
}

/// How a combination of values is named, such as in `for`: `Flu + Nurse`, in the order of [`Target::columns`].
///
/// Different combinations have different names: where a value itself holds a `+` or a `\`, a `\` stands before it.
/// One value alone is its own name.
pub fn joint_value(values: &[&str]) -> String {
    match values {
        [only] => (*only).to_string(),
        _ => {
            let escaped = values.iter().map(|value| value.replace('\\', "\\\\").replace('+', "\\+"));
            escaped.collect::<Vec<_>>().join(" + ")
        }
    }
}

/// The values of a combination, from the name that [`joint_value`] gives to it.
pub fn joint_parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut rest = name;
    while let Some(next) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix(" + ") {
            parts.push(String::new());
            rest = after;
            continue;
        }
        let (own, after) = match rest.strip_prefix('\\') {
            Some(escaped) => (escaped.chars().next(), escaped),
            None => (Some(next), rest),
        };
        parts.iter_mut().next_back().into_iter().for_each(|part| part.extend(own));
        rest = &after[own.map_or(0, char::len_utf8)..];
    }
    parts
}

/// How many sensitive values a person may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// Exactly one.
    Single,
    /// Any number, each at most once.
    Set,
    /// Any number, also repeated.
    Multiset,
}

impl Values {
    /// All modes with their names in a policy.
    pub const NAMES: [(&'static str, Values); 3] =
        [("single", Values::Single), ("set", Values::Set), ("multiset", Values::Multiset)];

    /// The name in a policy.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }
}

/// An adversary, with what it knows and how sure it may become.
#[derive(Debug, Clone, PartialEq)]
pub enum Model {
    /// (l,k,m) knowledge; safe if every breach is below its confidence.
    Skyline(Vec<Requirement>),
    /// Any `knows` implications; safe if the maximum disclosure is below the confidence.
    Implications {
        /// The number of implications.
        knows: u64,
        /// How sure the adversary must not become.
        confidence: Rational,
    },
    /// Distributions of values; safe if every posterior is at most 1/r.
    Robust(Robust),
    /// Kernel priors; safe if every belief moves by at most t.
    Beliefs(Beliefs),
}

/// A skyline point and the sensitive values it protects.
#[derive(Debug, Clone, PartialEq)]
pub struct Requirement {
    /// The protected values.
    pub values: Protected,
    /// Values that the target is known not to have.
    pub l: u64,
    /// Other people whose values are known.
    pub k: u64,
    /// People who are known to share the target's value.
    pub m: u64,
    /// The breach must be below this; above 0, at most 1.
    pub confidence: Rational,
}

/// Which sensitive values a requirement protects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Protected {
    /// Every value of the column.
    Every,
    /// These, sorted.
    These(Vec<String>),
}

/// The adversary who knows distributions.
#[derive(Debug, Clone, PartialEq)]
pub struct Robust {
    /// No posterior may be above 1/r; more than 1.
    pub r: Rational,
    /// The sets of quasi-identifiers whose distributions are known; each sorted.
    pub known: Vec<Vec<String>>,
    /// Where the distributions come from.
    pub distributions: Distributions,
    /// How a group is tested.
    pub test: RobustTest,
}

/// Where the distributions come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Distributions {
    /// From the table itself.
    Estimated,
    /// From a table of signature columns, value and probability.
    File {
        /// As written in the policy.
        given: String,
        /// Relative to the folder of the policy.
        path: PathBuf,
    },
}

/// How a group is tested for r-robustness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RobustTest {
    /// The ratio condition: sound and cheap.
    Ratio,
    /// Exact posteriors.
    Exact,
    /// The printed condition: no guarantee, for comparison only.
    Delta,
}

impl RobustTest {
    /// All tests with their names in a policy.
    pub const NAMES: [(&'static str, RobustTest); 3] =
        [("ratio", RobustTest::Ratio), ("exact", RobustTest::Exact), ("delta", RobustTest::Delta)];
}

/// The adversary with kernel priors.
#[derive(Debug, Clone, PartialEq)]
pub struct Beliefs {
    /// The (B, t) that must all hold; at least one.
    pub points: Vec<Belief>,
    /// The bandwidth of smoothing over the sensitive values; `None` for none.
    pub smooth: Option<Rational>,
}

/// How finely the adversary knows the table, and how far a belief may move.
#[derive(Debug, Clone, PartialEq)]
pub struct Belief {
    /// The bandwidth of every quasi-identifier; all positive.
    pub bandwidth: BTreeMap<String, Rational>,
    /// The largest distance allowed; at least 0 and below 1.
    pub t: Rational,
}

/// A criterion of other tools, to compare with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Criterion {
    /// The values of a group are at most `t` away from those of the table.
    Closeness {
        /// The largest distance allowed.
        t: Rational,
        /// How far values are from each other.
        distance: Distance,
    },
    /// No value has more than the share 1/l of a group.
    LargestShare {
        /// More than 1.
        l: Rational,
    },
}

/// How far sensitive values are from each other for t-closeness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distance {
    /// All equally far.
    Equal,
    /// By their order, which the policy states.
    Ordered,
}

impl Distance {
    /// All distances with their names in a policy.
    pub const NAMES: [(&'static str, Distance); 2] =
        [("equal", Distance::Equal), ("ordered", Distance::Ordered)];
}

/// Kinds of models, by their names in a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Skyline,
    Implications,
    Robust,
    Beliefs,
}

impl Kind {
    pub const NAMES: [(&'static str, Kind); 4] = [
        ("skyline", Kind::Skyline),
        ("implications", Kind::Implications),
        ("robust", Kind::Robust),
        ("beliefs", Kind::Beliefs),
    ];

    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }
}

/// Keys that say something about a column; `[privacy]` has them, and `[privacy.column.NAME]`.
pub(super) const COLUMN_KEYS: [&str; 16] = [
    "model",
    "values",
    "skyline",
    "l_diversity",
    "implications",
    "confidence",
    "r",
    "known",
    "distributions",
    "test",
    "beliefs",
    "smooth",
    "minimum_distinct",
    "distinct_l_diversity",
    "probabilistic_l_diversity",
    "t_closeness",
];

/// The largest l, k, m, implications and group size.
pub(super) const MAX_COUNT: u64 = 1_000_000_000;

impl Privacy {
    pub(super) fn read(
        section: &Section,
        columns: &Columns,
        folder: &std::path::Path,
        mistakes: &mut Mistakes,
    ) -> Privacy {
        let group_keys = ["k_anonymity", "minimum_group_size", "column"];
        section.only(&COLUMN_KEYS.into_iter().chain(group_keys).collect::<Vec<_>>(), mistakes);
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
        let model = taken.then(|| read_shared_model(section, columns, folder, mistakes));
        if !taken {
            refuse_unused_model(section, mistakes);
        }
        let (minimum_distinct, criteria) = read_beside(section, mistakes);
        let shared = |model| Shared { section, model, minimum_distinct, criteria: &criteria };
        // Mistakes below [privacy] are told once, whatever the number of columns that have no section.
        let base = (names.is_empty() || names.iter().any(|name| !own.contains_key(&name.join("+"))))
            .then(|| read_target(section, &shared(model.as_ref()), columns, folder, mistakes));
        let mut targets = Vec::new();
        for name in names {
            let own = own.get(&name.join("+"));
            let mut target = match (&base, own) {
                (_, Some(own)) => {
                    let model = model.as_ref().filter(|_| takes_shared_model(own, section));
                    read_target(own, &shared(model), columns, folder, mistakes)
                }
                (Some(base), None) => base.clone(),
                (None, None) => continue,
            };
            target.columns = name;
            target.check(own.unwrap_or(section), section, columns, minimum_group_size, mistakes);
            targets.push(target);
        }
        Privacy { minimum_group_size, targets }
    }
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
        stated.only(&COLUMN_KEYS, mistakes);
        own.insert(name, stated);
    }
    own
}

impl Target {
    /// What can only be told once the column is known.
    fn check(
        &self,
        stated: &Section,
        shared: &Section,
        columns: &Columns,
        group_size: u64,
        mistakes: &mut Mistakes,
    ) {
        let stated_some = ["skyline", "l_diversity", "t_closeness", "probabilistic_l_diversity"]
            .into_iter()
            .any(|key| stated.get(key).or_else(|| shared.get(key)).is_some());
        let says_nothing = matches!(&self.model, Model::Skyline(_))
            && !stated_some
            && self.minimum_distinct == 1
            && group_size == 1;
        if says_nothing {
            let remedy = "add [[privacy.skyline]] with l, k, m and confidence, or k_anonymity = 10";
            let problem = format!("states nothing that protects column {}", quoted(&self.name()));
            mistakes.add(stated.at, &stated.key, problem, remedy);
        }
        let place = |key: &str| stated.get(key).map_or(stated.at, |item: Item| item.at);
        if matches!(self.model, Model::Robust(_)) && columns.sensitive.len() > 1 {
            let remedy = "keep one sensitive column, or choose another model";
            let problem = "\"robust\" makes groups for one sensitive column only";
            mistakes.add(place("model"), &format!("{}.model", stated.key), problem, remedy);
        }
        let joint = self.columns.len() > 1;
        if joint && self.values != Values::Single {
            let remedy = "leave out columns.joint, or make its columns single-valued";
            let problem = "a joint column has one value per person";
            mistakes.add(place("values"), &format!("{}.values", stated.key), problem, remedy);
        }
        let ordered = |criterion: &Criterion| {
            matches!(criterion, Criterion::Closeness { distance: Distance::Ordered, .. })
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
