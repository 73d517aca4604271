//! Whose values follow from what is published about the others?

use super::found::Lints;
use crate::policy::AcceptedRisk;

impl Lints {
    /// People whom no group can hold, although the distributions were counted with them.
    pub fn of_suppressed(people: u64) -> Self {
        let mut lints = Lints::default();
        if people > 0 {
            lints.add(
                AcceptedRisk::SuppressedPeople,
                Some(people),
                "people fit in no group, not even together with others: whoever knows the counts behind the distributions \
                 subtracts what is published, and keeps their values",
                "write support = 100 below [privacy], lower r, state fewer sets of columns in privacy.known, or give \
                 distributions from elsewhere in privacy.distributions",
            );
        }
        lints
    }
}
