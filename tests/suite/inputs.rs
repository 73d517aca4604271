//! The same table in every form in which tables lie around gives the same release.

use crate::support::library::{read, write};
use crate::support::{Folder, command, contents, dataset, printed, remove_release, root, skyveil, text};
use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

const POLICY: &str = r#"
[columns]
sensitive = "diagnosis"
rest = "drop"
[columns.types]
zip = "text"
[columns.quasi.age]
domain = [0, 100]
[columns.quasi.zip]
prefix = [3, 2]
[[privacy.skyline]]
l = 1
k = 2
m = 1
confidence = 0.9
"#;

/// People with a region, which may also be the name of a folder.
fn people() -> Vec<[String; 4]> {
    let sick = ["flu", "cold", "asthma", "migraine"];
    let person = |i: usize| {
        let draw = crate::support::scramble(i as u64) as usize;
        let zip = format!("0{}", 1000 + draw % 40);
        let region = if draw.is_multiple_of(3) { "north" } else { "south east" };
        [(20 + draw % 50).to_string(), zip, sick[draw / 64 % 4].to_string(), region.to_string()]
    };
    (0..400).map(person).collect()
}

fn csv(people: &[[String; 4]], order: &[usize], delimiter: char) -> String {
    let names = ["age", "zip", "diagnosis", "region"].map(String::from);
    let line = |cells: &[String; 4]| {
        let cells: Vec<&str> = order.iter().map(|&column| cells[column].as_str()).collect();
        cells.join(&delimiter.to_string()) + "\n"
    };
    std::iter::once(&names).chain(people).map(line).collect()
}

fn anonymize(folder: &Folder, inputs: &[&str], standard_input: Option<&Path>) -> Output {
    remove_release(&folder.path("release"));
    let mut command = command();
    command.arg("anonymize").args(inputs);
    command.args(["--policy", &folder.text("policy.toml"), "--out", &folder.text("release")]);
    if let Some(path) = standard_input {
        command.stdin(std::fs::File::open(path).unwrap());
    }
    command.output().unwrap()
}

#[test]
fn every_form_of_a_table_gives_the_same_bytes() {
    let folder = Folder::new();
    folder.write("policy.toml", POLICY);
    let people = people();
    let all = [0, 1, 2, 3];
    let whole = csv(&people, &all, ',');
    folder.write("t.csv", &whole);
    folder.write("t.tsv", &csv(&people, &all, '\t'));
    std::fs::write(folder.path("t.csv.gz"), gzip(&whole)).unwrap();
    std::fs::write(folder.path("t.csv.zst"), zstd::encode_all(whole.as_bytes(), 19).unwrap()).unwrap();
    // Parquet and Arrow, with zip codes as texts.
    let batch = read(&folder.path("t.csv"), &[]);
    write(&folder.path("t.parquet"), &batch);
    write(&folder.path("t.arrow"), &batch);
    // Two files whose columns are in another order, next to something else.
    std::fs::create_dir(folder.path("split")).unwrap();
    folder.write("split/a.csv", &csv(&people[..150], &all, ','));
    std::fs::write(folder.path("split/b.csv.gz"), gzip(&csv(&people[150..], &[3, 2, 0, 1], ','))).unwrap();
    folder.write("split/notes.txt", "not a table");
    // Folders of Hive, without the column.
    for (name, key) in [("north", "north"), ("south east", "south%20east")] {
        let place = folder.path("hive").join(format!("region={key}"));
        std::fs::create_dir_all(&place).unwrap();
        let own: Vec<[String; 4]> = people.iter().filter(|person| person[3] == name).cloned().collect();
        std::fs::write(place.join("part-0.csv"), csv(&own, &[0, 1, 2], ',')).unwrap();
    }
    let made = anonymize(&folder, &[&folder.text("t.csv")], None);
    assert_eq!(made.status.code(), Some(0), "{}", printed(&made));
    let expected = contents(&folder.path("release"));
    let same = |name: &str, output: Output| {
        assert_eq!(output.status.code(), Some(0), "{name}: {}", printed(&output));
        assert!(contents(&folder.path("release")) == expected, "{name} gives another release");
        String::from_utf8(output.stderr).unwrap()
    };
    for name in ["t.tsv", "t.csv.gz", "t.csv.zst", "t.parquet", "t.arrow", "split/*.csv*", "hive"] {
        assert_eq!(same(name, anonymize(&folder, &[&folder.text(name)], None)), "", "{name}");
    }
    let note = same("split", anonymize(&folder, &[&folder.text("split")], None));
    assert!(note.contains("these are read: a.csv, b.csv.gz; not read: notes.txt"), "{note}");
    for name in ["t.csv", "t.csv.gz", "t.csv.zst", "t.parquet", "t.arrow"] {
        same(&format!("{name} as standard input"), anonymize(&folder, &["-"], Some(&folder.path(name))));
    }
}

