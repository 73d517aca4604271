//! How many people can no grouping hide?
//!
//! Mathematics 3.5. People whose distribution favours a value x need others beside them who lack x and might well have it.
//! Let H be some people, and give everybody else a weight: how likely x is for them compared with H, by the most favourable
//! other value. A group with h people of H, and others of weight m in all, keeps posteriors of x at most 1/r only if it holds x
//! at most h/r + m/(r-1) times. Added up over all groups this bounds how many of H can be published.
//!
//! Memory: 16 B x signatures x values of one attribute set, at most [`CELLS`] of them; larger sets show nothing.

use super::priors::Priors;
use super::requirement::Requirement;
use crate::math::exact::f64_at_least;

/// How many of the sets H of one value are tried.
const TRIED: usize = 64;
/// The most signatures times values of an attribute set.
pub const CELLS: usize = 1 << 21;
/// How much of each count is given away to rounding, far more than it is.
const ROUNDED: f64 = 1e-9;

/// The people of one attribute set.
pub struct CountedSet<'a> {
    /// The number of the set.
    pub set: usize,
    /// People by signature and value, each pair at most once.
    pub people: &'a [(u32, u32, u64)],
}

/// People of whom any grouping must leave some out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unavoidable {
    /// The attribute set that gives them away.
    pub set: usize,
    /// The value that it gives away.
    pub value: u32,
    /// Their signatures, ascending.
    pub signatures: Vec<u32>,
    /// How many people have these signatures.
    pub people: u64,
    /// How many of these must be left out, at least.
    pub left_out: u64,
}

/// The people of one attribute set, with their priors.
struct Favoured<'a> {
    r: f64,
    values: usize,
    /// By signature and value.
    priors: &'a [f64],
    /// By signature and value, and by signature.
    holders: &'a [u64],
    people: &'a [u64],
}

/// For each value the most people who must be left out because of it, as far as this attribute set shows it.
pub fn unavoidable(priors: &Priors, requirement: &Requirement, counted: &CountedSet<'_>) -> Vec<Unavoidable> {
    let (set, values, signatures) = (counted.set, priors.values(), priors.signatures(counted.set));
    if signatures.saturating_mul(values) > CELLS {
        return Vec::new();
    }
    let mut known = vec![0.0; signatures * values];
    for signature in 0..signatures {
        for (value, rank) in priors.row(set, signature as u32) {
            known[signature * values + value as usize] = priors.levels.near(rank);
        }
    }
    let (mut holders, mut people) = (vec![0u64; known.len()], vec![0u64; signatures]);
    for &(signature, value, many) in counted.people {
        holders[signature as usize * values + value as usize] += many;
        people[signature as usize] += many;
    }
    let r = f64_at_least(requirement.r());
    let favoured = Favoured { r, values, priors: &known, holders: &holders, people: &people };
    let of_value = |value: usize| {
        let (signatures, left_out) = favoured.by(value)?;
        let people = signatures.iter().map(|own| people[*own as usize]).sum();
        Some(Unavoidable { set, value: value as u32, signatures, people, left_out })
    };
    (0..values).filter_map(of_value).collect()
}

