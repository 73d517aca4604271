//! Random choices for one row. A row depends only on the seed and its number.

use crate::math::random::Random;

/// The random numbers of one row.
pub(super) struct Draw(Random);

impl Draw {
    /// The numbers of row `row` of the table with this seed.
    pub fn of_row(seed: u64, row: u64) -> Self {
        Draw(Random::stream(seed, row))
    }

    /// Uniform in `0..bound`; the bias is below bound / 2^64.
    pub fn below(&mut self, bound: u32) -> u32 {
        self.0.below(u64::from(bound)) as u32
    }

    /// Uniform from `low` to `high`, both included.
    pub fn between(&mut self, low: i32, high: i32) -> i32 {
        low + self.below((high - low + 1) as u32) as i32
    }

    /// True with a probability of `percent` / 100.
    pub fn percent(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }
}

/// A choice among numbered things by integer weights.
#[derive(Debug, Clone)]
pub(super) struct WeightedChoice {
    /// The sum of the weights up to and including each thing.
    upto: Vec<u32>,
}

impl WeightedChoice {
    /// At least one weight is positive, and their sum is below 2^32.
    pub fn new(weights: impl IntoIterator<Item = u32>) -> Self {
        let mut sum = 0;
        let upto = weights.into_iter().map(|weight| {
            sum += weight;
            sum
        });
        WeightedChoice { upto: upto.collect() }
    }

    /// The number of the chosen thing.
    pub fn draw(&self, draw: &mut Draw) -> usize {
        let total = self.upto.last().copied().unwrap_or(0);
        let ticket = draw.below(total);
        self.upto.partition_point(|&upto| upto <= ticket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_follow_their_weights() {
        let choice = WeightedChoice::new([0, 3, 0, 1]);
        let mut counts = [0; 4];
        for row in 0..40_000 {
            counts[choice.draw(&mut Draw::of_row(7, row))] += 1;
        }
        assert_eq!([counts[0], counts[2]], [0, 0]);
        assert!((29_500..30_500).contains(&counts[1]), "{counts:?}");
    }
}
