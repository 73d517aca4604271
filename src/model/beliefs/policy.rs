//! The keys of the adversary who knows the correlations in the data.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use crate::math::exact::Rational;
use crate::model::privacy::{name_quasi, read_t};
use crate::policy::{Columns, Item, Mistakes, Section, fraction_text, quoted};

/// All keys.
pub(in crate::model) const KEYS: [&str; 2] = ["beliefs", "smooth"];

/// The adversary with kernel priors.
#[derive(Debug, Clone, PartialEq)]
pub struct BeliefsModel {
    /// The (B, t) that must all hold; at least one.
    pub points: Vec<BeliefBound>,
    /// The bandwidth of smoothing over the sensitive values; `None` for none.
    pub smooth: Option<Rational>,
}

/// How finely the adversary knows the table, and how far a belief may move.
#[derive(Debug, Clone, PartialEq)]
pub struct BeliefBound {
    /// The bandwidth of every quasi-identifier; all positive.
    pub bandwidth: BTreeMap<String, Rational>,
    /// The largest distance allowed; at least 0 and below 1.
    pub t: Rational,
}

impl BeliefsModel {
    pub(in crate::model) fn read(section: &Section, columns: &Columns, mistakes: &mut Mistakes) -> Self {
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
            points.push(BeliefBound { bandwidth, t: t.unwrap_or(Rational::ZERO) });
        }
        let smooth = section.get("smooth").filter(|item| item.as_text() != Some("none"));
        let smooth = smooth.and_then(|item| read_positive(&item, "a bandwidth", mistakes));
        BeliefsModel { points, smooth }
    }

    pub(in crate::model) fn write(&self, section: &str, text: &mut String) -> fmt::Result {
        writeln!(text, "model = \"beliefs\"")?;
        let smooth = self.smooth.as_ref().map_or("\"none\"".to_string(), fraction_text);
        writeln!(text, "smooth = {smooth}")?;
        for point in &self.points {
            let widths = point.bandwidth.iter();
            let widths = widths.map(|(name, width)| format!("{} = {}", quoted(name), fraction_text(width)));
            writeln!(text, "[[{section}.beliefs]]\nt = {}", fraction_text(&point.t))?;
            writeln!(text, "bandwidth = {{ {} }}", widths.collect::<Vec<_>>().join(", "))?;
        }
        Ok(())
    }
}

fn read_positive(item: &Item, what: &str, mistakes: &mut Mistakes) -> Option<Rational> {
    item.fraction_where(|b| *b > Rational::ZERO, &format!("{what} is more than 0"), "0.3", mistakes)
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
