//! What do several releases of overlapping people give away together?
//!
//! People are recognized by a column that names them, found in the tables that the releases were made from, or in the
//! published tables themselves. Their movements from group to group refine the groups into cells
//! ([`joint_releases`](crate::math::joint_releases)).
//!
//! Memory: 40 bytes for each person and 4 for each of their groups; the values of all groups.

use super::beliefs::LabelledGroups;
use crate::encode::fingerprint::{CellHasher, FingerprintKey};
use crate::error::{Error, Result};
use crate::math::confidence::ThresholdVerdict;
use crate::math::exact::Rational;
use crate::math::joint_releases::{CellKnowledge, JointCell, JointLimits, ValueCounts, know_cells};
use crate::math::skyline::{ProtectedCodes, Ranking, SkylineState, Values};
use crate::model::beliefs::{Original, Roles};
use crate::model::skyline::ProtectedValues;
use crate::model::skyline::judge::SkylinePoints;
use crate::resources::Resources;
use crate::resources::budget::Reservation;
use crate::table::read::{ColumnRequest, Morsel, Table};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray};
use hashbrown::HashMap;

type Hashed<V> = HashMap<u128, V, foldhash::fast::FixedState>;

/// A published table, and who is in its groups.
pub struct JointRelease<'a> {
    /// The rows that were published, one for each person.
    pub table: &'a Table,
    /// The columns that tell its groups apart.
    pub groups: &'a [String],
    /// The sensitive column.
    pub sensitive: &'a str,
    /// Where the people are.
    pub people: JointPeople<'a>,
}

/// Where the people of a published table are found.
pub enum JointPeople<'a> {
    /// In the table itself.
    Own,
    /// In the table that it was made from, by the labels of its groups.
    Labelled {
        /// The table.
        original: &'a Table,
        /// What its columns mean.
        roles: &'a Roles,
    },
}

/// What the first releases give away, and then one more after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct JointReport {
    /// People in any of the releases.
    pub people: u64,
    /// For the first release alone, the first two together, and so on.
    pub after: Vec<JointExposure>,
}

/// What some releases give away together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JointExposure {
    /// People in these releases.
    pub people: u64,
    /// People who are in all of them.
    pub stayed: u64,
    /// People whose value is certain.
    pub certain: u64,
    /// Those of them who are in all of these releases.
    pub certain_stayed: u64,
    /// People in a cell that violates what is required of groups.
    pub violating: u64,
    /// Those of them who are in all of these releases.
    pub violating_stayed: u64,
    /// People about whom it is not determined, which is not to say that they are safe.
    pub not_determined: u64,
    /// Cells.
    pub cells: u64,
}

/// What is required of a cell, as of any group.
#[derive(Debug, Clone, PartialEq)]
pub struct JointRule {
    /// Nobody may be as sure as this of anybody's value.
    pub confidence: Rational,
    /// Points that hold for the cell alone, if its values are determined.
    pub points: SkylinePoints,
}

