//! A table as codes, here or held by the tasks of an engine, with the limits of splitting it.
//!
//! Memory: the codes of the values; pages while they fit the budget, and never in the way of splitting.

use super::job::{Anonymize, Search, Workplace};
use super::tasks::stamp;
use crate::check::{FINDINGS, judging_bytes};
use crate::encode::attribute::Attribute;
use crate::encode::column::Column;
use crate::encode::combination::SensitiveColumns;
use crate::encode::draft::Draft;
use crate::encode::elsewhere::{HeldTable, RowsElsewhere};
use crate::encode::fingerprint::Fingerprint;
use crate::encode::group_counts::GroupCounts;
use crate::encode::payload::Payload;
use crate::encode::repeated_ids::RepeatedIds;
use crate::encode::source::{DecidedCodes, Encoded, Source};
use crate::error::{Error, Lint, Result};
use crate::group::split::limits::SubtreeLimits;
use crate::group::split::part_rows::PartRows;
use crate::model::protection::Protection;
use crate::policy::Cuts;
use crate::resources::budget::{Reservation, release_freed};

/// The stage that needs the memory.
const STAGE: &str = "splitting the table";

/// The table as codes, with the limits of splitting it.
pub(super) struct CodedTable<'s> {
    pub attributes: Vec<Attribute>,
    pub sensitive: SensitiveColumns,
    /// Columns that are not published and could hold ids.
    pub ids: Vec<RepeatedIds>,
    /// The risks that the policy accepts by name.
    pub accepted: Vec<Lint>,
    pub payload: Option<Payload>,
    pub rows: PartRows<'s>,
    /// All rows counted together.
    pub whole: GroupCounts,
    /// The rows that were read.
    pub input: Fingerprint,
    pub limits: SubtreeLimits,
    pub threads: usize,
    /// The memory of the codes.
    _codes: Reservation,
}

impl<'s> CodedTable<'s> {
    /// The scans of the source: one, if the first can keep the rows.
    pub fn read(
        job: &Anonymize<'s>,
        protection: &Protection<'_>,
        source: &Source<'_>,
        workplace: &'s Workplace<'_>,
    ) -> Result<Self> {
        let budget = &workplace.resources.budget;
        let least = job.sizes.subtree_bytes as u64 * 4;
        if job.memory < least {
            return Err(Error::Memory { stage: STAGE, needed: least, budget: job.memory });
        }
        let payload = source.payload(&workplace.key)?;
        let mut elsewhere = match job.engine {
            Some(engine) => Some(RowsElsewhere::observe(engine, stamp(job.policy), source, &workplace.key)?),
            None => None,
        };
        let (hasher, spill) = (source.hasher(&workplace.key), &workplace.spill);
        let (codes, mut draft) = match &mut elsewhere {
            Some(rows) => (rows.decide_codes(source)?, None),
            None => source.read_values_and_draft(&hasher, spill)?,
        };
        let DecidedCodes { mut attributes, sensitive, ids } = codes;
        release_freed();
        // Rows that were kept while their values were found go to disk where memory is needed.
        let reserve = |draft: &mut Option<Draft<'_>>, stage, bytes| {
            draft.as_mut().map_or(Ok(()), |draft| draft.spill_until_free(bytes))?;
            budget.reserve(stage, bytes)
        };
        let codes = attributes.iter().map(Attribute::memory).sum();
        let codes = reserve(&mut draft, "the codes of the quasi-identifiers", codes)?;
        let judging = judging_bytes(job.policy, &sensitive)?;
        reserve(&mut draft, FINDINGS, judging).map(drop)?;
        let memory = job.memory.saturating_sub(codes.bytes());
        let columns: Vec<Column> = attributes.iter().map(Attribute::column).collect();
        let limits = SubtreeLimits::new(&source.layout(&attributes, &sensitive), &job.sizes);
        // Pages must not take the memory that splitting will need.
        let slots = sensitive.len() + 1;
        let threads = limits.threads(&columns, slots, job.threads, memory);
        let waiting = limits.waiting_bytes(job.table.rows().unwrap_or(0), threads, memory);
        let mut working = limits.working_bytes(&columns, slots, threads).max(waiting).max(judging);
        if protection.judges_rows() {
            // The prior beliefs about everybody need memory as well.
            working = working.max(memory / 2);
        }
        let working = reserve(&mut draft, STAGE, working)?;
        let here = |encoded: Encoded<'s>| (PartRows::Here(encoded.store), encoded.whole, encoded.fingerprint);
        let (rows, whole, input) = match (&elsewhere, draft) {
            (Some(held), _) => {
                let held = held.encode(source, (&attributes, &sensitive), payload.as_ref())?;
                rows_elsewhere(job, held, workplace)?
            }
            (None, Some(draft)) => here(draft.encode(source, &attributes, &sensitive, spill)?),
            (None, None) => {
                here(source.read_rows(&mut attributes, &sensitive, payload.as_ref(), &hasher, spill)?)
            }
        };
        drop(working);
        release_freed();
        let accepted = Vec::new();
        let _codes = codes;
        Ok(CodedTable {
            attributes,
            sensitive,
            ids,
            accepted,
            payload,
            rows,
            whole,
            input,
            limits,
            threads,
            _codes,
        })
    }
}

/// The rows that tasks hold. Tasks grow trees; whatever else chooses groups does so here.
fn rows_elsewhere<'s>(
    job: &Anonymize<'s>,
    held: HeldTable<'s>,
    workplace: &'s Workplace<'_>,
) -> Result<(PartRows<'s>, GroupCounts, Fingerprint)> {
    let HeldTable { rows, whole, fingerprint } = held;
    let grown =
        job.search == Search::Tree && job.cuts_from.is_none() && job.policy.publish.cuts != Cuts::Blind;
    let rows = match grown {
        true => PartRows::Elsewhere(rows),
        false => PartRows::Here(rows.fetch_all(&workplace.resources, &workplace.spill)?),
    };
    Ok((rows, whole, fingerprint))
}
