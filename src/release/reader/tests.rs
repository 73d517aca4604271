use super::*;
use crate::encode::attribute::{Attribute, Coding, Leaves};
use crate::encode::cells::keys_array;
use crate::encode::column_values::Collector;
use crate::encode::grid::ColumnGrid;
use crate::encode::scale::{float_key, key_float};
use crate::group::groups::Present;
use crate::model::Policy;
use crate::release::label::Labels;
use crate::release::penalty::LabelWidths;
use arrow_array::{ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, StringArray};
use arrow_schema::TimeUnit;
use proptest::prelude::*;
use std::sync::Arc;

fn quasi(table: &str) -> Quasi {
    let policy = format!(
        "[columns]\nsensitive = \"s\"\n[columns.quasi]\nq = {{ {table} }}\n\
         [privacy]\nminimum_group_size = 2\n"
    );
    Policy::parse(&policy, "policy.toml").unwrap().columns.quasi[0].clone()
}

fn attribute(quasi: &Quasi, kind: &ColumnKind, array: &ArrayRef) -> Attribute {
    let mut collector = Collector::of_quasi(quasi, kind).unwrap();
    collector.observe(&kind.canonical(array).unwrap(), None).unwrap();
    Attribute::of_quasi(quasi, collector.finish()).unwrap()
}

/// A group in which some codes occur.
fn group(attribute: &Attribute, chosen: &[usize]) -> Present {
    let mut present: Vec<u16> = chosen.iter().map(|&at| (at as u32 % attribute.codes()) as u16).collect();
    present.sort_unstable();
    present.dedup();
    let ends = (u32::from(present[0]), u32::from(present[present.len() - 1]));
    let least_above = present.iter().find(|&&code| code > 0).map_or(0, |&code| code.into());
    let listed = matches!(attribute.coding, Coding::Set { .. } | Coding::Tree { .. });
    Present { ends, least_above, codes: if listed { present } else { vec![] } }
}

/// Whether the label of a group is to cover a value of the column, given as its code, if it has one, and its key.
fn meant(attribute: &Attribute, present: &Present, code: Option<u32>, key: Option<i64>) -> bool {
    let null = u32::from(attribute.nulls);
    let least = if attribute.nulls && present.ends.0 == 0 { present.least_above } else { present.ends.0 };
    if code == Some(0) && attribute.nulls {
        return present.ends.0 == 0;
    }
    if attribute.nulls && present.ends.1 == 0 {
        return false;
    }
    match (&attribute.coding, key) {
        (Coding::Numbers(ordered), Some(key)) => {
            let cell = |code: u32| ordered.cells()[(code - null) as usize];
            cell(least).first <= key && key <= cell(present.ends.1).last
        }
        (Coding::TextRanges { .. }, _) => code.is_some_and(|code| least <= code && code <= present.ends.1),
        (Coding::Set { .. }, _) => code.is_some_and(|code| present.codes.contains(&(code as u16))),
        (Coding::Tree { hierarchy, .. }, _) => {
            let node = hierarchy.smallest_cover(least - null, present.ends.1 - null);
            code.is_some_and(|code| hierarchy.range(node).contains(&(code - null)))
        }
        (Coding::Numbers(_), None) => false,
    }
}

