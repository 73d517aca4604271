//! What is the utility of a release?
//!
//! The normalized certainty penalty of a column is the average width of people's labels, from 0 (every value is exact)
//! to 1 (nothing is revealed). As published, it follows from the labels and the policy alone ([`LabelWidths`]); the
//! tight penalty measures what occurs in each group in the codes of the table, and is for the owner only.
//!
//! Memory: a few numbers per quasi-identifier, the names in its sets, and the ends of its ranges of texts.

use crate::encode::attribute::{Attribute, Coding};
use crate::encode::column::Column;
use crate::encode::scale::Scale;
use crate::group::groups::{Group, Present};
use crate::policy::hierarchy::Node;
use crate::policy::{Quasi, QuasiShape};
use crate::release::label::Labels;
use crate::release::reader::{Covered, Label, LabelReader, Upper};
use crate::table::ColumnKind;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Measures of a release.
#[derive(Debug, Clone, PartialEq)]
pub struct Utility {
    /// Average people per group.
    pub average_group_size: f64,
    /// Sum of the squared group sizes: for each person, the number of people they cannot be distinguished from.
    pub discernibility: u128,
    /// Certainty penalty per quasi-identifier.
    pub columns: Vec<Penalty>,
}

/// The certainty penalty of one quasi-identifier.
#[derive(Debug, Clone, PartialEq)]
pub struct Penalty {
    /// The column.
    pub name: String,
    /// With the labels as they are published.
    pub published: f64,
    /// With the tightest labels that cover the groups.
    pub tight: f64,
}

impl Utility {
    /// The average of the published penalties over all quasi-identifiers.
    pub fn published_penalty(&self) -> f64 {
        average(self.columns.iter().map(|column| column.published))
    }

    /// The average of the tight penalties over all quasi-identifiers.
    pub fn tight_penalty(&self) -> f64 {
        average(self.columns.iter().map(|column| column.tight))
    }
}

/// A penalty as a release shows it: three digits after the decimal point.
pub fn rounded_up(penalty: f64) -> f64 {
    // Slightly less, so that 0.3 stays 0.3; and no negative zero.
    0.0 + (penalty * 1000.0 - 1e-9).ceil() / 1000.0
}

fn average(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1);
    // An empty sum is -0.
    0.0 + values.sum::<f64>() / count as f64
}

/// The average width of the labels of one column, as far as labels and the policy show it.
///
/// Numbers, dates and times: the distance between the least and the greatest value that a label holds, over the
/// configured domain, or else over the distance between the outermost ends of all labels; so a cell of one value costs
/// nothing. An open end reaches to the outermost. Sets: the share of all names that a label names. Hierarchies of the
/// policy: the share of their leaves. Prefixes: the level over the number of levels. Ranges of texts: the share of the
/// intervals between neighbouring ends.
#[derive(Debug, Clone)]
pub struct LabelWidths<'a> {
    reader: LabelReader<'a>,
    scale: Option<Scale>,
    domain: Option<(f64, f64)>,
    shape: &'a QuasiShape,
    people: u64,
    /// People whose label covers everything.
    everything: u64,
    /// Sum of shares that are known at once.
    shares: f64,
    intervals: Intervals,
    /// All names, and the sum of those in labels with several.
    names: BTreeSet<Box<str>>,
    named: u128,
    /// For each end of a range of texts, the people whose range ends there, minus those whose range begins there.
    ends: BTreeMap<Box<str>, i128>,
    without_end: u64,
}

/// Sums over ranges of numbers.
#[derive(Debug, Clone)]
struct Intervals {
    least: f64,
    greatest: f64,
    widths: f64,
    /// People whose range has no lower end, and the sum of their upper ends.
    from_below: (u64, f64),
    /// People whose range has no upper end, and the sum of their lower ends.
    to_above: (u64, f64),
}

impl<'a> LabelWidths<'a> {
    /// Starts with no labels of a column as described in the policy.
    pub fn new(quasi: &'a Quasi, kind: &ColumnKind) -> Self {
        let scale = Scale::of(kind);
        let end = |scale: Scale, text: &str| scale.parse(text).map(|key| scale.coordinate(key));
        let domain = scale.zip(quasi.domain.as_ref());
        LabelWidths {
            reader: LabelReader::new(quasi, kind),
            scale,
            domain: domain.and_then(|(scale, [low, high])| end(scale, &low.text).zip(end(scale, &high.text))),
            shape: &quasi.shape,
            people: 0,
            everything: 0,
            shares: 0.0,
            intervals: Intervals {
                least: f64::INFINITY,
                greatest: f64::NEG_INFINITY,
                widths: 0.0,
                from_below: (0, 0.0),
                to_above: (0, 0.0),
            },
            names: BTreeSet::new(),
            named: 0,
            ends: BTreeMap::new(),
            without_end: 0,
        }
    }

    /// Adds the label of some people as it is written; a text that is no label counts as covering everything.
    pub fn add_text(&mut self, people: u64, text: &str) {
        match self.reader.read(text) {
            Ok(label) => self.add(people, &label),
            Err(_) => {
                self.people += people;
                self.everything += people;
            }
        }
    }

