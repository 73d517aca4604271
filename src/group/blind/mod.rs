//! Which groups can be published so that repeating their choice tells nothing about sensitive values?
//!
//! [`boxes`] cuts the space of quasi-identifiers at lines that depend on the boxes alone, for as long as every part has
//! enough people. [`blind_groups`] passes the sizes and counts to the rule of mathematics 13, and publishes the nodes
//! that it names.

mod blind_groups;
mod boxes;

pub use blind_groups::BlindGroups;
