//! The documents say what the command prints, and their links lead somewhere.
//!
//! A page may contain blocks of three backticks followed by these words:
//!
//! - `console` in docs/how-to, or `console run` in any document: every line `$ skyveil ...` is run, in the order of the
//!   page, and the following lines are compared with its output, standard output before standard error. A line `...`
//!   matches any lines. A page of docs/how-to without such a block is not tested.
//! - `console run TABLE`: the same, if `scripts/fetch.sh TABLE` has brought the table.
//! - `toml NAME` or `csv NAME`: a file that the page asks the reader to write.
//! - `toml uncomment NAME`: lines of a file before which the page asks the reader to remove the mark of a comment.
//! - `csv show DIRECTORY`: the first rows of a published table, with its header. A line `...` means omitted rows.
//!
//! Each page starts in a folder that contains only the `datasets` of the repository.

use crate::support::{decode, root, skyveil_in};
use std::path::{Path, PathBuf};

/// A block of a page.
struct Block {
    words: Vec<String>,
    text: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for line in page.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(words)) => {
                let words = words.split_whitespace().map(str::to_string).collect();
                open = Some(Block { words, text: String::new() });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => block.text.push_str(&format!("{line}\n")),
            (None, None) => {}
        }
    }
    blocks
}

/// The words of a command line; quotes hold words together.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in command.chars() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, ' ') => words.push(String::new()),
            (_, c) => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether the lines match, where `...` matches any number of them.
fn fits(expected: &[&str], printed: &[&str]) -> bool {
    match expected {
        [] => printed.is_empty(),
        ["...", rest @ ..] => (0..=printed.len()).any(|skipped| fits(rest, &printed[skipped..])),
        [first, rest @ ..] => printed.first() == Some(first) && fits(rest, &printed[1..]),
    }
}

fn compare(place: &str, expected: &str, printed: &str) {
    let (wanted, found): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), printed.lines().collect());
    assert!(fits(&wanted, &found), "{place}: the page says\n{expected}\nand the command prints\n{printed}");
}

/// Runs the commands of a block; returns how many there were.
fn run_commands(place: &str, block: &Block, folder: &Path) -> usize {
    let mut commands = 0;
    for part in format!("\n{}", block.text).split("\n$ ").skip(1) {
        let (command, expected) = part.split_once('\n').unwrap_or((part, ""));
        let Some(arguments) = command.strip_prefix("skyveil ") else {
            panic!("{place}: only commands of skyveil can be run, not {command:?}");
        };
        let output = skyveil_in(folder, &words(arguments));
        let [out, error] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(output.status.code() == Some(2), error.contains("error:"), "{place}: {command}\n{error}");
        compare(&format!("{place}: {command}"), expected.trim_end(), &format!("{out}{error}"));
        commands += 1;
    }
    commands
}

/// A cell of a CSV file, quoted if necessary.
fn cell(text: String) -> String {
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

/// All rows of a published table as CSV.
fn rows(directory: &Path) -> String {
    let table = decode(directory);
    let row = |row: &Vec<Option<String>>| {
        let cells = row.iter().map(|text| text.clone().map_or(String::new(), cell));
        cells.collect::<Vec<_>>().join(",")
    };
    std::iter::once(table.names.join(",")).chain(table.rows.iter().map(row)).map(|line| line + "\n").collect()
}

/// Which `console` blocks of a page are run.
#[derive(Clone, Copy, PartialEq)]
enum Run {
    All,
    Marked,
}

/// Runs a page; returns the number of its commands.
fn run_page(page: &Path, run: Run) -> usize {
    let blocks = blocks(&std::fs::read_to_string(page).unwrap());
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(root().join("datasets"), folder.path().join("datasets")).unwrap();
    let place = page.display().to_string();
    let mut commands = 0;
    for block in &blocks {
        let words: Vec<&str> = block.words.iter().map(String::as_str).collect();
        match words[..] {
            ["console"] if run == Run::All => commands += run_commands(&place, block, folder.path()),
            ["console", "run"] => commands += run_commands(&place, block, folder.path()),
            ["console", "run", table] if is_fetched(table) => {
                commands += run_commands(&place, block, folder.path());
            }
            ["toml", "uncomment", name] => uncomment(&place, block, &folder.path().join(name)),
            ["csv", "show", directory] => {
                compare(&place, &format!("{}...", block.text), &rows(&folder.path().join(directory)));
            }
            ["toml" | "csv", name] => {
                let path = folder.path().join(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, &block.text).unwrap();
            }
            _ => {}
        }
    }
    commands
}

/// Whether `scripts/fetch.sh` brought this table.
fn is_fetched(table: &str) -> bool {
    root().join(format!("datasets/fetched/{table}.csv")).exists()
}

/// Removes the mark before lines of a file, as a page asks for. The file is missing if the table is.
fn uncomment(place: &str, block: &Block, file: &Path) {
    let Ok(mut text) = std::fs::read_to_string(file) else { return };
    for line in block.text.lines() {
        let commented = format!("\n# {line}\n");
        assert!(text.contains(&commented), "{place}: {} has no line # {line}", file.display());
        text = text.replace(&commented, &format!("\n{line}\n"));
    }
    std::fs::write(file, text).unwrap();
}

/// All documents of the repository.
fn documents() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.extension() == Some("md".as_ref()) => pages.push(path),
                false => {}
            }
        }
    }
    let at_the_root =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "datasets/README.md"];
    pages.extend(at_the_root.map(|name| root().join(name)).into_iter().filter(|path| path.exists()));
    pages.sort();
    pages
}

#[test]
fn the_commands_of_the_documents_print_what_is_written() {
    let mut commands = 0;
    for page in documents() {
        let how_to = page.starts_with(root().join("docs/how-to"));
        commands += run_page(&page, if how_to { Run::All } else { Run::Marked });
    }
    assert!(commands > 10, "only {commands} commands were found");
}

#[test]
fn relative_links_of_the_documents_exist() {
    let mut links = 0;
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        for after in text.split("](").skip(1) {
            let target = after.split([')', '#', ' ']).next().unwrap_or("");
            if target.is_empty() || target.contains("://") {
                continue;
            }
            let path = document.parent().unwrap().join(target);
            assert!(path.exists(), "{}: {target} leads nowhere", document.display());
            links += 1;
        }
    }
    assert!(links > 20, "only {links} links were found");
}

#[test]
fn a_page_that_lies_is_caught() {
    assert!(fits(&["a", "...", "d"], &["a", "b", "c", "d"]));
    assert!(fits(&["..."], &[]));
    assert!(!fits(&["a", "...", "d"], &["a", "b", "c"]));
    assert!(!fits(&["a"], &["a", "b"]));
    assert!(!fits(&["a", "b"], &["a"]));
    assert_eq!(words("a 'b c' --d=\"e f\""), ["a", "b c", "--d=e f"]);
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.md");
    std::fs::write(&page, "```console\n$ skyveil --version\nskyveil 999\n```\n").unwrap();
    assert!(std::panic::catch_unwind(|| run_page(&page, Run::All)).is_err());
}
