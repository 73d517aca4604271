//! How does a measured curve look?
//!
//! A line chart as SVG text: numbers from 0 to 1 against whole numbers. The same curves give the same bytes.
//! Colours are told apart by people with any colour vision, and so are the shapes of the marks.

use std::fmt::Write;

/// A chart with axes and a legend.
#[derive(Debug, Clone, PartialEq)]
pub struct LineChart<'a> {
    /// Above the chart.
    pub title: &'a str,
    /// Below the horizontal axis.
    pub horizontal: &'a str,
    /// Beside the vertical axis.
    pub vertical: &'a str,
    /// At most two.
    pub curves: Vec<Curve<'a>>,
}

/// One line of a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve<'a> {
    /// In the legend.
    pub name: &'a str,
    /// At 0, 1, 2, ...; each from 0 to 1.
    pub values: Vec<f64>,
}

/// Colour and dashes; blue and vermilion of Okabe and Ito's palette.
const STYLES: [(&str, &str); 2] = [("#0072b2", "none"), ("#d55e00", "6 4")];

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 60.0;
/// Marks along the horizontal axis, about.
const TICKS: usize = 12;

impl LineChart<'_> {
    /// The chart as an SVG document.
    pub fn to_svg(&self) -> String {
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
             font-family=\"sans-serif\" font-size=\"13\">\n<title>{title}</title>\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
             <text x=\"{LEFT}\" y=\"24\" font-size=\"16\">{title}</text>\n",
            title = escaped(self.title)
        );
        self.draw_axes(&mut svg);
        for (number, (curve, style)) in self.curves.iter().zip(STYLES).enumerate() {
            self.draw_curve(&mut svg, curve, style, number);
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn last(&self) -> usize {
        self.curves.iter().map(|curve| curve.values.len()).max().unwrap_or(0).saturating_sub(1)
    }

    fn x(&self, place: usize) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * place as f64 / self.last().max(1) as f64
    }

    fn draw_axes(&self, svg: &mut String) {
        for tenths in (0..=10u32).step_by(2) {
            let (value, y) = (f64::from(tenths) / 10.0, y(f64::from(tenths) / 10.0));
            line(svg, (LEFT, y), (WIDTH - RIGHT, y), "#dddddd");
            text(svg, (LEFT - 8.0, y + 4.0), "end", &format!("{value:.1}"));
        }
        for place in (0..=self.last()).step_by(self.last().div_ceil(TICKS).max(1)) {
            let x = self.x(place);
            line(svg, (x, y(0.0)), (x, y(0.0) + 5.0), "black");
            text(svg, (x, y(0.0) + 20.0), "middle", &place.to_string());
        }
        line(svg, (LEFT, y(0.0)), (WIDTH - RIGHT, y(0.0)), "black");
        line(svg, (LEFT, y(0.0)), (LEFT, y(1.0)), "black");
        text(svg, ((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 16.0), "middle", self.horizontal);
        let middle = (y(0.0) + y(1.0)) / 2.0;
        push(
            svg,
            format_args!(
                "<text transform=\"translate(20 {middle:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                escaped(self.vertical)
            ),
        );
    }

    fn draw_curve(&self, svg: &mut String, curve: &Curve<'_>, style: (&str, &str), number: usize) {
        let places: Vec<(f64, f64)> =
            curve.values.iter().enumerate().map(|(i, &value)| (self.x(i), y(value))).collect();
        stroke(svg, &places, style);
        places.iter().for_each(|&place| mark(svg, place, style.0, number));
        // The legend stands in the corner that rising curves leave free.
        let height = y(0.0) - 20.0 - 20.0 * (self.curves.len() - 1 - number) as f64;
        let start = WIDTH - RIGHT - 190.0;
        stroke(svg, &[(start, height), (start + 34.0, height)], style);
        mark(svg, (start + 17.0, height), style.0, number);
        text(svg, (start + 42.0, height + 4.0), "start", curve.name);
    }
}

fn y(value: f64) -> f64 {
    HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value
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

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, content: &str) {
    let content = escaped(content);
    push(svg, format_args!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{content}</text>\n"));
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

/// Circles for the first curve, squares for the second.
fn mark(svg: &mut String, (x, y): (f64, f64), colour: &str, number: usize) {
    match number {
        0 => push(svg, format_args!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"/>\n")),
        _ => push(
            svg,
            format_args!(
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"7\" height=\"7\" fill=\"{colour}\"/>\n",
                x - 3.5,
                y - 3.5
            ),
        ),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_shows_every_point_and_escapes_its_texts() {
        let curves = vec![
            Curve { name: "a < b", values: vec![0.0, 0.5, 1.0] },
            Curve { name: "c", values: vec![0.25, 0.25, 0.75] },
        ];
        let chart = LineChart { title: "R&D", horizontal: "k", vertical: "risk", curves };
        let svg = chart.to_svg();
        assert_eq!(svg, chart.to_svg());
        // Three points and one mark in the legend.
        assert_eq!(svg.matches("<circle").count(), 4);
        assert_eq!(svg.matches("width=\"7\"").count(), 4);
        assert!(svg.contains("a &lt; b") && svg.contains("R&amp;D") && !svg.contains("NaN"));
        assert!(svg.contains("points=\"70.0,360.0 345.0,205.0 620.0,50.0\""));
    }

    #[test]
    fn a_chart_of_one_point_or_none_is_still_a_chart() {
        for values in [vec![], vec![0.5]] {
            let curves = vec![Curve { name: "a", values }];
            let chart = LineChart { title: "t", horizontal: "k", vertical: "risk", curves };
            assert!(!chart.to_svg().contains("NaN"));
        }
    }
}
