//! The report on a release and on any table, as a user gets it.
use crate::support::{Folder, draws, ends_with, printed, skyveil};

/// Makes a release of a table; `keys` are placed before the other keys of `[columns]`.
fn release(folder: &Folder, name: &str, table: &str, keys: &str, sections: &str) -> String {
    let columns = format!("[columns]\nsensitive = \"s\"\n{keys}\n{sections}\n");
    let policy = folder.write("policy.toml", &columns);
    run(&["anonymize", table, "--policy", &policy, "--out", &folder.text(name)], 0);
    folder.text(name)
}

fn run(arguments: &[&str], code: i32) -> String {
    ends_with(code, arguments)
}

/// The page without its tags.
fn plain(page: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for c in page[page.find("<main>").unwrap()..].chars() {
        match c {
            '<' => inside = true,
            '>' => {
                inside = false;
                text.push(' ');
            }
            c if !inside => text.push(c),
            _ => {}
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Many people with a little structure: the first column says something about the second.
fn people() -> String {
    let mut table = String::from("age,city,born,pay,s\n");
    let mut pick = draws(11);
    for _ in 0..400 {
        let (age, city) = (20 + pick(10) * pick(6), ["Ulm", "Bonn|{x}", "Kiel", "Mainz"][pick(4) as usize]);
        let born = format!("{}-0{}-1{}", 1950 + pick(40), 1 + pick(9), pick(9));
        table.push_str(&format!("{age},{city},{born},{},v{}\n", pick(900), pick(5)));
    }
    table
}

const POINT: &str =
    "[privacy]\nk_anonymity = 5\n[[privacy.skyline]]\nl = 1\nk = 1\nm = 1\nconfidence = 0.9\n";

#[test]
fn one_group_of_two_values_is_as_far_from_the_original_as_the_definition_says() {
    let folder = Folder::new();
    let table = folder.write("t.csv", "q,s\na,x\na,y\na,x\na,y\na,x\na,y\nb,x\nb,y\n");
    let out = release(
        &folder,
        "r",
        &table,
        "",
        "[columns.quasi.q]\n[privacy]\nk_anonymity = 8\ndistinct_l_diversity = 2\n",
    );
    let page = plain(&run(
        &[
            "report",
            &out,
            "--original",
            &table,
            "--queries",
            "50",
            "--dimension",
            "1",
            "--selectivity",
            "0.25",
        ],
        0,
    ));
    // 3/4 log2(3/2) + 1/4 log2(1/2) bits.
    assert!(page.contains("divergence (bits) q 0.1887"), "{page}");
    // A query covers one of two codes and one of two values: 2 of 3, or 2 of 1, an error of 1/3 or of 1.
    assert!(page.contains("50 random queries (seed 1)") && page.contains("range of 1 quasi-identifiers"));
    let mean: f64 = {
        let at = page.find("mean relative error of count queries").unwrap();
        page[at..].split_whitespace().nth(6).unwrap().parse().unwrap()
    };
    let ones = (mean / 100.0 - 1.0 / 3.0) / (2.0 / 3.0) * 50.0;
    assert!((ones - ones.round()).abs() < 0.02 && (10.0..40.0).contains(&ones), "{mean}");
}

#[test]
fn ranges_cover_the_values_between_their_ends() {
    let folder = Folder::new();
    let mut rows = String::from("q,s\n");
    for (i, q) in [1, 1, 1, 1, 2, 11, 12, 12, 12, 12].into_iter().enumerate() {
        rows.push_str(&format!("{q},v{}\n", i % 2));
    }
    let table = folder.write("t.csv", &rows);
    for ranges in ["label", "bounds"] {
        let sections = format!(
            "[columns.quasi.q]\ngrid = 1\n[privacy]\nk_anonymity = 5\ndistinct_l_diversity = 2\n[publish]\nranges = \"{ranges}\"\n"
        );
        let out = release(&folder, ranges, &table, "", &sections);
        let page = plain(&run(&["report", &out, "--original", &table], 0));
        // Two groups of two values: 0.8 log2(0.4 / 0.25) + 0.2 log2(0.1 / 0.25) bits.
        assert!(page.contains("divergence (bits) q 0.2781"), "{page}");
    }
}

#[test]
fn how_ranges_are_written_does_not_change_what_they_tell() {
    let folder = Folder::new();
    let table = folder.write("t.csv", &people());
    let quasi = "[columns.quasi.age]\ndomain = [20, 70]\n[columns.quasi.city]\n[columns.quasi.born]\ngrid = \"day\"\n";
    let mut told = Vec::new();
    for ranges in ["label", "bounds"] {
        let publish = format!("{quasi}{POINT}[publish]\nranges = \"{ranges}\"\n");
        let out = release(&folder, ranges, &table, "drop = [\"pay\"]", &publish);
        let page = run(&["report", &out, "--original", &table, "--dimension", "3"], 0);
        let again = run(&["report", &out, "--original", &table, "--dimension", "3", "--threads", "1"], 0);
        assert_eq!(page, again);
        let text = plain(&page);
        let (from, to) = (text.find("How far is it").unwrap(), text.find("What is published").unwrap());
        assert!(!text[from..to].contains("infinite") && !text[from..to].contains("NaN"), "{text}");
        told.push(text[from..to].to_string());
    }
    assert_eq!(told[0], told[1]);
    let seeded = |seed: &str| {
        let out = folder.text("label");
        plain(&run(&["report", &out, "--original", &table, "--dimension", "3", "--seed", seed], 0))
    };
    assert_ne!(seeded("1"), seeded("2"));
}

#[test]
fn hierarchies_and_periods_are_compared_too() {
    let folder = Folder::new();
    let table = folder.write("t.csv", &people());
    let quasi = "[columns.quasi.age]\nlevels = [5, 20]\n[columns.quasi.city]\nhierarchy = { south = [\"Ulm\", \
                 \"Mainz\"], north = [\"Kiel\", \"Bonn|{x}\"] }\n[columns.quasi.born]\ndates = [\"month\", \"year\", \
                 \"decade\"]\n";
    let out = release(&folder, "r", &table, "drop = [\"pay\"]", &format!("{quasi}{POINT}"));
    let page = plain(&run(&["report", &out, "--original", &table], 0));
    let at = page.find("divergence (bits)").unwrap();
    let words: Vec<&str> = page[at..].split_whitespace().skip(2).take(6).collect();
    let mut names = [words[0], words[2], words[4]];
    names.sort();
    assert_eq!(names, ["age", "born", "city"]);
    let bits = [words[1], words[3], words[5]].map(|bits| bits.parse::<f64>().unwrap());
    assert!(bits.iter().all(|bits| (0.0..4.0).contains(bits)), "{page}");
    assert!(bits[0] >= bits[1] && bits[1] >= bits[2], "{page}");
}

#[test]
fn a_bucketized_release_tells_its_columns_exactly_and_answers_better() {
    let folder = Folder::new();
    let table = folder.write("t.csv", &people());
    let mut errors = Vec::new();
    for style in ["generalized", "bucketized"] {
        let sections = format!(
            "[columns.quasi.age]\ngrid = 1\n[columns.quasi.city]\n{POINT}[publish]\nstyle = \"{style}\"\n"
        );
        let out = release(&folder, style, &table, "drop = [\"pay\", \"born\"]", &sections);
        let page = plain(&run(&["report", &out, "--original", &table], 0));
        if style == "bucketized" {
            assert!(page.contains("age 0.0000 city 0.0000"), "{page}");
        }
        let at = page.find("mean relative error of count queries").unwrap();
        errors.push(page[at..].split_whitespace().nth(6).unwrap().parse::<f64>().unwrap());
    }
    assert!(errors[1] < errors[0] && errors[1] > 0.0, "{errors:?}");
}

/// The comparison takes more memory than the rest of the report where there are many columns.
#[test]
fn a_report_without_memory_for_a_comparison_is_made_without_it() {
    let folder = Folder::new();
    let names: Vec<String> = (0..60).map(|column| format!("q{column}")).collect();
    let row = |row: usize| format!("{}{}\n", ["a,", "b,"][row % 2].repeat(60), ["x", "y"][row / 2 % 2]);
    let rows: String = (0..5000).map(row).collect();
    let table = folder.write("t.csv", &format!("{},s\n{rows}", names.join(",")));
    let columns: String = names.iter().map(|name| format!("[columns.quasi.{name}]\n")).collect();
    let sections = format!(
        "{columns}[privacy]\nmodel = \"robust\"\nr = 2\nknown = [[\"q0\"]]\n[publish]\nstyle = \"bucketized\"\n"
    );
    let out = release(&folder, "r", &table, "", &sections);
    let told = |memory: &str| plain(&run(&["report", &out, "--original", &table, "--memory", memory], 0));
    assert!(told("2MiB").contains("Compared with l-diverse Mondrian"));
    let small = told("500KiB");
    assert!(small.contains("Not compared with l-diverse Mondrian: there is too little memory"), "{small}");
}

#[test]
fn a_robust_release_is_shown_beside_diverse_mondrian() {
    let folder = Folder::new();
    let rows = [("20", "m", "x"), ("20", "m", "y"), ("30", "f", "x"), ("30", "f", "y")];
    let lines: Vec<String> =
        (0..48).map(|row| rows[row % 4]).map(|(age, sex, s)| format!("{age},{sex},{s}\n")).collect();
    let text = |lines: &[String]| format!("age,sex,s\n{}", lines.concat());
    let table = folder.write("t.csv", &text(&lines));
    let sections = "[columns.quasi.age]\n[columns.quasi.sex]\n[privacy]\nmodel = \"robust\"\nr = 2\n[publish]\nstyle = \"bucketized\"\n";
    let out = release(&folder, "r", &table, "", sections);
    let page = run(&["report", &out, "--original", &table], 0);
    let told = plain(&page);
    // Both values are equally frequent at either age, so one cut leaves two groups whose answers are exact.
    assert!(told.contains("Compared with l-diverse Mondrian at the same 1/r"), "{told}");
    assert!(told.contains("Mondrian, no value above 1/r of a group 2 0.00 % 0.00 %"), "{told}");
    let reversed: Vec<String> = lines.into_iter().rev().collect();
    let again = folder.write("again.csv", &text(&reversed));
    let other = run(&["report", &out, "--original", &again, "--threads", "1"], 0);
    assert_eq!(plain(&other), told);
}

#[test]
fn a_kept_column_says_how_many_people_it_tells_apart() {
    let folder = Folder::new();
    let table = folder.write("t.csv", "q,pay,tag,s\n1,5,a,x\n1,5,a,y\n1,6,a,x\n1,7,a,y\n1,7,a,x\n");
    let out = release(
        &folder,
        "r",
        &table,
        "keep = [\"pay\", \"tag\"]",
        "[columns.quasi.q]\ngrid = 1\n[privacy]\nk_anonymity = 5\ndistinct_l_diversity = 2\n",
    );
    let page = plain(&run(&["report", &out], 0));
    assert!(
        page.contains("pay is published unchanged, row by row: 3 different values. 1 people (20.0 %)"),
        "{page}"
    );
    assert!(page.contains("tag is published unchanged, row by row: 1 value. Nobody has a value"), "{page}");
    assert_eq!(plain(&std::fs::read_to_string(folder.path("r/report.html")).unwrap()), page);
    assert!(page.contains("Not computed, because it needs the original table"));
    let file = folder.text("page.html");
    assert_eq!(run(&["report", &out, "--out", &file], 0), format!("{file}: safe, 5 people in 1 group\n"));
}

/// The page of a release, without its tags.
fn written(folder: &Folder, release: &str) -> String {
    plain(&std::fs::read_to_string(folder.path(release).join("report.html")).unwrap())
}

#[test]
fn the_page_shows_what_each_model_and_criterion_required() {
    let folder = Folder::new();
    let table = folder.write("t.csv", &people());
    let quasi = "[columns.quasi.age]\ngrid = 1\n[columns.quasi.city]\n[privacy]\nk_anonymity = 6\n";
    for (name, rules, shown) in [
        ("d", "distinct_l_diversity = 3", "fewest different values in a group safe"),
        ("t", "t_closeness = { t = 0.3 }", "safe 0."),
        (
            "i",
            "model = \"implications\"\nimplications = 2\nconfidence = 0.9",
            "disclosure safe 2 implications 0.",
        ),
    ] {
        let keys = "drop = [\"pay\", \"born\"]";
        let out = release(&folder, name, &table, keys, &format!("{quasi}{rules}\n"));
        let page = written(&folder, name);
        assert!(
            page.contains(
                "claim verdict adversary knows measured limit margin people in the smallest group safe"
            ),
            "{page}"
        );
        assert!(page.contains("at least 6") && page.contains(shown), "{page}");
        assert!(!page.contains("only the sizes of groups"), "{page}");
        assert_eq!(plain(&run(&["report", &out], 0)), page);
        assert!(page.contains("skyveil check RELEASE The policy"), "{page}");
        run(&["check", &out], 0);
    }
}

#[test]
fn beliefs_are_told_as_judged_when_the_release_was_made() {
    let folder = Folder::new();
    let table = folder.write("t.csv", &people());
    let sections = "[columns.quasi.age]\ngrid = 1\n[privacy]\nk_anonymity = 5\nmodel = \"beliefs\"\n\
                    [[privacy.beliefs]]\nbandwidth = 0.5\nt = 0.4\n";
    let keys = "drop = [\"pay\", \"born\", \"city\"]";
    let out = release(&folder, "r", &table, keys, sections);
    let page = written(&folder, "r");
    assert!(
        page.contains("safe by its policy") && page.contains("safe bandwidth 1/2 not shown at most 2/5"),
        "{page}"
    );
    assert!(page.contains("skyveil check RELEASE --original TABLE"), "{page}");
    let again = plain(&run(&["report", &out], 0));
    assert!(again.contains("no verdict on beliefs") && again.contains("not judged here"), "{again}");
    assert!(!again.contains("safe by its policy"), "{again}");
    let file = folder.text("page.html");
    let told = run(&["report", &out, "--out", &file], 0);
    assert!(
        told.starts_with(&format!("{file}: beliefs not judged, all else safe, 400 people in ")),
        "{told}"
    );
}

#[test]
fn a_kept_column_that_names_people_is_warned_of() {
    let folder = Folder::new();
    let rows: String = (0..20).map(|i| format!("{},n{i},c{},v{}\n", i % 2, i % 3, i % 4)).collect();
    let table = folder.write("t.csv", &format!("q,who,class,s\n{rows}"));
    let policy = folder.write(
        "p.toml",
        "accept = [\"unique kept values\"]\n[columns]\nsensitive = \"s\"\nkeep = [\"who\", \"class\"]\n[columns.quasi.q]\ngrid = 1\n[privacy]\nk_anonymity = 5\ndistinct_l_diversity = 2\n",
    );
    let output = skyveil(&["anonymize", &table, "--policy", &policy, "--out", &folder.text("r")]);
    let warned = String::from_utf8(output.stderr).unwrap();
    assert!(warned.contains("accepted: unique kept values: column \"who\" is kept, and 100.0 %"), "{warned}");
    assert!(!warned.contains("class"), "{warned}");
    let page = written(&folder, "r");
    let (badge, facts) =
        (page.find("safe by its policy").unwrap(), page.find("people in the smallest").unwrap());
    assert!(page[badge..facts].contains("The kept column who points at people: 100.0 % of them"), "{page}");
}

#[test]
fn penalties_are_for_the_owner() {
    let folder = Folder::new();
    let rows: String = (0..40).map(|i| format!("{},v{}\n", 20 + i, i % 4)).collect();
    let table = folder.write("t.csv", &format!("q,s\n{rows}"));
    release(
        &folder,
        "r",
        &table,
        "",
        "[columns.quasi.q]\ndomain = [0, 100]\n[privacy]\nk_anonymity = 40\ndistinct_l_diversity = 2\n",
    );
    let read = |name: &str| std::fs::read_to_string(folder.path(name)).unwrap();
    // One group with the label [20,60), whose values span 39 parts of 100.
    assert!(!read("r/manifest.json").contains("penalty") && !read("r/report.html").contains("0.39"));
    let receipt: serde_json::Value = serde_json::from_str(&read("r.receipt.json")).unwrap();
    let penalty = &receipt["utility"]["certainty_penalty"];
    assert_eq!((penalty["published"].as_f64(), penalty["tight"].as_f64()), (Some(0.39), Some(0.39)));
    let owners = skyveil(&["report", &folder.text("r"), "--receipt", &folder.text("r.receipt.json")]);
    assert!(printed(&owners).contains("Certainty penalty by column") && printed(&owners).contains("0.390"));
    // One group of 40, which the minimum of 40 keeps together.
    let words = plain(&printed(&owners));
    assert!(words.contains("Private. This report is for the owner"), "{words}");
    assert!(words.contains("the minimum group size of 40 40 1"), "{words}");
    assert!(!read("r/report.html").contains("What binds?"));
    // With the table, the receipt next to the release is found, and each line of the policy is tried.
    let whole = || plain(&printed(&skyveil(&["report", &folder.text("r"), "--original", &table])));
    let words = whole();
    assert!(words.contains("What binds?") && words.contains("What would a change gain?"), "{words}");
    assert!(words.contains("q: grid = 1") && words.contains("k_anonymity = 20"), "{words}");
    assert!(words.contains("What a finer grid would gain is below."), "{words}");
    std::fs::rename(folder.path("r.receipt.json"), folder.path("elsewhere.json")).unwrap();
    let words = whole();
    assert!(!words.contains("What binds?") && words.contains("q: grid = 1"), "{words}");
}

#[test]
fn any_table_of_groups_has_a_report() {
    let folder = Folder::new();
    let rows = "grp,s,note\n1,a,n1\n1,b,n1\n1,c,n2\n2,a,n3\n2,b,n4\n2,c,n5\n2,c,n5\n";
    let table = folder.write("t.csv", rows);
    let with = |more: &[&'static str]| {
        let mut arguments = vec!["report", table.as_str(), "--group", "grp", "--sensitive", "s"];
        arguments.extend(more);
        arguments.into_iter().map(str::to_string).collect::<Vec<_>>()
    };
    let page = |more: &[&'static str], code| {
        let arguments = with(more);
        plain(&run(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), code))
    };
    let open = page(&[], 0);
    for part in [
        "no verdict: nothing says what must hold",
        "c 0.5000",
        "may be known besides, below 1. Hatched",
        "3.5 people in a group, on average",
        "Discernibility (sum of squared group sizes): 25.",
        "only a release says what its labels stand for: the certainty penalty",
        "the divergence of the marginals and the error of count queries",
        "note is published unchanged, row by row: 5 different values. 3 people (42.9 %)",
        "Not a release of skyveil",
    ] {
        assert!(open.contains(part), "{part}\n{open}");
    }
    assert!(page(&["--point", "0,0,0,0.6"], 0).contains("safe at the requested points"));
    let unsafe_page = page(&["--point", "0,0,0,0.5"], 1);
    assert!(unsafe_page.contains("not safe at the requested") && unsafe_page.contains("unsafe"));
    let scattered = folder.write("scattered.csv", "grp,s,note\n1,a,n\n2,b,m\n1,b,n\n2,a,m\n");
    let page = plain(&run(&["report", &scattered, "--group", "grp", "--sensitive", "s"], 0));
    assert!(page.contains("2 different values. How many people it singles out"), "{page}");
}

#[test]
fn bad_input_is_refused_with_a_remedy() {
    let folder = Folder::new();
    let table = folder.write("t.csv", &people());
    let keys = "drop = [\"pay\", \"born\", \"city\"]";
    let out = release(&folder, "r", &table, keys, &format!("[columns.quasi.age]\ngrid = 1\n{POINT}"));
    let other = folder.write("other.csv", "a,b\n1,2\n");
    for (more, says) in [
        (vec!["--original", &other], "no column `age`"),
        (vec!["--original", &table, "--dimension", "2"], "ask about fewer columns (--dimension)"),
        (vec!["--original", &table, "--selectivity", "0"], "--selectivity"),
        (vec!["--original", &table, "--queries", "10001"], "--queries"),
        (vec!["--dimension", "1"], "--original"),
        (vec!["--point", "1,2"], "L,K,M"),
    ] {
        let arguments: Vec<&str> = ["report", &out].into_iter().chain(more).collect();
        assert!(run(&arguments, 2).contains(says), "{arguments:?}");
    }
    let foreign = ["report", &table, "--group", "age", "--sensitive", "s", "--original", &table];
    assert!(run(&foreign, 2).contains("labels of a release"));
    assert!(run(&["report", &table], 2).contains("--sensitive"));
}
