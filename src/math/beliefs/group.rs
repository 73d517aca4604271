//! How far do the beliefs about the people of one group move?
//!
//! Members of a group are its different quasi-identifier combinations, each with a number of rows: rows that
//! agree share prior and posterior. A group falls apart into [`blocks`], each of which is a group of its own.
//! Posteriors of a block are exact, by forward and backward passes in floats with a proven error, if it has at
//! most [`BeliefAdversary::states`] states and [`MOST_ROWS`] rows; otherwise the proven interval of
//! [`Ceiling`] is used instead. When floats do not decide, exact fractions do, as long as that takes at most
//! [`MOST_EXACT_PAIRS`] weights; anything still open counts as undecided, which is never safe.
//!
//! Memory: O(rows x values present) and 20 B per state for a group.
//! Not here: where groups come from, threads.

use super::blocks::blocks;
use super::ceiling::Ceiling;
use super::combinations::Combinations;
use super::comparison::{BeliefComparison, posterior_error};
use super::divergence::{DistanceVerdict, Threshold};
use super::kernel::Kernel;
use super::omega::omega_estimate;
use super::prior::exact_prior;
use crate::math::exact::Rational;
use crate::math::posterior;

/// Groups with more states have no exact posterior.
pub const MOST_STATES: u64 = 1 << 18;
/// Groups with more rows have none either: binary64 weights would lie too far apart.
pub const MOST_ROWS: u64 = 600;
/// The number of weights of exact priors that one group may cost.
const MOST_EXACT_PAIRS: u64 = 1 << 22;

/// What an adversary with one bandwidth believes about each person before the release.
pub struct BeliefAdversary<'a> {
    /// The table.
    pub table: &'a Combinations,
    /// One kernel per quasi-identifier.
    pub kernels: &'a [Kernel],
    /// The prior at every combination, one after the other.
    pub priors: &'a [f64],
    /// No prior is off by more than this, relatively.
    pub error: f64,
    /// Groups with more states have no exact posterior; at most [`MOST_STATES`].
    pub states: u64,
}

/// A combination of quasi-identifiers in a group, and how many of its rows have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// The number of the combination.
    pub combination: usize,
    /// Rows; at least one.
    pub rows: u64,
}

/// A group as it is published.
#[derive(Debug, Clone, Copy)]
pub struct BeliefGroup<'a> {
    /// The members of the group.
    pub members: &'a [Member],
    /// How often it holds each sensitive value.
    pub counts: &'a [u64],
}

/// How the posteriors of a block are known.
enum Known {
    /// In floats, member by member, off by at most this.
    Exactly(Vec<f64>, f64),
    /// Within bounds.
    Within(Box<Ceiling>),
}

/// Some members of a group and the values that they share.
struct Block {
    members: Vec<Member>,
    /// How often they have each value.
    counts: Vec<u64>,
    known: Known,
}

/// The beliefs about the members of a group, before and after.
pub struct Beliefs<'a> {
    adversary: &'a BeliefAdversary<'a>,
    group: BeliefGroup<'a>,
    /// None if the group is impossible: its values contradict the priors.
    blocks: Vec<Block>,
    /// The block of each member, and its place there.
    places: Vec<(usize, usize)>,
}

/// How far a belief moved: an interval that holds the true distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moved {
    /// At least.
    pub low: f64,
    /// At most.
    pub high: f64,
}

impl BeliefAdversary<'_> {
    /// The prior at a combination.
    pub fn prior(&self, combination: usize) -> &[f64] {
        let values = self.table.values();
        &self.priors[combination * values..(combination + 1) * values]
    }
}

impl BeliefGroup<'_> {
    fn rows(&self) -> u64 {
        self.members.iter().map(|member| member.rows).sum()
    }

    /// Whether the group is small enough for an exact posterior with at most `most` states.
    pub fn is_small(&self, most: u64) -> bool {
        let mut states = self.present().map(|value| self.counts[value]);
        let states = states.try_fold(1u64, |states, count| states.checked_mul(count.checked_add(1)?));
        self.rows() <= MOST_ROWS && states.is_some_and(|states| states <= most.min(MOST_STATES))
    }

    /// The values that occur.
    fn present(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.counts.len()).filter(|value| self.counts[*value] > 0)
    }
}

impl Block {
    fn group(&self) -> BeliefGroup<'_> {
        BeliefGroup { members: &self.members, counts: &self.counts }
    }

    fn is_exact(&self) -> bool {
        matches!(self.known, Known::Exactly(..))
    }
}

