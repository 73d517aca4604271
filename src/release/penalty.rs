//! What is the utility of a release?
//!
//! The normalized certainty penalty of a column is the average width of people's labels, from 0 (every value is exact)
//! to 1 (nothing is revealed). As published, it follows from the labels and the policy alone ([`LabelWidths`]). It
//! differs from the penalty of the tightest labels only where a generalization function gives labels.
//!
//! Memory: a few numbers per quasi-identifier, the names in its sets, and the ends of its ranges of texts.

use crate::encode::attribute::{Attribute, Coding};
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

fn average(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1);
    // An empty sum is -0.
    0.0 + values.sum::<f64>() / count as f64
}

/// The average width of the labels of one column, as far as labels and the policy show it.
///
/// Numbers, dates and times: the distance between the least and the greatest value that a label holds, over the
/// configured domain, or else over the distance between the outermost ends of all labels; so a cell of one value costs
/// nothing. An open end reaches to the outermost. Sets: the share of all names, null among them, that a label names. Hierarchies of the
/// policy: the share of their leaves. A prefix is one of all prefixes of its length that labels begin with. Ranges of
/// texts: the share of the intervals between neighbouring ends.
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
    /// Whether a set has null among its names.
    null: bool,
    /// By length: the prefixes that labels begin with, and the people whose label is one of them.
    prefixes: BTreeMap<u64, (BTreeSet<Box<str>>, u64)>,
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

impl Intervals {
    fn merge(&mut self, other: &Intervals) {
        (self.least, self.greatest) = (self.least.min(other.least), self.greatest.max(other.greatest));
        self.widths += other.widths;
        let add = |own: (u64, f64), more: (u64, f64)| (own.0 + more.0, own.1 + more.1);
        self.from_below = add(self.from_below, other.from_below);
        self.to_above = add(self.to_above, other.to_above);
    }
}

impl<'a> LabelWidths<'a> {
    /// Starts with no labels of a column as described in the policy.
    pub fn new(quasi: &'a Quasi, kind: &ColumnKind) -> Self {
        let scale = Scale::of(kind);
        let end = |scale: Scale, text: &str| scale.parse(text).map(|key| scale.coordinate(key));
        let domain = scale.zip(quasi.domain.as_ref());
        let domain =
            domain.and_then(|(scale, [low, high])| end(scale, &low.text).zip(end(scale, &high.text)));
        LabelWidths::of(LabelReader::new(quasi, kind), scale, domain, &quasi.shape)
    }

    /// The same without labels.
    fn none(&self) -> Self {
        LabelWidths::of(self.reader.clone(), self.scale, self.domain, self.shape)
    }

    fn of(
        reader: LabelReader<'a>,
        scale: Option<Scale>,
        domain: Option<(f64, f64)>,
        shape: &'a QuasiShape,
    ) -> Self {
        LabelWidths {
            reader,
            scale,
            domain,
            shape,
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
            null: false,
            prefixes: match shape {
                QuasiShape::Prefix(lengths) => {
                    lengths.iter().map(|&length| (length, Default::default())).collect()
                }
                _ => BTreeMap::new(),
            },
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
            Covered::Set(names) => {
                if let (QuasiShape::Prefix(_), [value]) = (self.shape, &names[..]) {
                    self.see_prefixes(value);
                }
                self.add_names(people, label.null, names.iter().map(String::as_str));
            }
            Covered::Node(node) => self.add_node(people, *node),
            Covered::Prefix(prefix) => self.add_prefix(people, prefix),
        }
    }

    /// Adds the labels of other people in the same column. Sums are folded, so the order matters for their last digits.
    pub fn merge(&mut self, other: LabelWidths<'_>) {
        self.people += other.people;
        self.everything += other.everything;
        self.shares += other.shares;
        self.intervals.merge(&other.intervals);
        self.names.extend(other.names);
        self.named += other.named;
        self.null |= other.null;
        for (length, (seen, whose)) in other.prefixes {
            let own = self.prefixes.entry(length).or_default();
            own.0.extend(seen);
            own.1 += whose;
        }
        for (end, weight) in other.ends {
            *self.ends.entry(end).or_default() += weight;
        }
        self.without_end += other.without_end;
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

    fn add_names<'n>(&mut self, people: u64, null: bool, names: impl Iterator<Item = &'n str>) {
        let mut number = u128::from(null);
        self.null |= null;
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

    fn add_prefix(&mut self, people: u64, prefix: &str) {
        self.see_prefixes(prefix);
        let length = prefix.chars().count() as u64;
        self.people += people;
        match self.prefixes.get_mut(&length) {
            Some((_, whose)) => *whose += people,
            None => self.everything += people,
        }
    }

    fn see_prefixes(&mut self, text: &str) {
        for (length, (seen, _)) in &mut self.prefixes {
            if let Some((end, last)) = text.char_indices().nth(*length as usize - 1) {
                let prefix = &text[..end + last.len_utf8()];
                if !seen.contains(prefix) {
                    seen.insert(prefix.into());
                }
            }
        }
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
        let sets = self.named as f64 / (names + usize::from(self.null)).max(1) as f64;
        let intervals = self.ends.len() as i128 + 1;
        let ranks = (1..).zip(self.ends.values()).map(|(rank, weight)| rank * weight).sum::<i128>();
        let texts = (ranks + i128::from(self.without_end) * intervals) as f64 / intervals as f64;
        let prefixes = self.prefixes.values().map(|(seen, whose)| *whose as f64 / seen.len().max(1) as f64);
        let widths = everything + self.shares + numbers + sets + prefixes.sum::<f64>() + texts;
        // An empty sum is -0.
        0.0 + widths / self.people.max(1) as f64
    }
}

/// Accumulates the measures group by group, folded node by node and part by part.
pub struct Measure<'a> {
    columns: Vec<MeasuredColumn<'a>>,
    people: u64,
    groups: u64,
    squares: u128,
}

