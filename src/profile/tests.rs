//! Are columns counted correctly, and do the rules of thumb match the documentation?

use super::role::QuasiForm;
use super::tally::DistinctEstimate;
use super::*;
use crate::math::skyline::Values;
use crate::policy::hierarchy::DateLevel;
use crate::resources::Resources;
use crate::resources::budget::Budget;
use crate::resources::progress::Progress;
use crate::table::read::{ReadOptions, Table};

fn profile_with(csv: &str, threads: usize) -> Profile {
    let source = Box::new(std::io::Cursor::new(csv.as_bytes().to_vec()));
    let options = ReadOptions { batch_rows: 100, ..ReadOptions::default() };
    let table = Table::from_reader("table.csv", source, &options).unwrap();
    let progress = Progress::default();
    let resources = Resources { threads, ..Resources::new(Budget::new(1 << 30), &progress) };
    Profile::of(&table, &resources).unwrap()
}

fn profile(csv: &str) -> Profile {
    profile_with(csv, 1)
}

/// A table of `rows` rows whose cells are written by `row`.
fn table(header: &str, rows: usize, row: impl Fn(usize) -> String) -> String {
    let lines: Vec<String> = (0..rows).map(row).collect();
    format!("{header}\n{}\n", lines.join("\n"))
}

fn roles(csv: &str) -> Vec<Proposed> {
    let profile = profile(csv);
    let proposal = propose(&profile, &OwnerChoices::default()).unwrap();
    proposal.to_policy("t", &ReadingOptions::default()).unwrap();
    proposal.roles.into_iter().map(|(role, _)| role).collect()
}

#[test]
fn every_column_is_counted() {
    let csv = table("a,b,c", 1000, |i| format!("{},{},x{}", i % 7, if i % 10 == 0 { "" } else { "t" }, i));
    let profile = profile(&csv);
    assert_eq!(profile.rows, 1000);
    let distinct: Vec<u64> = profile.columns.iter().map(|column| column.counted.distinct).collect();
    assert_eq!(distinct, [7, 1, 1000]);
    assert_eq!(profile.columns[1].nulls, 100);
    assert_eq!(profile.columns[1].counts, Some(vec![900]));
    let pair = profile.combinations.iter().find(|combination| combination.columns == [0, 1]).unwrap();
    // Null is a value of a combination.
    assert_eq!(pair.counted.distinct, 14);
    assert_eq!(profile.combinations.iter().find(|c| c.columns == [0, 1, 2]).unwrap().counted.once, 1000);
}

#[test]
fn roles_follow_names_and_counts() {
    let header = "id,email,age,born,zip,note,ward,n,disease";
    let csv = table(header, 400, |i| {
        let note = format!("seen on ward {i} and sent home after a long talk with the family");
        let (born, zip) =
            (format!("19{}-0{}-1{}", 50 + i % 50, 1 + i % 9, i % 10), format!("0{:04}", i % 90));
        format!(
            "{},p{i}@example.org,{},{born},{zip},{note},w{},{},d{}",
            i * 7,
            i % 80,
            i % 9,
            1 + i % 3,
            i % 12
        )
    });
    use Proposed::*;
    let dates = vec![DateLevel::Month, DateLevel::Quarter, DateLevel::Year, DateLevel::Decade];
    assert_eq!(
        roles(&csv),
        [
            Drop,
            Drop,
            Quasi(QuasiForm::Ranges),
            Quasi(QuasiForm::Dates(dates)),
            Quasi(QuasiForm::Prefix(vec![4, 3, 2, 1])),
            Drop,
            Quasi(QuasiForm::Categories),
            Drop,
            Sensitive
        ]
    );
    let asked = OwnerChoices { sensitive: Some("ward".to_string()) };
    let profile = profile(&csv);
    assert_eq!(propose(&profile, &asked).unwrap().sensitive, 6);
    let wrong = OwnerChoices { sensitive: Some("wards".to_string()) };
    assert!(propose(&profile, &wrong).unwrap_err().to_string().contains("did you mean \"ward\"?"));
}

#[test]
fn nothing_is_proposed_to_be_kept() {
    let csv = table("x,y,z", 300, |i| format!("{},v{},{}.5", i % 4, i % 30, i));
    let profile = profile(&csv);
    let proposal = propose(&profile, &OwnerChoices::default()).unwrap();
    let text = proposal.to_policy("t", &ReadingOptions::default()).unwrap();
    assert!(!text.lines().any(|line| line.trim_start().starts_with("keep")));
    assert!(proposal.warnings[0].contains("only a guess"), "{:?}", proposal.warnings);
}

