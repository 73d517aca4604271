//! What does a section say about the adversary?

use std::collections::BTreeMap;
use std::path::Path;

use super::columns::Columns;
use super::parse::{Item, Mistakes, Section, closest, quoted};
use super::privacy::{
    Belief, Beliefs, Criterion, Distance, Distributions, Kind, MAX_COUNT, Model, Protected, Requirement,
    Robust, RobustTest, Target, Values,
};
use crate::math::exact::Rational;
use crate::math::implications::IMPLICATIONS_LIMIT;

/// Which model each of these keys belongs to.
const OF_MODEL: [(&str, Kind); 10] = [
    ("skyline", Kind::Skyline),
    ("l_diversity", Kind::Skyline),
    ("implications", Kind::Implications),
    ("confidence", Kind::Implications),
    ("r", Kind::Robust),
    ("known", Kind::Robust),
    ("distributions", Kind::Robust),
    ("test", Kind::Robust),
    ("beliefs", Kind::Beliefs),
    ("smooth", Kind::Beliefs),
];

/// What is defined, or proved, only where every person has exactly one value.
const SINGLE_ONLY: [&str; 4] =
    ["l_diversity", "t_closeness", "distinct_l_diversity", "probabilistic_l_diversity"];

/// The rules below `[privacy]`, which hold for columns with a section of their own too.
pub(super) struct Shared<'a> {
    /// `[privacy]`.
    pub section: &'a Section<'a>,
    /// The model there, if the column does not replace it.
    pub model: Option<&'a Model>,
    /// The fewest distinct values there.
    pub minimum_distinct: u64,
    /// The criteria there.
    pub criteria: &'a [Criterion],
}

/// The model that a section names, or else `base`.
fn named<'a>(section: &Section<'a>, base: &Section<'a>) -> &'a str {
    let name = |section: &Section<'a>| section.get("model").and_then(|item| item.as_text());
    name(section).or_else(|| name(base)).unwrap_or(Kind::Skyline.name())
}

/// Whether the model below `[privacy]` holds for a column with this section: it names no other one and, since only
/// skyline points add up, no numbers of its own for any other model.
pub(super) fn takes_shared_model(section: &Section, base: &Section) -> bool {
    let kind = named(base, base);
    let states = |(key, owner): &(&str, Kind)| owner.name() == kind && section.get(key).is_some();
    named(section, base) == kind && (kind == Kind::Skyline.name() || !OF_MODEL.iter().any(states))
}

/// Says of each rule of the model below `[privacy]` that no column takes it.
pub(super) fn refuse_unused_model(base: &Section, mistakes: &mut Mistakes) {
    for (key, _) in OF_MODEL {
        if let Some(item) = base.get(key) {
            let remedy = "move it below one of the [privacy.column.NAME], or leave it out";
            item.wrong("is used by no column: each states a model of its own", remedy, mistakes);
        }
    }
}

/// Reads the rules of a section that are beside its model.
pub(super) fn read_beside(section: &Section, mistakes: &mut Mistakes) -> (u64, Vec<Criterion>) {
    let distinct = |key: &str, mistakes: &mut Mistakes| {
        section.get(key).map_or(1, |item| item.whole(1..=MAX_COUNT, mistakes).unwrap_or(MAX_COUNT))
    };
    let minimum_distinct =
        distinct("minimum_distinct", mistakes).max(distinct("distinct_l_diversity", mistakes));
    (minimum_distinct, read_criteria(section, mistakes))
}

/// The model below `[privacy]`.
pub(super) fn read_shared_model(
    base: &Section,
    columns: &Columns,
    folder: &Path,
    mistakes: &mut Mistakes,
) -> Model {
    let kind = Kind::NAMES.iter().find(|(name, _)| *name == named(base, base));
    read_model(base, kind.map_or(Kind::Skyline, |(_, kind)| *kind), columns, folder, mistakes)
}

fn read_model(
    section: &Section,
    kind: Kind,
    columns: &Columns,
    folder: &Path,
    mistakes: &mut Mistakes,
) -> Model {
    match kind {
        Kind::Skyline => Model::Skyline(read_skyline(section, mistakes)),
        Kind::Implications => read_implications(section, mistakes),
        Kind::Robust => Model::Robust(read_robust(section, columns, folder, mistakes)),
        Kind::Beliefs => Model::Beliefs(read_beliefs(section, columns, mistakes)),
    }
}