    /// Adds the label of some people.
    pub fn add(&mut self, people: u64, label: &Label) {
        match &label.values {
            Covered::Nothing => self.people += people,
            Covered::Everything => {
                self.people += people;
                self.everything += people;
            }
            Covered::Keys { from, to } => self.add_keys(people, *from, *to),
            Covered::Period(level, name) => {
                let days = level.days_of(name).zip(self.scale);
                let keys = days.map(|((first, last), scale)| (scale.of_day(first), scale.of_day(last + 1)));
                self.add_keys(people, keys.map(|keys| keys.0), keys.map(|keys| Upper::Open(keys.1)));
            }
            Covered::Texts { from, to } => self.add_texts(people, from.as_deref(), to.as_deref()),
            Covered::Set(names) => self.add_names(people, names.iter().map(String::as_str)),
            Covered::Node(node) => self.add_node(people, *node),
            Covered::Prefix(prefix) => {
                let length = prefix.chars().count() as u64;
                let share = match self.shape {
                    QuasiShape::Prefix(lengths) => {
                        let level = lengths.iter().position(|&own| own == length).unwrap_or(lengths.len());
                        (level + 1) as f64 / (lengths.len() + 1) as f64
                    }
                    _ => 1.0,
                };
                self.people += people;
                self.shares += people as f64 * share;
            }
        }
    }

    fn add_keys(&mut self, people: u64, from: Option<i64>, to: Option<Upper>) {
        let Some(scale) = self.scale else { return self.add(people, &Label::everything()) };
        let from = from.map(|key| scale.coordinate(key));
        let to = to.map(|to| match to {
            Upper::Open(end) => scale.coordinate(end) - scale.step(),
            Upper::Closed(last) => scale.coordinate(last),
        });
        if from.is_none() && to.is_none() {
            return self.add(people, &Label::everything());
        }
        self.people += people;
        let (weight, own) = (people as f64, &mut self.intervals);
        for end in [from, to].into_iter().flatten().filter(|end| end.is_finite()) {
            (own.least, own.greatest) = (own.least.min(end), own.greatest.max(end));
        }
        let finite = |end: Option<f64>| end.filter(|end| end.is_finite());
        match (finite(from), finite(to)) {
            (Some(from), Some(to)) => own.widths += weight * (to - from),
            (None, Some(to)) => own.from_below = (own.from_below.0 + people, own.from_below.1 + weight * to),
            (Some(from), None) => own.to_above = (own.to_above.0 + people, own.to_above.1 + weight * from),
            // An infinity by itself.
            (None, None) => {}
        }
    }

    fn add_names<'n>(&mut self, people: u64, names: impl Iterator<Item = &'n str>) {
        let mut number = 0;
        for name in names {
            number += 1;
            if !self.names.contains(name) {
                self.names.insert(name.into());
            }
        }
        self.people += people;
        self.named += if number > 1 { u128::from(people) * number } else { 0 };
    }

    fn add_texts(&mut self, people: u64, from: Option<&str>, to: Option<&str>) {
        let mut weigh = |end: &str, weight: i128| match self.ends.get_mut(end) {
            Some(known) => *known += weight,
            None => {
                self.ends.insert(end.into(), weight);
            }
        };
        from.into_iter().for_each(|from| weigh(from, -i128::from(people)));
        match to {
            Some(to) => weigh(to, i128::from(people)),
            None => self.without_end += people,
        }
        self.people += people;
    }

    fn add_node(&mut self, people: u64, node: Node) {
        let share = match self.shape {
            QuasiShape::Hierarchy(tree) => match tree.range(node).len() {
                0 | 1 => 0.0,
                leaves => leaves as f64 / f64::from(tree.leaf_count()),
            },
            _ => 1.0,
        };
        self.people += people;
        self.shares += people as f64 * share;
    }

    /// The average width.
    pub fn finish(&self) -> f64 {
        let (own, everything) = (&self.intervals, self.everything as f64);
        let (low, high) = self.domain.unwrap_or((own.least, own.greatest));
        let numbers = if high > low {
            let below = own.from_below.1 - own.from_below.0 as f64 * low;
            let above = own.to_above.0 as f64 * high - own.to_above.1;
            (own.widths + below + above) / (high - low)
        } else {
            (own.from_below.0 + own.to_above.0) as f64
        };
        let names = match self.shape {
            QuasiShape::Order(order) => order.len().max(self.names.len()),
            _ => self.names.len(),
        };
        let sets = self.named as f64 / names.max(1) as f64;
        let intervals = self.ends.len() as i128 + 1;
        let ranks = (1..).zip(self.ends.values()).map(|(rank, weight)| rank * weight).sum::<i128>();
        let texts = (ranks + i128::from(self.without_end) * intervals) as f64 / intervals as f64;
        0.0 + (everything + self.shares + numbers + sets + texts) / self.people.max(1) as f64
    }
}

/// Accumulates the measures group by group.
pub struct Measure<'a> {
    columns: Vec<MeasuredColumn<'a>>,
    people: u64,
    groups: u64,
    squares: u128,
}

