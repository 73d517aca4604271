//! How may a quasi-identifier be made coarser?

use std::path::Path;

use super::canonical::fraction_text;
use super::parse::{Item, Mistakes, Section, quoted};
use super::tree::read_hierarchy;
use crate::math::exact::{Rational, parse_fraction};
use crate::policy::hierarchy::{DateLevel, Hierarchy, decimal_text, parse_day};

/// A column that an adversary may know about a person, as described by the owner.
#[derive(Debug, Clone, PartialEq)]
pub struct Quasi {
    /// The column.
    pub name: String,
    /// How its values are grouped.
    pub shape: QuasiShape,
    /// The published ends of the whole column; open if not configured.
    pub domain: Option<[End; 2]>,
    /// The cells that its values become before anything else; derived from the domain if not configured.
    pub grid: Option<Grid>,
    /// The leaf (or listed value) that replaces values which are not covered.
    pub other: Option<String>,
}

/// How the values of a column are grouped.
#[derive(Debug, Clone, PartialEq)]
pub enum QuasiShape {
    /// Not configured: numbers and times by their order, anything else as flat categories.
    Plain,
    /// A tree from a file or the policy; `other` is already a leaf of it.
    Hierarchy(Hierarchy),
    /// Ranges between the multiples of each width; each width is a multiple of the one before it.
    Widths(Vec<Rational>),
    /// Ranges between configured ends; each level is ascending and a subset of the one before it.
    Ends(Vec<Vec<End>>),
    /// The first characters, longest first.
    Prefix(Vec<u64>),
    /// Calendar periods, finest first, each inside the next.
    Dates(Vec<DateLevel>),
    /// Categories in this order.
    Order(Vec<String>),
}

/// An end of a range: a number, or the text of a date or timestamp.
#[derive(Debug, Clone, PartialEq)]
pub struct End {
    /// As a label shows it: exact decimals, or the date or timestamp as written.
    pub text: String,
    /// The number, `None` for a date or timestamp.
    pub number: Option<Rational>,
}

/// The cells of an ordered column.
#[derive(Debug, Clone, PartialEq)]
pub enum Grid {
    /// Between multiples of a number.
    Width(Rational),
    /// Periods of the calendar.
    Date(DateLevel),
    /// Units of the clock.
    Clock(ClockUnit),
    /// Every value; for what an adversary knows, not for what is published.
    Value,
}

/// A unit of the clock, for timestamps and times of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockUnit {
    /// From one full second to the next.
    Second,
    /// From one full minute to the next.
    Minute,
    /// From one full hour to the next.
    Hour,
}

