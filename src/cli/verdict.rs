//! How is the verdict of a check shown to people and to programs?
//!
//! Pure text, the same for every adversary: risks are never rounded down, margins never up.

use serde_json::{Value, json};

use super::terminal::visible;
use crate::check::{JudgedColumn, Order, Verdict};
use crate::error::number_of;
use crate::math::exact::{Rational, decimal_at_least, decimal_at_most};
use crate::model::finding::{Amount, Claim, ClaimSubject, ClaimVerdict, Finding, Note, WorstByValue};
use crate::release::findings;
use crate::release::manifest::values_per_person;

/// How many claims are shown in the text output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// The worst few.
    Worst,
    /// All of them.
    All,
}

/// Claims that are shown by default.
const SHOWN: usize = 10;
/// Digits after the point.
const PLACES: usize = 6;

/// As text: a one-line verdict for each sensitive column, and tables of its claims.
pub fn to_text(verdict: &Verdict, detail: Detail) -> String {
    let shown = match detail {
        Detail::Worst => SHOWN,
        Detail::All => usize::MAX,
    };
    let several = verdict.columns.len() > 1;
    let one = |column: &JudgedColumn| {
        let finding = &column.finding;
        let mut text = if several { format!("{}: ", visible(&finding.column)) } else { String::new() };
        text.push_str(&summary(column));
        text.push_str(&tables(finding, shown));
        text.push_str(&finding.worst.as_ref().map(|worst| worst_table(worst, shown)).unwrap_or_default());
        for note in &finding.notes {
            if let Note::Remark(remark) = note {
                text.push_str(&format!("{remark}\n"));
            }
        }
        text
    };
    verdict.columns.iter().map(one).collect::<Vec<_>>().join("\n")
}

/// One line.
fn summary(column: &JudgedColumn) -> String {
    let finding = &column.finding;
    let word = match (finding.safe, finding.is_undecided()) {
        (true, _) => ClaimVerdict::Safe.word().to_string(),
        (false, true) => ClaimVerdict::Undecided.word().to_string(),
        (false, false) => match finding.unprotected.filter(|_| finding.stands()) {
            Some(unprotected) => unprotected.in_words(),
            None => ClaimVerdict::Unsafe.word().to_string(),
        },
    };
    let people = number_of(column.individuals, "person", "people");
    let groups = number_of(column.groups, "group", "groups");
    let reasons: Vec<&str> = finding.summary().collect();
    format!("{word}: {people} in {groups}; {}\n", reasons.join("; "))
}

/// A claim with its margin.
type RankedClaim<'a> = (Option<Rational>, &'a Claim);

