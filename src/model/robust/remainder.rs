//! Who is in the table that was counted, and not in the release?
//!
//! Distributions that are estimated from the table are counts, too: whoever has them subtracts what is published, and is left
//! with the people who are not. So these are judged like a group, and in a small table all groups together.
//!
//! Memory: 8 B per combination and value of the table, and the groups of a small table.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::KnownDistributions;
use super::census::Census;
use super::judge::{Robustness, assessed};
use crate::error::{Error, Result, Setting, number_of};
use crate::math::robust::{ArrangedGroup, Assessment, PublishedGroup, RobustVerdict, largest_share};
use crate::model::finding::Datum;

/// Tables of more people are never small enough to count all arrangements.
const MOST_PEOPLE: u64 = 100;

/// The people of the table that distributions were estimated from.
#[derive(Debug)]
pub(super) struct CountedPeople {
    sets: usize,
    /// The signatures of each combination, one per attribute set, in ascending order.
    signatures: Vec<u32>,
    /// The people of each combination, and with each value.
    people: Vec<u64>,
    values: Vec<u64>,
    /// The combinations, values and people of a small table whose counts are known as they are.
    small: Option<Vec<(u32, u32, u32)>>,
}

impl CountedPeople {
    /// The bytes of a combination, in addition to its signatures.
    pub(super) const BYTES: u64 = 16;

    /// `signatures` holds those of each combination, set by set.
    pub(super) fn new(census: &Census, signatures: &[Vec<u32>], support: u32) -> Self {
        let sets = signatures.len();
        let of = |at: usize| signatures.iter().map(move |set| set[at]);
        let mut order: Vec<u32> = (0..census.len() as u32).collect();
        order.sort_unstable_by(|&one, &other| of(one as usize).cmp(of(other as usize)));
        let weights = census.weights();
        let is_small = support == 0 && census.rows <= MOST_PEOPLE;
        let small = is_small.then(|| {
            let mut places = vec![0; order.len()];
            order.iter().zip(0..).for_each(|(&at, place)| places[at as usize] = place);
            census.classes.iter().map(|&(at, value, people)| (places[at as usize], value, people)).collect()
        });
        CountedPeople {
            sets,
            signatures: order.iter().flat_map(|&at| of(at as usize)).collect(),
            people: order.iter().map(|&at| weights[at as usize]).collect(),
            values: census.value_counts(),
            small,
        }
    }

    pub(super) fn is_small(&self) -> bool {
        self.small.is_some()
    }

    fn combination(&self, place: usize) -> &[u32] {
        &self.signatures[place * self.sets..][..self.sets]
    }

    /// The combination with these signatures.
    fn find(&self, signatures: &[u32]) -> Option<usize> {
        let (mut low, mut high) = (0, self.people.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.combination(middle).cmp(signatures) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Some(middle),
                Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// (signature, value, people) of one attribute set of a small table.
    fn of_set(&self, set: usize) -> Vec<(u32, u32, u32)> {
        let mut counts: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for &(place, value, people) in self.small.iter().flatten() {
            *counts.entry((self.combination(place as usize)[set], value)).or_default() += people;
        }
        counts.into_iter().map(|((signature, value), people)| (signature, value, people)).collect()
    }
}

/// The signatures of the people of a group, and its values.
type SmallGroup = (Vec<u32>, Vec<(u32, u32)>);

/// The people of a table who are in none of the groups seen so far.
pub struct Remainder<'a> {
    counted: &'a CountedPeople,
    people: Vec<u64>,
    values: Vec<u64>,
    strangers: u64,
    /// The groups of a small table.
    groups: Option<Vec<SmallGroup>>,
}

/// What is known about those who know the counts behind the distributions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByCounts {
    /// They give nobody's value more than 1/r.
    Robust,
    /// They give somebody's value more than 1/r.
    Breached,
    /// It is not computed: the table is large, or smoothed.
    Unknown,
}

/// What is known about the people who are not published, and about everybody once the counts are known.
#[derive(Debug, Clone, PartialEq)]
pub struct Subtracted {
    /// The people of the table.
    pub people: u64,
    /// How many people are not published.
    pub left_out: u64,
    /// Whether they are robust as a group.
    pub as_group: Option<Assessment>,
    /// What the counts give away.
    pub by_counts: ByCounts,
}

impl Subtracted {
    fn passes(&self) -> bool {
        let robust = |own: &Assessment| matches!(own.verdict, RobustVerdict::Robust(_));
        self.as_group.as_ref().is_none_or(robust)
    }

