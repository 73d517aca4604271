//! Who waits until enough others have come?
//!
//! `NAME.pending` is a private file next to a release that is continued: the rows of everybody who was not published
//! yet, encrypted with AES-256 in counter mode under a key that follows from the owner's key and a random salt of each
//! file, and sealed with HMAC-SHA-256. It names the manifest after which they wait: as soon as another night has appeared,
//! which published all of them, it is void.
//!
//! Memory: one buffer.

use super::private_file::PrivateFile;
use crate::encode::fingerprint::FingerprintKey;
use crate::error::{Error, Result};
use crate::resources::disk::DiskFile;
use crate::resources::secret::secret;
use crate::resources::spill::Keystream;
use crate::resources::spill_stream::SpillStream;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

const MAGIC: &[u8; 17] = b"skyveil pending 2";
const SALT_BYTES: usize = 32;
const SEAL_BYTES: usize = 32;
const BUFFER: usize = 1 << 16;

/// What is known about the people who wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingHead {
    /// The hash of the manifest after which they wait.
    pub after_sha256: String,
    /// How many wait.
    pub people: u64,
    /// The day on which the first of them came.
    pub since: String,
    /// Whether they wait because of their values: there were enough of them, and no safe group.
    pub by_values: bool,
}

/// Writes the people who wait to a file that is not in place yet; `rows` are the bytes of a table.
pub fn write(
    file: &mut PrivateFile,
    head: &PendingHead,
    rows: &SpillStream,
    key: &FingerprintKey,
) -> Result<()> {
    let path = file.path().to_path_buf();
    let io = |source| Error::io(&path, source);
    let salt: [u8; SALT_BYTES] = secret().map_err(|source| Error::io("random numbers", source))?;
    let text = serde_json::to_vec(head).map_err(|source| io(source.into()))?;
    let mut sealed = SealedFile {
        file: file.create()?,
        keystream: keystream(key, &salt),
        seal: sealer(key, &salt),
        offset: 0,
    };
    sealed.plain(MAGIC).and_then(|()| sealed.plain(&salt)).map_err(io)?;
    sealed.write(&(text.len() as u32).to_be_bytes()).and_then(|()| sealed.write(&text)).map_err(io)?;
    let mut buffer = vec![0; BUFFER];
    let mut at = 0;
    while at < rows.bytes() {
        let here = (rows.bytes() - at).min(BUFFER as u64) as usize;
        rows.read(at, &mut buffer[..here])?;
        sealed.write(&buffer[..here]).map_err(io)?;
        at += here as u64;
    }
    let seal = sealed.seal.clone().finalize().into_bytes();
    sealed.file.write_all(&seal).map_err(io)
}

struct SealedFile {
    file: DiskFile,
    keystream: Keystream,
    seal: Hmac<Sha256>,
    offset: u64,
}

impl SealedFile {
    fn plain(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.seal.update(bytes);
        self.file.write_all(bytes)
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let mut room = bytes.to_vec();
        self.keystream.apply(self.offset, &mut room);
        self.offset += bytes.len() as u64;
        self.plain(&room)
    }
}

/// The people who wait: what is known about them, and the bytes of their table.
pub struct PendingPeople {
    /// What is known about them.
    pub head: PendingHead,
    /// Their rows.
    pub rows: PendingRows,
}

/// Reads the decrypted rows.
pub struct PendingRows {
    file: BufReader<File>,
    keystream: Keystream,
    offset: u64,
    left: u64,
}

impl Read for PendingRows {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.file.read(&mut buffer[..most])?;
        self.keystream.apply(self.offset, &mut buffer[..read]);
        self.offset += read as u64;
        self.left -= read as u64;
        Ok(read)
    }
}

/// Reads the people who wait; `None` if there is no such file. Fails if it was changed.
pub fn read(path: &Path, key: &FingerprintKey) -> Result<Option<PendingPeople>> {
    let io = |source| Error::io(path, source);
    let damaged = || {
        Error::input(
            format!("{} is damaged, or was written with another key", path.display()),
            "bring it back from a backup; if that is not possible, move it away and give the people who waited again",
        )
    };
    let file = match File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(io)?,
    };
    let length = file.metadata().map_err(io)?.len();
    let fixed = (MAGIC.len() + SALT_BYTES + SEAL_BYTES) as u64;
    let body = length.checked_sub(fixed).ok_or_else(damaged)?;
    let mut file = BufReader::with_capacity(BUFFER, file);
    let (mut magic, mut salt) = ([0; MAGIC.len()], [0; SALT_BYTES]);
    file.read_exact(&mut magic).and_then(|()| file.read_exact(&mut salt)).map_err(io)?;
    let mut seal = sealer(key, &salt);
    seal.update(&magic);
    seal.update(&salt);
    let (mut buffer, mut left) = (vec![0; BUFFER], body);
    while left > 0 {
        let here = left.min(BUFFER as u64) as usize;
        file.read_exact(&mut buffer[..here]).map_err(io)?;
        seal.update(&buffer[..here]);
        left -= here as u64;
    }
    let mut stated = [0; SEAL_BYTES];
    file.read_exact(&mut stated).map_err(io)?;
    if magic != *MAGIC || seal.verify_slice(&stated).is_err() {
        return Err(damaged());
    }
    file.seek(SeekFrom::Start((MAGIC.len() + SALT_BYTES) as u64)).map_err(io)?;
    let mut rows = PendingRows { file, keystream: keystream(key, &salt), offset: 0, left: body };
    let mut size = [0; 4];
    rows.read_exact(&mut size).map_err(|_| damaged())?;
    let mut text = Vec::new();
    let most = u64::from(u32::from_be_bytes(size));
    rows.by_ref().take(most).read_to_end(&mut text).map_err(io)?;
    let head = serde_json::from_slice(&text).map_err(|_| damaged())?;
    Ok(Some(PendingPeople { head, rows }))
}

fn keystream(key: &FingerprintKey, salt: &[u8]) -> Keystream {
    Keystream::of(key.mac(b"skyveil: people who wait", salt))
}

fn sealer(key: &FingerprintKey, salt: &[u8]) -> Hmac<Sha256> {
    let mut block = [0; 64];
    block[..32].copy_from_slice(&key.mac(b"skyveil: seal of people who wait", salt));
    Hmac::<Sha256>::new(&block.into())
}
