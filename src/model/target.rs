//! What does the policy ask of the groups?

use super::beliefs::criterion::{BeliefsCriterion, Known};
use crate::encode::combination::{Projection, SensitiveColumns};
use crate::encode::group_counts::GroupCounts;
use crate::encode::sensitive::SensitiveCoding;
use crate::error::{Error, Result};
use crate::math::confidence::{Confidence, Verdict};
use crate::math::exact::Rational;
use crate::math::implications::{Bucket, Scanner};
use crate::math::shares::ShareRule;
use crate::math::skyline::{Breach, Knowledge, Point, SkylineState, Target, TargetPoint, Values};
use crate::model::beliefs::Question;
use crate::model::criterion::{Criterion, Every, ImplicationsCriterion, Minimum, SkylineCriterion};
use crate::model::several::{Judged, Several};
use crate::model::shares::SharesCriterion;
use crate::policy::{self, Model, Nearness, Policy, Protected, Requirement, joint_parts, joint_value};

/// Why the whole table in one group is not safe.
#[derive(Debug, Clone, PartialEq)]
pub enum Obstacle {
    /// A skyline point does not hold.
    Breach {
        /// The sensitive value.
        value: String,
        /// The skyline point.
        point: Point,
        /// The breach probability.
        breach: Breach,
    },
    /// Implications disclose too much.
    Disclosure {
        /// How many are known.
        implications: usize,
        /// What the maximum disclosure must stay below.
        confidence: Confidence,
        /// The maximum disclosure.
        disclosure: Rational,
    },
    /// A criterion over shares does not hold.
    Share {
        /// The criterion in words.
        criterion: &'static str,
        /// What it measures of the whole table.
        measured: Rational,
        /// The most that is allowed.
        most: Rational,
    },
    /// The table has fewer people or fewer different values than a group must have.
    TooSmall {
        /// What there is too little of.
        what: &'static str,
        /// How many there are.
        has: u64,
        /// How many there must be.
        needs: u64,
    },
}

/// All that a policy protects.
pub struct Protection<'a> {
    targets: Vec<ProtectedTarget<'a>>,
}

/// A protected column, or combination of columns, with what must hold for it.
struct ProtectedTarget<'a> {
    target: &'a policy::Target,
    nearness: &'a Nearness,
    question: Option<Question>,
    minimum: Minimum,
    adversary: Adversary<'a>,
}

/// Against whom it is protected.
enum Adversary<'a> {
    Skyline(&'a [Requirement]),
    Implications { knows: usize, confidence: Confidence },
}

/// The values that one target is about, by their codes.
struct ValueTexts<'v> {
    column: &'v str,
    texts: &'v [String],
    /// The columns, whose values may be written in other ways than their text.
    codings: Vec<&'v SensitiveCoding>,
}

impl ValueTexts<'_> {
    fn code(&self, text: &str) -> Option<u32> {
        if let [only] = self.codings[..] {
            return only.code_of_text(text).map(u32::from);
        }
        let parts = joint_parts(text);
        let own = |(coding, part): (&&SensitiveCoding, &String)| {
            Some(coding.texts().swap_remove(usize::from(coding.code_of_text(part)?)))
        };
        let own: Vec<String> = self.codings.iter().zip(&parts).map(own).collect::<Option<_>>()?;
        let name = joint_value(&own.iter().map(String::as_str).collect::<Vec<_>>());
        let known = self.codings.len() == parts.len();
        self.texts.iter().position(|text| known && *text == name).map(|code| code as u32)
    }
}

impl<'a> Protection<'a> {
    /// Of a policy that protects its columns by the skyline or against implications.
    pub fn new(policy: &'a Policy) -> Result<Self> {
        let targets = &policy.privacy.targets;
        if let (Some(listed), true) =
            (targets.iter().find(|target| target.values != policy::Values::Single), targets.len() > 1)
        {
            return Err(Error::input(
                format!(
                    "column {:?}: several sensitive columns need one value per person each",
                    listed.name()
                ),
                "write values = \"single\", or make a release for each of the columns that hold several values",
            ));
        }
        let targets = targets.iter().map(|target| ProtectedTarget::new(policy, target));
        Ok(Protection { targets: targets.collect::<Result<_>>()? })
    }

    /// How many sensitive values a person may have; where there are several columns, one in each.
    pub fn values(&self) -> Values {
        self.targets.first().map_or(Values::Single, ProtectedTarget::values)
    }

    /// Whether some column is protected by how far beliefs move.
    pub fn asks_for_beliefs(&self) -> bool {
        self.targets.iter().any(|target| target.question.is_some())
    }

