//! Which tuples go together? ART, bottom-up and deterministic.
//!
//! The grouping equals that of the quadratic reference in mathematics 3.3 (tests compare them); only the search is
//! faster. Under the exact test it may differ once a group exceeds the limit of states, where the ratio condition
//! decides.
//! Memory: the priors of the tuples being grouped, the classes and boxes of `nearest`, and about 100 B per tuple for
//! finished groups.
//! Invariants: every finished group passed the test; every tuple is in exactly one group or suppressed. If a table does
//! not fit, the caller cuts it into parts of similar tuples, and each part is grouped by [`group_part`] with the priors
//! of the whole table. This is safe, because the test is per group, but the groups then differ from those of the whole
//! table, and each part suppresses its own left-overs. The cost of finding groups for left-overs grows faster than the
//! table, so parts of some ten thousand tuples are also faster.

use super::leftover::{AcceptingGroups, FinishedGroup, LeftoverTuple};
use super::nearest::{Growing, Ungrouped};
use crate::error::Result;
use crate::math::robust::{PriorRanges, Priors, Requirement, Test, Tuples};

/// Groups of tuples, and the tuples that fit into no group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SimilarGroups {
    /// The indices of each group, ascending; groups in the order in which they were finished.
    pub groups: Vec<Vec<u32>>,
    /// The indices of the tuples that must not be published, ascending.
    pub suppressed: Vec<u32>,
}

/// Groups a whole table; rejects a table whose most frequent value is too frequent for r.
pub fn group(
    priors: &Priors,
    requirement: &Requirement,
    test: Test,
    tuples: Tuples<'_>,
) -> Result<SimilarGroups> {
    tuples.check(priors)?;
    let mut counts = vec![0u64; priors.values()];
    tuples.values.iter().for_each(|&value| counts[value as usize] += 1);
    requirement.check_feasible(&counts)?;
    group_part(priors, requirement, test, tuples)
}

/// Groups one part of a table, whatever its most frequent value; feasibility was checked for the whole table.
pub fn group_part(
    priors: &Priors,
    requirement: &Requirement,
    test: Test,
    tuples: Tuples<'_>,
) -> Result<SimilarGroups> {
    tuples.check(priors)?;
    let (priors, signatures) = priors.of_tuples(tuples.signatures);
    let signatures: Vec<&[u32]> = signatures.iter().map(Vec::as_slice).collect();
    let (priors, tuples) = (&priors, Tuples { values: tuples.values, signatures: &signatures });
    let mut ungrouped = Ungrouped::new(priors, &tuples);
    let mut group = Growing { ranges: PriorRanges::new(priors), values: Vec::new(), signatures: Vec::new() };
    let mut finished: Vec<FinishedGroup> = Vec::new();
    let mut stuck: Vec<(u32, u32)> = Vec::new();
    while let Some(seed) = ungrouped.seed() {
        group.ranges.clear();
        group.values.clear();
        group.signatures.clear();
        let mut members: Vec<(u32, u32)> = Vec::new();
        let mut next = Some(seed);
        while let Some(class) = next {
            members.push((ungrouped.take(class), class));
            let classes = ungrouped.classes();
            group.ranges.add(priors, classes.signatures(class));
            group.values.push(classes.value(class));
            group.signatures.extend(classes.signatures(class));
            if group.values.len() as u64 >= requirement.smallest_group() {
                let compact = group.ranges.of_group(priors, &group.values, &group.signatures);
                if test.holds(requirement, priors, &compact) {
                    let tuples = members.drain(..).map(|(tuple, _)| tuple).collect();
                    finished.push(FinishedGroup { tuples, priors: compact });
                    break;
                }
            }
            next = ungrouped.nearest(&group);
        }
        stuck.append(&mut members);
    }
    stuck.sort_unstable();
    let mut wanted = vec![0u32; priors.values()];
    let classes = ungrouped.classes();
    stuck.iter().for_each(|&(_, class)| wanted[classes.value(class) as usize] += 1);
    let mut accepting = AcceptingGroups::new(priors, requirement, test, finished, &wanted);
    let mut suppressed = Vec::new();
    for (tuple, class) in stuck {
        let (value, signatures) = (classes.value(class), classes.signatures(class));
        if !accepting.attach(LeftoverTuple { tuple, class, value, signatures }) {
            suppressed.push(tuple);
        }
    }
    let groups = accepting.into_groups().into_iter().map(|mut group| {
        group.tuples.sort_unstable();
        group.tuples
    });
    Ok(SimilarGroups { groups: groups.collect(), suppressed })
}
