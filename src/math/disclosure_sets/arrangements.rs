//! In how many ways can the values of some groups be arranged so that every test group passes?
//!
//! A region is a set of published groups and of test groups (of earlier functions) that overlap them. Its
//! people fall into cells: same published group, same test groups. Cells are filled one after another; a
//! state is what remains of the open published groups and what has been placed in the open test groups, per
//! value. Values with equal columns in that table are interchangeable, so columns are sorted and equal states
//! merge; a test group is judged when its last cell is filled.
//!
//! Memory: the states of one pass over the cells, at most [`Work::states`] of them.
//! Invariant: the counts of the tracked value add up, over the values, to the people of the cell.
//! Not here: the order of the cells and the form of the states (`filling`), which regions there are and how they
//! combine (`failing`).

use dashu_int::UBig;
use std::collections::HashMap;

use super::filling::{ClassAhead, FillCell, FillStep, State, in_filling_order, plan};
use super::partition::{Counts, Value};
use super::property::{Kind, PropertyJudge};

/// Regions with a larger cell or more values than this are refused: factorials alone would cost too much.
const LARGEST_CELL: usize = 4096;

/// Counting would take more than the limits allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLarge;

/// The remaining work limits.
#[derive(Debug, Clone)]
pub(super) struct Work {
    /// The remaining number of transitions between states.
    pub(super) steps: u64,
    /// The number of states that one pass over a region may hold.
    pub(super) states: usize,
}

impl Work {
    pub(super) fn spend(&mut self, steps: u64) -> Result<(), TooLarge> {
        self.steps = self.steps.checked_sub(steps).ok_or(TooLarge)?;
        Ok(())
    }
}

/// Values with the same count in every published group and the same kind.
#[derive(Debug, Clone)]
struct ValueClass {
    values: Vec<Value>,
    kind: Kind,
    counts: Vec<u16>,
}

/// The result for a region: the number of arrangements, and in how many a person of a cell has a value.
#[derive(Debug, Clone)]
pub(super) struct Arrangements {
    pub(super) count: UBig,
    pub(super) cells: Vec<Vec<u32>>,
    class_of: HashMap<Value, usize>,
    /// By cell, then by class of values.
    holders: Vec<Vec<UBig>>,
}

impl Arrangements {
    /// In how many arrangements does each person of `cell` have `value`?
    pub(super) fn holders(&self, cell: usize, value: Value) -> UBig {
        match self.class_of.get(&value) {
            Some(&class) => self.holders[cell][class].clone(),
            None => UBig::ZERO,
        }
    }
}

type Layer = HashMap<State, UBig, foldhash::fast::FixedState>;

/// Published groups and the test groups that connect them.
pub(super) struct Region<'a> {
    judge: &'a PropertyJudge,
    cells: Vec<FillCell>,
    classes: Vec<ValueClass>,
    factorials: Vec<UBig>,
}

impl<'a> Region<'a> {
    /// `published[i]` is the multiset of the published group i of the cells.
    pub(super) fn new(
        judge: &'a PropertyJudge,
        cells: Vec<FillCell>,
        published: &[&Counts],
    ) -> Result<Self, TooLarge> {
        let mut columns: HashMap<Value, Vec<u16>> = HashMap::new();
        for (group, counts) in published.iter().enumerate() {
            for &(value, count) in *counts {
                let column = columns.entry(value).or_insert_with(|| vec![0; published.len()]);
                column[group] = u16::try_from(count).map_err(|_| TooLarge)?;
            }
        }
        let mut sorted: Vec<(Kind, Vec<u16>, Value)> =
            columns.into_iter().map(|(value, column)| (judge.kind(value), column, value)).collect();
        sorted.sort_unstable();
        let mut classes: Vec<ValueClass> = Vec::new();
        for (kind, counts, value) in sorted {
            match classes.last_mut() {
                Some(last) if last.kind == kind && last.counts == counts => last.values.push(value),
                _ => classes.push(ValueClass { values: vec![value], kind, counts }),
            }
        }
        let cell_sizes = cells.iter().map(|cell| cell.people.len());
        let values = classes.iter().map(|class| class.values.len()).sum();
        let largest = cell_sizes.max().unwrap_or(0).max(values);
        if largest > LARGEST_CELL {
            return Err(TooLarge);
        }
        let mut factorials = vec![UBig::ONE];
        for n in 1..=largest {
            factorials.push(&factorials[n - 1] * UBig::from(n));
        }
        Ok(Region { judge, cells: in_filling_order(cells), classes, factorials })
    }

