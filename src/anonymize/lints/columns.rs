//! Which columns that are not published look like ids of people with several rows?

use super::found::Lints;
use crate::encode::repeated_ids::RepeatedIds;
use crate::error::number_of;
use crate::policy::{AcceptedRisk, is_id};

/// A column without the name of an id needs this many values to look like one.
const FEWEST_IDS: u64 = 10;

impl Lints {
    /// Columns that are not published and look like ids of people with several rows, although each row is a person.
    pub fn add_repeated_ids(&mut self, columns: &[RepeatedIds]) {
        for RepeatedIds { name, rows, values, repeated } in columns {
            // Measurements coincide now and then; ids of people with several rows repeat often.
            let looks = is_id(name)
                || (*values >= FEWEST_IDS && values.saturating_mul(2) >= *rows && repeated * 10 >= *values);
            if !looks || *repeated == 0 {
                continue;
            }
            let (rows, values) = (number_of(*rows, "row", "rows"), number_of(*values, "value", "values"));
            self.add(
                AcceptedRisk::RepeatedIds,
                Some(*repeated),
                format!(
                    "column {name:?} is dropped and has {values} on {rows}: if it is the id of a person, the rows of one \
                     person count as several people"
                ),
                format!("write individual = {name:?} below [columns] in place of dropping it"),
            );
        }
    }
}
