//! Is this the release that was checked?
//!
//! Nothing is taken from the manifest on trust. The directory may hold exactly the files that it lists and the policy
//! publishes, each with its hash; tables have exactly the columns of the policy, in the order in which releases are
//! written; groups are numbered in order; and whatever the manifest says about the rows is computed from the rows and
//! compared. What remains is the policy itself: only its owner knows whether it is the one that was meant.
//!
//! Memory: the names of the files; one batch per thread.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::grid_labels;
use super::policy::{release_tasks, valued_rows};
use super::release::{Release, Tables};
use super::value_rows;
use super::verdict::Verdict;
use crate::error::{Error, Result};
use crate::math::skyline::Values;
use crate::model::Policy;
use crate::model::finding::{ClaimVerdict, Finding};
use crate::policy::{Ranges, Style};
use crate::release::chain::{self, NIGHTS, Night};
use crate::release::manifest::{
    Evidence, MANIFEST, Manifest, ManifestFile, PublishedColumn, REPORT, ReleaseStyle, hash,
};
use crate::release::rows::{COUNT, GROUP};
use crate::release::tables::COLUMNS;
use crate::resources::Resources;
use crate::resources::progress::Progress;
use crate::table::ColumnKind;
use crate::table::read::{ColumnRequest, Morsel, Table};
use crate::table::write::OutputFormat;

/// The signature that its owner may put next to a manifest.
pub const SIGNATURE: &str = "manifest.json.sig";

/// Whatever differs from the release that was checked: a file, and what is wrong with it.
pub type Alterations = Vec<String>;

/// Compares the files of all nights, or of one, with their manifests, reading every file once, and the manifests of all
/// nights with each other.
pub fn nights(nights: &[Night], only: Option<u64>, progress: &Progress) -> Result<Alterations> {
    let mut altered = Vec::new();
    for night in nights.iter().filter(|night| only.is_none_or(|number| night.number == number)) {
        altered.extend(files(night, &chain::rewritten_files(nights, night), progress)?);
    }
    altered.extend(chain::breaks(nights));
    Ok(altered)
}

