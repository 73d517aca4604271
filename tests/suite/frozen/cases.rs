//! The cases: the tables of `datasets` with their policies, in every style that a policy can request.

use super::reference::{Family, Snapshot};
use crate::support::{dataset, json, printed, root, skyveil, skyveil_in, text};
use std::path::Path;
use std::process::Output;

/// How the rows are published, as written in a policy.
const STYLES: [(&str, &str); 4] = [
    ("generalized-label", "style = \"generalized\"\nranges = \"label\""),
    ("generalized-bounds", "style = \"generalized\"\nranges = \"bounds\""),
    ("bucketized-label", "style = \"bucketized\"\nranges = \"label\""),
    ("bucketized-bounds", "style = \"bucketized\"\nranges = \"bounds\""),
];

const IMPLICATIONS: &str = "[privacy]\nmodel = \"implications\"\nimplications = 2\nconfidence = 0.8\n";
const DIVERSE: &str = "[privacy]\nk_anonymity = 20\nl_diversity = { c = 3, l = 3 }\n";
const CLOSE: &str = "[privacy]\nk_anonymity = 10\nt_closeness = { t = 0.4 }\nprobabilistic_l_diversity = 2\n";

/// A modified policy of `datasets`.
struct Stated {
    text: String,
}

impl Stated {
    fn of(name: &str) -> Self {
        Stated { text: std::fs::read_to_string(dataset(name)).unwrap() }
    }

    fn replace(mut self, old: &str, new: &str) -> Self {
        assert!(self.text.contains(old), "{old}");
        self.text = self.text.replace(old, new);
        self
    }

    /// Sets other requirements for the same columns.
    fn privacy(mut self, privacy: &str) -> Self {
        let at =
            ["\n[privacy", "\n[[privacy"].iter().filter_map(|start| self.text.find(start)).min().unwrap();
        self.text = format!("{}\n{privacy}", &self.text[..at]);
        self
    }

    fn publish(mut self, publish: &str) -> Self {
        let end = self.text.find("\n[publish]").unwrap_or(self.text.len());
        self.text = format!("{}\n[publish]\n{publish}\n", &self.text[..end]);
        self
    }
}

/// Records a JSON answer and the exit code. The wording of an error may change, but no case is an error.
fn answer(snapshot: &mut Snapshot, name: &str, output: &Output) {
    assert_ne!(output.status.code(), Some(2), "{}", printed(output));
    snapshot.text(&format!("{name}.code"), &output.status.code().unwrap().to_string());
    snapshot.json(name, &json(output));
}

/// The result of `anonymize` on a table with these flags, and of `check` on that release.
fn release(table: &Path, policy: &Stated, flags: &[&str]) -> Snapshot {
    let folder = tempfile::tempdir().unwrap();
    for name in ["census-tract.csv", "census-marital.csv", "clinic-work.csv"] {
        std::fs::copy(dataset(name), folder.path().join(name)).unwrap();
    }
    std::fs::write(folder.path().join("policy.toml"), &policy.text).unwrap();
    let fixed = ["anonymize", text(table), "--policy", "policy.toml", "--out", "release", "--json"];
    let made = skyveil_in(folder.path(), &[&fixed[..], flags].concat());
    let mut snapshot = Snapshot::default();
    answer(&mut snapshot, "anonymize", &made);
    let out = folder.path().join("release");
    if out.is_dir() {
        snapshot.release(&out);
        let original =
            policy.text.contains("model       = \"beliefs\"") || policy.text.contains("\"robust\"");
        let mut arguments = vec!["check", "release", "--json", "--all"];
        arguments.extend(if original { vec!["--original", text(table)] } else { vec![] });
        let checked = skyveil_in(folder.path(), &arguments);
        answer(&mut snapshot, "check", &checked);
    }
    if let Ok(rows) = std::fs::read_to_string(folder.path().join("release.suppressed.csv")) {
        snapshot.text("suppressed", &rows);
    }
    snapshot
}

