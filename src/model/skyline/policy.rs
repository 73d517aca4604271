//! The keys of the skyline in a policy.

use std::fmt::{self, Write};

use crate::error::Result;
use crate::math::exact::Rational;
use crate::math::skyline::{Knowledge, Point, Within};
use crate::model::privacy::{MAX_COUNT, read_confidence};
use crate::model::protection::threshold;
use crate::policy::{Item, Mistakes, Section, fraction_text, list_text, quoted};

/// The key of recursive (c,l)-diversity.
pub(in crate::model) const L_DIVERSITY: &str = "l_diversity";
/// All keys.
pub(in crate::model) const KEYS: [&str; 2] = ["skyline", L_DIVERSITY];

/// The adversary with (l,k,m) knowledge; safe if every breach is below its confidence.
#[derive(Debug, Clone, PartialEq)]
pub struct SkylineModel {
    /// The points that must all hold.
    pub points: Vec<SkylineRequirement>,
}

/// A skyline point and the sensitive values it protects.
#[derive(Debug, Clone, PartialEq)]
pub struct SkylineRequirement {
    /// The protected values.
    pub values: ProtectedValues,
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
pub enum ProtectedValues {
    /// Every value of the column.
    Every,
    /// These, sorted.
    These(Vec<String>),
    /// Every value but these, sorted.
    Except(Vec<String>),
    /// Every window of numbers that are this near to each other.
    Near(Within),
}

impl ProtectedValues {
    /// The values that it names.
    pub fn named(&self) -> &[String] {
        match self {
            ProtectedValues::Every | ProtectedValues::Near(_) => &[],
            ProtectedValues::These(names) | ProtectedValues::Except(names) => names,
        }
    }
}

impl SkylineRequirement {
    /// What the adversary knows, and how sure they may become.
    pub(in crate::model) fn point(&self) -> Result<Point> {
        let knowledge = Knowledge { l: self.l, k: self.k, m: self.m };
        Ok(Point { knowledge, confidence: threshold(&self.confidence)? })
    }
}

impl SkylineModel {
    /// Whether nearly equal numbers are protected together.
    pub fn has_closeness_rule(&self) -> bool {
        self.points.iter().any(|point| matches!(point.values, ProtectedValues::Near(_)))
    }

    pub(in crate::model) fn read(section: &Section, mistakes: &mut Mistakes) -> Self {
        SkylineModel { points: read_skyline(section, mistakes) }
    }

    /// One step less of l, of k or of m at one of the points.
    pub(in crate::model) fn relaxed(&self) -> Vec<(String, Self)> {
        let mut relaxed = Vec::new();
        for (at, point) in self.points.iter().enumerate() {
            let (l, k, m) = (point.l, point.k, point.m);
            let size = match self.points.len() {
                1 => format!("({l},{k},{m})"),
                _ => format!("({l},{k},{m}) below {}", point.confidence),
            };
            let fewer = if k > 10 { k / 2 } else { k.saturating_sub(1) };
            let steps = [
                ("l", l > 0, SkylineRequirement { l: l.saturating_sub(1), ..point.clone() }),
                ("k", k > 0, SkylineRequirement { k: fewer, ..point.clone() }),
                ("m", m > 0, SkylineRequirement { m: m.saturating_sub(1), ..point.clone() }),
            ];
            for (key, _, less) in steps.into_iter().filter(|(_, possible, _)| *possible) {
                let number = match key {
                    "l" => less.l,
                    "k" => less.k,
                    _ => less.m,
                };
                let mut points = self.points.clone();
                points[at] = less;
                relaxed.push((format!("{key} = {number} at {size}"), SkylineModel { points }));
            }
        }
        relaxed
    }

    /// No point protects this value any longer.
    pub(in crate::model) fn except(&mut self, value: &str) {
        for point in &mut self.points {
            match &mut point.values {
                ProtectedValues::Every => point.values = ProtectedValues::Except(vec![value.to_string()]),
                ProtectedValues::These(names) => names.retain(|name| name != value),
                ProtectedValues::Except(names) => {
                    if let Err(place) = names.binary_search_by(|name| name.as_str().cmp(value)) {
                        names.insert(place, value.to_string());
                    }
                }
                ProtectedValues::Near(_) => {}
            }
        }
    }

