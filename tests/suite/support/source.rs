//! The source of the crate as text: code without comments, literals and tests, and the literals separately.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// A file of `src`.
pub struct Source {
    /// Relative to `src`, with slashes.
    pub path: String,
    /// The code line by line, without comments, literals and test-only code.
    pub code: Vec<String>,
    /// String literals outside of tests, each with its line, counted from 1.
    pub literals: Vec<(usize, String)>,
}

impl Source {
    /// The top-level folder or file that a file belongs to.
    pub fn layer(&self) -> &str {
        self.path.split('/').next().unwrap().trim_end_matches(".rs")
    }

    /// The number of modules between the root and the file, including the file.
    pub fn depth(&self) -> usize {
        self.path.split('/').count() - usize::from(self.path.ends_with("/mod.rs"))
    }

    /// The identifiers and other non-blank characters of the code, with their lines.
    pub fn tokens(&self) -> Vec<(usize, &str)> {
        let mut tokens = Vec::new();
        for (number, line) in (1..).zip(&self.code) {
            let mut rest = line.trim_start();
            while let Some(first) = rest.chars().next() {
                let word = |c: char| c.is_alphanumeric() || c == '_';
                let end = match word(first) {
                    true => rest.find(|c| !word(c)).unwrap_or(rest.len()),
                    false if rest.starts_with("::") => 2,
                    false => first.len_utf8(),
                };
                tokens.push((number, &rest[..end]));
                rest = rest[end..].trim_start();
            }
        }
        tokens
    }
}

/// All files of `src` except those used only by tests, read once.
pub fn sources() -> &'static [Source] {
    static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(read_sources);
    &SOURCES
}

fn read_sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    collect(&root, &mut paths);
    paths.sort();
    let mut sources = Vec::new();
    for path in paths {
        let name = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
        let tests = name.split('/').any(|part| part.trim_end_matches(".rs").ends_with("tests"));
        if !tests {
            sources.push(parse(name, &std::fs::read_to_string(&path).unwrap()));
        }
    }
    assert!(sources.len() > 50, "only {} files were found", sources.len());
    sources
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => collect(&path, paths),
            false if path.extension() == Some("rs".as_ref()) => paths.push(path),
            false => {}
        }
    }
}

/// Separates code from literals and removes comments and tests.
pub fn parse(path: String, text: &str) -> Source {
    let (code, mut literals) = separate(text);
    let mut code: Vec<String> = code.lines().map(str::to_string).collect();
    let mut line = 0;
    while line < code.len() {
        if code[line].trim_start().starts_with("#[cfg(test)]") {
            let end = item_end(&code, line);
            code[line..=end].iter_mut().for_each(String::clear);
            literals.retain(|(at, _)| !(line + 1..=end + 1).contains(at));
            line = end;
        }
        line += 1;
    }
    Source { path, code, literals }
}

/// The last line of the item that begins on a line: where its braces close, or its semicolon.
pub fn item_end(code: &[String], start: usize) -> usize {
    let mut depth = 0i64;
    let mut opened = false;
    for (at, line) in code.iter().enumerate().skip(start) {
        for c in line.chars() {
            match c {
                '{' => (depth, opened) = (depth + 1, true),
                '}' => depth -= 1,
                ';' if !opened && depth == 0 => return at,
                _ => {}
            }
        }
        if opened && depth <= 0 {
            return at;
        }
    }
    code.len() - 1
}

/// The code with comments and literals replaced by blanks, with the same lines, and the string literals.
fn separate(text: &str) -> (String, Vec<(usize, String)>) {
    let characters: Vec<char> = text.chars().collect();
    let (mut code, mut literals) = (String::new(), Vec::new());
    let (mut at, mut line) = (0, 1);
    let word = |at: usize| characters.get(at).is_some_and(|c| c.is_alphanumeric() || *c == '_');
    while at < characters.len() {
        let rest = &characters[at..];
        let end = if rest.starts_with(&['/', '/']) {
            at + rest.iter().position(|c| *c == '\n').unwrap_or(rest.len())
        } else if rest.starts_with(&['/', '*']) {
            at + rest.windows(2).position(|two| two == ['*', '/']).map_or(rest.len(), |found| found + 2)
        } else if let Some((opening, hashes)) = raw_opening(rest).filter(|_| at == 0 || !word(at - 1)) {
            let closing: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
            let body = &rest[opening..];
            let length = body.windows(closing.len()).position(|w| w == closing).unwrap_or(body.len());
            literals.push((line, body[..length].iter().collect()));
            at + opening + length + closing.len()
        } else if rest[0] == '"' {
            let mut end = 1;
            while end < rest.len() && rest[end] != '"' {
                end += if rest[end] == '\\' { 2 } else { 1 };
            }
            literals.push((line, rest[1..end.min(rest.len())].iter().collect()));
            at + end + 1
        } else if rest[0] == '\'' && rest.get(1) == Some(&'\\') {
            at + 3 + rest.iter().skip(3).position(|c| *c == '\'').unwrap_or(0) + 1
        } else if rest[0] == '\'' && rest.get(2) == Some(&'\'') {
            at + 3
        } else {
            code.push(rest[0]);
            line += usize::from(rest[0] == '\n');
            at += 1;
            continue;
        };
        let lines = characters[at..end.min(characters.len())].iter().filter(|c| **c == '\n').count();
        code.push(' ');
        code.extend(std::iter::repeat_n('\n', lines));
        line += lines;
        at = end;
    }
    (code, literals)
}

/// Whether a raw string starts here: the length of its opening and the number of hashes.
fn raw_opening(rest: &[char]) -> Option<(usize, usize)> {
    let start = match rest {
        ['b', 'r', ..] => 2,
        ['r', ..] => 1,
        _ => return None,
    };
    let hashes = rest[start..].iter().take_while(|c| **c == '#').count();
    (rest.get(start + hashes) == Some(&'"')).then_some((start + hashes + 1, hashes))
}
