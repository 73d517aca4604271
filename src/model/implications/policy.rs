//! The keys of the adversary who knows implications.

use std::fmt::{self, Write};

use crate::math::exact::Rational;
use crate::math::implications::IMPLICATIONS_LIMIT;
use crate::model::privacy::{MAX_COUNT, read_confidence};
use crate::policy::{Mistakes, Section, fraction_text};

/// All keys.
pub(in crate::model) const KEYS: [&str; 2] = ["implications", "confidence"];

/// The adversary who knows any `knows` implications; safe if the maximum disclosure is below the confidence.
#[derive(Debug, Clone, PartialEq)]
pub struct ImplicationsModel {
    /// The number of implications.
    pub knows: u64,
    /// The confidence that the adversary must not reach.
    pub confidence: Rational,
}

impl ImplicationsModel {
    pub(in crate::model) fn read(section: &Section, mistakes: &mut Mistakes) -> Self {
        let knows = match section.get("implications") {
            Some(item) => item.whole(0..=IMPLICATIONS_LIMIT as u64, mistakes),
            None => {
                section.missing(
                    "implications",
                    "write how many the adversary knows: implications = 3",
                    mistakes,
                );
                None
            }
        };
        let confidence = read_confidence(section, mistakes);
        ImplicationsModel {
            knows: knows.unwrap_or(MAX_COUNT),
            confidence: confidence.unwrap_or(Rational::ONE),
        }
    }

    /// One implication less.
    pub(in crate::model) fn relaxed(&self) -> Option<(String, Self)> {
        let knows = self.knows.checked_sub(1)?;
        Some((format!("implications = {knows}"), ImplicationsModel { knows, ..self.clone() }))
    }

    pub(in crate::model) fn write(&self, text: &mut String) -> fmt::Result {
        writeln!(text, "model = \"implications\"\nimplications = {}", self.knows)?;
        writeln!(text, "confidence = {}", fraction_text(&self.confidence))
    }
}
