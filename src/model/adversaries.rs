//! The adversaries: the only file that distinguishes them.
//!
//! A new adversary is a folder next to the others and an arm in each `match` below.

use std::fmt;

use super::beliefs::{self, BeliefsModel, Question};
use super::implications::judge::Implications;
use super::implications::{self, ImplicationsModel};
use super::judge::Adversary;
use super::policy::Policy;
use super::privacy::{Reading, Target};
use super::protection::{CodedTarget, threshold};
use super::robust::judge::Robustness;
use super::robust::{self, Distributions, RobustModel};
use super::skyline::near::NearPoint;
use super::skyline::{self, SkylineModel};
use super::split::SplitTest;
use crate::error::{Error, Result};
use crate::policy::{Mistakes, Section, Strategy};

/// An adversary, with what it knows and how sure it may become.
#[derive(Debug, Clone, PartialEq)]
pub enum Model {
    /// (l,k,m) knowledge; safe if every breach is below its confidence.
    Skyline(SkylineModel),
    /// Any number of implications; safe if the maximum disclosure is below the confidence.
    Implications(ImplicationsModel),
    /// Distributions of values; safe if every posterior is at most 1/r.
    Robust(RobustModel),
    /// Kernel priors; safe if every belief moves by at most t.
    Beliefs(BeliefsModel),
}

/// How groups are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grouping {
    /// The whole table is split as long as a [`SplitTest`] admits the parts.
    Split,
    /// People with similar distributions are put together.
    SimilarPeople,
    /// One of the given functions generalizes the whole table.
    GivenFunctions(Strategy),
}

/// What a check needs in addition to the release, from less to more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Needs {
    /// Nothing: the counts of the groups decide.
    Counts,
    /// The file of distributions that the policy names.
    Distributions,
    /// The original table.
    Original,
}

/// The adversaries by their names in a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Skyline,
    Implications,
    Robust,
    Beliefs,
}

impl Kind {
    pub const DEFAULT: Kind = Kind::Skyline;

    pub const NAMES: [(&'static str, Kind); 4] = [
        ("skyline", Kind::Skyline),
        ("implications", Kind::Implications),
        ("robust", Kind::Robust),
        ("beliefs", Kind::Beliefs),
    ];

    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }

    /// The keys that only this model has.
    pub fn keys(self) -> &'static [&'static str] {
        match self {
            Kind::Skyline => &skyline::KEYS,
            Kind::Implications => &implications::KEYS,
            Kind::Robust => &robust::KEYS,
            Kind::Beliefs => &beliefs::KEYS,
        }
    }

    /// Reads the keys of this model.
    pub fn read(self, section: &Section, reading: Reading<'_>, mistakes: &mut Mistakes) -> Model {
        match self {
            Kind::Skyline => Model::Skyline(SkylineModel::read(section, mistakes)),
            Kind::Implications => Model::Implications(ImplicationsModel::read(section, mistakes)),
            Kind::Robust => Model::Robust(RobustModel::read(section, reading, mistakes)),
            Kind::Beliefs => Model::Beliefs(BeliefsModel::read(section, reading.columns, mistakes)),
        }
    }

    /// Whether the model is defined for people with any number of values.
    pub fn takes_several_values(self) -> bool {
        match self {
            Kind::Skyline => true,
            Kind::Implications | Kind::Robust | Kind::Beliefs => false,
        }
    }

    /// Whether a column's own rules are added to those of `[privacy]`; otherwise they replace them.
    pub fn adds_up(self) -> bool {
        match self {
            Kind::Skyline => true,
            Kind::Implications | Kind::Robust | Kind::Beliefs => false,
        }
    }
}

impl Model {
    fn kind(&self) -> Kind {
        match self {
            Model::Skyline(_) => Kind::Skyline,
            Model::Implications(_) => Kind::Implications,
            Model::Robust(_) => Kind::Robust,
            Model::Beliefs(_) => Kind::Beliefs,
        }
    }

