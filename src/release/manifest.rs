//! What binds a release to its input, its policy and its evidence?
//!
//! `manifest.json` contains no time, no path and no number of threads: the same table and policy give the same bytes.
//! `tree.json` contains the tree of cuts, from the root downwards: a group is its number; a cut is its column, the ends
//! between its parts and the parts themselves.

use super::findings;
use super::label::Labels;
use super::penalty::{Penalty, Utility, rounded_up};
use crate::encode::fingerprint::Fingerprint;
use crate::error::{Error, Result};
use crate::group::tree::{CutTree, NodeId};
use crate::math::disclosure_sets::SharesSummary;
use crate::math::skyline::Values;
use crate::model::Policy;
use crate::model::finding::{Audience, Finding};
use crate::resources::disk::{self, DiskFile};
use crate::resources::whole_file::{JSON_BYTES, read_at_most};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;

/// The name of the manifest.
pub const MANIFEST: &str = "manifest.json";

/// The name of the file with the tree of cuts.
pub const TREE: &str = "tree.json";

/// The contents of a manifest.
pub struct Evidence<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// Which tables there are.
    pub style: ReleaseStyle,
    /// The input, or how the groups were chosen from it.
    pub input: &'a Input,
    /// The result of the independent check for each protected column, at least one.
    pub columns: &'a [PublishedColumn<'a>],
    /// The utility of the release.
    pub utility: &'a Utility,
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
}

/// What a manifest says about the input.
pub enum Input {
    /// A fingerprint of the rows.
    Read(Fingerprint),
    /// The number of rows and how many of them are in no group. There is no fingerprint: subtracting the published
    /// values from it would leave those that are not published.
    Grouped {
        /// Rows that were read.
        rows: u64,
        /// Rows that are not published.
        suppressed: u64,
    },
    /// The number of tables that a replay leaves. There is no fingerprint, which would distinguish these tables.
    Chosen(Box<Chosen>),
}

/// The generalization function that a strategy chose, and the tables that a replay of the choice leaves.
pub struct Chosen {
    /// `inclusive` or `exclusive`.
    pub strategy: &'static str,
    /// The number of the function, counted from 1.
    pub function: usize,
    /// How many functions there were.
    pub functions: usize,
    /// What the function does.
    pub name: String,
    /// All tables with this publication.
    pub rearrangements: SharesSummary,
    /// Those for which the strategy makes this publication.
    pub left: SharesSummary,
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
    /// How many sensitive values a person may have.
    #[serde(default)]
    pub values: String,
    /// The input.
    #[serde(default)]
    pub input: Option<ManifestInput>,
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
    /// The utility of the release.
    #[serde(default)]
    pub utility: Option<ManifestUtility>,
    /// The files as they were published; none if they were not recorded.
    #[serde(default)]
    pub files: Option<Vec<ManifestFile>>,
    /// Rows of the input that are not published, if some may be left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suppressed: Option<u64>,
    /// How a strategy chose the groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<Value>,
    /// What adversaries who know distributions learn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distributions: Option<Value>,
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
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            ReleaseStyle::Generalized => "generalized",
            ReleaseStyle::Bucketized => "bucketized",
        }
    }
}

/// What a manifest says about the input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestInput {
    /// Rows.
    pub rows: u64,
    /// Binds the release to the input; none if it would disclose values that are not published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

/// What a manifest says about the utility of a release.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ManifestUtility {
    /// Average people per group.
    pub average_group_size: f64,
    /// Sum of the squared group sizes.
    pub discernibility: String,
    /// Null if groups have no labels.
    pub certainty_penalty: Option<ManifestPenalty>,
}

/// Certainty penalties as published and with the tightest labels, rounded up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ManifestPenalty {
    /// As published, over all columns.
    pub published: f64,
    /// With the tightest labels, over all columns.
    pub tight: f64,
    /// Both for each column.
    pub columns: Vec<ColumnPenalty>,
}

