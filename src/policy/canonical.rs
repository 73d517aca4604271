//! Writes the canonical text of everything in a policy except `[privacy]`.
//!
//! Shorthands are expanded, defaults are written out and hierarchies are written as rows, so the text needs no other
//! file.

use std::fmt::{self, Write};

use super::columns::{ColumnType, Columns, Nearness};
use super::document::TableRules;
use super::parse::quoted;
use super::publish::{Coarseness, Cuts, Publish, Ranges, Strategy, Style};
use super::quasi::{End, Quasi, QuasiShape};
use crate::math::exact::Rational;
use crate::policy::hierarchy::{DateLevel, Hierarchy, decimal_text};
use crate::table::write::OutputFormat;

impl TableRules {
    /// Writes `accept` and `[columns]`.
    pub(crate) fn write_columns(&self, text: &mut String) -> fmt::Result {
        if !self.accept.is_empty() {
            writeln!(text, "accept = {}", list_text(self.accept.iter().map(|risk| quoted(risk.name()))))?;
        }
        write_columns(&self.columns, text)
    }

    /// Writes `[publish]`, the functions of `[[audit.function]]` and `[nights]`.
    pub(crate) fn write_publish(&self, text: &mut String) -> fmt::Result {
        write_publish(&self.publish, text)?;
        for function in &self.functions {
            writeln!(text, "[[audit.function]]")?;
            for (column, coarse) in self.columns.quasi.iter().zip(function) {
                writeln!(text, "{} = {}", quoted(&column.name), coarseness(coarse, &column.shape))?;
            }
        }
        self.nights.as_ref().map_or(Ok(()), |nights| nights.write(text))
    }
}

fn write_columns(columns: &Columns, text: &mut String) -> fmt::Result {
    writeln!(text, "[columns]")?;
    for (key, names) in [("joint", &columns.joint), ("drop", &columns.drop), ("keep", &columns.keep)] {
        if !names.is_empty() {
            writeln!(text, "{key} = {}", list_text(names.iter().map(|name| quoted(name))))?;
        }
    }
    if columns.rest_is_dropped {
        writeln!(text, "rest = \"drop\"")?;
    }
    for (key, name) in [("individual", &columns.individual), ("count", &columns.count)] {
        if let Some(name) = name {
            writeln!(text, "{key} = {}", quoted(name))?;
        }
    }
    if let Some(byte) = columns.delimiter {
        writeln!(text, "delimiter = {}", quoted(&char::from(byte).to_string()))?;
    }
    if !columns.types.is_empty() {
        let types = columns.types.iter();
        let types =
            types.map(|(name, kind): (_, &ColumnType)| format!("{} = \"{}\"", quoted(name), kind.name()));
        writeln!(text, "types = {{ {} }}", types.collect::<Vec<_>>().join(", "))?;
    }
    for column in &columns.sensitive {
        writeln!(text, "[columns.sensitive.{}]", quoted(&column.name))?;
        if let Some(value) = &column.null_is {
            writeln!(text, "null_is = {}", quoted(value))?;
        }
        if !column.not_sensitive.is_empty() {
            let values = column.not_sensitive.iter().map(|value| quoted(value));
            writeln!(text, "not_sensitive = {}", list_text(values))?;
        }
        match &column.nearness {
            Nearness::Equal => {}
            Nearness::Numeric => writeln!(text, "order = \"numeric\"")?,
            Nearness::Order(values) => {
                writeln!(text, "order = {}", list_text(values.iter().map(|v| quoted(v))))?
            }
            Nearness::Hierarchy(tree) => write_hierarchy(tree, text)?,
        }
    }
    columns.quasi.iter().try_for_each(|quasi| write_quasi(quasi, text))
}

