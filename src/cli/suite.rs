//! The attacks on a release, one line each.

use serde_json::{Value, json};

use super::replay;
use super::verdict::aligned_by;
use crate::anonymize::ReplayReport;
use crate::check::beliefs::{CLOSE_PERCENT, Exposure};
use crate::error::number_of;
use crate::math::exact::decimal_at_least;
use crate::model::beliefs::judge::AttackReport;
use crate::release::attacks::{AttackLine, AttackTable, Sureness};
use crate::release::findings;

/// What the attacks found.
pub(super) struct Suite {
    pub exposure: Exposure,
    /// If a bandwidth was given.
    pub correlations: Option<AttackReport>,
    /// If it was asked for.
    pub replay: Option<ReplayReport>,
}

impl Suite {
    /// One line for each attack.
    pub(super) fn table(&self) -> AttackTable {
        let found = &self.exposure;
        let mut table = AttackTable::new(found.people, found.groups);
        table.push_sure("certainty", "the release: a group has one value only", found.certain);
        match found.close {
            Some(close) => {
                let needs = format!("the release: numbers of a group within {CLOSE_PERCENT} %");
                table.push_sure("closeness of numbers", &needs, close);
            }
            None => table.push_missing("closeness of numbers", "the release", "values are no numbers"),
        }
        let others = "the quasi-identifiers of all others: alone at an end";
        table.push_sure("range ends", others, found.at_ends);
        let own = "the original: nobody else has these quasi-identifiers";
        table.push_sure("unique people", own, found.without_lookalikes);
        let correlations = "the correlations in the data";
        match &self.correlations {
            None => table.push_missing("correlations", correlations, "needs --bandwidth"),
            Some(report) => {
                for at in report.points.iter().flat_map(|point| &point.thresholds) {
                    let needs = format!("{correlations}: beliefs move by more than {}", at.t);
                    let most = at.vulnerable + at.undecided;
                    table.push("correlations", &needs, [at.vulnerable, most], Sureness::Sure);
                }
            }
        }
        let algorithm = "everybody's quasi-identifiers and the algorithm";
        match &self.replay {
            None => table.push_missing("replay", algorithm, "needs --replay"),
            Some(report) => {
                let needs = match report.knows_others {
                    true => format!("{algorithm}, nothing of others: reaches a confidence"),
                    false => format!("{algorithm}: reaches a confidence"),
                };
                let reached = [report.reached.estimated, report.reached.at_most];
                table.push("replay", &needs, reached, Sureness::Estimated);
                table.replay = Some(replay::to_json(report));
            }
        }
        table.push_missing(SEVERAL_RELEASES, "other releases of the same people", "needs --person");
        table
    }

    /// A table of all attacks, then the details of those that have some.
    pub(super) fn to_text(&self, of_correlations: impl Fn(&AttackReport) -> String) -> String {
        let table = self.table();
        let mut text = format!(
            "{} in {}\n\n{}",
            number_of(table.people, "person", "people"),
            number_of(table.groups, "group", "groups"),
            lines_to_text(&table)
        );
        if let Some(report) = &self.correlations {
            text.push_str(&format!("\ncorrelations\n{}", of_correlations(report)));
        }
        if let Some(report) = &self.replay {
            text.push_str(&format!("\nreplay\n{}", replay::to_text(report)));
        }
        text
    }

    /// For programs.
    pub(super) fn to_json(&self) -> Value {
        let mut object: serde_json::Map<String, Value> = match &self.correlations {
            Some(report) => {
                let fields = report.fields().into_iter();
                fields.map(|(name, datum)| (name.to_string(), findings::value(&datum))).collect()
            }
            None => serde_json::Map::new(),
        };
        if let Value::Object(table) = json!(self.table()) {
            object.extend(table);
        }
        Value::Object(object)
    }
}

/// The name of an attack that follows people from release to release.
pub(super) const SEVERAL_RELEASES: &str = "several releases";

/// The lines of a table, side by side.
pub(super) fn lines_to_text(table: &AttackTable) -> String {
    let head = ["attack", "the adversary needs", "people", "share", "at most", ""].map(str::to_string);
    let row = |line: &AttackLine| {
        let share = |affected| decimal_at_least(&table.share(affected), 4);
        [
            line.attack.clone(),
            line.needs.clone(),
            line.people.map_or_else(String::new, |affected| affected.to_string()),
            line.people.map_or_else(String::new, share),
            line.at_most.map_or_else(String::new, |affected| affected.to_string()),
            line.remark().to_string(),
        ]
    };
    let rows: Vec<[String; 6]> = std::iter::once(head).chain(table.attacks.iter().map(row)).collect();
    aligned_by(&rows, |column| !(2..5).contains(&column))
}
