//! What a release shows, what its owner keeps, and whether the two belong together.

use crate::support::library::Run;
use crate::support::{Folder, command, contents, dataset, json, printed, text};
use serde_json::Value;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;
use std::process::Output;

const POLICY: &str = "[columns]\nsensitive = \"s\"\ndrop = [\"name\"]\n[columns.quasi.q]\ndomain = [0, 100]\n\
                      [columns.quasi.z]\n[privacy]\nl_diversity = { c = 3, l = 2 }\n";

/// A person: name, number, text, sensitive value.
type Person = (String, u32, &'static str, &'static str);

fn people() -> Vec<Person> {
    let value = |i: u32| ["flu", "cold", "asthma", "none"][(i * 7 % 11 % 4) as usize];
    (0..60).map(|i| (format!("p{i}"), i * 37 % 97, ["x", "y", "w"][(i % 3) as usize], value(i))).collect()
}

fn csv(people: &[Person]) -> String {
    let rows = people.iter().map(|(name, q, z, s)| format!("{name},{q},{z},{s}\n"));
    format!("name,q,z,s\n{}", rows.collect::<String>())
}

struct Place(Folder);

impl Place {
    fn new(people: &[Person]) -> Self {
        let folder = Folder::new();
        folder.write("t.csv", &csv(people));
        folder.write("p.toml", POLICY);
        Place(folder)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.0.run(arguments)
    }

    #[track_caller]
    fn ends_with(&self, code: i32, arguments: &[&str]) -> String {
        self.0.ends_with(code, arguments)
    }

    #[track_caller]
    fn anonymize(&self, table: &str, out: &str, more: &[&str]) {
        self.ends_with(0, &[&["anonymize", table, "--policy", "p.toml", "--out", out], more].concat());
    }

    fn receipt(&self, name: &str) -> Value {
        serde_json::from_slice(&std::fs::read(self.0.path(name)).unwrap()).unwrap()
    }

    /// The files of the folder, and the folders of it.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path("")).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn what_binds_is_the_same_for_any_threads_and_order_and_covers_everybody() {
    let place = Place::new(&people());
    place.anonymize("t.csv", "one", &["--threads", "1"]);
    let mut others = people();
    others.reverse();
    place.0.write("t.csv", &csv(&others));
    place.anonymize("t.csv", "other", &["--threads", "3", "--memory", "40MiB"]);
    let binds = |name: &str| place.receipt(name)["binds"].clone();
    let one = binds("one.receipt.json");
    assert_eq!(one, binds("other.receipt.json"));
    let rows = one.as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["people"].as_u64().unwrap()).sum::<u64>(), 60, "{one}");
    let point = rows.iter().find(|row| row["value"] == "flu").unwrap();
    assert_eq!((&point["requirement"], &point["column"]), (&"point".into(), &"s".into()));
    assert_eq!((&point["l"], &point["confidence"]), (&0.into(), &"3/4".into()));
    assert!(
        !contents(&place.0.path("one"))
            .values()
            .any(|file| { String::from_utf8_lossy(file).contains("binds") })
    );
}

#[test]
fn what_the_owner_keeps_is_private_and_outside_of_the_release() {
    let place = Place::new(&people());
    place.anonymize("t.csv", "out", &[]);
    assert_eq!(place.names(), ["out", "out.receipt.json", "out.receipt.key", "out.tree", "p.toml", "t.csv"]);
    let files: Vec<String> = contents(&place.0.path("out")).into_keys().collect();
    assert_eq!(files, ["data/part-00000.parquet", "manifest.json", "report.html"]);
    let receipt = place.receipt("out.receipt.json");
    assert_eq!(receipt["input"]["rows"], 60);
    assert_eq!(receipt["input"]["fingerprint"].as_str().unwrap().len(), 64);
    assert_eq!(receipt["input"]["files"][0]["path"], "t.csv");
    assert!(receipt["utility"]["certainty_penalty"]["tight"].is_f64());
    assert!(receipt["resources"]["seconds"].is_f64() && receipt["resources"]["spilled_bytes"].is_u64());
    let tree: Value = place.receipt("out.tree");
    assert_eq!(tree["parts"].as_array().unwrap().len(), 2);
    let key = std::fs::read(place.0.path("out.receipt.key")).unwrap();
    assert_eq!(key.len(), 32);
    let hex: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(!receipt.to_string().contains(&hex));
}

