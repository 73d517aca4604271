//! How do measured curves look?
//!
//! Charts as SVG text: several series of points, linear or logarithmic axes, a legend below. The same points give the
//! same bytes. Colours are told apart by people with any colour vision, and so are the shapes of the marks.
//! A point that an axis cannot show (not finite, or not positive on a logarithmic axis) is left out.

use std::fmt::Write;

/// A chart with two axes and a legend.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Above the chart.
    pub title: String,
    /// Below.
    pub horizontal: Axis,
    /// At the left.
    pub vertical: Axis,
    /// In the order of the legend; styles repeat after seven.
    pub series: Vec<Series>,
}

/// An axis: what it shows, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What is shown, with its unit.
    pub label: String,
    /// The distance between numbers.
    pub scale: Scale,
    /// Values that must be inside, beside those of the points.
    pub include: Vec<f64>,
    /// What 1, 2, ... stand for, in place of numbers; points are then not joined.
    pub cases: Vec<String>,
}

/// The distance between numbers on an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equally far apart.
    Linear,
    /// Linear, and only whole numbers are named.
    Whole,
    /// Equal ratios are equally far apart.
    Logarithmic,
}

/// One line of a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// In the legend.
    pub name: String,
    /// From left to right.
    pub points: Vec<(f64, f64)>,
}

impl Axis {
    /// A linear axis that shows 0.
    pub fn from_zero(label: impl Into<String>) -> Self {
        Axis { label: label.into(), scale: Scale::Linear, include: vec![0.0], cases: Vec::new() }
    }

    /// A linear axis from 0 to 1.
    pub fn unit(label: impl Into<String>) -> Self {
        Axis { label: label.into(), scale: Scale::Linear, include: vec![0.0, 1.0], cases: Vec::new() }
    }

    /// A linear axis of whole numbers that shows 0.
    pub fn whole(label: impl Into<String>) -> Self {
        Axis { label: label.into(), scale: Scale::Whole, include: vec![0.0], cases: Vec::new() }
    }

    /// An axis of cases with names, the first at 1; a comma and a blank break a name.
    pub fn of_cases(names: impl IntoIterator<Item = String>) -> Self {
        let cases: Vec<String> = names.into_iter().collect();
        let include = vec![0.5, cases.len() as f64 + 0.5];
        Axis { label: String::new(), scale: Scale::Whole, include, cases }
    }

    /// A linear axis as long as the points.
    pub fn linear(label: impl Into<String>) -> Self {
        Axis { label: label.into(), scale: Scale::Linear, include: Vec::new(), cases: Vec::new() }
    }

    /// A logarithmic axis as long as the points.
    pub fn logarithmic(label: impl Into<String>) -> Self {
        Axis { label: label.into(), scale: Scale::Logarithmic, include: Vec::new(), cases: Vec::new() }
    }
}

/// Colour and dashes; the palette of Okabe and Ito without yellow.
const STYLES: [(&str, &str); 7] = [
    ("#0072b2", "none"),
    ("#d55e00", "6 4"),
    ("#009e73", "2 3"),
    ("#cc79a7", "9 3 2 3"),
    ("#000000", "12 4"),
    ("#e69f00", "none"),
    ("#56b4e9", "4 2"),
];

const WIDTH: f64 = 640.0;
/// Without the legend.
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 60.0;
/// Height of a row of the legend, and its entries.
const LEGEND_ROW: f64 = 20.0;
const LEGEND_ENTRIES: usize = 2;
/// Numbers along an axis, about.
const TICKS: f64 = 8.0;

impl Chart {
    /// The chart as an SVG document.
    pub fn to_svg(&self) -> String {
        sheet(std::slice::from_ref(self), 1)
    }

    fn height(&self) -> f64 {
        HEIGHT + LEGEND_ROW * self.series.len().div_ceil(LEGEND_ENTRIES) as f64
    }

