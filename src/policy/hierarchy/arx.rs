//! Which rows does a hierarchy file in ARX's format contain?
//!
//! One line for each value, with fields separated by `;`; a field that contains `;` or quotes is in double quotes.
//! Empty lines, a byte-order mark and `\r` are skipped.

use super::rows::{MAX_NAMES, MAX_ROWS, Problem, Row, from_rows};
use super::tree::Hierarchy;

/// Reads the text of a hierarchy file; problems carry their line.
pub fn parse_arx(text: &str) -> Result<Hierarchy, Vec<Problem>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut rows = Vec::new();
    let mut problems = Vec::new();
    let mut names_so_far = 0;
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        if rows.len() == MAX_ROWS || names_so_far > MAX_NAMES {
            let problem = format!("has more than {MAX_ROWS} values or {MAX_NAMES} names");
            let remedy =
                "leave the hierarchy out: the column is then cut by value; or list fewer, wider values";
            return Err(vec![Problem::new(None, problem, remedy)]);
        }
        match fields(line) {
            Some(names) => {
                names_so_far += names.len();
                rows.push(Row { line: at + 1, names });
            }
            None => problems.push(Problem::new(
                Some(at + 1),
                "a quoted field does not end, or text follows its closing quote",
                "write \"a;b\" around a field with ; and double a quote inside it",
            )),
        }
    }
    if let Some(first) = rows.first()
        && rows.iter().all(|row| row.names.len() == 1)
        && rows.iter().any(|row| row.names[0].contains([',', '\t']))
    {
        problems.push(Problem::new(
            Some(first.line),
            "no line has a ;",
            "separate the fields of a line by ;",
        ));
    }
    if problems.is_empty() {
        return from_rows(&rows);
    }
    problems.truncate(super::rows::MAX_PROBLEMS);
    Err(problems)
}

/// The text of a hierarchy file; `None` if a name contains a line break, which the format cannot represent.
pub fn to_arx(tree: &Hierarchy) -> Option<String> {
    let mut text = String::new();
    for row in tree.rows() {
        for (at, name) in row.iter().enumerate() {
            if name.contains(['\n', '\r']) {
                return None;
            }
            text.push_str(if at > 0 { ";" } else { "" });
            let plain = name.trim() == name && !name.contains([';', '"', '\u{feff}']);
            text.push_str(&if plain { name.clone() } else { format!("\"{}\"", name.replace('"', "\"\"")) });
        }
        text.push('\n');
    }
    Some(text)
}

/// The fields of a line, trimmed; `None` if the quotes do not match.
fn fields(line: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = line.trim();
    loop {
        rest = rest.trim_start();
        let after = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (name, after) = quoted_field(quoted)?;
                names.push(name);
                after.trim_start()
            }
            None => {
                let end = rest.find(';').unwrap_or(rest.len());
                names.push(rest[..end].trim_end().to_string());
                &rest[end..]
            }
        };
        if after.is_empty() {
            return Some(names);
        }
        rest = after.strip_prefix(';')?;
    }
}

/// The text up to the closing quote, and the rest after it.
fn quoted_field(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = text;
    loop {
        let end = rest.find('"')?;
        name.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(after) => {
                name.push('"');
                rest = after;
            }
            None => return Some((name, rest)),
        }
    }
}
