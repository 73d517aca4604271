//! How are runs of small numbers encoded?
//!
//! Parquet's hybrid of run lengths and bit packing, for dictionary codes and definition levels. The work grows with the
//! number of runs, not of values.

/// Runs of equal numbers; neighbors differ.
#[derive(Debug, Default)]
pub(super) struct CodeRuns {
    runs: Vec<(u32, u32)>,
}

impl CodeRuns {
    /// Appends `number` `length` times; the sum of all lengths is below 2^31.
    pub fn push(&mut self, number: u32, length: u32) {
        match self.runs.last_mut() {
            Some((last, count)) if *last == number => *count += length,
            _ => self.runs.push((number, length)),
        }
    }

    pub fn clear(&mut self) {
        self.runs.clear();
    }

    /// Appends the encoding to `bytes`; every number is below 2^width.
    pub fn encode(&self, width: u32, bytes: &mut Vec<u8>) {
        let mut packer =
            Packer { width, waiting: [0; GROUP], waiting_count: 0, packed: Vec::new(), groups: 0 };
        for &(number, length) in &self.runs {
            let left = packer.fill_group(number, length);
            if left >= GROUP as u32 {
                packer.flush(bytes);
                varint(left << 1, bytes);
                bytes.extend_from_slice(&number.to_le_bytes()[..width.div_ceil(8) as usize]);
            } else {
                packer.start_group(number, left);
            }
        }
        if packer.waiting_count > 0 {
            // The reader knows the number of values and ignores the rest of the group.
            packer.fill_group(0, GROUP as u32);
        }
        packer.flush(bytes);
    }
}

/// Bit-packed numbers come in groups of this many.
const GROUP: usize = 8;

/// The bit-packed numbers since the last long run.
struct Packer {
    width: u32,
    waiting: [u32; GROUP],
    waiting_count: usize,
    packed: Vec<u8>,
    groups: u32,
}

impl Packer {
    /// Completes a partial group with up to `length` copies of `number`; returns how many are left.
    fn fill_group(&mut self, number: u32, length: u32) -> u32 {
        if self.waiting_count == 0 {
            return length;
        }
        let taken = (GROUP - self.waiting_count).min(length as usize);
        self.start_group(number, taken as u32);
        length - taken as u32
    }

    /// Adds `length` copies of `number` to the group; they fit.
    fn start_group(&mut self, number: u32, length: u32) {
        let end = self.waiting_count + length as usize;
        self.waiting[self.waiting_count..end].fill(number);
        self.waiting_count = end;
        if end == GROUP {
            self.pack();
        }
    }

    fn pack(&mut self) {
        let (mut bits, mut bit_count) = (0u64, 0);
        for number in self.waiting {
            bits |= u64::from(number) << bit_count;
            bit_count += self.width;
            while bit_count >= 8 {
                self.packed.push(bits as u8);
                bits >>= 8;
                bit_count -= 8;
            }
        }
        self.waiting_count = 0;
        self.groups += 1;
    }

    fn flush(&mut self, bytes: &mut Vec<u8>) {
        if self.groups > 0 {
            varint((self.groups << 1) | 1, bytes);
            bytes.append(&mut self.packed);
            self.groups = 0;
        }
    }
}

fn varint(mut number: u32, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}
