//! How likely is each value at a row of a group that is too large for the exact posterior?
//!
//! In the notation of [`ceiling`](super::ceiling): bounds of R = n_y Z(c-x) / (n_x Z(c-y)), for one row i that is left out.
//!
//! **Along a line.** The weights Z are the coefficients of the product over the other rows of the linear forms
//! sum_v f_w(v) z_v. Such a product is a stable polynomial, and so are its coefficients in some of the variables. Fixing the
//! numbers of all values but x and y leaves a polynomial in one variable with real zeros only: by Newton's inequalities,
//! B(j) = ln(Z(j) / C(m, j)) is concave, where j of the m occurrences of x and y are x. And
//! ln R = B(n_x - 1) - B(n_x): so it is at most the mean slope to any larger j, and at least that to any smaller one.
//! An upper bound of B at one end and a lower bound at the other end d steps away bound R up to (their gap) / d.
//!
//! **From below.** If a polynomial sum a_j t^j of degree m with real zeros has b_j = a_j / C(m, j), then b_j <= b_k r^(j-k) for
//! some r, hence a_k >= beta(m, k) inf_t p(t)/t^k with beta(m, k) = C(m, k) (k/m)^k ((m-k)/m)^(m-k). One value after the
//! other: Z(b) >= prod beta(m_v, b_v) x inf over z of P(z) / z^b, where at most m_v rows can have v. The infimum is at least
//! exp(sum over w, v of q_w(v) ln(f_w(v)/q_w(v))) for any distributions q_w that add up to b. Take the choices p of a
//! [`Tilt`] that expects b and one more y: row i and what the tilt missed must be made up for. Moving mass between two values at
//! all rows in proportion to p_w(u) p_w(v) does that as a flow does in a network with conductances h_uv = sum p_w(u) p_w(v);
//! a flow with energy E costs at most 2 E, as long as no edge carries more than its conductance.
//!
//! **From above.** Z(b) = P(z)/z^b times the probability that independent rows, tilted by z, have exactly the numbers b. That
//! is at most the mean of their characteristic function's modulus, which is at most exp(-sum h_uv (1 - cos(t_u - t_v))). With
//! weights l_v that add up to 1, Hoelder's inequality over the stars around each value gives at most
//! prod over u < v of G(h_uv / (l_u + l_v))^(l_u + l_v), where G(h) = e^-h I_0(h) is the mean of exp(-h (1 - cos t)).
//!
//! **Floats.** Everything is a logarithm; errors of priors and roundings are added to the gap before it is divided by d.
//!
//! Memory: 8 B x values^2 for each of at most 10 x values tilts. Work: different priors x values^3.

use super::roundings::relative_error;
use super::tilt::{CountedPriors, Tilt, dot, ln_factorial, ln_factorial_error};

/// Groups with more different priors x values^3 are not examined.
const MOST_WORK: f64 = 3e8;
/// Larger errors of priors could matter where only those of sums are counted.
const LARGEST_PRIOR_ERROR: f64 = 1e-8;

/// What the tilts of a group say about its posteriors.
#[derive(Debug, Clone)]
pub(super) struct Capacity {
    /// The values that occur.
    present: Vec<usize>,
    /// The place of the value that others are compared with.
    common: usize,
    /// The rows as they are expected to choose.
    middle: Tilt,
    /// The weights of the stars.
    stars: Vec<f64>,
    ends: Vec<End>,
}

/// A point on the line from the group in which some x become the common value, or the other way round.
#[derive(Debug, Clone)]
struct End {
    value: usize,
    side: Side,
    /// How far it is.
    steps: f64,
    tilt: Tilt,
    /// The gap between the two bounds, except for what depends on the row that is left out.
    gap: f64,
}

/// Which bound of R an end is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// More x: an upper bound.
    Above,
    /// Fewer x: a lower bound.
    Below,
}

