//! How many people of a release are vulnerable to an adversary who knows the correlations in the data?
//!
//! The adversary's priors come from the original table ([`original`], [`priors`]), the groups from the release
//! ([`mod@groups`], [`tree`]); the belief about everybody is followed from before to after the release
//! ([`beliefs::group`](crate::beliefs::group)). Somebody is vulnerable if it moves by more than t.
//!
//! Memory: the combinations and priors of the table, and some groups at once; see the parts.
//! Invariants: somebody counts as not vulnerable only by an exact distance or a proved bound; sums do not depend on
//! the number of threads.

pub mod groups;
pub mod original;
pub mod priors;
pub mod tree;

use std::collections::BTreeMap;
use std::path::Path;

use rayon::prelude::*;
use serde::Deserialize;

pub use groups::{Gathered, People, Published};
pub use original::{Original, Roles};
pub use priors::Priors;

use crate::beliefs::comparison::Comparison;
use crate::beliefs::divergence::{Threshold, Verdict};
use crate::beliefs::group::{Adversary, Beliefs, Group, MOST_STATES, Moved};
use crate::beliefs::smoothing::Smoothing;
use crate::check::{Resources, Subject};
use crate::error::{Error, Result, number_of};
use crate::exact::Rational;
use crate::policy;
use crate::publish::manifest::MANIFEST;
use crate::read::Table;

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// What the columns mean.
    pub roles: Roles,
    /// The adversaries.
    pub points: Vec<Point>,
    /// The bandwidth of smoothing over the sensitive values.
    pub smooth: Option<Rational>,
}

/// An adversary, and how far beliefs may move.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The bandwidth of every quasi-identifier.
    pub bandwidth: BTreeMap<String, Rational>,
    /// Somebody is vulnerable at t if the belief moves by more than t.
    pub thresholds: Vec<Rational>,
}

impl Question {
    /// As a policy asks for one of its targets.
    pub fn of(policy: &policy::Policy, target: &policy::Target, asked: &policy::Beliefs) -> Result<Self> {
        let point = |belief: &policy::Belief| Point {
            bandwidth: belief.bandwidth.clone(),
            thresholds: vec![belief.t.clone()],
        };
        Ok(Question {
            roles: Roles::of(policy, target)?,
            points: asked.points.iter().map(point).collect(),
            smooth: asked.smooth.clone(),
        })
    }

    /// How beliefs are compared, for the sensitive values of the original.
    pub fn comparison(&self, sensitive: &crate::encode::sensitive::SensitiveCoding) -> Result<Comparison> {
        comparison(self.smooth.as_ref(), &self.roles, sensitive)
    }
}

fn comparison(
    smooth: Option<&Rational>,
    roles: &Roles,
    sensitive: &crate::encode::sensitive::SensitiveCoding,
) -> Result<Comparison> {
    let Some(bandwidth) = smooth else { return Ok(Comparison::new(None)) };
    let distance = original::sensitive_distance(&roles.nearness, sensitive)?;
    Ok(Comparison::new(Some(Smoothing::new(&distance, bandwidth, &roles.sensitive)?)))
}

/// The tables of a release, or one table that holds original values and groups.
pub struct Release<'a> {
    /// Where people and their groups are found; `None` to read the tree of cuts in the folder.
    pub people: Option<(&'a Table, &'a [String])>,
    /// The folder of a release.
    pub folder: Option<&'a Path>,
    /// Where the values of the groups are found.
    pub published: Published<'a>,
}

