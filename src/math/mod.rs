//! How sure does an adversary become?
//!
//! Formulas and exact decisions; nothing here depends on Arrow, files or threads.

pub mod beliefs;
pub mod blind;
pub mod confidence;
pub mod disclosure_sets;
pub mod exact;
pub mod hash_sample;
pub mod implications;
pub mod joint_releases;
pub mod posterior;
pub mod random;
pub mod replay;
pub mod robust;
pub mod shares;
pub mod skyline;
pub mod top_counts;
