//! Can the values of a group be assigned to its rows at all, and which rows and values have to do with each other?
//!
//! A group that is impossible under the priors contradicts them, and bounds say nothing about its safety. Rows that can have
//! the same values are one source of a flow, each value is a sink with its count, and the group is possible if and only if
//! everything flows. A row can then have a value in some assignment if and only if a step from the row to the value is part
//! of a circle of steps from rows to values they can have and from values to rows that have them in the flow. So the circles
//! divide rows and values into blocks: what the rows of one have does not depend on the others, and a row never has a value
//! of another block, whatever its prior says.
//!
//! Memory: 8 B x different supports x values, and values^2 bits. Work: shortest augmenting paths until none is left.

use std::collections::{BTreeMap, VecDeque};

/// The independent parts of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocks {
    /// The block of each prior.
    pub of_priors: Vec<usize>,
    /// The block of each value that occurs.
    pub of_values: Vec<Option<usize>>,
    /// How many there are.
    pub many: usize,
}

/// The blocks of a group, or `None` if no assignment of its values to its rows has a positive weight; each of the
/// `priors` comes with its number of rows.
pub fn blocks(priors: &[(&[f64], u64)], counts: &[u64]) -> Option<Blocks> {
    let present: Vec<usize> = (0..counts.len()).filter(|value| counts[*value] > 0).collect();
    let support = |prior: &[f64]| present.iter().map(|value| prior[*value] > 0.0).collect::<Vec<bool>>();
    let mut classes: BTreeMap<Vec<bool>, u64> = BTreeMap::new();
    for (prior, rows) in priors {
        let all: &mut u64 = classes.entry(support(prior)).or_default();
        *all = all.saturating_add(*rows);
    }
    let wanted: Vec<u64> = present.iter().map(|value| counts[*value]).collect();
    let (supports, rows): (Vec<Vec<bool>>, Vec<u64>) = classes.into_iter().unzip();
    let mut flow = Flow { flows: vec![vec![0; wanted.len()]; rows.len()], supports, rows, wanted };
    if !flow.carries_all() {
        return None;
    }
    let (of_present, many) = flow.circles();
    let mut of_values = vec![None; counts.len()];
    present.iter().zip(&of_present).for_each(|(value, block)| of_values[*value] = Some(*block));
    let of_prior = |(prior, _): &(&[f64], u64)| {
        let class = flow.supports.binary_search(&support(prior)).ok()?;
        let held = flow.flows[class].iter().position(|rows| *rows > 0)?;
        Some(of_present[held])
    };
    Some(Blocks { of_priors: priors.iter().map(of_prior).collect::<Option<_>>()?, of_values, many })
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
    fn carries_all(&mut self) -> bool {
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

    /// For each value the number of its circle, and the number of circles.
    fn circles(&self) -> (Vec<usize>, usize) {
        let values = self.wanted.len();
        let mut reached = vec![vec![false; values]; values];
        for (held, support) in self.flows.iter().zip(&self.supports) {
            for from in (0..values).filter(|from| held[*from] > 0) {
                reached[from].iter_mut().zip(support).for_each(|(reached, able)| *reached |= able);
            }
        }
        for over in 0..values {
            let further = reached[over].clone();
            for from in reached.iter_mut().filter(|from| from[over]) {
                from.iter_mut().zip(&further).for_each(|(reached, further)| *reached |= further);
            }
        }
        let (mut circles, mut many) = (vec![usize::MAX; values], 0);
        for value in 0..values {
            if circles[value] == usize::MAX {
                let back =
                    |other: &usize| *other == value || (reached[value][*other] && reached[*other][value]);
                (value..values).filter(back).for_each(|other| circles[other] = many);
                many += 1;
            }
        }
        (circles, many)
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
            let found = blocks(&counted, &counts);
            prop_assert_eq!(found.is_some(), some_assignment(&slices, &mut counts));
            let Some(found) = found else { return Ok(()) };
            for (row, prior) in slices.iter().enumerate() {
                for value in 0..4 {
                    if counts[value] == 0 {
                        continue;
                    }
                    // The others, if this row has this value.
                    let others: Vec<&[f64]> =
                        (0..slices.len()).filter(|other| *other != row).map(|other| slices[other]).collect();
                    counts[value] -= 1;
                    let possible = prior[value] > 0.0 && some_assignment(&others, &mut counts);
                    counts[value] += 1;
                    let same = found.of_values[value] == Some(found.of_priors[row]);
                    prop_assert_eq!(possible, prior[value] > 0.0 && same);
                }
            }
        }
    }

    #[test]
    fn a_value_that_nobody_can_have_is_impossible_however_large_the_group() {
        let priors: [(&[f64], u64); 2] = [(&[0.5, 0.5, 0.0], 1_000), (&[0.4, 0.6, 0.0], 400)];
        assert_eq!(blocks(&priors, &[700, 700, 0]).unwrap().many, 1);
        assert_eq!(blocks(&priors, &[700, 699, 1]), None);
    }

    #[test]
    fn a_value_that_others_need_is_in_another_block() {
        // The last row must have the third value, so the others share the first two, and the second row cannot have the third.
        let priors: [(&[f64], u64); 3] =
            [(&[0.5, 0.5, 0.0], 2), (&[0.2, 0.3, 0.5], 1), (&[0.0, 0.0, 1.0], 1)];
        let found = blocks(&priors, &[2, 1, 1]).unwrap();
        assert_eq!(
            found,
            Blocks { of_priors: vec![0, 0, 1], of_values: vec![Some(0), Some(0), Some(1)], many: 2 }
        );
    }
}
