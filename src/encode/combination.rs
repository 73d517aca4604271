//! The codes of combinations of sensitive values.
//!
//! All single-valued columns of a row together have one code, the code of the combination of their values; the values of a
//! list have codes of their own, which come after these. The code that counts, moves and writes rows therefore handles
//! codes of one kind, one per row or a list of them, however many columns there are; a judge of a single column uses a
//! [`Projection`].
//!
//! Memory: 2 bytes per single-valued column and combination; at most [`MOST`] codes.
//! Invariant: codes of combinations ascend with the values of the first column, then of the second, and so on. For a
//! single column, the codes are those of its values.

use super::distinct::MOST;
use super::sensitive::SensitiveCoding;
use crate::error::{Error, Result};
use crate::math::skyline::Values;
use crate::policy::joint_value;
use hashbrown::{HashMap, HashSet};

/// The codes of the values of one row in the single-valued columns, column by column.
type Combination = Box<[u16]>;

/// The sensitive columns of a table, and the combinations of values that occur in them.
#[derive(Debug, Clone)]
pub struct SensitiveColumns {
    columns: Vec<SensitiveCoding>,
    /// The codes of each column.
    places: Vec<CodePlace>,
    /// Of the single-valued columns, ascending; empty if there are fewer than two.
    combinations: Vec<Combination>,
    codes: HashMap<Combination, u16, foldhash::fast::FixedState>,
    /// Number of codes.
    len: usize,
}

/// Which codes the values of a column have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CodePlace {
    /// Those of the combinations, of which they are the part at this position.
    InCombination(usize),
    /// Their own, from this one on.
    Own(u16),
}

/// Maps the codes of all columns to those of some of the columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Projection {
    /// The code for each code of all columns; `None` if it is of another column.
    pub code: Vec<Option<u16>>,
    /// The texts of the codes, all different.
    pub texts: Vec<String>,
}

impl SensitiveColumns {
    /// Creates the codes of a single column.
    pub fn one(column: SensitiveCoding) -> Self {
        let (places, len) = (vec![CodePlace::Own(0)], column.len());
        SensitiveColumns {
            columns: vec![column],
            places,
            combinations: vec![],
            codes: HashMap::default(),
            len,
        }
    }

    /// Creates the codes of several columns, in table order, from the combinations found in those that are single-valued;
    /// they are not needed if there are fewer than two of these.
    pub fn several(columns: Vec<SensitiveCoding>, found: CombinationsFound) -> Result<Self> {
        let singles = columns.iter().filter(|column| column.is_single()).count();
        let mut combinations: Vec<Combination> = match (singles, found.0) {
            (0 | 1, _) => Vec::new(),
            (_, Some(found)) => found.into_iter().collect(),
            (_, None) => return Err(too_many(columns.iter().filter(|column| column.is_single()))),
        };
        combinations.sort_unstable();
        let codes = combinations.iter().zip(0..).map(|(values, code)| (values.clone(), code)).collect();
        let only_single = columns.iter().find(|column| column.is_single() && singles == 1);
        let mut len = only_single.map_or(combinations.len(), SensitiveCoding::len);
        let (mut places, mut position) = (Vec::with_capacity(columns.len()), 0);
        for column in &columns {
            if !column.is_single() {
                places.push(CodePlace::Own(u16::try_from(len).unwrap_or(u16::MAX)));
                len += column.len();
            } else if singles == 1 {
                places.push(CodePlace::Own(0));
            } else {
                places.push(CodePlace::InCombination(position));
                position += 1;
            }
        }
        match len > MOST {
            true => Err(too_many(columns.iter())),
            false => Ok(SensitiveColumns { columns, places, combinations, codes, len }),
        }
    }

    /// The columns, in table order; at least one.
    pub fn columns(&self) -> &[SensitiveCoding] {
        &self.columns
    }

    /// Number of codes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether people have a list of codes.
    pub fn holds_lists(&self) -> bool {
        !self.columns.iter().all(SensitiveCoding::is_single)
    }

    /// How many codes a row has in a table with one value per row and column: one for all single-valued columns, and one for
    /// each of the others.
    pub fn codes_of_row(&self) -> usize {
        let lists = self.columns.iter().filter(|column| !column.is_single()).count();
        lists + usize::from(lists < self.columns.len())
    }

    /// Whether the values of one column must not be published next to those of another: nobody is told which value of a list
    /// goes with what.
    pub fn are_apart(&self) -> bool {
        self.columns.len() > 1 && self.holds_lists()
    }

    /// The code of a combination, given the codes of the values in the single-valued columns.
    pub fn code(&self, values: &[u16]) -> Option<u16> {
        match self.combinations.is_empty() {
            true => values.first().copied(),
            false => self.codes.get(values).copied(),
        }
    }

    /// The code of a value in a list.
    pub fn code_in_list(&self, value: u16, column: usize) -> u16 {
        match self.places[column] {
            CodePlace::Own(first) => first + value,
            CodePlace::InCombination(_) => value,
        }
    }

    /// The value of one of the columns that a code stands for; `None` if it is a code of another column.
    pub fn value(&self, code: u16, column: usize) -> Option<u16> {
        match self.places[column] {
            CodePlace::InCombination(position) => {
                self.combinations.get(usize::from(code)).map(|values| values[position])
            }
            CodePlace::Own(first) => {
                code.checked_sub(first).filter(|&own| usize::from(own) < self.columns[column].len())
            }
        }
    }

    /// How many values a person may have of the column that a code is of.
    pub fn per_person(&self, code: u16) -> Values {
        let lists = self.columns.iter().enumerate().filter(|(_, column)| !column.is_single());
        let own = lists.into_iter().find(|(place, _)| self.value(code, *place).is_some());
        own.map_or(Values::Single, |(_, column)| column.per_person)
    }

