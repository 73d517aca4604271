//! Which people stand for the table in a trial?
//!
//! The sample is a function of the rows' codes alone, whatever their order: rows with equal codes are numbered, and a row
//! is chosen by the hash of its codes and its number.
//! Memory: [`MOST_CONTENTS`] counters, and the chosen rows.

use crate::encode::page::PageStore;
use crate::encode::rows::{Rows, Sensitive};
use crate::error::Result;
use crate::math::hash_sample::HashSample;
use crate::math::random::mix;
use crate::resources::budget::Budget;
use std::collections::HashMap;
use std::sync::Arc;

/// Different rows that are counted; with more of them in the table, one in two, four, ... is.
const MOST_CONTENTS: usize = 1 << 17;

/// What the counters take, in tables that may be less than half full.
const COUNTER_BYTES: u64 = 12 << 20;

/// About `most` of the rows, or all of them if there are no more.
pub(super) fn sample(store: &PageStore<'_>, most: u64, budget: &Arc<Budget>) -> Result<Rows> {
    let layout = store.layout();
    let mut chosen = layout.empty(0);
    let mut scratch = layout.empty(0);
    if store.rows() <= most {
        for page in 0..store.len() {
            chosen.append(store.load(page, &mut scratch)?.clone())?;
        }
        return Ok(chosen);
    }
    let _counters = budget.reserve("a sample of the rows", COUNTER_BYTES)?;
    let mut copies: HashSample<u64, u64> = HashSample::new(MOST_CONTENTS, usize::MAX);
    for page in 0..store.len() {
        let rows = store.load(page, &mut scratch)?;
        (0..rows.len()).for_each(|row| copies.upsert(content(rows, row), || 1, |copies| *copies += 1));
    }
    let counted: u64 = copies.entries().values().sum();
    let share = most as f64 / counted.max(1) as f64;
    let chooses = |content: u64, copy: u64| {
        let hash = mix(mix(content) ^ mix(copy + 1));
        share >= 1.0 || (hash >> 11) as f64 / (1u64 << 53) as f64 <= share
    };
    let mut seen: HashMap<u64, u64> = HashMap::new();
    for page in 0..store.len() {
        let rows = store.load(page, &mut scratch)?;
        let mut wanted = Vec::new();
        for row in 0..rows.len() {
            let content = content(rows, row);
            if copies.entries().contains_key(&content) {
                let copy = seen.entry(content).or_default();
                if chooses(content, *copy) {
                    wanted.push(row as u32);
                }
                *copy += 1;
            }
        }
        chosen.extend_rows(rows, &wanted)?;
    }
    Ok(chosen)
}

/// A number for what a row holds; equal rows have equal numbers.
fn content(rows: &Rows, row: usize) -> u64 {
    let add = |hash: u64, code: u16| mix(hash.rotate_left(7) ^ u64::from(code));
    let quasi = rows.columns.iter().fold(0, |hash, codes| add(hash, codes.get(row)));
    match &rows.sensitive {
        Sensitive::Single(codes) => add(quasi, codes.get(row)),
        Sensitive::Lists { .. } => {
            let mut values = rows.list(row).to_vec();
            values.sort_unstable();
            values.into_iter().fold(quasi, add)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::codes::Codes;
    use crate::encode::page::{Layout, Lists, Page};
    use crate::resources::spill::Spill;
    use std::sync::Mutex;

    /// The chosen rows of a table with these pairs of codes, sorted.
    fn chosen(pairs: &[(u16, u16)], most: u64) -> Vec<(u16, u16)> {
        let folder = tempfile::tempdir().unwrap();
        let (budget, spill) = (Budget::new(1 << 26), Spill::create(folder.path()).unwrap());
        let layout = Layout { columns: vec![3000], values: 3000, lists: Lists::One };
        let store = Mutex::new(PageStore::new(layout, &budget, &spill));
        for page in pairs.chunks(700) {
            let rows = Rows {
                columns: vec![Codes::Wide(page.iter().map(|pair| pair.0).collect())],
                sensitive: Sensitive::Single(Codes::Wide(page.iter().map(|pair| pair.1).collect())),
            };
            PageStore::push_shared(&store, Page { rows, payload: Default::default() }).unwrap();
        }
        let rows = sample(&store.into_inner().unwrap(), most, &budget).unwrap();
        let Sensitive::Single(values) = &rows.sensitive else { panic!("single values") };
        let mut all: Vec<(u16, u16)> =
            (0..rows.len()).map(|row| (rows.columns[0].get(row), values.get(row))).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn a_sample_does_not_depend_on_the_order_and_keeps_proportions() {
        // A third of the people are alike, the others differ.
        let mut people: Vec<(u16, u16)> =
            (0..9000).map(|i| if i % 3 == 0 { (7, 7) } else { (i % 2000, i % 2999) }).collect();
        let one = chosen(&people, 1500);
        assert!((1350..1650).contains(&one.len()), "{}", one.len());
        let alike = one.iter().filter(|pair| **pair == (7, 7)).count();
        assert!((400..600).contains(&alike), "{alike}");
        people.reverse();
        people.rotate_left(1234);
        assert_eq!(chosen(&people, 1500), one);
        people.sort_unstable();
        assert_eq!(chosen(&people, 9000), people);
    }
}
