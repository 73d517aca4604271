//! In which order are the cells of a region filled, and what must be remembered in between?
//!
//! Invariant: a state keeps a slot per value for exactly the groups that are shared by a filled cell and a
//! cell to come, and a class per value for the published groups that no filled cell has touched. Not here:
//! counting (`arrangements`).

use std::collections::HashMap;

use super::property::Kind;

/// People who share their published group and all their test groups.
#[derive(Debug, Clone)]
pub(super) struct FillCell {
    pub(super) people: Vec<u32>,
    /// The published group, numbered within the region.
    pub(super) published: usize,
    /// The test groups, numbered within the region.
    pub(super) tests: Vec<usize>,
}

/// A state before a cell is filled: sorted columns of (class, open slots...), without empty columns.
pub(super) type State = Box<[u16]>;
/// Filling one cell: what opens before it, and what is judged and forgotten after it.
pub(super) struct FillStep {
    pub(super) people: usize,
    /// For each class of the previous state: how often it occurs in the group that opens, and its class
    /// afterwards.
    pub(super) opens: Option<Vec<(u16, u16)>>,
    pub(super) slots_before: usize,
    pub(super) slots: usize,
    pub(super) published: usize,
    pub(super) tests: Vec<usize>,
    pub(super) judged: Vec<usize>,
    pub(super) kept: Vec<usize>,
    pub(super) classes: Vec<ClassAhead>,
}

/// What is still to come for a value, apart from the open groups.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ClassAhead {
    pub(super) tracked: bool,
    pub(super) kind: Kind,
    /// Counts in the published groups; 0 where the group has been opened.
    pub(super) ahead: Vec<u16>,
}

impl ClassAhead {
    fn is_spent(&self) -> bool {
        self.ahead.iter().all(|&count| count == 0)
    }
}

/// What a column of a state counts.
#[derive(Clone, Copy, PartialEq)]
enum Slot {
    Published(usize),
    Test(usize),
}
/// The steps that fill `cells` in their order; `classes` are those of the values at the start.
pub(super) fn plan(cells: &[FillCell], mut classes: Vec<ClassAhead>) -> Vec<FillStep> {
    let slots_of = |cell: &FillCell| {
        let tests = cell.tests.iter().map(|&test| Slot::Test(test));
        std::iter::once(Slot::Published(cell.published)).chain(tests).collect::<Vec<_>>()
    };
    let mut open: Vec<Slot> = Vec::new();
    let mut steps = Vec::with_capacity(cells.len());
    for (at, cell) in cells.iter().enumerate() {
        let slots_before = open.len();
        let opens = if open.contains(&Slot::Published(cell.published)) {
            None
        } else {
            let (opens, after) = open_group(&classes, cell.published);
            classes = after;
            Some(opens)
        };
        let slots = slots_of(cell);
        for &slot in &slots {
            if !open.contains(&slot) {
                open.push(slot);
            }
        }
        let position = |slot: &Slot| open.iter().position(|other| other == slot).unwrap_or_default();
        let is_last = |slot: &Slot| !cells[at + 1..].iter().any(|later| slots_of(later).contains(slot));
        let closed: Vec<Slot> = slots.iter().copied().filter(is_last).collect();
        let judged = closed.iter().filter(|slot| matches!(slot, Slot::Test(_))).map(position).collect();
        let kept = (0..open.len()).filter(|&at| !closed.contains(&open[at])).collect();
        steps.push(FillStep {
            people: cell.people.len(),
            opens,
            slots_before,
            slots: open.len(),
            published: position(&slots[0]),
            tests: slots[1..].iter().map(position).collect(),
            judged,
            kept,
            classes: classes.clone(),
        });
        open.retain(|slot| !closed.contains(slot));
    }
    steps
}

/// For each class its count in `group` and its class once the group is open; and the resulting classes.
fn open_group(classes: &[ClassAhead], group: usize) -> (Vec<(u16, u16)>, Vec<ClassAhead>) {
    let mut after: Vec<ClassAhead> = Vec::new();
    let opens = classes.iter().map(|class| {
        let mut later = class.clone();
        let count = std::mem::take(&mut later.ahead[group]);
        let number = after.iter().position(|other| *other == later).unwrap_or_else(|| {
            after.push(later);
            after.len() - 1
        });
        (count, number as u16)
    });
    (opens.collect(), after)
}

impl FillStep {
    /// The table of the state with columns for the groups that this cell opens.
    pub(super) fn open(&self, state: &[u16]) -> Vec<u16> {
        let width = 1 + self.slots;
        let mut table = Vec::with_capacity(state.len() / (1 + self.slots_before) * width);
        for column in state.chunks_exact(1 + self.slots_before) {
            let at = table.len();
            table.extend_from_slice(column);
            table.resize(at + width, 0);
            if let Some(opens) = &self.opens {
                let (count, class) = opens[usize::from(column[0])];
                table[at] = class;
                table[at + 1 + self.published] = count;
            }
        }
        table
    }

    /// The canonical state after the cell: closed groups and spent values are forgotten, columns sorted.
    pub(super) fn close(&self, table: &[u16]) -> State {
        let width = 1 + self.kept.len();
        let mut state: Vec<u16> = Vec::with_capacity(table.len());
        for column in table.chunks_exact(1 + self.slots) {
            let idle = self.kept.iter().all(|&slot| column[1 + slot] == 0);
            if !(idle && self.classes[usize::from(column[0])].is_spent()) {
                state.push(column[0]);
                state.extend(self.kept.iter().map(|&slot| column[1 + slot]));
            }
        }
        let mut columns: Vec<&[u16]> = state.chunks_exact(width).collect();
        if columns.is_sorted() {
            return state.into_boxed_slice();
        }
        columns.sort_unstable();
        columns.concat().into_boxed_slice()
    }
}

/// Orders the cells so that few groups are open at a time: always picks the cell that leaves the fewest open.
pub(super) fn in_filling_order(mut cells: Vec<FillCell>) -> Vec<FillCell> {
    let groups = |cell: &FillCell| {
        let tests = cell.tests.iter().map(|&test| (1, test));
        std::iter::once((0, cell.published)).chain(tests).collect::<Vec<(usize, usize)>>()
    };
    let mut unfilled: HashMap<(usize, usize), usize> = HashMap::new();
    for group in cells.iter().flat_map(groups) {
        *unfilled.entry(group).or_insert(0) += 1;
    }
    let total = unfilled.clone();
    let mut ordered = Vec::with_capacity(cells.len());
    while !cells.is_empty() {
        let cost = |cell: &FillCell| {
            let change = |group: (usize, usize)| match (unfilled[&group] == total[&group], unfilled[&group]) {
                (true, 1) | (false, 2..) => 0,
                (true, _) => 1,
                (false, _) => -1,
            };
            groups(cell).into_iter().map(change).sum::<i32>()
        };
        let next = (0..cells.len()).min_by_key(|&at| (cost(&cells[at]), at)).unwrap_or_default();
        let cell = cells.remove(next);
        for group in groups(&cell) {
            unfilled.entry(group).and_modify(|left| *left -= 1);
        }
        ordered.push(cell);
    }
    ordered
}
