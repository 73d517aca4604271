//! What was required for a column, and what was found? The claims of every adversary in one table.
//!
//! Measured values are rounded up where more is worse; margins are rounded down. Anything that depends on the original
//! and not only on the release is not shown: neither [`Amount::Between`] nor the counts of a claim nor the notes of a
//! finding, which are for the owner of the original.
//!
//! Memory: at most [`MOST_CLAIMS`] rows.

use maud::{Markup, html};

use super::contents::{Asked, Contents};
use super::values::{MOST_NUMBERS, PLACES, RANGES};
use crate::check::JudgedColumn;
use crate::math::exact::{Rational, decimal_at_least, decimal_at_most};
use crate::model::finding::{Amount, Claim, ClaimSubject, ClaimVerdict, Datum, Finding};
use crate::report::digits::{grouped, telling_places};

/// Number of claims listed, those with the smallest margins first.
const MOST_CLAIMS: usize = 40;

/// The claims that are not about single values, which have a table of their own.
pub(super) fn section(column: &JudgedColumn, contents: &Contents<'_>) -> Markup {
    match contents.asked {
        Asked::Nothing => html! {
            p {
                "No verdict: neither a policy nor a point (" code { "skyveil report --point L,K,M,C" } ") says what must \
                 hold. This is how sure the groups alone make someone who knows nothing else."
            }
        },
        Asked::Policy | Asked::Points => table(&column.finding),
    }
}

/// What a row of the table is about.
struct ListedClaim<'a> {
    /// The claim, or the one that is closest to its limit.
    claim: &'a Claim,
    /// The windows of numbers that the row stands for, if there are many: from where to where, and how many.
    windows: Option<(String, u64)>,
}

impl<'a> ListedClaim<'a> {
    /// Every claim that is not about single values; many windows of numbers of one point by ranges.
    fn of(finding: &'a Finding) -> Vec<Self> {
        let of_window = |claim: &&Claim| matches!(claim.subject, ClaimSubject::Window(_));
        let is_listed = |claim: &&Claim| !matches!(claim.subject, ClaimSubject::Value(_));
        let (windows, rest): (Vec<&Claim>, Vec<&Claim>) =
            finding.claims.iter().filter(is_listed).partition(of_window);
        let mut points: Vec<Vec<&Claim>> = Vec::new();
        for claim in windows {
            let same = |own: &&mut Vec<&Claim>| {
                own[0].knows == claim.knows && own[0].limit.value == claim.limit.value
            };
            match points.iter_mut().find(same) {
                Some(own) => own.push(claim),
                None => points.push(vec![claim]),
            }
        }
        let alone = |claim: &'a Claim| ListedClaim { claim, windows: None };
        let mut listed: Vec<Self> = rest.into_iter().map(alone).collect();
        for windows in points {
            match windows.len() > MOST_NUMBERS {
                true => listed.extend(windows.chunks(windows.len().div_ceil(RANGES)).filter_map(Self::range)),
                false => listed.extend(windows.into_iter().map(alone)),
            }
        }
        listed
    }

