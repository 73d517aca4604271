//! What does the command print?

use super::tables::{answer, arrow_file, check, list_batch};
use crate::support::{command, text_file};
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// The release of eight patients in two groups.
const PATIENTS: &str = "\
grp,sick
1,AIDS
1,AIDS
1,Flu
1,Flu
2,AIDS
2,Cancer
2,Flu
2,Flu
";

fn patients(directory: &Path) -> PathBuf {
    text_file(directory, "patients.csv", PATIENTS)
}

const COLUMNS: [&str; 4] = ["--group", "grp", "--sensitive", "sick"];

#[test]
fn the_verdict_comes_first_and_then_the_points() {
    let directory = tempfile::tempdir().unwrap();
    let table = patients(directory.path());
    let output = check(&table, &[&COLUMNS[..], &["--point", "0,0,1,4/5", "--value", "AIDS"]].concat());
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "safe: 8 people in 2 groups; the point holds\n\
         \n\
         value  l  k  m    breach  below    margin  verdict\n\
         AIDS   0  0  1  0.750000    4/5  0.050000     safe\n"
    );
}

#[test]
fn a_tie_is_unsafe_and_the_worst_value_stands_first() {
    let directory = tempfile::tempdir().unwrap();
    let table = patients(directory.path());
    let output = check(&table, &[&COLUMNS[..], &["--point", "0,1,0,2/3"]].concat());
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "unsafe: 8 people in 2 groups; 1 of 3 points hold\n\
         \n\
         value   l  k  m    breach  below    margin  verdict\n\
         AIDS    0  1  0  0.666667    2/3  0.000000   unsafe\n\
         Flu     0  1  0  0.666667    2/3  0.000000   unsafe\n\
         Cancer  0  1  0  0.333334    2/3  0.333333     safe\n"
    );
}

#[test]
fn json_is_as_documented() {
    let directory = tempfile::tempdir().unwrap();
    let answer = answer(
        &patients(directory.path()),
        &[&COLUMNS[..], &["--point", "0,0,0,0.5", "--value", "AIDS"]].concat(),
    );
    assert_eq!(answer["safe"], false);
    assert_eq!(answer["model"], "skyline");
    assert_eq!(answer["values"], "single");
    assert_eq!(
        (&answer["records"], &answer["individuals"], &answer["groups"]),
        (&8.into(), &8.into(), &2.into())
    );
    let expected = serde_json::json!([{"value": "AIDS", "l": 0, "k": 0, "m": 0, "confidence": "1/2",
        "breach": 0.5, "breach_exact": "1/2", "safe": false}]);
    assert_eq!(answer["points"], expected);
}

#[test]
fn many_values_are_cut_to_the_worst() {
    let directory = tempfile::tempdir().unwrap();
    let mut text = "grp;sick\n".to_string();
    (0..25).for_each(|i| text.push_str(&format!("1;value {i}\n")));
    let table = text_file(directory.path(), "many.csv", &text);
    let arguments = [&COLUMNS[..], &["--point", "0,0,0,0.5", "--delimiter", ";"]].concat();
    let text = String::from_utf8(check(&table, &arguments).stdout).unwrap();
    assert_eq!(text.lines().count(), 14);
    assert!(text.ends_with("... and 15 more that are no worse; --all shows them\n"), "{text}");
    let all = String::from_utf8(check(&table, &[&arguments[..], &["--all"]].concat()).stdout).unwrap();
    assert_eq!(all.lines().count(), 28);
}

#[test]
fn a_scattered_table_is_answered_right_with_a_warning() {
    let directory = tempfile::tempdir().unwrap();
    let scattered = "grp,sick\n1,AIDS\n2,Flu\n1,Flu\n2,AIDS\n";
    let table = text_file(directory.path(), "scattered.csv", scattered);
    let arguments = [&COLUMNS[..], &["--point", "0,0,0,0.6"]].concat();
    let output = check(&table, &arguments);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("warning: "));
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("safe: 4 people in 2 groups"));
}

