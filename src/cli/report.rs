//! `skyveil report`: what did a release cost, and what is left to risk?

use std::path::PathBuf;

use clap::Args;

use super::Answer;
use super::flags::ResourceFlags;
use super::robust;
use super::terminal::{print, with_progress};
use crate::anonymize::robust::model;
use crate::check::release::{Release, is_release};
use crate::check::{Resources, Sought, Survey, survey};
use crate::error::{Error, Result};
use crate::policy::Policy;
use crate::publish::rows::GROUP;
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
    /// The table that the release was made from, where the adversary's knowledge is estimated from it. May be
    /// given several times.
    #[arg(long, value_name = "TABLE")]
    pub original: Vec<PathBuf>,
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
    let (sensitive, survey) = with_progress(|progress| {
        let resources = Resources {
            threads: args.resources.threads(),
            budget: args.resources.budget(),
            temp: args.resources.temp(),
            progress,
        };
        match model(&policy) {
            Some(_) => {
                robust::check(&policy, &release.subject(), &[GROUP.to_string()], &args.original, &resources)
            }
            None => surveyed(&release, &policy, &resources),
        }
    })?;
    let made = made::read(&args.release)?;
    let page = to_html(&Contents {
        policy: &policy,
        style: &made.style,
        sensitive: &sensitive,
        survey: &survey,
        worth: made.worth,
        input_rows: made.input_rows,
        fingerprint: made.fingerprint,
        version: &made.version,
    });
    match &args.out {
        None => print(&page)?,
        Some(path) => std::fs::write(path, page).map_err(|source| Error::io(path, source))?,
    }
    Ok(if survey.report.safe { Answer::Yes } else { Answer::No })
}

/// The survey of the one sensitive column of a release.
fn surveyed(release: &Release, policy: &Policy, resources: &Resources<'_>) -> Result<(String, Survey)> {
    let tasks = release.tasks(policy)?;
    let [task] = &tasks[..] else {
        return Err(Error::input(
            "the policy has several sensitive columns",
            "give a release that protects one",
        ));
    };
    let sought = Sought::of(&task.requirements);
    let survey = survey(&release.subject(), &task.columns, &task.requirements, &sought, resources)?;
    Ok((task.columns.sensitive.clone(), survey))
}