    /// The criterion that the planner asks of groups of a table that has `whole` in all; beliefs are judged by the rows
    /// that are `known`.
    pub fn criterion(
        &self,
        sensitive: &SensitiveColumns,
        whole: &GroupCounts,
        known: Option<&Known<'_>>,
    ) -> Result<Box<dyn Criterion>> {
        if let ([target], [only]) = (&self.targets[..], sensitive.columns()) {
            let texts = only.texts();
            let values = ValueTexts { column: &only.name, texts: &texts, codings: vec![only] };
            let code: Vec<u16> = (0..texts.len()).map(|code| code as u16).collect();
            return target.criterion(&values, whole, &code, known);
        }
        let mut criteria = Vec::new();
        for target in &self.targets {
            let (Projection { code, texts }, name) = target.projection(sensitive)?;
            let own = projected(whole, &code, texts.len());
            let criterion = target.criterion(&target.texts(&name, &texts, sensitive), &own, &code, known)?;
            criteria.push(Judged { code, values: texts.len(), criterion });
        }
        Ok(Box::new(Several::new(criteria)))
    }

    /// Why the whole table cannot be one group: for each column what stands against it.
    pub fn obstacles(
        &self,
        whole: &GroupCounts,
        sensitive: &SensitiveColumns,
    ) -> Result<Vec<(String, Obstacle)>> {
        let mut all = Vec::new();
        for target in &self.targets {
            let (Projection { code, texts }, name) = target.projection(sensitive)?;
            let own = projected(whole, &code, texts.len());
            let obstacles = target.obstacles(&own, &target.texts(&name, &texts, sensitive))?;
            all.extend(obstacles.into_iter().map(|obstacle| (name.clone(), obstacle)));
        }
        Ok(all)
    }
}

impl<'a> ProtectedTarget<'a> {
    fn new(policy: &'a Policy, target: &'a policy::Target) -> Result<Self> {
        let adversary = match &target.model {
            Model::Skyline(requirements) => Adversary::Skyline(requirements),
            Model::Implications { .. } if target.values != policy::Values::Single => {
                return Err(Error::input(
                    "the model \"implications\" is defined for single values only",
                    "set privacy.values = \"single\", or privacy.model = \"skyline\"",
                ));
            }
            Model::Implications { knows, confidence } => Adversary::Implications {
                knows: usize::try_from(*knows).unwrap_or(usize::MAX),
                confidence: threshold(confidence)?,
            },
            // Beliefs are judged by rows; of counts only the minima are asked.
            Model::Beliefs(_) => Adversary::Skyline(&[]),
            Model::Robust(_) => {
                return Err(Error::input(
                    "anonymize knows the models \"skyline\", \"implications\" and \"beliefs\" only",
                    "set privacy.model to one of them",
                ));
            }
        };
        let nearness = policy.columns.sensitive(&target.name()).map(|column| &column.nearness);
        let nearness = nearness.unwrap_or(&Nearness::Equal);
        let distinct = target.minimum_distinct as usize;
        let minimum = Minimum { people: policy.privacy.minimum_group_size, distinct };
        let question = match &target.model {
            Model::Beliefs(asked) => Some(Question::of(policy, target, asked)?),
            _ => None,
        };
        Ok(ProtectedTarget { target, nearness, question, minimum, adversary })
    }

    fn values(&self) -> Values {
        match self.target.values {
            policy::Values::Single => Values::Single,
            policy::Values::Set => Values::Set,
            policy::Values::Multiset => Values::Multiset,
        }
    }

    /// What the sensitive codes mean for this target, and its name.
    fn projection(&self, sensitive: &SensitiveColumns) -> Result<(Projection, String)> {
        let name = self.target.name();
        let projection = sensitive.projection(&self.target.columns).ok_or_else(|| {
            Error::input(format!("the table has no sensitive column {name:?}"), "check columns.sensitive")
        })?;
        Ok((projection, name))
    }

