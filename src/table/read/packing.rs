//! How is a file read that is compressed as a whole?
//!
//! It is decompressed while it is read, in every scan again, so that memory does not depend on how long it becomes.
//! Memory: 32 KiB for gzip; for Zstandard the window of the file, at most [`WINDOW`].
//! Invariant: data that ends too early, or does not have its checksum, is an error.

use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use super::contain::damaged;
use super::room::Need;
use crate::error::{Error, Result};

/// The largest window of Zstandard, as a power of two: that of its level 19.
const WINDOW_LOG: u32 = 23;
/// The same in bytes.
const WINDOW: u64 = 1 << WINDOW_LOG;

/// How a file is compressed as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    /// Not at all.
    Plain,
    /// gzip, also several parts one after the other.
    Gzip,
    /// Zstandard, likewise.
    Zstandard,
}

/// The extensions of compressed files.
const PACKED: [&str; 2] = ["gz", "zst"];

impl Packing {
    /// By the first bytes of a file.
    pub fn of(start: &[u8]) -> Packing {
        match start {
            [0x1f, 0x8b, ..] => Packing::Gzip,
            // A frame, or one of those that hold no data.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Packing::Zstandard,
            _ => Packing::Plain,
        }
    }

    /// What decompressing takes.
    pub fn need(self) -> Need {
        match self {
            Packing::Plain | Packing::Gzip => Need::default(),
            Packing::Zstandard => Need::of(WINDOW + (1 << 20)),
        }
    }

    /// The decompressed bytes.
    pub fn unpack<'s>(self, path: &Path, packed: impl Read + Send + 's) -> Result<Box<dyn Read + Send + 's>> {
        let decoder: Box<dyn Read + Send + 's> = match self {
            Packing::Plain => return Ok(Box::new(packed)),
            Packing::Gzip => Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 15, packed))),
            Packing::Zstandard => {
                let decoder = zstd::stream::read::Decoder::new(packed).and_then(|mut decoder| {
                    decoder.window_log_max(WINDOW_LOG)?;
                    Ok(decoder)
                });
                Box::new(decoder.map_err(|source| Error::io(path, source))?)
            }
        };
        Ok(Box::new(Unpacked { decoder, path: path.to_path_buf() }))
    }
}

/// The name of a file without the extension of its compression: `t.csv` for `t.csv.gz`.
pub(super) fn unpacked_name(path: &Path) -> PathBuf {
    match path.extension() {
        Some(own) if PACKED.iter().any(|packed| own.eq_ignore_ascii_case(packed)) => path.with_extension(""),
        _ => path.to_path_buf(),
    }
}

/// Names the file in errors of its decoder.
struct Unpacked<'s> {
    decoder: Box<dyn Read + Send + 's>,
    path: PathBuf,
}

impl Read for Unpacked<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.decoder.read(buffer).map_err(|error| {
            // Errors of the operating system and of the spool are not about the data.
            if error.raw_os_error().is_some() || error.get_ref().is_some_and(|own| own.is::<Error>()) {
                return error;
            }
            let text = error.to_string();
            let problem = match error.kind() {
                io::ErrorKind::UnexpectedEof => "the compressed data ends too early".to_string(),
                _ if text.contains("too much memory") => format!(
                    "it is compressed with a window of more than {} MiB: decompress it into a pipe, and give -",
                    WINDOW >> 20
                ),
                _ => "the compressed data is damaged".to_string(),
            };
            io::Error::other(damaged(&self.path, problem))
        })
    }
}
