//! How much tighter do the bounds of a large group become when they are applied to themselves?
//!
//! In the notation of [`ceiling`](super::ceiling): R at row i, in the system of rows W and multiset c, is
//!
//! ```text
//! R = (1/n_x) sum over w != i of q_w g_w,     q_w = the posterior of x at row w in the system (W - i, c - y),
//! ```
//!
//! because the weight of all neighbours counts every assignment once for each of its x. The q_w add up to n_x, so R is a
//! mean of the g_w with the weights q_w; and q_w lies in an interval that follows from the ranges of R in the smaller system.
//!
//! **Levels.** With K rounds, the ranges of level k hold in every system from which at most K - k rows and
//! the same number of values were removed. Level 0 is the plain range with n_x - K (at least one) in place of
//! n_x, since a mean of more of the smallest is larger. Level k + 1 takes the q_w from level k: with r = K -
//! k, a count n_u is then between n_u - r and n_u, and up to r rows are missing. Level K holds for the group
//! itself.
//!
//! **The least mean.** A mean with weights q_w in [low_w, high_w] is at most m only if some such weights make the sum of
//! q_w (g_w - m) at most 0. The least sum takes high_w where g_w < m and low_w elsewhere, and drops the r largest
//! terms, for rows that are missing. If it is above 0 the mean is above m. The greatest mean likewise.
//!
//! **Zeros.** A row with f(x) = 0 < f(y) has no g: what the neighbours miss of it is the share s of Z(c-x) with y at such
//! rows, so R is the mean times n_y / (n_y - s). s is at most the sum of the upper ends of their posteriors of y, and
//! n_y - s, the y at the other rows, is at least the sum of the lower ends there, without the r largest.
//! The least mean is still a lower bound. R(y,x) = 1/R(x,y) gives each bound a second way.
//!
//! **Floats.** Posteriors are widened by 1.2 times the error of the odds; g off by 2.02 e moves a mean by that factor at
//! most; a sum counts as above 0 only beyond M + 8 roundings of its absolute terms.
//!
//! Memory: 16 B x different priors x values. Work: rounds x values^2 x 20 x different priors.

use super::roundings::{UNIT, relative_error};

/// What the refinement needs to know about a group.
pub(super) struct Large<'a> {
    /// Different priors, each with its number of rows.
    pub priors: &'a [(&'a [f64], u64)],
    /// How often the group holds each value.
    pub counts: &'a [u64],
    /// A bound on the relative error of every prior.
    pub prior_error: f64,
}

/// Steps to enclose a mean.
const STEPS: usize = 10;

