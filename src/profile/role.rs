//! Which role may each column have, and why?
//!
//! Rules of thumb based on names and counts, each with its reason in words. A column that no rule recognizes is dropped.
//! No column is ever proposed to be published unchanged.

use super::candidates::{SensitiveCandidate, candidates, largest_share};
use super::column::ColumnProfile;
use super::known::{KnownColumns, known_columns, why_known};
use super::privacy::{ProposedProtection, protection};
use super::scan::{Persons, Profile};
use crate::encode::attribute::MOST_IN_A_SET;
use crate::encode::distinct::MOST;
use crate::encode::scale::Scale;
use crate::error::{Error, Result, number_of};
use crate::math::skyline::Values;
use crate::policy::hierarchy::DateLevel;
use crate::policy::{Hint, Topic, hint, topic};
use crate::release::rows::GROUP;
use crate::table::ColumnKind;
use crate::table::read::wrong_delimiter;

/// Decisions that the owner has already made.
#[derive(Debug, Clone, Default)]
pub struct OwnerChoices {
    /// The column to protect.
    pub sensitive: Option<String>,
    /// Against whom.
    pub adversary: ProposedAdversary,
}

/// The adversaries for whom a policy can be proposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProposedAdversary {
    /// Knows values of some people.
    #[default]
    Skyline,
    /// Knows distributions.
    Robust,
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
    /// The columns that could be protected, best first, the sensitive one among them.
    pub candidates: Vec<SensitiveCandidate>,
    /// Columns of whole numbers that are codes, so that they should be read as texts.
    pub codes: Vec<usize>,
    /// Columns of numbers with zeros before them, so that they should be read as numbers.
    pub padded: Vec<usize>,
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
    if let Some(error) = wrong_delimiter(&names) {
        return Err(error);
    }
    let mut warnings = Vec::new();
    let person = profile.persons.as_ref().filter(|persons| repeats(profile, persons.column));
    let people = person.map_or(profile.rows, |persons| profile.columns[persons.column].counted.distinct);
    let candidates = candidates(profile, person.map(|persons| persons.column), asked, &mut warnings)?;
    let SensitiveCandidate { column: sensitive, why } = candidates[0].clone();
    let mut rules = Rules { profile, person, sensitive, known: KnownColumns::default() };
    let is_person = |at: usize| person.is_some_and(|persons| persons.column == at);
    let others = || (0..profile.columns.len()).filter(|&at| at != sensitive && !is_person(at));
    let usable: Vec<usize> = others().filter(|&at| rules.unfit(at).is_none()).collect();
    rules.known = known_columns(profile, &usable, sensitive);
    let mut roles = Vec::new();
    for (at, column) in profile.columns.iter().enumerate() {
        roles.push(if at == sensitive {
            (Proposed::Sensitive, why.clone())
        } else if is_person(at) {
            let reason = format!(
                "{} on {} rows: its name says that it identifies people, and people have several rows",
                described(column),
                profile.rows
            );
            (Proposed::Individual, reason)
        } else {
            rules.role(at)
        });
    }
    warnings.extend(others().filter_map(|at| rules.counts(at)));
    if !roles.iter().any(|(role, _)| matches!(role, Proposed::Quasi(_))) {
        warnings
            .push("no column is left that others may know; move one from drop to columns.quasi".to_string());
    }
    let list = matches!(profile.columns[sensitive].kind, Some(ColumnKind::List(_)));
    let values = if list || person.is_some() { Values::Multiset } else { Values::Single };
    let mut protection = protection(&profile.columns[sensitive], people, values);
    if asked.adversary == ProposedAdversary::Robust {
        protection = protection.robust(&profile.columns[sensitive], people)?;
    }
    let codes = (0..profile.columns.len()).filter(|&at| rules.is_code(at)).collect();
    let padded = (0..profile.columns.len()).filter(|&at| rules.is_padded(at)).collect();
    Ok(PolicyProposal { profile, roles, sensitive, candidates, codes, padded, protection, warnings })
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

pub(super) fn nearly_unique(profile: &Profile, column: &ColumnProfile) -> bool {
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

/// What the rules look at besides a column.
struct Rules<'a> {
    profile: &'a Profile,
    person: Option<&'a Persons>,
    sensitive: usize,
    known: KnownColumns,
}

/// A column in which a larger share of the rows than this has the same value tells people apart too rarely.
const ALIKE: f64 = 0.98;

/// More different whole numbers than this are not taken for codes.
const MOST_CODES: u64 = 100;

