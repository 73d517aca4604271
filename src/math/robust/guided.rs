//! Which posteriors has a small group, and which would it have with somebody else, in all attribute sets at once?
//!
//! A guide for choosing people: binary64 without an error bound. What is published is judged elsewhere.
//!
//! Members i hold the values x_i, one slot each. The cofactor C(i, j) is the weight of all assignments of the other members
//! to the other slots, so member i has slot j with probability f_i(x_j) C(i, j) / total. If somebody with value y joins,
//! they have slot j with weight f(x_j) times the sum over i of f_i(y) C(i, j), and their own with weight f(y) times the total:
//! the cofactors of the group answer for every newcomer. For the posterior of one member, the same is done without them.
//!
//! Memory: 8 B x signatures x values of the attribute sets; 96 B x 2^members.

use super::priors::Priors;

/// Attribute sets that are computed side by side.
const LANES: usize = 4;
type Lane = [f64; LANES];

/// Somebody, by their signatures and their value.
#[derive(Debug, Clone, Copy)]
pub struct Somebody<'a> {
    /// One signature per attribute set.
    pub signatures: &'a [u32],
    /// The sensitive value.
    pub value: u32,
}

/// How far a group is from what is required.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Excess {
    /// The largest posterior.
    pub largest: f64,
    /// The sum of squares of what posteriors exceed the limit by.
    pub sum: f64,
}

/// The priors, in full, and room for the assignments of a small group.
pub struct GuidedGroups {
    values: usize,
    /// For each attribute set by signature and value.
    priors: Vec<Vec<f64>>,
    limit: f64,
    matrix: Vec<Lane>,
    forward: Vec<Lane>,
    backward: Vec<Lane>,
    cofactors: Vec<Lane>,
}

impl GuidedGroups {
    /// How many numbers the priors take in full.
    pub fn cells(priors: &Priors) -> usize {
        (0..priors.sets()).map(|set| priors.signatures(set) * priors.values()).sum()
    }

    /// For posteriors of at most `limit`.
    pub fn new(priors: &Priors, limit: f64) -> Self {
        let values = priors.values();
        let full = |set: usize| {
            let mut known = vec![0.0; priors.signatures(set) * values];
            for signature in 0..priors.signatures(set) {
                for (value, rank) in priors.row(set, signature as u32) {
                    known[signature * values + value as usize] = priors.levels.near(rank);
                }
            }
            known
        };
        GuidedGroups {
            values,
            priors: (0..priors.sets()).map(full).collect(),
            limit,
            matrix: Vec::new(),
            forward: Vec::new(),
            backward: Vec::new(),
            cofactors: Vec::new(),
        }
    }

    /// The largest prior of somebody's own value.
    pub fn own_prior(&self, own: Somebody<'_>) -> f64 {
        (0..self.priors.len()).map(|set| self.row(set, own)[own.value as usize]).fold(0.0, f64::max)
    }

    fn row(&self, set: usize, own: Somebody<'_>) -> &[f64] {
        &self.priors[set][own.signatures[set] as usize * self.values..][..self.values]
    }

    /// A lane of attribute sets from `first`; the last set fills the lane up.
    fn lane(&self, first: usize, of: impl Fn(usize) -> f64) -> Lane {
        std::array::from_fn(|at| of((first + at).min(self.priors.len() - 1)))
    }

