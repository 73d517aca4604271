//! Axes: which numbers they show, where, and which of them are labelled.

use crate::report::digits::grouped_digits;

/// An axis: what it shows, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What is shown, with its unit.
    pub label: String,
    /// The distance between numbers.
    pub spacing: Spacing,
    /// Values that must be visible in addition to the points; if one is outermost, the axis ends there.
    pub include: Vec<f64>,
    /// The names shown for 1, 2, ... in place of numbers; points are then not joined by lines.
    pub cases: Vec<String>,
}

/// The distance between numbers on an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spacing {
    /// Equal differences are equally far apart.
    Linear,
    /// Linear, with labels at whole numbers only.
    Whole,
    /// Equal ratios are equally far apart.
    Logarithmic,
}

impl Axis {
    fn new(label: impl Into<String>, spacing: Spacing, include: &[f64]) -> Self {
        Axis { label: label.into(), spacing, include: include.to_vec(), cases: Vec::new() }
    }

    /// A linear axis that shows 0.
    pub fn from_zero(label: impl Into<String>) -> Self {
        Axis::new(label, Spacing::Linear, &[0.0])
    }

    /// A linear axis from 0 to 1.
    pub fn unit(label: impl Into<String>) -> Self {
        Axis::new(label, Spacing::Linear, &[0.0, 1.0])
    }

    /// A linear axis of whole numbers that shows 0.
    pub fn whole(label: impl Into<String>) -> Self {
        Axis::new(label, Spacing::Whole, &[0.0])
    }

    /// A linear axis that spans the points.
    pub fn linear(label: impl Into<String>) -> Self {
        Axis::new(label, Spacing::Linear, &[])
    }

    /// A logarithmic axis that spans the points.
    pub fn logarithmic(label: impl Into<String>) -> Self {
        Axis::new(label, Spacing::Logarithmic, &[])
    }

    /// An axis of named cases, the first at 1.
    pub fn of_cases(label: impl Into<String>, names: impl IntoIterator<Item = String>) -> Self {
        let cases: Vec<String> = names.into_iter().collect();
        let include = [0.5, cases.len() as f64 + 0.5];
        Axis { cases, ..Axis::new(label, Spacing::Whole, &include) }
    }

    /// Whether this value can be shown on the axis.
    pub(super) fn shows(&self, value: f64) -> bool {
        value.is_finite() && (self.spacing != Spacing::Logarithmic || value > 0.0)
    }

    fn scaled(&self, value: f64) -> f64 {
        if self.spacing == Spacing::Logarithmic { value.log10() } else { value }
    }
}

/// Approximate number of labels on a horizontal axis; a vertical one is shorter.
pub(super) const HORIZONTAL_TICKS: usize = 8;
pub(super) const VERTICAL_TICKS: usize = 6;

/// An axis with its two ends, before its place in the drawing is known.
pub(super) struct Range<'a> {
    axis: &'a Axis,
    /// On the scale of the axis: logarithms on a logarithmic one.
    low: f64,
    high: f64,
    /// Approximate number of labels; an end that was not declared is at one of them.
    most: usize,
}

impl<'a> Range<'a> {
    /// Creates an axis that shows all these values, for about `most` labels.
    pub fn new(axis: &'a Axis, values: impl Iterator<Item = f64>, most: usize) -> Self {
        let declared: Vec<f64> = axis.include.iter().map(|&value| axis.scaled(value)).collect();
        let all = values.map(|value| axis.scaled(value)).chain(declared.iter().copied());
        let (low, high) = all
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let is_declared = |end: f64| declared.contains(&end);
        let (low, high) = match low <= high {
            true if low < high => (low, high),
            // Only one number: if it was declared, it is the lower end.
            true if is_declared(low) => (low, high + 1.0),
            true => (low - 0.5, high + 0.5),
            false => (0.0, 1.0),
        };
        // An end that was not declared extends to the next tick, or a little further on a logarithmic axis.
        let (outer_low, outer_high) = match axis.spacing {
            Spacing::Logarithmic => (low - (high - low) * 0.04, high + (high - low) * 0.04),
            Spacing::Linear | Spacing::Whole => {
                let step = tick_step(axis.spacing, high - low, most);
                ((low / step).floor() * step, (high / step).ceil() * step)
            }
        };
        Range {
            axis,
            low: if is_declared(low) { low } else { outer_low },
            high: if is_declared(high) { high } else { outer_high },
            most,
        }
    }