impl Rules<'_> {
    /// The role of a column that is neither sensitive nor identifies people.
    fn role(&self, at: usize) -> (Proposed, String) {
        let column = &self.profile.columns[at];
        if let Some(why) = self.unfit(at) {
            return (Proposed::Drop, why);
        }
        let described = described(column);
        match (self.known.chosen.get(&at), self.known.left_out.get(&at), &column.kind) {
            (Some(topic), _, Some(kind)) => {
                let form = form(column, kind, hint(&column.name));
                let form = match (self.is_code(at), self.is_padded(at)) {
                    (true, _) => QuasiForm::Categories,
                    (_, true) => QuasiForm::Ranges,
                    _ => form,
                };
                (Proposed::Quasi(form), self.why_quasi(at, *topic))
            }
            (_, Some(why), _) => (Proposed::Drop, format!("{described}; {why}")),
            _ => (Proposed::Drop, format!("{described}; not recognized as something that others know")),
        }
    }

    /// Why a column cannot be proposed as a quasi-identifier, if it cannot.
    fn unfit(&self, at: usize) -> Option<String> {
        let profile = self.profile;
        let column = &profile.columns[at];
        let described = described(column);
        let Some(kind) = &column.kind else {
            return Some("its values have neither order nor categories, or more than 18 digits".to_string());
        };
        let hint = hint(&column.name);
        let rows = profile.rows - column.nulls;
        if column.name == GROUP {
            return Some(
                "a release numbers its groups in a column of this name; rename it to publish it".to_string(),
            );
        }
        if rows == 0 {
            return Some("it has no values".to_string());
        }
        if matches!(kind, ColumnKind::List(_)) {
            return Some("it holds lists, which only a sensitive column may".to_string());
        }
        if hint == Hint::Identifier || (hint == Hint::Person && is_fine(profile, column)) {
            return Some(format!("{described}; its name points at a person"));
        }
        if column.texts.is_some_and(|texts| texts.mostly(texts.addresses)) {
            return Some(format!("{described} that look like addresses of people"));
        }
        if self.person.is_some_and(|persons| persons.varies[at]) {
            return Some(format!("{described}; it differs between the rows of one person"));
        }
        if largest_share(profile, column) > ALIKE {
            return Some(format!("{described}; nearly all rows are alike in it"));
        }
        let known = topic(&column.name);
        let work = known.is_some_and(|(topic, _)| topic == Topic::Work);
        if matches!(hint, Hint::Secret(_)) && !work {
            return Some(format!(
                "{described}; its name suggests something sensitive too: protect it as well (columns.sensitive), or leave it out"
            ));
        }
        if hint == Hint::Weight {
            return Some(match self.counts(at) {
                Some(_) => format!(
                    "{described}; looks like a count: if a row stands for that many people, give it the role count"
                ),
                None => format!("{described}; its name says that it is a weight of the rows"),
            });
        }
        let half = column.counted.distinct.saturating_mul(2) >= rows;
        if hint == Hint::Number {
            return Some(match half {
                true => {
                    format!("{described} on {rows} rows: finds single rows, and its name says number or name")
                }
                false => format!("{described}; its name says that it is a number or a name"),
            });
        }
        let counts_people =
            matches!(kind, ColumnKind::Integer | ColumnKind::Decimal { scale: 0 } | ColumnKind::Text);
        if nearly_unique(profile, column) && counts_people && !matches!(hint, Hint::Known | Hint::Code) {
            return Some(format!("{described} on {rows} rows: nearly unique, so it identifies"));
        }
        self.unfit_texts(column, kind, hint)
    }

    /// Why texts cannot be published coarsely, if they cannot.
    fn unfit_texts(&self, column: &ColumnProfile, kind: &ColumnKind, hint: Hint) -> Option<String> {
        let (texts, described) = (column.texts?, described(column));
        let long = texts.characters > 40 * texts.rows || texts.blanks > 4 * texts.rows;
        if long && column.counted.distinct > 20 {
            return Some(format!("{described}: free text, which may say anything about a person"));
        }
        if texts.mostly(texts.dates) {
            return Some(format!(
                "{described} that look like dates, day or month first: declare which (types = \"day-month-year\" or \
                 \"month-day-year\") to publish them"
            ));
        }
        if form(column, kind, hint) == QuasiForm::Categories && column.counted.distinct > MOST_IN_A_SET as u64
        {
            return Some(format!(
                "{described}, too many to publish as sets; to publish it, group them: skyveil init TABLE --hierarchy COLUMN"
            ));
        }
        None
    }

    /// What to decide about a column of whole numbers that may say how many people a row stands for.
    fn counts(&self, at: usize) -> Option<String> {
        let column = &self.profile.columns[at];
        let whole = column.kind == Some(ColumnKind::Integer) && column.ends.is_some_and(|(low, _)| low >= 0);
        let name = &column.name;
        (hint(name) == Hint::Weight && whole).then(|| {
            format!(
                "{name:?} looks like a count or weight: if a row stands for that many people, write count = {name:?} in [columns]"
            )
        })
    }

    /// Whether a column of few whole numbers names categories by numbers.
    fn is_code(&self, at: usize) -> bool {
        let column = &self.profile.columns[at];
        let ordered = |topic: &Topic| matches!(topic, Topic::Age | Topic::Household);
        let role = match self.known.chosen.get(&at) {
            Some(Some(topic)) => !ordered(topic),
            Some(None) => column.counted.distinct <= 20,
            None => at == self.sensitive,
        };
        role && column.kind == Some(ColumnKind::Integer) && column.counted.distinct <= MOST_CODES
    }

    /// Whether a column of texts such as `07` is one of ages.
    fn is_padded(&self, at: usize) -> bool {
        self.known.chosen.get(&at) == Some(&Some(Topic::Age)) && self.profile.columns[at].padded.is_some()
    }

    fn why_quasi(&self, at: usize, topic: Option<Topic>) -> String {
        let profile = self.profile;
        let mut why = why_known(profile, at, topic);
        let column = &profile.columns[at];
        if column.nulls > 0 {
            why.push_str(&format!("; {} without a value", number_of(column.nulls, "row", "rows")));
        }
        if let Some((low, high)) = column.range.as_ref().filter(|_| !self.is_code(at)) {
            why.push_str(&format!("; mostly from {low} to {high}"));
        }
        if let Some(finer) = profile.determined_by(at, self.sensitive) {
            let finer = crate::policy::quoted(&profile.columns[finer].name);
            why.push_str(&format!("; it follows from {finer}"));
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