/// The certainty penalties of one column, rounded up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ColumnPenalty {
    /// The column.
    pub column: String,
    /// As published.
    pub published: f64,
    /// With the tightest labels.
    pub tight: f64,
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

    /// Creates the manifest from the evidence and the files below `folder`.
    fn new(folder: &Path, evidence: &Evidence<'_>) -> Result<Self> {
        let mut files = Vec::new();
        list(folder, folder, &mut files)?;
        let Some(first) = evidence.columns.first() else {
            return Err(Error::defect("a release without a protected column has no manifest"));
        };
        let names: Vec<&str> = evidence.columns.iter().map(|column| column.finding.column.as_str()).collect();
        let points = evidence.columns.iter().flat_map(|column| {
            let risks = column.finding.risks();
            risks.map(|claim| findings::point(claim, (names.len() > 1).then_some(&column.finding.column)))
        });
        let totals = evidence.columns.iter().flat_map(|column| &column.finding.totals);
        let mut public = totals.filter(|total| total.audience == Audience::Public);
        let (input, suppressed, audit) = match evidence.input {
            Input::Read(read) => {
                (ManifestInput { rows: read.rows, fingerprint: Some(read.text()) }, None, None)
            }
            Input::Grouped { rows, suppressed } => {
                (ManifestInput { rows: *rows, fingerprint: None }, Some(*suppressed), None)
            }
            Input::Chosen(chosen) => {
                (ManifestInput { rows: first.records, fingerprint: None }, None, Some(audit(chosen)))
            }
        };
        Ok(Manifest {
            skyveil: env!("CARGO_PKG_VERSION").to_string(),
            policy: evidence.policy.canonical(),
            policy_sha256: evidence.policy.hash(),
            style: evidence.style,
            sensitive: if let [only] = names[..] { json!(only) } else { json!(names) },
            values: first.values.name().to_string(),
            input: Some(input),
            records: first.records,
            individuals: first.individuals,
            groups: first.groups,
            smallest_group: first.smallest_group,
            points: points.collect(),
            utility: Some(worth(evidence.utility)),
            files: Some(files),
            suppressed,
            audit,
            distributions: public.next().map(findings::total),
        })
    }
}

/// Writes the manifest of the files below `folder`.
pub fn write(folder: &Path, evidence: &Evidence<'_>) -> Result<()> {
    let manifest = Manifest::new(folder, evidence)?;
    let path = folder.join(MANIFEST);
    // Converted to a value first, which sorts the keys alphabetically.
    let text = serde_json::to_value(&manifest).and_then(|value| serde_json::to_string_pretty(&value));
    let text = text.map_err(|source| Error::io(&path, source.into()))?;
    disk::write(&path, text + "\n").map_err(|source| Error::io(&path, source))
}

fn worth(utility: &Utility) -> ManifestUtility {
    let column = |column: &Penalty| ColumnPenalty {
        column: column.name.clone(),
        published: rounded_up(column.published),
        tight: rounded_up(column.tight),
    };
    ManifestUtility {
        average_group_size: utility.average_group_size,
        discernibility: utility.discernibility.to_string(),
        certainty_penalty: (!utility.columns.is_empty()).then(|| ManifestPenalty {
            published: rounded_up(utility.published_penalty()),
            tight: rounded_up(utility.tight_penalty()),
            columns: utility.columns.iter().map(column).collect(),
        }),
    }
}

/// Only what anyone who knows the release, the quasi-identifiers and the strategy can compute.
fn audit(chosen: &Chosen) -> Value {
    let set = |set: &SharesSummary| {
        let largest = set.largest.as_ref().map(|worst| worst.share.to_string());
        json!({"size": set.size.to_string(), "largest_share": largest})
    };
    json!({
        "strategy": chosen.strategy,
        "function": chosen.function,
        "functions": chosen.functions,
        "name": chosen.name,
        "rearrangements": set(&chosen.rearrangements),
        "disclosure_set": set(&chosen.left),
    })
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

/// Size and hash of a file.
pub fn hash(path: &Path) -> Result<(u64, String)> {
    let io = |source| Error::io(path, source);
    let mut file = File::open(path).map_err(io)?;
    let (mut hash, mut bytes, mut buffer) = (Sha256::new(), 0, vec![0; 1 << 16]);
    loop {
        let read = file.read(&mut buffer).map_err(io)?;
        if read == 0 {
            let hex = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
            return Ok((bytes, hex));
        }
        hash.update(&buffer[..read]);
        bytes += read as u64;
    }
}

/// Writes the tree of cuts node by node, without building the text in memory.
pub fn write_tree(folder: &Path, tree: &CutTree, labels: &[(String, Labels<'_>)]) -> Result<()> {
    enum Step {
        Node(NodeId),
        Text(&'static str),
    }
    let path = folder.join(TREE);
    let io = |source| Error::io(&path, source);
    let mut out = BufWriter::new(DiskFile::create(&path).map_err(io)?);
    let mut steps = vec![Step::Text("\n"), Step::Node(CutTree::ROOT)];
    while let Some(step) = steps.pop() {
        match step {
            Step::Text(text) => out.write_all(text.as_bytes()).map_err(io)?,
            Step::Node(node) => match tree.cut(node) {
                None => write!(out, "{}", tree.group(node)).map_err(io)?,
                Some((cut, children)) => {
                    let (name, labels) = &labels[cut.column];
                    let ends: Vec<String> = cut.boundaries.iter().map(|&code| labels.start(code)).collect();
                    write!(out, "{{\"column\":{},\"from\":{},\"parts\":[", json!(name), json!(ends))
                        .map_err(io)?;
                    steps.push(Step::Text("]}"));
                    for (i, child) in children.enumerate().collect::<Vec<_>>().into_iter().rev() {
                        steps.push(Step::Node(child));
                        if i > 0 {
                            steps.push(Step::Text(","));
                        }
                    }
                }
            },
        }
    }
    out.flush().map_err(io)
}
