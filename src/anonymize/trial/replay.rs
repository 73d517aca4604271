//! How many people would somebody be sure of who repeats the choice of groups?
//!
//! The adversary knows everybody's quasi-identifiers, the policy and the algorithm. All groups of a release refused
//! every further cut, so an arrangement of a group's values for which a cut would have been safe is ruled out. If asked
//! for, so is one for which a node that was cut into groups would have been cut otherwise. What was refused higher up in
//! the tree is not used. So this is what such an adversary learns at the least effort: an estimate, never a proof of
//! safety.
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
use crate::group::split::lookahead::Lookahead;
use crate::group::split::plan::SplitPlan;
use crate::group::split::replay::Rearranged;
use crate::group::split::rows::InMemory;
use crate::group::tree::{Cut, CutTree, NodeId};
use crate::math::random::Random;
use crate::math::replay::{Reached, ReplayEffort, ReplayPoint, ReplayedGroup};
use crate::math::skyline::Values;
use crate::model::Policy;
use crate::model::protection::Protection;
use crate::model::skyline::{ProtectedValues, SkylineModel, SkylineRequirement};
use crate::model::split::{Scratch, SplitTest};
use crate::resources::threads::thread_pool;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;

/// The most people whose groups are repeated in memory, in the order in which a release of them is decided.
const MOST_PEOPLE: u64 = 1 << 18;

/// Groups whose values are rearranged together.
struct Family {
    leaves: Range<usize>,
    /// The cut that divides them, if what was refused above them is used.
    cut: Option<Cut>,
}

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
    /// Whether a point of the policy also allows knowledge about other people, which is not used here.
    pub knows_others: bool,
    /// How arrangements were tried.
    pub effort: ReplayEffort,
}

/// Which refused cuts a replay uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayedCuts {
    /// Those of the groups.
    OfGroups,
    /// Also those that were better than the one by which a node was cut into groups.
    AboveGroups,
}

/// The groups of a policy with their rows.
struct Regrown<'c> {
    plan: SplitPlan<'c>,
    rows: InMemory<'c>,
    tree: CutTree,
    /// In tree order.
    leaves: Vec<OpenNode>,
    /// Has accepted nothing.
    untouched: Box<dyn SplitTest>,
    /// Accepted every part, so a cut that it admits now was admitted whenever it was tried.
    criterion: Box<dyn SplitTest>,
}

impl TrialTable {
    /// Forms the groups of a policy, and replays each of them. All people must have been read.
    pub fn replay(&self, policy: &Policy, cuts: ReplayedCuts, effort: ReplayEffort) -> Result<ReplayReport> {
        let model = replayed_model(policy)?;
        if self.people > MOST_PEOPLE || self.sampled() < self.people {
            return Err(Error::input(
                format!("a replay holds all rows in memory, and more than {MOST_PEOPLE} people are too many"),
                "replay a release of fewer people by the same policy",
            ));
        }
        if cuts == ReplayedCuts::AboveGroups && model.points.iter().any(|point| point.m > 0) {
            return Err(Error::input(
                "cuts above groups are replayed if safety is a matter of each group alone, and the policy has a point with m above 0",
                "replay the cuts of the groups only",
            ));
        }
        let points = self.points(model);
        let columns: Vec<Column> = self.quasi.iter().map(|(_, _, own)| own.column()).collect();
        let pool = thread_pool(self.threads)?;
        let regrown = pool.install(|| self.regrow(policy, &columns))?;
        let intervals = intervals(self.people, self.sensitive.len(), &points);
        let above = plan(policy, &columns, Lookahead::new(&*regrown.untouched, self.people));
        let replay = |(number, family): (usize, &Family)| {
            let mut rearranged = self.rearranged(&regrown, above, family)?;
            let mut random = Random::stream(REPLAY_SEED, number as u64);
            let codes = rearranged.codes.clone();
            let possible = |arranged: &[u16]| rearranged.stays_possible(arranged);
            Ok(ReplayedGroup::new(&codes, self.sensitive.len(), &effort, &mut random, possible))
        };
        let families = regrown.families(cuts);
        let replayed: Result<Vec<ReplayedGroup>> =
            pool.install(|| families.par_iter().enumerate().map(replay).collect());
        let mut report = ReplayReport {
            people: self.people,
            groups: regrown.leaves.len() as u64,
            exhaustive: 0,
            telling: 0,
            undecided: 0,
            reached: Reached::default(),
            certain: 0,
            knows_others: model.points.iter().any(|point| point.k > 0 || point.m > 0),
            effort,
        };
        for (group, family) in replayed?.iter().zip(&families) {
            let groups = |counted: bool| if counted { family.leaves.len() as u64 } else { 0 };
            report.exhaustive += groups(group.exhaustive);
            report.telling += groups(group.tells_something());
            report.undecided += groups(group.left == 0);
            report.reached.add(group.reached(&points, &effort, intervals));
            report.certain += if group.exhaustive { group.certain() } else { 0 };
        }
        Ok(report)
    }

