//! What does a data owner look at?
//!
//! One page with everything in it: no script, no font, no network, no date and no path, so that the same release
//! gives the same bytes. What was not computed is said.
//!
//! Memory: the page; at most [`MOST_SKYLINES`] figures and [`MOST_POINTS`] rows.

use std::fmt::Write;

use super::comparison::Comparison;
use super::kept::{Distinct, KeptColumn};
use super::required;
use super::svg::{self, escape, grouped, grouped_digits};
use crate::check::{PointReport, Survey};
use crate::error::number_of;
use crate::math::exact::{Rational, decimal_at_least, decimal_at_most};
use crate::math::skyline::{KeptGroups, KnowledgeSkyline, UpTo};
use crate::model::beliefs::BeliefsModel;
use crate::model::{Needs, Policy};
use crate::release::penalty::{Utility, rounded_up};

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

/// Why nothing is said of the original.
pub const WITHOUT_ORIGINAL: &str =
    "it needs the original table (<code>skyveil report --original TABLE</code>)";

/// All that a page tells.
pub struct Contents<'a> {
    /// For each protected column, at least one: the verdict, the groups that decide the skylines, and the sizes of
    /// all groups.
    pub surveys: &'a [(String, Survey)],
    /// What was asked for.
    pub asked: Asked,
    /// Where the groups come from.
    pub origin: Origin<'a>,
    /// What the release is worth.
    pub worth: Worth,
    /// How far it is from the original.
    pub compared: Compared,
    /// What is published as it is.
    pub kept: &'a [KeptColumn],
}

impl Contents<'_> {
    fn policy(&self) -> Option<&Policy> {
        match &self.origin {
            Origin::Release { policy, .. } => Some(policy),
            Origin::Table { policy, .. } => *policy,
        }
    }

    /// How far beliefs about a column may move, if the policy says that.
    fn beliefs(&self, column: &str) -> Option<&BeliefsModel> {
        let targets = self.policy().filter(|_| self.asked == Asked::Policy)?.privacy.targets.iter();
        targets.filter(|target| target.name() == column).find_map(|target| target.model.beliefs())
    }

    /// Whether beliefs must be judged that were not.
    pub fn unjudged(&self) -> bool {
        let open = |(column, survey): &(String, Survey)| {
            survey.report.beliefs.is_none() && self.beliefs(column).is_some()
        };
        self.surveys.iter().any(open)
    }
}

/// Who says what must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// The policy.
    Policy,
    /// Whoever asked for the page.
    Points,
    /// Nobody: the points of the survey only show how much the groups alone tell.
    Nothing,
}

/// Where the groups come from.
pub enum Origin<'a> {
    /// A release.
    Release {
        /// What the owner asked for.
        policy: &'a Policy,
        /// `generalized` or `bucketized`.
        style: &'a str,
        /// Rows of the input.
        input_rows: u64,
        /// What binds the release to the input; none where it would tell what is not published.
        fingerprint: Option<String>,
        /// The version that made the release.
        version: &'a str,
    },
    /// Any table of groups.
    Table {
        /// The columns that make a group.
        groups: &'a [String],
        /// What the owner asked for, if that is known.
        policy: Option<&'a Policy>,
    },
}

/// How far a release is from its original.
pub enum Compared {
    /// So far.
    Measured(Comparison),
    /// Not computed, because of this.
    Not(&'static str),
}

/// What a release is worth.
#[derive(Debug, Clone, PartialEq)]
pub struct Worth {
    /// Average people per group.
    pub average_group_size: f64,
    /// Sum of the squared group sizes.
    pub discernibility: String,
    /// The certainty penalties; unknown for a table that is no release.
    pub penalty: Option<Penalties>,
}

/// Certainty penalties as published and with the tightest labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Penalties {
    /// As published, over all columns.
    pub published: f64,
    /// With the tightest labels, over all columns.
    pub tight: f64,
    /// Both for each column.
    pub columns: Vec<(String, f64, f64)>,
}

