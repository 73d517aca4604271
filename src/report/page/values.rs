//! Which values come closest to their limits? One row for each value, with its tightest point and a sparkline.
//!
//! Breaches are rounded up and margins down, with as many digits as it takes to tell a breach from its limit. Numbers are
//! summarized by ranges. Memory: a row for each value; at most [`MOST_ROWS`] are drawn.

use std::collections::HashMap;

use maud::{Markup, html};

use crate::check::JudgedColumn;
use crate::math::confidence::Confidence;
use crate::math::exact::{Rational, decimal_at_least, decimal_at_most};
use crate::math::skyline::{DecisiveGroups, Knowledge};
use crate::model::finding::{Claim, ClaimSubject, Datum};
use crate::report::chart::Sparklines;
use crate::report::digits::{grouped, telling_places};

/// Rows of the table without scripts.
const MOST_ROWS: usize = 24;
/// A column of numbers with more values than this is shown by ranges.
pub(super) const MOST_NUMBERS: usize = 40;
pub(super) const RANGES: usize = 12;
/// The rows from which the axes of the sparklines follow.
const AXES_FROM: usize = 12;
/// Digits after the decimal point, at least.
pub(super) const PLACES: usize = 4;

/// A point that some value must withstand.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RequiredPoint {
    pub size: Knowledge,
    pub confidence: Rational,
}

/// A value at its tightest point.
pub(super) struct ValueRow<'a> {
    pub name: &'a str,
    pub breach: Rational,
    /// The position of the tightest point.
    pub tightest: usize,
    pub margin: Rational,
    /// The positions of all its points.
    pub points: Vec<usize>,
    pub decisive: Option<&'a DecisiveGroups>,
}

/// A column with its values.
pub(super) type ColumnRows<'a> = (&'a JudgedColumn, ValueRows<'a>);

/// All values of a column, those with the smallest margins first.
pub(super) struct ValueRows<'a> {
    pub points: Vec<RequiredPoint>,
    pub rows: Vec<ValueRow<'a>>,
    pub axes: Sparklines,
}