    /// How many arrangements pass every test?
    pub(super) fn count(&self, work: &mut Work) -> Result<UBig, TooLarge> {
        let steps = self.steps(None);
        let mut layer = self.start(&steps, None);
        for step in &steps {
            layer = self.fill(step, &layer, work)?;
        }
        Ok(layer.into_values().next().unwrap_or(UBig::ZERO))
    }

    /// The arrangements that pass, and who holds what in them.
    pub(super) fn solve(self, count: UBig, work: &mut Work) -> Result<Arrangements, TooLarge> {
        let mut holders = vec![Vec::with_capacity(self.classes.len()); self.cells.len()];
        for class in 0..self.classes.len() {
            for (cell, held) in self.held(class, work)?.into_iter().enumerate() {
                holders[cell].push(held / UBig::from(self.cells[cell].people.len()));
            }
        }
        let classes = self.classes.iter().enumerate();
        let class_of = classes.flat_map(|(at, class)| class.values.iter().map(move |&v| (v, at))).collect();
        let cells = self.cells.into_iter().map(|cell| cell.people).collect();
        Ok(Arrangements { count, cells, class_of, holders })
    }

    /// For each cell: over all passing arrangements, how often does one value of the class occur in it?
    ///
    /// Forward counts times backward counts, at every transition.
    fn held(&self, class: usize, work: &mut Work) -> Result<Vec<UBig>, TooLarge> {
        let steps = self.steps(Some(class));
        let mut layers = vec![self.start(&steps, Some(class))];
        let mut states = 0;
        for (at, step) in steps.iter().enumerate() {
            let next = self.fill(step, &layers[at], work)?;
            states += next.len();
            if states > work.states {
                return Err(TooLarge);
            }
            layers.push(next);
        }
        let mut completions: Layer = layers.pop().unwrap_or_default();
        completions.values_mut().for_each(|ways| *ways = UBig::ONE);
        let mut held = vec![UBig::ZERO; steps.len()];
        for (at, step) in steps.iter().enumerate().rev() {
            let mut earlier = Layer::default();
            for (state, ways_here) in layers.pop().unwrap_or_default() {
                let mut ways_on = UBig::ZERO;
                self.each_filling(step, &state, work, |next, weight, tracked| {
                    if let Some(ways) = completions.get(&next) {
                        let ways = ways * weight;
                        if tracked > 0 {
                            held[at] += &ways_here * &ways * UBig::from(tracked);
                        }
                        ways_on += ways;
                    }
                    Ok(())
                })?;
                if ways_on != UBig::ZERO {
                    earlier.insert(state, ways_on);
                }
            }
            completions = earlier;
        }
        Ok(held)
    }

    fn fill(&self, step: &FillStep, layer: &Layer, work: &mut Work) -> Result<Layer, TooLarge> {
        let mut next_layer = Layer::default();
        let states = work.states;
        for (state, ways) in layer {
            self.each_filling(step, state, work, |next, weight, _| {
                *next_layer.entry(next).or_insert(UBig::ZERO) += ways * weight;
                if next_layer.len() > states { Err(TooLarge) } else { Ok(()) }
            })?;
        }
        Ok(next_layer)
    }

    /// Visits every way to fill the cell from `state` that fails no test: the next state, the number of ways
    /// to fill the cell like this, and how many of its people get the tracked value.
    fn each_filling(
        &self,
        step: &FillStep,
        state: &[u16],
        work: &mut Work,
        mut visit: impl FnMut(State, UBig, u16) -> Result<(), TooLarge>,
    ) -> Result<(), TooLarge> {
        let table = step.open(state);
        let width = 1 + step.slots;
        let columns = table.len() / width;
        let column = |at: usize| &table[at * width..(at + 1) * width];
        let left: Vec<u16> = (0..columns).map(|at| column(at)[1 + step.published]).collect();
        let mut left_from = vec![0usize; columns + 1];
        for at in (0..columns).rev() {
            left_from[at] = left_from[at + 1] + usize::from(left[at]);
        }
        let twin: Vec<bool> = (0..columns).map(|at| at > 0 && column(at) == column(at - 1)).collect();
        let mut filling = vec![0u16; columns];
        each_multiset(&left, &left_from, &twin, step.people, &mut filling, 0, &mut |filling| {
            work.spend(1)?;
            let mut after = table.clone();
            let mut tracked = 0;
            for (at, &taken) in filling.iter().enumerate().filter(|&(_, &taken)| taken > 0) {
                let column = &mut after[at * width..(at + 1) * width];
                column[1 + step.published] -= taken;
                step.tests.iter().for_each(|&slot| column[1 + slot] += taken);
                if step.classes[usize::from(column[0])].tracked {
                    tracked = taken;
                }
            }
            if step.judged.iter().all(|&slot| self.passes(step, &after, slot)) {
                visit(step.close(&after), self.weight(step.people, filling, &twin), tracked)?;
            }
            Ok(())
        })
    }

