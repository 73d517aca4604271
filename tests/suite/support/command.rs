//! Running the command.

use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A file of `datasets`.
pub fn dataset(name: &str) -> PathBuf {
    root().join("datasets").join(name)
}

/// The root folder of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The command under test: the one built with these tests, or the build given by `SKYVEIL_BIN`.
pub fn binary() -> PathBuf {
    std::env::var_os("SKYVEIL_BIN").map_or(env!("CARGO_BIN_EXE_skyveil").into(), PathBuf::from)
}

/// The command, with nothing on standard input.
pub fn command() -> Command {
    let mut command = Command::new(binary());
    command.stdin(Stdio::null());
    command
}

/// Runs the command.
pub fn skyveil<S: AsRef<OsStr>>(arguments: &[S]) -> Output {
    command().args(arguments).output().unwrap()
}

/// Runs the command in a folder.
pub fn skyveil_in<S: AsRef<OsStr>>(folder: &Path, arguments: &[S]) -> Output {
    command().args(arguments).current_dir(folder).output().unwrap()
}

/// Everything that a run printed, standard output first.
pub fn printed(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Standard output of a run as JSON.
#[track_caller]
pub fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("no JSON:\n{}", printed(output)))
}

/// The output of a run that must end with this code: its errors if the code is 2, otherwise its standard output.
#[track_caller]
pub fn ends_with(code: i32, arguments: &[&str]) -> String {
    let output = skyveil(arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{}", printed(&output));
    String::from_utf8(if code == 2 { output.stderr } else { output.stdout }).unwrap()
}
