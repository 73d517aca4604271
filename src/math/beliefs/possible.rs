//! Can the values of a group be assigned to its rows at all?
//!
//! The bounds of [`ceiling`](super::ceiling) hold for groups that are possible under the priors; an
//! impossible group contradicts them, and its bounds say nothing about safety. Rows that can have the same
//! values are one source of a flow, each value is a sink with its count, and the group is possible if and
//! only if everything flows.
//!
//! Memory: 8 B x different supports x values. Work: shortest augmenting paths until none is left.

use std::collections::{BTreeMap, VecDeque};

/// Whether some assignment of the values to the rows has a positive weight; each of the `priors` comes with
/// its number of rows.
pub fn is_possible(priors: &[(&[f64], u64)], counts: &[u64]) -> bool {
    let present: Vec<usize> = (0..counts.len()).filter(|value| counts[*value] > 0).collect();
    let mut supports: BTreeMap<Vec<bool>, u64> = BTreeMap::new();
    for (prior, rows) in priors {
        let support = present.iter().map(|value| prior[*value] > 0.0).collect();
        let all: &mut u64 = supports.entry(support).or_default();
        *all = all.saturating_add(*rows);
    }
    let wanted: Vec<u64> = present.iter().map(|value| counts[*value]).collect();
    let (supports, rows): (Vec<Vec<bool>>, Vec<u64>) = supports.into_iter().unzip();
    Flow { flows: vec![vec![0; wanted.len()]; rows.len()], supports, rows, wanted }.carries_all()
}

struct Flow {
    supports: Vec<Vec<bool>>,
    /// Rows of each support that have no value yet.
    rows: Vec<u64>,
    /// How often each value remains to be assigned.
    wanted: Vec<u64>,
    /// How many rows of a support have a value.
    flows: Vec<Vec<u64>>,
}

impl Flow {
    fn carries_all(mut self) -> bool {
        for support in 0..self.rows.len() {
            while self.rows[support] > 0 {
                if !self.push(support) {
                    return false;
                }
            }
        }
        self.wanted.iter().all(|wanted| *wanted == 0)
    }

    /// Assigns a value to rows of a support, moving others if necessary; false if this is impossible.
    fn push(&mut self, from: usize) -> bool {
        // The support from which a value was reached, and the value through which a support was reached.
        let mut reached_from: Vec<Option<usize>> = vec![None; self.wanted.len()];
        let mut by_way_of: Vec<Option<usize>> = vec![None; self.rows.len()];
        let mut waiting = VecDeque::from([from]);
        while let Some(support) = waiting.pop_front() {
            for value in 0..self.wanted.len() {
                if !self.supports[support][value] || reached_from[value].is_some() {
                    continue;
                }
                reached_from[value] = Some(support);
                if self.wanted[value] > 0 {
                    self.carry(from, value, &reached_from, &by_way_of);
                    return true;
                }
                for (other, way) in by_way_of.iter_mut().enumerate() {
                    if other != from && way.is_none() && self.flows[other][value] > 0 {
                        *way = Some(value);
                        waiting.push_back(other);
                    }
                }
            }
        }
        false
    }

    fn carry(
        &mut self,
        from: usize,
        end: usize,
        reached_from: &[Option<usize>],
        by_way_of: &[Option<usize>],
    ) {
        let mut path = vec![];
        let mut value = end;
        while let Some(support) = reached_from[value] {
            let before = by_way_of[support].filter(|_| support != from);
            path.push((support, value, before));
            match before {
                Some(before) => value = before,
                None => break,
            }
        }
        let given_up = path.iter().filter_map(|(support, _, before)| Some(self.flows[*support][(*before)?]));
        let amount = given_up.fold(self.rows[from].min(self.wanted[end]), u64::min);
        for (support, value, before) in path {
            self.flows[support][value] += amount;
            if let Some(before) = before {
                self.flows[support][before] -= amount;
            }
        }
        self.rows[from] -= amount;
        self.wanted[end] -= amount;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Assigns the values to one row after another.
    fn some_assignment(priors: &[&[f64]], counts: &mut [u64]) -> bool {
        let Some((first, rest)) = priors.split_first() else { return counts.iter().all(|count| *count == 0) };
        (0..counts.len()).any(|value| {
            if counts[value] == 0 || first[value] == 0.0 {
                return false;
            }
            counts[value] -= 1;
            let found = some_assignment(rest, counts);
            counts[value] += 1;
            found
        })
    }

    proptest! {
        #[test]
        fn agrees_with_dealing_out(
            rows in prop::collection::vec(prop::collection::vec(0..3u8, 4), 1..8),
            own in prop::collection::vec(0..4usize, 8),
        ) {
            let priors: Vec<Vec<f64>> =
                rows.iter().map(|row| row.iter().map(|p| f64::from(*p) / 6.0).collect()).collect();
            let mut counts = vec![0; 4];
            own[..rows.len()].iter().for_each(|value| counts[*value] += 1);
            let slices: Vec<&[f64]> = priors.iter().map(Vec::as_slice).collect();
            let counted: Vec<(&[f64], u64)> = slices.iter().map(|prior| (*prior, 1)).collect();
            prop_assert_eq!(is_possible(&counted, &counts), some_assignment(&slices, &mut counts));
        }
    }

    #[test]
    fn a_value_that_nobody_can_have_is_impossible_however_large_the_group() {
        let priors: [(&[f64], u64); 2] = [(&[0.5, 0.5, 0.0], 1_000), (&[0.4, 0.6, 0.0], 400)];
        assert!(is_possible(&priors, &[700, 700, 0]));
        assert!(!is_possible(&priors, &[700, 699, 1]));
    }
}
