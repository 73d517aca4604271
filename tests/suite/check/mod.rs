//! Does `skyveil check` answer according to the definitions, whatever the form of the table, and does it reject what it
//! cannot answer?

mod answers;
mod bad_input;
mod one_meaning;
mod random_tables;
mod releases;
mod tables;
