//! Do the groups of a release satisfy the requirements for one sensitive column?
//!
//! A [`Judge`] observes one counted group after another; two judges that observed different groups merge, in
//! any order with the same result. This is the only place in the check that distinguishes adversaries.
//! Beliefs and distributions require more than counts: [`beliefs`](super::beliefs::judge) and
//! [`robust`](super::robust::judge) add their claims to the finding.
//!
//! Memory: O(values seen x points), regardless of the number of groups.

use std::sync::Arc;

use super::bare_values::BareValues;
use super::beliefs::Question;
use super::counted_group::CountedGroup;
use super::finding::{Anonymity, Claim, Consent, Finding, Note, Unprotected};
use super::group_sizes::Sizes;
use super::implications::judge::{Implications, ImplicationsJudge};
use super::policy::Policy;
use super::privacy::Target;
use super::robust::judge::Robustness;
use super::shares::ShareCriterion;
use super::shares::judge::SharesJudge;
use super::skyline::ProtectedValues;
use super::skyline::decisive::DecisiveEvidence;
use super::skyline::judge::{Absent, NamedValue, PointsByValue, SkylineJudge, SkylinePoints};
use super::skyline::knowledge::{KnowledgeEvidence, SkylineDepth, WantedByCode, WantedSkylines};
use super::skyline::near::{NearJudge, NearPoint};
use crate::error::{Error, Result, number_of};
use crate::math::exact::parse_fraction;
use crate::math::shares::ShareRule;
use crate::math::skyline::{Confidence, DecisiveGroups, KeptGroups, Values, WindowState};
use crate::policy::{AcceptedRisk, Nearness, joint_parts};

/// What must hold for one sensitive column.
#[derive(Debug, Clone, PartialEq)]
pub struct Requirements {
    /// The adversary that the column is protected against.
    pub adversary: Adversary,
    /// Skyline points that protect windows of numbers, in addition to those of the adversary.
    pub near: Vec<NearPoint>,
    /// Criteria of other tools, in addition to the adversary.
    pub shares: Vec<ShareRequirement>,
    /// The minimum number of people in each group; 1 always holds.
    pub minimum_group_size: u64,
    /// The minimum number of different sensitive values in each group; 0 always holds.
    pub minimum_distinct_values: u64,
    /// How a named value that does not occur in the table is handled.
    pub absent: Absent,
    /// Whether every value must be protected.
    pub coverage: Coverage,
}

/// Whether every value must be protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Coverage {
    /// Each value needs something that bounds what is learned of it, or is declared harmless.
    Required {
        /// What is known about the values of each column of the target.
        columns: Vec<ColumnCoverage>,
        /// Whether the owner accepts values that nothing protects.
        consent: Consent,
    },
    /// The question is about some values only.
    NotAsked,
}

/// An adversary, and what must hold against them.
#[derive(Debug, Clone, PartialEq)]
pub enum Adversary {
    /// Skyline points; none if only the sizes of groups are required.
    Skyline(SkylinePoints),
    /// Implications.
    Implications(Implications),
    /// How far beliefs may move, which requires the original table.
    Beliefs(Box<Question>),
    /// Known distributions.
    Robust(Box<Robustness>),
}

/// What a check needs to judge an adversary.
#[derive(Debug, Clone, Copy)]
pub enum Basis<'a> {
    /// The counts of the groups.
    Counts,
    /// The counts, and the original rows of each person matched to a group.
    People(&'a Question),
    /// The counts, and the known distributions of the people of a group.
    Distributions(&'a Robustness),
}

/// A criterion over shares, with the order of the values that it may need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareRequirement {
    /// The criterion.
    pub criterion: ShareCriterion,
    /// The distances between the values.
    pub nearness: Nearness,
}

impl Requirements {
    /// No requirements, so nothing can fail.
    pub fn nothing() -> Self {
        Requirements {
            adversary: Adversary::Skyline(Vec::new()),
            near: Vec::new(),
            shares: Vec::new(),
            minimum_group_size: 1,
            minimum_distinct_values: 0,
            absent: Absent::Report,
            coverage: Coverage::NotAsked,
        }
    }