#[cfg(unix)]
#[test]
fn private_files_stay_private_under_any_mask() {
    use std::os::unix::fs::PermissionsExt;
    for mask in ["000", "022", "077"] {
        let place = Place::new(&people());
        let skyveil = format!(
            "umask {mask}; exec {} anonymize t.csv --policy p.toml --out out",
            crate::support::binary().display()
        );
        let run = std::process::Command::new("sh")
            .args(["-c", &skyveil])
            .current_dir(place.0.path(""))
            .output()
            .unwrap();
        assert!(run.status.success(), "{}", printed(&run));
        for name in ["out.receipt.json", "out.tree", "out.receipt.key"] {
            let mode = place.0.path(name).metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name} under {mask}");
        }
    }
}

/// Rows, policy and version decide every byte of the directory.
#[test]
fn tables_with_the_same_published_rows_give_the_same_directory() {
    let own = people();
    let expected = Place::new(&own);
    expected.anonymize("t.csv", "out", &[]);
    let expected = contents(&expected.0.path("out"));
    let names: Vec<Person> =
        own.iter().map(|(name, q, z, s)| (format!("somebody like {name}"), *q, *z, *s)).collect();
    let reversed: Vec<Person> = own.iter().rev().cloned().collect();
    for other in [names, reversed] {
        let place = Place::new(&other);
        std::fs::rename(place.0.path("t.csv"), place.0.path("another.csv")).unwrap();
        place.anonymize("another.csv", "elsewhere", &["--threads", "1", "--memory", "40MiB"]);
        assert_same(&contents(&place.0.path("elsewhere")), &expected);
    }
}

/// Rows of the input that change nothing in the release do not show either.
#[test]
fn how_many_rows_a_person_has_does_not_show() {
    let policy = "[columns]\nsensitive = \"s\"\nindividual = \"id\"\nquasi = [\"z\"]\n[privacy]\n\
                  values = \"set\"\n[[privacy.skyline]]\nl = 0\nk = 0\nm = 0\nconfidence = \"3/4\"\n";
    let rows = ["1,x,a", "2,x,b", "3,x,c", "4,y,a", "5,y,b", "6,y,c"];
    let releases = [&[][..], &["1,x,a", "6,y,c"]].map(|more| {
        let folder = Folder::new();
        let all: String = rows.iter().chain(more).map(|row| format!("{row}\n")).collect();
        folder.write("t.csv", &format!("id,z,s\n{all}"));
        folder.write("p.toml", policy);
        let place = Place(folder);
        place.anonymize("t.csv", "out", &[]);
        contents(&place.0.path("out"))
    });
    assert_same(&releases[0], &releases[1]);
}

#[track_caller]
fn assert_same(one: &BTreeMap<String, Vec<u8>>, other: &BTreeMap<String, Vec<u8>>) {
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    for (name, bytes) in one {
        assert!(bytes == &other[name], "{name} differs");
    }
}

