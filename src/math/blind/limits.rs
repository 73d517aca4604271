//! A rule for large trees: limits per value, for which safety is proved once for all tables.
//!
//! The shares of every value y must stay below h_y on the published set of tables; h is chosen so that this implies
//! the points. A node is bad if some value has more people than its limit u. The limits of the nodes next above leaves
//! come first: a share that stays below h by half a standard deviation of the smallest leaf. A leaf has the highest limit
//! for which the proof then holds, and every other node the highest that its parts allow.
//!
//! Proof that an inner node v within its limits is safe. Fix a value and a leaf of n people below v, and let
//! T = h n and X the leaf's count. Wanted: E[(X - T); some child of v fails] < 0. Given the counts of the child a
//! that contains the leaf, the failure of other children is independent of the arrangement inside a, so the
//! expectation is a mixture of E[(X - T); a fails] and E[X - T]. Write g for the count of the value in a.
//!
//! - a is the leaf: it fails for sure if X > u. So the expectation is at most E[(X - T); X > u], which is negative if
//!   the mean of the counts above u is below T. This mean grows with the count in v: it is tested once, at the upper
//!   limit G of v, and then holds for all counts up to G.
//! - a is an inner node: it is bad for sure if g > u_a, and then the expectation is at most -d_a for g up to G_a, and
//!   at most n beyond. For g up to u_a it is at most 0. So it is negative for v if P(g > G_a | g > u_a) is below
//!   d_a / (d_a + n), which again is tested once, at the upper limit G of v.
//!
//! Where only another child fails, the mean of X given g is below T by at least d, which is tested too. d_v is what
//! these bounds leave for counts above u_v and up to G_v. People whose values are known are taken out of
//! all counts first; every way to place them is tested. A node that fails the test never publishes itself: its
//! children then count as children of its parent. All of this depends on sizes and on the policy alone.

use super::known::PlacedKnown;
use super::point::BlindPoint;
use super::tail::{binomial_above, highest_with_mean_below};
use super::tree::CandidateTree;
use crate::error::{Error, Result};

/// How far the nodes next above leaves stay below the allowed share, in standard deviations of the smallest leaf.
const GAP: f64 = 0.5;
/// How far the limit of an inner node is below what is proved about it, in standard deviations of its count.
const DISTANCE: f64 = 1.0;
/// The part of the gap that leaves leave to the proof.
const KEPT: f64 = 0.3;
/// The limits of inner nodes that are tried: so many steps of the way from the usual share to that above leaves.
const PLACES: std::ops::RangeInclusive<u32> = 2..=20;
/// Values that are declared rarer than this, or not at all, get the limit of such a share.
const LEAST_USUAL: f64 = 0.05;
/// The most known people for whom every placement is tested.
const MOST_KNOWN: usize = 5;
/// More than all roundings of the conditions on shares.
const MARGIN: f64 = 1e-9;
/// The leaves that may be expected to fail in a table whose values have the declared shares.
const EXPECTED_FAILURES: f64 = 0.01;
/// The more leaves, the more likely one of them has other shares than the rest.
const MOST_LEAVES: u64 = 1000;
/// Parts of a table differ: values may have shares half way from the usual to the allowed one.
const REGION: f64 = 0.5;
/// How many of the leaves may be expected to fail where one value has such a share.
const REGION_FAILURES: f64 = 0.05;

