//! The codes of combinations of sensitive values.
//!
//! All sensitive columns of a row together have one code, the code of the combination of their values. The code that
//! counts, moves and writes rows therefore handles one code per row, however many columns there are; a judge of a
//! single column uses a [`Projection`].
//!
//! Memory: 2 bytes per column and combination, at most [`MOST`] combinations.
//! Invariant: codes ascend with the values of the first column, then of the second, and so on. For a single column, the
//! codes are those of its values.

use super::distinct::MOST;
use super::sensitive::SensitiveCoding;
use crate::error::{Error, Result};
use crate::policy::joint_value;
use hashbrown::{HashMap, HashSet};

/// The codes of the values of one row, column by column.
type Combination = Box<[u16]>;

/// The sensitive columns of a table, and the combinations of values that occur in them.
#[derive(Debug, Clone)]
pub struct SensitiveColumns {
    columns: Vec<SensitiveCoding>,
    /// Ascending; empty if there is only one column.
    combinations: Vec<Combination>,
    codes: HashMap<Combination, u16, foldhash::fast::FixedState>,
}

/// Maps combinations of all columns to combinations of some of the columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Projection {
    /// The code for each combination of all columns.
    pub code: Vec<u16>,
    /// The texts of the codes, all different.
    pub texts: Vec<String>,
}

impl SensitiveColumns {
    /// Creates the codes of a single column.
    pub fn one(column: SensitiveCoding) -> Self {
        SensitiveColumns { columns: vec![column], combinations: vec![], codes: HashMap::default() }
    }

    /// Creates the codes of several columns, in table order, from the combinations found in them.
    pub fn several(columns: Vec<SensitiveCoding>, found: CombinationsFound) -> Result<Self> {
        let Some(found) = found.0 else {
            let names: Vec<String> = columns.iter().map(|column| format!("{:?}", column.name)).collect();
            return Err(Error::input(
                format!(
                    "the sensitive columns {} have more than 65,535 different combinations of values",
                    names.join(", ")
                ),
                "round or group the values of one of them first, or drop it",
            ));
        };
        let mut combinations: Vec<Combination> = found.into_iter().collect();
        combinations.sort_unstable();
        let codes = combinations.iter().zip(0..).map(|(values, code)| (values.clone(), code)).collect();
        Ok(SensitiveColumns { columns, combinations, codes })
    }

    /// The columns, in table order; at least one.
    pub fn columns(&self) -> &[SensitiveCoding] {
        &self.columns
    }

    /// Number of codes.
    pub fn len(&self) -> usize {
        match &self.columns[..] {
            [only] => only.len(),
            _ => self.combinations.len(),
        }
    }

    /// The code of a combination, given the codes of its values.
    pub fn code(&self, values: &[u16]) -> Option<u16> {
        match &self.columns[..] {
            [_] => values.first().copied(),
            _ => self.codes.get(values).copied(),
        }
    }

    /// The value of one of the columns in a combination.
    pub fn value(&self, code: u16, column: usize) -> u16 {
        match &self.columns[..] {
            [_] => code,
            _ => self.combinations[usize::from(code)][column],
        }
    }

    /// The projection to the columns with these names; `None` if one of them is missing.
    pub fn projection(&self, names: &[String]) -> Option<Projection> {
        let place = |name: &String| self.columns.iter().position(|column| column.name == *name);
        let places: Vec<usize> = names.iter().map(place).collect::<Option<_>>()?;
        let own =
            |code: u16| -> Combination { places.iter().map(|&column| self.value(code, column)).collect() };
        let mut values: Vec<Combination> = (0..self.len()).map(|code| own(code as u16)).collect();
        let projected = values.clone();
        values.sort_unstable();
        values.dedup();
        let texts: Vec<Vec<String>> = places.iter().map(|&column| self.columns[column].texts()).collect();
        let text = |values: &Combination| {
            let own: Vec<&str> =
                values.iter().zip(&texts).map(|(&value, texts)| texts[usize::from(value)].as_str()).collect();
            joint_value(&own)
        };
        let code = |own: &Combination| values.binary_search(own).map_or(u16::MAX, |code| code as u16);
        Some(Projection {
            code: projected.iter().map(code).collect(),
            texts: values.iter().map(text).collect(),
        })
    }
}

/// The combinations of values in some of the rows; `None` once there are more than [`MOST`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CombinationsFound(Option<HashSet<Combination, foldhash::fast::FixedState>>);

impl Default for CombinationsFound {
    fn default() -> Self {
        CombinationsFound(Some(HashSet::default()))
    }
}

impl CombinationsFound {
    /// The combinations in rows given as codes, column by column.
    pub fn of(columns: &[Vec<u16>]) -> Self {
        let rows = columns.first().map_or(0, Vec::len);
        let mut own: HashSet<Combination, foldhash::fast::FixedState> = HashSet::default();
        let mut values = vec![0; columns.len()];
        for row in 0..rows {
            values.iter_mut().zip(columns).for_each(|(value, column)| *value = column[row]);
            if !own.contains(&values[..]) {
                own.insert(values.as_slice().into());
            }
        }
        CombinationsFound((own.len() <= MOST).then_some(own))
    }

