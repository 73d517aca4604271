//! Which values generalize to which groups?
//!
//! A [`Hierarchy`] is a tree over the values of one column, from a file in ARX's format, a tree in the policy, or built
//! from the values themselves (interval widths or ends, prefixes, calendar levels). Every builder produces rows `value;
//! group; ...; root`, so trees are validated in one place.
//!
//! Memory: O(nodes), independent of the number of rows of the table.
//! Invariants: the leaves of a node are a contiguous range of leaf codes; a name identifies one node; a parent precedes
//! its children in the order of [`Node`] numbers.
//! Not here: which column uses which hierarchy (`policy`), the order in which cuts are tried.

mod arx;
mod build;
mod dates;
mod rows;
mod tree;

pub use arx::{parse_arx, to_arx};
pub use build::{by_dates, by_ends, by_prefixes, by_widths, decimal_text, range_label};
pub use dates::{DateLevel, parse_day};
pub use rows::{Problem, Row, from_rows};
pub use tree::{Hierarchy, Node};

#[cfg(test)]
mod tests;
