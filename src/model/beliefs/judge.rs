//! How many people are vulnerable to an adversary who knows correlations?

use std::collections::BTreeMap;

use super::{KernelAdversary, Question};
use crate::error::number_of;
use crate::math::beliefs::comparison::BeliefComparison;
use crate::math::beliefs::divergence::{DistanceVerdict, Threshold};
use crate::math::beliefs::group::{BeliefAdversary, BeliefGroup, Beliefs, Member, Moved};
use crate::math::exact::{Rational, decimal_at_least, decimal_at_most};
use crate::model::finding::{
    Amount, Claim, ClaimSubject, ClaimVerdict, Datum, Finding, Limit, Measurement, Note, Side, Total,
};

/// A group with its original rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gathered {
    /// The number of the group, if groups are numbered.
    pub number: Option<i64>,
    /// The members of the group.
    pub members: Vec<Member>,
    /// How often it holds each sensitive value.
    pub counts: Vec<u64>,
}

/// The result of an attack.
#[derive(Debug, Clone, PartialEq)]
pub struct AttackReport {
    /// People.
    pub rows: u64,
    /// Groups.
    pub groups: u64,
    /// Different combinations of quasi-identifiers.
    pub combinations: u64,
    /// The bandwidth of smoothing over the sensitive values, if beliefs were smoothed before comparison.
    pub smooth: Option<Rational>,
    /// One for each requested adversary.
    pub points: Vec<PointReport>,
    /// Who is missing, if somebody may be.
    pub left_out: Option<LeftOutPeople>,
}

/// The people of the original who are in no group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftOutPeople {
    /// How many.
    pub people: u64,
    /// Whether all beliefs about them would certainly stay within their thresholds if they were a group: who knows all
    /// values of the table subtracts those of the groups.
    pub as_group: bool,
}

impl LeftOutPeople {
    fn in_words(&self) -> String {
        let people = number_of(self.people, "person is", "people are");
        match (self.people, self.as_group) {
            (0, _) => "nobody is left out".to_string(),
            (_, true) => format!(
                "{people} left out; as a group, beliefs about them would move no further than they may"
            ),
            (_, false) => format!("{people} left out; as a group, beliefs about them would move too far"),
        }
    }
}

/// What one adversary learns.
#[derive(Debug, Clone, PartialEq)]
pub struct PointReport {
    /// The bandwidth of every quasi-identifier.
    pub bandwidth: BTreeMap<String, Rational>,
    /// How many people are vulnerable at each threshold.
    pub thresholds: Vec<AtThreshold>,
    /// People about whom the adversary was already certain, so that nothing can move.
    pub certain: u64,
    /// People whose posterior is exact; for the others there is a proven interval.
    pub exact_rows: u64,
    /// Groups with exact posteriors.
    pub exact_groups: u64,
    /// The person whose belief may have moved furthest.
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
    /// People whose belief certainly moved further.
    pub vulnerable: u64,
    /// People for whom this cannot be decided.
    pub undecided: u64,
    /// The number that the Omega-estimate would count.
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
    /// Whether no belief moves by more than the largest requested threshold, for certain.
    pub fn is_private(&self) -> bool {
        self.thresholds.iter().all(|at| at.vulnerable == 0 && at.undecided == 0)
    }
}

impl AttackReport {
    /// Whether every adversary stays within every threshold, for certain.
    pub fn is_private(&self) -> bool {
        self.points.iter().all(PointReport::is_private)
    }

    /// People for whom some threshold could not be decided, if nobody is certainly vulnerable.
    pub fn estimated(&self) -> Option<u64> {
        let all = || self.points.iter().flat_map(|point| &point.thresholds);
        let undecided = all().map(|at| at.undecided).max().unwrap_or(0);
        (undecided > 0 && all().all(|at| at.vulnerable == 0)).then_some(undecided)
    }
}

impl AttackReport {
    /// Adds the results to the finding. How far beliefs move depends on the original, so only someone who has
    /// the original may see the totals.
    pub fn add_to(&self, finding: &mut Finding) {
        let claims = self.points.iter().flat_map(|point| {
            point.thresholds.iter().map(|at| Claim {
                verdict: match (at.vulnerable, at.undecided) {
                    (0, 0) => ClaimVerdict::Safe,
                    (0, _) => ClaimVerdict::Undecided,
                    _ => ClaimVerdict::Unsafe,
                },
                measured: Measurement {
                    name: MOVE,
                    amount: Amount::Between(point.worst.moved.low, point.worst.moved.high),
                },
                group: point.worst.group.and_then(|group| u64::try_from(group).ok()),
                counts: vec![("too far", at.vulnerable), ("undecided", at.undecided)],
                ..unjudged(&point.bandwidth, &at.t)
            })
        });
        finding.add(claims.collect());
        finding.notes.push(Note::Summary(self.summary()));
        finding.notes.extend(self.left_out.iter().map(|own| Note::Summary(own.in_words())));
        if let Some(smooth) = &self.smooth {
            let moves: Vec<String> = self.points.iter().map(|point| moved_text(point.unsmoothed)).collect();
            let moves = moves.join(", ");
            let remark = format!("smoothed by {smooth}; without that the largest move is {moves}");
            finding.notes.push(Note::Remark(remark));
        }
        let mut fields = self.fields();
        fields.push(("column", Datum::Text(finding.column.clone())));
        fields.push(("private", self.is_private().into()));
        fields.push(("estimated", Datum::of(self.estimated())));
        finding.totals.push(Total { name: "beliefs", fields });
    }

