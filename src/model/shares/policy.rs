//! The share criteria of other tools, as declared in a policy.

use std::fmt::{self, Write};

use crate::error::{Error, Result};
use crate::math::exact::Rational;
use crate::math::shares::{Ground, ShareRule};
use crate::model::privacy::read_t;
use crate::policy::{Mistakes, Nearness, Section, fraction_text, name_of};

/// The key of t-closeness.
pub(in crate::model) const T_CLOSENESS: &str = "t_closeness";
/// The key of probabilistic l-diversity.
pub(in crate::model) const LARGEST_SHARE: &str = "probabilistic_l_diversity";
/// All keys.
pub(in crate::model) const KEYS: [&str; 2] = [T_CLOSENESS, LARGEST_SHARE];

/// The distances between sensitive values, with their names in a policy.
const DISTANCES: [(&str, Ground); 2] = [("equal", Ground::Equal), ("ordered", Ground::Ordered)];

/// A criterion of other tools, for comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShareCriterion {
    /// The values of a group are at most `t` away from those of the table.
    Closeness {
        /// The largest distance allowed.
        t: Rational,
        /// The distances between values.
        distance: Ground,
    },
    /// No value has a share above 1/l in a group.
    LargestShare {
        /// More than 1.
        l: Rational,
    },
}

impl ShareCriterion {
    /// Its key in a policy.
    pub fn name(&self) -> &'static str {
        match self {
            ShareCriterion::Closeness { .. } => T_CLOSENESS,
            ShareCriterion::LargestShare { .. } => LARGEST_SHARE,
        }
    }

    /// The criterion for groups of a table in which these values, whose distances are `nearness`, occur with
    /// these counts.
    pub fn rule<T: AsRef<str>>(
        &self,
        nearness: &Nearness,
        column: &str,
        texts: &[T],
        table: &[u64],
    ) -> Result<ShareRule> {
        let (t, distance) = match self {
            ShareCriterion::LargestShare { l } => {
                return Ok(ShareRule::LargestShare { most: Rational::ONE / l });
            }
            ShareCriterion::Closeness { t, distance } => (t, *distance),
        };
        let nearness = match distance {
            Ground::Equal => &Nearness::Equal,
            Ground::Ordered => nearness,
        };
        let (places, domain) = nearness.places(texts).ok_or_else(|| {
            Error::input(
                format!("column `{column}` holds a value that has no place in its order"),
                format!(
                    "list every value in columns.sensitive.{column}.order; \"numeric\" is for numbers only"
                ),
            )
        })?;
        Ok(ShareRule::closeness(t.clone(), distance, places, domain, table))
    }

    /// Writes the criterion as a line of a policy.
    pub(in crate::model) fn write(&self, text: &mut String) -> fmt::Result {
        match self {
            ShareCriterion::Closeness { t, distance } => {
                let (t, distance) = (fraction_text(t), name_of(&DISTANCES, *distance));
                writeln!(text, "t_closeness = {{ t = {t}, distance = \"{distance}\" }}")
            }
            ShareCriterion::LargestShare { l } => {
                writeln!(text, "probabilistic_l_diversity = {}", fraction_text(l))
            }
        }
    }
}

/// Adds a criterion; of two that differ only in their number, the stricter one is enough.
pub(in crate::model) fn add(
    criteria: &mut Vec<ShareCriterion>,
    own: ShareCriterion,
    section: &Section,
    mistakes: &mut Mistakes,
) {
    for shared in criteria.iter_mut() {
        match (shared, &own) {
            (ShareCriterion::LargestShare { l: shared }, ShareCriterion::LargestShare { l }) => {
                *shared = shared.clone().max(l.clone());
                return;
            }
            (
                ShareCriterion::Closeness { t: shared, distance: shared_distance },
                ShareCriterion::Closeness { t, distance },
            ) => {
                if shared_distance == distance {
                    *shared = shared.clone().min(t.clone());
                } else if let Some(item) = section.get("t_closeness") {
                    let remedy =
                        "give both the same distance, or move the shared one below the other columns";
                    item.wrong(
                        "has another distance than privacy.t_closeness, which holds too",
                        remedy,
                        mistakes,
                    );
                }
                return;
            }
            _ => {}
        }
    }
    criteria.push(own);
}

/// Reads the criteria of a section.
pub(in crate::model) fn read(section: &Section, mistakes: &mut Mistakes) -> Vec<ShareCriterion> {
    let mut criteria = Vec::new();
    if let Some(item) = section.get(T_CLOSENESS)
        && let Some(stated) = item.section("t_closeness = { t = 0.2, distance = \"equal\" }", mistakes)
    {
        stated.only(&["t", "distance"], mistakes);
        let distance = stated.get("distance").and_then(|item| item.choice(&DISTANCES, mistakes));
        let distance = distance.unwrap_or(Ground::Equal);
        match stated.get("t") {
            Some(item) => {
                let t = read_t(&item, mistakes);
                criteria.extend(t.map(|t| ShareCriterion::Closeness { t, distance }));
            }
            None => stated.missing("t", "write how far a group may be from the table: t = 0.2", mistakes),
        }
    }
    if let Some(item) = section.get(LARGEST_SHARE) {
        let l = item.fraction_where(|l| *l > Rational::ONE, "l is more than 1", "3", mistakes);
        criteria.extend(l.map(|l| ShareCriterion::LargestShare { l }));
    }
    criteria
}
