//! Which role may each column have, and why?
//!
//! Rules of thumb based on names and counts, each with its reason in words. A column that no rule recognizes is assumed
//! to be known to others. No column is ever proposed to be published unchanged.

use super::column::ColumnProfile;
use super::privacy::{ProposedProtection, protection};
use super::scan::{Persons, Profile};
use crate::encode::attribute::MOST_IN_A_SET;
use crate::encode::distinct::MOST;
use crate::encode::scale::Scale;
use crate::error::{Error, Result, Setting, number_of};
use crate::math::skyline::Values;
use crate::policy::hierarchy::DateLevel;
use crate::policy::{Hint, hint};
use crate::policy::{closest, overlooked_delimiter};
use crate::release::rows::GROUP;
use crate::table::ColumnKind;

/// Decisions that the owner has already made.
#[derive(Debug, Clone, Default)]
pub struct OwnerChoices {
    /// The column to protect.
    pub sensitive: Option<String>,
}

/// A proposed role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proposed {
    /// Protected.
    Sensitive,
    /// Identifies people who have several rows.
    Individual,
    /// Others may know it, so it is made coarse in this form.
    Quasi(QuasiForm),
    /// Not published.
    Drop,
}

impl Proposed {
    /// Its name in a policy.
    pub fn name(&self) -> &'static str {
        match self {
            Proposed::Sensitive => "sensitive",
            Proposed::Individual => "individual",
            Proposed::Quasi(_) => "quasi",
            Proposed::Drop => "drop",
        }
    }
}

/// How a quasi-identifier is made coarse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuasiForm {
    /// As a set of categories.
    Categories,
    /// By ranges of numbers.
    Ranges,
    /// By ranges between multiples of each width.
    Widths(Vec<u64>),
    /// By the first characters.
    Prefix(Vec<u64>),
    /// By periods of the calendar.
    Dates(Vec<DateLevel>),
}

/// A role for every column, and the proposed requirements for a release.
#[derive(Debug)]
pub struct PolicyProposal<'a> {
    /// The counts.
    pub profile: &'a Profile,
    /// For each column, a role and the reason.
    pub roles: Vec<(Proposed, String)>,
    /// The position of the sensitive column.
    pub sensitive: usize,
    /// The proposed requirements.
    pub protection: ProposedProtection,
    /// What the owner should decide before anything else.
    pub warnings: Vec<String>,
}

/// Proposes a role for every column.
pub fn propose<'a>(profile: &'a Profile, asked: &OwnerChoices) -> Result<PolicyProposal<'a>> {
    if profile.rows == 0 {
        return Err(Error::input("the table has no rows", "give a table with at least one person"));
    }
    let names: Vec<&str> = profile.columns.iter().map(|column| column.name.as_str()).collect();
    if let Some(delimiter) = overlooked_delimiter(&names) {
        let delimiter = if delimiter == '\t' { "tab".to_string() } else { format!("{delimiter:?}") };
        return Err(Error::missing(
            format!("the table has one column; is the delimiter {delimiter}?"),
            format!("choose {delimiter} as delimiter"),
            Setting::Delimiter,
        ));
    }
    let mut warnings = Vec::new();
    let person = profile.persons.as_ref().filter(|persons| repeats(profile, persons.column));
    let people = person.map_or(profile.rows, |persons| profile.columns[persons.column].counted.distinct);
    let (sensitive, why) =
        sensitive_column(profile, person.map(|persons| persons.column), asked, &mut warnings)?;
    let rules = Rules { profile, person, sensitive };
    let mut roles = Vec::new();
    for (at, column) in profile.columns.iter().enumerate() {
        let role = if at == sensitive {
            (Proposed::Sensitive, why.clone())
        } else if person.is_some_and(|persons| persons.column == at) {
            let reason = format!(
                "{} on {} rows: its name says that it identifies people, and people have several rows",
                described(column),
                profile.rows
            );
            (Proposed::Individual, reason)
        } else {
            rules.role(at, &mut warnings)
        };
        roles.push(role);
    }
    if !roles.iter().any(|(role, _)| matches!(role, Proposed::Quasi(_))) {
        warnings
            .push("no column is left that others may know; move one from drop to columns.quasi".to_string());
    }
    let list = matches!(profile.columns[sensitive].kind, Some(ColumnKind::List(_)));
    let values = if list || person.is_some() { Values::Multiset } else { Values::Single };
    let protection = protection(&profile.columns[sensitive], people, values);
    Ok(PolicyProposal { profile, roles, sensitive, protection, warnings })
}

