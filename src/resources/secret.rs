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
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn secret<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    io::Read::read_exact(&mut std::fs::File::open("/dev/urandom")?, &mut bytes)?;
    Ok(bytes)
}
