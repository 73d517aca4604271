//! Rows as codes, column by column.

use super::codes::Codes;
use super::group_counts::GroupCounts;
use crate::error::{Error, Result};

/// The codes of the rows of a node, column by column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    /// One per quasi-identifier.
    pub columns: Vec<Codes>,
    /// The sensitive values of the people.
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

    /// The bytes of all lists of sensitive values.
    pub fn list_bytes(&self) -> usize {
        match &self.sensitive {
            Sensitive::Single(_) => 0,
            Sensitive::Lists { values, .. } => values.len() * size_of::<u16>(),
        }
    }

    /// Frees the space that was kept for more rows.
    pub fn shrink(&mut self) {
        self.columns.iter_mut().for_each(Codes::shrink);
        match &mut self.sensitive {
            Sensitive::Single(codes) => codes.shrink(),
            Sensitive::Lists { lists, offsets, values } => {
                lists.shrink_to_fit();
                offsets.shrink_to_fit();
                values.shrink_to_fit();
            }
        }
    }

    /// Removes all rows, and keeps the space for others.
    pub fn clear(&mut self) {
        self.columns.iter_mut().for_each(Codes::clear);
        match &mut self.sensitive {
            Sensitive::Single(codes) => codes.clear(),
            Sensitive::Lists { lists, offsets, values } => {
                lists.clear();
                offsets.truncate(1);
                values.clear();
            }
        }
    }

    /// A copy of the rows with these numbers.
    pub fn selected(&self, rows: &[u32]) -> Result<Rows> {
        let sensitive = match &self.sensitive {
            Sensitive::Single(codes) => Sensitive::Single(codes.none()),
            Sensitive::Lists { .. } => Sensitive::Lists { lists: vec![], offsets: vec![0], values: vec![] },
        };
        let mut selected = Rows { columns: self.columns.iter().map(Codes::none).collect(), sensitive };
        selected.extend_rows(self, rows)?;
        Ok(selected)
    }

    /// Appends the rows of `other` with these numbers; it has the same columns.
    pub fn extend_rows(&mut self, other: &Rows, rows: &[u32]) -> Result<()> {
        for (own, others) in self.columns.iter_mut().zip(&other.columns) {
            own.extend_rows(others, rows);
        }
        match (&mut self.sensitive, &other.sensitive) {
            (Sensitive::Single(own), Sensitive::Single(others)) => own.extend_rows(others, rows),
            (Sensitive::Lists { lists, offsets, values }, _) => {
                for &row in rows {
                    values.extend_from_slice(other.list(row as usize));
                    end_list(lists, offsets, values.len())?;
                }
            }
            (Sensitive::Single(_), Sensitive::Lists { .. }) => {}
        }
        Ok(())
    }

    /// Appends all rows of `other`, which has the same columns.
    pub fn append(&mut self, other: Rows) -> Result<()> {
        if self.is_empty() && matches!(self.sensitive, Sensitive::Lists { .. }) {
            *self = other;
            return Ok(());
        }
        for (own, others) in self.columns.iter_mut().zip(&other.columns) {
            own.append(others);
        }
        match (&mut self.sensitive, &other.sensitive) {
            (Sensitive::Single(own), Sensitive::Single(others)) => own.append(others),
            (Sensitive::Lists { lists, offsets, values }, Sensitive::Lists { lists: more, .. }) => {
                for row in 0..more.len() {
                    values.extend_from_slice(other.list(row));
                    end_list(lists, offsets, values.len())?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// How people are counted.
    pub fn people(&self) -> People {
        match self.sensitive {
            Sensitive::Single(_) => People::Valued,
            Sensitive::Lists { .. } => People::Listed,
        }
    }

    /// The counts that all these rows together would publish; there are `values` sensitive values.
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

/// Ends the list of the next row before index `end` of the values; it begins where the last list ended.
pub(super) fn end_list(lists: &mut Vec<u32>, offsets: &mut Vec<u32>, end: usize) -> Result<()> {
    let (Ok(list), Ok(end)) = (u32::try_from(lists.len()), u32::try_from(end)) else {
        return Err(Error::input(
            "rows that are kept together have more than 4,294,967,295 sensitive values",
            "publish the table in parts, such as one per district",
        ));
    };
    lists.push(list);
    offsets.push(end);
    Ok(())
}

/// Which sensitive codes a triple may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum People {
    /// One sensitive value per person: people are counted through their values.
    Valued,
    /// Any number of values per person: people are counted with an extra code, one past the last.
    Listed,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(rows: &[&[u16]]) -> Rows {
        let (mut lists, mut offsets, mut values) = (vec![], vec![0], vec![]);
        for row in rows {
            values.extend_from_slice(row);
            end_list(&mut lists, &mut offsets, values.len()).unwrap();
        }
        Rows {
            columns: vec![Codes::Narrow((0..rows.len() as u8).collect())],
            sensitive: Sensitive::Lists { lists, offsets, values },
        }
    }

    #[test]
    fn lists_stay_with_their_rows() {
        let (first, second) = (lists(&[&[3, 4], &[]]), lists(&[&[1], &[2, 2, 5]]));
        let mut all = lists(&[]);
        all.append(first.clone()).unwrap();
        all.append(second.clone()).unwrap();
        all.extend_rows(&first, &[0]).unwrap();
        let expected: [&[u16]; 5] = [&[3, 4], &[], &[1], &[2, 2, 5], &[3, 4]];
        assert!((0..5).all(|row| all.list(row) == expected[row]));
        let mut some = lists(&[]);
        some.extend_rows(&all, &[4, 1, 3]).unwrap();
        assert!((0..3).all(|row| some.list(row) == expected[[4, 1, 3][row]]));
        assert_eq!(some.columns, [Codes::Narrow(vec![0, 1, 1])]);
        assert_eq!(all.total(6), GroupCounts { people: 5, counts: vec![0, 1, 2, 2, 2, 1] });
    }

    #[test]
    fn more_values_than_offsets_can_number_are_refused() {
        let (mut lists, mut offsets) = (vec![0], vec![0, 7]);
        let most = u32::MAX as usize;
        end_list(&mut lists, &mut offsets, most).unwrap();
        assert_eq!((&lists[..], &offsets[..]), (&[0, 1][..], &[0, 7, u32::MAX][..]));
        assert!(end_list(&mut lists, &mut offsets, most + 1).is_err());
        assert_eq!((lists.len(), offsets.len()), (2, 3));
    }
}
