//! How likely is it that a person has a value, for an adversary who knows l values the target lacks, the
//! values of k other people and m members of the target's family?
//!
//! The way through the module: [`RankedGroup`] (what was published of one group) gives a [`shape::GroupShape`] per
//! target value, shapes give the two ratios T and V, minima of those over all groups are the five
//! [`Statistics`], and these give the breach probability and a certified [`ThresholdVerdict`](crate::math::confidence::ThresholdVerdict).
//! [`SkylineState`] does that for every target value and every skyline point at once, and [`KeptGroups`]
//! finds all points up to which a value is safe, [`DecisiveGroups`] the groups that decide the breach at any point. [`WindowState`] does it for [`Windows`] of numbers in place of values.
//!
//! Memory: five numbers with their evidence per target value and skyline point, regardless of the number of
//! rows.

mod covering;
mod decisive;
mod explanation;
mod group;
mod knowledge;
mod levels;
mod near;
mod point;
pub mod program;
pub mod shape;
mod size_bars;
mod state;
mod statistics;
#[cfg(test)]
mod tests;
mod window_state;
#[cfg(test)]
mod window_tests;

pub use crate::math::confidence::Confidence;
pub use decisive::{DecisiveGroup, DecisiveGroups, OfferedGroup};
pub use explanation::{Seats, steps, useful};
pub use group::{LargestCounts, RankedGroup, Ranking};
pub use knowledge::{KeptGroups, SharedCounts};
pub use levels::{KnowledgeSkyline, Level, MaximalPoint, Reach, UpTo};
pub use near::{NearGroup, Window, Windows, Within};
pub use point::{Knowledge, Point};
pub use shape::Values;
pub use state::{GroupCount, ProtectedCodes, SkylineState, TargetPoint};
pub use statistics::{Breach, HarmlessGroups, Statistics};
pub use window_state::WindowState;