impl BeliefGroup<'_> {
    fn priors<'a>(&self, adversary: &'a BeliefAdversary<'_>) -> Vec<(&'a [f64], u64)> {
        let prior = |member: &Member| (adversary.prior(member.combination), member.rows);
        self.members.iter().map(prior).collect()
    }

    /// The posteriors in floats, if there are not too many states.
    fn exactly(&self, adversary: &BeliefAdversary<'_>) -> Option<Known> {
        let present: Vec<usize> = self.present().collect();
        let counts: Vec<u32> = present.iter().map(|value| self.counts[*value] as u32).collect();
        let mut priors = Vec::with_capacity(self.rows() as usize * present.len());
        for member in self.members {
            let prior = adversary.prior(member.combination);
            for _ in 0..member.rows {
                priors.extend(present.iter().map(|value| prior[*value]));
            }
        }
        let near = posterior::approximate(&counts, &priors, MOST_STATES).ok()?;
        let values = self.counts.len();
        let mut posteriors = vec![0.0; self.members.len() * values];
        let mut row = 0;
        for (member, own) in self.members.iter().zip(posteriors.chunks_exact_mut(values)) {
            for (place, value) in present.iter().enumerate() {
                own[*value] = near.posteriors[row * present.len() + place];
            }
            row += member.rows as usize;
        }
        let error = posterior_error(adversary.error, row, near.relative_error());
        error.is_finite().then_some(Known::Exactly(posteriors, error.max(adversary.error)))
    }
}

impl<'a> Beliefs<'a> {
    /// The beliefs of an adversary about a group.
    pub fn new(adversary: &'a BeliefAdversary<'a>, group: BeliefGroup<'a>) -> Self {
        let mut beliefs = Beliefs { adversary, group, blocks: Vec::new(), places: Vec::new() };
        let values: u64 = group.counts.iter().sum();
        if group.counts.len() != adversary.table.values() || group.rows() != values || values == 0 {
            return beliefs;
        }
        let Some(found) = blocks(&group.priors(adversary), group.counts) else { return beliefs };
        let mut parts = vec![(Vec::new(), vec![0; group.counts.len()]); found.many];
        for (member, block) in group.members.iter().zip(found.of_priors) {
            beliefs.places.push((block, parts[block].0.len()));
            parts[block].0.push(*member);
        }
        for (value, block) in found.of_values.into_iter().enumerate() {
            if let Some(block) = block {
                parts[block].1[value] = group.counts[value];
            }
        }
        beliefs.blocks =
            parts.into_iter().map(|(members, counts)| block(adversary, members, counts)).collect();
        beliefs
    }

    /// The same without a look for blocks, as a measure of what they are worth. The group must be possible.
    pub fn undivided(adversary: &'a BeliefAdversary<'a>, group: BeliefGroup<'a>) -> Self {
        let blocks = vec![block(adversary, group.members.to_vec(), group.counts.to_vec())];
        let places = (0..group.members.len()).map(|member| (0, member)).collect();
        Beliefs { adversary, group, blocks, places }
    }

    /// Whether all posteriors are exact, except for rounding.
    pub fn is_exact(&self) -> bool {
        self.blocks.iter().all(Block::is_exact)
    }

    /// Tightens posteriors that are only known within bounds, at a higher cost; see [`Ceiling::refined`].
    pub fn refine(&mut self) {
        for block in self.blocks.iter_mut().filter(|block| !block.is_exact()) {
            let priors = block.group().priors(self.adversary);
            let ceiling = Ceiling::refined(&priors, &block.counts, self.adversary.error);
            block.known = Known::Within(Box::new(ceiling));
        }
    }

    /// How far the belief about a member moved.
    pub fn moved(&self, member: usize, comparison: &mut BeliefComparison) -> Moved {
        let Some(&(block, place)) = self.places.get(member) else { return Moved { low: 1.0, high: 1.0 } };
        let prior = self.adversary.prior(self.group.members[member].combination);
        match &self.blocks[block].known {
            Known::Exactly(posteriors, error) => {
                let values = prior.len();
                let own = &posteriors[place * values..(place + 1) * values];
                let measured = comparison.measure(prior, own, *error);
                let low = (measured.distance - measured.bound).next_down();
                Moved { low: if low >= 0.0 { low.min(1.0) } else { 0.0 }, high: measured.at_most() }
            }
            Known::Within(ceiling) => Moved {
                low: ceiling.least_distance(prior, comparison.smoothing()),
                high: ceiling.distance(prior, comparison.smoothing()),
            },
        }
    }

    /// Whether a belief that moved this far is within the threshold; `Undecided` is not safe.
    pub fn verdict(
        &self,
        member: usize,
        moved: Moved,
        comparison: &BeliefComparison,
        threshold: &Threshold,
    ) -> DistanceVerdict {
        match threshold.place(moved.low, moved.high) {
            DistanceVerdict::Undecided => match self.places.get(member) {
                Some(&(block, place)) if self.blocks[block].is_exact() => {
                    self.settle(&self.blocks[block], place, comparison, threshold.exact())
                }
                _ => DistanceVerdict::Undecided,
            },
            verdict => verdict,
        }
    }

