//! What happens to the private files of a release that is exchanged, and to all others.

use crate::support::{Folder, contents};
use serde_json::Value;
use std::collections::BTreeMap;

const COLUMNS: &str =
    "accept = [\"repeated releases\"]\n[columns]\nsensitive = \"s\"\nquasi = [\"q\"]\n[privacy]\n";
const LISTING: &str =
    "model = \"robust\"\nr = \"3/2\"\nsuppress = \"50%\"\n[publish]\nstyle = \"bucketized\"\n";
const CUTTING: &str = "minimum_group_size = 2\nl_diversity = { c = 3, l = 2 }\n";

struct Place(Folder);

impl Place {
    /// A table and two policies: releases of one have a list of suppressed rows, those of the other a tree of cuts.
    fn new() -> Self {
        let folder = Folder::new();
        let rows: String =
            (0..40).map(|i| format!("{},{}\n", ["f", "m"][i / 20], ["a", "b"][i % 2])).collect();
        folder.write("t.csv", &format!("q,s\n{rows}"));
        folder.write("listing.toml", &format!("{COLUMNS}{LISTING}"));
        folder.write("cutting.toml", &format!("{COLUMNS}{CUTTING}"));
        Place(folder)
    }

    #[track_caller]
    fn ends_with(&self, code: i32, policy: &str, more: &[&str]) -> String {
        let fixed = ["anonymize", "t.csv", "--policy", policy, "--out", "o"];
        self.0.ends_with(code, &[&fixed[..], more].concat())
    }

    /// The run exchanges the release.
    #[track_caller]
    fn replaced(&self, policy: &str, more: &[&str]) {
        let told = self.ends_with(0, policy, more);
        assert!(!told.contains("nothing to do"), "{told}");
        let receipt =
            more.iter().position(|flag| *flag == "--receipt").map_or("o.receipt.json", |at| more[at + 1]);
        self.0.ends_with(0, &["check", "o", "--receipt", receipt, "--original", "t.csv"]);
    }

    /// The run is refused for this reason, and changes nothing.
    #[track_caller]
    fn refused(&self, policy: &str, more: &[&str], reason: &str) {
        let before = self.everything();
        let told = self.ends_with(2, policy, more);
        assert!(told.contains(reason), "{more:?}: {told}");
        assert!(self.everything() == before, "{more:?} changed something");
    }

    fn everything(&self) -> BTreeMap<String, Vec<u8>> {
        contents(&self.0.path(""))
    }

    /// The files and folders besides the table and the policies.
    fn made(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path("")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut made: Vec<String> =
            names.filter(|name| name != "t.csv" && !name.ends_with("ting.toml")).collect();
        made.sort();
        made
    }

    fn has(&self, name: &str) -> bool {
        self.0.path(name).exists()
    }

    fn receipt(&self, name: &str) -> Value {
        serde_json::from_slice(&std::fs::read(self.0.path(name)).unwrap()).unwrap()
    }
}

#[test]
fn a_file_that_is_not_of_the_release_is_never_replaced() {
    let place = Place::new();
    place.0.write("notes", "mine");
    place.0.write("fresh.next", "mine");
    place.replaced("listing.toml", &[]);
    for replace in ["remove", "keep"] {
        let refused = |more: &[&str], reason: &str| {
            place.refused(
                "listing.toml",
                &[&["--replace", replace, "--format", "csv"], more].concat(),
                reason,
            );
        };
        refused(&["--suppressed", "notes"], "notes exists already, and is no private file of o");
        refused(&["--suppressed", "fresh"], "fresh.next exists already, and is no private file of o");
        refused(&["--suppressed", "t.csv"], "t.csv is read by this run");
        refused(&["--suppressed", "./o/../t.csv"], "t.csv is read by this run");
        refused(&["--receipt", "t.csv"], "t.csv is read by this run");
        refused(&["--receipt", "notes"], "notes exists already, and is no private file of o");
        refused(&["--receipt", "fresh"], "fresh.next exists already, and is no private file of o");
        for own in ["o.receipt.json", "o.receipt.json.next", "o.tree", "o.receipt.key", "./o.receipt.key"] {
            refused(
                &["--suppressed", own],
                "and the receipt, its tree or its key at once\n  name another file (--suppressed FILE)",
            );
        }
        refused(&["--key", "o.receipt.json.next"], "cannot be a receipt, its tree and its key at once");
    }
    refuse_what_goes(&place);
}