    /// The name in a policy.
    pub fn name(&self) -> &'static str {
        self.kind().name()
    }

    pub(super) fn keys(&self) -> &'static [&'static str] {
        self.kind().keys()
    }

    /// Writes its part of a policy to the section of its column.
    pub(super) fn write(&self, section: &str, text: &mut String) -> fmt::Result {
        match self {
            Model::Skyline(model) => model.write(section, text),
            Model::Implications(model) => model.write(text),
            Model::Robust(model) => model.write(text),
            Model::Beliefs(model) => model.write(section, text),
        }
    }

    /// The model of `[privacy]` for a column whose own section does not replace it.
    pub(super) fn extended(&self, section: &Section, mistakes: &mut Mistakes) -> Model {
        match self {
            Model::Skyline(model) => Model::Skyline(model.extended(section, mistakes)),
            Model::Implications(_) | Model::Robust(_) | Model::Beliefs(_) => self.clone(),
        }
    }

    /// Whether it allows everything.
    pub(super) fn protects_nothing(&self) -> bool {
        match self {
            Model::Skyline(model) => model.points.is_empty(),
            Model::Implications(_) | Model::Robust(_) | Model::Beliefs(_) => false,
        }
    }

    /// Whether it bounds how closely a number is learned, not only whether it is learned exactly.
    pub(super) fn bounds_closeness(&self) -> bool {
        match self {
            Model::Skyline(model) => model.has_closeness_rule(),
            Model::Implications(_) | Model::Robust(_) => false,
            Model::Beliefs(model) => model.smooth.is_some(),
        }
    }

    /// How groups that are safe against it are made.
    pub fn grouping(&self) -> Grouping {
        match self {
            Model::Skyline(_) | Model::Implications(_) | Model::Beliefs(_) => Grouping::Split,
            Model::Robust(_) => Grouping::SimilarPeople,
        }
    }

    /// What a check needs.
    pub fn needs(&self) -> Needs {
        match self {
            Model::Skyline(_) | Model::Implications(_) => Needs::Counts,
            Model::Robust(model) => match model.distributions {
                Distributions::Estimated => Needs::Original,
                Distributions::File { .. } => Needs::Distributions,
            },
            Model::Beliefs(_) => Needs::Original,
        }
    }

    /// Whether people for whom no group is safe may be left out: who is missing is judged as well.
    pub(super) fn may_leave_out(&self) -> bool {
        match self {
            Model::Skyline(_) | Model::Implications(_) => false,
            Model::Robust(_) | Model::Beliefs(_) => true,
        }
    }

    /// Whether groups are also judged by their rows while they are split; see [`SplitTest::judge`].
    pub fn judges_rows(&self) -> bool {
        match self {
            Model::Skyline(_) | Model::Implications(_) | Model::Robust(_) => false,
            Model::Beliefs(_) => true,
        }
    }

    /// Models that require one step less in one respect, and how a policy would say so.
    pub(super) fn relaxed(&self) -> Vec<(String, Model)> {
        match self {
            Model::Skyline(model) => {
                let relaxed = model.relaxed().into_iter();
                relaxed.map(|(change, model)| (change, Model::Skyline(model))).collect()
            }
            Model::Implications(model) => {
                let relaxed = model.relaxed().into_iter();
                relaxed.map(|(change, model)| (change, Model::Implications(model))).collect()
            }
            Model::Robust(_) | Model::Beliefs(_) => Vec::new(),
        }
    }

    /// No longer protects a value.
    pub(super) fn except(&mut self, value: &str) {
        match self {
            Model::Skyline(model) => model.except(value),
            Model::Implications(_) | Model::Robust(_) | Model::Beliefs(_) => {}
        }
    }

    /// The skyline, if that is the model.
    pub fn skyline(&self) -> Option<&SkylineModel> {
        match self {
            Model::Skyline(model) => Some(model),
            _ => None,
        }
    }

    /// The points that protect windows of numbers.
    pub(super) fn near_points(&self) -> Result<Vec<NearPoint>> {
        match self {
            Model::Skyline(model) => model.near_points(),
            Model::Implications(_) | Model::Robust(_) | Model::Beliefs(_) => Ok(Vec::new()),
        }
    }

    /// The adversary who knows distributions, if that is the model.
    pub fn robust(&self) -> Option<&RobustModel> {
        match self {
            Model::Robust(model) => Some(model),
            _ => None,
        }
    }

    /// The adversary with kernel priors, if that is the model.
    pub fn beliefs(&self) -> Option<&BeliefsModel> {
        match self {
            Model::Beliefs(model) => Some(model),
            _ => None,
        }
    }

    /// Refuses a column that cannot be split under this model, before any row is read.
    pub(super) fn refuse_unsplittable(&self, policy: &Policy, target: &Target) -> Result<()> {
        match self {
            Model::Skyline(_) => Ok(()),
            Model::Implications(model) => model.refuse(target.values),
            Model::Beliefs(model) => Question::of(policy, target, model).map(drop),
            Model::Robust(_) => Err(Error::input(
                "tables are split for the models \"skyline\", \"implications\" and \"beliefs\" only",
                "set privacy.model to one of them",
            )),
        }
    }

    /// The tests that every split must pass.
    pub(super) fn split_tests(&self, coded: &CodedTarget<'_>) -> Result<Vec<Box<dyn SplitTest>>> {
        Ok(match self {
            Model::Skyline(model) => model.split_tests(coded)?,
            Model::Implications(model) => vec![model.split_test(coded)?],
            Model::Beliefs(model) => vec![Box::new(coded.minimum), model.split_test(coded)?],
            Model::Robust(_) => vec![Box::new(coded.minimum)],
        })
    }

    /// What must hold for a column, as the judge needs it.
    pub(super) fn adversary(&self, policy: &Policy, target: &Target) -> Result<Adversary> {
        Ok(match self {
            Model::Skyline(model) => Adversary::Skyline(model.named_points()?),
            Model::Implications(model) => Adversary::Implications(Implications {
                up_to: usize::try_from(model.knows).unwrap_or(usize::MAX),
                confidence: Some(threshold(&model.confidence)?),
            }),
            Model::Beliefs(model) => Adversary::Beliefs(Box::new(Question::of(policy, target, model)?)),
            Model::Robust(model) => Adversary::Robust(Box::new(Robustness {
                requirement: model.requirement(&policy.privacy, target)?,
                model: model.clone(),
                suppress: policy.privacy.suppress.clone(),
            })),
        })
    }
}
