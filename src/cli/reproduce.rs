//! `skyveil reproduce`: an experiment of a paper, and the result obtained here.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::Answer;
use super::terminal::{complain, print, visible_path};
use crate::error::{Error, Result};
use crate::reproduce::{
    EXPERIMENTS, Experiment, ExperimentResult, ExperimentSetting, RunSize, experiment, page, run as reproduce,
};

/// Run an experiment of a paper: its numbers, its plot, ours next to them.
///
/// Writes numbers.csv, result.json, plot.svg and index.html to a folder of the experiment's name. `all` runs one after
/// the other and goes on where one fails; `page` makes page/results.md from the results that are there; `list` names
/// the experiments.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  skyveil reproduce theorem4")]
pub struct ReproduceArgs {
    /// Which one, or all, page or list.
    #[arg(value_name = "EXPERIMENT", value_parser = PossibleValuesParser::new(names()))]
    pub experiment: String,
    /// Smaller sizes: within a minute each.
    #[arg(long)]
    pub quick: bool,
    /// Sizes for tests.
    #[arg(long, hide = true, conflicts_with = "quick")]
    pub tiny: bool,
    /// The folder of all results.
    #[arg(long, value_name = "DIR", default_value = "reproduced")]
    pub out: PathBuf,
    /// UCI Adult, as scripts/fetch.sh adult writes it.
    #[arg(long, value_name = "FILE", default_value = "datasets/fetched/adult.csv")]
    pub data: PathBuf,
    /// Directory for generated tables and releases while an experiment runs. Default: the system's.
    #[arg(long, value_name = "DIR")]
    pub temp: Option<PathBuf>,
    /// For scale-up: the numbers of rows, such as 500_000_000, in place of the paper's.
    #[arg(long, value_name = "N,..", value_delimiter = ',', value_parser = read_rows)]
    pub rows: Vec<u64>,
}

fn names() -> Vec<&'static str> {
    EXPERIMENTS.iter().map(|experiment| experiment.name).chain(["all", "page", "list"]).collect()
}

fn read_rows(text: &str) -> std::result::Result<u64, String> {
    match text.replace('_', "").parse::<u64>() {
        Ok(rows) if (1..1 << 40).contains(&rows) => Ok(rows),
        _ => Err("expected a number of rows, such as 500_000_000".to_string()),
    }
}

/// Runs what is requested, and reports the results.
pub fn run(args: &ReproduceArgs) -> Result<Answer> {
    match args.experiment.as_str() {
        "list" => {
            let line = |one: &Experiment| format!("{:<15} {} ({})\n", one.name, one.question, one.place);
            print(&EXPERIMENTS.iter().map(line).collect::<String>())?;
        }
        "page" => {
            let page = page::collect(&args.out)?;
            print(&format!("{}\n", visible_path(&page)))?;
        }
        "all" => {
            let mut failed = Vec::new();
            for one in EXPERIMENTS {
                if let Err(error) = run_one(args, one) {
                    complain(one.name, &error.to_string());
                    failed.push(one.name);
                }
            }
            if !failed.is_empty() {
                return Err(Error::input(
                    format!("not all experiments could be run: {}", failed.join(", ")),
                    "see above what each of them needs",
                ));
            }
        }
        name => {
            let known = experiment(name);
            let unknown = || Error::input("there is no such experiment", "see skyveil reproduce list");
            run_one(args, known.ok_or_else(unknown)?)?;
        }
    }
    Ok(Answer::Yes)
}

fn run_one(args: &ReproduceArgs, one: &Experiment) -> Result<()> {
    let skyveil = std::env::current_exe().map_err(|source| Error::io(Path::new("skyveil"), source))?;
    let setting = ExperimentSetting {
        scale: match (args.quick, args.tiny) {
            (false, false) => RunSize::Full,
            (true, _) => RunSize::Quick,
            (false, true) => RunSize::Tiny,
        },
        adult: &args.data,
        temp: &args.temp.clone().unwrap_or_else(std::env::temp_dir),
        skyveil: &skyveil,
        rows: &args.rows,
        tell: &|text| complain(one.name, text),
    };
    let folder = reproduce(one, &setting, &args.out)?;
    let outcome = ExperimentResult::read(&folder.join("result.json"))?;
    let mut text = format!("{}\n", outcome.question);
    outcome.compared.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
    text.push_str(&format!("{}\n", visible_path(&folder.join("index.html"))));
    print(&text)
}