    /// The position of a value along the axis, from 0 to 1.
    pub fn share(&self, value: f64) -> f64 {
        (self.axis.scaled(value) - self.low) / (self.high - self.low)
    }

    /// Values with labels, about `most` at the most; every case has one.
    pub fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        let most = most.clamp(1, self.most);
        if !self.axis.cases.is_empty() {
            let named = self.axis.cases.iter().enumerate();
            return named.map(|(i, name)| ((i + 1) as f64, name.clone())).collect();
        }
        let values = match self.axis.spacing {
            Spacing::Linear | Spacing::Whole => self.even_ticks(self.low, self.high, most),
            Spacing::Logarithmic if self.high - self.low < 0.5 => {
                self.even_ticks(10f64.powf(self.low), 10f64.powf(self.high), most)
            }
            Spacing::Logarithmic => self.decades(most),
        };
        values.into_iter().map(|value| (value, label(value))).collect()
    }

    fn even_ticks(&self, low: f64, high: f64, most: usize) -> Vec<f64> {
        let step = tick_step(self.axis.spacing, high - low, most);
        let (first, last) = ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor());
        (0..=(last - first).max(0.0) as u32).map(|i| (first + f64::from(i)) * step).collect()
    }

    fn decades(&self, most: usize) -> Vec<f64> {
        let decades = self.high - self.low;
        let digits: &[f64] = if decades * 3.0 < most as f64 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let step = (decades / most as f64).ceil().max(1.0) as usize;
        (self.low.floor() as i32..=self.high.ceil() as i32)
            .step_by(step)
            .flat_map(|decade| digits.iter().map(move |digit| digit * 10f64.powi(decade)))
            .filter(|tick| (self.low - 1e-9..=self.high + 1e-9).contains(&tick.log10()))
            .collect()
    }
}

/// The distance between ticks: 1, 2 or 5 times a power of ten, and whole if the labels are.
fn tick_step(spacing: Spacing, length: f64, most: usize) -> f64 {
    let least = length / most as f64;
    let decade = 10f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].into_iter().map(|digit| digit * decade);
    let step = steps.into_iter().find(|step| *step >= least * 0.999).unwrap_or(10.0 * decade);
    if spacing == Spacing::Whole { step.max(1.0) } else { step }
}

/// A number on an axis, as short as it can be.
fn label(value: f64) -> String {
    if value != 0.0 && !(1e-4..1e9).contains(&value.abs()) {
        return format!("{value:.0e}");
    }
    if value >= 1000.0 {
        return grouped_digits(&format!("{value:.0}"));
    }
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_string() } else { text.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, values: &[f64]) -> Vec<String> {
        let range = Range::new(axis, values.iter().copied(), HORIZONTAL_TICKS);
        range.ticks(HORIZONTAL_TICKS).into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn axes_end_at_round_numbers() {
        assert_eq!(labels(&Axis::whole("n"), &[7.0]), ["0", "1", "2", "3", "4", "5", "6", "7"]);
        assert_eq!(labels(&Axis::whole("n"), &[]), ["0", "1"]);
        assert_eq!(
            labels(&Axis::from_zero("n"), &[1001.0]),
            ["0", "200", "400", "600", "800", "1,000", "1,200"]
        );
        assert_eq!(labels(&Axis::unit("n"), &[0.3]), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(labels(&Axis::linear("n"), &[5.0, 10.0]), ["5", "6", "7", "8", "9", "10"]);
    }

    #[test]
    fn equal_ratios_are_equally_far_apart() {
        let axis = Axis { include: vec![1.0, 100.0], ..Axis::logarithmic("times") };
        let range = Range::new(&axis, [10.0].into_iter(), HORIZONTAL_TICKS);
        assert_eq!([1.0, 10.0, 100.0].map(|value| range.share(value)), [0.0, 0.5, 1.0]);
        assert_eq!(labels(&axis, &[10.0]), ["1", "2", "5", "10", "20", "50", "100"]);
    }

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 0.25, 10.0, 1e6, 2e9, 2.5e-7, -3.0].map(label);
        assert_eq!(shown, ["0", "0.25", "10", "1,000,000", "2e9", "2e-7", "-3"]);
    }
}
