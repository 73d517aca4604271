use super::*;
use crate::math::exact::{Rational, parse_fraction, ratio};

const SMALL: &str = "a;A;*\nb;A;*\nc;B;*\nd;*\n";

fn arx(text: &str) -> Hierarchy {
    parse_arx(text).unwrap_or_else(|problems| panic!("{problems:?}"))
}

fn problems(text: &str) -> Vec<String> {
    let line = |line: Option<usize>| line.map(|line| format!("line {line}: ")).unwrap_or_default();
    let found = parse_arx(text).expect_err("a hierarchy with problems");
    found
        .into_iter()
        .map(|found| format!("{}{}; {}", line(found.line), found.problem, found.remedy))
        .collect()
}

fn leaves(tree: &Hierarchy) -> Vec<&str> {
    (0..tree.leaf_count()).map(|code| tree.name(tree.leaf_node(code))).collect()
}

/// The names at each level for each leaf, to compare a whole tree at once.
fn shown(tree: &Hierarchy) -> Vec<String> {
    tree.rows().into_iter().map(|row| row.join(" ")).collect()
}

fn check_invariants(tree: &Hierarchy) {
    assert_eq!(tree.range(tree.root()), 0..tree.leaf_count());
    for node in tree.nodes() {
        assert_eq!(tree.node(tree.name(node)), Some(node));
        let children = tree.children(node);
        if children.is_empty() {
            assert_eq!(tree.range(node).len(), 1);
            assert_eq!((tree.height(node), tree.level(node)), (0, 0));
            continue;
        }
        assert_eq!(tree.range(children[0]).start, tree.range(node).start);
        assert_eq!(tree.range(children[children.len() - 1]).end, tree.range(node).end);
        for pair in children.windows(2) {
            assert_eq!(tree.range(pair[0]).end, tree.range(pair[1]).start);
        }
        for &child in children {
            assert_eq!(tree.parent(child), Some(node));
            assert!(node < child && tree.level(child) < tree.level(node));
        }
        assert_eq!(Some(tree.height(node)), children.iter().map(|&child| tree.height(child) + 1).max());
    }
}

#[test]
fn a_file_becomes_a_tree() {
    let tree = arx(SMALL);
    check_invariants(&tree);
    assert_eq!(leaves(&tree), ["a", "b", "c", "d"]);
    let group = tree.node("A").unwrap();
    assert_eq!(tree.range(group), 0..2);
    assert_eq!(
        tree.children(tree.root()).iter().map(|&node| tree.name(node)).collect::<Vec<_>>(),
        ["A", "B", "d"]
    );
    assert_eq!(tree.name(tree.smallest_cover(0, 1)), "A");
    assert_eq!(tree.name(tree.smallest_cover(1, 2)), "*");
    assert_eq!(tree.name(tree.smallest_cover(2, 2)), "c");
    assert_eq!(tree.name(tree.smallest_cover(3, 0)), "*");
    assert_eq!((tree.leaf("b"), tree.leaf("A"), tree.leaf("zzz")), (Some(1), None, None));
    assert_eq!((tree.height(group), tree.height(tree.root()), tree.top_level()), (1, 2, 2));
    assert_eq!(tree.distance(0, 1), ratio(1, 2));
    assert_eq!(tree.distance(0, 3), Rational::ONE);
    assert_eq!(tree.distance(2, 2), Rational::ZERO);
}

#[test]
fn levels_follow_the_fields_of_the_file() {
    let tree = arx("a;a;A;*\nb;B;B;*\nc;B;B;*\n");
    check_invariants(&tree);
    assert_eq!(shown(&tree), ["a a A *", "b B B *", "c B B *"]);
    assert_eq!(tree.name(tree.ancestor_at(0, 1)), "a");
    assert_eq!(tree.name(tree.ancestor_at(1, 1)), "B");
    assert_eq!(tree.name(tree.ancestor_at(1, 99)), "*");
    assert_eq!((tree.top_level(), tree.height(tree.root())), (3, 2));
}

