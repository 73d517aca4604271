//! How a run that fails tells it: exit codes for schedulers, errors as JSON, names that cannot mislead a terminal.

use crate::support::{Folder, binary, command, dataset, json, printed, skyveil, text};
use serde_json::Value;
use std::fs::File;
use std::process::{Command, Output};

fn anonymize(folder: &Folder, out: &str, more: &[&str]) -> Output {
    let (table, policy, out) = (dataset("census.csv"), dataset("census.toml"), folder.text(out));
    let arguments = ["anonymize", text(&table), "--policy", text(&policy), "--out", &out];
    skyveil(&[&arguments, more].concat())
}

/// The error of a run that was asked for JSON.
#[track_caller]
fn error(code: i32, output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(code), "{}", printed(output));
    let error = json(output)["error"].clone();
    assert_eq!(error["code"], code, "{error}");
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: "), "{}", printed(output));
    error
}

#[test]
fn a_mistake_is_told_as_json_with_its_parts() {
    let folder = Folder::new();
    assert!(anonymize(&folder, "release", &[]).status.success());
    let exists = error(2, &anonymize(&folder, "release", &["--json"]));
    assert!(exists["message"].as_str().unwrap().contains("exists already"), "{exists}");
    assert!(exists["remedy"].as_str().unwrap().ends_with("(--out DIR)"), "{exists}");

    let little = error(2, &anonymize(&folder, "other", &["--json", "--memory", "1MiB"]));
    assert!(little["remedy"].as_str().unwrap().ends_with("(--memory)"), "{little}");

    let policy = folder
        .write("policy.toml", "[columns]\nsensitive = \"illness\"\nquasi = [\"age\"]\n[privacy]\nk = 2\n");
    let arguments = ["anonymize", "x.csv", "--policy", &policy, "--out", &folder.text("third"), "--json"];
    let mistakes = error(2, &skyveil(&arguments));
    assert_eq!(mistakes["file"], policy);
    assert!(mistakes["mistakes"].as_array().is_some_and(|list| !list.is_empty()), "{mistakes}");

    let call = error(2, &skyveil(&["check", "--json", "--no-such-flag"]));
    assert!(call["message"].as_str().unwrap().contains("--no-such-flag"), "{call}");

    let table = folder.write("t.csv", "g,s\n1,a\n1,b\n");
    let check = ["check", &table, "--group", "gg", "--sensitive", "s", "--point", "0,0,0,1/2", "--json"];
    let column = error(2, &skyveil(&check));
    assert_eq!(column["column"], "gg", "{column}");
}

#[test]
fn a_run_that_waits_for_another_may_be_tried_again() {
    let folder = Folder::new();
    let lock = File::create(folder.path(".release.lock")).unwrap();
    lock.lock().unwrap();
    let busy = error(75, &anonymize(&folder, "release", &["--json"]));
    assert_eq!(busy["file"], folder.text("release"));
    assert!(busy["message"].as_str().unwrap().contains("another run"), "{busy}");
}

#[test]
fn a_reader_that_goes_away_does_not_change_the_answer() {
    let folder = Folder::new();
    let table = folder.write("t.csv", "g,s\n1,a\n1,a\n2,a\n2,b\n");
    let check = |point: &str, expected: i32| {
        let arguments = ["check", &table, "--group", "g", "--sensitive", "s", "--point", point];
        let (read, write) = std::io::pipe().unwrap();
        drop(read);
        let status = command().args(arguments).stdout(write).status().unwrap();
        assert_eq!(status.code(), Some(expected), "{point}");
    };
    check("0,0,0,1/2", 1);
    check("0,0,0,1", 1);
    let safe = folder.write("s.csv", "g,s\n1,a\n1,b\n1,c\n1,d\n");
    let arguments = ["check", &safe, "--group", "g", "--sensitive", "s", "--point", "0,0,0,1/2"];
    let (read, write) = std::io::pipe().unwrap();
    drop(read);
    assert_eq!(command().args(arguments).stdout(write).status().unwrap().code(), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_output_tells_that_the_release_exists() {
    let folder = Folder::new();
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let (table, policy, out) = (dataset("census.csv"), dataset("census.toml"), folder.text("release"));
    let arguments = ["anonymize", text(&table), "--policy", text(&policy), "--out", &out];
    let run = command().args(arguments).stdout(full()).output().unwrap();
    let told = String::from_utf8_lossy(&run.stderr);
    // A second run would find the release of the first, so a retry does not mend it.
    assert_eq!(run.status.code(), Some(2), "{told}");
    assert!(told.contains("exists and is complete") && told.contains(&out), "{told}");
    assert!(skyveil(&["check", &out]).status.success());
    // Nothing was made, so a retry may mend it.
    let check = command().args(["check", &out]).stdout(full()).output().unwrap();
    assert_eq!(check.status.code(), Some(75), "{}", printed(&check));
}

/// The limit counts all threads of a user, and does not bind the superuser.
#[cfg(target_os = "linux")]
#[test]
fn threads_that_cannot_be_started_are_an_error() {
    let folder = Folder::new();
    let script = "ulimit -v 600000; exec \"$@\"";
    let (table, policy, out) = (dataset("census.csv"), dataset("census.toml"), folder.text("release"));
    let run = Command::new("sh")
        // Large stacks: a thread that starts has room for what the runtime adds to its stack.
        .env("RUST_MIN_STACK", (64 << 20).to_string())
        .args(["-c", script, "sh"])
        .arg(binary())
        .args([
            "anonymize",
            text(&table),
            "--policy",
            text(&policy),
            "--out",
            &out,
            "--threads",
            "1024",
            "--json",
        ])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&run.stderr);
    assert!(told.contains("threads could not be started") && !told.contains("panicked"), "{told}");
    error(75, &run);
    assert!(!folder.path("release").exists());
}

#[test]
fn names_cannot_mislead_a_terminal() {
    let folder = Folder::new();
    let name = "evil\u{1b}[2J\u{202e}\nerror: all is well.csv";
    let run =
        skyveil(&["check", &folder.text(name), "--group", "g", "--sensitive", "s", "--point", "0,0,0,1"]);
    let told = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(2));
    assert!(told.contains("evil\\u001b[2J\\u202e\\nerror: all is well.csv"), "{told:?}");
    assert!(!told.contains(['\u{1b}', '\u{202e}']) && !told.contains("\nerror"), "{told:?}");
    // A release with such a name is made all the same, and named in JSON as it is.
    let made = anonymize(&folder, name, &["--json"]);
    assert!(made.status.success(), "{}", printed(&made));
    assert!(!printed(&made).contains('\u{202e}'));
    assert_eq!(json(&made)["out"], folder.text(name));
    let flag = skyveil(&["check", "--\u{202e}"]);
    assert!(flag.status.code() == Some(2) && !printed(&flag).contains('\u{202e}'), "{}", printed(&flag));
}
