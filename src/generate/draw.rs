//! Which number comes next?
//!
//! SplitMix64 (Steele, Lea, Flood, 2014), started anew for every row, so that a row depends on the seed and its
//! number alone. Only integers: the same bytes on every machine.

/// The random numbers of one row.
pub(crate) struct Draw {
    state: u64,
}

/// The odd constant of SplitMix64, 2^64 divided by the golden ratio.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
/// Another odd constant, so that the rows do not share the steps of one stream.
const ROW_STEP: u64 = 0xd134_2543_de82_ef95;

impl Draw {
    /// The numbers of row `row` of the table with this seed.
    pub fn of_row(seed: u64, row: u64) -> Self {
        Draw { state: mix(mix(seed.wrapping_add(STEP)).wrapping_add(row.wrapping_mul(ROW_STEP))) }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mix(self.state)
    }

    /// Uniform in `0..bound`; the bias of the multiplication is below bound / 2^64.
    pub fn below(&mut self, bound: u32) -> u32 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u32
    }

    /// Uniform from `low` to `high`, both included.
    pub fn between(&mut self, low: i32, high: i32) -> i32 {
        low + self.below((high - low + 1) as u32) as i32
    }

    /// True in `percent` of 100 cases.
    pub fn percent(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A choice among numbered things by integer weights.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    /// The sum of the weights up to and including each thing.
    upto: Vec<u32>,
}

impl Choice {
    /// At least one weight is positive, and their sum is below 2^32.
    pub fn new(weights: impl IntoIterator<Item = u32>) -> Self {
        let mut sum = 0;
        let upto = weights.into_iter().map(|weight| {
            sum += weight;
            sum
        });
        Choice { upto: upto.collect() }
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
    fn first_numbers_are_those_of_splitmix64() {
        // The published sequence for the state 1234567.
        let mut draw = Draw { state: 1_234_567 };
        let expected: [u64; 3] =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([draw.next(), draw.next(), draw.next()], expected);
    }

    #[test]
    fn choices_follow_their_weights() {
        let choice = Choice::new([0, 3, 0, 1]);
        let mut counts = [0; 4];
        for row in 0..40_000 {
            counts[choice.draw(&mut Draw::of_row(7, row))] += 1;
        }
        assert_eq!([counts[0], counts[2]], [0, 0]);
        assert!((29_500..30_500).contains(&counts[1]), "{counts:?}");
    }

    #[test]
    fn neighbouring_rows_and_seeds_are_unrelated() {
        // Pearson's chi square of 16 x 16 cells, 225 degrees of freedom: mean 225, deviation 21.
        for (seed_step, row_step) in [(0, 1), (1, 0)] {
            let mut cells = [[0u32; 16]; 16];
            for row in 0..65_536 {
                let here = Draw::of_row(5, row).below(16) as usize;
                let there = Draw::of_row(5 + seed_step, row + row_step).below(16) as usize;
                cells[here][there] += 1;
            }
            let chi: f64 = cells.iter().flatten().map(|&n| (f64::from(n) - 256.0).powi(2) / 256.0).sum();
            assert!((120.0..360.0).contains(&chi), "{chi}");
        }
    }
}