    /// Whether every belief stays within the threshold, by what is known now.
    pub fn pass(&self, comparison: &mut BeliefComparison, threshold: &Threshold) -> Passes {
        let mut passes = Passes::Yes;
        for member in 0..self.group.members.len() {
            let moved = self.moved(member, comparison);
            match self.verdict(member, moved, comparison, threshold) {
                DistanceVerdict::Within => {}
                DistanceVerdict::Beyond => return Passes::No,
                DistanceVerdict::Undecided => passes = Passes::Unknown,
            }
        }
        passes
    }

    /// Decides on exact fractions.
    fn settle(
        &self,
        block: &Block,
        member: usize,
        comparison: &BeliefComparison,
        threshold: &Rational,
    ) -> DistanceVerdict {
        let members = &block.members[..];
        let pairs = (members.len() as u64).checked_mul(self.adversary.table.len() as u64);
        if pairs.is_none_or(|pairs| pairs > MOST_EXACT_PAIRS) {
            return DistanceVerdict::Undecided;
        }
        let prior = |own: &Member| exact_prior(self.adversary.table, self.adversary.kernels, own.combination);
        let priors: Vec<Vec<Rational>> = members.iter().map(prior).collect();
        let present: Vec<usize> = block.group().present().collect();
        let counts: Vec<u32> = present.iter().map(|value| block.counts[*value] as u32).collect();
        let mut rows = Vec::new();
        for (own, prior) in members.iter().zip(&priors) {
            for _ in 0..own.rows {
                rows.extend(present.iter().map(|value| prior[*value].clone()));
            }
        }
        let Ok(posteriors) = posterior::exact(&counts, &rows, MOST_STATES) else {
            return DistanceVerdict::Undecided;
        };
        let row = members[..member].iter().map(|own| own.rows as usize).sum::<usize>();
        let mut posterior = vec![Rational::ZERO; self.group.counts.len()];
        for (place, value) in present.iter().enumerate() {
            posterior[*value] = posteriors[row * present.len() + place].clone();
        }
        comparison.settle(&priors[member], &posterior, threshold)
    }

    /// The distance of each member by the Omega-estimate, for display only.
    pub fn omega(&self, comparison: &mut BeliefComparison) -> Vec<f64> {
        let priors = self.group.priors(self.adversary);
        let estimates = omega_estimate(&priors, self.group.counts);
        let distance = |((prior, _), estimate): (&(&[f64], u64), Vec<f64>)| {
            comparison.measure(prior, &estimate, 0.0).distance
        };
        priors.iter().zip(estimates).map(distance).collect()
    }
}

/// A block with what is known about it without much work.
fn block(adversary: &BeliefAdversary<'_>, members: Vec<Member>, counts: Vec<u64>) -> Block {
    let group = BeliefGroup { members: &members, counts: &counts };
    let exactly = group.is_small(adversary.states).then(|| group.exactly(adversary)).flatten();
    let within = || Ceiling::new(&group.priors(adversary), &counts, adversary.error);
    let known = exactly.unwrap_or_else(|| Known::Within(Box::new(within())));
    Block { members, counts, known }
}

/// The result of testing a whole group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passes {
    /// Every belief is certainly within its threshold.
    Yes,
    /// Some belief is beyond it.
    No,
    /// No belief is known to be beyond its threshold, but not all are known to be within.
    Unknown,
}

impl Passes {
    /// Both tests together.
    pub fn and(self, other: Passes) -> Passes {
        match (self, other) {
            (Passes::No, _) | (_, Passes::No) => Passes::No,
            (Passes::Yes, Passes::Yes) => Passes::Yes,
            _ => Passes::Unknown,
        }
    }
}