/// One quasi-identifier.
struct MeasuredColumn<'a> {
    attribute: &'a Attribute,
    labels: Labels<'a>,
    tight: FoldedWidths<'a>,
    /// If labels come from a generalization function.
    given: Option<FoldedWidths<'a>>,
    /// What the nodes of a hierarchy cover.
    nodes: HashMap<Node, Label>,
}

/// The labels of the current node, of the nodes before it in its part, and of the parts before that.
struct FoldedWidths<'a> {
    node: LabelWidths<'a>,
    part: LabelWidths<'a>,
    whole: LabelWidths<'a>,
}

impl<'a> FoldedWidths<'a> {
    fn new(none: LabelWidths<'a>) -> Self {
        FoldedWidths { part: none.clone(), whole: none.clone(), node: none }
    }

    fn end_node(&mut self) {
        let none = self.node.none();
        self.part.merge(std::mem::replace(&mut self.node, none));
    }

    fn end_part(&mut self) {
        self.end_node();
        let none = self.part.none();
        self.whole.merge(std::mem::replace(&mut self.part, none));
    }

    fn finish(mut self) -> f64 {
        self.end_part();
        self.whole.finish()
    }
}

impl<'a> Measure<'a> {
    /// Starts with no groups of quasi-identifiers, which are given with their types and their codes in the table.
    pub fn new(columns: impl IntoIterator<Item = (&'a Quasi, ColumnKind, &'a Attribute)>) -> Self {
        let column = |(quasi, kind, attribute): (&'a Quasi, ColumnKind, &'a Attribute)| MeasuredColumn {
            attribute,
            tight: FoldedWidths::new(LabelWidths::new(quasi, &kind)),
            labels: Labels::new(attribute, kind),
            given: None,
            nodes: HashMap::new(),
        };
        Measure { columns: columns.into_iter().map(column).collect(), people: 0, groups: 0, squares: 0 }
    }

    /// Adds a group whose labels are as tight as the codes of the table allow.
    pub fn add(&mut self, group: &Group) {
        let people = group.part.people;
        self.people += people;
        self.groups += 1;
        self.squares += u128::from(people) * u128::from(people);
        self.columns.iter_mut().zip(&group.present).for_each(|(own, present)| own.add(people, present));
    }

    /// Adds a group with the labels of a generalization function, in the order of the columns.
    pub fn add_labelled(&mut self, group: &Group, labels: impl Iterator<Item = String>) {
        self.add(group);
        for (own, label) in self.columns.iter_mut().zip(labels) {
            let given = own.given.get_or_insert_with(|| FoldedWidths::new(own.tight.node.none()));
            given.node.add_text(group.part.people, &label);
        }
    }

    /// The groups of a node end here.
    pub fn end_node(&mut self) {
        self.each_widths(FoldedWidths::end_node);
    }

    /// The groups of a part end here.
    pub fn end_part(&mut self) {
        self.each_widths(FoldedWidths::end_part);
    }

    fn each_widths(&mut self, each: impl Fn(&mut FoldedWidths<'a>)) {
        let widths = |own: &mut MeasuredColumn<'a>| {
            each(&mut own.tight);
            own.given.iter_mut().for_each(&each);
        };
        self.columns.iter_mut().for_each(widths);
    }

    /// The measures of all groups.
    pub fn finish(self) -> Utility {
        let penalty = |own: MeasuredColumn<'_>| {
            let tight = own.tight.finish();
            let published = own.given.map_or(tight, FoldedWidths::finish);
            Penalty { name: own.attribute.name.clone(), published, tight }
        };
        Utility {
            average_group_size: self.people as f64 / self.groups.max(1) as f64,
            discernibility: self.squares,
            columns: self.columns.into_iter().map(penalty).collect(),
        }
    }
}

impl MeasuredColumn<'_> {
    /// The same as reading the label of the group, without its text where that is easy.
    fn add(&mut self, people: u64, present: &Present) {
        let widths = &mut self.tight.node;
        let Some((least, greatest)) = self.labels.values(present) else {
            return widths.add(people, &Label { null: true, values: Covered::Nothing });
        };
        match &self.attribute.coding {
            Coding::Numbers(_) => widths.add(people, &self.labels.keys(least, greatest)),
            Coding::TextRanges { .. } => match self.labels.texts(least, greatest) {
                (None, None) => widths.add(people, &Label::everything()),
                (from, to) => widths.add_texts(people, from, to),
            },
            Coding::Set { values, .. } => {
                let codes = present.codes.iter().filter_map(|&code| self.attribute.unshifted(code.into()));
                match codes.clone().count() {
                    all if all == values.len() && all > 1 => widths.add(people, &Label::everything()),
                    _ => {
                        let null = self.attribute.unshifted(present.ends.0).is_none();
                        widths.add_names(people, null, codes.map(|code| &*values[code as usize]));
                    }
                }
            }
            Coding::Tree { hierarchy, .. } => {
                let node = hierarchy.smallest_cover(least, greatest);
                if !self.nodes.contains_key(&node) {
                    let read = widths.reader.read(&self.labels.node_text(node));
                    self.nodes.insert(node, read.unwrap_or_else(|_| Label::everything()));
                }
                widths.add(people, &self.nodes[&node]);
            }
        }
    }
}