#[test]
fn harmless_unevenness_is_accepted() {
    // Windows lines, a byte-order mark, quotes, blanks, an identical line twice, short lines, no root.
    let tree = arx("\u{feff}\"a;1\" ; A\r\n\r\n\"b \"\"x\"\"\";A;All\r\nc;All\r\nc;All;;\r\nz\r\n");
    check_invariants(&tree);
    assert_eq!(leaves(&tree), ["a;1", "b \"x\"", "c", "z"]);
    assert_eq!(tree.name(tree.root()), "*");
    assert_eq!(tree.range(tree.node("All").unwrap()), 0..3);
    // Groups that are not written together still become neighbours.
    let tree = arx("a;X;*\nb;Y;*\nc;X;*\n");
    check_invariants(&tree);
    assert_eq!(leaves(&tree), ["a", "c", "b"]);
}

#[test]
fn problems_name_their_line_and_no_value() {
    assert_eq!(problems(""), ["has no values; list every value, one line each: value;group;*"]);
    assert_eq!(
        problems("a;*\n;A;*\n"),
        ["line 2: the first field is empty; put the value first: value;group;*"]
    );
    assert_eq!(
        problems("a;;*\n"),
        [
            "line 1: field 2 is empty; name the group, or repeat the field before it if nothing changes on this level"
        ]
    );
    assert_eq!(
        problems("secret;A;*\nb;A;*\nsecret;B;*\nc;A;B;*\n"),
        [
            "line 3: field 1 has another parent here than on line 1; give every value and group one parent only",
            "line 4: field 2 has another parent here than on line 1; give every value and group one parent only",
        ]
    );
    assert_eq!(
        problems("a;X;*\nX;*\n"),
        [
            "line 1: the value in the first field is also the name of a group; give the group another name, so that a published label means one thing"
        ]
    );
    let circle = ["some groups contain each other; order the fields of each line from narrow to wide"];
    assert_eq!(problems("a;X;Y\nb;Y;X\n"), circle);
    assert_eq!(problems("a;*;X\nb;Y\n"), circle);
    assert_eq!(problems("a,A,*\nb,A,*\n"), ["line 1: no line has a ;; separate the fields of a line by ;"]);
    assert_eq!(
        problems("a;*\n\"b;*\n"),
        [
            "line 2: a quoted field does not end, or text follows its closing quote; write \"a;b\" around a field with ; and double a quote inside it"
        ]
    );
    assert_eq!(problems(&format!("a{}\n", ";x".repeat(2000))).len(), 1);
    assert_eq!(problems(&";\n".repeat(100)).len(), 5);
}

#[test]
fn values_outside_go_to_the_other_leaf() {
    let tree = arx(SMALL).with_other("Rest").unwrap();
    check_invariants(&tree);
    assert_eq!(tree.leaf("zzz"), tree.own_leaf("Rest"));
    assert_eq!((tree.leaf("zzz"), tree.other(), tree.leaf("b")), (Some(4), Some(4), Some(1)));
    assert_eq!(arx(SMALL).with_other("d").unwrap().leaf("zzz"), Some(3));
    assert_eq!(arx(SMALL).with_other("A").unwrap_err().problem, "is the name of a group");
    assert_eq!(arx(SMALL).leaf("zzz"), None);
}

#[test]
fn widths_make_ranges_between_multiples() {
    let number = |text: &str| (parse_fraction(text).unwrap(), text.to_string());
    let values = ["19", "7", "-3", "10", "9.5", "20"].map(number);
    let tree = by_widths(&values, &[ratio(5, 2), ratio(10, 1)]).unwrap();
    check_invariants(&tree);
    assert_eq!(
        shown(&tree),
        [
            "-3 [-5,-2.5) [-10,0) *",
            "7 [5,7.5) [0,10) *",
            "9.5 [7.5,10) [0,10) *",
            "10 [10,12.5) [10,20) *",
            "19 [17.5,20) [10,20) *",
            "20 [20,22.5) [20,30) *",
        ]
    );
}

#[test]
fn ends_make_ranges_open_at_the_outside() {
    let values = [3, 18, 40, 99].map(|age| (age, age.to_string()));
    let end = |age: i32| (age, age.to_string());
    let tree = by_ends(&values, &[vec![end(18), end(40)], vec![end(40)]]).unwrap();
    check_invariants(&tree);
    assert_eq!(
        shown(&tree),
        ["3 (,18) (,40) *", "18 [18,40) (,40) *", "40 [40,) [40,) *", "99 [40,) [40,) *"]
    );
}

