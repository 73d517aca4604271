//! What did a release cost, and what is left to risk?
//!
//! [`made`] reads the manifest, [`svg`] draws, [`page`] arranges the numbers of a check and of the manifest into one page.
//!
//! Not here: counting (`check`), the bounds (`skyline`).

pub mod made;
pub mod page;
mod robust;
pub mod svg;

/// The name of the page in a release.
pub const REPORT: &str = "report.html";