/// Reads the label of a group and checks the values, and null, against it.
fn assert_read_back(
    quasi: &Quasi,
    kind: &ColumnKind,
    attribute: &Attribute,
    group: &Present,
    values: &[Option<String>],
) {
    let labels = Labels::new(attribute, kind.clone());
    let text = labels.label(group);
    let reader = LabelReader::new(quasi, kind);
    let label = reader.read(&text).unwrap();
    for value in values {
        let cell = value.as_deref().map_or(Cell::Null, |value| reader.cell(value).unwrap());
        let (code, key) = match cell {
            Cell::Null => (attribute.nulls.then_some(0), None),
            Cell::Key(key) => {
                (attribute.coding.number_code(key).map(|code| attribute.shifted(code)), Some(key))
            }
            Cell::Text(text) => (attribute.coding.text_code(text).map(|code| attribute.shifted(code)), None),
        };
        let expected = text == "*" || meant(attribute, group, code, key);
        assert_eq!(reader.covers(&label, cell), expected, "{text} {value:?}");
        if let (Some(value), Some(_)) = (value, Scale::of(kind)) {
            assert_eq!(reader.covers(&label, Cell::Text(value)), expected, "{text} {value:?} as text");
        }
    }
    if labels.kind().is_some() {
        let bounds = labels.bounds(group);
        let label = reader.read_bounds(bounds.from, bounds.to);
        let below = attribute.nulls && group.ends.0 == 0;
        for value in values.iter().flatten() {
            let Cell::Key(key) = reader.cell(value).unwrap() else { panic!() };
            let code = attribute.coding.number_code(key).map(|code| attribute.shifted(code));
            let told = meant(attribute, group, code, Some(key)) || (bounds.from, bounds.to) == (None, None);
            let at_the_end = quasi.domain.is_some() && bounds.to == Some(key);
            assert!(reader.covers(&label, Cell::Key(key)) == told || at_the_end || below);
            assert!(reader.covers(&label, Cell::Key(key)) || !told);
        }
    }
    let mut widths = LabelWidths::new(quasi, kind);
    widths.add(1, &label);
    assert!((0.0..=1.0).contains(&widths.finish()), "{text}");
}

fn texts(values: &[Option<String>]) -> ArrayRef {
    Arc::new(StringArray::from_iter(values.iter().map(|value| value.as_deref())))
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ab|{}\\\\*\\[\\](),\"\n\u{301}]{1,5}",
        prop::sample::select(vec!["*", "null", "null|a", "{a}", "[\"a\",)", "(,\"b\")", "[1,2)", "a"])
            .prop_map(str::to_string),
    ]
}

fn any_group() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(any::<usize>(), 1..6)
}

fn check(quasi: &Quasi, kind: &ColumnKind, array: ArrayRef, asked: &[Option<String>], groups: &[Vec<usize>]) {
    let attribute = attribute(quasi, kind, &array);
    let mut asked = asked.to_vec();
    asked.push(None);
    for chosen in groups {
        assert_read_back(quasi, kind, &attribute, &group(&attribute, chosen), &asked);
    }
}

/// The values, and what else lies in their cells and beside them.
fn around(quasi: &Quasi, kind: &ColumnKind, keys: &[Option<i64>]) -> Vec<Option<String>> {
    let scale = Scale::of(kind).unwrap();
    let grid = ColumnGrid::of(quasi, scale).unwrap();
    let mut asked = Vec::new();
    for &key in keys.iter().flatten() {
        asked.push(key);
        let cell = grid.cell(key).unwrap();
        asked.extend([cell.first, cell.last, cell.first.saturating_sub(1), cell.last.saturating_add(1)]);
    }
    if scale == Scale::Float {
        asked.retain(|&key| !key_float(key).is_nan());
    }
    asked.into_iter().map(|key| Some(scale.text(key))).collect()
}

