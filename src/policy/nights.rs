//! How is a release continued night after night?

use std::fmt::{self, Write};

use super::canonical::name_of;
use super::columns::{Columns, Places};
use super::parse::{Mistakes, Section, quoted};

/// The table `[nights]`: a release that can be continued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nights {
    /// The column that names people; without it nobody can tell who was published before.
    pub person: Option<String>,
    /// A night publishes as soon as so many people wait.
    pub batch: u64,
    /// What becomes of people who were published before.
    pub again: Again,
    /// What becomes of the group of somebody who is erased.
    pub erase: Leaving,
}

/// What becomes of people who were published before and are in the table again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// They are left out: what was published of them stays.
    Skip,
    /// The night is refused.
    Refuse,
}

/// What becomes of the group of somebody who is erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaving {
    /// The whole group is withdrawn, for good.
    Withdraw,
    /// It is replaced by those who stay, if these and those who leave both pass as groups; otherwise it is withdrawn.
    Replace,
}

impl Again {
    /// All choices with their names in a policy.
    pub const NAMES: [(&'static str, Again); 2] = [("skip", Again::Skip), ("refuse", Again::Refuse)];
}

impl Leaving {
    /// All choices with their names in a policy.
    pub const NAMES: [(&'static str, Leaving); 2] =
        [("withdraw", Leaving::Withdraw), ("replace", Leaving::Replace)];
}

/// The largest batch.
const MOST: u64 = 1_000_000_000;

impl Nights {
    /// Reads the table, and adds the column of people to the named columns.
    pub(super) fn read(
        section: &Section,
        columns: &Columns,
        places: &mut Places,
        mistakes: &mut Mistakes,
    ) -> Nights {
        section.only(&["person", "batch", "again", "erase"], mistakes);
        let batch = match section.get("batch") {
            Some(item) => item.whole(1..=MOST, mistakes).unwrap_or(1),
            None => {
                let remedy = "write batch = 10_000: a night publishes as soon as so many people wait";
                section.missing("batch", remedy, mistakes);
                1
            }
        };
        let person = section.get("person").and_then(|item| {
            let name = item.text("the name of one column", mistakes)?;
            match places.get(&name).map(|(key, _)| key.as_str()) {
                None => {
                    places.insert(name.clone(), (item.key.clone(), item.at));
                }
                Some("columns.drop") => {}
                Some(other) => {
                    let problem = format!("column {} is also in {other}", quoted(&name));
                    item.wrong(problem, "the column that names people is not published", mistakes);
                }
            }
            Some(name)
        });
        for (key, name) in [("individual", &columns.individual), ("count", &columns.count)] {
            if name.is_some() {
                let problem = format!("stands beside columns.{key}");
                let remedy = "a release that is continued has one row for each person";
                mistakes.add(section.at, &section.key, problem, remedy);
            }
        }
        let again = section.get("again").and_then(|item| item.choice(&Again::NAMES, mistakes));
        let erase = section.get("erase").and_then(|item| item.choice(&Leaving::NAMES, mistakes));
        Nights {
            person,
            batch,
            again: again.unwrap_or(Again::Skip),
            erase: erase.unwrap_or(Leaving::Withdraw),
        }
    }

    /// Writes the table in its canonical form.
    pub(super) fn write(&self, text: &mut String) -> fmt::Result {
        writeln!(text, "[nights]")?;
        if let Some(person) = &self.person {
            writeln!(text, "person = {}", quoted(person))?;
        }
        writeln!(text, "batch = {}", self.batch)?;
        writeln!(text, "again = \"{}\"", name_of(&Again::NAMES, self.again))?;
        writeln!(text, "erase = \"{}\"", name_of(&Leaving::NAMES, self.erase))
    }
}