#[test]
fn census() {
    let mut family = Family::new("census");
    let table = dataset("census.csv");
    for (style, publish) in STYLES {
        for cuts in ["best", "mondrian"] {
            let policy = Stated::of("census.toml").publish(&format!("{publish}\ncuts = \"{cuts}\""));
            family.add(&format!("skyline {style} {cuts}"), release(&table, &policy, &[]));
        }
    }
    for (model, privacy) in [("implications", IMPLICATIONS), ("diversity", DIVERSE), ("closeness", CLOSE)] {
        for (style, publish) in [STYLES[0], STYLES[3]] {
            let policy = Stated::of("census.toml").privacy(privacy).publish(publish);
            family.add(&format!("{model} {style}"), release(&table, &policy, &[]));
        }
    }
    let kept = Stated::of("census.toml")
        .replace("[columns]\n", "accept = [\"unique kept values\"]\n[columns]\n")
        .replace("\"industry\", \"cost\"]", "\"industry\"]\nkeep = [\"cost\"]");
    family.add("skyline keep", release(&table, &kept, &[]));
    let unsafe_whole =
        Stated::of("census.toml").privacy("[privacy]\nk_anonymity = 5001\nl_diversity = { c = 3, l = 3 }\n");
    family.add("no release", release(&table, &unsafe_whole, &[]));
    family.compare();
}

#[test]
fn census_two_columns() {
    let mut family = Family::new("census-two");
    for (style, publish) in [STYLES[0], STYLES[2]] {
        let policy = Stated::of("census-two.toml").publish(publish);
        family.add(style, release(&dataset("census.csv"), &policy, &[]));
    }
    family.compare();
}

#[test]
fn census_lattice() {
    let mut family = Family::new("census-lattice");
    let table = dataset("census.csv");
    for measure in ["discernibility", "group-size", "certainty", "entropy"] {
        let policy = Stated::of("census.toml").privacy(DIVERSE);
        let flags = ["--search", "lattice", "--measure", measure];
        family.add(&format!("diversity {measure}"), release(&table, &policy, &flags));
    }
    for (style, publish) in [STYLES[1], STYLES[2]] {
        let policy = Stated::of("census.toml").privacy(IMPLICATIONS).publish(publish);
        family.add(&format!("implications {style}"), release(&table, &policy, &["--search", "lattice"]));
    }
    family.compare();
}

#[test]
fn census_robust() {
    let mut family = Family::new("census-robust");
    let table = dataset("census.csv");
    family.add("as it is", release(&table, &Stated::of("census-robust.toml"), &[]));
    let suppressing =
        || Stated::of("census-robust.toml").replace("[privacy]", "[privacy]\nsuppress = \"50%\"");
    let policy = suppressing().replace("r     = 2 ", "r     = \"7/2\" ");
    family.add("stricter", release(&table, &policy, &[]));
    let policy = suppressing().replace("[[\"sex\", \"marital\"], [\"education\"]]", "[[\"age\"]]");
    family.add("ages", release(&table, &policy, &[]));
    family.compare();
}

#[test]
fn census_beliefs() {
    let mut family = Family::new("census-beliefs");
    let table = dataset("census.csv");
    let (style, publish) = STYLES[0];
    family.add(style, release(&table, &Stated::of("census-beliefs.toml").publish(publish), &[]));
    // Fewer people for the other styles: the groups of a style do not depend on how they are written.
    let folder = tempfile::tempdir().unwrap();
    let small = folder.path().join("people.csv");
    let census = std::fs::read_to_string(&table).unwrap();
    let lines: Vec<&str> = census.lines().take(801).collect();
    std::fs::write(&small, lines.join("\n") + "\n").unwrap();
    for (style, publish) in &STYLES[1..] {
        let policy = Stated::of("census-beliefs.toml").publish(publish);
        family.add(&format!("800 people {style}"), release(&small, &policy, &[]));
    }
    family.compare();
}

#[test]
fn small_tables() {
    let mut family = Family::new("small-tables");
    for name in ["clinic", "visits", "households-counted", "patients", "hospital"] {
        for (style, publish) in STYLES {
            let policy = Stated::of(&format!("{name}.toml")).publish(publish);
            family.add(&format!("{name} {style}"), release(&dataset(&format!("{name}.csv")), &policy, &[]));
        }
    }
    for (style, publish) in [STYLES[0], STYLES[2]] {
        let policy =
            Stated::of("visits.toml").replace("values = \"set\"", "values = \"multiset\"").publish(publish);
        family.add(&format!("visits multiset {style}"), release(&dataset("visits.csv"), &policy, &[]));
    }
    let implications = Stated::of("clinic.toml").privacy(IMPLICATIONS);
    family.add("clinic implications", release(&dataset("clinic.csv"), &implications, &[]));
    family.compare();
}

