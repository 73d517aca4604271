//! The shape of the crate: which part may use which, and what may occur in only one place.
//!
//! Reads `src` as text, without comments and test-only code.

use crate::support::source::{Source, item_end, parse, sources};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The parts of the crate. Each may use only those before it.
const LAYERS: [&str; 18] = [
    "error",
    "math",
    "resources",
    "table",
    "policy",
    "encode",
    "model",
    "group",
    "release",
    "check",
    "report",
    "audit",
    "anonymize",
    "profile",
    "generate",
    "reproduce",
    "lib",
    "cli",
];

/// The maximum number of lines of a function in `anonymize`.
const MOST_LINES: usize = 80;

/// Every part of the crate that a file uses, with the line.
fn uses(source: &Source) -> Vec<(usize, String)> {
    let tokens = source.tokens();
    let text = |at: usize| tokens.get(at).map_or("", |(_, token)| *token);
    let mut used = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let (line, start) = (tokens[at].0, at);
        let mut supers = 0;
        while text(at) == "super" && text(at + 1) == "::" {
            (supers, at) = (supers + 1, at + 2);
        }
        let root =
            if supers > 0 { supers == source.depth() } else { text(at) == "crate" && text(at + 1) == "::" };
        at += if supers == 0 && root { 2 } else { 0 };
        if root && text(at) == "{" {
            // The first names of `use crate::{a::b, c};`.
            let (mut depth, mut first) = (1, true);
            at += 1;
            while depth > 0 && at < tokens.len() {
                match text(at) {
                    "{" => depth += 1,
                    "}" => depth -= 1,
                    "," if depth == 1 => first = true,
                    name if first => {
                        used.push((line, name.to_string()));
                        first = false;
                    }
                    _ => {}
                }
                at += 1;
            }
        } else if root {
            used.push((line, text(at).to_string()));
        }
        at = at.max(start + 1);
    }
    used
}

fn rank(layer: &str) -> Option<usize> {
    LAYERS.iter().position(|name| *name == layer)
}

/// Every use of one part by another, with the first place of each.
fn edges(sources: &[Source]) -> BTreeMap<(String, String), String> {
    let mut edges = BTreeMap::new();
    for source in sources.iter().filter(|source| !["lib", "main"].contains(&source.layer())) {
        for (line, name) in uses(source) {
            // What `lib.rs` exports at the root.
            let used = if ["Error", "Result"].contains(&name.as_str()) { "error" } else { &name };
            let used = if rank(used).is_some() { used } else { "lib" };
            if used != source.layer() {
                let place = format!("src/{}:{line} uses {name}", source.path);
                edges.entry((source.layer().to_string(), used.to_string())).or_insert(place);
            }
        }
    }
    edges
}

#[test]
fn each_part_uses_only_those_before_it() {
    let sources = sources();
    let unknown: BTreeSet<&str> = sources
        .iter()
        .map(|source| source.layer())
        .filter(|layer| rank(layer).is_none() && *layer != "main")
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}: give each a place in LAYERS");
    let edges = edges(sources);
    assert!(edges.len() > 20, "the uses are not found: {edges:?}");
    let wrong: Vec<&String> =
        edges.iter().filter(|((user, used), _)| rank(user) < rank(used)).map(|(_, place)| place).collect();
    assert!(wrong.is_empty(), "against the order {LAYERS:?}:\n{wrong:#?}");
}

/// Places where the code contains this sequence of tokens.
fn places(source: &Source, sequence: &[&str]) -> Vec<String> {
    let tokens = source.tokens();
    let found = tokens.windows(sequence.len());
    let found = found.filter(|window| window.iter().map(|(_, token)| token).eq(sequence));
    found.map(|window| format!("src/{}:{}", source.path, window[0].0)).collect()
}

#[test]
fn models_are_told_apart_in_one_place() {
    let sources = sources();
    let found = |within: bool| -> Vec<String> {
        let files = sources.iter().filter(|source| (source.layer() == "model") == within);
        let variants = ["Skyline", "Implications", "Robust", "Beliefs"];
        files
            .flat_map(|source| variants.iter().flat_map(|variant| places(source, &["Model", "::", variant])))
            .collect()
    };
    assert!(!found(true).is_empty(), "the variants of Model have other names");
    assert!(found(false).is_empty(), "models are told apart outside of src/model: {:#?}", found(false));
}