    /// Forms the groups again.
    fn regrow<'c>(&self, policy: &Policy, columns: &'c [Column]) -> Result<Regrown<'c>> {
        let protection = Protection::new(policy)?;
        let whole = self.rows.total(self.sensitive.len());
        let mut criterion = protection.split_test(&self.sensitive, &whole, None)?;
        if !criterion.admits(&[Part::of(&whole)], &mut Scratch::default()) {
            return Err(Error::input("nothing can be published by this policy", "relax it first"));
        }
        let untouched = criterion.fork();
        criterion.accept(&[Part::of(&whole)]);
        let mut rows = InMemory::new(columns, self.rows.clone());
        let root = OpenNode::root(columns, &whole);
        let split = plan(policy, columns, Lookahead::new(&*untouched, whole.people));
        let Some(split) = split.finish(&mut rows, root, &mut *criterion)? else {
            return Err(Error::defect("a group by counts was judged by its rows"));
        };
        // Whether there is a cut does not depend on which one is preferred.
        let plan = plan(policy, columns, None);
        Ok(Regrown { plan, rows, tree: split.tree, leaves: split.leaves, untouched, criterion })
    }

    /// The rows of a family, to be rearranged.
    fn rearranged<'p>(
        &self,
        regrown: &'p Regrown<'_>,
        above: SplitPlan<'p>,
        family: &'p Family,
    ) -> Result<RearrangedFamily<'p>> {
        let values = self.sensitive.len();
        let leaves = &regrown.leaves[family.leaves.clone()];
        let (mut groups, mut codes) = (vec![], vec![]);
        for leaf in leaves {
            let rows = self.rows_of(above.columns, regrown, leaf.rows.clone())?;
            codes.push(match &rows.sensitive {
                Sensitive::Single(codes) => (0..rows.len()).map(|row| codes.get(row)).collect::<Vec<u16>>(),
                Sensitive::Lists { .. } => vec![],
            });
            groups.push(Rearranged::new(regrown.plan, rows, values));
        }
        let node = match (&family.cut, leaves) {
            (Some(cut), [first, .., last]) => {
                let mut extent = first.extent.clone();
                extent[cut.column].end = last.extent[cut.column].end;
                let rows = self.rows_of(above.columns, regrown, first.rows.start..last.rows.end)?;
                Some((cut, Rearranged::of_node(above, rows, extent, values)))
            }
            _ => None,
        };
        Ok(RearrangedFamily { regrown, codes, groups, node })
    }

    /// The rows of a group.
    fn rows_of(&self, columns: &[Column], regrown: &Regrown<'_>, range: Range<usize>) -> Result<Rows> {
        let people = range.len();
        let codes = |column: &Column| Codes::with_capacity(column.codes, people);
        let sensitive = Sensitive::Single(Codes::with_capacity(self.sensitive.len() as u32, people));
        let mut own = Rows { columns: columns.iter().map(codes).collect(), sensitive };
        if let Some(rows) = regrown.rows.in_memory() {
            own.extend_rows(rows, &range.map(|row| row as u32).collect::<Vec<_>>())?;
        }
        Ok(own)
    }

    /// The points of a policy, as far as they are about one person.
    fn points(&self, model: &SkylineModel) -> Vec<ReplayPoint> {
        let column = &self.sensitive.columns()[0];
        let named = |names: &[String]| -> Vec<bool> {
            let mut protected = vec![false; column.len()];
            let codes = names.iter().filter_map(|name| column.code_of_text(name));
            codes.for_each(|code| protected[usize::from(code)] = true);
            protected
        };
        let protected = |values: &ProtectedValues| match values {
            ProtectedValues::These(names) => named(names),
            ProtectedValues::Except(names) => named(names).into_iter().map(|named| !named).collect(),
            ProtectedValues::Every | ProtectedValues::Near(_) => vec![true; column.len()],
        };
        let point = |point: &SkylineRequirement| ReplayPoint {
            protected: protected(&point.values),
            l: point.l as usize,
            confidence: point.confidence.clone(),
        };
        model.points.iter().map(point).collect()
    }
}

/// Groups whose values can be rearranged together.
struct RearrangedFamily<'p> {
    regrown: &'p Regrown<'p>,
    /// The values of each group.
    codes: Vec<Vec<u16>>,
    groups: Vec<Rearranged<'p>>,
    /// The node that was cut into the groups.
    node: Option<(&'p Cut, Rearranged<'p>)>,
}

