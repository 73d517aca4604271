//! Which tuples go together? ART, bottom-up and deterministic.
//!
//! The grouping equals the quadratic reference of SPEC 3.3 on every input (tests compare them); only the search is
//! faster. Memory: the classes and boxes of `nearest`, and about 100 B per tuple for finished groups.
//! Invariants: every finished group passed the test; every tuple is in exactly one group or suppressed.
//! A table that does not fit is cut by the caller into parts of similar tuples, each grouped by [`group_part`] with
//! the priors of the whole table: safe, because the test is per group, but the groups then differ from those of the
//! whole table, and each part suppresses its own left-overs.

use hashbrown::HashMap;

use super::conditions::Test;
use super::nearest::{Growing, Ungrouped};
use super::priors::Priors;
use super::ranges::{GroupPriors, Ranges};
use super::requirement::Requirement;
use super::spread::Spread;
use crate::error::{Error, Result};

/// The tuples to be grouped, by index.
#[derive(Debug, Clone, Copy)]
pub struct Tuples<'a> {
    /// The sensitive value of each tuple.
    pub values: &'a [u32],
    /// For each attribute set the signature of each tuple.
    pub signatures: &'a [&'a [u32]],
}

/// Groups of tuples, and those that fit nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grouping {
    /// The indices of each group, ascending; groups in the order in which they were finished.
    pub groups: Vec<Vec<u32>>,
    /// The indices of the tuples that must not be published, ascending.
    pub suppressed: Vec<u32>,
}

/// Groups a whole table; refuses one whose most frequent value is too frequent for r.
pub fn group(priors: &Priors, requirement: &Requirement, test: Test, tuples: Tuples<'_>) -> Result<Grouping> {
    check(priors, &tuples)?;
    let mut counts = vec![0u64; priors.values()];
    tuples.values.iter().for_each(|&value| counts[value as usize] += 1);
    requirement.check_feasible(&counts)?;
    group_part(priors, requirement, test, tuples)
}

/// Groups one part of a table, whatever its most frequent value; the whole table was checked for feasibility.
pub fn group_part(
    priors: &Priors,
    requirement: &Requirement,
    test: Test,
    tuples: Tuples<'_>,
) -> Result<Grouping> {
    check(priors, &tuples)?;
    let mut ungrouped = Ungrouped::new(priors, &tuples);
    let mut group = Growing { ranges: Ranges::new(priors), values: Vec::new(), signatures: Vec::new() };
    let mut finished: Vec<Finished> = Vec::new();
    let mut stuck: Vec<(u32, u32)> = Vec::new();
    while let Some(seed) = ungrouped.seed() {
        group.ranges.clear();
        group.values.clear();
        group.signatures.clear();
        let mut members: Vec<(u32, u32)> = Vec::new();
        let mut next = Some(seed);
        while let Some(class) = next {
            members.push((ungrouped.take(class), class));
            let classes = ungrouped.classes();
            group.ranges.add(priors, classes.signatures(class));
            group.values.push(classes.value(class));
            group.signatures.extend(classes.signatures(class));
            if group.values.len() as u64 >= requirement.smallest_group() {
                let compact = group.ranges.of_group(priors, &group.values, &group.signatures);
                if test.holds(requirement, priors, &compact) {
                    let tuples = members.drain(..).map(|(tuple, _)| tuple).collect();
                    finished.push(Finished { tuples, priors: compact });
                    break;
                }
            }
            next = ungrouped.nearest(&group);
        }
        stuck.append(&mut members);
    }
    stuck.sort_unstable();
    let mut shelter = Shelter::new(priors, requirement, test, finished);
    let mut suppressed = Vec::new();
    for (tuple, class) in stuck {
        let classes = ungrouped.classes();
        if !shelter.attach(tuple, class, classes.value(class), classes.signatures(class)) {
            suppressed.push(tuple);
        }
    }
    let groups = shelter.finished.into_iter().map(|mut group| {
        group.tuples.sort_unstable();
        group.tuples
    });
    Ok(Grouping { groups: groups.collect(), suppressed })
}

