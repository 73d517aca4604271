//! What does the adversary know about how likely each value is?
//!
//! [`KnownDistributions`] holds, for every attribute set of a policy, a distribution of sensitive values per
//! signature: estimated from a table ([`census`]) or read from a file ([`mod@file`]). Values are
//! distinguished by their text ([`dictionary`]), so a release, its original and a file of distributions agree
//! whatever their formats.
//!
//! Memory: O(signatures and their non-zero priors), taken from the budget.
//! Invariant: priors are exact; a signature or value that the distributions lack is an error, never a guess.
//! Not here: what follows from priors (`robust`, `posterior`).

pub mod already_known;
pub mod census;
pub mod dictionary;
mod file;
pub mod judge;
mod policy;
pub mod remainder;

use census::Census;
use dictionary::{Coder, Dictionary, Map, UNKNOWN};
use remainder::CountedPeople;

use crate::error::{Error, Result, number_of};
use crate::math::exact::Rational;
use crate::math::robust::{Priors, PriorsBuilder};
use crate::resources::budget::{Budget, Reservation};
use crate::table::read::Table;
use std::sync::Arc;

pub(super) use policy::KEYS;
pub use policy::{Distributions, RobustModel, RobustTest};

/// The distributions that an adversary knows.
#[derive(Debug)]
pub struct KnownDistributions {
    /// The columns of all attribute sets, sorted.
    columns: Vec<String>,
    dictionaries: Vec<Dictionary>,
    sets: Vec<KnownSet>,
    values: Dictionary,
    priors: Priors,
    source: String,
    /// The people they were estimated from.
    counted: Option<CountedPeople>,
    _room: Reservation,
}

/// One attribute set: the positions of its columns, and the number of each signature.
#[derive(Debug)]
struct KnownSet {
    columns: Vec<usize>,
    signatures: Map<Box<[u32]>, u32>,
}

/// A table in the numbers of the distributions.
#[derive(Debug)]
pub struct Bound {
    /// The signatures of each combination of a census, one per attribute set.
    pub signatures: Vec<u32>,
    /// The value of each sensitive code.
    pub values: Vec<u32>,
    _room: Reservation,
}

/// The bytes that a signature and a non-zero prior take while the priors are built, and afterwards.
const SIGNATURE_BYTES: u64 = 96;
const PRIOR_BYTES: u64 = 96;
/// The bytes that a combination of the table takes in addition to its signatures: its weight and its position
/// among the parts.
const COMBINATION_BYTES: u64 = 32;

/// The columns of all attribute sets, sorted.
pub fn known_columns(robust: &RobustModel) -> Vec<String> {
    let mut columns: Vec<String> = robust.known.iter().flatten().cloned().collect();
    columns.sort();
    columns.dedup();
    columns
}

impl KnownDistributions {
    /// The shares of a counted table.
    pub fn estimated(census: &Census, robust: &RobustModel, budget: &Arc<Budget>) -> Result<Self> {
        let columns = census.columns.clone();
        let mut room = budget.reserve("the known distributions", 0)?;
        let scratch = census.classes.len() as u64 * 24 + census.len() as u64 * 4;
        let _scratch = budget.reserve("estimating distributions", scratch)?;
        let mut builder = PriorsBuilder::new(census.sensitive.len() as u32);
        let of_people = CountedPeople::BYTES + 8 * robust.known.len() as u64;
        let (mut sets, mut bytes) = (Vec::new(), census.len() as u64 * of_people);
        let mut of_combinations = Vec::with_capacity(robust.known.len());
        let support = (robust.support > 0).then(|| support_counts(&census.value_counts(), robust.support));
        for set in &robust.known {
            let places = places(&columns, set)?;
            let mut signatures: Map<Box<[u32]>, u32> = Map::default();
            let mut of_combination = Vec::with_capacity(census.len());
            for at in 0..census.len() {
                let codes = census.combination(at);
                let key: Box<[u32]> = places.iter().map(|&place| codes[place]).collect();
                let next = signatures.len() as u32;
                of_combination.push(*signatures.entry(key).or_insert(next));
            }
            let mut counts: Vec<(u32, u32, u32)> = Vec::with_capacity(census.classes.len());
            counts.extend(
                census.classes.iter().map(|&(at, value, rows)| (of_combination[at as usize], value, rows)),
            );
            counts.sort_unstable();
            let mut merged: Vec<(u32, u32, u32)> = Vec::new();
            for (signature, value, rows) in counts {
                match merged.last_mut().filter(|last| (last.0, last.1) == (signature, value)) {
                    Some(last) => last.2 = last.2.checked_add(rows).ok_or_else(too_many_rows)?,
                    None => merged.push((signature, value, rows)),
                }
            }
            let priors = match &support {
                Some(support) => signatures.len() as u64 * support.len() as u64,
                None => merged.len() as u64,
            };
            bytes += signatures.len() as u64 * SIGNATURE_BYTES + priors * PRIOR_BYTES;
            room.resize("the known distributions", bytes)?;
            if let Some(support) = &support {
                merged = with_support(&merged, signatures.len() as u32, support)?;
            }
            builder.estimated(signatures.len() as u32, merged)?;
            of_combinations.push(of_combination);
            sets.push(KnownSet { columns: places, signatures });
        }
        Ok(KnownDistributions {
            columns,
            dictionaries: census.dictionaries.clone(),
            sets,
            values: Dictionary::of_sensitive(&census.sensitive),
            priors: builder.build(),
            source: "the original table".to_string(),
            counted: Some(CountedPeople::new(census, &of_combinations, robust.support)),
            _room: room,
        })
    }

