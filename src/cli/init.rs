//! `skyveil init`: profile a table and propose a policy to start from.

use super::Answer;
use super::dry_run::{compared, sampled};
use super::flags::{ResourceFlags, open_table, read_delimiter, read_options};
use super::terminal::{complain, print, print_file, visible, visible_path, with_progress};
use crate::anonymize::SAMPLED_PEOPLE;
use crate::error::{Error, Result, number_of};
use crate::policy::ColumnType;
use crate::policy::hierarchy::to_arx;
use crate::profile::{
    ColumnCombination, ColumnProfile, OwnerChoices, PolicyProposal, Profile, Proposed, ProposedAdversary,
    ReadingOptions, SensitiveCandidate, Strictness, TriedPolicy, hierarchy_of, propose,
};
use crate::table::ColumnKind;
use crate::table::read::{ReadOptions, Table};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Profile a table and print a commented policy to start from.
///
/// The table is read once, with 60 MiB of --memory in addition to what reading needs, whatever its size. Every column
/// gets a role and the reason for it; nothing is proposed to be published as it is. Then three policies of different
/// strictness are tried on a sample, and what comes of them is shown. No value of the table is printed but words such as
/// "none", except by --hierarchy, which lists the values of one column.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  skyveil init people.csv --out policy.toml
  skyveil init people.csv --sensitive diagnosis --type born=day-month-year --out policy.toml
  skyveil init people.csv --model robust --out policy.toml
  skyveil init people.csv --hierarchy occupation --out occupation.csv")]
pub struct InitArgs {
    /// Parquet, Arrow IPC or CSV files, or a directory of them.
    #[arg(required = true, value_name = "TABLE")]
    pub paths: Vec<PathBuf>,
    /// The file to write. Default: standard output.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Overwrite an existing file.
    #[arg(long, requires = "out")]
    pub force: bool,
    /// The column to protect. Default: the best of those whose names suggest it.
    #[arg(long, value_name = "COL")]
    pub sensitive: Option<String>,
    /// Whom to protect against: somebody who knows values of some people, or how likely each value is for people of a kind.
    #[arg(long, value_name = "MODEL", value_enum, default_value_t = InitModel::Skyline)]
    pub model: InitModel,
    /// Write a hierarchy file for this column instead of a policy: value;group;...;*
    #[arg(long, value_name = "COL", conflicts_with_all = ["sensitive", "json"])]
    pub hierarchy: Option<String>,
    /// The type of a CSV column, instead of guessing it: integer, number, text, boolean, date, day-month-year,
    /// month-day-year or timestamp. In other files, text turns whole numbers into names.
    #[arg(long = "type", value_name = "COL=TYPE", value_parser = read_type)]
    pub types: Vec<(String, ColumnType)>,
    /// The character between the cells of a CSV file.
    #[arg(long, value_name = "CHAR", value_parser = read_delimiter)]
    pub delimiter: Option<u8>,
    /// Do not try policies on a sample, which reads the table again.
    #[arg(long)]
    pub no_trial: bool,
    #[command(flatten)]
    resources: ResourceFlags,
    /// Print the profile and the proposed roles as one JSON object instead of a policy.
    #[arg(long, conflicts_with = "out")]
    pub json: bool,
}

/// The models for which a policy is proposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum InitModel {
    /// The privacy skyline
    Skyline,
    /// Known distributions; needs one value for each person
    Robust,
}

impl From<InitModel> for ProposedAdversary {
    fn from(model: InitModel) -> Self {
        match model {
            InitModel::Skyline => ProposedAdversary::Skyline,
            InitModel::Robust => ProposedAdversary::Robust,
        }
    }
}

/// Profiles, and prints or writes what is requested.
pub fn run(args: &InitArgs) -> Result<Answer> {
    if let Some(out) = args.out.as_ref().filter(|out| !args.force && out.exists()) {
        return Err(exists(out));
    }
    let declared = ReadingOptions { delimiter: args.delimiter, types: args.types.iter().cloned().collect() };
    let options = ReadOptions { spool: args.resources.spool(), ..options(&declared) };
    let table = open_table(&args.paths, &options)?;
    if let Some(column) = &args.hierarchy {
        return write_hierarchy(args, &table, column);
    }
    let mut profile = with_progress(|progress| Profile::of(&table, &args.resources.all(progress)))?;
    // Where the owner declares a type, no other one is proposed.
    let is_declared = |column: &&mut ColumnProfile| declared.types.contains_key(&column.name);
    profile.columns.iter_mut().filter(is_declared).for_each(|column| column.padded = None);
    let proposal =
        propose(&profile, &OwnerChoices { sensitive: args.sensitive.clone(), adversary: args.model.into() })?;
    for warning in &proposal.warnings {
        complain("warning", &visible(warning));
    }
    let reading = declared.pinned(&table, &proposal);
    let names = args.paths.iter().map(|path| path.display().to_string());
    let name = names.collect::<Vec<_>>().join(" ");
    let policy = proposal.to_policy(&name, &reading)?;
    let tried = tried(args, &table, &proposal, &reading);
    if args.json {
        print(&format!("{}\n", to_json(&proposal, &tried)))?;
        return Ok(Answer::Yes);
    }
    let policy = policy + &tried.as_comment();
    match &args.out {
        None => print_file(&policy)?,
        Some(out) => {
            write(args, out, &policy)?;
            print(&summary(&proposal, out, &name, &tried))?;
        }
    }
    Ok(Answer::Yes)
}

