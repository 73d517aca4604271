//! How is a proposal written as a policy?
//!
//! The text is TOML with the reason for every line in a comment. It is parsed before it is returned, so the printed
//! text is a valid policy for this table.

use super::privacy::ProposedProtection;
use super::role::{PolicyProposal, Proposed, QuasiForm};
use super::scan::ColumnCombination;
use crate::error::{Error, Result, number_of};
use crate::math::skyline::Values;
use crate::model::Policy;
use crate::policy::hierarchy::decimal_text;
use crate::policy::{ColumnType, quoted, quoted_key};
use crate::table::read::Table;
use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// How the table is to be read: the policy declares it, so that a cell of another type is an error.
#[derive(Debug, Clone, Default)]
pub struct ReadingOptions {
    /// The delimiter of a CSV file.
    pub delimiter: Option<u8>,
    /// Types of columns.
    pub types: BTreeMap<String, ColumnType>,
}

impl ReadingOptions {
    /// The types of all columns of CSV files, as they were read or declared; numbers that are codes become texts in
    /// files of all formats, and ages with zeros before them numbers.
    pub fn pinned(self, table: &Table, proposal: &PolicyProposal<'_>) -> Self {
        let read = table.csv_types().into_iter();
        let read = read.filter_map(|(name, kind)| Some((name.to_string(), ColumnType::of_csv(kind)?)));
        let mut types: BTreeMap<String, ColumnType> = read.collect();
        for &at in &proposal.codes {
            types.insert(proposal.profile.columns[at].name.clone(), ColumnType::Text);
        }
        for &at in &proposal.padded {
            types.insert(proposal.profile.columns[at].name.clone(), ColumnType::Integer);
        }
        types.extend(self.types);
        ReadingOptions { types, ..self }
    }
}

/// What a policy says of a word that stands for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Harmless {
    /// It is named in a comment, for the owner to decide.
    Commented,
    /// It is declared not to be sensitive.
    Declared,
}

impl Harmless {
    /// What stands before a line about the word.
    fn mark(self) -> &'static str {
        match self {
            Harmless::Commented => "# ",
            Harmless::Declared => "",
        }
    }
}

/// Candidates that are listed.
const MOST_CANDIDATES: usize = 8;

const HEADER: &str = "\
# This is a start, not a verdict: names and counts were looked at, nobody knows what others know of these people.
# Read every line before you publish anything.
#
# Roles:  sensitive  what is to be protected
#         quasi      what others may know of a person; published coarse
#         drop       not published
#         keep       published as it is; every such column is a risk, so none is proposed
#
# No value of the table is printed here, except words such as \"none\". Ranges are rounded, and leave out the lowest and
# the highest hundred rows or more.
";

