//! What must hold for the groups of a table that has been read?

use super::beliefs::TableRows;
use super::counted_group::CountedGroup;
use super::finding::Finding;
use super::judge::{Charge, Judge, Requirements, ValueNames, ValueRules};
use super::obstacle::{Binding, BindingRequirement, Obstacle, ObstacleTally, ObstructingRule};
use super::policy::Policy;
use super::privacy::Target;
use super::published::{PastGroups, needed};
use super::several::{ProjectedTest, Several};
use super::shares::SharesTest;
use super::skyline::knowledge::WantedSkylines;
use super::skyline::near;
use super::split::{Every, MinimumSizes, SplitTest};
use crate::encode::combination::{Projection, SensitiveColumns};
use crate::encode::group_counts::GroupCounts;
use crate::encode::sensitive::SensitiveCoding;
use crate::error::{Error, Result};
use crate::math::confidence::Confidence;
use crate::math::exact::Rational;
use crate::math::shares::ShareRule;
use crate::math::skyline::Values;
use crate::policy::{Nearness, joint_parts, joint_value};
use std::sync::Arc;

/// Everything that a policy protects while its table is split.
pub struct Protection<'a> {
    policy: &'a Policy,
}

/// The most requirements that are listed by name as binding.
const MOST_BINDINGS: usize = 50;

/// The values of a protected column, or combination of columns, by their codes.
pub(super) struct ValueTexts<'v> {
    pub column: &'v str,
    pub texts: &'v [String],
    /// The columns, whose values may be written differently from their text.
    pub codings: Vec<&'v SensitiveCoding>,
}

impl ValueTexts<'_> {
    /// The code of a value as a policy names it.
    pub fn code(&self, text: &str) -> Option<u32> {
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

impl ValueTexts<'_> {
    /// Whether a text could be a value: in a column of numbers, a number.
    fn possible(&self, text: &str) -> bool {
        match self.codings[..] {
            [only] => only.could_hold(text),
            _ => {
                let parts = joint_parts(text);
                let own = |(coding, part): (&&SensitiveCoding, &String)| coding.could_hold(part);
                parts.len() == self.codings.len() && self.codings.iter().zip(&parts).all(own)
            }
        }
    }
}

/// A protected column, or combination of columns, of a table that has been read.
pub(super) struct CodedTarget<'a> {
    pub policy: &'a Policy,
    pub target: &'a Target,
    pub minimum: MinimumSizes,
    pub values: &'a ValueTexts<'a>,
    /// The code of the value by the sensitive code of a row; `None` if it is of another column.
    pub code: &'a [Option<u16>],
    /// The rows themselves, for tests that judge them.
    pub rows: Option<&'a TableRows<'a>>,
}

impl<'a> Protection<'a> {
    /// For a policy whose table is to be split.
    pub fn new(policy: &'a Policy) -> Result<Self> {
        let targets = &policy.privacy.targets;
        let listed = targets.iter().find(|target| target.values != Values::Single);
        let by_rows = targets.iter().find(|target| target.model.judges_rows());
        if let (Some(listed), Some(by_rows)) = (listed, by_rows) {
            return Err(Error::input(
                format!(
                    "column {:?} holds lists, and the model {:?} of column {:?} needs rows with one value in each column",
                    listed.name(),
                    by_rows.model.name(),
                    by_rows.name()
                ),
                "protect all columns by the model \"skyline\", or drop one of them",
            ));
        }
        targets.iter().try_for_each(|target| target.model.refuse_unsplittable(policy, target))?;
        Ok(Protection { policy })
    }

