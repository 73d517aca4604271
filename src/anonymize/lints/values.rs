//! Which sensitive values count as different although a reader takes them for the same, or nearly so?

use super::found::Lints;
use crate::encode::combination::{Projection, SensitiveColumns};
use crate::encode::group_counts::GroupCounts;
use crate::error::Result;
use crate::model::{Policy, Target};
use crate::policy::{AcceptedRisk, folded};
use crate::table::ColumnKind;
use crate::table::read::Table;
use std::collections::BTreeMap;

/// More different numbers than this need a rule about how close they are.
const MOST_UNRELATED: usize = 20;

impl Lints {
    /// The values of each sensitive column of a table whose people are counted in `whole`.
    pub fn add_values(
        &mut self,
        policy: &Policy,
        table: &Table,
        sensitive: &SensitiveColumns,
        whole: &GroupCounts,
    ) -> Result<()> {
        for target in policy.privacy.targets.iter().filter(|target| target.columns.len() == 1) {
            let Some(Projection { code, texts }) = sensitive.projection(&target.columns) else { continue };
            let mut people = vec![0u64; texts.len()];
            for (&count, code) in whole.counts.iter().zip(&code) {
                if let Some(code) = code {
                    people[usize::from(*code)] += count;
                }
            }
            let numeric = matches!(
                item(table.kind(&target.name())?),
                ColumnKind::Integer | ColumnKind::Float | ColumnKind::Decimal { .. }
            );
            if numeric {
                self.add_distinct_numbers(target, texts.len(), whole.people);
            } else {
                self.add_numbers_with_a_comma(target, &texts, whole.people);
                self.add_lookalikes(policy, target, &texts, &people);
            }
        }
        Ok(())
    }

    fn add_distinct_numbers(&mut self, target: &Target, values: usize, people: u64) {
        if values <= MOST_UNRELATED || target.bounds_closeness() {
            return;
        }
        self.add_unrelated_numbers(
            target,
            people,
            &format!("{values} different numbers, which"),
            "write within = \"5%\" at a point of [[privacy.skyline]]; if the numbers are codes, declare the column as text",
        );
    }

    /// Numbers with a comma are read as texts, so no rule can say which of them are close.
    fn add_numbers_with_a_comma(&mut self, target: &Target, texts: &[String], people: u64) {
        let values = texts.iter().filter(|text| has_comma(text)).count();
        if values <= MOST_UNRELATED || values * 2 < texts.len() {
            return;
        }
        self.add_unrelated_numbers(
            target,
            people,
            &format!("{values} different numbers with a comma, which are read as texts and"),
            "write a point where the comma stands before decimals, and nothing where it separates thousands; and write \
             within = \"5%\" at a point of [[privacy.skyline]]",
        );
    }

    /// Warns of numbers without a rule about which of them are close.
    fn add_unrelated_numbers(&mut self, target: &Target, people: u64, numbers: &str, remedy: &'static str) {
        self.add(
            AcceptedRisk::DistinctNumbers,
            Some(people),
            format!(
                "the sensitive column {:?} has {numbers} count as unrelated however close they are",
                target.name()
            ),
            remedy,
        );
    }

    fn add_lookalikes(&mut self, policy: &Policy, target: &Target, texts: &[String], people: &[u64]) {
        let name = target.name();
        let mut alike: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        let declared = policy.columns.sensitive(&name).map_or(&[][..], |column| &column.not_sensitive[..]);
        let points = target.model.skyline().map_or(&[][..], |model| &model.points[..]);
        let named = points.iter().flat_map(|point| point.values.named()).chain(declared);
        for text in texts.iter().chain(named) {
            let same = alike.entry(folded(text)).or_default();
            if !same.contains(&text.as_str()) {
                same.push(text);
            }
        }
        alike.retain(|_, same| same.len() > 1);
        if alike.is_empty() {
            return;
        }
        let of = |text: &&str| texts.iter().position(|own| own == text).map_or(0, |code| people[code]);
        let concerned = alike.values().flatten().map(of).sum();
        let values: usize = alike.values().map(Vec::len).sum();
        self.add(
            AcceptedRisk::Lookalikes,
            Some(concerned),
            format!(
                "{values} values of column {name:?} count as different but differ only in case, white space or Unicode form"
            ),
            "write each value in one way in the table and in the policy",
        );
    }
}

/// Whether a text is a number such as `-1.234,50` or `12,345`.
fn has_comma(text: &str) -> bool {
    let Some((before, after)) = text.trim().rsplit_once(',') else { return false };
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    digits(after) && digits(&before.trim_start_matches(['-', '+']).replace(['.', ' '], ""))
}

/// The kind of a value, of which a list holds several.
fn item(kind: ColumnKind) -> ColumnKind {
    match kind {
        ColumnKind::List(item) => *item,
        kind => kind,
    }
}
