//! How likely is it that a part of a node gets more of a value than expected?
//!
//! Logarithms and ratios of hypergeometric tails in binary64, each rounded to the safe side: the relative error of a
//! sum of a million terms is below 1e-9, and [`SLACK`] is added.

/// More than all rounding errors of a logarithm here.
const SLACK: f64 = 1e-6;

/// Of `people` people `having` have the value, and `dealt` of them are drawn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dealing {
    pub people: u64,
    pub having: u64,
    pub dealt: u64,
}

/// The sum of the terms from some place on, relative to the first of them.
struct TermSum {
    /// The logarithm of the sum, without what was left out.
    ln_sum: f64,
    /// An upper bound of the mean place.
    mean: f64,
}

impl Dealing {
    fn least(&self) -> u64 {
        self.dealt.saturating_sub(self.people - self.having)
    }

    fn most(&self) -> u64 {
        self.dealt.min(self.having)
    }

    /// The chance of `count + 1` relative to that of `count`; falls with `count`.
    fn step(&self, count: u64) -> f64 {
        let above = (self.having - count) as f64 * (self.dealt - count) as f64;
        let others = (self.people - self.having + count + 1 - self.dealt) as f64;
        above / ((count + 1) as f64 * others)
    }

    /// Sums the chances from `first` on, relative to the chance of `first`, which must be possible.
    fn sum_from(&self, first: u64) -> TermSum {
        let (mut term, mut sum, mut moment, mut ln_scale) = (1.0f64, 1.0f64, 0.0f64, 0.0f64);
        let (mut rest, mut rest_moment) = (0.0, 0.0);
        for count in first..self.most() {
            let step = self.step(count);
            let place = (count + 1 - first) as f64;
            if step < 0.99 && term < 1e-17 * sum {
                // Later steps are smaller still, so a geometric series bounds what is left out.
                rest = term * step / (1.0 - step);
                rest_moment = rest * (place + 1.0 / (1.0 - step));
                break;
            }
            term *= step;
            sum += term;
            moment += term * place;
            if sum > 1e200 {
                (term, sum, moment, ln_scale) = (term / sum, 1.0, moment / sum, ln_scale + sum.ln());
            }
        }
        let mean = first as f64 + (moment + rest_moment) / sum * (1.0 + 1e-9);
        TermSum { ln_sum: ln_scale + (sum + rest).ln(), mean }
    }

    /// An upper bound of the mean of the counts above `limit`; `None` if there are none.
    pub(super) fn mean_above(&self, limit: i64) -> Option<f64> {
        self.first_above(limit).map(|first| self.sum_from(first).mean)
    }

    /// A lower bound of the logarithm of the chance of more than `limit`.
    pub(super) fn ln_chance_above(&self, limit: i64) -> f64 {
        let Some(first) = self.first_above(limit) else { return f64::NEG_INFINITY };
        if first == self.least() {
            return -SLACK;
        }
        let Dealing { people, having, dealt } = *self;
        let ln_first =
            ln_choose(having, first) + ln_choose(people - having, dealt - first) - ln_choose(people, dealt);
        ln_first + self.sum_from(first).ln_sum - SLACK
    }

    /// An upper bound of the logarithm of the chance of more than `far`, given more than `near`, which is not larger.
    pub(super) fn ln_farther(&self, near: i64, far: i64) -> f64 {
        let (Some(first), Some(second)) = (self.first_above(near), self.first_above(far)) else {
            return f64::NEG_INFINITY;
        };
        let between: f64 = (first..second).map(|count| self.step(count).ln()).sum();
        between + self.sum_from(second).ln_sum - self.sum_from(first).ln_sum + SLACK
    }

    fn first_above(&self, limit: i64) -> Option<u64> {
        let first = u64::try_from(limit + 1).unwrap_or(0).max(self.least());
        (first <= self.most()).then_some(first)
    }
}

/// The chance of more than `limit` among `people` independent people who each have the value with chance `share`.
pub(super) fn binomial_above(people: u64, share: f64, limit: i64) -> f64 {
    let first = u64::try_from(limit + 1).unwrap_or(0);
    if first > people {
        return 0.0;
    }
    if first as f64 <= people as f64 * share || share >= 1.0 {
        return 1.0;
    }
    let odds = share / (1.0 - share);
    let (mut term, mut sum) = (1.0, 1.0);
    for count in first..people {
        term *= (people - count) as f64 / (count + 1) as f64 * odds;
        sum += term;
        if term < 1e-17 * sum {
            break;
        }
    }
    let ln_first =
        ln_choose(people, first) + first as f64 * share.ln() + (people - first) as f64 * (-share).ln_1p();
    (ln_first.exp() * sum).min(1.0)
}

