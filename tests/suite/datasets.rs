//! The tables and policies in datasets/ are complete and belong together.

use crate::support::dataset;
use std::collections::BTreeSet;
use std::fs;

/// Each table and its policy.
const TABLES: [(&str, &str, usize); 13] = [
    ("patients.csv", "patients.toml", 8),
    ("patients-generalized.csv", "patients-generalized.toml", 8),
    ("patients-bucketized/sensitive.csv", "patients-bucketized.toml", 8),
    ("hospital.csv", "hospital.toml", 10),
    ("hospital-generalized.csv", "hospital-generalized.toml", 10),
    ("hospital-bucketized/sensitive.csv", "hospital-bucketized.toml", 10),
    ("exclusive-table1.csv", "exclusive-names.toml", 10),
    ("exclusive-table2.csv", "exclusive.toml", 10),
    ("exclusive-table4-ga.csv", "exclusive.toml", 10),
    ("exclusive-table4-gb.csv", "exclusive.toml", 10),
    ("exclusive-table6.csv", "exclusive-names.toml", 10),
    ("census.csv", "census.toml", 5_000),
    ("clinic.csv", "clinic.toml", 240),
];

/// The header and the rows; the tables have no quotes.
fn read(name: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let text = fs::read_to_string(dataset(name)).expect(name);
    let cells = |line: &str| line.split(',').map(str::to_string).collect::<Vec<_>>();
    let mut lines = text.lines().map(cells);
    (lines.next().expect("a header"), lines.collect())
}

#[test]
fn every_column_has_one_role() {
    for (table, policy, rows) in TABLES {
        let (header, cells) = read(table);
        assert_eq!(cells.len(), rows, "{table}");
        assert!(cells.iter().all(|row| row.len() == header.len()), "{table}");
        let policy: toml::Table = fs::read_to_string(dataset(policy)).expect(policy).parse().expect(policy);
        let columns = policy["columns"].as_table().expect("columns");
        let mut roles = vec![columns["sensitive"].as_str().expect("a name").to_string()];
        if let Some(drop) = columns.get("drop") {
            roles.extend(
                drop.as_array().expect("a list").iter().map(|name| name.as_str().expect("a name").into()),
            );
        }
        let quasi = columns["quasi"].as_table().expect("quasi");
        roles.extend(quasi.keys().cloned());
        assert_eq!(roles.len(), header.len(), "{table}");
        assert_eq!(roles.iter().collect::<BTreeSet<_>>(), header.iter().collect::<BTreeSet<_>>(), "{table}");
        for (name, settings) in quasi {
            let Some(file) = settings.get("hierarchy") else { continue };
            let file = fs::read_to_string(dataset(file.as_str().expect("a file"))).expect("a hierarchy");
            let leaves: BTreeSet<&str> = file.lines().filter_map(|line| line.split(';').next()).collect();
            let column = header.iter().position(|title| title == name).expect("the column");
            assert!(cells.iter().all(|row| leaves.contains(row[column].as_str())), "{table}: {name}");
        }
    }
}

#[test]
fn releases_hold_the_people_of_their_tables() {
    for (original, generalized, bucketized, size) in [
        ("patients.csv", "patients-generalized.csv", "patients-bucketized", 4),
        ("hospital.csv", "hospital-generalized.csv", "hospital-bucketized", 5),
    ] {
        let (_, people) = read(original);
        let (_, released) = read(generalized);
        let (_, quasi) = read(&format!("{bucketized}/quasi.csv"));
        let (_, sensitive) = read(&format!("{bucketized}/sensitive.csv"));
        assert_eq!([released.len(), quasi.len(), sensitive.len()], [people.len(); 3]);
        for group in (0..people.len()).step_by(size).map(|start| start..start + size) {
            let diseases = |rows: &[Vec<String>]| {
                let mut all: Vec<String> =
                    rows[group.clone()].iter().filter_map(|row| row.last().cloned()).collect();
                all.sort();
                all
            };
            assert_eq!(diseases(&released), diseases(&people), "{generalized}");
            assert_eq!(diseases(&sensitive), diseases(&people), "{bucketized}");
            for row in group.clone() {
                assert_eq!(quasi[row][..3], people[row][1..4], "{bucketized}");
                assert_eq!(quasi[row][3], sensitive[row][0], "{bucketized}");
            }
        }
    }
}
