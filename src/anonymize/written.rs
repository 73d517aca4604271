//! Groups that were written, on their way to a release.

use super::job::{Anonymize, Continued, Outcome, Workplace};
use super::suppressed::SuppressedList;
use super::tasks::stamp;
use crate::check::beliefs::Membership;
use crate::check::elsewhere::FilesEvidence;
use crate::check::release::labelled_groups;
use crate::check::{Buckets, Check, Skylines, Subject, Verdict, policy, value_rows};
use crate::error::{Error, Lint, Result};
use crate::group::lattice::full_domain::Searched;
use crate::model::obstacle::Binding;
use crate::model::published::PastGroups;
use crate::model::robust::KnownDistributions;
use crate::release::files_elsewhere::TaskResults;
use crate::release::manifest::{self, Evidence, PublishedColumn, REPORT, ReleaseStyle};
use crate::release::penalty::Utility;
use crate::release::person_log::PersonLog;
use crate::release::private_file::PrivateFile;
use crate::release::rows::{COUNT, GROUP};
use crate::release::tables;
use crate::report::kept::{self, KeptColumn, Standing};
use crate::report::page::{Asked, Compared, Contents, Origin, Reader, WITHOUT_ORIGINAL, to_html};
use crate::resources::disk;
use arrow_schema::Field;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The result of forming groups.
pub(super) enum Attempt {
    Written(Box<Written>),
    Nothing(Outcome),
}

/// Groups in the staging directory, with what the code that formed them knows about them.
pub(super) struct Written {
    pub style: ReleaseStyle,
    /// People in the groups.
    pub people: u64,
    /// Rows of the table.
    pub input_rows: u64,
    /// The keyed fingerprint of the table.
    pub fingerprint: String,
    pub utility: Utility,
    /// What refuses the best cuts of the groups, most people first.
    pub binds: Vec<Binding>,
    pub searched: Option<Searched>,
    /// The tree of cuts, if there were cuts.
    pub tree: Option<PrivateFile>,
    /// How a strategy chose the groups.
    pub audit: Option<Value>,
    /// The distributions by which the groups were formed, if they are in memory.
    pub distributions: Option<KnownDistributions>,
    /// The people who are in no group.
    pub suppressed: Option<SuppressedList>,
    /// Why nothing is published if the check finds the groups unsafe; without a reason, an unsafe result is a
    /// defect.
    pub veto: Option<String>,
    /// The risks that the policy accepts by name.
    pub accepted: Vec<Lint>,
    /// What the ledger needs, if the release is continued.
    pub night: Option<NightRecord>,
    /// The files that tasks wrote and checked, if they did.
    pub by_tasks: Option<TaskResults>,
}

/// What a ledger says about a night.
pub(super) struct NightRecord {
    /// Who went to which group.
    pub log: PersonLog,
    /// The groups that decide about later nights.
    pub decisive: PastGroups,
    /// The types of the columns that were hashed.
    pub kinds: BTreeMap<String, String>,
}

impl Written {
    /// Reads the files back and judges them by the policy: a verdict for each protected column.
    pub(super) fn judge(&self, job: &Anonymize<'_>, workplace: &Workplace<'_>) -> Result<Verdict> {
        let open = |table: &str| tables::open(&workplace.staging.folder().join(table));
        let (people, values) = match self.style {
            ReleaseStyle::Generalized => (open("data")?, None),
            ReleaseStyle::Bucketized => (open("quasi")?, Some(open("sensitive")?)),
        };
        let number = [GROUP.to_string()];
        let (subject, groups, membership) = match &values {
            None => {
                (Subject::Table(&people), labelled_groups(&people, job.policy), Membership::Labels(&number))
            }
            Some(values) => {
                let buckets = Buckets { people: &people, values, count: COUNT.to_string() };
                (Subject::Buckets(buckets), number.to_vec(), Membership::Own(&number))
            }
        };
        let tasks = policy::release_tasks(job.policy, &groups, policy::valued_rows(job.policy))?;
        let found = self.by_tasks.as_ref().map(|by_tasks| FilesEvidence {
            spill: &workplace.spill,
            files: &by_tasks.evidence,
            rows: self.people,
            stamp: stamp(job.policy),
        });
        let check = Check {
            subject: &subject,
            tasks: &tasks,
            original: Some(job.table),
            distributions: self.distributions.as_ref(),
            membership,
            manifest: None,
            skylines: Skylines::Keep,
            found: found.as_ref(),
        };
        let apart = match (&found, &values) {
            (Some(found), _) => found.stand_apart()?,
            (None, Some(values)) => value_rows::stand_apart(values, &tasks, &workplace.resources)?,
            (None, None) => true,
        };
        if !apart {
            return Err(Error::defect(
                "a row of the finished release holds values of columns that stand apart, so it is not published",
            ));
        }
        if let Some(continued) = &workplace.continued {
            self.expect_same_tables(continued, job, workplace)?;
            // The night in addition to everything published.
            let union = check.judge_beside(&continued.head.decisive, &workplace.resources)?;
            if !union.stands() {
                return Ok(union);
            }
        }
        check.judge(&workplace.resources)
    }