#[test]
fn strategies() {
    let mut family = Family::new("strategies");
    let functions = dataset("exclusive-functions.csv");
    for strategy in ["exclusive", "inclusive"] {
        for (table, policy) in [
            ("table1", "exclusive-names"),
            ("table2", "exclusive"),
            ("table4-ga", "exclusive"),
            ("table4-gb", "exclusive"),
            ("table6", "exclusive-names"),
        ] {
            let path = dataset(&format!("exclusive-{table}.csv"));
            let policy = format!("{policy}.toml");
            let given = ["--strategy", strategy, "--functions", text(&functions)];
            family.add(&format!("{table} {strategy} given"), release(&path, &Stated::of(&policy), &given));
            for (style, publish) in [STYLES[0], STYLES[2]] {
                let policy = Stated::of(&policy).publish(&format!("{publish}\nstrategy = \"{strategy}\""));
                family.add(&format!("{table} {strategy} {style}"), release(&path, &policy, &[]));
            }
        }
    }
    family.compare();
}

#[test]
fn generated() {
    let mut family = Family::new("generated");
    let folder = tempfile::tempdir().unwrap();
    for kind in ["agrawal", "groups", "census"] {
        let parquet = folder.path().join(kind);
        std::fs::create_dir(&parquet).unwrap();
        let file = parquet.join("table.parquet");
        let made = skyveil(&["generate", kind, "--rows", "6000", "--seed", "3", "--out", text(&file)]);
        assert_eq!(made.status.code(), Some(0), "{}", printed(&made));
        let mut snapshot = Snapshot::default();
        snapshot.table("table", &crate::support::decode(&parquet));
        family.add(kind, snapshot);
    }
    for (style, publish) in [STYLES[0], STYLES[3]] {
        let agrawal = Stated::of("agrawal.toml").replace("k = 1000", "k = 100").publish(publish);
        family.add(&format!("agrawal {style}"), release(&folder.path().join("agrawal"), &agrawal, &[]));
        let census = Stated::of("census.toml").publish(publish);
        family.add(&format!("census {style}"), release(&folder.path().join("census"), &census, &[]));
    }
    family.compare();
}

#[test]
fn answers() {
    let mut family = Family::new("answers");
    let folder = root().join("datasets");
    let mut ask = |line: &str| {
        let arguments: Vec<&str> = line.split(' ').chain(["--json"]).collect();
        let outcome = skyveil_in(&folder, &arguments);
        let mut snapshot = Snapshot::default();
        answer(&mut snapshot, "json", &outcome);
        family.add(line, snapshot);
    };
    for name in ["patients", "hospital"] {
        ask(&format!("check {name}-generalized.csv --policy {name}-generalized.toml"));
        ask(&format!("disclosure {name}-generalized.csv --policy {name}-generalized.toml --up-to 4"));
        let table =
            format!("{name}-bucketized/sensitive.csv --group group --sensitive disease --values single");
        ask(&format!("check {table} --point 0,1,0,0.7 --point 1,0,1,3/4"));
        ask(&format!("skyline {table} --confidence 0.8 --all --up-to 3,3,3"));
        ask(&format!("disclosure {table} --up-to 4"));
    }
    ask("explain patients-generalized.csv --policy patients-generalized.toml --value AIDS --point 0,1,1");
    ask("check census.csv --group sex,marital --sensitive diagnosis --point 1,2,3,0.5");
    ask(
        "check visits.csv --group district --sensitive diagnosis --individual patient --values set --point 1,1,1,0.6",
    );
    ask(
        "check households-counted.csv --group tenure --sensitive benefit --count households --point 1,1,1,0.9",
    );
    ask("attack census.csv --policy census-beliefs.toml --group sex,marital --bandwidth 0.3");
    ask("init clinic.csv --no-trial");
    ask("init census.csv --no-trial");
    for table in ["exclusive-table2", "exclusive-table4-ga", "exclusive-table4-gb"] {
        ask(&format!("audit {table}.csv --policy exclusive.toml --functions exclusive-functions.csv"));
        ask(&format!("audit {table}.csv --policy exclusive.toml"));
    }
    family.compare();
}
