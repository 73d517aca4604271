//! How does a value travel to another process, and how is a wrong one noticed?
//!
//! A parcel begins with the version of its form, its kind and the hash of the policy that it belongs to: a parcel of
//! another version, kind or policy is refused. Equal values have equal bytes.
//!
//! Invariant: bytes that were damaged on the way are an error or another value, never a panic and never more memory than
//! a small multiple of their length. Parcels stay within one run, so there is no older version to be read.

use crate::error::{Error, Result};
use std::collections::BTreeMap;

/// Changes with the form of any parcel.
const VERSION: u8 = 2;

/// A value that can be written as bytes and read back.
pub trait ByteForm: Sized {
    /// Appends the value.
    fn write(&self, bytes: &mut Vec<u8>);

    /// Reads the next value; `None` if the bytes are not those of one.
    fn read(bytes: &mut ByteReader<'_>) -> Option<Self>;
}

/// A value that travels on its own.
pub trait Parcel: ByteForm {
    /// Tells kinds of parcels apart; all are different.
    const KIND: u8;
    /// What it is, for errors.
    const NAME: &'static str;
}

/// Marks the parcels of one policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyStamp(String);

impl PolicyStamp {
    /// The stamp of the policy with this hash.
    pub fn new(policy_sha256: impl Into<String>) -> Self {
        PolicyStamp(policy_sha256.into())
    }

    /// Writes a parcel.
    pub fn seal<T: Parcel>(&self, value: &T) -> Vec<u8> {
        let mut bytes = vec![VERSION, T::KIND];
        self.0.write(&mut bytes);
        value.write(&mut bytes);
        bytes
    }

    /// Reads a parcel.
    pub fn open<T: Parcel>(&self, bytes: &[u8]) -> Result<T> {
        let refuse = |problem: &str| {
            Err(Error::input(
                format!("{}: {problem}", T::NAME),
                "run all stages with the same version and the same policy",
            ))
        };
        let mut bytes = ByteReader::new(bytes);
        match (u8::read(&mut bytes), u8::read(&mut bytes)) {
            (Some(VERSION), Some(kind)) if kind == T::KIND => {}
            (Some(VERSION), Some(_)) => return refuse("these are the bytes of something else"),
            _ => return refuse("these bytes are of another version"),
        }
        if String::read(&mut bytes).as_ref() != Some(&self.0) {
            return refuse("these bytes belong to another policy");
        }
        match T::read(&mut bytes) {
            Some(value) if bytes.0.is_empty() => Ok(value),
            _ => refuse("these bytes are damaged"),
        }
    }
}

/// The rest of some bytes.
pub struct ByteReader<'b>(&'b [u8]);

impl<'b> ByteReader<'b> {
    /// All of these bytes.
    pub fn new(bytes: &'b [u8]) -> Self {
        ByteReader(bytes)
    }

    /// The next bytes.
    pub fn take(&mut self, length: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    /// The number of items that follow, each of which takes at least `least` bytes.
    pub fn count(&mut self, least: usize) -> Option<usize> {
        let count = usize::try_from(u64::read(self)?).ok()?;
        (count.checked_mul(least.max(1))? <= self.0.len()).then_some(count)
    }
}

/// Writes a number of items.
pub fn write_count(count: usize, bytes: &mut Vec<u8>) {
    (count as u64).write(bytes);
}

/// Writes many bytes.
pub fn write_bytes(own: &[u8], bytes: &mut Vec<u8>) {
    write_count(own.len(), bytes);
    bytes.extend_from_slice(own);
}

/// Reads many bytes.
pub fn read_bytes(bytes: &mut ByteReader<'_>) -> Option<Vec<u8>> {
    let length = bytes.count(1)?;
    bytes.take(length).map(<[u8]>::to_vec)
}

/// Writes some items one after the other.
pub fn write_items<'t, T: ByteForm + 't>(items: impl ExactSizeIterator<Item = &'t T>, bytes: &mut Vec<u8>) {
    write_count(items.len(), bytes);
    items.for_each(|item| item.write(bytes));
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl ByteForm for $number {
            fn write(&self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
                let taken = bytes.take(size_of::<$number>())?;
                Some(<$number>::from_le_bytes(taken.try_into().ok()?))
            }
        }
    )*};
}

numbers!(u8, i8, u16, u32, u64, i64, u128);