/// Follows people through several releases; each of them has one value.
pub fn together(
    releases: &[JointRelease<'_>],
    person: &str,
    rule: &JointRule,
    resources: &Resources<'_>,
) -> Result<JointReport> {
    let mut joined = JoinedReleases::new(resources)?;
    for (number, release) in releases.iter().enumerate() {
        joined.add_values(release, resources)?;
        joined.add_people(number, release, person, resources)?;
    }
    let after = (1..=releases.len()).map(|count| joined.exposure(count, rule)).collect::<Result<_>>()?;
    Ok(JointReport { people: joined.people.len() as u64, after })
}

/// Everybody's groups so far, and the values of all groups.
struct JoinedReleases {
    hasher: CellHasher,
    values: Hashed<u32>,
    groups: Vec<ValueCounts>,
    /// The groups of the release that is being read, by their keys.
    numbers: Hashed<usize>,
    /// The group of each person in each release so far; [`NOWHERE`] if they are not in it.
    people: Hashed<Vec<u32>>,
    /// Where the groups of each release begin.
    starts: Vec<usize>,
    room: Reservation,
}

const NOWHERE: u32 = u32::MAX;
const STAGE: &str = "the people of several releases";

impl JoinedReleases {
    fn new(resources: &Resources<'_>) -> Result<Self> {
        Ok(JoinedReleases {
            hasher: CellHasher::new(&FingerprintKey::random()?, b"skyveil: several releases"),
            values: Hashed::default(),
            groups: Vec::new(),
            numbers: Hashed::default(),
            people: Hashed::default(),
            starts: Vec::new(),
            room: resources.budget.reserve(STAGE, 0)?,
        })
    }

    /// Scans some columns; every row becomes the hash of the first `keys` columns and that of the others.
    fn hashes(
        &self,
        table: &Table,
        names: &[&str],
        keys: usize,
        resources: &Resources<'_>,
        mut each: impl FnMut(u128, u128) -> Result<()>,
    ) -> Result<()> {
        let columns: Vec<ColumnRequest> = names.iter().copied().map(ColumnRequest::canonical).collect();
        let work = |morsel: Morsel<'_>| {
            let mut found = Vec::new();
            for batch in morsel {
                let batch = batch?;
                let (first, rest) = batch.columns().split_at(keys);
                found.extend(
                    self.hash(first, batch.num_rows())?.into_iter().zip(self.hash(rest, batch.num_rows())?),
                );
            }
            Ok(found)
        };
        table.scan(&columns, resources, work, |found: Vec<(u128, u128)>| {
            found.into_iter().try_for_each(|(key, rest)| each(key, rest))
        })
    }

    fn hash(&self, columns: &[ArrayRef], rows: usize) -> Result<Vec<u128>> {
        self.hasher.rows(columns.iter().map(|column| ("", column)), rows)
    }

    fn add_values(&mut self, release: &JointRelease<'_>, resources: &Resources<'_>) -> Result<()> {
        self.starts.push(self.groups.len());
        let names: Vec<&str> = release.groups.iter().map(String::as_str).chain([release.sensitive]).collect();
        let (mut numbers, mut groups) = (Hashed::default(), std::mem::take(&mut self.groups));
        let mut values = std::mem::take(&mut self.values);
        resources.progress.start("reading groups", release.table.rows());
        self.hashes(release.table, &names, release.groups.len(), resources, |group, value| {
            let number = *numbers.entry(group).or_insert_with(|| {
                groups.push(ValueCounts::new());
                groups.len() - 1
            });
            let known = values.len() as u32;
            let value = *values.entry(value).or_insert(known);
            *groups[number].entry(value).or_insert(0) += 1;
            Ok(())
        })?;
        resources.progress.finish();
        (self.numbers, self.groups, self.values) = (numbers, groups, values);
        Ok(())
    }

    fn add_people(
        &mut self,
        place: usize,
        release: &JointRelease<'_>,
        person: &str,
        resources: &Resources<'_>,
    ) -> Result<()> {
        resources.progress.start("following people", release.table.rows());
        let mut found: Vec<(u128, u128)> = Vec::new();
        match &release.people {
            JointPeople::Own => {
                let names: Vec<&str> = release.groups.iter().map(String::as_str).chain([person]).collect();
                self.hashes(release.table, &names, release.groups.len(), resources, |group, person| {
                    found.push((person, group));
                    Ok(())
                })?;
            }
            JointPeople::Labelled { original, roles } => {
                found = self.labelled(release.table, original, roles, person, resources)?;
            }
        }
        resources.progress.finish();
        for (person, group) in found {
            let group = self.numbers.get(&group).and_then(|group| u32::try_from(*group).ok());
            let group =
                group.ok_or_else(|| contradiction("somebody is in a group that was not published"))?;
            let own = self.people.entry(person).or_default();
            own.resize(place, NOWHERE);
            if own.len() > place {
                return Err(contradiction("the same person is in several rows of one table"));
            }
            own.push(group);
        }
        let bytes = self.people.len() as u64 * (40 + 4 * (place as u64 + 1));
        self.room.resize(STAGE, bytes)
    }

    /// Each person of the original, and the key of their group.
    fn labelled(
        &self,
        release: &Table,
        original: &Table,
        roles: &Roles,
        person: &str,
        resources: &Resources<'_>,
    ) -> Result<Vec<(u128, u128)>> {
        let known = Original::read(original, roles, resources)?;
        let labels = LabelledGroups::read(release, original, &known, roles, resources)?;
        let quasi = roles.quasi.iter().map(|quasi| quasi.name.as_str());
        let columns: Vec<ColumnRequest> =
            [person].into_iter().chain(quasi).map(ColumnRequest::canonical).collect();
        let work = |morsel: Morsel<'_>| {
            let mut found = Vec::new();
            for batch in morsel {
                let batch = batch?;
                let (names, quasi) = batch.columns().split_at(1);
                let rows = known.codes(quasi)?;
                let mut codes = vec![0; quasi.len()];
                let mut numbers = Vec::with_capacity(batch.num_rows());
                for row in 0..batch.num_rows() {
                    codes
                        .iter_mut()
                        .zip(&rows.columns)
                        .for_each(|(code, column)| *code = column.get(row).into());
                    numbers.push(labels.group(&codes)?);
                }
                let numbers: ArrayRef = std::sync::Arc::new(arrow_array::Int64Array::from(numbers));
                let groups = self.hash(&[numbers], batch.num_rows())?;
                found.extend(self.hash(names, batch.num_rows())?.into_iter().zip(groups));
            }
            Ok(found)
        };
        let mut all = Vec::new();
        original.scan(&columns, resources, work, |found: Vec<(u128, u128)>| {
            all.extend(found);
            Ok(())
        })?;
        Ok(all)
    }

    /// What the first `count` releases give away.
    fn exposure(&self, count: usize, rule: &JointRule) -> Result<JointExposure> {
        let mut places: HashMap<Vec<u32>, usize, foldhash::fast::FixedState> = HashMap::default();
        let mut cells: Vec<JointCell> = Vec::new();
        for own in self.people.values() {
            let own: Vec<u32> = own.iter().take(count).copied().collect();
            let groups: Vec<usize> =
                own.iter().filter(|group| **group != NOWHERE).map(|group| *group as usize).collect();
            if groups.is_empty() {
                continue;
            }
            let place = *places.entry(own).or_insert_with(|| {
                cells.push(JointCell { people: 0, groups });
                cells.len() - 1
            });
            cells[place].people += 1;
        }
        let end = self.starts.get(count).copied().unwrap_or(self.groups.len());
        let known = know_cells(&self.groups[..end], &cells, JointLimits::default())
            .map_err(|_| contradiction("somebody has two values, or is not where the tables say"))?;
        let mut exposure = JointExposure { cells: cells.len() as u64, ..JointExposure::default() };
        for (cell, known) in cells.iter().zip(&known) {
            let stayed = cell.groups.len() == count;
            exposure.people += cell.people;
            exposure.stayed += if stayed { cell.people } else { 0 };
            let mut add = |to: fn(&mut JointExposure) -> (&mut u64, &mut u64)| {
                let (all, of_stayers) = to(&mut exposure);
                *all += cell.people;
                *of_stayers += if stayed { cell.people } else { 0 };
            };
            if known.is_certain() {
                add(|exposure| (&mut exposure.certain, &mut exposure.certain_stayed));
            }
            if self.violates(known, rule)? {
                add(|exposure| (&mut exposure.violating, &mut exposure.violating_stayed));
            }
            if *known == CellKnowledge::NotDetermined {
                exposure.not_determined += cell.people;
            }
        }
        Ok(exposure)
    }

    /// Whether a cell is a group that the rule forbids.
    fn violates(&self, known: &CellKnowledge, rule: &JointRule) -> Result<bool> {
        if known.surest().is_some_and(|surest| surest >= rule.confidence) {
            return Ok(true);
        }
        let CellKnowledge::Determined(counts) = known else { return Ok(false) };
        let codes = |texts: &[String]| -> Result<Vec<u32>> {
            let mut own = Vec::new();
            for text in texts {
                let value = self.values.get(&self.text(text)?);
                own.extend(value.and_then(|value| counts.keys().position(|code| code == value)));
            }
            Ok(own.into_iter().map(|place| place as u32).collect())
        };
        let mut skyline = Vec::new();
        for (values, point) in &rule.points {
            let protected = match values {
                ProtectedValues::Every => ProtectedCodes::Every,
                ProtectedValues::These(texts) => ProtectedCodes::These(codes(texts)?),
                ProtectedValues::Except(texts) => ProtectedCodes::Except(codes(texts)?),
                ProtectedValues::Near(_) => continue,
            };
            skyline.push((protected, point.clone()));
        }
        let own: Vec<u64> = counts.values().copied().collect();
        let mut state = SkylineState::new(Values::Single, own.len(), &skyline);
        state.observe(&mut Ranking::default(), own.iter().sum(), &own, 0);
        Ok(state.verdict() != ThresholdVerdict::Safe)
    }

    /// The hash of a text.
    fn text(&self, text: &str) -> Result<u128> {
        let array: DictionaryArray<Int32Type> = [text].into_iter().collect();
        let hashes = self.hash(&[std::sync::Arc::new(array)], 1)?;
        hashes.first().copied().ok_or_else(|| Error::defect("a text has no hash"))
    }
}

fn contradiction(problem: &str) -> Error {
    Error::input(
        format!("these are not releases of these people: {problem}"),
        "give the releases in the order of their tables, and the column that names people",
    )
}