    /// What a policy requires for one of its targets.
    pub fn of(policy: &Policy, target: &Target) -> Result<Self> {
        let nearness = policy.columns.sensitive(&target.name());
        let nearness = nearness.map_or(Nearness::Equal, |column| column.nearness.clone());
        let share = |criterion: &ShareCriterion| ShareRequirement {
            criterion: criterion.clone(),
            nearness: nearness.clone(),
        };
        Ok(Requirements {
            adversary: target.model.adversary(policy, target)?,
            near: target.model.near_points()?,
            shares: target.criteria.iter().map(share).collect(),
            minimum_group_size: policy.privacy.minimum_group_size,
            minimum_distinct_values: if target.minimum_distinct > 1 { target.minimum_distinct } else { 0 },
            absent: Absent::Report,
            coverage: Coverage::of(policy, target),
        })
    }

    /// Skyline points only, whose values must occur.
    pub fn points(points: SkylinePoints) -> Self {
        Requirements {
            adversary: Adversary::Skyline(points),
            absent: Absent::Refuse,
            ..Requirements::nothing()
        }
    }

    /// Replaces the adversary by these points.
    pub fn replace_adversary(&mut self, points: SkylinePoints, near: Vec<NearPoint>) {
        self.adversary = Adversary::Skyline(points);
        self.near = near;
        self.absent = Absent::Refuse;
        self.coverage = Coverage::NotAsked;
    }

    /// The skyline points; none for another adversary.
    pub fn skyline(&self) -> &[(ProtectedValues, crate::math::skyline::Point)] {
        match &self.adversary {
            Adversary::Skyline(points) => points,
            _ => &[],
        }
    }

    /// Fails if nothing is required, since the answer would look like a verdict.
    pub fn validate(&self) -> Result<()> {
        if matches!(&self.adversary, Adversary::Skyline(points) if points.is_empty())
            && self.near.is_empty()
            && self.shares.is_empty()
            && self.minimum_group_size <= 1
            && self.minimum_distinct_values == 0
        {
            return Err(Error::missing(
                "nothing is required, so nothing can be checked",
                "give a skyline point, a minimum group size, or a policy",
                crate::error::Setting::Points,
            ));
        }
        Ok(())
    }

    /// Fails if the adversary or a criterion is not defined for this kind of values.
    pub fn expect_values(&self, column: &str, values: Values) -> Result<()> {
        if values == Values::Single {
            return Ok(());
        }
        let problem = match &self.adversary {
            Adversary::Implications(_) => "implications are defined for single values only",
            Adversary::Robust(_) => "known distributions are defined for one row and one value per person",
            _ if !self.near.is_empty() => "windows of numbers are defined for single values only",
            _ if !self.shares.is_empty() => "t-closeness and l-diversity are defined for single values only",
            _ => return Ok(()),
        };
        Err(Error::missing(
            format!("column `{column}`: {problem}"),
            "declare the values of the column as single, or require skyline points",
            crate::error::Setting::Values,
        ))
    }

    /// Whether something other than a skyline point bounds what is learned of every value.
    fn cover_every(&self, values: Values) -> bool {
        !self.shares.is_empty()
            || self.near.iter().any(|near| near.from.is_none())
            || distinct_values_cover(self.minimum_distinct_values, values)
            || !matches!(self.adversary, Adversary::Skyline(_))
    }

    /// What the check needs to judge the adversary.
    pub fn basis(&self) -> Basis<'_> {
        match &self.adversary {
            Adversary::Skyline(_) | Adversary::Implications(_) => Basis::Counts,
            Adversary::Beliefs(question) => Basis::People(question),
            Adversary::Robust(robustness) => Basis::Distributions(robustness),
        }
    }

    /// Whether a rule depends on how often each value occurs in the whole table.
    pub fn depend_on_table(&self) -> bool {
        let closeness =
            |share: &ShareRequirement| matches!(share.criterion, ShareCriterion::Closeness { .. });
        !self.near.is_empty() || self.shares.iter().any(closeness)
    }

    /// Whether each person of the original table is matched to a group.
    pub fn follows_people(&self) -> bool {
        matches!(self.adversary, Adversary::Beliefs(_))
    }

    /// Whether only a policy can define what must hold and what the rows are.
    pub fn is_fixed(&self) -> bool {
        matches!(self.adversary, Adversary::Robust(_))
    }

    /// Whether the original table is needed in addition to the counts of groups.
    pub fn needs_original(&self) -> bool {
        match &self.adversary {
            Adversary::Skyline(_) | Adversary::Implications(_) => false,
            Adversary::Beliefs(_) => true,
            Adversary::Robust(robustness) => robustness.is_estimated(),
        }
    }
}

