//! How do numbers become a picture?
//!
//! A [`Chart`] is data: two axes and series of points. [`axis`] finds round ticks and positions, `draw` turns a chart
//! into SVG, and [`skyline`] turns a knowledge skyline into a chart. Charts are drawn here rather than by a plotting
//! library, whose fonts differ between machines: the same numbers must give the same bytes, in a self-contained page.
//!
//! Not here: what the charts mean (`page`, `reproduce`).

pub mod axis;
mod draw;
mod skyline;
#[cfg(test)]
mod tests;

pub use axis::Axis;
pub use draw::{Cases, Chart, Series, to_document};
pub use skyline::knowledge_skyline;