impl Favoured<'_> {
    fn prior(&self, signature: u32, value: usize) -> f64 {
        self.priors[signature as usize * self.values + value]
    }

    /// The signatures of the best of the sets H that hold everybody for whom `value` is likelier than a limit, and how many of
    /// these people must be left out.
    fn by(&self, value: usize) -> Option<(Vec<u32>, u64)> {
        let likely = |&own: &u32| self.people[own as usize] > 0 && self.prior(own, value) * self.r > 1.0;
        let mut order: Vec<u32> = (0..self.people.len() as u32).filter(likely).collect();
        order.sort_by(|a, b| self.prior(*b, value).total_cmp(&self.prior(*a, value)).then(a.cmp(b)));
        let step = order.len().div_ceil(TRIED).max(1);
        let mut others = vec![0.0f64; self.values];
        let (mut holders, mut people, mut best) = (0u64, 0u64, (0u64, 0usize));
        for (at, &own) in order.iter().enumerate() {
            holders += self.holders[own as usize * self.values + value];
            people += self.people[own as usize];
            for (other, most) in others.iter_mut().enumerate() {
                if other != value {
                    *most = most.max(self.prior(own, other) / self.prior(own, value));
                }
            }
            if (at + 1) % step == 0 || at + 1 == order.len() {
                let left_out = self.left_out(value, &order[..=at], &others, holders, people);
                if left_out > best.0 {
                    best = (left_out, at + 1);
                }
            }
        }
        let (left_out, many) = best;
        order.truncate(many);
        order.sort_unstable();
        (left_out > 0).then_some((order, left_out))
    }

    /// How many of H must be left out, at least; `others` has the largest odds of each other value against `value` in H.
    fn left_out(&self, value: usize, chosen: &[u32], others: &[f64], holders: u64, people: u64) -> u64 {
        let (held, shared) = (holders as f64, people as f64 / self.r);
        let mut surplus = held - shared - ROUNDED * (held + shared);
        let mut inside = vec![false; self.people.len()];
        chosen.iter().for_each(|own| inside[*own as usize] = true);
        for signature in (0..self.people.len()).filter(|own| !inside[*own] && self.people[*own] > 0) {
            // Not above 0, or no number: nothing is shown.
            if surplus.is_nan() || surplus <= 0.0 {
                return 0;
            }
            let own = &self.priors[signature * self.values..][..self.values];
            let weigh =
                |(prior, odds): (&f64, &f64)| if *odds > 0.0 { own[value] * odds / prior } else { 0.0 };
            let weight = match own[value] > 0.0 {
                true => own.iter().zip(others).map(weigh).fold(0.0, f64::max),
                false => 0.0,
            };
            let each = weight / (self.r - 1.0) * (1.0 + ROUNDED);
            let having = self.holders[signature * self.values + value] as f64;
            let lacking = self.people[signature] as f64 - having;
            // Whoever has the value is in such a group only if they bring more than they take.
            for (many, brings) in [(lacking, each), (having, (each - 1.0).max(0.0))] {
                surplus -= if many > 0.0 { many * brings } else { 0.0 };
            }
        }
        let least = (surplus * self.r / (self.r - 1.0) * (1.0 - ROUNDED)).ceil();
        if least > 0.0 { (least as u64).min(people) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::math::exact::{Rational, ratio};
    use crate::math::robust::tests::{Table, requirement};

    fn counted(table: &Table) -> Vec<(u32, u32, u64)> {
        let own = table.signatures[0].iter().zip(&table.values);
        own.map(|(signature, value)| (*signature, *value, 1)).collect()
    }

    fn bounds(table: &Table, r: &Rational) -> Vec<Unavoidable> {
        let people = counted(table);
        unavoidable(&table.priors, &requirement(r), &CountedSet { set: 0, people: &people })
    }

    /// The fewest people whom any grouping leaves out, by trying all groupings.
    fn fewest_left_out(table: &Table, r: &Rational) -> u64 {
        let many = table.values.len();
        let robust = |mask: usize| {
            let own: Vec<usize> = (0..many).filter(|at| mask >> at & 1 == 1).collect();
            let values: Vec<usize> = own.iter().map(|&at| table.tuples[at].value).collect();
            let rows = own.iter().map(|&at| table.tuples[at].priors[0].clone()).collect();
            Table::of_rows(&values, rows).worst().is_some_and(|worst| worst * r <= Rational::ONE)
        };
        let robust: Vec<bool> = (0..1 << many).map(|mask| mask > 0 && robust(mask)).collect();
        let mut fewest = vec![0u64; 1 << many];
        for mask in 1usize..1 << many {
            let first = mask & mask.wrapping_neg();
            fewest[mask] = 1 + fewest[mask ^ first];
            let mut group = mask;
            while group > 0 {
                if group & first > 0 && robust[group] {
                    fewest[mask] = fewest[mask].min(fewest[mask ^ group]);
                }
                group = (group - 1) & mask;
            }
        }
        fewest[(1 << many) - 1]
    }

    fn table(people: &[(usize, u32)], weights: &[Vec<u64>]) -> Table {
        let row = |own: &Vec<u64>| own.iter().map(|one| ratio(*one, own.iter().sum())).collect();
        let rows: Vec<Vec<Rational>> = weights.iter().map(row).collect();
        let values: Vec<usize> = people.iter().map(|own| own.0).collect();
        Table::new(&values, &[people.iter().map(|own| own.1).collect()], &[rows])
    }

    #[test]
    fn people_whose_value_is_certain_are_all_left_out() {
        let people = [(0, 0), (0, 0), (0, 0), (1, 1), (2, 1), (1, 1)];
        let table = table(&people, &[vec![1, 0, 0], vec![0, 2, 1]]);
        let found = bounds(&table, &ratio(2, 1));
        let expected = Unavoidable { set: 0, value: 0, signatures: vec![0], people: 3, left_out: 3 };
        assert_eq!(found[0], expected);
    }

    #[test]
    fn people_whose_value_is_nearly_certain_are_mostly_left_out() {
        // Thousands with the first signature have value 0, and nobody else is likely to have it.
        let mut builder = crate::math::robust::PriorsBuilder::new(3);
        let counts = [(0, 0, 7000), (0, 1, 40), (0, 2, 60), (1, 0, 2400), (1, 1, 9000), (1, 2, 14000)];
        builder.estimated(2, counts.to_vec()).unwrap();
        let people = [(0, 0, 7000), (1, 1, 9000), (1, 2, 14000)];
        let requirement = requirement(&ratio(2, 1));
        let found = unavoidable(&builder.build(), &requirement, &CountedSet { set: 0, people: &people });
        assert_eq!((found.len(), found[0].value, found[0].people), (1, 0, 7000));
        assert!((6900..7000).contains(&found[0].left_out), "{found:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

        #[test]
        fn no_grouping_leaves_out_fewer(
            people in prop::collection::vec((0usize..3, 0u32..3), 2..8),
            weights in prop::collection::vec(
                prop::collection::vec(prop::sample::select(vec![1u64, 1, 2, 5, 40, 300]), 3), 3),
            above in 3u64..9,
        ) {
            let (table, r) = (table(&people, &weights), ratio(above, 2));
            let fewest = fewest_left_out(&table, &r);
            for own in bounds(&table, &r) {
                prop_assert!(own.left_out <= fewest, "{own:?}, but {fewest} suffice");
            }
        }
    }
}