#[test]
fn a_receipt_proves_where_a_release_comes_from() {
    let place = Place::new(&people());
    place.anonymize("t.csv", "out", &[]);
    let check = ["check", "out", "--receipt", "out.receipt.json"];
    let alone = place.ends_with(0, &check);
    assert!(alone.contains("the manifest is the one") && alone.contains("no table was compared"), "{alone}");
    let with = |table: &'static str| [&check[..], &["--original", table]].concat();
    let same = place.ends_with(0, &with("t.csv"));
    assert!(same.contains("the files of the table are those") && same.contains("the rows of the input"));
    // The same rows in another order are the same input, in other files.
    let reversed: Vec<Person> = people().into_iter().rev().collect();
    place.0.write("reversed.csv", &csv(&reversed));
    let other_files = place.ends_with(0, &with("reversed.csv"));
    assert!(!other_files.contains("the files of") && other_files.contains("the rows of the input"));
    // One changed cell is another input, and so is a missing row.
    let mut changed = people();
    changed[7].1 += 1;
    place.0.write("changed.csv", &csv(&changed));
    place.0.write("shorter.csv", &csv(&people()[1..]));
    for table in ["changed.csv", "shorter.csv"] {
        let refused = place.ends_with(1, &with(table));
        assert!(refused.contains("not the table that the release was made from"), "{refused}");
    }
    let found = json(&place.run(&[&with("changed.csv")[..], &["--json"]].concat()));
    assert_eq!((&found["safe"], &found["receipt"]["holds"]), (&Value::Bool(true), &Value::Bool(false)));
    // Without a receipt the check says what it could not verify.
    let unproven = place.ends_with(0, &["check", "out", "--original", "changed.csv"]);
    assert!(unproven.contains("nothing proves that the release was made from this table"), "{unproven}");
    // The key may have gone: files are still compared by their hashes.
    std::fs::rename(place.0.path("out.receipt.key"), place.0.path("vault")).unwrap();
    assert!(place.ends_with(0, &with("t.csv")).contains("rows were not compared"));
    assert!(place.ends_with(2, &with("reversed.csv")).contains("give the key of the receipt (--key FILE)"));
    place.ends_with(0, &[&with("reversed.csv")[..], &["--key", "vault"]].concat());
    // A changed tree is named.
    place.0.write("out.tree", "1\n");
    assert!(place.ends_with(1, &check).contains("out.tree was changed"));
}

#[test]
fn bad_receipts_and_keys_are_refused() {
    let place = Place::new(&people());
    place.anonymize("t.csv", "out", &[]);
    place.anonymize("t.csv", "other", &["--key", "other.key"]);
    let good = std::fs::read_to_string(place.0.path("out.receipt.json")).unwrap();
    for (name, bad) in [
        ("empty.json", ""),
        ("cut.json", &good[..good.len() / 2]),
        ("foreign.json", "{\"version\": 3}"),
        ("list.json", "[]"),
    ] {
        place.0.write(name, bad);
        let told = place.ends_with(2, &["check", "out", "--receipt", name]);
        assert!(told.contains(name) && told.contains("not the receipt of a release"), "{told}");
    }
    place.ends_with(2, &["check", "out", "--receipt", "absent.json"]);
    place.ends_with(
        2,
        &["check", "t.csv", "--group", "q", "--sensitive", "s", "--receipt", "out.receipt.json"],
    );
    // The same manifest, so only the key tells the two runs apart.
    let original = ["check", "out", "--receipt", "out.receipt.json", "--original", "t.csv", "--key"];
    let told = place.ends_with(2, &[&original[..], &["other.key"]].concat());
    assert!(told.contains("not the key of this receipt"), "{told}");
    std::fs::write(place.0.path("long.key"), [1; 33]).unwrap();
    std::fs::write(place.0.path("open.key"), [1; 32]).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let set = |name: &str, mode| {
            std::fs::set_permissions(place.0.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
        };
        set("long.key", 0o600);
        set("open.key", 0o644);
        let told = place.ends_with(2, &[&original[..], &["open.key"]].concat());
        assert!(told.contains("others may read this key"), "{told}");
    }
    assert!(place.ends_with(2, &[&original[..], &["long.key"]].concat()).contains("a key has 32 bytes"));
    // A receipt of another release of the same table.
    place.0.write("p.toml", &POLICY.replace("c = 3", "c = 2"));
    place.anonymize("t.csv", "third", &[]);
    let told = place.ends_with(1, &["check", "third", "--receipt", "out.receipt.json"]);
    assert!(told.contains("belongs to another release"), "{told}");
}

