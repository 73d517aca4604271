//! SplitMix64 (Steele, Lea, Flood, 2014): small, seeded, only integers, the same numbers on every machine.

/// The odd constant of SplitMix64, 2^64 divided by the golden ratio.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
/// Another odd constant, so that streams do not share the steps of one sequence.
const STREAM_STEP: u64 = 0xd134_2543_de82_ef95;

/// A bijective scrambling of 64 bits: the finalizer of SplitMix64.
#[inline]
pub fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A sequence of pseudorandom numbers.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The sequence of a seed; neighboring seeds are unrelated.
    pub fn new(seed: u64) -> Self {
        Random { state: mix(seed.wrapping_mul(STREAM_STEP).wrapping_add(1)) }
    }

    /// The published sequence that begins after this state.
    pub fn from_state(state: u64) -> Self {
        Random { state }
    }

    /// One of many unrelated sequences of a seed.
    pub fn stream(seed: u64, stream: u64) -> Self {
        Random { state: mix(mix(seed.wrapping_add(STEP)).wrapping_add(stream.wrapping_mul(STREAM_STEP))) }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mix(self.state)
    }

    /// Uniform in `0..bound` in one draw; the bias is below bound / 2^64.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform in `0..bound` without bias: draws from the incomplete last interval are discarded.
    pub fn below_unbiased(&mut self, bound: u64) -> u64 {
        let fair = u64::MAX - u64::MAX % bound;
        loop {
            let drawn = self.bits();
            if drawn < fair {
                return drawn % bound;
            }
        }
    }

    /// Uniform from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// Uniform in 0..1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_numbers_are_the_published_ones() {
        let mut random = Random::from_state(1_234_567);
        let expected: [u64; 3] =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([random.bits(), random.bits(), random.bits()], expected);
    }

    #[test]
    fn neighboring_streams_and_seeds_are_unrelated() {
        // Pearson's chi square of 16 x 16 cells, 225 degrees of freedom: mean 225, deviation 21.
        for (seed_step, stream_step) in [(0, 1), (1, 0)] {
            let mut cells = [[0u32; 16]; 16];
            for stream in 0..65_536 {
                let here = Random::stream(5, stream).below(16) as usize;
                let there = Random::stream(5 + seed_step, stream + stream_step).below(16) as usize;
                cells[here][there] += 1;
            }
            let chi: f64 = cells.iter().flatten().map(|&n| (f64::from(n) - 256.0).powi(2) / 256.0).sum();
            assert!((120.0..360.0).contains(&chi), "{chi}");
        }
    }
}
