//! What does the page compute with? The groups that decide, as JSON.
//!
//! The data holds nothing that the release does not show: labels, counts of values and numbers of groups. Texts and names
//! are listed once and referred to by position. Memory: at most [`MOST_BYTES`] for each page.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::values::{ColumnRows, ValueRows};
use crate::check::{Explorable, ExplorableGroup, ExplorableValue, JudgedColumn};

/// A page with more data than this is slow to load; it then shows its tables only.
const MOST_BYTES: usize = 1_900_000;

/// The data of all columns that can be explored, ready to be placed in a script element; `None` for a column without.
pub(super) struct PageData {
    /// By column: whether its data is there.
    pub explored: Vec<bool>,
    /// An array with the data of these columns; empty if there is none.
    pub json: String,
}

impl PageData {
    pub fn of(columns: &[ColumnRows<'_>]) -> Self {
        let mut explored = Vec::new();
        let mut objects = Vec::new();
        let mut bytes = 0;
        for (column, rows) in columns {
            let text = column_data(column, rows).map(|data| data.to_string());
            // A quoted `<` can end no script element.
            let text = text.map(|text| text.replace('<', "\\u003c"));
            let fits = text.filter(|text| bytes + text.len() <= MOST_BYTES);
            explored.push(fits.is_some());
            bytes += fits.as_ref().map_or(0, String::len);
            objects.push(fits.unwrap_or_else(|| "null".to_string()));
        }
        let any = explored.contains(&true);
        PageData { explored, json: if any { format!("[{}]", objects.join(",")) } else { String::new() } }
    }
}

fn column_data(column: &JudgedColumn, rows: &ValueRows<'_>) -> Option<Value> {
    let Explorable { values, groups, most_ruled_out } = &column.explorable;
    let most = (*most_ruled_out)?;
    if rows.points.is_empty() || !values.iter().any(|value| value.decisive.occurrences() > 0) {
        return None;
    }
    let mut names = Listed::default();
    let mut texts = Listed::default();
    let points_of: HashMap<&str, &[usize]> =
        rows.rows.iter().map(|row| (row.name, row.points.as_slice())).collect();
    let value = |names: &mut Listed, value: &ExplorableValue| {
        let certain = value.decisive.certain_from().filter(|&l| l <= most);
        let points = points_of.get(value.name.as_str()).copied().unwrap_or_default();
        json!([names.place(&value.name), value.decisive.occurrences(), certain, value.groups, points])
    };
    let values: Vec<Value> = values.iter().map(|own| value(&mut names, own)).collect();
    // The number of a group is no part of what describes it.
    let labels: Vec<&str> = groups
        .first()
        .map_or(Vec::new(), |group| group.label.iter().map(|(name, _)| name.as_str()).collect());
    let group = |names: &mut Listed, texts: &mut Listed, group: &ExplorableGroup| {
        let label: Vec<usize> = group.label.iter().map(|(_, text)| texts.place(text)).collect();
        let counts: Vec<u64> =
            group.counts.iter().flat_map(|(name, count)| [names.place(name) as u64, *count]).collect();
        json!([group.number, group.people, label, counts])
    };
    let groups: Vec<Value> = groups.iter().map(|own| group(&mut names, &mut texts, own)).collect();
    let point = |point: &super::values::RequiredPoint| {
        json!([point.size.l, point.size.k, point.size.m, point.confidence.to_string()])
    };
    Some(json!({
        "kind": column.values.name(),
        "mostRuledOut": most,
        "columns": labels,
        "points": rows.points.iter().map(point).collect::<Vec<_>>(),
        "spark": {"most_l": rows.axes.most_l, "most_k": rows.axes.most_k},
        "texts": texts.all,
        "names": names.all,
        "groups": groups,
        "values": values,
    }))
}

/// Texts in the order in which they are first seen.
#[derive(Default)]
struct Listed {
    all: Vec<String>,
    places: HashMap<String, usize>,
}

impl Listed {
    fn place(&mut self, text: &str) -> usize {
        if let Some(&place) = self.places.get(text) {
            return place;
        }
        self.places.insert(text.to_string(), self.all.len());
        self.all.push(text.to_string());
        self.all.len() - 1
    }
}