#[test]
fn attacks_ask_the_receipt() {
    let place = Place::new(&people());
    place.anonymize("t.csv", "out", &[]);
    let attack = |table: &'static str, more: &[&'static str]| {
        [&["attack", "out", "--original", table, "--bandwidth", "0.5"], more].concat()
    };
    assert!(place.ends_with(0, &attack("t.csv", &[])).contains("nothing proves"));
    let receipt = ["--receipt", "out.receipt.json"];
    assert!(!place.ends_with(0, &attack("t.csv", &receipt)).contains("nothing proves"));
    let mut swapped = people();
    (swapped[0].1, swapped[1].1) = (swapped[1].1, swapped[0].1);
    place.0.write("swapped.csv", &csv(&swapped));
    assert!(place.ends_with(1, &attack("swapped.csv", &receipt)).contains("another fingerprint"));
}

#[test]
fn an_older_receipt_is_never_lost() {
    let place = Place::new(&people());
    place.anonymize("t.csv", "out", &[]);
    std::fs::rename(place.0.path("out"), place.0.path("published")).unwrap();
    let before = contents(&place.0.path(""));
    let fixed = ["anonymize", "t.csv", "--policy", "p.toml", "--out", "out"];
    let told = place.ends_with(2, &fixed);
    assert!(told.contains("out.receipt.json exists already: the receipt of another release"), "{told}");
    std::fs::remove_file(place.0.path("out.receipt.json")).unwrap();
    assert!(place.ends_with(2, &fixed).contains("out.tree exists already"));
    std::fs::write(place.0.path("out.receipt.json"), &before["out.receipt.json"]).unwrap();
    assert_eq!(contents(&place.0.path("")), before);
    // A receipt elsewhere has its tree beside it, and may share the key.
    std::fs::create_dir(place.0.path("vault")).unwrap();
    place.anonymize("t.csv", "out", &["--receipt", "vault/july.json", "--key", "out.receipt.key"]);
    assert_eq!(std::fs::read(place.0.path("out.receipt.key")).unwrap(), before["out.receipt.key"]);
    assert_eq!(contents(&place.0.path("vault")).into_keys().collect::<Vec<_>>(), ["july.json", "july.tree"]);
    let (one, other) = (place.receipt("out.receipt.json"), place.receipt("vault/july.json"));
    assert_eq!(one["input"]["fingerprint"], other["input"]["fingerprint"]);
    place.ends_with(0, &["check", "out", "--receipt", "vault/july.json", "--original", "t.csv"]);
    for inside in ["third/receipt.json", "./x/../third/receipt.json"] {
        let told = place.ends_with(
            2,
            &["anonymize", "t.csv", "--policy", "p.toml", "--out", "third", "--receipt", inside],
        );
        assert!(told.contains("is inside the release"), "{told}");
    }
}

#[test]
fn a_release_is_up_to_date_only_if_it_is_intact_and_was_asked_for_so() {
    let place = Place::new(&people());
    place.0.write("p.toml", &format!("accept = [\"repeated releases\"]\n{POLICY}"));
    place.anonymize("t.csv", "out", &[]);
    let again = |more: &[&str]| {
        let fixed = ["anonymize", "t.csv", "--policy", "p.toml", "--out", "out", "--replace", "remove"];
        place.ends_with(0, &[&fixed[..], more].concat()).contains("nothing to do")
    };
    assert!(again(&[]));
    assert!(!again(&["--format", "csv"]) && again(&["--format", "csv"]));
    assert!(!again(&["--search", "lattice"]) && again(&["--search", "lattice"]));
    assert!(!again(&[]) && again(&["--threads", "1"]));
    let part = place.0.path("out/data/part-00000.parquet");
    std::fs::write(&part, "damaged").unwrap();
    assert!(!again(&[]) && again(&[]));
    std::fs::remove_file(&part).unwrap();
    assert!(!again(&[]) && again(&[]));
    // A link would be exchanged for a directory, and the release that it points to would stay.
    #[cfg(unix)]
    {
        std::fs::rename(place.0.path("out"), place.0.path("place")).unwrap();
        std::os::unix::fs::symlink("place", place.0.path("out")).unwrap();
        place.0.write("t.csv", &csv(&people()[1..]));
        let fixed = ["anonymize", "t.csv", "--policy", "p.toml", "--out", "out", "--replace", "remove"];
        assert!(place.ends_with(2, &fixed).contains("out is a link"));
    }
}

