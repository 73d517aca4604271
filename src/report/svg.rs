//! How is a figure drawn?
//!
//! Small vector graphics, written by hand: a plotting library would bring fonts and features that differ from
//! machine to machine, while the same numbers must give the same bytes and a page must need no other file.
//! Colours are those of Okabe and Ito, which colour-blind people can tell apart; lines differ in their
//! dashes and marks too, so that they can be told apart on paper without colours.
//!
//! Not here: what the figures mean (`page`).

use std::fmt::Write;

use crate::math::skyline::{Level, Reach};

/// Text as it may stand in HTML and SVG, between tags or in quotes; no control character passes.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(c),
            c if c.is_control() => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// Okabe and Ito, without yellow, which is too light for lines.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];
const DASHES: [&str; 4] = ["none", "7 3", "2 3", "9 3 2 3"];
/// Lines that are drawn in one figure.
const MOST_LINES: usize = COLOURS.len();

const WIDTH: f64 = 480.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 16.0;
const BOTTOM: f64 = 50.0;

/// A drawing, as a part of a page or a file of its own.
pub struct Figure {
    title: String,
    height: f64,
    body: String,
}

impl Figure {
    /// The element to place in a page.
    pub fn to_element(&self) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {h}\" role=\"img\" \
             aria-label=\"{title}\" font-family=\"system-ui, sans-serif\" font-size=\"14\" fill=\"#222\">\
             <title>{title}</title>{body}</svg>",
            h = self.height,
            title = escape(&self.title),
            body = self.body
        )
    }
}

/// A file with the figures below each other, each with its title.
pub fn to_file(figures: &[Figure]) -> String {
    const TITLE: f64 = 30.0;
    let height: f64 = figures.iter().map(|figure| figure.height + TITLE).sum();
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"system-ui, sans-serif\" font-size=\"14\" fill=\"#222\">\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    let mut top = 0.0;
    for figure in figures {
        let title = escape(&figure.title);
        let _ = writeln!(
            text,
            "<g transform=\"translate(0 {})\"><text x=\"12\" y=\"-6\" font-size=\"15\" \
             font-weight=\"600\">{title}</text>{}</g>",
            top + TITLE,
            figure.body
        );
        top += figure.height + TITLE;
    }
    text + "</svg>\n"
}

/// A linear axis from 0 to a round end.
struct Axis {
    end: f64,
    step: f64,
}

impl Axis {
    /// That reaches `largest`, with about `ticks` ticks at whole numbers.
    fn whole(largest: u64, ticks: f64) -> Self {
        let largest = largest.max(1) as f64;
        let raw = (largest / ticks).max(1.0);
        let power = 10f64.powf(raw.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].iter().map(|unit| unit * power).find(|&step| step >= raw);
        let step = step.unwrap_or(10.0 * power);
        Axis { end: (largest / step).ceil() * step, step }
    }

    fn ticks(&self) -> impl Iterator<Item = u64> {
        let (step, count) = (self.step, (self.end / self.step).round() as u64);
        (0..=count).map(move |i| (i as f64 * step) as u64)
    }
}

/// A number with commas between its thousands.
pub fn grouped(number: u64) -> String {
    grouped_digits(&number.to_string())
}

/// The digits of a number, with commas between its thousands.
pub fn grouped_digits(digits: &str) -> String {
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The plain frame of a chart: grid, ticks of both axes and their names.
struct Frame {
    top: f64,
    height: f64,
}

impl Frame {
    fn x(&self, share: f64) -> f64 {
        LEFT + share * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, share: f64) -> f64 {
        self.top + (1.0 - share) * (self.height - self.top - BOTTOM)
    }

    fn vertical(&self, body: &mut String, axis: &Axis, name: &str) {
        for tick in axis.ticks() {
            let y = self.y(tick as f64 / axis.end);
            let _ = write!(
                body,
                "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 7.0,
                y + 4.5,
                grouped(tick)
            );
        }
        let middle = self.y(0.5);
        let _ = write!(
            body,
            "<text transform=\"translate(15 {middle:.1}) rotate(-90)\" text-anchor=\"middle\">{name}</text>"
        );
    }

    fn horizontal(&self, body: &mut String, ticks: impl Iterator<Item = (f64, String)>, name: &str) {
        let base = self.y(0.0);
        for (x, text) in ticks {
            let _ = write!(
                body,
                "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{base:.1}\" y2=\"{:.1}\" stroke=\"#555\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
                base + 4.0,
                base + 18.0
            );
        }
        let _ = write!(
            body,
            "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{base:.1}\" y2=\"{base:.1}\" stroke=\"#555\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{name}</text>",
            WIDTH - RIGHT,
            self.x(0.5),
            self.height - 10.0
        );
    }
}

/// The mark of a line at a corner.
fn mark(kind: usize, x: f64, y: f64, colour: &str) -> String {
    let points = match kind % 4 {
        0 => return format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"/>"),
        1 => [(-4.0, -4.0), (4.0, -4.0), (4.0, 4.0), (-4.0, 4.0)].to_vec(),
        2 => [(0.0, -5.0), (5.0, 4.0), (-5.0, 4.0)].to_vec(),
        _ => [(0.0, -5.5), (5.5, 0.0), (0.0, 5.5), (-5.5, 0.0)].to_vec(),
    };
    let points: Vec<String> = points.iter().map(|(dx, dy)| format!("{:.1},{:.1}", x + dx, y + dy)).collect();
    format!("<polygon points=\"{}\" fill=\"{colour}\"/>", points.join(" "))
}

