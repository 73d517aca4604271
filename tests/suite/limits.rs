//! Tables that exceed a limit: refused early, with the true limit and a remedy; and texts of any length.

use crate::support::{Folder, ends_with};

const POLICY: &str = "accept = [\"unprotected values\", \"ends of ranges\"]\n[columns]\nsensitive = \"s\"\n[columns.quasi.q]\n[privacy]\nk_anonymity = 2\n";

#[test]
fn long_sensitive_texts_are_refused_for_their_length_and_many_for_their_number() {
    let folder = Folder::new();
    let policy = folder.write("p.toml", POLICY);
    for (values, length, limit) in
        [(10_000, 506, "take more than 4 MiB"), (66_000, 6, "more than 65,535 different")]
    {
        let rows: String = (0..values).map(|row| format!("{},{row:0>length$}x\n", row % 9)).collect();
        let table = folder.write("t.csv", &format!("q,s\n{rows}"));
        let out = folder.text("r");
        let refused = ends_with(2, &["anonymize", &table, "--policy", &policy, "--out", &out]);
        assert!(refused.contains(limit), "{values} values of {length} characters: {refused}");
    }
}

#[test]
fn counts_that_would_never_be_written_are_refused_before_the_rows_are_read_again() {
    let folder = Folder::new();
    let policy = folder.write("p.toml", &POLICY.replace("[columns]", "[columns]\ncount = \"n\""));
    let table = folder.write("t.csv", "q,s,n\n1,a,4294967295\n2,b,4294967295\n");
    let refused = ends_with(2, &["anonymize", &table, "--policy", &policy, "--out", &folder.text("r")]);
    assert!(refused.contains("more than 1000000000 people") && refused.contains("in parts"), "{refused}");
}

#[test]
fn a_sensitive_text_of_any_length_is_shown() {
    let folder = Folder::new();
    let long = "x".repeat(70_000);
    let table = folder.write("t.csv", &format!("q,s\n1,{long}\n1,b\n2,{long}\n2,c\n"));
    let shown = ends_with(0, &["check", &table, "--group", "q", "--sensitive", "s", "--point", "0,0,0,0.9"]);
    assert!(shown.contains(&long) && shown.contains("verdict"));
}
