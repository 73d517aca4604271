//! A chart as SVG.
//!
//! Colours are those of Okabe and Ito, which people with any colour vision can distinguish; dashes and marks also
//! differ, for printing without colour. A point that an axis cannot show (not finite, or not positive on a logarithmic
//! axis) is left out. Text widths are estimated, because the reader's fonts are unknown.

use maud::{Markup, html};

use super::axis::{Axis, HORIZONTAL_TICKS, Range, VERTICAL_TICKS};
use crate::report::html::without_control_characters;

/// A chart with two axes and a legend.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// Below.
    pub horizontal: Axis,
    /// At the left.
    pub vertical: Axis,
    /// In the order of the legend; styles repeat after [`MOST_SERIES`].
    pub series: Vec<Series>,
}

/// Points of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The name in the legend; without a name, the series is not listed there.
    pub name: String,
    /// From left to right.
    pub points: Vec<(f64, f64)>,
    form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Marks, joined by lines unless an axis shows cases.
    Line,
    /// Corners of a region that extends down to both axes.
    Steps,
}

impl Series {
    /// Points joined by a line, or marks alone where an axis shows cases.
    pub fn line(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Series { name: name.into(), points, form: Form::Line }
    }

    /// The outline of the region below and to the left of these points.
    pub fn steps(name: impl Into<String>, corners: Vec<(f64, f64)>) -> Self {
        Series { name: name.into(), points: corners, form: Form::Steps }
    }
}

/// Number of series with distinct styles.
pub(super) const MOST_SERIES: usize = STYLES.len();
/// Marks on one stepped line.
const MOST_MARKS: usize = 24;

/// Colour and dashes; the palette without yellow, which is too light for lines.
const STYLES: [(&str, &str); 7] = [
    ("#0072b2", "none"),
    ("#d55e00", "7 3"),
    ("#009e73", "2 3"),
    ("#cc79a7", "9 3 2 3"),
    ("#e69f00", "none"),
    ("#56b4e9", "7 3"),
    ("#000000", "2 3"),
];

const WIDTH: f64 = 480.0;
const PLOT_HEIGHT: f64 = 236.0;
/// Height of a case on the vertical axis.
const CASE_HEIGHT: f64 = 34.0;
const LINE_HEIGHT: f64 = 20.0;
/// The approximate width of a letter in the font.
const LETTER: f64 = 7.6;
/// Maximum space for the names of cases at the left.
const NAMES: f64 = 190.0;

impl Chart {
    fn draw(&self) -> (Markup, f64) {
        let visible: Vec<Vec<(f64, f64)>> = self.series.iter().map(|series| self.visible(series)).collect();
        let across =
            Range::new(&self.horizontal, visible.iter().flatten().map(|point| point.0), HORIZONTAL_TICKS);
        let up = Range::new(&self.vertical, visible.iter().flatten().map(|point| point.1), VERTICAL_TICKS);
        let (legend, legend_rows) = self.legend();
        let vertical_ticks = up.ticks(VERTICAL_TICKS);
        let longest =
            vertical_ticks.iter().flat_map(|(_, label)| lines(label)).map(width).fold(24.0, f64::max);
        let title = if self.vertical.label.is_empty() { 4.0 } else { 24.0 };
        let top = 16.0 + LINE_HEIGHT * legend_rows as f64;
        let area = Area {
            left: title + longest.min(NAMES) + 10.0,
            right: if self.vertical.cases.is_empty() { WIDTH - 16.0 } else { WIDTH - 50.0 },
            ceiling: top,
            floor: top
                + match self.vertical.cases.len() {
                    0 => PLOT_HEIGHT,
                    cases => CASE_HEIGHT * cases as f64,
                },
            across,
            up,
            cases: (self.horizontal.cases.len(), self.vertical.cases.len()),
        };
        let body = html! {
            (legend)
            (area.vertical_axis(&self.vertical.label, &vertical_ticks))
            (area.horizontal_axis(&self.horizontal.label))
            @for (number, (series, points)) in self.series.iter().zip(&visible).enumerate() {
                @match series.form {
                    Form::Line => (area.line(points, number)),
                    Form::Steps => (area.steps(points, number)),
                }
            }
        };
        (body, area.floor + 48.0)
    }

    fn visible(&self, series: &Series) -> Vec<(f64, f64)> {
        let both = |&&(x, y): &&(f64, f64)| self.horizontal.shows(x) && self.vertical.shows(y);
        series.points.iter().filter(both).copied().collect()
    }

