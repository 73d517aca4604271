//! What is the utility of a release?
//!
//! The normalized certainty penalty of a column is the average width of people's labels, from 0 (every value is exact)
//! to 1 (nothing is revealed). It is measured twice: as published, and with the tightest label that would cover each
//! group, which is what other tools report. Widths are shares of the configured domain, or otherwise of the values that
//! occur, so a penalty reveals values that are not published: it is for the owner alone.
//!
//! Memory: a few numbers per quasi-identifier.

use crate::encode::attribute::{Attribute, Coding};
use crate::encode::column::Column;
use crate::encode::scale::Scale;
use crate::group::groups::{Group, Present};
use crate::release::label::Labels;
use std::ops::Range;

/// Measures of a release.
#[derive(Debug, Clone, PartialEq)]
pub struct Utility {
    /// Average people per group.
    pub average_group_size: f64,
    /// Sum of the squared group sizes: for each person, the number of people they cannot be distinguished from.
    pub discernibility: u128,
    /// Certainty penalty per quasi-identifier.
    pub columns: Vec<Penalty>,
}

/// The certainty penalty of one quasi-identifier.
#[derive(Debug, Clone, PartialEq)]
pub struct Penalty {
    /// The column.
    pub name: String,
    /// With the labels as they are published.
    pub published: f64,
    /// With the tightest labels that cover the groups.
    pub tight: f64,
}

impl Utility {
    /// The average of the published penalties over all quasi-identifiers.
    pub fn published_penalty(&self) -> f64 {
        average(self.columns.iter().map(|column| column.published))
    }

    /// The average of the tight penalties over all quasi-identifiers.
    pub fn tight_penalty(&self) -> f64 {
        average(self.columns.iter().map(|column| column.tight))
    }
}

fn average(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1);
    // An empty sum is -0.
    0.0 + values.sum::<f64>() / count as f64
}

/// Accumulates the measures group by group.
pub struct Measure<'a> {
    columns: Vec<(&'a Column, &'a Attribute, &'a Labels<'a>)>,
    published: Vec<f64>,
    tight: Vec<f64>,
    people: u64,
    groups: u64,
    squares: u128,
}

impl<'a> Measure<'a> {
    /// Starts with no groups.
    pub fn new(
        columns: &'a [Column],
        attributes: &'a [Attribute],
        labels: &'a [(String, Labels<'a>)],
    ) -> Self {
        let zeros = vec![0.0; columns.len()];
        let columns = columns.iter().zip(attributes).zip(labels).map(|((c, a), (_, l))| (c, a, l)).collect();
        Measure { columns, published: zeros.clone(), tight: zeros, people: 0, groups: 0, squares: 0 }
    }

    /// Adds a group.
    pub fn add(&mut self, group: &Group) {
        let people = group.part.people;
        self.people += people;
        self.groups += 1;
        self.squares += u128::from(people) * u128::from(people);
        for (i, (column, attribute, labels)) in self.columns.iter().enumerate() {
            let (extent, present) = (&group.extent[i], &group.present[i]);
            let tight =
                column.width_of(present.ends, present.codes.len()) * share_of_domain(attribute, labels);
            self.tight[i] += people as f64 * tight;
            self.published[i] += people as f64 * published_width(column, attribute, labels, extent, present);
        }
    }

    /// The measures of all groups.
    pub fn finish(self) -> Utility {
        let people = self.people.max(1) as f64;
        let penalties = self.columns.iter().zip(self.published.iter().zip(&self.tight));
        Utility {
            average_group_size: self.people as f64 / self.groups.max(1) as f64,
            discernibility: self.squares,
            columns: penalties
                .map(|((_, attribute, _), (published, tight))| Penalty {
                    name: attribute.name.clone(),
                    published: published / people,
                    tight: tight / people,
                })
                .collect(),
        }
    }
}

/// The least and the greatest value, as configured in the policy or else found in the table.
fn ends(scale: Scale, samples: &[i64], labels: &Labels<'_>) -> Option<(f64, f64)> {
    let (least, greatest) = labels.domain().or(samples.first().copied().zip(samples.last().copied()))?;
    Some((scale.coordinate(least), scale.coordinate(greatest)))
}

/// The share of the configured domain that lies between the least and the greatest value of the table.
fn share_of_domain(attribute: &Attribute, labels: &Labels<'_>) -> f64 {
    let Coding::Numbers { scale, samples, .. } = &attribute.coding else { return 1.0 };
    let (Some((low, high)), [least, .., greatest]) = (ends(*scale, samples, labels), &samples[..]) else {
        return 1.0;
    };
    (scale.coordinate(*greatest) - scale.coordinate(*least)) / (high - low)
}

/// The width of a label; open ends extend to the least and the greatest value of the table.
fn published_width(
    column: &Column,
    attribute: &Attribute,
    labels: &Labels<'_>,
    extent: &Range<u32>,
    present: &Present,
) -> f64 {
    match &attribute.coding {
        Coding::Set { .. } | Coding::Tree { .. } => column.width_of(present.ends, present.codes.len()),
        Coding::TextRanges { .. } => column.width_of((extent.start, extent.end - 1), extent.len()),
        Coding::Numbers { scale, samples, .. } => {
            let Some((least, greatest)) = ends(*scale, samples, labels) else { return 0.0 };
            if attribute.unshifted(present.ends.1).is_none() {
                return 0.0;
            }
            let bounds = labels.bounds(extent, present);
            let from = bounds.from.map_or(least, |from| scale.coordinate(from));
            let to = match bounds.to {
                Some(to) if bounds.closed => scale.coordinate(to),
                Some(to) => scale.coordinate(to) - scale.step(),
                None => greatest,
            };
            let width = (to.min(greatest) - from.max(least)).max(0.0);
            if greatest > least { width / (greatest - least) } else { 0.0 }
        }
    }
}
