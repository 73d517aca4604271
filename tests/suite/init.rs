//! Does `skyveil init` propose policies that work, without revealing the values of people?

use crate::support::{dataset, skyveil, text};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// Standard output and standard error of a run that ends with this code.
fn told(code: i32, arguments: &[&str]) -> (String, String) {
    let output = skyveil(arguments);
    let (out, error) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{out}\n{error}");
    (out, error)
}

/// Proposes a policy, makes a release with it unchanged, and checks the release. Returns the policy.
fn runs_as_it_is(table: &Path, flags: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (policy, out) = (folder.path().join("policy.toml"), folder.path().join("release"));
    told(0, &[&["init", text(table), "--out", text(&policy)], flags].concat());
    told(0, &["anonymize", text(table), "--policy", text(&policy), "--out", text(&out)]);
    told(0, &["check", text(&out)]);
    std::fs::read_to_string(policy).unwrap()
}

#[test]
fn the_proposed_policy_runs_on_the_census() {
    let policy = runs_as_it_is(&dataset("census.csv"), &[]);
    for line in [
        "[columns.sensitive.diagnosis]",
        "# not_sensitive = [\"None\"]",
        "# except = [\"None\"]",
        "[columns.quasi.age]",
        "    \"person_id\",  # 5000 different values",
        "\nage = \"integer\"\n",
        "\nregion = \"text\"\n",
        "# tried on all 5000 people:",
        "# l = 1, k = 5, m = 1, confidence = 0.8 (proposed)",
        "# as proposed, with \"None\" harmless",
    ] {
        assert!(policy.contains(line), "{line}\n{policy}");
    }
}

#[test]
fn the_proposed_policy_runs_on_agrawal() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("agrawal.parquet");
    told(0, &["generate", "agrawal", "--rows", "3000", "--out", text(&table)]);
    assert!(runs_as_it_is(&table, &[]).contains("ONLY A GUESS"));
    let asked = runs_as_it_is(&table, &["--sensitive", "zipcode"]);
    assert!(asked.contains("sensitive = \"zipcode\""));
}

#[test]
fn a_policy_against_known_distributions_explains_the_adversary_and_runs() {
    let folder = tempfile::tempdir().unwrap();
    let [table, policy] = ["census.csv", "policy.toml"].map(|name| folder.path().join(name));
    told(0, &["generate", "census", "--rows", "1000", "--out", text(&table)]);
    told(0, &["init", text(&table), "--model", "robust", "--out", text(&policy)]);
    let proposed = std::fs::read_to_string(&policy).unwrap();
    for line in [
        "for every column that others may know, and for every two of them",
        "\nmodel = \"robust\"\nr = 2  # at most ",
    ] {
        assert!(proposed.contains(line), "{line}\n{proposed}");
    }
    // Whichever statistics the owner names, it is a policy.
    let suppressing = proposed.replace("# suppress = \"1%\"", "suppress = \"90%\"");
    let named = suppressing.replacen("# known = [[", "known = [[", 1);
    for (name, chosen) in [("pairs", suppressing), ("singles", named)] {
        let out = folder.path().join(name);
        std::fs::write(&policy, chosen).unwrap();
        told(0, &["anonymize", text(&table), "--policy", text(&policy), "--out", text(&out)]);
        told(0, &["check", text(&out), "--original", text(&table)]);
    }
    for (column, expected) in [("marital", "robust"), ("sex", "more than half")] {
        let output = skyveil(&["init", text(&table), "--model", "robust", "--sensitive", column]);
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(said.contains(expected), "{said}");
    }
    let several = dataset("prescriptions.csv");
    let (_, error) = told(2, &["init", text(&several), "--model", "robust", "--sensitive", "drug"]);
    assert!(error.contains("several values"), "{error}");
}

#[test]
fn names_of_any_kind_are_quoted() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("odd.csv");
    let mut rows = String::from("\"a.b\";\"say \"\"hi\"\"\";straße 1;#x;group;\"di\nsease\";[y]\n");
    for i in 0..300 {
        rows.push_str(&format!(
            "{};u{};v{};{};{};d{};{}\n",
            i % 9,
            i % 5,
            i % 3,
            i % 40,
            i % 2,
            i % 6,
            i % 4
        ));
    }
    std::fs::write(&table, rows).unwrap();
    let flags = ["--delimiter", ";", "--sensitive", "di\nsease", "--type", "#x=text"];
    let policy = runs_as_it_is(&table, &flags);
    for line in ["[columns.quasi.\"a.b\"]", "delimiter = \";\"", "\n\"#x\" = \"text\"\n"] {
        assert!(policy.contains(line), "{line}\n{policy}");
    }
}