impl Capacity {
    /// Of a group with these priors, each shared by a number of rows and off by at most `prior_error` relatively.
    /// `None` if nothing can be said.
    pub(super) fn new(priors: &[(&[f64], u64)], counts: &[u64], prior_error: f64) -> Option<Self> {
        let present: Vec<usize> = (0..counts.len()).filter(|value| counts[*value] > 0).collect();
        let work = priors.len() as f64 * (present.len() as f64).powi(3);
        if present.len() < 2 || work > MOST_WORK || !(0.0..=LARGEST_PRIOR_ERROR).contains(&prior_error) {
            return None;
        }
        let held: Vec<f64> = present.iter().map(|value| counts[*value] as f64).collect();
        let people: f64 = held.iter().sum();
        let common = (0..held.len()).max_by(|a, b| held[*a].total_cmp(&held[*b]))?;
        let rows = CountedPriors::new(priors, &present, prior_error);
        let middle = rows.tilt(&held, common, &vec![0.0; held.len()])?;
        let stars = held.iter().map(|own| own / people).collect();
        let mut capacity = Capacity { present, common, middle, stars, ends: Vec::new() };
        let able: Vec<f64> = (0..held.len()).map(|value| rows.able(value)).collect();
        let group = Line { rows: &rows, held: &held, able: &able };
        for value in (0..held.len()).filter(|value| *value != common) {
            for side in [Side::Above, Side::Below] {
                capacity.add_ends(&group, value, side);
            }
        }
        Some(capacity)
    }

    fn add_ends(&mut self, group: &Line<'_>, value: usize, side: Side) {
        let (held, common) = (group.held, self.common);
        let room = match side {
            Side::Above => (held[common] - 1.0).min(group.able[value] - held[value]),
            Side::Below => held[value].min(group.able[common] - held[common]),
        };
        let mut from = held.to_vec();
        from[if side == Side::Above { value } else { common }] -= 1.0;
        // The gap grows with the square of the steps, by the curvature of B.
        let mut direction = vec![0.0; held.len()];
        direction[value] = 1.0;
        let bent = self.middle.response(&direction, common).map_or(1.0, |response| response[value]);
        let bent = (bent - 1.0 / held[value] - 1.0 / held[common]).max(1e-9);
        let looseness = (self.likeliest(None) - group.least_share(&from, common)).max(0.1);
        let best = (2.0 * looseness / bent).sqrt();
        let mut tried: Vec<f64> =
            [0.5, 0.75, 1.0, 1.4].map(|part| (best * part).round().clamp(1.0, room.max(1.0))).to_vec();
        tried.dedup();
        let mut start = self.middle.logarithms.clone();
        for steps in tried.into_iter().filter(|steps| *steps <= room) {
            let sign = if side == Side::Above { 1.0 } else { -1.0 };
            let mut to = from.clone();
            to[value] += sign * steps;
            to[common] -= sign * steps;
            let mut wanted = to.clone();
            wanted[common] += 1.0;
            let Some(tilt) = group.rows.tilt(&wanted, common, &start) else { continue };
            start.clone_from(&tilt.logarithms);
            let people: f64 = held.iter().sum();
            let pairs = |held: &[f64]| {
                let (x, y) = (held[value], held[common]);
                ln_factorial(x + y) - ln_factorial(x) - ln_factorial(y)
            };
            let (one, other) = (dot(&from, &self.middle.logarithms), dot(&to, &tilt.logarithms));
            let size =
                one.abs() + other.abs() + dot(&from, &absolute(&self.middle)) + dot(&to, &absolute(&tilt));
            let error = self.middle.total_error
                + tilt.total_error
                + (size + people) * relative_error(held.len() as u64 + 16)
                + ln_factorial_error(people, 3 * held.len() + 6)
                + 1e-8;
            let gap =
                self.middle.total - tilt.total - one + other - group.least_share(&to, common) - pairs(&from)
                    + pairs(&to)
                    + error;
            self.ends.push(End { value, side, steps, tilt, gap });
        }
    }

    /// A bound on the logarithm of the probability that the rows, without one of them, have any given numbers of values.
    fn likeliest(&self, without: Option<&[f64]>) -> f64 {
        let values = self.stars.len();
        let mut bound = 0.0;
        for u in 0..values {
            for v in 0..u {
                let share = self.stars[u] + self.stars[v];
                let gone = without.map_or(0.0, |own| own[u] * own[v]);
                bound += share * ln_mean_on_circle((self.middle.shared[u * values + v] - gone) / share);
            }
        }
        bound
    }

    /// For each value that occurs the least and the greatest ln R between it and the common one, if a row with this
    /// prior is left out.
    fn ranges_to_common(&self, prior: &[f64]) -> Vec<(f64, f64)> {
        let own = || self.present.iter().map(|value| prior[*value]);
        let mut choice = Vec::with_capacity(self.present.len());
        let total = self.middle.choice(own(), &mut choice);
        let above = self.likeliest(Some(&choice)) - total;
        let mut ranges = vec![(f64::NEG_INFINITY, f64::INFINITY); self.present.len()];
        ranges[self.common] = (0.0, 0.0);
        for end in &self.ends {
            let total = end.tilt.choice(own(), &mut choice);
            let Some(cost) = end.cost_without(&choice, self.common) else { continue };
            let slope = (end.gap + above + total + cost) / end.steps;
            let range = &mut ranges[end.value];
            // A NaN loses.
            match end.side {
                Side::Above => range.1 = range.1.min(slope),
                Side::Below => range.0 = range.0.max(-slope),
            }
        }
        ranges
    }

