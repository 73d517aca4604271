//! In which form may the public see the table, and how is the form chosen?

use super::columns::Columns;
use super::parse::{Item, Mistakes, Section, closest, quoted};
use super::quasi::{Quasi, QuasiShape};
use crate::math::exact::{Rational, parse_fraction};
use crate::policy::hierarchy::decimal_text;
use crate::table::write::OutputFormat;
use std::collections::BTreeMap;

/// The form of the release.
#[derive(Debug, Clone, PartialEq)]
pub struct Publish {
    /// One table with coarse values, or two tables joined by group.
    pub style: Style,
    /// How a range is written.
    pub ranges: Ranges,
    /// The order in which safe cuts are tried.
    pub cuts: Cuts,
    /// The format of the files.
    pub format: OutputFormat,
    /// How a generalization function is chosen from `audit.function`; `None` means the tree of cuts.
    pub strategy: Option<Strategy>,
    /// For [`Cuts::Blind`]: the share of each sensitive value that the public expects.
    pub shares: BTreeMap<String, Rational>,
}

/// One table with coarse values, or two tables joined by group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// One table: quasi-identifiers made coarse, next to the sensitive values.
    Generalized,
    /// Quasi-identifiers unchanged, and sensitive values by group.
    Bucketized,
}

/// How a range is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ranges {
    /// One text column: `[20,30)`.
    Label,
    /// Two typed columns: `age_from`, `age_to`.
    Bounds,
}

/// The order in which safe cuts are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cuts {
    /// Widest column first, cut at the median, as in textbooks.
    Mondrian,
    /// The order that measures best.
    Best,
    /// Cuts that follow from the quasi-identifiers alone, so that a replay tells nothing.
    Blind,
}

/// How one of the functions of `audit.function` is chosen, so that the choice itself reveals nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// The first function whose inclusive disclosure set is safe.
    Inclusive,
    /// The first function that looks safe, if its exclusive disclosure set is safe too.
    Exclusive,
}

