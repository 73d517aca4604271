//! How sure does somebody become who knows the counts behind the distributions of one attribute set?
//!
//! The possible arrangements are those in which every signature has exactly its counted values; all of them are equally likely
//! (mathematics 14). People of a group with the same signature are alike, so arrangements are counted by how many of them have
//! each value: group after group, with the values that each signature has left as the state.
//!
//! Memory and work: the states and ways of [`MOST_STEPS`], beyond which nothing is computed.

use std::collections::HashMap;

use dashu_int::UBig;

use crate::math::exact::Rational;

/// The most pairs of a state and a way to deal out the values of a group.
const MOST_STEPS: usize = 1 << 14;

/// A group as this adversary sees it; people who are not published form one, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrangedGroup {
    /// The signatures of its people in the attribute set, ascending.
    pub signatures: Vec<u32>,
    /// The different values, and how often each occurs.
    pub values: Vec<(u32, u32)>,
}

/// The largest share that the counts give any person for any value, in one attribute set; `None` if that takes too long
/// or if there are no people. The counts are those of these people: `counted` holds (signature, value, people).
pub fn largest_share(groups: &[ArrangedGroup], counted: &[(u32, u32, u32)]) -> Option<Rational> {
    let dealing: Vec<Dealing> =
        groups.iter().map(|group| Dealing::new(group, counted)).collect::<Option<_>>()?;
    let start: Vec<u32> = counted.iter().map(|&(_, _, people)| people).collect();
    let mut steps = 0;
    // After each group, the ways to reach what is left.
    let mut before = vec![HashMap::from([(start, UBig::ONE)])];
    for own in &dealing {
        let mut next: HashMap<Vec<u32>, UBig> = HashMap::new();
        for (left, ways) in before.last()? {
            for dealt in &own.ways {
                steps += 1;
                if steps > MOST_STEPS {
                    return None;
                }
                if let Some(left) = own.after(left, dealt) {
                    *next.entry(left).or_insert(UBig::ZERO) += ways * &dealt.arrangements;
                }
            }
        }
        before.push(next);
    }
    let mut after: HashMap<Vec<u32>, UBig> = HashMap::from([(vec![0; counted.len()], UBig::ONE)]);
    let mut largest = None;
    for (own, before) in dealing.iter().zip(&before).rev() {
        let mut earlier: HashMap<Vec<u32>, UBig> = HashMap::new();
        let mut total = UBig::ZERO;
        let mut having = vec![UBig::ZERO; own.cells.len()];
        for (left, ways) in before {
            for dealt in &own.ways {
                let Some(rest) = own.after(left, dealt).and_then(|left| after.get(&left)) else { continue };
                let from_here = &dealt.arrangements * rest;
                let all = ways * &from_here;
                for (having, &people) in having.iter_mut().zip(&dealt.people) {
                    *having += &all * UBig::from(people);
                }
                total += all;
                *earlier.entry(left.clone()).or_insert(UBig::ZERO) += from_here;
            }
        }
        if total == UBig::ZERO {
            return None;
        }
        for (having, cell) in having.into_iter().zip(&own.cells) {
            let share = Rational::from_parts(having.into(), &total * UBig::from(cell.people));
            largest = largest.max(Some(share));
        }
        after = earlier;
    }
    largest
}

/// A signature of a group with one of its values.
struct Cell {
    /// The place among the counts; `None` if nobody with the signature has the value.
    counted: Option<usize>,
    /// The people of the group with the signature.
    people: u32,
}

/// One way to deal the values of a group out to its signatures.
struct Dealt {
    /// The people in each cell.
    people: Vec<u32>,
    /// In how many ways these people can be chosen.
    arrangements: UBig,
}

struct Dealing {
    cells: Vec<Cell>,
    ways: Vec<Dealt>,
}

impl Dealing {
    /// `None` for a group without values, and if there are too many ways.
    fn new(group: &ArrangedGroup, counted: &[(u32, u32, u32)]) -> Option<Self> {
        if group.values.is_empty() {
            return None;
        }
        let mut cells = Vec::new();
        let mut rows = Vec::new();
        for same in group.signatures.chunk_by(|a, b| a == b) {
            let people = same.len() as u32;
            rows.push(people);
            let place = |value: u32| counted.iter().position(|own| (own.0, own.1) == (same[0], value));
            cells.extend(group.values.iter().map(|&(value, _)| Cell { counted: place(value), people }));
        }
        let left: Vec<u32> = group.values.iter().map(|&(_, count)| count).collect();
        let mut dealing = Dealing { cells, ways: Vec::new() };
        dealing
            .deal(&rows, left, Dealt { people: Vec::new(), arrangements: UBig::ONE }, &mut 0)
            .then_some(dealing)
    }