fn write_quasi(quasi: &Quasi, text: &mut String) -> fmt::Result {
    writeln!(text, "[columns.quasi.{}]", quoted(&quasi.name))?;
    if let Some(ends) = &quasi.domain {
        writeln!(text, "domain = {}", list_text(ends.iter().map(end)))?;
    }
    if let Some(grid) = &quasi.grid {
        writeln!(text, "grid = {}", grid.text())?;
    }
    if let Some(name) = &quasi.other {
        writeln!(text, "other = {}", quoted(name))?;
    }
    match &quasi.shape {
        QuasiShape::Plain => Ok(()),
        QuasiShape::Hierarchy(tree) => write_hierarchy(tree, text),
        QuasiShape::Widths(widths) => {
            writeln!(text, "levels = {}", list_text(widths.iter().map(fraction_text)))
        }
        QuasiShape::Ends(levels) => {
            writeln!(text, "ends = {}", list_text(levels.iter().map(|ends| list_text(ends.iter().map(end)))))
        }
        QuasiShape::Prefix(lengths) => {
            writeln!(text, "prefix = {}", list_text(lengths.iter().map(u64::to_string)))
        }
        QuasiShape::Dates(levels) => {
            let name = |level: &DateLevel| format!("\"{}\"", level.name());
            writeln!(text, "dates = {}", list_text(levels.iter().map(name)))
        }
        QuasiShape::Order(values) => {
            writeln!(text, "order = {}", list_text(values.iter().map(|value| quoted(value))))
        }
    }
}

fn write_hierarchy(tree: &Hierarchy, text: &mut String) -> fmt::Result {
    writeln!(text, "hierarchy = [")?;
    for row in tree.rows() {
        writeln!(text, "{},", list_text(row.iter().map(|name| quoted(name))))?;
    }
    writeln!(text, "]")
}

fn write_publish(publish: &Publish, text: &mut String) -> fmt::Result {
    writeln!(text, "[publish]\nstyle = \"{}\"", name_of(&Style::NAMES, publish.style))?;
    writeln!(text, "ranges = \"{}\"", name_of(&Ranges::NAMES, publish.ranges))?;
    writeln!(text, "cuts = \"{}\"", name_of(&Cuts::NAMES, publish.cuts))?;
    if publish.format != OutputFormat::Parquet {
        writeln!(text, "format = \"{}\"", publish.format.name())?;
    }
    if let Some(strategy) = publish.strategy {
        writeln!(text, "strategy = \"{}\"", name_of(&Strategy::NAMES, strategy))?;
    }
    if !publish.shares.is_empty() {
        let share =
            |(value, share): (&String, &Rational)| format!("{} = {}", quoted(value), fraction_text(share));
        writeln!(text, "shares = {{ {} }}", publish.shares.iter().map(share).collect::<Vec<_>>().join(", "))?;
    }
    Ok(())
}

fn coarseness(coarse: &Coarseness, shape: &QuasiShape) -> String {
    let listed = |level: u32, name: &dyn Fn(usize) -> Option<String>| match level.checked_sub(1) {
        Some(at) => name(at as usize).unwrap_or("\"*\"".to_string()),
        None => "0".to_string(),
    };
    match (coarse, shape) {
        (Coarseness::All, _) => "\"*\"".to_string(),
        (Coarseness::Width(width), _) => fraction_text(width),
        (Coarseness::Level(level), QuasiShape::Widths(widths)) => {
            listed(*level, &|at| widths.get(at).map(|width| quoted(&decimal_text(width))))
        }
        (Coarseness::Level(level), QuasiShape::Prefix(lengths)) => {
            listed(*level, &|at| lengths.get(at).map(u64::to_string))
        }
        (Coarseness::Level(level), QuasiShape::Dates(levels)) => {
            listed(*level, &|at| levels.get(at).map(|level| quoted(level.name())))
        }
        (Coarseness::Level(level), _) => level.to_string(),
    }
}

/// The name of a choice in a policy.
pub(crate) fn name_of<T: PartialEq>(names: &[(&'static str, T)], value: T) -> &'static str {
    names.iter().find(|(_, known)| *known == value).map_or("", |(name, _)| name)
}

/// An exact number in quotes.
pub(crate) fn fraction_text(number: &Rational) -> String {
    format!("\"{number}\"")
}

fn end(end: &End) -> String {
    quoted(&end.text)
}

/// A TOML list of items that are TOML already.
pub(crate) fn list_text(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}
