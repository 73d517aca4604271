//! Is a group l-diverse or t-close, as other models define it?
//!
//! Exact criteria for the counts of one group. Counts are by sensitive value, and for the ordered distance in
//! the order of the values.
//!
//! Memory: O(values).

use dashu_int::{IBig, UBig};

use crate::math::exact::{Rational, ratio};

/// How far apart two different sensitive values are for t-closeness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    /// All at the same distance 1: the total variation.
    Equal,
    /// By their ranks: neighbours are 1/(values - 1) apart.
    Ordered,
}

/// The earth mover's distance between a group's and the table's sensitive values; at most 1.
///
/// `None` if one of them is empty or their domains differ: there is no distance, so they are not close.
pub fn closeness(group: &[u64], table: &[u64], ground: Ground) -> Option<Rational> {
    let (in_group, in_table) = (total(group), total(table));
    if group.len() != table.len() || in_group == UBig::ZERO || in_table == UBig::ZERO {
        return None;
    }
    let steps = match ground {
        Ground::Equal => 2,
        Ground::Ordered => (group.len() - 1).max(1) as u64,
    };
    let moved = match moved_small(group, table, ground) {
        Some(moved) => UBig::from(moved),
        None => moved_large(group, table, ground, &in_group, &in_table),
    };
    Some(Rational::from_parts(IBig::from(moved), in_group * in_table * UBig::from(steps)))
}

/// The amount moved, over the common denominator of the two totals, in machine integers; `None` if it may not
/// fit.
fn moved_small(group: &[u64], table: &[u64], ground: Ground) -> Option<u128> {
    let sum = |counts: &[u64]| counts.iter().try_fold(0u64, |sum, count| sum.checked_add(*count));
    // Below 2^55 each, a difference is below 2^110 and a sum of 65,536 of them below 2^126.
    let fits = |total: &u64| *total < 1 << 55 && group.len() <= 1 << 16;
    let (in_group, in_table) = (sum(group).filter(fits)?, sum(table).filter(fits)?);
    let (mut moved, mut carried) = (0u128, 0i128);
    for (here, there) in group.iter().zip(table) {
        let difference = i128::from(*here) * i128::from(in_table) - i128::from(*there) * i128::from(in_group);
        match ground {
            Ground::Equal => moved += difference.unsigned_abs(),
            Ground::Ordered => {
                carried += difference;
                moved += carried.unsigned_abs();
            }
        }
    }
    Some(moved)
}

/// The same for any counts.
fn moved_large(group: &[u64], table: &[u64], ground: Ground, in_group: &UBig, in_table: &UBig) -> UBig {
    let mut moved = UBig::ZERO;
    let mut carried = IBig::ZERO;
    for (here, there) in group.iter().zip(table) {
        let difference = IBig::from(UBig::from(*here) * in_table) - IBig::from(UBig::from(*there) * in_group);
        match ground {
            Ground::Equal => moved += difference.into_parts().1,
            Ground::Ordered => {
                carried += difference;
                moved += carried.clone().into_parts().1;
            }
        }
    }
    moved
}

/// One criterion over the shares of the sensitive values in a group, ready to be evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShareRule {
    /// t-closeness to the values of the whole table.
    Closeness {
        /// The largest distance allowed.
        t: Rational,
        /// How far values are from each other.
        ground: Ground,
        /// The position of each code in the domain; the order matters only for [`Ground::Ordered`].
        places: Vec<u32>,
        /// How often each position occurs in the whole table.
        table: Vec<u64>,
    },
    /// Probabilistic l-diversity.
    LargestShare {
        /// The largest share allowed, 1/l.
        most: Rational,
    },
}

impl ShareRule {
    /// t-closeness to a table with these counts by code, in a domain with this number of positions.
    pub fn closeness(t: Rational, ground: Ground, places: Vec<u32>, domain: usize, counts: &[u64]) -> Self {
        let mut table = vec![0; domain];
        for (place, count) in places.iter().zip(counts) {
            table[*place as usize] += count;
        }
        ShareRule::Closeness { t, ground, places, table }
    }

    /// The distance or the largest share, which must not exceed [`ShareRule::most`]; 1 if nothing is known.
    pub fn measure(&self, counts: impl Iterator<Item = (u32, u64)>) -> Rational {
        let measured = match self {
            ShareRule::Closeness { ground, places, table, .. } => {
                let mut group = vec![0; table.len()];
                let mut known = true;
                for (code, count) in counts {
                    let place = places.get(code as usize);
                    match place.and_then(|place| group.get_mut(*place as usize)) {
                        Some(own) => *own += count,
                        None => known &= count == 0,
                    }
                }
                if known { closeness(&group, table, *ground) } else { None }
            }
            ShareRule::LargestShare { .. } => {
                largest_share(&counts.map(|(_, count)| count).collect::<Vec<_>>())
            }
        };
        measured.unwrap_or(Rational::ONE)
    }

    /// The largest measure allowed.
    pub fn most(&self) -> &Rational {
        match self {
            ShareRule::Closeness { t, .. } => t,
            ShareRule::LargestShare { most } => most,
        }
    }

    /// The criterion in words.
    pub fn name(&self) -> &'static str {
        match self {
            ShareRule::Closeness { ground: Ground::Equal, .. } => "t-closeness, equal distance",
            ShareRule::Closeness { ground: Ground::Ordered, .. } => "t-closeness, ordered distance",
            ShareRule::LargestShare { .. } => "probabilistic l-diversity",
        }
    }
}

