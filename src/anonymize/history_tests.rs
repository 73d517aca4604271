//! Random histories of small releases against a naive model.
//!
//! All that was ever published is one publication, withdrawn groups included. The model reads it from the published files
//! alone, lists every way to give people their values that agrees with all of it, and tries all knowledge that a point
//! allows: nobody may become as sure as the point forbids.

use super::{Anonymize, Append, Appended, Erase, EraseMode, Outcome};
use crate::error::{Error, Result};
use crate::math::random::Random;
use crate::model::Policy;
use crate::policy::Leaving;
use crate::resources::faults::{Fault, arm};
use crate::resources::progress::Progress;
use crate::resources::spill::SpillForm;
use crate::table::read::{ReadOptions, Table};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const VALUES: usize = 4;

/// Everything is enumerated, so few people are ever published.
const MOST_PEOPLE: usize = 14;

const BATCH: usize = 4;

/// Histories for each case.
const SEEDS: u64 = 6;

/// A skyline point for the first value, and what some nights consist of.
struct Case {
    /// l, k, m.
    size: [usize; 3],
    /// The confidence, as a fraction.
    confidence: (u64, u64),
    /// How often each value occurs in a night whose people are all in one cell, so that it is one group.
    planted: &'static [[usize; VALUES]],
}

/// In the first two cases, the planted nights are safe alone and not together.
const CASES: [Case; 5] = [
    Case { size: [1, 0, 2], confidence: (2, 3), planted: &[[1, 5, 1, 0], [1, 1, 1, 1]] },
    Case { size: [1, 0, 1], confidence: (4, 7), planted: &[[1, 6, 1, 0], [1, 1, 1, 1]] },
    Case { size: [0, 1, 1], confidence: (2, 3), planted: &[] },
    Case { size: [0, 0, 2], confidence: (3, 4), planted: &[] },
    Case { size: [1, 1, 0], confidence: (4, 5), planted: &[] },
];

/// A person: number and sensitive value. The name is the place in the list of people.
type Person = (u64, usize);

/// A group as it was published at some time: who is in it, and how often each value occurs.
type Version = (BTreeSet<usize>, [usize; VALUES]);

struct History {
    case: &'static Case,
    place: tempfile::TempDir,
    policy: Policy,
    random: Random,
    /// Everybody who ever came.
    people: Vec<Person>,
    waiting: BTreeSet<usize>,
    /// Everybody who was ever published.
    published: BTreeSet<usize>,
    /// The members of each group that is there.
    members: BTreeMap<u64, BTreeSet<usize>>,
    /// All groups that were ever there.
    seen: BTreeSet<Version>,
    nights: usize,
    leaving: Leaving,
    /// Groups that were replaced.
    replaced: usize,
}

impl History {
    /// A first night; other people are drawn until one exists.
    fn new(case: &'static Case, seed: u64) -> Self {
        let Case { size: [l, k, m], confidence: (above, below), .. } = case;
        let (leaving, erase, accept) = match seed % 2 {
            0 => (Leaving::Withdraw, "withdraw", ""),
            _ => (Leaving::Replace, "replace", ", \"replaced groups\""),
        };
        let text = format!(
            "accept = [\"waited by values\"{accept}]\n[columns.sensitive.s]\nnot_sensitive = [\"b\", \"c\", \"d\"]\n\
             [columns.quasi.q]\ndomain = [0, 100]\n[publish]\nformat = \"csv\"\n\
             [[privacy.skyline]]\nfor = \"a\"\nl = {l}\nk = {k}\nm = {m}\nconfidence = \"{above}/{below}\"\n\
             [nights]\nperson = \"name\"\nbatch = {BATCH}\nerase = \"{erase}\"\n"
        );
        let mut history = History {
            case,
            place: tempfile::tempdir().unwrap(),
            policy: Policy::parse(&text, "policy.toml").unwrap(),
            random: Random::new(seed),
            people: Vec::new(),
            waiting: BTreeSet::new(),
            published: BTreeSet::new(),
            members: BTreeMap::new(),
            seen: BTreeSet::new(),
            nights: 1,
            leaving,
            replaced: 0,
        };
        loop {
            history.people.clear();
            let first = history.newcomers(8);
            let table = history.table(&first, None);
            let job = Anonymize {
                memory: 32 << 20,
                threads: 1,
                ..Anonymize::new(&table, &history.policy, history.release())
            };
            // Nobody, or people who are not safe even as one group.
            if let Ok(Outcome::Published(_)) = job.run(&Progress::default()) {
                history.published.extend(first.iter());
                history.record(&first);
                return history;
            }
        }
    }