    /// For the owner, in a line each.
    pub(super) fn in_words(&self) -> impl Iterator<Item = String> {
        let people = number_of(self.left_out, "person is", "people are");
        let left_out = match (self.left_out, self.passes()) {
            (0, _) => None,
            (_, true) => Some(format!("{people} left out, and would be robust as a group")),
            (_, false) => Some(format!(
                "{people} left out, whose values follow from the counts behind the distributions and what is published"
            )),
        };
        let by_counts = match self.by_counts {
            ByCounts::Unknown => None,
            ByCounts::Robust => {
                Some("the counts behind the distributions give nobody more than 1/r, in all arrangements")
            }
            ByCounts::Breached => Some("the counts behind the distributions give somebody more than 1/r"),
        };
        left_out.into_iter().chain(by_counts.map(str::to_string))
    }

    /// For machines.
    pub(super) fn fields(&self) -> [(&'static str, Datum); 3] {
        let by_counts = match self.by_counts {
            ByCounts::Robust => "robust",
            ByCounts::Breached => "above",
            ByCounts::Unknown => "not computed",
        };
        [
            ("left_out", self.left_out.into()),
            ("left_out_as_group", self.passes().into()),
            ("by_counts", Datum::Text(by_counts.to_string())),
        ]
    }
}

impl<'a> Remainder<'a> {
    /// Everybody, if the distributions were estimated from a table.
    pub fn of(known: &'a KnownDistributions) -> Option<Self> {
        let counted = known.counted.as_ref()?;
        let (people, values) = (counted.people.clone(), counted.values.clone());
        let groups = counted.small.as_ref().map(|_| Vec::new());
        Some(Remainder { counted, people, values, strangers: 0, groups })
    }

    /// Takes a published group out.
    pub fn subtract(&mut self, signatures: &[u32], values: &[(u32, u32)]) {
        for person in signatures.chunks_exact(self.counted.sets) {
            match self.counted.find(person).filter(|&place| self.people[place] > 0) {
                Some(place) => self.people[place] -= 1,
                None => self.strangers += 1,
            }
        }
        for &(value, count) in values {
            match self.values[value as usize].checked_sub(u64::from(count)) {
                Some(left) => self.values[value as usize] = left,
                None => self.strangers += 1,
            }
        }
        if let Some(groups) = &mut self.groups {
            groups.push((signatures.to_vec(), values.to_vec()));
        }
    }

    /// Judges those who are left; fails if there are others in the release than in the table.
    pub fn judged(mut self, known: &KnownDistributions, robustness: &Robustness) -> Result<Subtracted> {
        let (left_out, values): (u64, u64) = (self.people.iter().sum(), self.values.iter().sum());
        if self.strangers > 0 || left_out != values {
            return Err(Error::missing(
                "people or values of the release are not in the original table",
                "give the table that the release was made from",
                Setting::Original,
            ));
        }
        let mut signatures = Vec::new();
        for (place, &people) in self.people.iter().enumerate() {
            (0..people).for_each(|_| signatures.extend_from_slice(self.counted.combination(place)));
        }
        let many = |_| Error::input("more than 4,294,967,295 people are left out", "give the table in parts");
        let mut values = Vec::new();
        for (value, &left) in (0u32..).zip(&self.values).filter(|(_, left)| **left > 0) {
            values.push((value, u32::try_from(left).map_err(many)?));
        }
        let as_group = match left_out {
            0 => None,
            _ => {
                let group = PublishedGroup { signatures: &signatures, values: &values };
                Some(assessed(known, &robustness.requirement, group)?)
            }
        };
        let groups = self.groups.take().map(|mut groups| {
            groups.extend((left_out > 0).then_some((signatures, values)));
            groups
        });
        let people = self.counted.people.iter().sum();
        Ok(Subtracted { people, left_out, as_group, by_counts: self.by_counts(groups, known, robustness) })
    }

    fn by_counts(
        &self,
        groups: Option<Vec<SmallGroup>>,
        known: &KnownDistributions,
        robustness: &Robustness,
    ) -> ByCounts {
        let Some(groups) = groups else { return ByCounts::Unknown };
        let sets = known.priors().sets();
        for set in 0..sets {
            let group = |(signatures, values): &SmallGroup| {
                let mut signatures: Vec<u32> =
                    signatures.chunks_exact(sets).map(|person| person[set]).collect();
                signatures.sort_unstable();
                ArrangedGroup { signatures, values: values.clone() }
            };
            let groups: Vec<ArrangedGroup> = groups.iter().map(group).collect();
            match largest_share(&groups, &self.counted.of_set(set)) {
                Some(share) if share <= *robustness.requirement.threshold() => {}
                Some(_) => return ByCounts::Breached,
                None => return ByCounts::Unknown,
            }
        }
        ByCounts::Robust
    }
}