    /// The least and the greatest R for every pair of values, by x x values + y, if a row with this prior is left out.
    pub(super) fn ranges(&self, prior: &[f64]) -> Vec<(f64, f64)> {
        let values = prior.len();
        let own = self.ranges_to_common(prior);
        let mut ranges = vec![(0.0, f64::INFINITY); values * values];
        for (x, (low_x, high_x)) in self.present.iter().zip(&own) {
            for (y, (low_y, high_y)) in self.present.iter().zip(&own).filter(|(y, _)| *y != x) {
                let (low, high) = ((low_x - high_y).exp(), (high_x - low_y).exp());
                ranges[x * values + y] = (low * (1.0 - 1e-12), high * (1.0 + 1e-12));
            }
        }
        ranges
    }
}

/// What all lines through a group have in common.
struct Line<'a> {
    rows: &'a CountedPriors,
    held: &'a [f64],
    /// How many rows can have each value.
    able: &'a [f64],
}

impl Line<'_> {
    /// The logarithm of prod beta(m_v, b_v) over all values but the common one, the rarest first.
    fn least_share(&self, numbers: &[f64], common: usize) -> f64 {
        let mut left: f64 = numbers.iter().sum();
        let mut order: Vec<usize> = (0..numbers.len()).filter(|value| *value != common).collect();
        order.sort_by(|a, b| numbers[*a].total_cmp(&numbers[*b]));
        let mut share = 0.0;
        for value in order {
            let (most, number) = (self.able[value].min(left), numbers[value]);
            if number > 0.0 && number < most {
                share += ln_factorial(most) - ln_factorial(number) - ln_factorial(most - number)
                    + number * (number / most).ln()
                    + (most - number) * ((most - number) / most).ln();
            }
            left -= number;
        }
        share
    }
}

impl End {
    /// What it costs at most to make up for a row that chooses like this and is left out, and for what the tilt missed;
    /// `None` if the other rows cannot.
    fn cost_without(&self, choice: &[f64], common: usize) -> Option<f64> {
        let values = choice.len();
        let conductance =
            |u: usize, v: usize| (self.tilt.shared[u * values + v] - choice[u] * choice[v]).max(0.0);
        let (mut root, mut carried) = (0.0, 0.0);
        for value in (0..values).filter(|value| *value != common && self.tilt.weights[*value] > 0.0) {
            let amount = choice[value] + self.tilt.missed[value];
            let mut through = conductance(value, common);
            for over in (0..values).filter(|over| *over != common && *over != value) {
                let (first, second) = (conductance(value, over), conductance(over, common));
                if first > 0.0 && second > 0.0 {
                    through += first * second / (first + second);
                }
            }
            root += amount / through.sqrt();
            carried += amount / through;
        }
        // A NaN or an infinity is not below.
        (carried < 0.999 && root.is_finite()).then_some(2.0 * root * root * (1.0 + 1e-6))
    }
}

fn absolute(tilt: &Tilt) -> Vec<f64> {
    tilt.logarithms.iter().map(|own| own.abs()).collect()
}

