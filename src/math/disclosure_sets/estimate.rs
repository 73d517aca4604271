//! What can a sample say about a disclosure set that is too large to count?
//!
//! Instances of PER are drawn uniformly by shuffling the values within each group, and those in the set are
//! kept, which makes them uniform in the set. The intervals are Hoeffding's, with the error split over every
//! (person, value) pair, so that the upper end holds for the overall largest share. An estimate is never a
//! verdict.
//!
//! Memory: O(people x values per group). Time: O(samples x people x functions).

use std::collections::HashMap;

use super::partition::{Partition, Value};
use crate::math::random::Random;

/// The joint confidence of all intervals of an estimate.
const CONFIDENCE: f64 = 0.99;

/// The ends of a confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub at_least: f64,
    /// The upper end.
    pub at_most: f64,
}

/// The largest share in a sample.
#[derive(Debug, Clone, PartialEq)]
pub struct EstimatedShare {
    /// The person with the largest share in the sample.
    pub person: usize,
    /// The value that has it.
    pub value: Value,
    /// The interval of the largest share over all people and values.
    pub share: Interval,
}

/// An estimate from a seeded sample; it decides nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// How many instances of PER were drawn.
    pub samples: usize,
    /// How many of them were in the set.
    pub members: usize,
    /// The seed: the same seed gives the same estimate.
    pub seed: u64,
    /// The joint confidence of all intervals.
    pub confidence: f64,
    /// The share of PER that the set makes up.
    pub part_of_per: Interval,
    /// The largest share in the set; `None` if no drawn instance was in it.
    pub largest: Option<EstimatedShare>,
}

/// Draws `samples` instances with the publication of `table` under `function`; `is_member` may give up.
pub(super) fn estimate<E>(
    function: &Partition,
    table: &[Value],
    samples: usize,
    seed: u64,
    mut is_member: impl FnMut(&[Value]) -> Result<bool, E>,
) -> Result<Estimate, E> {
    let mut random = Random::from_state(seed);
    let mut instance = table.to_vec();
    let mut held: HashMap<(u32, Value), u64> = HashMap::new();
    let mut members = 0;
    for _ in 0..samples {
        for people in function.groups() {
            for last in (1..people.len()).rev() {
                let other = random.below_unbiased(last as u64 + 1) as usize;
                instance.swap(people[last] as usize, people[other] as usize);
            }
        }
        if is_member(&instance)? {
            members += 1;
            for (person, &value) in instance.iter().enumerate() {
                *held.entry((person as u32, value)).or_insert(0) += 1;
            }
        }
    }
    let publication = function.publish(table);
    let pairs: usize =
        function.groups().iter().zip(&publication).map(|(people, values)| people.len() * values.len()).sum();
    let largest =
        held.iter().max_by_key(|&(&(person, value), &count)| (count, std::cmp::Reverse((person, value))));
    let largest = largest.map(|(&(person, value), &count)| EstimatedShare {
        person: person as usize,
        value,
        share: interval(count, members, pairs),
    });
    Ok(Estimate {
        samples,
        members: members as usize,
        seed,
        confidence: CONFIDENCE,
        part_of_per: interval(members, samples as u64, 1),
        largest,
    })
}

/// Hoeffding's interval for `hits` of `draws`, valid for `statements` such intervals at once, using half of
/// the permitted error.
fn interval(hits: u64, draws: u64, statements: usize) -> Interval {
    if draws == 0 {
        return Interval { at_least: 0.0, at_most: 1.0 };
    }
    let error = (1.0 - CONFIDENCE) / 2.0;
    let width = ((2.0 * statements as f64 / error).ln() / (2.0 * draws as f64)).sqrt();
    let middle = hits as f64 / draws as f64;
    Interval { at_least: (middle - width).max(0.0), at_most: (middle + width).min(1.0) }
}
