//! Which groups take in the people whom no group could hold?
//!
//! Whoever counts the table subtracts what is published, so people who are left out must pass as a group; then they can be
//! published in one. In a large group posteriors are near priors, and lower for a value of which the group holds fewer than it
//! expects. So those who are left and whom one value exposes most form a pool, and others join it who lack the value and might
//! well have it, from whatever group they are in: the more alike the people of a pool, the more one of them helps. Where
//! nobody helps any more, those go who are exposed most. A pool that can be proved is cut into groups as small as can be proved;
//! then comes the next. The groups from which people were taken are dissolved, and those who remain of them are grouped again.
//!
//! Memory: the signatures of everybody, twice, and 16 B per person.

use super::art::group_part;
use super::larger::{LargerGroups, sort_by_widest};
use crate::error::Result;
use crate::math::exact::f64_at_least;
use crate::math::robust::{LargestPosterior, Priors, Requirement, Test, TiltedGroup, Tuples, exposed};

/// How far below 1/r expected posteriors stay, as a share of it; more if that cannot be proved.
const MARGINS: [f64; 5] = [0.01, 0.02, 0.04, 0.08, 0.16];
/// The most people for whom a pool is made, and how many may be in it for each of these.
const HIDDEN_AT_ONCE: usize = 1000;
const IN_POOL: usize = 5;
/// Changes of a pool for one margin.
const CHANGES: usize = 400;
/// The values for which others join a pool at once.
const VALUES_AT_ONCE: usize = 3;
/// Groups of fewer people than this times the smallest group are not cut.
const SMALLEST: u64 = 16;

/// People who are left, and groups that may be dissolved to take them in.
pub(super) struct Mixing<'a> {
    pub(super) priors: &'a Priors,
    pub(super) requirement: &'a Requirement,
    pub(super) test: Test,
    /// First the people who are left, then those of the groups.
    pub(super) tuples: Tuples<'a>,
    /// How many are left.
    pub(super) left: usize,
    /// The people of each group that may be dissolved.
    pub(super) groups: &'a [Vec<u32>],
    /// Fails if the run was interrupted.
    pub(super) go_on: &'a dyn Fn() -> Result<()>,
}

/// What became of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Mixed {
    /// New groups.
    pub(super) groups: Vec<Vec<u32>>,
    /// The groups that were dissolved, by number, ascending.
    pub(super) dissolved: Vec<usize>,
    /// The people who are left out, ascending.
    pub(super) left: Vec<u32>,
}

/// Who is in a pool.
struct Pool<'a> {
    members: Vec<bool>,
    many: usize,
    /// Whether somebody may join: nobody who is in another pool or was sent away.
    may_join: Vec<bool>,
    expected: &'a mut TiltedGroup,
}

/// Somebody whose posterior is too large.
type Exposed = (u32, LargestPosterior);