fn refuse_what_goes(place: &Place) {
    place.replaced("listing.toml", &["--replace", "keep", "--format", "csv"]);
    let keep = ["--replace", "keep"];
    place.refused(
        "listing.toml",
        &[&keep[..], &["--receipt", "o.previous/r"]].concat(),
        "inside the release",
    );
    let reading = ["anonymize", "o.previous/quasi", "--policy", "listing.toml", "--out", "o"];
    let before = place.everything();
    let told = place.0.ends_with(2, &[&reading[..], &keep].concat());
    assert!(told.contains("is read by this run, and would be lost"), "{told}");
    assert!(place.everything() == before);
}

/// What the table is called decides nothing: a list that is read is not replaced by another list.
#[test]
fn a_list_that_is_read_is_not_replaced() {
    let place = Place::new();
    place.replaced("listing.toml", &["--suppressed", "t2.csv"]);
    let table = std::fs::read_to_string(place.0.path("t.csv")).unwrap();
    place.0.write("t2.csv", &(table + "f,a\nm,b\n"));
    let run = ["anonymize", "t2.csv", "--policy", "listing.toml", "--out", "o", "--replace", "remove"];
    for more in [&[][..], &["--suppressed", "t2.csv"]] {
        assert!(place.0.ends_with(2, &[&run[..], more].concat()).contains("t2.csv is read by this run"));
    }
}

#[test]
fn a_receipt_of_another_release_is_not_replaced() {
    let place = Place::new();
    place.replaced("cutting.toml", &[]);
    std::fs::rename(place.0.path("o"), place.0.path("published")).unwrap();
    place.replaced("cutting.toml", &["--receipt", "r.json", "--format", "csv"]);
    place.refused(
        "cutting.toml",
        &["--replace", "remove"],
        "o.receipt.json exists already, and is no private file of o\n  move it away, or name the receipt of the release",
    );
    place.replaced("cutting.toml", &["--replace", "remove", "--receipt", "r.json"]);
    assert!(place.0.ends_with(0, &["check", "published", "--receipt", "o.receipt.json"]).contains("safe"));
}

#[test]
fn private_files_go_with_the_release_that_they_belong_to() {
    let place = Place::new();
    let remove = ["--replace", "remove"];
    let own = |more: &[&'static str]| {
        let mut names = [&["o", "o.receipt.json", "o.receipt.key"], more].concat();
        names.sort();
        names
    };
    place.replaced("listing.toml", &[]);
    assert_eq!(place.made(), own(&["o.suppressed.csv"]));
    place.replaced("cutting.toml", &remove);
    assert_eq!(place.made(), own(&["o.tree"]));
    assert_eq!(place.receipt("o.receipt.json")["suppressed"], Value::Null);
    place.replaced("listing.toml", &remove);
    assert_eq!(place.made(), own(&["o.suppressed.csv"]));
    place.replaced("listing.toml", &[&remove[..], &["--suppressed", "list"]].concat());
    assert_eq!(place.made(), own(&["list"]));
    place.replaced("listing.toml", &[&remove[..], &["--suppressed", "list", "--format", "csv"]].concat());
    assert_eq!(place.made(), own(&["list"]));
    // Another receipt names them all.
    place.replaced("cutting.toml", &[&remove[..], &["--receipt", "r.json"]].concat());
    assert_eq!(place.made(), ["o", "o.receipt.key", "r.json", "r.receipt.key", "r.tree"]);
    // A release that is kept has its files.
    place.replaced("listing.toml", &["--replace", "keep", "--receipt", "r.json"]);
    assert!(place.has("o.previous") && place.has("r.tree") && place.has("o.suppressed.csv"));
    place.refused(
        "cutting.toml",
        &["--replace", "keep", "--receipt", "r.json"],
        "r.tree exists already, and is no private file of o",
    );
}

