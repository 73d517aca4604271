//! What does the owner keep about a release?
//!
//! A private file next to the release, never inside: it binds the release to its input, and holds what depends on more
//! than the published rows. It is in place before the release appears, and names the manifest by its hash.

use super::attacks::AttackTable;
use super::exchanged::{Exchange, ExchangedFiles, OlderRelease};
use super::manifest::{MANIFEST, hash, hash_while};
use super::penalty::{Penalty, Utility};
use super::private_file::{Older, PrivateFile, next_of, refuse_inside, resolved, with_ending};
use super::staging::Turn;
use crate::encode::fingerprint::FingerprintKey;
use crate::error::{Error, Result, Setting};
use crate::model::obstacle::{Binding, BindingRequirement};
use crate::resources::disk;
use crate::resources::whole_file::{JSON_BYTES, read_at_most};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};

/// How a receipt ends if it has the name that its release gives it.
pub(super) const RECEIPT: &str = ".receipt.json";

/// How a tree of cuts ends.
pub(super) const TREE: &str = ".tree";

/// How a list of suppressed rows ends if it has the name that its release gives it.
pub(super) const SUPPRESSED: &str = ".suppressed.csv";

/// What the list of suppressed rows is, for messages.
const LIST: &str = "the list of suppressed rows";

/// The private files of a release: `NAME.receipt.json`, `NAME.tree`, `NAME.receipt.key` and `NAME.suppressed.csv`.
#[derive(Debug, Clone)]
pub struct ReceiptPaths {
    /// The receipt.
    pub receipt: PathBuf,
    /// The tree of cuts: the name of the receipt, with `.tree` in place of `.receipt.json` or its last extension.
    pub tree: PathBuf,
    /// The key of the fingerprint: likewise with `.receipt.key`.
    pub key: PathBuf,
    /// The rows that are not published, if some may be left out: the release with `.suppressed.csv`.
    suppressed: Option<PathBuf>,
    /// The files whose places these take.
    exchanged: Option<ExchangedFiles>,
}

impl ReceiptPaths {
    /// The files of a release: next to it, unless a receipt or a key is named.
    pub fn of(release: &Path, receipt: Option<&Path>, key: Option<&Path>) -> Result<Self> {
        let receipt = receipt.map_or_else(|| with_ending(release, RECEIPT), Path::to_path_buf);
        let stem = stem(&receipt);
        let tree = with_ending(&stem, TREE);
        let key = key.map_or_else(|| with_ending(&stem, ".receipt.key"), Path::to_path_buf);
        let paths = ReceiptPaths { receipt, tree, key, suppressed: None, exchanged: None };
        if collide(&paths.receipt, &paths.tree)
            || collide(&paths.receipt, &paths.key)
            || collide(&paths.tree, &paths.key)
        {
            return Err(Error::missing(
                format!("{} cannot be a receipt, its tree and its key at once", paths.receipt.display()),
                "name the receipt NAME.receipt.json",
                Setting::Receipt,
            ));
        }
        refuse_inside(&paths.receipt, release, "the receipt", Setting::Receipt)?;
        refuse_inside(&paths.key, release, "the key", Setting::Key)?;
        Ok(paths)
    }

    /// The same files with a list of suppressed rows: next to the release, unless one is named.
    pub fn with_suppressed(self, list: Option<&Path>, release: &Path) -> Result<Self> {
        let list = list.map_or_else(|| with_ending(release, SUPPRESSED), Path::to_path_buf);
        if [&self.receipt, &self.tree, &self.key].into_iter().any(|path| collide(&list, path)) {
            return Err(Error::missing(
                format!("{} cannot be {LIST} and the receipt, its tree or its key at once", list.display()),
                "name another file",
                Setting::Suppressed,
            ));
        }
        refuse_inside(&list, release, LIST, Setting::Suppressed)?;
        Ok(ReceiptPaths { suppressed: Some(list), ..self })
    }

    /// The list of suppressed rows, if some may be left out.
    pub fn suppressed(&self) -> Option<&Path> {
        self.suppressed.as_deref()
    }

    /// The same files, which take the places of those of the release that is exchanged. Fails if another file has one of
    /// these places, or if a file that the run reads would be lost. Whoever calls it holds the turn of the release.
    pub fn of_newer_release(self, release: &Path, older: OlderRelease, read: &[PathBuf]) -> Result<Self> {
        let gone = older.gone(release);
        refuse_inside(&self.receipt, &gone, "the receipt", Setting::Receipt)?;
        refuse_inside(&self.key, &gone, "the key", Setting::Key)?;
        let mut own = vec![(&*self.receipt, Setting::Receipt), (&*self.tree, Setting::Receipt)];
        if let Some(list) = self.suppressed() {
            refuse_inside(list, &gone, LIST, Setting::Suppressed)?;
            own.push((list, Setting::Suppressed));
        }
        let files = Exchange { release, older, own: &own, read }.files()?;
        Ok(ReceiptPaths { exchanged: Some(files), ..self })
    }