impl Large<'_> {
    fn rows(&self) -> u64 {
        self.priors.iter().map(|(_, rows)| rows).sum()
    }

    /// More rounds give tighter bounds but start from wider ones.
    pub(super) fn rounds(&self) -> u64 {
        u64::from(self.rows().max(1).ilog2() / 2).clamp(2, 6)
    }

    fn present(&self) -> Vec<usize> {
        (0..self.counts.len()).filter(|value| self.counts[*value] > 0).collect()
    }

    /// Ranges of R by x x values + y, from those of level 0, which hold with [`Large::rounds`] rows and
    /// values removed.
    pub(super) fn refine(&self, mut ranges: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
        let values = self.counts.len();
        let present = self.present();
        let rounds = self.rounds();
        for round in 0..rounds {
            let missing = rounds - round;
            let posteriors = self.posteriors(&present, &ranges, missing);
            let mut next = ranges.clone();
            for &x in &present {
                for &y in present.iter().filter(|y| **y != x) {
                    let (low, high) = self.mean(&posteriors, ranges[x * values + y], (x, y), missing);
                    let own = &mut next[x * values + y];
                    *own = (own.0.max(low), own.1.min(high));
                    let opposite = &mut next[y * values + x];
                    *opposite = (opposite.0.max(1.0 / high), opposite.1.min(1.0 / low));
                }
            }
            ranges = next;
        }
        ranges
    }

    /// For each prior and value the least and the greatest posterior in systems with this many missing.
    fn posteriors(&self, present: &[usize], ranges: &[(f64, f64)], missing: u64) -> Vec<(f64, f64)> {
        let values = self.counts.len();
        let error = 1.2 * (4.02 * self.prior_error + relative_error(values as u64 + 12));
        let most = |value: usize| self.counts[value] as f64;
        let least =
            |value: usize, at_least: u64| self.counts[value].saturating_sub(missing).max(at_least) as f64;
        let mut posteriors = vec![(0.0, 0.0); self.priors.len() * values];
        for ((prior, _), own) in self.priors.iter().zip(posteriors.chunks_exact_mut(values)) {
            for &x in present.iter().filter(|x| prior[**x] > 0.0) {
                let (mut fewest, mut highest) = (0.0, 0.0);
                for &u in present.iter().filter(|u| **u != x && prior[**u] > 0.0) {
                    let (low, high) = ranges[x * values + u];
                    let odds = prior[u] / prior[x];
                    fewest += odds * least(u, 0) / (most(x) * high);
                    highest += odds * most(u) / (least(x, 1) * low);
                }
                let low = 1.0 / (1.0 + highest) * (1.0 - error);
                let high = 1.0 / (1.0 + fewest) * (1.0 + error);
                // A NaN becomes a bound that is always true.
                own[x] = (if low > 0.0 { low } else { 0.0 }, if high < 1.0 { high } else { 1.0 });
            }
        }
        posteriors
    }

    /// The range of R for a pair of values from the posteriors of a smaller system.
    fn mean(
        &self,
        posteriors: &[(f64, f64)],
        known: (f64, f64),
        (x, y): (usize, usize),
        missing: u64,
    ) -> (f64, f64) {
        let values = self.counts.len();
        let mut terms = Vec::with_capacity(self.priors.len());
        let (mut unseen, mut seen) = (0.0, 0.0);
        let mut dropped = Vec::new();
        for ((prior, rows), own) in self.priors.iter().zip(posteriors.chunks_exact(values)) {
            if prior[x] > 0.0 {
                let (low, high) = own[x];
                seen += own[y].0 * *rows as f64;
                keep_largest(&mut dropped, (own[y].0, *rows as f64), missing);
                terms.push(Term { ratio: prior[y] / prior[x], low, high, rows: *rows as f64 });
            } else if prior[y] > 0.0 {
                unseen += own[y].1 * *rows as f64 * (1.0 + relative_error(self.priors.len() as u64 + 2));
            }
        }
        let off = 2.02 * self.prior_error + 8.0 * UNIT;
        let ends = terms.iter().fold((f64::INFINITY, 0.0f64), |(least, most), term| {
            (least.min(term.ratio), most.max(term.ratio))
        });
        let low = enclose(known.0.max(ends.0), ends.1, |m| exceeds(&terms, m, missing, Side::Least));
        let fewest = self.counts[y].saturating_sub(missing).max(1) as f64;
        seen = seen * (1.0 - relative_error(self.priors.len() as u64 + 2)) - dropped_sum(&dropped, missing);
        let above = if unseen < fewest { fewest / (fewest - unseen) } else { f64::INFINITY };
        let below = if seen > 0.0 { self.counts[y] as f64 / seen } else { f64::INFINITY };
        let factor = if unseen == 0.0 { 1.0 } else { above.min(below) };
        let high = match factor.is_finite() {
            true => {
                let mean =
                    enclose(known.1.min(ends.1), ends.0, |m| exceeds(&terms, m, missing, Side::Greatest));
                mean * factor * (1.0 + off)
            }
            false => f64::INFINITY,
        };
        let low = low * (1.0 - off);
        (if low > 0.0 { low } else { 0.0 }, if high > 0.0 { high } else { f64::INFINITY })
    }
}

/// The rows with one prior, as a mean sees them.
struct Term {
    ratio: f64,
    low: f64,
    high: f64,
    rows: f64,
}

/// Which end of the means is computed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Least,
    Greatest,
}

/// Moves from `sound` towards `beyond` as far as `holds` is certain.
fn enclose(sound: f64, beyond: f64, holds: impl Fn(f64) -> bool) -> f64 {
    let (mut sound, mut beyond) = (sound, beyond);
    if !(sound.is_finite() && beyond.is_finite()) {
        return sound;
    }
    for _ in 0..STEPS {
        // Ratios differ by orders of magnitude, and 0 is one of them.
        let middle = match sound.min(beyond) > 0.0 {
            true => (sound * beyond).sqrt(),
            false => sound.midpoint(beyond),
        };
        if holds(middle) {
            sound = middle;
        } else {
            beyond = middle;
        }
    }
    sound
}

/// Whether every mean with weights between the ends certainly lies above `m`, or below it for the greatest side.
fn exceeds(terms: &[Term], m: f64, missing: u64, side: Side) -> bool {
    let (mut sum, mut size) = (0.0, 0.0);
    let mut dropped: Vec<(f64, f64)> = Vec::new();
    for term in terms {
        let away = match side {
            Side::Least => term.ratio - m,
            Side::Greatest => m - term.ratio,
        };
        let weight = if away < 0.0 { term.high } else { term.low };
        let own = weight * away;
        sum += own * term.rows;
        size += own.abs() * term.rows;
        if own > 0.0 {
            keep_largest(&mut dropped, (own, term.rows), missing);
        }
    }
    sum -= dropped_sum(&dropped, missing);
    sum > size * relative_error(terms.len() as u64 + 2 * missing + 8)
}