    fn draw(&self, svg: &mut String) {
        text(svg, (LEFT, 26.0), "start", 16, &self.title);
        let shown: Vec<Vec<(f64, f64)>> = self.series.iter().map(|series| self.shown(series)).collect();
        let along = |of: fn(&(f64, f64)) -> f64| shown.iter().flatten().map(of).collect::<Vec<f64>>();
        let across = Ruler::new(&self.horizontal, &along(|point| point.0), (LEFT, WIDTH - RIGHT));
        let up = Ruler::new(&self.vertical, &along(|point| point.1), (HEIGHT - BOTTOM, TOP));
        self.draw_axes(svg, &across, &up);
        for (number, (series, points)) in self.series.iter().zip(&shown).enumerate() {
            let places: Vec<(f64, f64)> =
                points.iter().map(|&(x, y)| (across.place(x), up.place(y))).collect();
            if self.horizontal.cases.is_empty() {
                stroke(svg, &places, STYLES[number % STYLES.len()]);
            }
            places.iter().for_each(|&place| mark(svg, place, number));
            self.draw_legend(svg, number, &series.name);
        }
    }

    fn shown(&self, series: &Series) -> Vec<(f64, f64)> {
        let fits =
            |axis: &Axis, value: f64| value.is_finite() && (axis.scale != Scale::Logarithmic || value > 0.0);
        let both = |&&(x, y): &&(f64, f64)| fits(&self.horizontal, x) && fits(&self.vertical, y);
        series.points.iter().filter(both).copied().collect()
    }

    fn draw_axes(&self, svg: &mut String, across: &Ruler, up: &Ruler) {
        let (floor, ceiling) = (HEIGHT - BOTTOM, TOP);
        for tick in up.ticks() {
            let y = up.place(tick);
            line(svg, (LEFT, y), (WIDTH - RIGHT, y), "#dddddd");
            text(svg, (LEFT - 8.0, y + 4.0), "end", 13, &number(tick));
        }
        for tick in across.ticks() {
            let x = across.place(tick);
            line(svg, (x, floor), (x, floor + 5.0), "black");
            match self.horizontal.cases.get((tick as usize).wrapping_sub(1)) {
                Some(name) => {
                    for (row, part) in name.split(", ").enumerate() {
                        text(svg, (x, floor + 20.0 + 16.0 * row as f64), "middle", 13, part);
                    }
                }
                None => text(svg, (x, floor + 20.0), "middle", 13, &number(tick)),
            }
        }
        line(svg, (LEFT, floor), (WIDTH - RIGHT, floor), "black");
        line(svg, (LEFT, floor), (LEFT, ceiling), "black");
        text(svg, ((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 18.0), "middle", 13, &self.horizontal.label);
        let middle = (floor + ceiling) / 2.0;
        push(
            svg,
            format_args!(
                "<text transform=\"translate(14 {middle:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                escaped(&self.vertical.label)
            ),
        );
    }

    fn draw_legend(&self, svg: &mut String, number: usize, name: &str) {
        let column = (WIDTH - LEFT - RIGHT) / LEGEND_ENTRIES as f64;
        let start = LEFT + column * (number % LEGEND_ENTRIES) as f64;
        let height = HEIGHT + LEGEND_ROW * (number / LEGEND_ENTRIES) as f64;
        if self.horizontal.cases.is_empty() {
            stroke(svg, &[(start, height), (start + 34.0, height)], STYLES[number % STYLES.len()]);
        }
        mark(svg, (start + 17.0, height), number);
        text(svg, (start + 42.0, height + 4.0), "start", 13, name);
    }
}

/// Several charts as one SVG document, `columns` beside each other.
pub fn sheet(charts: &[Chart], columns: usize) -> String {
    let columns = columns.clamp(1, charts.len().max(1));
    let rows: Vec<&[Chart]> = charts.chunks(columns).collect();
    let heights: Vec<f64> =
        rows.iter().map(|row| row.iter().map(Chart::height).fold(0.0, f64::max)).collect();
    let (width, height) = (WIDTH * columns as f64, heights.iter().sum::<f64>());
    let title: Vec<String> = charts.iter().map(|chart| escaped(&chart.title)).collect();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         font-family=\"sans-serif\" font-size=\"13\">\n<title>{}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n",
        title.join("; ")
    );
    let mut top = 0.0;
    for (row, height) in rows.iter().zip(heights) {
        for (column, chart) in row.iter().enumerate() {
            push(&mut svg, format_args!("<g transform=\"translate({} {top})\">\n", WIDTH * column as f64));
            chart.draw(&mut svg);
            svg.push_str("</g>\n");
        }
        top += height;
    }
    svg.push_str("</svg>\n");
    svg
}

