//! Several runs to one target at once: exactly one publishes, the others say so, and nothing is left behind.

use crate::support::{Folder, command, contents, printed};
use std::process::{Child, Stdio};

/// Fewer rounds than `scripts/race.sh` runs.
const ROUNDS: usize = 100;

const POLICIES: [(&str, u64); 3] = [("loose.toml", 2), ("strict.toml", 9), ("middle.toml", 5)];

fn write(folder: &Folder) {
    let rows: String = (0..60).map(|i| format!("{},{},i{}\n", 20 + i % 30, i % 2, i * 7 % 6)).collect();
    folder.write("t.csv", &format!("age,sex,illness\n{rows}"));
    for (name, people) in POLICIES {
        let text = format!(
            "[columns]\nsensitive = \"illness\"\n[columns.quasi.age]\ndomain = [0, 120]\n[columns.quasi.sex]\n\
             [privacy]\nk_anonymity = {people}\nl_diversity = {{ c = 3, l = 2 }}\n"
        );
        folder.write(name, &text);
    }
}

fn start(folder: &Folder, policy: &str, out: &str) -> Child {
    let mut run = command();
    run.args(["anonymize", "t.csv", "--policy", policy, "--out", out, "--temp", ".", "--threads", "1"]);
    run.current_dir(folder.path("")).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn names(folder: &Folder) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path("")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Removes a release and the private files of its run.
fn remove(folder: &Folder, before: &[String]) {
    for name in names(folder).into_iter().filter(|name| !before.contains(name)) {
        let path = folder.path(&name);
        if path.is_dir() {
            std::fs::remove_dir_all(path).unwrap()
        } else {
            std::fs::remove_file(path).unwrap()
        }
    }
}

#[test]
fn of_several_processes_exactly_one_publishes() {
    let folder = Folder::new();
    write(&folder);
    let before = names(&folder);
    let references = POLICIES.map(|(policy, _)| {
        let run = start(&folder, policy, "release").wait_with_output().unwrap();
        assert!(run.status.success(), "{}", printed(&run));
        let (made, files) = (contents(&folder.path("release")), names(&folder));
        remove(&folder, &before);
        (made, files)
    });
    assert!(references[0].0 != references[1].0 && references[1].0 != references[2].0);
    for round in 0..ROUNDS {
        let runs = POLICIES.map(|(policy, _)| start(&folder, policy, "release"));
        let runs = runs.map(|run| run.wait_with_output().unwrap());
        let told: String = runs.iter().map(printed).collect();
        let codes = runs.each_ref().map(|run| run.status.code());
        let winners: Vec<usize> = (0..3).filter(|&run| codes[run] == Some(0)).collect();
        assert_eq!(winners.len(), 1, "round {round}: {codes:?} {told}");
        // Too late is a mistake, at the same time is not.
        assert!(codes.iter().all(|code| matches!(code, Some(0 | 2 | 75))), "round {round}: {codes:?} {told}");
        let (release, files) = &references[winners[0]];
        assert!(contents(&folder.path("release")) == *release, "round {round}: another release: {told}");
        assert_eq!(names(&folder), *files, "round {round}: {told}");
        remove(&folder, &before);
    }
}
