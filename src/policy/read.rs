//! Is the file as a whole a policy?

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::de::DeTable;

use super::columns::Columns;
use super::parse::{Item, Mistakes, Section};
use super::privacy::{Model, Privacy, Values};
use super::publish::{Function, Publish, Style, read_functions};
use crate::error::{Error, Mistake, Result};

/// A policy without mistakes.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Where it came from; the files it names are relative to its folder.
    pub file: PathBuf,
    /// The roles of the columns.
    pub columns: Columns,
    /// What must hold for a release.
    pub privacy: Privacy,
    /// The form of the release.
    pub publish: Publish,
    /// The generalization functions of `[[audit.function]]`, in order.
    pub functions: Vec<Function>,
    /// The line and key at which each column is named.
    pub(super) places: BTreeMap<String, (usize, String)>,
}

impl Policy {
    /// Reads a policy and the hierarchy files it names.
    pub fn read(path: impl AsRef<Path>) -> Result<Policy> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|why| Error::io(path, why))?;
        match String::from_utf8(bytes) {
            Ok(text) => Policy::parse(&text, path),
            Err(why) => {
                let before = &why.as_bytes()[..why.utf8_error().valid_up_to()];
                let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
                let mistake = Mistake {
                    line: Some(line),
                    key: "file".to_string(),
                    problem: "is not text in UTF-8".to_string(),
                    remedy: "save the policy as UTF-8".to_string(),
                };
                Err(Error::Policy { file: path.to_path_buf(), mistakes: vec![mistake] })
            }
        }
    }

    /// Reads the text of a policy that stands (or would stand) at `path`.
    pub fn parse(text: &str, path: impl AsRef<Path>) -> Result<Policy> {
        let file = path.as_ref().to_path_buf();
        let mut mistakes = Mistakes::new(text);
        let (document, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            let at = error.span().map(|span| span.start);
            mistakes.add(
                at,
                "syntax",
                error.message().replace('\n', ", "),
                "see https://toml.io for the format",
            );
        }
        let mistakes_of_syntax = mistakes.into_sorted();
        if !mistakes_of_syntax.is_empty() {
            return Err(Error::Policy { file, mistakes: mistakes_of_syntax });
        }
        let mut mistakes = Mistakes::new(text);
        let policy = check(&Section::whole_file(document.get_ref()), file.clone(), &mut mistakes);
        let mistakes = mistakes.into_sorted();
        match policy {
            Some(policy) if mistakes.is_empty() => Ok(policy),
            _ => Err(Error::Policy { file, mistakes }),
        }
    }
}

/// `None` only where a mistake was noted.
fn check(whole: &Section, file: PathBuf, mistakes: &mut Mistakes) -> Option<Policy> {
    whole.only(&["columns", "privacy", "publish", "audit"], mistakes);
    let section = |key: &str, mistakes: &mut Mistakes| {
        whole.get(key).and_then(|item| item.section(&format!("[{key}]"), mistakes))
    };
    for (key, remedy) in [
        ("columns", "add [columns] with sensitive = \"the column to protect\""),
        ("privacy", "add [privacy]"),
    ] {
        if whole.get(key).is_none() {
            whole.missing(key, remedy, mistakes);
        }
    }
    let [columns_at, privacy_at, publish_at, audit_at] =
        ["columns", "privacy", "publish", "audit"].map(|key| section(key, mistakes));
    let folder = file.parent().unwrap_or(Path::new("")).to_path_buf();
    let (columns, places) = Columns::read(columns_at.as_ref()?, &folder, mistakes);
    let functions = read_functions(audit_at.as_ref(), &columns, mistakes);
    let mut publish = Publish::read(publish_at.as_ref(), mistakes);
    publish.check_names(&columns, &places, mistakes);
    if let (Some(_), [], Some(publish_at)) = (publish.strategy, &functions[..], &publish_at)
        && let Some(item) = publish_at.get("strategy")
    {
        item.wrong(
            "has no functions to choose from",
            "add [[audit.function]], from fine to coarse",
            mistakes,
        );
    }
    let privacy = Privacy::read(privacy_at.as_ref()?, &columns, &folder, mistakes);
    check_together(columns_at.as_ref()?, &columns, &privacy, mistakes);
    if privacy.targets.iter().any(|target| matches!(target.model, Model::Robust(_))) {
        match publish_at.and_then(|publish| publish.get("style")) {
            Some(item) if publish.style == Style::Generalized => {
                item.wrong(
                    "model = \"robust\" publishes two tables",
                    "write style = \"bucketized\"",
                    mistakes,
                );
            }
            _ => publish.style = Style::Bucketized,
        }
    }
    let places = places.into_iter().map(|(name, (key, at))| (name, (mistakes.line(at), key))).collect();
    Some(Policy { file, columns, privacy, publish, functions, places })
}

/// Rules between the columns and the adversaries.
fn check_together(section: &Section, columns: &Columns, privacy: &Privacy, mistakes: &mut Mistakes) {
    let single = |values: Values| values == Values::Single;
    let targets = &privacy.targets;
    for target in targets.iter().filter(|target| !single(target.values)) {
        let Some(column) = columns.sensitive(&target.name()).filter(|column| column.null_is.is_some()) else {
            continue;
        };
        let own = section.get("sensitive").filter(Item::is_table);
        let own = own.and_then(|item| item.section("", mistakes)?.get(&column.name)?.section("", mistakes));
        let stated = own.and_then(|own| own.get("null_is")).or_else(|| section.get("null_is"));
        if let Some(item) = stated {
            let problem = format!("has no meaning with values = \"{}\"", target.values.name());
            item.wrong(problem, "leave it out: there a null is a person without a value", mistakes);
        }
    }
}