impl From<&Utility> for Worth {
    fn from(utility: &Utility) -> Self {
        let columns = utility.columns.iter();
        Worth {
            average_group_size: utility.average_group_size,
            discernibility: utility.discernibility.to_string(),
            // Groups without labels have none.
            penalty: (!utility.columns.is_empty()).then(|| Penalties {
                published: rounded_up(utility.published_penalty()),
                tight: rounded_up(utility.tight_penalty()),
                columns: columns
                    .map(|column| {
                        (column.name.clone(), rounded_up(column.published), rounded_up(column.tight))
                    })
                    .collect(),
            }),
        }
    }
}

impl From<&Survey> for Worth {
    fn from(survey: &Survey) -> Self {
        Worth {
            average_group_size: survey.report.individuals as f64 / survey.report.groups.max(1) as f64,
            discernibility: survey.sizes.squares().to_string(),
            penalty: None,
        }
    }
}

const STYLE: &str = include_str!("page.css");

/// The page as HTML.
pub fn to_html(contents: &Contents<'_>) -> String {
    let report = &contents.surveys[0].1.report;
    let columns: Vec<String> = contents.surveys.iter().map(|(column, _)| escape(column)).collect();
    let safe = contents.surveys.iter().all(|(_, survey)| survey.report.safe);
    let unjudged = contents.unjudged();
    let (class, verdict) = match (contents.asked, safe) {
        (Asked::Policy, true) if unjudged => {
            ("open", "no verdict on beliefs, which needs the original; all else is safe by the policy")
        }
        (Asked::Policy, true) => ("safe", "safe by its policy"),
        (Asked::Policy, false) => ("unsafe", "not safe by its policy"),
        (Asked::Points, true) => ("safe", "safe at the points that were asked for"),
        (Asked::Points, false) => ("unsafe", "not safe at the points that were asked for"),
        (Asked::Nothing, _) => ("open", "no verdict: nobody said what must hold"),
    };
    let (what, style) = match &contents.origin {
        Origin::Release { style, .. } => ("Release", *style),
        Origin::Table { .. } => ("Table", "grouped"),
    };
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{what} report: {title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>{what} of <code>{column}</code></h1>\n<p><span class=\"verdict {class}\">{verdict}</span></p>\n",
        title = columns.join(", "),
        column = columns.join("</code>, <code>")
    );
    for column in contents.kept {
        if let Some(share) = column.identifies(report.individuals) {
            let _ = writeln!(
                page,
                "<div class=\"warning\"><strong>The kept column <code>{}</code> points at people:</strong> {share} of \
                 them have a value in it that nobody else of their group has. The verdict does not count that in.</div>",
                escape(&column.name)
            );
        }
    }
    let fewest = contents.surveys.iter().map(|(_, survey)| survey.report.fewest_values).min();
    facts(
        &mut page,
        &[
            ("people", grouped(report.individuals)),
            ("groups", grouped(report.groups)),
            ("people in the smallest group", grouped(report.smallest_group)),
            ("fewest different values in a group", grouped(fewest.unwrap_or(0))),
            ("style", format!("{style}, {} values", report.values.name())),
        ],
    );
    match contents.surveys {
        [(_, only)] if only.report.robust.is_some() => distributions(&mut page, only, &contents.origin),
        [(column, only)] => {
            page.push_str("<h2>Is it safe?</h2>\n");
            required(&mut page, column, only, contents);
            page.push_str("<h2>How much more could an adversary know?</h2>\n");
            skylines(&mut page, only);
        }
        several => {
            let _ = writeln!(page, "<h2>Is it safe?</h2>\n<p class=\"note\">{SEVERAL}</p>");
            for (column, survey) in several {
                let _ = writeln!(page, "<h2>Is <code>{}</code> safe?</h2>", escape(column));
                required(&mut page, column, survey, contents);
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

/// What an adversary who knows distributions can believe.
fn distributions(page: &mut String, survey: &Survey, origin: &Origin<'_>) {
    let published = survey.report.individuals;
    let suppressed = match origin {
        Origin::Release { input_rows, .. } => input_rows.saturating_sub(published),
        Origin::Table { .. } => 0,
    };
    if let Some(report) = &survey.report.robust {
        page.push_str(&super::robust::section(report, suppressed));
        page.push_str(&required::table(&survey.report, None));
    }
}

/// All that had to hold for a column, and what was found.
fn required(page: &mut String, column: &str, survey: &Survey, contents: &Contents<'_>) {
    if contents.asked == Asked::Nothing {
        return alone(page, survey);
    }
    let table = required::table(&survey.report, contents.beliefs(column));
    if table.is_empty() && survey.report.points.is_empty() {
        page.push_str("<p>Nothing is required of this column.</p>\n");
    }
    page.push_str(&table);
    if !survey.report.points.is_empty() {
        points(page, survey);
    }
}

fn points(page: &mut String, survey: &Survey) {
    let report = &survey.report;
    page.push_str(
        "<p class=\"note\">Whoever knows l values that a person does not have, the values of k others and m \
         members of the person's family can become as sure of the value as the breach says, and no surer. It must \
         stay below the limit. Breaches are rounded up, margins down.</p>\n<div class=\"scroll\"><table><thead><tr><th>value</th>\
         <th>verdict</th><th>l, k, m</th><th>breach</th><th>limit</th><th>margin</th>\
         </tr></thead><tbody>\n",
    );
    let margins = by_margin(survey);
    for (margin, i) in margins.iter().take(MOST_POINTS) {
        let PointReport { value, point, breach, safe, .. } = &report.points[*i];
        let size = point.knowledge;
        let _ = writeln!(
            page,
            "<tr{}><td>{}</td><td>{}</td><td>{}, {}, {}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            if *safe { "" } else { " class=\"bad\"" },
            escape(value),
            if *safe { "safe" } else { "unsafe" },
            size.l,
            size.k,
            size.m,
            decimal_at_least(&breach.upper_bound(), PLACES),
            point.confidence.value(),
            decimal_at_most(margin, PLACES)
        );
    }
    page.push_str("</tbody></table></div>\n");
    if margins.len() > MOST_POINTS {
        let _ = writeln!(
            page,
            "<p class=\"note\">{} more points have no smaller margin; <code>skyveil check --all</code> lists \
             them.</p>",
            grouped((margins.len() - MOST_POINTS) as u64)
        );
    }
}

/// How sure the groups alone make an adversary, where nobody said what must hold.
fn alone(page: &mut String, survey: &Survey) {
    page.push_str(
        "<p>No verdict: neither a policy nor a point (<code>--point L,K,M,C</code>) says what must hold. This is how \
         sure the groups alone make somebody who knows nothing else.</p>\n<div class=\"scroll few\"><table><thead><tr>\
         <th>value</th><th>sure up to</th></tr></thead><tbody>\n",
    );
    let margins = by_margin(survey);
    for (_, i) in margins.iter().take(MOST_POINTS) {
        let PointReport { value, breach, .. } = &survey.report.points[*i];
        let sure = decimal_at_least(&breach.upper_bound(), PLACES);
        let _ = writeln!(page, "<tr><td>{}</td><td>{sure}</td></tr>", escape(value));
    }
    page.push_str("</tbody></table></div>\n");
    if let Some(more @ 1..) = margins.len().checked_sub(MOST_POINTS) {
        let _ = writeln!(
            page,
            "<p class=\"note\">{} more values are told less surely.</p>",
            grouped(more as u64)
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
        page.push_str(
            "<p>Not computed: no skyline point states how sure somebody may become. <code>skyveil skyline --value VALUE \
             --confidence C</code> tells it.</p>\n",
        );
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
            "<p class=\"note\">Searched up to l = {} and m = {} at most; more may be safe.</p>",
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
    let mut told = vec![
        ("people in a group, on average", format!("{:.1}", worth.average_group_size)),
        ("discernibility (sum of squared group sizes)", grouped_digits(&worth.discernibility)),
    ];
    if let Some(penalty) = &worth.penalty {
        told.push(("certainty penalty as published", format!("{:.3}", penalty.published)));
        told.push(("certainty penalty, tightest labels", format!("{:.3}", penalty.tight)));
    }
    facts(page, &told);
    match &worth.penalty {
        None => {
            let why = match contents.origin {
                Origin::Release { .. } => {
                    "the groups have no labels: the quasi-identifiers are published as they are"
                }
                Origin::Table { .. } => "only a release says what its labels stand for",
            };
            let _ =
                writeln!(page, "<p class=\"note\">Not computed, because {why}: the certainty penalty.</p>");
        }
        Some(penalty) => {
            let drawing = svg::shares("Certainty penalty by column", &penalty.columns).to_element();
            let _ =
                writeln!(page, "<figure>{drawing}</figure>\n<p class=\"note\">Penalties are rounded up.</p>");
            if let Origin::Release { style: "bucketized", .. } = contents.origin {
                page.push_str(
                    "<p class=\"note\">A bucketized release may tell the quasi-identifiers exactly; the penalties \
                     are those of the labels that its groups would have.</p>\n",
                );
            }
        }
    }
    page.push_str("<h2>How far is it from the original?</h2>\n");
    match &contents.compared {
        Compared::Measured(comparison) => {
            compared(page, comparison, &contents.origin);
            if contents.surveys.len() > 1 {
                let column = escape(&comparison.sensitive);
                let _ = writeln!(
                    page,
                    "<p class=\"note\">Of the sensitive columns, the queries ask about <code>{column}</code> only.</p>"
                );
            }
        }
        Compared::Not(why) => {
            let _ = writeln!(
                page,
                "<p class=\"note\">Not computed, because {why}: the divergence of the marginals and the error of \
                 count queries.</p>"
            );
        }
    }
}

fn compared(page: &mut String, comparison: &Comparison, origin: &Origin<'_>) {
    let knows = match origin {
        Origin::Release { style: "bucketized", .. } => {
            "as if the values of a group were spread evenly over its people"
        }
        _ => "as if the people of a group were spread evenly over what its label covers",
    };
    let Comparison { divergences, sensitive, design, errors } = comparison;
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    facts(
        page,
        &[
            ("median relative error of count queries", percent(errors.median)),
            ("mean relative error of count queries", percent(errors.mean)),
        ],
    );
    let _ = writeln!(
        page,
        "<p class=\"note\">{queries} random queries (seed {seed}) count the people in a range of {dimension} \
         quasi-identifiers and of <code>{sensitive}</code>, at an expected selectivity of {selectivity}. They are answered from the \
         release {knows}. An error is relative to the true count, or to {least} people where that is less ({below}).</p>",
        queries = grouped(design.queries as u64),
        seed = design.seed,
        sensitive = escape(sensitive),
        dimension = design.dimension,
        selectivity = percent(design.selectivity),
        least = grouped(errors.least),
        below = number_of(errors.below_least as u64, "query", "queries"),
    );
    page.push_str(
        "<div class=\"scroll few\"><table><thead><tr><th>column</th><th>divergence (bits)</th></tr>\
         </thead><tbody>\n",
    );
    for (name, divergence) in divergences {
        let bits = match divergence.uncovered {
            0 => format!("{:.4}", divergence.bits),
            people => format!("infinite: no label covers the value of {} people", grouped(people)),
        };
        let _ = writeln!(page, "<tr><td>{}</td><td>{bits}</td></tr>", escape(name));
    }
    page.push_str(
        "</tbody></table></div>\n<p class=\"note\">Kullback-Leibler divergence of the released from the original \
         distribution of each column alone: 0 if the column alone is told exactly.</p>\n",
    );
}

fn kept_columns(page: &mut String, contents: &Contents<'_>) {
    page.push_str("<h2>What is published as it is?</h2>\n");
    if let Origin::Release { style: "bucketized", .. } = contents.origin {
        page.push_str(
            "<p>The quasi-identifiers. Whoever knows them of a person finds the person's group; the verdict counts \
             that in.</p>\n",
        );
    }
    if contents.kept.is_empty() {
        page.push_str("<p>No column is kept beside the quasi-identifiers and the sensitive values.</p>\n");
        return;
    }
    let people = contents.surveys[0].1.report.individuals;
    for KeptColumn { name, distinct, alone } in contents.kept {
        let distinct = match distinct {
            Distinct::Exactly(1) => "1 value".to_string(),
            Distinct::Exactly(values) => format!("{} different values", grouped(*values)),
            Distinct::MoreThan(values) => format!("more than {} different values", grouped(*values)),
        };
        let alone = match alone {
            None => "How many people it tells apart from all others of their group was not computed: the rows of a \
                     group do not stand together, or there are too many of them."
                .to_string(),
            Some(0) => "Nobody has a value that no other person of the same group has.".to_string(),
            Some(alone) => format!(
                "<strong>{} people ({:.1} %)</strong> have a value that nobody else of their group has: whoever \
                 knows it finds their row.",
                grouped(*alone),
                100.0 * *alone as f64 / people.max(1) as f64
            ),
        };
        let _ = writeln!(
            page,
            "<div class=\"warning\"><strong><code>{}</code></strong> is published unchanged, row by row: {distinct}. \
             {alone} No other number on this page counts that in.</div>",
            escape(name)
        );
    }
    if contents.kept.len() > 1 {
        page.push_str(
            "<p class=\"note\">Columns together tell more people apart than each of them alone.</p>\n",
        );
    }
}

/// What the check of a release needs beside it.
fn needed_to_check(policy: &Policy) -> &'static str {
    match policy.needs() {
        Needs::Original => " --original TABLE",
        Needs::Distributions => " --policy policy.toml",
        Needs::Counts => "",
    }
}

fn origin(page: &mut String, contents: &Contents<'_>) {
    page.push_str("<h2>Where does it come from?</h2>\n");
    let policy = match &contents.origin {
        Origin::Release { policy, input_rows, fingerprint, version, .. } => {
            let fingerprint = match fingerprint {
                Some(fingerprint) => format!("with the fingerprint <code>{}</code>", escape(fingerprint)),
                None => "(without a fingerprint, which could tell what is not published)".to_string(),
            };
            let _ = writeln!(
                page,
                "<p>Made by skyveil {version} from {rows} rows {fingerprint} and the policy below, whose SHA-256 is \
                 <code>{hash}</code>. The same rows in any order, the same policy and the same version give the same \
                 bytes; <code>manifest.json</code> holds the hashes of all files.</p>\n\
                 <pre>skyveil anonymize TABLE --policy policy.toml --out RELEASE\nskyveil check RELEASE{more}</pre>",
                more = needed_to_check(policy),
                version = escape(version),
                rows = grouped(*input_rows),
                hash = escape(&policy.hash()),
            );
            Some(*policy)
        }
        Origin::Table { groups, policy } => {
            let _ = writeln!(
                page,
                "<p>Not a release of skyveil: who made the table, from what and how is not known. A group is \
                 the rows that agree in <code>{}</code>.</p>",
                escape(&groups.join(", "))
            );
            *policy
        }
    };
    if let Some(policy) = policy {
        let _ = writeln!(page, "<h3>policy.toml</h3>\n<pre>{}</pre>", escape(policy.canonical().trim()));
    }
}