impl RearrangedFamily<'_> {
    /// Whether these values, one group after the other, lead to the same groups.
    fn stays_possible(&mut self, arranged: &[u16]) -> bool {
        let mut rest = arranged;
        let whole = self.groups.iter_mut().zip(&self.codes).all(|(group, codes)| {
            let (own, later) = rest.split_at(codes.len());
            rest = later;
            group.stays_whole(own, &*self.regrown.criterion)
        });
        let is_cut_alike = |(cut, node): &mut (&Cut, Rearranged<'_>)| {
            node.proposed(arranged, &*self.regrown.untouched).as_ref() == Some(*cut)
        };
        whole && self.node.as_mut().is_none_or(is_cut_alike)
    }
}

impl Regrown<'_> {
    /// The groups, alone or with those that one cut made of the same node.
    fn families(&self, cuts: ReplayedCuts) -> Vec<Family> {
        let place: BTreeMap<NodeId, usize> =
            self.leaves.iter().enumerate().map(|(at, leaf)| (leaf.id, at)).collect();
        let mut above: BTreeMap<usize, Family> = BTreeMap::new();
        for node in (0..self.tree.len() as NodeId).filter(|_| cuts == ReplayedCuts::AboveGroups) {
            let Some((cut, children)) = self.tree.cut(node) else { continue };
            let leaves: Option<Vec<usize>> = children.map(|child| place.get(&child).copied()).collect();
            if let Some([first, .., last]) = leaves.as_deref() {
                above.insert(*first, Family { leaves: *first..last + 1, cut: Some(cut) });
            }
        }
        let mut families = vec![];
        let mut next = 0;
        while next < self.leaves.len() {
            let family = above.remove(&next).unwrap_or(Family { leaves: next..next + 1, cut: None });
            next = family.leaves.end;
            families.push(family);
        }
        families
    }
}