#[test]
fn missing_sensitive_values_get_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("gaps.csv");
    let row = |i: usize| {
        format!("{},{}\n", i % 30, if i.is_multiple_of(8) { String::new() } else { format!("d{}", i % 7) })
    };
    std::fs::write(&table, format!("age,disease\n{}", (0..400).map(row).collect::<String>())).unwrap();
    assert!(runs_as_it_is(&table, &[]).contains("null_is = \"unknown\""));
}

#[test]
fn people_with_several_rows_stay_one_person() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("visits.csv");
    let row = |i: usize| {
        let person = i * 7 % 300;
        format!("P{person},{},z{},c{},d{}\n", person % 60, person % 5, (i + i / 300) % 4, i % 11)
    };
    let rows: String = (0..900).map(row).collect();
    std::fs::write(&table, format!("patient_id,age,zone,clinic,diagnosis\n{rows}")).unwrap();
    let policy = runs_as_it_is(&table, &[]);
    for line in [
        "individual = \"patient_id\"",
        "values = \"multiset\"",
        "    \"clinic\",  # 4 different values; it differs",
    ] {
        assert!(policy.contains(line), "{line}\n{policy}");
    }
}

#[test]
fn an_existing_file_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let (census, out) = (dataset("census.csv"), folder.path().join("policy.toml"));
    std::fs::write(&out, "mine").unwrap();
    let (_, error) = told(2, &["init", text(&census), "--out", text(&out)]);
    assert!(error.contains("exists") && error.contains("--force"), "{error}");
    told(2, &["init", text(&census), "--hierarchy", "tract", "--out", text(&out)]);
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "mine");
    told(0, &["init", text(&census), "--out", text(&out), "--force"]);
    assert!(std::fs::read_to_string(&out).unwrap().contains("[columns]"));
}

#[test]
fn the_answer_is_the_same_for_any_threads_and_file_split() {
    let folder = tempfile::tempdir().unwrap();
    let census = std::fs::read_to_string(dataset("census.csv")).unwrap();
    let (header, rows) = census.split_once('\n').unwrap();
    let lines: Vec<&str> = rows.lines().collect();
    for (name, part) in [("a.csv", &lines[2000..]), ("b.csv", &lines[..2000])] {
        std::fs::write(folder.path().join(name), format!("{header}\n{}\n", part.join("\n"))).unwrap();
    }
    let one = told(0, &["init", text(&dataset("census.csv")), "--json", "--threads", "1"]).0;
    assert_eq!(one, told(0, &["init", text(folder.path()), "--json", "--threads", "3"]).0);
    let profile: Value = serde_json::from_str(&one).unwrap();
    assert_eq!(profile["rows"], 5000);
    assert_eq!(profile["columns"][2]["distinct"], 2);
}

/// Words of at least two characters that are not in the header.
fn cells(csv: &str) -> BTreeSet<String> {
    let mut cells: BTreeSet<String> =
        csv.lines().skip(1).flat_map(|line| line.split(',')).map(str::to_string).collect();
    let header: BTreeSet<&str> = csv.lines().next().unwrap().split(',').collect();
    cells.retain(|cell| cell.len() > 1 && !header.contains(cell.as_str()));
    cells
}

