//! Which policy could one start from against somebody who knows distributions?
//!
//! r is 2 where the most frequent value allows it: every value needs as many groups as it has occurrences, each of at
//! least r people. The adversary is the default of the model; the text says in a comment who that is.

use super::column::ColumnProfile;
use super::role::{PolicyProposal, Proposed};
use crate::error::{Error, Result};
use crate::policy::quoted;
use std::fmt::{self, Write};

/// The proposed requirement of the model `robust`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProposedRobust {
    /// Nobody's value may be believed with more than 1/r.
    pub r: u64,
    /// The largest whole number that the most frequent value allows.
    pub largest: u64,
    /// The share of the most frequent value.
    pub most_frequent: f64,
}

impl ProposedRobust {
    /// A requirement that a column with one value for each of `people` allows.
    pub(super) fn of(column: &ColumnProfile, people: u64) -> Result<Self> {
        let most = column.counted.most.ok_or_else(|| {
            Error::input(
                format!("column {:?} has too many different values to count them", column.name),
                "propose a policy for another column",
            )
        })?;
        let most = most.max(column.nulls);
        let largest = people.checked_div(most).unwrap_or(0);
        if largest < 2 {
            return Err(Error::input(
                format!(
                    "column {:?} has a value that more than half of the people have, so the model robust is not possible",
                    column.name
                ),
                "propose a policy for another column, or for the model skyline",
            ));
        }
        Ok(ProposedRobust { r: 2, largest, most_frequent: most as f64 / people as f64 })
    }
}

impl PolicyProposal<'_> {
    pub(super) fn write_robust(&self, robust: &ProposedRobust, text: &mut String) -> fmt::Result {
        let columns = self.profile.columns.iter().zip(&self.roles);
        let names = columns.filter(|(_, (role, _))| matches!(role, Proposed::Quasi(_)));
        let names: Vec<String> = names.map(|(column, _)| quoted(&column.name)).collect();
        text.push_str(
            "\
# Somebody knows how likely each value is for people of an age, of a sex, or of an age and a sex, as public statistics
# show it: for every column that others may know, and for every two of them. A statistic of three people is chance, so
# 100 people with the shares of the whole table are added to each. Nobody may be believed to have a value with more
# than 1/r.
",
        );
        writeln!(text, "model = \"robust\"")?;
        writeln!(
            text,
            "r = {}  # at most {}: {:.1} % of the rows have the most frequent value",
            robust.r,
            robust.largest,
            (1000.0 * robust.most_frequent).ceil() / 10.0
        )?;
        text.push_str("# To name the statistics that exist, remove the # of both lines and change them; fewer give smaller groups.\n");
        let singles: Vec<String> = names.iter().map(|name| format!("[{name}]")).collect();
        writeln!(text, "# known = [{}]\n# support = 100", singles.join(", "))?;
        text.push_str(
            "\
# Somebody who knows the shares of all columns together knows people who are alone with theirs one by one; nobody can
# hide these, so that is not the default:
",
        );
        writeln!(text, "# known = [[{}]]", names.join(", "))?;
        text.push_str(
            "\
# People who fit in no group stop the run. With this line so many may be left out instead; who is left out is chosen
# by their values, and what that tells is not covered.
# suppress = \"1%\"

[publish]
# What others may know is published as it is, in cells of the grid, and the values of each group in a second table.
style = \"bucketized\"
",
        );
        Ok(())
    }
}
