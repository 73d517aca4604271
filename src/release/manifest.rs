//! What binds a release to its input, its policy and its evidence?
//!
//! `manifest.json` holds no time, no path and no number of threads: the same table and policy give the same bytes.
//! `tree.json` holds the tree of cuts, from the root downwards: a group is its number, a cut is its column,
//! the ends between its parts and the parts themselves.

use super::label::Labels;
use super::penalty::{Utility, rounded_up};
use crate::check::{CheckReport, DisclosureReport, PointReport, ShareReport};
use crate::encode::fingerprint::Fingerprint;
use crate::error::{Error, Result};
use crate::group::tree::{CutTree, NodeId};
use crate::math::disclosure_sets::SharesSummary;
use crate::math::exact::f64_at_least;
use crate::math::skyline::{Breach, Statistics};
use crate::model::Policy;
use crate::model::beliefs::judge::{self, AtThreshold};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;

/// The name of the manifest.
pub const MANIFEST: &str = "manifest.json";

/// The name of the file with the tree of cuts.
pub const TREE: &str = "tree.json";

/// What a manifest tells of a release.
pub struct Evidence<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// `generalized` if people and values stand in one table, `bucketized` if in two.
    pub style: &'a str,
    /// What was read, or how the groups were chosen from it.
    pub input: Input,
    /// What the independent check found for each protected column, at least one.
    pub checks: &'a [(&'a str, &'a CheckReport)],
    /// What the release is worth.
    pub utility: &'a Utility,
}

/// What a manifest tells of the input.
pub enum Input {
    /// A fingerprint of the rows.
    Read(Fingerprint),
    /// No fingerprint, from which the published values could be subtracted to leave those that are not, but how many
    /// rows there were and how many of them are in no group.
    Grouped {
        /// Rows that were read.
        rows: u64,
        /// Rows that are not published.
        suppressed: u64,
    },
    /// No fingerprint, which would tell apart the tables that a replay leaves, but their number.
    Chosen(Box<Chosen>),
}

/// The generalization function that a strategy chose, and what a replay of the choice leaves.
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

/// Writes the manifest of the files below `folder`.
pub fn write(folder: &Path, evidence: &Evidence<'_>) -> Result<()> {
    let mut files = Vec::new();
    list(folder, folder, &mut files)?;
    let (_, check) = evidence.checks[0];
    let names: Vec<&str> = evidence.checks.iter().map(|(column, _)| *column).collect();
    let mut points: Vec<Value> = Vec::new();
    for (column, check) in evidence.checks {
        let own = check.points.iter().map(point_json).chain(check.disclosure.as_ref().map(disclosure));
        let moves = check.beliefs.iter().flat_map(|beliefs| &beliefs.points).flat_map(beliefs);
        let own = own.chain(check.shares.iter().map(share_json)).chain(moves);
        points.extend(own.map(|mut point| {
            if names.len() > 1 {
                point["column"] = json!(column);
            }
            point
        }));
    }
    let mut manifest = json!({
        "skyveil": env!("CARGO_PKG_VERSION"),
        "policy": evidence.policy.canonical(),
        "policy_sha256": evidence.policy.hash(),
        "style": evidence.style,
        "sensitive": if let [only] = names[..] { json!(only) } else { json!(names) },
        "values": check.values.name(),
        "input": {"rows": check.records},
        "records": check.records,
        "individuals": check.individuals,
        "groups": check.groups,
        "smallest_group": check.smallest_group,
        "points": points,
        "utility": {
            "average_group_size": evidence.utility.average_group_size,
            "discernibility": evidence.utility.discernibility.to_string(),
            "certainty_penalty": penalty(evidence.utility),
        },
        "files": files,
    });
    match &evidence.input {
        Input::Read(read) => {
            manifest["input"] = json!({"rows": read.rows, "fingerprint": read.text()});
        }
        Input::Grouped { rows, suppressed } => {
            manifest["input"] = json!({"rows": rows});
            manifest["suppressed"] = json!(suppressed);
        }
        Input::Chosen(chosen) => manifest["audit"] = audit(chosen),
    }
    if let Some(report) = &check.robust {
        manifest["distributions"] = report.to_json();
    }
    let path = folder.join(MANIFEST);
    let text = serde_json::to_string_pretty(&manifest).map_err(|source| Error::io(&path, source.into()))?;
    std::fs::write(&path, text + "\n").map_err(|source| Error::io(&path, source))
}

