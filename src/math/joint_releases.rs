//! What do several releases of overlapping people tell together?
//!
//! People who moved alike, from the same group to the same group in every release, form a cell; everybody in it looks
//! the same. A published group is a sum: its values are those of its cells (mathematics 11). A cell that is the only
//! unknown of some group is determined, and is taken off the other groups; this is repeated until nothing follows any
//! more. What is left falls into components, whose arrangements are counted exactly where there are few of them.
//!
//! Peeling proves what is told, never that nothing is: what is too large to count is called not determined.
//!
//! Memory: O(cells x releases + values of the groups); [`JointLimits::arrangements`] at a time.

use crate::math::exact::{Rational, ratio};
use dashu_int::UBig;
use std::collections::{BTreeMap, VecDeque};

/// How often each value occurs, by code; no zeros.
pub type ValueCounts = BTreeMap<u32, u64>;

/// People who moved alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JointCell {
    /// How many.
    pub people: u64,
    /// The numbers of their groups in all releases in which they are; at least one. Every release numbers its groups
    /// differently from the others.
    pub groups: Vec<usize>,
}

/// What is known about the people of a cell.
#[derive(Debug, Clone, PartialEq)]
pub enum CellKnowledge {
    /// Their values, but not who has which.
    Determined(ValueCounts),
    /// Counted over all arrangements: the largest probability of a value.
    Counted(Rational),
    /// Not known; which is not to say that it is safe.
    NotDetermined,
}

/// How much is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JointLimits {
    /// Arrangements of a component, and steps to find them.
    pub arrangements: u64,
}

impl Default for JointLimits {
    fn default() -> Self {
        JointLimits { arrangements: 100_000 }
    }
}

/// The releases contradict each other: somebody has two values, or is in a group that does not hold them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contradiction;

impl CellKnowledge {
    /// The largest probability with which somebody of the cell has some value; `None` if it is not known.
    pub fn surest(&self) -> Option<Rational> {
        match self {
            CellKnowledge::Determined(counts) => {
                let (most, people) = (counts.values().max()?, counts.values().sum::<u64>());
                Some(ratio(*most, people))
            }
            CellKnowledge::Counted(surest) => Some(surest.clone()),
            CellKnowledge::NotDetermined => None,
        }
    }

    /// Whether the value of everybody in the cell is certain.
    pub fn is_certain(&self) -> bool {
        self.surest().is_some_and(|surest| surest >= Rational::ONE)
    }
}

/// Finds out what the published groups tell about each cell. `groups` are all groups of all releases.
pub fn know_cells(
    groups: &[ValueCounts],
    cells: &[JointCell],
    limits: JointLimits,
) -> Result<Vec<CellKnowledge>, Contradiction> {
    let mut peeling = Peeling::new(groups, cells)?;
    peeling.run()?;
    let Peeling { left, known, open_cells, .. } = peeling;
    let mut knowledge: Vec<CellKnowledge> = known
        .into_iter()
        .map(|known| known.map_or(CellKnowledge::NotDetermined, CellKnowledge::Determined))
        .collect();
    for component in components(cells, &knowledge, &open_cells) {
        if let Some(counted) = ComponentCount::run(&component, cells, &left, limits)? {
            for (cell, surest) in component.into_iter().zip(counted) {
                knowledge[cell] = CellKnowledge::Counted(surest);
            }
        }
    }
    Ok(knowledge)
}

/// Groups whose determined cells are taken off.
struct Peeling<'c> {
    cells: &'c [JointCell],
    /// What is left of each group.
    left: Vec<ValueCounts>,
    /// The cells of each group that are not determined.
    open_cells: Vec<Vec<usize>>,
    known: Vec<Option<ValueCounts>>,
    queue: VecDeque<usize>,
}

impl<'c> Peeling<'c> {
    fn new(groups: &[ValueCounts], cells: &'c [JointCell]) -> Result<Self, Contradiction> {
        let mut open_cells = vec![Vec::new(); groups.len()];
        let mut people = vec![0u64; groups.len()];
        for (number, cell) in cells.iter().enumerate() {
            for &group in &cell.groups {
                open_cells[group].push(number);
                people[group] += cell.people;
            }
        }
        // Whoever is not in the tables is in no cell, and then nothing follows from the group.
        let whole = |group: usize| people[group] == groups[group].values().sum::<u64>();
        if (0..groups.len()).any(|group| people[group] > 0 && !whole(group)) {
            return Err(Contradiction);
        }
        let queue = (0..groups.len()).filter(|&group| open_cells[group].len() == 1).collect();
        Ok(Peeling { cells, left: groups.to_vec(), open_cells, known: vec![None; cells.len()], queue })
    }

