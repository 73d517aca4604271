//! The values of a column, numbered in the order in which they are found.
//!
//! Codes follow from all values of a table, so they are known only at its end. With numbers in their place, rows can be
//! kept while values are still being found.

use super::cell_table::Divisor;
use super::grid::GridCell;
use super::scale::Scale;
use hashbrown::HashMap;

/// The number of null.
pub const NULL_NUMBER: u16 = 0;

/// The number of whatever was seen while values are not numbered.
const SEEN: u16 = 1;

/// Stands for what was not seen.
const UNSEEN: u16 = u16::MAX;

/// A numbering has at most this many numbers, null included.
pub const MOST_NUMBERS: u32 = 65_535;

type Numbers<K> = HashMap<K, u16, foldhash::fast::FixedState>;

/// The numbers of the values of a column.
///
/// Memory: a copy of each value, and at most twice 2 bytes.
#[derive(Debug)]
pub struct Numbering {
    /// The numbers that there are room for, null included.
    most: u32,
    /// Whether there were more values than numbers.
    overflown: bool,
    values: NumberedValues,
    text_bytes: usize,
}

/// Values and their numbers, by the type of the values.
#[derive(Debug)]
pub enum NumberedValues {
    /// Numbers, dates or times: a value is the first key of its cell.
    Keys(Scale, Numbers<i64>),
    /// Texts.
    Texts(Numbers<Box<str>>),
}

impl Numbering {
    /// No values yet of a column with this scale, or of texts; there are `most` numbers, null included.
    pub fn new(scale: Option<Scale>, most: u32) -> Self {
        let values = match scale {
            Some(scale) => NumberedValues::Keys(scale, Numbers::default()),
            None => NumberedValues::Texts(Numbers::default()),
        };
        Numbering { most: most.min(MOST_NUMBERS), overflown: false, values, text_bytes: 0 }
    }

    /// How many numbers there may be, null included.
    pub fn most(&self) -> u32 {
        self.most
    }

    /// Whether every value got a number.
    pub fn is_complete(&self) -> bool {
        !self.overflown
    }

    /// The numbered values.
    pub fn values(&self) -> &NumberedValues {
        &self.values
    }

    /// The bytes that the values take.
    pub fn memory(&self) -> u64 {
        let slots = match &self.values {
            NumberedValues::Keys(_, numbers) => numbers.capacity() * 8 / 7 * (size_of::<(i64, u16)>() + 1),
            NumberedValues::Texts(numbers) => {
                numbers.capacity() * 8 / 7 * (size_of::<(Box<str>, u16)>() + 1) + self.text_bytes
            }
        };
        slots as u64
    }

    /// The number of a known cell.
    fn known_key(&self, first: i64) -> Option<u16> {
        match &self.values {
            NumberedValues::Keys(_, numbers) => numbers.get(&first).copied(),
            NumberedValues::Texts(_) => None,
        }
    }

    fn add_key(&mut self, first: i64) -> u16 {
        let next = self.next();
        if let (Some(next), NumberedValues::Keys(_, numbers)) = (next, &mut self.values) {
            numbers.insert(first, next);
        }
        next.unwrap_or(SEEN)
    }

    /// The number of a text.
    pub fn text(&mut self, text: &str) -> u16 {
        if let NumberedValues::Texts(numbers) = &self.values
            && let Some(&number) = numbers.get(text)
        {
            return number;
        }
        let next = self.next();
        if let (Some(next), NumberedValues::Texts(numbers)) = (next, &mut self.values) {
            numbers.insert(text.into(), next);
            self.text_bytes += text.len() + text.len() / 4;
        }
        next.unwrap_or(SEEN)
    }

    /// The number of a new value; `None` if there is none left.
    fn next(&mut self) -> Option<u16> {
        let taken = match &self.values {
            NumberedValues::Keys(_, numbers) => numbers.len(),
            NumberedValues::Texts(numbers) => numbers.len(),
        };
        let next = u16::try_from(taken + 1).ok().filter(|&next| u32::from(next) < self.most);
        self.overflown |= next.is_none();
        next
    }
}

/// Which cells were seen already, by the steps of a grid, so that they need not be looked up again.
///
/// Memory: 2 bytes for each step between the least and the greatest one that are remembered; at most 512 KiB, and at most
/// 128 bytes for each cell that was found.
pub struct SeenCells {
    /// The first key of the first step.
    low: i64,
    /// Keys of all steps.
    span: u64,
    width: u64,
    divisor: Divisor,
    /// The number of the cell of each step, or [`UNSEEN`].
    numbers: Vec<u16>,
}

impl SeenCells {
    const MOST_STEPS: u64 = 1 << 18;

    /// Steps of this many keys, from multiples of it.
    pub fn new(width: u64) -> Self {
        // Offsets from the first step are below 2^32, where reciprocals are exact.
        let width = if (1..1 << 32).contains(&width) { width } else { 1 };
        SeenCells { low: 0, span: 0, width, divisor: Divisor::new(width), numbers: Vec::new() }
    }

    /// The bytes that the steps take.
    pub fn memory(&self) -> u64 {
        2 * self.numbers.capacity() as u64
    }

