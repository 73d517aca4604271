//! Every key of a policy has a row in docs/reference/policy.md, and every row is a key.
//!
//! For an unknown key, the parser lists the keys that are known in that place; these are compared with the tables.

use crate::support::skyveil_in;
use std::collections::{BTreeMap, BTreeSet};

/// A key that is not similar to any other.
const UNKNOWN: &str = "zzzzzzzzzzzz";

/// The names below each section; `NAME` represents a column.
type Keys = BTreeMap<String, BTreeSet<String>>;

fn documented() -> Keys {
    let mut keys = Keys::new();
    for row in include_str!("../../docs/reference/policy.md").lines() {
        let Some((key, _)) = row.strip_prefix("| `").and_then(|rest| rest.split_once("` |")) else {
            continue;
        };
        let (section, name) = key.rsplit_once('.').unwrap_or(("", key));
        if name != "NAME" {
            keys.entry(section.to_string()).or_default().insert(name.to_string());
        }
    }
    let of_a_column = |name: &&String| {
        !["k_anonymity", "minimum_group_size", "suppress", "column"].contains(&name.as_str())
    };
    let of_a_column = keys["privacy"].iter().filter(of_a_column).cloned().collect();
    keys.insert("privacy.column.NAME".to_string(), of_a_column);
    // A function names columns, so no key is unknown there.
    keys.remove("audit.function");
    keys
}

/// The keys that the parser lists when it finds an unknown one.
fn known(policy: &str) -> Keys {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("policy.toml"), policy.replace('?', &format!("{UNKNOWN} = 1")))
        .unwrap();
    std::fs::write(folder.path().join("table.csv"), "NAME,disease\n1,flu\n").unwrap();
    let arguments = ["anonymize", "table.csv", "--policy", "policy.toml", "--out", "release"];
    let output = skyveil_in(folder.path(), &arguments);
    let mut keys = Keys::new();
    for line in String::from_utf8(output.stderr).unwrap().lines() {
        let Some((place, names)) = line.split_once(": is not a known key; known here: ") else { continue };
        let key = place.split_once(": ").unwrap().1.replace("[0]", "").replace("disease", "NAME");
        let section = key.strip_suffix(UNKNOWN).unwrap().trim_end_matches('.').to_string();
        keys.insert(section, names.split(", ").map(str::to_string).collect());
    }
    keys
}

#[test]
fn the_reference_has_exactly_the_keys_that_the_parser_knows() {
    let mut parsed = known(
        "?\n[columns]\n?\n[columns.sensitive.disease]\n?\n[columns.quasi.NAME]\n?\n[privacy]\n?\n\
         skyline = [{ confidence = 0.5, ? }]\nl_diversity = { c = 2, l = 2, ? }\nt_closeness = { t = 0.1, ? }\n\
         [privacy.column.disease]\n?\n[publish]\n?\n[audit]\n?\n[nights]\n?\n",
    );
    parsed.extend(known(
        "[columns]\nsensitive = \"disease\"\nquasi = [\"NAME\"]\n\
         [privacy]\nmodel = \"beliefs\"\nbeliefs = [{ bandwidth = 1, t = 0.1, ? }]\n",
    ));
    assert_eq!(parsed, documented());
}
