//! What do k implications disclose, and which people and values are they about?
//!
//! Memory: the minima of `Disclosure`, and for the at most 3K + 2 groups that
//! attain one the counts of their most frequent values, so that no second scan is needed to name them.
//! Invariant: what is kept depends on the groups alone, not on the order in which scans merge.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{Error, Result, number_of};
use crate::math::confidence::{Confidence, ThresholdVerdict};
use crate::math::exact::{Rational, decimal_at_least, f64_at_least};
use crate::math::implications::{Atoms, Bucket, DisclosureWitness, Scanner};
use crate::math::skyline::Ranking;
use crate::model::counted_group::CountedGroup;
use crate::model::finding::{
    Amount, Claim, ClaimSubject, ClaimVerdict, Datum, Limit, Measurement, Note, Side,
};
use crate::resources::byte_form::{ByteForm, ByteReader, write_count, write_items};

/// An adversary who knows implications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Implications {
    /// The number of implications they know; fewer are measured as well.
    pub up_to: usize,
    /// The maximum disclosure must be below this; `None` to only measure it.
    pub confidence: Option<Confidence>,
}

/// What k implications, and k negated atoms, disclose.
#[derive(Debug, Clone, PartialEq)]
pub struct DisclosurePoint {
    /// The number of implications or negated atoms that the adversary knows.
    pub k: usize,
    /// The maximum disclosure by k implications.
    pub disclosure: Rational,
    /// Implications that attain it.
    pub implications: Option<Statements>,
    /// The maximum disclosure by k negated atoms.
    pub negated: Rational,
    /// Negated atoms that attain it.
    pub negations: Option<Statements>,
}

/// The worst-case knowledge: what becomes likely, and what is known about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statements {
    /// What is disclosed.
    pub target: Atom,
    /// Each of these implies the target, or is known to be false. Fewer than k if fewer give certainty.
    pub known: Vec<Atom>,
}

impl Statements {
    /// The first atom is the target.
    fn from_atoms(atoms: Vec<Atom>) -> Option<Self> {
        let mut atoms = atoms.into_iter();
        Some(Statements { target: atoms.next()?, known: atoms.collect() })
    }
}

/// "This person has this value."
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Atom {
    /// The number of the person's group.
    pub group: u64,
    /// The people of the group.
    pub people: u64,
    /// Distinguishes the people of a group, from 1; since a group hides identities, it may be any of them.
    pub person: u64,
    /// The value as the table holds it.
    pub value: String,
    /// How often the value occurs in the group.
    pub count: u64,
}

/// Digits after the point of a risk in words.
const PLACES: usize = 6;

/// The disclosure of the groups observed.
pub struct ImplicationsJudge {
    required: Implications,
    ranking: Ranking,
    /// The last group, kept to reuse its memory.
    bucket: Bucket,
    scanner: Scanner,
    /// The groups that attain a minimum, and possibly some that no longer do.
    witnesses: BTreeMap<u64, Frequent>,
    /// Groups with more people than exact arithmetic is proven for.
    overfull: u64,
}

/// What is kept of a group to name the values of a witness.
struct Frequent {
    people: u64,
    /// Every value, with its count, that can be among the K + 1 most frequent ones, however ties are broken.
    counts: Vec<(u32, u64)>,
}

impl ImplicationsJudge {
    /// Nothing observed yet.
    pub fn new(required: &Implications) -> Self {
        ImplicationsJudge {
            required: required.clone(),
            ranking: Ranking::default(),
            bucket: Bucket::default(),
            scanner: Scanner::new(required.up_to),
            witnesses: BTreeMap::new(),
            overfull: 0,
        }
    }

    /// Adds a group.
    pub fn observe(&mut self, group: &CountedGroup, number: u64) {
        let ranked = self.ranking.rank(group.people, group.counts().map(|(_, count)| count));
        let people = ranked.most_with(u64::MAX);
        if !self.bucket.refill(people, ranked.counts(), self.required.up_to) {
            self.overfull += 1;
            return;
        }
        self.scanner.observe(&self.bucket, number);
        if self.scanner.disclosure().attains(number) {
            self.witnesses.insert(number, Frequent::of(group, self.required.up_to + 1));
            if self.witnesses.len() > 2 * self.most_witnesses() {
                self.forget();
            }
        }
    }

    /// Adds what another scan observed.
    pub fn merge(&mut self, other: ImplicationsJudge) {
        self.scanner.merge(&other.scanner);
        self.witnesses.extend(other.witnesses);
        self.overfull += other.overfull;
        self.forget();
    }