#[test]
fn other_distributions_make_another_release() {
    let place = Place(Folder::new());
    let rows: String = (0..40).map(|i| format!("{},{}\n", ["f", "m"][i / 20], ["a", "b"][i % 2])).collect();
    place.0.write("t.csv", &format!("q,s\n{rows}"));
    place.0.write(
        "p.toml",
        "accept = [\"repeated releases\"]\n[columns]\nsensitive = \"s\"\nquasi = [\"q\"]\n[privacy]\nmodel = \"robust\"\n\
         r = \"3/2\"\ndistributions = \"d.csv\"\n[publish]\nstyle = \"bucketized\"\n",
    );
    let distributions = |share: [&str; 2]| {
        let rows = ["f", "m"].map(|q| format!("{q},a,{}\n{q},b,{}\n", share[0], share[1]));
        place.0.write("d.csv", &format!("q,value,probability\n{}", rows.concat()));
    };
    distributions(["0.5", "0.5"]);
    place.anonymize("t.csv", "out", &[]);
    let fixed = ["anonymize", "t.csv", "--policy", "p.toml", "--out", "out", "--replace", "remove"];
    assert!(place.ends_with(0, &fixed).contains("nothing to do"));
    distributions(["0.45", "0.55"]);
    assert!(!place.ends_with(0, &fixed).contains("nothing to do"));
}

#[test]
fn a_run_that_fails_leaves_nothing() {
    let place = Place::new(&people());
    place.0.write("p.toml", &POLICY.replace("c = 3, l = 2", "c = 3, l = 9"));
    place.ends_with(1, &["anonymize", "t.csv", "--policy", "p.toml", "--out", "out"]);
    assert_eq!(place.names(), ["p.toml", "t.csv"]);
    // Somebody takes the name while the release is made: the receipt goes, too.
    place.0.write("p.toml", POLICY);
    let folder = place.0.path("");
    let taken = std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let staged = |name: &String| name.starts_with(".out.unfinished-");
            while !place.names().iter().any(staged) {}
            std::fs::create_dir(folder.join("out")).unwrap();
        });
        let output = place.run(&["anonymize", "t.csv", "--policy", "p.toml", "--out", "out"]);
        watch.join().unwrap();
        output
    });
    assert_eq!(taken.status.code(), Some(2), "{}", printed(&taken));
    assert_eq!(place.names(), ["out", "p.toml", "t.csv"]);
}

