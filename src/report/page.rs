//! What does a data owner look at?
//!
//! One page with everything in it: no script, no font, no network, no date and no path, so that the same release
//! gives the same bytes. What was not computed is said.
//!
//! Memory: the page; at most [`MOST_SKYLINES`] figures and [`MOST_POINTS`] rows.

use std::fmt::Write;

use super::svg::{self, escape, grouped};
use crate::anonymize::Utility;
use crate::check::{PointReport, Survey};
use crate::exact::{Rational, decimal_at_least, decimal_at_most};
use crate::policy::Policy;
use crate::skyline::{KeptGroups, KnowledgeSkyline, UpTo};

/// What holds for several columns, and what does not.
const SEVERAL: &str = "Each column is judged on its own, as if the others were not published. Whoever already knows a \
    person's value in one of them can use it against the others; a column that others may know should be a \
    quasi-identifier.";
/// Knowledge skylines that are drawn, those of the values with the least margin.
pub const MOST_SKYLINES: usize = 12;
/// Points that are listed, those with the least margin.
pub const MOST_POINTS: usize = 40;
/// How far the skylines are searched: enough for a figure, whatever the size of the groups.
const UP_TO: UpTo = UpTo { l: 20, k: u64::MAX, m: 40 };
/// Digits after the point of a risk.
const PLACES: usize = 4;

/// All that a page tells.
pub struct Contents<'a> {
    /// What the owner asked for.
    pub policy: &'a Policy,
    /// `generalized` or `bucketized`.
    pub style: &'a str,
    /// For each protected column, at least one: the verdict, the groups that decide the skylines, and the sizes of
    /// all groups.
    pub surveys: &'a [(String, Survey)],
    /// What the release is worth.
    pub worth: Worth,
    /// Rows of the input.
    pub input_rows: u64,
    /// What binds the release to the input.
    pub fingerprint: String,
    /// The version that made the release.
    pub version: &'a str,
}

/// What a release is worth.
#[derive(Debug, Clone, PartialEq)]
pub struct Worth {
    /// Average people per group.
    pub average_group_size: f64,
    /// Sum of the squared group sizes.
    pub discernibility: String,
    /// Certainty penalty as published and with the tightest labels, over all columns.
    pub penalty: (f64, f64),
    /// The same for each column.
    pub columns: Vec<(String, f64, f64)>,
}

impl From<&Utility> for Worth {
    fn from(utility: &Utility) -> Self {
        let columns = utility.columns.iter();
        Worth {
            average_group_size: utility.average_group_size,
            discernibility: utility.discernibility.to_string(),
            penalty: (utility.published_penalty(), utility.tight_penalty()),
            columns: columns.map(|column| (column.name.clone(), column.published, column.tight)).collect(),
        }
    }
}

const STYLE: &str = "\
:root{color-scheme:light}\
body{margin:0 auto;max-width:62rem;padding:1.2rem;font:16px/1.5 system-ui,sans-serif;color:#222;background:#fff}\
h1{font-size:1.6rem;line-height:1.2;margin:.2rem 0}h2{font-size:1.2rem;margin:2.2rem 0 .5rem;border-bottom:1px solid #ccc}\
h3{font-size:1rem;margin:.6rem 0 .2rem;overflow-wrap:anywhere}\
.verdict{display:inline-block;padding:.1rem .7rem;border-radius:.3rem;color:#fff;font-weight:600}\
.safe{background:#00664a}.unsafe{background:#a63c00}\
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(10rem,1fr));gap:.8rem;margin:1rem 0}\
dl div{background:#f3f5f7;border-radius:.3rem;padding:.5rem .8rem}dt{font-size:.85rem;color:#444}\
dd{margin:0;font-size:1.25rem;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}\
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}\
th,td{padding:.25rem .6rem;text-align:right;border-bottom:1px solid #e3e3e3;white-space:nowrap}\
th:first-child,td:first-child{text-align:left;white-space:normal;overflow-wrap:anywhere;min-width:7rem}th{font-weight:600;background:#f3f5f7}\
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));gap:1rem}\
figure{margin:0;break-inside:avoid}svg{width:100%;max-width:38rem;height:auto}\
pre{background:#f3f5f7;padding:.8rem;overflow-x:auto;font-size:.85rem}code{overflow-wrap:anywhere}\
.note{color:#444;font-size:.92rem}.warning{border-left:.3rem solid #d55e00;padding:.2rem .8rem;margin:.6rem 0;background:#fff6f0}\
@media print{body{max-width:none;padding:0;font-size:11pt}pre{white-space:pre-wrap}.verdict{border:1px solid #222;color:#222;background:none}}";

