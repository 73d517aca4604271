//! Rows as codes, column by column.

use super::codes::Codes;
use super::group_counts::GroupCounts;

/// The codes of the rows of a node, column by column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    /// One per quasi-identifier.
    pub columns: Vec<Codes>,
    /// What the people have.
    pub sensitive: Sensitive,
}

/// The sensitive values of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sensitive {
    /// One code per row.
    Single(Codes),
    /// Any number of codes per row: `lists` says which list a row has, `offsets` where each list ends.
    Lists {
        /// The list of each row.
        lists: Vec<u32>,
        /// List i is `values[offsets[i]..offsets[i + 1]]`.
        offsets: Vec<u32>,
        /// The codes of all lists.
        values: Vec<u16>,
    },
}

impl Rows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match &self.sensitive {
            Sensitive::Single(codes) => codes.len(),
            Sensitive::Lists { lists, .. } => lists.len(),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The sensitive codes of a row that has a list of them.
    pub fn list(&self, row: usize) -> &[u16] {
        match &self.sensitive {
            Sensitive::Single(_) => &[],
            Sensitive::Lists { lists, offsets, values } => {
                let list = lists[row] as usize;
                &values[offsets[list] as usize..offsets[list + 1] as usize]
            }
        }
    }

    /// Appends a row of rows with the same columns.
    pub fn push_row(&mut self, other: &Rows, row: usize) {
        for (own, others) in self.columns.iter_mut().zip(&other.columns) {
            own.push(others.get(row));
        }
        match (&mut self.sensitive, &other.sensitive) {
            (Sensitive::Single(own), Sensitive::Single(others)) => own.push(others.get(row)),
            (Sensitive::Lists { lists, offsets, values }, _) => {
                values.extend_from_slice(other.list(row));
                lists.push(lists.len() as u32);
                offsets.push(values.len() as u32);
            }
            (Sensitive::Single(_), Sensitive::Lists { .. }) => {}
        }
    }

    /// Appends all rows of rows with the same columns.
    pub fn append(&mut self, other: Rows) {
        if self.is_empty() && matches!(self.sensitive, Sensitive::Lists { .. }) {
            *self = other;
            return;
        }
        for (own, others) in self.columns.iter_mut().zip(&other.columns) {
            own.grow(others.len()).copy_from_slice(others.bytes());
        }
        match (&mut self.sensitive, &other.sensitive) {
            (Sensitive::Single(own), Sensitive::Single(others)) => {
                own.grow(others.len()).copy_from_slice(others.bytes());
            }
            (Sensitive::Lists { lists, offsets, values }, Sensitive::Lists { lists: more, .. }) => {
                for row in 0..more.len() {
                    values.extend_from_slice(other.list(row));
                    lists.push(lists.len() as u32);
                    offsets.push(values.len() as u32);
                }
            }
            _ => {}
        }
    }

    /// How people are counted.
    pub fn people(&self) -> People {
        match self.sensitive {
            Sensitive::Single(_) => People::Valued,
            Sensitive::Lists { .. } => People::Listed,
        }
    }

    /// What all these rows together would publish; there are `values` sensitive values.
    pub fn total(&self, values: usize) -> GroupCounts {
        let mut part = GroupCounts { people: self.len() as u64, counts: vec![0; values] };
        match &self.sensitive {
            Sensitive::Single(codes) => {
                (0..codes.len()).for_each(|row| part.counts[usize::from(codes.get(row))] += 1);
            }
            Sensitive::Lists { lists, offsets, values } => {
                for &list in lists {
                    let list = list as usize;
                    for &value in &values[offsets[list] as usize..offsets[list + 1] as usize] {
                        part.counts[usize::from(value)] += 1;
                    }
                }
            }
        }
        part
    }
}

/// What sensitive codes a triple may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum People {
    /// One sensitive value per person: people are counted through their values.
    Valued,
    /// Any number of values per person: people are counted by a code of their own, one past the last.
    Listed,
}
