//! How are results shown, and how are they collected on one page?

use std::fmt::Write;
use std::path::Path;

use maud::{Markup, PreEscaped, html};
use serde::{Deserialize, Serialize};

use super::findings::{ResultTable, rounded};
use super::machine::Machine;
use crate::error::{Error, Result};
use crate::report::html::{Attachments, document, with_code};
use crate::resources::whole_file::{JSON_BYTES, read_at_most};

/// A finished experiment, as stored in `result.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentResult {
    /// Its name.
    pub experiment: String,
    /// The question it answers.
    pub question: String,
    /// Where it comes from.
    pub paper: String,
    /// Section and figures.
    pub place: String,
    /// What the paper says.
    pub shows: Vec<String>,
    /// The command that produced this.
    pub command: String,
    /// `full`, `quick` or `tiny`.
    pub scale: String,
    /// How long it took.
    pub seconds: f64,
    /// Where it ran.
    pub machine: Machine,
    /// What was run.
    pub run: Vec<String>,
    /// How it compares.
    pub compared: Vec<String>,
    /// The numbers.
    pub tables: Vec<ResultTable>,
}

const STYLE: &str = "\
body{margin:0 auto;max-width:70rem;padding:1.2rem;font:16px/1.5 system-ui,sans-serif;color:#222;background:#fff}\
h1{font-size:1.5rem;line-height:1.25;margin:.2rem 0}h2{font-size:1.15rem;margin:1.8rem 0 .4rem;border-bottom:1px solid #ccc}\
svg{width:100%;max-width:36rem;height:auto}.scroll{overflow-x:auto}\
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}\
caption{text-align:left;font-weight:600;padding:.6rem 0 .2rem}\
th,td{padding:.15rem .7rem .15rem 0;border-bottom:1px solid #ddd;text-align:right;vertical-align:top}\
th:first-child,td:first-child{text-align:left}\
.warning{background:#fff3d6;padding:.4rem .8rem;border-radius:.3rem}code{background:#f3f5f7}";

/// One experiment with its plot, an SVG document; self-contained.
pub fn to_html(outcome: &ExperimentResult, plot: &str) -> String {
    let list = |items: &[String]| html! { ul { @for item in items { li { (with_code(item)) } } } };
    let body = html! {
        h1 { (outcome.question) }
        p { (outcome.paper) ", " (outcome.place) "." }
        @if let Some(caution) = outcome.caution() { p.warning { (caution) } }
        h2 { "What the paper shows" }
        (list(&outcome.shows))
        h2 { "What was run here" }
        (list(&outcome.run))
        p {
            code { (outcome.command) } " took " (rounded(outcome.seconds)) " s on " (outcome.machine.shown()) "."
        }
        h2 { "How they compare" }
        (list(&outcome.compared))
        (PreEscaped(plot))
        h2 { "Numbers" }
        @for table in &outcome.tables { (numbers(table)) }
        p { "All digits are in " code { "numbers.csv" } " and " code { "result.json" } "." }
    };
    document(&outcome.question, Attachments { style: STYLE, script: "", data: "" }, &body)
}

fn numbers(table: &ResultTable) -> Markup {
    html! {
        div.scroll {
            table {
                caption { (table.title) }
                tr { @for column in &table.columns { th { (column) } } }
                @for row in &table.rows {
                    tr { @for cell in row { td { (cell.shown()) } } }
                }
            }
        }
    }
}

impl ExperimentResult {
    /// Reads a `result.json`.
    pub fn read(path: &Path) -> Result<ExperimentResult> {
        let text = read_at_most(path, JSON_BYTES).map_err(|source| Error::io(path, source))?;
        serde_json::from_slice(&text).map_err(|error| Error::Format {
            path: path.to_path_buf(),
            problem: format!("it is not the result of an experiment (line {})", error.line()),
        })
    }

    fn caution(&self) -> Option<&'static str> {
        match (self.scale.as_str(), self.machine.build.as_str()) {
            ("full", "release") => None,
            ("full", _) => Some("A debug build: its times say nothing."),
            _ => Some("Not a full run: smaller sizes than the paper's."),
        }
    }
}