    /// The number of a key's cell, if its step is remembered.
    #[inline]
    pub fn get(&self, key: i64) -> Option<u16> {
        let offset = key.wrapping_sub(self.low) as u64;
        if offset >= self.span {
            return None;
        }
        let number = self.numbers[self.divisor.quotient(offset) as usize];
        (number != UNSEEN).then_some(number)
    }

    /// The number of the cell that a key lies in, and whether the cell is new. Values get no numbers without a numbering.
    #[cold]
    pub fn find(
        &mut self,
        key: i64,
        cell: GridCell,
        numbering: Option<&mut Numbering>,
        found: usize,
    ) -> (u16, bool) {
        let (number, new) = match numbering {
            None => (SEEN, true),
            Some(numbering) => match numbering.known_key(cell.first) {
                Some(number) => (number, false),
                None => (numbering.add_key(cell.first), true),
            },
        };
        self.remember(key, cell, number, found);
        (number, new)
    }

    /// Remembers the number of a key's step, if the cell holds all of the step and it is not too far from the others.
    fn remember(&mut self, key: i64, cell: GridCell, number: u16, found: usize) {
        let width = self.width as i64;
        let ends = key.div_euclid(width).checked_mul(width).and_then(|first| {
            let last = first.checked_add(width - 1)?;
            (cell.holds(first) && cell.holds(last)).then_some((first, last))
        });
        let Some((first, last)) = ends else { return };
        if self.reach(first, last, found) {
            let place = self.divisor.quotient(first.wrapping_sub(self.low) as u64) as usize;
            self.numbers[place] = number;
        }
    }

    /// Makes room for a step, and for as many beyond it as there are now; returns whether there is room.
    fn reach(&mut self, first: i64, last: i64, found: usize) -> bool {
        if self.numbers.is_empty() {
            self.low = first;
        }
        let steps = self.numbers.len() as u64;
        let before = self.low.saturating_sub(first).max(0) as u64 / self.width;
        let up_to = last.saturating_sub(self.low).max(0) as u64 / self.width + 1;
        let needed = (steps + before).max(up_to);
        let most = Self::MOST_STEPS.min(4096 + 64 * found as u64).min((1 << 32) / self.width);
        if needed > most {
            return false;
        }
        if needed > steps {
            let spare = steps.min(most - needed) as usize;
            // Room below must not begin below the least key.
            let below = before as usize + if before > 0 { spare } else { 0 };
            let Some(low) = self.low.checked_sub_unsigned(below as u64 * self.width) else { return false };
            let above = needed as usize - steps as usize - before as usize;
            let above = above + if before > 0 { 0 } else { spare };
            self.numbers.splice(0..0, std::iter::repeat_n(UNSEEN, below));
            self.numbers.resize(self.numbers.len() + above, UNSEEN);
            self.low = low;
            self.span = self.numbers.len() as u64 * self.width;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Every cell has one number, whether its step is remembered or not.
        #[test]
        fn cells_and_numbers_correspond(
            width in prop::sample::select(vec![1i64, 2, 5, 1000, 1 << 33]),
            cut in prop::option::of(-40i64..40),
            keys in prop::collection::vec(
                prop_oneof![0i64..900, -90_000i64..90_000, any::<i64>(), Just(i64::MIN), Just(i64::MAX)], 0..300,
            ),
        ) {
            // A cell of the grid, unless a border within cuts it in two.
            let cell = |key: i64| {
                let first = key.div_euclid(width).saturating_mul(width);
                let last = first.saturating_add(width - 1);
                match cut.filter(|&cut| first < cut && cut <= last) {
                    Some(cut) if key < cut => GridCell { first, last: cut - 1 },
                    Some(cut) => GridCell { first: cut, last },
                    None => GridCell { first, last },
                }
            };
            let mut numbering = Numbering::new(Some(Scale::Integer), MOST_NUMBERS);
            let mut seen = SeenCells::new(width as u64);
            let mut expected: BTreeMap<i64, u16> = BTreeMap::new();
            for &key in keys.iter().chain(&keys) {
                let next = expected.len() as u16 + 1;
                let number = *expected.entry(cell(key).first).or_insert(next);
                let found = expected.len();
                let got = seen.get(key)
                    .unwrap_or_else(|| seen.find(key, cell(key), Some(&mut numbering), found).0);
                prop_assert_eq!(got, number, "{}", key);
                prop_assert!(seen.numbers.len() <= 4096 + 64 * found);
            }
            let NumberedValues::Keys(_, numbers) = numbering.values() else { panic!("keys") };
            prop_assert_eq!(numbers.iter().map(|(key, number)| (*key, *number)).collect::<BTreeMap<_, _>>(), expected);
        }
    }

    #[test]
    fn a_numbering_with_too_many_values_is_not_complete() {
        let mut numbering = Numbering::new(None, 3);
        assert_eq!(["a", "b", "a"].map(|text| numbering.text(text)), [1, 2, 1]);
        assert!(numbering.is_complete());
        numbering.text("c");
        assert!(!numbering.is_complete());
    }
}
