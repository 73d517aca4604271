//! Which groups take in the people whom no group could hold?
//!
//! Whoever counts the table subtracts what is published, so people who are left out must pass as a group; then they can be
//! published in one. In a large group posteriors are near priors, and lower for a value of which the group holds fewer than it
//! expects. So the people who are left form a pool, which dissolved groups join as long as somebody would be exposed: groups
//! without the value by which most are, and whose people could well have it. Where no group helps, those go who are exposed
//! most: dissolved groups become groups again, the others are left out. In the end the pool is cut into groups as small as
//! can be proved.
//!
//! Memory: the signatures of the pool and of the groups that may join it, twice; 8 B x groups x values.

use super::larger::sort_by_widest;
use crate::error::Result;
use crate::math::exact::f64_at_least;
use crate::math::robust::{Priors, Requirement, TiltedGroup, Tuples, exposed};

/// How far below 1/r expected posteriors stay, as a share of it; more if that cannot be proved.
const MARGINS: [f64; 4] = [0.01, 0.03, 0.08, 0.16];
/// Changes of the pool for one margin.
const CHANGES: usize = 400;
/// Groups of fewer people than this times the smallest group are not cut.
const SMALLEST: u64 = 16;

/// People who are left, and groups that may be dissolved to take them in.
pub(super) struct Mixing<'a> {
    pub(super) priors: &'a Priors,
    pub(super) requirement: &'a Requirement,
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

/// Who is in the pool.
struct Pool {
    members: Vec<bool>,
    /// Whether each group is in the pool, and whether it may still join.
    joined: Vec<bool>,
    may_join: Vec<bool>,
    /// By group and value, how likely the value is for the people of the group; below 0 if somebody has it.
    likely: Vec<f64>,
    expected: TiltedGroup,
}

/// Somebody whose expected posterior is too large: the person, the posterior, its value.
type Exposed = (u32, f64, u32);

