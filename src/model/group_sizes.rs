//! How many groups there are, and how large they are. Memory: 2 KiB.

use crate::resources::byte_form::{ByteForm, ByteReader};

/// How many groups there are of each size: bars of equal width on a logarithmic scale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupSizes {
    /// Groups by bar.
    bars: Box<[u64; GroupSizes::BARS]>,
    /// The sum of the squared sizes.
    squares: u128,
}

impl GroupSizes {
    /// Four bars for every doubling; sizes up to 8 have their own.
    const BARS: usize = 4 * 62;

    /// The bar of a size.
    fn bar(people: u64) -> usize {
        let octave = people.max(1).ilog2();
        let quarter = ((u128::from(people.max(1)) * 4) >> octave) as usize - 4;
        if octave < 2 { people as usize } else { (octave as usize - 1) * 4 + quarter }
    }

    /// The smallest size of a bar.
    fn start(bar: usize) -> u64 {
        match bar {
            0..4 => bar as u64,
            _ => (4 + bar as u64 % 4) << (bar / 4 - 1),
        }
    }

    /// The sum of the squared sizes of all groups: the discernibility.
    pub fn squares(&self) -> u128 {
        self.squares
    }

    /// The bars from the first to the last that is not empty: smallest size, largest size, groups.
    pub fn bars(&self) -> Vec<(u64, u64, u64)> {
        let filled = |bar: &usize| self.bars[*bar] > 0;
        let ends = (0..Self::BARS).find(filled).zip((0..Self::BARS).rev().find(filled));
        let Some((first, last)) = ends else { return Vec::new() };
        (first..=last).map(|bar| (Self::start(bar), Self::start(bar + 1) - 1, self.bars[bar])).collect()
    }
}

/// How many groups there are, and how large they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sizes {
    /// Groups.
    pub groups: u64,
    /// People.
    pub people: u64,
    /// People in the smallest group.
    pub smallest: u64,
    /// Different sensitive values in the group with the fewest.
    pub fewest_values: u64,
    /// Groups by size.
    pub by_size: GroupSizes,
}

impl Default for Sizes {
    fn default() -> Self {
        Sizes {
            groups: 0,
            people: 0,
            smallest: u64::MAX,
            fewest_values: u64::MAX,
            by_size: GroupSizes { bars: Box::new([0; GroupSizes::BARS]), squares: 0 },
        }
    }
}

impl Sizes {
    /// Adds a group.
    pub fn observe(&mut self, people: u64, distinct: u64) {
        self.groups += 1;
        self.by_size.bars[GroupSizes::bar(people)] += 1;
        self.by_size.squares += u128::from(people) * u128::from(people);
        self.people += people;
        self.smallest = self.smallest.min(people);
        self.fewest_values = self.fewest_values.min(distinct);
    }

    /// Adds other groups.
    pub fn merge(&mut self, other: &Sizes) {
        self.groups += other.groups;
        for (own, others) in self.by_size.bars.iter_mut().zip(other.by_size.bars.iter()) {
            *own += others;
        }
        self.by_size.squares += other.by_size.squares;
        self.people += other.people;
        self.smallest = self.smallest.min(other.smallest);
        self.fewest_values = self.fewest_values.min(other.fewest_values);
    }
}

impl ByteForm for Sizes {
    fn write(&self, bytes: &mut Vec<u8>) {
        let Sizes { groups, people, smallest, fewest_values, by_size } = self;
        [*groups, *people, *smallest, *fewest_values].iter().for_each(|own| own.write(bytes));
        by_size.squares.write(bytes);
        by_size.bars.iter().for_each(|own| own.write(bytes));
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        let mut sizes = Sizes {
            groups: u64::read(bytes)?,
            people: u64::read(bytes)?,
            smallest: u64::read(bytes)?,
            fewest_values: u64::read(bytes)?,
            ..Sizes::default()
        };
        sizes.by_size.squares = u128::read(bytes)?;
        for bar in sizes.by_size.bars.iter_mut() {
            *bar = u64::read(bytes)?;
        }
        Some(sizes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_lies_between_the_ends_of_its_bar() {
        for people in (1..3000).chain((2..40).flat_map(|i| [1u64 << i, (1 << i) - 1, 5 << i])) {
            let bar = GroupSizes::bar(people);
            assert!(GroupSizes::start(bar) <= people && people < GroupSizes::start(bar + 1), "{people}");
        }
    }
}