/// Compares the files of a night with its manifest, reading every file once, and the policy with its hash. Some were
/// written again by a later erasure.
fn files(
    night: &Night,
    rewritten: &BTreeMap<String, ManifestFile>,
    progress: &Progress,
) -> Result<Alterations> {
    let (directory, manifest) = (&night.folder, &night.manifest);
    let mut altered = Vec::new();
    let mut add =
        |name: &str, problem: &str| altered.push(format!("{}: {problem}", directory.join(name).display()));
    let hex: String =
        Sha256::digest(manifest.policy.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    if hex != manifest.policy_sha256 {
        add(MANIFEST, "the policy does not have the hash that is stated for it");
    }
    let Some(listed) = &manifest.files else {
        add(MANIFEST, "it lists no files");
        return Ok(altered);
    };
    let mut found = Vec::new();
    entries_below(directory, "", &mut found)?;
    if manifest.night.is_none() {
        // The other nights have their own manifests.
        found.retain(|entry| entry.name != NIGHTS || entry.is_file);
    }
    let names: Vec<&str> = listed.iter().map(|file| file.path.as_str()).collect();
    if names.windows(2).any(|pair| pair[0] >= pair[1]) {
        add(MANIFEST, "its files are not listed once each and in order");
    }
    let format = names.iter().find_map(|name| part_format(name));
    let form = ReleaseForm { style: manifest.style, format: format.unwrap_or(OutputFormat::Parquet) };
    let expected = if night.is_erasure() { vec![REPORT.to_string()] } else { form.expected(&names) };
    for name in expected {
        if !names.contains(&name.as_str()) {
            add(&name, "every release has this file, and the manifest does not list it");
        }
    }
    progress.start("comparing files with the manifest", Some(found.len() as u64));
    for Entry { name, is_file } in &found {
        let own = listed.iter().find(|file| file.path == *name);
        match own {
            _ if !is_file => add(name, "this is neither a file nor a folder of a release"),
            _ if name == MANIFEST || name == SIGNATURE => {}
            None => add(name, "the manifest does not list this file"),
            Some(_) if !form.is_published(name) => add(name, "no release has such a file"),
            Some(own) => {
                let own = rewritten.get(name).unwrap_or(own);
                if hash(&directory.join(name))? != (own.bytes, own.sha256.clone()) {
                    add(name, "this file was changed after the release was published");
                }
            }
        }
        progress.advance(1);
    }
    progress.finish();
    let found: BTreeSet<&str> = found.iter().map(|entry| entry.name.as_str()).collect();
    names.iter().filter(|name| !found.contains(*name)).for_each(|name| add(name, "the file is missing"));
    Ok(altered)
}

/// Something in a release directory that is not a folder of tables.
struct Entry {
    name: String,
    /// Not a link, a device or an unknown folder.
    is_file: bool,
}

/// Which files a release has.
struct ReleaseForm {
    style: ReleaseStyle,
    format: OutputFormat,
}

impl ReleaseForm {
    /// The files that a release must have: the page, parts without a gap, and the types of columns that do not say them.
    fn expected(&self, listed: &[&str]) -> Vec<String> {
        let mut names = vec![REPORT.to_string()];
        for folder in self.style.tables() {
            let own = listed.iter().filter_map(|name| name.strip_prefix(folder)?.strip_prefix('/'));
            let parts = own.filter(|file| *file != COLUMNS).count().max(1);
            names.extend((0..parts).map(|part| format!("{folder}/part-{part:05}.{}", self.format.name())));
            names.extend(self.format.is_text().then(|| format!("{folder}/{COLUMNS}")));
        }
        names
    }

    /// Whether a release may have a file with this name.
    fn is_published(&self, name: &str) -> bool {
        match name.split_once('/') {
            None => name == REPORT,
            Some((folder, file)) => {
                let types = self.format.is_text() && file == COLUMNS;
                self.style.tables().contains(&folder) && (types || part_format(name) == Some(self.format))
            }
        }
    }
}

/// The format of a part of a table, by its name.
fn part_format(name: &str) -> Option<OutputFormat> {
    let (number, extension) = name.split_once('/')?.1.strip_prefix("part-")?.split_once('.')?;
    let counted = number.len() == 5 && number.bytes().all(|byte| byte.is_ascii_digit());
    let known = OutputFormat::NAMES.into_iter().find(|(name, _)| *name == extension);
    known.map(|(_, format)| format).filter(|_| counted)
}

/// Everything in a release, hidden or not, in ascending order within each folder. Only folders at the top are entered.
fn entries_below(root: &Path, folder: &str, found: &mut Vec<Entry>) -> Result<()> {
    let path = root.join(folder);
    let io = |source| Error::io(&path, source);
    let mut entries: Vec<_> =
        std::fs::read_dir(&path).map_err(io)?.collect::<std::io::Result<_>>().map_err(io)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let own = entry.file_name().to_string_lossy().into_owned();
        // The type of the entry itself, which is not that of what a link points to.
        let kind = entry.file_type().map_err(io)?;
        match folder.is_empty() {
            true if kind.is_dir() && ["data", "quasi", "sensitive"].contains(&own.as_str()) => {
                entries_below(root, &own, found)?;
            }
            true => found.push(Entry { name: own, is_file: kind.is_file() }),
            false => found.push(Entry { name: format!("{folder}/{own}"), is_file: kind.is_file() }),
        }
    }
    Ok(())
}