    /// The legend, and how many lines it takes.
    fn legend(&self) -> (Markup, usize) {
        const SAMPLE: f64 = 34.0;
        let (mut x, mut row) = (8.0, 0);
        let mut places = Vec::new();
        for (number, series) in self.series.iter().enumerate().filter(|(_, series)| !series.name.is_empty()) {
            let own = SAMPLE + width(&series.name) + 18.0;
            if x > 8.0 && x + own > WIDTH {
                (x, row) = (8.0, row + 1);
            }
            places.push((number, series, x, 14.0 + LINE_HEIGHT * row as f64));
            x += own;
        }
        let joined = self.horizontal.cases.is_empty() && self.vertical.cases.is_empty();
        let legend = html! {
            @for &(number, series, x, y) in &places {
                @if joined { (stroke(&format!("M{} {}h26", px(x), px(y)), number)) }
                (mark((x + 13.0, y), number))
                (text((x + SAMPLE - 2.0, y + 4.5), "start", &series.name))
            }
        };
        (legend, places.last().map_or(0, |_| row + 1))
    }
}

/// Where the points of a chart are.
struct Area<'a> {
    left: f64,
    right: f64,
    ceiling: f64,
    floor: f64,
    across: Range<'a>,
    up: Range<'a>,
    /// Cases on the horizontal and the vertical axis.
    cases: (usize, usize),
}

impl Area<'_> {
    fn x(&self, value: f64) -> f64 {
        self.left + self.across.share(value) * (self.right - self.left)
    }

    /// The first case is on top, the smallest number at the bottom.
    fn y(&self, value: f64) -> f64 {
        let share = self.up.share(value);
        let share = if self.cases.1 > 0 { share } else { 1.0 - share };
        self.ceiling + share * (self.floor - self.ceiling)
    }

    fn vertical_axis(&self, label: &str, ticks: &[(f64, String)]) -> Markup {
        let middle = (self.floor + self.ceiling) / 2.0;
        html! {
            @for (tick, label) in ticks {
                @let y = self.y(*tick);
                @if self.cases.1 == 0 { (rule((self.left, y), (self.right, y), "#ddd")) }
                @let rows = lines(label);
                @for (row, part) in rows.iter().enumerate() {
                    @let baseline = y + 4.5 + 15.0 * (row as f64 - (rows.len() - 1) as f64 / 2.0);
                    (text((self.left - 7.0, baseline), "end", &shortened(part)))
                }
            }
            @if !label.is_empty() {
                text transform={ "translate(15 " (px(middle)) ") rotate(-90)" } text-anchor="middle" { (label) }
            }
        }
    }

    fn horizontal_axis(&self, label: &str) -> Markup {
        html! {
            @for (tick, label) in self.fitting_ticks() {
                @let x = self.x(tick);
                @if self.cases.1 > 0 { (rule((x, self.ceiling), (x, self.floor), "#ddd")) }
                (rule((x, self.floor), (x, self.floor + 4.0), "#555"))
                (text((x, self.floor + 18.0), "middle", &label))
            }
            (rule((self.left, self.floor), (self.right, self.floor), "#555"))
            (text(((self.left + self.right) / 2.0, self.floor + 40.0), "middle", label))
        }
    }

    /// As many labels as fit next to each other.
    fn fitting_ticks(&self) -> Vec<(f64, String)> {
        let fit = |ticks: &[(f64, String)]| {
            ticks.windows(2).all(|pair| {
                let room = self.x(pair[1].0) - self.x(pair[0].0);
                (width(&pair[0].1) + width(&pair[1].1)) / 2.0 + 6.0 < room
            })
        };
        let candidates = (1..=HORIZONTAL_TICKS).rev().map(|most| self.across.ticks(most));
        let mut ticks =
            candidates.into_iter().find(|ticks| fit(ticks)).unwrap_or_else(|| self.across.ticks(1));
        while ticks.len() > 1 && !fit(&ticks) {
            ticks = ticks.into_iter().step_by(2).collect();
        }
        ticks
    }

    fn line(&self, points: &[(f64, f64)], number: usize) -> Markup {
        let places: Vec<(f64, f64)> = points.iter().map(|&(x, y)| (self.x(x), self.y(y))).collect();
        let path: Vec<String> = places.iter().map(|&(x, y)| format!("{} {}", px(x), px(y))).collect();
        html! {
            @if self.cases == (0, 0) && places.len() > 1 { (stroke(&format!("M{}", path.join("L")), number)) }
            @for &place in &places { (mark(place, number)) }
        }
    }

    fn steps(&self, corners: &[(f64, f64)], number: usize) -> Markup {
        let Some(first) = corners.first() else { return html! {} };
        let mut path = format!("M{} {}", px(self.left), px(self.y(first.1)));
        for &(x, y) in corners {
            path += &format!("V{}H{}", px(self.y(y)), px(self.x(x)));
        }
        path += &format!("V{}", px(self.floor));
        html! {
            (stroke(&path, number))
            @for (x, y) in spread(corners.len(), MOST_MARKS).map(|i| corners[i]) {
                (mark((self.x(x), self.y(y)), number))
            }
        }
    }
}

