//! What is told about releases against an adversary who knows distributions?
//!
//! Pure text, and how `check` comes by the distributions: no posterior is ever rounded down.

use std::path::PathBuf;

use super::flags::read_options;
use super::terminal::{complain, visible};
use super::verdict::aligned;
use crate::anonymize::Summary;
use crate::anonymize::robust::RobustSummary;
use crate::check::{self, RobustReport, Robustness, Subject, Survey};
use crate::error::{Error, Result, number_of};
use crate::math::exact::{Rational, decimal_at_least};
use crate::model::Policy;
use crate::model::robust::census::{Census, Counted};
use crate::model::robust::{Distributions, Known, known_columns};
use crate::resources::Resources;
use crate::table::read::Table;

/// Digits after the point.
const PLACES: usize = 6;

/// Says so if few people are left.
pub fn warn_of_suppression(robust: &RobustSummary) {
    if robust.suppressed * 2 > robust.input_rows {
        complain(
            "warning",
            &format!(
                "{} of {} rows are suppressed, because no group can hold them; lower r, or state fewer or smaller sets \
                 of columns in privacy.known",
                robust.suppressed, robust.input_rows
            ),
        );
    }
}

/// What came of a run, for people.
pub fn published(out: &std::path::Path, summary: &Summary, robust: &RobustSummary, took: &str) -> String {
    let report = &robust.report;
    let mut text = format!(
        "r-robust release of {} people in {} groups: {}\n\nsuppressed           {}, listed in {}\n",
        summary.records,
        summary.groups,
        out.display(),
        number_of(robust.suppressed, "row", "rows"),
        robust.list.display()
    );
    text.push_str(&format!("people in a group    {:.1} on average\n", summary.utility.average_group_size));
    text.push_str(&format!("posteriors           {}\n", posteriors(report)));
    if let Some(instead) = &report.delta_instead {
        let claims = &instead.claims;
        let mut wrong = match claims.wrong {
            0 => "none of them is known to be above 1/r".to_string(),
            wrong => format!("{wrong} of them above 1/r, the worst up to {}", upwards(claims.worst)),
        };
        if claims.unknown > 0 {
            wrong.push_str(&format!(", {} too large to tell", claims.unknown));
        }
        text.push_str(&format!(
            "the Delta condition  would have made {} of {} similar people; {wrong}\n",
            number_of(claims.accepted, "group", "groups"),
            instead.people
        ));
    }
    text.push_str(took);
    text
}

/// One line on posteriors.
pub fn posteriors(report: &RobustReport) -> String {
    let threshold = Rational::ONE / &report.r;
    let shown = report.by_posterior + report.by_ratio;
    let all = shown + report.breached + report.not_shown;
    let mut text = match (report.breached, report.not_shown) {
        (0, 0) => format!("at most {threshold} in every group"),
        (0, open) => format!("at most {threshold} in {shown} of {all} groups; {open} not shown to be robust"),
        (above, 0) => format!("above {threshold} in {above} of {all} groups"),
        (above, open) => {
            format!("above {threshold} in {above} of {all} groups; {open} more not shown to be robust")
        }
    };
    if let Some(worst) = report.worst_posterior() {
        text.push_str(&format!("; the largest is {}", upwards(worst)));
        if report.unmeasured > 0 {
            let groups = number_of(report.unmeasured, "larger group", "larger groups");
            text.push_str(&format!(" where it was computed, beside {groups}"));
        }
    }
    text
}

/// The largest posterior of each value, for people.
pub fn table(report: &RobustReport, shown: usize) -> String {
    let mut worst: Vec<&(String, f64)> = report.worst.iter().collect();
    worst.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    if worst.is_empty() {
        return String::new();
    }
    let head = ["value", "largest posterior"].map(str::to_string);
    let rows = worst.iter().take(shown).map(|(value, posterior)| [visible(value), upwards(*posterior)]);
    let mut text = format!("\n{}", aligned(&std::iter::once(head).chain(rows).collect::<Vec<_>>()));
    if worst.len() > shown {
        text.push_str(&format!("... and {} more that are no worse; --all shows them\n", worst.len() - shown));
    }
    if report.delta.wrong > 0 {
        text.push_str(&format!(
            "the printed Delta condition accepts {} of the groups above {}, up to {}\n",
            report.delta.wrong,
            Rational::ONE / &report.r,
            upwards(report.delta.worst)
        ));
    }
    text
}

/// A probability that was rounded up already, in decimals, rounded up again.
fn upwards(probability: f64) -> String {
    Rational::try_from(probability).map_or_else(|_| "1".to_string(), |exact| decimal_at_least(&exact, PLACES))
}

/// Checks groups against the adversary of a policy, whose distributions come from its file or from the original; tells
/// the sensitive column, too.
pub fn check(
    policy: &Policy,
    subject: &Subject<'_>,
    groups: &[String],
    original: &[PathBuf],
    resources: &Resources<'_>,
) -> Result<(String, Survey)> {
    let Some((target, robust)) = policy.robust() else {
        return Err(Error::input("the policy has another model", "set privacy.model = \"robust\""));
    };
    if !target.criteria.is_empty() || policy.privacy.targets.len() != 1 {
        return Err(Error::input(
            "the model \"robust\" is checked for one sensitive column, without criteria beside it",
            "leave the others out of the policy",
        ));
    }
    let columns = check::policy::columns(policy, target, groups)?;
    // Of a release, rows are people; of a table, they are what the policy says.
    let columns = match subject {
        Subject::Buckets(_) => columns.of_release(),
        Subject::Table(_) => columns,
    };
    let null_is = columns.null_is.as_deref();
    let known = match (&robust.distributions, original) {
        (Distributions::File { path, .. }, _) if !path.is_file() => {
            return Err(Error::input(
                format!("{}: the distributions of the policy are not there", path.display()),
                "give the policy that the release was made with, beside its distributions, with --policy",
            ));
        }
        (Distributions::File { path, .. }, _) => {
            Known::from_file(path, robust, &columns.sensitive, null_is, resources)?
        }
        (Distributions::Estimated, []) => {
            return Err(Error::input(
                "what the adversary knows is estimated from the original table, which is not given",
                "give the table that the release was made from with --original TABLE, or a policy with \
                 privacy.distributions = \"FILE\"",
            ));
        }
        (Distributions::Estimated, original) => {
            let table = Table::open(original, &read_options(None, Some(policy)))?;
            let columns_known = known_columns(robust);
            let counted = Counted { columns: &columns_known, sensitive: &columns.sensitive, null_is };
            Known::estimated(&Census::read(&table, &counted, resources)?, robust, &resources.budget)?
        }
    };
    let requirement = robust.requirement(&policy.privacy, target)?;
    let robustness = Robustness {
        known: &known,
        requirement: &requirement,
        test: robust.test,
        minimum_group_size: policy.privacy.minimum_group_size,
        minimum_distinct_values: if target.minimum_distinct > 1 { target.minimum_distinct } else { 0 },
    };
    let survey = check::robust(subject, &columns, &robustness, resources)?;
    Ok((columns.sensitive.clone(), survey))
}
