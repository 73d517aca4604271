//! Charts of any numbers and texts are well-formed.

use super::draw::spread;
use super::*;
use crate::math::skyline::{Level, Reach};

fn chart(vertical: Axis, points: Vec<Vec<(f64, f64)>>) -> Chart {
    let series = points.into_iter().map(|points| Series::line("a < b", points));
    let horizontal = Axis { include: vec![0.0, 2.0], ..Axis::linear("k") };
    Chart { title: "R&D".into(), horizontal, vertical, series: series.collect() }
}

#[test]
fn a_chart_shows_every_point_and_escapes_its_texts() {
    let points = vec![vec![(0.0, 0.0), (1.0, 0.5), (2.0, 1.0)], vec![(0.0, 0.25), (1.0, 0.25)]];
    let chart = chart(Axis::unit("risk"), points);
    let svg = to_document(std::slice::from_ref(&chart));
    assert_eq!(svg, to_document(std::slice::from_ref(&chart)));
    // Three points and two, and a mark of each in the legend.
    assert_eq!(svg.matches("<circle").count(), 4);
    assert_eq!(svg.matches("<polygon").count(), 3);
    assert!(svg.contains("a &lt; b") && svg.contains("R&amp;D") && !svg.contains("NaN"));
    assert!(svg.ends_with("</svg>\n"), "{svg}");
}

#[test]
fn no_text_can_leave_its_place() {
    let level = Level { l: Reach::Number(0), corners: vec![(0, 3), (2, 1)] };
    let chart = knowledge_skyline("<script>\"\u{1b}", &[level]);
    let svg = to_document(&[chart]);
    assert!(!svg.contains("<script>") && svg.contains("&lt;script&gt;&quot;"), "{svg}");
}

#[test]
fn a_skyline_is_drawn_in_steps_down_to_the_axis() {
    let level = Level { l: Reach::Number(0), corners: vec![(0, 3), (2, 1)] };
    let svg = to_document(&[knowledge_skyline("a", &[level])]);
    let path = svg.split(" d=\"").nth(2).unwrap().split('"').next().unwrap();
    let moves: String = path.chars().filter(|c| c.is_alphabetic()).collect();
    assert_eq!(moves, "MVHVHV", "{path}");
}

#[test]
fn charts_hold_finite_numbers_for_any_input() {
    let mut charts = vec![
        knowledge_skyline("a", &[]),
        knowledge_skyline("b", &[Level { l: Reach::Anything, corners: vec![(0, u64::MAX / 2)] }]),
    ];
    for points in [vec![], vec![(1.0, 0.5)], vec![(1.0, f64::INFINITY)], vec![(1.0, 0.0), (f64::NAN, 1.0)]] {
        for axis in [Axis::linear("y"), Axis::logarithmic("y"), Axis::from_zero("y")] {
            charts.push(chart(axis, vec![points.clone()]));
        }
    }
    for chart in charts {
        let text = to_document(&[chart]);
        assert!(!text.contains("inf") && !text.contains("=\"NaN") && !text.contains(" NaN"), "{text}");
    }
}

#[test]
fn cases_are_named_and_not_joined() {
    let mut chart = chart(Axis::unit("risk"), vec![vec![(0.5, 1.0), (0.25, 2.0)]]);
    chart.vertical = Axis::of_cases("", ["few, so & so", "many"].map(str::to_string));
    let svg = to_document(&[chart]);
    assert!(svg.contains(">few<") && svg.contains(">so &amp; so<") && svg.contains(">many<"), "{svg}");
    assert!(!svg.contains("<path") && svg.matches("<circle").count() == 3, "{svg}");
}

#[test]
fn a_document_holds_all_charts() {
    let one = chart(Axis::unit("risk"), vec![vec![(0.0, 0.5)]]);
    let svg = to_document(&[one.clone(), one.clone(), one]);
    assert_eq!(svg.matches("<g ").count(), 3);
    assert!(svg.contains("viewBox=\"0 0 480 "), "{svg}");
}

#[test]
fn many_things_are_thinned_out_evenly() {
    assert_eq!(spread(3, 5).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(spread(100, 5).collect::<Vec<_>>(), [0, 24, 49, 74, 99]);
}
