//! A release that is not the one that was checked, altered with care: hashes and counts are written anew where an
//! adversary would do so.

use crate::support::library::{read, write};
use crate::support::{Folder, beside, printed, skyveil, text};
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const POLICY: &str = "accept = [\"unique kept values\"]\n[columns]\nsensitive = \"s\"\ndrop = [\"name\"]\nkeep = [\"k\"]\n[columns.quasi.q]\n\
                      domain = [0, 100]\n[columns.quasi.z]\n[privacy]\nl_diversity = { c = 3, l = 2 }\n";

struct Altered {
    folder: Folder,
    out: PathBuf,
}

impl Altered {
    fn new(publish: &str) -> Self {
        let row = |i: u32| {
            let (z, s) = (["x", "y"][(i % 2) as usize], ["flu", "cold", "asthma"][(i * 5 % 7 % 3) as usize]);
            format!("p{i},{},{z},{s},{}\n", i * 37 % 97, i % 5)
        };
        let rows: String = (0..40).map(row).collect();
        Altered::made(&format!("name,q,z,s,k\n{rows}"), &format!("{POLICY}{publish}"))
    }

    /// A release of this table.
    fn made(table: &str, policy: &str) -> Self {
        let folder = Folder::new();
        let (table, policy) = (folder.write("t.csv", table), folder.write("p.toml", policy));
        let out = folder.text("out");
        let made = skyveil(&["anonymize", &table, "--policy", &policy, "--out", &out]);
        assert!(made.status.success(), "{}", printed(&made));
        Altered { out: folder.path("out"), folder }
    }

    fn manifest(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.out.join("manifest.json")).unwrap()).unwrap()
    }

    /// Changes the manifest, which is then written as releases write it.
    fn edit(&self, change: impl FnOnce(&mut Value)) {
        let mut manifest = self.manifest();
        change(&mut manifest);
        let text = serde_json::to_string_pretty(&manifest).unwrap() + "\n";
        std::fs::write(self.out.join("manifest.json"), text).unwrap();
    }

    /// Lists all files of the directory in the manifest, with their hashes.
    fn list_anew(&self) {
        let mut names: Vec<String> = crate::support::contents(&self.out).into_keys().collect();
        names.retain(|name| name != "manifest.json");
        let file = |name: &String| {
            let bytes = std::fs::read(self.out.join(name)).unwrap();
            let hash: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
            json!({"path": name, "bytes": bytes.len(), "sha256": hash})
        };
        self.edit(|manifest| manifest["files"] = names.iter().map(file).collect());
    }

    /// Writes a table of the release again with other columns.
    fn rewrite(&self, table: &str, columns: &[&str], change: impl FnOnce(RecordBatch) -> RecordBatch) {
        let part = self.out.join(table).join("part-00000.parquet");
        let changed = change(read(&part, columns));
        std::fs::remove_file(&part).unwrap();
        write(&part, &changed);
        self.list_anew();
    }

    /// The check must say that this is not the release that was checked, and name what is wrong.
    #[track_caller]
    fn is_refused(&self, named: &[&str]) {
        let output = skyveil(&["check", text(&self.out)]);
        let told = printed(&output);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.starts_with("not the release that was checked"), "{told}");
        assert!(!told.contains("\nsafe: "), "{told}");
        for name in named {
            assert!(told.contains(name), "{name} in\n{told}");
        }
        let output = skyveil(&["check", text(&self.out), "--json"]);
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(told["safe"] == false && told["altered"].as_array().is_some_and(|all| !all.is_empty()));
    }
}

fn with(batch: &RecordBatch, name: &str, column: ArrayRef) -> RecordBatch {
    let fields = batch.schema().fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
    let columns = fields.into_iter().zip(batch.columns().iter().cloned());
    RecordBatch::try_from_iter(columns.chain([(name.to_string(), column)])).unwrap()
}

fn texts(rows: usize) -> ArrayRef {
    Arc::new((0..rows).map(|row| Some(format!("v{row}"))).collect::<StringArray>())
}

