//! The codes of the values of a sensitive column.

use super::column_values::{ColumnValues, ValueSet};
use super::distinct::MOST_TEXT_BYTES;
use super::scale::Scale;
use super::source_columns::SensitiveSource;
use crate::error::{Error, Result};
use crate::math::skyline::Values;
use crate::table::ColumnKind;

/// The sensitive values of a column in ascending order; the code of a value is its position.
#[derive(Debug, Clone)]
pub struct SensitiveCoding {
    /// The column's name.
    pub name: String,
    /// How the values are published.
    pub kind: ColumnKind,
    /// The values.
    pub values: SensitiveValues,
    /// The code of null, if the policy gives null a meaning.
    pub null: Option<u16>,
    /// How many of them a person may have.
    pub per_person: Values,
}

/// The distinct sensitive values.
#[derive(Debug, Clone)]
pub enum SensitiveValues {
    /// Numbers, dates or times by key.
    Numbers(Scale, Vec<i64>),
    /// Texts.
    Texts(Vec<Box<str>>),
}

impl SensitiveCoding {
    /// Creates the coding of a column from the result of the first scan.
    pub fn new(source: &SensitiveSource<'_>, kind: &ColumnKind, found: ColumnValues) -> Result<Self> {
        let &SensitiveSource { name, null_is, values: per_person } = source;
        let kind = match kind {
            ColumnKind::List(item) => (**item).clone(),
            kind => kind.clone(),
        };
        let too_many = || {
            Error::input(
                format!("the sensitive column {name:?} has more than 65,535 different values"),
                "a value that hardly two people share cannot be hidden in a group: round or group the values first",
            )
        };
        let (mut kind, mut values) = (
            kind,
            match found.set {
                ValueSet::Numbers(scale, distinct) if distinct.is_exact() => {
                    SensitiveValues::Numbers(scale, distinct.into_sorted())
                }
                ValueSet::Texts(distinct, _) if distinct.is_exact() => {
                    SensitiveValues::Texts(distinct.into_sorted())
                }
                ValueSet::Numbers(..) => return Err(too_many()),
                ValueSet::Texts(distinct, _) if distinct.text_bytes() * 4 > MOST_TEXT_BYTES => {
                    let limit = MOST_TEXT_BYTES >> 20;
                    return Err(Error::input(
                        format!(
                            "the different values of the sensitive column {name:?} take more than {limit} MiB"
                        ),
                        "replace each text by a short code, or a category, and publish the texts of the codes apart",
                    ));
                }
                ValueSet::Texts(..) => return Err(too_many()),
            },
        );
        let null = match (null_is, &mut values) {
            (Some(meaning), SensitiveValues::Numbers(scale, keys))
                if found.nulls > 0 && scale.key_of(meaning).is_some() =>
            {
                // However it is written, it is this number: a separate text would split one value in two.
                let key = scale.key_of(meaning).unwrap_or_default();
                let place = keys.binary_search(&key);
                if let Err(place) = place {
                    keys.insert(place, key);
                }
                place.ok().or(place.err()).map(|code| code as u16)
            }
            (Some(meaning), _) if found.nulls > 0 => {
                let mut texts = values.texts();
                if !texts.iter().any(|text| text == meaning) {
                    texts.push(meaning.to_string());
                }
                texts.sort_unstable();
                let code = texts.iter().position(|text| text == meaning).map(|code| code as u16);
                values = SensitiveValues::Texts(texts.into_iter().map(String::into_boxed_str).collect());
                kind = ColumnKind::Text;
                code
            }
            _ => None,
        };
        Ok(SensitiveCoding { name: name.to_string(), kind, values, null, per_person })
    }

    /// Whether every person has exactly one value.
    pub fn is_single(&self) -> bool {
        self.per_person == Values::Single
    }

    /// Number of different values.
    pub fn len(&self) -> usize {
        match &self.values {
            SensitiveValues::Numbers(_, keys) => keys.len(),
            SensitiveValues::Texts(texts) => texts.len(),
        }
    }

    /// Whether nobody has a value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The text of every value, by code.
    pub fn texts(&self) -> Vec<String> {
        self.values.texts()
    }

    /// The text of the value that null means, if there are nulls.
    pub fn null_text(&self) -> Option<String> {
        self.null.and_then(|code| self.texts().into_iter().nth(usize::from(code)))
    }

    /// The code of the value with this text.
    pub fn code_of_text(&self, text: &str) -> Option<u16> {
        let found = match &self.values {
            SensitiveValues::Numbers(scale, keys) => keys.binary_search(&scale.key_of(text)?).ok(),
            SensitiveValues::Texts(texts) => texts.binary_search_by(|own| (**own).cmp(text)).ok(),
        };
        found.map(|code| code as u16)
    }

    /// Whether a text could be a value of the column: in a column of numbers, a number.
    pub fn could_hold(&self, text: &str) -> bool {
        match &self.values {
            SensitiveValues::Numbers(scale, _) => scale.key_of(text).is_some(),
            SensitiveValues::Texts(_) => true,
        }
    }

    /// The code of a number.
    pub fn number_code(&self, key: i64) -> Option<u16> {
        match &self.values {
            SensitiveValues::Numbers(_, keys) => keys.binary_search(&key).ok().map(|code| code as u16),
            SensitiveValues::Texts(_) => None,
        }
    }
}

impl SensitiveValues {
    fn texts(&self) -> Vec<String> {
        match self {
            SensitiveValues::Numbers(scale, keys) => keys.iter().map(|&key| scale.text(key)).collect(),
            SensitiveValues::Texts(texts) => texts.iter().map(|text| text.to_string()).collect(),
        }
    }
}