fn check(priors: &Priors, tuples: &Tuples<'_>) -> Result<()> {
    let count = tuples.values.len();
    let fits = priors.sets() > 0
        && tuples.signatures.len() == priors.sets()
        && u32::try_from(count).is_ok_and(|count| count < u32::MAX)
        && tuples.values.iter().all(|&value| (value as usize) < priors.values())
        && tuples.signatures.iter().enumerate().all(|(set, signatures)| {
            signatures.len() == count && signatures.iter().all(|&at| (at as usize) < priors.signatures(set))
        });
    if fits {
        return Ok(());
    }
    Err(Error::input(
        "the tuples do not match the distributions: a signature or value is unknown, or there is no attribute set",
        "give distributions for every signature of the table, and at least one attribute set",
    ))
}

struct Finished {
    tuples: Vec<u32>,
    priors: GroupPriors,
}

/// The finished groups, which may take in tuples of stuck ones.
struct Shelter<'a> {
    priors: &'a Priors,
    requirement: &'a Requirement,
    test: Test,
    finished: Vec<Finished>,
    /// Groups by one of their values, the one that the fewest groups have.
    by_rarest: Vec<Vec<u32>>,
    /// Every change of a group, in order.
    changed: Vec<u32>,
    /// For a class that fitted nowhere: how many changes there had been.
    hopeless: HashMap<u32, usize, foldhash::fast::FixedState>,
}

impl<'a> Shelter<'a> {
    fn new(priors: &'a Priors, requirement: &'a Requirement, test: Test, finished: Vec<Finished>) -> Self {
        let mut frequency = vec![0u32; priors.values()];
        for group in &finished {
            group.priors.values.iter().for_each(|&value| frequency[value as usize] += 1);
        }
        let mut by_rarest = vec![Vec::new(); priors.values()];
        for (number, group) in finished.iter().enumerate() {
            if let Some(&rarest) = group.priors.values.iter().min_by_key(|&&value| frequency[value as usize])
            {
                by_rarest[rarest as usize].push(number as u32);
            }
        }
        Shelter {
            priors,
            requirement,
            test,
            finished,
            by_rarest,
            changed: Vec::new(),
            hopeless: HashMap::default(),
        }
    }

    /// Adds the tuple to the group for which the test still holds and (spread, number) is smallest, if any.
    fn attach(&mut self, tuple: u32, class: u32, value: u32, signatures: &[u32]) -> bool {
        let possible = self.possible(signatures);
        let mut best: Option<(Spread, u32, GroupPriors)> = None;
        match self.hopeless.get(&class) {
            Some(&since) => {
                for at in since..self.changed.len() {
                    self.consider(self.changed[at], value, signatures, &possible, &mut best);
                }
            }
            None => {
                for (rarest, numbers) in self.by_rarest.iter().enumerate() {
                    if possible[rarest] {
                        for &number in numbers {
                            self.consider(number, value, signatures, &possible, &mut best);
                        }
                    }
                }
            }
        }
        match best {
            Some((_, number, priors)) => {
                self.finished[number as usize].priors = priors;
                self.finished[number as usize].tuples.push(tuple);
                self.changed.push(number);
                self.hopeless.remove(&class);
                true
            }
            None => {
                self.hopeless.insert(class, self.changed.len());
                false
            }
        }
    }

    /// The values that a group of the tuple may have: Delta and ratio fail where a prior is 0.
    fn possible(&self, signatures: &[u32]) -> Vec<bool> {
        let mut possible = vec![true; self.priors.values()];
        if matches!(self.test, Test::Delta | Test::Ratio) {
            for (set, &signature) in signatures.iter().enumerate() {
                let mut next = 0;
                for (value, _) in self.priors.row(set, signature) {
                    possible[next..value as usize].fill(false);
                    next = value as usize + 1;
                }
                possible[next..].fill(false);
            }
        }
        possible
    }

    fn consider(
        &self,
        number: u32,
        value: u32,
        signatures: &[u32],
        possible: &[bool],
        best: &mut Option<(Spread, u32, GroupPriors)>,
    ) {
        let group = &self.finished[number as usize].priors;
        if group.values.iter().any(|&other| other == value || !possible[other as usize]) {
            return;
        }
        let grown = group.with(self.priors, value, signatures);
        let spread = grown.spread(&self.priors.levels);
        let better = best.as_ref().is_none_or(|(least, at, _)| {
            self.priors.levels.order(&spread, least).then(number.cmp(at)).is_lt()
        });
        if better && self.test.holds(self.requirement, self.priors, &grown) {
            *best = Some((spread, number, grown));
        }
    }
}