impl<'a> Release<'a> {
    /// The tables of a release as the check takes them.
    pub fn of(subject: &'a Subject<'a>, folder: Option<&'a Path>, groups: &'a [String]) -> Self {
        let (people, published) = match subject {
            Subject::Table(table) => (None, Published::Rows(table, groups)),
            Subject::Buckets(buckets) => (Some((buckets.people, groups)), Published::Counts(buckets, groups)),
        };
        Release { people, folder, published }
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct AttackReport {
    /// People.
    pub rows: u64,
    /// Groups.
    pub groups: u64,
    /// Different combinations of quasi-identifiers.
    pub combinations: u64,
    /// The bandwidth of smoothing over the sensitive values, if beliefs were smoothed before they were compared.
    pub smooth: Option<Rational>,
    /// One for each adversary asked about.
    pub points: Vec<PointReport>,
}

/// What one adversary learns.
#[derive(Debug, Clone, PartialEq)]
pub struct PointReport {
    /// The bandwidth of every quasi-identifier.
    pub bandwidth: BTreeMap<String, Rational>,
    /// How many people are vulnerable at each threshold.
    pub thresholds: Vec<AtThreshold>,
    /// People about whom the adversary was certain before, so that nothing can move.
    pub certain: u64,
    /// People whose posterior is exact; for the others there is a proved interval.
    pub exact_rows: u64,
    /// Groups with exact posteriors.
    pub exact_groups: u64,
    /// Who may have moved furthest.
    pub worst: Worst,
    /// The largest move without smoothing.
    pub unsmoothed: Moved,
    /// The largest move by the Omega-estimate; it understates and decides nothing.
    pub omega: f64,
}

/// How many people are vulnerable at a threshold.
#[derive(Debug, Clone, PartialEq)]
pub struct AtThreshold {
    /// The threshold.
    pub t: Rational,
    /// Beliefs that certainly moved further.
    pub vulnerable: u64,
    /// Beliefs of which that cannot be told.
    pub undecided: u64,
    /// As many the Omega-estimate would count.
    pub omega: u64,
}

/// The move that may be the largest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worst {
    /// The largest of the lower ends and of the upper ends of all intervals.
    pub moved: Moved,
    /// The number of the group with the largest upper end, if groups are numbered.
    pub group: Option<i64>,
    /// The people in it.
    pub people: u64,
}

impl PointReport {
    /// Whether no belief moves by more than the largest threshold asked about, beyond doubt.
    pub fn is_private(&self) -> bool {
        self.thresholds.iter().all(|at| at.vulnerable == 0 && at.undecided == 0)
    }
}

impl AttackReport {
    /// Whether every adversary stays within every threshold, beyond doubt.
    pub fn is_private(&self) -> bool {
        self.points.iter().all(PointReport::is_private)
    }

