//! `skyveil explore`: the page of a release, opened.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::Answer;
use super::report::{ReportArgs, make};
use super::terminal::{complain, print, visible_path};
use crate::error::{Error, Result};
use crate::release::manifest::REPORT;

/// Explore how sure someone could become: the page of a release, or of any table of groups, in a browser.
///
/// Checks as `report` does. The page opened is the one in the release if it is what the check finds; otherwise it is
/// written to --out, or to a new temporary file that only you can read.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  skyveil explore release
  skyveil explore release --receipt release.receipt.json --original table.parquet --out mine.html
  skyveil explore table.csv --group zip,age --sensitive disease --point 2,3,1,0.5 --no-open")]
pub struct ExploreArgs {
    #[command(flatten)]
    pub report: ReportArgs,
    /// Print where the page is, and open nothing.
    #[arg(long)]
    pub no_open: bool,
}

/// Checks, writes the page where it is not yet, and opens it.
pub fn run(args: &ExploreArgs) -> Result<Answer> {
    let made = make(&args.report)?;
    let path = match &args.report.out {
        Some(path) => {
            std::fs::write(path, &made.html).map_err(|source| Error::io(path, source))?;
            path.clone()
        }
        None => match published(&args.report.subject.paths[0], &made.html) {
            Some(path) => path,
            None => temporary(&made.html)?,
        },
    };
    print(&format!("{}: {}\n", visible_path(&path), made.in_a_line))?;
    if !args.no_open && open::that_detached(&path).is_err() {
        complain("warning", "no browser could be started; open the page yourself");
    }
    Ok(made.answer)
}

/// The page of a release, if it says what the check found.
fn published(release: &Path, html: &str) -> Option<PathBuf> {
    let path = release.join(REPORT);
    (std::fs::read(&path).ok()? == html.as_bytes()).then_some(path)
}

/// A file that stays, because a browser reads it after this program ended.
fn temporary(html: &str) -> Result<PathBuf> {
    let failed = |source| Error::io(std::env::temp_dir(), source);
    let mut file = tempfile::Builder::new().prefix("skyveil-").suffix(".html").tempfile().map_err(failed)?;
    file.write_all(html.as_bytes()).map_err(failed)?;
    let (_, path) = file.keep().map_err(|kept| failed(kept.error))?;
    Ok(path)
}
