//! What did a release cost, and what is left to risk?
//!
//! [`svg`] draws, [`page`] arranges the numbers of a check and of the manifest into one page.
//!
//! Not here: counting (`check`), the bounds (`skyline`).

pub mod svg;