const JOINED: [&str; 5] = ["group", "q", "z", "k", "s"];

#[test]
fn files_that_no_release_has_are_named() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 6] = [
        ("raw.csv", |out| std::fs::write(out.join("raw.csv"), "name,s\nAnn,flu\n").unwrap()),
        ("data/raw.csv", |out| std::fs::write(out.join("data/raw.csv"), "name,s\nAnn,flu\n").unwrap()),
        (".notes", |out| std::fs::write(out.join(".notes"), "Ann").unwrap()),
        ("data/part-00001.parquet", |out| {
            std::fs::copy(out.join("data/part-00000.parquet"), out.join("data/part-00001.parquet")).unwrap();
        }),
        ("tree.json", |out| {
            std::fs::copy(beside(out, ".tree"), out.join("tree.json")).unwrap();
        }),
        ("more", |out| {
            std::fs::create_dir(out.join("more")).unwrap();
            std::fs::write(out.join("more/raw.csv"), "Ann").unwrap();
        }),
    ];
    for (name, change) in changes {
        let release = Altered::new("");
        change(&release.out);
        release.is_refused(&[&format!("out/{name}: ")]);
        // Listed with its hash it is still no part of a release, or counts people twice.
        release.list_anew();
        release.is_refused(&[if name.starts_with("data/part") {
            "out/data: the groups are not numbered"
        } else {
            name
        }]);
    }
}