    /// Whether beliefs move further than allowed.
    fn summary(&self) -> String {
        let all = || self.points.iter().flat_map(|point| &point.thresholds);
        let most = |people: fn(&AtThreshold) -> u64| all().map(people).max().unwrap_or(0);
        // Each adversary has a claim; the people of different ones need not be the same.
        let people = |many: u64| {
            let or_more = if all().count() > 1 { " or more" } else { "" };
            format!("the beliefs about {}{or_more}", number_of(many, "person", "people"))
        };
        match (most(|at| at.vulnerable), most(|at| at.undecided)) {
            (0, 0) => "no belief moves further than it may".to_string(),
            (0, open) => format!("{} may move too far", people(open)),
            (many, _) => format!("{} move too far", people(many)),
        }
    }

    /// All results, for machine-readable output.
    pub fn fields(&self) -> Vec<(&'static str, Datum)> {
        let smooth = self.smooth.as_ref().map(Rational::to_string);
        let mut fields = vec![
            ("people", self.rows.into()),
            ("groups", self.groups.into()),
            ("combinations", self.combinations.into()),
            ("smooth", Datum::of(smooth)),
            ("points", Datum::list(self.points.iter().map(PointReport::datum))),
        ];
        if let Some(LeftOutPeople { people, as_group }) = self.left_out {
            fields.extend([("left_out", people.into()), ("left_out_as_group", as_group.into())]);
        }
        fields
    }
}

impl PointReport {
    fn datum(&self) -> Datum {
        let moved = |moved: Moved| {
            Datum::fields([("at_least", Datum::Decimal(moved.low)), ("at_most", moved.high.into())])
        };
        let threshold = |at: &AtThreshold| {
            Datum::fields([
                ("t", Datum::Text(at.t.to_string())),
                ("vulnerable", at.vulnerable.into()),
                ("undecided", at.undecided.into()),
                ("vulnerable_by_omega", at.omega.into()),
            ])
        };
        Datum::fields([
            ("bandwidth", bandwidth_datum(&self.bandwidth)),
            ("thresholds", Datum::list(self.thresholds.iter().map(threshold))),
            ("certain_before", self.certain.into()),
            ("exact_people", self.exact_rows.into()),
            ("exact_groups", self.exact_groups.into()),
            ("largest_move", moved(self.worst.moved)),
            ("largest_move_unsmoothed", moved(self.unsmoothed)),
            ("largest_move_by_omega", self.omega.into()),
            ("worst_group", Datum::of(self.worst.group)),
            ("worst_group_people", self.worst.people.into()),
        ])
    }
}

/// The name of what is measured about beliefs.
const MOVE: &str = "largest move";

fn bandwidth_datum(bandwidth: &BTreeMap<String, Rational>) -> Datum {
    Datum::fields(bandwidth.iter().map(|(name, width)| (name.clone(), Datum::Text(width.to_string()))))
}

/// The claim that no belief moves by more than t, not yet judged.
fn unjudged(bandwidth: &BTreeMap<String, Rational>, t: &Rational) -> Claim {
    Claim {
        subject: ClaimSubject::Everybody,
        knows: vec![("bandwidth", bandwidth_datum(bandwidth))],
        measured: Measurement { name: MOVE, amount: Amount::Unknown },
        limit: Limit { name: "t", side: Side::AtMost, value: t.clone() },
        group: None,
        verdict: ClaimVerdict::NotJudged,
        counts: Vec::new(),
        evidence: Vec::new(),
    }
}

impl Question {
    /// The claims that are open until the original is examined.
    pub fn open_claims(&self) -> Vec<Claim> {
        let of_point = |point: &KernelAdversary| {
            point.thresholds.iter().map(|t| unjudged(&point.bandwidth, t)).collect::<Vec<_>>()
        };
        self.points.iter().flat_map(of_point).collect()
    }
}

/// An interval in words, rounded outwards.
pub fn moved_text(moved: Moved) -> String {
    let exact = |end: f64| Rational::try_from(end).unwrap_or(Rational::ONE);
    let (low, high) = (decimal_at_most(&exact(moved.low), 4), decimal_at_least(&exact(moved.high), 4));
    if moved.high - moved.low < 1e-6 { high } else { format!("between {low} and {high}") }
}

/// Everything that stays the same from group to group.
pub struct BeliefsJudge<'a> {
    adversaries: &'a [BeliefAdversary<'a>],
    points: &'a [KernelAdversary],
    thresholds: Vec<Vec<Threshold>>,
    smooth: Option<&'a Rational>,
    comparison: &'a BeliefComparison,
}

