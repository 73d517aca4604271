//! Which risks does the owner accept by name?

use super::parse::{Item, Mistakes};

/// A risk that stops a release unless the policy accepts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AcceptedRisk {
    /// Sensitive values of which nothing bounds what is learned.
    UnprotectedValues,
    /// Many different sensitive numbers that count as unrelated, however close they are.
    DistinctNumbers,
    /// Sensitive values that differ only in case, white space or Unicode form.
    Lookalikes,
    /// Ids that repeat although each row counts as a person.
    RepeatedIds,
    /// Kept columns that are as good as a name.
    UniqueKeptValues,
    /// Ranges whose ends may tell where the nearest people are.
    EndsOfRanges,
    /// Several releases of the same people.
    RepeatedReleases,
    /// Newcomers of whom nobody checked whether they were published before.
    UncheckedNewcomers,
    /// People who waited because of their values.
    WaitedByValues,
    /// Groups that are replaced or withdrawn because of their values.
    ReplacedGroups,
}

impl AcceptedRisk {
    /// All risks with their names in a policy.
    pub const NAMES: [(&'static str, AcceptedRisk); 10] = [
        ("unprotected values", AcceptedRisk::UnprotectedValues),
        ("distinct numbers", AcceptedRisk::DistinctNumbers),
        ("lookalikes", AcceptedRisk::Lookalikes),
        ("repeated ids", AcceptedRisk::RepeatedIds),
        ("unique kept values", AcceptedRisk::UniqueKeptValues),
        ("ends of ranges", AcceptedRisk::EndsOfRanges),
        ("repeated releases", AcceptedRisk::RepeatedReleases),
        ("unchecked newcomers", AcceptedRisk::UncheckedNewcomers),
        ("waited by values", AcceptedRisk::WaitedByValues),
        ("replaced groups", AcceptedRisk::ReplacedGroups),
    ];

    /// The name in a policy.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }

    /// Reads the list `accept`, sorted.
    pub(super) fn read(item: &Item, mistakes: &mut Mistakes) -> Vec<AcceptedRisk> {
        let mut accepted = Vec::new();
        for item in item.items() {
            let Some(risk) = item.choice(&Self::NAMES, mistakes) else { continue };
            if accepted.contains(&risk) {
                item.wrong("is listed twice", "list it once", mistakes);
            } else {
                accepted.push(risk);
            }
        }
        accepted.sort();
        accepted
    }
}
