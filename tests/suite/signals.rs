//! Runs that a signal ends: nothing is left behind, one line says so, and the process ends by the signal.

use crate::support::{Folder, binary, skyveil};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const HANGUP: i32 = 1;
const INTERRUPT: i32 = 2;
const ABORT: i32 = 6;
const TERMINATE: i32 = 15;

fn table(folder: &Folder) {
    let made = skyveil(&["generate", "agrawal", "--rows", "400000", "--out", &folder.text("t.parquet")]);
    assert!(made.status.success());
    let policy = "[columns]\nsensitive = \"zipcode\"\ndrop = [\"record\", \"class\", \"commission\", \"elevel\", \"hyears\"]\nkeep = [\"car\"]\n\
                  [columns.quasi.salary]\ngrid = 1\n[columns.quasi.age]\ngrid = 1\n[columns.quasi.loan]\ngrid = 1\n[columns.quasi.hvalue]\ngrid = 1\n\
                  [privacy]\nk_anonymity = 50\ndistinct_l_diversity = 2\n";
    folder.write("policy.toml", policy);
}

fn names(folder: &Folder) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path("")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn send(signal: i32, child: &Child) {
    let sent = Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Waits until the run has made something.
fn wait_for_staging(folder: &Folder, before: &[String]) {
    let start = Instant::now();
    while !names(folder).iter().any(|name| name.contains(".unfinished-") && !before.contains(name)) {
        assert!(start.elapsed() < Duration::from_secs(60), "the run made nothing");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn start(folder: &Folder, through: &[&str]) -> Child {
    let binary = binary();
    let mut words: Vec<&std::ffi::OsStr> = through.iter().map(AsRef::as_ref).collect();
    words.push(binary.as_os_str());
    Command::new(words[0])
        .args(&words[1..])
        .args(["anonymize", "t.parquet", "--policy", "policy.toml", "--out", "release", "--temp", "."])
        .current_dir(folder.path(""))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn a_signal_removes_what_the_run_made_and_ends_it() {
    let folder = Folder::new();
    table(&folder);
    let before = names(&folder);
    for (round, signal) in [INTERRUPT, TERMINATE, HANGUP, TERMINATE, TERMINATE].into_iter().enumerate() {
        // A background job of a shell ignores SIGINT, and so would the run.
        let mut child = start(&folder, &["env", "--default-signal=HUP,INT,TERM"]);
        wait_for_staging(&folder, &before);
        // At several stages of the run.
        std::thread::sleep(Duration::from_millis(40 * round as u64));
        send(signal, &child);
        let status = child.wait().unwrap();
        let mut told = String::new();
        child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
        assert_eq!(status.signal(), Some(signal), "{status:?}: {told}");
        assert!(told.starts_with("stopped: SIG") && told.lines().count() == 1, "{told}");
        assert!(told.contains("what this run had made is removed"), "{told}");
        assert_eq!(names(&folder), before, "{told}");
    }
}

#[test]
fn a_signal_that_was_ignored_stays_ignored() {
    let folder = Folder::new();
    table(&folder);
    let before = names(&folder);
    let mut child = start(&folder, &["sh", "-c", "trap '' HUP; exec \"$0\" \"$@\""]);
    wait_for_staging(&folder, &before);
    send(HANGUP, &child);
    assert!(child.wait().unwrap().success());
    assert!(folder.path("release").exists());
}

/// Neither other processes of the user nor a core file show the memory of the command.
#[cfg(target_os = "linux")]
#[test]
fn the_command_cannot_be_dumped() {
    let folder = Folder::new();
    table(&folder);
    let before = names(&folder);
    let mut child = start(&folder, &["sh", "-c", "ulimit -c unlimited; exec \"$0\" \"$@\""]);
    wait_for_staging(&folder, &before);
    send(ABORT, &child);
    let status = child.wait().unwrap();
    assert!(status.signal() == Some(ABORT) && !status.core_dumped(), "{status:?}");
}
