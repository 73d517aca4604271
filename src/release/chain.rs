//! Which nights does a release consist of?
//!
//! The first night is the release directory itself. Every later one is a folder `nights/00002` with tables, a page and a
//! manifest of its own, which names the manifest before it by its hash: whoever trusts the last manifest trusts them
//! all. A night appears by one rename of its folder; nothing of an earlier night changes.

use super::manifest::{MANIFEST, Manifest, ManifestFile, hash};
use crate::error::{Error, Result};
use crate::model::Policy;
use crate::table::write::OutputFormat;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The folder of all nights but the first.
pub const NIGHTS: &str = "nights";

/// What the manifest of a later night says about the nights before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainLink {
    /// The number of the night; the first one is 1.
    pub number: u64,
    /// The hash of the manifest before it.
    pub previous_sha256: String,
    /// Groups that were numbered before.
    pub groups_before: u64,
    /// If groups were withdrawn and nothing was added: the files of earlier nights as they are from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewritten: Option<Vec<ManifestFile>>,
}

/// One night of a release.
#[derive(Debug, Clone)]
pub struct Night {
    /// Its number; the first one is 1.
    pub number: u64,
    /// Its folder.
    pub folder: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
    /// The hash of its manifest.
    pub manifest_sha256: String,
}

impl Night {
    fn read(number: u64, folder: PathBuf) -> Result<Self> {
        let manifest = Manifest::read(&folder)?;
        let manifest_sha256 = hash(&folder.join(MANIFEST))?.1;
        Ok(Night { number, folder, manifest, manifest_sha256 })
    }

    /// Groups that were numbered up to the end of this night.
    pub fn groups(&self) -> u64 {
        let before = self.manifest.night.as_ref().map_or(0, |link| link.groups_before);
        if self.is_erasure() { before } else { before + self.manifest.groups }
    }

    /// Whether groups were withdrawn and nothing was added.
    pub fn is_erasure(&self) -> bool {
        self.rewritten().is_some()
    }

    fn rewritten(&self) -> Option<&[ManifestFile]> {
        self.manifest.night.as_ref()?.rewritten.as_deref()
    }

    /// What the manifest of the night after it says.
    pub fn next(&self) -> ChainLink {
        ChainLink {
            number: self.number + 1,
            previous_sha256: self.manifest_sha256.clone(),
            groups_before: self.groups(),
            rewritten: None,
        }
    }

    /// The path of its folder below that of the release, with `/` at its end unless it is the release itself.
    pub fn prefix(&self) -> String {
        match &self.manifest.night {
            None => String::new(),
            Some(link) => format!("{NIGHTS}/{:05}/", link.number),
        }
    }
}

/// All nights of a release, in order; at least one.
#[derive(Debug, Clone)]
pub struct Chain {
    nights: Vec<Night>,
}

impl Chain {
    /// Reads the manifests of all nights.
    pub fn read(release: &Path) -> Result<Self> {
        let mut nights = vec![Night::read(1, release.to_path_buf())?];
        for number in numbers(release)? {
            nights.push(Night::read(number, night_folder(release, number))?);
        }
        Ok(Chain { nights })
    }

    /// All nights.
    pub fn nights(&self) -> &[Night] {
        &self.nights
    }

    /// All nights.
    pub fn into_nights(self) -> Vec<Night> {
        self.nights
    }
}

/// What the next night goes on from, however many there are.
#[derive(Debug, Clone)]
pub struct ChainEnd {
    /// The last night.
    pub last: Night,
    /// The format of the files, by those of the first night.
    pub format: Option<OutputFormat>,
}

impl ChainEnd {
    /// Reads the manifests of the first and the last night.
    pub fn read(release: &Path) -> Result<Self> {
        let first = Night::read(1, release.to_path_buf())?;
        let part = first.manifest.files.iter().flatten().find(|file| file.path.contains("/part-"));
        let format = part.and_then(|part| OutputFormat::of(Path::new(&part.path)).ok());
        let last = match numbers(release)?.last() {
            None => first,
            Some(&number) => Night::read(number, night_folder(release, number))?,
        };
        Ok(ChainEnd { last, format })
    }
}

/// Where a chain of nights is broken: a manifest does not name the one before it, or is by another policy.
pub fn breaks(nights: &[Night]) -> Vec<String> {
    let mut broken = Vec::new();
    for pair in nights.windows(2) {
        let [before, night] = pair else { continue };
        let mut add = |problem: &str| {
            broken.push(format!("{}: {problem}", night.folder.join(MANIFEST).display()));
        };
        let rewritten = night.rewritten().map(<[ManifestFile]>::to_vec);
        let expected = ChainLink { rewritten, ..before.next() };
        if night.manifest.night.as_ref() != Some(&expected) {
            add("it does not continue the night before it");
        }
        let policy = |own: &Night| {
            let parsed = Policy::parse(&own.manifest.policy, own.folder.join(MANIFEST));
            parsed.map(|policy| policy.without_accepted()).ok()
        };
        if policy(before) != policy(night) {
            add("it is by another policy than the night before it");
        }
    }
    broken
}

/// The files of a night that a later erasure wrote again, by their paths in its folder.
pub fn rewritten_files(nights: &[Night], night: &Night) -> BTreeMap<String, ManifestFile> {
    let later = nights.iter().filter(|other| other.number > night.number);
    let files = later.filter_map(Night::rewritten).flatten();
    let prefix = night.prefix();
    let own = files.filter_map(|file| {
        let path = file.path.strip_prefix(&prefix)?;
        (!prefix.is_empty() || !path.starts_with(&format!("{NIGHTS}/")))
            .then(|| (path.to_string(), file.clone()))
    });
    own.collect()
}

/// The folder of a later night.
pub fn night_folder(release: &Path, number: u64) -> PathBuf {
    release.join(NIGHTS).join(format!("{number:05}"))
}

/// The numbers of the later nights, ascending; fails if one is missing.
fn numbers(release: &Path) -> Result<Vec<u64>> {
    let folder = release.join(NIGHTS);
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(Error::io(folder, source)),
    };
    let mut numbers = Vec::new();
    for entry in entries {
        let name = entry.map_err(|source| Error::io(&folder, source))?.file_name();
        let number = name.to_str().and_then(|name| {
            let number = name.parse::<u64>().ok()?;
            (format!("{number:05}") == name && number > 1).then_some(number)
        });
        let unknown = || Error::Format {
            path: folder.join(&name),
            problem: "this is no night of a release".to_string(),
        };
        numbers.push(number.ok_or_else(unknown)?);
    }
    numbers.sort_unstable();
    match (2..).zip(&numbers).find(|(expected, number)| expected != *number) {
        None => Ok(numbers),
        Some((missing, _)) => {
            Err(Error::Format { path: folder, problem: format!("night {missing} is missing") })
        }
    }
}