    fn targets(&self) -> &'a [Target] {
        &self.policy.privacy.targets
    }

    /// How many values a person may have in a sensitive column.
    pub fn values_of(&self, column: &str) -> Values {
        let target =
            self.targets().iter().find(|target| matches!(&target.columns[..], [own] if own == column));
        target.map_or(Values::Single, |target| target.values)
    }

    /// Whether groups are also judged by their rows.
    pub fn judges_rows(&self) -> bool {
        self.targets().iter().any(|target| target.model.judges_rows())
    }

    /// The test for splitting a table whose total counts are `whole`.
    pub fn split_test(
        &self,
        sensitive: &SensitiveColumns,
        whole: &GroupCounts,
        rows: Option<&TableRows<'_>>,
    ) -> Result<Box<dyn SplitTest>> {
        self.split_test_after(&PastGroups::default(), sensitive, whole, rows)
    }

    /// The test for splitting a table whose groups are published in addition to others.
    pub fn split_test_after(
        &self,
        published: &PastGroups,
        sensitive: &SensitiveColumns,
        whole: &GroupCounts,
        rows: Option<&TableRows<'_>>,
    ) -> Result<Box<dyn SplitTest>> {
        if let ([target], [only]) = (self.targets(), sensitive.columns()) {
            let mut texts = only.texts();
            let code: Vec<Option<u16>> = (0..texts.len()).map(|code| Some(code as u16)).collect();
            let parts = published.parts(&target.columns, &mut texts)?;
            let values = ValueTexts { column: &only.name, texts: &texts, codings: vec![only] };
            let mut test = self.coded(target, &values, &code, rows).split_test(whole)?;
            for part in parts.chunks(1) {
                test.accept(part);
            }
            return Ok(test);
        }
        let mut tests = Vec::new();
        for target in self.targets() {
            let (Projection { code, mut texts }, name) = projection(target, sensitive)?;
            let own = projected(whole, &code, texts.len());
            let parts = published.parts(&target.columns, &mut texts)?;
            let values = value_texts(target, &name, &texts, sensitive);
            let mut test = self.coded(target, &values, &code, rows).split_test(&own)?;
            for part in parts.chunks(1) {
                test.accept(part);
            }
            tests.push(ProjectedTest { code: code.into(), values: texts.len(), test });
        }
        Ok(Box::new(Several::new(tests)))
    }

    /// The same groups without those that decide nothing beside the others.
    pub fn decisive(&self, mut published: PastGroups, sensitive: &SensitiveColumns) -> Result<PastGroups> {
        let mut kept = vec![false; published.groups.len()];
        for target in self.targets() {
            let (Projection { code, mut texts }, name) = projection(target, sensitive)?;
            let parts = published.parts(&target.columns, &mut texts)?;
            let values = value_texts(target, &name, &texts, sensitive);
            let nobody = GroupCounts::none(texts.len());
            let test = self.coded(target, &values, &code, None).split_test(&nobody)?;
            needed(&*test, &parts).into_iter().for_each(|at| kept[at] = true);
        }
        let mut keeps = kept.into_iter();
        published.groups.retain(|_| keeps.next().unwrap_or(true));
        Ok(published)
    }

    /// What refuses the best cuts, with names, most people first. Beyond [`MOST_BINDINGS`], they are added up.
    pub fn bindings(&self, tally: &ObstacleTally, sensitive: &SensitiveColumns) -> Result<Vec<Binding>> {
        let mut names = Vec::new();
        for target in self.targets() {
            let (Projection { code, texts }, name) = projection(target, sensitive)?;
            let values = value_texts(target, &name, &texts, sensitive);
            let coded = self.coded(target, &values, &code, None);
            let points = match target.model.skyline() {
                Some(model) => model.state(&coded)?.points(),
                None => Vec::new(),
            };
            names.push((target, points, texts));
        }
        let requirement = |obstacle: Obstacle| {
            let (target, points, texts) = names.get(usize::from(obstacle.target))?;
            let column = target.name();
            Some(match obstacle.rule {
                ObstructingRule::NothingToCut => BindingRequirement::NothingToCut,
                ObstructingRule::People => BindingRequirement::People(self.policy.privacy.minimum_group_size),
                ObstructingRule::Distinct => {
                    BindingRequirement::Distinct { column, least: target.minimum_distinct }
                }
                ObstructingRule::Point { point, code } => BindingRequirement::Point {
                    column,
                    value: code.and_then(|code| texts.get(usize::from(code)).cloned()),
                    point: points.get(usize::from(point))?.clone(),
                },
                ObstructingRule::Shares(rule) => {
                    BindingRequirement::Other { column, rule: target.criteria.get(usize::from(rule))?.name() }
                }
                ObstructingRule::Windows => BindingRequirement::Other { column, rule: "within" },
                ObstructingRule::Adversary => BindingRequirement::Other { column, rule: target.model.name() },
            })
        };
        let mut bindings: Vec<Binding> = Vec::new();
        let mut rest = Binding { requirement: BindingRequirement::Rest, people: 0, groups: 0 };
        for (obstacle, people, groups) in tally.by_people() {
            match requirement(obstacle).filter(|_| bindings.len() < MOST_BINDINGS) {
                Some(requirement) => bindings.push(Binding { requirement, people, groups }),
                None => (rest.people, rest.groups) = (rest.people + people, rest.groups + groups),
            }
        }
        bindings.extend((rest.groups > 0).then_some(rest));
        Ok(bindings)
    }

    /// What the check would find for each column if the whole table were one group.
    pub fn judge_whole(&self, whole: &GroupCounts, sensitive: &SensitiveColumns) -> Result<Vec<Finding>> {
        let judge = |target: &Target| {
            let (Projection { code, texts }, name) = projection(target, sensitive)?;
            let own = projected(whole, &code, texts.len());
            let values = value_texts(target, &name, &texts, sensitive);
            self.coded(target, &values, &code, None).judge_whole(&own)
        };
        self.targets().iter().map(judge).collect()
    }

    fn coded<'c>(
        &self,
        target: &'c Target,
        values: &'c ValueTexts<'c>,
        code: &'c [Option<u16>],
        rows: Option<&'c TableRows<'c>>,
    ) -> CodedTarget<'c>
    where
        'a: 'c,
    {
        let distinct = target.minimum_distinct as usize;
        let minimum = MinimumSizes { people: self.policy.privacy.minimum_group_size, distinct };
        CodedTarget { policy: self.policy, target, minimum, values, code, rows }
    }
}

