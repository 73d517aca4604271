//! Which tree does a `hierarchy` key mean?
//!
//! There are three forms: the name of a file in ARX's format; a tree with groups as keys and values in lists (`{ Europe
//! = ["France", "Spain"], Asia = { East = ["Japan"] } }`); or the rows of such a file. The leaves are in the order of
//! the groups and values in the tree.

use std::path::Path;

use super::parse::{Item, Mistakes, quoted};
use crate::policy::hierarchy::{Hierarchy, Problem, Row, from_rows, parse_arx};
use crate::resources::whole_file::{HIERARCHY_BYTES, read_at_most};

const EXAMPLE: &str = "\"file.csv\" or { Europe = [\"France\", \"Spain\"], Asia = [\"Japan\"] }";

pub(super) fn read_hierarchy(item: &Item, folder: &Path, mistakes: &mut Mistakes) -> Option<Hierarchy> {
    if item.as_text().is_some() {
        return read_file(item, folder, mistakes);
    }
    let mut rows = Vec::new();
    if item.is_list() && !item.items().is_empty() && item.items().iter().all(Item::is_list) {
        for (at, row) in item.items().iter().enumerate() {
            let names = row.items().iter().filter_map(|name| name.label(mistakes)).collect();
            rows.push(Row { line: at + 1, names });
        }
    } else if item.is_table() || item.is_list() {
        grow(item, &mut vec!["*".to_string()], &mut rows, mistakes)?;
    } else {
        item.wrong("is neither a file nor a tree", format!("write {EXAMPLE}"), mistakes);
        return None;
    }
    note(from_rows(&rows), "row", item, mistakes)
}

fn read_file(item: &Item, folder: &Path, mistakes: &mut Mistakes) -> Option<Hierarchy> {
    let name = item.text(EXAMPLE, mistakes)?;
    let text = read_at_most(&folder.join(&name), HIERARCHY_BYTES).and_then(|bytes| {
        String::from_utf8(bytes).map_err(|_| std::io::Error::other("it is not text in UTF-8"))
    });
    match text {
        Ok(text) => note(parse_arx(&text), &format!("{name} line"), item, mistakes),
        Err(why) => {
            let remedy = "name a file relative to the policy, lines value;group;...;*";
            item.wrong(format!("{} cannot be read: {why}", quoted(&name)), remedy, mistakes);
            None
        }
    }
}

fn note(
    built: Result<Hierarchy, Vec<Problem>>,
    place: &str,
    item: &Item,
    mistakes: &mut Mistakes,
) -> Option<Hierarchy> {
    match built {
        Ok(tree) => Some(tree),
        Err(problems) => {
            for problem in problems {
                let place = problem.line.map(|line| format!("{place} {line}: ")).unwrap_or_default();
                item.wrong(format!("{place}{}", problem.problem), problem.remedy, mistakes);
            }
            None
        }
    }
}

/// Writes the rows of the leaves below `item`; `above` are the groups around it, widest first.
///
/// The TOML parser limits the nesting of tables, and thus the depth of this recursion.
fn grow(item: &Item, above: &mut Vec<String>, rows: &mut Vec<Row>, mistakes: &mut Mistakes) -> Option<()> {
    if item.is_table() {
        for (name, inner) in item.section(EXAMPLE, mistakes)?.entries() {
            above.push(name);
            let grown = grow(&inner, above, rows, mistakes);
            above.pop();
            grown?;
        }
        return Some(());
    }
    if item.items().is_empty() {
        item.wrong("has no values", "list its values, or leave the group out", mistakes);
    }
    for leaf in item.items() {
        if leaf.is_table() {
            grow(&leaf, above, rows, mistakes)?;
            continue;
        }
        let names = [leaf.label(mistakes)?].into_iter().chain(above.iter().rev().cloned()).collect();
        rows.push(Row { line: rows.len() + 1, names });
    }
    Some(())
}