impl<'a> ValueRows<'a> {
    /// From the claims about values.
    pub fn of(column: &'a JudgedColumn) -> Self {
        let explorable: HashMap<&str, &DecisiveGroups> =
            column.explorable.values.iter().map(|own| (own.name.as_str(), &own.decisive)).collect();
        let mut points: Vec<RequiredPoint> = Vec::new();
        let mut rows: Vec<ValueRow<'a>> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for claim in &column.finding.claims {
            let (ClaimSubject::Value(name), Some(size)) = (&claim.subject, size(claim)) else { continue };
            let point = RequiredPoint { size, confidence: claim.limit.value.clone() };
            let at = points.iter().position(|own| *own == point).unwrap_or_else(|| {
                points.push(point);
                points.len() - 1
            });
            let breach = claim.measured.amount.upper_bound().unwrap_or(Rational::ONE);
            let margin = claim.limit.value.clone() - &breach;
            let place = *places.entry(name).or_insert_with(|| {
                let decisive = explorable.get(name.as_str()).copied();
                let (breach, margin) = (breach.clone(), margin.clone());
                rows.push(ValueRow { name, breach, tightest: at, margin, points: Vec::new(), decisive });
                rows.len() - 1
            });
            let row = &mut rows[place];
            row.points.push(at);
            if margin < row.margin {
                (row.breach, row.margin, row.tightest) = (breach, margin, at);
            }
        }
        rows.sort_by(|a, b| a.margin.cmp(&b.margin).then_with(|| a.name.cmp(b.name)));
        let axes = axes(&points, &rows);
        ValueRows { points, rows, axes }
    }

    /// The table, of values or of ranges of numbers.
    pub fn table(&self) -> Markup {
        let numbers = self.numbers();
        html! {
            table.values {
                thead {
                    tr {
                        th data-sort="name" { "value" } th data-sort="risk" { "breach" } th data-sort="margin" { "margin" }
                        th { "safe k by l" }
                    }
                }
                tbody {
                    @match &numbers {
                        Some(numbers) => @for range in numbers.chunks(numbers.len().div_ceil(RANGES)) { (self.range(range)) },
                        None => @for row in self.rows.iter().take(MOST_ROWS) { (self.row(row, row.name)) },
                    }
                }
            }
            p.more data-part="more" {
                @if numbers.is_none() && self.rows.len() > MOST_ROWS {
                    (grouped((self.rows.len() - MOST_ROWS) as u64)) " more values have no smaller margin; "
                    code { "skyveil check --all" } " lists them."
                }
            }
        }
    }

    /// Many numbers in their order; `None` if the values are no numbers, or few.
    fn numbers(&self) -> Option<Vec<(f64, &ValueRow<'a>)>> {
        if self.rows.len() <= MOST_NUMBERS {
            return None;
        }
        let number = |row: &'_ ValueRow<'a>| row.name.parse::<f64>().ok().filter(|number| number.is_finite());
        let mut numbers =
            self.rows.iter().map(|row| Some((number(row)?, row))).collect::<Option<Vec<_>>>()?;
        numbers.sort_by(|a, b| a.0.total_cmp(&b.0));
        Some(numbers)
    }

    /// Neighbouring numbers by their tightest value.
    fn range(&self, numbers: &[(f64, &ValueRow<'a>)]) -> Markup {
        let tightest = numbers.iter().map(|(_, row)| *row).min_by(|a, b| a.margin.cmp(&b.margin));
        let (Some(tightest), Some(first), Some(last)) = (tightest, numbers.first(), numbers.last()) else {
            return html! {};
        };
        self.row(tightest, &format!("{} to {}", first.1.name, last.1.name))
    }

    fn row(&self, row: &ValueRow<'_>, name: &str) -> Markup {
        let point = &self.points[row.tightest];
        let is_unsafe = row.breach >= point.confidence;
        let places = telling_places(&row.breach, &point.confidence, PLACES);
        html! {
            tr.bad[is_unsafe] {
                th scope="row" { bdi { (name) } }
                td { (decimal_at_least(&row.breach, places)) span.soft { " of " (point.confidence) } }
                td.margin { @if is_unsafe { "none" } @else { (decimal_at_most(&row.margin, places)) } }
                td.spark {
                    @if let Some(decisive) = row.decisive {
                        (self.axes.draw(&self.profile(decisive, point), Some((point.size.l, point.size.k))))
                    }
                }
            }
        }
    }

    fn profile(&self, decisive: &DecisiveGroups, point: &RequiredPoint) -> Vec<u64> {
        let confidence = Confidence::new(point.confidence.clone());
        confidence
            .map_or(Vec::new(), |confidence| decisive.profile(&confidence, point.size.m, self.axes.most_k))
    }
}

/// What a claim about a value lets the adversary know.
pub(super) fn size(claim: &Claim) -> Option<Knowledge> {
    let known = |name: &str| claim.knows.iter().find(|(own, _)| *own == name).map(|(_, datum)| datum);
    let count = |name: &str| match known(name) {
        Some(Datum::Count(count)) => Some(*count),
        _ => None,
    };
    Some(Knowledge { l: count("l")?, k: count("k")?, m: count("m")? })
}

/// Axes on which the tightest rows fit.
fn axes(points: &[RequiredPoint], rows: &[ValueRow<'_>]) -> Sparklines {
    let mut axes = Sparklines { most_l: 1, most_k: 1 };
    for row in rows.iter().take(AXES_FROM) {
        let point = &points[row.tightest];
        let confidence = Confidence::new(point.confidence.clone());
        if let (Some(decisive), Some(confidence)) = (row.decisive, confidence) {
            let profile = decisive.profile(&confidence, point.size.m, 1 << 32);
            axes.most_l = axes.most_l.max(profile.len().saturating_sub(1) as u64);
            axes.most_k = axes.most_k.max(profile.first().copied().unwrap_or(0));
        }
        axes.most_l = axes.most_l.max(point.size.l);
        axes.most_k = axes.most_k.max(point.size.k);
    }
    axes
}