    fn release(&self) -> PathBuf {
        self.place.path().join("release")
    }

    /// At most so many people who never came before.
    fn newcomers(&mut self, most: usize) -> BTreeSet<usize> {
        let start = self.people.len();
        let planted = self.case.planted;
        let planted = planted.get(self.random.below(2 * planted.len() as u64 + 1) as usize);
        match planted.filter(|counts| counts.iter().sum::<usize>() <= most) {
            Some(counts) => {
                let of_value = |value: usize| std::iter::repeat_n((50, value), counts[value]);
                self.people.extend((0..VALUES).flat_map(of_value));
            }
            None => {
                for _ in 0..self.random.between(0, most.min(6) as u64) {
                    let person = (self.random.below(100), self.random.below(VALUES as u64) as usize);
                    self.people.push(person);
                }
            }
        }
        (start..self.people.len()).collect()
    }

    /// A table of some people; one of them may have another value than before.
    fn table(&self, people: &BTreeSet<usize>, changed: Option<usize>) -> Table {
        let mut text = "name,q,s\n".to_string();
        for &name in people {
            let (q, value) = self.people[name];
            let value = (value + usize::from(changed == Some(name))) % VALUES;
            text.push_str(&format!("{name},{q},{}\n", ["a", "b", "c", "d"][value]));
        }
        let path = self.place.path().join("table.csv");
        std::fs::write(&path, text).unwrap();
        Table::open(&[path], &ReadOptions::default()).unwrap()
    }

    fn append(&self, people: &BTreeSet<usize>, changed: Option<usize>) -> Result<Appended> {
        let table = self.table(people, changed);
        let job =
            Append { memory: 32 << 20, threads: 1, ..Append::new(&table, &self.policy, self.release()) };
        job.run(&Progress::default())
    }

    fn erase(&self, people: &BTreeSet<usize>) -> Result<()> {
        let people = self.table(people, None);
        let job = Erase {
            people: &people,
            release: self.release(),
            key: None,
            mode: EraseMode::Withdraw,
            temp: self.place.path().to_path_buf(),
            spill: SpillForm::Encrypted,
            memory: 32 << 20,
            threads: 1,
        };
        job.run(&Progress::default()).map(drop)
    }

    /// Reads what is published; people of a new night are `newcomers`, found in their groups by the labels.
    fn record(&mut self, newcomers: &BTreeSet<usize>) {
        let mut groups: BTreeMap<u64, (String, [usize; VALUES])> = BTreeMap::new();
        for (path, bytes) in files(&self.release()) {
            let is_part = path.extension().is_some_and(|ending| ending == "csv");
            let text = String::from_utf8_lossy(&bytes).into_owned();
            for line in text.lines().skip(1).filter(|_| is_part) {
                let (number, rest) = line.split_once(',').unwrap();
                let (label, value) = rest.rsplit_once(',').unwrap();
                let value = ["a", "b", "c", "d"].iter().position(|own| *own == value).unwrap();
                let group = groups.entry(number.parse().unwrap()).or_default();
                group.0 = label.trim_matches('"').to_string();
                group.1[value] += 1;
            }
        }
        self.members.retain(|number, _| groups.contains_key(number));
        for (number, (label, counts)) in groups {
            let own = || newcomers.iter().copied().filter(|&name| is_in(&label, self.people[name].0));
            let members = self.members.entry(number).or_insert_with(|| own().collect()).clone();
            assert_eq!(members.len(), counts.iter().sum::<usize>(), "group {number} {label}");
            self.seen.insert((members, counts));
        }
    }