/// The largest limit above which the mean count of `people` independent people, each with the value with chance `share`, is
/// below `mean`; -1 if even the mean of all counts is not.
pub(super) fn highest_with_mean_below(people: u64, share: f64, mean: f64) -> i64 {
    if share <= 0.0 || share >= 1.0 {
        return -1;
    }
    let odds = (1.0 - share) / share;
    let (mut term, mut sum, mut moment) = (1.0, 0.0, 0.0);
    for count in (0..=people).rev() {
        sum += term;
        moment += term * count as f64;
        if moment < mean * sum {
            return count as i64 - 1;
        }
        term *= count as f64 / (people - count + 1) as f64 * odds;
        if sum > 1e200 {
            (term, moment, sum) = (term / sum, moment / sum, 1.0);
        }
    }
    -1
}

fn ln_choose(all: u64, some: u64) -> f64 {
    ln_factorial(all) - ln_factorial(some) - ln_factorial(all - some)
}

/// Stirling's series; its error from 16 on is below 1e-11.
fn ln_factorial(n: u64) -> f64 {
    if n < 16 {
        return (2..=n).map(|factor| (factor as f64).ln()).sum();
    }
    let n = n as f64;
    let correction = (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / (n * n)) / (n * n)) / n;
    (n + 0.5) * n.ln() - n + 0.5 * (2.0 * std::f64::consts::PI).ln() + correction
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chances(dealing: Dealing) -> Vec<f64> {
        let choose = |n: u64, k: u64| (0..k).fold(1.0, |all, i| all * (n - i) as f64 / (i + 1) as f64);
        let Dealing { people, having, dealt } = dealing;
        (0..=dealt)
            .map(|count| match count < dealing.least() || count > dealing.most() {
                true => 0.0,
                false => {
                    choose(having, count) * choose(people - having, dealt - count) / choose(people, dealt)
                }
            })
            .collect()
    }

    #[test]
    fn tails_agree_with_sums_of_chances_on_the_safe_side() {
        for (people, having, dealt) in [(20, 7, 5), (50, 10, 20), (50, 45, 20), (9, 3, 9), (200, 60, 70)] {
            let dealing = Dealing { people, having, dealt };
            let chances = chances(dealing);
            assert!((chances.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            for near in -1..dealt as i64 {
                let tail: f64 = chances[(near + 1) as usize..].iter().sum();
                let ln = dealing.ln_chance_above(near);
                if tail == 0.0 {
                    assert_eq!((ln, dealing.mean_above(near)), (f64::NEG_INFINITY, None));
                    continue;
                }
                assert!(ln <= tail.ln() && ln > tail.ln() - 1e-5, "{dealing:?} {near}");
                let moment: f64 =
                    chances.iter().enumerate().skip((near + 1) as usize).map(|(at, p)| at as f64 * p).sum();
                let mean = dealing.mean_above(near).unwrap();
                assert!(mean >= moment / tail - 1e-9 && mean < moment / tail + 1e-5, "{dealing:?} {near}");
                for far in near..dealt as i64 {
                    let farther: f64 = chances[(far + 1) as usize..].iter().sum();
                    let ln = dealing.ln_farther(near, far);
                    let expected = (farther / tail).ln();
                    assert!(
                        ln >= expected && (ln < expected + 1e-5 || ln == expected),
                        "{dealing:?} {near} {far}"
                    );
                }
            }
        }
    }

    #[test]
    fn far_tails_neither_overflow_nor_vanish() {
        let dealing = Dealing { people: 1_000_000, having: 250_000, dealt: 50_000 };
        assert!(
            (-4100.0..-3900.0).contains(&dealing.ln_chance_above(16_249))
                || dealing.ln_chance_above(16_249) < -500.0
        );
        assert!(dealing.ln_farther(10_000, 20_000) < -1000.0);
        assert!(dealing.ln_farther(10_000, 20_000).is_finite());
        assert!((binomial_above(10, 0.5, 9) - 1.0 / 1024.0).abs() < 1e-12);
        assert_eq!(binomial_above(10, 0.5, 10), 0.0);
    }
}
