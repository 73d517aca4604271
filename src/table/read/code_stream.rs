//! Which dictionary codes does a page hold?
//!
//! Parquet's hybrid of run lengths and bit packing. Runs are handed over as runs, so that a long one takes no time.
//!
//! Memory: the page, and [`UNPACKED`] codes. A page that is not as it should be ends the stream ([`CodeStream::next`]
//! returns `None`): nothing here reads beyond the page, and every step consumes bytes or rows.

use bytes::Bytes;

/// Codes that are unpacked at once.
const UNPACKED: usize = 32 * GROUP;

/// Bit-packed codes come in groups of this many.
const GROUP: usize = 8;

/// Codes of at most so many bits are unpacked to bytes.
const BYTE: usize = 8;

/// Some codes of a page, at least one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CodePiece<'s> {
    /// The same code so many times.
    Same(u32, usize),
    /// These codes.
    Each(&'s [u32]),
    /// These codes, of at most eight bits each.
    Bytes(&'s [u8]),
}

/// The codes of one page.
pub(super) struct CodeStream {
    bytes: Bytes,
    at: usize,
    width: usize,
    /// Rows that are still to come.
    left: usize,
    run: Run,
    /// What was unpacked last is here, or in `unpacked_bytes` if it has at most eight bits.
    unpacked: [u32; UNPACKED],
    unpacked_bytes: [u8; UNPACKED],
}

/// What is left of the run that was begun.
enum Run {
    Same { code: u32, left: usize },
    Packed { groups: usize, next: usize, end: usize },
}

impl CodeStream {
    /// A page without rows.
    pub fn empty() -> Self {
        CodeStream::of_width(Bytes::new(), 0, 0)
    }

    /// The codes of this many rows; the first byte says how many bits each has.
    pub fn new(mut bytes: Bytes, rows: usize) -> Option<Self> {
        let width = usize::from(*bytes.first()?);
        let _ = bytes.split_to(1);
        (width <= 32).then(|| CodeStream::of_width(bytes, width, rows))
    }

    /// This many numbers of `width` bits.
    pub fn of_width(bytes: Bytes, width: usize, rows: usize) -> Self {
        let run = Run::Same { code: 0, left: 0 };
        let (unpacked, unpacked_bytes) = ([0; UNPACKED], [0; UNPACKED]);
        CodeStream { bytes, at: 0, width, left: rows, run, unpacked, unpacked_bytes }
    }

    /// Rows that are still to come.
    pub fn left(&self) -> usize {
        self.left
    }

    /// The next codes, at most this many; `most` and the rows left are not 0. `None` if the page is not as it should be.
    pub fn next(&mut self, most: usize) -> Option<CodePiece<'_>> {
        let most = most.min(self.left);
        if self.run.is_over() {
            self.run = self.begin()?;
        }
        if let Run::Packed { groups, next, end } = &mut self.run
            && next == end
        {
            // No run goes on beyond the rows of the page, except within its last group.
            let some = (*groups).min(UNPACKED / GROUP);
            let (bytes, length) = (self.bytes.get(self.at..)?, some * self.width);
            match self.width <= BYTE {
                true => unpack_narrow(bytes, self.width, &mut self.unpacked_bytes[..some * GROUP]),
                false => unpack_wide(bytes, self.width, &mut self.unpacked[..some * GROUP]),
            }
            (*groups, *next, *end) = (*groups - some, 0, some * GROUP);
            self.at += length;
        }
        match &mut self.run {
            Run::Same { code, left } => {
                let rows = most.min(*left);
                *left -= rows;
                self.left -= rows;
                Some(CodePiece::Same(*code, rows))
            }
            Run::Packed { next, end, .. } => {
                let rows = most.min(*end - *next);
                let codes = *next..*next + rows;
                *next += rows;
                self.left -= rows;
                Some(match self.width <= BYTE {
                    true => CodePiece::Bytes(&self.unpacked_bytes[codes]),
                    false => CodePiece::Each(&self.unpacked[codes]),
                })
            }
        }
    }

    /// Begins the next run, which has at least one row.
    fn begin(&mut self) -> Option<Run> {
        let header = self.varint()?;
        let length = (header >> 1) as usize;
        if header & 1 == 1 {
            let fits = length.checked_mul(self.width)? <= self.bytes.len() - self.at;
            let ends = length > 0 && length <= self.left.div_ceil(GROUP);
            return (fits && ends).then_some(Run::Packed { groups: length, next: 0, end: 0 });
        }
        let bytes = self.bytes.get(self.at..self.at + self.width.div_ceil(8))?;
        self.at += bytes.len();
        let code = bytes.iter().rev().fold(0, |code, &byte| code << 8 | u32::from(byte));
        // The dictionary may have such an entry, but the page does not speak of it.
        let fits = u64::from(code) < 1 << self.width;
        (fits && 0 < length && length <= self.left).then_some(Run::Same { code, left: length })
    }

    fn varint(&mut self) -> Option<u32> {
        let mut number = 0u64;
        for shift in (0..35).step_by(7) {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return u32::try_from(number).ok();
            }
        }
        None
    }
}

