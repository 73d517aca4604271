//! A rule for large trees: limits per value, for which safety is proved once for all tables.
//!
//! The shares of every value y must stay below h_y on the published set of tables; h is chosen so that this implies
//! the points. A node is bad if some value has more people than its limit u. A leaf with h_y n people would reach the
//! share, and its limit is somewhat lower. The limits of inner nodes are lower still, as shares, level by level.
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

use super::point::BlindPoint;
use super::tail::{Dealing, binomial_above};
use super::tree::CandidateTree;
use crate::error::{Error, Result};

/// The limit of a leaf, between the usual share (0) and the allowed one (1).
const LEAF_LIMIT: f64 = 0.8;
/// How much closer to the usual share the limits of the next level are.
const PER_LEVEL: f64 = 0.7;
/// Values that are declared rarer than this, or not at all, get the limit of such a share.
const LEAST_USUAL: f64 = 0.05;
/// The most known people for whom every placement is tested.
const MOST_KNOWN: usize = 5;
/// More than all roundings of the conditions on shares.
const MARGIN: f64 = 1e-9;
/// The leaves that may be expected to fail in a table whose values have the declared shares.
const EXPECTED_FAILURES: f64 = 0.01;

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

    /// The limit of a code; codes beyond the declared ones belong to values that nobody declared.
    fn of(&self, code: usize) -> &ValueLimit {
        &self.values[code.min(self.values.len() - 1)]
    }

    /// An upper bound of the chance that a leaf of so many people fails if their values are drawn by the declared
    /// shares.
    pub fn chance_of_failure(&self, people: u64) -> f64 {
        let above = |(value, &share): (&ValueLimit, &f64)| {
            binomial_above(people, share, value.most(0, people, self.known))
        };
        self.values.iter().zip(&self.declared).map(above).sum::<f64>().min(1.0)
    }
}