#[test]
fn codes_that_are_numbers_of_different_length_become_ranges() {
    let csv = table("zip,disease", 600, |i| format!("{},d{}", 501 + 137 * (i % 300), i % 7));
    assert_eq!(roles(&csv)[0], Proposed::Quasi(QuasiForm::Widths(vec![10, 100, 1000, 10_000])));
    let csv = table("zip,disease", 600, |i| format!("12{:02}*,d{}", i % 50, i % 7));
    assert_eq!(roles(&csv)[0], Proposed::Quasi(QuasiForm::Categories));
    let csv = table("zip,disease", 600, |i| format!("{},d{}", 10_501 + 137 * (i % 300), i % 7));
    assert_eq!(roles(&csv)[0], Proposed::Quasi(QuasiForm::Prefix(vec![4, 3, 2, 1])));
}

#[test]
fn people_with_several_rows_are_found_and_what_differs_between_them() {
    let csv = table("patient_id,age,clinic,diagnosis", 900, |i| {
        format!("{},{},c{},d{}", i / 3, (i / 3) % 70, i % 5, i % 11)
    });
    let profile = profile(&csv);
    let persons = profile.persons.as_ref().unwrap();
    assert_eq!((persons.column, &persons.varies[..]), (0, &[false, false, true, true][..]));
    let proposal = propose(&profile, &OwnerChoices::default()).unwrap();
    let names: Vec<&str> = proposal.roles.iter().map(|(role, _)| role.name()).collect();
    assert_eq!(names, ["individual", "quasi", "drop", "sensitive"]);
    assert_eq!(proposal.protection.values, Values::Multiset);
    // Two owners of hundreds of rows each are not people.
    let owners = table("owner,age,diagnosis", 900, |i| format!("{},{},d{}", i % 2, i % 70, i % 11));
    assert_eq!(roles(&owners)[0], Proposed::Quasi(QuasiForm::Ranges));
    // One row per person: the number is just an identifier.
    let single = table("patient_id,age,diagnosis", 300, |i| format!("{i},{},d{}", i % 70, i % 11));
    assert_eq!(roles(&single)[0], Proposed::Drop);
}

#[test]
fn a_point_is_proposed_only_where_the_table_allows_it() {
    let point = |shares: &dyn Fn(usize) -> String| {
        let profile = profile(&table("age,disease", 2000, |i| format!("{},{}", i % 80, shares(i))));
        propose(&profile, &OwnerChoices { sensitive: Some("disease".into()) }).unwrap().protection.point
    };
    let even = point(&|i| format!("d{}", i % 20)).unwrap();
    assert_eq!((even.l, even.k, even.m, even.confidence), (2, 5, 2, "0.5"));
    let binary = point(&|i| format!("d{}", i % 2)).unwrap();
    assert_eq!(binary.l, 0);
    let frequent = point(&|i| format!("d{}", u8::from(i % 25 == 0))).unwrap();
    assert_eq!((frequent.k, frequent.confidence), (0, "0.99"));
    assert_eq!(point(&|i| format!("d{}", u8::from(i == 0))), None);
}

#[test]
fn a_column_that_follows_from_another_is_told() {
    let csv = table("county,region,disease", 500, |i| format!("c{},r{},d{}", i % 40, i % 40 / 10, i % 9));
    let profile = profile(&csv);
    assert_eq!(profile.determined_by(1, 2), Some(0));
    assert_eq!(profile.determined_by(0, 2), None);
}

#[test]
fn ranges_leave_out_what_few_have() {
    let row = |i: usize| format!("{},d{}", if i == 500 { 98_765_432 } else { 20 + i % 40 }, i % 9);
    let profile = profile(&table("age,disease", 2000, row));
    assert_eq!(profile.columns[0].range, Some(("20".to_string(), "60".to_string())));
    let few = self::profile(&table("age,disease", 300, |i| format!("{},d{}", i % 80, i % 9)));
    assert_eq!(few.columns[0].range, None);
}

#[test]
fn the_profile_does_not_depend_on_threads_or_order() {
    let row = |i: usize| format!("{},{},{}", i % 50_021, (i * i) % 1013, i % 7);
    let csv = table("a,b,c", 20_000, row);
    let backwards = table("a,b,c", 20_000, |i| row(19_999 - i));
    let seen = |profile: &Profile| {
        let columns: Vec<DistinctEstimate> = profile.columns.iter().map(|column| column.counted).collect();
        (columns, profile.combinations.clone())
    };
    let one = seen(&profile_with(&csv, 1));
    assert_eq!(one, seen(&profile_with(&csv, 3)));
    assert_eq!(one, seen(&profile_with(&backwards, 2)));
}