/// What a release must satisfy so that a replay can be measured; an error that says why it is not.
pub fn replayed_model(policy: &Policy) -> Result<&SkylineModel> {
    let refused = |problem: &str| {
        Err(Error::input(
            format!("a replay is not measured for {problem}"),
            "replay a release of one sensitive column with single values and the model \"skyline\"",
        ))
    };
    if policy.publish.withstands_replay() {
        return Err(Error::input(
            "a strategy and cuts = \"blind\" withstand a replay: there is nothing to estimate",
            "replay a release with other cuts",
        ));
    }
    let [target] = &policy.privacy.targets[..] else {
        return refused("several sensitive columns");
    };
    if target.values != Values::Single {
        return refused("several values per person");
    }
    match target.model.skyline().filter(|model| !model.points.is_empty()) {
        Some(model) if model.points.iter().any(|point| matches!(point.values, ProtectedValues::Near(_))) => {
            refused("windows of numbers")
        }
        Some(model) => Ok(model),
        None => refused("this model"),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::Resources;
    use crate::resources::budget::Budget;
    use crate::resources::progress::Progress;
    use crate::table::read::{ReadOptions, Table};
    use std::collections::BTreeSet;

    /// People by age, which tells them apart, with their values.
    type Publication = BTreeMap<Vec<u16>, Vec<u16>>;

    impl TrialTable {
        /// The groups of a policy, as ages and sorted values.
        fn published(&self, policy: &Policy, columns: &[Column]) -> Publication {
            let regrown = self.regrow(policy, columns).unwrap();
            let group = |leaf: &OpenNode| {
                let (ages, mut values) = self.ages_and_values(columns, &regrown, leaf);
                values.sort_unstable();
                (ages, values)
            };
            regrown.leaves.iter().map(group).collect()
        }

        /// In the order of ages.
        fn ages_and_values(
            &self,
            columns: &[Column],
            regrown: &Regrown<'_>,
            leaf: &OpenNode,
        ) -> (Vec<u16>, Vec<u16>) {
            let rows = self.rows_of(columns, regrown, leaf.rows.clone()).unwrap();
            let Sensitive::Single(values) = &rows.sensitive else { panic!() };
            let mut people: Vec<(u16, u16)> =
                (0..rows.len()).map(|row| (rows.columns[0].get(row), values.get(row))).collect();
            people.sort_unstable();
            people.into_iter().unzip()
        }

        fn with_values(&self, by_age: &BTreeMap<u16, u16>) -> TrialTable {
            let mut codes = Codes::with_capacity(self.sensitive.len() as u32, self.rows.len());
            (0..self.rows.len()).for_each(|row| codes.push(by_age[&self.rows.columns[0].get(row)]));
            let rows = Rows { columns: self.rows.columns.clone(), sensitive: Sensitive::Single(codes) };
            TrialTable { quasi: self.quasi.clone(), sensitive: self.sensitive.clone(), rows, ..*self }
        }
    }

    /// All tables with the same publication.
    fn reconstructions(publication: &Publication) -> Vec<BTreeMap<u16, u16>> {
        let mut all = vec![BTreeMap::new()];
        for (ages, values) in publication {
            let mut arranged = BTreeSet::from([vec![]]);
            for _ in ages {
                let longer = |start: &Vec<u16>| {
                    let start = start.clone();
                    let fits = move |value: &u16| {
                        let count = |of: &[u16]| of.iter().filter(|own| *own == value).count();
                        count(&start) < count(values)
                    };
                    values.iter().filter(|value| fits(value)).copied().collect::<BTreeSet<u16>>()
                };
                arranged = arranged
                    .iter()
                    .flat_map(|start| longer(start).into_iter().map(|value| [&start[..], &[value]].concat()))
                    .collect();
            }
            let extend = |table: &BTreeMap<u16, u16>| {
                let table = table.clone();
                arranged.iter().map(move |values| {
                    table
                        .clone()
                        .into_iter()
                        .chain(ages.iter().copied().zip(values.iter().copied()))
                        .collect()
                })
            };
            all = all.iter().flat_map(extend).collect();
        }
        all
    }

    /// The planner itself, run on every table with the same publication, must leave only what the attack leaves.
    #[test]
    fn no_table_that_the_planner_leaves_is_ruled_out() {
        let folder = tempfile::tempdir().unwrap();
        let (mut possible, mut left, mut ruled_out, mut above) = (0, 0, 0, 0);
        for round in 0..24u64 {
            let mut random = Random::new(round);
            let path = folder.path().join(format!("{round}.csv"));
            let mut text = "age,sex,sick\n".to_string();
            for age in 20..28 {
                let (sex, sick) =
                    (["f", "m"][random.below(2) as usize], ["a", "b", "c"][random.below(3) as usize]);
                text.push_str(&format!("{age},{sex},{sick}\n"));
            }
            std::fs::write(&path, text).unwrap();
            let cuts = ["best", "mondrian"][round as usize % 2];
            let (l, m, confidence) = [(0, 0, "2/3"), (0, 1, "4/5"), (1, 0, "9/10")][round as usize % 3];
            let policy = format!(
                "[columns]\nsensitive = \"sick\"\nquasi = [\"age\", \"sex\"]\n[[privacy.skyline]]\nl = {l}\nm = {m}\n\
                 confidence = \"{confidence}\"\n[publish]\ncuts = \"{cuts}\"\n"
            );
            let policy = Policy::parse(&policy, "policy.toml").unwrap();
            let table = Table::open(&[path], &ReadOptions::default()).unwrap();
            let progress = Progress::default();
            let resources = Resources::new(Budget::new(1 << 26), &progress);
            let trial = TrialTable::read(&table, &policy, u64::MAX, &resources).unwrap();
            let columns: Vec<Column> = trial.quasi.iter().map(|(_, _, own)| own.column()).collect();
            let Ok(regrown) = trial.regrow(&policy, &columns) else { continue };
            let publication = trial.published(&policy, &columns);
            // Where m = 0, what was refused above groups tells more.
            let cuts = if m == 0 { ReplayedCuts::AboveGroups } else { ReplayedCuts::OfGroups };
            let families = regrown.families(cuts);
            above += families.iter().filter(|family| family.cut.is_some()).count();
            let plan = plan(&policy, &columns, Lookahead::new(&*regrown.untouched, trial.people));
            let mut replays = vec![];
            for family in &families {
                let leaves = &regrown.leaves[family.leaves.clone()];
                let ages = |leaf: &OpenNode| {
                    let rows = trial.rows_of(&columns, &regrown, leaf.rows.clone()).unwrap();
                    (0..rows.len()).map(|row| rows.columns[0].get(row)).collect::<Vec<u16>>()
                };
                let ages: Vec<u16> = leaves.iter().flat_map(ages).collect();
                replays.push((ages, trial.rearranged(&regrown, plan, family).unwrap()));
            }
            for by_age in reconstructions(&publication) {
                let stays = replays.iter_mut().all(|(ages, replay)| {
                    let values: Vec<u16> = ages.iter().map(|age| by_age[age]).collect();
                    replay.stays_possible(&values)
                });
                let other = trial.with_values(&by_age);
                let same = other.published(&policy, &columns) == publication;
                assert!(stays || !same, "round {round}: a possible table is ruled out");
                (possible, left, ruled_out) =
                    (possible + u64::from(same), left + u64::from(stays), ruled_out + u64::from(!stays));
            }
        }
        assert!(above > 10, "{above}");
        assert!(possible > 1_000 && left > possible && ruled_out > 20, "{possible} {left} {ruled_out}");
    }
}