    /// The private files of the release that was exchanged which have no place beside these and go with it.
    pub fn outdated(&self, written: &[PathBuf]) -> Vec<PathBuf> {
        self.exchanged.as_ref().map_or_else(Vec::new, |exchanged| exchanged.outdated(written))
    }

    /// The files of a night of a release: `NAME.night-00002.receipt.json`, and so on, with the key of the release. What a
    /// run left that was killed before the night appeared is removed.
    pub fn of_night(release: &Path, number: u64, key: &Path) -> Result<Self> {
        let paths = ReceiptPaths::of(&with_ending(release, &format!(".night-{number:05}")), None, Some(key))?;
        for path in [&paths.receipt, &paths.tree] {
            if path.symlink_metadata().is_ok() {
                disk::remove_file(path).map_err(|source| Error::io(path, source))?;
            }
        }
        Ok(paths)
    }

    /// The receipt, to be written; fails if it exists, unless it is exchanged.
    pub fn receipt_file(&self) -> Result<PrivateFile> {
        PrivateFile::with(&self.receipt, "the receipt", self.older())
    }

    /// The tree of cuts, to be written; likewise.
    pub fn tree_file(&self) -> Result<PrivateFile> {
        PrivateFile::with(&self.tree, "the tree of cuts", self.older())
    }

    /// The list of suppressed rows, to be written; likewise.
    pub fn suppressed_file(&self) -> Result<PrivateFile> {
        let list = self.suppressed().ok_or_else(|| Error::defect("nobody may be left out"))?;
        PrivateFile::with(list, LIST, self.older())
    }

    /// Fails if one of the files exists that are to be written.
    pub fn expect_free(&self) -> Result<()> {
        drop((self.receipt_file()?, self.tree_file()?));
        if self.suppressed.is_some() {
            self.suppressed_file()?;
        }
        Ok(())
    }

    fn older(&self) -> Older {
        if self.exchanged.is_some() { Older::Exchanged } else { Older::Refused }
    }

    /// The key, or a new one with the file to which it will be written.
    pub fn key(&self) -> Result<(FingerprintKey, Option<PrivateFile>)> {
        match self.key.symlink_metadata() {
            Ok(_) => Ok((read_key(&self.key)?, None)),
            Err(_) => Ok((FingerprintKey::random()?, Some(PrivateFile::new(&self.key, "the key")?))),
        }
    }
}

/// Whether two files, or what waits to take their places, would have one name.
fn collide(one: &Path, other: &Path) -> bool {
    let (own, next) = (resolved(one), resolved(&next_of(one)));
    let (others, others_next) = (resolved(other), resolved(&next_of(other)));
    own == others || own == others_next || next == others
}

fn stem(receipt: &Path) -> PathBuf {
    let name = receipt.file_name().and_then(|name| name.to_str());
    match name.and_then(|name| name.strip_suffix(RECEIPT)).filter(|stem| !stem.is_empty()) {
        Some(stem) => receipt.with_file_name(stem),
        None => receipt.with_extension(""),
    }
}

/// Reads a key file, which must be as private as one that this program makes.
pub fn read_key(path: &Path) -> Result<FingerprintKey> {
    let io = |source| Error::io(path, source);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = path.metadata().map_err(io)?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(Error::missing(
                format!("{}: others may read this key", path.display()),
                "take their permissions away (chmod 600)",
                Setting::Key,
            ));
        }
    }
    // One byte more, so that a longer file is noticed without reading it.
    let mut bytes = Vec::new();
    let most = FingerprintKey::BYTES as u64 + 1;
    std::fs::File::open(path)
        .and_then(|file| std::io::Read::read_to_end(&mut std::io::Read::take(file, most), &mut bytes))
        .map_err(io)?;
    FingerprintKey::from_bytes(&bytes).ok_or_else(|| {
        Error::missing(
            format!("{} is no key: a key has {} bytes", path.display(), FingerprintKey::BYTES),
            "give the key of the receipt",
            Setting::Key,
        )
    })
}