/// Which values of one column need nothing more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnCoverage {
    /// Those that are declared harmless.
    pub harmless: Vec<String>,
    /// Those that the column's own requirements protect; a combination is at most as certain as each of its parts.
    pub protected: Vec<ProtectedValues>,
}

impl ColumnCoverage {
    fn of(policy: &Policy, name: &str) -> Self {
        let column = policy.columns.sensitive(name);
        let own = policy.privacy.targets.iter().find(|target| target.columns == [name]);
        let protected = own.map_or(Vec::new(), |target| match target.covers_every() {
            true => vec![ProtectedValues::Every],
            false => {
                let points = target.model.skyline().map_or(&[][..], |model| &model.points[..]);
                points.iter().map(|point| point.values.clone()).collect()
            }
        });
        ColumnCoverage {
            harmless: column.map_or(Vec::new(), |column| column.not_sensitive.clone()),
            protected,
        }
    }

    fn is_harmless(&self, value: &str) -> bool {
        self.harmless.iter().any(|own| same_value(own, value))
    }

    fn protects(&self, value: &str) -> bool {
        let listed = |names: &[String]| names.iter().any(|own| same_value(own, value));
        self.protected.iter().any(|protected| match protected {
            ProtectedValues::Every | ProtectedValues::Near(_) => true,
            ProtectedValues::These(names) => listed(names),
            ProtectedValues::Except(names) => !listed(names),
        })
    }
}

/// Whether two texts are the same value, however a number is written.
fn same_value(one: &str, other: &str) -> bool {
    one == other || parse_fraction(one).is_some_and(|one| parse_fraction(other) == Some(one))
}

impl Coverage {
    /// What a policy says about one of its targets.
    fn of(policy: &Policy, target: &Target) -> Self {
        Coverage::Required {
            columns: target.columns.iter().map(|name| ColumnCoverage::of(policy, name)).collect(),
            consent: policy.consent(AcceptedRisk::UnprotectedValues),
        }
    }
}

/// Whether a minimum number of distinct values bounds what is learned of each. It does where people have one value each:
/// l distinct values are the point (l - 2, 0, 0) with confidence 1 (mathematics 1.11).
fn distinct_values_cover(minimum: u64, values: Values) -> bool {
    minimum > 1 && values == Values::Single
}

impl Target {
    /// Whether something other than a skyline point bounds what is learned of every value.
    fn covers_every(&self) -> bool {
        !self.criteria.is_empty()
            || distinct_values_cover(self.minimum_distinct, self.values)
            || self.model.skyline().is_none()
    }
}

/// Everything that stays the same from group to group.
pub struct Charge {
    values: Values,
    adversary: ChargedAdversary,
    rules: ValueRules,
    /// Values whose groups are kept for one confidence.
    wanted: Arc<WantedByCode>,
    /// Values whose groups are kept for every point.
    explored: Arc<WantedByCode>,
    near_skylines: Option<Confidence>,
    minimum_group_size: u64,
    minimum_distinct_values: u64,
    /// The values that a point names for protection.
    named: Vec<(String, u32)>,
    /// All values that the policy names, which are no misspellings of each other.
    known: Vec<u32>,
    absent: Absent,
    coverage: Coverage,
    /// Harmless values of a single column.
    harmless: Vec<u32>,
    /// Whether a requirement bounds what is learned of every value.
    covers_every: bool,
    model: &'static str,
}

/// Rules that are complete only once all values of the table are known.
#[derive(Debug, Clone, Default)]
pub struct ValueRules {
    /// Those of the share requirements.
    pub shares: Vec<ShareRule>,
    /// The windows of numbers, before the first group.
    pub near: Vec<WindowState>,
}

enum ChargedAdversary {
    Skyline(Arc<PointsByValue>),
    Implications(Implications),
}

impl Charge {
    /// Whether the evidence has a byte form: knowledge skylines have none.
    pub fn travels(&self) -> bool {
        self.wanted.is_empty() && self.near_skylines.is_none()
    }

    /// Whether values that nothing protects are counted.
    fn watches(&self) -> bool {
        matches!(self.coverage, Coverage::Required { .. }) && !self.covers_every
    }

