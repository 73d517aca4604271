//! What is in a file: which format, compressed or not?

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use super::contain::{contain, damaged};
use super::csv::CsvFile;
use super::files::{Content, ReadOptions, TableFile};
use super::input_file::InputFile;
use super::ipc::{self, IpcFile, IpcStream};
use super::keys::KeyColumn;
use super::packing::{Packing, unpacked_name};
use super::parquet::ParquetFile;
use super::paths::{FoundFile, HiveKey, STANDARD_INPUT, has_extension};
use crate::error::{Error, Result};

/// Opens a file that a path means.
pub(super) fn open_found(
    found: FoundFile,
    options: &ReadOptions,
    bytes_read: &Arc<AtomicU64>,
) -> Result<TableFile> {
    let FoundFile { path, keys } = found;
    if path.as_os_str() == STANDARD_INPUT {
        return open_pipe(path, Box::new(std::io::stdin()), options, bytes_read);
    }
    let io = |error| Error::io(&path, error);
    let file = File::open(&path).map_err(io)?;
    let metadata = file.metadata().map_err(io)?;
    if !metadata.is_file() {
        // A named pipe or a device: it can be read, but only once.
        return open_pipe(path, Box::new(file), options, bytes_read);
    }
    if metadata.len() == 0 {
        return Err(damaged(&path, "the file is empty"));
    }
    let input = InputFile::new(&path, &metadata);
    let opened = open_input(input, keys, options, bytes_read)?;
    opened.expect_unchanged()?;
    Ok(opened)
}

/// Opens something that can be read only once.
pub(super) fn open_pipe(
    path: PathBuf,
    source: Box<dyn Read + Send>,
    options: &ReadOptions,
    bytes_read: &Arc<AtomicU64>,
) -> Result<TableFile> {
    open_input(InputFile::spooled(path, source, &options.spool)?, Vec::new(), options, bytes_read)
}

/// Opens a file again, to read it otherwise; of a pipe, what was copied.
pub(super) fn open_again(
    file: &TableFile,
    options: &ReadOptions,
    bytes_read: &Arc<AtomicU64>,
) -> Result<TableFile> {
    let keys = file.keys.iter().map(KeyColumn::key).collect();
    open_input(file.input.clone(), keys, options, bytes_read)
}

fn open_input(
    input: InputFile,
    keys: Vec<HiveKey>,
    options: &ReadOptions,
    bytes_read: &Arc<AtomicU64>,
) -> Result<TableFile> {
    let path = input.path();
    let packing = Packing::of(&beginning(path, &mut input.open()?)?);
    if packing == Packing::Plain && unpacked_name(path) != path {
        return Err(damaged(path, "it is not compressed, or is damaged"));
    }
    let unpacked = || packing.unpack(path, input.open()?);
    let start = beginning(path, &mut unpacked()?)?;
    if start.is_empty() {
        return Err(damaged(path, "the input is empty"));
    }
    let content = contain(path, || match (InputFormat::of(path, &start)?, packing) {
        (InputFormat::Parquet, Packing::Plain) => {
            Ok(Content::Parquet(ParquetFile::open(input.clone(), bytes_read)?))
        }
        (InputFormat::Arrow, Packing::Plain) => Ok(Content::Arrow(IpcFile::open(input.clone())?)),
        (InputFormat::Parquet | InputFormat::Arrow, _) => Err(Error::input(
            format!("{} is a Parquet or Arrow file that is compressed once more", path.display()),
            "decompress it: its columns stay compressed",
        )
        .of_file(path)),
        (InputFormat::Stream, _) => {
            let mut source = Counted { source: unpacked()?, read: 0 };
            let stream = IpcStream::open(path, &mut source)?;
            Ok(Content::Stream { stream, body: source.read })
        }
        (InputFormat::Csv, _) => Ok(Content::Csv(CsvFile::open(path, &mut unpacked()?, options)?)),
    })?;
    let keys = keys.into_iter().map(|key| KeyColumn::new(key, options)).collect();
    Ok(TableFile { content, packing, keys, rows_found: OnceLock::new(), input })
}

/// The first bytes.
fn beginning(path: &Path, source: &mut dyn Read) -> Result<Vec<u8>> {
    let mut start = Vec::new();
    source.take(8).read_to_end(&mut start).map_err(|error| Error::io(path, error))?;
    Ok(start)
}

/// Counts the bytes that are read.
struct Counted<R> {
    source: R,
    read: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.read += read as u64;
        Ok(read)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InputFormat {
    Parquet,
    /// Arrow IPC with a footer.
    Arrow,
    /// Arrow IPC without one.
    Stream,
    Csv,
}

impl InputFormat {
    /// Detects the format by the first bytes; a conflicting file name is an error.
    fn of(path: &Path, start: &[u8]) -> Result<InputFormat> {
        let by_content = match start {
            start if start.starts_with(b"PAR1") => InputFormat::Parquet,
            start if start.starts_with(ipc::FILE_MAGIC) => InputFormat::Arrow,
            start if start.starts_with(ipc::CONTINUATION) => InputFormat::Stream,
            start if Packing::of(start) != Packing::Plain => {
                return Err(damaged(path, "it is compressed twice"));
            }
            _ => InputFormat::Csv,
        };
        let is_text = by_content == InputFormat::Csv;
        if is_text && has_extension(path, &["parquet"]) {
            return Err(damaged(path, "this is not a Parquet file"));
        }
        if is_text && has_extension(path, &["arrow", "arrows", "feather", "ipc"]) {
            return Err(damaged(path, "this is not an Arrow IPC file or stream"));
        }
        Ok(by_content)
    }
}
