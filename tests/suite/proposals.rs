//! Does `skyveil init` propose for real tables what an expert would?
//!
//! The tables are not in the repository: `scripts/fetch.sh census-income cps fars cces adult` brings them. What is proposed
//! for each is kept next to this file, without comments, dropped columns and their types; an intended change is recorded with
//!
//! ```text
//! SKYVEIL_FREEZE=1 cargo test --test suite proposals
//! ```
//!
//! Without them, small tables with the same names and kinds of columns stand in.

use crate::support::{dataset, printed, root, skyveil, text};
use serde_json::Value;
use std::path::Path;

/// What is proposed for a table.
struct Proposal {
    table: &'static str,
    sensitive: &'static str,
    quasi: &'static [&'static str],
    /// The best of the other columns that could be protected.
    next: &'static str,
    /// The columns of a small table of the same shape: a name and what it holds.
    columns: &'static str,
}

const PROPOSALS: [Proposal; 5] = [
    Proposal {
        table: "adult",
        sensitive: "occupation",
        quasi: &["age", "education", "marital-status", "race", "sex", "native-country"],
        next: "income",
        columns: "age 0-74 | workclass text 7 | fnlwgt 1-900 | education text 16 | education-num 0-16 | \
            marital-status text 7 | occupation text 14 | relationship text 6 | race text 5 | sex text 2 | \
            capital-gain 0-90 | capital-loss 0-90 | hours-per-week 0-99 | native-country text 41 | income text 2",
    },
    Proposal {
        table: "census-income",
        sensitive: "major-occupation",
        quasi: &["age", "education", "marital-status", "race", "sex", "citizenship"],
        next: "occupation-code",
        columns: "age 0-91 | class-of-worker text 9 | industry-code 0-52 | occupation-code 0-47 | education text 17 | \
            wage-per-hour mostly-zero | marital-status text 7 | major-industry text 24 | major-occupation half-none 15 | \
            race text 5 | hispanic-origin text 10 | sex text 2 | capital-gain mostly-zero | tax-filer text 6 | \
            previous-region text 6 | previous-state text 51 | household-detail text 34 | weight decimal | \
            migration-region text 9 | birthplace-father text 43 | birthplace text 43 | citizenship text 5 | \
            weeks-worked 0-53 | year 94-95 | income rare",
    },
    Proposal {
        table: "cps",
        sensitive: "agi_bin",
        quasi: &["age_head", "fips", "MARS"],
        next: "mcare_ben",
        columns: "e00200 mostly-zero | mcare_ben mostly-zero 8 | age_head 0-82 | age_spouse 0-66 | blind_head mostly-zero | \
            fips 1-6 | h_seq id | a_lineno 1-15 | s006 1-900 | FLPDYR same | MARS 1-4 | XTOT 1-9 | nu18 0-9 | \
            RECID id | agi_bin 0-16",
    },
    Proposal {
        table: "fars",
        sensitive: "INJURY_SEVERITY",
        quasi: &["CASE_STATE", "AGE", "SEX", "RACE"],
        next: "POLICE_REPORTED_ALCOHOL_INVOLVEMENT",
        columns: "CASE_STATE text 6 | AGE 0-99 | SEX text 3 | PERSON_TYPE text 9 | SEATING_POSITION text 26 | \
            EJECTION text 4 | POLICE_REPORTED_ALCOHOL_INVOLVEMENT text 4 | METHOD_ALCOHOL_DETERMINATION rare | \
            HISPANIC_ORIGIN text 9 | RACE text 18 | INJURY_SEVERITY text 8",
    },
    Proposal {
        table: "cces",
        sensitive: "religpew",
        quasi: &["birthyr", "gender", "educ", "race", "marstat", "inputstate"],
        next: "faminc_new",
        columns: "caseid id | commonweight decimal | vvweight_post decimal | tookpost 1-2 | CCEStake same | \
            birthyr 1920-1999 | gender 1-2 | educ 1-6 | race 1-8 | race_other rare | hispanic 1-2 | marstat 1-6 | \
            multrace_97 empty | inputzip id | region 1-4 | CC18_300_1 1-2 | pid3 1-5 | pid7 1-8 | sexuality mostly-zero | \
            religpew 1-12 | religpew_t rare | faminc_new 1-9 | inputstate 1-6 | HouseCand1Party text 3 | countyfips id",
    },
];