    /// People for whom somebody's threshold could not be decided, where nobody is certainly vulnerable.
    pub fn estimated(&self) -> Option<u64> {
        let all = || self.points.iter().flat_map(|point| &point.thresholds);
        let undecided = all().map(|at| at.undecided).max().unwrap_or(0);
        (undecided > 0 && all().all(|at| at.vulnerable == 0)).then_some(undecided)
    }
}

/// Follows the belief about everybody in a release.
pub fn attack(
    original: &Table,
    release: &Release<'_>,
    question: &Question,
    resources: &Resources<'_>,
) -> Result<AttackReport> {
    let roles = &question.roles;
    let known = Original::read(original, roles, resources)?;
    if let Some(folder) = release.folder {
        expect_rows(folder, known.rows())?;
    }
    let comparison = question.comparison(&known.sensitive)?;
    let priors = priors_of(&known, question, resources)?;
    let adversaries: Vec<Adversary<'_>> =
        priors.iter().map(|priors| priors.adversary(&known.combinations, MOST_STATES)).collect();
    let people = match (release.people, release.folder) {
        (Some((table, groups)), _) => People::Grouped(table, groups),
        (None, Some(folder)) => People::Cut(original, tree::read(folder, &known.attributes)?),
        (None, None) => {
            return Err(Error::input("no groups are given", "name their columns with --group"));
        }
    };
    let watch = Watch::new(&adversaries, question, &comparison);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(resources.threads).build();
    let pool = pool.map_err(|_| Error::input("the threads could not be started", "give fewer --threads"))?;
    let mut waiting: Vec<Gathered> = Vec::new();
    let mut members = 0;
    let mut found = watch.nothing();
    let mut flush = |waiting: &mut Vec<Gathered>| {
        let parts = pool.install(|| waiting.par_iter().map(|group| watch.look(group)).collect::<Vec<_>>());
        parts.into_iter().for_each(|part| found.merge(part));
        waiting.clear();
    };
    groups::gather(&known, &people, &release.published, roles, resources, |group| {
        members += group.members.len();
        waiting.push(group);
        if members >= MEMBERS_AT_ONCE {
            flush(&mut waiting);
            members = 0;
        }
        Ok(())
    })?;
    flush(&mut waiting);
    Ok(AttackReport { combinations: known.combinations.len() as u64, ..found })
}

/// What the manifest tells of the table.
#[derive(Deserialize)]
struct Manifest {
    input: Input,
    #[serde(default)]
    suppressed: u64,
}

#[derive(Deserialize)]
struct Input {
    rows: u64,
}

/// The original must have as many rows as the manifest says; a release that is being made has no manifest yet.
fn expect_rows(folder: &Path, rows: u64) -> Result<()> {
    let path = folder.join(MANIFEST);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::io(&path, error)),
    };
    let manifest: Manifest = serde_json::from_slice(&bytes).map_err(|error| Error::Format {
        path,
        problem: format!("the manifest does not tell how many rows the input had (line {})", error.line()),
    })?;
    if manifest.input.rows != rows {
        let read = number_of(manifest.input.rows, "row", "rows");
        return Err(groups::other_table(&format!("that one had {read}, this one has {rows}")));
    }
    match manifest.suppressed {
        0 => Ok(()),
        many => Err(Error::input(
            format!("the release leaves out {} of its table", number_of(many, "row", "rows")),
            "give a table with the rows that are left, their original values and their group, and name that with --group",
        )),
    }
}

/// Groups are judged in parallel when this many members have come together.
const MEMBERS_AT_ONCE: usize = 1 << 14;

/// The priors of every adversary of a question.
fn priors_of(known: &Original, question: &Question, resources: &Resources<'_>) -> Result<Vec<Priors>> {
    let roles = &question.roles;
    let distances = known.attributes.iter().zip(&roles.quasi).map(|(a, quasi)| original::distance(a, quasi));
    let distances = distances.collect::<Result<Vec<_>>>()?;
    let means =
        priors::Means { threads: resources.threads, budget: &resources.budget, progress: resources.progress };
    let names = roles.names();
    let compute = |point: &Point| {
        let kernels = priors::kernels(&names, &distances, &point.bandwidth)?;
        Priors::compute(&known.combinations, kernels, &means)
    };
    question.points.iter().map(compute).collect()
}

/// Everything that stays the same from group to group.
struct Watch<'a> {
    adversaries: &'a [Adversary<'a>],
    points: &'a [Point],
    thresholds: Vec<Vec<Threshold>>,
    smooth: Option<&'a Rational>,
    comparison: &'a Comparison,
}

