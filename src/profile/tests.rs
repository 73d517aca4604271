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
    // The date of birth says the same as the age, and nobody recognizes a ward.
    let zip = Quasi(QuasiForm::Prefix(vec![4, 3, 2, 1]));
    assert_eq!(roles(&csv), [Drop, Drop, Quasi(QuasiForm::Ranges), Drop, zip, Drop, Drop, Drop, Sensitive]);
    let dates = vec![DateLevel::Month, DateLevel::Quarter, DateLevel::Year, DateLevel::Decade];
    assert_eq!(roles(&csv.replacen("age", "x", 1))[3], Quasi(QuasiForm::Dates(dates)));
    let asked = OwnerChoices { sensitive: Some("ward".to_string()), ..OwnerChoices::default() };
    let profile = profile(&csv);
    assert_eq!(propose(&profile, &asked).unwrap().sensitive, 6);
    let wrong = OwnerChoices { sensitive: Some("wards".to_string()), ..OwnerChoices::default() };
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
    assert_eq!(roles(&owners)[0], Proposed::Drop);
    // One row per person: the number is just an identifier.
    let single = table("patient_id,age,diagnosis", 300, |i| format!("{i},{},d{}", i % 70, i % 11));
    assert_eq!(roles(&single)[0], Proposed::Drop);
}

#[test]
fn a_point_is_proposed_only_where_the_table_allows_it() {
    let point = |shares: &dyn Fn(usize) -> String| {
        let profile = profile(&table("age,disease", 2000, |i| format!("{},{}", i % 80, shares(i))));
        propose(&profile, &OwnerChoices { sensitive: Some("disease".into()), ..OwnerChoices::default() })
            .unwrap()
            .protection
            .point
    };
    let even = point(&|i| format!("d{}", i % 20)).unwrap();
    assert_eq!((even.l, even.k, even.m, even.confidence), (1, 5, 1, "0.8"));
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

/// The names of the columns with this role.
fn named(proposal: &PolicyProposal<'_>, role: &str) -> Vec<String> {
    let columns = proposal.profile.columns.iter().zip(&proposal.roles);
    columns.filter(|(_, (own, _))| own.name() == role).map(|(column, _)| column.name.clone()).collect()
}

#[test]
fn a_topic_has_one_column_and_few_topics_are_proposed() {
    let header = "age,birthyr,sex,race,hispanic,zip,state,county,education,marital,citizenship,industry,household,disease";
    let csv = table(header, 3000, |i| {
        format!(
            "{},{},s{},r{},h{},{:05},t{},c{},e{},m{},z{},i{},h{},d{}",
            i % 80,
            1930 + i % 80,
            i % 2,
            i % 5,
            i % 2,
            i % 700,
            i % 6,
            i % 300,
            i % 9,
            i % 4,
            i % 3,
            i % 12,
            i % 5,
            i % 7
        )
    });
    let profile = profile(&csv);
    let proposal = propose(&profile, &OwnerChoices::default()).unwrap();
    assert_eq!(named(&proposal, "quasi"), ["age", "sex", "race", "state", "education", "marital"]);
    let why = |name: &str| {
        let at = profile.columns.iter().position(|column| column.name == name).unwrap();
        proposal.roles[at].1.clone()
    };
    assert!(why("birthyr").contains("\"age\" says something similar"), "{}", why("birthyr"));
    assert!(why("household").contains("6 such columns are enough"), "{}", why("household"));
}

#[test]
fn columns_are_recognized_by_what_they_hold() {
    let csv = table("q1,q2,q3,disease", 3000, |i| {
        format!(
            "{},{},{},d{}",
            ["Male", "female", "F"][i % 3],
            ["New_York", "Ohio", "texas", "Utah"][i % 4],
            i % 95,
            i % 7
        )
    });
    let profile = profile(&csv);
    let proposal = propose(&profile, &OwnerChoices::default()).unwrap();
    assert_eq!(named(&proposal, "quasi"), ["q1", "q2", "q3"]);
}

#[test]
fn candidates_are_ranked_by_what_there_is_to_hide() {
    let csv = table("income,wage,occupation,job_code,diagnosis,age", 2000, |i| {
        let rare = if i % 50 == 0 { "ill" } else { "well" };
        format!("{},{},o{},{},{rare},{}", i % 2, i % 300, i % 9, i % 9, i % 80)
    });
    let profile = profile(&csv);
    let proposal = propose(&profile, &OwnerChoices::default()).unwrap();
    let names: Vec<&str> =
        proposal.candidates.iter().map(|own| profile.columns[own.column].name.as_str()).collect();
    assert_eq!(names, ["occupation", "job_code", "income", "wage", "diagnosis"]);
    let asked = OwnerChoices { sensitive: Some("income".to_string()), ..OwnerChoices::default() };
    let proposal = propose(&profile, &asked).unwrap();
    assert_eq!(named(&proposal, "sensitive"), ["income"]);
    // Somebody's work is known to others if it is not what is protected.
    assert_eq!(named(&proposal, "quasi"), ["occupation", "age"]);
}

#[test]
fn codes_weights_and_serial_numbers_are_told_apart() {
    let csv = table("h_seq,caseid,commonweight,sex,region,age,disease", 2000, |i| {
        format!("{},{i},{}.5,{},{},{},d{}", i / 2, i % 77, 1 + i % 2, i % 4, i % 80, i % 7)
    });
    let profile = profile(&csv);
    let proposal = propose(&profile, &OwnerChoices::default()).unwrap();
    assert_eq!(named(&proposal, "quasi"), ["sex", "region", "age"]);
    assert_eq!(proposal.codes, [3, 4]);
    assert!(proposal.roles[2].1.contains("weight of the rows"), "{}", proposal.roles[2].1);
}

#[test]
fn a_word_for_nothing_is_proposed_as_harmless_and_tried() {
    let csv = table("age,disease", 2000, |i| {
        format!(
            "{},{}",
            i % 80,
            if i % 3 == 0 { "Not in universe".to_string() } else { format!("d{}", i % 7) }
        )
    });
    let profile = profile(&csv);
    let proposal = propose(&profile, &OwnerChoices::default()).unwrap();
    let text = proposal.to_policy("t", &ReadingOptions::default()).unwrap();
    assert!(text.contains("\n# not_sensitive = [\"Not in universe\"]\n"), "{text}");
    let tried = proposal.strictnesses(&ReadingOptions::default()).unwrap();
    let labels: Vec<&str> = tried.iter().map(|own| own.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "l = 2, k = 5, m = 2, confidence = 0.5",
            "l = 1, k = 5, m = 1, confidence = 0.8 (proposed)",
            "l = 1, k = 3, m = 1, confidence = 0.9",
            "as proposed, with \"Not in universe\" harmless",
        ]
    );
    let harmless = |own: &Strictness| own.policy.columns.sensitive[0].not_sensitive.clone();
    assert!(harmless(&tried[1]).is_empty());
    assert_eq!(harmless(&tried[3]), ["Not in universe"]);
}