/// Whether every belief about a group stays within the threshold.
pub fn passes(
    adversary: &BeliefAdversary<'_>,
    group: BeliefGroup<'_>,
    comparison: &BeliefComparison,
    threshold: &Threshold,
) -> Passes {
    let mut beliefs = Beliefs::new(adversary, group);
    let mut comparison = comparison.clone();
    match beliefs.pass(&mut comparison, threshold) {
        Passes::Unknown if !beliefs.is_exact() => {
            beliefs.refine();
            beliefs.pass(&mut comparison, threshold)
        }
        decided => decided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::beliefs::distance::Distance;
    use crate::math::beliefs::prior::PriorPlan;
    use crate::math::exact::ratio;

    /// The paper's Table I with bandwidths (1/2, 2): ages, sexes and diseases in three groups of three.
    fn with_table_one(test: impl FnOnce(&BeliefAdversary<'_>, &[(Vec<Member>, [u64; 4])])) {
        let rows = [
            (69, 1, 1),
            (45, 0, 0),
            (52, 0, 2),
            (43, 0, 3),
            (42, 0, 2),
            (47, 0, 0),
            (50, 1, 2),
            (56, 1, 1),
            (52, 1, 3),
        ];
        let mut ages: Vec<u64> = rows.iter().map(|row| row.0).collect();
        ages.sort_unstable();
        ages.dedup();
        let coded = rows.map(|(age, sex, s)| (vec![ages.binary_search(&age).unwrap() as u32, sex], s));
        let table = Combinations::from_rows(2, 4, coded.to_vec()).unwrap();
        let numbers = Distance::Numeric(ages.iter().map(|age| Some(ratio(*age, 1))).collect());
        let kernels = [
            Kernel::new(&numbers, &ratio(1, 2), "age").unwrap(),
            Kernel::new(&Distance::Flat(2), &ratio(2, 1), "sex").unwrap(),
        ];
        let plan = PriorPlan::new(&table, &kernels, u64::MAX).unwrap();
        let priors = plan.run_all().concat();
        let error = plan.relative_error();
        let adversary =
            BeliefAdversary { table: &table, kernels: &kernels, priors: &priors, error, states: MOST_STATES };
        let group = |rows: &[(Vec<u32>, u32)]| {
            let mut counts = [0; 4];
            rows.iter().for_each(|row| counts[row.1 as usize] += 1);
            let member = |row: &(Vec<u32>, u32)| Member { combination: table.find(&row.0).unwrap(), rows: 1 };
            (rows.iter().map(member).collect::<Vec<_>>(), counts)
        };
        test(&adversary, &coded.chunks(3).map(group).collect::<Vec<_>>());
    }

    #[test]
    fn what_the_estimate_accepts_is_refused() {
        with_table_one(|adversary, groups| {
            let mut comparison = BeliefComparison::new(None);
            let (mut omega, mut low, mut high) = (0.0f64, 0.0f64, 0.0f64);
            let mut answers = Vec::new();
            for (members, counts) in groups {
                let group = BeliefGroup { members, counts };
                let beliefs = Beliefs::new(adversary, group);
                assert!(beliefs.is_exact());
                beliefs.omega(&mut comparison).into_iter().for_each(|distance| omega = omega.max(distance));
                for member in 0..members.len() {
                    let moved = beliefs.moved(member, &mut comparison);
                    (low, high) = (low.max(moved.low), high.max(moved.high));
                }
                let threshold = Threshold::new(ratio(15, 100));
                answers.push(passes(adversary, group, &comparison, &threshold));
            }
            assert!(omega < 0.1424 && low > 0.1995 && high < 0.1996, "{omega} {low} {high}");
            assert!(answers.contains(&Passes::No));
        });
    }

    #[test]
    fn a_threshold_that_floats_cannot_tell_is_settled_exactly() {
        with_table_one(|adversary, groups| {
            let (members, counts) = &groups[0];
            let group = BeliefGroup { members, counts };
            let beliefs = Beliefs::new(adversary, group);
            let mut comparison = BeliefComparison::new(None);
            let moved = beliefs.moved(1, &mut comparison);
            let at = |distance: f64| {
                let threshold = Threshold::new(Rational::try_from(distance).unwrap());
                beliefs.verdict(1, moved, &comparison, &threshold)
            };
            assert!(moved.low < moved.high);
            // The true distance lies somewhere between the two ends, and both sides of it are distinguished.
            let (mut within, mut beyond) = (moved.high, moved.low);
            assert_eq!((at(within), at(beyond)), (DistanceVerdict::Within, DistanceVerdict::Beyond));
            while within.next_down() > beyond {
                let middle = beyond + (within - beyond) / 2.0;
                match at(middle) {
                    DistanceVerdict::Within => within = middle,
                    DistanceVerdict::Beyond => beyond = middle,
                    DistanceVerdict::Undecided => panic!("exact fractions decide"),
                }
            }
        });
    }

    #[test]
    fn a_group_that_cannot_be_is_the_worst() {
        with_table_one(|adversary, groups| {
            let (members, counts) = &groups[0];
            let mut comparison = BeliefComparison::new(None);
            // A value too few, and a person who is certain to have another value than the group holds.
            for (members, counts) in [(&members[..2], *counts), (&members[..1], [1, 0, 0, 0])] {
                let beliefs = Beliefs::new(adversary, BeliefGroup { members, counts: &counts });
                assert_eq!(beliefs.moved(0, &mut comparison), Moved { low: 1.0, high: 1.0 });
            }
        });
    }
}
