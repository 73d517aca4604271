//! `skyveil report`: what did a release cost, and what is left to risk?

use std::path::PathBuf;

use clap::Args;

use super::Answer;
use super::flags::ResourceFlags;
use super::terminal::{print, with_progress};
use crate::check::policy::Task;
use crate::check::release::{Release, is_release};
use crate::check::{Resources, Sought, Survey, survey};
use crate::error::{Error, Result};
use crate::report::made;
use crate::report::page::{Contents, to_html};

/// Make a page about a release: its risk, its utility, its policy.
///
/// The release is checked again for it; the page needs no other file. Exit code 1 if the release is not safe by
/// the policy it was made with.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// A release directory.
    #[arg(value_name = "RELEASE")]
    pub release: PathBuf,
    /// The HTML file to write; standard output unless told.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    resources: ResourceFlags,
}

/// Checks, and writes the page.
pub fn run(args: &ReportArgs) -> Result<Answer> {
    if !is_release(&args.release) {
        return Err(Error::input(
            format!("{}: this is not a release directory", args.release.display()),
            "give a directory that skyveil anonymize made; skyline and explain take any table",
        ));
    }
    let release = Release::open(&args.release)?;
    let policy = release.policy()?;
    let tasks = release.tasks(&policy)?;
    if tasks.iter().any(|task| task.requirements.beliefs.is_some()) {
        return Err(Error::input(
            "the model \"beliefs\" is judged by the original table, which a report does not read",
            "run `skyveil check RELEASE --original TABLE`; the page of the release was written when it was made",
        ));
    }
    let surveys: Vec<(String, Survey)> = with_progress(|progress| {
        let one = |task: &Task| {
            let resources = Resources {
                threads: args.resources.threads(),
                budget: args.resources.budget(),
                temp: args.resources.temp(),
                progress,
            };
            let sought = Sought::of(&task.requirements);
            let survey = survey(&release.subject(), &task.columns, &task.requirements, &sought, &resources)?;
            Ok((task.columns.sensitive.clone(), survey))
        };
        tasks.iter().map(one).collect::<Result<_>>()
    })?;
    let made = made::read(&args.release)?;
    let page = to_html(&Contents {
        policy: &policy,
        style: &made.style,
        surveys: &surveys,
        worth: made.worth,
        input_rows: made.input_rows,
        fingerprint: made.fingerprint,
        version: &made.version,
    });
    match &args.out {
        None => print(&page)?,
        Some(path) => std::fs::write(path, page).map_err(|source| Error::io(path, source))?,
    }
    Ok(if surveys.iter().all(|(_, survey)| survey.report.safe) { Answer::Yes } else { Answer::No })
}
