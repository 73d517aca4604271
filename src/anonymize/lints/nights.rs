//! What is not known about the people of a release that is continued?

use super::found::Lints;
use crate::error::{Lint, Result};
use crate::model::Policy;
use crate::policy::{AcceptedRisk, Leaving};

impl Lints {
    /// A release that takes the place of an older one of the same people.
    pub fn of_replacement(policy: &Policy) -> Result<Vec<Lint>> {
        let mut lints = Lints::default();
        lints.add(
            AcceptedRisk::RepeatedReleases,
            None,
            "an older release of these people is replaced: whoever has a copy of it subtracts one from the other, and \
             people who joined or left in between may be certain",
            "continue the release instead: add [nights] to the policy, and append",
        );
        lints.accepted(policy)
    }

    /// A release whose groups may be replaced by those who stay.
    pub fn of_erasure(policy: &Policy) -> Result<Vec<Lint>> {
        let mut lints = Lints::default();
        lints.add_replaced_groups(policy, None);
        lints.accepted(policy)
    }

    fn add_replaced_groups(&mut self, policy: &Policy, people: Option<u64>) {
        if policy.nights.as_ref().is_some_and(|nights| nights.erase == Leaving::Replace) {
            self.add(
                AcceptedRisk::ReplacedGroups,
                people,
                "whoever leaves is taken out of their group where both parts are safe, and elsewhere the group is \
                 withdrawn: which of the two happens tells something of the values",
                "write erase = \"withdraw\" below [nights]",
            );
        }
    }

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
        self.add_replaced_groups(policy, Some(people));
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