    /// What posteriors of these people exceed the limit by, as one group.
    pub fn excess(&mut self, members: &[Somebody<'_>]) -> Excess {
        let many = members.len();
        let mut found = Excess { largest: 0.0, sum: 0.0 };
        for first in (0..self.priors.len()).step_by(LANES) {
            let total = self.assign(first, members);
            let sets = LANES.min(self.priors.len() - first);
            for (i, cofactors) in self.cofactors.chunks_exact(many).enumerate() {
                for (j, own) in members.iter().enumerate() {
                    if members[..j].iter().any(|other| other.value == own.value) {
                        continue;
                    }
                    let mut weight = [0.0; LANES];
                    for k in (j..many).filter(|&k| members[k].value == own.value) {
                        for at in 0..LANES {
                            weight[at] += self.matrix[i * many + k][at] * cofactors[k][at];
                        }
                    }
                    for at in 0..sets {
                        let posterior = weight[at] / total[at];
                        // A NaN must not look safe.
                        found.largest = if posterior <= found.largest { found.largest } else { posterior };
                        let above = (posterior - self.limit).max(0.0);
                        found.sum += above * above;
                    }
                }
            }
        }
        found
    }

    /// Fills in matrix and cofactors of the attribute sets from `first`; returns the total weight.
    ///
    /// Every row is divided by the prior of the member's own value: posteriors do not change.
    fn assign(&mut self, first: usize, members: &[Somebody<'_>]) -> Lane {
        let many = members.len();
        self.matrix.clear();
        for &own in members {
            for other in members {
                let relative = |set: usize| {
                    let row = self.row(set, own);
                    row[other.value as usize] / row[own.value as usize]
                };
                let lane = self.lane(first, relative);
                self.matrix.push(lane);
            }
        }
        let full = (1usize << many) - 1;
        self.forward.clear();
        self.forward.resize(full + 1, [0.0; LANES]);
        self.backward.clear();
        self.backward.resize(full + 1, [0.0; LANES]);
        self.cofactors.clear();
        self.cofactors.resize(many * many, [0.0; LANES]);
        self.forward[0] = [1.0; LANES];
        for used in 1..=full {
            let member = used.count_ones() as usize - 1;
            let mut sum = [0.0; LANES];
            for slot in slots(used) {
                let (before, prior) = (&self.forward[used ^ 1 << slot], &self.matrix[member * many + slot]);
                (0..LANES).for_each(|at| sum[at] += before[at] * prior[at]);
            }
            self.forward[used] = sum;
        }
        self.backward[full] = [1.0; LANES];
        for used in (0..full).rev() {
            let member = used.count_ones() as usize;
            let before = self.forward[used];
            let mut sum = [0.0; LANES];
            for slot in slots(full ^ used) {
                let (after, prior) = (&self.backward[used | 1 << slot], &self.matrix[member * many + slot]);
                let cofactor = &mut self.cofactors[member * many + slot];
                for at in 0..LANES {
                    sum[at] += after[at] * prior[at];
                    cofactor[at] += before[at] * after[at];
                }
            }
            self.backward[used] = sum;
        }
        self.forward[full]
    }

    /// What is needed to know about every newcomer to these people, the first of whom matters most.
    pub fn newcomers(&mut self, members: &[Somebody<'_>]) -> JoinableGroup {
        let mut held: Vec<u32> = members.iter().map(|own| own.value).collect();
        held.sort_unstable();
        held.dedup();
        let first_value = members[0].value;
        let first_held = members.iter().filter(|own| own.value == first_value).count();
        let (own, others) = (self.slots_of_newcomers(members, &held), &members[1..]);
        let others = self.slots_of_newcomers(others, &held);
        JoinableGroup { held, first_value, first_held, own, others, values: self.values }
    }

    /// For each attribute set and value of a newcomer, the weight of each value held and of the newcomer's own slot.
    fn slots_of_newcomers(&mut self, members: &[Somebody<'_>], held: &[u32]) -> Vec<f64> {
        let (many, width) = (members.len(), held.len() + 1);
        let mut weights = vec![0.0; self.priors.len() * self.values * width];
        let place = |value: u32| held.partition_point(|own| *own < value);
        for first in (0..self.priors.len()).step_by(LANES) {
            let total = self.assign(first, members);
            for set in first..(first + LANES).min(self.priors.len()) {
                for value in 0..self.values {
                    let into = &mut weights[(set * self.values + value) * width..][..width];
                    for (i, &own) in members.iter().enumerate() {
                        let row = &self.priors[set][own.signatures[set] as usize * self.values..];
                        let relative = row[value] / row[own.value as usize];
                        for (j, other) in members.iter().enumerate() {
                            into[place(other.value)] += relative * self.cofactors[i * many + j][set - first];
                        }
                    }
                    into[width - 1] = total[set - first];
                }
            }
        }
        weights
    }

    /// What a newcomer's own posteriors, and that of the first member, would exceed the limit by; infinite once that is
    /// certainly at least `most`.
    pub fn joined(&self, group: &JoinableGroup, newcomer: Somebody<'_>, most: f64) -> f64 {
        let width = group.held.len() + 1;
        let first_held = group.first_held as f64 + f64::from(u8::from(newcomer.value == group.first_value));
        let place = group.held.binary_search(&newcomer.value);
        let mut sum = 0.0;
        for set in 0..self.priors.len() {
            let row = self.row(set, newcomer);
            let start = (set * group.values + newcomer.value as usize) * width;
            let (own, others) = (&group.own[start..][..width], &group.others[start..][..width]);
            let new_slot = row[newcomer.value as usize];
            let (mut total, mut largest, mut first) =
                (0.0, new_slot * own[width - 1], new_slot * others[width - 1]);
            for (at, &value) in group.held.iter().enumerate() {
                let prior = row[value as usize];
                let mut weight = prior * own[at];
                if place == Ok(at) {
                    weight += new_slot * own[width - 1];
                }
                total += weight;
                largest = f64::max(largest, weight);
                first += prior * others[at];
            }
            if place.is_err() {
                total += new_slot * own[width - 1];
            }
            let newcomer_above = (largest / total - self.limit).max(0.0);
            let first_above = (first_held * first / total - self.limit).max(0.0);
            sum += newcomer_above * newcomer_above + FIRST_MATTERS * first_above * first_above;
            if sum.is_nan() || sum >= most {
                return f64::INFINITY;
            }
        }
        sum
    }
}

/// How much more the first member matters than a newcomer.
const FIRST_MATTERS: f64 = 4.0;

/// A group that somebody may join.
pub struct JoinableGroup {
    /// The values of the group, each once.
    held: Vec<u32>,
    first_value: u32,
    first_held: usize,
    /// By attribute set and value of the newcomer: the weight of every value held, and of the newcomer's own slot.
    own: Vec<f64>,
    /// The same without the first member.
    others: Vec<f64>,
    values: usize,
}

/// The slots of a set of slots.
fn slots(mut set: usize) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let slot = set.trailing_zeros() as usize;
        (set > 0).then(|| {
            set &= set - 1;
            slot
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::priors::PriorsBuilder;
    use super::*;
    use crate::math::exact::ratio;
    use crate::math::posterior;

    /// The posteriors of every member and value of a group in one attribute set, by the judged formula.
    fn posteriors(priors: &Priors, members: &[Somebody<'_>], set: usize) -> (Vec<u32>, Vec<f64>) {
        let mut held: Vec<u32> = members.iter().map(|own| own.value).collect();
        held.sort_unstable();
        let counts: Vec<u32> = held.chunk_by(|a, b| a == b).map(|same| same.len() as u32).collect();
        held.dedup();
        let near =
            |own: &Somebody<'_>, value: u32| priors.levels.near(priors.rank(set, own.signatures[set], value));
        let known: Vec<f64> = members
            .iter()
            .flat_map(|own| held.iter().map(|&value| near(own, value)).collect::<Vec<_>>())
            .collect();
        let found = posterior::approximate(&counts, &known, 1 << 12).unwrap().posteriors;
        (held, found)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

        #[test]
        fn the_guide_agrees_with_the_posteriors(
            weights in prop::collection::vec(prop::collection::vec(1u64..50, 4), 10),
            people in prop::collection::vec((0u32..5, 0u32..5, 0u32..4), 2..7),
        ) {
            let mut builder = PriorsBuilder::new(4);
            for set in weights.chunks_exact(5) {
                let row = |(signature, own): (usize, &Vec<u64>)| {
                    let total = own.iter().sum();
                    (0..4).map(|value| (signature as u32, value as u32, ratio(own[value], total))).collect::<Vec<_>>()
                };
                builder.given(5, set.iter().enumerate().flat_map(row).collect()).unwrap();
            }
            let priors = builder.build();
            let signatures: Vec<[u32; 2]> = people.iter().map(|own| [own.0, own.1]).collect();
            let members: Vec<Somebody<'_>> =
                signatures.iter().zip(&people).map(|(own, person)| Somebody { signatures: own, value: person.2 }).collect();
            let limit = 0.4;
            let mut guide = GuidedGroups::new(&priors, limit);
            let above = |posterior: f64| (posterior - limit).max(0.0).powi(2);
            let (mut largest, mut sum, mut joined) = (0.0f64, 0.0, 0.0);
            for set in 0..2 {
                let (held, found) = posteriors(&priors, &members, set);
                largest = found.iter().copied().fold(largest, f64::max);
                sum += found.iter().map(|own| above(*own)).sum::<f64>();
                let newcomer = found[found.len() - held.len()..].iter().copied().fold(0.0, f64::max);
                let first = found[held.binary_search(&members[0].value).unwrap()];
                joined += above(newcomer) + FIRST_MATTERS * above(first);
            }
            let excess = guide.excess(&members);
            prop_assert!((excess.largest - largest).abs() < 1e-9 && (excess.sum - sum).abs() < 1e-9);
            let (newcomer, others) = members.split_last().unwrap();
            let newcomers = guide.newcomers(others);
            prop_assert!((guide.joined(&newcomers, *newcomer, f64::INFINITY) - joined).abs() < 1e-9);
            prop_assert!(joined == 0.0 || guide.joined(&newcomers, *newcomer, joined / 2.0) == f64::INFINITY);
        }
    }
}
