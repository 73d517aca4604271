//! Which people does a release expose to somebody who computes nothing?
//!
//! Memory: the combinations of the original, and one group at a time.

use super::{GroupTables, expect_rows, groups};
use crate::encode::attribute::Coding;
use crate::error::Result;
use crate::math::exact::{Rational, ratio};
use crate::model::beliefs::Roles;
use crate::model::beliefs::judge::Gathered;
use crate::model::beliefs::original::Original;
use crate::model::skyline::near::number_of_cell;
use crate::resources::Resources;
use crate::table::read::Table;
use std::collections::BTreeMap;

/// Numbers are close if the largest is at most this much above the least, in percent of it.
pub const CLOSE_PERCENT: u64 = 5;

/// The people of a release who are exposed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exposure {
    /// All people.
    pub people: u64,
    /// Groups.
    pub groups: u64,
    /// People whose group has only one sensitive value.
    pub certain: u64,
    /// People whose sensitive number is known up to [`CLOSE_PERCENT`]; `None` if values are not numbers.
    pub close: Option<u64>,
    /// People who alone have the least or the greatest number of a quasi-identifier in their group.
    pub at_ends: u64,
    /// People whose quasi-identifiers nobody else has.
    pub without_lookalikes: u64,
}

impl Exposure {
    /// Looks at the groups of a release, with the original quasi-identifiers of their people.
    pub fn of(
        original: &Table,
        release: &GroupTables<'_>,
        roles: &Roles,
        resources: &Resources<'_>,
    ) -> Result<Self> {
        let known = Original::read(original, roles, resources)?;
        release.manifest.map_or(Ok(()), |manifest| expect_rows(manifest, known.rows(), &roles.suppress))?;
        let (people, published) = release.parts(original, &known, roles, resources)?;
        let null = known.sensitive.null_text();
        let texts = known.sensitive.texts();
        let numbers: Option<Vec<Rational>> = match null {
            Some(_) => None,
            None => texts.iter().map(|text| number_of_cell(text)).collect(),
        };
        let mut exposure = Exposure { close: numbers.as_ref().map(|_| 0), ..Exposure::default() };
        groups::gather(&known, &people, &published, roles, resources, |group| {
            exposure.see(&group, &known, numbers.as_deref());
            Ok(())
        })?;
        Ok(exposure)
    }

    fn see(&mut self, group: &Gathered, known: &Original, numbers: Option<&[Rational]>) {
        let people: u64 = group.members.iter().map(|member| member.rows).sum();
        let values: Vec<usize> = group
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(value, _)| value)
            .collect();
        self.people += people;
        self.groups += 1;
        self.certain += if values.len() == 1 { people } else { 0 };
        if let (Some(close), Some(numbers)) = (&mut self.close, numbers) {
            let own = || values.iter().map(|&value| &numbers[value]);
            if let (Some(least), Some(greatest)) = (own().min(), own().max()) {
                let room = if *least < Rational::ZERO { -greatest.clone() } else { least.clone() };
                let is_close = greatest - least <= room * ratio(CLOSE_PERCENT, 100);
                *close += if is_close { people } else { 0 };
            }
        }
        let rows =
            |combination| known.combinations.histogram(combination).map(|(_, count)| count).sum::<u64>();
        let alone = group.members.iter().filter(|member| rows(member.combination) == 1);
        self.without_lookalikes += alone.count() as u64;
        self.at_ends += people_at_ends(group, known);
    }
}

fn people_at_ends(group: &Gathered, known: &Original) -> u64 {
    let mut at_ends = vec![false; group.members.len()];
    for (column, attribute) in known.attributes.iter().enumerate() {
        if !matches!(attribute.coding, Coding::Numbers(_)) {
            continue;
        }
        let code = |combination: usize| known.combinations.codes(combination)[column];
        let mut by_code: BTreeMap<u32, u64> = BTreeMap::new();
        for member in &group.members {
            *by_code.entry(code(member.combination)).or_default() += member.rows;
        }
        if by_code.len() < 2 {
            continue;
        }
        let ends = [by_code.first_key_value(), by_code.last_key_value()];
        for (&end, _) in ends.into_iter().flatten().filter(|(_, people)| **people == 1) {
            for (flag, member) in at_ends.iter_mut().zip(&group.members) {
                *flag |= code(member.combination) == end;
            }
        }
    }
    at_ends.into_iter().filter(|flag| *flag).count() as u64
}
