//! How many people would somebody be sure of who repeats the choice of groups?
//!
//! The adversary knows everybody's quasi-identifiers, the policy and the algorithm. All groups of a release refused
//! every further cut, so an arrangement of a group's values for which a cut would have been safe is ruled out. Cuts that
//! were refused higher up in the tree rule out more; they are not used here. So this is what such an adversary learns
//! at the least effort: an estimate, never a proof of safety.
//!
//! Memory: the rows; per thread, one group and its tally.

use super::TrialTable;
use crate::anonymize::splitting::plan;
use crate::encode::codes::Codes;
use crate::encode::column::Column;
use crate::encode::group_counts::Part;
use crate::encode::rows::{Rows, Sensitive};
use crate::error::{Error, Result};
use crate::group::split::count::CountRows;
use crate::group::split::frontier::OpenNode;
use crate::group::split::plan::SplitPlan;
use crate::group::split::replay::Rearranged;
use crate::group::split::rows::InMemory;
use crate::math::random::Random;
use crate::math::replay::{Reached, ReplayEffort, ReplayPoint, ReplayedGroup};
use crate::math::skyline::Values;
use crate::model::Policy;
use crate::model::protection::Protection;
use crate::model::skyline::ProtectedValues;
use crate::model::split::{Scratch, SplitTest};
use crate::policy::Cuts;
use crate::resources::threads::thread_pool;
use rayon::prelude::*;

/// The most people whose groups are repeated in memory, in the order in which a release of them is decided.
const MOST_PEOPLE: u64 = 1 << 18;

/// What a replay of the choice of groups gives away.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayReport {
    /// People in the release.
    pub people: u64,
    /// Its groups.
    pub groups: u64,
    /// Groups of which all arrangements were tried.
    pub exhaustive: u64,
    /// Groups for which some arrangement is ruled out.
    pub telling: u64,
    /// Groups for which nothing that was drawn is left, so that nothing is known.
    pub undecided: u64,
    /// People who reach a confidence of the policy, with as many known negations as its point allows.
    pub reached: Reached,
    /// People of groups that were tried exhaustively whose value is certain.
    pub certain: u64,
    /// How arrangements were tried.
    pub effort: ReplayEffort,
}

impl TrialTable {
    /// Forms the groups of a policy, and replays each of them. All people must have been read.
    pub fn replay(&self, policy: &Policy, effort: ReplayEffort) -> Result<ReplayReport> {
        if policy.publish.cuts == Cuts::Blind {
            return Err(Error::input(
                "cuts = \"blind\" withstand a replay: there is nothing to estimate",
                "replay a release with other cuts",
            ));
        }
        if self.people > MOST_PEOPLE || self.sampled() < self.people {
            return Err(Error::input(
                format!("a replay holds all rows in memory, and more than {MOST_PEOPLE} people are too many"),
                "replay a release of fewer people by the same policy",
            ));
        }
        let points = self.points(policy)?;
        let protection = Protection::new(policy)?;
        let whole = self.rows.total(self.sensitive.len());
        let mut test = protection.split_test(&self.sensitive, &whole, None)?;
        if !test.admits(&[Part::of(&whole)], &mut Scratch::default()) {
            return Err(Error::input("nothing can be published by this policy", "relax it first"));
        }
        test.accept(&[Part::of(&whole)]);
        let columns: Vec<Column> = self.quasi.iter().map(|(_, _, own)| own.column()).collect();
        let plan = plan(policy, &columns);
        let mut rows = InMemory::new(&columns, self.rows.clone());
        let root = OpenNode::root(&columns, &whole);
        let pool = thread_pool(self.threads)?;
        let split = pool.install(|| plan.finish(&mut rows, root, &mut *test))?;
        let Some(split) = split else {
            return Err(Error::defect("a group by counts was judged by its rows"));
        };
        // Every accepted part counts, so a cut that is admitted now was admitted whenever it was tried.
        let criterion = &*test;
        let intervals = intervals(self.people, self.sensitive.len(), &points);
        let Some(rows) = rows.in_memory() else { return Err(Error::defect("rows in memory are elsewhere")) };
        let replay = |(number, leaf): (usize, &OpenNode)| {
            let own = self.rows_of(&columns, rows, leaf.rows.clone())?;
            Ok(self.replay_group(plan, own, number as u64, effort, criterion))
        };
        let replayed: Result<Vec<ReplayedGroup>> =
            pool.install(|| split.leaves.par_iter().enumerate().map(replay).collect());
        let mut report = ReplayReport {
            people: self.people,
            groups: split.leaves.len() as u64,
            exhaustive: 0,
            telling: 0,
            undecided: 0,
            reached: Reached::default(),
            certain: 0,
            effort,
        };
        for group in replayed? {
            report.exhaustive += u64::from(group.exhaustive);
            report.telling += u64::from(group.tells_something());
            report.undecided += u64::from(group.left == 0);
            report.reached.add(group.reached(&points, &effort, intervals));
            report.certain += if group.exhaustive { group.certain() } else { 0 };
        }
        Ok(report)
    }

