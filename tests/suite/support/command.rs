//! Running the command.

use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A file of `datasets`.
pub fn dataset(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets").join(name)
}

/// A path as an argument.
pub fn shown(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The command under test: the one built with these tests, or another build that `SKYVEIL_BIN` names.
pub fn binary() -> PathBuf {
    std::env::var_os("SKYVEIL_BIN").map_or(env!("CARGO_BIN_EXE_skyveil").into(), PathBuf::from)
}

/// What a run of the command printed, and its exit code.
pub struct Outcome {
    pub out: String,
    pub error: String,
    pub code: i32,
}

impl Outcome {
    /// Standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|_| panic!("no JSON:\n{}{}", self.out, self.error))
    }
}

/// Runs the command.
pub fn run<S: AsRef<OsStr>>(arguments: &[S]) -> Outcome {
    run_in(Path::new("."), arguments)
}

/// Runs the command in a folder.
pub fn run_in<S: AsRef<OsStr>>(folder: &Path, arguments: &[S]) -> Outcome {
    let mut command = Command::new(binary());
    let output = command.args(arguments).current_dir(folder).stdin(Stdio::null()).output().unwrap();
    let [out, error] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    Outcome { out, error, code: output.status.code().expect("no signal ends the command") }
}