/// How large the share of each value may become, and how large it usually is.
#[derive(Debug, Clone, PartialEq)]
pub struct ShareLimits {
    /// By code of the value.
    values: Vec<ValueLimit>,
    /// The declared shares, by code.
    declared: Vec<f64>,
    /// People whose values are known.
    known: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct ValueLimit {
    /// Where limits begin: the declared share, or a larger one that costs the other values nothing.
    usual: f64,
    /// Shares must stay below this; `None` if nothing limits them.
    allowed: Option<f64>,
}

impl ShareLimits {
    /// The limits that imply the points, as far above the declared shares as the points allow; by code, and `None` for
    /// a value whose share is not declared.
    pub fn new(points: &[BlindPoint], declared: &[Option<f64>]) -> Result<Self> {
        let known = points.iter().map(|point| point.k).max().unwrap_or(0);
        if known > MOST_KNOWN {
            return Err(Error::input(
                format!(
                    "cuts = \"blind\" covers at most {MOST_KNOWN} known people, and the policy has k = {known}"
                ),
                "lower k, or choose cuts = \"best\"",
            ));
        }
        // Some values that nobody declared may occur as well.
        let negated = points.iter().map(|point| point.l).max().unwrap_or(0);
        let unlisted = std::iter::repeat_n(&None, negated + 2);
        let declared: Vec<f64> =
            declared.iter().chain(unlisted).map(|share| share.unwrap_or(0.0).max(LEAST_USUAL)).collect();
        // Only l + 1 shares occur together in a condition: all others may be as large as the least of the l + 1 largest.
        let mut ranked = declared.clone();
        ranked.sort_by(|a, b| b.total_cmp(a));
        let usual: Vec<f64> = declared.iter().map(|share| share.max(ranked[negated])).collect();
        let limited = |value: usize| negated > 0 || points.iter().any(|point| point.protects(value));
        let at = |spread: f64| -> Vec<f64> {
            let allowed = |(value, &usual): (usize, &f64)| match limited(value) {
                true => usual + spread * (usual * (1.0 - usual).max(0.0)).sqrt(),
                false => 1.0,
            };
            usual.iter().enumerate().map(allowed).collect()
        };
        let implies = |spread: f64| points.iter().all(|point| implied(point, &at(spread)));
        if !implies(0.0) {
            return Err(Error::input(
                "with the declared shares the whole table would not be safe",
                "correct publish.shares, or allow a higher confidence",
            ));
        }
        let (mut low, mut high) = (0.0, 20.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if implies(middle) { low = middle } else { high = middle }
        }
        let allowed = at(low);
        let limit = |value: usize| ValueLimit {
            usual: usual[value],
            allowed: (limited(value) && allowed[value] < 1.0).then_some(allowed[value]),
        };
        Ok(ShareLimits { values: (0..usual.len()).map(limit).collect(), declared, known })
    }

    /// An upper bound of the chance that a leaf of so many people fails if their values are drawn by the declared
    /// shares; no leaf has fewer than `least` people.
    pub fn chance_of_failure(&self, people: u64, least: u64) -> f64 {
        let above = |(value, &share): (&ValueLimit, &f64)| match value.bounded(self.known, least) {
            Some(limit) => binomial_above(people, share, limit.of_leaf(people)),
            None => 0.0,
        };
        self.values.iter().zip(&self.declared).map(above).sum::<f64>().min(1.0)
    }

