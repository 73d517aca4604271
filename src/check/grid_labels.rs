//! Do the labels of a release end where the policy allows it?
//!
//! Where the policy sets cells, every range ends at their borders; another end was written by somebody else, or tells where
//! people are. A release does not show whether its numbers were integers, decimals or floats, so a label must fit the cells
//! of one of these types. Memory: the different labels of a column, per thread.

use std::collections::HashSet;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;

use crate::encode::grid::ColumnGrid;
use crate::encode::scale::Scale;
use crate::error::Result;
use crate::policy::{Grid, Quasi, QuasiShape};
use crate::release::reader::{Covered, LabelReader, Upper};
use crate::resources::Resources;
use crate::table::ColumnKind;
use crate::table::read::{ColumnRequest, Morsel, Table};

/// Labels that are remembered per column; with more, some are read again.
const MOST_LABELS: usize = 1 << 14;

/// The columns of labels in which some range does not end at the cells of the policy.
pub(super) fn off_grid(table: &Table, quasi: &[Quasi], resources: &Resources<'_>) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for own in quasi {
        let grids = GridLabels::of(own);
        let published = table.schema().fields().iter().any(|field| *field.name() == own.name);
        if grids.kinds.is_empty() || !published || table.kind(&own.name)? != ColumnKind::Text {
            continue;
        }
        let work = |morsel: Morsel<'_>| {
            let mut seen = HashSet::new();
            for batch in morsel {
                let batch = batch?;
                let labels = batch.column(0).as_dictionary_opt::<Int32Type>().map(|own| own.values());
                let Some(labels) = labels.and_then(|own| own.as_string_opt::<i32>()) else {
                    return Ok(false);
                };
                for label in labels.iter().flatten() {
                    if seen.contains(label) {
                        continue;
                    }
                    if !grids.fit(label) {
                        return Ok(false);
                    }
                    if seen.len() == MOST_LABELS {
                        seen.clear();
                    }
                    seen.insert(label.to_string());
                }
            }
            Ok(true)
        };
        let mut fits = true;
        table.scan(&[ColumnRequest::canonical(&own.name)], resources.threads, work, |part| {
            fits &= part;
            Ok(())
        })?;
        if !fits {
            found.push(own.name.clone());
        }
    }
    Ok(found)
}

/// The cells of a column for every type that its numbers may have had.
struct GridLabels<'a> {
    quasi: &'a Quasi,
    kinds: Vec<ColumnKind>,
}

impl<'a> GridLabels<'a> {
    /// No types where the policy sets no cells of numbers.
    fn of(quasi: &'a Quasi) -> Self {
        let by_width = matches!(quasi.grid, None | Some(Grid::Width(_)));
        let numbers = quasi.domain.as_ref().is_none_or(|ends| ends.iter().all(|end| end.number.is_some()));
        let stated = quasi.grid.is_some() || quasi.domain.is_some();
        let kinds = match quasi.shape == QuasiShape::Plain && by_width && numbers && stated {
            true => vec![ColumnKind::Integer, ColumnKind::Float],
            false => Vec::new(),
        };
        GridLabels { quasi, kinds }
    }

    /// Whether a label ends at cells of one of the types.
    fn fit(&self, label: &str) -> bool {
        let places =
            label.split(['[', ',', ')', ']', '|']).filter_map(|end| Some(end.split_once('.')?.1.len()));
        let places = places.max().and_then(|places| i8::try_from(places).ok());
        let decimal = places.map(|scale| ColumnKind::Decimal { scale });
        // Read as whole numbers, ends between them would be rounded.
        let possible = |kind: &&ColumnKind| decimal.is_none() || **kind != ColumnKind::Integer;
        self.kinds.iter().filter(possible).chain(&decimal).any(|kind| self.fits(label, kind))
    }

    fn fits(&self, label: &str, kind: &ColumnKind) -> bool {
        let Some(scale) = Scale::of(kind) else { return false };
        let Ok(grid) = ColumnGrid::of(self.quasi, scale) else { return false };
        let Ok(read) = LabelReader::new(self.quasi, kind).read(label) else { return false };
        let Covered::Keys { from, to } = read.values else { return true };
        // Outside of the domain, and where floats are coarser than the grid, there are no cells.
        let begins = |key: i64| grid.cell(key).is_none_or(|cell| cell.first == key);
        let ends = |key: i64| grid.cell(key).is_none_or(|cell| cell.last == key);
        from.is_none_or(begins)
            && match to {
                None => true,
                Some(Upper::Closed(last)) => ends(last),
                Some(Upper::Open(end)) => end.checked_sub(1).is_some_and(ends),
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::exact::ratio;
    use crate::policy::End;

    fn fit(domain: Option<[&str; 2]>, grid: Option<Grid>, label: &str) -> bool {
        let end =
            |text: &str| End { text: text.to_string(), number: crate::math::exact::parse_fraction(text) };
        let domain = domain.map(|ends| ends.map(end));
        let quasi = Quasi { domain, grid, ..Quasi::plain("q") };
        GridLabels::of(&quasi).fit(label)
    }

    #[test]
    fn ranges_end_at_cells() {
        let years = Some(["0", "100"]);
        for label in ["[0,25)", "[35,40)", "[95,100]", "null|[5,10)", "*", "null", "[0,100]"] {
            assert!(fit(years, None, label), "{label}");
        }
        for label in ["[0,27)", "[37,41)", "37", "[95,99]", "null|[5,11)", "[36,40)", "old"] {
            assert!(!fit(years, None, label), "{label}");
        }
        let half = || Some(Grid::Width(ratio(1, 2)));
        assert!(
            fit(None, half(), "[0.5,2)") && fit(None, half(), "(,1.5)") && fit(None, half(), "[1.50,2.00)")
        );
        assert!(!fit(None, half(), "[0.25,2)") && !fit(None, half(), "(,1.6)"));
    }
}