impl ByteForm for bool {
    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(*self));
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        match u8::read(bytes)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl ByteForm for String {
    fn write(&self, bytes: &mut Vec<u8>) {
        write_bytes(self.as_bytes(), bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        String::from_utf8(read_bytes(bytes)?).ok()
    }
}

impl ByteForm for Box<str> {
    fn write(&self, bytes: &mut Vec<u8>) {
        write_bytes(self.as_bytes(), bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        String::read(bytes).map(String::into_boxed_str)
    }
}

impl<T: ByteForm> ByteForm for Vec<T> {
    fn write(&self, bytes: &mut Vec<u8>) {
        write_items(self.iter(), bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        let count = bytes.count(1)?;
        (0..count).map(|_| T::read(bytes)).collect()
    }
}

impl<T: ByteForm> ByteForm for Box<[T]> {
    fn write(&self, bytes: &mut Vec<u8>) {
        write_items(self.iter(), bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        Vec::read(bytes).map(Vec::into_boxed_slice)
    }
}

impl<T: ByteForm> ByteForm for Option<T> {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.is_some().write(bytes);
        self.iter().for_each(|own| own.write(bytes));
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        if bool::read(bytes)? { T::read(bytes).map(Some) } else { Some(None) }
    }
}

impl<A: ByteForm, B: ByteForm> ByteForm for (A, B) {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.0.write(bytes);
        self.1.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        Some((A::read(bytes)?, B::read(bytes)?))
    }
}

impl<K: ByteForm + Ord, V: ByteForm> ByteForm for BTreeMap<K, V> {
    fn write(&self, bytes: &mut Vec<u8>) {
        write_count(self.len(), bytes);
        for (key, value) in self {
            key.write(bytes);
            value.write(bytes);
        }
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        let entries = Vec::<(K, V)>::read(bytes)?;
        let count = entries.len();
        let map = BTreeMap::from_iter(entries);
        (map.len() == count).then_some(map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Sample = Vec<(Option<String>, BTreeMap<i64, Box<[u16]>>)>;

    impl Parcel for Sample {
        const KIND: u8 = 200;
        const NAME: &'static str = "a sample";
    }

    #[derive(Debug)]
    struct Other;

    impl ByteForm for Other {
        fn write(&self, _: &mut Vec<u8>) {}

        fn read(_: &mut ByteReader<'_>) -> Option<Self> {
            Some(Other)
        }
    }

    impl Parcel for Other {
        const KIND: u8 = 201;
        const NAME: &'static str = "another thing";
    }

    fn sample() -> impl Strategy<Value = Sample> {
        let codes = prop::collection::vec(any::<u16>(), 0..4).prop_map(Vec::into_boxed_slice);
        let map = prop::collection::btree_map(any::<i64>(), codes, 0..4);
        prop::collection::vec((prop::option::of(".{0,5}"), map), 0..5)
    }

    proptest! {
        #[test]
        fn values_come_back_and_damage_does_not_panic(
            value in sample(),
            place in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let stamp = PolicyStamp::new("ab12");
            let bytes = stamp.seal(&value);
            prop_assert_eq!(&stamp.open::<Sample>(&bytes).unwrap(), &value);
            let mut damaged = bytes.clone();
            damaged[place.index(bytes.len())] = byte;
            let _ = stamp.open::<Sample>(&damaged);
            prop_assert!(stamp.open::<Sample>(&bytes[..place.index(bytes.len())]).is_err());
            prop_assert!(stamp.open::<Sample>(&[&bytes[..], &[0]].concat()).is_err());
        }
    }

    #[test]
    fn wrong_parcels_are_refused_for_what_they_are() {
        let stamp = PolicyStamp::new("ab12");
        let told = |bytes: &[u8]| stamp.open::<Other>(bytes).unwrap_err().problem_and_remedy().0;
        let good = stamp.seal(&Other);
        assert!(stamp.open::<Other>(&good).is_ok());
        let mut older = good.clone();
        older[0] = VERSION - 1;
        assert_eq!(told(&older), "another thing: these bytes are of another version");
        assert_eq!(told(&[]), "another thing: these bytes are of another version");
        assert_eq!(told(&stamp.seal(&Sample::new())), "another thing: these are the bytes of something else");
        let others = PolicyStamp::new("cd34").seal(&Other);
        assert_eq!(told(&others), "another thing: these bytes belong to another policy");
        // A count that promises more than there is takes no memory.
        let mut long = stamp.seal(&Sample::new());
        let end = long.len();
        long[end - 8..].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(stamp.open::<Sample>(&long).is_err());
    }
}