impl Release {
    /// Compares the tables with what the policy publishes: their columns, the ends of ranges, and the numbers of the
    /// groups.
    pub fn tables_differ(&self, policy: &Policy, resources: &Resources<'_>) -> Result<Alterations> {
        let mut altered = Vec::new();
        let style = match (
            policy.publish.style,
            policy.privacy.targets.iter().all(|own| own.values == Values::Single),
        ) {
            (Style::Generalized, true) => ReleaseStyle::Generalized,
            _ => ReleaseStyle::Bucketized,
        };
        if self.manifest().style != style {
            altered.push(self.says("`style` is not the one that the policy publishes"));
            return Ok(altered);
        }
        let sensitive = policy.columns.sensitive.iter().map(|own| own.name.as_str()).collect::<Vec<_>>();
        let quasi = Published::quasi(policy);
        let keep: Vec<&str> = policy.columns.keep.iter().map(String::as_str).collect();
        let tables: Vec<(&str, &Table, Vec<Published<'_>>)> = match self.tables() {
            Tables::Generalized(table) => {
                let parts = [quasi, Published::plain(&keep), Published::plain(&sensitive)];
                vec![("data", table, parts.into())]
            }
            Tables::Bucketized { people, values } => {
                let own = match policy.publish.style {
                    Style::Generalized => vec![quasi, Published::plain(&keep)],
                    Style::Bucketized => {
                        let names = policy.columns.quasi.iter().map(|own| own.name.as_str());
                        vec![Published::plain(&names.chain(keep.iter().copied()).collect::<Vec<_>>())]
                    }
                };
                let counted = vec![Published::plain(&sensitive), Published::plain(&[COUNT])];
                vec![("quasi", people, own), ("sensitive", values, counted)]
            }
        };
        for (folder, table, parts) in tables {
            let path = self.directory().join(folder);
            let problems = columns_differ(table, &parts)?;
            let broken = !problems.is_empty();
            altered.extend(problems.into_iter().map(|problem| format!("{}: {problem}", path.display())));
            if !broken && folder == "sensitive" {
                let problem = "a row holds values of columns that the policy publishes apart, or none";
                let tasks = release_tasks(policy, &[], valued_rows(policy))?;
                let apart = value_rows::stand_apart(table, &tasks, resources)?;
                altered.extend((!apart).then(|| format!("{}: {problem}", path.display())));
            }
            let several = policy.privacy.targets.iter().any(|own| own.values != Values::Single);
            let numbers = match folder {
                _ if self.is_rewritten() => RowNumbers::Ascending,
                "sensitive" if several => RowNumbers::Ascending,
                _ => RowNumbers::WithoutGaps,
            };
            let labelled = !broken && folder != "sensitive" && policy.publish.style == Style::Generalized;
            let off_grid = match labelled {
                true => grid_labels::off_grid(table, &policy.columns.quasi, resources)?,
                false => Vec::new(),
            };
            altered.extend(off_grid.into_iter().map(|name| {
                format!(
                    "{}: column `{name}` has a label that does not end at cells of the policy",
                    path.display()
                )
            }));
            let first = self.nights()[0].manifest.night.as_ref().map_or(0, |link| link.groups_before);
            if !broken && !numbered(table, numbers, first, resources)? {
                altered.push(format!(
                    "{}: the groups are not numbered from {} in order",
                    path.display(),
                    first + 1
                ));
            }
        }
        Ok(altered)
    }

    /// Compares what the manifest says about the rows with what they show: `verdict` is by the policy of the manifest.
    pub fn statements_differ(&self, policy: &Policy, verdict: &Verdict) -> Result<Alterations> {
        match self.nights() {
            [_] if self.is_rewritten() => return Ok(Vec::new()),
            [_] => {}
            _ => return Ok(self.sums_differ(verdict)),
        }
        let promised: Vec<Cow<'_, Finding>> = verdict.findings().map(as_promised).collect();
        let columns = verdict.columns.iter().zip(&promised);
        let columns: Vec<PublishedColumn<'_>> =
            columns.map(|(column, finding)| PublishedColumn { finding, ..column.into() }).collect();
        let own = self.manifest();
        let evidence = Evidence { policy, style: own.style, columns: &columns, night: own.night.as_ref() };
        self.compare(&Manifest::of(&evidence, own.files.clone().unwrap_or_default())?)
    }