/// Reads a section; `model` and `values` that it does not state are the shared ones, and shared rules are added.
///
/// For a column without a section of its own, `section` is the shared one.
pub(super) fn read_target(
    section: &Section,
    shared: &Shared,
    columns: &Columns,
    folder: &Path,
    mistakes: &mut Mistakes,
) -> Target {
    let base = shared.section;
    let has_own = section.key != base.key;
    let own_or_base = |key: &str| section.get(key).or_else(|| base.get(key));
    let kind = own_or_base("model").and_then(|item| item.choice(&Kind::NAMES, mistakes));
    let kind = kind.unwrap_or(Kind::Skyline);
    let values = own_or_base("values").and_then(|item| item.choice(&Values::NAMES, mistakes));
    let values = values.unwrap_or(Values::Single);
    for (key, owner) in OF_MODEL {
        if let Some(item) = section.get(key).filter(|_| owner != kind) {
            let problem = format!("belongs to model = {}", quoted(owner.name()));
            item.wrong(problem, format!("leave it out, or change model = {}", quoted(kind.name())), mistakes);
        }
    }
    if values != Values::Single {
        let remedy = "write values = \"single\", or protect the column by [[privacy.skyline]] points";
        let problem = format!("is not defined for values = {}", quoted(values.name()));
        let taken = |key: &&str| *key != "l_diversity" || shared.model.is_some();
        let of_base = SINGLE_ONLY.into_iter().filter(taken).filter_map(|key| base.get(key));
        let own = SINGLE_ONLY.into_iter().filter(|_| has_own).filter_map(|key| section.get(key));
        for item in own.chain(of_base) {
            item.wrong(problem.clone(), remedy, mistakes);
        }
        if kind != Kind::Skyline {
            let at = own_or_base("model").map_or(section.at, |item| item.at);
            let key = format!("{}.model", section.key);
            mistakes.add(at, &key, format!("{} {problem}", quoted(kind.name())), remedy);
        }
    }
    let model = match shared.model {
        Some(Model::Skyline(points)) if has_own => {
            let mut points = points.clone();
            let own = read_skyline(section, mistakes);
            own.into_iter().for_each(|point| {
                if !points.contains(&point) {
                    points.push(point);
                }
            });
            Model::Skyline(points)
        }
        Some(model) => model.clone(),
        None => read_model(section, kind, columns, folder, mistakes),
    };
    let (mut minimum_distinct, mut criteria) = (shared.minimum_distinct, shared.criteria.to_vec());
    if has_own {
        let (own_minimum, own) = read_beside(section, mistakes);
        minimum_distinct = minimum_distinct.max(own_minimum);
        own.into_iter().for_each(|criterion| add_criterion(&mut criteria, criterion, section, mistakes));
    }
    Target { columns: Vec::new(), values, model, minimum_distinct, criteria }
}

/// Adds a criterion; of two that differ in their number only, the stricter one is enough.
fn add_criterion(criteria: &mut Vec<Criterion>, own: Criterion, section: &Section, mistakes: &mut Mistakes) {
    for shared in criteria.iter_mut() {
        match (shared, &own) {
            (Criterion::LargestShare { l: shared }, Criterion::LargestShare { l }) => {
                *shared = shared.clone().max(l.clone());
                return;
            }
            (
                Criterion::Closeness { t: shared, distance: shared_distance },
                Criterion::Closeness { t, distance },
            ) => {
                if shared_distance == distance {
                    *shared = shared.clone().min(t.clone());
                } else if let Some(item) = section.get("t_closeness") {
                    let remedy =
                        "give both the same distance, or move the shared one below the other columns";
                    item.wrong(
                        "has another distance than privacy.t_closeness, which holds too",
                        remedy,
                        mistakes,
                    );
                }
                return;
            }
            _ => {}
        }
    }
    criteria.push(own);
}