/// The sum of the largest terms, for as many rows as can be missing, rounded up.
fn dropped_sum(largest: &[(f64, f64)], missing: u64) -> f64 {
    let (mut sum, mut left) = (0.0, missing as f64);
    for (own, rows) in largest {
        let gone = rows.min(left);
        sum += own * gone;
        left -= gone;
    }
    sum * (1.0 + relative_error(2 * missing + 2))
}

/// Keeps the largest terms in descending order, as many as can be missing.
fn keep_largest(kept: &mut Vec<(f64, f64)>, term: (f64, f64), most: u64) {
    if kept.len() as u64 >= most && kept.last().is_some_and(|last| last.0 >= term.0) {
        return;
    }
    let place = kept.partition_point(|own| own.0 >= term.0);
    kept.insert(place, term);
    kept.truncate(most as usize);
}

#[cfg(test)]
mod tests {
    use crate::math::beliefs::ceiling::Ceiling;
    use crate::math::posterior;

    /// A pseudorandom number.
    fn next(seed: &mut u64) -> u64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *seed >> 33
    }

    /// A group of `rows` rows over `values` values whose priors differ by up to `spread`, some of them 0.
    fn group(seed: &mut u64, rows: usize, values: usize, spread: u64) -> (Vec<Vec<f64>>, Vec<u64>) {
        let mut counts = vec![0; values];
        let mut priors = Vec::new();
        for _ in 0..rows {
            let own = next(seed) as usize % values;
            counts[own] += 1;
            let weight = |value: usize, seed: &mut u64| match next(seed) % 20 {
                0 if value != own && spread > 50 => 0.0,
                _ => (100 + next(seed) % spread) as f64,
            };
            let weights: Vec<f64> = (0..values).map(|value| weight(value, seed)).collect();
            let total: f64 = weights.iter().sum();
            priors.push(weights.into_iter().map(|weight| weight / total).collect());
        }
        (priors, counts)
    }

    #[test]
    fn refined_bounds_hold_the_exact_posteriors_and_are_closer() {
        let mut seed = 11;
        for (rows, values, spread) in
            [(40, 2, 300), (120, 2, 60), (60, 3, 400), (90, 3, 40), (36, 4, 200), (25, 5, 900)]
        {
            for _ in 0..3 {
                let (priors, counts) = group(&mut seed, rows, values, spread);
                let present: Vec<usize> = (0..values).filter(|value| counts[*value] > 0).collect();
                let occurring: Vec<u32> = present.iter().map(|value| counts[*value] as u32).collect();
                let flat: Vec<f64> =
                    priors.iter().flat_map(|prior| present.iter().map(|value| prior[*value])).collect();
                let exact = posterior::approximate(&occurring, &flat, 1 << 22).unwrap();
                let counted: Vec<(&[f64], u64)> = priors.iter().map(|prior| (&prior[..], 1)).collect();
                let plain = Ceiling::new(&counted, &counts, 1e-15);
                let refined = Ceiling::refined(&counted, &counts, 1e-15);
                let (mut before, mut after) = (0.0, 0.0);
                for (row, prior) in priors.iter().enumerate() {
                    let (wide, narrow) = (plain.posterior(prior), refined.posterior(prior));
                    for (place, &value) in present.iter().enumerate() {
                        let truth = exact.posteriors[row * present.len() + place];
                        let (low, high) = narrow[value];
                        assert!(low <= truth + 1e-9 && truth <= high + 1e-9, "{low} {truth} {high}");
                        before += wide[value].1 - wide[value].0;
                        after += high - low;
                    }
                }
                assert!(after <= before);
                assert!(rows < 90 || after < before / 2.0, "{rows} {values}: {before} {after}");
            }
        }
    }

    #[test]
    fn rows_that_agree_count_as_often_as_they_occur() {
        let priors: [&[f64]; 2] = [&[0.6, 0.4], &[0.3, 0.7]];
        let once: Vec<(&[f64], u64)> = (0..200).map(|row| (priors[row % 2], 1)).collect();
        let many = [(priors[0], 100), (priors[1], 100)];
        let (once, many) =
            (Ceiling::refined(&once, &[90, 110], 0.0), Ceiling::refined(&many, &[90, 110], 0.0));
        for (a, b) in once.posterior(priors[0]).into_iter().zip(many.posterior(priors[0])) {
            assert!((a.0 - b.0).abs() < 1e-6 && (a.1 - b.1).abs() < 1e-6 && a.1 - a.0 < 0.05);
        }
    }
}
