//! Who hides the people whose own value is likely?
//!
//! They need others beside them who lack the value and might well have it. The most exposed choose first, before these others
//! are used up: a group grows by the person who brings posteriors closest to at most 1/r, until an exact judgement finds it
//! robust. A group may hold a value several times.
//! Whoever finds no small group is left to the others ([`art`](super::art), [`mixing`](super::mixing)).
//!
//! Memory: 8 B x signatures x values, at most [`CELLS`] for each person; 16 B per class.
//! Work: for each step of a group all classes are compared with a bound, and [`COMPARED`] are computed.

use super::classes::{Classes, NOBODY};
use crate::error::Result;
use crate::math::exact::f64_at_least;
use crate::math::robust::{
    Excess, GuidedGroups, Priors, PublishedGroup, Requirement, RobustVerdict, Somebody, Tuples, assess,
};

/// How many of the classes that seem best are computed for each step.
const COMPARED: usize = 16;
/// How many more people than the fewest a group may have, and how many it may have in all.
const MORE: u64 = 5;
const MOST: u64 = 9;
/// A group that is this many times above 1/r when half of its people are there is given up.
const TOO_FAR: f64 = 1.4;
/// The most states of the posterior of such a group.
const STATES: u64 = 1 << MOST;
/// The most priors in full, for each person.
const CELLS: usize = 32;
/// The memory for them.
pub(super) const GUIDE_BYTES: u64 = 8 * CELLS as u64;
/// A group may be this much above 1/r by the guide and is still judged.
const NEAR: f64 = 1e-9;

/// The people of a part.
pub(super) struct ExposedFirst<'a> {
    pub(super) priors: &'a Priors,
    pub(super) requirement: &'a Requirement,
    pub(super) tuples: Tuples<'a>,
    /// Fails if the run was interrupted.
    pub(super) go_on: &'a dyn Fn() -> Result<()>,
}

/// The classes of a part, and how many people of each are in no group.
struct Choice<'a> {
    classes: Classes,
    free: Vec<u32>,
    guide: GuidedGroups,
    requirement: &'a Requirement,
    priors: &'a Priors,
    most: usize,
    limit: f64,
}

impl ExposedFirst<'_> {
    /// Groups of people who hide each other, by index, ascending.
    pub(super) fn groups(&self) -> Result<Vec<Vec<u32>>> {
        let most = (self.requirement.smallest_group() + MORE).min(MOST);
        let (priors, signatures) = self.priors.of_tuples(self.tuples.signatures);
        let too_many = GuidedGroups::cells(&priors) > CELLS * self.tuples.values.len();
        if too_many || most < self.requirement.smallest_group() + 2 {
            return Ok(Vec::new());
        }
        let signatures: Vec<&[u32]> = signatures.iter().map(Vec::as_slice).collect();
        let classes = Classes::new(&priors, &Tuples { values: self.tuples.values, signatures: &signatures });
        let limit = 1.0 / f64_at_least(self.requirement.r());
        let mut choice = Choice {
            free: (0..classes.len() as u32).map(|class| classes.many(class)).collect(),
            guide: GuidedGroups::new(&priors, limit),
            classes,
            requirement: self.requirement,
            priors: &priors,
            most: most as usize,
            limit,
        };
        let mut groups = Vec::new();
        for seed in choice.most_exposed_first() {
            while choice.free[seed as usize] > 0 {
                (self.go_on)()?;
                // Others of the class would find even fewer people.
                let Some(group) = choice.grow(seed)? else { break };
                groups.push(group);
            }
        }
        groups.iter_mut().for_each(|group| group.sort_unstable());
        Ok(groups)
    }
}