/// Whether the distance to the table is at most t.
pub fn is_close(group: &[u64], table: &[u64], ground: Ground, t: &Rational) -> bool {
    closeness(group, table, ground).is_some_and(|distance| distance <= *t)
}

/// The number of distinct sensitive values; distinct l-diversity requires at least l.
pub fn distinct_values(group: &[u64]) -> usize {
    group.iter().filter(|count| **count > 0).count()
}

/// The share of the most frequent sensitive value; probabilistic l-diversity requires at most 1/l. `None` for
/// an empty group.
pub fn largest_share(group: &[u64]) -> Option<Rational> {
    let rows = total(group);
    let most = group.iter().copied().max().unwrap_or(0);
    (rows != UBig::ZERO).then(|| Rational::from_parts(IBig::from(most), rows))
}

/// Whether the group has at least l distinct sensitive values.
pub fn is_distinct_diverse(group: &[u64], l: u64) -> bool {
    distinct_values(group) as u64 >= l
}

/// Whether no sensitive value has more than the share 1/l; l = 0 and an empty group are refused.
pub fn is_probabilistic_diverse(group: &[u64], l: u64) -> bool {
    l > 0 && largest_share(group).is_some_and(|share| share <= ratio(1, l))
}

fn total(counts: &[u64]) -> UBig {
    counts.iter().map(|count| UBig::from(*count)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_values() {
        // Nine salaries 3..11; {3,4,5} and {6,8,11}: 0.375 and 0.167 by ranks, as t-closeness has them.
        let table = [1u64; 9];
        let low = [1, 1, 1, 0, 0, 0, 0, 0, 0];
        let spread = [0, 0, 0, 1, 0, 1, 0, 0, 1];
        assert_eq!(closeness(&low, &table, Ground::Ordered), Some(ratio(3, 8)));
        assert_eq!(closeness(&spread, &table, Ground::Ordered), Some(ratio(1, 6)));
        assert_eq!(closeness(&low, &table, Ground::Equal), Some(ratio(2, 3)));
        assert!(is_close(&spread, &table, Ground::Ordered, &ratio(1, 6)));
        assert!(!is_close(&spread, &table, Ground::Ordered, &ratio(1, 7)));
        assert_eq!(closeness(&table, &table, Ground::Equal), Some(Rational::ZERO));
    }

    #[test]
    fn equal_ground_is_total_variation_and_the_ends_of_an_order_are_1_apart() {
        assert_eq!(closeness(&[4, 0, 0], &[0, 0, 7], Ground::Ordered), Some(ratio(1, 1)));
        assert_eq!(closeness(&[4, 0, 0], &[0, 0, 7], Ground::Equal), Some(ratio(1, 1)));
        assert_eq!(closeness(&[5], &[9], Ground::Ordered), Some(Rational::ZERO));
        assert_eq!(closeness(&[3, 1], &[1, 1], Ground::Equal), Some(ratio(1, 4)));
    }

    #[test]
    fn diversity_and_its_edges() {
        assert!(is_distinct_diverse(&[2, 0, 1], 2) && !is_distinct_diverse(&[2, 0, 1], 3));
        assert!(is_probabilistic_diverse(&[2, 1, 1], 2) && !is_probabilistic_diverse(&[3, 1, 1], 2));
        for counts in [&[][..], &[0, 0]] {
            assert!(!is_probabilistic_diverse(counts, 1) && !is_distinct_diverse(counts, 1));
            assert!(!is_close(counts, &[1, 1], Ground::Equal, &ratio(1, 1)));
        }
        assert!(!is_probabilistic_diverse(&[1, 1], 0));
        assert!(!is_close(&[u64::MAX, u64::MAX], &[1, 0], Ground::Equal, &ratio(1, 3)));
    }

    #[test]
    fn machine_integers_and_long_ones_agree() {
        let mut seed = 7u64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            seed >> 40
        };
        for _ in 0..200 {
            let group: Vec<u64> = (0..5).map(|_| next() % 9).collect();
            let table: Vec<u64> = group.iter().map(|count| count + next()).collect();
            for ground in [Ground::Equal, Ground::Ordered] {
                let large = moved_large(&group, &table, ground, &total(&group), &total(&table));
                assert_eq!(moved_small(&group, &table, ground).map(UBig::from), Some(large));
            }
        }
        assert_eq!(moved_small(&[u64::MAX], &[1], Ground::Equal), None);
    }

    #[test]
    fn a_rule_knows_the_places_of_codes_and_refuses_what_it_does_not_know() {
        let rule = ShareRule::closeness(ratio(1, 5), Ground::Ordered, vec![2, 0, 1], 3, &[1, 1, 1]);
        assert_eq!(rule.measure([(1, 1), (2, 1)].into_iter()), ratio(1, 4));
        assert_eq!(rule.measure([(3, 1)].into_iter()), Rational::ONE);
        let share = ShareRule::LargestShare { most: ratio(1, 2) };
        assert_eq!(share.measure([(0, 3), (7, 1)].into_iter()), ratio(3, 4));
        assert_eq!(share.measure([].into_iter()), Rational::ONE);
    }
}