    /// Whether leaves of so many people rarely fail where one value has more than its usual share.
    fn suit_regions(&self, people: u64) -> bool {
        let suits = |value: &ValueLimit| {
            value.bounded(self.known, people).is_none_or(|limit| {
                let share = value.usual + REGION * (limit.allowed - value.usual);
                binomial_above(people, share, limit.of_leaf(people)) <= REGION_FAILURES
            })
        };
        self.values.iter().all(suits)
    }
}

/// The fewest people of a leaf such that hardly any leaf of a table of so many people fails.
pub fn least_leaf(people: u64, limits: &ShareLimits) -> u64 {
    let fails = |leaf: u64| people as f64 / leaf as f64 * limits.chance_of_failure(leaf, leaf);
    let mut leaf = people.div_ceil(MOST_LEAVES).max(2);
    while leaf < people && (fails(leaf) > EXPECTED_FAILURES || !limits.suit_regions(leaf)) {
        leaf += leaf.div_ceil(20);
    }
    leaf.min(people)
}

/// Whether shares below `allowed`, for everybody and every value, imply a point.
fn implied(point: &BlindPoint, allowed: &[f64]) -> bool {
    let confidence = point.confidence.to_f64().value();
    let ratio = (1.0 - confidence) / confidence;
    (0..allowed.len()).filter(|&value| point.protects(value)).all(|value| {
        let mut others: Vec<f64> = allowed.to_vec();
        let own = others.swap_remove(value);
        others.sort_by(|a, b| b.total_cmp(a));
        let negated: f64 = others.iter().take(point.l).sum();
        let rest = 1.0 - own - negated;
        match point.m {
            0 => rest >= ratio * own + MARGIN,
            // The person of the implication may sit in the same group, or in another one.
            _ => {
                rest - own >= ratio * own + MARGIN
                    && rest >= 2.0 * ratio * own + MARGIN
                    && own <= 0.5 - MARGIN
            }
        }
    })
}

impl ValueLimit {
    /// The limits of nodes, if there are any; no leaf has fewer than `least` people.
    fn bounded(&self, known: usize, least: u64) -> Option<BoundedValue> {
        let allowed = self.allowed?;
        let (known, least) = (known as f64, least.max(1) as f64);
        let deviation = (allowed * (1.0 - allowed).max(0.0) / least).sqrt();
        let above_leaves = (allowed - GAP * deviation - known / least).max(0.0);
        Some(BoundedValue { usual: self.usual.min(above_leaves), above_leaves, allowed, known })
    }
}

/// The limits of a value in nodes of any size.
#[derive(Debug, Clone, Copy, PartialEq)]
struct BoundedValue {
    /// Inner nodes have at least this share for a limit.
    usual: f64,
    /// And at most this share.
    above_leaves: f64,
    /// Shares must stay below this.
    allowed: f64,
    /// People whose values are known.
    known: f64,
}

impl BoundedValue {
    /// What the mean count of a leaf must stay below.
    fn bound(&self, people: u64) -> f64 {
        self.allowed * (people as f64 - self.known)
    }

    /// The most people below the bound. Known people are not published; the others must be safe among themselves.
    fn below_bound(&self, people: u64) -> i64 {
        self.bound(people).ceil() as i64 - 1
    }

    /// The most people of a leaf.
    fn of_leaf(&self, people: u64) -> i64 {
        let bound = self.bound(people) - self.known;
        let kept = KEPT * (bound - self.above_leaves * people as f64);
        highest_with_mean_below(people, self.above_leaves, bound - kept).min(self.below_bound(people))
    }

    /// Up to this many people an inner node is proved to be safe.
    fn proved(&self, place: u32, people: u64) -> i64 {
        let way = f64::from(place) / f64::from(*PLACES.end());
        (people as f64 * (self.usual + way * (self.above_leaves - self.usual))).floor() as i64
    }

    /// The most people of an inner node.
    fn of_inner(&self, place: u32, people: u64) -> i64 {
        let proved = self.proved(place, people) as f64;
        let deviation = (proved * (1.0 - proved / people as f64).max(0.0)).sqrt();
        ((proved - DISTANCE * deviation).floor() as i64).min(self.below_bound(people))
    }
}

/// Whether a node may publish itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Leaf,
    /// With its place in [`PLACES`].
    Inner(u32),
    Never,
}

/// The limits of every node of a tree.
pub(super) struct LimitRule<'a> {
    limits: &'a ShareLimits,
    /// The different limits of values.
    classes: Vec<BoundedValue>,
    /// By code: the place of its limits; the last stands for all later codes.
    class_of: Vec<Option<usize>>,
    people: Vec<u64>,
    standing: Vec<Standing>,
    /// The most people of each node, by class; they count only while it may publish itself.
    most: Vec<Vec<i64>>,
}

/// What is proved about a node, per value.
#[derive(Clone, Copy)]
struct Proved {
    /// The logarithm of d in the proof.
    ln_left: f64,
    /// The most people of a leaf below.
    widest: f64,
    /// The fewest people of a leaf below.
    narrowest: f64,
}