/// How far k and m may go together, a stepped line for each l.
pub fn skyline(title: &str, levels: &[Level]) -> Figure {
    let shown = spread(levels.len(), MOST_LINES);
    let chosen: Vec<&Level> = shown.iter().map(|&i| &levels[i]).collect();
    let legend_rows = chosen.len().div_ceil(4) as f64;
    let frame = Frame { top: 16.0 + 20.0 * legend_rows, height: 316.0 + 20.0 * legend_rows };
    let largest_k = chosen.iter().filter_map(|level| level.largest_k(0)).max().unwrap_or(0);
    let largest_m = chosen.iter().map(|level| level.largest_m()).max().unwrap_or(0);
    let (across, up) = (Axis::whole(largest_m, 8.0), Axis::whole(largest_k, 5.0));
    let at = |m: u64, k: u64| (frame.x(m as f64 / across.end), frame.y(k as f64 / up.end));
    let mut body = String::new();
    frame.vertical(&mut body, &up, "k: others asked");
    let ticks = across.ticks().map(|m| (at(m, 0).0, grouped(m)));
    frame.horizontal(&mut body, ticks, "m: members of the family");
    for (i, level) in chosen.iter().enumerate() {
        let (colour, dash) = (COLOURS[i], DASHES[i % DASHES.len()]);
        let (x, y) = at(0, level.largest_k(0).unwrap_or(0));
        let mut path = format!("M{x:.1} {y:.1}");
        for &(m, k) in &level.corners {
            let (x, y) = at(m, k);
            let _ = write!(path, "V{y:.1}H{x:.1}");
        }
        let _ = write!(
            body,
            "<path d=\"{path}V{:.1}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" \
             stroke-dasharray=\"{dash}\"/>",
            frame.y(0.0)
        );
        for at_corner in spread(level.corners.len(), 24) {
            let (m, k) = level.corners[at_corner];
            let (x, y) = at(m, k);
            body.push_str(&mark(i, x, y, colour));
        }
        let (x, y) = (LEFT + (i % 4) as f64 * 98.0, 14.0 + 20.0 * (i / 4) as f64);
        let name = match level.l {
            Reach::Number(l) => format!("l = {l}"),
            Reach::Anything => "any l".to_string(),
        };
        let _ = write!(
            body,
            "<line x1=\"{x}\" x2=\"{}\" y1=\"{y}\" y2=\"{y}\" stroke=\"{colour}\" stroke-width=\"2\" \
             stroke-dasharray=\"{dash}\"/>{}<text x=\"{}\" y=\"{}\">{name}</text>",
            x + 26.0,
            mark(i, x + 13.0, y, colour),
            x + 32.0,
            y + 4.5
        );
    }
    Figure { title: title.to_string(), height: frame.height, body }
}

/// At most `most` of the numbers below `all`, the first and the last among them, evenly spread.
fn spread(all: usize, most: usize) -> Vec<usize> {
    if all <= most {
        return (0..all).collect();
    }
    (0..most).map(|i| i * (all - 1) / (most - 1)).collect()
}

/// How many groups there are of each size; a bar is (smallest size, largest size, groups).
pub fn histogram(title: &str, bars: &[(u64, u64, u64)]) -> Figure {
    let frame = Frame { top: 14.0, height: 280.0 };
    let up = Axis::whole(bars.iter().map(|bar| bar.2).max().unwrap_or(0), 5.0);
    let width = 1.0 / bars.len().max(1) as f64;
    let mut body = String::new();
    frame.vertical(&mut body, &up, "groups");
    for (i, &(from, to, groups)) in bars.iter().enumerate() {
        let (x, y) = (frame.x((i as f64 + 0.06) * width), frame.y(groups as f64 / up.end));
        let size = if from == to { grouped(from) } else { format!("{} to {}", grouped(from), grouped(to)) };
        let _ = write!(
            body,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\">\
             <title>{size} people: {} groups</title></rect>",
            (frame.x(1.0) - frame.x(0.0)) * width * 0.88,
            frame.y(0.0) - y,
            COLOURS[0],
            grouped(groups)
        );
    }
    let ticks = (0..bars.len()).step_by(bars.len().div_ceil(8).max(1)).map(|i| {
        let (from, to, _) = bars[i];
        let text = if from == to { grouped(from) } else { format!("{}+", grouped(from)) };
        (frame.x((i as f64 + 0.5) * width), text)
    });
    frame.horizontal(&mut body, ticks, "people in the group, on a logarithmic scale");
    Figure { title: title.to_string(), height: frame.height, body }
}

