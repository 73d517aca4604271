//! What did a release cost, and what is left to risk?
//!
//! [`comparison`] measures a release against its original, [`kept`] what kept columns tell, [`made`] reads the manifest,
//! [`svg`] draws, `required` tells what had to hold, and [`page`] arranges all numbers into one page.
//!
//! Not here: counting (`check`), the bounds (`skyline`).

pub mod comparison;
mod covers;
pub mod kept;
pub mod made;
pub mod page;
pub mod plot;
mod required;
mod robust;
pub mod svg;
pub mod utility;

/// The name of the page in a release.
pub const REPORT: &str = "report.html";