/// One quasi-identifier.
struct MeasuredColumn<'a> {
    column: &'a Column,
    attribute: &'a Attribute,
    labels: &'a Labels<'a>,
    published: LabelWidths<'a>,
    tight: f64,
    /// What the nodes of a hierarchy cover.
    nodes: HashMap<Node, Label>,
}

impl<'a> Measure<'a> {
    /// Starts with no groups of quasi-identifiers, which are given in one order; `attributes` are those of the table.
    pub fn new(
        quasi: impl IntoIterator<Item = (&'a Quasi, ColumnKind)>,
        columns: &'a [Column],
        attributes: &'a [Attribute],
        labels: &'a [(String, Labels<'a>)],
    ) -> Self {
        let measured = quasi.into_iter().zip(columns.iter().zip(attributes)).zip(labels);
        let measured = measured.map(|(((quasi, kind), (column, attribute)), (_, labels))| MeasuredColumn {
            column,
            attribute,
            labels,
            published: LabelWidths::new(quasi, &kind),
            tight: 0.0,
            nodes: HashMap::new(),
        });
        Measure { columns: measured.collect(), people: 0, groups: 0, squares: 0 }
    }

    /// Adds a group in the codes of the table.
    pub fn add(&mut self, group: &Group) {
        self.count(group.part.people);
        for (own, present) in self.columns.iter_mut().zip(&group.present) {
            own.add_tight(group.part.people, present);
            own.add_published(group.part.people, present);
        }
    }

    /// Adds a group of which the codes of its labels and those of the table are given.
    pub fn add_labelled(&mut self, published: &Group, tight: &Group) {
        let people = published.part.people;
        self.count(people);
        for (own, (shown, present)) in
            self.columns.iter_mut().zip(published.present.iter().zip(&tight.present))
        {
            own.add_tight(people, present);
            own.published.add_text(people, &own.labels.label(shown));
        }
    }

    fn count(&mut self, people: u64) {
        self.people += people;
        self.groups += 1;
        self.squares += u128::from(people) * u128::from(people);
    }

    /// The measures of all groups.
    pub fn finish(self) -> Utility {
        let people = self.people.max(1) as f64;
        let penalty = |own: &MeasuredColumn<'_>| Penalty {
            name: own.attribute.name.clone(),
            published: own.published.finish(),
            tight: own.tight / people,
        };
        Utility {
            average_group_size: self.people as f64 / self.groups.max(1) as f64,
            discernibility: self.squares,
            columns: self.columns.iter().map(penalty).collect(),
        }
    }
}

impl MeasuredColumn<'_> {
    fn add_tight(&mut self, people: u64, present: &Present) {
        let width = self.column.width_of(present.ends, present.codes.len());
        self.tight += people as f64 * width * share_of_domain(self.attribute, self.published.domain);
    }

    /// The same as reading the label of the group, without its text where that is easy.
    fn add_published(&mut self, people: u64, present: &Present) {
        let published = &mut self.published;
        let Some((least, greatest)) = self.labels.values(present) else {
            return published.add(people, &Label { null: true, values: Covered::Nothing });
        };
        match &self.attribute.coding {
            Coding::Numbers(_) => published.add(people, &self.labels.keys(least, greatest)),
            Coding::TextRanges { .. } => {
                let (from, to) = self.labels.texts(least, greatest);
                match (from, to) {
                    (None, None) => published.add(people, &Label::everything()),
                    (from, to) => published.add_texts(people, from, to),
                }
            }
            Coding::Set { values, .. } => {
                let codes = present.codes.iter().filter_map(|&code| self.attribute.unshifted(code.into()));
                match codes.clone().count() {
                    all if all == values.len() && all > 1 => published.add(people, &Label::everything()),
                    _ => published.add_names(people, codes.map(|code| &*values[code as usize])),
                }
            }
            Coding::Tree { hierarchy, .. } => {
                let node = hierarchy.smallest_cover(least, greatest);
                if !self.nodes.contains_key(&node) {
                    let read = published.reader.read(&self.labels.node_text(node));
                    self.nodes.insert(node, read.unwrap_or_else(|_| Label::everything()));
                }
                published.add(people, &self.nodes[&node]);
            }
        }
    }
}

/// The share of the configured domain that lies between the least and the greatest value of the table.
fn share_of_domain(attribute: &Attribute, domain: Option<(f64, f64)>) -> f64 {
    let (Coding::Numbers(ordered), Some((low, high))) = (&attribute.coding, domain) else { return 1.0 };
    match ordered.cells() {
        [least, .., greatest] => {
            let place = |key: i64| ordered.scale().coordinate(key);
            (place(greatest.first) - place(least.first)) / (high - low)
        }
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_penalty_has_three_digits_and_is_never_less() {
        for (penalty, told) in [(0.0, 0.0), (0.3, 0.3), (0.123_000_1, 0.124), (0.000_01, 0.001), (1.0, 1.0)] {
            assert_eq!(rounded_up(penalty).to_string(), told.to_string());
        }
    }
}