impl Mixing<'_> {
    /// Takes in as many people as possible; everybody is left out if no group can be proved.
    pub(super) fn mix(&self) -> Result<Mixed> {
        let nothing = Mixed { left: (0..self.left as u32).collect(), ..Mixed::default() };
        if self.left == 0 {
            return Ok(nothing);
        }
        let group_of = self.groups_of_people();
        let mut pool = self.pool();
        let mut margins = MARGINS.into_iter();
        let mut margin = margins.next();
        while let Some(own) = margin {
            self.thin_out(&mut pool, &group_of, own)?;
            let members = pool.people();
            if !self.requirement.admits(members.iter().map(|&person| self.value(person))) {
                return Ok(nothing);
            }
            if !members.iter().any(|&person| (person as usize) < self.left) {
                return Ok(nothing);
            }
            (self.go_on)()?;
            let exposed = exposed(self.priors, self.requirement, self.tuples, &members);
            if !exposed.contains(&true) {
                let left = (0..self.left as u32).filter(|&person| !pool.members[person as usize]).collect();
                let dissolved = (0..self.groups.len()).filter(|&group| pool.joined[group]).collect();
                let mut groups = Vec::new();
                self.cut(members, &mut groups)?;
                return Ok(Mixed { groups, dissolved, left });
            }
            // The more people, the closer the proof.
            if !self.enlarge(&mut pool, 3 * members.len()) {
                margin = margins.next();
                for (&person, _) in members.iter().zip(&exposed).filter(|(_, exposed)| **exposed) {
                    self.send_away(&mut pool, &group_of, person);
                }
            }
        }
        Ok(nothing)
    }

    /// Lets groups of so many people join the pool, taken evenly from those that may; false if there are none.
    fn enlarge(&self, pool: &mut Pool, people: usize) -> bool {
        let free: Vec<usize> =
            (0..self.groups.len()).filter(|&own| pool.may_join[own] && !pool.joined[own]).collect();
        let all: usize = free.iter().map(|&group| self.groups[group].len()).sum();
        let step = (all / people.max(1)).max(1);
        free.iter().step_by(step).for_each(|&group| self.join(pool, group));
        !free.is_empty()
    }

    fn join(&self, pool: &mut Pool, group: usize) {
        pool.joined[group] = true;
        self.groups[group].iter().for_each(|&person| self.enter(pool, person));
    }

    fn signatures(&self, person: u32) -> impl Iterator<Item = u32> + '_ {
        self.tuples.signatures.iter().map(move |set| set[person as usize])
    }

    fn value(&self, person: u32) -> u32 {
        self.tuples.values[person as usize]
    }

    /// The group of everybody who is not left.
    fn groups_of_people(&self) -> Vec<usize> {
        let mut group_of = vec![usize::MAX; self.tuples.values.len()];
        for (number, group) in self.groups.iter().enumerate() {
            group.iter().for_each(|&person| group_of[person as usize] = number);
        }
        group_of
    }

    /// Everybody who is left.
    fn pool(&self) -> Pool {
        let mut pool = Pool {
            members: vec![false; self.tuples.values.len()],
            joined: vec![false; self.groups.len()],
            may_join: vec![true; self.groups.len()],
            likely: Vec::with_capacity(self.groups.len() * self.priors.values()),
            expected: TiltedGroup::new(self.priors),
        };
        for group in self.groups {
            for value in 0..self.priors.values() as u32 {
                let likely = |&person: &u32| pool.expected.prior(self.signatures(person), value);
                let has = group.iter().any(|&person| self.value(person) == value);
                let mean = group.iter().map(likely).sum::<f64>() / group.len() as f64;
                pool.likely.push(if has { -1.0 } else { mean });
            }
        }
        (0..self.left as u32).for_each(|person| self.enter(&mut pool, person));
        pool
    }

    fn enter(&self, pool: &mut Pool, person: u32) {
        if !std::mem::replace(&mut pool.members[person as usize], true) {
            pool.expected.add(self.signatures(person), self.value(person), 1.0);
        }
    }

    fn leave(&self, pool: &mut Pool, person: u32) {
        if std::mem::replace(&mut pool.members[person as usize], false) {
            pool.expected.add(self.signatures(person), self.value(person), -1.0);
        }
    }

    /// Leaves somebody out, or makes their dissolved group a group again.
    fn send_away(&self, pool: &mut Pool, group_of: &[usize], person: u32) {
        match self.groups.get(group_of[person as usize]) {
            None => self.leave(pool, person),
            Some(group) => {
                group.iter().for_each(|&own| self.leave(pool, own));
                pool.joined[group_of[person as usize]] = false;
                pool.may_join[group_of[person as usize]] = false;
            }
        }
    }

    /// Changes the pool until nobody in it is expected to be exposed.
    fn thin_out(&self, pool: &mut Pool, group_of: &[usize], margin: f64) -> Result<()> {
        let limit = (1.0 - margin) / f64_at_least(self.requirement.r());
        for _ in 0..CHANGES {
            (self.go_on)()?;
            pool.expected.settle();
            let mut open: Vec<Exposed> = Vec::new();
            for person in pool.people() {
                let (posterior, value) = pool.expected.largest(self.signatures(person));
                // Only a guide: what is published is proved.
                if posterior > limit {
                    open.push((person, posterior, value));
                }
            }
            if open.is_empty() {
                break;
            }
            if !self.dissolve(pool, &open) {
                // Whoever has the value by which they are exposed raises the share of the others, too.
                let own = |&(person, _, value): &Exposed| self.value(person) == value;
                if open.iter().any(own) {
                    open.retain(own);
                }
                open.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
                let many = open.len().div_ceil(8);
                open[..many].iter().for_each(|&(person, ..)| self.send_away(pool, group_of, person));
            }
        }
        Ok(())
    }

    /// Lets groups join the pool that make the exposed values less likely; false if there are none.
    fn dissolve(&self, pool: &mut Pool, open: &[Exposed]) -> bool {
        let mut by_value = vec![0usize; self.priors.values()];
        open.iter().for_each(|&(.., value)| by_value[value as usize] += 1);
        let mut values: Vec<u32> =
            (0..).zip(&by_value).filter(|(_, many)| **many > 0).map(|(v, _)| v).collect();
        values.sort_by_key(|&value| (std::cmp::Reverse(by_value[value as usize]), value));
        let mut dissolved = false;
        for value in values {
            let likely = |number: usize| pool.likely[number * self.priors.values() + value as usize];
            let helps =
                |&number: &usize| pool.may_join[number] && !pool.joined[number] && likely(number) >= 0.0;
            let mut near: Vec<(f64, usize)> =
                (0..self.groups.len()).filter(helps).map(|number| (likely(number), number)).collect();
            near.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
            for &(_, number) in near.iter().take(by_value[value as usize].div_ceil(4)) {
                self.join(pool, number);
                dissolved = true;
            }
        }
        dissolved
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
        let signatures: Vec<Vec<u32>> = self
            .tuples
            .signatures
            .iter()
            .map(|set| members.iter().map(|&person| set[person as usize]).collect())
            .collect();
        let signatures: Vec<&[u32]> = signatures.iter().map(Vec::as_slice).collect();
        let (priors, signatures) = self.priors.of_tuples(&signatures);
        let own = |at: usize| signatures.iter().map(move |set| set[at]);
        let mut expected = TiltedGroup::new(&priors);
        members.iter().enumerate().for_each(|(at, &person)| expected.add(own(at), self.value(person), 1.0));
        expected.settle();
        let limit = 1.0 / f64_at_least(self.requirement.r());
        self.requirement.admits(members.iter().map(|&person| self.value(person)))
            && (0..members.len()).all(|at| expected.largest(own(at)).0 <= limit)
            && !exposed(self.priors, self.requirement, self.tuples, members).contains(&true)
    }
}

impl Pool {
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
        Mixing { priors, requirement, tuples, left, groups, go_on: &|| Ok(()) }.mix().unwrap()
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
