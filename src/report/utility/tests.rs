use super::queries::Query;
use super::*;
use proptest::prelude::*;

/// A small table in codes: two quasi-identifiers and a value.
type Row = (u32, u32, u32);
const CODES: [u32; 2] = [7, 5];
const VALUES: u32 = 4;

fn table() -> impl Strategy<Value = Vec<Row>> {
    prop::collection::vec((0..CODES[0], 0..CODES[1], 0..VALUES), 1..60)
}

/// Groups of rows, with labels that are as tight as ranges and sets can be, or wide.
fn released(rows: &[Row], size: usize) -> Vec<Released> {
    let group = |rows: &[Row]| {
        let first = rows.iter().map(|row| row.0);
        let (low, high) = (first.clone().min().unwrap(), first.max().unwrap());
        let mut second: Vec<u32> = rows.iter().map(|row| row.1).collect();
        second.sort_unstable();
        second.dedup();
        let mut counts = [0; VALUES as usize];
        rows.iter().for_each(|row| counts[row.2 as usize] += 1);
        Released::new(rows.len() as u64, vec![Cover::Range(low..high + 1), Cover::Listed(second)], &counts)
    };
    rows.chunks(size).map(group).collect()
}

/// The same answer, computed by enumerating all codes of each group.
fn naive_answer(query: &Query, groups: &[Released]) -> f64 {
    let mut sum = 0.0;
    for group in groups {
        let count: u64 =
            group.values.iter().filter(|(v, _)| query.sensitive.contains(v)).map(|(_, n)| n).sum();
        let share = |(column, range): &(usize, std::ops::Range<u32>)| {
            let codes: Vec<u32> = group.covers[*column].runs().flatten().collect();
            codes.iter().filter(|&code| range.contains(code)).count() as f64 / codes.len() as f64
        };
        sum += count as f64 * query.quasi.iter().map(share).product::<f64>();
    }
    sum
}

proptest! {
    #[test]
    fn queries_are_counted_and_answered_as_one_by_one(
        rows in table(), size in 1usize..20, dimension in 0usize..3, selectivity in 0.01f64..1.0, seed: u64,
    ) {
        let design = Design { queries: 1100, dimension, selectivity, seed };
        let workload = Workload::draw(&CODES, VALUES, &design).unwrap();
        let mut counts = workload.no_counts();
        rows.iter().for_each(|row| workload.count(&[row.0, row.1], row.2, &mut counts));
        let groups = released(&rows, size);
        let mut answers = workload.no_answers();
        groups.iter().for_each(|group| workload.answer(group, &mut answers));
        for ((query, count), answer) in workload.queries().iter().zip(&counts).zip(answers.people()) {
            prop_assert_eq!(query.quasi.len(), dimension);
            let fulfils = |row: &&Row| {
                let codes = [row.0, row.1];
                query.sensitive.contains(&row.2) && query.quasi.iter().all(|(c, range)| range.contains(&codes[*c]))
            };
            prop_assert_eq!(rows.iter().filter(fulfils).count() as u64, *count);
            prop_assert!((naive_answer(query, &groups) - answer).abs() < 1e-6);
        }
    }

    #[test]
    fn what_is_published_exactly_has_no_error_and_no_divergence(rows in table()) {
        let workload = Workload::draw(&CODES, VALUES, &Design::default()).unwrap();
        let (mut counts, mut answers) = (workload.no_counts(), workload.no_answers());
        let mut marginals = Marginals::new(&CODES);
        for row in &rows {
            workload.count(&[row.0, row.1], row.2, &mut counts);
            marginals.add_person(0, row.0);
            marginals.add_person(1, row.1);
        }
        for group in released(&rows, 1) {
            workload.answer(&group, &mut answers);
            marginals.add_group(&group);
        }
        let errors = QueryErrors::of(&counts, &answers, 1);
        prop_assert_eq!((errors.mean, errors.median), (0.0, 0.0));
        for divergence in marginals.divergences() {
            prop_assert_eq!(divergence, Divergence { bits: 0.0, uncovered: 0 });
        }
    }

    #[test]
    fn divergence_is_that_of_the_definition(rows in table(), size in 1usize..20) {
        let groups = released(&rows, size);
        let mut halves = [Marginals::new(&CODES), Marginals::new(&CODES)];
        for (i, row) in rows.iter().enumerate() {
            halves[i % 2].add_person(0, row.0);
            halves[i % 2].add_person(1, row.1);
        }
        groups.iter().enumerate().for_each(|(i, group)| halves[i % 2].add_group(group));
        let [mut marginals, other] = halves;
        marginals.merge(&other);
        let people = rows.len() as f64;
        for (column, found) in marginals.divergences().into_iter().enumerate() {
            let mut expected = 0.0;
            for code in 0..CODES[column] {
                let p = rows.iter().filter(|row| [row.0, row.1][column] == code).count() as f64 / people;
                let share = |group: &Released| {
                    let cover = &group.covers[column];
                    group.people as f64 * cover.within(&(code..code + 1)) as f64 / cover.len() as f64
                };
                let q = groups.iter().map(share).sum::<f64>() / people;
                if p > 0.0 {
                    expected += p * (p / q).log2();
                }
            }
            prop_assert!((found.bits - expected).abs() < 1e-6, "{} {expected}", found.bits);
        }
    }
}