/// The contents of a receipt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// The version that made the release.
    pub skyveil: String,
    /// The name of the release directory.
    pub release: String,
    /// The hash of its manifest.
    pub manifest_sha256: String,
    /// The input.
    pub input: ReceiptInput,
    /// What the run was asked for, in addition to its table and its policy.
    #[serde(default)]
    pub asked: Value,
    /// The tree of cuts, if groups were made by cuts.
    #[serde(default)]
    pub tree: Option<NamedFile>,
    /// The rows that are not published, if the model may leave some out.
    #[serde(default)]
    pub suppressed: Option<SuppressedRows>,
    /// The warnings that the policy accepts.
    #[serde(default)]
    pub accepted: Vec<String>,
    /// The utility of the release, with the tightest labels too.
    #[serde(default)]
    pub utility: Value,
    /// What refuses the best cuts of the groups, most people first.
    #[serde(default)]
    pub binds: Vec<Value>,
    /// What adversaries who know distributions learn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distributions: Option<Value>,
    /// How a strategy chose the groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<Value>,
    /// What is not covered because people waited: they were enough, and not safe as one group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited: Option<String>,
    /// Whom attacks on the release affect, if they were recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attacks: Option<AttackTable>,
    /// What the run used.
    #[serde(default)]
    pub resources: Value,
}

/// The input of a release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptInput {
    /// Rows.
    pub rows: u64,
    /// The keyed fingerprint of the columns that decide about groups.
    pub fingerprint: String,
    /// The file of the key: relative to the receipt if it is in the same folder.
    pub key: PathBuf,
    /// Tells keys apart.
    pub key_name: String,
    /// The files.
    pub files: Vec<HashedFile>,
}

/// A file of the input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HashedFile {
    /// As it was given.
    pub path: PathBuf,
    /// Its size; none if it could be read only once.
    pub bytes: Option<u64>,
    /// Its hash; likewise.
    pub sha256: Option<String>,
}

/// A private file next to a receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedFile {
    /// Relative to the receipt if it is in the same folder.
    pub path: PathBuf,
    /// Its hash.
    pub sha256: String,
}

/// Rows that are not published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuppressedRows {
    /// How many.
    pub rows: u64,
    /// The private list of them.
    pub list: PathBuf,
    /// People of the table with a value that the known distributions alone make more likely than the policy allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub already_likely: Option<u64>,
    /// People of whom it is proved that they must be left out, whatever the groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavoidable: Option<u64>,
}

impl Receipt {
    /// Reads a receipt.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = read_at_most(path, JSON_BYTES).map_err(|source| Error::io(path, source))?;
        serde_json::from_slice(&bytes).map_err(|error| Error::Format {
            path: path.to_path_buf(),
            problem: format!("this is not the receipt of a release (line {})", error.line()),
        })
    }

    /// Writes down what attacks on a release found, in the place of what an earlier attack did. The receipt must be that of
    /// the release.
    pub fn record(path: &Path, release: &Path, attacks: AttackTable) -> Result<()> {
        let _turn = Turn::take(release)?;
        let receipt = Receipt { attacks: Some(attacks), ..Receipt::read_for(path, release)? };
        let mut file = PrivateFile::newer(path, "the receipt")?;
        receipt.write(&mut file)?;
        file.place()?;
        file.keep();
        Ok(())
    }

    /// Reads the receipt of a release; an error if it is that of another one.
    pub fn read_for(path: &Path, release: &Path) -> Result<Self> {
        let receipt = Receipt::read(path)?;
        match hash(&release.join(MANIFEST))?.1 == receipt.manifest_sha256 {
            true => Ok(receipt),
            false => Err(Error::missing(
                format!("{} is the receipt of another release", path.display()),
                "give the receipt of this release",
                Setting::Receipt,
            )),
        }
    }

    /// The private files that a receipt at this path names, without the key, which other releases may have, too.
    pub fn files(&self, path: &Path) -> Vec<PathBuf> {
        let tree = self.tree.iter().map(|tree| &tree.path);
        let named = tree.chain(self.suppressed.iter().map(|own| &own.list));
        named.map(|named| beside(path, named)).collect()
    }

    /// Whether the files are there that it names, and the list of suppressed rows is the one of these paths.
    pub fn files_are_there(&self, paths: &ReceiptPaths) -> bool {
        let receipt = &paths.receipt;
        let unaltered = |tree: &NamedFile| {
            hash(&beside(receipt, &tree.path)).is_ok_and(|(_, sha256)| sha256 == tree.sha256)
        };
        let list = match (&self.suppressed, paths.suppressed()) {
            (None, None) => true,
            (Some(own), Some(list)) => {
                let own = beside(receipt, &own.list);
                own.is_file() && resolved(&own) == resolved(list)
            }
            _ => false,
        };
        list && self.tree.as_ref().is_none_or(unaltered)
    }

    /// Writes the receipt, which is not yet in place.
    pub fn write(&self, file: &mut PrivateFile) -> Result<()> {
        let path = file.path().to_path_buf();
        let io = |source| Error::io(&path, source);
        let text = serde_json::to_value(self).and_then(|value| serde_json::to_string_pretty(&value));
        let text = text.map_err(|source| io(source.into()))?;
        file.create()?.write_all((text + "\n").as_bytes()).map_err(io)
    }
}