/// However a run is killed: a release has its receipt, and a receipt without a release names a manifest.
#[cfg(unix)]
#[test]
fn no_release_appears_before_its_receipt() {
    let place = Place::new(&people());
    let census = [text(&dataset("census.csv")).to_string(), text(&dataset("census.toml")).to_string()];
    let mut wait = 0;
    for round in 0..12 {
        let out = format!("out{round}");
        let mut child = command()
            .args(["anonymize", &census[0], "--policy", &census[1], "--out", &out])
            .current_dir(place.0.path(""))
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        // Later and later, until a run gets to its end.
        let appears = |name: &str| place.0.path(name).exists();
        let mut waited = 0;
        while waited < wait && child.try_wait().unwrap().is_none() && !appears(&format!("{out}.receipt.json"))
        {
            std::thread::sleep(std::time::Duration::from_millis(5));
            waited += 5;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        wait = wait * 2 + 5;
        let receipt = place.0.path(&format!("{out}.receipt.json"));
        if appears(&out) {
            assert!(receipt.exists() && appears(&format!("{out}.tree")));
            place.ends_with(0, &["check", &out, "--receipt", text(Path::new(&receipt))]);
        } else if receipt.exists() {
            let receipt = place.receipt(&format!("{out}.receipt.json"));
            assert_eq!(receipt["manifest_sha256"].as_str().unwrap().len(), 64);
        }
    }
}

#[test]
fn nobody_can_tell_where_people_stand_inside_their_cells() {
    let original = people();
    let place = Place::new(&original);
    place.anonymize("t.csv", "original", &[]);
    let released = contents(&place.0.path("original"));
    // A twentieth of the domain [0, 100] makes cells of 5.
    for shift in 1..5 {
        let moved = |(name, q, z, s): &Person| (name.clone(), q / 5 * 5 + (q + shift) % 5, *z, *s);
        let moved: Vec<Person> = original.iter().map(moved).collect();
        assert_ne!(moved, original);
        place.0.write("moved.csv", &csv(&moved));
        place.anonymize("moved.csv", &format!("moved{shift}"), &[]);
        assert_eq!(contents(&place.0.path(&format!("moved{shift}"))), released, "{shift}");
    }
    let mut beyond = original.clone();
    beyond.iter_mut().for_each(|person| person.1 = (person.1 + 5) % 100);
    place.0.write("beyond.csv", &csv(&beyond));
    place.anonymize("beyond.csv", "beyond", &[]);
    assert_ne!(contents(&place.0.path("beyond")), released, "moving people to other cells must show");
}

/// All tables of four people on a grid of two cells: whoever sees a release learns nothing of where people are inside
/// their cells, and everything besides the rows follows from the rows.
#[test]
fn small_tables_show_their_cells_and_their_rows_and_nothing_else() {
    for (style, least_alike) in [("generalized", 40), ("bucketized", 20)] {
        let policy = format!(
            "[columns]\nsensitive = \"s\"\ndrop = [\"name\"]\nquasi = {{ q = {{ domain = [0, 4], grid = 2 }} }}\n\
             [privacy]\n[[privacy.skyline]]\nconfidence = 0.8\n[publish]\nstyle = \"{style}\"\n"
        );
        let folder = Folder::new();
        let (mut by_cells, mut by_rows) = (BTreeMap::new(), BTreeMap::new());
        let mut tables_with_known_rows = 0;
        // The fourth person stays where they are.
        for number in 64..128 {
            let people: Vec<(usize, &str)> = "aabc"
                .split("")
                .filter(|s| !s.is_empty())
                .zip(0..)
                .map(|(s, at)| (number >> (2 * at) & 3, s))
                .collect();
            let rows: String =
                people.iter().zip(0..).map(|((q, s), at)| format!("{number}-{at},{q},{s}\n")).collect();
            let paths = [folder.path("t.csv")];
            std::fs::write(&paths[0], format!("name,q,s\n{rows}")).unwrap();
            let out = folder.path(&format!("out{number}"));
            Run { threads: 1, ..Run::new(&paths, &policy, out.clone()) }.publish();
            let (rows, rest): (BTreeMap<_, _>, BTreeMap<_, _>) =
                contents(&out).into_iter().partition(|(name, _)| name.contains('/'));
            if style == "generalized" {
                let cells: Vec<(usize, &str)> = people.iter().map(|(q, s)| (q / 2, *s)).collect();
                assert_eq!(by_cells.entry(cells).or_insert_with(|| rows.clone()), &rows, "{people:?}");
            }
            match by_rows.entry(rows) {
                Entry::Vacant(place) => drop(place.insert(rest)),
                Entry::Occupied(known) => {
                    tables_with_known_rows += 1;
                    assert_same(known.get(), &rest);
                }
            }
        }
        assert!(tables_with_known_rows >= least_alike, "{tables_with_known_rows}");
    }
}

#[test]
fn the_receipt_names_the_risks_that_were_accepted() {
    let place = Place::new(&people());
    let policy = POLICY.replace("[privacy]\nl_diversity = { c = 3, l = 2 }", "[privacy]\nk_anonymity = 3");
    place.0.write("p.toml", &format!("accept = [\"unprotected values\"]\n{policy}"));
    place.anonymize("t.csv", "out", &[]);
    assert_eq!(place.receipt("out.receipt.json")["accepted"], serde_json::json!(["unprotected values"]));
}