impl Mixing<'_> {
    /// Takes in as many people as possible; nothing is changed if that does not help.
    pub(super) fn mix(&self) -> Result<Mixed> {
        let nothing = Mixed { left: (0..self.left as u32).collect(), ..Mixed::default() };
        let mut free = vec![true; self.tuples.values.len()];
        let mut expected = TiltedGroup::new(self.priors);
        let by_prior = |person: u32| (person, expected.largest_prior(self.signatures(person)));
        let mut waiting: Vec<Exposed> = (0..self.left as u32).map(by_prior).collect();
        most_exposed_first(&mut waiting);
        let mut groups = Vec::new();
        while let Some(&(_, LargestPosterior { value, .. })) = waiting.first() {
            let mut hidden: Vec<u32> = Vec::new();
            // Some have already joined a pool that was made for others.
            waiting.retain(|(person, _)| free[*person as usize]);
            waiting.retain(|(person, most)| {
                let now = most.value == value && hidden.len() < HIDDEN_AT_ONCE;
                hidden.extend(now.then_some(*person));
                !now
            });
            if hidden.is_empty() {
                continue;
            }
            let members = self.pool(&hidden, &free, &mut expected)?;
            members.iter().for_each(|&person| free[person as usize] = false);
            if !members.is_empty() {
                self.cut(members, &mut groups)?;
            }
        }
        let found = self.regroup(groups, &free)?;
        Ok(if found.left.len() < self.left { found } else { nothing })
    }

    /// A group that hides as many of these people as possible, together with others who are free; empty if there is none.
    fn pool(&self, hidden: &[u32], free: &[bool], expected: &mut TiltedGroup) -> Result<Vec<u32>> {
        expected.clear();
        let members = vec![false; free.len()];
        let mut pool = Pool { members, many: 0, may_join: free.to_vec(), expected };
        hidden.iter().for_each(|&person| self.enter(&mut pool, person));
        for margin in MARGINS {
            self.thin_out(&mut pool, IN_POOL * hidden.len(), margin)?;
            let members = pool.people();
            let hides = members.iter().any(|&person| (person as usize) < self.left);
            if !hides || !self.requirement.admits(members.iter().map(|&person| self.value(person))) {
                return Ok(Vec::new());
            }
            (self.go_on)()?;
            if !exposed(self.priors, self.requirement, self.tuples, &members).contains(&true) {
                return Ok(members);
            }
        }
        Ok(Vec::new())
    }

    /// Groups those again who remain of the groups from which people were taken.
    fn regroup(&self, groups: Vec<Vec<u32>>, free: &[bool]) -> Result<Mixed> {
        let is_free = |person: &u32| free[*person as usize];
        let touched = |number: &usize| !self.groups[*number].iter().all(is_free);
        let dissolved: Vec<usize> = (0..self.groups.len()).filter(touched).collect();
        let mut remaining: Vec<u32> =
            dissolved.iter().flat_map(|&number| &self.groups[number]).copied().filter(is_free).collect();
        remaining.sort_unstable();
        let (values, signatures) = self.of_people(&remaining);
        let signatures: Vec<&[u32]> = signatures.iter().map(Vec::as_slice).collect();
        let tuples = Tuples { values: &values, signatures: &signatures };
        let mut found = group_part(self.priors, self.requirement, self.test, tuples)?;
        LargerGroups { priors: self.priors, requirement: self.requirement, tuples }.extend(&mut found);
        let people = |own: Vec<u32>| own.into_iter().map(|at| remaining[at as usize]).collect::<Vec<u32>>();
        let mut left: Vec<u32> = (0..self.left as u32).filter(is_free).collect();
        left.extend(people(found.suppressed));
        let groups = groups.into_iter().chain(found.groups.into_iter().map(people)).collect();
        Ok(Mixed { groups, dissolved, left })
    }

    fn signatures(&self, person: u32) -> impl Iterator<Item = u32> + '_ {
        self.tuples.signatures.iter().map(move |set| set[person as usize])
    }

    fn value(&self, person: u32) -> u32 {
        self.tuples.values[person as usize]
    }

    /// The values of these people, and their signatures in each attribute set.
    fn of_people(&self, people: &[u32]) -> (Vec<u32>, Vec<Vec<u32>>) {
        let of_set = |set: &&[u32]| people.iter().map(|&person| set[person as usize]).collect();
        (
            people.iter().map(|&person| self.value(person)).collect(),
            self.tuples.signatures.iter().map(of_set).collect(),
        )
    }

    fn enter(&self, pool: &mut Pool<'_>, person: u32) {
        if !std::mem::replace(&mut pool.members[person as usize], true) {
            pool.many += 1;
            pool.expected.add(self.signatures(person), self.value(person), 1.0);
        }
    }

    /// Takes somebody out of the pool for good.
    fn send_away(&self, pool: &mut Pool<'_>, person: u32) {
        pool.may_join[person as usize] = false;
        if std::mem::replace(&mut pool.members[person as usize], false) {
            pool.many -= 1;
            pool.expected.add(self.signatures(person), self.value(person), -1.0);
        }
    }

    /// Changes the pool until nobody in it is expected to be exposed.
    fn thin_out(&self, pool: &mut Pool<'_>, most: usize, margin: f64) -> Result<()> {
        let limit = (1.0 - margin) / f64_at_least(self.requirement.r());
        for _ in 0..CHANGES {
            (self.go_on)()?;
            pool.expected.settle();
            let largest = |person: u32| (person, pool.expected.largest(self.signatures(person)));
            // Only a guide: what is published is proved.
            let mut open: Vec<Exposed> = pool.people().into_iter().map(largest).collect();
            open.retain(|(_, largest)| largest.posterior > limit);
            if open.is_empty() {
                break;
            }
            if pool.many < most && self.let_join(pool, &open) {
                continue;
            }
            // Whoever has the value by which they are exposed raises the share of the others, too.
            let own = |(person, largest): &Exposed| self.value(*person) == largest.value;
            if open.iter().any(own) {
                open.retain(own);
            }
            most_exposed_first(&mut open);
            let many = open.len().div_ceil(8);
            open[..many].iter().for_each(|&(person, _)| self.send_away(pool, person));
        }
        Ok(())
    }

    /// Lets people join the pool who make the exposed values less likely; false if there are none.
    fn let_join(&self, pool: &mut Pool<'_>, open: &[Exposed]) -> bool {
        let mut by_value = vec![0usize; self.priors.values()];
        open.iter().for_each(|(_, largest)| by_value[largest.value as usize] += 1);
        let mut values: Vec<u32> =
            (0..).zip(&by_value).filter(|(_, many)| **many > 0).map(|(v, _)| v).collect();
        values.sort_by_key(|&value| (std::cmp::Reverse(by_value[value as usize]), value));
        let before = pool.many;
        for &value in values.iter().take(VALUES_AT_ONCE) {
            // How much each attribute set matters: by how many people it exposes.
            let mut weights = vec![0u32; self.priors.sets()];
            let exposed = open.iter().filter(|(_, largest)| largest.value == value);
            exposed.for_each(|(_, largest)| weights[largest.set] += 1);
            let weights: Vec<(usize, f64)> = (0..)
                .zip(weights)
                .filter(|own| own.1 > 0)
                .map(|(set, many)| (set, f64::from(many)))
                .collect();
            let likely = |person: u32| -> f64 {
                let prior = |set: usize| {
                    pool.expected.prior(set, self.tuples.signatures[set][person as usize], value)
                };
                weights.iter().map(|&(set, weight)| weight * prior(set)).sum()
            };
            let helps = |&person: &u32| {
                let at = person as usize;
                pool.may_join[at] && !pool.members[at] && self.value(person) != value
            };
            let mut helpers: Vec<(f64, u32)> = (0..pool.members.len() as u32)
                .filter(helps)
                .map(|person| (likely(person), person))
                .filter(|(likely, _)| *likely > 0.0)
                .collect();
            let many = by_value[value as usize].div_ceil(4).max(4);
            if helpers.len() > many {
                let most_likely = |one: &(f64, u32), other: &(f64, u32)| {
                    other.0.total_cmp(&one.0).then(one.1.cmp(&other.1))
                };
                helpers.select_nth_unstable_by(many, most_likely);
                helpers.truncate(many);
            }
            helpers.into_iter().for_each(|(_, person)| self.enter(pool, person));
        }
        pool.many > before
    }

    /// Cuts a group that passes in two for as long as both parts pass: similar people together if possible, otherwise so
    /// that the parts are alike.
    fn cut(&self, members: Vec<u32>, groups: &mut Vec<Vec<u32>>) -> Result<()> {
        let mut open = vec![members];
        while let Some(mut members) = open.pop() {
            (self.go_on)()?;
            let enough = self.requirement.smallest_group().max(2) * SMALLEST;
            if (members.len() as u64) < 2 * enough {
                groups.push(members);
                continue;
            }
            sort_by_widest(self.priors, self.tuples, &mut members);
            let (below, from) = members.split_at(members.len() / 2);
            let similar = [below.to_vec(), from.to_vec()];
            if similar.iter().all(|part| self.passes(part)) {
                open.extend(similar);
                continue;
            }
            // In the order of their values, and inside of these of what varies most.
            let mut order = members.clone();
            order.sort_by_key(|&person| self.value(person));
            let every_other = |from: usize| order.iter().copied().skip(from).step_by(2).collect::<Vec<u32>>();
            let alike = [every_other(0), every_other(1)];
            match alike.iter().all(|part| self.passes(part)) {
                true => open.extend(alike),
                false => groups.push(members),
            }
        }
        groups.iter_mut().for_each(|group| group.sort_unstable());
        Ok(())
    }

    /// Whether these people pass as a group: by expectation first, then by proof.
    fn passes(&self, members: &[u32]) -> bool {
        let (values, signatures) = self.of_people(members);
        let signatures: Vec<&[u32]> = signatures.iter().map(Vec::as_slice).collect();
        let (priors, signatures) = self.priors.of_tuples(&signatures);
        let own = |at: usize| signatures.iter().map(move |set| set[at]);
        let mut expected = TiltedGroup::new(&priors);
        values.iter().enumerate().for_each(|(at, &value)| expected.add(own(at), value, 1.0));
        expected.settle();
        let limit = 1.0 / f64_at_least(self.requirement.r());
        self.requirement.admits(values.iter().copied())
            && (0..members.len()).all(|at| expected.largest(own(at)).posterior <= limit)
            && !exposed(self.priors, self.requirement, self.tuples, members).contains(&true)
    }
}

