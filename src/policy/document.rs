//! Reads a policy file up to its `[privacy]` table.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::DeTable;

use super::accept::AcceptedRisk;
use super::columns::Columns;
use super::nights::Nights;
use super::parse::{Item, Mistakes, Section};
use super::publish::{Function, Publish, Style, read_functions};
use crate::error::{Error, Result};

/// Everything in a policy except `[privacy]`: the meaning of the columns, and the form of the release.
#[derive(Debug, Clone)]
pub struct TableRules {
    /// The policy file; the files that it names are relative to its folder.
    pub file: PathBuf,
    /// The roles of the columns.
    pub columns: Columns,
    /// The risks that the owner accepts by name, sorted.
    pub accept: Vec<AcceptedRisk>,
    /// The form of the release.
    pub publish: Publish,
    /// The generalization functions of `[[audit.function]]`, in order.
    pub functions: Vec<Function>,
    /// How the release is continued, if it is.
    pub nights: Option<Nights>,
    /// The line and key at which each column is named.
    pub(super) places: BTreeMap<String, (usize, String)>,
}

impl TableRules {
    /// The folder of the policy; the files that the policy names are relative to it.
    pub(crate) fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new(""))
    }
}

/// A policy file whose `[privacy]` table has not been read yet, with the mistakes found so far.
pub(crate) struct Document<'a, 't> {
    /// The rules; `None` only if a mistake was recorded.
    pub rules: Option<TableRules>,
    /// The table `[privacy]`; `None` only if a mistake was recorded.
    pub privacy: Option<Section<'a>>,
    /// All mistakes so far.
    pub mistakes: Mistakes<'t>,
    columns: Option<Section<'a>>,
    publish: Option<Section<'a>>,
}

/// Parses the keys of a file; syntax errors are reported on their own.
pub(crate) fn parse_toml<'t>(text: &'t str, file: &Path) -> Result<Spanned<DeTable<'t>>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut mistakes = Mistakes::new(text);
    for error in errors {
        let at = error.span().map(|span| span.start);
        let problem = error.message().replace('\n', ", ");
        mistakes.add(at, "syntax", problem, "see https://toml.io for the format");
    }
    match mistakes.into_sorted() {
        none if none.is_empty() => Ok(table),
        mistakes => Err(Error::Policy { file: file.to_path_buf(), mistakes }),
    }
}

impl<'a, 't> Document<'a, 't> {
    /// Reads everything except `[privacy]` from the policy at `file`.
    pub fn read(table: &'a DeTable<'a>, text: &'t str, file: &Path) -> Self {
        let mut mistakes = Mistakes::new(text);
        let whole = Section::whole_file(table);
        whole.only(&["accept", "columns", "privacy", "publish", "audit", "nights"], &mut mistakes);
        for (key, remedy) in [
            ("columns", "add [columns] with sensitive = \"the column to protect\""),
            ("privacy", "add [privacy]"),
        ] {
            if whole.get(key).is_none() {
                whole.missing(key, remedy, &mut mistakes);
            }
        }
        let [columns, privacy, publish, audit, nights] = ["columns", "privacy", "publish", "audit", "nights"]
            .map(|key| whole.get(key).and_then(|item| item.section(&format!("[{key}]"), &mut mistakes)));
        let accept = whole.get("accept").map_or(Vec::new(), |item| AcceptedRisk::read(&item, &mut mistakes));
        let rules = columns.as_ref().map(|columns| {
            let sections = RuleSections {
                columns,
                publish: publish.as_ref(),
                audit: audit.as_ref(),
                nights: nights.as_ref(),
            };
            let rules = sections.read(file.to_path_buf(), &mut mistakes);
            TableRules { accept, ..rules }
        });
        Document { rules, privacy, mistakes, columns, publish }
    }

    /// Records the mistake of giving null a meaning in a column where people have any number of values.
    pub fn refuse_null_is(&mut self, column: &str, values: &str) {
        let Some(columns) = &self.columns else { return };
        let mistakes = &mut self.mistakes;
        let own = columns.get("sensitive").filter(Item::is_table);
        let own = own.and_then(|item| item.section("", mistakes)?.get(column)?.section("", mistakes));
        let null_is = own.and_then(|own| own.get("null_is")).or_else(|| columns.get("null_is"));
        if let Some(item) = null_is {
            let problem = format!("has no meaning with values = \"{values}\"");
            item.wrong(problem, "leave it out: there a null is a person without a value", mistakes);
        }
    }

    /// Makes the release two tables, or records a mistake if the policy requests one although `model` publishes two.
    pub fn require_bucketized(&mut self, model: &str) {
        let Some(rules) = &mut self.rules else { return };
        match self.publish.as_ref().and_then(|publish| publish.get("style")) {
            Some(item) if rules.publish.style == Style::Generalized => {
                let problem = format!("model = \"{model}\" publishes two tables");
                item.wrong(problem, "write style = \"bucketized\"", &mut self.mistakes);
            }
            _ => rules.publish.style = Style::Bucketized,
        }
    }
}

/// The tables of a policy that become its rules.
struct RuleSections<'s, 'a> {
    columns: &'s Section<'a>,
    publish: Option<&'s Section<'a>>,
    audit: Option<&'s Section<'a>>,
    nights: Option<&'s Section<'a>>,
}

impl RuleSections<'_, '_> {
    fn read(&self, file: PathBuf, mistakes: &mut Mistakes) -> TableRules {
        let folder = file.parent().unwrap_or(Path::new(""));
        let (columns, mut places) = Columns::read(self.columns, folder, mistakes);
        let functions = read_functions(self.audit, &columns, mistakes);
        let publish = Publish::read(self.publish, mistakes);
        publish.check_names(&columns, &places, mistakes);
        let nights = self.nights.map(|section| Nights::read(section, &columns, &mut places, mistakes));
        if let (Some(_), [], Some(publish_at)) = (publish.strategy, &functions[..], self.publish)
            && let Some(item) = publish_at.get("strategy")
        {
            item.wrong(
                "has no functions to choose from",
                "add [[audit.function]], from fine to coarse",
                mistakes,
            );
        }
        let places = places.into_iter().map(|(name, (key, at))| (name, (mistakes.line(at), key))).collect();
        TableRules { file, columns, accept: Vec::new(), publish, functions, nights, places }
    }
}
