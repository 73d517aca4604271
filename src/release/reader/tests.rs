use super::*;
use crate::encode::attribute::{Attribute, Coding, Leaves};
use crate::encode::column_values::Collector;
use crate::group::groups::Present;
use crate::model::Policy;
use crate::release::label::Labels;
use arrow_array::{ArrayRef, Date32Array, Float64Array, Int64Array, StringArray};
use proptest::prelude::*;
use std::ops::Range;
use std::sync::Arc;

fn quasi(table: &str) -> Quasi {
    let policy = format!(
        "[columns]\nsensitive = \"s\"\n[columns.quasi]\nq = {{ {table} }}\n\
         [privacy]\nminimum_group_size = 2\n"
    );
    Policy::parse(&policy, "policy.toml").unwrap().columns.quasi[0].clone()
}

fn attribute(quasi: &Quasi, kind: &ColumnKind, array: &ArrayRef) -> Attribute {
    let mut collector = Collector::of_quasi(quasi, kind);
    collector.observe(&kind.canonical(array).unwrap(), None).unwrap();
    Attribute::of_quasi(quasi, collector.finish()).unwrap()
}

/// A group of some codes between two cuts, as the planner would produce it.
fn group(attribute: &Attribute, cut: (usize, usize), chosen: &[usize]) -> (Range<u32>, Present) {
    let codes = attribute.codes();
    let (low, high) = (cut.0 as u32 % codes, cut.1 as u32 % codes);
    let extent = match &attribute.coding {
        Coding::Tree { .. } => 0..codes,
        _ => low.min(high)..low.max(high) + 1,
    };
    let mut present: Vec<u16> =
        chosen.iter().map(|&at| (extent.start + at as u32 % extent.len() as u32) as u16).collect();
    present.sort_unstable();
    present.dedup();
    let ends = (u32::from(present[0]), u32::from(present[present.len() - 1]));
    let listed = matches!(attribute.coding, Coding::Set { .. } | Coding::Tree { .. });
    (extent, Present { ends, codes: if listed { present } else { vec![] } })
}

/// The codes that the label of a group covers.
fn meant(attribute: &Attribute, extent: &Range<u32>, present: &Present) -> Vec<u32> {
    let null = u32::from(attribute.nulls);
    if attribute.nulls && present.ends.1 == 0 {
        return vec![0];
    }
    let with_null = (attribute.nulls && present.ends.0 == 0).then_some(0);
    let values: Vec<u32> = match &attribute.coding {
        Coding::Numbers { .. } | Coding::TextRanges { .. } => (extent.start.max(null)..extent.end).collect(),
        Coding::Set { .. } => present.codes.iter().map(|&c| u32::from(c)).filter(|&c| c >= null).collect(),
        Coding::Tree { hierarchy, .. } => {
            let least = present.codes.iter().map(|&c| u32::from(c)).find(|&c| c >= null).unwrap();
            let node = hierarchy.smallest_cover(least - null, present.ends.1 - null);
            hierarchy.range(node).map(|leaf| leaf + null).collect()
        }
    };
    with_null.into_iter().chain(values).collect()
}