#[cfg(unix)]
#[test]
fn every_command_reads_pipes() {
    let folder = Folder::new();
    folder.write("policy.toml", POLICY);
    let mut people = people();
    people.sort_by(|a, b| a[3].cmp(&b[3]));
    let table = csv(&people, &[0, 1, 2, 3], ',');
    let pipe = folder.path("pipe");
    let feed = |arguments: &[&str]| {
        let _ = std::fs::remove_file(&pipe);
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| std::fs::write(&pipe, &table));
            let output = skyveil(arguments);
            assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", printed(&output));
        });
    };
    let (input, policy, out) = (text(&pipe), folder.text("policy.toml"), folder.text("r"));
    let proposed = folder.text("proposed.toml");
    feed(&["init", input, "--out", &proposed]);
    // Policies are tried on what was copied.
    assert!(std::fs::read_to_string(proposed).unwrap().contains("tried on all 400 people"));
    feed(&["anonymize", input, "--policy", &policy, "--out", &out]);
    feed(&["check", input, "--group", "region", "--sensitive", "diagnosis", "--point", "0,1,0,0.9"]);
    feed(&[
        "skyline",
        input,
        "--group",
        "region",
        "--sensitive",
        "diagnosis",
        "--all",
        "--confidence",
        "0.9",
    ]);
    let explained = ["--group", "region", "--sensitive", "diagnosis", "--value", "flu", "--point", "1,1,1"];
    feed(&[&["explain", input][..], &explained].concat());
    feed(&["disclosure", input, "--group", "region", "--sensitive", "diagnosis", "--up-to", "2"]);
    feed(&["report", &out, "--original", input, "--out", &folder.text("r.html")]);
    feed(&["check", &out, "--original", input]);
    feed(&["attack", &out, "--original", input, "--bandwidth", "0.5"]);
}

#[test]
fn bad_input_is_refused_with_the_file_and_a_remedy() {
    let folder = Folder::new();
    folder.write("policy.toml", POLICY);
    let table = csv(&people(), &[0, 1, 2, 3], ',');
    let packed = gzip(&table);
    std::fs::write(folder.path("cut.csv.gz"), &packed[..packed.len() / 2]).unwrap();
    folder.write("empty.csv", "");
    folder.write("plain.csv.gz", &table);
    std::fs::create_dir(folder.path("mixed")).unwrap();
    folder.write("mixed/t.csv", &table);
    write(&folder.path("mixed/t.parquet"), &read(&folder.path("mixed/t.csv"), &[]));
    std::fs::create_dir_all(folder.path("hive/region=north")).unwrap();
    folder.write("hive/region=north/t.csv", &table);
    for (name, expected) in [
        ("cut.csv.gz", "ends too early"),
        ("empty.csv", "the file is empty"),
        ("plain.csv.gz", "is not compressed"),
        ("mixed", "t.csv and t.parquet, which may be the same rows twice"),
        ("hive", "`region` is also the key of a folder"),
        ("20??.csv", "no file matches"),
        ("absent.csv", "No such file"),
    ] {
        let output = anonymize(&folder, &[&folder.text(name)], None);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}: {told}");
        assert!(told.contains(expected), "{name}: {told}");
        assert!(!folder.path("release").exists());
    }
    let nothing = command().args(["init", "-"]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(nothing.status.code(), Some(2));
    assert!(printed(&nothing).contains("the input is empty"));
}

/// The copy of a pipe is private: it has no name, and cannot be made where nothing can be written.
#[test]
fn a_pipe_that_cannot_be_copied_is_refused() {
    let folder = Folder::new();
    let arguments = ["init", "-", "--temp", &folder.text("absent")];
    let table = std::fs::File::open(dataset("census.csv")).unwrap();
    let output = command().args(arguments).stdin(table).current_dir(root()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(printed(&output).contains("absent"), "{}", printed(&output));
}