#[test]
fn prefixes_keep_short_codes_and_cut_characters() {
    let tree = by_prefixes(["10115", "10117", "20095", "10", "äöü"], &[3, 1]).unwrap();
    check_invariants(&tree);
    assert_eq!(
        shown(&tree),
        ["10 10 1* *", "10115 101* 1* *", "10117 101* 1* *", "20095 200* 2* *", "äöü äöü ä* *"]
    );
    assert!(by_prefixes(["12", "1*"], &[1]).is_err());
}

#[test]
fn days_lie_in_periods_of_the_calendar() {
    let days = ["2020-02-29", "1969-12-31", "2020-07-01", "2019-12-30"].map(|day| parse_day(day).unwrap());
    let tree = by_dates(&days, &[DateLevel::Month, DateLevel::Quarter, DateLevel::Decade]).unwrap();
    check_invariants(&tree);
    assert_eq!(
        shown(&tree),
        [
            "1969-12-31 1969-12 1969-Q4 1960s *",
            "2019-12-30 2019-12 2019-Q4 2010s *",
            "2020-02-29 2020-02 2020-Q1 2020s *",
            "2020-07-01 2020-07 2020-Q3 2020s *",
        ]
    );
    for (day, week) in [
        ("2019-12-30", "2020-W01"),
        ("2020-12-31", "2020-W53"),
        ("2021-01-03", "2020-W53"),
        ("2021-01-04", "2021-W01"),
        ("1970-01-01", "1970-W01"),
        ("1969-12-28", "1969-W52"),
    ] {
        assert_eq!(DateLevel::Week.label(parse_day(day).unwrap()), week, "{day}");
    }
    assert_eq!(parse_day("1970-01-01T23:59:59"), Some(0));
    for bad in
        ["", "2021-02-29", "2021-13-01", "2021-1-01", "20210101", "2021-01-01x", "+021-01-01", "äöü-01-01"]
    {
        assert_eq!(parse_day(bad), None, "{bad}");
    }
    for day in (-1_000_000..1_000_000).step_by(37) {
        let label = DateLevel::Day.label(day);
        assert!(label.len() > 10 || parse_day(&label) == Some(day), "{label}");
    }
    for day in [i64::MIN, i64::MAX] {
        for (_, level) in DateLevel::NAMES {
            assert!(!level.label(day).is_empty());
        }
    }
}

#[test]
fn exact_decimals_are_written_where_they_end() {
    for (text, shown) in
        [("1/8", "0.125"), ("-5/2", "-2.5"), ("30", "30"), ("1/3", "1/3"), ("-0.05", "-0.05")]
    {
        assert_eq!(decimal_text(&parse_fraction(text).unwrap()), shown);
    }
}

/// Random rows, one seed each: every accepted tree satisfies the invariants, and its rows rebuild it.
#[test]
fn random_rows_never_panic_and_rebuild() {
    let mut state = 1u64;
    let mut next = move |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    let mut accepted = 0;
    for _ in 0..3000 {
        let mut text = String::new();
        for _ in 0..next(6) {
            let fields: Vec<String> = (0..1 + next(4))
                .map(|field| match next(20) {
                    0 => String::new(),
                    1 => "*".to_string(),
                    2 => "\"".to_string(),
                    3 => "x\0ä".to_string(),
                    _ => format!("{}{}", ["v", "g", "h", "*"][field as usize], next(3)),
                })
                .collect();
            text.push_str(&fields.join(";"));
            text.push_str(["\n", "\r\n", ";\n"][next(3) as usize]);
        }
        let Ok(tree) = parse_arx(&text) else { continue };
        accepted += 1;
        check_invariants(&tree);
        let rows = tree.rows().into_iter().enumerate().map(|(at, names)| Row { line: at + 1, names });
        assert_eq!(from_rows(&rows.collect::<Vec<_>>()).unwrap(), tree, "{text}");
        let tree = tree.with_other("somewhere else").unwrap();
        check_invariants(&tree);
        for (low, high) in
            (0..tree.leaf_count()).flat_map(|low| (low..tree.leaf_count()).map(move |high| (low, high)))
        {
            let cover = tree.smallest_cover(low, high);
            let covers = |node: Node| tree.range(node).contains(&low) && tree.range(node).contains(&high);
            assert!(covers(cover));
            assert!(!tree.children(cover).iter().any(|&child| covers(child)));
        }
    }
    assert!(accepted > 300, "{accepted}");
}
