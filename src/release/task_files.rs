//! How do the files that a task wrote come to the run, and are they those that the task checked?
//!
//! A task hashes its files before it checks them, and again as it passes them on; what it found travels with the hashes.
//! The run hashes what it stores and compares, and so does the manifest when it lists the files.
//!
//! Memory: a task holds its files; the run holds a piece of one.

use super::manifest::{FileHash, ManifestFile, hash};
use super::part_writer::part_name;
use crate::encode::sealed_pages::{SealedPages, damaged};
use crate::error::{Error, Result};
use crate::resources::byte_form::{ByteForm, ByteReader, Parcel, read_bytes, write_bytes};
use crate::resources::disk::{self, DiskFile};
use crate::table::write::OutputFormat;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Groups and files travel in pieces of about so many bytes, larger ones if a file is large.
pub const PIECE: usize = 1 << 20;

/// The file of a table travels in at most so many pieces.
const MOST_PIECES: usize = 8;

/// What a task found in the files that it wrote, and the hash of each, by table.
struct FileHead {
    evidence: Vec<u8>,
    sha256: BTreeMap<String, String>,
}

impl ByteForm for FileHead {
    fn write(&self, bytes: &mut Vec<u8>) {
        write_bytes(&self.evidence, bytes);
        self.sha256.write(bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        Some(FileHead { evidence: read_bytes(bytes)?, sha256: ByteForm::read(bytes)? })
    }
}

impl Parcel for FileHead {
    const KIND: u8 = 16;
    const NAME: &'static str = "what is known about a file";
}

/// The next bytes of the file of a table.
struct FilePiece {
    table: String,
    contents: Vec<u8>,
}

impl ByteForm for FilePiece {
    fn write(&self, bytes: &mut Vec<u8>) {
        self.table.write(bytes);
        write_bytes(&self.contents, bytes);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        Some(FilePiece { table: String::read(bytes)?, contents: read_bytes(bytes)? })
    }
}

impl Parcel for FilePiece {
    const KIND: u8 = 17;
    const NAME: &'static str = "a piece of a file";
}

/// The files that a task writes, one of each table.
pub struct TaskFiles {
    /// By table.
    paths: BTreeMap<&'static str, PathBuf>,
    /// What the paths lead to.
    _nameless: Vec<DiskFile>,
}

impl TaskFiles {
    /// Files below `folder`. Where the system allows it, they have paths in this process only, so that nothing of them is
    /// left if it is killed.
    pub fn create(folder: &Path, tables: &[&'static str], format: OutputFormat) -> Result<Self> {
        let (mut paths, mut nameless) = (BTreeMap::new(), Vec::new());
        for &table in tables {
            let own = folder.join(table);
            let io = |source| Error::io(&own, source);
            disk::create_dir_all(&own).map_err(io)?;
            let path = own.join(part_name(0, format));
            nameless.extend(DiskFile::nameless_at(folder, &path).map_err(io)?);
            paths.insert(table, path);
        }
        Ok(TaskFiles { paths, _nameless: nameless })
    }

    /// The hash of each, by table.
    pub fn hashes(&self) -> Result<BTreeMap<String, String>> {
        self.paths.iter().map(|(table, path)| Ok((table.to_string(), hash(path)?.1))).collect()
    }

    /// Passes on what was found in the files when they had these hashes, and then the files.
    pub fn pass_on(
        self,
        sealed: &SealedPages,
        sha256: BTreeMap<String, String>,
        evidence: Vec<u8>,
        mut pass: impl FnMut(Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let mut files = BTreeMap::new();
        for (table, path) in self.paths {
            let contents = std::fs::read(&path).map_err(|source| Error::io(&path, source))?;
            let mut hash = FileHash::default();
            hash.add(&contents);
            if sha256.get(table) != Some(&hash.finish().1) {
                return Err(Error::Changed { file: Some(path), column: None });
            }
            files.insert(table.to_string(), contents);
        }
        pass(sealed.seal_secret(&FileHead { evidence, sha256 })?)?;
        for (table, contents) in files {
            for piece in contents.chunks(contents.len().div_ceil(MOST_PIECES).max(PIECE)) {
                let piece = FilePiece { table: table.clone(), contents: piece.to_vec() };
                pass(sealed.seal_secret(&piece)?)?;
            }
        }
        Ok(())
    }
}

/// A file of a table that the run stores.
struct StoredFile {
    path: String,
    file: DiskFile,
    hash: FileHash,
}

/// Stores what a task passed on as the files with this name of the tables below `folder`; returns what the task found in
/// them, and the files. `receive` passes on what came from the task, in order.
pub fn store(
    sealed: &SealedPages,
    folder: &Path,
    (tables, name): (&[&'static str], &str),
    receive: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
) -> Result<(Vec<u8>, Vec<ManifestFile>)> {
    let mut files: BTreeMap<&str, StoredFile> = BTreeMap::new();
    for &table in tables {
        let path = format!("{table}/{name}");
        let file = DiskFile::create(&folder.join(&path)).map_err(|source| Error::io(&path, source))?;
        files.insert(table, StoredFile { path, file, hash: FileHash::default() });
    }
    let mut head = None;
    receive(&mut |piece| {
        if head.is_none() {
            head = Some(sealed.open_secret::<FileHead>(piece)?);
            return Ok(());
        }
        let FilePiece { table, contents } = sealed.open_secret(piece)?;
        let Some(StoredFile { path, file, hash }) = files.get_mut(&*table) else {
            return Err(damaged("a task wrote a table that the release does not have"));
        };
        hash.add(&contents);
        file.write_all(&contents).map_err(|source| Error::io(&*path, source))
    })?;
    let FileHead { evidence, sha256: checked } =
        head.ok_or_else(|| damaged("a task returned nothing about its file"))?;
    let mut stored = Vec::new();
    for (table, StoredFile { path, hash, .. }) in files {
        let (bytes, sha256) = hash.finish();
        if checked.get(table) != Some(&sha256) {
            return Err(damaged("a file is not the one that its task checked"));
        }
        stored.push(ManifestFile { path, bytes, sha256 });
    }
    Ok((evidence, stored))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::page::{Layout, Lists};
    use crate::resources::byte_form::PolicyStamp;

    const NAME: &str = "part-00000.csv";

    fn sealed() -> SealedPages {
        let layout = Layout { columns: vec![], values: 1, lists: Lists::One };
        SealedPages { stamp: PolicyStamp::new("ab12"), key: vec![7; 32], layout }
    }

    /// What a task passes on whose file has these bytes, after something happened to it since it was checked.
    fn passed_on(contents: &[u8], change: impl FnOnce(&Path)) -> Result<Vec<Vec<u8>>> {
        let place = tempfile::tempdir().unwrap();
        let files = TaskFiles::create(place.path(), &["data"], OutputFormat::Csv).unwrap();
        let path = place.path().join("data").join(NAME);
        std::fs::write(&path, contents).unwrap();
        let hashes = files.hashes().unwrap();
        change(&path);
        let mut pieces = Vec::new();
        files.pass_on(&sealed(), hashes, vec![3], |piece| {
            pieces.push(piece);
            Ok(())
        })?;
        Ok(pieces)
    }

    fn stored(folder: &Path, pieces: &[Vec<u8>]) -> Result<(Vec<u8>, Vec<ManifestFile>)> {
        std::fs::create_dir_all(folder.join("data")).unwrap();
        store(&sealed(), folder, (&["data"], NAME), |each| pieces.iter().try_for_each(|piece| each(piece)))
    }

    #[test]
    fn a_file_is_stored_as_it_was_checked_or_refused() {
        let contents: Vec<u8> = (0..3 * PIECE + 5).map(|place| (place % 251) as u8).collect();
        let pieces = passed_on(&contents, |_| {}).unwrap();
        assert_eq!(pieces.len(), 5, "what was found, and four pieces");
        let place = tempfile::tempdir().unwrap();
        let (evidence, files) = stored(place.path(), &pieces).unwrap();
        assert_eq!(evidence, [3]);
        let path = place.path().join("data").join(NAME);
        assert!(std::fs::read(&path).unwrap() == contents);
        let (bytes, sha256) = hash(&path).unwrap();
        assert_eq!(files, [ManifestFile { path: format!("data/{NAME}"), bytes, sha256 }]);

        let refused = |pieces: &[Vec<u8>]| stored(place.path(), pieces).unwrap_err().to_string();
        let other = FilePiece { table: "data".to_string(), contents: vec![7; 5] };
        let other = sealed().seal_secret(&other).unwrap();
        let altered = [&pieces[..4], &[other]].concat();
        for altered in [&altered[..], &pieces[..4], &[&pieces[..], &pieces[4..]].concat()] {
            assert!(refused(altered).contains("not the one that its task checked"));
        }
        let mut flipped = pieces.clone();
        *flipped[2].last_mut().unwrap() ^= 1;
        assert!(refused(&flipped).contains("changed on its way"));
        assert!(refused(&[]).contains("nothing about its file"));
    }

    #[test]
    fn a_file_that_changed_since_it_was_checked_is_not_passed_on() {
        let changed = passed_on(b"1,2\n", |path| std::fs::write(path, "1,3\n").unwrap());
        assert!(matches!(changed, Err(Error::Changed { .. })), "{changed:?}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_files_of_a_task_have_no_name() {
        use std::os::unix::fs::MetadataExt;
        let place = tempfile::tempdir().unwrap();
        let files = TaskFiles::create(place.path(), &["data"], OutputFormat::Csv).unwrap();
        let path = place.path().join("data").join(NAME);
        std::fs::write(&path, "1,2\n").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"1,2\n");
        assert_eq!(path.metadata().unwrap().nlink(), 0);
        drop(files);
    }
}