/// Tables of the claims about values and about what adversaries know, those with the least margin first. A claim that
/// stands alone is in the summary.
fn tables(finding: &Finding, shown: usize) -> String {
    let mut tables: Vec<(Vec<String>, Vec<RankedClaim<'_>>)> = Vec::new();
    for claim in finding.risks().filter(|claim| is_tabled(claim)) {
        let head = head(claim);
        match tables.iter_mut().find(|(own, _)| *own == head) {
            Some((_, claims)) => claims.push((claim.margin(), claim)),
            None => tables.push((head, vec![(claim.margin(), claim)])),
        }
    }
    let mut text = String::new();
    for (head, mut claims) in tables {
        claims.sort_by(|a, b| a.0.cmp(&b.0));
        let more = claims.len().saturating_sub(shown);
        let rows = claims.iter().take(shown).map(|(margin, claim)| row(claim, margin.as_ref()));
        let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
        text.push_str(&format!("\n{}{}", aligned(&rows), no_worse(more)));
    }
    text
}

/// Whether there may be many claims of this kind.
fn is_tabled(claim: &Claim) -> bool {
    claim.is_of_values() || !claim.counts.is_empty()
}

fn no_worse(more: usize) -> String {
    match more {
        0 => String::new(),
        more => format!("... and {more} more that are no worse; --all shows them\n"),
    }
}

fn head(claim: &Claim) -> Vec<String> {
    let subject = claim.subject.named().map(|(kind, _)| kind);
    let knows = claim.knows.iter().map(|(name, _)| *name);
    let measured = [claim.measured.name, claim.limit.side.words(), "margin"];
    let counts = claim.counts.iter().map(|(name, _)| *name);
    let all = subject.into_iter().chain(knows).chain(measured).chain(counts).chain(["verdict"]);
    all.map(str::to_string).collect()
}

fn row(claim: &Claim, margin: Option<&Rational>) -> Vec<String> {
    let subject = claim.subject.named().map(|(_, name)| visible(name));
    let knows = claim.knows.iter().map(|(_, datum)| datum.in_words(|count| count.to_string(), visible));
    let margin = margin.map_or(String::new(), |margin| decimal_at_most(margin, PLACES));
    let measured = [amount_text(&claim.measured.amount), claim.limit.value.to_string(), margin];
    let counts = claim.counts.iter().map(|(_, count)| count.to_string());
    let all = subject.into_iter().chain(knows).chain(measured).chain(counts);
    all.chain([claim.verdict.word().to_string()]).collect()
}

/// An amount, rounded up.
fn amount_text(amount: &Amount) -> String {
    match amount {
        Amount::Count(count) => count.to_string(),
        Amount::Unknown => "unknown".to_string(),
        Amount::Between(low, high) if high - low >= 1e-6 => {
            let exact = |end: f64| Rational::try_from(end).unwrap_or(Rational::ONE);
            let (low, high) =
                (decimal_at_most(&exact(*low), PLACES), decimal_at_least(&exact(*high), PLACES));
            format!("{low} to {high}")
        }
        _ => amount.upper_bound().map_or(String::new(), |bound| decimal_at_least(&bound, PLACES)),
    }
}

/// The largest risk of each value, in descending order.
fn worst_table(worst: &WorstByValue, shown: usize) -> String {
    let mut values: Vec<&(String, f64)> = worst.values.iter().collect();
    values.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    if values.is_empty() {
        return String::new();
    }
    let head = vec!["value".to_string(), format!("largest {}", worst.measured)];
    let rows = values
        .iter()
        .take(shown)
        .map(|(value, risk)| vec![visible(value), amount_text(&Amount::AtMost(*risk))]);
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    format!("\n{}{}", aligned(&rows), no_worse(values.len().saturating_sub(shown)))
}

/// A claim about one group as a sentence, without the final period.
pub(super) fn sentence(claim: &Claim) -> String {
    let measured = amount_text(&claim.measured.amount);
    let (limit, side) = (&claim.limit.value, claim.limit.side.words());
    match (&claim.subject, side) {
        (ClaimSubject::Size(what), _) => {
            format!("the table has {measured} {what}, {side} {limit} are required")
        }
        (subject, _) => {
            let subject = match subject.named() {
                Some((kind, name)) => format!("{kind} {}", visible(name)),
                None => "every value".to_string(),
            };
            let knows: Vec<String> = claim
                .knows
                .iter()
                .map(|(name, datum)| format!("{name} {}", datum.in_words(|count| count.to_string(), visible)))
                .collect();
            let knows = if knows.is_empty() { String::new() } else { format!(" at {}", knows.join(", ")) };
            format!("{subject}{knows}: {} {measured}, {side} {limit} is required", claim.measured.name)
        }
    }
}

/// The widest column that cells are padded to.
const WIDEST: usize = 1000;

/// Columns side by side: the first left-aligned, the others right-aligned.
pub(super) fn aligned<R: AsRef<[String]>>(rows: &[R]) -> String {
    aligned_by(rows, |column| column == 0)
}

/// Columns side by side, left-aligned where `left` says so.
pub(super) fn aligned_by<R: AsRef<[String]>>(rows: &[R], left: impl Fn(usize) -> bool) -> String {
    let columns = rows.first().map_or(0, |row| row.as_ref().len());
    // A cell that is longer than any terminal is not padded to; formatting allows 65,535 characters at most.
    let width = |i: usize| {
        let widths = rows.iter().map(|row| row.as_ref()[i].chars().count());
        widths.max().unwrap_or(0).min(WIDEST)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        for (i, (cell, &width)) in row.as_ref().iter().zip(&widths).enumerate() {
            text.push_str(if i == 0 { "" } else { "  " });
            match left(i) {
                true => text.push_str(&format!("{cell:<width$}")),
                false => text.push_str(&format!("{cell:>width$}")),
            }
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

/// As JSON: one object; with several sensitive columns each point names its column.
pub fn to_json(verdict: &Verdict) -> Value {
    let several = verdict.columns.len() > 1;
    let mut points: Vec<Value> = Vec::new();
    for finding in verdict.findings() {
        // Claims that depend on the original have their own totals.
        let public = |claim: &&Claim| !matches!(claim.measured.amount, Amount::Between(..) | Amount::Unknown);
        for claim in finding.risks().filter(public) {
            let mut point = findings::fields(claim, exact_text);
            point.insert("safe".to_string(), json!(claim.is_safe()));
            point.extend(claim.group.map(|group| ("group".to_string(), json!(group))));
            point.extend(several.then(|| ("column".to_string(), json!(finding.column))));
            points.push(point.into());
        }
    }
    let totals = |name: &'static str| verdict.findings().filter_map(move |finding| finding.total(name));
    let mut models: Vec<&str> = verdict.findings().map(|finding| finding.model).collect();
    models.dedup();
    let first = verdict.first();
    let mut object = json!({
        "safe": verdict.safety(),
        "model": models.join("+"),
        "values": values_per_person(verdict.columns.iter().map(|column| column.values)),
        "records": first.records,
        "individuals": first.individuals,
        "groups": first.groups,
        "smallest_group": first.smallest_group,
        "minimum_group_size": first.minimum_group_size,
        "fewest_distinct_values": verdict.columns.iter().map(|column| column.fewest_values).min(),
        "minimum_distinct_values": first.minimum_distinct_values,
        "scattered": first.order == Order::Scattered,
        "spilled_bytes": verdict.columns.iter().map(|column| column.spilled_bytes).sum::<u64>(),
        "points": points,
        "beliefs": totals("beliefs").map(findings::total).collect::<Vec<_>>(),
    });
    if let Some(total) = totals("distributions").next() {
        object[total.name] = findings::total(total);
    }
    object
}

/// The number of bits beyond which a fraction is not readable.
const EXACT_BITS: usize = 1 << 14;

/// A fraction, unless it is too long to read.
pub(super) fn exact_text(exact: &Rational) -> Option<String> {
    use dashu_base::BitTest;
    let bits = exact.numerator().bit_len().max(exact.denominator().bit_len());
    (bits <= EXACT_BITS).then(|| exact.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::exact::ratio;
    use crate::model::finding::{Datum, Limit, Measurement, Side};

    fn moved(widths: [&str; 2], low: f64, counts: [u64; 2]) -> Claim {
        let widths = ["age", "sex"].into_iter().zip(widths.map(|width| Datum::Text(width.to_string())));
        Claim {
            subject: ClaimSubject::Everybody,
            knows: vec![("bandwidth", Datum::fields(widths))],
            measured: Measurement { name: "largest move", amount: Amount::Between(low, 0.125) },
            limit: Limit { name: "t", side: Side::AtMost, value: ratio(1, 10) },
            group: None,
            verdict: match counts {
                [0, 0] => ClaimVerdict::Safe,
                [0, _] => ClaimVerdict::Undecided,
                _ => ClaimVerdict::Unsafe,
            },
            counts: vec![("too far", counts[0]), ("undecided", counts[1])],
            evidence: Vec::new(),
        }
    }

    #[test]
    fn claims_of_one_kind_share_a_table() {
        let claims = vec![moved(["1/4", "2"], 0.0625, [0, 2]), moved(["1/2", "1/2"], 0.125, [4, 1])];
        let finding = Finding::new("sick", "beliefs", claims);
        assert_eq!(
            tables(&finding, 10),
            "\nbandwidth               largest move  at most     margin  too far  undecided    verdict\n\
             age 1/4, sex 2  0.062500 to 0.125000     1/10  -0.025000        0          2  estimated\n\
             1/2                         0.125000     1/10  -0.025000        4          1     unsafe\n"
        );
        assert!(tables(&finding, 1).ends_with("... and 1 more that are no worse; --all shows them\n"));
    }

    #[test]
    fn a_fraction_that_nobody_can_read_is_left_out() {
        assert_eq!(exact_text(&ratio(1, 3)).as_deref(), Some("1/3"));
        assert_eq!(exact_text(&(Rational::ONE / ratio(3, 1).pow(20_000))), None);
    }
}
