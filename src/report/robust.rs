//! What does whoever knows distributions learn from a release?
//!
//! A section of the page: the worst posterior of each value, how groups were shown to be robust, and what the printed
//! Delta condition would have claimed. Posteriors are rounded up. Memory: at most [`MOST_VALUES`] rows.

use std::fmt::Write;

use super::svg::{escape, grouped};
use crate::check::{DeltaClaims, RobustReport};
use crate::math::exact::{Rational, decimal_at_least};

/// Values that are listed, those with the largest posteriors.
const MOST_VALUES: usize = 40;
/// Digits after the point of a risk.
const PLACES: usize = 4;

/// The section as HTML; `suppressed` rows of the input are not published.
pub fn section(report: &RobustReport, suppressed: u64) -> String {
    let threshold = Rational::ONE / &report.r;
    let mut page = String::from("<h2>Is it safe?</h2>\n");
    match report.holds() {
        true => {
            let _ = writeln!(
                page,
                "<p>Whoever knows the distributions that the policy states can believe of no person and no value more \
                 than {threshold}: the release is r-robust for r = {}.</p>",
                report.r
            );
        }
        false => {
            let _ = writeln!(page, "<p>Not every group is shown to keep posteriors at most {threshold}.</p>");
        }
    }
    page.push_str(
        "<div class=\"scroll\"><table><thead><tr><th>groups</th><th>number</th></tr></thead><tbody>\n",
    );
    for (what, groups) in [
        ("at most 1/r by their exact posteriors", report.by_posterior),
        ("at most 1/r by the ratio condition, being too large for posteriors", report.by_ratio),
        ("with a posterior above 1/r", report.breached),
        ("not shown to be robust", report.not_shown),
    ] {
        let _ = writeln!(page, "<tr><td>{what}</td><td>{}</td></tr>", grouped(groups));
    }
    page.push_str("</tbody></table></div>\n");
    let _ = match suppressed {
        0 => writeln!(page, "<p>Nobody had to be left out.</p>"),
        rows => writeln!(
            page,
            "<p><strong>{}</strong> of the input {} in no group and {} not published.</p>",
            match rows {
                1 => "1 row".to_string(),
                rows => format!("{} rows", grouped(rows)),
            },
            if rows == 1 { "fits" } else { "fit" },
            if rows == 1 { "is" } else { "are" },
        ),
    };
    values(&mut page, report);
    delta(&mut page, report, &threshold);
    page
}

fn values(page: &mut String, report: &RobustReport) {
    if report.worst.is_empty() {
        return;
    }
    let mut worst: Vec<&(String, f64)> = report.worst.iter().collect();
    worst.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    page.push_str(
        "<h3>The worst posterior of each value</h3>\n<div class=\"scroll\"><table><thead><tr><th>value</th>\
         <th>largest posterior</th></tr></thead><tbody>\n",
    );
    for (value, posterior) in worst.iter().take(MOST_VALUES) {
        let _ = writeln!(page, "<tr><td>{}</td><td>{}</td></tr>", escape(value), upwards(*posterior));
    }
    page.push_str("</tbody></table></div>\n");
    if worst.len() > MOST_VALUES {
        let _ = writeln!(
            page,
            "<p class=\"note\">{} more values are no worse; <code>manifest.json</code> lists them.</p>",
            grouped((worst.len() - MOST_VALUES) as u64)
        );
    }
    if report.unmeasured > 0 {
        let _ = writeln!(
            page,
            "<p class=\"note\">The posteriors of {} larger groups were not computed; the ratio condition bounds \
             them.</p>",
            grouped(report.unmeasured)
        );
    }
}

fn delta(page: &mut String, report: &RobustReport, threshold: &Rational) {
    page.push_str("<h3>What the printed Delta condition would have claimed</h3>\n");
    let wrong = |claims: &DeltaClaims| match claims.wrong {
        0 if claims.unknown == 0 => format!("and no posterior in them is above {threshold}"),
        0 => format!("and no posterior in them is known to be above {threshold}"),
        wrong => format!(
            "but in <strong>{}</strong> of them a posterior is above {threshold}, the worst is up to \
             <strong>{}</strong>",
            grouped(wrong),
            upwards(claims.worst)
        ),
    };
    let claim = |claims: &DeltaClaims| match claims.unknown {
        0 => wrong(claims),
        unknown => format!("{}; {} are too large to tell", wrong(claims), grouped(unknown)),
    };
    let _ = writeln!(
        page,
        "<p>Of the published groups it accepts {}, {}.</p>",
        grouped(report.delta.accepted),
        claim(&report.delta)
    );
    match &report.delta_instead {
        Some(instead) => {
            let _ = writeln!(
                page,
                "<p>Had it made the groups itself, it would have accepted {} groups of {} people (the first parts of \
                 similar people), {}. These groups are not published.</p>",
                grouped(instead.claims.accepted),
                grouped(instead.people),
                claim(&instead.claims)
            );
        }
        None => page.push_str(
            "<p class=\"note\">What groups it would have made itself is shown on the page that was written with the \
             release.</p>\n",
        ),
    }
}

/// A probability that was rounded up already, in decimals, rounded up again.
fn upwards(probability: f64) -> String {
    Rational::try_from(probability).map_or_else(|_| "1".to_string(), |exact| decimal_at_least(&exact, PLACES))
}
