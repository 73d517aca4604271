//! Runs that run out of disk space or file handles: a clear error, no release, nothing left behind.

use crate::support::{binary, dataset, remove_release, text};
use std::path::Path;
use std::process::{Command, Output};

/// Runs the command in a shell that first imposes a limit.
fn starve(limit: &str, folder: &Path, arguments: &[&str]) -> Output {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{limit}; exec \"$@\"")).arg("sh");
    shell.arg(binary()).args(arguments).current_dir(folder);
    shell.output().unwrap()
}

fn table(folder: &Path) {
    let made = starve("true", folder, &["generate", "agrawal", "--rows", "300000", "--out", "t.parquet"]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let policy = "[columns]\nsensitive = \"zipcode\"\ndrop = [\"record\", \"class\"]\nkeep = [\"car\"]\n\
                  [columns.quasi.salary]\ngrid = 1\n[columns.quasi.age]\ngrid = 1\n[columns.quasi.loan]\ngrid = 1\n[columns.quasi.hvalue]\ngrid = 1\n\
                  [columns.quasi.commission]\ngrid = 1\n[columns.quasi.elevel]\ngrid = 1\n[columns.quasi.hyears]\ngrid = 1\n\
                  [privacy]\nk_anonymity = 50\ndistinct_l_diversity = 2\n";
    std::fs::write(folder.join("policy.toml"), policy).unwrap();
}

const ANONYMIZE: [&str; 10] = [
    "anonymize",
    "t.parquet",
    "--policy",
    "policy.toml",
    "--out",
    "release",
    "--memory",
    "56MiB",
    "--temp",
    ".",
];

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_full_disk_ends_a_run_with_a_message_and_without_a_release() {
    let folder = tempfile::tempdir().unwrap();
    table(folder.path());
    let before = names(folder.path());
    // Blocks of 512 bytes: enough for some of the files, too few for all.
    for blocks in [0, 40, 1_000] {
        let run = starve(&format!("ulimit -f {blocks}"), folder.path(), &ANONYMIZE);
        let told = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{blocks} blocks: {told}");
        assert!(told.starts_with("error:") && told.contains("ulimit -f"), "{blocks} blocks: {told}");
        assert_eq!(names(folder.path()), before, "{blocks} blocks");
    }
    let run = starve("ulimit -f unlimited", folder.path(), &ANONYMIZE);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

#[test]
fn a_release_has_the_permissions_that_the_mask_leaves() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (table, policy) = (dataset("clinic.csv"), dataset("clinic.toml"));
    for (mask, folders, files) in [("022", 0o755, 0o644), ("027", 0o750, 0o640), ("077", 0o700, 0o600)] {
        let arguments = ["anonymize", text(&table), "--policy", text(&policy), "--out", mask];
        let run = starve(&format!("umask {mask}"), folder.path(), &arguments);
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        for (name, expected) in
            [("", folders), ("data", folders), ("manifest.json", files), ("data/part-00000.parquet", files)]
        {
            let metadata = folder.path().join(mask).join(name).metadata().unwrap();
            assert_eq!(metadata.permissions().mode() & 0o777, expected, "umask {mask}: {name}");
        }
    }
}

#[test]
fn few_file_handles_suffice_or_end_a_run_with_a_message() {
    let folder = tempfile::tempdir().unwrap();
    table(folder.path());
    let before = names(folder.path());
    for handles in [4, 5, 7, 9, 16] {
        let run = starve(&format!("ulimit -n {handles}"), folder.path(), &ANONYMIZE);
        let told = String::from_utf8_lossy(&run.stderr);
        if run.status.success() {
            remove_release(&folder.path().join("release"));
        } else {
            assert_eq!(run.status.code(), Some(75), "{handles} handles: {told}");
            assert!(told.starts_with("error:") && !told.contains("panicked"), "{handles} handles: {told}");
        }
        assert_eq!(names(folder.path()), before, "{handles} handles");
    }
}
