//! Does the first line of a file hold names, or the first person's data?

use crate::error::{Error, Setting};
use crate::math::exact::parse_fraction;

/// Whether these names of columns look like cells: a number, a date, nothing, or the same twice.
pub fn looks_like_data(names: &[impl AsRef<str>]) -> bool {
    let is_cell = |(at, name): (usize, &str)| {
        let name = name.trim();
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let is_date = name.split(['-', '/', '.', 'T', ':', ' ']).filter(|part| digits(part)).count() >= 3;
        let again = names[..at].iter().any(|earlier| earlier.as_ref().trim() == name);
        name.is_empty() || again || is_date || parse_fraction(name).is_some()
    };
    names.iter().map(AsRef::as_ref).enumerate().any(is_cell)
}

/// The delimiter in the name of a table's only column, if the table seems to have been read with the wrong one.
pub fn overlooked_delimiter(names: &[impl AsRef<str>]) -> Option<char> {
    let [only] = names else { return None };
    [';', '\t', '|'].into_iter().find(|delimiter| only.as_ref().contains(*delimiter))
}

/// The error for such a table.
pub fn wrong_delimiter(names: &[impl AsRef<str>]) -> Option<Error> {
    let delimiter = match overlooked_delimiter(names)? {
        '\t' => "tab".to_string(),
        other => format!("{other:?}"),
    };
    Some(Error::missing(
        format!("the table has one column; is the delimiter {delimiter}?"),
        format!("choose {delimiter} as delimiter"),
        Setting::Delimiter,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_told_from_names() {
        for data in [["Ann", "34"], ["x", "1980-02-29"], ["a", "a"], ["", "b"], ["12/31/1999", "b"]] {
            assert!(looks_like_data(&data), "{data:?}");
        }
        for names in [["name", "age"], ["age_2020", "x1"], ["a-b", "c.d"]] {
            assert!(!looks_like_data(&names), "{names:?}");
        }
    }
}