/// What came of the policies that were tried.
#[derive(Default)]
struct Tried {
    people: u64,
    sampled: u64,
    policies: Vec<TriedPolicy>,
}

/// Tries policies on a sample. What cannot be tried is no reason not to propose a policy.
fn tried(args: &InitArgs, table: &Table, proposal: &PolicyProposal<'_>, reading: &ReadingOptions) -> Tried {
    if args.no_trial {
        return Tried::default();
    }
    let outcome = with_progress(|progress| -> Result<Tried> {
        let policies = proposal.strictnesses(reading)?;
        let Some(first) = policies.first() else { return Ok(Tried::default()) };
        let options = read_options(args.delimiter, Some(&first.policy), args.resources.spool());
        let table = table.reopened(&options)?;
        let resources = args.resources.all(progress);
        let Some((sample, policies)) = Strictness::try_all(&policies, &table, SAMPLED_PEOPLE, &resources)?
        else {
            return Ok(Tried::default());
        };
        Ok(Tried { people: sample.people(), sampled: sample.sampled(), policies })
    });
    outcome.unwrap_or_else(|why| {
        complain("note", &format!("no policy was tried on a sample: {}", visible(&why.to_string())));
        Tried::default()
    })
}

impl Tried {
    fn to_text(&self) -> String {
        if self.policies.is_empty() {
            return String::new();
        }
        let lines: Vec<_> = self.policies.iter().map(|own| (visible(&own.label), &own.trial)).collect();
        format!("{}:\n\n{}", sampled(self.sampled, self.people), compared(&lines))
    }

    /// The same at the end of a policy.
    fn as_comment(&self) -> String {
        let lines = self.to_text();
        let comment: String =
            lines.lines().map(|line| format!("# {line}").trim_end().to_string() + "\n").collect();
        if comment.is_empty() { comment } else { format!("\n{comment}") }
    }
}

fn options(reading: &ReadingOptions) -> ReadOptions {
    ReadOptions {
        delimiter: reading.delimiter,
        types: reading.types.iter().map(|(name, declared)| (name.clone(), (*declared).into())).collect(),
        ..ReadOptions::default()
    }
}

fn read_type(text: &str) -> std::result::Result<(String, ColumnType), String> {
    let named = text.rsplit_once('=').and_then(|(name, wanted)| {
        let known = ColumnType::NAMES.into_iter().find(|(name, _)| *name == wanted)?;
        Some((name.to_string(), known.1))
    });
    named.ok_or_else(|| {
        let names: Vec<&str> = ColumnType::NAMES.iter().map(|(name, _)| *name).collect();
        format!("expected COL=TYPE, a type being one of {}", names.join(", "))
    })
}

fn write_hierarchy(args: &InitArgs, table: &Table, column: &str) -> Result<Answer> {
    let tree = with_progress(|progress| hierarchy_of(table, column, &args.resources.all(progress)))?;
    let text = to_arx(&tree).ok_or_else(|| {
        Error::input(
            format!("column {column:?} has a value with a line break, which a hierarchy file cannot hold"),
            "replace the line breaks in the table, or drop the column",
        )
    })?;
    match &args.out {
        None => print_file(&text)?,
        Some(out) => {
            write(args, out, &text)?;
            let leaves = number_of(u64::from(tree.leaf_count()), "value", "values");
            print(&format!(
                "{}: {leaves} of {:?} on {} levels\n",
                visible_path(out),
                visible(column),
                tree.top_level() + 1
            ))?;
        }
    }
    complain(
        "warning",
        "this file lists the values of the column, also rare ones: it is for you, not for publication",
    );
    Ok(Answer::Yes)
}

fn exists(out: &Path) -> Error {
    Error::input(format!("{} exists", out.display()), "give another --out, or --force to write over it")
}