    fn texts<'v>(
        &self,
        column: &'v str,
        texts: &'v [String],
        sensitive: &'v SensitiveColumns,
    ) -> ValueTexts<'v> {
        let coding = |name: &String| sensitive.columns().iter().find(|coding| coding.name == *name);
        let codings = self.target.columns.iter().filter_map(coding).collect();
        ValueTexts { column, texts, codings }
    }

    /// The model and all criteria beside it; `whole` is the whole table in the codes of this target.
    fn criterion(
        &self,
        values: &ValueTexts<'_>,
        whole: &GroupCounts,
        code: &[u16],
        known: Option<&Known<'_>>,
    ) -> Result<Box<dyn Criterion>> {
        let mut criteria = vec![self.model(values)?];
        let rules = self.share_rules(values, whole)?;
        if !rules.is_empty() {
            criteria.push(Box::new(SharesCriterion::new(rules)));
        }
        if let Some(question) = &self.question {
            let (Some(known), [coding]) = (known, &values.codings[..]) else {
                return Err(Error::input(
                    "the model \"beliefs\" is judged by the rows of a table with one column to protect",
                    "choose another model",
                ));
            };
            criteria.push(Box::new(BeliefsCriterion::new(known, question, coding, code)?));
        }
        match criteria.len() {
            1 => Ok(criteria.remove(0)),
            _ => Ok(Box::new(Every::new(criteria))),
        }
    }

    /// The criteria over shares.
    fn share_rules(&self, values: &ValueTexts<'_>, whole: &GroupCounts) -> Result<Vec<ShareRule>> {
        let rule =
            |criterion| self.nearness.share_rule(criterion, values.column, values.texts, &whole.counts);
        self.target.criteria.iter().map(rule).collect()
    }

    fn model(&self, values: &ValueTexts<'_>) -> Result<Box<dyn Criterion>> {
        Ok(match &self.adversary {
            Adversary::Skyline(requirements) => {
                let state = self.skyline_state(requirements, values)?;
                Box::new(SkylineCriterion::new(state, self.minimum, values.texts.len()))
            }
            Adversary::Implications { knows, confidence } => {
                Box::new(ImplicationsCriterion::new(*knows, confidence.clone(), self.minimum))
            }
        })
    }

    fn skyline_state(&self, requirements: &[Requirement], values: &ValueTexts<'_>) -> Result<SkylineState> {
        let code = |text: &String| {
            values.code(text).ok_or_else(|| {
                Error::input(
                    format!("a value in `for` of privacy.skyline does not occur in {:?}", values.column),
                    "check its spelling, or leave it out: what does not occur needs no protection",
                )
            })
        };
        let mut skyline = Vec::new();
        for requirement in requirements {
            let target = match &requirement.values {
                Protected::Every => Target::Every,
                Protected::These(texts) => Target::These(texts.iter().map(code).collect::<Result<_>>()?),
            };
            let knowledge = Knowledge { l: requirement.l, k: requirement.k, m: requirement.m };
            let confidence = threshold(&requirement.confidence)?;
            skyline.push((target, Point { knowledge, confidence }));
        }
        Ok(SkylineState::new(self.values(), values.texts.len(), &skyline))
    }

    fn obstacles(&self, whole: &GroupCounts, values: &ValueTexts<'_>) -> Result<Vec<Obstacle>> {
        let (people, distinct) = (whole.people, whole.distinct() as u64);
        let minima = [
            ("people", people, self.minimum.people),
            ("different sensitive values", distinct, self.minimum.distinct as u64),
        ];
        let too_small = minima.into_iter().filter(|(_, has, needs)| has < needs);
        let too_small = too_small.map(|(what, has, needs)| Obstacle::TooSmall { what, has, needs });
        let breaches = match &self.adversary {
            Adversary::Skyline(requirements) => {
                breaches(self.skyline_state(requirements, values)?, whole, values.texts)
            }
            Adversary::Implications { knows, confidence } => disclosure(*knows, confidence, whole),
        };
        let counts = || (0u32..).zip(whole.counts.iter().copied());
        let rules = self.share_rules(values, whole)?.into_iter();
        let shares = rules.map(|rule| (rule.name(), rule.measure(counts()), rule.most().clone()));
        let shares = shares.filter(|(_, measured, most)| measured > most);
        let shares = shares.map(|(criterion, measured, most)| Obstacle::Share { criterion, measured, most });
        Ok(too_small.chain(breaches).chain(shares).collect())
    }
}

/// A part in the codes of one target, of which there are `values`.
fn projected(part: &GroupCounts, code: &[u16], values: usize) -> GroupCounts {
    let mut own = GroupCounts { people: part.people, counts: vec![0; values] };
    for (&count, &code) in part.counts.iter().zip(code) {
        own.counts[usize::from(code)] += count;
    }
    own
}

fn threshold(confidence: &Rational) -> Result<Confidence> {
    Confidence::new(confidence.clone()).ok_or_else(|| {
        Error::input("a confidence of [privacy] is not in (0, 1]", "give one above 0 and at most 1")
    })
}

/// The skyline points that the whole table does not fulfil.
fn breaches(mut state: SkylineState, whole: &GroupCounts, texts: &[String]) -> Vec<Obstacle> {
    state.observe(&mut Default::default(), whole.people, &whole.counts, 0);
    let breaches = state.entries().iter().filter(|entry| entry.verdict() == Verdict::Unsafe);
    let obstacle = |entry: &TargetPoint| Obstacle::Breach {
        value: texts[entry.code as usize].clone(),
        point: entry.point.clone(),
        breach: entry.statistics.breach(),
    };
    breaches.map(obstacle).collect()
}

/// What implications disclose of the whole table, if that is too much.
fn disclosure(knows: usize, confidence: &Confidence, whole: &GroupCounts) -> Vec<Obstacle> {
    let mut scanner = Scanner::new(knows);
    if let Some(bucket) = Bucket::from_counts(whole.counts.iter().copied(), knows) {
        scanner.observe(&bucket, 0);
    }
    let disclosure = scanner.finish();
    let worst = disclosure.curve().pop().filter(|_| disclosure.verdict(confidence) == Verdict::Unsafe);
    let obstacle = worst.map(|point| Obstacle::Disclosure {
        implications: knows,
        confidence: confidence.clone(),
        disclosure: point.disclosure,
    });
    obstacle.into_iter().collect()
}