    /// Whether the table is so small that all arrangements of its counts are tried.
    pub fn is_small(&self) -> bool {
        self.counted.as_ref().is_some_and(CountedPeople::is_small)
    }

    /// The priors, by the numbers of signatures and values.
    pub fn priors(&self) -> &Priors {
        &self.priors
    }

    /// The columns of all attribute sets.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The columns of an attribute set.
    pub fn columns_of(&self, set: usize) -> Vec<String> {
        self.sets[set].columns.iter().map(|&place| self.columns[place].clone()).collect()
    }

    /// The text of each value, by its number.
    pub fn value_texts(&self) -> Vec<&str> {
        self.values.texts().into_iter().map(Option::unwrap_or_default).collect()
    }

    /// The values, for reading a column of them.
    pub fn values(&self) -> &Dictionary {
        &self.values
    }

    /// Readers of the known columns of a table.
    pub fn coders<'a>(&'a self, table: &Table) -> Result<Vec<Coder<'a>>> {
        self.columns.iter().zip(&self.dictionaries).map(|(name, own)| Coder::new(own, table, name)).collect()
    }

    /// Appends the signature of each attribute set for a row of codes; `false` if one is unknown.
    pub fn signatures(&self, codes: &[u32], key: &mut Vec<u32>, into: &mut Vec<u32>) -> bool {
        for set in &self.sets {
            key.clear();
            key.extend(set.columns.iter().map(|&place| codes[place]));
            match set.signatures.get(&key[..]) {
                Some(&signature) => into.push(signature),
                None => return false,
            }
        }
        true
    }

    /// The numbers of a table's combinations and values; an error if the distributions lack or contradict some.
    pub fn bind(&self, census: &Census, budget: &Arc<Budget>) -> Result<Bound> {
        let bytes = census.len() as u64 * (4 * self.sets.len() as u64 + COMBINATION_BYTES);
        let room = budget.reserve("the signatures of the table", bytes)?;
        let translated: Vec<Vec<u32>> =
            census.dictionaries.iter().zip(&self.dictionaries).map(|(own, to)| own.translated(to)).collect();
        let values = Dictionary::of_sensitive(&census.sensitive).translated(&self.values);
        let weights = census.weights();
        let mut missing = vec![0u64; self.sets.len()];
        let (mut signatures, mut key) = (Vec::with_capacity(census.len() * self.sets.len()), Vec::new());
        for (at, rows) in weights.iter().enumerate() {
            let codes = census.combination(at);
            for (set, missing) in self.sets.iter().zip(&mut missing) {
                key.clear();
                key.extend(set.columns.iter().map(|&place| translated[place][codes[place] as usize]));
                let known = set.signatures.get(&key[..]).copied();
                *missing += if known.is_none() { *rows } else { 0 };
                signatures.push(known.unwrap_or(UNKNOWN));
            }
        }
        if let Some((set, rows)) = self.sets.iter().zip(missing).find(|(_, rows)| *rows > 0) {
            let names: Vec<&str> = set.columns.iter().map(|&place| self.columns[place].as_str()).collect();
            return Err(Error::input(
                format!(
                    "{} has no distribution for {} of the table, by column {}",
                    self.source,
                    number_of(rows, "row", "rows"),
                    names.join(", ")
                ),
                "give a distribution for every combination of these columns that occurs",
            ));
        }
        let lacking = values.iter().filter(|&&value| value == UNKNOWN).count() as u64;
        if lacking > 0 {
            return Err(Error::input(
                format!(
                    "{} lacks {} of the sensitive column {:?}",
                    self.source,
                    number_of(lacking, "value", "values"),
                    census.sensitive.name
                ),
                "give every value of the table a probability; 0 would contradict the table",
            ));
        }
        self.refuse_contradictions(census, &signatures, &values)?;
        Ok(Bound { signatures, values, _room: room })
    }

    /// Refuses rows whose own value is impossible under the distributions.
    fn refuse_contradictions(&self, census: &Census, signatures: &[u32], values: &[u32]) -> Result<()> {
        let sets = self.sets.len();
        let mut rows = 0u64;
        for &(at, value, count) in &census.classes {
            let own = &signatures[at as usize * sets..][..sets];
            let impossible = |(set, &signature): (usize, &u32)| {
                self.priors.is_zero(set, signature, values[value as usize])
            };
            if own.iter().enumerate().any(impossible) {
                rows += u64::from(count);
            }
        }
        if rows == 0 {
            return Ok(());
        }
        Err(Error::input(
            format!(
                "{} contradicts the table: {} a sensitive value to which it gives no probability",
                self.source,
                if rows == 1 { "1 row has".to_string() } else { format!("{rows} rows have") }
            ),
            "give every value that occurs with a signature a probability above 0",
        ))
    }
}

