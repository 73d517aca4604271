//! What binds a release to its policy and its evidence?
//!
//! `manifest.json` is a function of the published rows, the policy and the version: it says nothing about the input
//! that the rows do not show, and contains no time, no path and no number of threads. What the owner needs besides is
//! in the private [receipt](super::receipt).

use super::chain::ChainLink;
use super::findings;
use crate::error::{Error, Result};
use crate::math::skyline::Values;
use crate::model::Policy;
use crate::model::finding::Finding;
use crate::model::robust::Distributions;
use crate::resources::disk;
use crate::resources::whole_file::{JSON_BYTES, read_at_most};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The name of the manifest.
pub const MANIFEST: &str = "manifest.json";

/// The name of the page about a release.
pub const REPORT: &str = "report.html";

/// The contents of a manifest.
pub struct Evidence<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// Which tables there are.
    pub style: ReleaseStyle,
    /// The result of the independent check for each protected column, at least one.
    pub columns: &'a [PublishedColumn<'a>],
    /// The nights before it, if it continues a release.
    pub night: Option<&'a ChainLink>,
}

/// What a manifest says about one protected column.
pub struct PublishedColumn<'a> {
    /// The result of the check.
    pub finding: &'a Finding,
    /// How many sensitive values a person may have.
    pub values: Values,
    /// Rows of the release.
    pub records: u64,
    /// People.
    pub individuals: u64,
    /// Groups.
    pub groups: u64,
    /// People in the smallest group.
    pub smallest_group: u64,
    /// Sum of the squared group sizes.
    pub discernibility: u128,
}

/// The manifest of a release, as it is written and read.
///
/// The fields that the check needs must be present; the others may be missing in the manifest of another tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version that made the release.
    #[serde(default)]
    pub skyveil: String,
    /// The policy in its canonical form.
    pub policy: String,
    /// Its hash.
    #[serde(default)]
    pub policy_sha256: String,
    /// Which tables there are.
    pub style: ReleaseStyle,
    /// The protected columns: one name, or several.
    #[serde(default)]
    pub sensitive: Value,
    /// How many sensitive values a person may have: one word, or one for each of the protected columns if they differ.
    #[serde(default)]
    pub values: Value,
    /// Rows of the release.
    #[serde(default)]
    pub records: u64,
    /// People.
    #[serde(default)]
    pub individuals: u64,
    /// Groups.
    #[serde(default)]
    pub groups: u64,
    /// People in the smallest group.
    #[serde(default)]
    pub smallest_group: u64,
    /// The requirements, with the results.
    #[serde(default)]
    pub points: Vec<Value>,
    /// Whom the requirements do not cover, where their name does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_covered: Option<String>,
    /// The utility of the release.
    #[serde(default)]
    pub utility: Option<ManifestUtility>,
    /// The nights before it, if it continues a release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub night: Option<ChainLink>,
    /// The files as they were published; none if they were not recorded.
    #[serde(default)]
    pub files: Option<Vec<ManifestFile>>,
}

/// Which tables a release has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReleaseStyle {
    /// People and values are in one table.
    Generalized,
    /// People and values are in two tables.
    Bucketized,
}

impl ReleaseStyle {
    /// The folders of its tables.
    pub fn tables(self) -> &'static [&'static str] {
        match self {
            ReleaseStyle::Generalized => &["data"],
            ReleaseStyle::Bucketized => &["quasi", "sensitive"],
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            ReleaseStyle::Generalized => "generalized",
            ReleaseStyle::Bucketized => "bucketized",
        }
    }
}

/// What a manifest says about the utility of a release.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ManifestUtility {
    /// Average people per group.
    pub average_group_size: f64,
    /// Sum of the squared group sizes.
    pub discernibility: String,
}

/// A file of a release as it was published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestFile {
    /// Relative to the folder of the release.
    pub path: String,
    /// Its size.
    #[serde(default)]
    pub bytes: u64,
    /// Its hash.
    pub sha256: String,
}