/// Whether the values of a column repeat often enough to identify people with several rows.
fn repeats(profile: &Profile, column: usize) -> bool {
    let column = &profile.columns[column];
    column.nulls == 0
        && is_fine(profile, column)
        && (column.counted.distinct as f64) < 0.95 * profile.rows as f64
}

/// Whether a column divides the rows as finely as people do.
fn is_fine(profile: &Profile, column: &ColumnProfile) -> bool {
    column.counted.distinct > 1 && column.counted.distinct.saturating_mul(100) >= profile.rows
}

fn nearly_unique(profile: &Profile, column: &ColumnProfile) -> bool {
    let rows = profile.rows - column.nulls;
    column.counted.distinct >= 2
        && column.counted.distinct as f64 * (1.0 + column.counted.error) >= 0.9 * rows as f64
}

/// `24 different values`, with the error if the number was estimated.
pub(super) fn described(column: &ColumnProfile) -> String {
    let distinct = number_of(column.counted.distinct, "value", "different values");
    match column.counted.error {
        0.0 => distinct,
        error => format!("about {distinct} (within {:.0} %)", (100.0 * error).ceil()),
    }
}

fn sensitive_column(
    profile: &Profile,
    person: Option<usize>,
    asked: &OwnerChoices,
    warnings: &mut Vec<String>,
) -> Result<(usize, String)> {
    if let Some(wanted) = &asked.sensitive {
        return named_column(profile, wanted, warnings);
    }
    let fits = |at: usize, least: u64| {
        let column = &profile.columns[at];
        let rows = profile.rows - column.nulls;
        // A small table has few values because it has few people.
        let few =
            if rows < 100 { column.counted.distinct < rows } else { column.counted.distinct * 5 <= rows };
        Some(at) != person
            && column.name != GROUP
            && column.counts.is_some()
            && column.counted.distinct >= least
            && few
    };
    let all = || 0..profile.columns.len();
    let rank = |at: &usize| match hint(&profile.columns[*at].name) {
        Hint::Secret(rank) => Some(rank),
        _ => None,
    };
    let by_name =
        |least: u64| all().filter(|&at| fits(at, least)).filter(|at| rank(at).is_some()).min_by_key(rank);
    if let Some(at) = by_name(3).or_else(|| by_name(2)) {
        let reason = "its name suggests what people keep to themselves";
        return Ok((at, format!("{}; {reason}", described(&profile.columns[at]))));
    }
    let unnamed = |at: &usize| hint(&profile.columns[*at].name) == Hint::Nothing;
    let last = all().rev().filter(|&at| fits(at, 2) && profile.columns[at].counted.distinct <= 100);
    let guess = last.clone().find(unnamed).or_else(|| last.clone().next());
    let Some(at) = guess else {
        return Err(Error::missing(
            "no column looks like something to protect",
            "name the sensitive column",
            Setting::Sensitive,
        ));
    };
    warnings.push(format!(
        "no name of a column says what is to be protected; {:?} is only a guess: name the sensitive column",
        profile.columns[at].name
    ));
    Ok((
        at,
        format!(
            "{}; ONLY A GUESS: no name of a column says what is to be protected",
            described(&profile.columns[at])
        ),
    ))
}