/// Creates the page of all results in `results`: `page/results.md` there, with its plots next to it.
///
/// Experiments are in the order of the table of experiments, followed by results of scripts by name. A folder without a
/// `result.json` is silently skipped.
pub fn collect(results: &Path) -> Result<std::path::PathBuf> {
    let mut outcomes = Vec::new();
    let entries = std::fs::read_dir(results).map_err(|source| Error::io(results, source))?;
    for entry in entries {
        let folder = entry.map_err(|source| Error::io(results, source))?.path();
        let file = folder.join("result.json");
        if file.is_file() {
            outcomes.push((folder, ExperimentResult::read(&file)?));
        }
    }
    if outcomes.is_empty() {
        return Err(Error::input(
            format!("{} holds no result of an experiment", results.display()),
            "run skyveil reproduce EXPERIMENT --out with the same folder first",
        ));
    }
    let place = |outcome: &ExperimentResult| {
        let known = super::EXPERIMENTS.iter().position(|experiment| experiment.name == outcome.experiment);
        (known.unwrap_or(usize::MAX), outcome.experiment.clone())
    };
    outcomes.sort_by_key(|(_, outcome)| place(outcome));
    let page = results.join("page");
    let plots = page.join("results");
    std::fs::create_dir_all(&plots).map_err(|source| Error::io(&plots, source))?;
    let mut text = format!("{SUMMARY}\n## Contents\n\n");
    for (_, outcome) in &outcomes {
        text.push_str(&format!("- [{}](#{})\n", outcome.question, anchor(&outcome.question)));
    }
    for (folder, outcome) in &outcomes {
        let plot = folder.join("plot.svg");
        let picture = plot.is_file().then(|| format!("results/{}.svg", outcome.experiment));
        if let Some(picture) = &picture {
            let to = page.join(picture);
            std::fs::copy(&plot, &to).map_err(|source| Error::io(&to, source))?;
        }
        text.push_str(&to_markdown(outcome, picture.as_deref()));
    }
    let file = page.join("results.md");
    std::fs::write(&file, text).map_err(|source| Error::io(&file, source))?;
    Ok(file)
}

/// A summary of the findings on one screen: written by hand, so it must be compared with new results.
const SUMMARY: &str = include_str!("../../docs/results-summary.md");

/// The anchor that Markdown viewers generate for a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The number of table rows shown on the page; the rest is in the CSV file.
const MOST_ROWS: usize = 24;

fn to_markdown(outcome: &ExperimentResult, picture: Option<&str>) -> String {
    let mut text = format!("\n## {}\n\n{}, {}.\n", outcome.question, outcome.paper, outcome.place);
    // Writing to a string cannot fail.
    if let Some(caution) = outcome.caution() {
        let _ = write!(text, "\n**{caution}**\n");
    }
    let _ = write!(
        text,
        "\n`{}` took {} s on {}.\n",
        outcome.command,
        rounded(outcome.seconds),
        outcome.machine.shown()
    );
    for (title, items) in
        [("The paper", &outcome.shows), ("Run here", &outcome.run), ("Comparison", &outcome.compared)]
    {
        if !items.is_empty() {
            let _ = write!(text, "\n{title}:\n\n");
            items.iter().for_each(|item| text.push_str(&format!("- {}\n", marked(item))));
        }
    }
    if let Some(picture) = picture {
        let _ = write!(text, "\n![{}]({picture})\n", outcome.question);
    }
    for table in &outcome.tables {
        let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let _ = write!(text, "\n{}:\n\n", marked(&table.title));
        text.push_str(&row(table.columns.iter().map(|column| marked(column)).collect()));
        text.push_str(&row(table.columns.iter().map(|_| "---".to_string()).collect()));
        for cells in table.rows.iter().take(MOST_ROWS) {
            text.push_str(&row(cells.iter().map(|cell| marked(&cell.shown())).collect()));
        }
        if let Some(more) = table.rows.len().checked_sub(MOST_ROWS + 1) {
            let _ = write!(text, "\n{} more rows are in `numbers.csv`.\n", more + 1);
        }
    }
    text
}

/// Escapes text for Markdown.
fn marked(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(at, part)| match at % 2 {
        0 => part.replace('|', "\\|").replace('<', "&lt;").replace('*', "\\*").replace('_', "\\_"),
        _ => format!("`{part}`"),
    });
    parts.collect()
}