#[test]
fn mathematics_needs_no_arrow_files_or_threads() {
    let sources = sources();
    let mut wrong = Vec::new();
    for source in sources.iter().filter(|source| source.layer() == "math") {
        for name in ["arrow_array", "arrow_schema", "arrow_buffer", "parquet", "rayon", "crossbeam_channel"] {
            wrong.extend(places(source, &[name, "::"]));
        }
        for name in ["fs", "thread", "path", "io", "net", "process", "env"] {
            wrong.extend(places(source, &["std", "::", name]));
        }
        let used = uses(source)
            .into_iter()
            .filter(|(_, name)| !["math", "error", "Error", "Result"].contains(&name.as_str()));
        wrong.extend(used.map(|(line, name)| format!("src/{}:{line} uses {name}", source.path)));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Whether a text names a flag: two hyphens and a letter after a blank, a quotation mark or the start. A whole command
/// line, which a page shows to its reader, does not count.
fn names_a_flag(text: &str) -> bool {
    let bytes = text.as_bytes();
    let starts = |at: usize| at == 0 || b" `('\"\n>".contains(&bytes[at - 1]);
    let command = text.contains("skyveil ");
    !command
        && (0..bytes.len().saturating_sub(2))
            .any(|at| &bytes[at..at + 2] == b"--" && bytes[at + 2].is_ascii_lowercase() && starts(at))
}

#[test]
fn only_the_command_line_names_flags() {
    let sources = sources();
    let mut found = Vec::new();
    // Experiments run the command and say how.
    for source in sources.iter().filter(|source| !["cli", "reproduce"].contains(&source.layer())) {
        let literals = source.literals.iter().filter(|(_, text)| names_a_flag(text));
        found.extend(literals.map(|(line, text)| format!("src/{}:{line}: {text}", source.path)));
    }
    assert!(found.is_empty(), "flags are named outside of src/cli: {found:#?}");
}

#[test]
fn no_two_public_types_share_a_name() {
    let mut named: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources() {
        let tokens = source.tokens();
        for (at, (line, token)) in tokens.iter().enumerate() {
            let text = |at: usize| tokens.get(at).map_or("", |(_, token)| *token);
            // `pub` and `pub(crate)`; an item visible only to its parent may have a local name.
            let at = match (*token, text(at + 1), text(at + 2)) {
                ("pub", "(", "crate") => at + 4,
                ("pub", ..) => at + 1,
                _ => continue,
            };
            if ["struct", "enum", "trait", "union", "type"].contains(&text(at)) {
                named
                    .entry(text(at + 1).to_string())
                    .or_default()
                    .push(format!("src/{}:{line}", source.path));
            }
        }
    }
    assert!(named.len() > 100, "the types are not found");
    let doubled: BTreeMap<_, _> = named.into_iter().filter(|(_, places)| places.len() > 1).collect();
    assert!(doubled.is_empty(), "{doubled:#?}");
}

#[test]
fn the_plot_has_short_functions() {
    let mut long = Vec::new();
    for source in sources().iter().filter(|source| source.layer() == "anonymize") {
        for (start, line) in source.code.iter().enumerate() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let Some(at) = words.iter().position(|word| *word == "fn") else { continue };
            let lines = item_end(&source.code, start) + 1 - start;
            let name = words.get(at + 1).map_or("", |word| word.split(['(', '<']).next().unwrap());
            let place = format!("{}: {name}", source.path);
            if lines > MOST_LINES {
                long.push(format!("{place}, {lines} lines"));
            }
        }
    }
    assert!(long.is_empty(), "functions above {MOST_LINES} lines: {long:#?}");
}

/// Only what `main.rs` declares is run.
#[test]
fn every_file_of_tests_is_run() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let suite = std::fs::read_to_string(tests.join("suite/main.rs")).unwrap();
    let names = |folder: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    let outside: Vec<String> = names(&tests).into_iter().filter(|name| name.ends_with(".rs")).collect();
    assert!(outside.is_empty(), "{outside:?} belong into tests/suite");
    let declared = |name: &String| suite.contains(&format!("\nmod {};", name.trim_end_matches(".rs")));
    let unused: Vec<String> =
        names(&tests.join("suite")).into_iter().filter(|name| name != "main.rs" && !declared(name)).collect();
    assert!(unused.is_empty(), "{unused:?} are not declared in tests/suite/main.rs");
}

/// The rules above would pass silently if the source were read incorrectly.
#[test]
fn source_is_read_as_the_compiler_reads_it() {
    let text = "use crate::{math::exact, table};\nuse super::super::check::Job; // crate::cli\n\
                fn f<'a>(c: char) -> &'a str { let _ = '\"'; let _ = '\\''; r#\"a \"--b\" c\"# }\n\
                /* crate::report */ const T: &str = \"line\n --flag\\\" x\";\n\
                #[cfg(test)]\nmod tests { use crate::group; const S: &str = \" --test\"; }\n\
                pub fn g() { crate::encode::run() }\n";
    let source = parse("model/robust.rs".to_string(), text);
    let used: Vec<String> = uses(&source).into_iter().map(|(_, name)| name).collect();
    assert_eq!(used, ["math", "table", "check", "encode"]);
    let literals: Vec<&str> = source.literals.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(literals, ["a \"--b\" c", "line\n --flag\\\" x"]);
    assert!(!names_a_flag("a--b -- c") && names_a_flag("say --memory") && names_a_flag("--memory"));
    assert!(!names_a_flag("run skyveil check --all"));
    assert_eq!(places(&source, &["crate", "::", "encode"]), ["src/model/robust.rs:8"]);
}