proptest! {
    #[test]
    fn sets_of_texts_are_read_back(
        values in prop::collection::vec(prop::option::weighted(0.9, any_text()), 1..12),
        groups in prop::collection::vec(any_group(), 1..8),
    ) {
        prop_assume!(values.iter().any(Option::is_some));
        check(&quasi(""), &ColumnKind::Text, texts(&values), &values, &groups);
    }

    #[test]
    fn ranges_of_texts_are_read_back(
        starts in prop::collection::btree_set(any_text(), 1..12),
        nulls in any::<bool>(),
        values in prop::collection::vec(any_text(), 1..12),
        groups in prop::collection::vec(any_group(), 1..8),
    ) {
        let quasi = quasi("");
        let starts = starts.into_iter().map(String::into_boxed_str).collect();
        let attribute = Attribute { name: "q".into(), nulls, coding: Coding::TextRanges { starts } };
        let mut asked: Vec<Option<String>> = values.into_iter().map(Some).collect();
        asked.push(None);
        for chosen in &groups {
            let group = group(&attribute, chosen);
            assert_read_back(&quasi, &ColumnKind::Text, &attribute, &group, &asked);
        }
    }

    #[test]
    fn ranges_of_numbers_are_read_back(
        values in prop::collection::vec(prop::option::weighted(0.9, -50i64..150), 1..12),
        shape in prop::sample::select(vec![
            "", "domain = [-50, 200]", "levels = [2.5, 10, 20]", "ends = [0, 7, 100]", "grid = 7", "grid = 2.5",
            "grid = 0.5", "grid = 10, domain = [-55, 150]", "grid = 1000",
        ]),
        groups in prop::collection::vec(any_group(), 1..8),
    ) {
        prop_assume!(values.iter().any(Option::is_some));
        let asked = match shape.starts_with(['l', 'e']) {
            true => values.iter().map(|value| value.map(|value| value.to_string())).collect(),
            false => around(&quasi(shape), &ColumnKind::Integer, &values),
        };
        check(&quasi(shape), &ColumnKind::Integer, Arc::new(Int64Array::from(values)), &asked, &groups);
    }

    #[test]
    fn ranges_of_floats_are_read_back(
        values in prop::collection::vec(prop::option::weighted(0.9, -1e3f64..1e3), 1..12),
        shape in prop::sample::select(vec![
            "", "domain = [-1000, 1000]", "levels = [\"1/3\", 5]", "grid = \"1/3\"", "grid = 0.1", "grid = 250",
        ]),
        groups in prop::collection::vec(any_group(), 1..8),
    ) {
        prop_assume!(values.iter().any(Option::is_some));
        let keys: Vec<Option<i64>> = values.iter().map(|value| value.map(float_key)).collect();
        let asked = match shape.starts_with('l') {
            true => values.iter().map(|value| value.map(|value| value.to_string())).collect(),
            false => around(&quasi(shape), &ColumnKind::Float, &keys),
        };
        check(&quasi(shape), &ColumnKind::Float, Arc::new(Float64Array::from(values)), &asked, &groups);
    }

    /// All magnitudes, with the infinities, by the rule for columns without grid and domain.
    #[test]
    fn floats_of_any_size_are_read_back(
        values in prop::collection::vec(prop::option::weighted(0.9, prop_oneof![
            any::<f64>().prop_filter("a number", |value| !value.is_nan()),
            Just(f64::INFINITY), Just(f64::NEG_INFINITY), Just(0.0), Just(f64::MIN_POSITIVE), Just(f64::MAX),
        ]), 1..12),
        groups in prop::collection::vec(any_group(), 1..8),
    ) {
        prop_assume!(values.iter().any(Option::is_some));
        let keys: Vec<Option<i64>> = values.iter().map(|value| value.map(float_key)).collect();
        let (quasi, kind) = (quasi(""), ColumnKind::Float);
        let asked = around(&quasi, &kind, &keys);
        check(&quasi, &kind, Arc::new(Float64Array::from(values)), &asked, &groups);
    }

    #[test]
    fn ranges_of_decimals_are_read_back(
        values in prop::collection::vec(prop::option::weighted(0.9, -20_000i64..20_000), 1..12),
        shape in prop::sample::select(vec!["", "domain = [-200, 200]", "grid = 0.3", "grid = 12.5", "grid = 0.001"]),
        groups in prop::collection::vec(any_group(), 1..8),
    ) {
        prop_assume!(values.iter().any(Option::is_some));
        let kind = ColumnKind::Decimal { scale: 2 };
        let asked = around(&quasi(shape), &kind, &values);
        check(&quasi(shape), &kind, keys_array(&kind, &values), &asked, &groups);
    }

    #[test]
    fn ranges_and_periods_of_dates_are_read_back(
        days in prop::collection::vec(prop::option::weighted(0.9, -4000i32..40000), 1..12),
        shape in prop::sample::select(vec![
            "", "dates = [\"month\", \"quarter\", \"year\", \"decade\"]", "dates = [\"week\"]", "grid = \"week\"",
            "grid = \"month\"", "grid = \"quarter\"", "grid = \"decade\"", "domain = [1950-01-01, 2100-01-01]",
        ]),
        groups in prop::collection::vec(any_group(), 1..8),
    ) {
        prop_assume!(days.iter().any(Option::is_some));
        let keys: Vec<Option<i64>> = days.iter().map(|day| day.map(i64::from)).collect();
        let asked = match shape.starts_with("dates") {
            true => keys.iter().map(|day| day.map(|day| Scale::Date.text(day))).collect(),
            false => around(&quasi(shape), &ColumnKind::Date, &keys),
        };
        check(&quasi(shape), &ColumnKind::Date, Arc::new(Date32Array::from(days)), &asked, &groups);
    }

    #[test]
    fn ranges_of_moments_are_read_back(
        moments in prop::collection::vec(prop::option::weighted(0.9, -4_000_000_000i64..4_000_000_000), 1..12),
        shape in prop::sample::select(vec![
            "", "grid = \"hour\"", "grid = \"second\"", "grid = \"month\"", "domain = [1800-01-01, 2100-01-01]",
        ]),
        unit in prop::sample::select(vec![TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Nanosecond]),
        groups in prop::collection::vec(any_group(), 1..8),
    ) {
        prop_assume!(moments.iter().any(Option::is_some));
        let kind = ColumnKind::Timestamp { unit, zone: None };
        let per_second = Scale::Timestamp(unit).of_day(1) / 86_400;
        let keys: Vec<Option<i64>> =
            moments.iter().map(|moment| moment.map(|moment| moment * per_second + moment.rem_euclid(per_second)))
                .collect();
        let asked = around(&quasi(shape), &kind, &keys);
        check(&quasi(shape), &kind, keys_array(&kind, &keys), &asked, &groups);
    }

    #[test]
    fn ranges_of_times_are_read_back(
        times in prop::collection::vec(prop::option::weighted(0.9, 0i64..86_400_000_000_000), 1..12),
        shape in prop::sample::select(vec!["", "grid = \"minute\"", "grid = \"second\""]),
        groups in prop::collection::vec(any_group(), 1..8),
    ) {
        prop_assume!(times.iter().any(Option::is_some));
        let asked = around(&quasi(shape), &ColumnKind::Time, &times);
        check(&quasi(shape), &ColumnKind::Time, keys_array(&ColumnKind::Time, &times), &asked, &groups);
    }

    #[test]
    fn booleans_are_read_back_by_name(
        values in prop::collection::vec(prop::option::weighted(0.9, any::<bool>()), 1..12),
        groups in prop::collection::vec(any_group(), 1..8),
    ) {
        prop_assume!(values.iter().any(Option::is_some));
        let asked: Vec<Option<String>> = values.iter().map(|value| value.map(|value| value.to_string())).collect();
        check(&quasi(""), &ColumnKind::Boolean, Arc::new(BooleanArray::from(values)), &asked, &groups);
    }

    #[test]
    fn prefixes_and_stated_orders_are_read_back(
        values in prop::collection::vec(prop::option::weighted(0.9, "[0-2]{1,4}"), 1..12),
        shape in prop::sample::select(vec!["prefix = [3, 1]", "order = [\"1\", \"0\", \"rest\"], other = \"rest\""]),
        groups in prop::collection::vec(any_group(), 1..8),
    ) {
        prop_assume!(values.iter().any(Option::is_some));
        check(&quasi(shape), &ColumnKind::Text, texts(&values), &values, &groups);
    }

    #[test]
    fn nodes_are_read_back(
        values in prop::collection::vec(prop::option::weighted(0.9, prop::sample::select(vec!["null", "{b}", "c", "d"])), 1..9),
        groups in prop::collection::vec(any_group(), 1..8),
    ) {
        prop_assume!(values.iter().any(Option::is_some));
        let quasi = quasi("hierarchy = { \"null|x\" = [\"null\", \"{b}\"], y = [\"c\", \"d\"] }");
        let values: Vec<Option<String>> = values.into_iter().map(|value| value.map(str::to_string)).collect();
        check(&quasi, &ColumnKind::Text, texts(&values), &values, &groups);
    }
}

