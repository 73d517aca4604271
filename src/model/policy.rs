//! A policy as a whole: the rules for the table, and what must hold for a release of it.

use std::fmt;
use std::ops::Deref;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::adversaries::{Grouping, Model, Needs};
use super::finding::Consent;
use super::privacy::{Privacy, Target};
use super::robust::RobustModel;
use crate::error::{Error, Mistake, Result};
use crate::math::skyline::Values;
use crate::policy::{AcceptedRisk, Document, Grid, Style, TableRules, parse_toml};
use crate::resources::whole_file::{POLICY_BYTES, read_at_most};

/// A policy without mistakes.
///
/// It can be used wherever [`TableRules`] are expected: that is all that the layers below the adversaries see
/// of it.
#[derive(Debug, Clone)]
pub struct Policy {
    /// What must hold for a release.
    pub privacy: Privacy,
    rules: TableRules,
}

impl Deref for Policy {
    type Target = TableRules;

    fn deref(&self) -> &TableRules {
        &self.rules
    }
}

impl Policy {
    /// Whether nearly equal numbers of a sensitive column are protected together.
    pub fn has_closeness_rule(&self, column: &str) -> bool {
        self.privacy.targets.iter().any(|target| target.columns == [column] && target.has_closeness_rule())
    }

    /// The same policy with another grid for one of its quasi-identifiers, by position.
    pub fn with_grid(&self, quasi: usize, grid: Grid) -> Policy {
        let mut policy = self.clone();
        policy.rules.columns.quasi[quasi].grid = Some(grid);
        policy
    }

    /// The same policy for a release in one table with labels; its groups are the same.
    pub fn generalized(&self) -> Policy {
        let mut policy = self.clone();
        policy.rules.publish.style = Style::Generalized;
        policy
    }

    /// Reads a policy and the hierarchy files it names.
    pub fn read(path: impl AsRef<Path>) -> Result<Policy> {
        let path = path.as_ref();
        let bytes = read_at_most(path, POLICY_BYTES).map_err(|why| Error::io(path, why))?;
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

    /// Reads the text of a policy that is (or would be) at `path`.
    pub fn parse(text: &str, path: impl AsRef<Path>) -> Result<Policy> {
        let file = path.as_ref();
        let table = parse_toml(text, file)?;
        let mut document = Document::read(table.get_ref(), text, file);
        let privacy = read_privacy(&mut document);
        let Document { rules, mistakes, .. } = document;
        let mistakes = mistakes.into_sorted();
        match (rules, privacy) {
            (Some(rules), Some(privacy)) if mistakes.is_empty() => Ok(Policy { privacy, rules }),
            _ => Err(Error::Policy { file: file.to_path_buf(), mistakes }),
        }
    }

    /// The policy in its canonical form, which is itself a policy and reads back as the same value.
    pub fn canonical(&self) -> String {
        let mut text = String::new();
        self.write(&mut text).expect("writing to a string cannot fail");
        text
    }

    /// Whether the owner accepts a risk.
    pub fn consent(&self, risk: AcceptedRisk) -> Consent {
        if self.accept.contains(&risk) { Consent::Given } else { Consent::Missing }
    }

    /// The canonical text without the risks that the policy accepts.
    pub fn without_accepted(&self) -> String {
        let mut own = self.clone();
        own.rules.accept.clear();
        own.canonical()
    }

    /// The SHA-256 of the canonical text, in hexadecimal.
    pub fn hash(&self) -> String {
        Sha256::digest(self.canonical()).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn write(&self, text: &mut String) -> fmt::Result {
        self.rules.write_columns(text)?;
        self.privacy.write(text)?;
        self.rules.write_publish(text)
    }

    /// How groups are made.
    pub fn grouping(&self) -> Grouping {
        match self.publish.strategy {
            Some(strategy) => Grouping::GivenFunctions(strategy),
            None => self
                .models()
                .map(Model::grouping)
                .find(|own| *own != Grouping::Split)
                .unwrap_or(Grouping::Split),
        }
    }

    /// What a check of a release needs in addition to the release: the maximum over all columns.
    pub fn needs(&self) -> Needs {
        self.models().map(Model::needs).max().unwrap_or(Needs::Counts)
    }

    /// The adversary who knows distributions, and the column protected against it, if there is one.
    pub fn robust(&self) -> Option<(&Target, &RobustModel)> {
        self.privacy.targets.iter().find_map(|target| Some((target, target.model.robust()?)))
    }

    fn models(&self) -> impl Iterator<Item = &Model> {
        self.privacy.targets.iter().map(|target| &target.model)
    }
}

/// Completes a document with its `[privacy]` table; `None` only if a mistake was recorded.
fn read_privacy(document: &mut Document<'_, '_>) -> Option<Privacy> {
    let (rules, section) = (document.rules.as_ref()?, document.privacy.as_ref()?);
    let privacy = Privacy::read(section, &rules.columns, rules.folder(), &mut document.mistakes);
    let columns = rules.columns.clone();
    for target in privacy.targets.iter().filter(|target| target.values != Values::Single) {
        if columns.sensitive(&target.name()).is_some_and(|column| column.null_is.is_some()) {
            document.refuse_null_is(&target.name(), target.values.name());
        }
    }
    let exact_cells = |target: &&Target| target.model.grouping() == Grouping::SimilarPeople;
    if let Some(target) = privacy.targets.iter().find(exact_cells) {
        document.require_bucketized(target.model.name());
    }
    Some(privacy)
}