    fn run(&mut self) -> Result<(), Contradiction> {
        while let Some(group) = self.queue.pop_front() {
            let [cell] = self.open_cells[group][..] else { continue };
            let values = self.left[group].clone();
            if values.values().sum::<u64>() != self.cells[cell].people {
                return Err(Contradiction);
            }
            for &other in &self.cells[cell].groups {
                take_off(&mut self.left[other], &values)?;
                self.open_cells[other].retain(|own| *own != cell);
                if self.open_cells[other].len() == 1 {
                    self.queue.push_back(other);
                }
            }
            self.known[cell] = Some(values);
        }
        Ok(())
    }
}

fn take_off(counts: &mut ValueCounts, values: &ValueCounts) -> Result<(), Contradiction> {
    for (value, count) in values {
        let own = counts.get_mut(value).ok_or(Contradiction)?;
        *own = own.checked_sub(*count).ok_or(Contradiction)?;
        if *own == 0 {
            counts.remove(value);
        }
    }
    Ok(())
}

/// The cells that are not determined, by what holds them together.
fn components(
    cells: &[JointCell],
    knowledge: &[CellKnowledge],
    open_cells: &[Vec<usize>],
) -> Vec<Vec<usize>> {
    let mut seen = vec![false; cells.len()];
    let mut components = Vec::new();
    for start in 0..cells.len() {
        if seen[start] || knowledge[start] != CellKnowledge::NotDetermined {
            continue;
        }
        seen[start] = true;
        let (mut component, mut open) = (Vec::new(), vec![start]);
        while let Some(cell) = open.pop() {
            component.push(cell);
            for &other in cells[cell].groups.iter().flat_map(|&group| &open_cells[group]) {
                if !std::mem::replace(&mut seen[other], true) {
                    open.push(other);
                }
            }
        }
        component.sort_unstable();
        components.push(component);
    }
    components
}

/// Counts the arrangements of a component: every cell takes as many values as it has people, and every group is used up.
struct ComponentCount<'c> {
    component: &'c [usize],
    cells: &'c [JointCell],
    left: BTreeMap<usize, ValueCounts>,
    /// The cells of each group that have no values yet.
    waiting: BTreeMap<usize, u64>,
    chosen: Vec<ValueCounts>,
    steps: u64,
    /// The number of arrangements of people.
    total: UBig,
    /// For each cell and value, the arrangements in which one person of the cell has it, times the people of the cell.
    with: Vec<BTreeMap<u32, UBig>>,
}