/// Shares from 0 to 1 as bars with their names: as published, and with the tightest labels.
pub fn shares(title: &str, rows: &[(String, f64, f64)]) -> Figure {
    const NAMES: f64 = 124.0;
    const ROW: f64 = 34.0;
    let height = 34.0 + ROW * rows.len() as f64 + 44.0;
    let x = |share: f64| {
        let known = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
        NAMES + known * (WIDTH - NAMES - 50.0)
    };
    let base = height - 44.0;
    let mut body = String::new();
    for (i, (name, share)) in [("as published", 0), ("tightest labels", 1)].iter().enumerate() {
        let left = NAMES + 150.0 * i as f64;
        let _ = write!(
            body,
            "<rect x=\"{left}\" y=\"6\" width=\"14\" height=\"12\" fill=\"{}\"/>\
             <text x=\"{}\" y=\"16.5\">{name}</text>",
            COLOURS[*share],
            left + 20.0
        );
    }
    for tick in 0..=5 {
        let (at, share) = (x(f64::from(tick) / 5.0), f64::from(tick) / 5.0);
        let _ = write!(
            body,
            "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"26\" y2=\"{base}\" stroke=\"#ddd\"/>\
             <text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{share:.1}</text>",
            base + 16.0
        );
    }
    for (i, (name, published, tight)) in rows.iter().enumerate() {
        let y = 30.0 + ROW * i as f64;
        // Wide letters at 13 pixels: so many fit left of the bars.
        let short = match name.chars().count() {
            0..=13 => name.clone(),
            _ => name.chars().take(11).chain("...".chars()).collect(),
        };
        let _ = write!(
            body,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
            NAMES - 8.0,
            y + 18.0,
            escape(&short)
        );
        for (j, share) in [published, tight].into_iter().enumerate() {
            let y = y + 13.0 * j as f64;
            let _ = write!(
                body,
                "<rect x=\"{NAMES}\" y=\"{y}\" width=\"{:.1}\" height=\"11\" fill=\"{}\"/>\
                 <text x=\"{:.1}\" y=\"{}\" font-size=\"11\">{share:.3}</text>",
                x(*share) - NAMES,
                COLOURS[j],
                x(*share) + 5.0,
                y + 9.5
            );
        }
    }
    let _ = write!(
        body,
        "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">penalty (0: told exactly, 1: not told)</text>",
        x(0.5),
        height - 8.0
    );
    Figure { title: title.to_string(), height, body }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_can_leave_its_place() {
        assert_eq!(escape("<a href='x'>&\"\u{1b}"), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;\u{fffd}");
        let level = Level { l: Reach::Number(0), corners: vec![(0, 3), (2, 1)] };
        let figure = skyline("<script>", &[level]);
        assert!(!figure.to_element().contains("<script>"));
        assert!(!to_file(&[figure]).contains("<script>"));
    }

    #[test]
    fn axes_end_at_round_numbers() {
        for (largest, end, step) in [(0, 1.0, 1.0), (7, 8.0, 2.0), (99, 100.0, 20.0), (1001, 1500.0, 500.0)] {
            let axis = Axis::whole(largest, 5.0);
            assert_eq!((axis.end, axis.step), (end, step), "{largest}");
        }
        assert_eq!(
            (grouped(999), grouped(1000), grouped(1234567)),
            ("999".into(), "1,000".into(), "1,234,567".into())
        );
    }

    #[test]
    fn many_things_are_thinned_out_evenly() {
        assert_eq!(spread(3, 5), [0, 1, 2]);
        assert_eq!(spread(100, 5), [0, 24, 49, 74, 99]);
    }

    #[test]
    fn figures_hold_finite_numbers_for_any_input() {
        for figure in [
            skyline("a", &[]),
            skyline("b", &[Level { l: Reach::Anything, corners: vec![(0, u64::MAX / 2)] }]),
            histogram("c", &[]),
            histogram("d", &[(3, 3, 1)]),
            shares("e", &[("x".repeat(90), 2.0, f64::NAN)]),
        ] {
            let text = figure.to_element();
            assert!(!text.contains("inf") && !text.contains("=\"NaN"), "{text}");
        }
    }
}
