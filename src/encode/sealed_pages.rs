//! How do pages travel between the tasks of an engine?
//!
//! Pages are personal data, and an engine may store them on its way: they are encrypted with a key that exists in the
//! memory of the run and of its tasks only.

use super::byte_forms::{CodedPage, Travels};
use super::fingerprint::Fingerprint;
use super::page::{Layout, Page};
use crate::error::{Error, Result};
use crate::resources::byte_form::{Parcel, PolicyStamp};
use crate::resources::secret::secret;
use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};

/// What whoever writes or reads the pages of a run must know.
#[derive(Debug, Clone)]
pub struct SealedPages {
    /// Marks what belongs to the policy.
    pub stamp: PolicyStamp,
    /// The key of the run.
    pub key: Vec<u8>,
    /// The columns of a page.
    pub layout: Layout,
}

impl SealedPages {
    /// Encrypts a page.
    pub fn seal(&self, page: Page) -> Result<Vec<u8>> {
        self.seal_secret(&CodedPage { page, fingerprint: Fingerprint::default() })
    }

    /// The page that was encrypted; an error if it is not one of the run.
    pub fn open(&self, sealed: &[u8]) -> Result<CodedPage> {
        let coded: CodedPage = self.open_secret(sealed)?;
        let travels =
            if coded.page.payload.lengths.is_empty() { Travels::Nothing } else { Travels::Something };
        match coded.page.fits(&self.layout, travels) {
            true => Ok(coded),
            false => Err(damaged("a page of rows has codes that no value has")),
        }
    }

    /// Encrypts what must not be read on its way.
    pub fn seal_secret<T: Parcel>(&self, value: &T) -> Result<Vec<u8>> {
        seal(self.stamp.seal(value), &self.key)
    }

    /// What was encrypted.
    pub fn open_secret<T: Parcel>(&self, sealed: &[u8]) -> Result<T> {
        self.stamp.open(&unseal(sealed, &self.key)?)
    }
}

/// What came back from a task cannot be right.
pub fn damaged(problem: &str) -> Error {
    Error::input(problem, "run again; if it happens again, the engine damages what it moves")
}

const NONCE: usize = 12;

/// Encrypts with a key of 32 bytes and a nonce that nobody else drew: its random bytes stand in front.
pub fn seal(bytes: Vec<u8>, key: &[u8]) -> Result<Vec<u8>> {
    let nonce: [u8; NONCE] = secret().map_err(|why| Error::io("random numbers", why))?;
    let mut sealed = Vec::with_capacity(NONCE + bytes.len());
    sealed.extend_from_slice(&nonce);
    sealed.extend_from_slice(&bytes);
    keystream(key, &nonce)?.apply_keystream(&mut sealed[NONCE..]);
    Ok(sealed)
}

/// What was encrypted with this key.
pub fn unseal(sealed: &[u8], key: &[u8]) -> Result<Vec<u8>> {
    let (nonce, bytes) =
        sealed.split_first_chunk::<NONCE>().ok_or_else(|| damaged("a page of rows is too short"))?;
    let mut bytes = bytes.to_vec();
    keystream(key, nonce)?.apply_keystream(&mut bytes);
    Ok(bytes)
}

fn keystream(key: &[u8], nonce: &[u8; NONCE]) -> Result<ChaCha20> {
    let key: [u8; 32] = key.try_into().map_err(|_| damaged("the key of the pages has another length"))?;
    Ok(ChaCha20::new(&key.into(), &(*nonce).into()))
}