impl ComponentCount<'_> {
    /// The largest probability for each cell; `None` if there are too many arrangements.
    fn run(
        component: &[usize],
        cells: &[JointCell],
        left: &[ValueCounts],
        limits: JointLimits,
    ) -> Result<Option<Vec<Rational>>, Contradiction> {
        let groups = || component.iter().flat_map(|&cell| cells[cell].groups.iter().copied());
        let mut waiting = BTreeMap::new();
        groups().for_each(|group| *waiting.entry(group).or_insert(0) += 1);
        let mut counting = ComponentCount {
            component,
            cells,
            left: groups().map(|group| (group, left[group].clone())).collect(),
            waiting,
            chosen: vec![ValueCounts::new(); component.len()],
            steps: limits.arrangements,
            total: UBig::ZERO,
            with: vec![BTreeMap::new(); component.len()],
        };
        if !counting.place(0, &UBig::ONE) {
            return Ok(None);
        }
        if counting.total == UBig::ZERO {
            return Err(Contradiction);
        }
        let surest = |(&cell, with): (&usize, &BTreeMap<u32, UBig>)| {
            let most = with.values().max().cloned().unwrap_or(UBig::ZERO);
            let all = counting.total.clone() * UBig::from(cells[cell].people);
            Rational::from_parts(most.into(), all)
        };
        Ok(Some(component.iter().zip(&counting.with).map(surest).collect()))
    }

    /// Gives values to the cells from `at` on; false if that takes too long.
    fn place(&mut self, at: usize, weight: &UBig) -> bool {
        if self.steps == 0 {
            return false;
        }
        self.steps -= 1;
        if at == self.component.len() {
            self.total += weight;
            for (values, with) in self.chosen.iter().zip(&mut self.with) {
                for (&value, &count) in values {
                    *with.entry(value).or_insert(UBig::ZERO) += weight * UBig::from(count);
                }
            }
            return true;
        }
        let cell = &self.cells[self.component[at]];
        let most = |value: u32| {
            let own = cell.groups.iter().map(|group| self.left[group].get(&value).copied().unwrap_or(0));
            own.min().unwrap_or(0)
        };
        let first = &self.left[&cell.groups[0]];
        let most: Vec<(u32, u64)> =
            first.keys().map(|&value| (value, most(value))).filter(|(_, most)| *most > 0).collect();
        // The last cell of a group takes what is left of it.
        let last = cell.groups.iter().find(|group| self.waiting[*group] == 1);
        let forced = last.map(|group| self.left[group].clone());
        let mut choice = Choice { most, people: cell.people, forced };
        let Some(choices) = choice.all(&mut self.steps) else { return false };
        let groups = cell.groups.clone();
        for values in choices {
            groups.iter().for_each(|group| self.take(*group, &values));
            let more = weight * arrangements(&values);
            self.chosen[at] = values.clone();
            let counted = self.place(at + 1, &more);
            groups.iter().for_each(|group| self.give_back(*group, &values));
            if !counted {
                return false;
            }
        }
        true
    }

    fn take(&mut self, group: usize, values: &ValueCounts) {
        if let Some(left) = self.left.get_mut(&group) {
            values.iter().for_each(|(value, count)| *left.entry(*value).or_insert(0) -= count);
            left.retain(|_, count| *count > 0);
        }
        self.waiting.entry(group).and_modify(|waiting| *waiting -= 1);
    }

    fn give_back(&mut self, group: usize, values: &ValueCounts) {
        if let Some(left) = self.left.get_mut(&group) {
            values.iter().for_each(|(value, count)| *left.entry(*value).or_insert(0) += count);
        }
        self.waiting.entry(group).and_modify(|waiting| *waiting += 1);
    }
}

/// The values that a cell can take.
struct Choice {
    most: Vec<(u32, u64)>,
    people: u64,
    forced: Option<ValueCounts>,
}

impl Choice {
    /// All of them; `None` if there are more than `steps`, from which they are taken.
    fn all(&mut self, steps: &mut u64) -> Option<Vec<ValueCounts>> {
        if let Some(forced) = self.forced.take() {
            let most: BTreeMap<u32, u64> = self.most.iter().copied().collect();
            let fits = forced.values().sum::<u64>() == self.people
                && forced.iter().all(|(value, count)| most.get(value).is_some_and(|most| count <= most));
            return Some(if fits { vec![forced] } else { Vec::new() });
        }
        let (mut found, mut chosen) = (Vec::new(), ValueCounts::new());
        self.extend(0, self.people, &mut chosen, &mut found, steps).then_some(found)
    }

    fn extend(
        &self,
        at: usize,
        people: u64,
        chosen: &mut ValueCounts,
        found: &mut Vec<ValueCounts>,
        steps: &mut u64,
    ) -> bool {
        if *steps == 0 {
            return false;
        }
        *steps -= 1;
        if people == 0 {
            found.push(chosen.clone());
            return true;
        }
        let Some(&(value, most)) = self.most.get(at) else { return true };
        let others: u64 = self.most[at + 1..].iter().map(|(_, most)| *most).sum();
        for count in people.saturating_sub(others)..=most.min(people) {
            if count > 0 {
                chosen.insert(value, count);
            }
            let counted = self.extend(at + 1, people - count, chosen, found, steps);
            chosen.remove(&value);
            if !counted {
                return false;
            }
        }
        true
    }
}