impl Manifest {
    /// Reads the manifest of the release in `folder`.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(MANIFEST);
        let bytes = read_at_most(&path, JSON_BYTES).map_err(|source| Error::io(&path, source))?;
        serde_json::from_slice(&bytes).map_err(|error| Error::Format {
            path,
            problem: format!("this is not the manifest of a release (line {})", error.line()),
        })
    }

    /// The manifest of a release with this evidence and these files.
    pub fn of(evidence: &Evidence<'_>, files: Vec<ManifestFile>) -> Result<Self> {
        let Some(first) = evidence.columns.first() else {
            return Err(Error::defect("a release without a protected column has no manifest"));
        };
        let names: Vec<&str> = evidence.columns.iter().map(|column| column.finding.column.as_str()).collect();
        let points = evidence.columns.iter().flat_map(|column| {
            findings::points(column.finding, (names.len() > 1).then_some(&column.finding.column))
        });
        Ok(Manifest {
            skyveil: env!("CARGO_PKG_VERSION").to_string(),
            policy: evidence.policy.canonical(),
            policy_sha256: evidence.policy.hash(),
            style: evidence.style,
            sensitive: if let [only] = names[..] { json!(only) } else { json!(names) },
            values: values_per_person(evidence.columns.iter().map(|column| column.values)),
            records: first.records,
            individuals: first.individuals,
            groups: first.groups,
            smallest_group: first.smallest_group,
            points: points.collect(),
            not_covered: not_covered(evidence.policy),
            utility: Some(ManifestUtility {
                average_group_size: first.individuals as f64 / first.groups.max(1) as f64,
                discernibility: first.discernibility.to_string(),
            }),
            night: evidence.night.cloned(),
            files: Some(files),
        })
    }

    /// The text of the file.
    pub fn text(&self) -> Result<String> {
        // Converted to a value first, which sorts the keys alphabetically.
        let text = serde_json::to_value(self).and_then(|value| serde_json::to_string_pretty(&value));
        text.map(|text| text + "\n").map_err(|source| Error::io(MANIFEST, source.into()))
    }
}

/// How many values a person may have in each of these columns: one word if it is the same in all of them.
pub fn values_per_person(columns: impl Iterator<Item = Values>) -> Value {
    let mut words: Vec<&str> = columns.map(Values::name).collect();
    match words.iter().all(|word| *word == words[0]) {
        true => json!(words.pop()),
        false => json!(words),
    }
}

/// Distributions that were counted in the table are also sums from which the published values can be subtracted; and who is
/// left out is chosen by values.
fn not_covered(policy: &Policy) -> Option<String> {
    let counted = policy.robust().is_some_and(|(_, own)| own.distributions == Distributions::Estimated);
    let counts = counted.then_some("whoever knows the counts behind the distributions");
    let chosen = policy.privacy.suppress.allows_some().then_some("what it tells that people are left out");
    let open: Vec<&str> = counts.into_iter().chain(chosen).collect();
    (!open.is_empty()).then(|| open.join("; "))
}

/// Writes the manifest of the files below `folder`; fails if those that were checked as they were made have changed.
pub fn write(folder: &Path, evidence: &Evidence<'_>, checked: &[ManifestFile]) -> Result<()> {
    let mut files = Vec::new();
    list(folder, folder, &mut files)?;
    let listed: BTreeMap<&str, &ManifestFile> = files.iter().map(|file| (&*file.path, file)).collect();
    if let Some(file) = checked.iter().find(|file| listed.get(&*file.path) != Some(file)) {
        return Err(Error::Changed { file: Some(folder.join(&file.path)), column: None });
    }
    let path = folder.join(MANIFEST);
    disk::write(&path, Manifest::of(evidence, files)?.text()?).map_err(|source| Error::io(&path, source))
}

/// Every file below `folder`, by name, with its size and hash.
fn list(root: &Path, folder: &Path, files: &mut Vec<ManifestFile>) -> Result<()> {
    let io = |source| Error::io(folder, source);
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).map_err(io)?.collect::<std::io::Result<_>>().map_err(io)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if path.is_dir() {
            list(root, &path, files)?;
        } else if !hidden {
            let (bytes, sha256) = hash(&path)?;
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            files.push(ManifestFile { path: name, bytes, sha256 });
        }
    }
    Ok(())
}

/// Size and SHA-256 of bytes that come one after the other.
#[derive(Debug, Clone, Default)]
pub struct FileHash {
    hash: Sha256,
    bytes: u64,
}

impl FileHash {
    /// Adds the next bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    /// Size and hash of all of them.
    pub fn finish(self) -> (u64, String) {
        (self.bytes, self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// Size and SHA-256 of a file.
pub fn hash(path: &Path) -> Result<(u64, String)> {
    hash_while(path, || Ok(()))
}

/// Size and SHA-256 of a file, unless `go_on` fails, which is asked before every piece of it.
pub fn hash_while(path: &Path, mut go_on: impl FnMut() -> Result<()>) -> Result<(u64, String)> {
    let io = |source| Error::io(path, source);
    let mut file = File::open(path).map_err(io)?;
    let (mut hash, mut buffer) = (FileHash::default(), vec![0; 1 << 16]);
    loop {
        go_on()?;
        match file.read(&mut buffer).map_err(io)? {
            0 => return Ok(hash.finish()),
            read => hash.add(&buffer[..read]),
        }
    }
}
