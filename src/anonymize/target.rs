//! What does the policy ask of the groups?

use crate::attack::Question;
use crate::beliefs::criteria::ShareRule;
use crate::confidence::{Confidence, Verdict};
use crate::encode::sensitive::SensitiveCoding;
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::implications::{Bucket, Scanner};
use crate::plan::criterion::{Criterion, Every, ImplicationsCriterion, Minimum, Part, SkylineCriterion};
use crate::plan::shares::SharesCriterion;
use crate::policy::{self, Model, Nearness, Policy, Protected, Requirement};
use crate::skyline::{Breach, Knowledge, Point, SkylineState, Target, TargetPoint, Values};

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

/// The one protected column of a policy, with what must hold for it.
pub struct Protection<'a> {
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

impl<'a> Protection<'a> {
    /// Of a policy that protects one column by the skyline or against implications.
    pub fn new(policy: &'a Policy) -> Result<Self> {
        let [target] = policy.privacy.targets.as_slice() else {
            return Err(Error::input(
                "anonymize protects one sensitive column",
                "drop the other sensitive columns, or join them into one column first",
            ));
        };
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
        if target.columns.len() != 1 {
            return Err(Error::input("anonymize knows no joint columns", "leave them out of the policy"));
        }
        let nearness = policy.columns.sensitive(&target.columns[0]).map(|column| &column.nearness);
        let nearness = nearness.unwrap_or(&Nearness::Equal);
        let distinct = target.minimum_distinct as usize;
        let minimum = Minimum { people: policy.privacy.minimum_group_size, distinct };
        let question = match &target.model {
            Model::Beliefs(asked) => Some(Question::of(policy, target, asked)?),
            _ => None,
        };
        Ok(Protection { target, nearness, question, minimum, adversary })
    }

    /// How many sensitive values a person may have.
    pub fn values(&self) -> Values {
        match self.target.values {
            policy::Values::Single => Values::Single,
            policy::Values::Set => Values::Set,
            policy::Values::Multiset => Values::Multiset,
        }
    }

    /// How far beliefs may move, if that is asked.
    pub fn question(&self) -> Option<&Question> {
        self.question.as_ref()
    }

    /// The criterion that the planner asks of groups of a table that has `whole` in all.
    pub fn criterion(&self, sensitive: &SensitiveCoding, whole: &Part) -> Result<Box<dyn Criterion>> {
        let model = self.model(sensitive)?;
        let rules = self.share_rules(sensitive, whole)?;
        if rules.is_empty() {
            return Ok(model);
        }
        Ok(Box::new(Every::new(vec![model, Box::new(SharesCriterion::new(rules))])))
    }

    /// The criteria over shares.
    fn share_rules(&self, sensitive: &SensitiveCoding, whole: &Part) -> Result<Vec<ShareRule>> {
        let texts = sensitive.texts();
        let rule = |criterion| self.nearness.share_rule(criterion, &sensitive.name, &texts, &whole.counts);
        self.target.criteria.iter().map(rule).collect()
    }

    fn model(&self, sensitive: &SensitiveCoding) -> Result<Box<dyn Criterion>> {
        Ok(match &self.adversary {
            Adversary::Skyline(requirements) => {
                let state = self.skyline_state(requirements, sensitive)?;
                Box::new(SkylineCriterion::new(state, self.minimum, sensitive.len()))
            }
            Adversary::Implications { knows, confidence } => {
                Box::new(ImplicationsCriterion::new(*knows, confidence.clone(), self.minimum))
            }
        })
    }

    fn skyline_state(
        &self,
        requirements: &[Requirement],
        sensitive: &SensitiveCoding,
    ) -> Result<SkylineState> {
        let code = |text: &String| {
            sensitive.code_of_text(text).map(u32::from).ok_or_else(|| {
                Error::input(
                    format!("a value in `for` of privacy.skyline does not occur in {:?}", sensitive.name),
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
        Ok(SkylineState::new(self.values(), sensitive.len(), &skyline))
    }

    /// Why the whole table cannot be one group.
    pub fn obstacles(&self, whole: &Part, sensitive: &SensitiveCoding) -> Result<Vec<Obstacle>> {
        let (people, distinct) = (whole.people, whole.distinct() as u64);
        let minima = [
            ("people", people, self.minimum.people),
            ("different sensitive values", distinct, self.minimum.distinct as u64),
        ];
        let too_small = minima.into_iter().filter(|(_, has, needs)| has < needs);
        let too_small = too_small.map(|(what, has, needs)| Obstacle::TooSmall { what, has, needs });
        let breaches = match &self.adversary {
            Adversary::Skyline(requirements) => {
                breaches(self.skyline_state(requirements, sensitive)?, whole, sensitive)
            }
            Adversary::Implications { knows, confidence } => disclosure(*knows, confidence, whole),
        };
        let counts = || (0u32..).zip(whole.counts.iter().copied());
        let rules = self.share_rules(sensitive, whole)?.into_iter();
        let shares = rules.map(|rule| (rule.name(), rule.measure(counts()), rule.most().clone()));
        let shares = shares.filter(|(_, measured, most)| measured > most);
        let shares = shares.map(|(criterion, measured, most)| Obstacle::Share { criterion, measured, most });
        Ok(too_small.chain(breaches).chain(shares).collect())
    }
}

fn threshold(confidence: &Rational) -> Result<Confidence> {
    Confidence::new(confidence.clone()).ok_or_else(|| {
        Error::input("a confidence of [privacy] is not in (0, 1]", "give one above 0 and at most 1")
    })
}

/// The skyline points that the whole table does not fulfil.
fn breaches(mut state: SkylineState, whole: &Part, sensitive: &SensitiveCoding) -> Vec<Obstacle> {
    state.observe(&mut Default::default(), whole.people, &whole.counts, 0);
    let texts = sensitive.texts();
    let breaches = state.entries().iter().filter(|entry| entry.verdict() == Verdict::Unsafe);
    let obstacle = |entry: &TargetPoint| Obstacle::Breach {
        value: texts[entry.code as usize].clone(),
        point: entry.point.clone(),
        breach: entry.statistics.breach(),
    };
    breaches.map(obstacle).collect()
}

/// What implications disclose of the whole table, if that is too much.
fn disclosure(knows: usize, confidence: &Confidence, whole: &Part) -> Vec<Obstacle> {
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