fn most_exposed_first(people: &mut [Exposed]) {
    people.sort_by(|(one, by_one), (other, by_other)| {
        by_other.posterior.total_cmp(&by_one.posterior).then(one.cmp(other))
    });
}

impl Pool<'_> {
    fn people(&self) -> Vec<u32> {
        (0..).zip(&self.members).filter(|(_, member)| **member).map(|(person, _)| person).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::similar::group;
    use crate::math::exact::ratio;
    use crate::math::robust::tests::{requirement, tables};
    use crate::math::robust::{PriorsBuilder, RobustVerdict, Test, verify};
    use proptest::prelude::*;

    fn mixed(
        priors: &Priors,
        requirement: &Requirement,
        tuples: Tuples<'_>,
        left: usize,
        groups: &[Vec<u32>],
    ) -> Mixed {
        let test = Test::Ratio;
        Mixing { priors, requirement, test, tuples, left, groups, go_on: &|| Ok(()) }.mix().unwrap()
    }

    /// Everybody is in one group that passes, or left out.
    fn expect_whole(
        priors: &Priors,
        requirement: &Requirement,
        tuples: Tuples<'_>,
        left: usize,
        groups: &[Vec<u32>],
    ) {
        let found = mixed(priors, requirement, tuples, left, groups);
        let verified = verify(priors, requirement, tuples, &found.groups, 1 << 12).unwrap();
        assert!(verified.iter().all(|own| matches!(own.verdict, RobustVerdict::Robust(_))));
        let kept = (0..groups.len()).filter(|number| !found.dissolved.contains(number));
        let mut all: Vec<u32> = kept.flat_map(|number| groups[number].clone()).collect();
        all.extend(found.groups.concat());
        all.extend(&found.left);
        all.sort_unstable();
        assert!(all.into_iter().eq(0..tuples.values.len() as u32));
    }

    #[test]
    fn groups_that_lack_the_value_of_the_exposed_take_them_in() {
        // Of 300 people of the first kind nearly all have value 0; 3,000 of the second kind have any of four values.
        let mut builder = PriorsBuilder::new(4);
        let second = (0..4).map(|value| (1, value, 750));
        builder
            .estimated(
                2,
                [(0, 0, 210), (0, 1, 30), (0, 2, 30), (0, 3, 30)].into_iter().chain(second).collect(),
            )
            .unwrap();
        let priors = builder.build();
        let mut values = vec![0; 300];
        let mut signatures = vec![0; 300];
        let mut groups = Vec::new();
        for number in 0..1000u32 {
            let first = values.len() as u32;
            let own: &[u32] = if number % 2 == 0 { &[1, 2, 3] } else { &[0, 1, 2] };
            values.extend(own);
            signatures.extend([1, 1, 1]);
            groups.push((first..first + 3).collect::<Vec<u32>>());
        }
        let signatures = [&signatures[..]];
        let tuples = Tuples { values: &values, signatures: &signatures };
        let requirement = requirement(&ratio(2, 1));
        let found = mixed(&priors, &requirement, tuples, 300, &groups);
        assert!(found.left.is_empty(), "{} of 300 are left", found.left.len());
        assert!(found.dissolved.iter().all(|number| number % 2 == 0), "value 0 helps nobody");
        assert!(
            found.dissolved.len() < 500 && found.groups.len() > 1,
            "{} {}",
            found.dissolved.len(),
            found.groups.len()
        );
        expect_whole(&priors, &requirement, tuples, 300, &groups);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

        #[test]
        fn everybody_is_in_a_group_that_passes_or_left_out((table, r) in tables()) {
            let requirement = requirement(&r);
            let signatures: Vec<&[u32]> = table.signatures.iter().map(Vec::as_slice).collect();
            let tuples = Tuples { values: &table.values, signatures: &signatures };
            let Ok(found) = group(&table.priors, &requirement, Test::Ratio, tuples) else { return Ok(()) };
            // People who are left come first.
            let order: Vec<u32> = found.suppressed.iter().chain(found.groups.iter().flatten()).copied().collect();
            let values: Vec<u32> = order.iter().map(|&own| table.values[own as usize]).collect();
            let signatures: Vec<Vec<u32>> =
                table.signatures.iter().map(|set| order.iter().map(|&own| set[own as usize]).collect()).collect();
            let signatures: Vec<&[u32]> = signatures.iter().map(Vec::as_slice).collect();
            let mut next = found.suppressed.len() as u32;
            let groups: Vec<Vec<u32>> = found.groups.iter().map(|own| {
                next += own.len() as u32;
                (next - own.len() as u32..next).collect()
            }).collect();
            let tuples = Tuples { values: &values, signatures: &signatures };
            expect_whole(&table.priors, &requirement, tuples, found.suppressed.len(), &groups);
        }
    }
}
