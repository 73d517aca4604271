//! Runs the command in a separate process.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::error::{Error, Result};

/// Runs `skyveil` with these arguments and reads the JSON object that it prints.
pub fn json(skyveil: &Path, arguments: &[&OsStr]) -> Result<Value> {
    let output =
        Command::new(skyveil).args(arguments).output().map_err(|source| Error::io(skyveil, source))?;
    let command = || arguments.first().map_or(String::new(), |name| name.to_string_lossy().into_owned());
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Error::input(
            format!("skyveil {} stopped: {}", command(), said.trim()),
            "see what it says above; an experiment needs its disk space, memory and data",
        ));
    }
    serde_json::from_slice(&output.stdout).map_err(|_| {
        Error::input(
            format!("skyveil {} printed no JSON object", command()),
            "this is a defect of skyveil, please report it",
        )
    })
}

/// Runs `skyveil anonymize` with a policy and these additional arguments; returns its JSON object.
pub fn anonymize(
    skyveil: &Path,
    table: &Path,
    policy: &Path,
    release: &Path,
    more: &[&OsStr],
) -> Result<Value> {
    let arguments: [&OsStr; 7] = [
        "anonymize".as_ref(),
        table.as_ref(),
        "--policy".as_ref(),
        policy.as_ref(),
        "--out".as_ref(),
        release.as_ref(),
        "--json".as_ref(),
    ];
    json(skyveil, &[&arguments, more].concat())
}
