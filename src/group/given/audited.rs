//! The people of a table, grouped by every given function and ready to be judged.

use super::functions::{self, CandidateFunction};
use super::people::{CodedPeople, ExtraColumns};
use super::property::{AuditedPoint, AuditedProperty};
use crate::error::Result;
use crate::math::disclosure_sets::{Audit, AuditedRelease, Limits, Sequence};
use crate::model::Policy;
use crate::resources::Resources;
use crate::table::read::Table;

/// A table and the functions by which it may be published.
pub struct GivenFunctions<'a> {
    /// The table, one row per person.
    pub table: &'a Table,
    /// The requirements; also lists the functions if `functions` is `None`.
    pub policy: &'a Policy,
    /// A table of group numbers: columns g1, g2, ..., and optionally one that identifies the person.
    pub functions: Option<&'a Table>,
    /// How much work each disclosure set may cost.
    pub limits: Limits,
    /// The threads for reading, and the memory for what is read.
    pub resources: &'a Resources<'a>,
}

/// The people of a table, grouped by every given function.
pub struct GroupedPeople {
    /// The people.
    pub people: CodedPeople,
    /// The requirements for every person.
    pub points: Vec<AuditedPoint>,
    /// Every function, in release order.
    pub candidates: Vec<CandidateFunction>,
    /// The positions in `candidates` of the functions that are not left out: those in `sequence`.
    pub tried: Vec<usize>,
    /// The functions that are not left out; `None` if all are.
    pub sequence: Option<Sequence>,
}

/// The purpose of reading the table, which determines the columns that are read in addition to those that are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadFor {
    /// A report only.
    Report,
    /// A release: the columns that travel are needed as well.
    AuditedRelease,
}

impl GroupedPeople {
    /// Reads the table of a job and groups its people.
    pub fn read(job: &GivenFunctions<'_>, purpose: ReadFor) -> Result<Self> {
        let property = AuditedProperty::new(job.policy)?;
        let groups =
            job.functions.map(|table| functions::GroupNumbers::read(table, job.resources)).transpose()?;
        functions::expect_some(job.policy, groups.as_ref())?;
        let extra = ExtraColumns { id: groups.as_ref().and_then(|groups| groups.id.as_deref()), purpose };
        let people = CodedPeople::read(job, &extra)?;
        let (property, points) = property.in_codes(&people.sensitive)?;
        let candidates = match &groups {
            Some(groups) => groups.candidates(&people)?,
            None => functions::candidates(job.policy, &people)?,
        };
        let least = job.policy.privacy.minimum_group_size;
        let tried: Vec<usize> =
            (0..candidates.len()).filter(|&at| candidates[at].smallest_group() >= least).collect();
        let partitions: Vec<_> = tried.iter().map(|&at| candidates[at].partition.clone()).collect();
        let sequence = match tried.is_empty() {
            true => None,
            false => Some(Sequence::new(partitions, people.values(), &property, job.limits.clone())?),
        };
        Ok(GroupedPeople { people, points, candidates, tried, sequence })
    }

    /// Audits every function that is not left out.
    pub fn audit(&self) -> Audit {
        let nothing = || Audit {
            functions: vec![],
            naive: AuditedRelease::Nothing,
            inclusive: AuditedRelease::Nothing,
            exclusive: AuditedRelease::Nothing,
        };
        self.sequence.as_ref().map_or_else(nothing, Sequence::audit)
    }
}
