//! Random bytes that nobody can guess, for keys.

use std::io;

/// Random bytes from the operating system.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn secret<const N: usize>() -> io::Result<[u8; N]> {
    use rustix::rand::{GetRandomFlags, getrandom};
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

/// Random bytes from the operating system.
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
pub fn secret<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    io::Read::read_exact(&mut std::fs::File::open("/dev/urandom")?, &mut bytes)?;
    Ok(bytes)
}

/// Bytes that follow from 128 random bits of the operating system: the keys of the standard library's hashes, which are
/// the only random numbers that it offers there.
#[cfg(not(unix))]
pub fn secret<const N: usize>() -> io::Result<[u8; N]> {
    use std::hash::{BuildHasher, RandomState};
    let keys = RandomState::new();
    let mut bytes = [0; N];
    for (place, part) in bytes.chunks_mut(8).enumerate() {
        part.copy_from_slice(&keys.hash_one(place).to_le_bytes()[..part.len()]);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_secrets_are_equal() {
        assert_ne!(secret::<32>().unwrap(), secret::<32>().unwrap());
    }
}
