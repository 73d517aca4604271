//! How many people are vulnerable to an adversary who knows correlations?

use std::collections::BTreeMap;

use super::{KernelAdversary, Question};
use crate::math::beliefs::comparison::Comparison;
use crate::math::beliefs::divergence::{Threshold, Verdict};
use crate::math::beliefs::group::{Adversary, Beliefs, Group, Member, Moved};
use crate::math::exact::Rational;

/// A group with the original rows in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gathered {
    /// The number of the group, if groups are numbered.
    pub number: Option<i64>,
    /// Who is in it.
    pub members: Vec<Member>,
    /// How often it holds each sensitive value.
    pub counts: Vec<u64>,
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

/// Everything that stays the same from group to group.
pub struct Watch<'a> {
    adversaries: &'a [Adversary<'a>],
    points: &'a [KernelAdversary],
    thresholds: Vec<Vec<Threshold>>,
    smooth: Option<&'a Rational>,
    comparison: &'a Comparison,
}

impl<'a> Watch<'a> {
    /// For these adversaries, one for each point of the question.
    pub fn new(adversaries: &'a [Adversary<'a>], question: &'a Question, comparison: &'a Comparison) -> Self {
        let thresholds =
            |point: &KernelAdversary| point.thresholds.iter().cloned().map(Threshold::new).collect();
        let thresholds = question.points.iter().map(thresholds).collect();
        Watch {
            adversaries,
            points: &question.points,
            thresholds,
            smooth: question.smooth.as_ref(),
            comparison,
        }
    }

    /// The report of no group.
    pub fn nothing(&self) -> AttackReport {
        let none = Moved { low: 0.0, high: 0.0 };
        let at = |t: &Rational| AtThreshold { t: t.clone(), vulnerable: 0, undecided: 0, omega: 0 };
        let point = |point: &KernelAdversary| PointReport {
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
    pub fn look(&self, gathered: &Gathered) -> AttackReport {
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
    pub fn merge(&mut self, other: AttackReport) {
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