/// Null where groups have no labels.
fn penalty(utility: &Utility) -> Value {
    if utility.columns.is_empty() {
        return Value::Null;
    }
    let told =
        |published: f64, tight: f64| json!({"published": rounded_up(published), "tight": rounded_up(tight)});
    let columns = utility.columns.iter().map(|column| {
        let mut own = told(column.published, column.tight);
        own["column"] = json!(column.name);
        own
    });
    let mut all = told(utility.published_penalty(), utility.tight_penalty());
    all["columns"] = columns.collect();
    all
}

fn point_json(point: &PointReport) -> Value {
    json!({
        "value": point.value,
        "l": point.point.knowledge.l,
        "k": point.point.knowledge.k,
        "m": point.point.knowledge.m,
        "confidence": point.point.confidence.value().to_string(),
        "statistics": statistics(&point.statistics),
        "breach": point.breach.at_least(),
        "breach_exact": exact(&point.breach),
        "safe": point.safe,
    })
}

/// What anyone can compute who knows the release, the quasi-identifiers and the strategy; no more than that.
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

fn share_json(share: &ShareReport) -> Value {
    json!({
        "criterion": share.criterion,
        "measured": f64_at_least(&share.measured),
        "measured_exact": fraction(&share.measured),
        "most": share.most.to_string(),
        "safe": share.safe,
    })
}

/// How far beliefs may move. How far they do is not told: that depends on the original and not on the release alone.
fn beliefs(point: &judge::PointReport) -> Vec<Value> {
    let bandwidth: BTreeMap<&String, String> =
        point.bandwidth.iter().map(|(name, width)| (name, width.to_string())).collect();
    let at = |at: &AtThreshold| {
        json!({
            "bandwidth": bandwidth,
            "t": at.t.to_string(),
            "safe": at.vulnerable == 0 && at.undecided == 0,
        })
    };
    point.thresholds.iter().map(at).collect()
}

/// What implications disclose, the most that are known and fewer.
fn disclosure(report: &DisclosureReport) -> Value {
    let curve = report.points.iter().map(|point| {
        json!({
            "k": point.k,
            "disclosure": f64_at_least(&point.disclosure),
            "disclosure_exact": fraction(&point.disclosure),
        })
    });
    let last = report.points.last();
    json!({
        "implications": last.map(|point| point.k),
        "confidence": report.confidence.as_ref().map(|confidence| confidence.value().to_string()),
        "disclosure": last.map(|point| f64_at_least(&point.disclosure)),
        "disclosure_exact": last.map(|point| fraction(&point.disclosure)),
        "safe": report.safe,
        "curve": curve.collect::<Vec<Value>>(),
    })
}

/// The five statistics as decimals and, where they are not too long, as fractions.
fn statistics(statistics: &Statistics) -> Value {
    match statistics.exact() {
        None => Value::Null,
        Some(five) => five.iter().map(|value| value.as_ref().map_or(Value::Null, fraction)).collect(),
    }
}

/// Fractions with more digits than this are left out: they would drown the rest.
const MOST_DIGITS: usize = 200;

fn fraction(value: &crate::math::exact::Rational) -> Value {
    let text = value.to_string();
    if text.len() <= MOST_DIGITS { text.into() } else { Value::Null }
}

fn exact(breach: &Breach) -> Value {
    match breach {
        Breach::Exact(exact) => fraction(exact),
        Breach::AtMost(_) => Value::Null,
    }
}

/// Every file below `folder`, by name, with its size and hash.
fn list(root: &Path, folder: &Path, files: &mut Vec<Value>) -> Result<()> {
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
            let (bytes, hash) = hash(&path)?;
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            files.push(json!({"path": name, "bytes": bytes, "sha256": hash}));
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

/// Writes the tree of cuts, one node after the other, without building the text in memory.
pub fn write_tree(folder: &Path, tree: &CutTree, labels: &[(String, Labels<'_>)]) -> Result<()> {
    enum Step {
        Node(NodeId),
        Text(&'static str),
    }
    let path = folder.join(TREE);
    let io = |source| Error::io(&path, source);
    let mut out = BufWriter::new(File::create(&path).map_err(io)?);
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