    /// Compares what the manifests of all nights say, added up, with what the rows of all of them show. What each of them
    /// says about its own rows is compared night by night.
    fn sums_differ(&self, verdict: &Verdict) -> Alterations {
        let own = verdict.first();
        // An erasure states what is left of everything before.
        let last = self.nights().iter().rposition(Night::is_erasure).unwrap_or(0);
        let nights = &self.nights()[last..];
        let sum = |field: fn(&Manifest) -> u64| nights.iter().map(|night| field(&night.manifest)).sum();
        let smallest = nights.iter().map(|night| night.manifest.smallest_group).min();
        let compared: [(&str, u64, u64); 4] = [
            ("records", sum(|manifest| manifest.records), own.records),
            ("individuals", sum(|manifest| manifest.individuals), own.individuals),
            ("groups", sum(|manifest| manifest.groups), own.groups),
            ("smallest_group", smallest.unwrap_or(0), own.smallest_group),
        ];
        let differ = compared.into_iter().filter(|(_, stated, shown)| stated != shown);
        let problem = |name: &str| format!("`{name}` of all nights does not agree with the rows");
        differ.map(|(name, ..)| format!("{}: {}", self.directory().display(), problem(name))).collect()
    }

    /// The names of the fields in which the manifest differs from the one that was computed.
    fn compare(&self, computed: &Manifest) -> Result<Alterations> {
        let path = self.nights()[0].folder.join(MANIFEST);
        let text = std::fs::read_to_string(&path).map_err(|source| Error::io(&path, source))?;
        let expected = computed.text()?;
        if text == expected {
            return Ok(Vec::new());
        }
        let fields = |text: &str| match serde_json::from_str(text) {
            Ok(Value::Object(fields)) => fields,
            _ => Default::default(),
        };
        let (stated, expected) = (fields(&text), fields(&expected));
        // Another version may word its evidence otherwise, but counts alike.
        let is_compared = |name: &&String| match self.manifest().skyveil == computed.skyveil {
            true => true,
            false => ["records", "individuals", "groups", "smallest_group"].contains(&name.as_str()),
        };
        let names: BTreeSet<&String> = stated.keys().chain(expected.keys()).filter(is_compared).collect();
        let differ = names.into_iter().filter(|name| stated.get(*name) != expected.get(*name));
        let problem = |name: &String| match expected.contains_key(name) {
            true => self.says(&format!("`{name}` does not agree with the rows")),
            false => self.says(&format!("`{name}` is not part of a manifest")),
        };
        let altered: Alterations = differ.map(problem).collect();
        match altered.is_empty() && self.manifest().skyveil == computed.skyveil {
            true => Ok(vec![self.says("it is not written as releases write it")]),
            false => Ok(altered),
        }
    }

    /// A problem of the manifest.
    fn says(&self, problem: &str) -> String {
        format!("{}: {problem}", self.nights()[0].folder.join(MANIFEST).display())
    }
}

/// Columns that a table publishes next to each other, in any order among themselves.
struct Published<'a> {
    columns: Vec<PublishedName<'a>>,
}

struct PublishedName<'a> {
    name: &'a str,
    form: Form,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As it is.
    Plain,
    /// A text.
    Label,
    /// A text, or two columns with the ends of a range.
    LabelOrBounds,
}

