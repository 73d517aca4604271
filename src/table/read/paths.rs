//! Which files does a path mean?
//!
//! Itself; the tables of a directory, by name; the files that match a pattern such as `2024-*.csv`. In a directory whose
//! folders are named `key=value`, as Hive and Spark write them, and behind the first `*` of a pattern, the names of the
//! folders are columns.
//!
//! Invariant: nothing is read twice, as far as names show it: a directory with two formats, or with a file and its
//! compressed copy, is refused. A person who is counted twice looks safer.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use percent_encoding::percent_decode_str;

use super::packing::unpacked_name;
use crate::error::{Error, Result};

/// The path that means standard input.
pub(super) const STANDARD_INPUT: &str = "-";

/// The value of a folder that stands for null.
const HIVE_NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// Folders inside of each other; more are a circle of links.
const DEEPEST: usize = 32;

/// Names that are listed in a note.
const LISTED: usize = 8;

/// Extensions of tables, with what they have in common. CSV files may be compressed.
const EXTENSIONS: [(&str, &str); 7] = [
    ("parquet", "Parquet"),
    ("arrow", "Arrow"),
    ("arrows", "Arrow"),
    ("feather", "Arrow"),
    ("ipc", "Arrow"),
    ("csv", "CSV"),
    ("tsv", "CSV"),
];

/// A file, and what the names of its folders say about all of its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundFile {
    pub path: PathBuf,
    /// From the outer to the inner folder.
    pub keys: Vec<HiveKey>,
}

/// A folder named `key=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HiveKey {
    pub name: String,
    /// Nothing for null.
    pub value: Option<String>,
}

/// The files of a path, in the order of their rows.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub files: Vec<FoundFile>,
    /// What was left out.
    pub notes: Vec<String>,
}

/// The files that a path means.
pub(super) fn find(path: &Path) -> Result<Found> {
    if path.as_os_str() == STANDARD_INPUT {
        return Ok(Found::one(path));
    }
    if path.is_dir() {
        return directory(path, Vec::new());
    }
    match path.to_str().filter(|text| text.contains(['*', '?', '[']) && !path.exists()) {
        Some(pattern) => matching(pattern),
        None => Ok(Found::one(path)),
    }
}

/// Whether a file with this name has the format of these extensions, compressed or not.
pub(super) fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    let name = unpacked_name(path);
    name.extension().is_some_and(|own| extensions.iter().any(|e| own.eq_ignore_ascii_case(e)))
}

impl Found {
    fn one(path: &Path) -> Self {
        Found { files: vec![FoundFile { path: path.to_path_buf(), keys: Vec::new() }], notes: Vec::new() }
    }
}

/// The files that match a pattern, in the order of their names.
fn matching(pattern: &str) -> Result<Found> {
    let refuse = |problem: String| Err(Error::input(problem, "give a file, a directory, or another pattern"));
    let options = glob::MatchOptions {
        require_literal_separator: true,
        require_literal_leading_dot: true,
        ..glob::MatchOptions::default()
    };
    let paths = match glob::glob_with(pattern, options) {
        Ok(paths) => paths,
        Err(error) => return refuse(format!("the pattern {pattern} cannot be read: {}", error.msg)),
    };
    // The folders up to the first special character are given by name.
    let given = Path::new(pattern)
        .components()
        .take_while(|part| !part.as_os_str().to_string_lossy().contains(['*', '?', '[']))
        .count();
    let mut found = Found::default();
    for path in paths {
        let path = path.map_err(|error| Error::io(error.path().to_path_buf(), error.into()))?;
        let keys = keys_of(path.parent().into_iter().flat_map(Path::components).skip(given))?;
        if path.is_dir() {
            let own = path.file_name().and_then(|name| hive_key(&name.to_string_lossy()).transpose());
            let keys = keys.into_iter().chain(own.transpose()?).collect();
            let within = directory(&path, keys)?;
            found.files.extend(within.files);
            found.notes.extend(within.notes);
        } else {
            found.files.push(FoundFile { path, keys });
        }
    }
    if found.files.is_empty() {
        return refuse(format!("no file matches {pattern}"));
    }
    Ok(found)
}

fn keys_of<'p>(folders: impl Iterator<Item = Component<'p>>) -> Result<Vec<HiveKey>> {
    let names = folders.map(|folder| folder.as_os_str().to_string_lossy().into_owned());
    names.filter_map(|name| hive_key(&name).transpose()).collect()
}

/// The tables in a directory and in its folders `key=value`.
fn directory(root: &Path, keys: Vec<HiveKey>) -> Result<Found> {
    let mut walk = Walk { root, files: Vec::new(), others: Vec::new() };
    walk.enter(root, &keys)?;
    walk.refuse_copies()?;
    if walk.files.is_empty() {
        let extensions = EXTENSIONS.map(|(extension, _)| extension).join(", .");
        return Err(Error::input(
            format!("the directory {} holds no table", root.display()),
            format!(
                "tables end in .{extensions}, .csv.gz or .csv.zst, in the directory itself or in folders key=value"
            ),
        ));
    }
    let notes = walk.note().into_iter().collect();
    Ok(Found { files: walk.files, notes })
}

struct Walk<'r> {
    root: &'r Path,
    files: Vec<FoundFile>,
    /// What is not read.
    others: Vec<PathBuf>,
}

