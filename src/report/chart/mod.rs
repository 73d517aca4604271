//! How do numbers become a picture?
//!
//! A [`Chart`] is data: two axes and series of points. [`axis`] finds round ticks and positions, `draw` turns a chart
//! into SVG. A knowledge skyline becomes a chart ([`skyline`]), cells (`grid`) or a word-sized picture (`sparkline`);
//! `histogram` counts groups, `meter` shows a risk below its limit, `marginals` compares a column before and after. Charts are
//! drawn here rather than by a plotting library, whose fonts differ between machines: the same numbers must give the
//! same bytes, in a self-contained page. Notebooks show the same ones.
//!
//! Not here: what the charts mean (`page`, `reproduce`).

pub mod axis;
mod draw;
mod grid;
mod histogram;
mod marginals;
mod meter;
mod skyline;
mod sparkline;
#[cfg(test)]
mod tests;

pub use axis::Axis;
pub use draw::{Chart, Series, to_document};
pub use grid::{GridMarks, hatching, skyline_grid};
pub use histogram::histogram;
pub use marginals::marginals;
pub use meter::{bar, meter};
pub use skyline::knowledge_skyline;
pub use sparkline::Sparklines;

/// The colours of what is drawn, for light and dark.
pub const CHART_STYLE: &str = include_str!("chart.css");