/// Without --force no existing file is lost, even if it appears at this very moment.
fn write(args: &InitArgs, out: &Path, text: &str) -> Result<()> {
    let mut options = OpenOptions::new();
    options.write(true);
    let file =
        if args.force { options.create(true).truncate(true) } else { options.create_new(true) }.open(out);
    let mut file = file.map_err(|why| match why.kind() {
        std::io::ErrorKind::AlreadyExists => exists(out),
        _ => Error::io(out, why),
    })?;
    file.write_all(text.as_bytes()).map_err(|why| Error::io(out, why))
}

fn summary(proposal: &PolicyProposal<'_>, out: &Path, table: &str, tried: &Tried) -> String {
    let count = |name: &str| proposal.roles.iter().filter(|(role, _)| role.name() == name).count();
    let names = |wanted: &str| {
        let columns = proposal.profile.columns.iter().zip(&proposal.roles);
        let of_role = columns.filter(|(_, (role, _))| role.name() == wanted);
        of_role.map(|(column, _)| visible(&column.name)).collect::<Vec<_>>().join(", ")
    };
    let (out, table) = (visible_path(out), visible(table));
    let mut text = format!("{out}: a policy to start from\n\n");
    for role in ["sensitive", "individual", "quasi"] {
        if count(role) > 0 {
            text.push_str(&format!("{role:<12} {}\n", names(role)));
        }
    }
    if count("drop") > 0 {
        text.push_str(&format!("{:<12} {}, each with its reason in the policy\n", "drop", count("drop")));
    }
    let others = proposal.candidates.iter().skip(1).take(4);
    let others: Vec<String> = others.map(|own| visible(&proposal.profile.columns[own.column].name)).collect();
    if !others.is_empty() {
        text.push_str(&format!("{:<12} {} (--sensitive COLUMN)\n", "or protect", others.join(", ")));
    }
    if !tried.policies.is_empty() {
        text.push_str(&format!("\n{}", tried.to_text()));
    }
    text.push_str(&format!(
        "\nread it and change what is wrong, then\n  skyveil anonymize {table} --policy {out} --out release\n"
    ));
    text
}

fn to_json(proposal: &PolicyProposal<'_>, tried: &Tried) -> Value {
    let profile = proposal.profile;
    let column = |(column, (role, why)): (&ColumnProfile, &(Proposed, String))| {
        let counted = &column.counted;
        json!({
            "name": column.name,
            "kind": column.kind.as_ref().map(kind_name),
            "nulls": column.nulls,
            "distinct": counted.distinct,
            "distinct_error": counted.error,
            "values_that_occur_once": counted.once,
            "most_frequent_rows": counted.most,
            "mostly_between": column.range,
            "role": role.name(),
            "why": why,
        })
    };
    let combination = |combination: &ColumnCombination| {
        let names: Vec<&String> = combination.columns.iter().map(|&at| &profile.columns[at].name).collect();
        json!({
            "columns": names,
            "distinct": combination.counted.distinct,
            "distinct_error": combination.counted.error,
            "rows_alone": combination.counted.once,
        })
    };
    let point = proposal.protection.point.as_ref().map(|point| {
        let confidence = point.confidence;
        json!({"l": point.l, "k": point.k, "m": point.m, "confidence": confidence, "whole_table": point.whole_table})
    });
    let candidate =
        |own: &SensitiveCandidate| json!({"column": profile.columns[own.column].name, "why": own.why});
    let attempt = |own: &TriedPolicy| {
        json!({
            "policy": own.label,
            "groups": own.trial.groups,
            "certainty_penalty": own.trial.penalty,
            "median_query_error": own.trial.median_error,
        })
    };
    json!({
        "rows": profile.rows,
        "columns": profile.columns.iter().zip(&proposal.roles).map(column).collect::<Vec<_>>(),
        "combinations": profile.combinations.iter().map(combination).collect::<Vec<_>>(),
        "candidates": proposal.candidates.iter().map(candidate).collect::<Vec<_>>(),
        "tried": tried.policies.iter().map(attempt).collect::<Vec<_>>(),
        "sampled": tried.sampled,
        "privacy": match &proposal.protection.robust {
            Some(robust) => json!({"model": "robust", "r": robust.r, "largest_r": robust.largest}),
            None => json!({"k_anonymity": proposal.protection.group_size, "skyline": point}),
        },
        "warnings": proposal.warnings,
    })
}

fn kind_name(kind: &ColumnKind) -> &'static str {
    match kind {
        ColumnKind::Integer => "integer",
        ColumnKind::Decimal { .. } => "decimal",
        ColumnKind::Float => "number",
        ColumnKind::Boolean => "boolean",
        ColumnKind::Text => "text",
        ColumnKind::Date => "date",
        ColumnKind::Timestamp { .. } => "timestamp",
        ColumnKind::Time => "time",
        ColumnKind::List(_) => "list",
    }
}
