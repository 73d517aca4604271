//! How do numbers become a picture?
//!
//! A [`Chart`] is data: two axes and series of points. [`axis`] finds round ticks and places, `draw` makes SVG out of
//! it, and [`skyline`] turns a knowledge skyline into a chart. Drawn here rather than by a plotting library, whose
//! fonts differ from machine to machine: the same numbers must give the same bytes, in a page that needs no other file.
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
