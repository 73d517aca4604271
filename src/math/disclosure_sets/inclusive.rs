//! What remains of a publication under the inclusive strategy?
//!
//! An instance remains iff for no earlier function the disclosure set of its own publication satisfies the
//! property: a recursion over publications, with one verdict for each (function, publication). Two facts
//! shorten it. The first function's disclosure set is its PER, so its failures are counted (`failing`), not
//! listed; only the values per cell of the common refinement of the functions after the first are listed. And
//! a verdict does not change if values of one kind swap their names, so verdicts are kept for publications
//! with sorted columns.
//!
//! Memory: one verdict per distinct publication encountered.

use dashu_int::UBig;
use std::collections::HashMap;

use super::arrangements::{TooLarge, Work};
use super::failing::{Failing, KnownRegions, passes, summarize_per};
use super::partition::{Counts, Partition, Value, tally};
use super::property::{Kind, PropertyJudge, SharesSummary, Summarizer};

/// A value without its name: its kind, and the groups in which it occurs with its count there.
type Column = (Kind, Vec<(u32, u32)>);

/// The cost per cell of looking up the verdicts of a listing and adding it up, in counting steps.
const STEPS_PER_CELL: u64 = 8;

/// The verdicts on disclosure sets under the inclusive strategy.
pub(super) struct Inclusive<'a> {
    judge: &'a PropertyJudge,
    functions: &'a [Partition],
    /// By function and publication, up to the names of the values.
    verdicts: HashMap<(usize, Vec<Column>), bool>,
}

impl<'a> Inclusive<'a> {
    pub(super) fn new(judge: &'a PropertyJudge, functions: &'a [Partition]) -> Self {
        Inclusive { judge, functions, verdicts: HashMap::new() }
    }

    /// The disclosure set of a publication of `function`.
    pub(super) fn summarize(
        &mut self,
        function: usize,
        counts: &[Counts],
        work: &mut Work,
    ) -> Result<SharesSummary, TooLarge> {
        let published = &self.functions[function];
        match function {
            0 => Ok(summarize_per(self.judge, published, counts)),
            1 => {
                let failing = Failing::new(
                    self.judge,
                    published,
                    counts,
                    &[&self.functions[0]],
                    &mut KnownRegions::default(),
                    work,
                )?;
                Ok(failing.summarize(self.judge))
            }
            _ => self.sum_over_listings(function, counts, work),
        }
    }

    /// Would the strategy publish this function at this publication, if it got that far?
    pub(super) fn holds(
        &mut self,
        function: usize,
        counts: &[Counts],
        work: &mut Work,
    ) -> Result<bool, TooLarge> {
        if function == 0 {
            return Ok(counts.iter().all(|group| passes(self.judge, group)));
        }
        let columns = sorted_columns(self.judge, counts).into_iter().map(|(column, _)| column);
        let key = (function, columns.collect());
        if let Some(&verdict) = self.verdicts.get(&key) {
            return Ok(verdict);
        }
        let verdict = self.summarize(function, counts, work)?.holds;
        if self.verdicts.len() >= work.states {
            return Err(TooLarge);
        }
        self.verdicts.insert(key, verdict);
        Ok(verdict)
    }