    /// Assigns codes to the named values.
    pub fn new(
        values: Values,
        requirements: &Requirements,
        rules: ValueRules,
        wanted: &WantedSkylines,
        code: &mut dyn FnMut(&str) -> Result<u32>,
    ) -> Result<Self> {
        let none = Vec::new();
        let (adversary, model) = match &requirements.adversary {
            Adversary::Implications(required) => {
                (ChargedAdversary::Implications(required.clone()), "implications")
            }
            other => {
                let (points, model) = match other {
                    Adversary::Skyline(points) => (points, "skyline"),
                    Adversary::Beliefs(_) => (&none, "beliefs"),
                    _ => (&none, "robust"),
                };
                (ChargedAdversary::Skyline(Arc::new(PointsByValue::new(values, points, code)?)), model)
            }
        };
        let mut named = Vec::new();
        let mut known = Vec::new();
        for (protected, _) in requirements.skyline() {
            for name in protected.named() {
                let code = code(name)?;
                known.push(code);
                if matches!(protected, ProtectedValues::These(_)) {
                    named.push((name.clone(), code));
                }
            }
        }
        let harmless = match &requirements.coverage {
            Coverage::Required { columns, .. } => match &columns[..] {
                [only] => only.harmless.iter().map(|name| code(name)).collect::<Result<Vec<u32>>>()?,
                _ => Vec::new(),
            },
            Coverage::NotAsked => Vec::new(),
        };
        known.extend(&harmless);
        let by_code = WantedByCode::new(wanted, code)?;
        let (wanted_by_code, explored) = match wanted.depth {
            SkylineDepth::OneConfidence => (by_code, WantedByCode::nothing()),
            SkylineDepth::EveryPoint => (WantedByCode::nothing(), by_code),
        };
        Ok(Charge {
            values,
            adversary,
            rules,
            wanted: Arc::new(wanted_by_code),
            explored: Arc::new(explored),
            near_skylines: wanted.windows.clone(),
            minimum_group_size: requirements.minimum_group_size,
            minimum_distinct_values: requirements.minimum_distinct_values,
            named,
            known,
            absent: requirements.absent,
            coverage: requirements.coverage.clone(),
            harmless,
            covers_every: requirements.cover_every(values),
            model,
        })
    }
}

/// The sensitive values of a table by their codes.
pub struct ValueNames<'a> {
    /// The sensitive column.
    pub column: &'a str,
    /// The name of each code.
    pub names: &'a [Arc<str>],
    /// Whether a text could be a value of the column: in a column of numbers, a number.
    pub possible: &'a dyn Fn(&str) -> bool,
}

/// Judges the groups of a table for one sensitive column.
pub struct Judge {
    charge: Arc<Charge>,
    adversary: AdversaryJudge,
    near: NearJudge,
    shares: SharesJudge,
    knowledge: KnowledgeEvidence,
    decisive: DecisiveEvidence,
    bare: BareValues,
    /// The sizes of the groups observed.
    pub sizes: Sizes,
    /// Groups that contradict the declared kind of values.
    impossible: u64,
}

enum AdversaryJudge {
    Skyline(SkylineJudge),
    Implications(Box<ImplicationsJudge>),
}

impl Judge {
    /// Nothing observed yet.
    pub fn new(charge: &Arc<Charge>) -> Self {
        Judge {
            charge: charge.clone(),
            adversary: match &charge.adversary {
                ChargedAdversary::Skyline(points) => {
                    AdversaryJudge::Skyline(SkylineJudge::new(points.clone()))
                }
                ChargedAdversary::Implications(required) => {
                    AdversaryJudge::Implications(Box::new(ImplicationsJudge::new(required)))
                }
            },
            near: NearJudge::new(&charge.rules.near, charge.near_skylines.as_ref()),
            shares: SharesJudge::default(),
            knowledge: KnowledgeEvidence::new(charge.values, &charge.wanted),
            decisive: DecisiveEvidence::new(charge.values, &charge.explored),
            bare: BareValues::default(),
            sizes: Sizes::default(),
            impossible: 0,
        }
    }

    /// Adds a group; `number` identifies the group in the evidence.
    pub fn observe(&mut self, group: &CountedGroup, number: u64) {
        // All rows of a group may represent nobody.
        if group.people == 0 && group.distinct() == 0 {
            return;
        }
        let possible = match self.charge.values {
            Values::Single => {
                group.counts().fold(0u64, |sum, (_, count)| sum.saturating_add(count)) == group.people
            }
            Values::Set => group.counts().all(|(_, count)| count <= group.people),
            Values::Multiset => group.people > 0,
        };
        if !possible || group.people == 0 {
            self.impossible += 1;
            return;
        }
        self.sizes.observe(group.people, group.distinct());
        match &mut self.adversary {
            AdversaryJudge::Skyline(judge) => judge.observe(group, number),
            AdversaryJudge::Implications(judge) => judge.observe(group, number),
        }
        self.near.observe(group, number);
        self.shares.observe(&self.charge.rules.shares, group, number);
        self.knowledge.observe(group);
        self.decisive.observe(group, number);
        if self.charge.watches() {
            self.bare.observe(group, self.charge.values);
        }
    }

