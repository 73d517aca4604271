//! How many people with which sensitive values are in each cell?

use super::levels::ColumnLevels;
use crate::encode::group_counts::GroupCounts;
use hashbrown::HashMap;

/// The cells that contain people, keyed by cell number in each column.
#[derive(Debug, Clone)]
pub struct LatticeCells {
    values: usize,
    parts: HashMap<Vec<u16>, GroupCounts, foldhash::fast::FixedState>,
}

impl LatticeCells {
    /// Creates empty cells; each person will have one of `values` sensitive values.
    pub fn new(values: usize) -> Self {
        LatticeCells { values, parts: HashMap::default() }
    }

    /// Adds a person with a sensitive value.
    pub fn add(&mut self, cell: &[u16], value: u16) {
        let part = self.part(cell);
        part.people += 1;
        part.counts[usize::from(value)] += 1;
    }

    fn part(&mut self, cell: &[u16]) -> &mut GroupCounts {
        let values = self.values;
        self.parts.entry_ref(cell).or_insert_with(|| GroupCounts { people: 0, counts: vec![0; values] })
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Whether there are no people.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The approximate number of bytes that the cells take.
    pub fn bytes(&self, columns: usize) -> u64 {
        let each = size_of::<(Vec<u16>, GroupCounts)>() + 2 * columns + 8 * self.values + 64;
        (self.parts.len() * each) as u64
    }

    /// The cells of a node, given those of the node with the finest levels.
    pub fn rolled_up(&self, levels: &[ColumnLevels], node: &[usize]) -> LatticeCells {
        let mut up = LatticeCells::new(self.values);
        let mut cell = Vec::new();
        for (own, part) in &self.parts {
            cell.clear();
            cell.extend(levels.iter().zip(node).zip(own).map(|((levels, &level), &finest)| {
                let code = levels.range(0, finest).start;
                levels.cell(level, code as u16)
            }));
            let sum = up.part(&cell);
            sum.add(part);
        }
        up
    }

    /// The counts that each cell publishes, in no particular order.
    pub fn parts(&self) -> impl Iterator<Item = &GroupCounts> {
        self.parts.values()
    }

    /// The cells in the order of their numbers.
    pub fn into_sorted(self) -> Vec<(Vec<u16>, GroupCounts)> {
        let mut cells: Vec<_> = self.parts.into_iter().collect();
        cells.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        cells
    }

    /// How many people are in each cell of one column.
    pub(super) fn marginal(&self, column: usize) -> Vec<u64> {
        let mut people = Vec::new();
        for (cell, part) in &self.parts {
            let place = usize::from(cell[column]);
            if place >= people.len() {
                people.resize(place + 1, 0);
            }
            people[place] += part.people;
        }
        people
    }
}
