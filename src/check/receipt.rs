//! Does a release come from this input?
//!
//! The receipt names the manifest by its hash, the files of the input by theirs, and the rows of the input by a keyed
//! fingerprint, which is computed again from a table. What cannot be compared is named, never assumed.
//!
//! Memory: one batch per thread.

use std::path::{Path, PathBuf};

use crate::encode::fingerprint::FingerprintKey;
use crate::encode::source::Source;
use crate::encode::source_columns::SourceColumns;
use crate::error::{Error, Result, Setting};
use crate::math::skyline::Values;
use crate::model::Policy;
use crate::release::manifest::{MANIFEST, hash};
use crate::release::private_file::next_of;
use crate::release::receipt::{HashedFile, Receipt, beside, input_file, read_key};
use crate::resources::Resources;
use crate::table::read::Table;

/// A receipt and what it is compared with.
pub struct ReceiptCheck<'a> {
    /// The receipt.
    pub path: &'a Path,
    /// The key of its fingerprint; default: where the receipt says.
    pub key: Option<&'a Path>,
    /// The release directory.
    pub release: &'a Path,
    /// The policy of the release.
    pub policy: &'a Policy,
    /// The table that should be the input.
    pub original: Option<&'a Table>,
}

/// What a receipt proves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReceiptFinding {
    /// What agrees with it.
    pub confirmed: Vec<String>,
    /// What contradicts it.
    pub refuted: Vec<String>,
    /// What was not compared.
    pub open: Vec<String>,
}

impl ReceiptFinding {
    /// Whether nothing contradicts the receipt.
    pub fn holds(&self) -> bool {
        self.refuted.is_empty()
    }

    fn add(&mut self, agrees: bool, confirmed: &str, refuted: &str) {
        match agrees {
            true => self.confirmed.push(confirmed.to_string()),
            false => self.refuted.push(refuted.to_string()),
        }
    }
}

impl ReceiptCheck<'_> {
    /// Compares everything that is there.
    pub fn compare(&self, resources: &Resources<'_>) -> Result<ReceiptFinding> {
        let receipt = Receipt::read(self.path)?;
        let mut finding = ReceiptFinding::default();
        let manifest = hash(&self.release.join(MANIFEST))?.1;
        let next = next_of(self.path);
        let exchanged = Receipt::read(&next).is_ok_and(|next| next.manifest_sha256 == manifest);
        let refuted = match exchanged {
            false => "the receipt belongs to another release: it names another manifest".to_string(),
            true => format!(
                "the receipt belongs to the release before this one, whose exchange was cut short; {} belongs to it",
                next.display()
            ),
        };
        finding.add(
            manifest == receipt.manifest_sha256,
            "the manifest is the one that the receipt names",
            &refuted,
        );
        if let Some(tree) = &receipt.tree {
            let path = self.beside(&tree.path);
            match path.exists() {
                false => finding.open.push(format!("{} is not there", path.display())),
                true => finding.add(
                    hash(&path)?.1 == tree.sha256,
                    "the tree of cuts is the one that the receipt names",
                    &format!("{} was changed", path.display()),
                ),
            }
        }
        match self.original {
            None => finding.open.push("no table was compared with the input".to_string()),
            Some(original) => self.compare_input(&receipt, original, &mut finding, resources)?,
        }
        Ok(finding)
    }

    fn compare_input(
        &self,
        receipt: &Receipt,
        original: &Table,
        finding: &mut ReceiptFinding,
        resources: &Resources<'_>,
    ) -> Result<()> {
        let same_files = same_files(&receipt.input.files, original)?;
        if same_files {
            finding.confirmed.push("the files of the table are those of the input".to_string());
        }
        match self.key(receipt)? {
            Some(key) => {
                let agrees = self.fingerprint(original, &key, resources)? == receipt.input.fingerprint;
                finding.add(
                    agrees,
                    "the table has the rows of the input",
                    "this is not the table that the release was made from: its rows have another fingerprint",
                );
            }
            None if same_files => {
                finding.open.push("the key is not there, so rows were not compared".to_string())
            }
            None => {
                return Err(Error::missing(
                    format!(
                        "{} is not there, and the files are not those of the input, so nothing can be compared",
                        self.beside(&receipt.input.key).display()
                    ),
                    "give the key of the receipt",
                    Setting::Key,
                ));
            }
        }
        Ok(())
    }

    /// The key of the receipt; `None` if it is not where the receipt says.
    fn key(&self, receipt: &Receipt) -> Result<Option<FingerprintKey>> {
        let path = self.key.map_or_else(|| self.beside(&receipt.input.key), Path::to_path_buf);
        if self.key.is_none() && !path.exists() {
            return Ok(None);
        }
        let key = read_key(&path)?;
        match key.name() == receipt.input.key_name {
            true => Ok(Some(key)),
            false => Err(Error::missing(
                format!("{} is not the key of this receipt", path.display()),
                "give the key that the release was made with",
                Setting::Key,
            )),
        }
    }

    fn fingerprint(
        &self,
        original: &Table,
        key: &FingerprintKey,
        resources: &Resources<'_>,
    ) -> Result<String> {
        let columns = SourceColumns::bound(original, self.policy, |_| Values::Single)?;
        let source = Source { table: original, columns, resources };
        let hasher = source.hasher(key);
        Ok(hasher.seal(&source.fingerprint(&hasher)?))
    }

    /// A file that the receipt names.
    fn beside(&self, path: &Path) -> PathBuf {
        beside(self.path, path)
    }
}

/// Whether a table consists of the same files, in any order.
pub fn same_files(listed: &[HashedFile], table: &Table) -> Result<bool> {
    let own: Result<Vec<HashedFile>> =
        table.files().iter().map(|file| input_file(file.path(), || Ok(()))).collect();
    let hashes = |files: &[HashedFile]| -> Option<Vec<String>> {
        let mut hashes = files.iter().map(|file| file.sha256.clone()).collect::<Option<Vec<_>>>()?;
        hashes.sort();
        Some(hashes)
    };
    let own = hashes(&own?);
    Ok(own.is_some() && own == hashes(listed))
}