impl Run {
    fn is_over(&self) -> bool {
        match self {
            Run::Same { left, .. } => *left == 0,
            Run::Packed { groups, next, end } => *groups == 0 && next == end,
        }
    }
}

/// Unpacks groups of codes of at most eight bits; the bytes hold them all.
fn unpack_narrow(bytes: &[u8], width: usize, codes: &mut [u8]) {
    match width {
        1 => unpack_words::<1>(bytes, codes),
        2 => unpack_words::<2>(bytes, codes),
        3 => unpack_words::<3>(bytes, codes),
        4 => unpack_words::<4>(bytes, codes),
        5 => unpack_words::<5>(bytes, codes),
        6 => unpack_words::<6>(bytes, codes),
        7 => unpack_words::<7>(bytes, codes),
        8 => codes.copy_from_slice(&bytes[..codes.len()]),
        _ => codes.fill(0),
    }
}

/// A group of narrow codes is one word, and so are their bytes.
fn unpack_words<const WIDTH: usize>(bytes: &[u8], codes: &mut [u8]) {
    let (words, _) = codes.as_chunks_mut::<GROUP>();
    for (group, codes) in words.iter_mut().enumerate() {
        *codes = spread::<WIDTH>(word_at(bytes, group * WIDTH)).to_le_bytes();
    }
}

/// The lowest eight codes of a word, one in each byte: four move to the upper half, then two to the upper half of each
/// half, then one.
#[inline]
fn spread<const WIDTH: usize>(word: u64) -> u64 {
    let four = (1u64 << (4 * WIDTH)) - 1;
    let two = ((1u64 << (2 * WIDTH)) - 1) * 0x0000_0001_0000_0001;
    let one = ((1u64 << WIDTH) - 1) * 0x0001_0001_0001_0001;
    let word = (word & four) | ((word << (32 - 4 * WIDTH)) & (four << 32));
    let word = (word & two) | ((word << (16 - 2 * WIDTH)) & (two << 16));
    (word & one) | ((word << (8 - WIDTH)) & (one << 8))
}

/// Unpacks groups of codes of more bits.
fn unpack_wide(bytes: &[u8], width: usize, codes: &mut [u32]) {
    let mask = (1u64 << width) - 1;
    for (i, code) in codes.iter_mut().enumerate() {
        let bit = i * width;
        *code = ((word_at(bytes, bit / 8) >> (bit % 8)) & mask) as u32;
    }
}

/// Eight bytes from this place on; zeros beyond the end.
#[inline]
fn word_at(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        Some(word) => u64::from_le_bytes(*word),
        None => {
            let mut word = [0; 8];
            let rest = bytes.get(at..).unwrap_or(&[]);
            word[..rest.len()].copy_from_slice(rest);
            u64::from_le_bytes(word)
        }
    }
}
