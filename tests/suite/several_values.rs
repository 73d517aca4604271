//! People with long lists of values, a row for each value: the same release for any memory, threads and order.

use crate::support::library::Run;
use crate::support::{beside, contents, ends_with, remove_release, scramble, text_file};
use std::path::PathBuf;

const PEOPLE: u64 = 1_500;

const POLICY: &str = r#"
[columns]
sensitive = "item"
individual = "person"
quasi = { age = { domain = [0, 80], grid = 1 }, city = {} }
[privacy]
values = "VALUES"
k_anonymity = 5
[[privacy.skyline]]
l = 1
k = 1
m = 1
confidence = 0.9
"#;

/// A line for each value of each person; one without a value for whoever has none.
fn lines(of: impl Fn(u64) -> Vec<u64>) -> Vec<String> {
    let mut lines = vec![];
    for person in 0..PEOPLE {
        let (age, city) = (scramble(person * 4) % 80, scramble(person * 4 + 1) % 6);
        let own: Vec<String> = of(person).into_iter().map(|value| format!("item {value:02}")).collect();
        let none = own.is_empty().then(String::new);
        lines.extend(own.into_iter().chain(none).map(|item| format!("p{person},{age},city {city},{item}")));
    }
    // In no order.
    let mut keyed: Vec<(u64, String)> =
        lines.into_iter().enumerate().map(|(at, line)| (scramble(at as u64 + 7), line)).collect();
    keyed.sort();
    keyed.into_iter().map(|(_, line)| line).collect()
}

/// Up to 20 different values of 60.
fn prescriptions(person: u64) -> Vec<u64> {
    let many = scramble(person) % 21;
    let mut own: Vec<u64> = (0..many).map(|at| scramble(person * 64 + at) % 60).collect();
    own.sort_unstable();
    own.dedup();
    own
}

/// Up to 12 of 30 values, some of them several times.
fn purchases(person: u64) -> Vec<u64> {
    (0..scramble(person) % 13).map(|at| scramble(person * 64 + at / 2 * 2) % 30).collect()
}

#[test]
fn long_lists_give_the_same_release_for_any_memory_threads_and_order() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    for (values, lines) in [("set", lines(prescriptions)), ("multiset", lines(purchases))] {
        let policy = POLICY.replace("VALUES", values);
        let table = |name: &str, lines: Vec<&str>| -> [PathBuf; 1] {
            let text = format!("person,age,city,item\n{}\n", lines.join("\n"));
            [text_file(folder.path(), &format!("{values}-{name}.csv"), &text)]
        };
        let forward = table("forward", lines.iter().map(String::as_str).collect());
        let backward = table("backward", lines.iter().rev().map(String::as_str).collect());
        let first = Run::new(&forward, &policy, place(&format!("{values}-first")));
        let summary = first.publish();
        assert!(summary.groups > 20, "{values}: {}", summary.groups);
        let expected = (contents(&first.out), std::fs::read(beside(&first.out, ".tree")).unwrap());
        for (name, paths, memory, threads) in [
            ("tight", &forward, 4 << 20, 1),
            ("order", &backward, 8 << 20, 3),
            ("wide", &backward, 256 << 20, 2),
        ] {
            let out = place(&format!("{values}-{name}"));
            let other = Run { memory, threads, ..Run::new(paths, &policy, out) };
            other.publish();
            let own = (contents(&other.out), std::fs::read(beside(&other.out, ".tree")).unwrap());
            assert!(own == expected, "{values} {name} differs");
            remove_release(&other.out);
        }
        let out = first.out.to_str().unwrap();
        assert!(ends_with(0, &["check", out]).starts_with(&format!("safe: {PEOPLE} people")));
        let (receipt, original) = (beside(&first.out, ".receipt.json"), forward[0].to_str().unwrap());
        ends_with(0, &["check", out, "--receipt", receipt.to_str().unwrap(), "--original", original]);
    }
}
