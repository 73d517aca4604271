//! Which of the groups that were published decide about those that may follow?
//!
//! Whether further groups may be published depends on minima over all groups ever published (mathematics 11). A few
//! groups attain all of them; they are kept by the texts of their values, so that a table with other codes can go on
//! from them.
//!
//! Memory: at most five groups for each value at each skyline point, or three for each number of implications; the
//! groups that were minima for a while are dropped again.

use super::adversaries::Model;
use super::policy::Policy;
use super::shares::ShareCriterion;
use super::split::SplitTest;
use crate::encode::combination::SensitiveColumns;
use crate::encode::group_counts::{GroupCounts, Part};
use crate::error::{Error, Result};
use crate::math::skyline::Values;
use crate::policy::{Cuts, Leaving, Style, joint_value};
use hashbrown::HashMap;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// A group that was published, by the texts of its values.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PastGroup {
    /// People.
    pub people: u64,
    /// The values that occur, one for each column of [`PastGroups::columns`], and how often.
    pub counts: Vec<(Vec<String>, u64)>,
}

/// Groups that were published and decide about those that may follow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastGroups {
    /// The sensitive columns.
    pub columns: Vec<String>,
    /// The groups.
    pub groups: Vec<PastGroup>,
}

/// The most codes of a sensitive column.
const MOST_CODES: usize = u16::MAX as usize;

impl PastGroups {
    /// Nothing was published.
    pub const NONE: PastGroups = PastGroups { columns: Vec::new(), groups: Vec::new() };

    /// The groups as a test of some columns sees them. Values that have no code yet get one after the others: `texts`
    /// grows.
    pub fn parts(&self, columns: &[String], texts: &mut Vec<String>) -> Result<Vec<Part>> {
        if self.groups.is_empty() {
            return Ok(Vec::new());
        }
        let place = |name: &String| self.columns.iter().position(|own| own == name);
        let places: Option<Vec<usize>> = columns.iter().map(place).collect();
        let places = places.ok_or_else(|| {
            Error::input(
                format!("column {:?} was not published before", columns.join("+")),
                "continue a release with the policy that it was made with",
            )
        })?;
        let mut codes: HashMap<String, usize, foldhash::fast::FixedState> =
            texts.iter().cloned().zip(0..).collect();
        let mut parts = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            let mut own = GroupCounts { people: group.people, counts: vec![0; texts.len()] };
            for (values, count) in &group.counts {
                let value: Vec<&str> = places.iter().map(|&place| values[place].as_str()).collect();
                let code = *codes.entry(joint_value(&value)).or_insert_with_key(|text| {
                    texts.push(text.clone());
                    texts.len() - 1
                });
                own.counts.resize(texts.len(), 0);
                own.counts[code] += count;
            }
            if texts.len() > MOST_CODES {
                return Err(Error::input(
                    format!("column {:?} has more than {MOST_CODES} values in all nights", columns.join("+")),
                    "round or group its values",
                ));
            }
            parts.push(Part::of(&own));
        }
        Ok(parts)
    }
}

/// Finds the groups that decide about later ones while a release is written.
pub struct PastRecorder {
    test: Box<dyn SplitTest>,
    found: Vec<Part>,
}

impl PastRecorder {
    /// After the groups that `test` accepted.
    pub fn after(test: Box<dyn SplitTest>) -> Self {
        PastRecorder { test, found: Vec::new() }
    }

    /// Adds a group that is published.
    pub fn observe(&mut self, part: &Part) {
        if self.test.accept(std::slice::from_ref(part)) {
            self.found.push(part.clone());
        }
    }

    /// The groups found, with those that decided before, by the texts of their values; not all of them are needed.
    pub fn finish(self, sensitive: &SensitiveColumns, before: &PastGroups) -> PastGroups {
        let columns: Vec<String> = sensitive.columns().iter().map(|column| column.name.clone()).collect();
        let texts: Vec<Vec<String>> = sensitive.columns().iter().map(|column| column.texts()).collect();
        // Every code has a value in every column: a release with a list beside other columns is not continued.
        let text = |code: u16, column: usize| {
            sensitive
                .value(code, column)
                .map(|own| texts[column][usize::from(own)].clone())
                .unwrap_or_default()
        };
        let group = |part: &Part| PastGroup {
            people: part.people,
            counts: part
                .counts()
                .iter()
                .map(|&(code, count)| ((0..columns.len()).map(|column| text(code, column)).collect(), count))
                .collect(),
        };
        let mut groups: Vec<PastGroup> = self.found.iter().map(group).collect();
        let place = |name: &String| before.columns.iter().position(|own| own == name);
        let places: Vec<usize> = columns.iter().filter_map(place).collect();
        groups.extend(before.groups.iter().map(|group| {
            PastGroup {
                people: group.people,
                counts: group
                    .counts
                    .iter()
                    .map(|(values, count)| (places.iter().map(|&at| values[at].clone()).collect(), *count))
                    .collect(),
            }
        }));
        PastGroups { columns, groups }
    }
}

