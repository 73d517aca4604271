//! Judges a release by its own policy: `cargo run --release --example check -- census-release`

use skyveil::{Budget, Progress, Release, Resources, Result};

#[expect(clippy::print_stdout, reason = "an example prints its result")]
fn main() -> Result<()> {
    let directory = std::env::args().nth(1).unwrap_or_else(|| "census-release".to_string());
    let (release, progress) = (Release::open(directory)?, Progress::default());
    let verdict = release.check(None, &Resources::new(Budget::new(256 << 20), &progress))?;
    println!("{}", if verdict.is_safe() { "safe" } else { "unsafe" });
    for claim in verdict.findings().flat_map(|finding| &finding.claims).filter(|claim| !claim.is_safe()) {
        println!("{:?}: {:?}, required {:?}", claim.subject, claim.measured, claim.limit);
    }
    Ok(())
}
