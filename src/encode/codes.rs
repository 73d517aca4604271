//! The codes of one column, stored as narrowly as the number of codes allows.

use bytemuck::Pod;

/// Codes of one column, one per row; stored as narrowly as the number of codes allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Codes {
    /// At most 256 codes.
    Narrow(Vec<u8>),
    /// At most 65,536 codes.
    Wide(Vec<u16>),
}

impl Codes {
    /// An empty buffer for `rows` rows of a column with `codes` codes.
    pub fn with_capacity(codes: u32, rows: usize) -> Self {
        if codes <= 256 {
            Codes::Narrow(Vec::with_capacity(rows))
        } else {
            Codes::Wide(Vec::with_capacity(rows))
        }
    }

    /// An empty buffer for codes of the same column.
    pub fn none(&self) -> Self {
        match self {
            Codes::Narrow(_) => Codes::Narrow(Vec::new()),
            Codes::Wide(_) => Codes::Wide(Vec::new()),
        }
    }

    /// Bytes per row for a column with this many codes.
    pub fn row_bytes(codes: u32) -> usize {
        if codes <= 256 { 1 } else { 2 }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Codes::Narrow(codes) => codes.len(),
            Codes::Wide(codes) => codes.len(),
        }
    }

    /// The code of a row.
    pub fn get(&self, row: usize) -> u16 {
        match self {
            Codes::Narrow(codes) => u16::from(codes[row]),
            Codes::Wide(codes) => codes[row],
        }
    }

    /// The highest code of all rows.
    pub fn highest(&self) -> Option<u32> {
        match self {
            Codes::Narrow(codes) => codes.iter().max().map(|&code| code.into()),
            Codes::Wide(codes) => codes.iter().max().map(|&code| code.into()),
        }
    }

    /// Appends a code, which must be one of the column's.
    pub fn push(&mut self, code: u16) {
        match self {
            Codes::Narrow(codes) => codes.push(code as u8),
            Codes::Wide(codes) => codes.push(code),
        }
    }

    /// Appends all codes of another buffer of the same column.
    pub fn append(&mut self, other: &Codes) {
        match (self, other) {
            (Codes::Narrow(own), Codes::Narrow(others)) => own.extend_from_slice(others),
            (Codes::Wide(own), Codes::Wide(others)) => own.extend_from_slice(others),
            (own, others) => (0..others.len()).for_each(|row| own.push(others.get(row))),
        }
    }

    /// Removes all codes.
    pub fn clear(&mut self) {
        match self {
            Codes::Narrow(codes) => codes.clear(),
            Codes::Wide(codes) => codes.clear(),
        }
    }

    /// Appends the codes of some rows of another buffer of the same column.
    pub fn extend_rows(&mut self, other: &Codes, rows: &[u32]) {
        match (self, other) {
            (Codes::Narrow(own), Codes::Narrow(others)) => {
                own.extend(rows.iter().map(|&row| others[row as usize]));
            }
            (Codes::Wide(own), Codes::Wide(others)) => {
                own.extend(rows.iter().map(|&row| others[row as usize]))
            }
            (own, others) => rows.iter().for_each(|&row| own.push(others.get(row as usize))),
        }
    }

    /// Appends the codes of numbers: number i has the code `table[i]`, which must be one of the column's.
    pub fn extend_mapped(&mut self, numbers: &Codes, table: &[u16]) {
        match (self, numbers) {
            (Codes::Narrow(own), Codes::Narrow(numbers)) => {
                own.extend(numbers.iter().map(|&number| table[usize::from(number)] as u8));
            }
            (Codes::Narrow(own), Codes::Wide(numbers)) => {
                own.extend(numbers.iter().map(|&number| table[usize::from(number)] as u8));
            }
            (Codes::Wide(own), Codes::Narrow(numbers)) => {
                own.extend(numbers.iter().map(|&number| table[usize::from(number)]));
            }
            (Codes::Wide(own), Codes::Wide(numbers)) => {
                own.extend(numbers.iter().map(|&number| table[usize::from(number)]));
            }
        }
    }

    /// The codes as bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Codes::Narrow(codes) => codes,
            Codes::Wide(codes) => bytemuck::cast_slice(codes),
        }
    }

    /// Frees the space that was kept for more rows.
    pub fn shrink(&mut self) {
        match self {
            Codes::Narrow(codes) => codes.shrink_to_fit(),
            Codes::Wide(codes) => codes.shrink_to_fit(),
        }
    }

    /// Adds `more` rows and returns their bytes, to be filled by the caller.
    pub fn grow(&mut self, more: usize) -> &mut [u8] {
        fn grown<T: Pod>(codes: &mut Vec<T>, more: usize) -> &mut [u8] {
            let start = codes.len();
            codes.resize(start + more, T::zeroed());
            bytemuck::cast_slice_mut(&mut codes[start..])
        }
        match self {
            Codes::Narrow(codes) => grown(codes, more),
            Codes::Wide(codes) => grown(codes, more),
        }
    }
}
