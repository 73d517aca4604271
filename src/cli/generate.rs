//! `skyveil generate`: which synthetic table is made, and where is it written?

use std::path::PathBuf;
use std::time::Instant;

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};

use super::Answer;
use super::terminal::{self, visible_path};
use crate::error::Result;
use crate::generate::{Generator, SyntheticTable, write};
use crate::table::write::WrittenFile;

/// Make a synthetic table: one from the papers, or a census.
///
/// The same kind, rows and seed give the same bytes on any number of threads, and a longer table begins with the
/// rows of a shorter one. Memory does not grow with the rows: a few chunks per thread and one row group.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  skyveil generate census --rows 100000 --out census.parquet
  skyveil generate agrawal --rows 10000000 --seed 7 --out agrawal.parquet")]
pub struct GenerateArgs {
    /// Which table.
    #[arg(value_enum)]
    pub kind: KindName,
    /// How many rows, such as 5000 or 100_000_000.
    #[arg(long, value_name = "N", value_parser = parse_rows)]
    pub rows: u64,
    /// Which table of this kind.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// The file to write: .parquet, .arrow, .feather or .csv.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Threads to use. Default: all processors. The bytes are the same for any number.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

/// The kinds as the command line names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KindName {
    /// Salary, commission, age, education, car, zipcode, house value, years owned, loan, class (Agrawal et al.).
    Agrawal,
    /// Groups of 100 people, one of 20 equally likely values each, clustered by group.
    Groups,
    /// People of an invented country, with a diagnosis that depends on age, sex and region.
    Census,
}

/// Makes the table and reports what was written.
pub fn run(args: &GenerateArgs) -> Result<Answer> {
    let kind = match args.kind {
        KindName::Agrawal => Generator::Agrawal,
        KindName::Groups => Generator::Groups,
        KindName::Census => Generator::Census,
    };
    let threads = match args.threads {
        Some(threads) => usize::from(threads),
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let table = SyntheticTable { generator: kind, rows: args.rows, seed: args.seed };
    let start = Instant::now();
    let bar = progress_bar(args.rows);
    let written = write(&table, &args.out, threads, &mut |rows| bar.set_position(rows));
    bar.finish_and_clear();
    print(args, written?, start.elapsed().as_secs_f64())?;
    Ok(Answer::Yes)
}

fn print(args: &GenerateArgs, written: WrittenFile, seconds: f64) -> Result<()> {
    let text = if args.json {
        serde_json::json!({
            "rows": written.rows,
            "bytes": written.bytes,
            "seconds": seconds,
            "seed": args.seed,
            "out": args.out,
        })
        .to_string()
    } else {
        let out = visible_path(&args.out);
        format!("{out}: {} rows, {} bytes, {seconds:.1} s", written.rows, written.bytes)
    };
    terminal::print(&format!("{text}\n"))
}

/// Shown on standard error, and only if that is a terminal.
fn progress_bar(rows: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {human_pos} of {human_len} rows, {eta} left");
    ProgressBar::new(rows).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn parse_rows(text: &str) -> std::result::Result<u64, String> {
    let digits = text.replace('_', "");
    // Row numbers are 64-bit signed in the table.
    match digits.parse::<i64>() {
        Ok(rows) if rows >= 0 => Ok(rows as u64),
        _ => Err("expected a number of rows, such as 5000 or 100_000_000".to_string()),
    }
}