/// The column that the owner named.
fn named_column(profile: &Profile, wanted: &str, warnings: &mut Vec<String>) -> Result<(usize, String)> {
    let names = || profile.columns.iter().map(|column| column.name.as_str());
    let Some(at) = names().position(|name| name == wanted) else {
        let remedy = match closest(wanted, names()) {
            Some(near) => format!("did you mean {near:?}?"),
            None => "name a column of the table".to_string(),
        };
        return Err(Error::missing(
            format!("the table has no column {wanted:?}"),
            remedy,
            Setting::Sensitive,
        ));
    };
    let column = &profile.columns[at];
    if column.kind.is_none() || column.counted.distinct > MOST as u64 || wanted == GROUP {
        return Err(Error::input(
            format!(
                "column {wanted:?} cannot be protected: it has {}, or a type or name that cannot be published",
                described(column)
            ),
            "round or group its values, or rename it, and run again",
        ));
    }
    if nearly_unique(profile, column) {
        warnings.push(format!(
            "the sensitive column {wanted:?} is nearly unique: someone who knows a value finds the row; round or group it first"
        ));
    }
    Ok((at, format!("{}; named by the owner", described(column))))
}

/// What the rules look at besides a column.
struct Rules<'a> {
    profile: &'a Profile,
    person: Option<&'a Persons>,
    sensitive: usize,
}

impl Rules<'_> {
    /// The role of a column that is neither sensitive nor identifies people.
    fn role(&self, at: usize, warnings: &mut Vec<String>) -> (Proposed, String) {
        let profile = self.profile;
        let column = &profile.columns[at];
        let described = described(column);
        let drop = |reason: String| (Proposed::Drop, reason);
        let Some(kind) = &column.kind else {
            return drop("its values have neither order nor categories, or more than 18 digits".to_string());
        };
        let hint = hint(&column.name);
        let rows = profile.rows - column.nulls;
        if column.name == GROUP {
            return drop(
                "a release numbers its groups in a column of this name; rename it to publish it".to_string(),
            );
        }
        if rows == 0 {
            return drop("it has no values".to_string());
        }
        if matches!(kind, ColumnKind::List(_)) {
            return drop("it holds lists, which only a sensitive column may".to_string());
        }
        if hint == Hint::Identifier || (hint == Hint::Person && is_fine(profile, column)) {
            return drop(format!("{described}; its name points at a person"));
        }
        if column.texts.is_some_and(|texts| texts.mostly(texts.addresses)) {
            return drop(format!("{described} that look like addresses of people"));
        }
        if self.person.is_some_and(|persons| persons.varies[at]) {
            return drop(format!("{described}; it differs between the rows of one person"));
        }
        if let Hint::Secret(_) = hint {
            return drop(format!(
                "{described}; its name suggests something sensitive too: protect it as well (columns.sensitive), or leave it out"
            ));
        }
        let whole = *kind == ColumnKind::Integer && column.ends.is_some_and(|(low, _)| low >= 0);
        if hint == Hint::Weight && whole {
            let name = &column.name;
            warnings.push(format!(
            "{name:?} looks like a count or weight: if a row stands for that many people, write count = {name:?} in [columns]"
        ));
            return drop(format!(
                "{described}; looks like a count: if a row stands for that many people, give it the role count"
            ));
        }
        let half = column.counted.distinct.saturating_mul(2) >= rows;
        if hint == Hint::Number && half {
            return drop(format!(
                "{described} on {rows} rows: finds single rows, and its name says number or name"
            ));
        }
        let counts_people =
            matches!(kind, ColumnKind::Integer | ColumnKind::Decimal { scale: 0 } | ColumnKind::Text);
        if nearly_unique(profile, column) && counts_people && !matches!(hint, Hint::Known | Hint::Code) {
            return drop(format!("{described} on {rows} rows: nearly unique, so it identifies"));
        }
        if let Some(texts) = column.texts {
            let long = texts.characters > 40 * texts.rows || texts.blanks > 4 * texts.rows;
            if long && column.counted.distinct > 20 {
                return drop(format!("{described}: free text, which may say anything about a person"));
            }
            if texts.mostly(texts.dates) {
                return drop(format!(
                    "{described} that look like dates in another form than 2020-07-31; rewrite them to publish them"
                ));
            }
        }
        let form = form(column, kind, hint);
        if form == QuasiForm::Categories
            && column.texts.is_some()
            && column.counted.distinct > MOST_IN_A_SET as u64
        {
            return drop(format!(
                "{described}, too many to publish as sets; to publish it, group them: skyveil init TABLE --hierarchy COLUMN"
            ));
        }
        (Proposed::Quasi(form), format!("{described}; {}", self.why_quasi(at, hint)))
    }

    fn why_quasi(&self, at: usize, hint: Hint) -> String {
        let profile = self.profile;
        let mut why = match hint {
            Hint::Known | Hint::Code => "others may know it of a person".to_string(),
            _ => "not recognized, so taken for something that others may know".to_string(),
        };
        let column = &profile.columns[at];
        if column.nulls > 0 {
            why.push_str(&format!("; {} without a value", number_of(column.nulls, "row", "rows")));
        }
        if let Some((low, high)) = &column.range {
            why.push_str(&format!("; mostly from {low} to {high}"));
        }
        if let Some(finer) = profile.determined_by(at, self.sensitive) {
            let finer = crate::policy::quoted(&profile.columns[finer].name);
            why.push_str(&format!("; it follows from {finer}, so one of the two may be enough"));
        }
        why
    }
}