    /// Adds what another judge with the same charge observed.
    pub fn merge(&mut self, other: Judge) {
        self.sizes.merge(&other.sizes);
        self.impossible += other.impossible;
        match (&mut self.adversary, other.adversary) {
            (AdversaryJudge::Skyline(own), AdversaryJudge::Skyline(other)) => own.merge(other),
            (AdversaryJudge::Implications(own), AdversaryJudge::Implications(other)) => own.merge(*other),
            _ => unreachable!("judges with the same charge face the same adversary"),
        }
        self.near.merge(other.near);
        self.shares.merge(other.shares);
        self.knowledge.merge(other.knowledge);
        self.decisive.merge(other.decisive);
        self.bare.merge(other.bare);
    }

    /// Bytes of the evidence.
    pub fn bytes(&self) -> u64 {
        let evidence = match &self.adversary {
            AdversaryJudge::Skyline(judge) => judge.bytes(),
            AdversaryJudge::Implications(judge) => judge.bytes(),
        };
        evidence + self.near.bytes() + self.knowledge.bytes() + self.decisive.bytes() + self.bare.bytes()
    }

    /// About the most bytes that a group adds to the evidence.
    pub fn most_bytes(&self, group: &CountedGroup) -> u64 {
        let evidence = match &self.adversary {
            AdversaryJudge::Skyline(judge) => judge.most_bytes(group),
            AdversaryJudge::Implications(_) => group.distinct() * IMPLICATION_BYTES,
        };
        let skylines = self.knowledge.most_bytes(group) + self.decisive.most_bytes(group);
        evidence + self.near.most_bytes(group) + skylines
    }

    /// The evidence on skyline points, if that is the adversary.
    pub fn skyline(&self) -> Option<&SkylineJudge> {
        match &self.adversary {
            AdversaryJudge::Skyline(judge) => Some(judge),
            AdversaryJudge::Implications(_) => None,
        }
    }

    /// The evidence on windows of numbers.
    pub fn near(&self) -> &NearJudge {
        &self.near
    }

    /// The evidence on implications, if that is what the adversary knows.
    pub fn implications(&self) -> Option<&ImplicationsJudge> {
        match &self.adversary {
            AdversaryJudge::Skyline(_) => None,
            AdversaryJudge::Implications(judge) => Some(judge),
        }
    }

    /// Fails if the groups contradict the declared kind of values, or lack a value that a point names.
    pub fn expect_possible(&mut self, values: &ValueNames<'_>) -> Result<()> {
        if self.impossible > 0 {
            let (rule, remedy) = match self.charge.values {
                Values::Single => {
                    ("people and values differ in number", "declare the values as a set or a multiset")
                }
                Values::Set => {
                    ("a value occurs more often than there are people", "declare the values as a multiset")
                }
                Values::Multiset => ("there are values but no people", "check that no rows are missing"),
            };
            return Err(Error::missing(
                format!(
                    "column `{}`: in {} {rule}",
                    values.column,
                    number_of(self.impossible, "group", "groups")
                ),
                format!("{remedy}, if that is what the table holds"),
                crate::error::Setting::Values,
            ));
        }
        let AdversaryJudge::Skyline(judge) = &mut self.adversary else { return Ok(()) };
        for (name, code) in &self.charge.named {
            let absent = if (values.possible)(name) { self.charge.absent } else { Absent::Refuse };
            let named = NamedValue { column: values.column, name, code: *code };
            judge.expect(&named, values.names, &self.charge.known, absent)?;
        }
        Ok(())
    }