impl<'a> BeliefsJudge<'a> {
    /// For these adversaries, one for each point of the question.
    pub fn new(
        adversaries: &'a [BeliefAdversary<'a>],
        question: &'a Question,
        comparison: &'a BeliefComparison,
    ) -> Self {
        let thresholds =
            |point: &KernelAdversary| point.thresholds.iter().cloned().map(Threshold::new).collect();
        let thresholds = question.points.iter().map(thresholds).collect();
        BeliefsJudge {
            adversaries,
            points: &question.points,
            thresholds,
            smooth: question.smooth.as_ref(),
            comparison,
        }
    }

    /// The report for no groups.
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
            left_out: None,
        }
    }

    /// Judges the people who are in no group as if they were one.
    pub fn left_out(&self, gathered: Option<&Gathered>) -> LeftOutPeople {
        match gathered.map(|gathered| self.observe(gathered)) {
            Some(report) => LeftOutPeople { people: report.rows, as_group: report.is_private() },
            None => LeftOutPeople { people: 0, as_group: true },
        }
    }

    /// What all adversaries learn from one group.
    pub fn observe(&self, gathered: &Gathered) -> AttackReport {
        let group = BeliefGroup { members: &gathered.members, counts: &gathered.counts };
        let people = gathered.members.iter().map(|member| member.rows).sum();
        let mut report = self.nothing();
        (report.rows, report.groups) = (people, 1);
        let mut comparison = self.comparison.clone();
        let mut plain = BeliefComparison::new(None);
        let of_points = self.adversaries.iter().zip(&self.thresholds).zip(&mut report.points);
        for ((adversary, thresholds), point) in of_points {
            let mut beliefs = Beliefs::new(adversary, group);
            let open = |beliefs: &Beliefs<'_>, comparison: &mut BeliefComparison| {
                (0..group.members.len()).any(|member| {
                    let moved = beliefs.moved(member, comparison);
                    thresholds.iter().any(|t| t.place(moved.low, moved.high) == DistanceVerdict::Undecided)
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
                        DistanceVerdict::Within => {}
                        DistanceVerdict::Beyond => at.vulnerable += member.rows,
                        DistanceVerdict::Undecided => at.undecided += member.rows,
                    }
                    at.omega += if threshold.place(omega, omega) == DistanceVerdict::Beyond {
                        member.rows
                    } else {
                        0
                    };
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
    /// Adds the results of other groups.
    pub fn merge(&mut self, other: AttackReport) {
        self.rows += other.rows;
        self.groups += other.groups;
        for (own, others) in self.points.iter_mut().zip(other.points) {
            own.certain += others.certain;
            own.exact_rows += others.exact_rows;
            own.exact_groups += others.exact_groups;
            // The order of the groups depends on the memory; the number breaks ties.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::exact::ratio;
    use proptest::prelude::*;

    /// The results for one group.
    fn found(number: i64, (low, more, people, open): (u8, u8, u64, bool)) -> AttackReport {
        let moved = Moved { low: f64::from(low) / 8.0, high: f64::from(low + more) / 8.0 };
        let vulnerable = if open { 0 } else { people };
        let point = PointReport {
            bandwidth: BTreeMap::new(),
            thresholds: vec![AtThreshold {
                t: ratio(1, 4),
                vulnerable,
                undecided: people - vulnerable,
                omega: u64::from(low),
            }],
            certain: u64::from(more),
            exact_rows: people,
            exact_groups: 1,
            worst: Worst { moved, group: Some(number), people },
            unsmoothed: moved,
            omega: f64::from(more),
        };
        AttackReport {
            rows: people,
            groups: 1,
            combinations: 0,
            smooth: None,
            points: vec![point],
            left_out: None,
        }
    }

    proptest! {
        #[test]
        fn reports_merge_in_any_order(
            groups in prop::collection::vec((0u8..4, 0u8..4, 1u64..9, any::<bool>()), 3..8),
            order in Just((0usize..8).collect::<Vec<_>>()).prop_shuffle(),
            cut in 1usize..3,
        ) {
            let order: Vec<usize> = order.into_iter().filter(|&at| at < groups.len()).collect();
            let merged = |numbers: &[usize]| {
                let mut reports = numbers.iter().map(|&at| found(at as i64, groups[at]));
                let first = reports.next().expect("at least one group");
                reports.fold(first, |mut own, other| { own.merge(other); own })
            };
            let (front, back) = order.split_at(cut);
            let mut apart = merged(back);
            apart.merge(merged(front));
            prop_assert_eq!(apart, merged(&(0..groups.len()).collect::<Vec<_>>()));
        }
    }

    #[test]
    fn intervals_are_rounded_outwards() {
        assert_eq!(moved_text(Moved { low: 0.12345, high: 0.56781 }), "between 0.1234 and 0.5679");
        assert_eq!(moved_text(Moved { low: 0.12341, high: 0.12341 }), "0.1235");
    }
}
