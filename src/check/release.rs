//! What does a release directory hold?
