//! Which columns are proposed as what others may know of a person?
//!
//! One column for each topic that is recognized by its name or by what it holds, and few of them: every
//! quasi-identifier makes the groups coarser in all the others. What is left out is dropped, never published.

use super::candidates::largest_share;
use super::column::ColumnProfile;
use super::role::described;
use super::scan::Profile;
use crate::policy::{Hint, Topic, hint, topic};
use crate::table::ColumnKind;
use std::collections::BTreeMap;

/// How many quasi-identifiers are proposed at most.
pub(super) const MOST_QUASI: usize = 6;

/// A place is fine enough if this many rows share it on average.
const ROWS_OF_A_PLACE: u64 = 500;

/// The doubt about a column that is recognized by what it holds: one with a telling name is better.
const BY_CONTENT: usize = usize::MAX;

/// The result of choosing.
#[derive(Debug, Default)]
pub(super) struct KnownColumns {
    /// The chosen columns with their topics; `None` for columns that were taken because nothing was recognized.
    pub chosen: BTreeMap<usize, Option<Topic>>,
    /// Recognized columns that are left out, and why.
    pub left_out: BTreeMap<usize, String>,
}

/// Chooses among `usable` columns, where `sensitive` is protected.
pub(super) fn known_columns(profile: &Profile, usable: &[usize], sensitive: usize) -> KnownColumns {
    let about = |at: usize| recognized(&profile.columns[at]);
    let protected = about(sensitive).map(|(topic, _)| topic);
    let mut of_topic: BTreeMap<Topic, Vec<(usize, usize)>> = BTreeMap::new();
    let mut found = KnownColumns::default();
    for &at in usable {
        match about(at) {
            Some((topic, _)) if Some(topic) == protected => {
                let name = crate::policy::quoted(&profile.columns[sensitive].name);
                found.left_out.insert(at, format!("it tells of the same as {name}"));
            }
            Some((topic, doubt)) => of_topic.entry(topic).or_default().push((doubt, at)),
            None => {}
        }
    }
    for (topic, mut columns) in of_topic {
        if columns.iter().any(|(doubt, _)| *doubt < BY_CONTENT) {
            columns.retain(|(doubt, _)| *doubt < BY_CONTENT);
        }
        let best = match topic {
            Topic::Place => place(profile, &columns),
            _ => telling(profile, &columns),
        };
        let Some(best) = best else { continue };
        let full = found.chosen.len() == MOST_QUASI;
        for (_, at) in columns.into_iter().filter(|(_, at)| full || *at != best) {
            let why = match full {
                true => format!("others may know it, but {MOST_QUASI} such columns are enough to begin with"),
                false => {
                    let name = crate::policy::quoted(&profile.columns[best].name);
                    format!("others may know it, but {name} says something similar and is proposed")
                }
            };
            found.left_out.insert(at, why);
        }
        if !full {
            found.chosen.insert(best, Some(topic));
        }
    }
    if found.chosen.is_empty() {
        let few = |at: &&usize| {
            let column = &profile.columns[**at];
            hint(&column.name) == Hint::Nothing && !found.left_out.contains_key(*at)
        };
        let unrecognized = usable.iter().filter(few).take(MOST_QUASI);
        found.chosen = unrecognized.map(|&at| (at, None)).collect();
    }
    found
}

/// The topic of a column, and how doubtful it is.
fn recognized(column: &ColumnProfile) -> Option<(Topic, usize)> {
    topic(&column.name).or_else(|| Some((by_content(column)?, BY_CONTENT)))
}

/// The topic of a column whose name says nothing.
fn by_content(column: &ColumnProfile) -> Option<Topic> {
    if hint(&column.name) != Hint::Nothing {
        return None;
    }
    match (&column.kind, column.texts) {
        (Some(ColumnKind::Text), Some(texts)) if texts.mostly(texts.sexes) => Some(Topic::Sex),
        (Some(ColumnKind::Text), Some(texts)) if texts.mostly(texts.states) => Some(Topic::Place),
        (Some(ColumnKind::Integer), _) => {
            let ends = column.ends.filter(|(low, high)| *low >= 0 && *high <= 120)?;
            (column.counted.distinct >= 60 && ends.1 >= 60).then_some(Topic::Age)
        }
        (Some(ColumnKind::Date), _) => {
            let (low, high) = column.range.as_ref()?;
            let years = high.parse::<i64>().ok()? - low.parse::<i64>().ok()?;
            (years >= 40).then_some(Topic::Age)
        }
        _ => None,
    }
}

/// The column that says most clearly what it is about, with the fewest gaps.
fn telling(profile: &Profile, columns: &[(usize, usize)]) -> Option<usize> {
    let order = |(doubt, at): &(usize, usize)| {
        let column = &profile.columns[*at];
        let frequent = (1000.0 * largest_share(profile, column)) as u64;
        (*doubt, column.nulls, frequent, *at)
    };
    columns.iter().min_by_key(|own| order(own)).map(|(_, at)| *at)
}

/// The finest place that enough rows share, or else the coarsest.
fn place(profile: &Profile, columns: &[(usize, usize)]) -> Option<usize> {
    let distinct = |at: usize| profile.columns[at].counted.distinct;
    let gaps = columns.iter().map(|(_, at)| profile.columns[*at].nulls).min()?;
    let complete = || columns.iter().map(|(_, at)| *at).filter(|at| profile.columns[*at].nulls == gaps);
    let shared = complete().filter(|at| distinct(*at).saturating_mul(ROWS_OF_A_PLACE) <= profile.rows);
    // Of columns with as many values, the first.
    let finest = shared.rev().max_by_key(|at| distinct(*at));
    finest.or_else(|| complete().min_by_key(|at| distinct(*at)))
}

/// Why a column is proposed.
pub(super) fn why_known(profile: &Profile, at: usize, topic: Option<Topic>) -> String {
    let told = match topic {
        Some(_) => "others may know it of a person",
        None => "not recognized, so taken for something that others may know",
    };
    format!("{}; {told}", described(&profile.columns[at]))
}