    /// All of them in ascending order.
    pub(super) fn sorted(&self) -> Option<Vec<Combination>> {
        let mut all: Vec<Combination> = self.0.as_ref()?.iter().cloned().collect();
        all.sort_unstable();
        Some(all)
    }

    /// These combinations.
    pub(super) fn of_sorted(all: Option<Vec<Combination>>) -> Self {
        CombinationsFound(all.filter(|all| all.len() <= MOST).map(HashSet::from_iter))
    }

    /// Whether every combination has a code below these numbers of codes, one for each column.
    pub fn fits(&self, codes: &[usize]) -> bool {
        let below = |own: &Combination| {
            own.len() == codes.len() && own.iter().zip(codes).all(|(&code, &many)| usize::from(code) < many)
        };
        self.0.iter().flatten().all(below)
    }

    /// Adds the combinations of other rows; commutative and associative.
    pub fn merge(&mut self, other: CombinationsFound) {
        self.0 = match (self.0.take(), other.0) {
            (Some(mut own), Some(others)) => {
                own.extend(others);
                (own.len() <= MOST).then_some(own)
            }
            _ => None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::sensitive::SensitiveValues;
    use crate::table::ColumnKind;

    fn column(name: &str, values: &[&str]) -> SensitiveCoding {
        let values = SensitiveValues::Texts(values.iter().map(|&value| value.into()).collect());
        SensitiveCoding { name: name.to_string(), kind: ColumnKind::Text, values, null: None }
    }

    fn columns() -> SensitiveColumns {
        let mut found = CombinationsFound::of(&[vec![1, 0, 1, 1], vec![0, 2, 0, 1], vec![0, 0, 0, 0]]);
        found.merge(CombinationsFound::of(&[vec![0], vec![2], vec![1]]));
        let columns = vec![
            column("disease", &["Flu", "HIV"]),
            column("job", &["Clerk", "Nurse", "R+D"]),
            column("x", &["a", "b"]),
        ];
        SensitiveColumns::several(columns, found).unwrap()
    }

    #[test]
    fn combinations_merge_in_any_order_also_beyond_the_limit() {
        let some = |range: std::ops::RangeInclusive<u16>| {
            let codes: Vec<u16> = range.collect();
            CombinationsFound::of(&[codes.clone(), codes])
        };
        let merged = |parts: &[&CombinationsFound]| {
            parts.iter().fold(CombinationsFound::default(), |mut all, &part| {
                all.merge(part.clone());
                all
            })
        };
        let (a, b, c) = (some(0..=30_000), some(20_000..=65_534), some(60_000..=u16::MAX));
        for (parts, whole) in [([&a, &a, &b], some(0..=65_534)), ([&a, &b, &c], some(0..=u16::MAX))] {
            let [a, b, c] = parts;
            assert!(merged(&[a, b, c]) == whole && merged(&[c, b, a]) == whole);
            assert!(merged(&[a, &merged(&[b, c])]) == whole);
        }
        assert!(merged(&[&a, &b, &c]).0.is_none() && merged(&[&a, &b]).0.is_some());
    }

    #[test]
    fn combinations_are_numbered_in_the_order_of_their_values() {
        let columns = columns();
        assert_eq!(columns.len(), 4);
        let all = [[0, 2, 0], [0, 2, 1], [1, 0, 0], [1, 1, 0]];
        for (code, values) in all.iter().enumerate() {
            assert_eq!(columns.code(values), Some(code as u16));
            assert!((0..3).all(|column| columns.value(code as u16, column) == values[column]));
        }
        assert_eq!(columns.code(&[0, 0, 0]), None);
    }

    #[test]
    fn a_projection_merges_what_its_columns_do_not_distinguish() {
        let columns = columns();
        let job = columns.projection(&["job".to_string()]).unwrap();
        assert_eq!(
            (job.code, job.texts),
            (vec![2, 2, 0, 1], ["Clerk", "Nurse", "R+D"].map(String::from).into())
        );
        let joint = columns.projection(&["disease".to_string(), "job".to_string()]).unwrap();
        assert_eq!(joint.code, [0, 0, 1, 2]);
        assert_eq!(joint.texts, ["Flu + R\\+D", "HIV + Clerk", "HIV + Nurse"]);
        assert_eq!(columns.projection(&["city".to_string()]), None);
    }

    #[test]
    fn too_many_combinations_are_refused() {
        let codes: Vec<u16> = (0..=u16::MAX).collect();
        let found = CombinationsFound::of(&[codes.clone(), codes]);
        let columns = vec![column("a", &[]), column("b", &[])];
        let refused = SensitiveColumns::several(columns, found).unwrap_err();
        assert!(refused.to_string().contains("65,535"));
    }
}