#[test]
fn groups_may_have_several_columns_of_several_types() {
    let directory = tempfile::tempdir().unwrap();
    let text = "age,city,sick\n1.5,a,x\n1.5,a,y\n1.5,,x\n1.5,,y\n,,x\n,,y\n2.5,,x\n2.5,,y\n";
    let table = text_file(directory.path(), "mixed.csv", text);
    let answer = answer(&table, &["--group", "age,city", "--sensitive", "sick", "--point", "0,0,0,0.6"]);
    assert_eq!((&answer["groups"], &answer["safe"]), (&4.into(), &true.into()));
}

#[test]
fn sensitive_values_may_be_numbers_dates_or_booleans() {
    let directory = tempfile::tempdir().unwrap();
    for values in [["7", "8"], ["2020-01-31", "1999-12-31"], ["true", "false"], ["1.25", "-3.5"]] {
        let text = format!("grp,sick\n1,{}\n1,{}\n", values[0], values[1]);
        let table = text_file(directory.path(), "typed.csv", &text);
        let answer =
            answer(&table, &[&COLUMNS[..], &["--point", "0,0,0,0.6", "--value", values[0]]].concat());
        assert_eq!(answer["points"][0]["breach_exact"], "1/2", "{values:?}");
    }
}

#[test]
fn people_without_a_value_count_as_people() {
    let directory = tempfile::tempdir().unwrap();
    let table = directory.path().join("lists.arrow");
    arrow_file(&table, &list_batch(&[(0, 1, vec!["x", "x"]), (1, 1, vec![]), (2, 1, vec![])]), 1);
    for (values, expected) in [("set", "1/3"), ("multiset", "5/9")] {
        let answer = answer(&table, &[&COLUMNS[..], &["--point", "0,0,0,0.6", "--values", values]].concat());
        assert_eq!(
            (&answer["individuals"], &answer["points"][0]["breach_exact"]),
            (&3.into(), &expected.into())
        );
    }
    let long = "who,grp,sick\np,1,x\np,1,x\nq,1,\nr,1,\n";
    let table = text_file(directory.path(), "long.csv", long);
    let arguments = [&COLUMNS[..], &["--point", "0,0,0,0.6", "--individual", "who", "--values"]].concat();
    for (values, expected) in [("set", "1/3"), ("multiset", "5/9")] {
        let answer = answer(&table, &[&arguments[..], &[values]].concat());
        assert_eq!((&answer["records"], &answer["individuals"]), (&4.into(), &3.into()));
        assert_eq!(answer["points"][0]["breach_exact"], expected);
    }
}

#[test]
fn a_minimum_group_size_counts_people() {
    let directory = tempfile::tempdir().unwrap();
    let long = "who,grp,sick\np,1,x\np,1,y\nq,1,\n";
    let table = text_file(directory.path(), "long.csv", long);
    let arguments =
        [&COLUMNS[..], &["--individual", "who", "--values", "set", "--minimum-group-size"]].concat();
    // Nobody is certain to have a value, but nothing protects values either.
    assert_eq!(answer(&table, &[&arguments[..], &["2"]].concat())["safe"], serde_json::Value::Null);
    assert_eq!(answer(&table, &[&arguments[..], &["3"]].concat())["safe"], false);
}

#[test]
fn standard_input_may_be_in_any_order() {
    let run = |text: &str| {
        let directory = tempfile::tempdir().unwrap();
        let table = text_file(directory.path(), "input.csv", text);
        let mut command = command();
        command.args(["check", "-"]).args(COLUMNS).args(["--point", "0,0,0,0.9"]);
        command.stdin(std::fs::File::open(table).unwrap()).output().unwrap()
    };
    assert_eq!(run(PATIENTS).status.code(), Some(0));
    let scattered = run("grp,sick\n1,AIDS\n2,Flu\n1,Flu\n2,AIDS\n");
    assert_eq!(scattered.status.code(), Some(0), "{scattered:?}");
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let directory = tempfile::tempdir().unwrap();
    let table = patients(directory.path());
    let mut command = command();
    command.arg("check").arg(&table).args(COLUMNS).args(["--point", "0,0,0,0.9"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