/// Why a node may not publish itself.
enum Unproved {
    /// Too little is proved about this part of it.
    Part(usize),
    /// Its own limits are too high.
    Node,
}

impl<'a> LimitRule<'a> {
    pub(super) fn new(tree: &CandidateTree, limits: &'a ShareLimits) -> Self {
        let people: Vec<u64> = tree.nodes().iter().map(|node| node.people).collect();
        let least = tree.leaves().into_iter().map(|leaf| people[leaf]).min().unwrap_or(1);
        let mut classes: Vec<BoundedValue> = vec![];
        let mut class_of = |value: &ValueLimit| {
            let bounded = value.bounded(limits.known, least)?;
            let place = classes.iter().position(|class| *class == bounded);
            place.or_else(|| {
                classes.push(bounded);
                Some(classes.len() - 1)
            })
        };
        let class_of = limits.values.iter().map(&mut class_of).collect();
        let mut rule = LimitRule { limits, classes, class_of, people, standing: vec![], most: vec![] };
        // The nodes that may publish themselves next below each node.
        let mut below: Vec<Vec<usize>> = vec![];
        let mut proofs: Vec<Vec<Proved>> = vec![];
        for (at, node) in tree.nodes().iter().enumerate() {
            let standing = |&child: &usize| match rule.standing[child] {
                Standing::Never => below[child].clone(),
                _ => vec![child],
            };
            let mut parts: Vec<usize> = node.children.iter().flat_map(standing).collect();
            let (standing, proof) = match parts.is_empty() {
                true => (Standing::Leaf, rule.proof_of_leaf(at)),
                false => rule.place(at, &mut parts, &proofs, &below),
            };
            rule.most.push(rule.most_of(at, standing));
            rule.standing.push(standing);
            below.push(parts);
            proofs.push(proof);
        }
        rule
    }

    /// The limits of a node by class.
    fn most_of(&self, node: usize, standing: Standing) -> Vec<i64> {
        let people = self.people[node];
        let alone = self.people.len() == 1;
        let most = |class: &BoundedValue| match standing {
            // Nothing above it depends on whether it fails.
            Standing::Leaf if alone => class.below_bound(people),
            Standing::Leaf => class.of_leaf(people),
            Standing::Inner(place) => class.of_inner(place, people),
            Standing::Never => -1,
        };
        self.classes.iter().map(most).collect()
    }

    fn proof_of_leaf(&self, node: usize) -> Vec<Proved> {
        let widest = self.people[node] as f64;
        self.classes.iter().map(|_| Proved { ln_left: 0.0, widest, narrowest: widest }).collect()
    }

    /// The highest limits that are proved for an inner node. A part that leaves too little room for a proof never publishes
    /// itself; its own parts take its place.
    fn place(
        &mut self,
        node: usize,
        parts: &mut Vec<usize>,
        proofs: &[Vec<Proved>],
        below: &[Vec<usize>],
    ) -> (Standing, Vec<Proved>) {
        loop {
            let prove = |place: u32| -> Result<Vec<Proved>, Unproved> {
                let of_class = |class: usize| self.prove(class, (node, place), parts, proofs);
                (0..self.classes.len()).map(of_class).collect()
            };
            match prove(*PLACES.start()) {
                Ok(proof) => {
                    // What is proved for a limit is proved for all lower ones.
                    let (mut proved, mut unproved) = ((*PLACES.start(), proof), *PLACES.end() + 1);
                    while unproved - proved.0 > 1 {
                        let middle = proved.0.midpoint(unproved);
                        match prove(middle) {
                            Ok(proof) => proved = (middle, proof),
                            Err(_) => unproved = middle,
                        }
                    }
                    return (Standing::Inner(proved.0), proved.1);
                }
                Err(Unproved::Node) => return (Standing::Never, vec![]),
                Err(Unproved::Part(part)) => {
                    self.standing[part] = Standing::Never;
                    let place = parts.iter().position(|&own| own == part).unwrap_or(0);
                    parts.splice(place..=place, below[part].clone());
                }
            }
        }
    }

