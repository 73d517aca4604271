//! What do the distributions give away before anything is published?
//!
//! Two numbers for the owner, neither of which is published: how many people have a value that a distribution alone makes
//! likelier than 1/r, and how many must be left out whatever the groups are ([`unavoidable`]).
//!
//! Memory: 16 B per combination and value that occurs, and what one attribute set takes there; taken from the budget.

use std::sync::Arc;

use super::census::Census;
use super::{Bound, KnownDistributions};
use crate::error::Result;
use crate::math::exact::Rational;
use crate::math::robust::{CELLS, CountedSet, Requirement, Unavoidable, unavoidable};
use crate::resources::budget::Budget;

/// What the distributions give away about the people of a table.
#[derive(Debug, Clone)]
pub struct AlreadyKnown {
    /// 1/r.
    limit: Rational,
    /// The people of the table.
    pub people: u64,
    /// People with a value that a distribution makes likelier than 1/r.
    pub likelier: u64,
    /// The columns whose distribution does so for most people.
    pub columns: Vec<String>,
    /// People who must be left out whatever the groups are, at least.
    pub unavoidable: u64,
    /// The columns that give most of these away, and the value that they have.
    pub by: Option<(Vec<String>, String)>,
}

/// A table, and what is known about its people.
pub struct KnownPeople<'a> {
    /// The people, counted.
    pub census: &'a Census,
    /// The distributions.
    pub known: &'a KnownDistributions,
    /// The table in the numbers of the distributions.
    pub bound: &'a Bound,
    /// The memory budget.
    pub budget: &'a Arc<Budget>,
}

impl KnownPeople<'_> {
    /// What the distributions give away.
    pub fn already_known(&self, requirement: &Requirement) -> Result<AlreadyKnown> {
        let KnownPeople { census, known, bound, budget } = *self;
        let (priors, sets) = (known.priors(), known.priors().sets());
        let bytes = census.classes.len() as u64 * 16 + census.len() as u64 + 24 * CELLS as u64;
        let _room =
            budget.reserve("counting whom the distributions give away", bytes.min(budget.free() / 2))?;
        let weights = census.weights();
        let (mut likelier, mut by_set) = (vec![false; weights.len()], vec![0u64; sets]);
        let mut found: Vec<Unavoidable> = Vec::new();
        for (set, by_set) in by_set.iter_mut().enumerate() {
            let of = |at: usize| bound.signatures[at * sets + set];
            let above: Vec<bool> = (0..priors.signatures(set) as u32)
                .map(|own| priors.largest(set, own) > *requirement.threshold())
                .collect();
            for (at, weight) in weights.iter().enumerate().filter(|(at, _)| above[of(*at) as usize]) {
                likelier[at] = true;
                *by_set += weight;
            }
            if above.contains(&true) {
                let class = |&(at, value, rows): &(u32, u32, u32)| {
                    (of(at as usize), bound.values[value as usize], u64::from(rows))
                };
                let people: Vec<(u32, u32, u64)> = census.classes.iter().map(class).collect();
                found.extend(unavoidable(priors, requirement, &CountedSet { set, people: &people }));
            }
        }
        found.sort_by(|one, other| other.left_out.cmp(&one.left_out).then(one.set.cmp(&other.set)));
        let most = (0..sets).max_by_key(|&set| (by_set[set], std::cmp::Reverse(set)));
        let value = |own: &Unavoidable| known.value_texts()[own.value as usize].to_string();
        let chosen = likelier.iter().zip(&weights).filter(|(likelier, _)| **likelier);
        Ok(AlreadyKnown {
            limit: requirement.threshold().clone(),
            people: census.rows,
            likelier: chosen.map(|(_, weight)| weight).sum(),
            columns: most.map(|set| known.columns_of(set)).unwrap_or_default(),
            unavoidable: apart(&found, bound, sets, weights.len()),
            by: found.first().map(|own| (known.columns_of(own.set), value(own))),
        })
    }
}

impl AlreadyKnown {
    /// What the distributions give away, for the owner; nothing if they give nobody away.
    pub fn in_words(&self) -> Option<String> {
        let limit = &self.limit;
        let mut text = format!(
            "{} of {} people have a value that the distributions alone make more likely than {limit}, most of them by {}",
            self.likelier,
            self.people,
            in_words(&self.columns)
        );
        if let (Some((columns, value)), 1..) = (&self.by, self.unavoidable) {
            text.push_str(&format!(
                "; at least {} must be left out, whatever the groups: {} as good as says who has {value:?}",
                self.unavoidable,
                in_words(columns)
            ));
        }
        (self.likelier > 0).then_some(text)
    }
}

fn in_words(columns: &[String]) -> String {
    let names: Vec<String> = columns.iter().map(|name| format!("{name:?}")).collect();
    format!("{} {}", if names.len() == 1 { "column" } else { "columns" }, names.join(" and "))
}

/// How many people must be left out, adding up only what is about different people.
fn apart(found: &[Unavoidable], bound: &Bound, sets: usize, combinations: usize) -> u64 {
    let mut taken = vec![false; combinations];
    let mut left_out = 0;
    for own in found {
        let inside =
            |at: &usize| own.signatures.binary_search(&bound.signatures[at * sets + own.set]).is_ok();
        let people: Vec<usize> = (0..combinations).filter(inside).collect();
        if !people.iter().any(|at| taken[*at]) {
            people.into_iter().for_each(|at| taken[at] = true);
            left_out += own.left_out;
        }
    }
    left_out
}