impl PolicyProposal<'_> {
    /// The commented policy of a table called `table`.
    pub fn to_policy(&self, table: &str, reading: &ReadingOptions) -> Result<String> {
        let text = self.text(table, reading, &self.protection, Harmless::Commented);
        let names: Vec<&str> = self.profile.columns.iter().map(|column| column.name.as_str()).collect();
        let read = Policy::parse(&text, "the proposed policy").and_then(|policy| policy.bind(&names));
        match read {
            Ok(_) => Ok(text),
            Err(why) => Err(Error::input(
                format!("no policy could be proposed for these columns: {why}"),
                "rename the columns that are named above, and run again",
            )),
        }
    }

    /// The same with other requirements.
    pub(super) fn text(
        &self,
        table: &str,
        reading: &ReadingOptions,
        protection: &ProposedProtection,
        harmless: Harmless,
    ) -> String {
        let mut text = String::new();
        let written = self.write_head(table, &mut text).and_then(|()| {
            self.write_columns(reading, protection, harmless, &mut text)?;
            self.write_quasi(reading, &mut text)?;
            self.write_privacy(protection, harmless, &mut text)?;
            write_types(reading, &mut text)
        });
        written.expect("writing to a string cannot fail");
        text
    }

    /// The most frequent value of the sensitive column that stands for nothing, with its rows.
    pub(super) fn nothing(&self) -> Option<(&str, u64)> {
        let column = &self.profile.columns[self.sensitive];
        column.nothings.first().map(|(word, rows)| (word.as_str(), *rows))
    }

    fn write_head(&self, table: &str, text: &mut String) -> fmt::Result {
        let (rows, columns) = (self.profile.rows, self.profile.columns.len() as u64);
        let table: String = table.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        writeln!(
            text,
            "# A policy for {table}: {}, {}. Proposed by skyveil init.",
            number_of(rows, "row", "rows"),
            number_of(columns, "column", "columns")
        )?;
        text.push_str(HEADER);
        for warning in &self.warnings {
            writeln!(text, "#\n# DECIDE: {}", on_one_line(warning))?;
        }
        self.write_alone(text)?;
        self.write_candidates(text)
    }

    /// The other columns that could be protected.
    fn write_candidates(&self, text: &mut String) -> fmt::Result {
        if self.candidates.len() < 2 {
            return Ok(());
        }
        writeln!(
            text,
            "#\n# Columns that could be protected, best first; name another one to init to get its policy:"
        )?;
        for candidate in self.candidates.iter().take(MOST_CANDIDATES) {
            let name = shown(&self.profile.columns[candidate.column].name);
            writeln!(text, "#   {name}: {}", on_one_line(&candidate.why))?;
        }
        let more = self.candidates.len().saturating_sub(MOST_CANDIDATES);
        if more > 0 {
            writeln!(text, "#   and {more} more")?;
        }
        Ok(())
    }

    fn names(&self, wanted: impl Fn(&Proposed) -> bool) -> impl Iterator<Item = (usize, &str, &str)> {
        let roles = self.roles.iter().enumerate().filter(move |(_, (role, _))| wanted(role));
        roles.map(|(at, (_, why))| (at, self.profile.columns[at].name.as_str(), why.as_str()))
    }

    /// The combinations that single out the most rows.
    fn write_alone(&self, text: &mut String) -> fmt::Result {
        let mut worst: Vec<(f64, &ColumnCombination)> = Vec::new();
        for size in [2, 3] {
            let of_size =
                self.profile.combinations.iter().filter(|combination| combination.columns.len() == size);
            let found = of_size.map(|combination| (self.profile.alone(combination), combination));
            worst.extend(found.max_by(|a, b| a.0.total_cmp(&b.0)));
        }
        let most = self.profile.combinations.last().filter(|combination| combination.columns.len() > 3);
        worst.extend(most.map(|combination| (self.profile.alone(combination), combination)));
        if worst.iter().all(|(share, _)| *share == 0.0) {
            return Ok(());
        }
        writeln!(
            text,
            "#\n# Rows that nobody else shares all these values with, so that someone who knows them finds the row:"
        )?;
        for (share, combination) in worst {
            let names: Vec<String> =
                combination.columns.iter().map(|&at| shown(&self.profile.columns[at].name)).collect();
            let percent = match combination.counted.error {
                0.0 => format!("{:.1} %", 100.0 * share),
                _ => format!("about {:.0} %", 100.0 * share),
            };
            writeln!(text, "#   {percent}  {}", names.join(", "))?;
        }
        Ok(())
    }

    fn write_columns(
        &self,
        reading: &ReadingOptions,
        protection: &ProposedProtection,
        harmless: Harmless,
        text: &mut String,
    ) -> fmt::Result {
        let column = &self.profile.columns[self.sensitive];
        writeln!(text, "\n[columns]")?;
        if let Some(byte) = reading.delimiter {
            writeln!(text, "delimiter = {}", quoted(&char::from(byte).to_string()))?;
        }
        let why = on_one_line(&self.roles[self.sensitive].1);
        if self.nothing().is_none() {
            writeln!(text, "# {why}")?;
            writeln!(text, "sensitive = {}", quoted(&column.name))?;
        }
        if protection.values == Values::Single && column.nulls > 0 {
            let rows = number_of(column.nulls, "row has", "rows have");
            writeln!(text, "# {rows} no value; published as this one, and protected like any other.")?;
            writeln!(text, "null_is = \"unknown\"")?;
        }
        for (_, name, why) in self.names(|role| *role == Proposed::Individual) {
            writeln!(text, "# {}", on_one_line(why))?;
            writeln!(text, "individual = {}", quoted(name))?;
        }
        let dropped: Vec<_> = self.names(|role| *role == Proposed::Drop).collect();
        if !dropped.is_empty() {
            writeln!(text, "drop = [")?;
            for (_, name, why) in dropped {
                writeln!(text, "    {},  # {}", quoted(name), on_one_line(why))?;
            }
            writeln!(text, "]")?;
        }
        if let Some((word, rows)) = self.nothing() {
            let share = 100.0 * rows as f64 / self.profile.rows.max(1) as f64;
            writeln!(text, "\n# {why}")?;
            writeln!(text, "[columns.sensitive.{}]", quoted_key(&column.name))?;
            writeln!(
                text,
                "# {share:.1} % of the rows have this value. If it is harmless, remove the # here and before except below."
            )?;
            writeln!(text, "{}not_sensitive = [{}]", harmless.mark(), quoted(word))?;
        }
        Ok(())
    }

    fn write_quasi(&self, reading: &ReadingOptions, text: &mut String) -> fmt::Result {
        if self.roles.iter().any(|(role, _)| *role == Proposed::Quasi(QuasiForm::Ranges)) {
            writeln!(
                text,
                "\n# Numbers become cells of a width, grid, before anything else: nobody sees where people are inside them. To set \
                 the\n# ends of a column as well, add a line such as domain = [0, 120] below it: what is \
                 possible, not what occurs."
            )?;
        }
        for (at, name, why) in self.names(|role| matches!(role, Proposed::Quasi(_))) {
            writeln!(text, "\n# {}", on_one_line(why))?;
            writeln!(text, "[columns.quasi.{}]", quoted_key(name))?;
            let Proposed::Quasi(form) = &self.roles[at].0 else { continue };
            match form {
                // Codes that are not read as texts are cells of their own.
                QuasiForm::Categories
                    if self.codes.contains(&at) && reading.types.get(name) != Some(&ColumnType::Text) =>
                {
                    writeln!(text, "grid = 1")?;
                }
                QuasiForm::Categories => {}
                QuasiForm::Ranges => {
                    if let Some(width) = self.profile.columns[at].grid() {
                        writeln!(text, "grid = {}", decimal_text(&width))?;
                    }
                }
                QuasiForm::Widths(widths) => writeln!(text, "levels = {widths:?}  # ranges of these widths")?,
                QuasiForm::Prefix(lengths) => {
                    writeln!(text, "prefix = {lengths:?}  # published as the first characters: 123*")?
                }
                QuasiForm::Dates(levels) => {
                    let levels: Vec<&str> = levels.iter().map(|level| level.name()).collect();
                    writeln!(text, "dates = {levels:?}  # published as 2020-07, 2020-Q3, 2020, 2020s")?;
                }
            }
        }
        Ok(())
    }

    /// What must hold.
    fn write_privacy(
        &self,
        protection: &ProposedProtection,
        harmless: Harmless,
        text: &mut String,
    ) -> fmt::Result {
        writeln!(text, "\n[privacy]")?;
        if let Some(robust) = &protection.robust {
            return self.write_robust(robust, text);
        }
        if protection.values != Values::Single {
            writeln!(text, "values = \"{}\"  # a person may have several values", protection.values.name())?;
        }
        writeln!(text, "# The smallest number of people in a group.")?;
        writeln!(text, "k_anonymity = {}", protection.group_size)?;
        let Some(point) = &protection.point else {
            writeln!(
                text,
                "# No more is proposed: one value is too frequent, or the values are too many, for anything beyond that to be\n\
                 # promised. A group may then consist of people with the same value, and membership reveals it."
            )?;
            return Ok(());
        };
        let confidence = point.confidence.parse::<f64>().unwrap_or(1.0);
        writeln!(
            text,
            "\n# Somebody looks for a person in the release. They may know beforehand\n\
             #   l   values that the person does not have,\n\
             #   k   other people, with their values,\n\
             #   m   people who, if one of them has a value, then the person has it too (a family),\n\
             # and must not become as sure as `confidence` of any value. Raise l, k and m or lower the confidence for more\n\
             # protection and coarser groups. Somebody who knows this much and sees only the whole table as one group is already\n\
             # {:.1} % sure; a confidence near that leaves few groups.",
            (1000.0 * point.whole_table).ceil() / 10.0
        )?;
        writeln!(text, "[[privacy.skyline]]")?;
        if let Some((word, _)) = self.nothing() {
            writeln!(text, "{}except = [{}]", harmless.mark(), quoted(word))?;
        }
        writeln!(text, "l = {}\nk = {}\nm = {}", point.l, point.k, point.m)?;
        writeln!(text, "confidence = {}  # less than {:.0} %", point.confidence, 100.0 * confidence)
    }
}

/// The type of every column of a CSV file; of other files, those of codes.
fn write_types(reading: &ReadingOptions, text: &mut String) -> fmt::Result {
    if reading.types.is_empty() {
        return Ok(());
    }
    writeln!(
        text,
        "\n# How columns are read. Numbers that are codes are text: they are published as they are or as sets. In a CSV file, a\n\
         # cell that does not fit is an error."
    )?;
    writeln!(text, "[columns.types]")?;
    for (name, kind) in &reading.types {
        writeln!(text, "{} = \"{}\"", quoted_key(name), kind.name())?;
    }
    Ok(())
}

/// A name in the form allowed in a comment.
fn shown(name: &str) -> String {
    if name.chars().any(|c| c.is_control() || c == ',' || c == '"') { quoted(name) } else { name.to_string() }
}

/// A comment must stay on one line.
fn on_one_line(text: &str) -> String {
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
}