/// The page as HTML.
pub fn to_html(contents: &Contents<'_>) -> String {
    let report = &contents.surveys[0].1.report;
    let columns: Vec<String> = contents.surveys.iter().map(|(column, _)| escape(column)).collect();
    let (class, verdict) = match contents.surveys.iter().all(|(_, survey)| survey.report.safe) {
        true => ("safe", "safe by its policy"),
        false => ("unsafe", "not safe by its policy"),
    };
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Release report: {title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>Release of <code>{column}</code></h1>\n<p><span class=\"verdict {class}\">{verdict}</span></p>\n",
        title = columns.join(", "),
        column = columns.join("</code>, <code>")
    );
    let fewest = contents.surveys.iter().map(|(_, survey)| survey.report.fewest_values).min();
    facts(
        &mut page,
        &[
            ("people", grouped(report.individuals)),
            ("groups", grouped(report.groups)),
            ("people in the smallest group", grouped(report.smallest_group)),
            ("fewest different values in a group", grouped(fewest.unwrap_or(0))),
            ("style", format!("{}, {} values", contents.style, report.values.name())),
        ],
    );
    match contents.surveys {
        [(_, only)] => {
            page.push_str("<h2>Is it safe?</h2>\n");
            points(&mut page, only);
            page.push_str("<h2>How much more could an adversary know?</h2>\n");
            skylines(&mut page, only);
        }
        several => {
            let _ = writeln!(page, "<h2>Is it safe?</h2>\n<p class=\"note\">{SEVERAL}</p>");
            for (column, survey) in several {
                let _ = writeln!(page, "<h2>Is <code>{}</code> safe?</h2>", escape(column));
                points(&mut page, survey);
                page.push_str("<h3>How much more could an adversary know?</h3>\n");
                skylines(&mut page, survey);
            }
        }
    }
    sizes(&mut page, contents);
    worth(&mut page, contents);
    kept_columns(&mut page, contents);
    origin(&mut page, contents);
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

fn facts(page: &mut String, facts: &[(&str, String)]) {
    page.push_str("<dl>");
    for (name, value) in facts {
        let _ = write!(page, "<div><dt>{name}</dt><dd>{}</dd></div>", escape(value));
    }
    page.push_str("</dl>\n");
}

/// The points with their margins, least first.
fn by_margin(survey: &Survey) -> Vec<(Rational, usize)> {
    let points = survey.report.points.iter().enumerate();
    let mut margins: Vec<_> = points.map(|(i, point)| (point.margin(), i)).collect();
    margins.sort();
    margins
}

fn points(page: &mut String, survey: &Survey) {
    let report = &survey.report;
    if report.points.is_empty() {
        page.push_str("<p>The policy states no skyline point; only the sizes of groups were required.</p>\n");
        return;
    }
    page.push_str(
        "<p class=\"note\">Whoever knows l values that a person does not have, the values of k others and m \
         members of the person's family can become as sure of the value as the breach says, and no surer. \
         Breaches are rounded up, margins down.</p>\n<div class=\"scroll\"><table><thead><tr><th>value</th>\
         <th>l</th><th>k</th><th>m</th><th>breach</th><th>must stay below</th><th>margin</th><th>verdict</th>\
         </tr></thead><tbody>\n",
    );
    let margins = by_margin(survey);
    for (margin, i) in margins.iter().take(MOST_POINTS) {
        let PointReport { value, point, breach, safe, .. } = &report.points[*i];
        let size = point.knowledge;
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(value),
            grouped(size.l),
            grouped(size.k),
            grouped(size.m),
            decimal_at_least(&breach.upper_bound(), PLACES),
            point.confidence.value(),
            decimal_at_most(margin, PLACES),
            if *safe { "safe" } else { "unsafe" }
        );
    }
    page.push_str("</tbody></table></div>\n");
    if margins.len() > MOST_POINTS {
        let _ = writeln!(
            page,
            "<p class=\"note\">{} more points have no smaller margin; <code>manifest.json</code> lists them.</p>",
            grouped((margins.len() - MOST_POINTS) as u64)
        );
    }
}

fn skylines(page: &mut String, survey: &Survey) {
    let report = &survey.report;
    let mut names: Vec<&str> = Vec::new();
    for (_, i) in by_margin(survey) {
        let name = report.points[i].value.as_str();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        page.push_str("<p>Not computed: the policy states no confidence.</p>\n");
        return;
    }
    page.push_str(
        "<p class=\"note\">Knowledge on or below a line keeps the adversary below the confidence of the value; \
         one step beyond it does not. Each line is for one number l of values ruled out.</p>\n<div class=\"figures\">\n",
    );
    for &name in names.iter().take(MOST_SKYLINES) {
        let kept = survey.kept.iter().find(|(value, _)| value == name).map(|(_, kept)| kept);
        let _ = writeln!(page, "<figure>{}</figure>", figure(name, kept));
    }
    page.push_str("</div>\n");
    if names.len() > MOST_SKYLINES {
        let _ = writeln!(
            page,
            "<p class=\"note\">Shown are the {MOST_SKYLINES} of {} values with the smallest margin; \
             <code>skyveil skyline --all</code> tells the others.</p>",
            names.len()
        );
    }
}

