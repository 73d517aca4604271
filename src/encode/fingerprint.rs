//! A fingerprint of the rows that were read.

use super::codes::Codes;
use super::rows::{Rows, Sensitive};
use crate::math::random::mix;

/// Sums of row hashes, which identify the input regardless of the order of its rows and how they are split into files.
///
/// Quasi-identifiers and sensitive values are hashed separately: with a hash over both, anyone who knows the
/// quasi-identifiers could test which person has which value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fingerprint {
    /// Number of rows.
    pub rows: u64,
    /// Wrapping sum of a hash of each row's quasi-identifiers.
    pub quasi: u128,
    /// Wrapping sum of a hash of each sensitive value.
    pub sensitive: u128,
}

impl Fingerprint {
    /// The fingerprint of the rows from row `start` on.
    pub fn of(rows: &Rows, start: usize) -> Self {
        let mut hashes = vec![0u64; rows.len() - start];
        rows.columns.iter().for_each(|codes| hash_codes(codes, start, &mut hashes));
        let value = |value: u16| mix(u64::from(value) + 1);
        let sensitive = match &rows.sensitive {
            Sensitive::Single(codes) => sum((start..codes.len()).map(|row| value(codes.get(row)))),
            Sensitive::Lists { .. } => {
                sum((start..rows.len()).flat_map(|row| rows.list(row).iter().map(|&own| value(own))))
            }
        };
        Fingerprint { rows: hashes.len() as u64, quasi: sum(hashes.into_iter()), sensitive }
    }

    /// Adds the fingerprint of other rows; commutative and associative.
    pub fn merge(&mut self, other: Fingerprint) {
        self.rows += other.rows;
        self.quasi = self.quasi.wrapping_add(other.quasi);
        self.sensitive = self.sensitive.wrapping_add(other.sensitive);
    }

    /// The sums as they are published.
    pub fn text(&self) -> String {
        format!("{:032x}{:032x}", self.quasi, self.sensitive)
    }
}

/// The wrapping sum of hashes, each widened to 128 bits.
fn sum(hashes: impl Iterator<Item = u64>) -> u128 {
    hashes.fold(0, |sum, hash| sum.wrapping_add(u128::from(hash) | u128::from(mix(!hash)) << 64))
}

fn hash_codes(codes: &Codes, start: usize, hashes: &mut [u64]) {
    match codes {
        Codes::Narrow(codes) => {
            codes[start..]
                .iter()
                .zip(hashes)
                .for_each(|(&code, hash)| *hash = mix(*hash ^ (u64::from(code) + 1)));
        }
        Codes::Wide(codes) => {
            codes[start..]
                .iter()
                .zip(hashes)
                .for_each(|(&code, hash)| *hash = mix(*hash ^ (u64::from(code) + 1)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(rows: &[(u8, u16, u16)]) -> Fingerprint {
        let columns = vec![
            Codes::Narrow(rows.iter().map(|row| row.0).collect()),
            Codes::Wide(rows.iter().map(|row| row.1).collect()),
        ];
        let sensitive = Sensitive::Single(Codes::Wide(rows.iter().map(|row| row.2).collect()));
        Fingerprint::of(&Rows { columns, sensitive }, 0)
    }

    proptest! {
        #[test]
        fn parts_merge_in_any_order(
            rows in prop::collection::vec((any::<u8>(), any::<u16>(), any::<u16>()), 0..40),
            cuts in (0usize..40, 0usize..40),
        ) {
            let (low, high) = (cuts.0.min(cuts.1).min(rows.len()), cuts.0.max(cuts.1).min(rows.len()));
            let [a, b, c] = [&rows[..low], &rows[low..high], &rows[high..]].map(of);
            let merged = |one: Fingerprint, other: Fingerprint| {
                let mut one = one;
                one.merge(other);
                one
            };
            let whole = of(&rows);
            prop_assert_eq!(merged(merged(a, b), c), whole);
            prop_assert_eq!(merged(c, merged(b, a)), whole);
            prop_assert_eq!(merged(a, merged(b, c)), whole);
        }
    }
}
