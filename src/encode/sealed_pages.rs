//! How do pages travel between the tasks of an engine?
//!
//! Pages are personal data, and an engine may store them on its way: they are encrypted with a key that exists in the
//! memory of the run and of its tasks only. What does not have that key's tag was not made by the run, and is refused; the
//! tag does not tell in which place something belongs, so whoever reads compares what it says about itself.

use super::byte_forms::{CodedPage, Travels};
use super::fingerprint::Fingerprint;
use super::page::{Layout, Page};
use crate::error::{Error, Result};
use crate::resources::byte_form::{Parcel, PolicyStamp};
use crate::resources::secret::secret;
use aes::Aes256;
use ctr::Ctr32BE;
use ctr::cipher::{KeyIvInit, StreamCipher};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

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

/// As many bytes of HMAC-SHA-256 as nobody can guess.
const TAG: usize = 16;

/// Encrypts with a key of 32 bytes and a nonce that nobody else drew: its random bytes stand in front, and behind it all a
/// tag that only whoever has the key can make.
pub fn seal(bytes: Vec<u8>, key: &[u8]) -> Result<Vec<u8>> {
    let SealingKeys { encrypt, authenticate } = SealingKeys::of(key)?;
    let nonce: [u8; NONCE] = secret().map_err(|why| Error::io("random numbers", why))?;
    let mut sealed = Vec::with_capacity(NONCE + bytes.len() + TAG);
    sealed.extend_from_slice(&nonce);
    sealed.extend_from_slice(&bytes);
    encrypt_from(&encrypt, nonce, &mut sealed[NONCE..]);
    let tag = mac(&authenticate, &sealed).finalize().into_bytes();
    sealed.extend_from_slice(&tag[..TAG]);
    Ok(sealed)
}

/// What was encrypted with this key; an error if it was changed since.
pub fn unseal(sealed: &[u8], key: &[u8]) -> Result<Vec<u8>> {
    let SealingKeys { encrypt, authenticate } = SealingKeys::of(key)?;
    let (sealed, tag) =
        sealed.split_last_chunk::<TAG>().ok_or_else(|| damaged("a page of rows is too short"))?;
    let (nonce, bytes) =
        sealed.split_first_chunk::<NONCE>().ok_or_else(|| damaged("a page of rows is too short"))?;
    let made_here = mac(&authenticate, sealed).verify_truncated_left(tag);
    made_here.map_err(|_| damaged("what a task passed on was changed on its way"))?;
    let mut bytes = bytes.to_vec();
    encrypt_from(&encrypt, *nonce, &mut bytes);
    Ok(bytes)
}

/// Encrypts or decrypts; the last four bytes of a block count the blocks.
fn encrypt_from(key: &[u8; 32], nonce: [u8; NONCE], bytes: &mut [u8]) {
    let mut first_block = [0; 16];
    first_block[..NONCE].copy_from_slice(&nonce);
    Ctr32BE::<Aes256>::new(key.into(), &first_block.into()).apply_keystream(bytes);
}

/// The two keys that follow from the key of a run.
struct SealingKeys {
    encrypt: [u8; 32],
    authenticate: [u8; 32],
}

impl SealingKeys {
    fn of(key: &[u8]) -> Result<Self> {
        let key: [u8; 32] = key.try_into().map_err(|_| damaged("the key of the pages has another length"))?;
        let follows = |purpose: &[u8]| mac(&key, purpose).finalize().into_bytes().into();
        let (encrypt, authenticate) = (b"skyveil: pages, encrypted", b"skyveil: pages, authentic");
        Ok(SealingKeys { encrypt: follows(encrypt), authenticate: follows(authenticate) })
    }
}

fn mac(key: &[u8; 32], bytes: &[u8]) -> Hmac<Sha256> {
    // HMAC fills a key up to a block of the hash with zeros.
    let mut block = [0; 64];
    block[..key.len()].copy_from_slice(key);
    let mut mac = Hmac::<Sha256>::new(&block.into());
    mac.update(bytes);
    mac
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_but_what_was_sealed_is_unsealed(
            contents in prop::collection::vec(any::<u8>(), 0..200),
            (key, other) in any::<([u8; 32], [u8; 32])>(),
            place in any::<prop::sample::Index>(),
            flip in 1u8..,
        ) {
            let sealed = seal(contents.clone(), &key).unwrap();
            prop_assert_eq!(unseal(&sealed, &key).unwrap(), contents);
            let mut changed = sealed.clone();
            changed[place.index(sealed.len())] ^= flip;
            let longer = [&sealed[..], &[flip]].concat();
            for wrong in [&changed[..], &sealed[..place.index(sealed.len())], &longer] {
                prop_assert!(unseal(wrong, &key).is_err());
            }
            prop_assert!(key == other || unseal(&sealed, &other).is_err());
        }
    }

    #[test]
    fn equal_contents_differ_when_sealed_and_cannot_be_read() {
        let [one, other] = [(); 2].map(|()| seal(vec![0; 64], &[7; 32]).unwrap());
        assert_ne!(one, other);
        assert!(!one.windows(16).any(|bytes| bytes == [0; 16]));
        assert!(seal(vec![1], &[7; 31]).is_err());
    }
}
