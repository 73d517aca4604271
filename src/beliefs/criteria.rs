//! Is a group l-diverse or t-close, as other models define it?
//!
//! Criteria of one group against counts, exact. Counts are by sensitive value, and for the ordered distance in
//! the order of the values.
//!
//! Memory: O(1).

use dashu_int::{IBig, UBig};

use crate::exact::{Rational, ratio};

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
/// `None` if one of them is empty or they have different domains: no distance, so not close.
pub fn closeness(group: &[u64], table: &[u64], ground: Ground) -> Option<Rational> {
    let (in_group, in_table) = (total(group), total(table));
    if group.len() != table.len() || in_group == UBig::ZERO || in_table == UBig::ZERO {
        return None;
    }
    // Everything over the common denominator of the two totals.
    let mut moved = UBig::ZERO;
    let mut carried = IBig::ZERO;
    for (here, there) in group.iter().zip(table) {
        let difference =
            IBig::from(UBig::from(*here) * &in_table) - IBig::from(UBig::from(*there) * &in_group);
        match ground {
            Ground::Equal => moved += difference.into_parts().1,
            Ground::Ordered => {
                carried += difference;
                moved += carried.clone().into_parts().1;
            }
        }
    }
    let steps = match ground {
        Ground::Equal => 2,
        Ground::Ordered => (group.len() - 1).max(1) as u64,
    };
    Some(Rational::from_parts(IBig::from(moved), in_group * in_table * UBig::from(steps)))
}

/// Whether the distance to the table is at most t.
pub fn is_close(group: &[u64], table: &[u64], ground: Ground, t: &Rational) -> bool {
    closeness(group, table, ground).is_some_and(|distance| distance <= *t)
}

/// The number of distinct sensitive values; distinct l-diversity asks for at least l.
pub fn distinct_values(group: &[u64]) -> usize {
    group.iter().filter(|count| **count > 0).count()
}

/// The share of the most frequent sensitive value; probabilistic l-diversity asks for at most 1/l.
/// `None` for an empty group.
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
}