    /// The projection to the columns with these names; `None` if one of them is missing.
    pub fn projection(&self, names: &[String]) -> Option<Projection> {
        let place = |name: &String| self.columns.iter().position(|column| column.name == *name);
        let places: Vec<usize> = names.iter().map(place).collect::<Option<_>>()?;
        let own = |code: u16| -> Option<Combination> {
            places.iter().map(|&column| self.value(code, column)).collect()
        };
        let projected: Vec<Option<Combination>> = (0..self.len()).map(|code| own(code as u16)).collect();
        let mut values: Vec<&Combination> = projected.iter().flatten().collect();
        values.sort_unstable();
        values.dedup();
        let texts: Vec<Vec<String>> = places.iter().map(|&column| self.columns[column].texts()).collect();
        let text = |values: &&Combination| {
            let own: Vec<&str> =
                values.iter().zip(&texts).map(|(&value, texts)| texts[usize::from(value)].as_str()).collect();
            joint_value(&own)
        };
        let code =
            |own: &Option<Combination>| values.binary_search(&own.as_ref()?).ok().map(|code| code as u16);
        Some(Projection {
            code: projected.iter().map(code).collect(),
            texts: values.iter().map(text).collect(),
        })
    }
}

fn too_many<'a>(columns: impl Iterator<Item = &'a SensitiveCoding>) -> Error {
    let (mut names, mut lists) = (Vec::new(), false);
    for column in columns {
        names.push(format!("{:?}", column.name));
        lists |= !column.is_single();
    }
    let what = match lists {
        true => "different values in their lists and combinations of other values",
        false => "different combinations of values",
    };
    Error::input(
        format!("the sensitive columns {} have more than 65,535 {what}", names.join(", ")),
        "round or group the values of one of them first, or drop it",
    )
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
        let (name, per_person) = (name.to_string(), Values::Single);
        SensitiveCoding { name, kind: ColumnKind::Text, values, null: None, per_person }
    }

    fn list(name: &str, values: &[&str], per_person: Values) -> SensitiveCoding {
        SensitiveCoding { per_person, ..column(name, values) }
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
            assert!((0..3).all(|column| columns.value(code as u16, column) == Some(values[column])));
        }
        assert_eq!(columns.code(&[0, 0, 0]), None);
    }

    #[test]
    fn a_projection_merges_what_its_columns_do_not_distinguish() {
        let columns = columns();
        let job = columns.projection(&["job".to_string()]).unwrap();
        assert_eq!(
            (job.code, job.texts),
            (vec![Some(2), Some(2), Some(0), Some(1)], ["Clerk", "Nurse", "R+D"].map(String::from).into())
        );
        let joint = columns.projection(&["disease".to_string(), "job".to_string()]).unwrap();
        assert_eq!(joint.code, [0, 0, 1, 2].map(Some));
        assert_eq!(joint.texts, ["Flu + R\\+D", "HIV + Clerk", "HIV + Nurse"]);
        assert_eq!(columns.projection(&["city".to_string()]), None);
    }

    #[test]
    fn values_of_lists_come_after_the_combinations_and_belong_to_their_column() {
        let drugs = || list("drug", &["insulin", "zinc"], Values::Set);
        let bought = || list("item", &["milk"], Values::Multiset);
        let disease = || column("disease", &["Flu", "HIV"]);
        let found = CombinationsFound::of(&[vec![0, 1, 1], vec![2, 0, 2]]);
        let job = column("job", &["Clerk", "Nurse", "R+D"]);
        let all = SensitiveColumns::several(vec![drugs(), disease(), bought(), job], found).unwrap();
        // The combinations (Flu, R+D), (HIV, Clerk), (HIV, R+D); then the drugs, then the item.
        assert_eq!((all.len(), all.code(&[1, 0]), all.code(&[0, 0])), (6, Some(1), None));
        assert_eq!([0, 1].map(|drug| all.code_in_list(drug, 0)), [3, 4]);
        assert_eq!(all.code_in_list(0, 2), 5);
        let of = |column: usize| (0..6).map(|code| all.value(code, column)).collect::<Vec<_>>();
        assert_eq!(of(0), [None, None, None, Some(0), Some(1), None]);
        assert_eq!(of(1), [Some(0), Some(1), Some(1), None, None, None]);
        assert_eq!(of(2), [None, None, None, None, None, Some(0)]);
        assert_eq!(
            (2..6).map(|code| all.per_person(code)).collect::<Vec<_>>(),
            [Values::Single, Values::Set, Values::Set, Values::Multiset]
        );
        let Projection { code, texts } = all.projection(&["drug".to_string()]).unwrap();
        assert_eq!(
            (code, texts.join(",")),
            (vec![None, None, None, Some(0), Some(1), None], "insulin,zinc".into())
        );
        // Without a combination to find, a single-valued column keeps the codes of its values.
        let two = SensitiveColumns::several(vec![drugs(), disease()], CombinationsFound::default()).unwrap();
        assert_eq!(
            (two.len(), two.code(&[1]), two.value(1, 1), two.value(2, 0)),
            (4, Some(1), Some(1), Some(0))
        );
    }

    #[test]
    fn too_many_values_in_lists_are_refused() {
        let names: Vec<String> = (0..40_000).map(|value| format!("v{value:05}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let both = |most: usize| vec![column("a", &names), list("b", &names[..most], Values::Set)];
        let refused = SensitiveColumns::several(both(25_536), CombinationsFound::default()).unwrap_err();
        assert!(refused.to_string().contains("65,535 different values in their lists"));
        assert!(SensitiveColumns::several(both(25_535), CombinationsFound::default()).is_ok());
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