/// A bound on the logarithm of G(h), at most 0.
///
/// The series of I_0 has positive terms, which fall faster than a geometric series from k = h on. For large h, with
/// u = sin(t/2): G = 2/pi times the integral of exp(-2 h u^2) / sqrt(1 - u^2) over 0..1, where the root is at most 1 + u^2 as
/// long as u^2 <= 0.6, and the rest is at most exp(-1.2 h).
fn ln_mean_on_circle(h: f64) -> f64 {
    if h.is_nan() || h <= 0.0 {
        return 0.0;
    }
    let bound = if h > 16.0 {
        ((1.0 + 0.25 / h) / (std::f64::consts::TAU * h).sqrt() + (-1.2 * h).exp()).ln()
    } else {
        let (mut sum, mut term, mut k) = (1.0, 1.0, 0.0);
        while k < 40.0 {
            k += 1.0;
            term *= (h / (2.0 * k)) * (h / (2.0 * k));
            sum += term;
        }
        (sum * (1.0 + 1e-12)).ln() - h
    };
    bound.min(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::posterior;
    use proptest::prelude::*;

    /// Priors in proportion to weights, and what each row has.
    fn groups() -> impl Strategy<Value = (Vec<Vec<u32>>, Vec<usize>)> {
        (2usize..5, 4usize..40).prop_flat_map(|(values, rows)| {
            let even = prop::collection::vec(5u32..10, values);
            let uneven = prop::collection::vec(prop_oneof![1u32..100, Just(0), Just(1)], values);
            let rows_of = move |own| prop::collection::vec(own, rows);
            let priors = prop_oneof![rows_of(even.boxed()), rows_of(uneven.boxed())];
            (priors, prop::collection::vec(0..values, rows))
        })
    }

    proptest! {
        #[test]
        fn ranges_hold_the_exact_ratios((weights, held) in groups()) {
            let values = weights[0].len();
            let mut counts = vec![0u64; values];
            held.iter().for_each(|value| counts[*value] += 1);
            let prior = |(weights, held): (&Vec<u32>, &usize)| {
                let own = weights.iter().enumerate().map(|(value, weight)| weight + u32::from(value == *held));
                let total: u32 = own.clone().sum();
                own.map(|weight| f64::from(weight) / f64::from(total)).collect::<Vec<f64>>()
            };
            let priors: Vec<Vec<f64>> = weights.iter().zip(&held).map(prior).collect();
            let counted: Vec<(&[f64], u64)> = priors.iter().map(|prior| (&prior[..], 1)).collect();
            let Some(capacity) = Capacity::new(&counted, &counts, 1e-15) else { return Ok(()) };
            let present = &capacity.present;
            let occurring: Vec<u32> = present.iter().map(|value| counts[*value] as u32).collect();
            let flat: Vec<f64> = priors.iter().flat_map(|prior| present.iter().map(|value| prior[*value])).collect();
            let Ok(exact) = posterior::approximate(&occurring, &flat, 1 << 22) else { return Ok(()) };
            for (row, prior) in priors.iter().enumerate() {
                let ranges = capacity.ranges(prior);
                let posterior = &exact.posteriors[row * present.len()..(row + 1) * present.len()];
                for (a, &x) in present.iter().enumerate() {
                    for (b, &y) in present.iter().enumerate().filter(|(b, _)| *b != a) {
                        let (low, high) = ranges[x * values + y];
                        // p(y)/p(x) = f(y) n_y / (f(x) n_x R)
                        let ahead = posterior[a] * prior[y] * counts[y] as f64;
                        let behind = posterior[b] * prior[x] * counts[x] as f64;
                        prop_assert!(behind * low <= ahead * (1.0 + 1e-9), "{} {} {}", low, ahead, behind);
                        let within = high.is_infinite() || ahead <= behind * high * (1.0 + 1e-9);
                        prop_assert!(within, "{} {} {}", high, ahead, behind);
                    }
                }
            }
        }

        #[test]
        fn the_mean_on_a_circle_is_never_understated(h in 0.0..60.0f64) {
            let steps = 20_000;
            let at = |k: i32| (-h * (1.0 - (std::f64::consts::PI * (f64::from(k) + 0.5) / f64::from(steps)).cos())).exp();
            let mean = (0..steps).map(at).sum::<f64>() / f64::from(steps);
            let bound = ln_mean_on_circle(h).exp();
            prop_assert!(mean <= bound * (1.0 + 1e-9) && bound < mean * 1.05, "{} {} {}", h, mean, bound);
        }
    }

    #[test]
    fn large_groups_are_enclosed_closely() {
        // 300 rows of three kinds, one of which lacks a value.
        let priors: [(&[f64], u64); 3] =
            [(&[0.2, 0.3, 0.4, 0.1], 150), (&[0.4, 0.2, 0.1, 0.3], 100), (&[0.5, 0.5, 0.0, 0.0], 50)];
        let capacity = Capacity::new(&priors, &[90, 95, 70, 45], 1e-15).unwrap();
        for (prior, _) in priors {
            for (low, high) in capacity.ranges_to_common(prior) {
                assert!(high - low < 0.35, "{low} {high}");
            }
        }
    }

    #[test]
    fn factorials() {
        let mut sum = 0.0;
        for n in 1..300 {
            sum += f64::from(n).ln();
            assert!((ln_factorial(f64::from(n)) - sum).abs() < 1e-10);
        }
    }
}