    /// A night of newcomers and of some people who were published before; the disk may fail once on the way.
    fn join(&mut self) {
        let room = MOST_PEOPLE.saturating_sub(self.published.len() + self.waiting.len());
        let joined = self.newcomers(room);
        let mut table = joined.clone();
        let known: Vec<usize> = self.published.union(&self.waiting).copied().collect();
        table.extend(known.into_iter().filter(|_| self.random.below(3) == 0));
        if table.is_empty() {
            return;
        }
        let before = files(&self.release());
        let fault = (self.random.below(3) == 0).then(|| {
            let fault = if self.random.below(2) == 0 { Fault::Once } else { Fault::PowerLoss };
            arm(self.place.path(), fault, self.random.between(1, 60))
        });
        let first = self.append(&table, None);
        if let Some(fault) = &fault {
            fault.lose_what_was_not_synced();
        }
        let tripped = fault.is_some_and(|fault| fault.tripped());
        // Whether or not the first attempt got through, the second one knows.
        let second = match first {
            Err(_) if tripped => self.append(&table, None),
            first => first,
        };
        let after = files(&self.release());
        assert!(before.iter().all(|(path, bytes)| after.get(path) == Some(bytes)), "published files stay");
        let nights = count_nights(&self.release());
        assert!(nights == self.nights || nights == self.nights + 1);
        let appended = second.unwrap();
        let mut waiting: BTreeSet<usize> = self.waiting.union(&joined).copied().collect();
        match nights > self.nights {
            true => {
                assert!(waiting.len() >= BATCH, "a night publishes by number");
                self.published.extend(&waiting);
                self.record(&std::mem::take(&mut waiting));
            }
            false => {
                assert_eq!(before.len(), after.len());
                assert!(!matches!(appended, Appended::Published { .. }));
                if let Appended::Waiting(told) = &appended {
                    assert_eq!(told.people, waiting.len() as u64);
                }
            }
        }
        (self.waiting, self.nights) = (waiting, nights);
    }

    /// Some people leave.
    fn leave(&mut self) {
        let known: Vec<usize> = self.published.union(&self.waiting).copied().collect();
        let count = self.random.between(1, 3);
        let leavers = (0..count).map(|_| known[self.random.below(known.len() as u64) as usize]);
        let leavers: BTreeSet<usize> = leavers.collect();
        let hit = |members: &BTreeSet<usize>| !members.is_disjoint(&leavers);
        let numbers = self.members.iter().filter(|(_, members)| hit(members));
        let groups: Vec<u64> = numbers.map(|(number, _)| *number).collect();
        let before = files(&self.release());
        if self.erase(&leavers).is_err() {
            assert_eq!(groups.len(), self.members.len(), "nobody would be left");
            assert!(files(&self.release()) == before);
            return;
        }
        self.waiting = self.waiting.difference(&leavers).copied().collect();
        self.nights = count_nights(&self.release());
        self.members.values_mut().for_each(|members| members.retain(|name| !leavers.contains(name)));
        self.record(&BTreeSet::new());
        let left = groups.iter().filter(|number| self.members.contains_key(number)).count();
        assert!(self.leaving == Leaving::Replace || left == 0, "the whole group goes");
        self.replaced += left;
    }

    /// What must be refused, and changes nothing.
    fn mistake(&mut self) {
        let (before, ledger) = (files(&self.release()), self.place.path().join("release.ledger"));
        let table = self.published.clone();
        match self.random.below(3) {
            0 => {
                let changed = table.iter().copied().nth(self.random.below(table.len() as u64) as usize);
                assert!(matches!(self.append(&table, changed), Err(Error::Input { .. })));
            }
            1 => {
                let own = std::fs::read(&ledger).unwrap();
                std::fs::remove_file(&ledger).unwrap();
                assert!(self.append(&table, None).is_err() && self.erase(&table).is_err());
                std::fs::write(&ledger, own).unwrap();
            }
            _ => {
                let own = std::fs::read(&ledger).unwrap();
                let mut foreign = own.clone();
                let at = self.random.below(foreign.len() as u64) as usize;
                foreign[at] ^= 1 << self.random.below(8);
                std::fs::write(&ledger, foreign).unwrap();
                assert!(self.append(&table, None).is_err() && self.erase(&table).is_err());
                std::fs::write(&ledger, own).unwrap();
            }
        }
        assert!(files(&self.release()) == before);
    }

