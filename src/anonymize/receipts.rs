//! What does the owner get besides the release?
//!
//! The receipt, the tree of cuts, the list of suppressed rows, and the key if this run made it. All of them are in
//! place before the release appears, the receipt last: whoever finds it finds the others.

use super::asked::asked;
use super::job::{Anonymize, Workplace};
use super::suppressed::SuppressedList;
use super::written::{NightRecord, Written};
use crate::check::Verdict;
use crate::error::{Error, Result};
use crate::release::ledger::{LedgerHead, LedgerReader, LedgerWriter};
use crate::release::manifest::{MANIFEST, hash};
use crate::release::private_file::{PrivateFile, take};
use crate::release::receipt::{
    HashedFile, NamedFile, Receipt, ReceiptInput, SuppressedRows, binding, named_by, utility,
};
use crate::release::{exchanged, findings};
use crate::resources::budget::peak_resident_bytes;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The private files of a finished release.
pub(super) struct OwnersFiles {
    files: Vec<PrivateFile>,
    /// Those of the release that was exchanged which go with it.
    outdated: Vec<PathBuf>,
}

impl OwnersFiles {
    /// Writes the receipt of a release whose manifest is written; nothing has its name yet.
    pub(super) fn write(
        job: &Anonymize<'_>,
        written: &mut Written,
        verdict: &Verdict,
        workplace: &mut Workplace<'_>,
        start: Instant,
    ) -> Result<Self> {
        let (mut files, inputs) = (Vec::new(), input_files(job, workplace)?);
        if let Some(mut file) = workplace.new_key.take() {
            let path = file.path().to_path_buf();
            file.create()?.write_all(workplace.key.bytes()).map_err(|source| Error::io(path, source))?;
            files.push(file);
        }
        let receipt_path = &workplace.private.receipt;
        let tree = match written.tree.take() {
            None => None,
            Some(file) => {
                let named = NamedFile { path: named_by(receipt_path, file.path()), sha256: file.sha256()? };
                files.push(file);
                Some(named)
            }
        };
        let suppressed = written.suppressed.take().map(|own| {
            let SuppressedList { rows, file, already_known } = own;
            let list = named_by(receipt_path, file.path());
            files.push(file);
            let already_likely = already_known.as_ref().map(|own| own.likelier);
            SuppressedRows {
                rows,
                list,
                already_likely,
                unavoidable: already_known.map(|own| own.unavoidable),
            }
        });
        let manifest_sha256 = hash(&workplace.staging.folder().join(MANIFEST))?.1;
        if let Some(record) = written.night.take() {
            files.push(write_ledger(job, record, &manifest_sha256, workplace)?);
        }
        let distributions = verdict.first().finding.total("distributions").map(findings::total);
        let receipt = Receipt {
            skyveil: env!("CARGO_PKG_VERSION").to_string(),
            release: job.out.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            manifest_sha256: manifest_sha256.clone(),
            input: ReceiptInput {
                rows: written.input_rows,
                fingerprint: written.fingerprint.clone(),
                key: named_by(receipt_path, &workplace.private.key),
                key_name: workplace.key.name(),
                files: inputs,
            },
            asked: asked(job)?,
            tree,
            suppressed,
            accepted: written.accepted.iter().map(|lint| lint.name.to_string()).collect(),
            utility: utility(&written.utility),
            binds: written.binds.iter().map(binding).collect(),
            distributions,
            waited: workplace.continued.as_ref().filter(|own| own.by_values).map(|_| WAITED.to_string()),
            audit: written.audit.take(),
            attacks: None,
            resources: json!({
                "seconds": start.elapsed().as_secs_f64(),
                "peak_memory_bytes": peak_resident_bytes(),
                "spilled_bytes": workplace.spill.bytes(),
                "source_scans": job.table.scans(),
                "memory": job.memory,
                "threads": job.threads,
            }),
        };
        let mut file = workplace.private.receipt_file()?;
        receipt.write(&mut file)?;
        files.push(file);
        let written: Vec<PathBuf> = files.iter().map(|file| file.path().to_path_buf()).collect();
        Ok(OwnersFiles { files, outdated: workplace.private.outdated(&written) })
    }

    /// Gives every file its name; dropping this takes them back.
    pub(super) fn place(&mut self) -> Result<()> {
        self.files.iter_mut().try_for_each(PrivateFile::place)
    }

    /// Where the files are once they are placed.
    pub(super) fn paths(&self) -> Vec<&Path> {
        self.files.iter().map(PrivateFile::placed).collect()
    }

    /// The release is in place: the files stay, and take the names of older ones, which go.
    pub(super) fn keep(self) {
        let names = |file: &PrivateFile| (file.placed().to_path_buf(), file.path().to_path_buf());
        let names: Vec<(PathBuf, PathBuf)> = self.files.iter().map(names).collect();
        self.files.into_iter().for_each(PrivateFile::keep);
        // The receipt takes its name last, and only if nothing fails: until then the next run finishes.
        let mut waiting = names.iter().filter(|(placed, own)| placed != own);
        let _ = (self.outdated.iter())
            .try_for_each(|path| exchanged::remove(path))
            .and_then(|()| waiting.try_for_each(|(placed, own)| take(placed, own)));
    }
}

/// The hashes of the files of the table, which must be those that were read.
fn input_files(job: &Anonymize<'_>, workplace: &mut Workplace<'_>) -> Result<Vec<HashedFile>> {
    workplace.resources.progress.start("hashing the input", None);
    let hashed = workplace.inputs.finish();
    workplace.resources.progress.finish();
    job.table.expect_unchanged()?;
    hashed
}

/// What a receipt says of people who waited because of their values.
const WAITED: &str =
    "the people of this night waited because of their values; what their waiting tells is not covered";

/// Writes the ledger with the people of this night; it is in place before the night appears.
fn write_ledger(
    job: &Anonymize<'_>,
    record: NightRecord,
    manifest_sha256: &str,
    workplace: &Workplace<'_>,
) -> Result<PrivateFile> {
    let NightRecord { log, decisive, kinds } = record;
    workplace.resources.progress.start("writing the ledger", None);
    let nightly = &workplace.nightly;
    let (mut file, night, before) = match &workplace.continued {
        None => (PrivateFile::new(&nightly.ledger, "the ledger")?, 1, None),
        Some(continued) => (
            PrivateFile::newer(&nightly.next_ledger, "the next ledger")?,
            continued.link.number,
            Some(LedgerReader::open(&nightly.ledger, &workplace.key)?),
        ),
    };
    let people = before.as_ref().map_or(0, |before| before.head().people) + log.people();
    let head = LedgerHead { night, manifest_sha256: manifest_sha256.to_string(), people, kinds, decisive };
    let mut writer = LedgerWriter::create(&mut file, &head, &workplace.key)?;
    writer.merge(before, log.sorted(&workplace.resources.budget, &workplace.spill)?)?;
    let person = job.policy.nights.as_ref().and_then(|nights| nights.person.as_deref());
    writer.finish(person.unwrap_or_default())?;
    workplace.resources.progress.finish();
    Ok(file)
}