/// The fewest people of a leaf such that hardly any leaf of a table of so many people fails.
pub fn least_leaf(people: u64, limits: &ShareLimits) -> u64 {
    let mut leaf = 2;
    while leaf < people && people as f64 / leaf as f64 * limits.chance_of_failure(leaf) > EXPECTED_FAILURES {
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
    /// The share at a place between the usual (0) and the allowed one (1), as people.
    fn people_at(&self, place: f64, people: u64) -> i64 {
        match self.allowed {
            Some(allowed) => (people as f64 * (self.usual + place * (allowed - self.usual))).floor() as i64,
            None => people as i64,
        }
    }

    /// The most people with this value that a node of a level may have.
    fn most(&self, level: i32, people: u64, known: usize) -> i64 {
        let place = LEAF_LIMIT * PER_LEVEL.powi(level);
        // Known people are not published; the others must be safe among themselves.
        self.people_at(place, people)
            .min(self.bound(people, known).map_or(people as i64, |bound| bound.ceil() as i64 - 1))
    }

    /// Up to this many people a node of a level is proved to be safe.
    fn proved(&self, level: i32, people: u64) -> i64 {
        let place = 0.5 * LEAF_LIMIT * (PER_LEVEL.powi(level) + PER_LEVEL.powi(level - 1));
        self.people_at(place, people)
    }

    /// What the mean count of a leaf must stay below.
    fn bound(&self, people: u64, known: usize) -> Option<f64> {
        self.allowed.map(|allowed| allowed * (people as f64 - known as f64))
    }
}

/// The limits of every node of a tree.
pub(super) struct LimitRule<'a> {
    limits: &'a ShareLimits,
    people: Vec<u64>,
    /// The level of each node that may publish itself, leaves being 0.
    levels: Vec<Option<i32>>,
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
        let mut rule = LimitRule { limits, people, levels: vec![] };
        let mut classes: Vec<ValueLimit> = vec![];
        for value in limits.values.iter().filter(|value| value.allowed.is_some()) {
            if !classes.contains(value) {
                classes.push(*value);
            }
        }
        // The nodes that may publish themselves next below each node.
        let mut below: Vec<Vec<usize>> = vec![];
        let mut proofs: Vec<Vec<Proved>> = vec![];
        for (at, node) in tree.nodes().iter().enumerate() {
            let standing = |&child: &usize| match rule.levels[child] {
                Some(_) => vec![child],
                None => below[child].clone(),
            };
            let mut parts: Vec<usize> = node.children.iter().flat_map(standing).collect();
            if parts.is_empty() {
                let widest = node.people as f64;
                proofs.push(
                    classes.iter().map(|_| Proved { ln_left: 0.0, widest, narrowest: widest }).collect(),
                );
                rule.levels.push(Some(0));
                below.push(parts);
                continue;
            }
            // A part that leaves too little room for a proof never publishes itself; its own parts take its place.
            let (level, proof) = loop {
                let level =
                    parts.iter().filter_map(|&part| rule.levels[part]).max().map_or(0, |level| level + 1);
                let of_class = |(class, value): (usize, &ValueLimit)| {
                    rule.prove(value, (at, level), &parts, |part| proofs[part][class])
                };
                match classes.iter().enumerate().map(of_class).collect::<Result<Vec<Proved>, Unproved>>() {
                    Ok(proof) => break (level, Some(proof)),
                    Err(Unproved::Part(part)) => {
                        rule.levels[part] = None;
                        let place = parts.iter().position(|&own| own == part).unwrap_or(0);
                        parts.splice(place..=place, below[part].clone());
                    }
                    Err(Unproved::Node) => break (level, None),
                }
            };
            rule.levels.push(proof.is_some().then_some(level));
            below.push(parts);
            proofs.push(proof.unwrap_or_default());
        }
        rule
    }

    /// Whether a node with these counts may not publish itself.
    pub(super) fn is_bad(&self, node: usize, counts: &[u64]) -> bool {
        let Some(level) = self.levels[node] else { return true };
        let above = |(value, &count): (usize, &u64)| {
            count as i64 > self.limits.of(value).most(level, self.people[node], self.limits.known)
        };
        counts.iter().enumerate().any(above)
    }

    /// Proves one value of a node within its limits, given what is proved about its parts.
    fn prove(
        &self,
        value: &ValueLimit,
        (node, level): (usize, i32),
        parts: &[usize],
        proved: impl Fn(usize) -> Proved,
    ) -> Result<Proved, Unproved> {
        let known = self.limits.known;
        let people = self.people[node];
        let highest = value.proved(level, people);
        let lowest = value.most(level, people, known) + 1;
        let mut left = Proved { ln_left: f64::INFINITY, widest: 0.0, narrowest: f64::INFINITY };
        for &part in parts {
            let part_level = self.levels[part].ok_or(Unproved::Part(part))?;
            let bound = value.bound(self.people[part], known).ok_or(Unproved::Node)?;
            let own = proved(part);
            for placed in PlacedKnown::all(known) {
                let part_people = self.people[part];
                let near = value.most(part_level, part_people, known);
                let at = |having| placed.dealing(people, having, part_people);
                let shift = placed.having_in_part as i64;
                // A placement that is impossible at the highest possible count is impossible below it.
                let Some(high) = at(highest.min(placed.most_having(people))) else { continue };
                let share = match part_level {
                    0 => match high.mean_above(near - shift) {
                        None => None,
                        Some(mean) => {
                            let short = bound - (mean + shift as f64);
                            if short.is_nan() || short <= MARGIN * part_people as f64 {
                                return Err(Unproved::Node);
                            }
                            Some(short.ln())
                        }
                    },
                    _ => {
                        let far = value.proved(part_level, part_people).max(near);
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
        let (known, allowed) = (known as f64, value.allowed.ok_or(Unproved::Node)?);
        let mean = known + highest as f64 * left.narrowest / (people as f64 - known);
        let short = allowed * (left.narrowest - known) - mean;
        if short.is_nan() || short <= MARGIN * people as f64 {
            return Err(Unproved::Node);
        }
        left.ln_left = left.ln_left.min(short.ln());
        Ok(left)
    }
}

/// Where the known people of a node sit, and how many of them have the value.
#[derive(Debug, Clone, Copy)]
struct PlacedKnown {
    in_part: u64,
    having_in_part: u64,
    elsewhere: u64,
    having_elsewhere: u64,
}

impl PlacedKnown {
    fn all(known: usize) -> impl Iterator<Item = PlacedKnown> {
        let known = known as u64;
        (0..=known).flat_map(move |in_part| {
            (0..=in_part).flat_map(move |having_in_part| {
                (0..=known - in_part).flat_map(move |elsewhere| {
                    (0..=elsewhere).map(move |having_elsewhere| PlacedKnown {
                        in_part,
                        having_in_part,
                        elsewhere,
                        having_elsewhere,
                    })
                })
            })
        })
    }

    /// The most people who can have the value: all but those who are known not to.
    fn most_having(&self, people: u64) -> i64 {
        let lacking = self.in_part + self.elsewhere - self.having_in_part - self.having_elsewhere;
        people as i64 - lacking as i64
    }

    /// How the people who are not known are dealt; `None` if there are not so many.
    fn dealing(&self, people: u64, having: i64, part: u64) -> Option<Dealing> {
        let people_left = people.checked_sub(self.in_part + self.elsewhere)?;
        let having_left =
            u64::try_from(having).ok()?.checked_sub(self.having_in_part + self.having_elsewhere)?;
        let dealt = part.checked_sub(self.in_part)?;
        (having_left <= people_left && dealt <= people_left).then_some(Dealing {
            people: people_left,
            having: having_left,
            dealt,
        })
    }
}

/// ln(e^a + e^b)
fn ln_add(a: f64, b: f64) -> f64 {
    let (high, low) = if a > b { (a, b) } else { (b, a) };
    if high == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}