#[test]
fn a_release_without_its_private_files_is_made_again() {
    let place = Place::new();
    let again = |policy: &str, more: &[&str]| {
        let told = place.ends_with(0, policy, &[&["--replace", "remove"], more].concat());
        !told.contains("nothing to do")
    };
    place.replaced("listing.toml", &[]);
    assert!(!again("listing.toml", &[]));
    std::fs::remove_file(place.0.path("o.suppressed.csv")).unwrap();
    assert!(again("listing.toml", &[]) && place.has("o.suppressed.csv"));
    assert!(!again("listing.toml", &["--suppressed", "./o.suppressed.csv"]));
    assert!(again("listing.toml", &["--suppressed", "list"]) && place.has("list"));
    assert!(!again("listing.toml", &["--suppressed", "list"]));
    assert!(again("cutting.toml", &[]) && !again("cutting.toml", &[]));
    std::fs::remove_file(place.0.path("o.tree")).unwrap();
    assert!(again("cutting.toml", &[]) && place.has("o.tree"));
    place.0.write("o.tree", "1\n");
    assert!(again("cutting.toml", &[]) && !again("cutting.toml", &[]));
}

/// What a killed run left is told by its receipt.
#[test]
fn an_exchange_that_was_cut_short_is_finished_or_undone() {
    let place = Place::new();
    place.replaced("listing.toml", &[]);
    let older = place.everything();
    let remove = ["--replace", "remove"];
    place.replaced("cutting.toml", &remove);
    let newer = place.everything();
    // Exchanged, and no file has its name.
    std::fs::rename(place.0.path("o.receipt.json"), place.0.path("o.receipt.json.next")).unwrap();
    std::fs::rename(place.0.path("o.tree"), place.0.path("o.tree.next")).unwrap();
    for name in ["o.receipt.json", "o.suppressed.csv"] {
        std::fs::write(place.0.path(name), &older[name]).unwrap();
    }
    place.replaced("cutting.toml", &[&remove[..], &["--format", "csv"]].concat());
    assert_eq!(place.made(), ["o", "o.receipt.json", "o.receipt.key", "o.tree"]);
    // Not yet exchanged; files of a run that was killed before its receipt was there have usual names.
    for (name, of) in [("o.receipt.json.next", "o.receipt.json"), ("o.tree.next", "o.tree")] {
        std::fs::write(place.0.path(name), &newer[of]).unwrap();
    }
    place.0.write("o.suppressed.csv.next", "row\n");
    place.replaced("cutting.toml", &remove);
    assert_eq!(place.made(), ["o", "o.receipt.json", "o.receipt.key", "o.tree"]);
}

/// A slash at its end would be followed.
#[cfg(unix)]
#[test]
fn a_link_is_refused_however_it_is_written() {
    let place = Place::new();
    place.replaced("cutting.toml", &[]);
    std::fs::rename(place.0.path("o"), place.0.path("place")).unwrap();
    std::os::unix::fs::symlink("place", place.0.path("o")).unwrap();
    for out in ["o", "o/", "./o//", "o/."] {
        let run = ["anonymize", "t.csv", "--policy", "cutting.toml", "--out", out, "--replace", "remove"];
        let told = place.0.ends_with(2, &[&run[..], &["--format", "csv"]].concat());
        assert!(told.contains("is a link, not the directory of a release"), "{out}: {told}");
    }
}

#[test]
fn nothing_but_a_release_is_replaced() {
    let place = Place::new();
    std::fs::create_dir(place.0.path("o")).unwrap();
    place.0.write("o/notes", "mine");
    for older in ["remove", "keep"] {
        place.refused("cutting.toml", &["--replace", older], "o is not the directory of a release");
    }
    std::fs::rename(place.0.path("o"), place.0.path("o.previous")).unwrap();
    place.replaced("cutting.toml", &[]);
    let keep = ["--replace", "keep", "--format", "csv"];
    place.refused("cutting.toml", &keep, "o.previous is not the directory of a release");
}