impl Choice<'_> {
    fn somebody(&self, class: u32) -> Somebody<'_> {
        Somebody { signatures: self.classes.signatures(class), value: self.classes.value(class) }
    }

    /// All classes, the most exposed first: those whose own value some distribution makes likeliest.
    fn most_exposed_first(&self) -> Vec<u32> {
        let own = |class: u32| (self.guide.own_prior(self.somebody(class)), class);
        let mut found: Vec<(f64, u32)> = (0..self.classes.len() as u32).map(own).collect();
        found.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        found.into_iter().map(|(_, class)| class).collect()
    }

    /// A robust group with somebody of this class; nobody is taken if there is none.
    fn grow(&mut self, seed: u32) -> Result<Option<Vec<u32>>> {
        let mut group = vec![seed];
        while group.len() < self.most {
            let Some((class, excess)) = self.next(&group) else { break };
            group.push(class);
            if excess.largest <= self.limit * (1.0 + NEAR) && self.is_robust(&group)? {
                return Ok(Some(group.into_iter().map(|class| self.take(class)).collect()));
            }
            if 2 * group.len() > self.most && excess.largest > TOO_FAR * self.limit {
                break;
            }
        }
        Ok(None)
    }

    /// The class that brings a group closest to what is required.
    fn next(&mut self, group: &[u32]) -> Option<(u32, Excess)> {
        let (classes, guide) = (&self.classes, &mut self.guide);
        let of = |class: u32| Somebody { signatures: classes.signatures(class), value: classes.value(class) };
        let mut members: Vec<Somebody<'_>> = group.iter().map(|&class| of(class)).collect();
        let newcomers = guide.newcomers(&members);
        let mut near: Vec<(f64, u32)> = Vec::with_capacity(COMPARED + 1);
        for class in 0..classes.len() as u32 {
            let used = group.iter().filter(|&&own| own == class).count() as u32;
            if self.free[class as usize] <= used {
                continue;
            }
            let most = if near.len() < COMPARED { f64::INFINITY } else { near[COMPARED - 1].0 };
            let excess = guide.joined(&newcomers, of(class), most);
            if excess < most {
                near.insert(near.partition_point(|other| other.0 <= excess), (excess, class));
                near.truncate(COMPARED);
            }
        }
        let mut best: Option<(u32, Excess)> = None;
        for (_, class) in near {
            members.push(of(class));
            let excess = guide.excess(&members);
            members.pop();
            if best.is_none_or(|(_, least)| excess.sum < least.sum) {
                best = Some((class, excess));
            }
        }
        best
    }

    /// Whether the posteriors of these people are certainly at most 1/r.
    fn is_robust(&self, group: &[u32]) -> Result<bool> {
        let mut held: Vec<u32> = group.iter().map(|&class| self.classes.value(class)).collect();
        if !self.requirement.admits(held.iter().copied()) {
            return Ok(false);
        }
        held.sort_unstable();
        let values: Vec<(u32, u32)> =
            held.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u32)).collect();
        let signatures: Vec<u32> =
            group.iter().flat_map(|&class| self.classes.signatures(class)).copied().collect();
        let published = PublishedGroup { signatures: &signatures, values: &values };
        let judged = assess(self.priors, self.requirement, published, STATES)?;
        Ok(matches!(judged.verdict, RobustVerdict::Robust(_)))
    }

    /// Takes the lowest index of a class.
    fn take(&mut self, class: u32) -> u32 {
        let person = self.classes.first(class);
        debug_assert_ne!(person, NOBODY);
        self.classes.take(class);
        self.free[class as usize] -= 1;
        person
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::math::exact::ratio;
    use crate::math::robust::tests::{requirement, tables};
    use crate::math::robust::{PriorsBuilder, verify};

    fn groups(priors: &Priors, requirement: &Requirement, tuples: Tuples<'_>) -> Vec<Vec<u32>> {
        ExposedFirst { priors, requirement, tuples, go_on: &|| Ok(()) }.groups().unwrap()
    }

    #[test]
    fn the_most_exposed_are_hidden_by_those_who_lack_their_value() {
        // Two in three of the first kind have value 0, one in three of the second kind: more than half of the first kind
        // cannot hide among themselves.
        let mut builder = PriorsBuilder::new(4);
        let first = [(0, 0, 60), (0, 1, 10), (0, 2, 10), (0, 3, 10)];
        let second = [(1, 0, 90), (1, 1, 60), (1, 2, 60), (1, 3, 60)];
        builder.estimated(2, first.into_iter().chain(second).collect()).unwrap();
        let priors = builder.build();
        let mut people: Vec<(u32, u32)> = Vec::new();
        for (signature, value, many) in first.into_iter().chain(second) {
            people.extend((0..many).map(|_| (signature, value)));
        }
        let (signatures, values): (Vec<u32>, Vec<u32>) = people.into_iter().unzip();
        let tuples = Tuples { values: &values, signatures: &[&signatures] };
        let requirement = requirement(&ratio(2, 1));
        let found = groups(&priors, &requirement, tuples);
        let hidden = found.iter().flatten().filter(|&&person| person < 60).count();
        assert_eq!(hidden, 60, "everybody of the first kind who has value 0");
        let verified = verify(&priors, &requirement, tuples, &found, 1 << 12).unwrap();
        assert!(verified.iter().all(|own| matches!(own.verdict, RobustVerdict::Robust(_))));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

        #[test]
        fn groups_are_robust_and_hold_everybody_at_most_once((table, r) in tables()) {
            let requirement = requirement(&r);
            let signatures: Vec<&[u32]> = table.signatures.iter().map(Vec::as_slice).collect();
            let tuples = Tuples { values: &table.values, signatures: &signatures };
            let found = groups(&table.priors, &requirement, tuples);
            let verified = verify(&table.priors, &requirement, tuples, &found, 1 << 12).unwrap();
            prop_assert!(verified.iter().all(|own| matches!(own.verdict, RobustVerdict::Robust(_))));
            let mut all = found.concat();
            all.sort_unstable();
            let many = all.len();
            all.dedup();
            prop_assert_eq!(all.len(), many);
        }
    }
}