/// The cell of a row in a column of some kind.
fn cell(kind: &[&str], row: usize, place: usize) -> String {
    let spread = row * 7919 + row / 13 + place * 31;
    match kind {
        ["text", values] => format!("v{}", spread % values.parse::<usize>().unwrap()),
        ["half-none", values] if row.is_multiple_of(2) => {
            format!("v{}", spread % (values.parse::<usize>().unwrap() - 1))
        }
        ["half-none", _] => "Not in universe".to_string(),
        ["rare"] => if row.is_multiple_of(20) { "yes" } else { "__NA__" }.to_string(),
        ["mostly-zero", values @ ..] => {
            let values = values.first().map_or(300, |values| values.parse::<usize>().unwrap());
            if row.is_multiple_of(10) { (spread % values).to_string() } else { "0".to_string() }
        }
        ["decimal"] => format!("{}.25", spread % 900),
        ["id"] => (100_000 + row).to_string(),
        ["same"] => "2012".to_string(),
        ["empty"] => String::new(),
        [range] => {
            let (low, high) = range.split_once('-').unwrap();
            let (low, high): (usize, usize) = (low.parse().unwrap(), high.parse().unwrap());
            (low + spread % (high - low + 1)).to_string()
        }
        other => panic!("no kind of column: {other:?}"),
    }
}

/// A small table with these columns.
fn write_small(columns: &str, path: &Path) {
    let columns: Vec<Vec<&str>> =
        columns.split(" | ").map(|column| column.split_whitespace().collect()).collect();
    let names: Vec<&str> = columns.iter().map(|column| column[0]).collect();
    let mut csv = names.join(",") + "\n";
    for row in 0..3000 {
        let cells = columns.iter().enumerate().map(|(place, column)| cell(&column[1..], row, place));
        csv.push_str(&(cells.collect::<Vec<_>>().join(",") + "\n"));
    }
    std::fs::write(path, csv).unwrap();
}

fn expect(proposal: &Proposal, table: &Path) {
    let output = skyveil(&["init", text(table), "--json", "--no-trial"]);
    assert_eq!(output.status.code(), Some(0), "{}\n{}", proposal.table, printed(&output));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let of_role = |role: &str| -> Vec<&str> {
        let columns = found["columns"].as_array().unwrap().iter();
        columns.filter(|own| own["role"] == role).map(|own| own["name"].as_str().unwrap()).collect()
    };
    assert_eq!(of_role("sensitive"), [proposal.sensitive], "{}", proposal.table);
    let mut quasi = proposal.quasi.to_vec();
    let mut proposed = of_role("quasi");
    quasi.sort_unstable();
    proposed.sort_unstable();
    assert_eq!(proposed, quasi, "{}", proposal.table);
    assert_eq!(found["candidates"][1]["column"], proposal.next, "{}", proposal.table);
    for column in found["columns"].as_array().unwrap() {
        assert!(!column["why"].as_str().unwrap().is_empty(), "{column}");
    }
}

#[test]
fn small_tables_of_the_same_shape_get_the_proposals_of_the_real_ones() {
    let folder = tempfile::tempdir().unwrap();
    for proposal in &PROPOSALS {
        let path = folder.path().join(format!("{}.csv", proposal.table));
        write_small(proposal.columns, &path);
        expect(proposal, &path);
    }
}

#[test]
fn the_proposals_for_the_fetched_tables_stay() {
    for proposal in &PROPOSALS {
        let path = dataset(&format!("fetched/{}.csv", proposal.table));
        if !path.exists() {
            eprintln!("left out: scripts/fetch.sh {} brings the table", proposal.table);
            continue;
        }
        expect(proposal, &path);
        let kept = root().join(format!("tests/suite/proposals/{}.toml", proposal.table));
        let found = proposed_lines(&path);
        if std::env::var_os("SKYVEIL_FREEZE").is_some() {
            std::fs::write(&kept, &found).unwrap();
        }
        let expected = std::fs::read_to_string(&kept).unwrap();
        assert!(found == expected, "{}: {found}", proposal.table);
    }
}

/// The lines of the proposed policy that decide what is published.
fn proposed_lines(table: &Path) -> String {
    let output = skyveil(&["init", text(table), "--no-trial"]);
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    let policy: toml::Table = String::from_utf8(output.stdout).unwrap().parse().unwrap();
    let mut columns = policy["columns"].as_table().unwrap().clone();
    columns.remove("drop");
    let sensitive = match &columns["sensitive"] {
        toml::Value::String(name) => vec![name.clone()],
        sections => sections.as_table().unwrap().keys().cloned().collect(),
    };
    let quasi = columns["quasi"].as_table().unwrap().clone();
    let types = columns["types"].as_table_mut().unwrap();
    types.retain(|name, _| quasi.contains_key(name) || sensitive.iter().any(|own| own == name));
    let decided = [("columns", columns.into()), ("privacy", policy["privacy"].clone())];
    toml::Table::from_iter(decided.map(|(name, section)| (name.to_string(), section))).to_string()
}