impl Style {
    /// All styles with their names in a policy.
    pub const NAMES: [(&'static str, Style); 2] =
        [("generalized", Style::Generalized), ("bucketized", Style::Bucketized)];
}

impl Ranges {
    /// All forms with their names in a policy.
    pub const NAMES: [(&'static str, Ranges); 2] = [("label", Ranges::Label), ("bounds", Ranges::Bounds)];
}

impl Cuts {
    /// All orders with their names in a policy.
    pub const NAMES: [(&'static str, Cuts); 3] =
        [("mondrian", Cuts::Mondrian), ("best", Cuts::Best), ("blind", Cuts::Blind)];
}

impl Strategy {
    /// All strategies with their names in a policy.
    pub const NAMES: [(&'static str, Strategy); 2] =
        [("inclusive", Strategy::Inclusive), ("exclusive", Strategy::Exclusive)];
}

/// A generalization function: how coarse each quasi-identifier becomes, in the order of `Columns::quasi`.
pub type Function = Vec<Coarseness>;

/// How coarse a column becomes under a generalization function.
#[derive(Debug, Clone, PartialEq)]
pub enum Coarseness {
    /// One group for all values.
    All,
    /// Ranges between the multiples of a width; for columns without configured levels.
    Width(Rational),
    /// A level of the column's hierarchy, list or calendar; 0 leaves the values unchanged.
    Level(u32),
}

impl Coarseness {
    /// The name in terms of the column's list: a width, a length, a period, or a level.
    pub fn name(&self, shape: &QuasiShape) -> String {
        let level = match self {
            Coarseness::All => return "*".to_string(),
            Coarseness::Width(width) => return decimal_text(width),
            Coarseness::Level(level) => *level,
        };
        let listed = level.checked_sub(1).and_then(|at| match shape {
            QuasiShape::Widths(widths) => widths.get(at as usize).map(decimal_text),
            QuasiShape::Prefix(lengths) => lengths.get(at as usize).map(u64::to_string),
            QuasiShape::Dates(levels) => levels.get(at as usize).map(|level| level.name().to_string()),
            QuasiShape::Plain | QuasiShape::Hierarchy(_) | QuasiShape::Ends(_) | QuasiShape::Order(_) => None,
        });
        listed.unwrap_or_else(|| level.to_string())
    }
}

impl Publish {
    pub(super) fn read(section: Option<&Section>, mistakes: &mut Mistakes) -> Publish {
        let keys = ["style", "ranges", "cuts", "format", "strategy", "shares"];
        if let Some(section) = section {
            section.only(&keys, mistakes);
        }
        let [style, ranges, cuts, format, strategy, shares] =
            keys.map(|key| section.and_then(|section| section.get(key)));
        let publish = Publish {
            style: style.and_then(|item| item.choice(&Style::NAMES, mistakes)).unwrap_or(Style::Generalized),
            ranges: ranges.and_then(|item| item.choice(&Ranges::NAMES, mistakes)).unwrap_or(Ranges::Label),
            cuts: cuts.and_then(|item| item.choice(&Cuts::NAMES, mistakes)).unwrap_or(Cuts::Best),
            format: format
                .and_then(|item| item.choice(&OutputFormat::NAMES, mistakes))
                .unwrap_or(OutputFormat::Parquet),
            strategy: strategy.as_ref().and_then(|item| item.choice(&Strategy::NAMES, mistakes)),
            shares: shares.as_ref().map_or_else(BTreeMap::new, |item| read_shares(item, mistakes)),
        };
        if let (Some(item), true) = (&shares, publish.cuts != Cuts::Blind) {
            item.wrong(
                "is used by cuts = \"blind\" only",
                "leave it out, or write cuts = \"blind\"",
                mistakes,
            );
        }
        if let (Some(item), Cuts::Blind) = (&strategy, publish.cuts) {
            let remedy = "leave out one of them: both withstand a replay";
            item.wrong("chooses among functions, and cuts = \"blind\" makes a tree", remedy, mistakes);
        }
        publish
    }

    /// Whether somebody who replays the choice of groups learns nothing more.
    pub fn withstands_replay(&self) -> bool {
        self.strategy.is_some() || self.cuts == Cuts::Blind
    }

    /// Records published columns that would get the same name.
    pub(super) fn check_names(
        &self,
        columns: &Columns,
        places: &super::columns::Places,
        mistakes: &mut Mistakes,
    ) {
        let quasi = columns.quasi.iter().map(|column| &column.name);
        let sensitive = columns.sensitive.iter().map(|column| &column.name);
        let published: Vec<&String> = columns.keep.iter().chain(quasi).chain(sensitive).collect();
        for name in published {
            let bound = [name.strip_suffix("_from"), name.strip_suffix("_to")].into_iter().flatten();
            let bound = bound.filter_map(|base| columns.quasi(base)).next();
            let problem = match (name.as_str(), bound) {
                ("group", _) => "a release numbers its groups in a column of this name".to_string(),
                (_, Some(base)) if self.ranges == Ranges::Bounds => {
                    format!("the bounds of column {} get this name", quoted(&base.name))
                }
                _ => continue,
            };
            if let Some((key, at)) = places.get(name) {
                mistakes.add(*at, key, format!("{}: {problem}", quoted(name)), "rename the column first");
            }
        }
    }
}

/// The expected share of each value.
fn read_shares(item: &Item, mistakes: &mut Mistakes) -> BTreeMap<String, Rational> {
    let Some(stated) = item.section("shares = { flu = 0.2 }", mistakes) else { return BTreeMap::new() };
    let allowed = |share: &Rational| *share >= Rational::ZERO && *share < Rational::ONE;
    let share = |(value, item): (String, Item)| {
        let share = item.fraction_where(allowed, "a share is at least 0 and less than 1", "0.2", mistakes)?;
        Some((value, share))
    };
    stated.entries().into_iter().filter_map(share).collect()
}

/// The functions of `[[audit.function]]`, in order.
pub(super) fn read_functions(
    section: Option<&Section>,
    columns: &Columns,
    mistakes: &mut Mistakes,
) -> Vec<Function> {
    let Some(section) = section else { return Vec::new() };
    section.only(&["function"], mistakes);
    let Some(item) = section.get("function") else { return Vec::new() };
    let mut functions = Vec::new();
    for stated in item.sections(mistakes) {
        for (name, item) in stated.entries() {
            if columns.quasi(&name).is_none() {
                let remedy = match closest(&name, columns.quasi.iter().map(|column| column.name.as_str())) {
                    Some(near) => format!("did you mean {near}?"),
                    None => "name a column of columns.quasi".to_string(),
                };
                item.wrong("is not a quasi-identifier", remedy, mistakes);
            }
        }
        let coarse = |column: &Quasi, mistakes: &mut Mistakes| match stated.get(&column.name) {
            Some(item) => read_coarseness(&item, column, mistakes),
            None => Coarseness::All,
        };
        functions.push(columns.quasi.iter().map(|column| coarse(column, mistakes)).collect());
    }
    functions
}

/// Coarseness is given in terms of the column's own list: a width, a length, a period, or a level.
fn read_coarseness(item: &Item, column: &Quasi, mistakes: &mut Mistakes) -> Coarseness {
    if item.as_text() == Some("*") {
        return Coarseness::All;
    }
    let listed = |names: Vec<String>, mistakes: &mut Mistakes| {
        let Some(wanted) = item.label(mistakes) else { return Coarseness::All };
        let wanted = parse_fraction(&wanted).as_ref().map_or(wanted, decimal_text);
        let levels = ["0".to_string()].into_iter().chain(names);
        match levels.clone().position(|name| name == wanted) {
            Some(level) => Coarseness::Level(level as u32),
            None => {
                let known: Vec<String> = levels.collect();
                let remedy = format!("write one of {} or \"*\"", known.join(", "));
                item.wrong("is not in the list of this column", remedy, mistakes);
                Coarseness::All
            }
        }
    };
    let numbered = |top: u64, mistakes: &mut Mistakes| match item.whole(0..=top, mistakes) {
        Some(level) => Coarseness::Level(level as u32),
        None => Coarseness::All,
    };
    match &column.shape {
        QuasiShape::Widths(widths) => listed(widths.iter().map(decimal_text).collect(), mistakes),
        QuasiShape::Prefix(lengths) => listed(lengths.iter().map(u64::to_string).collect(), mistakes),
        QuasiShape::Dates(levels) => {
            listed(levels.iter().map(|level| level.name().to_string()).collect(), mistakes)
        }
        QuasiShape::Hierarchy(tree) => numbered(tree.top_level().into(), mistakes),
        QuasiShape::Ends(levels) => numbered(levels.len() as u64 + 1, mistakes),
        QuasiShape::Order(_) => numbered(1, mistakes),
        QuasiShape::Plain => {
            let rule = "write a width of 0 or more, or \"*\"";
            let width = item.fraction_where(|width| *width >= Rational::ZERO, rule, "10", mistakes);
            match width {
                Some(width) if width == Rational::ZERO => Coarseness::Level(0),
                Some(width) => Coarseness::Width(width),
                None => Coarseness::All,
            }
        }
    }
}
