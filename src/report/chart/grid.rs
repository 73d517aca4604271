//! A knowledge skyline as a grid: l upwards, m to the right, the largest safe k in each cell.
//!
//! The colours in the attributes are those of a picture on its own, as in a notebook; on a page, its style replaces them.

use maud::{Markup, html};

use super::draw::{px, spread};
use crate::math::skyline::{Knowledge, Level};
use crate::report::digits::grouped;

/// What is marked on a grid.
#[derive(Debug, Clone, Default)]
pub struct GridMarks {
    /// What the policy requires; what is beyond the grid is not marked.
    pub required: Vec<Knowledge>,
}

/// Rows and columns that are drawn.
const MOST_CELLS: usize = 16;
const CELL: f64 = 52.0;
const HIGH: f64 = 36.0;
const LEFT: f64 = 44.0;
const BOTTOM: f64 = 40.0;
/// The classes of cells and their colours: the deeper, the more may be known.
const SHADES: [(&str, &str); 6] = [
    ("k0", "#e3eef5"),
    ("k1", "#c3dcea"),
    ("k2", "#97c3db"),
    ("k3", "#62a3c6"),
    ("k4", "#2f7fab"),
    ("k5", "#0b5f8a"),
];

/// The grid of these levels, from l = 0 upwards. Hatched cells hold nothing that is safe.
pub fn skyline_grid(title: &str, levels: &[Level], marks: &GridMarks) -> Markup {
    let most_m = levels.iter().map(Level::largest_m).max().unwrap_or(0) + 1;
    let across: Vec<u64> = spread(most_m as usize + 1, MOST_CELLS).map(|m| m as u64).collect();
    let up: Vec<usize> = spread(levels.len() + 1, MOST_CELLS).collect();
    let most_k = levels.iter().filter_map(|level| level.largest_k(0)).max().unwrap_or(0);
    // The titles of the axes fit, however few cells there are.
    let (wide, high) = ((CELL * across.len() as f64).max(160.0), (HIGH * up.len() as f64).max(108.0));
    let (width, height) = (LEFT + wide + 8.0, high + BOTTOM + 8.0);
    let x = |column: usize| LEFT + CELL * column as f64;
    let y = |row: usize| 4.0 + high - HIGH * (row + 1) as f64;
    html! {
        svg.grid xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif" font-size="13" viewBox={ "0 0 " (px(width)) " " (px(height)) } width=(px(width)) height=(px(height)) role="img"
            aria-label=(title) {
            title { (title) }
            (hatching())
            @for (row, &l) in up.iter().enumerate() {
                @for (column, &m) in across.iter().enumerate() {
                    @let largest = levels.get(l).and_then(|level| level.largest_k(m));
                    @let shade = shade(largest, most_k);
                    g class={ "cell " (shade.map_or("none", |shade| SHADES[shade].0)) } {
                        rect x=(px(x(column))) y=(px(y(row))) width=(CELL) height=(HIGH) stroke="#fff"
                            fill=(shade.map_or("url(#hatch)", |shade| SHADES[shade].1)) {}
                        @if let Some(k) = largest {
                            text x=(px(x(column) + CELL / 2.0)) y=(px(y(row) + HIGH / 2.0 + 4.0)) text-anchor="middle"
                                fill=(if shade > Some(3) { "#fff" } else { "#1d2935" }) {
                                (short(k))
                            }
                        }
                    }
                }
                text.tick x=(px(LEFT - 8.0)) y=(px(y(row) + HIGH / 2.0 + 4.0)) text-anchor="end" { (l) }
            }
            @for point in &marks.required {
                @let row = up.iter().position(|&l| l as u64 == point.l);
                @let column = across.iter().position(|&m| m == point.m);
                @if let Some((row, column)) = row.zip(column) {
                    path.mark d={ "M" (px(x(column) + 10.0)) " " (px(y(row) + 4.0)) "l6 6l-6 6l-6 -6Z" }
                        stroke="#fff" {
                        title { "policy: l " (point.l) ", k " (grouped(point.k)) ", m " (point.m) }
                    }
                }
            }
            @for (column, &m) in across.iter().enumerate() {
                text.tick x=(px(x(column) + CELL / 2.0)) y=(px(height - BOTTOM + 12.0)) text-anchor="middle" { (short(m)) }
            }
            text.axis x=(px(LEFT + wide / 2.0)) y=(px(height - 6.0)) text-anchor="middle" {
                "m: members of the family"
            }
            text.axis transform={ "translate(13 " (px(4.0 + high / 2.0)) ") rotate(-90)" }
                text-anchor="middle" { "l: values ruled out" }
        }
    }
}

/// The pattern of unsafe cells, which needs no colour.
pub fn hatching() -> Markup {
    html! {
        defs {
            pattern #hatch width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                rect.hatch-ground width="6" height="6" fill="#faf1ea" {}
                line.hatch-line x1="0" y1="0" x2="0" y2="6" stroke="#c9926a" {}
            }
        }
    }
}

/// The shade of a cell, on a logarithmic scale; `None` where nothing is safe.
fn shade(largest: Option<u64>, most: u64) -> Option<usize> {
    let depth = (largest? as f64 + 1.0).ln() / (most as f64 + 2.0).ln() * SHADES.len() as f64;
    Some((depth as usize).min(SHADES.len() - 1))
}

/// A number in few characters.
fn short(number: u64) -> String {
    match number {
        0..10_000 => number.to_string(),
        10_000..1_000_000 => format!("{}k", number / 1000),
        _ => format!("{}M", number / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::skyline::Reach;

    #[test]
    fn cells_hold_the_largest_k_and_end_where_nothing_is_safe() {
        let level = |l, corners: &[(u64, u64)]| Level { l: Reach::Number(l), corners: corners.to_vec() };
        let levels = [level(0, &[(0, 12_345), (1, 3)]), level(1, &[(0, 2)])];
        let required = vec![Knowledge { l: 1, k: 2, m: 0 }, Knowledge { l: 9, k: 0, m: 0 }];
        let drawn = skyline_grid("a<b", &levels, &GridMarks { required }).into_string();
        assert_eq!(drawn.matches("class=\"cell").count(), 9);
        assert_eq!(drawn.matches("cell none").count(), 6);
        assert!(drawn.contains(">12k<") && drawn.contains("aria-label=\"a&lt;b\""), "{drawn}");
        assert_eq!(drawn.matches("class=\"mark\"").count(), 1);
    }
}