impl<'a> Published<'a> {
    fn plain(names: &[&'a str]) -> Self {
        Published { columns: names.iter().map(|name| PublishedName { name, form: Form::Plain }).collect() }
    }

    /// The quasi-identifiers as labels.
    fn quasi(policy: &'a Policy) -> Self {
        let form = match policy.publish.ranges {
            Ranges::Label => Form::Label,
            Ranges::Bounds => Form::LabelOrBounds,
        };
        let quasi = policy.columns.quasi.iter();
        Published { columns: quasi.map(|own| PublishedName { name: &own.name, form }).collect() }
    }
}

/// How the columns of a table differ from `group` followed by these, part by part.
fn columns_differ(table: &Table, parts: &[Published<'_>]) -> Result<Alterations> {
    let mut names = table.schema().fields().iter().map(|field| field.name().as_str()).peekable();
    let mut altered = Vec::new();
    if names.next() != Some(GROUP) || table.kind(GROUP)? != ColumnKind::Integer {
        altered.push(format!("the first column is not the number of the group, `{GROUP}`"));
    }
    for part in parts {
        let mut left: Vec<&PublishedName<'_>> = part.columns.iter().collect();
        while let Some(&name) = names.peek() {
            let ends = |own: &str| (format!("{own}_from"), format!("{own}_to"));
            let place = left.iter().position(|own| match own.form {
                Form::Plain | Form::Label => own.name == name,
                Form::LabelOrBounds => own.name == name || ends(own.name).0 == name,
            });
            let Some(place) = place else { break };
            let own = left.swap_remove(place);
            names.next();
            if own.name != name && names.next_if(|next| *next == ends(own.name).1).is_none() {
                altered.push(format!("column `{}` is missing", ends(own.name).1));
            } else if own.name == name && own.form != Form::Plain && table.kind(name)? != ColumnKind::Text {
                altered.push(format!("column `{name}` does not hold labels"));
            }
        }
        altered.extend(left.iter().map(|own| format!("column `{}` is missing, or out of place", own.name)));
    }
    altered.extend(names.map(|name| format!("the policy does not publish the column `{name}`")));
    Ok(altered)
}

/// How the groups of a table are numbered, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowNumbers {
    /// Every group has a row.
    WithoutGaps,
    /// A group in which nobody has a value has no row.
    Ascending,
}

impl RowNumbers {
    /// Whether a row of group `next` may come after one of group `last`.
    fn follows(self, last: i64, next: i64) -> bool {
        match self {
            RowNumbers::WithoutGaps => next == last || Some(next) == last.checked_add(1),
            RowNumbers::Ascending => next >= last,
        }
    }
}

/// Whether the groups of a table are numbered in order after those before.
fn numbered(table: &Table, numbers: RowNumbers, before: u64, resources: &Resources<'_>) -> Result<bool> {
    resources.progress.start("following the numbers of the groups", table.rows());
    let mut last = i64::try_from(before).ok();
    let work = |morsel: Morsel<'_>| {
        let mut ends: Option<(i64, i64)> = None;
        for batch in morsel {
            let batch = batch?;
            let column = batch.column(0).as_primitive::<Int64Type>();
            let values = column.values();
            let follows = |pair: &[i64]| numbers.follows(pair[0], pair[1]);
            let (Some(&first), Some(&final_one)) = (values.first(), values.last()) else { continue };
            let joined = ends.is_none_or(|(_, last)| follows(&[last, first]));
            if column.null_count() > 0 || !joined || !values.windows(2).all(follows) {
                return Ok(Some(None));
            }
            ends = Some((ends.map_or(first, |(first, _)| first), final_one));
            resources.progress.advance(batch.num_rows() as u64);
        }
        Ok(ends.map(Some))
    };
    table.scan(&[ColumnRequest::canonical(GROUP)], resources.threads, work, |ends| {
        if let Some(ends) = ends {
            let follows = |last: i64, first: i64| first > 0 && numbers.follows(last, first);
            last =
                ends.zip(last).filter(|((first, _), last)| follows(*last, *first)).map(|((_, end), _)| end);
        }
        Ok(())
    })?;
    resources.progress.finish();
    Ok(last.is_some())
}

/// The finding of the run that made a release: what needs the original was judged then. Findings about many values are
/// not copied.
fn as_promised(finding: &Finding) -> Cow<'_, Finding> {
    if !finding.is_open() {
        return Cow::Borrowed(finding);
    }
    let mut promised = finding.clone();
    let open = promised.claims.iter_mut().filter(|claim| claim.verdict == ClaimVerdict::NotJudged);
    open.for_each(|claim| claim.verdict = ClaimVerdict::Safe);
    Cow::Owned(promised)
}
