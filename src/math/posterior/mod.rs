//! How strongly does an adversary who knows every tuple's prior believe that it has each value of its group?
//!
//! A group publishes its tuples and, separately, the multiset of their values. Every distinct assignment of
//! the values is weighted by the product of the tuples' priors; the posterior of tuple i and value x is the
//! share of the weight in which i gets x. It is computed without enumeration, by a forward and a backward
//! pass over the vectors of used counts.
//!
//! Memory: about 20 B per state in binary64, big integers otherwise; there are prod(count + 1) states, and
//! the caller sets the limit. Work: states x values. Binary64 works for groups of up to a few hundred tuples;
//! in longer ones the weights of one layer can lie too far apart, and exact arithmetic takes over.
//! Invariants: sums of non-negative products only, so nothing cancels; a binary64 result carries a proven
//! bound on its relative error or is refused; a total weight of 0 is a contradiction, never "safe". Not here:
//! where priors come from, how posteriors are used (`robust`).

mod certified;
mod forward_backward;
mod lattice;
#[cfg(test)]
mod tests;

pub use certified::{Against, compare, judge};
pub use forward_backward::{approximate, exact};

/// Why a posterior was not computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// No assignment has a positive weight: the priors contradict the group.
    Contradiction,
    /// The group has more states than the caller's limit.
    TooManyStates,
    /// The number of tuples differs from the number of values, a prior is negative or not a number, or the
    /// group is empty.
    Malformed,
    /// Binary64 cannot hold the weights with a relative error bound; the exact computation can.
    Underflow,
}
