//! What would the printed Delta condition have made of the same people?
//!
//! Memory: that of grouping one part.

use crate::error::Result;
use crate::group::similar::group_part;
use crate::math::robust::{PublishedGroup, Requirement, Test, Tuples, delta_claims};
use crate::model::robust::KnownDistributions;
use crate::model::robust::judge::{DeltaClaims, DeltaInstead, judged};
use std::sync::{Mutex, PoisonError};

/// Groups parts of a table by the printed condition, and judges them. Parts may come in any order, from any thread.
pub(super) struct DeltaComparison<'a> {
    known: &'a KnownDistributions,
    requirement: &'a Requirement,
    found: Mutex<Option<DeltaInstead>>,
}

impl<'a> DeltaComparison<'a> {
    pub(super) fn new(known: &'a KnownDistributions, requirement: &'a Requirement) -> Self {
        DeltaComparison { known, requirement, found: Mutex::new(None) }
    }

    /// Adds a part.
    pub(super) fn add(&self, tuples: Tuples<'_>) -> Result<()> {
        let grouping = group_part(self.known.priors(), self.requirement, Test::Delta, tuples)?;
        let mut claims = DeltaClaims::default();
        let mut people = 0;
        for group in &grouping.groups {
            people += group.len() as u64;
            let mut values: Vec<(u32, u32)> =
                group.iter().map(|&tuple| (tuples.values[tuple as usize], 1)).collect();
            values.sort_unstable();
            let members = group.iter();
            let signatures: Vec<u32> = members
                .flat_map(|&tuple| tuples.signatures.iter().map(move |set| set[tuple as usize]))
                .collect();
            let published = PublishedGroup { signatures: &signatures, values: &values };
            let verdict = judged(self.known, self.requirement, published)?.verdict;
            claims.add(delta_claims(self.known.priors(), self.requirement, published)?, &verdict);
        }
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let all = found.get_or_insert_default();
        all.people += people;
        all.claims.merge(&claims);
        Ok(())
    }

    /// What was found; `None` if no part was added.
    pub(super) fn finish(self) -> Option<DeltaInstead> {
        self.found.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