    /// Appends the evidence: the groups that attain a minimum.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        self.overfull.write(bytes);
        let attaining = self.scanner.disclosure().attaining();
        write_count(attaining.len(), bytes);
        for (position, bucket) in attaining {
            (position, bucket.people()).write(bytes);
            write_items(bucket.top().iter(), bytes);
        }
        write_count(self.witnesses.len(), bytes);
        for (number, group) in &self.witnesses {
            (*number, group.people).write(bytes);
            group.counts.write(bytes);
        }
    }

    /// Reads the evidence of a judge with the same requirement; `codes` are those of its values here.
    pub fn read(required: &Implications, codes: &[u32], bytes: &mut ByteReader<'_>) -> Option<Self> {
        let mut judge = ImplicationsJudge::new(required);
        judge.overfull = u64::read(bytes)?;
        for ((position, people), top) in Vec::<((u64, u64), Vec<u64>)>::read(bytes)? {
            let fits = top.len() <= required.up_to.saturating_add(1);
            judge.scanner.observe(&Bucket::of_top(people, top).filter(|_| fits)?, position);
        }
        for ((number, people), mut counts) in Vec::<((u64, u64), Vec<(u32, u64)>)>::read(bytes)? {
            for (code, _) in &mut counts {
                *code = *codes.get(*code as usize)?;
            }
            judge.witnesses.insert(number, Frequent { people, counts });
        }
        Some(judge)
    }

    fn most_witnesses(&self) -> usize {
        3 * self.required.up_to + 2
    }

    /// Drops the groups that no longer attain a minimum.
    fn forget(&mut self) {
        let positions = self.scanner.disclosure().positions();
        self.witnesses.retain(|number, _| positions.contains(number));
    }

    /// Bytes of evidence.
    pub fn bytes(&self) -> u64 {
        let counts: usize = self.witnesses.values().map(|group| group.counts.capacity()).sum();
        let levels = self.most_witnesses() * (self.required.up_to + 8) * 32;
        (counts * size_of::<(u32, u64)>() + levels) as u64
    }

    /// The disclosure by 0, 1, ... implications, with the names of the values.
    pub fn curve(&self, names: &[Arc<str>], column: &str) -> Result<Vec<DisclosurePoint>> {
        if self.overfull > 0 {
            return Err(Error::input(
                format!(
                    "column `{column}`: in {} there are more people than can be counted exactly",
                    number_of(self.overfull, "group", "groups")
                ),
                "check the counts of the table; a group must have fewer than 2^53 people",
            ));
        }
        let ranked: BTreeMap<u64, Ranked<'_>> =
            self.witnesses.iter().map(|(&number, group)| (number, group.ranked(number, names))).collect();
        let points = self.scanner.disclosure().curve().into_iter().map(|point| DisclosurePoint {
            k: point.k,
            implications: implied(&ranked, &point.witness),
            disclosure: point.disclosure,
            negations: negated(&ranked, point.negated_position, point.k),
            negated: point.negated,
        });
        Ok(points.collect())
    }

    /// The findings; there is no claim if the disclosure is only measured.
    pub fn finish(&self, names: &[Arc<str>], column: &str) -> Result<(Vec<Claim>, Vec<Note>)> {
        let curve = self.curve(names, column)?;
        let (Some(last), Some(confidence)) = (curve.last(), &self.required.confidence) else {
            return Ok((Vec::new(), Vec::new()));
        };
        let step = |point: &DisclosurePoint| {
            Datum::fields([
                ("k", Datum::Count(point.k as u64)),
                ("disclosure", f64_at_least(&point.disclosure).into()),
                ("disclosure_exact", Datum::Fraction(point.disclosure.clone())),
            ])
        };
        let claim = Claim {
            subject: ClaimSubject::Everybody,
            knows: vec![("implications", Datum::Count(last.k as u64))],
            measured: Measurement { name: "disclosure", amount: Amount::Exact(last.disclosure.clone()) },
            limit: Limit { name: "confidence", side: Side::Below, value: confidence.value().clone() },
            group: None,
            verdict: ClaimVerdict::from(
                self.scanner.disclosure().verdict(confidence) == ThresholdVerdict::Safe,
            ),
            counts: Vec::new(),
            evidence: vec![("curve", Datum::list(curve.iter().map(step)))],
        };
        let note = format!(
            "{} can disclose {}, less than {} is required",
            number_of(last.k as u64, "implication", "implications"),
            decimal_at_least(&last.disclosure, PLACES),
            confidence.value()
        );
        Ok((vec![claim], vec![Note::Summary(note)]))
    }
}

impl Frequent {
    fn of(group: &CountedGroup, most: usize) -> Self {
        let mut sorted: Vec<u64> = group.counts().map(|(_, count)| count).collect();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        let least = sorted.get(most - 1).copied().unwrap_or(0);
        let counts = group.counts().filter(|&(_, count)| count >= least).collect();
        Frequent { people: group.people, counts }
    }

    /// Codes differ from run to run, but names do not, so names break ties.
    fn ranked<'a>(&self, number: u64, names: &'a [Arc<str>]) -> Ranked<'a> {
        let name = |code: u32| names.get(code as usize).map_or("", |name| name);
        let mut values: Vec<(&str, u64)> =
            self.counts.iter().map(|&(code, count)| (name(code), count)).collect();
        values.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        Ranked { group: number, people: self.people, values }
    }
}

/// A group with its values, most frequent first.
struct Ranked<'a> {
    group: u64,
    people: u64,
    values: Vec<(&'a str, u64)>,
}

impl Ranked<'_> {
    /// Atoms about one person, who is given the most frequent values in turn.
    fn atoms(&self, person: usize, values: std::ops::Range<usize>) -> impl Iterator<Item = Atom> {
        let named = self.values.iter().skip(values.start).take(values.len());
        named.map(move |&(value, count)| Atom {
            group: self.group,
            people: self.people,
            person: person as u64 + 1,
            value: value.to_string(),
            count,
        })
    }
}

/// The atoms of a witness by name; the first one is implied by the others.
fn implied(ranked: &BTreeMap<u64, Ranked<'_>>, witness: &DisclosureWitness) -> Option<Statements> {
    let mut atoms = Vec::new();
    for Atoms { position, people } in [&witness.target].into_iter().chain(&witness.others) {
        let group = ranked.get(position)?;
        atoms.extend(people.iter().enumerate().flat_map(|(person, &values)| group.atoms(person, 0..values)));
    }
    Statements::from_atoms(atoms)
}

/// The most frequent value of the first person, and the next ones, which are negated.
fn negated(ranked: &BTreeMap<u64, Ranked<'_>>, position: u64, k: usize) -> Option<Statements> {
    Statements::from_atoms(ranked.get(&position)?.atoms(0, 0..k + 1).collect())
}
