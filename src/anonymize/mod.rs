//! How does a table become a release?
pub mod grow;
pub mod prepare;