    /// The findings; fails if the table contradicts its declaration.
    pub fn finish(&mut self, values: &ValueNames<'_>) -> Result<Finding> {
        self.expect_possible(values)?;
        let charge = &self.charge;
        let mut claims = Vec::new();
        let minima = [
            ("people", self.sizes.smallest, charge.minimum_group_size, 1),
            ("different sensitive values", self.sizes.fewest_values, charge.minimum_distinct_values, 0),
        ];
        let required = minima.into_iter().filter(|(.., least, always)| least > always);
        claims.extend(required.map(|(what, has, least, _)| Claim::minimum(what, has, least)));
        let mut notes = match &self.adversary {
            AdversaryJudge::Skyline(judge) => {
                let mut notes = judge.finish(values.names, &mut claims);
                let absent = judge.absent();
                notes.extend(absent.iter().map(|&code| {
                    let (name, column) = (&values.names[code as usize], values.column);
                    Note::Warning(format!(
                        "the policy protects {name:?}, which column `{column}` does not hold"
                    ))
                }));
                notes
            }
            AdversaryJudge::Implications(judge) => {
                let (own, notes) = judge.finish(values.names, values.column)?;
                claims.extend(own);
                notes
            }
        };
        notes.extend(size_notes(&self.sizes, charge));
        let (near, near_notes) = self.near.finish(values.names);
        claims.extend(near);
        notes.extend(near_notes);
        let (shares, share_notes) = self.shares.finish(&charge.rules.shares);
        claims.extend(shares);
        notes.extend(share_notes);
        let mut finding = Finding::new(values.column, charge.model, claims);
        finding.notes = notes;
        if let Some(unprotected) = self.unprotected(values.names) {
            if unprotected.consent == Consent::Missing {
                finding.notes.push(Note::Summary(unprotected.in_words()));
            }
            finding.leave_unprotected(unprotected);
        }
        Ok(finding)
    }

    /// The values that nothing protects, if each must be.
    fn unprotected(&self, names: &[Arc<str>]) -> Option<Unprotected> {
        let charge = &self.charge;
        let Coverage::Required { columns, consent } = &charge.coverage else { return None };
        if charge.covers_every {
            return None;
        }
        let declared = |code: u32| match &columns[..] {
            [_] => charge.harmless.contains(&code),
            columns => {
                let parts = joint_parts(&names[code as usize]);
                let parts = || parts.iter().zip(columns);
                parts().len() == columns.len()
                    && (parts().all(|(part, own)| own.is_harmless(part))
                        || parts().any(|(part, own)| own.protects(part)))
            }
        };
        let protected = |code: u32| match &charge.adversary {
            ChargedAdversary::Skyline(points) => !points.of(code).is_empty(),
            ChargedAdversary::Implications(_) => true,
        };
        let bare = self.bare.of(|code| !protected(code) && !declared(code));
        (bare.values > 0).then(|| Unprotected {
            values: bare.values,
            people: bare.people.min(self.sizes.people),
            certain: bare.certain.min(self.sizes.people),
            anonymity: match charge.minimum_group_size {
                0 | 1 => Anonymity::Nothing,
                _ => Anonymity::OfGroups,
            },
            consent: *consent,
        })
    }

    /// The groups that the requested knowledge skylines need, by value, then by window.
    pub fn kept(self, names: &[Arc<str>]) -> Vec<(String, KeptGroups)> {
        let mut kept = self.knowledge.finish(names);
        kept.extend(self.near.kept(names));
        kept
    }

    /// Explores nothing if another judge of the same table found too many values.
    pub fn explore_like(&mut self, other: &Judge) {
        if other.decisive.has_given_up() {
            self.decisive.give_up();
        }
    }

    /// Bytes of the groups that decide about the explored values.
    pub fn decisive_bytes(&self) -> u64 {
        self.decisive.bytes()
    }

    /// The groups that decide about the explored values at every point.
    pub fn decisive(self, names: &[Arc<str>]) -> Vec<(String, DecisiveGroups)> {
        self.decisive.finish(names)
    }
}

/// What the evidence is called when there is no room for it.
pub const STATISTICS: &str = "the statistics of the sensitive values";

/// What a value of a group takes if the group is kept for some number of implications.
const IMPLICATION_BYTES: u64 = 64;

fn size_notes(sizes: &Sizes, charge: &Charge) -> Vec<Note> {
    let mut notes = Vec::new();
    if charge.minimum_group_size > 1 {
        let (smallest, minimum) = (number_of(sizes.smallest, "person", "people"), charge.minimum_group_size);
        notes.push(Note::Summary(format!("the smallest group has {smallest}, {minimum} are required")));
    }
    if charge.minimum_distinct_values > 0 {
        let fewest = number_of(sizes.fewest_values, "different value", "different values");
        let minimum = charge.minimum_distinct_values;
        notes.push(Note::Summary(format!("some group has {fewest}, {minimum} are required")));
    }
    notes
}

mod evidence;
#[cfg(test)]
mod tests;