fn form(column: &ColumnProfile, kind: &ColumnKind, hint: Hint) -> QuasiForm {
    let few = column.counted.distinct as f64 * (1.0 + column.counted.error) < MOST as f64;
    match kind {
        ColumnKind::Date | ColumnKind::Timestamp { .. } => {
            QuasiForm::Dates(vec![DateLevel::Month, DateLevel::Quarter, DateLevel::Year, DateLevel::Decade])
        }
        ColumnKind::Integer if hint == Hint::Code && few && column.counted.distinct > 100 => {
            code_of_numbers(column)
        }
        ColumnKind::Text => match column.texts.and_then(|texts| Some((texts, texts.lengths?))) {
            Some((texts, (least, most))) if few && texts.starred == 0 && (2..=12).contains(&most) => {
                let same_length = least == most && texts.mostly(texts.digits);
                let coded = hint == Hint::Code || same_length || texts.mostly(texts.codes);
                let worth = if hint == Hint::Code { 3 } else { 20 };
                if coded && column.counted.distinct > worth { prefixes(most) } else { QuasiForm::Categories }
            }
            _ => QuasiForm::Categories,
        },
        ColumnKind::Boolean | ColumnKind::List(_) => QuasiForm::Categories,
        _ => QuasiForm::Ranges,
    }
}

/// Numbers of equal length are codes; otherwise leading zeros may have been lost, and only ranges are correct.
fn code_of_numbers(column: &ColumnProfile) -> QuasiForm {
    let Some((low, high)) = column.ends else { return QuasiForm::Ranges };
    let digits = |key: i64| Scale::Integer.text(key).len() as u64;
    if low > 0 && digits(low) == digits(high) {
        return prefixes(digits(high));
    }
    let widths: Vec<u64> =
        (1..=5).map(|power| 10u64.pow(power)).filter(|&w| w < high.abs_diff(low)).collect();
    if widths.is_empty() { QuasiForm::Ranges } else { QuasiForm::Widths(widths) }
}

/// Prefixes from one character less than the full length down to one.
fn prefixes(length: u64) -> QuasiForm {
    let lengths: Vec<u64> = (1..length).rev().collect();
    if lengths.is_empty() { QuasiForm::Categories } else { QuasiForm::Prefix(lengths) }
}