impl<'a> Watch<'a> {
    fn new(adversaries: &'a [Adversary<'a>], question: &'a Question, comparison: &'a Comparison) -> Self {
        let thresholds = |point: &Point| point.thresholds.iter().cloned().map(Threshold::new).collect();
        let thresholds = question.points.iter().map(thresholds).collect();
        Watch {
            adversaries,
            points: &question.points,
            thresholds,
            smooth: question.smooth.as_ref(),
            comparison,
        }
    }

    fn nothing(&self) -> AttackReport {
        let none = Moved { low: 0.0, high: 0.0 };
        let at = |t: &Rational| AtThreshold { t: t.clone(), vulnerable: 0, undecided: 0, omega: 0 };
        let point = |point: &Point| PointReport {
            bandwidth: point.bandwidth.clone(),
            thresholds: point.thresholds.iter().map(at).collect(),
            certain: 0,
            exact_rows: 0,
            exact_groups: 0,
            worst: Worst { moved: none, group: None, people: 0 },
            unsmoothed: none,
            omega: 0.0,
        };
        AttackReport {
            rows: 0,
            groups: 0,
            combinations: 0,
            smooth: self.smooth.cloned(),
            points: self.points.iter().map(point).collect(),
        }
    }

    /// What all adversaries learn from one group.
    fn look(&self, gathered: &Gathered) -> AttackReport {
        let group = Group { members: &gathered.members, counts: &gathered.counts };
        let people = gathered.members.iter().map(|member| member.rows).sum();
        let mut report = self.nothing();
        (report.rows, report.groups) = (people, 1);
        let mut comparison = self.comparison.clone();
        let mut plain = Comparison::new(None);
        let of_points = self.adversaries.iter().zip(&self.thresholds).zip(&mut report.points);
        for ((adversary, thresholds), point) in of_points {
            let mut beliefs = Beliefs::new(adversary, group);
            let open = |beliefs: &Beliefs<'_>, comparison: &mut Comparison| {
                (0..group.members.len()).any(|member| {
                    let moved = beliefs.moved(member, comparison);
                    thresholds.iter().any(|t| t.place(moved.low, moved.high) == Verdict::Undecided)
                })
            };
            if !beliefs.is_exact() && open(&beliefs, &mut comparison) {
                beliefs.refine();
            }
            if beliefs.is_exact() {
                (point.exact_rows, point.exact_groups) = (people, 1);
            }
            (point.worst.group, point.worst.people) = (gathered.number, people);
            let omega = beliefs.omega(&mut comparison);
            for (place, (member, omega)) in gathered.members.iter().zip(omega).enumerate() {
                let prior = adversary.prior(member.combination);
                if prior.iter().filter(|belief| **belief > 0.0).count() == 1 {
                    point.certain += member.rows;
                }
                let moved = beliefs.moved(place, &mut comparison);
                widen(&mut point.worst.moved, moved);
                let unsmoothed = match comparison.smoothing() {
                    Some(_) => beliefs.moved(place, &mut plain),
                    None => moved,
                };
                widen(&mut point.unsmoothed, unsmoothed);
                point.omega = point.omega.max(omega);
                for (threshold, at) in thresholds.iter().zip(&mut point.thresholds) {
                    match beliefs.verdict(place, moved, &comparison, threshold) {
                        Verdict::Within => {}
                        Verdict::Beyond => at.vulnerable += member.rows,
                        Verdict::Undecided => at.undecided += member.rows,
                    }
                    at.omega +=
                        if threshold.place(omega, omega) == Verdict::Beyond { member.rows } else { 0 };
                }
            }
        }
        report
    }
}

fn widen(worst: &mut Moved, moved: Moved) {
    *worst = Moved { low: worst.low.max(moved.low), high: worst.high.max(moved.high) };
}

impl AttackReport {
    /// Takes in what was found in other groups.
    fn merge(&mut self, other: AttackReport) {
        self.rows += other.rows;
        self.groups += other.groups;
        for (own, others) in self.points.iter_mut().zip(other.points) {
            own.certain += others.certain;
            own.exact_rows += others.exact_rows;
            own.exact_groups += others.exact_groups;
            // Groups come in an order that depends on the memory; the number decides between equals.
            let rank = |worst: &Worst| (worst.moved.high, std::cmp::Reverse(worst.group), worst.people);
            let moved = Moved {
                low: own.worst.moved.low.max(others.worst.moved.low),
                high: own.worst.moved.high.max(others.worst.moved.high),
            };
            if own.worst.people == 0 || rank(&others.worst) > rank(&own.worst) {
                own.worst = others.worst;
            }
            own.worst.moved = moved;
            widen(&mut own.unsmoothed, others.unsmoothed);
            own.omega = own.omega.max(others.omega);
            for (own, others) in own.thresholds.iter_mut().zip(others.thresholds) {
                own.vulnerable += others.vulnerable;
                own.undecided += others.undecided;
                own.omega += others.omega;
            }
        }
    }
}