impl ClockUnit {
    /// All units with their names in a policy, from short to long.
    pub const NAMES: [(&'static str, ClockUnit); 3] =
        [("second", ClockUnit::Second), ("minute", ClockUnit::Minute), ("hour", ClockUnit::Hour)];

    /// The name in a policy.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }

    /// How many of them a day has.
    pub fn per_day(self) -> i64 {
        match self {
            ClockUnit::Second => 86_400,
            ClockUnit::Minute => 1_440,
            ClockUnit::Hour => 24,
        }
    }
}

/// The keys of which a column may have at most one.
const SHAPES: [&str; 6] = ["hierarchy", "levels", "ends", "prefix", "dates", "order"];

impl Quasi {
    /// A column about which only the name is known.
    pub fn plain(name: impl Into<String>) -> Self {
        Quasi { name: name.into(), shape: QuasiShape::Plain, domain: None, grid: None, other: None }
    }

    /// The same with a cell for every value, if it has cells.
    pub fn value_by_value(&self) -> Quasi {
        match self.shape {
            QuasiShape::Plain => Quasi { grid: Some(Grid::Value), ..self.clone() },
            _ => self.clone(),
        }
    }

    pub(super) fn read(name: &str, section: &Section, folder: &Path, mistakes: &mut Mistakes) -> Quasi {
        let known: Vec<&str> = SHAPES.into_iter().chain(["domain", "grid", "other"]).collect();
        section.only(&known, mistakes);
        let mut stated: Vec<(&str, Item)> =
            SHAPES.into_iter().filter_map(|key| Some((key, section.get(key)?))).collect();
        stated.sort_by_key(|(_, item)| item.at);
        for (key, item) in stated.iter().skip(1) {
            let first = stated[0].0;
            item.wrong(format!("stands beside {first}"), format!("keep either {first} or {key}"), mistakes);
        }
        let mut other = section.get("other").and_then(|item| item.text("\"Other\"", mistakes));
        let shape = match stated.first() {
            Some((key, item)) => QuasiShape::read(key, item, folder, &mut other, section, mistakes),
            None => QuasiShape::Plain,
        };
        let key = stated.first().map_or("nothing", |(key, _)| key);
        let beside = |wanted: &str, allowed: &[&str], mistakes: &mut Mistakes| {
            let item = section.get(wanted)?;
            if allowed.contains(&key) {
                return Some(item);
            }
            item.wrong(
                format!("has no meaning beside {key}"),
                format!("leave out {wanted} or {key}"),
                mistakes,
            );
            None
        };
        let domain = beside("domain", &["nothing"], mistakes);
        let domain = domain.and_then(|item| read_domain(&item, mistakes));
        let grid = beside("grid", &["nothing"], mistakes).and_then(|item| Grid::read(&item, mistakes));
        if !matches!(key, "hierarchy" | "order")
            && let Some(item) = section.get("other")
        {
            item.wrong("has no meaning without a hierarchy or an order", "leave it out", mistakes);
        }
        Quasi { name: name.to_string(), shape, domain, grid, other }
    }
}

impl QuasiShape {
    fn read(
        key: &str,
        item: &Item,
        folder: &Path,
        other: &mut Option<String>,
        section: &Section,
        mistakes: &mut Mistakes,
    ) -> QuasiShape {
        match key {
            "hierarchy" => match read_hierarchy(item, folder, mistakes) {
                Some(tree) => QuasiShape::Hierarchy(add_other(tree, other, section, mistakes)),
                None => QuasiShape::Plain,
            },
            "levels" => QuasiShape::Widths(read_widths(item, mistakes)),
            "ends" => QuasiShape::Ends(read_ends(item, mistakes)),
            "prefix" => QuasiShape::Prefix(read_prefix(item, mistakes)),
            "dates" => QuasiShape::Dates(read_dates(item, mistakes)),
            _ => {
                let order = read_order(item, mistakes);
                if let (Some(name), Some(at)) = (&other, section.get("other"))
                    && !order.contains(name)
                {
                    at.wrong("is not in the order", "name one of the ordered values", mistakes);
                }
                QuasiShape::Order(order)
            }
        }
    }
}

fn add_other(
    tree: Hierarchy,
    other: &mut Option<String>,
    section: &Section,
    mistakes: &mut Mistakes,
) -> Hierarchy {
    let (Some(name), Some(item)) = (other.as_ref(), section.get("other")) else { return tree };
    match tree.clone().with_other(name) {
        Ok(tree) => tree,
        Err(problem) => {
            item.wrong(problem.problem, problem.remedy, mistakes);
            tree
        }
    }
}

/// At least two different values, from low to high.
pub(super) fn read_order(item: &Item, mistakes: &mut Mistakes) -> Vec<String> {
    let order = item.labels(mistakes);
    if order.len() < 2 {
        let remedy = "list the values from low to high, such as [\"low\", \"mid\", \"high\"]";
        item.wrong("needs at least two values", remedy, mistakes);
    }
    order
}

fn read_widths(item: &Item, mistakes: &mut Mistakes) -> Vec<Rational> {
    let mut widths: Vec<Rational> = Vec::new();
    for item in item.items() {
        let positive = |width: &Rational| *width > Rational::ZERO;
        let width = item.fraction_where(positive, "a width is more than 0", "10", mistakes);
        let Some(width) = width else { continue };
        if let Some(last) = widths.last()
            && (width <= *last || !(&width / last).is_int())
        {
            let remedy = "make each width a multiple of the one before it, such as [5, 10, 20, 40]";
            item.wrong(format!("{width} is not a wider multiple of {last}"), remedy, mistakes);
        }
        widths.push(width);
    }
    not_empty(item, widths.len(), "[5, 10, 20, 40]", mistakes);
    widths
}

fn read_prefix(item: &Item, mistakes: &mut Mistakes) -> Vec<u64> {
    let mut lengths: Vec<u64> = Vec::new();
    for item in item.items() {
        let Some(length) = item.whole(1..=1000, mistakes) else { continue };
        if lengths.last().is_some_and(|last| length >= *last) {
            item.wrong("is not shorter than the one before", "go from long to short: [4, 3, 2]", mistakes);
        }
        lengths.push(length);
    }
    not_empty(item, lengths.len(), "[4, 3, 2]", mistakes);
    lengths
}

fn read_dates(item: &Item, mistakes: &mut Mistakes) -> Vec<DateLevel> {
    let mut levels: Vec<DateLevel> = Vec::new();
    for item in item.items() {
        let Some(level) = item.choice(&DateLevel::NAMES, mistakes) else { continue };
        if let Some(last) = levels.last().filter(|last| !last.nests_in(level)) {
            let problem = format!("a {} is not a part of one {}", last.name(), level.name());
            let remedy = "go from fine to coarse: day, month, quarter, year, decade; a week comes last";
            item.wrong(problem, remedy, mistakes);
        }
        levels.push(level);
    }
    not_empty(item, levels.len(), "[\"month\", \"quarter\", \"year\"]", mistakes);
    levels
}

fn not_empty(item: &Item, found: usize, example: &str, mistakes: &mut Mistakes) {
    if found == 0 && item.is_list() && item.items().is_empty() {
        item.wrong("is empty", format!("write {example}"), mistakes);
    }
}

/// One list of ends, or several: each coarser than the one before it.
fn read_ends(item: &Item, mistakes: &mut Mistakes) -> Vec<Vec<End>> {
    not_empty(item, 0, "[18, 40, 65]", mistakes);
    let nested = item.items().iter().any(Item::is_list);
    let lists = if nested { item.items() } else { vec![item.clone()] };
    let mut levels: Vec<Vec<End>> = Vec::new();
    for list in lists {
        let mut ends: Vec<End> = Vec::new();
        for item in list.items() {
            let Some(end) = End::read(&item, mistakes) else { continue };
            let follows = ends.last().is_none_or(|last| last.is_below(&end));
            let kept = levels.last().is_none_or(|finer| finer.iter().any(|known| known.same(&end)));
            if !follows {
                item.wrong(
                    "does not follow the end before it",
                    "write ends of one kind, ascending",
                    mistakes,
                );
            } else if !kept {
                let remedy = "leave out ends from one level to the next, never add one";
                item.wrong("is not an end of the finer level before it", remedy, mistakes);
            }
            ends.push(end);
        }
        levels.push(ends);
    }
    levels
}

fn read_domain(item: &Item, mistakes: &mut Mistakes) -> Option<[End; 2]> {
    let items = item.items();
    let [low, high] = &items[..] else {
        item.wrong("needs two ends", "write [lowest, highest], such as [0, 120]", mistakes);
        return None;
    };
    let (low, high) = (End::read(low, mistakes), End::read(high, mistakes));
    let (low, high) = (low?, high?);
    if !low.is_below(&high) {
        item.wrong("does not go from low to high", "write [lowest, highest] of one kind", mistakes);
        return None;
    }
    Some([low, high])
}

impl End {
    fn read(item: &Item, mistakes: &mut Mistakes) -> Option<End> {
        let text = item.label(mistakes)?;
        let number = parse_fraction(&text);
        if number.is_none() && parse_day(&text).is_none() {
            let remedy = "write a number, a date \"2020-07-01\" or a time \"2020-07-01T12:00:00\"";
            item.wrong("is neither a number nor a date", remedy, mistakes);
            return None;
        }
        let text = number.as_ref().map_or(text, decimal_text);
        Some(End { text, number })
    }

    /// Whether both are of the same kind and this one is lower.
    fn is_below(&self, with: &End) -> bool {
        match (&self.number, &with.number) {
            (Some(low), Some(high)) => low < high,
            (None, None) => self.text < with.text,
            _ => false,
        }
    }

    fn same(&self, with: &End) -> bool {
        match (&self.number, &with.number) {
            (None, None) => self.text == with.text,
            (one, another) => one == another,
        }
    }
}

impl Grid {
    /// As an owner would write it.
    pub fn usual_text(&self) -> String {
        match self {
            Grid::Width(width) => decimal_text(width),
            _ => self.text(),
        }
    }

    /// As a canonical policy writes it.
    pub fn text(&self) -> String {
        match self {
            Grid::Width(width) => fraction_text(width),
            Grid::Date(level) => quoted(level.name()),
            Grid::Clock(unit) => quoted(unit.name()),
            Grid::Value => quoted("value"),
        }
    }

    fn read(item: &Item, mistakes: &mut Mistakes) -> Option<Grid> {
        match item.as_text().filter(|text| parse_fraction(text).is_none()) {
            Some(_) => {
                let clock = ClockUnit::NAMES.into_iter().map(|(name, unit)| (name, Grid::Clock(unit)));
                let dates = DateLevel::NAMES.into_iter().map(|(name, level)| (name, Grid::Date(level)));
                item.choice(&clock.chain(dates).collect::<Vec<_>>(), mistakes)
            }
            None => {
                let positive = |width: &Rational| *width > Rational::ZERO;
                item.fraction_where(positive, "a grid is more than 0", "5", mistakes).map(Grid::Width)
            }
        }
    }
}