/// Charts with their titles as one SVG document, one below the other, so that it can be read on a phone.
pub fn to_document(charts: &[Chart]) -> String {
    const TITLE: f64 = 34.0;
    let mut height = 0.0;
    let mut drawn: Vec<(&Chart, Markup, f64)> = Vec::new();
    for chart in charts {
        let (body, own) = chart.draw();
        drawn.push((chart, body, height + TITLE));
        height += own + TITLE;
    }
    let titles: Vec<&str> = charts.iter().map(|chart| chart.title.as_str()).collect();
    let document = html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(WIDTH) height=(px(height))
            viewBox={ "0 0 " (WIDTH) " " (px(height)) } role="img" font-family="system-ui, sans-serif" font-size="14"
            fill="#222" {
            title { (titles.join("; ")) }
            rect width="100%" height="100%" fill="#fff" {}
            @for (chart, body, top) in &drawn {
                g transform={ "translate(0 " (px(*top)) ")" } {
                    text x="8" y="-12" font-size="15" font-weight="600" { (chart.title) }
                    (body)
                }
            }
        }
    };
    without_control_characters(&document.into_string()) + "\n"
}

/// At most `most` of the numbers below `all`, evenly spread and including the first and the last.
pub(super) fn spread(all: usize, most: usize) -> impl Iterator<Item = usize> {
    let chosen = all.min(most);
    (0..chosen).map(move |i| if all <= most { i } else { i * (all - 1) / (most - 1) })
}

fn style(number: usize) -> (&'static str, &'static str) {
    STYLES[number % STYLES.len()]
}

/// A length with as many digits as are visible.
pub(super) fn px(length: f64) -> String {
    let text = format!("{length:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_string)
}

fn width(text: &str) -> f64 {
    LETTER * text.chars().count() as f64
}

/// A label on at most two lines, split after a comma and a space. Numbers contain no spaces.
fn lines(label: &str) -> Vec<&str> {
    label.splitn(2, ", ").collect()
}

/// The name of a case, shortened to the available space.
fn shortened(name: &str) -> String {
    let most = (NAMES / LETTER) as usize;
    match name.chars().count() {
        few if few <= most => name.to_string(),
        _ => name.chars().take(most - 1).chain(['…']).collect(),
    }
}

fn text((x, y): (f64, f64), anchor: &str, content: &str) -> Markup {
    html! { text x=(px(x)) y=(px(y)) text-anchor=(anchor) { (content) } }
}

fn rule(from: (f64, f64), to: (f64, f64), colour: &str) -> Markup {
    html! { line x1=(px(from.0)) y1=(px(from.1)) x2=(px(to.0)) y2=(px(to.1)) stroke=(colour) {} }
}

fn stroke(path: &str, number: usize) -> Markup {
    let (colour, dashes) = style(number);
    html! { path d=(path) fill="none" stroke=(colour) stroke-width="2" stroke-dasharray=(dashes) {} }
}

/// The mark of a series: a filled circle, a square, and so on.
fn mark((x, y): (f64, f64), number: usize) -> Markup {
    let colour = style(number).0;
    let corners: &[(f64, f64)] = match number % STYLES.len() {
        0 => return html! { circle cx=(px(x)) cy=(px(y)) r="4" fill=(colour) {} },
        4 => {
            return html! { circle cx=(px(x)) cy=(px(y)) r="4" fill="#fff" stroke=(colour) stroke-width="2" {} };
        }
        1 => &[(-4.0, -4.0), (4.0, -4.0), (4.0, 4.0), (-4.0, 4.0)],
        2 => &[(0.0, -5.0), (5.0, 4.0), (-5.0, 4.0)],
        3 => &[(0.0, -5.5), (5.5, 0.0), (0.0, 5.5), (-5.5, 0.0)],
        5 => &[(0.0, 5.0), (5.0, -4.0), (-5.0, -4.0)],
        _ => &[(-4.5, -1.5), (4.5, -1.5), (4.5, 1.5), (-4.5, 1.5)],
    };
    let corners: Vec<String> =
        corners.iter().map(|(dx, dy)| format!("{},{}", px(x + dx), px(y + dy))).collect();
    html! { polygon points=(corners.join(" ")) fill=(colour) {} }
}
