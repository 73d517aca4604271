//! The keys of the adversary who knows distributions.

use std::fmt::{self, Write};
use std::path::PathBuf;

use crate::error::Result;
use crate::math::exact::Rational;
use crate::math::robust::{Requirement, Test};
use crate::model::privacy::{Reading, name_quasi};
use crate::model::{Privacy, Target};
use crate::policy::{Columns, Item, Mistakes, Section, fraction_text, list_text, name_of, quoted};

/// All keys.
pub(in crate::model) const KEYS: [&str; 5] = ["r", "known", "support", "distributions", "test"];

/// The support of statistics where the policy leaves open what is known.
const DEFAULT_SUPPORT: u32 = 100;
/// The largest support; counts of a combination stay far below 2^32.
const MOST_SUPPORT: u64 = 1_000_000;

/// The adversary who knows distributions.
#[derive(Debug, Clone, PartialEq)]
pub struct RobustModel {
    /// No posterior may be above 1/r; more than 1.
    pub r: Rational,
    /// The sets of quasi-identifiers whose distributions are known; each sorted.
    pub known: Vec<Vec<String>>,
    /// How many people a statistic needs to be trusted: as many, distributed like the whole table, are added to every
    /// combination; 0 takes the counts as they are. Only for estimated distributions.
    pub support: u32,
    /// Where the distributions come from.
    pub distributions: Distributions,
    /// How a group is tested.
    pub test: RobustTest,
}

/// Where the distributions come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Distributions {
    /// From the table itself.
    Estimated,
    /// From a table of signature columns, value and probability.
    File {
        /// As written in the policy.
        given: String,
        /// Relative to the folder of the policy.
        path: PathBuf,
    },
}

/// How a group is tested for r-robustness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RobustTest {
    /// The ratio condition: sound and cheap.
    Ratio,
    /// Exact posteriors.
    Exact,
}

impl RobustTest {
    /// All tests with their names in a policy.
    pub const NAMES: [(&'static str, RobustTest); 2] =
        [("ratio", RobustTest::Ratio), ("exact", RobustTest::Exact)];

    /// The test in the mathematics; groups with more than `states` states have no exact posteriors.
    pub fn condition(self, states: u64) -> Test {
        match self {
            RobustTest::Ratio => Test::Ratio,
            RobustTest::Exact => Test::Exact { states },
        }
    }
}

impl RobustModel {
    pub(in crate::model) fn read(section: &Section, reading: Reading<'_>, mistakes: &mut Mistakes) -> Self {
        let Reading { columns, folder } = reading;
        if columns.quasi.is_empty() {
            let problem = "\"robust\" needs a quasi-identifier";
            mistakes.add(section.at, &section.key, problem, "add [columns.quasi.NAME]");
        }
        let r = match section.get("r") {
            Some(item) => item.fraction_where(|r| *r > Rational::ONE, "r is more than 1", "2", mistakes),
            None => {
                section.missing("r", "no posterior is above 1/r: write r = 3", mistakes);
                None
            }
        };
        let mut known = match section.get("known") {
            Some(item) => read_known(&item, columns, mistakes),
            None => columns_and_pairs(columns),
        };
        for set in &mut known {
            set.sort();
        }
        known.sort();
        known.dedup();
        let distributions =
            section.get("distributions").and_then(|item| item.text("\"estimated\"", mistakes));
        let distributions = match distributions {
            Some(given) if given != "estimated" => {
                let path = folder.join(&given);
                Distributions::File { given, path }
            }
            _ => Distributions::Estimated,
        };
        let default = match (section.get("known"), &distributions) {
            (None, Distributions::Estimated) => DEFAULT_SUPPORT,
            _ => 0,
        };
        let support = section.get("support").and_then(|item| read_support(&item, &distributions, mistakes));
        let test =
            section.get("test").and_then(|item| read_test(&item, mistakes)).unwrap_or(RobustTest::Ratio);
        RobustModel {
            r: r.unwrap_or(Rational::ONE),
            known,
            support: support.unwrap_or(default),
            distributions,
            test,
        }
    }

    /// What must hold for every group of a policy that protects `target` by this model.
    pub fn requirement(&self, privacy: &Privacy, target: &Target) -> Result<Requirement> {
        let minimum = privacy.minimum_group_size.max(target.minimum_distinct);
        let requirement = Requirement::new(self.r.clone())?.with_minimum_group(minimum);
        Ok(requirement.with_minimum_distinct(target.minimum_distinct))
    }

    pub(in crate::model) fn write(&self, text: &mut String) -> fmt::Result {
        writeln!(text, "model = \"robust\"\nr = {}", fraction_text(&self.r))?;
        let set = |names: &Vec<String>| list_text(names.iter().map(|name| quoted(name)));
        writeln!(text, "known = {}", list_text(self.known.iter().map(set)))?;
        if self.support > 0 {
            writeln!(text, "support = {}", self.support)?;
        }
        if let Distributions::File { given, .. } = &self.distributions {
            writeln!(text, "distributions = {}", quoted(given))?;
        }
        writeln!(text, "test = \"{}\"", name_of(&RobustTest::NAMES, self.test))
    }
}

/// What public statistics show: every quasi-identifier alone, and every two of them.
fn columns_and_pairs(columns: &Columns) -> Vec<Vec<String>> {
    let names: Vec<&String> = columns.quasi.iter().map(|column| &column.name).collect();
    let mut known = Vec::new();
    for (at, one) in names.iter().enumerate() {
        known.push(vec![one.to_string()]);
        known.extend(names[at + 1..].iter().map(|other| vec![one.to_string(), other.to_string()]));
    }
    known
}

fn read_support(item: &Item, distributions: &Distributions, mistakes: &mut Mistakes) -> Option<u32> {
    if *distributions != Distributions::Estimated {
        let problem = "distributions from a file are taken as they are";
        item.wrong(problem, "remove support, or write distributions = \"estimated\"", mistakes);
        return None;
    }
    item.whole(0..=MOST_SUPPORT, mistakes).map(|support| support as u32)
}

fn read_test(item: &Item, mistakes: &mut Mistakes) -> Option<RobustTest> {
    if item.as_text() == Some("delta") {
        let problem = "\"delta\" accepts groups whose posteriors are above 1/r";
        item.wrong(problem, "write \"ratio\" or \"exact\"", mistakes);
        return None;
    }
    item.choice(&RobustTest::NAMES, mistakes)
}

fn read_known(item: &Item, columns: &Columns, mistakes: &mut Mistakes) -> Vec<Vec<String>> {
    let mut known = Vec::new();
    for list in item.items() {
        let mut set = Vec::new();
        for (name, at) in list.texts("[[\"age\"], [\"age\", \"sex\"]]", mistakes) {
            if columns.quasi(&name).is_none() {
                let problem = format!("{} is not a quasi-identifier", quoted(&name));
                mistakes.add(at, &list.key, problem, name_quasi(&name, columns));
            }
            set.push(name);
        }
        set.sort();
        known.push(set);
    }
    if known.iter().all(Vec::is_empty) {
        item.wrong("names no column", "list sets of columns: [[\"age\"], [\"age\", \"sex\"]]", mistakes);
    }
    known
}
