//! Whose values stand at the ends of published ranges?

use super::found::Lints;
use crate::encode::attribute::{Attribute, LabelEnds};
use crate::encode::grid::GridOrigin;
use crate::model::Policy;
use crate::policy::{AcceptedRisk, Style};

/// Up to this many numbers are like the names of categories if many people share each: a set of them would show the same,
/// and nobody in particular stands at the end of a range.
const MOST_CATEGORIES: u32 = 20;

/// How many people share a category, on average.
const PEOPLE_OF_A_CATEGORY: u64 = 10;

/// The most columns that a message names.
const MOST_NAMED: usize = 5;

impl Lints {
    /// The columns of a release whose ranges end at values that somebody has: texts, and numbers and times for which
    /// the policy sets no cells.
    pub fn add_ends(&mut self, policy: &Policy, attributes: &[Attribute], people: u64) {
        // There are no ranges where quasi-identifiers are published as they are.
        if policy.publish.style == Style::Bucketized {
            return;
        }
        let with = |ends: LabelEnds| {
            let categories = |own: &Attribute| {
                let values = own.coding.len();
                values <= MOST_CATEGORIES && people >= u64::from(values) * PEOPLE_OF_A_CATEGORY
            };
            let own = attributes.iter().filter(|own| !categories(own) && own.label_ends() == ends);
            own.map(|own| own.name.as_str()).collect::<Vec<_>>()
        };
        let without_cells = with(LabelEnds::Grid(GridOrigin::Default));
        if let Some(first) = without_cells.first() {
            self.add(
                AcceptedRisk::EndsOfRanges,
                Some(people),
                format!("ranges end where people are, for the policy sets no cells for {}", named(&without_cells)),
                format!(
                    "write domain = [low, high], what is possible and not what occurs, or grid = width, below \
                     [columns.quasi.{first}]{}",
                    others(&without_cells)
                ),
            );
        }
        let texts = with(LabelEnds::Values);
        if let Some(first) = texts.first() {
            self.add(
                AcceptedRisk::EndsOfRanges,
                Some(people),
                format!("ranges of texts show how the texts of people begin, in {}", named(&texts)),
                format!(
                    "write prefix = [3, 2, 1] or hierarchy = \"FILE\" below [columns.quasi.{first}]{}",
                    others(&texts)
                ),
            );
        }
    }
}

/// What to do with the columns after the first.
fn others(columns: &[&str]) -> &'static str {
    if columns.len() == 1 { "" } else { ", and so for the others" }
}

/// The columns in words, at most [`MOST_NAMED`] of them.
fn named(columns: &[&str]) -> String {
    let names: Vec<String> = columns.iter().take(MOST_NAMED).map(|name| format!("{name:?}")).collect();
    let (noun, names) = (if columns.len() == 1 { "column" } else { "columns" }, names.join(", "));
    match columns.len().saturating_sub(MOST_NAMED) {
        0 => format!("{noun} {names}"),
        more => format!("{noun} {names} and {more} more"),
    }
}
