//! Releases that follow the cuts of another one.

use crate::support::{Folder, contents, draws};
use std::collections::BTreeSet;

const POLICY: &str = "[columns]\nsensitive = \"s\"\ndrop = [\"name\"]\n[columns.quasi.q]\ndomain = [0, 100]\n[columns.quasi.z]\n\
                      order = [\"u\", \"v\", \"w\"]\n[privacy]\nk_anonymity = 3\nl_diversity = { c = 3, l = 2 }\n";

fn table(folder: &Folder, name: &str, people: u64, seed: u64) {
    let mut draw = draws(seed);
    let mut text = "name,q,z,s\n".to_string();
    for i in 0..people {
        let (z, s) = (["u", "v", "w"][draw(3) as usize], ["flu", "cold", "asthma", "none"][draw(4) as usize]);
        text.push_str(&format!("{i},{},{z},{s}\n", draw(100)));
    }
    folder.write(name, &text);
}

/// The cuts in the private tree of a release: columns with their ends.
fn cuts(folder: &Folder, release: &str) -> BTreeSet<String> {
    fn below(node: &serde_json::Value, found: &mut BTreeSet<String>) {
        if let Some(parts) = node["parts"].as_array() {
            found.insert(format!("{} {}", node["column"], node["from"]));
            parts.iter().for_each(|part| below(part, found));
        }
    }
    let text = std::fs::read_to_string(folder.path(&format!("{release}.tree"))).unwrap();
    let mut found = BTreeSet::new();
    text.lines().for_each(|line| below(&serde_json::from_str(line).unwrap(), &mut found));
    found
}

fn place() -> Folder {
    let folder = Folder::new();
    folder.write("p.toml", POLICY);
    table(&folder, "one.csv", 300, 1);
    folder.ends_with(0, &["anonymize", "one.csv", "--policy", "p.toml", "--out", "one"]);
    folder
}

#[test]
fn the_same_table_gets_the_same_groups() {
    let folder = place();
    folder.ends_with(
        0,
        &["anonymize", "one.csv", "--policy", "p.toml", "--out", "again", "--cuts-from", "one"],
    );
    let data = |release: &str| {
        let mut files = contents(&folder.path(release));
        files.retain(|path, _| path.starts_with("data/"));
        files
    };
    assert_eq!(data("one"), data("again"));
}

#[test]
fn another_table_is_cut_at_the_same_places_and_no_others() {
    let folder = place();
    table(&folder, "two.csv", 200, 2);
    folder
        .ends_with(0, &["anonymize", "two.csv", "--policy", "p.toml", "--out", "two", "--cuts-from", "one"]);
    folder.ends_with(0, &["check", "two"]);
    let (one, two) = (cuts(&folder, "one"), cuts(&folder, "two"));
    assert!(two.len() > 3, "{two:?}");
    assert!(two.len() <= one.len());
    folder.ends_with(0, &["check", "two", "--original", "two.csv"]);
    // With fewer people, parts are joined.
    table(&folder, "few.csv", 20, 3);
    folder
        .ends_with(0, &["anonymize", "few.csv", "--policy", "p.toml", "--out", "few", "--cuts-from", "one"]);
    folder.ends_with(0, &["check", "few"]);
    assert!(cuts(&folder, "few").len() < two.len());
}

#[test]
fn cuts_that_cannot_be_followed_are_refused_with_a_reason() {
    let folder = place();
    let follow = ["anonymize", "one.csv", "--policy", "q.toml", "--out", "x", "--cuts-from", "one"];
    for (policy, reason) in [
        (POLICY.replace("\norder = [\"u\", \"v\", \"w\"]", ""), "in an order that was its own"),
        (
            POLICY
                .replace("[columns.quasi.z]\norder = [\"u\", \"v\", \"w\"]\n", "")
                .replace("[\"name\"]", "[\"name\", \"z\"]"),
            "is no quasi-identifier of this policy",
        ),
        (POLICY.replace("[privacy]", "[publish]\ncuts = \"blind\"\n[privacy]"), "blind cuts"),
    ] {
        folder.write("q.toml", &policy);
        let message = folder.ends_with(2, &follow);
        assert!(message.contains(reason), "{message}");
    }
    folder.write("q.toml", POLICY);
    for damaged in ["", "{}", "{\"column\":\"q\",\"from\":[\"50\"],\"parts\":[1", "{\"line\":1}", "1 2"] {
        folder.write("one.tree", damaged);
        let message = folder.ends_with(2, &follow);
        assert!(message.contains("this is no tree of cuts"), "{damaged:?}: {message}");
    }
    std::fs::remove_file(folder.path("one.tree")).unwrap();
    assert!(folder.ends_with(2, &follow).contains("one.tree"));
    assert!(!folder.path("x").exists());
}
