//! What stands in the way of a finer group?
//!
//! For the owner only: no decision depends on it. A cut is judged without any other group, so that the answer is the
//! same for any number of threads and any order of decisions.

use crate::math::skyline::Point;
use std::collections::BTreeMap;

/// What refuses a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Obstacle {
    /// The position of the protected column among the targets of the policy.
    pub target: u16,
    /// The rule.
    pub rule: ObstructingRule,
}

/// The rule that refuses a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObstructingRule {
    /// Nobody differs from the others in any quasi-identifier.
    NothingToCut,
    /// Every cut leaves too few people on one side.
    People,
    /// A part has too few different sensitive values.
    Distinct,
    /// A skyline point, by its position among the different points of the target.
    Point {
        /// Which point.
        point: u16,
        /// The code of the value, if it is the only one that refuses the cut.
        code: Option<u16>,
    },
    /// A criterion over shares, by its position.
    Shares(u16),
    /// Windows of numbers.
    Windows,
    /// The adversary of the model.
    Adversary,
}

/// A rule that stands in the way of a cut.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Objection {
    /// The rule.
    pub obstacle: Obstacle,
    /// How far the cut is from what the rule allows: about 1 at the limit, more beyond.
    pub excess: f64,
}

impl Objection {
    /// By a rule of the first target.
    pub fn new(rule: ObstructingRule, excess: f64) -> Self {
        Objection { obstacle: Obstacle { target: 0, rule }, excess }
    }

    /// By a rule that does not say how far a cut is from what it allows.
    pub fn at_limit(rule: ObstructingRule) -> Self {
        Objection::new(rule, 1.0)
    }

    /// The objection that is furthest beyond its limit; the first of equals.
    pub fn furthest(all: impl Iterator<Item = Objection>) -> Option<Objection> {
        all.reduce(|one, other| if other.excess > one.excess { other } else { one })
    }
}

/// How many people are in groups whose best cut is refused, by what refuses it.
///
/// Memory: some 60 bytes for each value and point that refuses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObstacleTally {
    counted: BTreeMap<Obstacle, (u64, u64)>,
}

impl ObstacleTally {
    /// Adds a group of so many people; nothing if it was not made by cuts.
    pub fn add(&mut self, obstacle: Option<Obstacle>, people: u64) {
        let Some(obstacle) = obstacle else { return };
        let (all, groups) = self.counted.entry(obstacle).or_default();
        *all += people;
        *groups += 1;
    }

    /// The people and the number of groups by obstacle, most people first.
    pub fn by_people(&self) -> Vec<(Obstacle, u64, u64)> {
        let mut counted: Vec<_> =
            self.counted.iter().map(|(&obstacle, &(people, groups))| (obstacle, people, groups)).collect();
        counted.sort_by_key(|&(obstacle, people, _)| (std::cmp::Reverse(people), obstacle));
        counted
    }
}

/// What refuses the best cut of some groups, and how many people are in them.
#[derive(Debug, Clone, PartialEq)]
pub struct Binding {
    /// The requirement.
    pub requirement: BindingRequirement,
    /// People in the groups.
    pub people: u64,
    /// Groups.
    pub groups: u64,
}

/// The requirement that refuses a cut, with its names.
#[derive(Debug, Clone, PartialEq)]
pub enum BindingRequirement {
    /// None: the people of the group have the same quasi-identifiers.
    NothingToCut,
    /// The minimum number of people.
    People(u64),
    /// The minimum number of different values of a column.
    Distinct {
        /// The sensitive column.
        column: String,
        /// How many.
        least: u64,
    },
    /// A skyline point.
    Point {
        /// The sensitive column.
        column: String,
        /// The value, if it is the only one that refuses.
        value: Option<String>,
        /// The point.
        point: Point,
    },
    /// Another rule of a column.
    Other {
        /// The sensitive column.
        column: String,
        /// As the policy names it.
        rule: &'static str,
    },
    /// Requirements that bind fewer people than any that is listed.
    Rest,
}

impl BindingRequirement {
    /// In words, for a sentence such as "98 % of the people: ...". `value` makes a sensitive value presentable.
    pub fn in_words(&self, value: impl Fn(&str) -> String) -> String {
        match self {
            BindingRequirement::NothingToCut => "nothing to cut, all columns are alike".to_string(),
            BindingRequirement::People(least) => format!("at least {least} people"),
            BindingRequirement::Distinct { least, .. } => format!("at least {least} different values"),
            BindingRequirement::Point { value: own, point, .. } => {
                let size = point.knowledge;
                let whose =
                    own.as_ref().map_or("several values".to_string(), |own| format!("value {}", value(own)));
                format!("{whose} at ({},{},{})", size.l, size.k, size.m)
            }
            BindingRequirement::Other { rule, .. } => rule.to_string(),
            BindingRequirement::Rest => "other requirements".to_string(),
        }
    }
}