#[test]
fn one_value_is_itself_and_cells_are_tight() {
    let label = |shape: &str, kind: ColumnKind, array: ArrayRef, chosen: &[usize]| {
        let quasi = quasi(shape);
        let attribute = attribute(&quasi, &kind, &array);
        Labels::new(&attribute, kind).label(&group(&attribute, chosen))
    };
    let integers =
        || Arc::new(Int64Array::from(vec![Some(3), Some(24), Some(27), Some(100), None])) as ArrayRef;
    let of_integers = |shape: &str, chosen: &[usize]| label(shape, ColumnKind::Integer, integers(), chosen);
    assert_eq!(of_integers("", &[2]), "24");
    assert_eq!(of_integers("", &[2, 3]), "[24,28)");
    assert_eq!(of_integers("", &[0, 3]), "null|27");
    assert_eq!(of_integers("grid = 5", &[2]), "[20,25)");
    assert_eq!(of_integers("domain = [0, 100]", &[2, 3]), "[20,30)");
    assert_eq!(of_integers("domain = [0, 100]", &[4]), "[95,100]");
    assert_eq!(of_integers("domain = [3, 100], grid = 1", &[1, 4]), "[3,100]");
    assert_eq!(of_integers("domain = [3, 100], grid = 1", &[4]), "100");
    let flags = || Arc::new(BooleanArray::from(vec![false, true])) as ArrayRef;
    assert_eq!(label("", ColumnKind::Boolean, flags(), &[0]), "false");
    assert_eq!(label("", ColumnKind::Boolean, flags(), &[0, 1]), "*");
    let days = || Arc::new(Date32Array::from(vec![0, 40])) as ArrayRef;
    assert_eq!(label("", ColumnKind::Date, days(), &[1]), "1970-02-10");
    assert_eq!(label("grid = \"month\"", ColumnKind::Date, days(), &[1]), "[1970-02-01,1970-03-01)");
    let floats = || Arc::new(Float64Array::from(vec![-0.5, 25_959.5, f64::INFINITY])) as ArrayRef;
    assert_eq!(label("", ColumnKind::Float, floats(), &[1]), "[25000,26000)");
    assert_eq!(label("", ColumnKind::Float, floats(), &[0]), "[-0.5,-0.49)");
    assert_eq!(label("", ColumnKind::Float, floats(), &[1, 2]), "[25000,)");
    assert_eq!(label("", ColumnKind::Float, floats(), &[2]), "inf");
}

