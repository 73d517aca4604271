//! Which risks would a release carry that its owner may not expect?
//!
//! A risk stops the release unless the policy accepts it by name; all risks that are known at one time are reported
//! together. None of them depends on the order of the rows, the memory or the number of threads.

mod columns;
mod ends;
mod found;
mod kept;
mod nights;
mod unprotected;
mod values;

pub(super) use found::Lints;