/// The skyline of one value, or why there is none.
fn figure(name: &str, kept: Option<&KeptGroups>) -> String {
    let title = escape(name);
    let Some(kept) = kept.filter(|kept| !kept.overflowed()) else {
        return format!(
            "<h3>{title}</h3><p>Not computed: too many groups differ too much to keep them all.</p>"
        );
    };
    let KnowledgeSkyline { points, levels, always_safe, ended } = kept.skyline(UP_TO);
    let confidence = kept.confidence().value();
    let head = format!("<h3>{title}: below {confidence}</h3>");
    if always_safe {
        return format!("{head}<p>The value occurs nowhere.</p>");
    }
    if points.is_empty() {
        return format!("{head}<p>Not even the release alone stays below {confidence}.</p>");
    }
    let drawing = svg::skyline(&format!("Knowledge skyline of {name}"), &levels).to_element();
    let note = match ended {
        true => format!(
            "<p class=\"note\">Searched up to l = {} and m = {}; more may be safe.</p>",
            UP_TO.l, UP_TO.m
        ),
        false => String::new(),
    };
    format!("{head}{drawing}{note}")
}

fn sizes(page: &mut String, contents: &Contents<'_>) {
    let drawing = svg::histogram("Groups by size", &contents.surveys[0].1.sizes.bars()).to_element();
    let _ = writeln!(page, "<h2>How large are the groups?</h2>\n<figure>{drawing}</figure>");
}

fn worth(page: &mut String, contents: &Contents<'_>) {
    let worth = &contents.worth;
    page.push_str("<h2>What is it still worth?</h2>\n");
    facts(
        page,
        &[
            ("people in a group, on average", format!("{:.1}", worth.average_group_size)),
            ("discernibility (sum of squared group sizes)", worth.discernibility.clone()),
            ("certainty penalty as published", format!("{:.4}", worth.penalty.0)),
            ("certainty penalty, tightest labels", format!("{:.4}", worth.penalty.1)),
        ],
    );
    if !worth.columns.is_empty() {
        let drawing = svg::shares("Certainty penalty by column", &worth.columns).to_element();
        let _ = writeln!(page, "<figure>{drawing}</figure>");
    }
    if contents.style == "bucketized" {
        page.push_str(
            "<p class=\"note\">A bucketized release may tell the quasi-identifiers exactly; the penalties are \
             those of the labels that its groups would have.</p>\n",
        );
    }
    page.push_str(
        "<p class=\"note\">Not computed, because it needs the original table: the divergence of the marginals \
         and the error of count queries.</p>\n",
    );
}

fn kept_columns(page: &mut String, contents: &Contents<'_>) {
    page.push_str("<h2>What is published as it is?</h2>\n");
    let keep = &contents.policy.columns.keep;
    if keep.is_empty() {
        page.push_str("<p>No column is kept beside the quasi-identifiers and the sensitive values.</p>\n");
        return;
    }
    for name in keep {
        let _ = writeln!(
            page,
            "<div class=\"warning\"><strong><code>{}</code></strong> is published unchanged, row by row. Whoever \
             knows it of a person may find that person's row, and no number on this page counts that in. How \
             many people it tells apart was not computed.</div>",
            escape(name)
        );
    }
}

fn origin(page: &mut String, contents: &Contents<'_>) {
    let _ = writeln!(
        page,
        "<h2>Where does it come from?</h2>\n<p>Made by skyveil {version} from {rows} rows with the fingerprint \
         <code>{fingerprint}</code> and the policy below, whose SHA-256 is <code>{hash}</code>. The same rows in any \
         order, the same policy and the same version give the same bytes; <code>manifest.json</code> holds the \
         hashes of all files.</p>\n<pre>skyveil anonymize TABLE --policy policy.toml --out RELEASE\n\
         skyveil check RELEASE</pre>\n<h3>policy.toml</h3>\n<pre>{policy}</pre>",
        version = escape(contents.version),
        rows = grouped(contents.input_rows),
        fingerprint = escape(&contents.fingerprint),
        hash = escape(&contents.policy.hash()),
        policy = escape(contents.policy.canonical().trim())
    );
}
