//! The command `skyveil`.
fn main() {}
