//! Makes a release of the census in this repository: `cargo run --release --example anonymize -- census-release`

use skyveil::{Anonymize, Outcome, Policy, Progress, ReadOptions, Result, Table};

#[expect(clippy::print_stdout, reason = "an example prints its result")]
fn main() -> Result<()> {
    let out = std::env::args().nth(1).unwrap_or_else(|| "census-release".to_string());
    let policy = Policy::read("datasets/census.toml")?;
    let table = Table::open(&["datasets/census.csv".into()], &ReadOptions::default())?;
    let job = Anonymize { memory: 64 << 20, ..Anonymize::new(&table, &policy, out) };
    match job.run(&Progress::default())? {
        Outcome::Published(summary) => println!("{} people in {} groups", summary.records, summary.groups),
        Outcome::Impossible(findings) => println!("no safe release exists: {findings:?}"),
        Outcome::Withheld(reason) => println!("nothing is published: {reason}"),
    }
    Ok(())
}