/// A path as a receipt names it: a file in the same folder by its name, any other by its full path.
pub fn named_by(receipt: &Path, path: &Path) -> PathBuf {
    match (path.file_name(), receipt.parent() == path.parent()) {
        (Some(name), true) => name.into(),
        _ => std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()),
    }
}

/// The file that a receipt names.
pub fn beside(receipt: &Path, named: &Path) -> PathBuf {
    receipt.parent().unwrap_or(Path::new("")).join(named)
}

/// Hashes a file of the input while `go_on` does not fail; one that can be read only once has no hash.
pub fn input_file(path: &Path, go_on: impl FnMut() -> Result<()>) -> Result<HashedFile> {
    let is_file = path.metadata().is_ok_and(|metadata| metadata.is_file());
    let (bytes, sha256) = match is_file {
        true => hash_while(path, go_on).map(|(bytes, hash)| (Some(bytes), Some(hash)))?,
        false => (None, None),
    };
    Ok(HashedFile { path: path.to_path_buf(), bytes, sha256 })
}

/// The utility with all its digits.
pub fn utility(utility: &Utility) -> Value {
    let column = |column: &Penalty| json!({"column": column.name, "published": column.published, "tight": column.tight});
    let penalty = (!utility.columns.is_empty()).then(|| {
        json!({
            "published": utility.published_penalty(),
            "tight": utility.tight_penalty(),
            "columns": utility.columns.iter().map(column).collect::<Vec<_>>(),
        })
    });
    json!({
        "average_group_size": utility.average_group_size,
        "discernibility": utility.discernibility.to_string(),
        "certainty_penalty": penalty,
    })
}

/// What refuses the best cut of some groups.
pub fn binding(binding: &Binding) -> Value {
    let mut object = match &binding.requirement {
        BindingRequirement::NothingToCut => json!({"requirement": "nothing_to_cut"}),
        BindingRequirement::People(least) => json!({"requirement": "minimum_group_size", "least": least}),
        BindingRequirement::Distinct { column, least } => {
            json!({"requirement": "minimum_distinct", "column": column, "least": least})
        }
        BindingRequirement::Point { column, value, point } => {
            let size = point.knowledge;
            json!({
                "requirement": "point", "column": column, "value": value, "l": size.l, "k": size.k, "m": size.m,
                "confidence": point.confidence.value().to_string(),
            })
        }
        BindingRequirement::Other { column, rule } => json!({"requirement": rule, "column": column}),
        BindingRequirement::Rest => json!({"requirement": "rest"}),
    };
    object["people"] = json!(binding.people);
    object["groups"] = json!(binding.groups);
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_files_stand_together() {
        let paths = |release: &str, receipt: Option<&str>, key: Option<&str>| {
            ReceiptPaths::of(Path::new(release), receipt.map(Path::new), key.map(Path::new))
        };
        let named = |paths: ReceiptPaths| {
            [paths.receipt, paths.tree, paths.key].map(|path| path.to_string_lossy().into_owned())
        };
        let usual = named(paths("a/july.2", None, None).unwrap());
        assert_eq!(usual, ["a/july.2.receipt.json", "a/july.2.tree", "a/july.2.receipt.key"]);
        let elsewhere = named(paths("a/out", Some("b/x.json"), None).unwrap());
        assert_eq!(elsewhere, ["b/x.json", "b/x.tree", "b/x.receipt.key"]);
        let shared = named(paths("a/out", Some("b/y.receipt.json"), Some("c/key")).unwrap());
        assert_eq!(shared, ["b/y.receipt.json", "b/y.tree", "c/key"]);
        for (receipt, key) in [("b/x.tree", None), ("a/out/r.json", None), ("b/x", Some("a/out/k"))] {
            assert!(paths("a/out", Some(receipt), key).is_err(), "{receipt}");
        }
        assert_eq!(named_by(Path::new("b/x.json"), Path::new("b/x.tree")), Path::new("x.tree"));
        assert!(named_by(Path::new("b/x.json"), Path::new("c/key")).is_absolute());
    }
}
