//! What a split test remembers of the groups that were accepted.
//!
//! Memory: that of the minima, regardless of the number of groups.

use crate::math::implications::Safety;
use crate::math::skyline::{SkylineState, WindowState};

/// The minima of a [`SplitTest`](super::split::SplitTest) over all groups accepted so far, as a value.
///
/// Merging is commutative and associative, and merging what is contained already changes nothing: so the statistics of a
/// test that started from a copy of another one's can be merged back as they are.
#[derive(Debug, Clone)]
pub enum SplitStatistics {
    /// Every group is judged on its own.
    Nothing,
    /// Minima of every protected value.
    Skyline(SkylineState),
    /// Minima of every window of numbers.
    Windows(Vec<WindowState>),
    /// Minima of every number of implications.
    Implications(Safety),
    /// Those of several tests, in their order.
    Each(Vec<SplitStatistics>),
}

impl SplitStatistics {
    /// Whether these are certainly the same minima; where that is not compared, they are not.
    pub fn are_surely(&self, other: &SplitStatistics) -> bool {
        match (self, other) {
            (SplitStatistics::Nothing, SplitStatistics::Nothing) => true,
            (SplitStatistics::Skyline(own), SplitStatistics::Skyline(other)) => own == other,
            (SplitStatistics::Each(own), SplitStatistics::Each(other)) => {
                own.len() == other.len() && own.iter().zip(other).all(|(own, other)| own.are_surely(other))
            }
            _ => false,
        }
    }

    /// The bytes that they take, about.
    pub fn bytes(&self) -> u64 {
        match self {
            SplitStatistics::Nothing => 0,
            SplitStatistics::Skyline(state) => state.bytes(),
            SplitStatistics::Windows(states) => states.iter().map(WindowState::bytes).sum(),
            SplitStatistics::Implications(safety) => safety.bytes(),
            SplitStatistics::Each(all) => all.iter().map(SplitStatistics::bytes).sum(),
        }
    }
}