    /// Adds the points of a further section.
    pub(in crate::model) fn extended(&self, section: &Section, mistakes: &mut Mistakes) -> Self {
        let mut points = self.points.clone();
        for point in read_skyline(section, mistakes) {
            if !points.contains(&point) {
                points.push(point);
            }
        }
        SkylineModel { points }
    }

    pub(in crate::model) fn write(&self, section: &str, text: &mut String) -> fmt::Result {
        writeln!(text, "model = \"skyline\"")?;
        for point in &self.points {
            writeln!(text, "[[{section}.skyline]]")?;
            let values = list_text(point.values.named().iter().map(|value| quoted(value)));
            match &point.values {
                ProtectedValues::Every => {}
                ProtectedValues::These(_) => writeln!(text, "for = {values}")?,
                ProtectedValues::Except(_) => writeln!(text, "except = {values}")?,
                ProtectedValues::Near(within) => writeln!(text, "within = {}", quoted(&within.to_string()))?,
            }
            let (l, k, m, confidence) = (point.l, point.k, point.m, fraction_text(&point.confidence));
            writeln!(text, "l = {l}\nk = {k}\nm = {m}\nconfidence = {confidence}")?;
        }
        Ok(())
    }
}

fn read_skyline(section: &Section, mistakes: &mut Mistakes) -> Vec<SkylineRequirement> {
    let mut requirements = Vec::new();
    let points = section.get("skyline").map_or(Vec::new(), |item| item.sections(mistakes));
    if let Some(item) = section.get("skyline").filter(|item| item.items().is_empty()) {
        item.wrong("has no points", "add [[privacy.skyline]] with l, k, m and confidence", mistakes);
    }
    for point in points {
        point.only(&["for", "except", "within", "l", "k", "m", "confidence"], mistakes);
        let mut count = |key: &str| match point.get(key) {
            Some(item) => item.whole(0..=MAX_COUNT, mistakes),
            None => Some(0),
        };
        let (l, k, m) = (count("l"), count("k"), count("m"));
        let values = read_protected(&point, mistakes);
        let confidence = read_confidence(&point, mistakes);
        if let (Some(values), Some(l), Some(k), Some(m), Some(confidence)) = (values, l, k, m, confidence) {
            requirements.push(SkylineRequirement { values, l, k, m, confidence });
        }
    }
    if let Some(item) = section.get("l_diversity")
        && let Some(point) = read_l_diversity(&item, mistakes)
    {
        requirements.push(point);
    }
    requirements
}

fn read_protected(point: &Section, mistakes: &mut Mistakes) -> Option<ProtectedValues> {
    if let Some(within) = point.get("within") {
        if point.get("for").is_none() && point.get("except").is_none() {
            return read_within(&within, mistakes);
        }
        let remedy = "leave out for and except: every window of values is protected";
        within.wrong("cannot stand beside for", remedy, mistakes);
        return None;
    }
    let (item, protected): (Item, fn(Vec<String>) -> ProtectedValues) =
        match (point.get("for"), point.get("except")) {
            (None, None) => return Some(ProtectedValues::Every),
            (Some(item), None) => (item, ProtectedValues::These),
            (None, Some(item)) => (item, ProtectedValues::Except),
            (Some(_), Some(item)) => {
                item.wrong("stands beside for", "keep either for or except", mistakes);
                return None;
            }
        };
    let mut values = item.labels(mistakes);
    if values.is_empty() {
        item.wrong("names no value", "list values, or leave it out to protect every value", mistakes);
        return None;
    }
    values.sort();
    Some(protected(values))
}

fn read_within(item: &Item, mistakes: &mut Mistakes) -> Option<ProtectedValues> {
    let text = item.label(mistakes)?;
    let within = Within::parse(&text).filter(|within| !within.is_empty());
    if within.is_none() {
        let remedy = "write how wide a window is: a number above 0, such as 1000, or a share, such as \"5%\"";
        item.wrong("is not a width", remedy, mistakes);
    }
    within.map(ProtectedValues::Near)
}

/// Strict (c,l)-diversity is the point (l-2, 0, 0) with confidence c/(c+1) for every value.
fn read_l_diversity(item: &Item, mistakes: &mut Mistakes) -> Option<SkylineRequirement> {
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
    Some(SkylineRequirement { values: ProtectedValues::Every, l: l - 2, k: 0, m: 0, confidence })
}