    /// Whether a node with these counts may not publish itself.
    pub(super) fn is_bad(&self, node: usize, counts: &[u64]) -> bool {
        if self.standing[node] == Standing::Never {
            return true;
        }
        let above = |(value, &count): (usize, &u64)| match self.class(value) {
            Some(class) => count as i64 > self.most[node][class],
            None => false,
        };
        counts.iter().enumerate().any(above)
    }

    /// The class of a code, if its share is limited.
    fn class(&self, code: usize) -> Option<usize> {
        self.class_of[code.min(self.class_of.len() - 1)]
    }

    /// Proves the values of a class for a node within its limits, given what is proved about its parts.
    fn prove(
        &self,
        class: usize,
        (node, place): (usize, u32),
        parts: &[usize],
        proofs: &[Vec<Proved>],
    ) -> Result<Proved, Unproved> {
        let (value, known) = (&self.classes[class], self.limits.known);
        let people = self.people[node];
        let highest = value.proved(place, people);
        let lowest = value.of_inner(place, people) + 1;
        let mut left = Proved { ln_left: f64::INFINITY, widest: 0.0, narrowest: f64::INFINITY };
        for &part in parts {
            let (part_people, near) = (self.people[part], self.most[part][class]);
            let own = proofs[part][class];
            for placed in PlacedKnown::all(known) {
                let at = |having| placed.dealing(people, having, part_people);
                let shift = placed.having_in_part as i64;
                // A placement that is impossible at the highest possible count is impossible below it.
                let Some(high) = at(highest.min(placed.most_having(people))) else { continue };
                let share = match self.standing[part] {
                    Standing::Never => return Err(Unproved::Part(part)),
                    Standing::Leaf => match high.mean_above(near - shift) {
                        None => None,
                        Some(mean) => {
                            let short = value.bound(part_people) - (mean + shift as f64);
                            if short.is_nan() || short <= MARGIN * part_people as f64 {
                                return Err(Unproved::Node);
                            }
                            Some(short.ln())
                        }
                    },
                    Standing::Inner(part_place) => {
                        let far = value.proved(part_place, part_people).max(near);
                        let farther = high.ln_farther(near - shift, far - shift);
                        // ln(d / (d + n)), without forming d.
                        let limit = own.ln_left - ln_add(own.ln_left, own.widest.ln());
                        if farther == f64::NEG_INFINITY {
                            Some(own.ln_left)
                        } else if farther.is_nan() || limit.is_nan() || farther >= limit - MARGIN {
                            return Err(Unproved::Part(part));
                        } else {
                            Some(own.ln_left + (-(farther - limit).exp()).ln_1p())
                        }
                    }
                };
                let chance = at(lowest).map(|low| low.ln_chance_above(near - shift));
                let kept = match (share, chance) {
                    (Some(share), Some(chance)) => share + chance,
                    _ => f64::NEG_INFINITY,
                };
                left.ln_left = left.ln_left.min(kept);
            }
            left.widest = left.widest.max(own.widest);
            left.narrowest = left.narrowest.min(own.narrowest);
        }
        // Where another child fails, the mean of the leaf's count must be below its bound by as much.
        let mean = value.known + highest as f64 * left.narrowest / (people as f64 - value.known);
        let short = value.allowed * (left.narrowest - value.known) - mean;
        if short.is_nan() || short <= MARGIN * people as f64 {
            return Err(Unproved::Node);
        }
        left.ln_left = left.ln_left.min(short.ln());
        Ok(left)
    }
}

/// ln(e^a + e^b)
fn ln_add(a: f64, b: f64) -> f64 {
    let (high, low) = if a > b { (a, b) } else { (b, a) };
    if high == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}