#[test]
fn no_value_of_the_table_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("secret.csv");
    let mut rows = String::from("person,age,job,zip,born,note,disease,wage\n");
    for i in 0..2000 {
        let wage = if i == 77 { 8_765_432_109u64 } else { 41_007 + i % 37 * 113 };
        let born = format!("19{:02}-0{}-1{}", 10 + i % 83, 1 + i % 9, i % 10);
        rows.push_str(&format!(
            "Qz{i},{},Jq{},Z{:05},{born},nq{i},Dq{},{wage}\n",
            i % 90,
            i % 300,
            i % 800,
            i % 23
        ));
    }
    std::fs::write(&table, &rows).unwrap();
    for flags in [&[][..], &["--json"], &["--sensitive", "job"]] {
        let (out, error) = told(0, &[&["init", text(&table)], flags].concat());
        let printed = format!("{out}{error}").replace(text(folder.path()), "");
        let words: BTreeSet<&str> =
            printed.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '.').collect();
        let shown: Vec<String> =
            cells(&rows).into_iter().filter(|cell| words.contains(cell.as_str())).collect();
        // Whole numbers are counts and shares of the profile: only numbers with more digits can be values.
        let shown: Vec<String> =
            shown.into_iter().filter(|cell| cell.len() > 4 || !is_number(cell)).collect();
        assert!(shown.is_empty(), "{shown:?}");
        assert!(!printed.contains("8765") && !printed.contains("9000000000"), "{printed}");
    }
}

fn is_number(cell: &str) -> bool {
    cell.bytes().all(|b| b.is_ascii_digit())
}

#[test]
fn a_hierarchy_file_covers_its_column_and_says_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let census = dataset("census.csv");
    let mut policy = String::from(
        "[columns]\nsensitive = \"diagnosis\"\ndrop = [\"person_id\", \"region\", \"county\", \"occupation\", \"industry\", \"sex\"]\n\
         [privacy]\nk_anonymity = 10\ndistinct_l_diversity = 2\n",
    );
    for column in ["age", "tract", "education", "marital", "cost"] {
        let file = folder.path().join(format!("{column}.csv"));
        let (_, error) = told(0, &["init", text(&census), "--hierarchy", column, "--out", text(&file)]);
        assert!(error.contains("not for publication"), "{error}");
        policy.push_str(&format!("[columns.quasi.{column}]\nhierarchy = \"{column}.csv\"\n"));
    }
    let (stated, out) = (folder.path().join("policy.toml"), folder.path().join("release"));
    std::fs::write(&stated, policy).unwrap();
    told(0, &["anonymize", text(&census), "--policy", text(&stated), "--out", text(&out)]);
    let ages = std::fs::read_to_string(folder.path().join("age.csv")).unwrap();
    assert!(ages.starts_with("0;[0,5);[0,10);[0,50);*\n"), "{ages}");
    let levels = std::fs::read_to_string(folder.path().join("education.csv")).unwrap();
    assert!(levels.contains("Master;*\n"), "{levels}");
}

#[test]
fn hierarchies_of_dates_times_and_odd_texts_can_be_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("t.csv");
    let mut rows = String::from("day,moment,text,zip,disease\n");
    for i in 0..200 {
        let day = format!("202{}-0{}-1{}", i % 3, 1 + i % 9, i % 10);
        let text = ["\"a;b\"", "\" blank \"", "\"say \"\"x\"\"\"", "plain"][i % 4];
        rows.push_str(&format!("{day},{day}T1{}:30:00,{text},{:05},d{}\n", i % 10, i % 60, i % 7));
    }
    std::fs::write(&table, rows).unwrap();
    let mut policy = String::from(
        "[columns]\nsensitive = \"disease\"\n[privacy]\nk_anonymity = 5\ndistinct_l_diversity = 2\n",
    );
    for column in ["day", "moment", "text", "zip"] {
        let file = folder.path().join(format!("{column}.txt"));
        told(0, &["init", text(&table), "--hierarchy", column, "--out", text(&file)]);
        policy.push_str(&format!("[columns.quasi.{column}]\nhierarchy = \"{column}.txt\"\n"));
    }
    let (stated, out) = (folder.path().join("policy.toml"), folder.path().join("release"));
    std::fs::write(&stated, policy).unwrap();
    told(0, &["anonymize", text(&table), "--policy", text(&stated), "--out", text(&out)]);
    let moments = std::fs::read_to_string(folder.path().join("moment.txt")).unwrap();
    assert!(
        moments.starts_with("2020-01-10T10:30:00;2020-01-10;2020-01;2020-Q1;2020;2020s;*\n"),
        "{moments}"
    );
    let (_, error) = told(2, &["init", text(&table), "--hierarchy", "zipp"]);
    assert!(error.contains("did you mean `zip`?"), "{error}");
}