/// How many people of each value are added to every combination: `support` people distributed like the whole table,
/// rounded up, so that a value which occurs is impossible for nobody.
fn support_counts(values: &[u64], support: u32) -> Vec<u32> {
    let total: u64 = values.iter().sum();
    let share = |count: &u64| (u128::from(*count) * u128::from(support)).div_ceil(u128::from(total.max(1)));
    // A share of `support` is at most `support`.
    values.iter().map(|count| share(count) as u32).collect()
}

/// The counts of every signature and value with the support added; `counts` is sorted.
fn with_support(
    counts: &[(u32, u32, u32)],
    signatures: u32,
    support: &[u32],
) -> Result<Vec<(u32, u32, u32)>> {
    let mut counts = counts.iter().copied().peekable();
    let mut all = Vec::with_capacity(signatures as usize * support.len());
    for signature in 0..signatures {
        for (value, &added) in (0u32..).zip(support) {
            let own = counts.next_if(|own| (own.0, own.1) == (signature, value)).map_or(0, |own| own.2);
            all.push((signature, value, own.checked_add(added).ok_or_else(too_many_rows)?));
        }
    }
    Ok(all)
}

fn places(columns: &[String], set: &[String]) -> Result<Vec<usize>> {
    let place = |name: &String| {
        columns.iter().position(|column| column == name).ok_or_else(|| {
            Error::input(
                format!("the known column {name:?} was not read"),
                "name it in privacy.known and columns.quasi",
            )
        })
    };
    set.iter().map(place).collect()
}

fn too_many_rows() -> Error {
    Error::input(
        "more than 4,294,967,295 rows have one signature and value",
        "give the distributions in a file with privacy.distributions",
    )
}

/// A probability as written in a file: a decimal or a fraction, read exactly.
fn probability(text: &str) -> Option<Rational> {
    crate::math::exact::parse_fraction(text)
        .filter(|value| *value >= Rational::ZERO && *value <= Rational::ONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn support_leaves_no_value_impossible_and_many_people_almost_as_they_are() {
        let support = support_counts(&[899, 100, 1], 100);
        assert_eq!(support, [90, 10, 1]);
        let counts = [(0, 0, 800), (0, 1, 100), (1, 2, 1)];
        let all = with_support(&counts, 2, &support).unwrap();
        assert_eq!(all, [(0, 0, 890), (0, 1, 110), (0, 2, 1), (1, 0, 90), (1, 1, 10), (1, 2, 2)]);
        assert!(with_support(&[(0, 0, u32::MAX)], 1, &[1, 1]).is_err());
    }

    #[test]
    fn a_table_without_people_has_no_support() {
        assert_eq!(support_counts(&[0, 0], 100), [0, 0]);
    }
}
