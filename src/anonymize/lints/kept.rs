//! Which kept columns are as good as a name?

use super::found::Lints;
use crate::policy::AcceptedRisk;
use crate::report::kept::KeptColumn;

impl Lints {
    /// The kept columns in which more than half of the people have a value that nobody else in their group has.
    pub fn of_kept(kept: &[KeptColumn], people: u64) -> Self {
        let mut lints = Lints::default();
        for column in kept {
            let Some(share) = column.identifies(people) else { continue };
            let name = &column.name;
            lints.add(
                AcceptedRisk::UniqueKeptValues,
                column.alone,
                format!(
                    "column {name:?} is kept, and {share} of the people have a value in it that nobody else of their group \
                     has: whoever knows it finds their row"
                ),
                format!("drop it: move {name:?} from keep to drop, or to columns.quasi"),
            );
        }
        lints
    }
}
