//! The attacks on a release, one line each.

use serde_json::{Value, json};

use super::replay;
use super::verdict::aligned_by;
use crate::anonymize::ReplayReport;
use crate::check::beliefs::{CLOSE_PERCENT, Exposure};
use crate::error::number_of;
use crate::math::exact::{decimal_at_least, f64_at_least, ratio};
use crate::model::beliefs::judge::AttackReport;
use crate::release::findings;

/// What the attacks found.
pub(super) struct Suite {
    pub exposure: Exposure,
    /// If a bandwidth was given.
    pub correlations: Option<AttackReport>,
    /// If it was asked for.
    pub replay: Option<ReplayReport>,
}

/// One attack.
struct AttackLine {
    name: &'static str,
    needs: String,
    /// `None` if it was not run.
    people: Option<u64>,
    sureness: Sureness,
}

/// How sure the number of people is.
#[derive(Clone, Copy)]
enum Sureness {
    Sure,
    Estimated,
    /// What would have to be given.
    NotRun(&'static str),
}

impl Suite {
    fn lines(&self) -> Vec<AttackLine> {
        let sure = |name, needs: &str, people| AttackLine {
            name,
            needs: needs.to_string(),
            people: Some(people),
            sureness: Sureness::Sure,
        };
        let missing = |name, needs: &str, what| AttackLine {
            name,
            needs: needs.to_string(),
            people: None,
            sureness: Sureness::NotRun(what),
        };
        let found = &self.exposure;
        let mut lines = vec![sure("certainty", "the release: a group has one value only", found.certain)];
        lines.push(match found.close {
            Some(close) => {
                let needs = format!("the release: numbers of a group within {CLOSE_PERCENT} %");
                sure("closeness of numbers", &needs, close)
            }
            None => missing("closeness of numbers", "the release", "values are no numbers"),
        });
        let others = "the quasi-identifiers of all others";
        lines.push(sure("range ends", &format!("{others}: alone at an end"), found.at_ends));
        let own = "the quasi-identifiers: nobody else has them";
        lines.push(sure("lookalikes", own, found.without_lookalikes));
        let correlations = "the correlations in the data";
        match &self.correlations {
            None => lines.push(missing("correlations", correlations, "needs --bandwidth")),
            Some(report) => {
                for at in report.points.iter().flat_map(|point| &point.thresholds) {
                    let needs = format!("{correlations}: beliefs move by more than {}", at.t);
                    lines.push(sure("correlations", &needs, at.vulnerable));
                }
            }
        }
        let algorithm = "everybody's quasi-identifiers and the algorithm";
        lines.push(match &self.replay {
            None => missing("replay", algorithm, "needs --replay"),
            Some(report) => AttackLine {
                name: "replay",
                needs: format!("{algorithm}: reaches a confidence"),
                people: Some(report.reached.estimated),
                sureness: Sureness::Estimated,
            },
        });
        lines
    }

    /// A table of all attacks, then the details of those that have some.
    pub(super) fn to_text(&self, of_correlations: impl Fn(&AttackReport) -> String) -> String {
        let people = self.exposure.people;
        let head = ["attack", "the adversary needs", "people", "share", ""].map(str::to_string);
        let row = |line: AttackLine| {
            let share = |affected| decimal_at_least(&ratio(affected, people.max(1)), 4);
            let (affected, share) =
                line.people.map_or_else(Default::default, |affected| (affected.to_string(), share(affected)));
            let sureness = match line.sureness {
                Sureness::Sure => "sure",
                Sureness::Estimated => "estimated",
                Sureness::NotRun(why) => why,
            };
            [line.name.to_string(), line.needs, affected, share, sureness.to_string()]
        };
        let rows: Vec<[String; 5]> = std::iter::once(head).chain(self.lines().into_iter().map(row)).collect();
        let mut text = format!(
            "{} in {}\n\n{}",
            number_of(people, "person", "people"),
            number_of(self.exposure.groups, "group", "groups"),
            aligned_by(&rows, |column| column != 2 && column != 3)
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
        let people = self.exposure.people;
        let line = |line: AttackLine| {
            json!({
                "attack": line.name,
                "needs": line.needs,
                "people": line.people,
                "share": line.people.map(|affected| f64_at_least(&ratio(affected, people.max(1)))),
                "sureness": match line.sureness {
                    Sureness::Sure => "sure",
                    Sureness::Estimated => "estimated",
                    Sureness::NotRun(_) => "not run",
                },
            })
        };
        let mut object: serde_json::Map<String, Value> = match &self.correlations {
            Some(report) => {
                let fields = report.fields().into_iter();
                fields.map(|(name, datum)| (name.to_string(), findings::value(&datum))).collect()
            }
            None => serde_json::Map::new(),
        };
        object.insert("people".to_string(), json!(people));
        object.insert("groups".to_string(), json!(self.exposure.groups));
        object.insert("attacks".to_string(), self.lines().into_iter().map(line).collect());
        if let Some(report) = &self.replay {
            object.insert("replay".to_string(), replay::to_json(report));
        }
        Value::Object(object)
    }
}
