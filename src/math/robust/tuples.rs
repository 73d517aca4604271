//! The tuples of a table, by signature and value.

use super::priors::Priors;
use crate::error::{Error, Result};

/// The tuples to be grouped, by index.
#[derive(Debug, Clone, Copy)]
pub struct Tuples<'a> {
    /// The sensitive value of each tuple.
    pub values: &'a [u32],
    /// For each attribute set the signature of each tuple.
    pub signatures: &'a [&'a [u32]],
}

impl Tuples<'_> {
    /// Fails if a signature or value is unknown to the priors.
    pub fn check(&self, priors: &Priors) -> Result<()> {
        let count = self.values.len();
        let fits = priors.sets() > 0
            && self.signatures.len() == priors.sets()
            && u32::try_from(count).is_ok_and(|count| count < u32::MAX)
            && self.values.iter().all(|&value| (value as usize) < priors.values())
            && self.signatures.iter().enumerate().all(|(set, signatures)| {
                signatures.len() == count
                    && signatures.iter().all(|&at| (at as usize) < priors.signatures(set))
            });
        if fits {
            return Ok(());
        }
        Err(Error::input(
            "the tuples do not match the distributions: a signature or value is unknown, or there is no attribute set",
            "give distributions for every signature of the table, and at least one attribute set",
        ))
    }
}