/// Where the numbers of an axis are.
struct Ruler {
    scale: Scale,
    /// On the scale: logarithms on a logarithmic one.
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Ruler {
    fn new(axis: &Axis, values: &[f64], (from, to): (f64, f64)) -> Self {
        let scaled = |value: &f64| match axis.scale {
            Scale::Linear | Scale::Whole => *value,
            Scale::Logarithmic => value.log10(),
        };
        let all = || values.iter().chain(&axis.include).map(scaled);
        let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
        let stated = |end: f64| axis.include.iter().map(scaled).any(|value| value == end);
        let (low, high) = match low <= high {
            true if low < high => (low, high),
            // One number only: a stated one is the lower end.
            true if stated(low) => (low, high + 1.0),
            true => (low - 0.5, high + 0.5),
            false => (0.0, 1.0),
        };
        // Points at the very end of an axis are hard to read; stated ends are kept.
        let room = (high - low) * 0.04;
        let low = if stated(low) { low } else { low - room };
        let high = if stated(high) { high } else { high + room };
        Ruler { scale: axis.scale, low, high, from, to }
    }

    fn place(&self, value: f64) -> f64 {
        let scaled = if self.scale == Scale::Logarithmic { value.log10() } else { value };
        self.from + (self.to - self.from) * (scaled - self.low) / (self.high - self.low)
    }

    fn ticks(&self) -> Vec<f64> {
        if self.scale != Scale::Logarithmic || self.high - self.low < 0.5 {
            let (low, high) = match self.scale {
                Scale::Linear | Scale::Whole => (self.low, self.high),
                Scale::Logarithmic => (10f64.powf(self.low), 10f64.powf(self.high)),
            };
            let least = if self.scale == Scale::Whole { 1.0 } else { 0.0 };
            let step = round_step((high - low) / TICKS).max(least);
            let first = (low / step - 1e-9).ceil();
            let last = (high / step + 1e-9).floor();
            return (0..=(last - first).max(0.0) as u32).map(|i| (first + f64::from(i)) * step).collect();
        }
        let digits: &[f64] = if self.high - self.low < 3.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let decades = self.low.floor() as i32..=self.high.ceil() as i32;
        let step = ((self.high - self.low) / TICKS).ceil().max(1.0) as usize;
        decades
            .step_by(step)
            .flat_map(|decade| digits.iter().map(move |digit| digit * 10f64.powi(decade)))
            .filter(|tick| (self.low - 1e-9..=self.high + 1e-9).contains(&tick.log10()))
            .collect()
    }
}

/// The next of 1, 2, 5, 10, ... .
fn round_step(least: f64) -> f64 {
    let decade = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|digit| digit * decade)
        .find(|step| *step >= least * 0.999)
        .unwrap_or(decade)
}

/// A number at an axis, as short as it can be.
fn number(value: f64) -> String {
    if value != 0.0 && !(1e-4..1e6).contains(&value.abs()) {
        return format!("{value:.0e}");
    }
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_string() } else { text.to_string() }
}

fn push(svg: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = svg.write_fmt(text);
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64), colour: &str) {
    let ((x1, y1), (x2, y2)) = (from, to);
    push(
        svg,
        format_args!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\"/>\n"
        ),
    );
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, size: u32, content: &str) {
    let content = escaped(content);
    push(
        svg,
        format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\">{content}</text>\n"
        ),
    );
}

fn stroke(svg: &mut String, places: &[(f64, f64)], (colour, dashes): (&str, &str)) {
    let places: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    push(
        svg,
        format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\"/>\n",
            places.join(" ")
        ),
    );
}

