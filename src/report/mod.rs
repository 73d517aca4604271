//! What did a release cost, and which risk remains?
//!
//! [`comparison`] measures a release against its original, [`beside`] groups that are usually made instead, [`kept`] measures what kept columns reveal, [`chart`]
//! draws, and [`page`] arranges all numbers on one page.
//!
//! Not here: counting (`check`), the bounds (`math`).

pub mod beside;
pub mod chart;
pub mod comparison;
pub mod digits;
pub mod html;
pub mod kept;
pub mod page;
pub mod scope;
pub mod utility;
