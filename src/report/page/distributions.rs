//! What does someone who knows distributions learn from a release?
//!
//! The worst posterior of each value, how groups were shown to be robust, and what the printed Delta condition would
//! have claimed. Posteriors are rounded up. Memory: at most [`MOST_VALUES`] rows.

use maud::{Markup, html};

use super::claims::{self, PLACES};
use super::contents::Origin;
use crate::check::{DeltaClaims, RobustReport, Survey};
use crate::math::exact::{Rational, decimal_at_least};
use crate::report::digits::grouped;

/// Values that are listed, those with the largest posteriors.
const MOST_VALUES: usize = 40;

pub(super) fn section(survey: &Survey, origin: &Origin<'_>) -> Markup {
    let Some(report) = &survey.report.robust else { return html! {} };
    let suppressed = match origin {
        Origin::Release { input_rows, .. } => input_rows.saturating_sub(survey.report.individuals),
        Origin::Table { .. } => 0,
    };
    let threshold = Rational::ONE / &report.r;
    html! {
        h2 { "Is it safe?" }
        (verdict(report, &threshold))
        div.scroll {
            table {
                thead { tr { th { "groups" } th { "number" } } }
                tbody {
                    @for (what, groups) in [
                        ("at most 1/r by their exact posteriors", report.by_posterior),
                        ("at most 1/r by the ratio condition, being too large for posteriors", report.by_ratio),
                        ("with a posterior above 1/r", report.breached),
                        ("not shown to be robust", report.not_shown),
                    ] {
                        tr { td { (what) } td { (grouped(groups)) } }
                    }
                }
            }
        }
        @match suppressed {
            0 => p { "Nobody had to be left out." },
            1 => p { strong { "1 row" } " of the input fits in no group and is not published." },
            rows => p {
                strong { (grouped(rows)) " rows" } " of the input fit in no group and are not published."
            },
        }
        (values(report))
        (delta(report, &threshold))
        (claims::criteria(&survey.report))
    }
}

fn verdict(report: &RobustReport, threshold: &Rational) -> Markup {
    html! {
        @match report.holds() {
            true => p {
                "Someone who knows the distributions of the policy can believe of no person and no value more than "
                (threshold) ": the release is r-robust for r = " (report.r) "."
            },
            false => p { "Not every group is shown to keep posteriors at most " (threshold) "." },
        }
    }
}

fn values(report: &RobustReport) -> Markup {
    let mut worst: Vec<&(String, f64)> = report.worst.iter().collect();
    worst.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    html! {
        @if !worst.is_empty() {
            h3 { "The worst posterior of each value" }
            div.scroll {
                table {
                    thead { tr { th { "value" } th { "largest posterior" } } }
                    tbody {
                        @for (value, posterior) in worst.iter().take(MOST_VALUES) {
                            tr { td { (value) } td { (upwards(*posterior)) } }
                        }
                    }
                }
            }
            @if let Some(more @ 1..) = worst.len().checked_sub(MOST_VALUES) {
                p.note { (grouped(more as u64)) " more values are no worse; " code { "manifest.json" } " lists them." }
            }
            @if report.unmeasured > 0 {
                p.note {
                    "The posteriors of " (grouped(report.unmeasured)) " larger groups were not computed; the ratio \
                    condition bounds them."
                }
            }
        }
    }
}

fn delta(report: &RobustReport, threshold: &Rational) -> Markup {
    html! {
        h3 { "What the printed Delta condition would have claimed" }
        p {
            "Of the published groups it accepts " (grouped(report.delta.accepted)) ", "
            (wrong_claims(&report.delta, threshold)) "."
        }
        @match &report.delta_instead {
            Some(instead) => p {
                "Had it made the groups itself, it would have accepted " (grouped(instead.claims.accepted)) " groups of "
                (grouped(instead.people)) " people (the first parts of similar people), "
                (wrong_claims(&instead.claims, threshold)) ". These groups are not published."
            },
            None => p.note {
                "The page that was written with the release shows which groups it would have made itself."
            },
        }
    }
}

fn wrong_claims(claims: &DeltaClaims, threshold: &Rational) -> Markup {
    html! {
        @match (claims.wrong, claims.unknown) {
            (0, 0) => { "and no posterior in them is above " (threshold) }
            (0, _) => { "and no posterior in them is known to be above " (threshold) }
            (wrong, _) => {
                "but in " strong { (grouped(wrong)) } " of them a posterior is above " (threshold) ", the worst is up to "
                strong { (upwards(claims.worst)) }
            }
        }
        @if claims.unknown > 0 { "; " (grouped(claims.unknown)) " are too large to decide" }
    }
}

/// A probability that was rounded up already, in decimals, rounded up again.
fn upwards(probability: f64) -> String {
    Rational::try_from(probability).map_or_else(|_| "1".to_string(), |exact| decimal_at_least(&exact, PLACES))
}