impl Walk<'_> {
    fn enter(&mut self, folder: &Path, keys: &[HiveKey]) -> Result<()> {
        let io = |source| Error::io(folder, source);
        if keys.len() > DEEPEST {
            return Err(Error::input(
                format!("{}: more than {DEEPEST} folders are inside of each other", folder.display()),
                "is there a link to a folder above?",
            ));
        }
        let mut entries: Vec<_> =
            std::fs::read_dir(folder).map_err(io)?.collect::<std::io::Result<_>>().map_err(io)?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if name == "_delta_log" {
                return Err(Error::input(
                    format!("{} is a Delta table, whose log says which files count", folder.display()),
                    "export the table to Parquet files, and give these",
                ));
            }
            // As Hive and Spark do: these hold no rows.
            if name.starts_with(['.', '_']) {
                continue;
            }
            let key = if path.is_dir() { hive_key(&name)? } else { None };
            match key {
                Some(key) => {
                    let keys: Vec<HiveKey> = keys.iter().cloned().chain([key]).collect();
                    self.enter(&path, &keys)?;
                }
                None if path.is_file() && format_of(&path).is_some() => {
                    self.files.push(FoundFile { path, keys: keys.to_vec() });
                }
                None => self.others.push(path),
            }
        }
        Ok(())
    }

    /// Refuses what is probably the same table twice.
    fn refuse_copies(&self) -> Result<()> {
        let mut formats: BTreeMap<&str, &Path> = BTreeMap::new();
        let mut names: BTreeMap<PathBuf, &Path> = BTreeMap::new();
        let refuse = |one: &Path, other: &Path| {
            Err(Error::input(
                format!(
                    "the directory {} holds {} and {}, which may be the same rows twice",
                    self.root.display(),
                    self.inside(one),
                    self.inside(other)
                ),
                "name the files to be read: a person who is counted twice looks safer",
            ))
        };
        for FoundFile { path, .. } in &self.files {
            if let Some(one) = names.insert(unpacked_name(path), path) {
                return refuse(one, path);
            }
            formats.entry(format_of(path).unwrap_or_default()).or_insert(path);
        }
        match formats.into_values().collect::<Vec<_>>()[..] {
            [one, other, ..] => refuse(one, other),
            _ => Ok(()),
        }
    }

    /// Says what is read, where something is not.
    fn note(&self) -> Option<String> {
        let listed = |paths: &mut dyn Iterator<Item = &PathBuf>| {
            let mut names: Vec<String> = paths.map(|path| self.inside(path)).collect();
            if let Some(more) = names.len().checked_sub(LISTED + 1) {
                names.truncate(LISTED);
                names.push(format!("{} more", more + 1));
            }
            names.join(", ")
        };
        (!self.others.is_empty()).then(|| {
            format!(
                "of the directory {} these are read: {}; not read: {}",
                self.root.display(),
                listed(&mut self.files.iter().map(|file| &file.path)),
                listed(&mut self.others.iter())
            )
        })
    }

    fn inside(&self, path: &Path) -> String {
        path.strip_prefix(self.root).unwrap_or(path).display().to_string()
    }
}

/// The format that the name of a file promises; `None` if it is no table. Only CSV is compressed as a whole.
fn format_of(path: &Path) -> Option<&'static str> {
    let format = EXTENSIONS.iter().find(|(extension, _)| has_extension(path, &[extension]))?.1;
    (format == "CSV" || unpacked_name(path) == path).then_some(format)
}

/// The key of a folder, if it has the name of one.
fn hive_key(folder: &str) -> Result<Option<HiveKey>> {
    let Some((name, value)) = folder.split_once('=').filter(|(name, _)| !name.is_empty()) else {
        return Ok(None);
    };
    let decode = |text: &str| match percent_decode_str(text).decode_utf8() {
        Ok(text) => Ok(text.into_owned()),
        Err(_) => Err(Error::input(
            format!("the name of the folder {folder} is not UTF-8 behind its percent signs"),
            "rename it",
        )),
    };
    let value = match value {
        "" | HIVE_NULL => None,
        value => Some(decode(value)?),
    };
    Ok(Some(HiveKey { name: decode(name)?, value }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str, value: Option<&str>) -> HiveKey {
        HiveKey { name: name.into(), value: value.map(String::from) }
    }

    #[test]
    fn folders_are_keys() {
        for (folder, expected) in [
            ("year=2024", Some(key("year", Some("2024")))),
            ("city=S%C3%A3o%20Paulo%2FSP", Some(key("city", Some("São Paulo/SP")))),
            ("a%3Db=1=2", Some(key("a=b", Some("1=2")))),
            ("x=__HIVE_DEFAULT_PARTITION__", Some(key("x", None))),
            ("x=", Some(key("x", None))),
            ("x=100%", Some(key("x", Some("100%")))),
            ("=x", None),
            ("data", None),
        ] {
            assert_eq!(hive_key(folder).unwrap(), expected, "{folder}");
        }
        assert!(hive_key("x=%ff").is_err());
    }

    #[test]
    fn names_tell_the_format() {
        for (name, expected) in [
            ("a.csv", Some("CSV")),
            ("a.CSV.GZ", Some("CSV")),
            ("a.tsv.zst", Some("CSV")),
            ("a.parquet", Some("Parquet")),
            ("a.parquet.gz", None),
            ("a.gz", None),
            ("a.json", None),
        ] {
            assert_eq!(format_of(Path::new(name)), expected, "{name}");
        }
    }
}