/// Circles for the first series, squares for the second, and so on.
fn mark(svg: &mut String, (x, y): (f64, f64), number: usize) {
    let colour = STYLES[number % STYLES.len()].0;
    let corners: &[(f64, f64)] = match number % STYLES.len() {
        0 | 5 => {
            let fill = if number.is_multiple_of(STYLES.len()) { colour } else { "white" };
            return push(
                svg,
                format_args!(
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{fill}\" stroke=\"{colour}\"/>\n"
                ),
            );
        }
        1 => &[(-3.5, -3.5), (3.5, -3.5), (3.5, 3.5), (-3.5, 3.5)],
        2 => &[(0.0, -4.5), (4.5, 3.5), (-4.5, 3.5)],
        3 => &[(0.0, -5.0), (5.0, 0.0), (0.0, 5.0), (-5.0, 0.0)],
        4 => &[(0.0, 4.5), (4.5, -3.5), (-4.5, -3.5)],
        _ => &[(-4.5, -1.5), (4.5, -1.5), (4.5, 1.5), (-4.5, 1.5)],
    };
    let corners: Vec<String> =
        corners.iter().map(|(dx, dy)| format!("{:.1},{:.1}", x + dx, y + dy)).collect();
    push(svg, format_args!("<polygon points=\"{}\" fill=\"{colour}\"/>\n", corners.join(" ")));
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(vertical: Axis, points: Vec<Vec<(f64, f64)>>) -> Chart {
        let series = points.into_iter().map(|points| Series { name: "a < b".into(), points });
        let horizontal = Axis { include: vec![0.0, 2.0], ..Axis::linear("k") };
        Chart { title: "R&D".into(), horizontal, vertical, series: series.collect() }
    }

    #[test]
    fn a_chart_shows_every_point_and_escapes_its_texts() {
        let points = vec![vec![(0.0, 0.0), (1.0, 0.5), (2.0, 1.0)], vec![(0.0, 0.25), (1.0, 0.25)]];
        let chart = chart(Axis::unit("risk"), points);
        let svg = chart.to_svg();
        assert_eq!(svg, chart.to_svg());
        // Three points and two and a mark of each in the legend.
        assert_eq!(svg.matches("<circle").count(), 4);
        assert_eq!(svg.matches("<polygon").count(), 3);
        assert!(svg.contains("a &lt; b") && svg.contains("R&amp;D") && !svg.contains("NaN"));
        assert!(svg.contains("points=\"76.0,360.0 348.0,205.0 620.0,50.0\""), "{svg}");
    }

    #[test]
    fn equal_ratios_are_equally_far_apart_and_zero_is_left_out() {
        let mut axis = Axis::logarithmic("times");
        axis.include = vec![1.0, 100.0];
        let points = vec![vec![(0.0, 1.0), (1.0, 10.0), (2.0, 100.0), (2.0, 0.0), (1.0, f64::NAN)]];
        let svg = chart(axis, points).to_svg();
        assert!(svg.contains("points=\"76.0,360.0 348.0,205.0 620.0,50.0\""), "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn a_chart_of_one_point_or_none_is_still_a_chart() {
        for points in [vec![], vec![(1.0, 0.5)], vec![(1.0, f64::INFINITY)]] {
            for axis in [Axis::linear("y"), Axis::logarithmic("y"), Axis::from_zero("y")] {
                let svg = chart(axis, vec![points.clone()]).to_svg();
                assert!(!svg.contains("NaN") && !svg.contains("inf"));
            }
        }
    }

    #[test]
    fn cases_are_named_and_not_joined() {
        let mut chart = chart(Axis::unit("risk"), vec![vec![(1.0, 0.5), (2.0, 0.25)]]);
        chart.horizontal = Axis::of_cases(["few, small", "many"].map(str::to_string));
        let svg = chart.to_svg();
        assert!(svg.contains(">few<") && svg.contains(">small<") && svg.contains(">many<"), "{svg}");
        assert!(!svg.contains("<polyline") && svg.matches("<circle").count() == 3, "{svg}");
    }

    #[test]
    fn a_sheet_holds_all_charts() {
        let one = chart(Axis::unit("risk"), vec![vec![(0.0, 0.5)]]);
        let svg = sheet(&[one.clone(), one.clone(), one], 2);
        assert_eq!(svg.matches("<g ").count(), 3);
        assert!(svg.contains("viewBox=\"0 0 1280 880\""), "{svg}");
    }

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 0.25, 10.0, 1e6, 2.5e-7, -3.0].map(number);
        assert_eq!(shown, ["0", "0.25", "10", "1e6", "2e-7", "-3"]);
    }
}