    /// Fails if the tables of a night have other columns than those of the first one.
    fn expect_same_tables(
        &self,
        continued: &Continued,
        job: &Anonymize<'_>,
        workplace: &Workplace<'_>,
    ) -> Result<()> {
        let release = job.out.ancestors().nth(2).unwrap_or(&job.out);
        for table in self.style.tables() {
            let (first, own) =
                (tables::open(&release.join(table))?, tables::open(&workplace.staging.folder().join(table))?);
            let differs = |(one, other): (&Arc<Field>, &Arc<Field>)| {
                one.name() != other.name() || one.data_type() != other.data_type()
            };
            let (ours, theirs) = (own.schema().fields(), first.schema().fields());
            if ours.len() != theirs.len() || ours.iter().zip(theirs).any(differs) {
                return Err(Error::input(
                    format!(
                        "night {} would publish other columns or types than the first night",
                        continued.link.number
                    ),
                    "give the columns the types and the order of the first table: declare columns.types, or cast them",
                ));
            }
        }
        Ok(())
    }

    /// What the kept columns reveal in addition to the groups.
    pub(super) fn measure_kept(
        &self,
        job: &Anonymize<'_>,
        workplace: &Workplace<'_>,
    ) -> Result<Vec<KeptColumn>> {
        let name = match self.style {
            ReleaseStyle::Generalized => "data",
            ReleaseStyle::Bucketized => "quasi",
        };
        let people = tables::open(&workplace.staging.folder().join(name))?;
        let (groups, keep) = ([GROUP.to_string()], &job.policy.columns.keep);
        kept::measure(&people, &groups, keep, Standing::Together, &workplace.resources)
    }

    pub(super) fn write_page(
        &self,
        job: &Anonymize<'_>,
        verdict: &Verdict,
        kept: &[KeptColumn],
        workplace: &Workplace<'_>,
    ) -> Result<()> {
        let page = to_html(&Contents {
            verdict,
            asked: Asked::Policy,
            origin: Origin::Release {
                policy: job.policy,
                style: self.style.name(),
                version: env!("CARGO_PKG_VERSION"),
            },
            reader: Reader::Public,
            penalties: None,
            binds: Vec::new(),
            tried: None,
            attacks: None,
            compared: Compared::Not(WITHOUT_ORIGINAL),
            kept,
        });
        let path = workplace.staging.folder().join(REPORT);
        disk::write(&path, page).map_err(|source| Error::io(&path, source))
    }

    pub(super) fn write_manifest(
        &self,
        job: &Anonymize<'_>,
        verdict: &Verdict,
        workplace: &Workplace<'_>,
    ) -> Result<()> {
        let columns: Vec<PublishedColumn<'_>> = verdict.columns.iter().map(PublishedColumn::from).collect();
        let night = workplace.continued.as_ref().map(|continued| &continued.link);
        let evidence = Evidence { policy: job.policy, style: self.style, columns: &columns, night };
        let checked = self.by_tasks.as_ref().map_or(&[][..], |by_tasks| &by_tasks.files);
        manifest::write(workplace.staging.folder(), &evidence, checked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anonymize::splitting;
    use crate::model::Policy;
    use crate::resources::progress::Progress;
    use crate::table::read::{ReadOptions, Table};
    use crate::table::write::OutputFormat;

    const POLICY: &str = "[columns]\nsensitive = [\"insurance\", \"drug\"]\nindividual = \"id\"\nquasi = [\"q\"]\n\
                          [privacy]\nminimum_group_size = 2\n[privacy.column.drug]\nvalues = \"set\"\n\
                          [[privacy.column.insurance.skyline]]\nconfidence = 0.9\n\
                          [[privacy.column.drug.skyline]]\nconfidence = 0.9\n";

    /// The counts of every column stay as they were, so only the rows tell.
    #[test]
    fn values_that_stand_apart_are_not_published_in_one_row() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("t.csv");
        let person =
            |i: usize| format!("p{i},x,{},{}\n", ["insulin", "statin"][i / 4], ["private", "public"][i % 2]);
        let rows: String = (0..8).map(person).collect();
        std::fs::write(&path, format!("id,q,drug,insurance\n{rows}")).unwrap();
        let table = Table::open(&[path], &ReadOptions::default()).unwrap();
        let policy = Policy::parse(POLICY, place.path().join("p.toml")).unwrap();
        let job = Anonymize {
            format: Some(OutputFormat::Csv),
            ..Anonymize::new(&table, &policy, place.path().join("out"))
        };
        let progress = Progress::default();
        let workplace = Workplace::open(&job, &progress).unwrap();
        let Attempt::Written(written) = splitting::write_groups(&job, &workplace).unwrap() else {
            panic!("nothing was written")
        };
        assert!(written.judge(&job, &workplace).unwrap().stands());
        let sensitive = workplace.staging.folder().join("sensitive/part-00000.csv");
        let text = std::fs::read_to_string(&sensitive).unwrap();
        let (apart, together) = (["1,,private,4\n", "1,insulin,,4\n"], "1,insulin,private,4\n");
        assert!(apart.iter().all(|row| text.contains(row)), "{text}");
        std::fs::write(&sensitive, text.replace(apart[0], together).replace(apart[1], "")).unwrap();
        let refused = written.judge(&job, &workplace).map(|verdict| verdict.stands());
        assert!(refused.unwrap_err().to_string().contains("values of columns that stand apart"));
    }
}