#[test]
fn values_that_a_policy_lacks_are_counted_or_sent_to_other() {
    let folder = tempfile::tempdir().unwrap();
    let (table, policy) = (folder.path().join("t.csv"), folder.path().join("policy.toml"));
    let row = |i: usize| format!("x{},{},d{}\n", i % 10, i % 10, i % 7);
    std::fs::write(&table, format!("job,n,disease\n{}", (0..200).map(row).collect::<String>())).unwrap();
    let mut runs = 0;
    let mut run = |code: i32, job: &str, n: &str| {
        runs += 1;
        let text_of_policy = format!(
            "[columns]\nsensitive = \"disease\"\n[columns.quasi]\njob = {{ {job} }}\nn = {{ {n} }}\n[privacy]\nk_anonymity = 5\ndistinct_l_diversity = 2\n"
        );
        std::fs::write(&policy, text_of_policy).unwrap();
        let out = folder.path().join(format!("release{runs}"));
        told(code, &["anonymize", text(&table), "--policy", text(&policy), "--out", text(&out)]).1
    };
    let tree = "hierarchy = { low = [\"x0\", \"x1\"], high = [\"x2\"] }";
    let error = run(2, tree, "");
    assert!(error.contains("column \"job\": 7 values on 140 rows are not in the hierarchy"), "{error}");
    assert!(!error.contains("x3"), "{error}");
    run(0, &format!("{tree}, other = \"rest\""), "");
    let error = run(2, "order = [\"x0\", \"x1\", \"x2\", \"x3\"]", "");
    assert!(error.contains("column \"job\": 6 values on 120 rows are not in the order"), "{error}");
    run(0, "order = [\"x0\", \"x1\", \"x2\", \"x3\"], other = \"x3\"", "");
    let error = run(2, "", "hierarchy = { low = [0, 1, 2, 3, 4, 5, 6, 7, 8] }");
    assert!(error.contains("column \"n\": 1 value on 20 rows is not in the hierarchy"), "{error}");
    run(0, "", "hierarchy = { low = [0, 1, 2, 3, 4, 5, 6, 7, 8] }, other = \"more\"");
}

#[test]
fn mistakes_are_refused_with_a_remedy() {
    let census = dataset("census.csv");
    for (flags, expected) in [
        (&["--sensitive", "diagnosys"][..], "did you mean \"diagnosis\"?"),
        (&["--type", "age=float"], "one of integer, number"),
        (&["--type", "agee=text"], "did you mean `age`?"),
        (&["--force"], "--out"),
        (&["--threads", "0"], "0 is not in"),
    ] {
        let (_, error) = told(2, &[&["init", text(&census)], flags].concat());
        assert!(error.contains(expected), "{flags:?}\n{error}");
    }
}

#[test]
fn a_table_read_with_another_delimiter_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy.toml");
    let stated = "[columns]\nsensitive = \"c\"\nquasi = [\"a\", \"b\"]\n[privacy]\nk_anonymity = 2\n";
    std::fs::write(&policy, stated).unwrap();
    for (delimiter, shown) in [(';', "';'"), ('\t', "tab")] {
        let table = folder.path().join("t.csv");
        std::fs::write(&table, "a,b,c\n1,2,x\n2,3,y\n".replace(',', &delimiter.to_string())).unwrap();
        let (_, error) = told(2, &["init", text(&table)]);
        let expected =
            format!("one column; is the delimiter {shown}?\n  choose {shown} as delimiter (--delimiter)");
        assert!(error.contains(&expected), "{error}");
        let out = folder.path().join("out");
        let (_, error) =
            told(2, &["anonymize", text(&table), "--policy", text(&policy), "--out", text(&out)]);
        assert!(error.contains("write delimiter = ") && error.contains("1 mistake"), "{error}");
    }
}

#[test]
fn a_column_that_counts_is_no_quasi_identifier() {
    let (policy, warned) = told(0, &["init", text(&dataset("households-counted.csv"))]);
    assert!(policy.contains("# DECIDE: \"households\" looks like a count"), "{policy}");
    assert!(!policy.contains("[columns.quasi.households]"), "{policy}");
    assert!(warned.contains("count = \"households\""), "{warned}");
}

