//! How large may a file be that is read whole?
//!
//! Policies, hierarchies and manifests are held in memory before there is a budget, so each has a fixed limit. A device
//! that never ends is refused at the limit.

use std::fs::File;
use std::io::{Error, Read, Result};
use std::path::Path;

/// The longest policy.
pub const POLICY_BYTES: u64 = 4 << 20;
/// The longest hierarchy file: some 256 bytes for each of its values.
pub const HIERARCHY_BYTES: u64 = 16 << 20;
/// The longest manifest, and the longest result of an experiment.
pub const JSON_BYTES: u64 = 64 << 20;

/// The bytes of a file; an error if there are more than `most`. Memory grows with what is read, not with what the file
/// claims to hold.
pub fn read_at_most(path: &Path, most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(Error::other(format!("it is longer than {} MiB, the most that is read", most >> 20)));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"12345").unwrap();
        assert_eq!(read_at_most(&path, 5).unwrap(), b"12345");
        assert!(read_at_most(&path, 4).unwrap_err().to_string().contains("longer than"));
        assert!(read_at_most(&folder.path().join("none"), 4).is_err());
    }
}