fn read_confidence(section: &Section, mistakes: &mut Mistakes) -> Option<Rational> {
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

fn read_skyline(section: &Section, mistakes: &mut Mistakes) -> Vec<Requirement> {
    let mut requirements = Vec::new();
    let points = section.get("skyline").map_or(Vec::new(), |item| item.sections(mistakes));
    if let Some(item) = section.get("skyline").filter(|item| item.items().is_empty()) {
        item.wrong("has no points", "add [[privacy.skyline]] with l, k, m and confidence", mistakes);
    }
    for point in points {
        point.only(&["for", "l", "k", "m", "confidence"], mistakes);
        let mut count = |key: &str| match point.get(key) {
            Some(item) => item.whole(0..=MAX_COUNT, mistakes),
            None => Some(0),
        };
        let (l, k, m) = (count("l"), count("k"), count("m"));
        let values = match point.get("for") {
            Some(item) => read_protected(&item, mistakes),
            None => Some(Protected::Every),
        };
        let confidence = read_confidence(&point, mistakes);
        if let (Some(values), Some(l), Some(k), Some(m), Some(confidence)) = (values, l, k, m, confidence) {
            requirements.push(Requirement { values, l, k, m, confidence });
        }
    }
    if let Some(item) = section.get("l_diversity")
        && let Some(point) = read_l_diversity(&item, mistakes)
    {
        requirements.push(point);
    }
    requirements
}

fn read_protected(item: &Item, mistakes: &mut Mistakes) -> Option<Protected> {
    let mut values = item.labels(mistakes);
    if values.is_empty() {
        let remedy = "list the values to protect, or leave out for to protect every value";
        item.wrong("names no value", remedy, mistakes);
        return None;
    }
    values.sort();
    Some(Protected::These(values))
}

/// Strict (c,l)-diversity is the point (l-2, 0, 0) with confidence c/(c+1) for every value.
fn read_l_diversity(item: &Item, mistakes: &mut Mistakes) -> Option<Requirement> {
    let example = "l_diversity = { c = 3, l = 6 }";
    let stated = item.section(example, mistakes)?;
    stated.only(&["c", "l"], mistakes);
    for key in ["c", "l"] {
        if stated.get(key).is_none() {
            stated.missing(key, &format!("write {example}"), mistakes);
        }
    }
    let positive = |c: &Rational| *c > Rational::ZERO;
    let c = stated.get("c").and_then(|item| item.fraction_where(positive, "c is more than 0", "3", mistakes));
    let l = stated.get("l").and_then(|item| item.whole(2..=MAX_COUNT, mistakes));
    let (c, l) = (c?, l?);
    let confidence = &c / (&c + Rational::ONE);
    Some(Requirement { values: Protected::Every, l: l - 2, k: 0, m: 0, confidence })
}

fn read_implications(section: &Section, mistakes: &mut Mistakes) -> Model {
    let knows = match section.get("implications") {
        Some(item) => item.whole(0..=IMPLICATIONS_LIMIT as u64, mistakes),
        None => {
            section.missing("implications", "write how many the adversary knows: implications = 3", mistakes);
            None
        }
    };
    let confidence = read_confidence(section, mistakes);
    Model::Implications { knows: knows.unwrap_or(MAX_COUNT), confidence: confidence.unwrap_or(Rational::ONE) }
}

fn read_robust(section: &Section, columns: &Columns, folder: &Path, mistakes: &mut Mistakes) -> Robust {
    if columns.quasi.is_empty() {
        let problem = "\"robust\" needs a quasi-identifier";
        mistakes.add(section.at, &section.key, problem, "add [columns.quasi.NAME]");
    }
    let r = match section.get("r") {
        Some(item) => item.fraction_where(|r| *r > Rational::ONE, "r is more than 1", "2", mistakes),
        None => {
            section.missing("r", "no posterior is above 1/r: write r = 3", mistakes);
            None
        }
    };
    let known = match section.get("known") {
        Some(item) => read_known(&item, columns, mistakes),
        None => {
            let all: Vec<String> = columns.quasi.iter().map(|column| column.name.clone()).collect();
            let mut known: Vec<Vec<String>> = all.iter().map(|name| vec![name.clone()]).collect();
            known.push(all);
            known
        }
    };
    let mut known = known;
    known.sort();
    known.dedup();
    let distributions = section.get("distributions").and_then(|item| item.text("\"estimated\"", mistakes));
    let distributions = match distributions {
        Some(given) if given != "estimated" => {
            let path = folder.join(&given);
            Distributions::File { given, path }
        }
        _ => Distributions::Estimated,
    };
    let test = section.get("test").and_then(|item| item.choice(&RobustTest::NAMES, mistakes));
    let test = test.unwrap_or(RobustTest::Ratio);
    Robust { r: r.unwrap_or(Rational::ONE), known, distributions, test }
}

fn read_known(item: &Item, columns: &Columns, mistakes: &mut Mistakes) -> Vec<Vec<String>> {
    let mut known = Vec::new();
    for list in item.items() {
        let mut set = Vec::new();
        for (name, at) in list.texts("[[\"age\"], [\"age\", \"sex\"]]", mistakes) {
            if columns.quasi(&name).is_none() {
                let problem = format!("{} is not a quasi-identifier", quoted(&name));
                mistakes.add(at, &list.key, problem, name_quasi(&name, columns));
            }
            set.push(name);
        }
        set.sort();
        known.push(set);
    }
    if known.iter().all(Vec::is_empty) {
        item.wrong("names no column", "list sets of columns: [[\"age\"], [\"age\", \"sex\"]]", mistakes);
    }
    known
}

fn name_quasi(name: &str, columns: &Columns) -> String {
    match closest(name, columns.quasi.iter().map(|column| column.name.as_str())) {
        Some(near) => format!("did you mean {near}?"),
        None => "name a column of columns.quasi".to_string(),
    }
}

fn read_beliefs(section: &Section, columns: &Columns, mistakes: &mut Mistakes) -> Beliefs {
    if columns.quasi.is_empty() {
        let problem = "\"beliefs\" needs a quasi-identifier";
        mistakes.add(section.at, &section.key, problem, "add [columns.quasi.NAME]");
    }
    let stated = section.get("beliefs").map_or(Vec::new(), |item| item.sections(mistakes));
    if stated.is_empty() {
        section.missing("beliefs", "add [[privacy.beliefs]] with bandwidth = 0.3 and t = 0.2", mistakes);
    }
    let mut points = Vec::new();
    for point in stated {
        point.only(&["bandwidth", "t"], mistakes);
        let bandwidth = match point.get("bandwidth") {
            Some(item) => read_bandwidth(&item, columns, mistakes),
            None => {
                point.missing("bandwidth", "write bandwidth = 0.3", mistakes);
                BTreeMap::new()
            }
        };
        let t = match point.get("t") {
            Some(item) => read_t(&item, mistakes),
            None => {
                point.missing("t", "write how far a belief may move: t = 0.2", mistakes);
                None
            }
        };
        points.push(Belief { bandwidth, t: t.unwrap_or(Rational::ZERO) });
    }
    let smooth = section.get("smooth").filter(|item| item.as_text() != Some("none"));
    let smooth = smooth.and_then(|item| read_positive(&item, "a bandwidth", mistakes));
    Beliefs { points, smooth }
}

fn read_positive(item: &Item, what: &str, mistakes: &mut Mistakes) -> Option<Rational> {
    item.fraction_where(|b| *b > Rational::ZERO, &format!("{what} is more than 0"), "0.3", mistakes)
}

/// Distances of distributions lie between 0 and 1, so 1 would allow everything.
fn read_t(item: &Item, mistakes: &mut Mistakes) -> Option<Rational> {
    let allowed = |t: &Rational| *t >= Rational::ZERO && *t < Rational::ONE;
    item.fraction_where(allowed, "t is at least 0 and less than 1", "0.2", mistakes)
}

/// One bandwidth for all quasi-identifiers, or one for each.
fn read_bandwidth(item: &Item, columns: &Columns, mistakes: &mut Mistakes) -> BTreeMap<String, Rational> {
    let names = columns.quasi.iter().map(|column| column.name.clone());
    if !item.is_table() {
        let one = read_positive(item, "a bandwidth", mistakes);
        return one.map_or(BTreeMap::new(), |one| names.map(|name| (name, one.clone())).collect());
    }
    let mut bandwidth = BTreeMap::new();
    let Some(stated) = item.section("bandwidth = { age = 0.2 }", mistakes) else { return bandwidth };
    for (name, item) in stated.entries() {
        if columns.quasi(&name).is_none() {
            item.wrong("is not a quasi-identifier", name_quasi(&name, columns), mistakes);
        }
        if let Some(width) = read_positive(&item, "a bandwidth", mistakes) {
            bandwidth.insert(name, width);
        }
    }
    for name in names.filter(|name| stated.get(name).is_none()) {
        stated.missing(&name, "give every quasi-identifier its bandwidth, or one number for all", mistakes);
    }
    bandwidth
}

fn read_criteria(section: &Section, mistakes: &mut Mistakes) -> Vec<Criterion> {
    let mut criteria = Vec::new();
    if let Some(item) = section.get("t_closeness")
        && let Some(stated) = item.section("t_closeness = { t = 0.2, distance = \"equal\" }", mistakes)
    {
        stated.only(&["t", "distance"], mistakes);
        let distance = stated.get("distance").and_then(|item| item.choice(&Distance::NAMES, mistakes));
        let distance = distance.unwrap_or(Distance::Equal);
        match stated.get("t") {
            Some(item) => {
                let t = read_t(&item, mistakes);
                criteria.extend(t.map(|t| Criterion::Closeness { t, distance }));
            }
            None => stated.missing("t", "write how far a group may be from the table: t = 0.2", mistakes),
        }
    }
    if let Some(item) = section.get("probabilistic_l_diversity") {
        let l = item.fraction_where(|l| *l > Rational::ONE, "l is more than 1", "3", mistakes);
        criteria.extend(l.map(|l| Criterion::LargestShare { l }));
    }
    criteria
}