#[cfg(unix)]
#[test]
fn links_are_no_files_of_a_release() {
    let release = Altered::new("");
    let part = release.out.join("data/part-00000.parquet");
    std::fs::rename(&part, release.folder.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(release.folder.path("elsewhere"), &part).unwrap();
    release.is_refused(&["part-00000.parquet: this is neither a file nor a folder"]);
}

#[test]
fn changed_and_missing_files_are_named() {
    let release = Altered::new("");
    let page = release.out.join("report.html");
    let text = std::fs::read_to_string(&page).unwrap();
    std::fs::write(&page, text.replace("safe", "very safe")).unwrap();
    release.is_refused(&["report.html: this file was changed"]);
    std::fs::remove_file(&page).unwrap();
    release.is_refused(&["report.html: the file is missing"]);
    release.list_anew();
    release.is_refused(&["report.html: every release has this file"]);
    let release = Altered::new("");
    std::fs::remove_dir_all(release.out.join("data")).unwrap();
    release.is_refused(&["data/part-00000.parquet: the file is missing"]);
    let release = Altered::new("");
    release.edit(|manifest| drop(manifest.as_object_mut().unwrap().remove("files")));
    release.is_refused(&["manifest.json: it lists no files"]);
}

#[test]
fn columns_that_the_policy_does_not_publish_are_named() {
    for (name, column) in
        [("name", texts(40)), ("q_exact", Arc::new(Int64Array::from_iter(0..40)) as ArrayRef)]
    {
        let release = Altered::new("");
        release.rewrite("data", &JOINED, |batch| with(&batch, name, column));
        release.is_refused(&[&format!("out/data: the policy does not publish the column `{name}`")]);
    }
    let release = Altered::new("[publish]\nstyle = \"bucketized\"\n");
    release.rewrite("quasi", &["group", "q", "z", "k"], |batch| with(&batch, "s", texts(40)));
    release.is_refused(&["out/quasi: the policy does not publish the column `s`"]);
    // A kept column that is gone, columns in another order, and numbers in place of labels.
    let release = Altered::new("");
    release.rewrite("data", &["group", "q", "z", "s"], |batch| batch);
    release.is_refused(&["out/data: column `k` is missing"]);
    let release = Altered::new("");
    release.rewrite("data", &["group", "s", "q", "z", "k"], |batch| batch);
    release.is_refused(&["out/data: column `q` is missing, or out of place"]);
    let release = Altered::new("");
    release.rewrite("data", &["group", "z", "k", "s"], |batch| {
        let group = ("group", batch.column(0).clone());
        let numbers = ("q", Arc::new(Int64Array::from_iter(0..40)) as ArrayRef);
        let rest = ["z", "k", "s"].into_iter().zip(batch.columns()[1..].iter().cloned());
        RecordBatch::try_from_iter([group, numbers].into_iter().chain(rest)).unwrap()
    });
    release.is_refused(&["out/data: column `q` does not hold labels"]);
}

/// Somebody writes another end of a range, and the hashes anew.
#[test]
fn ranges_end_at_the_cells_of_the_policy() {
    let release = Altered::new("");
    release.rewrite("data", &JOINED, |batch| {
        let labels = batch.column(1).as_string::<i32>();
        let first = labels.value(0).to_string();
        assert!(first.starts_with('['), "{first}");
        let (from, rest) = first[1..].split_once(',').unwrap();
        let moved = format!("[{},{rest}", from.parse::<i64>().unwrap() + 2);
        let changed: StringArray =
            labels.iter().map(|label| label.map(|own| if own == first { &moved } else { own })).collect();
        let mut arrays = batch.columns().to_vec();
        arrays[1] = Arc::new(changed);
        RecordBatch::try_new(batch.schema(), arrays).unwrap()
    });
    release.is_refused(&["out/data: column `q` has a label that does not end at cells of the policy"]);
}

#[test]
fn groups_keep_their_order() {
    let release = Altered::new("");
    release.rewrite("data", &JOINED, |batch| {
        let rows = batch.num_rows();
        let reversed = arrow_array::UInt32Array::from_iter_values((0..rows as u32).rev());
        let columns =
            batch.columns().iter().map(|column| arrow_select::take::take(column, &reversed, None).unwrap());
        RecordBatch::try_from_iter(JOINED.into_iter().zip(columns)).unwrap()
    });
    release.is_refused(&["out/data: the groups are not numbered from 1 in order"]);
}

#[test]
fn what_the_manifest_says_is_computed_again() {
    type Change = fn(&mut Value);
    let changes: [(&str, Change); 9] = [
        ("`records` does not agree", |manifest| manifest["records"] = json!(41)),
        ("`individuals` does not agree", |manifest| manifest["individuals"] = json!(39)),
        ("`groups` does not agree", |manifest| manifest["groups"] = json!(1)),
        ("`smallest_group` does not agree", |manifest| manifest["smallest_group"] = json!(9)),
        ("`points` does not agree", |manifest| manifest["points"][0]["safe"] = json!(false)),
        ("`utility` does not agree", |manifest| manifest["utility"]["discernibility"] = json!("1")),
        ("`sensitive` does not agree", |manifest| manifest["sensitive"] = json!("z")),
        ("`input` is not part of a manifest", |manifest| manifest["input"] = json!({"Ann": "flu"})),
        ("the policy does not have the hash", |manifest| {
            manifest["policy"] = json!(format!("{}\n# weaker\n", manifest["policy"].as_str().unwrap()));
        }),
    ];
    for (says, change) in changes {
        let release = Altered::new("");
        release.edit(change);
        release.is_refused(&["out/manifest.json: ", says]);
    }
    // The same values, with something between them that nobody reads.
    let release = Altered::new("");
    let path = release.out.join("manifest.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("{\n", "{ \n", 1)).unwrap();
    release.is_refused(&["manifest.json: it is not written as releases write it"]);
}

/// A weaker policy with everything that follows from it is a release of its own: only the owner's policy tells.
#[test]
fn another_policy_is_noticed_by_its_owner() {
    let release = Altered::new("");
    let (out, owners) = (text(&release.out).to_string(), release.folder.text("p.toml"));
    let check = |out: &str| skyveil(&["check", out, "--policy", &owners]);
    assert_eq!(check(&out).status.code(), Some(0), "{}", printed(&check(&out)));
    let weaker = release.folder.write("weaker.toml", &POLICY.replace("c = 3", "c = 9"));
    let (table, forged) = (release.folder.text("t.csv"), release.folder.text("forged"));
    let made = skyveil(&["anonymize", &table, "--policy", &weaker, "--out", &forged]);
    assert!(made.status.success(), "{}", printed(&made));
    assert_eq!(skyveil(&["check", &forged]).status.code(), Some(0));
    let told = check(&forged);
    assert_eq!(told.status.code(), Some(1));
    assert!(
        printed(&told).contains("forged/manifest.json: its policy is not the one of "),
        "{}",
        printed(&told)
    );
}

#[test]
fn a_signature_may_stand_next_to_the_manifest() {
    let release = Altered::new("");
    std::fs::write(release.out.join("manifest.json.sig"), "signed").unwrap();
    let output = skyveil(&["check", text(&release.out)]);
    assert!(output.status.success(), "{}", printed(&output));
}

const BESIDE: &str = "[columns]\nsensitive = [\"s\", \"drug\"]\nindividual = \"name\"\nquasi = { q = { domain = [0, 100] } }\n\
                      [privacy.column.s]\nl_diversity = { c = 3, l = 2 }\n[privacy.column.drug]\nvalues = \"set\"\n\
                      [[privacy.column.drug.skyline]]\nl = 0\nk = 1\nm = 1\nconfidence = 0.9\n";

/// The rows of `sensitive/` of a release of a list beside another column: group, value, drug, count.
type ValueRow = (i64, Option<String>, Option<String>, i64);
type ValueRows = Vec<ValueRow>;

#[test]
fn a_list_beside_another_column_that_was_changed_is_noticed() {
    let rows = (0..60).flat_map(|i| {
        let s = ["flu", "cold", "asthma"][(i * 5 % 7 % 3) as usize];
        (0..1 + i % 2).map(move |at| format!("p{i},{},{s},d{}\n", i * 37 % 97, (i + at) % 4))
    });
    let table = format!("name,q,s,drug\n{}", rows.collect::<String>());
    let changed = |change: fn(&mut ValueRows)| {
        let release = Altered::made(&table, BESIDE);
        release.rewrite("sensitive", &[], |batch| {
            let own = |row: Vec<String>| {
                let text = |at: usize| Some(row[at].clone()).filter(|text| !text.is_empty());
                (row[0].parse().unwrap(), text(1), text(2), row[3].parse().unwrap())
            };
            let mut rows: ValueRows = crate::support::library::rows(&batch).into_iter().map(own).collect();
            change(&mut rows);
            let texts = |of: fn(&ValueRow) -> Option<String>| {
                Arc::new(rows.iter().map(of).collect::<StringArray>()) as ArrayRef
            };
            let numbers = |of: fn(&ValueRow) -> i64| {
                Arc::new(rows.iter().map(|row| Some(of(row))).collect::<Int64Array>()) as ArrayRef
            };
            let columns = [
                ("group", numbers(|row| row.0)),
                ("s", texts(|row| row.1.clone())),
                ("drug", texts(|row| row.2.clone())),
                ("count", numbers(|row| row.3)),
            ];
            RecordBatch::try_from_iter(columns).unwrap()
        });
        release
    };
    // A drug next to a value tells that somebody has both.
    let apart = ["a row holds values of columns that the policy publishes apart"];
    changed(|rows| rows[0].2 = Some("d0".to_string())).is_refused(&apart);
    changed(|rows| rows.push((rows[rows.len() - 1].0, None, None, 1))).is_refused(&apart);
    // The drugs of a group.
    changed(|rows| rows.retain(|row| row.2.as_deref() != Some("d0"))).is_refused(&["`points`"]);
    let of_drugs = changed(|rows| rows.iter_mut().filter(|row| row.2.is_some()).for_each(|row| row.3 *= 40));
    let told = skyveil(&["check", text(&of_drugs.out)]);
    assert!(!told.status.success() && printed(&told).contains("`drug`"), "{}", printed(&told));
    // One more of a value of which everybody has one.
    let told = skyveil(&["check", text(&changed(|rows| rows[0].3 += 1).out)]);
    assert!(!told.status.success() && printed(&told).contains("`s`"), "{}", printed(&told));
}