#[test]
fn a_value_that_no_label_covers_is_infinitely_far() {
    let mut marginals = Marginals::new(&[3]);
    marginals.add_person(0, 0);
    marginals.add_person(0, 2);
    marginals.add_group(&Released::new(2, vec![Cover::Range(0..2)], &[2]));
    assert_eq!(marginals.divergences(), [Divergence { bits: f64::INFINITY, uncovered: 1 }]);
}

#[test]
fn errors_are_relative_to_the_count_or_the_bound() {
    let query = |end| Query { quasi: vec![(0, 0..end)], sensitive: 0..1 };
    let workload = Workload::new(vec![query(1), query(2), query(4)], &[4], 1);
    let (mut counts, mut answers) = (workload.no_counts(), workload.no_answers());
    // Eight people with code 0 and two with code 3, published as one group of four codes.
    (0..8).for_each(|_| workload.count(&[0], 0, &mut counts));
    (0..2).for_each(|_| workload.count(&[3], 0, &mut counts));
    workload.answer(&Released::new(10, vec![Cover::Range(0..4)], &[10]), &mut answers);
    assert_eq!(counts, [8, 8, 10]);
    assert_eq!(answers.people(), [2.5, 5.0, 10.0]);
    let errors = QueryErrors::of(&counts, &answers, 1);
    assert_eq!(errors.median, 3.0 / 8.0);
    assert!((errors.mean - (5.5 / 8.0 + 3.0 / 8.0) / 3.0).abs() < 1e-12);
    let bounded = QueryErrors::of(&counts, &answers, 10);
    assert_eq!((bounded.median, bounded.below_least), (0.3, 2));
    assert_eq!(QueryErrors::least_of(50_000), 50);
}

#[test]
fn a_seed_fixes_the_queries_and_bad_designs_are_refused() {
    let draw = |seed| {
        let design = Design { seed, ..Design::default() };
        Workload::draw(&[100, 20, 7], 10, &design).unwrap().queries().to_vec()
    };
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
    for query in draw(3) {
        // The cube root of 0.05 is 0.368: 37 of 100 codes, 7 of 20, 3 of 7, 4 of 10.
        let widths = [37, 7, 3];
        assert!(query.quasi.iter().all(|(column, range)| range.len() == widths[*column]));
        assert_eq!(query.sensitive.len(), 4);
    }
    let refused = |design| Workload::draw(&[3, 3], 2, &design).is_err();
    assert!(refused(Design { dimension: 3, ..Design::default() }));
    assert!(refused(Design { queries: 0, ..Design::default() }));
    assert!(refused(Design { queries: 10_001, ..Design::default() }));
    for selectivity in [0.0, -1.0, 1.5, f64::NAN] {
        assert!(refused(Design { selectivity, ..Design::default() }));
    }
}