    fn run(mut self, steps: usize) -> Self {
        for _ in 0..steps {
            match self.random.below(8) {
                0..=3 => self.join(),
                4..=5 => self.leave(),
                _ => self.mistake(),
            }
        }
        self
    }
}

fn is_in(label: &str, number: u64) -> bool {
    let (low, high) = label[1..label.len() - 1].split_once(',').unwrap();
    let high: u64 = high.parse().unwrap();
    low.parse::<u64>().unwrap() <= number && (number < high || number == high && label.ends_with(']'))
}

fn count_nights(release: &Path) -> usize {
    1 + std::fs::read_dir(release.join("nights")).map_or(0, |entries| entries.count())
}

fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut open, mut found) = (vec![folder.to_path_buf()], BTreeMap::new());
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path)
            } else {
                drop(found.insert(path.clone(), std::fs::read(&path).unwrap()))
            }
        }
    }
    found
}

/// The worlds in which something holds.
type Worlds = Vec<u64>;

/// All ways to give people their values that agree with all versions of all groups: for each person and value, the worlds
/// in which the person has the value.
fn worlds(seen: &BTreeSet<Version>) -> Vec<[Worlds; VALUES]> {
    let people: Vec<usize> =
        seen.iter().flat_map(|(own, _)| own).copied().collect::<BTreeSet<_>>().into_iter().collect();
    let mut left: Vec<[usize; VALUES]> = seen.iter().map(|(_, counts)| *counts).collect();
    let groups: Vec<Vec<usize>> = people
        .iter()
        .map(|name| {
            seen.iter().enumerate().filter(|(_, (own, _))| own.contains(name)).map(|(at, _)| at).collect()
        })
        .collect();
    let mut all = Vec::new();
    fn give(
        at: usize,
        groups: &[Vec<usize>],
        left: &mut [[usize; VALUES]],
        own: &mut Vec<usize>,
        all: &mut Vec<Vec<usize>>,
    ) {
        let Some(here) = groups.get(at) else { return all.push(own.clone()) };
        for value in 0..VALUES {
            if here.iter().all(|&group| left[group][value] > 0) {
                here.iter().for_each(|&group| left[group][value] -= 1);
                own.push(value);
                give(at + 1, groups, left, own, all);
                own.pop();
                here.iter().for_each(|&group| left[group][value] += 1);
            }
        }
    }
    give(0, &groups, &mut left, &mut Vec::new(), &mut all);
    let mut has = vec![[const { Vec::new() }; VALUES]; people.len()];
    for (person, own) in has.iter_mut().enumerate() {
        for (value, worlds) in own.iter_mut().enumerate() {
            worlds.resize(all.len().div_ceil(64), 0);
            for (at, _) in all.iter().enumerate().filter(|(_, world)| world[person] == value) {
                worlds[at / 64] |= 1 << (at % 64);
            }
        }
    }
    has
}

fn count(worlds: &[u64]) -> u64 {
    worlds.iter().map(|word| u64::from(word.count_ones())).sum()
}

/// Removes worlds, and goes on.
fn without(worlds: &[u64], gone: &[u64], next: &mut dyn FnMut(&[u64])) {
    next(&worlds.iter().zip(gone).map(|(word, gone)| word & !gone).collect::<Vec<_>>());
}

