//! Does `skyveil check` answer as the definitions say, whatever the form of the table, and does it refuse
//! what it cannot answer?

mod answers;
mod bad_input;
mod random_tables;
mod releases;
mod tables;
