//! Does every column of the table have exactly one role?

use std::collections::{HashMap, HashSet};

use super::document::TableRules;
use super::parse::{closest, quoted};
use crate::error::{Error, Mistake, Result, number_of};
use crate::table::read::{looks_like_data, overlooked_delimiter};

/// The role of a column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Protected; the position in [`Columns::sensitive`](super::Columns::sensitive).
    Sensitive(usize),
    /// Made coarse; the position in [`Columns::quasi`](super::Columns::quasi).
    Quasi(usize),
    /// Not published.
    Drop,
    /// Published unchanged.
    Keep,
    /// Identifies people.
    Individual,
    /// The number of rows that a row represents.
    Count,
}

impl TableRules {
    /// The columns of a table that the policy does not name.
    pub fn unnamed<'t>(&self, table: impl IntoIterator<Item = &'t str>) -> Vec<&'t str> {
        table.into_iter().filter(|name| !self.places.contains_key(*name)).collect()
    }

    /// The role of each column of a table, in table order.
    ///
    /// Columns without a role, named columns that are missing, and duplicate column names are all reported together.
    /// Columns without a role are dropped if the policy says so of the rest.
    pub fn bind(&self, table: &[impl AsRef<str>]) -> Result<Vec<Role>> {
        let mut roles: HashMap<&str, Role> = HashMap::new();
        let columns = &self.columns;
        for (at, column) in columns.sensitive.iter().enumerate() {
            roles.insert(&column.name, Role::Sensitive(at));
        }
        for (at, column) in columns.quasi.iter().enumerate() {
            roles.insert(&column.name, Role::Quasi(at));
        }
        roles.extend(columns.drop.iter().map(|name| (name.as_str(), Role::Drop)));
        roles.extend(columns.keep.iter().map(|name| (name.as_str(), Role::Keep)));
        roles.extend(columns.individual.iter().map(|name| (name.as_str(), Role::Individual)));
        roles.extend(columns.count.iter().map(|name| (name.as_str(), Role::Count)));
        let person = self.nights.as_ref().and_then(|nights| nights.person.as_deref());
        roles.extend(person.map(|name| (name, Role::Drop)));

        let names: Vec<&str> = table.iter().map(AsRef::as_ref).collect();
        let mut bound = Vec::with_capacity(names.len());
        let mut mistakes = Vec::new();
        for (name, (line, key)) in &self.places {
            if !names.contains(&name.as_str()) {
                let free = names.iter().copied().filter(|known| !roles.contains_key(known));
                let remedy = match closest(name, free) {
                    Some(near) => format!("did you mean {}?", quoted(near)),
                    None => "leave it out, or check that this is the table you mean".to_string(),
                };
                let problem = format!("the table has no column {}", quoted(name));
                mistakes.push(Mistake { line: Some(*line), key: key.clone(), problem, remedy });
            }
        }
        mistakes.sort_by_key(|mistake| mistake.line);
        let nowhere = |problem: String, remedy: String| {
            let key = "columns".to_string();
            Mistake { line: None, key, problem, remedy }
        };
        let mut without_role = Vec::new();
        let mut seen = HashSet::new();
        for name in &names {
            if !seen.insert(name) {
                let problem = format!("the table has two columns {}", quoted(name));
                mistakes.push(nowhere(problem, "rename one of them in the table".to_string()));
            }
            match roles.get(name) {
                Some(role) => bound.push(*role),
                None if columns.rest_is_dropped => bound.push(Role::Drop),
                None => without_role.push(*name),
            }
        }
        if !without_role.is_empty() {
            mistakes.push(nowhere(role_missing(&without_role), role_remedy(&without_role)));
        }
        if mistakes.is_empty() {
            return Ok(bound);
        }
        let missing = self.places.keys().filter(|name| !names.contains(&name.as_str())).count();
        if missing * 2 > self.places.len() && looks_like_data(&names) {
            let missing = number_of(missing as u64, "column", "columns");
            mistakes = vec![Mistake {
                line: None,
                key: "columns".to_string(),
                problem: format!(
                    "the file seems to have no header: its first line looks like data, and {missing} of the policy cannot be found in it"
                ),
                remedy: "add a first line with the names of the columns".to_string(),
            }];
        }
        if let Some(delimiter) = overlooked_delimiter(table) {
            let problem = format!("the table has one column; is the delimiter {delimiter:?}?");
            let remedy = format!("write delimiter = {} below [columns]", quoted(&delimiter.to_string()));
            mistakes = vec![Mistake { line: None, key: "columns".to_string(), problem, remedy }];
        }
        Err(Error::Policy { file: self.file.clone(), mistakes })
    }
}

fn role_missing(names: &[&str]) -> String {
    match names {
        [only] => format!("column {} of the table has no role", quoted(only)),
        several => format!("{} columns of the table have no role", several.len()),
    }
}

/// What to do about columns without a role: one line to paste.
fn role_remedy(names: &[&str]) -> String {
    match names {
        [_] => "add it to columns.quasi if others may know it of a person, to drop, or to keep".to_string(),
        several => {
            let names: Vec<String> = several.iter().map(|name| quoted(name)).collect();
            let names = names.join(", ");
            format!(
                "make those that others may know quasi-identifiers, and write rest = \"drop\" below [columns], or drop = [{names}]"
            )
        }
    }
}
