//! The number of people in a group, and how often each sensitive value occurs among them.

use crate::resources::byte_form::{ByteForm, ByteReader};

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
}

/// The sensitive values that a group would publish, as a list of those that occur.
///
/// Memory: 16 bytes per value that occurs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Part {
    /// Number of people.
    pub people: u64,
    values: usize,
    counts: Vec<(u16, u64)>,
}

impl Part {
    /// The same as all counts.
    pub fn of(group: &GroupCounts) -> Self {
        let occurring = (0..).zip(&group.counts).filter(|&(_, &count)| count > 0);
        let mut counts: Vec<(u16, u64)> = occurring.map(|(code, &count)| (code, count)).collect();
        counts.shrink_to_fit();
        Part { people: group.people, values: group.counts.len(), counts }
    }

    /// Number of sensitive values, whether or not they occur.
    pub fn values(&self) -> usize {
        self.values
    }

    /// The values that occur with their counts, by code.
    pub fn counts(&self) -> &[(u16, u64)] {
        &self.counts
    }

    /// Number of different sensitive values.
    pub fn distinct(&self) -> usize {
        self.counts.len()
    }

    /// How often values occur in all.
    pub fn occurrences(&self) -> u64 {
        self.counts.iter().map(|(_, count)| count).sum()
    }

    /// All counts.
    pub fn unpack(&self) -> GroupCounts {
        let mut group = GroupCounts { people: self.people, counts: vec![0; self.values] };
        self.counts.iter().for_each(|&(code, count)| group.counts[usize::from(code)] = count);
        group
    }
}

impl ByteForm for GroupCounts {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.people.write(bytes);
        self.counts.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        Some(GroupCounts { people: u64::read(bytes)?, counts: ByteForm::read(bytes)? })
    }
}

impl ByteForm for Part {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.people.write(bytes);
        (self.values as u64).write(bytes);
        self.counts.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        let (people, values) = (u64::read(bytes)?, u64::read(bytes)? as usize);
        let counts: Vec<(u16, u64)> = ByteForm::read(bytes)?;
        let ascending = counts.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let known = counts.last().is_none_or(|&(code, _)| usize::from(code) < values);
        (ascending && known).then_some(Part { people, values, counts })
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

    /// What was added.
    pub fn part(&mut self) -> Part {
        self.occurring.sort_unstable();
        Part { people: self.people, values: self.counts.len(), counts: self.counts().collect() }
    }

    /// What was added, and what is left of a part that contains it, in memory that is used again.
    pub fn divide(&self, whole: &Part, [own, rest]: &mut [Part; 2]) {
        for (part, people) in [(&mut *own, self.people), (&mut *rest, whole.people - self.people)] {
            part.people = people;
            part.values = whole.values;
            part.counts.clear();
        }
        for &(code, count) in &whole.counts {
            let here = self.counts[usize::from(code)];
            if here > 0 {
                own.counts.push((code, here));
            }
            if here < count {
                rest.counts.push((code, count - here));
            }
        }
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

    #[test]
    fn parts_keep_what_occurs() {
        for values in [0, 1, 7, 1000] {
            for step in [1, 2, 50] {
                let counts = (0..values).map(|code| if code % step == 0 { code as u64 } else { 0 });
                let group = GroupCounts { people: 7, counts: counts.collect() };
                let part = Part::of(&group);
                assert_eq!((part.values(), part.distinct()), (values, group.distinct()));
                assert_eq!(part.unpack(), group);
            }
        }
    }

    #[test]
    fn a_growing_part_and_the_rest_make_up_the_whole() {
        let whole = Part::of(&GroupCounts { people: 9, counts: vec![3, 0, 4, 2] });
        let (mut growing, mut parts) = (GrowingPart::default(), <[Part; 2]>::default());
        for _ in 0..2 {
            growing.empty(4);
            growing.add_people(5);
            [(3, 1), (0, 3), (3, 1)].into_iter().for_each(|(code, count)| growing.add_value(code, count));
            let expected = [(5, vec![3, 0, 0, 2]), (4, vec![0, 0, 4, 0])];
            let expected = expected.map(|(people, counts)| Part::of(&GroupCounts { people, counts }));
            assert_eq!(growing.part(), expected[0]);
            growing.divide(&whole, &mut parts);
            assert_eq!(parts, expected);
        }
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