impl CodedTarget<'_> {
    /// The tests of the model and of all other criteria; `whole` is the whole table in the codes of this target.
    fn split_test(&self, whole: &GroupCounts) -> Result<Box<dyn SplitTest>> {
        let rules = self.share_rules(whole)?;
        let mut tests = self.target.model.split_tests(self)?;
        if !rules.is_empty() {
            tests.push(Box::new(SharesTest::new(rules)));
        }
        match tests.len() {
            1 => Ok(tests.remove(0)),
            _ => Ok(Box::new(Every::new(tests))),
        }
    }

    fn share_rules(&self, whole: &GroupCounts) -> Result<Vec<ShareRule>> {
        let nearness = self.policy.columns.sensitive(&self.target.name()).map(|column| &column.nearness);
        let nearness = nearness.unwrap_or(&Nearness::Equal);
        let ValueTexts { column, texts, .. } = self.values;
        let criteria = self.target.criteria.iter();
        criteria.map(|criterion| criterion.rule(nearness, column, texts, &whole.counts)).collect()
    }

    /// Judges the whole table as one group by its counts.
    fn judge_whole(&self, whole: &GroupCounts) -> Result<Finding> {
        let values = self.values;
        let requirements = Requirements::of(self.policy, self.target)?;
        let mut names: Vec<Arc<str>> = values.texts.iter().map(|text| text.as_str().into()).collect();
        let code = &mut |name: &str| {
            Ok(values.code(name).unwrap_or_else(|| {
                let known = names[values.texts.len()..].iter().position(|own| **own == *name);
                let place = known.map_or(names.len(), |at| values.texts.len() + at);
                if place == names.len() {
                    names.push(name.into());
                }
                place as u32
            }))
        };
        let null = values.codings.first().and_then(|coding| coding.null_text());
        let occurring = (0u32..).zip(values.texts).filter(|(code, _)| whole.counts[*code as usize] > 0);
        let occurring = occurring.map(|(code, text)| (code, text.as_str()));
        let near = near::states(&requirements.near, values.column, occurring, null.as_deref())?;
        let rules = ValueRules { shares: self.share_rules(whole)?, near };
        let wanted = WantedSkylines::NOTHING;
        let charge = Charge::new(self.target.values, &requirements, rules, &wanted, code)?;
        let mut judge = Judge::new(&Arc::new(charge));
        let mut group = CountedGroup::of(whole.people);
        let counts = (0u32..).zip(&whole.counts).filter(|(_, count)| **count > 0);
        counts.for_each(|(code, count)| group.add(code, *count));
        judge.observe(&group, 0);
        let possible = &|text: &str| values.possible(text);
        judge.finish(&ValueNames { column: values.column, names: &names, possible })
    }
}

/// What the sensitive codes mean for a target, and its name.
fn projection(target: &Target, sensitive: &SensitiveColumns) -> Result<(Projection, String)> {
    let name = target.name();
    let projection = sensitive.projection(&target.columns).ok_or_else(|| {
        Error::input(format!("the table has no sensitive column {name:?}"), "check columns.sensitive")
    })?;
    Ok((projection, name))
}

fn value_texts<'v>(
    target: &Target,
    column: &'v str,
    texts: &'v [String],
    sensitive: &'v SensitiveColumns,
) -> ValueTexts<'v> {
    let coding = |name: &String| sensitive.columns().iter().find(|coding| coding.name == *name);
    ValueTexts { column, texts, codings: target.columns.iter().filter_map(coding).collect() }
}

/// A part in the codes of one target, which has `values` of them.
fn projected(part: &GroupCounts, code: &[Option<u16>], values: usize) -> GroupCounts {
    let mut own = GroupCounts { people: part.people, counts: vec![0; values] };
    for (&count, code) in part.counts.iter().zip(code) {
        if let Some(code) = code {
            own.counts[usize::from(*code)] += count;
        }
    }
    own
}

/// A confidence of a policy in the form that the mathematics uses.
pub(super) fn threshold(confidence: &Rational) -> Result<Confidence> {
    Confidence::new(confidence.clone()).ok_or_else(|| {
        Error::input("a confidence of [privacy] is not in (0, 1]", "give one above 0 and at most 1")
    })
}