/// Reads the label of a group and checks every value of the column, and null, against it.
fn assert_read_back(
    quasi: &Quasi,
    kind: &ColumnKind,
    attribute: &Attribute,
    group: &(Range<u32>, Present),
    values: &[Option<String>],
) {
    let labels = Labels::new(attribute, quasi, kind.clone()).unwrap();
    let text = labels.label(&group.0, &group.1);
    let reader = LabelReader::new(quasi, kind);
    let label = reader.read(&text).unwrap();
    let codes = meant(attribute, &group.0, &group.1);
    for value in values {
        let cell = value.as_deref().map_or(Cell::Null, |value| reader.cell(value).unwrap());
        let code = match cell {
            Cell::Null => Some(0),
            Cell::Key(key) => attribute.coding.number_code(key).map(|code| attribute.shifted(code)),
            Cell::Text(text) => attribute.coding.text_code(text).map(|code| attribute.shifted(code)),
        };
        let all = text == "*";
        let expected =
            all || code.is_some_and(|code| codes.contains(&code)) && (value.is_some() || attribute.nulls);
        assert_eq!(reader.covers(&label, cell), expected, "{text} {value:?}");
        if let (Some(value), Some(_)) = (value, Scale::of(kind)) {
            assert_eq!(reader.covers(&label, Cell::Text(value)), expected, "{text} {value:?} as text");
        }
    }
    if labels.kind().is_some() {
        let bounds = labels.bounds(&group.0, &group.1);
        let label = reader.read_bounds(bounds.from, bounds.to);
        for value in values.iter().flatten() {
            let Cell::Key(key) = reader.cell(value).unwrap() else { panic!() };
            let code = attribute.shifted(attribute.coding.number_code(key).unwrap());
            let told = group.0.contains(&code) || (bounds.from, bounds.to) == (None, None);
            let at_the_end = quasi.domain.is_some() && bounds.to == Some(key);
            assert!(reader.covers(&label, Cell::Key(key)) == told || at_the_end);
            assert!(reader.covers(&label, Cell::Key(key)) || !told);
        }
    }
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

type Cut = (usize, usize, Vec<usize>);

fn any_cut() -> impl Strategy<Value = Cut> {
    (any::<usize>(), any::<usize>(), prop::collection::vec(any::<usize>(), 1..6))
}

fn check(quasi: &Quasi, kind: &ColumnKind, array: ArrayRef, values: &[Option<String>], cuts: &[Cut]) {
    let attribute = attribute(quasi, kind, &array);
    let mut asked = values.to_vec();
    asked.push(None);
    for (low, high, chosen) in cuts {
        assert_read_back(quasi, kind, &attribute, &group(&attribute, (*low, *high), chosen), &asked);
    }
}

proptest! {
    #[test]
    fn sets_of_texts_are_read_back(
        values in prop::collection::vec(prop::option::weighted(0.9, any_text()), 1..12),
        cuts in prop::collection::vec(any_cut(), 1..8),
    ) {
        prop_assume!(values.iter().any(Option::is_some));
        check(&quasi(""), &ColumnKind::Text, texts(&values), &values, &cuts);
    }

    #[test]
    fn ranges_of_texts_are_read_back(
        starts in prop::collection::btree_set(any_text(), 1..12),
        nulls in any::<bool>(),
        values in prop::collection::vec(any_text(), 1..12),
        cuts in prop::collection::vec(any_cut(), 1..8),
    ) {
        let quasi = quasi("");
        let starts = starts.into_iter().map(String::into_boxed_str).collect();
        let attribute = Attribute { name: "q".into(), nulls, coding: Coding::TextRanges { starts } };
        let mut asked: Vec<Option<String>> = values.into_iter().map(Some).collect();
        asked.push(None);
        for (low, high, chosen) in &cuts {
            let group = group(&attribute, (*low, *high), chosen);
            assert_read_back(&quasi, &ColumnKind::Text, &attribute, &group, &asked);
        }
    }

    #[test]
    fn ranges_of_numbers_are_read_back(
        values in prop::collection::vec(prop::option::weighted(0.9, -50i64..150), 1..12),
        shape in prop::sample::select(vec!["", "domain = [-50, 200]", "levels = [2.5, 10, 20]", "ends = [0, 7, 100]"]),
        cuts in prop::collection::vec(any_cut(), 1..8),
    ) {
        prop_assume!(values.iter().any(Option::is_some));
        let asked: Vec<Option<String>> = values.iter().map(|value| value.map(|value| value.to_string())).collect();
        check(&quasi(shape), &ColumnKind::Integer, Arc::new(Int64Array::from(values)), &asked, &cuts);
    }

    #[test]
    fn ranges_of_floats_are_read_back(
        values in prop::collection::vec(prop::option::weighted(0.9, -1e3f64..1e3), 1..12),
        shape in prop::sample::select(vec!["", "domain = [-1000, 1000]", "levels = [\"1/3\", 5]"]),
        cuts in prop::collection::vec(any_cut(), 1..8),
    ) {
        prop_assume!(values.iter().any(Option::is_some));
        let asked: Vec<Option<String>> = values.iter().map(|value| value.map(|value| value.to_string())).collect();
        check(&quasi(shape), &ColumnKind::Float, Arc::new(Float64Array::from(values)), &asked, &cuts);
    }

    #[test]
    fn ranges_and_periods_of_dates_are_read_back(
        days in prop::collection::vec(prop::option::weighted(0.9, -4000i32..40000), 1..12),
        shape in prop::sample::select(vec!["", "dates = [\"month\", \"quarter\", \"year\", \"decade\"]", "dates = [\"week\"]"]),
        cuts in prop::collection::vec(any_cut(), 1..8),
    ) {
        prop_assume!(days.iter().any(Option::is_some));
        let text = |day: Option<i32>| day.map(|day| Scale::Date.text(day.into()));
        let asked: Vec<Option<String>> = days.iter().map(|&day| text(day)).collect();
        check(&quasi(shape), &ColumnKind::Date, Arc::new(Date32Array::from(days)), &asked, &cuts);
    }

    #[test]
    fn prefixes_and_stated_orders_are_read_back(
        values in prop::collection::vec(prop::option::weighted(0.9, "[0-2]{1,4}"), 1..12),
        shape in prop::sample::select(vec!["prefix = [3, 1]", "order = [\"1\", \"0\", \"rest\"], other = \"rest\""]),
        cuts in prop::collection::vec(any_cut(), 1..8),
    ) {
        prop_assume!(values.iter().any(Option::is_some));
        check(&quasi(shape), &ColumnKind::Text, texts(&values), &values, &cuts);
    }

    #[test]
    fn nodes_are_read_back(
        values in prop::collection::vec(prop::option::weighted(0.9, prop::sample::select(vec!["null", "{b}", "c", "d"])), 1..9),
        cuts in prop::collection::vec(any_cut(), 1..8),
    ) {
        prop_assume!(values.iter().any(Option::is_some));
        let quasi = quasi("hierarchy = { \"null|x\" = [\"null\", \"{b}\"], y = [\"c\", \"d\"] }");
        let values: Vec<Option<String>> = values.into_iter().map(|value| value.map(str::to_string)).collect();
        check(&quasi, &ColumnKind::Text, texts(&values), &values, &cuts);
    }
}

#[test]
fn a_grid_covers_the_people_and_no_more_than_the_extent() {
    let quasi = quasi("grid = 5");
    let values: Vec<i64> = (0..200).map(|i| i * 7 % 191).collect();
    let attribute =
        attribute(&quasi, &ColumnKind::Integer, &(Arc::new(Int64Array::from(values.clone())) as ArrayRef));
    let labels = Labels::new(&attribute, &quasi, ColumnKind::Integer).unwrap();
    let reader = LabelReader::new(&quasi, &ColumnKind::Integer);
    for step in 1..40u32 {
        let extent = step..step + 60;
        let present = Present { ends: (step + step % 7, step + 40), codes: vec![] };
        let label = reader.read(&labels.label(&extent, &present)).unwrap();
        for &value in &values {
            let code = attribute.coding.number_code(value).unwrap();
            let covered = reader.covers(&label, Cell::Key(value));
            assert!(covered || code < present.ends.0 || code > present.ends.1);
            assert!(!covered || extent.contains(&code));
        }
    }
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
