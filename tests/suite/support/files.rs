//! Files that a test writes and reads.

use super::command::{printed, skyveil_in};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;

/// A folder that is removed with the test.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A path in the folder as an argument.
    pub fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_string()
    }

    /// Writes a file; returns its path as an argument.
    pub fn write(&self, name: &str, contents: &str) -> String {
        std::fs::write(self.path(name), contents).unwrap();
        self.text(name)
    }

    /// Runs the command in the folder.
    pub fn run(&self, arguments: &[&str]) -> Output {
        skyveil_in(&self.path(""), arguments)
    }

    /// Runs the command in the folder; returns everything that it printed.
    #[track_caller]
    pub fn ends_with(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{}", printed(&output));
        printed(&output)
    }
}

/// Writes text to a new file in a folder.
pub fn text_file(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// A private file next to a release, such as its `.receipt.json` or its `.tree`.
pub fn beside(release: &Path, ending: &str) -> PathBuf {
    let name = release.file_name().unwrap().to_str().unwrap();
    release.with_file_name(format!("{name}{ending}"))
}

/// Removes a release and the private files next to it, as far as they are there.
pub fn remove_release(release: &Path) {
    let _ = std::fs::remove_dir_all(release);
    for ending in [".receipt.json", ".receipt.key", ".tree"] {
        let _ = std::fs::remove_file(beside(release, ending));
    }
}

/// Every file of a release with its bytes.
pub fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        match path.is_dir() {
            true => files
                .extend(contents(&path).into_iter().map(|(file, bytes)| (format!("{name}/{file}"), bytes))),
            false => {
                files.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    files
}