/// The largest chance of the first value, by the definition: all targets, all knowledge of this size.
fn breach(has: &[[Worlds; VALUES]], [l, k, m]: [usize; 3]) -> (u64, u64) {
    let everything: Worlds =
        (0..has[0][0].len()).map(|at| has[0].iter().fold(0, |word, worlds| word | worlds[at])).collect();
    let mut most = (0, 1);
    for target in 0..has.len() {
        let mut judge = |worlds: &[u64]| {
            let own = worlds.iter().zip(&has[target][0]).map(|(a, b)| u64::from((a & b).count_ones()));
            let (above, below) = (own.sum::<u64>(), count(worlds));
            if below > 0 && above * most.1 > most.0 * below {
                most = (above, below);
            }
        };
        let knowing = Knowing { has, target };
        knowing.not(l, &everything, &mut |worlds| {
            knowing.others(k, &[], worlds, &mut |known, worlds| knowing.family(m, known, worlds, &mut judge));
        });
    }
    most
}

/// What may be known of a target.
struct Knowing<'a> {
    has: &'a [[Worlds; VALUES]],
    target: usize,
}

impl Knowing<'_> {
    /// Up to `l` values that the target does not have.
    fn not(&self, l: usize, worlds: &[u64], next: &mut dyn FnMut(&[u64])) {
        if l == 0 {
            return next(worlds);
        }
        for other in 1..VALUES {
            without(worlds, &self.has[self.target][other], &mut |worlds| self.not(l - 1, worlds, next));
        }
    }

    /// Up to `k` other people whose values are known.
    fn others(&self, k: usize, known: &[usize], worlds: &[u64], next: &mut dyn FnMut(&[usize], &[u64])) {
        if k == 0 {
            return next(known, worlds);
        }
        for person in (0..self.has.len()).filter(|person| *person != self.target && !known.contains(person)) {
            for value in 0..VALUES {
                let here: Worlds = worlds.iter().zip(&self.has[person][value]).map(|(a, b)| a & b).collect();
                self.others(k - 1, &[known, &[person]].concat(), &here, next);
            }
        }
    }

    /// Up to `m` relatives: if one of them has the value, the target has it.
    fn family(&self, m: usize, known: &[usize], worlds: &[u64], next: &mut dyn FnMut(&[u64])) {
        if m == 0 {
            return next(worlds);
        }
        for person in (0..self.has.len()).filter(|person| *person != self.target && !known.contains(person)) {
            let own = &self.has[self.target][0];
            let gone: Worlds =
                self.has[person][0].iter().zip(own).map(|(has, target)| has & !target).collect();
            without(worlds, &gone, &mut |worlds| self.family(m - 1, known, worlds, next));
        }
    }
}

#[test]
fn no_point_is_violated_by_all_that_was_ever_published() {
    let (mut nights, mut replaced) = (0, 0);
    for (place, case) in CASES.iter().enumerate() {
        for seed in 0..SEEDS {
            let history = History::new(case, 100 * place as u64 + seed).run(9);
            let (above, below) = breach(&worlds(&history.seen), case.size);
            let (stated, of) = case.confidence;
            let seen = &history.seen;
            assert!(above * of < stated * below, "{:?} seed {seed}: {above}/{below}, {seen:?}", case.size);
            nights += history.nights;
            replaced += history.replaced;
        }
    }
    // Most histories have several nights.
    assert!(nights > SEEDS as usize * CASES.len() * 3 / 2, "{nights}");
    assert!(replaced > 0);
}

#[test]
fn the_model_finds_what_two_releases_of_the_same_people_give_away() {
    let group = |people: &[usize], values: &[usize]| {
        let mut counts = [0; VALUES];
        values.iter().for_each(|value| counts[*value] += 1);
        (people.iter().copied().collect(), counts)
    };
    let first = [group(&[0, 1], &[0, 1]), group(&[2, 3], &[2, 3])];
    assert_eq!(breach(&worlds(&first.clone().into()), [0, 0, 0]), (2, 4));
    let both = [&first[..], &[group(&[0, 2], &[0, 2]), group(&[1, 3], &[1, 3])]].concat();
    assert_eq!(breach(&worlds(&both.into_iter().collect()), [0, 0, 0]), (1, 1));
    // One relative of the same group: if they had the value and the target not, it would be known.
    let one: BTreeSet<Version> = [group(&[0, 1, 2, 3], &[0, 0, 1, 1])].into();
    assert_eq!(breach(&worlds(&one), [0, 0, 1]), (3, 4));
}