/// Drops groups that decide nothing beside the others: `parts` are what `test`, which has accepted nothing, sees of
/// them. Returns the places of those that are needed, in ascending order.
pub(super) fn needed(test: &dyn SplitTest, parts: &[Part]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|&at| (parts[at].people, at));
    let mut changing = changing(test.fork(), parts, order);
    // The last group that lowered a minimum attains it; backwards, those before it change nothing.
    changing.reverse();
    let mut needed = self::changing(test.fork(), parts, changing);
    needed.sort_unstable();
    needed
}

/// The groups that change what the test remembers, if it accepts them in this order.
fn changing(mut test: Box<dyn SplitTest>, parts: &[Part], mut order: Vec<usize>) -> Vec<usize> {
    let mut seen = HashSet::new();
    order.retain(|&at| {
        let part = &parts[at];
        let new = seen.insert((part.people, part.counts()));
        new && test.accept(std::slice::from_ref(part))
    });
    order
}

impl Policy {
    /// Fails if a release by this policy cannot be continued: if it compares groups with the whole table, or chooses
    /// them in a way that further nights would not follow.
    pub fn expect_continuable(&self) -> Result<()> {
        let refuse = |what: &str, why: &str, remedy: &str| {
            Err(Error::input(
                format!("nights: {what} {why}, so a release with it cannot be continued"),
                remedy,
            ))
        };
        let whole = "compares groups with the whole table, which every night changes";
        for target in &self.privacy.targets {
            let name = target.name();
            match &target.model {
                Model::Robust(_) | Model::Beliefs(_) => {
                    let model = target.model.name();
                    return refuse(
                        &format!("the model \"{model}\" of column {name:?}"),
                        whole,
                        "use the model \"skyline\" or \"implications\", or leave out [nights]",
                    );
                }
                Model::Skyline(model) if !model.near_points()?.is_empty() => {
                    return refuse(
                        &format!("a point of column {name:?} with `within`"),
                        "protects windows that begin at the values of one table",
                        "round the values and leave out `within`, or leave out [nights]",
                    );
                }
                Model::Skyline(_) | Model::Implications(_) => {}
            }
            if target.criteria.iter().any(|own| matches!(own, ShareCriterion::Closeness { .. })) {
                let what = format!("t_closeness of column {name:?}");
                return refuse(&what, whole, "leave out t_closeness, or [nights]");
            }
        }
        let listed = self.privacy.targets.iter().find(|target| target.values != Values::Single);
        if let (Some(listed), [_, _, ..]) = (listed, &self.privacy.targets[..]) {
            return refuse(
                &format!("column {:?}", listed.name()),
                "holds lists beside another sensitive column",
                "keep one sensitive column, or leave out [nights]",
            );
        }
        let replaces = self.nights.as_ref().is_some_and(|nights| nights.erase == Leaving::Replace);
        if replaces && (self.publish.style == Style::Bucketized || !self.columns.keep.is_empty()) {
            return Err(Error::input(
                "nights: erase = \"replace\" needs rows of which nobody can say whose they are: no kept columns, and \
                 style = \"generalized\"",
                "write erase = \"withdraw\", or drop the kept columns",
            ));
        }
        if self.publish.cuts == Cuts::Blind {
            let remedy = "leave out cuts = \"blind\", or [nights]";
            return refuse(
                "cuts = \"blind\"",
                "withstands a replay of one table, not of several nights",
                remedy,
            );
        }
        if self.publish.strategy.is_some() {
            let remedy = "leave out publish.strategy, or [nights]";
            return refuse("publish.strategy", "chooses one function for all people", remedy);
        }
        Ok(())
    }
}
