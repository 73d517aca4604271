//! Which of the stated generalization functions may be published, and what would a replay reveal?
//!
//! Reads a table into memory, groups its people by every function, and hands the groups to
//! [`disclosure_sets`](crate::math::disclosure_sets). Functions come from `[[audit.function]]` or from a table of group
//! numbers; either way they must not depend on the sensitive values.
//!
//! Memory: the columns in use of at most [`MOST_PEOPLE`] people, and what counting takes.
//! A function with a group below the policy's minimum size is left out beforehand. That is safe: sizes of groups
//! are no secret to an adversary who knows the quasi-identifiers.
//! Not here: the counting, the text of the report, publishing.

mod functions;
mod generalize;
mod people;
mod promise;

use crate::error::Result;
use crate::math::disclosure_sets::{Audit, Limits, Release, Sequence};
use crate::model::Policy;
use crate::table::read::Table;
pub use functions::{Candidate, MOST_FUNCTIONS};
pub use people::{Extra, MOST_PEOPLE, People};
pub use promise::{Point, Promise};

/// All that an audit needs.
pub struct Job<'a> {
    /// The table, one row per person.
    pub table: &'a Table,
    /// What must hold, and the functions unless `functions` is given.
    pub policy: &'a Policy,
    /// A table of group numbers: columns g1, g2, ..., and perhaps one that names the person.
    pub functions: Option<&'a Table>,
    /// How much work each disclosure set may cost.
    pub limits: Limits,
    /// Threads for reading.
    pub threads: usize,
}

/// A table with its functions, ready to be judged.
pub struct Case {
    /// The people.
    pub people: People,
    /// What must hold for every person.
    pub points: Vec<Point>,
    /// Every function, in release order.
    pub candidates: Vec<Candidate>,
    /// The places in `candidates` of the functions that are not left out: those of `sequence`.
    pub tried: Vec<usize>,
    /// The functions that are not left out; `None` if all are.
    pub sequence: Option<Sequence>,
}

/// Which columns of the table are read beside those that are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A report only.
    Report,
    /// A release: the columns that travel are needed as well.
    Release,
}

impl Case {
    /// Reads the table of a job and groups its people.
    pub fn read(job: &Job<'_>, purpose: Purpose) -> Result<Self> {
        let promise = Promise::new(job.policy)?;
        let groups = job.functions.map(|table| functions::Groups::read(table, job.threads)).transpose()?;
        functions::expect_some(job.policy, groups.as_ref())?;
        let extra = Extra { id: groups.as_ref().and_then(|groups| groups.id.as_deref()), purpose };
        let people = People::read(job, &extra)?;
        let (property, points) = promise.property(&people.sensitive)?;
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
        Ok(Case { people, points, candidates, tried, sequence })
    }

    /// Everything about every function that is not left out.
    pub fn audit(&self) -> Audit {
        let nothing = || Audit {
            functions: vec![],
            naive: Release::Nothing,
            inclusive: Release::Nothing,
            exclusive: Release::Nothing,
        };
        self.sequence.as_ref().map_or_else(nothing, Sequence::audit)
    }
}