    fn passes(&self, step: &FillStep, table: &[u16], slot: usize) -> bool {
        let mut total = UBig::ZERO;
        let mut shares = Vec::new();
        for column in table.chunks_exact(1 + step.slots).filter(|column| column[1 + slot] > 0) {
            let count = UBig::from(column[1 + slot]);
            total += &count;
            shares.push((step.classes[usize::from(column[0])].kind, count));
        }
        self.judge.holds(&mut shares, &total)
    }

    /// The number of ways to assign `filling` to the people of the cell, times the ways to choose among twin
    /// columns.
    fn weight(&self, people: usize, filling: &[u16], twin: &[bool]) -> UBig {
        let mut above = self.factorials[people].clone();
        let mut below = UBig::ONE;
        let (mut run, mut equal) = (0usize, 0usize);
        for (at, &taken) in filling.iter().enumerate() {
            if taken > 1 {
                below *= &self.factorials[usize::from(taken)];
            }
            if twin[at] {
                equal = if taken == filling[at - 1] { equal + 1 } else { 1 };
                run += 1;
                above *= UBig::from(run);
                below *= UBig::from(equal);
            } else {
                (run, equal) = (1, 1);
            }
        }
        above / below
    }

    /// The classes of values before anything is filled, one value of `tracked` set apart.
    fn classes_at_start(&self, tracked: Option<usize>) -> Vec<(ClassAhead, usize)> {
        let mut start = Vec::new();
        for (at, class) in self.classes.iter().enumerate() {
            let set_apart = usize::from(tracked == Some(at));
            for (tracked, values) in [(false, class.values.len() - set_apart), (true, set_apart)] {
                if values > 0 {
                    start.push((
                        ClassAhead { tracked, kind: class.kind, ahead: class.counts.clone() },
                        values,
                    ));
                }
            }
        }
        start
    }

    fn start(&self, steps: &[FillStep], tracked: Option<usize>) -> Layer {
        debug_assert!(steps.first().is_none_or(|step| step.slots_before == 0));
        let classes = self.classes_at_start(tracked);
        let state: Vec<u16> = classes
            .iter()
            .enumerate()
            .flat_map(|(class, (_, values))| std::iter::repeat_n(class as u16, *values))
            .collect();
        Layer::from_iter([(state.into_boxed_slice(), UBig::ONE)])
    }

    fn steps(&self, tracked: Option<usize>) -> Vec<FillStep> {
        let classes = self.classes_at_start(tracked).into_iter().map(|(class, _)| class).collect();
        plan(&self.cells, classes)
    }
}

/// Visits the ways to take `people` values, at most `left[at]` of column `at`; twin columns only in
/// descending order.
fn each_multiset(
    left: &[u16],
    left_from: &[usize],
    twin: &[bool],
    people: usize,
    filling: &mut [u16],
    at: usize,
    visit: &mut impl FnMut(&[u16]) -> Result<(), TooLarge>,
) -> Result<(), TooLarge> {
    if at == left.len() {
        return visit(filling);
    }
    let most = if twin[at] { left[at].min(filling[at - 1]) } else { left[at] };
    let least = people.saturating_sub(left_from[at + 1]);
    for taken in least..=usize::from(most).min(people) {
        filling[at] = taken as u16;
        each_multiset(left, left_from, twin, people - taken, filling, at + 1, visit)?;
    }
    Ok(())
}

/// The arrangements of one group that no test touches.
pub(super) fn free_group(people: &[u32], counts: &Counts) -> Arrangements {
    let mut count = factorial(people.len() as u64);
    for &(_, times) in counts.iter().filter(|&&(_, times)| times > 1) {
        count /= factorial(u64::from(times));
    }
    let per_person = |&(_, times): &(Value, u32)| &count * UBig::from(times) / UBig::from(people.len());
    let holders = vec![counts.iter().map(per_person).collect()];
    let class_of = counts.iter().enumerate().map(|(at, &(value, _))| (value, at)).collect();
    Arrangements { count, cells: vec![people.to_vec()], class_of, holders }
}

fn factorial(n: u64) -> UBig {
    fn product(from: u64, to: u64) -> UBig {
        if to - from < 8 {
            return (from..=to).map(UBig::from).product();
        }
        let middle = from + (to - from) / 2;
        product(from, middle) * product(middle + 1, to)
    }
    product(1, n.max(1))
}
