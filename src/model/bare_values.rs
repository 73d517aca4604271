//! How many people have each value, and how many of them are certain to have it?
//!
//! Memory: 16 bytes for every code up to the largest one seen.

use super::counted_group::CountedGroup;
use crate::math::skyline::Values;
use crate::resources::byte_form::{ByteForm, ByteReader, write_count};

/// People by value, over all groups observed.
#[derive(Debug, Default)]
pub(super) struct BareValues {
    by_code: Vec<PeopleWithValue>,
}

/// How many people have some values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct PeopleWithValue {
    all: u64,
    certain: u64,
}

/// The sums over some values; people with several of them are counted several times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct BareSum {
    /// Values that occur.
    pub values: u64,
    /// People who have one.
    pub people: u64,
    /// People in groups where everybody has it.
    pub certain: u64,
}

impl BareValues {
    /// Adds a group.
    pub fn observe(&mut self, group: &CountedGroup, values: Values) {
        for (code, count) in group.counts() {
            let place = code as usize;
            if place >= self.by_code.len() {
                self.by_code.resize(place + 1, PeopleWithValue::default());
            }
            let certain = match values {
                Values::Single | Values::Set => count >= group.people,
                Values::Multiset => group.people == 1,
            };
            let own = &mut self.by_code[place];
            own.all = own.all.saturating_add(count);
            own.certain = own.certain.saturating_add(if certain { group.people } else { 0 });
        }
    }

    /// Adds other groups.
    pub fn merge(&mut self, other: BareValues) {
        let longer = self.by_code.len().max(other.by_code.len());
        self.by_code.resize(longer, PeopleWithValue::default());
        for (own, other) in self.by_code.iter_mut().zip(other.by_code) {
            own.all = own.all.saturating_add(other.all);
            own.certain = own.certain.saturating_add(other.certain);
        }
    }

    /// Appends the people of all values that occur.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        let occurring = || (0u32..).zip(&self.by_code).filter(|(_, own)| own.all > 0);
        write_count(occurring().count(), bytes);
        occurring().for_each(|(code, own)| (code, (own.all, own.certain)).write(bytes));
    }

    /// Reads them; `codes` are those of the values here.
    pub fn read(codes: &[u32], bytes: &mut ByteReader<'_>) -> Option<Self> {
        let mut bare = BareValues::default();
        for (code, (all, certain)) in Vec::<(u32, (u64, u64))>::read(bytes)? {
            let place = *codes.get(code as usize)? as usize;
            if place >= bare.by_code.len() {
                bare.by_code.resize(place + 1, PeopleWithValue::default());
            }
            bare.by_code[place] = PeopleWithValue { all, certain };
        }
        Some(bare)
    }

    /// The sums over the values that occur and satisfy `wanted`.
    pub fn of(&self, wanted: impl Fn(u32) -> bool) -> BareSum {
        let occurring = (0..).zip(&self.by_code).filter(|(code, own)| own.all > 0 && wanted(*code));
        occurring.fold(BareSum::default(), |sum, (_, own)| BareSum {
            values: sum.values + 1,
            people: sum.people.saturating_add(own.all),
            certain: sum.certain.saturating_add(own.certain),
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        (self.by_code.capacity() * size_of::<PeopleWithValue>()) as u64
    }
}
