//! What is not known about the people of a release that is continued?

use super::found::Lints;
use crate::model::Policy;
use crate::policy::AcceptedRisk;

impl Lints {
    /// Newcomers of whom nobody can say whether they were published before, and people who waited because of their
    /// values.
    pub fn add_nights(&mut self, policy: &Policy, people: u64, waited_by_values: bool) {
        if policy.nights.as_ref().is_some_and(|nights| nights.person.is_none()) {
            self.add(
                AcceptedRisk::UncheckedNewcomers,
                Some(people),
                "no column names people, so nobody checks whether newcomers were published before: whoever is in two \
                 groups can be found by subtracting them",
                "name the column: person = \"...\" below [nights]",
            );
        }
        if waited_by_values {
            self.add(
                AcceptedRisk::WaitedByValues,
                Some(people),
                "these people waited although they were enough, because they were not safe as one group: that they \
                 waited tells something of their values",
                "move the file of those who wait away for good, and publish newcomers only",
            );
        }
    }
}
