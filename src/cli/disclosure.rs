//! `skyveil disclosure`: how sure can an adversary become by knowing k implications?

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::Answer;
use super::subject::SubjectFlags;
use super::terminal::{print, visible, with_progress};
use super::verdict::{aligned, exact_text};
use crate::check::{ColumnRoles, JudgedColumn, Order, Subject, count};
use crate::error::{Error, Result, number_of};
use crate::math::exact::{Rational, decimal_at_least, f64_at_least};
use crate::math::implications::IMPLICATIONS_LIMIT;
use crate::model::implications::judge::{Atom, DisclosurePoint, Implications, Statements};
use crate::model::judge::{Adversary, Requirements};
use crate::model::skyline::knowledge::WantedSkylines;
use crate::report::chart::{Axis, Chart, Series, to_document};

/// How sure can an adversary become by knowing any K implications?
///
/// An atom says that a person has a value; an implication, that some atoms imply another one. Shows the maximum over
/// all sets of 0 to K implications, the same for negated atoms ("this person lacks that value"), and atoms that
/// attain them. Where the rows of each group stand together, the table is read once.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  skyveil disclosure release
  skyveil disclosure groups.csv --group class --sensitive disease --up-to 12 --svg curve.svg")]
pub struct DisclosureArgs {
    #[command(flatten)]
    subject: SubjectFlags,
    /// The largest number of implications. Default: 5.
    #[arg(long, value_name = "K", default_value_t = 5, hide_default_value = true,
        value_parser = clap::value_parser!(u16).range(0..=IMPLICATIONS_LIMIT as i64))]
    pub up_to: u16,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    /// Draw both curves to this file.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// Measures, and prints the curves.
pub fn run(args: &DisclosureArgs) -> Result<Answer> {
    let (opened, columns) = args.subject.open()?;
    let (report, points) = measured(args, &opened.subject(), &columns)?;
    if let Some(path) = &args.svg {
        draw(path, &points)?;
    }
    let text = if args.json { format!("{}\n", to_json(&report, &points)) } else { to_text(&report, &points) };
    print(&text)?;
    Ok(Answer::Yes)
}

fn measured(
    args: &DisclosureArgs,
    subject: &Subject<'_>,
    columns: &ColumnRoles,
) -> Result<(JudgedColumn, Vec<DisclosurePoint>)> {
    let implications = Implications { up_to: args.up_to.into(), confidence: None };
    let requirements =
        Requirements { adversary: Adversary::Implications(implications), ..Requirements::nothing() };
    with_progress(|progress| {
        let resources = args.subject.resources(progress);
        let counted = count(subject, columns, &requirements, &WantedSkylines::NOTHING, &resources)?;
        let judge = counted.judge.implications();
        let curve = judge.map_or(Ok(Vec::new()), |judge| judge.curve(&counted.names, &columns.sensitive))?;
        Ok((counted.finish(columns, &requirements)?, curve))
    })
}

fn draw(path: &Path, points: &[DisclosurePoint]) -> Result<()> {
    let series = |name: &str, risk: fn(&DisclosurePoint) -> &Rational| {
        Series::line(
            name.to_string(),
            points.iter().map(|point| (point.k as f64, f64_at_least(risk(point)))).collect(),
        )
    };
    let chart = Chart {
        title: "Maximum disclosure".to_string(),
        horizontal: Axis::whole("pieces of knowledge k (number)"),
        vertical: Axis::unit("maximum disclosure (probability)"),
        series: vec![
            series("implications", |point| &point.disclosure),
            series("negated atoms", |point| &point.negated),
        ],
    };
    std::fs::write(path, to_document(&[chart])).map_err(|source| Error::io(path, source))
}

/// Digits after the point.
const PLACES: usize = 6;
/// Longer fractions are only printed by --json.
const LONGEST: usize = 24;

fn to_text(report: &JudgedColumn, points: &[DisclosurePoint]) -> String {
    let people = number_of(report.individuals, "person", "people");
    let groups = number_of(report.groups, "group", "groups");
    let exact = |risk: &Rational| {
        let text = risk.to_string();
        if text.len() <= LONGEST { text } else { "...".to_string() }
    };
    let head = ["k", "implications", "exact", "negated atoms", "exact"].map(str::to_string);
    let rows = points.iter().map(|point| {
        let (implied, negated) = (&point.disclosure, &point.negated);
        let decimal = |risk| decimal_at_least(risk, PLACES);
        [point.k.to_string(), decimal(implied), exact(implied), decimal(negated), exact(negated)]
    });
    let table = aligned(&std::iter::once(head).chain(rows).collect::<Vec<_>>());
    let mut text =
        format!("maximum disclosure of {people} in {groups}\n\n{table}\nwhat must be known for it\n");
    for point in points {
        let worst = [
            (&point.implications, "implications", "each of these implies it"),
            (&point.negations, "negated atoms", "each of these is false"),
        ];
        for (statements, kind, known) in worst {
            if let Some(statements) = statements {
                text.push_str(&format!("k = {}, {kind}: {}", point.k, told(report.order, statements, known)));
            }
        }
    }
    if report.order == Order::Clustered {
        text.push_str("groups are named by their first row, counted from 1; ");
    }
    text.push_str("people of a group can stand for each other\n");
    text
}

fn told(order: Order, statements: &Statements, known: &str) -> String {
    let atom = |atom: &Atom| {
        let group = match order {
            Order::Clustered => format!("the group at row {}", atom.group + 1),
            _ => format!("group number {}", atom.group),
        };
        let (value, count, people) = (visible(&atom.value), atom.count, atom.people);
        format!("person {} of {group} has {value:?}, as {count} of {people} there", atom.person)
    };
    let mut text = format!("{}\n", atom(&statements.target));
    if !statements.known.is_empty() {
        text.push_str(&format!("  {known}:\n"));
    }
    for known in &statements.known {
        text.push_str(&format!("    {}\n", atom(known)));
    }
    text
}

fn to_json(report: &JudgedColumn, points: &[DisclosurePoint]) -> Value {
    let curve = |of: &dyn Fn(&DisclosurePoint) -> (&Rational, &Option<Statements>), known: &str| {
        let one = |point: &DisclosurePoint| {
            let (risk, statements) = of(point);
            let atoms = |statements: &Statements| -> Vec<Value> {
                statements.known.iter().map(|atom| atom_json(report.order, atom)).collect()
            };
            let target = statements.as_ref().map(|statements| atom_json(report.order, &statements.target));
            json!({
                "k": point.k,
                "disclosure": f64_at_least(risk),
                "exact": exact_text(risk),
                "target": target,
                known: statements.as_ref().map(atoms),
            })
        };
        points.iter().map(one).collect::<Vec<Value>>()
    };
    json!({
        "records": report.records,
        "individuals": report.individuals,
        "groups": report.groups,
        "scattered": report.order == Order::Scattered,
        "implications": curve(&|point| (&point.disclosure, &point.implications), "antecedents"),
        "negations": curve(&|point| (&point.negated, &point.negations), "negated"),
    })
}

fn atom_json(order: Order, atom: &Atom) -> Value {
    let (group, number) = match order {
        Order::Clustered => ("first_row", atom.group + 1),
        _ => ("group", atom.group),
    };
    json!({
        group: number,
        "people": atom.people,
        "person": atom.person,
        "value": atom.value,
        "count": atom.count,
    })
}
