//! Which sensitive values would be published although nothing bounds what is learned of them?

use super::found::Lints;
use crate::error::number_of;
use crate::model::finding::Finding;
use crate::policy::AcceptedRisk;

impl Lints {
    /// The values that nothing protects, by the findings about the whole table as one group.
    pub fn of_findings(findings: &[Finding]) -> Self {
        let mut lints = Lints::default();
        for finding in findings {
            let Some(unprotected) = finding.unprotected else { continue };
            let (column, values) = (&finding.column, number_of(unprotected.values, "value", "values"));
            let remedy = match column.contains('+') {
                true => format!(
                    "add [[privacy.column.{column:?}.skyline]] with confidence = 0.5, or declare the values of its columns \
                     harmless: not_sensitive = [\"...\"]"
                ),
                false => format!(
                    "add [[privacy.skyline]] with confidence = 0.5, which is for every value, or declare the harmless ones: \
                     not_sensitive = [\"...\"] below [columns.sensitive.{column}]"
                ),
            };
            lints.add(
                AcceptedRisk::UnprotectedValues,
                Some(unprotected.people),
                format!("nothing bounds what is learned of {values} of column {column:?}"),
                remedy,
            );
        }
        lints
    }
}