#[test]
fn a_grid_finer_than_its_numbers_is_refused() {
    let quasi = quasi("grid = 0.5");
    let mut collector = Collector::of_quasi(&quasi, &ColumnKind::Float).unwrap();
    collector.observe(&(Arc::new(Float64Array::from(vec![1.0, 1e16])) as ArrayRef), None).unwrap();
    let error = Attribute::of_quasi(&quasi, collector.finish()).unwrap_err().to_string();
    assert!(error.contains("finer") && error.contains("columns.quasi.q.grid"), "{error}");
}

#[test]
fn numbers_under_a_stated_tree_find_their_leaf() {
    let quasi = quasi("hierarchy = { low = [\"1\", \"2\"], high = [\"30\"] }");
    let values = Arc::new(Int64Array::from(vec![1, 2, 30])) as ArrayRef;
    let attribute = attribute(&quasi, &ColumnKind::Integer, &values);
    assert!(matches!(&attribute.coding, Coding::Tree { leaves: Leaves::Key(..), .. }));
    let reader = LabelReader::new(&quasi, &ColumnKind::Integer);
    let label = reader.read("low").unwrap();
    assert!(reader.covers(&label, Cell::Key(2)) && !reader.covers(&label, Cell::Key(30)));
}

#[test]
fn what_is_no_label_is_an_error_that_quotes_nothing() {
    let numbers = LabelReader::unstated(&ColumnKind::Integer);
    for bad in ["", "[1,2", "1,2)", "[a,b)", "[1,]", "secret", "[,2)", "null|", "{1|2}"] {
        let error = numbers.read(bad).unwrap_err().to_string();
        assert!(!error.contains("secret"), "{bad}");
    }
    let texts = LabelReader::unstated(&ColumnKind::Text);
    for bad in ["{a", "{a}b", "[\"a\",\"b\"", "[a,b)", "[\"\\q\",)", "{a\\"] {
        assert!(texts.read(bad).is_err(), "{bad}");
    }
    let dates = quasi("dates = [\"month\"]");
    let dates = LabelReader::new(&dates, &ColumnKind::Date);
    assert!(dates.read("2020-13x").is_err() && dates.read("20").is_err());
}