    /// Neighbouring windows by the one that is closest to its limit.
    fn range(windows: &[&'a Claim]) -> Option<Self> {
        let name = |claim: &'a Claim| subject(claim).split(" to ");
        let (low, high) = (name(windows.first()?).next()?, name(windows.last()?).last()?);
        let claim = windows.iter().min_by_key(|claim| claim.margin().unwrap_or(Rational::ZERO))?;
        Some(ListedClaim { claim, windows: Some((format!("{low} to {high}"), windows.len() as u64)) })
    }
}

/// The claims with the results.
pub(super) fn table(finding: &Finding) -> Markup {
    let mut listed = ListedClaim::of(finding);
    let by_ranges = listed.iter().any(|row| row.windows.is_some());
    if !by_ranges {
        listed.sort_by_cached_key(|row| {
            row.claim.is_of_values().then(|| row.claim.margin().unwrap_or(Rational::ZERO))
        });
    }
    let windows = listed.iter().any(|row| row.claim.is_of_values());
    html! {
        @if finding.claims.is_empty() { p { "Nothing is required of this column." } }
        @if windows {
            p.soft {
                "Someone who knows l values that a person does not have, the values of k other people and m members of the \
                 person's family can become as certain of the value as the breach says, and no more certain."
            }
        }
        @if !listed.is_empty() {
            div.scroll {
                table.claims {
                    thead {
                        tr {
                            th { "claim" } th { "verdict" } th { "adversary knows" } th { "measured" } th { "limit" }
                            th { "margin" }
                        }
                    }
                    tbody { @for listed in listed.iter().take(MOST_CLAIMS) { (row(listed)) } }
                }
            }
            p.soft {
                "Measured risks are rounded up, margins down."
                @if by_ranges { " A row of many windows shows the one that is closest to its limit." }
            }
        }
        @if let Some(more @ 1..) = listed.len().checked_sub(MOST_CLAIMS) {
            p.soft {
                (grouped(more as u64)) " more claims have no smaller margin; " code { "skyveil check --all" } " lists them."
            }
        }
        @if finding.claims.iter().any(|claim| matches!(claim.measured.amount, Amount::Between(..))) {
            p.soft {
                "What was measured with the original is not shown: it depends on the original and not on the release alone."
            }
        }
        @if finding.is_open() {
            p.soft {
                "What is not judged here was judged when the release was made; "
                code { "skyveil check RELEASE --original TABLE" } " judges it again."
            }
        }
    }
}

fn row(listed: &ListedClaim<'_>) -> Markup {
    let claim = listed.claim;
    let is_private = matches!(claim.measured.amount, Amount::Between(..));
    let margin = claim.margin().filter(|_| !is_private);
    let places = telling_places(&risk(claim), &claim.limit.value, PLACES);
    let is_count = matches!(claim.measured.amount, Amount::Count(_));
    html! {
        tr.bad[matches!(claim.verdict, ClaimVerdict::Unsafe | ClaimVerdict::Undecided)] {
            td {
                @match &listed.windows {
                    Some((range, many)) => {
                        bdi { (range) } br; span.soft { (grouped(*many)) " windows, such as " bdi { (subject(claim)) } }
                    }
                    None => bdi { (subject(claim)) },
                }
            }
            td {
                @match claim.verdict {
                    ClaimVerdict::Safe => "safe",
                    ClaimVerdict::Undecided => "not proven",
                    ClaimVerdict::Unsafe => "unsafe",
                    ClaimVerdict::NotJudged => "not judged here",
                }
            }
            td { (known(claim)) }
            td { (measured(claim)) }
            td { (claim.limit.side.words()) " " (claim.limit.value) }
            td {
                @match margin {
                    Some(margin) if is_count => (margin),
                    Some(margin) => (decimal_at_most(&margin, places)),
                    None => "",
                }
            }
        }
    }
}

fn subject(claim: &Claim) -> &str {
    match &claim.subject {
        ClaimSubject::Size("people") => "people in the smallest group",
        ClaimSubject::Size(_) => "fewest different values in a group",
        ClaimSubject::Value(name) | ClaimSubject::Window(name) => name,
        ClaimSubject::Criterion(name) => name,
        ClaimSubject::Everybody => claim.measured.name,
    }
}

/// What the adversary knows, such as `l 2, k 3, m 2` or `2 implications`.
fn known(claim: &Claim) -> String {
    let one = |(name, datum): &(&str, Datum)| match datum {
        Datum::Count(count) if claim.knows.len() == 1 => format!("{} {name}", grouped(*count)),
        _ => format!("{name} {}", datum.in_words(grouped, str::to_string)),
    };
    claim.knows.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn measured(claim: &Claim) -> String {
    match &claim.measured.amount {
        Amount::Count(count) => grouped(*count),
        Amount::Exact(_) | Amount::AtMost(_) => {
            decimal_at_least(&risk(claim), telling_places(&risk(claim), &claim.limit.value, PLACES))
        }
        Amount::Between(..) => "not shown".to_string(),
        Amount::Unknown => String::new(),
    }
}

/// The risk that was found, or a bound above it.
fn risk(claim: &Claim) -> Rational {
    claim.measured.amount.upper_bound().unwrap_or(Rational::ONE)
}
