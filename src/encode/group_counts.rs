//! The number of people in a group, and how often each sensitive value occurs among them.

use super::rows::People;

/// The sensitive values that a group would publish.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GroupCounts {
    /// Number of people.
    pub people: u64,
    /// Count of every sensitive value, by code.
    pub counts: Vec<u64>,
}

impl GroupCounts {
    /// An empty group, given the number of sensitive values.
    pub fn none(values: usize) -> Self {
        GroupCounts { people: 0, counts: vec![0; values] }
    }

    /// Adds the counts of other people; commutative and associative, with [`GroupCounts::default`] as the identity.
    pub fn add(&mut self, other: &GroupCounts) {
        self.people += other.people;
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(own, others)| *own += others);
    }

    /// Number of different sensitive values.
    pub fn distinct(&self) -> usize {
        self.counts.iter().filter(|&&count| count > 0).count()
    }

    /// How many different values a triple may hold: the sensitive values, and a code for people if they have lists of
    /// values.
    pub(crate) fn slots(&self, people: People) -> usize {
        self.counts.len() + usize::from(people == People::Listed)
    }
}

/// A part of a node to which people are added one after the other.
///
/// Memory: 8 bytes per sensitive value, and 2 per value that occurs. Emptying it takes no longer than filling it did.
#[derive(Debug, Default)]
pub struct GrowingPart {
    people: u64,
    counts: Vec<u64>,
    occurring: Vec<u16>,
}

impl GrowingPart {
    /// Removes everybody; there are `values` sensitive values.
    pub fn empty(&mut self, values: usize) {
        self.people = 0;
        self.occurring.drain(..).for_each(|code| self.counts[usize::from(code)] = 0);
        self.counts.resize(values, 0);
    }

    /// Adds people.
    pub fn add_people(&mut self, people: u64) {
        self.people += people;
    }

    /// Adds occurrences of a value.
    #[inline]
    pub fn add_value(&mut self, code: u16, count: u64) {
        let own = &mut self.counts[usize::from(code)];
        if *own == 0 {
            self.occurring.push(code);
        }
        *own += count;
    }

    /// Number of people.
    pub fn people(&self) -> u64 {
        self.people
    }

    /// Number of different sensitive values.
    pub fn distinct(&self) -> usize {
        self.occurring.len()
    }

    /// The values that occur with their counts, in no particular order.
    pub fn counts(&self) -> impl Iterator<Item = (u16, u64)> + Clone {
        self.occurring.iter().map(|&code| (code, self.counts[usize::from(code)]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts() -> impl Strategy<Value = GroupCounts> {
        (0..9u64, prop::collection::vec(0..9u64, 0..4))
            .prop_map(|(people, counts)| GroupCounts { people, counts })
    }

    fn sum(parts: [&GroupCounts; 2]) -> GroupCounts {
        let mut sum = parts[0].clone();
        sum.add(parts[1]);
        sum
    }

    proptest! {
        #[test]
        fn counts_add_in_any_order(a in counts(), b in counts(), c in counts()) {
            prop_assert_eq!(sum([&a, &b]), sum([&b, &a]));
            prop_assert_eq!(sum([&sum([&a, &b]), &c]), sum([&a, &sum([&b, &c])]));
            prop_assert_eq!(sum([&GroupCounts::default(), &a]), a.clone());
            let counted = |part: &GroupCounts| part.counts.iter().sum::<u64>();
            prop_assert_eq!(counted(&sum([&a, &b])), counted(&a) + counted(&b));
        }
    }
}