    /// Is the instance in the disclosure set of its publication of `function`?
    pub(super) fn contains(
        &mut self,
        function: usize,
        table: &[Value],
        work: &mut Work,
    ) -> Result<bool, TooLarge> {
        for earlier in 0..function {
            if self.holds(earlier, &self.functions[earlier].publish(table), work)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn sum_over_listings(
        &mut self,
        function: usize,
        counts: &[Counts],
        work: &mut Work,
    ) -> Result<SharesSummary, TooLarge> {
        let functions = self.functions;
        let (first, last) = (&functions[0], &functions[function]);
        let cells = functions[1..function].iter().fold(last.clone(), |cells, other| cells.meet(other));
        let finest = cells.meet(first);
        let listing = Listing::new(self.judge, last, &cells, counts);
        let mut known = KnownRegions::default();
        let mut size = UBig::ZERO;
        // By cell of the finest refinement, then by class of values: summed over the values of the class.
        let mut held = vec![vec![UBig::ZERO; listing.classes.len()]; finest.groups().len()];
        listing.each(work, &mut |per_cell, copies, work| {
            for (earlier, partition) in functions.iter().enumerate().take(function).skip(1) {
                if self.holds(earlier, &merge(&cells, per_cell, partition), work)? {
                    return Ok(());
                }
            }
            let failing = Failing::new(self.judge, &cells, per_cell, &[first], &mut known, work)?;
            if *failing.size() == UBig::ZERO {
                return Ok(());
            }
            size += failing.size() * copies;
            failing.each_cell(|people, holders| {
                let row = &mut held[finest.group_of(people[0]) as usize];
                for (value, count) in holders {
                    row[listing.class_of[value]] += count * copies;
                }
            });
            Ok(())
        })?;
        let mut summary = Summarizer::new(self.judge);
        if size == UBig::ZERO {
            return Ok(summary.finish(size));
        }
        for (people, row) in finest.groups().iter().zip(&held) {
            let mut holders: Vec<(Value, UBig)> = Vec::new();
            for (class, sum) in listing.classes.iter().zip(row) {
                let each = sum / UBig::from(class.values.len());
                holders.extend(class.values.iter().map(|&value| (value, each.clone())));
            }
            summary.see(people[0], &holders, &size);
        }
        Ok(summary.finish(size))
    }
}

/// The multisets of the groups of `coarser`, from those of `cells`.
fn merge(cells: &Partition, per_cell: &[Counts], coarser: &Partition) -> Vec<Counts> {
    let mut merged: Vec<Vec<(Value, u32)>> = vec![Vec::new(); coarser.groups().len()];
    for (people, counts) in cells.groups().iter().zip(per_cell) {
        merged[coarser.group_of(people[0]) as usize].extend(counts);
    }
    merged.into_iter().map(tally).collect()
}

/// The values of a publication; those that differ only in their names are adjacent.
fn sorted_columns(judge: &PropertyJudge, counts: &[Counts]) -> Vec<(Column, Value)> {
    let mut columns: HashMap<Value, Vec<(u32, u32)>> = HashMap::new();
    for (group, values) in counts.iter().enumerate() {
        for &(value, count) in values {
            columns.entry(value).or_default().push((group as u32, count));
        }
    }
    let mut sorted: Vec<(Column, Value)> =
        columns.into_iter().map(|(value, column)| ((judge.kind(value), column), value)).collect();
    sorted.sort_unstable();
    sorted
}

/// Every way to spread the values of published groups over the cells of a refinement.
///
/// Value by value; values with the same counts and kind are spread only in descending order.
struct Listing {
    classes: Vec<SpreadClass>,
    class_of: HashMap<Value, usize>,
    room: Vec<u32>,
}

struct SpreadClass {
    values: Vec<Value>,
    /// For each group in which the values occur: the count there and the cells of the group.
    groups: Vec<(u32, Vec<u32>)>,
}

/// A value's count per cell, only where it is not 0.
type Spread = Vec<(u32, u32)>;

/// A value that has been spread.
struct Placed {
    value: Value,
    spread: Spread,
    /// How many values of its class up to this one are spread alike.
    equal: usize,
    /// How many listings so far only swap names within classes.
    copies: UBig,
}

impl Listing {
    fn new(judge: &PropertyJudge, published: &Partition, cells: &Partition, counts: &[Counts]) -> Self {
        let mut cells_of: Vec<Vec<u32>> = vec![Vec::new(); counts.len()];
        for (cell, people) in cells.groups().iter().enumerate() {
            cells_of[published.group_of(people[0]) as usize].push(cell as u32);
        }
        let mut classes: Vec<SpreadClass> = Vec::new();
        let mut class_of = HashMap::new();
        let mut last: Option<Column> = None;
        for (column, value) in sorted_columns(judge, counts) {
            if last.as_ref() != Some(&column) {
                let cells_of = |&(group, count): &(u32, u32)| (count, cells_of[group as usize].clone());
                classes.push(SpreadClass {
                    values: Vec::new(),
                    groups: column.1.iter().map(cells_of).collect(),
                });
                last = Some(column);
            }
            let at = classes.len() - 1;
            classes[at].values.push(value);
            class_of.insert(value, at);
        }
        let room = cells.groups().iter().map(|people| people.len() as u32).collect();
        Listing { classes, class_of, room }
    }

    /// Visits the multisets per cell, each with the number of listings that only swap names within classes.
    fn each(
        &self,
        work: &mut Work,
        visit: &mut impl FnMut(&[Counts], &UBig, &mut Work) -> Result<(), TooLarge>,
    ) -> Result<(), TooLarge> {
        let values: Vec<(usize, usize)> = self
            .classes
            .iter()
            .enumerate()
            .flat_map(|(class, members)| (0..members.values.len()).map(move |rank| (class, rank)))
            .collect();
        self.place(&values, &mut self.room.clone(), &mut Vec::with_capacity(values.len()), work, visit)
    }

    fn place(
        &self,
        values: &[(usize, usize)],
        room: &mut [u32],
        placed: &mut Vec<Placed>,
        work: &mut Work,
        visit: &mut impl FnMut(&[Counts], &UBig, &mut Work) -> Result<(), TooLarge>,
    ) -> Result<(), TooLarge> {
        let copies = placed.last().map_or(UBig::ONE, |last| last.copies.clone());
        let Some(&(class, rank)) = values.get(placed.len()) else {
            work.spend(STEPS_PER_CELL * room.len() as u64)?;
            let mut per_cell: Vec<Counts> = vec![Vec::new(); room.len()];
            for Placed { value, spread, .. } in placed.iter() {
                spread.iter().for_each(|&(cell, count)| per_cell[cell as usize].push((*value, count)));
            }
            per_cell.iter_mut().for_each(|counts| counts.sort_unstable());
            return visit(&per_cell, &copies, work);
        };
        let members = &self.classes[class];
        let mut spreads = Vec::new();
        spread_over(&members.groups, room, &mut Vec::new(), &mut |spread| {
            spreads.push(spread.clone());
            work.spend(1)
        })?;
        for spread in spreads {
            let twin = if rank > 0 { placed.last() } else { None };
            let equal = match twin {
                Some(twin) if spread > twin.spread => continue,
                Some(twin) if spread == twin.spread => twin.equal + 1,
                _ => 1,
            };
            let copies = &copies * UBig::from(rank + 1) / UBig::from(equal);
            spread.iter().for_each(|&(cell, count)| room[cell as usize] -= count);
            placed.push(Placed { value: members.values[rank], spread, equal, copies });
            self.place(values, room, placed, work, visit)?;
            if let Some(Placed { spread, .. }) = placed.pop() {
                spread.iter().for_each(|&(cell, count)| room[cell as usize] += count);
            }
        }
        Ok(())
    }
}

/// Visits the ways to spread each group's count over its cells within the remaining capacity.
fn spread_over(
    groups: &[(u32, Vec<u32>)],
    room: &[u32],
    spread: &mut Spread,
    visit: &mut impl FnMut(&Spread) -> Result<(), TooLarge>,
) -> Result<(), TooLarge> {
    match groups.split_first() {
        Some(((count, cells), rest)) => spread_within(*count, cells, rest, room, spread, visit),
        None => visit(spread),
    }
}

/// Spreads `count` over `cells`, then continues with the groups of `rest`.
fn spread_within(
    count: u32,
    cells: &[u32],
    rest: &[(u32, Vec<u32>)],
    room: &[u32],
    spread: &mut Spread,
    visit: &mut impl FnMut(&Spread) -> Result<(), TooLarge>,
) -> Result<(), TooLarge> {
    let Some((&cell, later)) = cells.split_first() else {
        return spread_over(rest, room, spread, visit);
    };
    let least = if later.is_empty() { count } else { 0 };
    for here in least..=count.min(room[cell as usize]) {
        if here > 0 {
            spread.push((cell, here));
        }
        spread_within(count - here, later, rest, room, spread, visit)?;
        if here > 0 {
            spread.pop();
        }
    }
    Ok(())
}