#[test]
fn codes_are_categories_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let row = |i: usize| format!("{},{},{},d{}\n", i % 70, 1 + i % 2, i * i % 5, i % 7);
    let rows: String = (0..400).map(row).collect();
    std::fs::write(place("t.csv"), format!("age,sex,race,disease\n{rows}")).unwrap();
    let batch = crate::support::library::read(Path::new(&place("t.csv")), &[]);
    crate::support::library::write(Path::new(&place("t.parquet")), &batch);
    let release = |table: &str| {
        let (policy, out) = (place(&format!("{table}.toml")), place(&format!("{table}-release")));
        told(0, &["init", &place(table), "--out", &policy]);
        told(0, &["anonymize", &place(table), "--policy", &policy, "--out", &out]);
        let stated = std::fs::read_to_string(&policy).unwrap();
        assert!(stated.contains("\nsex = \"text\"\n") && !stated.contains("grid = 1\n"), "{stated}");
        crate::support::contents(&Path::new(&out).join("data"))
    };
    assert!(release("t.csv") == release("t.parquet"));
}

#[test]
fn ages_with_zeros_before_them_are_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("t.csv");
    let row = |i: usize| format!("{:02},{:02},d{}\n", i % 90, i * i % 90, i % 7);
    let rows: String = (0..4000).map(row).collect();
    std::fs::write(&table, format!("age,zip,disease\n{rows}")).unwrap();
    let policy = runs_as_it_is(&table, &[]);
    assert!(policy.contains("[columns.quasi.age]\ngrid = 2\n") && policy.contains("\nage = \"integer\"\n"));
    assert!(
        policy.contains("[columns.quasi.zip]\nprefix") && policy.contains("\nzip = \"text\"\n"),
        "{policy}"
    );
    let policy = runs_as_it_is(&table, &["--type", "age=text"]);
    assert!(policy.contains("\nage = \"text\"\n") && !policy.contains("grid"), "{policy}");
}

#[test]
fn a_bad_cell_of_tomorrow_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let (table, policy) = (folder.path().join("t.csv"), folder.path().join("policy.toml"));
    let row = |i: usize| format!("{},{},{},d{}\n", i % 70, 1 + i % 2, 1000 + i, i % 7);
    let rows: String = (0..400).map(row).collect();
    std::fs::write(&table, format!("age,sex,wage,disease\n{rows}")).unwrap();
    let (out, _) = told(0, &["init", text(&table), "--out", text(&policy)]);
    assert!(out.contains("groups  penalty  median query error"), "{out}");
    let stated = std::fs::read_to_string(&policy).unwrap();
    assert!(stated.contains("\nsex = \"text\"\n") && stated.contains("\nwage = \"integer\"\n"), "{stated}");
    std::fs::write(&table, format!("age,sex,wage,disease\n{rows}unknown,1,1000,d1\n")).unwrap();
    let out = folder.path().join("release");
    let (_, error) = told(2, &["anonymize", text(&table), "--policy", text(&policy), "--out", text(&out)]);
    assert!(error.contains("row 401") && error.contains("`age`"), "{error}");
    let (out, _) = told(0, &["init", text(&table), "--no-trial"]);
    assert!(!out.contains("median query error"), "{out}");
}

#[test]
fn dates_with_the_day_first_are_dates() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("t.csv");
    let row = |i: usize| format!("{}.{}.19{},d{}\n", 1 + i % 28, 1 + i % 12, 30 + i % 70, i % 7);
    std::fs::write(&table, format!("born,disease\n{}", (0..900).map(row).collect::<String>())).unwrap();
    let policy = runs_as_it_is(&table, &[]);
    for line in ["dates = [\"month\", \"quarter\", \"year\", \"decade\"]", "\nborn = \"day-month-year\"\n"] {
        assert!(policy.contains(line), "{line}\n{policy}");
    }
    let both = |i: usize| format!("{}/{}/19{},d{}\n", 1 + i % 12, 1 + i % 12, 30 + i % 70, i % 7);
    std::fs::write(&table, format!("born,disease\n{}", (0..900).map(both).collect::<String>())).unwrap();
    let (policy, _) = told(0, &["init", text(&table)]);
    assert!(policy.contains("day or month first: declare which"), "{policy}");
    runs_as_it_is(&table, &["--type", "born=month-day-year"]);
}