/// In how many ways the people of a cell can have these values.
fn arrangements(values: &ValueCounts) -> UBig {
    let (mut ways, mut people) = (UBig::ONE, 0u64);
    for &count in values.values() {
        for i in 1..=count {
            people += 1;
            ways = ways * UBig::from(people) / UBig::from(i);
        }
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::Random;

    fn counts(values: &[u32]) -> ValueCounts {
        let mut counts = ValueCounts::new();
        values.iter().for_each(|value| *counts.entry(*value).or_insert(0) += 1);
        counts
    }

    fn cell(people: u64, groups: &[usize]) -> JointCell {
        JointCell { people, groups: groups.to_vec() }
    }

    #[test]
    fn whoever_joins_a_group_alone_is_certain() {
        // {A, B} = {1, 2}, and then {A, B, C} = {1, 2, 3}.
        let groups = [counts(&[1, 2]), counts(&[1, 2, 3])];
        let known = know_cells(&groups, &[cell(2, &[0, 1]), cell(1, &[1])], JointLimits::default()).unwrap();
        assert_eq!(known[0], CellKnowledge::Determined(counts(&[1, 2])));
        assert!(known[1].is_certain() && !known[0].is_certain());
    }

    /// The example of the specification: nothing to peel, and all four are certain.
    #[test]
    fn a_cycle_is_counted() {
        let groups = [counts(&[0, 1]), counts(&[2, 3]), counts(&[0, 2]), counts(&[1, 3])];
        let cells = [cell(1, &[0, 2]), cell(1, &[0, 3]), cell(1, &[1, 2]), cell(1, &[1, 3])];
        let known = know_cells(&groups, &cells, JointLimits::default()).unwrap();
        assert!(known.iter().all(CellKnowledge::is_certain), "{known:?}");
        let known = know_cells(&groups, &cells, JointLimits { arrangements: 3 }).unwrap();
        assert!(known.iter().all(|known| *known == CellKnowledge::NotDetermined), "{known:?}");
    }

    #[test]
    fn releases_that_cannot_be_of_the_same_people_are_noticed() {
        let groups = [counts(&[1, 2]), counts(&[1, 1, 3])];
        let cells = [cell(2, &[0, 1]), cell(1, &[1])];
        assert_eq!(know_cells(&groups, &cells, JointLimits::default()), Err(Contradiction));
        assert_eq!(know_cells(&groups, &[cell(1, &[0])], JointLimits::default()), Err(Contradiction));
    }

    /// All values of all people, for every way to give them values that agrees with the groups.
    fn enumerated(people: &[Vec<usize>], groups: &[ValueCounts], values: u32) -> Vec<Vec<u64>> {
        let mut with = vec![vec![0; values as usize]; people.len()];
        let mut assigned = vec![0; people.len()];
        loop {
            let mut seen = vec![ValueCounts::new(); groups.len()];
            for (own, value) in people.iter().zip(&assigned) {
                own.iter().for_each(|&group| *seen[group].entry(*value).or_insert(0) += 1);
            }
            if seen == groups {
                assigned.iter().enumerate().for_each(|(i, &value)| with[i][value as usize] += 1);
            }
            let Some(next) = assigned.iter().position(|value| *value + 1 < values) else { return with };
            assigned[..next].fill(0);
            assigned[next] += 1;
        }
    }

    #[test]
    fn probabilities_are_those_of_all_joint_reconstructions() {
        for seed in 0..300 {
            let mut random = Random::new(seed);
            let (people, values) = (random.between(3, 7) as usize, random.between(2, 3) as u32);
            let truth: Vec<u32> =
                (0..people).map(|_| random.between(0, u64::from(values) - 1) as u32).collect();
            let mut groups: Vec<ValueCounts> = Vec::new();
            let mut moves: Vec<Vec<usize>> = vec![Vec::new(); people];
            for _ in 0..random.between(1, 3) {
                let first = groups.len();
                let parts = random.between(1, 3) as usize;
                groups.resize(first + parts, ValueCounts::new());
                for person in 0..people {
                    let part = random.between(0, parts as u64) as usize;
                    if part < parts {
                        moves[person].push(first + part);
                        *groups[first + part].entry(truth[person]).or_insert(0) += 1;
                    }
                }
            }
            let seen: Vec<usize> = (0..people).filter(|&person| !moves[person].is_empty()).collect();
            let own: Vec<Vec<usize>> = seen.iter().map(|&person| moves[person].clone()).collect();
            let with = enumerated(&own, &groups, values);
            let mut cells: Vec<JointCell> = Vec::new();
            let mut of_person = Vec::new();
            for groups in &own {
                let known = cells.iter().position(|cell| cell.groups == *groups);
                let place = known.unwrap_or_else(|| {
                    cells.push(JointCell { people: 0, groups: groups.clone() });
                    cells.len() - 1
                });
                cells[place].people += 1;
                of_person.push(place);
            }
            let known = know_cells(&groups, &cells, JointLimits::default()).unwrap();
            for (person, &cell) in of_person.iter().enumerate() {
                let (most, all) = (with[person].iter().max().unwrap(), with[person].iter().sum::<u64>());
                let expected = Rational::from_parts((*most).into(), all.into());
                assert_eq!(known[cell].surest(), Some(expected), "seed {seed}: {known:?}");
            }
        }
    }
}
