//! Each experiment runs, and writes what it promises.

use crate::support::library::read;
use crate::support::{draws, skyveil_in};
use std::path::{Path, PathBuf};

const FILES: [&str; 4] = ["numbers.csv", "result.json", "plot.svg", "index.html"];

/// Runs an experiment at the smallest size; its folder and its result.
fn reproduce(name: &str, folder: &Path) -> (PathBuf, serde_json::Value) {
    let output = skyveil_in(folder, &["reproduce", name, "--tiny", "--out", "out", "--data", "adult.csv"]);
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    let results = folder.join("out").join(name);
    for file in FILES {
        let text = std::fs::read_to_string(results.join(file)).expect(file);
        assert!(!text.is_empty() && !text.contains("NaN"), "{name}/{file}");
    }
    let json = std::fs::read_to_string(results.join("result.json")).expect("as it was written");
    let json: serde_json::Value = serde_json::from_str(&json).expect("as it was written");
    assert_eq!(json["experiment"], name);
    assert!(!json["shows"].as_array().expect("as it was written").is_empty());
    assert!(!json["run"].as_array().expect("as it was written").is_empty());
    assert!(!json["compared"].as_array().expect("as it was written").is_empty());
    let cells: usize = json["tables"]
        .as_array()
        .expect("as it was written")
        .iter()
        .map(|table| {
            table["columns"].as_array().expect("as it was written").len()
                * table["rows"].as_array().expect("as it was written").len()
        })
        .sum();
    assert_eq!(csv_rows(&results.join("numbers.csv")), cells, "{name}: every cell has its line");
    (results, json)
}

/// The rows of a CSV file with four columns each, read by the reader of tables.
fn csv_rows(path: &Path) -> usize {
    read(path, &["table", "row", "column", "value"]).num_rows()
}

/// The cells of a table of a result, row by row.
fn rows<'a>(result: &'a serde_json::Value, name: &str) -> Vec<&'a Vec<serde_json::Value>> {
    let tables = result["tables"].as_array().expect("as it was written");
    let table = tables.iter().find(|table| table["name"] == name).expect(name);
    table["rows"]
        .as_array()
        .expect("as it was written")
        .iter()
        .map(|row| row.as_array().expect("as it was written"))
        .collect()
}

/// A table with the columns and some of the values of Adult, drawn by a fixed rule.
fn write_adult(folder: &Path, people: u64) {
    let mut draw = draws(1);
    let mut below = |bound: usize| draw(bound as u64) as usize;
    let marital = ["Married-civ-spouse", "Divorced", "Never-married", "Widowed"];
    let occupations = [
        "Exec-managerial",
        "Sales",
        "Craft-repair",
        "Tech-support",
        "Adm-clerical",
        "Other-service",
        "Prof-specialty",
        "Farming-fishing",
    ];
    let mut text = String::from(
        "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,capital-gain,\
         capital-loss,hours-per-week,native-country,income\n",
    );
    for person in 0..people {
        text.push_str(&format!(
            "{},{},{person},{},1,{},{},Husband,{},{},0,0,40,United-States,<=50K\n",
            17 + below(60),
            ["Private", "State-gov", "Self-emp-inc"][below(3)],
            ["Bachelors", "HS-grad", "Masters", "11th"][below(4)],
            marital[below(4)],
            occupations[below(8)],
            ["White", "Black", "Other"][below(3)],
            ["Male", "Female"][below(2)],
        ));
    }
    std::fs::write(folder.join("adult.csv"), text).expect("as it was written");
}

#[test]
fn experiments_without_data_run() {
    let folder = tempfile::tempdir().expect("as it was written");
    for name in ["skyline-check", "scale-up", "exclusive"] {
        reproduce(name, folder.path());
    }
    let (_, theorem) = reproduce("theorem4", folder.path());
    let single: Vec<_> = rows(&theorem, "failures").into_iter().filter(|row| row[0] == "single").collect();
    assert!(!single.is_empty() && single.iter().all(|row| row[6] == 0), "{single:?}");
    let (_, exclusive) = reproduce("exclusive", folder.path());
    for row in rows(&exclusive, "published") {
        assert!(row[2] == "not printed" || row[2] == row[3], "{row:?}");
    }
}

#[test]
fn experiments_on_adult_run() {
    let folder = tempfile::tempdir().expect("as it was written");
    write_adult(folder.path(), 1200);
    for name in ["adult-skyline", "implications", "beliefs"] {
        reproduce(name, folder.path());
    }
    let (_, robust) = reproduce("robust", folder.path());
    let exact: Vec<_> =
        rows(&robust, "V").into_iter().map(|row| row[5].as_str().expect("as it was written")).collect();
    assert_eq!(exact, ["9/190", "21/170", "1/6", "9/110", "7/40", "21/95", "63/410", "21/220"]);
    let mut sound = rows(&robust, "ART");
    sound.retain(|row| row[1] == "ART, exact" || row[1] == "ART, ratio");
    assert!(!sound.is_empty() && sound.iter().all(|row| row[7] == 0), "{sound:?}");
}

#[test]
fn without_adult_the_script_is_named() {
    let folder = tempfile::tempdir().expect("as it was written");
    for name in ["adult-skyline", "implications", "robust", "beliefs"] {
        let output = skyveil_in(folder.path(), &["reproduce", name, "--quick"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("scripts/fetch-adult.sh"));
    }
    let output = skyveil_in(folder.path(), &["reproduce", "nothing"]);
    assert_eq!(output.status.code(), Some(2));
    let output = skyveil_in(folder.path(), &["reproduce", "page", "--out", "."]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn the_page_is_made_from_the_results() {
    let folder = tempfile::tempdir().expect("as it was written");
    let (_, result) = reproduce("exclusive", folder.path());
    reproduce("theorem4", folder.path());
    let output = skyveil_in(folder.path(), &["reproduce", "page", "--out", "out"]);
    assert!(output.status.success());
    let page = std::fs::read_to_string(folder.path().join("out/page/results.md")).expect("as it was written");
    assert!(page.contains("skyveil reproduce exclusive --tiny") && page.contains("Not a full run"));
    assert!(page.contains(result["question"].as_str().expect("as it was written")));
    assert!(page.find("merging groups") < page.find("naive, the inclusive"), "the order of the experiments");
    assert!(folder.path().join("out/page/results/exclusive.svg").is_file());
}