    fn replay_group(
        &self,
        plan: SplitPlan<'_>,
        rows: Rows,
        number: u64,
        effort: ReplayEffort,
        criterion: &dyn SplitTest,
    ) -> ReplayedGroup {
        let values = self.sensitive.len();
        let codes: Vec<u16> = match &rows.sensitive {
            Sensitive::Single(codes) => (0..rows.len()).map(|row| codes.get(row)).collect(),
            Sensitive::Lists { .. } => vec![],
        };
        let mut random = Random::stream(REPLAY_SEED, number);
        let mut rearranged = Rearranged::new(plan, rows, values);
        ReplayedGroup::new(&codes, values, &effort, &mut random, |arranged| {
            rearranged.stays_whole(arranged, criterion)
        })
    }

    /// The rows with these numbers.
    fn rows_of(&self, columns: &[Column], rows: &Rows, of: std::ops::Range<usize>) -> Result<Rows> {
        let people = of.len();
        let codes = |column: &Column| Codes::with_capacity(column.codes, people);
        let sensitive = Sensitive::Single(Codes::with_capacity(self.sensitive.len() as u32, people));
        let mut own = Rows { columns: columns.iter().map(codes).collect(), sensitive };
        own.extend_rows(rows, &of.map(|row| row as u32).collect::<Vec<_>>())?;
        Ok(own)
    }

    /// The points of a policy, as far as they are about one person.
    fn points(&self, policy: &Policy) -> Result<Vec<ReplayPoint>> {
        let refused = |problem: &str| {
            Err(Error::input(
                format!("a replay is not measured for {problem}"),
                "replay a release of one sensitive column with single values and the model \"skyline\"",
            ))
        };
        let ([target], [column]) = (&policy.privacy.targets[..], self.sensitive.columns()) else {
            return refused("several sensitive columns");
        };
        if target.values != Values::Single {
            return refused("several values per person");
        }
        let Some(model) = target.model.skyline().filter(|model| !model.points.is_empty()) else {
            return refused("this model");
        };
        let mut points = vec![];
        for point in &model.points {
            let named = |names: &[String]| -> Vec<bool> {
                let mut protected = vec![false; column.len()];
                let codes = names.iter().filter_map(|name| column.code_of_text(name));
                codes.for_each(|code| protected[usize::from(code)] = true);
                protected
            };
            let protected = match &point.values {
                ProtectedValues::Every => vec![true; column.len()],
                ProtectedValues::These(names) => named(names),
                ProtectedValues::Except(names) => named(names).into_iter().map(|named| !named).collect(),
                ProtectedValues::Near(_) => return refused("windows of numbers"),
            };
            points.push(ReplayPoint { protected, l: point.l as usize, confidence: point.confidence.clone() });
        }
        Ok(points)
    }
}

/// Replays draw the same arrangements every time.
const REPLAY_SEED: u64 = 22;

/// How many shares are estimated: one for each person, value and set of negated values.
fn intervals(people: u64, values: usize, points: &[ReplayPoint]) -> f64 {
    let sets =
        |point: &ReplayPoint| (0..point.l).fold(1.0, |sets, l| sets * (values as f64 - l as f64).max(1.0));
    people as f64 * values as f64 * points.iter().map(sets).sum::<f64>()
}
