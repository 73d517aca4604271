//! Pages that move between memory and the spill.

use super::page::{Layout, Lists, Page, PageStore, Travelling};
use crate::encode::codes::Codes;
use crate::encode::rows::{Rows, Sensitive};
use crate::resources::budget::Budget;
use crate::resources::spill::Spill;
use std::sync::Mutex;

const ROWS: usize = 100;

/// Page number i has the codes i, i + 1, ... and what travels is as long as a code.
fn page(number: usize) -> Page {
    let codes = || (0..ROWS).map(move |row| (number + row) as u16);
    let rows = Rows {
        columns: vec![
            Codes::Wide(codes().collect()),
            Codes::Narrow(codes().map(|code| code as u8).collect()),
        ],
        sensitive: Sensitive::Single(Codes::Narrow(vec![number as u8; ROWS])),
    };
    let lengths: Vec<u32> = codes().map(u32::from).collect();
    let bytes = vec![number as u8; lengths.iter().sum::<u32>() as usize];
    Page { rows, payload: Travelling { lengths, bytes } }
}

fn expect(page: &Page, expected: &Page) {
    assert_eq!((&page.rows, &page.payload), (&expected.rows, &expected.payload));
}

#[test]
fn pages_come_back_as_they_were_while_the_budget_allows() {
    let folder = tempfile::tempdir().unwrap();
    let spill = Spill::create(folder.path()).unwrap();
    let layout = Layout { columns: vec![300, 256], values: 256, lists: Lists::One };
    let budget = Budget::new(1 << 22);
    let store = Mutex::new(PageStore::new(layout, &budget, &spill));
    (0..20).for_each(|number| PageStore::push_shared(&store, page(number)).unwrap());
    let mut store = store.into_inner().unwrap();
    while store.spill_page().unwrap() {}
    let all = store.spilled_bytes();
    assert_eq!(budget.free(), budget.total());
    // Some of them fit beside what must stay free, then all.
    for free in [budget.total(), budget.total() - all / 2, 0] {
        store.read_back(free).unwrap();
        assert!(budget.free() >= free);
        if cfg!(feature = "force-spill") {
            assert_eq!(store.spilled_bytes(), all);
        } else {
            let left = budget.total() - free;
            assert!(store.spilled_bytes() <= all - left.min(all) + all / 20, "{free}");
        }
        assert_eq!(budget.free() + all - store.spilled_bytes(), budget.total());
        let mut codes = store.layout().empty(0);
        for number in 0..20 {
            let copy = store.copy_unread(number).unwrap().read().unwrap();
            let expected = page(number);
            assert_eq!((&copy.rows, &copy.payload), (&expected.rows, &Travelling::default()));
            assert_eq!(store.load(number, &mut codes).unwrap(), &expected.rows);
        }
    }
    assert!(store.copy_unread(20).is_none());
    for number in (0..20).rev() {
        expect(&store.take().unwrap().unwrap(), &page(number));
    }
    assert!(store.take().unwrap().is_none() && budget.free() == budget.total());
}
