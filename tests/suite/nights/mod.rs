//! Releases that are continued night after night.

mod attacked;
#[cfg(unix)]
mod killed;
mod leaving;
mod place;
mod publishing;
