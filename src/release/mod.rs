//! What may the public see?
//!
//! Groups become labels ([`label`], parsed by [`reader`]) and rows ([`rows`]); columns that are kept travel as
//! [payload](crate::encode::payload) and are put in group order by [a sorter](crate::resources::sorter). Files
//! ([`part_writer`], read back by [`tables`]) are created in a staging directory ([`staging`]) and bound together by a manifest ([`manifest`]).
//! Nothing from the source is written except what the policy allows. What the owner keeps besides is private
//! ([`private_file`]): a receipt ([`receipt`]), what attacks on the release found ([`attacks`]) and the tree of cuts
//! ([`cut_tree`]); those of a release that is replaced go with it ([`exchanged`]). A release may be continued night after
//! night ([`chain`]); a ledger knows who was published ([`ledger`]), and others wait ([`pending`]).

pub mod attacks;
pub mod chain;
pub mod covers;
pub mod cut_tree;
pub mod exchanged;
pub mod files_elsewhere;
pub mod findings;
pub mod label;
pub mod ledger;
pub mod manifest;
pub mod nightly_files;
pub mod output;
pub mod part_writer;
pub mod penalty;
pub mod pending;
pub mod person_log;
pub mod private_file;
pub mod reader;
pub mod receipt;
pub mod rows;
pub mod staging;
pub mod tables;
pub mod task_files;
