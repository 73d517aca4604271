//! A folder with a release that is continued.

use crate::support::{Folder, contents, json, printed};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Output;

pub const POLICY: &str = "[columns]\nsensitive = \"s\"\n[columns.quasi.q]\ndomain = [0, 100]\n[privacy]\n\
                          k_anonymity = 2\nl_diversity = { c = 3, l = 2 }\n[nights]\nperson = \"name\"\nbatch = 20\n";

/// Appends the table that was written last.
pub const APPEND: [&str; 6] = ["anonymize", "t.csv", "--policy", "p.toml", "--append", "r"];

/// A person: name, number, sensitive value.
pub type Person = (u32, u32, &'static str);

/// People whose values are spread well enough for small groups.
pub fn people(names: std::ops::Range<u32>) -> Vec<Person> {
    let value = |i: u32| ["flu", "cold", "asthma", "none"][(i * 7 % 11 % 4) as usize];
    names.map(|i| (i, i * 37 % 97, value(i))).collect()
}

pub struct Place(pub Folder);

impl Place {
    /// A first night of these people.
    pub fn new(policy: &str, first: &[Person]) -> Self {
        let place = Place(Folder::new());
        place.0.write("p.toml", policy);
        place.table(first);
        place.ends_with(0, &["anonymize", "t.csv", "--policy", "p.toml", "--out", "r"]);
        place
    }

    pub fn table(&self, people: &[Person]) {
        let rows = people.iter().map(|(name, q, s)| format!("{name},{q},{s}\n"));
        self.0.write("t.csv", &format!("name,q,s\n{}", rows.collect::<String>()));
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.0.run(arguments)
    }

    #[track_caller]
    pub fn ends_with(&self, code: i32, arguments: &[&str]) -> String {
        self.0.ends_with(code, arguments)
    }

    /// The JSON object of a run that ends with 0.
    #[track_caller]
    pub fn answer(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
        json(&output)
    }

    #[track_caller]
    pub fn night(&self, code: i32, people: &[Person]) -> Value {
        self.table(people);
        let output = self.run(&[&APPEND[..], &["--json"]].concat());
        assert_eq!(output.status.code(), Some(code), "{}", printed(&output));
        json(&output)
    }

    pub fn release(&self) -> BTreeMap<String, Vec<u8>> {
        contents(&self.0.path("r"))
    }

    pub fn check(&self) -> Value {
        self.answer(&["check", "r"])
    }
}
