//! Which column is most likely the one to protect?
//!
//! Candidates are columns whose names say that people keep their values to themselves, or the one that the owner named.
//! Of them, a column is better the more there is to hide and the easier it is to hide: several values, none of which most
//! people have.

use super::column::ColumnProfile;
use super::role::{OwnerChoices, described, nearly_unique};
use super::scan::Profile;
use crate::encode::distinct::MOST;
use crate::error::{Error, Result, Setting};
use crate::policy::closest;
use crate::policy::{Hint, hint};
use crate::release::rows::GROUP;
use crate::table::ColumnKind;

/// A column that could be protected.
#[derive(Debug, Clone, PartialEq)]
pub struct SensitiveCandidate {
    /// Its position in the table.
    pub column: usize,
    /// Why it is where it is among the candidates.
    pub why: String,
}

/// More values than this are hard to protect one by one.
const MOST_VALUES: u64 = 60;

/// A value that more people have than this leaves little to hide.
const FREQUENT: f64 = 0.7;

/// With more rows without a value than this, something else is protected better.
const GAPS: f64 = 0.1;

/// The candidates, best first; at least one. Says in `warnings` what the owner should decide.
pub(super) fn candidates(
    profile: &Profile,
    person: Option<usize>,
    asked: &OwnerChoices,
    warnings: &mut Vec<String>,
) -> Result<Vec<SensitiveCandidate>> {
    let mut found = by_name(profile, person);
    if let Some(wanted) = &asked.sensitive {
        let chosen = named_column(profile, wanted, warnings)?;
        found.retain(|candidate| candidate.column != chosen.column);
        found.insert(0, chosen);
    }
    if found.is_empty() {
        found.push(guess(profile, person, warnings)?);
    }
    Ok(found)
}

/// Columns whose names suggest something to protect, best first.
fn by_name(profile: &Profile, person: Option<usize>) -> Vec<SensitiveCandidate> {
    let mut ranked: Vec<(Rank, SensitiveCandidate)> = Vec::new();
    for (at, column) in profile.columns.iter().enumerate() {
        let Hint::Secret(secrecy) = hint(&column.name) else { continue };
        if !fits(profile, at, person) {
            continue;
        }
        let rank = Rank::of(profile, column, secrecy);
        let why = format!(
            "{}, {}; its name suggests what people keep to themselves{}",
            described(column),
            most_frequent(profile, column),
            rank.drawback()
        );
        ranked.push((rank, SensitiveCandidate { column: at, why }));
    }
    ranked.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    ranked.into_iter().map(|(_, candidate)| candidate).collect()
}

/// What candidates are compared by, in this order; less is better.
#[derive(Debug, PartialEq)]
struct Rank {
    /// Whether many rows have no value.
    gaps: bool,
    /// Whether one value leaves little to hide.
    frequent: bool,
    /// Whether there are 2 values (1) or too many (2).
    values: u8,
    /// How secret the name sounds.
    secrecy: u8,
    /// Whether values are codes rather than words.
    coded: bool,
    /// The share of the most frequent value.
    share: f64,
}

impl Rank {
    fn of(profile: &Profile, column: &ColumnProfile, secrecy: u8) -> Self {
        let share = largest_share(profile, column);
        let values = match column.counted.distinct {
            0..=2 => 1,
            3..=MOST_VALUES => 0,
            _ => 2,
        };
        let coded = column.kind != Some(ColumnKind::Text);
        let gaps = column.nulls as f64 > GAPS * profile.rows as f64;
        Rank { gaps, frequent: share > FREQUENT, values, secrecy, coded, share }
    }

    fn drawback(&self) -> &'static str {
        match (self.gaps, self.frequent, self.values) {
            (true, ..) => "; many rows have no value",
            (_, true, _) => "; one value leaves little to hide",
            (_, _, 2) => "; many values, which are hard to protect one by one",
            _ => "",
        }
    }

    fn total_cmp(&self, other: &Rank) -> std::cmp::Ordering {
        let order = |rank: &Rank| (rank.gaps, rank.frequent, rank.values, rank.secrecy, rank.coded);
        order(self).cmp(&order(other)).then_with(|| self.share.total_cmp(&other.share))
    }
}

/// The share of the rows with the most frequent value, or with none.
pub(super) fn largest_share(profile: &Profile, column: &ColumnProfile) -> f64 {
    let most = column.counted.most.unwrap_or(0).max(column.nulls);
    most as f64 / profile.rows.max(1) as f64
}

fn most_frequent(profile: &Profile, column: &ColumnProfile) -> String {
    format!("{:.1} % of the rows have the most frequent", 100.0 * largest_share(profile, column))
}

/// Whether a column has values that could be protected.
fn fits(profile: &Profile, at: usize, person: Option<usize>) -> bool {
    let column = &profile.columns[at];
    let rows = profile.rows - column.nulls;
    // A small table has few values because it has few people.
    let few = if rows < 100 { column.counted.distinct < rows } else { column.counted.distinct * 5 <= rows };
    Some(at) != person
        && column.name != GROUP
        && column.counts.is_some()
        && column.counted.distinct >= 2
        && 2 * column.nulls <= profile.rows
        && few
}

/// The last column that could be something to protect.
fn guess(profile: &Profile, person: Option<usize>, warnings: &mut Vec<String>) -> Result<SensitiveCandidate> {
    let unnamed = |at: &usize| hint(&profile.columns[*at].name) == Hint::Nothing;
    let last = (0..profile.columns.len())
        .rev()
        .filter(|&at| fits(profile, at, person) && profile.columns[at].counted.distinct <= 100);
    let Some(column) = last.clone().find(unnamed).or_else(|| last.clone().next()) else {
        return Err(Error::missing(
            "no column looks like something to protect",
            "name the sensitive column",
            Setting::Sensitive,
        ));
    };
    let own = &profile.columns[column];
    warnings.push(format!(
        "no name of a column says what is to be protected; {:?} is only a guess: name the sensitive column",
        own.name
    ));
    let why = format!("{}; ONLY A GUESS: no name of a column says what is to be protected", described(own));
    Ok(SensitiveCandidate { column, why })
}

/// The column that the owner named.
fn named_column(profile: &Profile, wanted: &str, warnings: &mut Vec<String>) -> Result<SensitiveCandidate> {
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
    Ok(SensitiveCandidate { column: at, why: format!("{}; named by the owner", described(column)) })
}
