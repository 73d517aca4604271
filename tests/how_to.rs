//! The pages under docs say what the command prints.
//!
//! What a page may hold, in blocks of three backticks with these words behind them:
//!
//! - `console`, in docs/how-to, or `console run` in any page of docs: every line `$ skyveil ...` is run, in the order of
//!   the page, and what follows is compared with what it prints, standard output before standard error. A line `...`
//!   stands for any lines.
//! - `toml NAME` or `csv NAME`: a file that the page lets the reader write.
//! - `csv show DIRECTORY`: the first rows of a published table, with its header. A line `...` stands for rows left out.
//!
//! Each page starts in an empty folder in which `datasets` is that of the repository.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use arrow::util::display::array_value_to_string;
use skyveil::table::read::{Column, Morsel, Table};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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

/// Whether the lines fit, where `...` stands for any number of them.
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
        let output = Command::new(env!("CARGO_BIN_EXE_skyveil"))
            .args(words(arguments))
            .current_dir(folder)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let [out, error] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(output.status.code() == Some(2), error.contains("error:"), "{place}: {command}\n{error}");
        compare(&format!("{place}: {command}"), expected.trim_end(), &format!("{out}{error}"));
        commands += 1;
    }
    commands
}

/// A cell of a CSV file, in quotes where it has to be.
fn cell(text: String) -> String {
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

/// All rows of a published table as CSV.
fn rows(directory: &Path) -> String {
    let table = Table::open(&[directory.to_path_buf()], &Default::default()).unwrap();
    let names: Vec<String> = table.schema().fields().iter().map(|field| field.name().clone()).collect();
    let columns: Vec<Column> = names.iter().map(Column::as_is).collect();
    let mut text = format!("{}\n", names.join(","));
    let work = |morsel: Morsel<'_>| {
        let mut lines = String::new();
        for batch in morsel {
            let batch = batch?;
            for row in 0..batch.num_rows() {
                let text = |column: usize| array_value_to_string(batch.column(column), row).unwrap();
                let cells: Vec<String> = (0..batch.num_columns()).map(|column| cell(text(column))).collect();
                lines.push_str(&format!("{}\n", cells.join(",")));
            }
        }
        Ok(lines)
    };
    let consume = |lines: String| {
        text.push_str(&lines);
        Ok(())
    };
    table.scan(&columns, 1, work, consume).unwrap();
    text
}

/// Which `console` blocks of a page are run.
#[derive(Clone, Copy, PartialEq)]
enum Run {
    All,
    Marked,
}

/// Runs a page; returns how many commands it has.
fn run_page(page: &Path, run: Run) -> usize {
    let blocks = blocks(&std::fs::read_to_string(page).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let datasets = Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets");
    std::os::unix::fs::symlink(datasets, folder.path().join("datasets")).unwrap();
    let place = page.display().to_string();
    let mut commands = 0;
    for block in &blocks {
        let words: Vec<&str> = block.words.iter().map(String::as_str).collect();
        match words[..] {
            ["console"] if run == Run::All => commands += run_commands(&place, block, folder.path()),
            ["console", "run"] => commands += run_commands(&place, block, folder.path()),
            ["csv", "show", directory] => {
                compare(&place, &format!("{}...", block.text), &rows(&folder.path().join(directory)));
            }
            ["toml" | "csv", name] => std::fs::write(folder.path().join(name), &block.text).unwrap(),
            _ => {}
        }
    }
    commands
}

fn pages(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> = entries.filter(|path| path.extension() == Some("md".as_ref())).collect();
    pages.sort();
    pages
}

#[test]
fn the_how_to_pages_say_what_happens() {
    let pages = pages("docs/how-to");
    assert!(pages.len() >= 6);
    for page in pages {
        assert!(run_page(&page, Run::All) > 0, "{}: no command", page.display());
    }
}

#[test]
fn commands_in_other_pages_that_are_marked_say_what_happens() {
    for page in ["docs", "docs/reference", "docs/explanation"].into_iter().flat_map(pages) {
        run_page(&page, Run::Marked);
    }
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
