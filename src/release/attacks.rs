//! Whom do the attacks on a release affect? One line for each, as the owner's receipt and report show them.

use crate::math::exact::{Rational, f64_at_least, ratio};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the attacks on a release found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttackTable {
    /// All people.
    pub people: u64,
    /// Groups.
    pub groups: u64,
    /// One line for each attack.
    pub attacks: Vec<AttackLine>,
    /// The intervals of a replay, if the choice of groups was repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Value>,
}

/// One attack.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttackLine {
    /// Its name.
    pub attack: String,
    /// What the adversary must know.
    pub needs: String,
    /// How many people it affects; `None` if it was not run.
    pub people: Option<u64>,
    /// No more people than these are affected; `None` if it was not run.
    pub at_most: Option<u64>,
    /// The share of those people, rounded up.
    pub share: Option<f64>,
    /// How sure the number of people is.
    pub sureness: Sureness,
    /// Why it was not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// How sure the number of affected people is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sureness {
    /// It is proved.
    #[serde(rename = "sure")]
    Sure,
    /// A sample says so.
    #[serde(rename = "estimated")]
    Estimated,
    /// It is not known.
    #[serde(rename = "not run")]
    NotRun,
}

impl AttackTable {
    /// No attack yet.
    pub fn new(people: u64, groups: u64) -> Self {
        AttackTable { people, groups, attacks: vec![], replay: None }
    }

    /// An attack that affects just so many people.
    pub fn push_sure(&mut self, attack: &str, needs: &str, people: u64) {
        self.push(attack, needs, [people, people], Sureness::Sure);
    }

    /// An attack that affects at least `affected` and at most `at_most` people; an estimate lies between them.
    pub fn push(&mut self, attack: &str, needs: &str, [affected, at_most]: [u64; 2], sureness: Sureness) {
        self.attacks.push(AttackLine {
            attack: attack.to_string(),
            needs: needs.to_string(),
            people: Some(affected),
            at_most: Some(at_most),
            share: Some(f64_at_least(&self.share(affected))),
            sureness,
            why: None,
        });
    }

    /// An attack that was not run.
    pub fn push_missing(&mut self, attack: &str, needs: &str, why: &str) {
        self.attacks.push(AttackLine {
            attack: attack.to_string(),
            needs: needs.to_string(),
            people: None,
            at_most: None,
            share: None,
            sureness: Sureness::NotRun,
            why: Some(why.to_string()),
        });
    }

    /// So many of all people.
    pub fn share(&self, people: u64) -> Rational {
        ratio(people, self.people.max(1))
    }
}

impl AttackLine {
    /// How sure the number is, or why there is none.
    pub fn remark(&self) -> &str {
        match (self.sureness, &self.why) {
            (Sureness::Sure, _) => "sure",
            (Sureness::Estimated, _) => "estimated",
            (Sureness::NotRun, why) => why.as_deref().unwrap_or("not run"),
        }
    }
}
