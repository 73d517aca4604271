//! How does a table become a release?
//!
//! The steps: form groups and write them to a private directory; read back what was written and judge it by
//! the policy, independently of the code that formed the groups; describe it in a page and a manifest; and
//! make it visible. There are three ways to form groups; everything after that is the same for all of them.
//! No step calls an earlier one.
//!
//! Memory: at most the budget for everything that grows, and [`ALLOWANCE`](crate::resources::budget::ALLOWANCE) in
//! addition.

mod bucket_tables;
#[cfg(test)]
mod fault_tests;
mod given;
mod job;
mod similar;
mod splitting;
mod suppressed;
mod written;

pub use job::{Anonymize, Outcome, Search, Summary, Suppression};

use crate::error::{Error, Result};
use crate::model::Grouping;
use crate::resources::budget::release_freed;
use crate::resources::progress::Progress;
use job::Workplace;
use written::{Attempt, Written};

impl Anonymize<'_> {
    /// Makes the release, or reports why there is none.
    pub fn run(&self, progress: &Progress) -> Result<Outcome> {
        let workplace = Workplace::open(self, progress)?;
        let attempt = match self.grouping() {
            Grouping::Split => splitting::write_groups(self, &workplace)?,
            Grouping::SimilarPeople => similar::write_groups(self, &workplace)?,
            Grouping::GivenFunctions(strategy) => given::write_groups(self, strategy, &workplace)?,
        };
        release_freed();
        match attempt {
            Attempt::Written(written) => self.publish(*written, workplace),
            Attempt::Nothing(outcome) => Ok(outcome),
        }
    }

    fn publish(&self, written: Written, workplace: Workplace<'_>) -> Result<Outcome> {
        let verdict = written.judge(self, &workplace)?;
        if let (false, Some(veto)) = (verdict.is_safe(), &written.veto) {
            return Ok(Outcome::Withheld(veto.clone()));
        }
        if !verdict.is_safe() || verdict.first().individuals != written.people {
            return Err(Error::defect(
                "the check of the finished release found it unsafe, so it is not published",
            ));
        }
        let kept = written.measure_kept(self, &workplace)?;
        written.write_page(self, &verdict, &kept, &workplace)?;
        written.write_manifest(self, &verdict, &workplace)?;
        let (judged, spilled_bytes) = (verdict.first(), workplace.spill.bytes());
        workplace.staging.publish()?;
        Ok(Outcome::Published(Summary {
            records: judged.individuals,
            groups: judged.groups,
            spilled_bytes,
            source_scans: self.table.scans(),
            utility: written.utility,
            searched: written.searched,
            kept,
            suppression: match written.suppressed {
                Some(list) => Some(Box::new(list.publish(written.input_rows, judged.finding.clone())?)),
                None => None,
            },
        }))
    }
}