    /// Adds all ways to continue; false if there are too many.
    fn deal(&mut self, rows: &[u32], left: Vec<u32>, so_far: Dealt, steps: &mut usize) -> bool {
        *steps += 1;
        if *steps > MOST_STEPS {
            return false;
        }
        let (row, column) = (so_far.people.len() / left.len(), so_far.people.len() % left.len());
        if row == rows.len() {
            self.ways.push(so_far);
            return true;
        }
        let given: u32 = so_far.people[row * left.len()..].iter().sum();
        let wanting = rows[row] - given;
        let possible = self.cells[so_far.people.len()].counted.is_some();
        let most = if possible { wanting.min(left[column]) } else { 0 };
        // The last value of a signature is given to everybody who has none.
        let least = if column + 1 == left.len() { wanting } else { 0 };
        (least..=most).all(|people| {
            let mut next = left.clone();
            next[column] -= people;
            let mut dealt = so_far.people.clone();
            dealt.push(people);
            let arrangements = &so_far.arrangements * chosen(wanting, people);
            self.deal(rows, next, Dealt { people: dealt, arrangements }, steps)
        })
    }

    /// What is left after dealing out; `None` if it was not there.
    fn after(&self, left: &[u32], dealt: &Dealt) -> Option<Vec<u32>> {
        let mut left = left.to_vec();
        for (cell, &people) in self.cells.iter().zip(&dealt.people) {
            match cell.counted {
                Some(place) => left[place] = left[place].checked_sub(people)?,
                None if people == 0 => {}
                None => return None,
            }
        }
        Some(left)
    }
}

/// In how many ways `few` of `many` people can be chosen.
fn chosen(many: u32, few: u32) -> UBig {
    (0..few).fold(UBig::ONE, |ways, at| ways * UBig::from(many - at) / UBig::from(at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::exact::ratio;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// People as (group, signature, value).
    type People = Vec<(u32, u32, u32)>;

    fn as_groups(people: &People) -> (Vec<ArrangedGroup>, Vec<(u32, u32, u32)>) {
        let mut groups: BTreeMap<u32, (Vec<u32>, BTreeMap<u32, u32>)> = BTreeMap::new();
        let mut counted: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for &(group, signature, value) in people {
            let (signatures, values) = groups.entry(group).or_default();
            signatures.push(signature);
            *values.entry(value).or_default() += 1;
            *counted.entry((signature, value)).or_default() += 1;
        }
        let group = |(mut signatures, values): (Vec<u32>, BTreeMap<u32, u32>)| {
            signatures.sort_unstable();
            ArrangedGroup { signatures, values: values.into_iter().collect() }
        };
        let counted = counted.into_iter().map(|((signature, value), people)| (signature, value, people));
        (groups.into_values().map(group).collect(), counted.collect())
    }

    /// By definition: all arrangements, person by person.
    fn enumerated(people: &People) -> Rational {
        let counts = |values: &[u32]| {
            let (mut by_group, mut by_signature) = (BTreeMap::new(), BTreeMap::new());
            for (&(group, signature, _), &value) in people.iter().zip(values) {
                *by_group.entry((group, value)).or_insert(0) += 1;
                *by_signature.entry((signature, value)).or_insert(0) += 1;
            }
            (by_group, by_signature)
        };
        let truth = counts(&people.iter().map(|person| person.2).collect::<Vec<_>>());
        let (mut all, mut having) = (0u64, BTreeMap::new());
        for code in 0..3u64.pow(people.len() as u32) {
            let values: Vec<u32> =
                (0..people.len()).map(|at| (code / 3u64.pow(at as u32) % 3) as u32).collect();
            if counts(&values) == truth {
                all += 1;
                values.iter().enumerate().for_each(|own| *having.entry((own.0, *own.1)).or_insert(0) += 1);
            }
        }
        having.into_values().map(|own| ratio(own, all)).max().unwrap()
    }

    proptest! {
        #[test]
        fn shares_are_those_of_all_arrangements(
            people in prop::collection::vec((0u32..3, 0u32..3, 0u32..3), 1..8)
        ) {
            let (groups, counted) = as_groups(&people);
            prop_assert_eq!(largest_share(&groups, &counted), Some(enumerated(&people)));
        }
    }

    #[test]
    fn who_is_not_published_is_what_remains_of_the_counts() {
        // A group of two signatures with two values each, and one more person of the first signature.
        let people = vec![(0, 0, 0), (0, 1, 1), (1, 0, 2)];
        let (groups, counted) = as_groups(&people);
        assert_eq!(largest_share(&groups, &counted), Some(Rational::ONE));
    }

    #[test]
    fn many_people_are_not_computed() {
        let people: People = (0..400).map(|at| (at / 8, at * 7 % 11, at * 5 % 9)).collect();
        let (groups, counted) = as_groups(&people);
        assert_eq!(largest_share(&groups, &counted), None);
    }

    #[test]
    fn people_without_values_are_not_computed() {
        let (mut groups, counted) = as_groups(&vec![(0, 0, 0), (0, 1, 1), (1, 0, 1)]);
        assert!(largest_share(&groups, &counted).is_some());
        groups[1].values.clear();
        assert_eq!(largest_share(&groups, &counted), None);
    }
}
