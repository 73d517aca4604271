//! How does a table become a release?
//!
//! The steps: form groups and write them to a private directory; read back what was written and judge it by
//! the policy, independently of the code that formed the groups; describe it in a page and a manifest; and
//! make it visible, after the private files of its owner. There are three ways to form groups: cuts, which
//! [`split`](crate::group::split) chooses, people who are similar, and functions that are given. Everything after that is the
//! same for all of them. No step calls an earlier one.
//!
//! Memory: at most the budget for everything that grows, and [`ALLOWANCE`](crate::resources::budget::ALLOWANCE) in
//! addition.

mod append;
mod asked;
mod bucket_tables;
mod coded_table;
mod continued;
mod erase;
#[cfg(test)]
mod fault_tests;
mod following;
mod given;
#[cfg(test)]
mod history_tests;
mod input_hashes;
mod job;
mod left_out;
mod lints;
mod newcomers;
#[cfg(test)]
mod night_fault_tests;
mod receipts;
mod replacing;
mod similar;
mod splitting;
mod suppressed;
mod tasks;
mod trial;
mod writing;
mod written;

pub use crate::release::exchanged::OlderRelease;
pub use append::{Append, Appended, WaitingFor, WaitingPeople};
pub use erase::{Erase, EraseMode, Erasure};
pub use job::{Anonymize, Outcome, Search, Summary, Suppression};
pub use tasks::{EngineTask, PageTask};
pub use trial::{
    PolicyEstimate, ReplayReport, ReplayedCuts, SAMPLED_PEOPLE, Trial, TrialTable, replayed_model, untried,
};

use crate::error::{Error, Result};
use crate::model::Grouping;
use crate::report::scope::{ReleasedPeople, scope};
use crate::resources::budget::release_freed;
use crate::resources::progress::Progress;
use job::Workplace;
use lints::Lints;
use receipts::OwnersFiles;
use std::time::Instant;
use written::{Attempt, Written};

impl Anonymize<'_> {
    /// Makes the release, or reports why there is none.
    pub fn run(&self, progress: &Progress) -> Result<Outcome> {
        let start = Instant::now();
        self.expect_possible()?;
        let workplace = Workplace::open(self, progress)?;
        let attempt = match self.grouping() {
            Grouping::Split => splitting::write_groups(self, &workplace)?,
            Grouping::SimilarPeople => similar::write_groups(self, &workplace)?,
            Grouping::GivenFunctions(strategy) => given::write_groups(self, strategy, &workplace)?,
        };
        release_freed();
        match attempt {
            Attempt::Written(written) => self.publish(*written, workplace, start),
            Attempt::Nothing(outcome) => Ok(outcome),
        }
    }

    fn publish(&self, mut written: Written, mut workplace: Workplace<'_>, start: Instant) -> Result<Outcome> {
        let verdict = written.judge(self, &workplace)?;
        if let (false, Some(veto)) = (verdict.stands(), &written.veto) {
            return Ok(Outcome::Withheld(veto.clone()));
        }
        if !verdict.stands() || verdict.first().individuals != written.people {
            return Err(Error::defect(
                "the check of the finished release found it unsafe, so it is not published",
            ));
        }
        let kept = written.measure_kept(self, &workplace)?;
        let mut accepted = written.accepted.clone();
        accepted.append(&mut workplace.accepted);
        accepted.extend(Lints::of_kept(&kept, verdict.first().individuals).accepted(self.policy)?);
        written.write_page(self, &verdict, &kept, &workplace)?;
        written.write_manifest(self, &verdict, &workplace)?;
        let scope = scope(
            self.policy,
            &ReleasedPeople {
                people: verdict.first().individuals,
                unprotected: verdict.unprotected_people(),
                replay: self.replay(),
                kept: &kept,
            },
        );
        let (judged, spilled_bytes) = (verdict.first(), workplace.spill.bytes());
        let (nodes_grown, nodes_grown_again) = workplace.resources.progress.nodes();
        let suppression = written.suppressed.as_ref().map(|list| {
            Box::new(Suppression {
                input_rows: written.input_rows,
                suppressed: list.rows,
                list: list.file.path().to_path_buf(),
                already_known: list.already_known.clone(),
                finding: judged.finding.clone(),
            })
        });
        workplace.resources.progress.go_on()?;
        workplace.staging.seal()?;
        let mut owners = OwnersFiles::write(self, &mut written, &verdict, &mut workplace, start)?;
        owners.place()?;
        let published = match workplace.replaced {
            None => workplace.staging.publish(&owners.paths()),
            Some(older) => workplace.staging.exchange(&owners.paths(), older),
        };
        // A release that appeared has its receipt, whatever happened next.
        if published.is_ok() || matches!(published, Err(Error::Undurable { .. })) {
            owners.keep();
        }
        published?;
        Ok(Outcome::Published(Box::new(Summary {
            records: judged.individuals,
            groups: judged.groups,
            spilled_bytes,
            source_scans: self.table.scans(),
            nodes_grown,
            nodes_grown_again,
            utility: written.utility,
            binds: written.binds,
            searched: written.searched,
            scope,
            unprotected: verdict.unprotected(),
            safe: verdict.safety(),
            notes: verdict.warnings(),
            accepted,
            kept,
            receipt: workplace.private.receipt,
            suppression,
        })))
    }
}
