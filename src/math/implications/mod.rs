//! How sure can an adversary become by knowing any k implications between atoms?
//!
//! An atom says "this person has this value". Every person has one value; a bucket publishes its people
//! and its multiset of values. The worst knowledge is k implications A_1 -> A, ..., A_k -> A with one
//! consequent, and the maximum disclosure is MD(k) = 1 / (1 + R(k)), where R(k) is the least of
//! Pr(no A_i and not A) / Pr(A) over all choices of the k + 1 atoms.
//!
//! Memory: O(K^2) numbers for all k up to K, regardless of the number of buckets. Not here: reading releases,
//! naming people and values, the search over a lattice.
//!
//! # What has to be kept of a release
//!
//! For a bucket b of n people with counts f_0 >= f_1 >= ..., F(j) = f_0 + ... + f_{j-1}, and a list
//! k_0 >= k_1 >= ... (person i is the subject of k_i atoms, about the k_i most frequent values), the
//! chance that no atom is true is the product of max(0, n - i - F(k_i)) / (n - i) over i. Let `without(b, j)`
//! be the least such product over all lists with sum j, and `with(b, j)` = `without(b, j + 1)` n / f_0:
//! b then holds A and j antecedents. R(k) is the least `with(b, j)` `without(b_1, j_1)` ... over
//! **different** buckets with j + j_1 + ... = k.
//!
//! **Lemma 1.** `without(b, i + j) <= without(b, i) without(b, j)`. Merge the two optimal lists into one
//! sorted list: the factor 1 - F/(n - t) of each entry can only fall, as its place t can only grow. If the
//! merged list has more than n entries, the factor at place n - 1 is 0.
//!
//! **Lemma 2.** R(k) is also the least such product when buckets may **repeat**: by Lemma 1 two uses of a
//! bucket can be joined into one that is no larger, with or without A among them. Hence only the least
//! `without(., j)` and the least `with(., j)` over all buckets matter, for each j on its own: 2K + 1 minima
//! ([`Disclosure`](disclosure::Disclosure)). Minima merge in any order with the same result, and copies of a bucket change nothing.
//!
//! **Lemma 3.** If p is the union of the buckets p_1 and p_2, then `without(p, j)` is at least
//! `without(p_1, j_1) without(p_2, j_2)` and `with(p, j)` is at least a product of `with` of one part and
//! `without` of the other, for some split of j. For F_p(j) <= F_1(j) + F_2(j), so when a people of p_1 and
//! i - a of p_2 are used, (n - i - F_p)/(n - i) is at least the mediant of the parts' factors
//! (n_1 - a - F_1)/(n_1 - a) and (n_2 - (i - a) - F_2)/(n_2 - (i - a)), so at least the smaller one: give
//! person i to that part. With A, the first factor and n/f_0 make (n - F_p)/f_0 and the same argument holds.
//! A part that runs out of people has already reached a factor 0.
//!
//! So merging buckets never raises MD, and a bucket whose parts are in a collection adds nothing to it:
//! replace it by copies of its parts (Lemma 3), which change nothing (Lemma 2). Minima over all buckets
//! **ever seen** therefore accept exactly the splits that the live buckets accept ([`Safety`]); no tree of
//! products is needed, and since minima only fall, a split that is refused once is always refused.

mod bars;
mod bucket;
mod disclosure;
mod product;
mod safety;
mod scanner;

pub use crate::math::confidence::{Confidence, ThresholdVerdict};
pub use bucket::Bucket;
pub use disclosure::{Atoms, DisclosureWitness};
pub use safety::{Safety, SafetyRoom};
pub use scanner::Scanner;

/// The largest number of implications that callers should accept: time and memory grow with its square,
/// and a bucket with k + 1 different values discloses everything to k implications anyway.
pub const IMPLICATIONS_LIMIT: usize = 256;

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;
