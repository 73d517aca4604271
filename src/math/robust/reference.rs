//! ART taken literally from mathematics 3.3: quadratic, in fractions, for tests only.

use crate::math::exact::{Rational, ratio};
use crate::math::posterior;

/// The test by name, as in the vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Named {
    Delta,
    Ratio,
    Exact,
}

/// One tuple: its value and, for each attribute set, its priors by value.
#[derive(Debug, Clone)]
pub(crate) struct Tuple {
    pub(crate) value: usize,
    pub(crate) priors: Vec<Vec<Rational>>,
}

type Groups = (Vec<Vec<usize>>, Vec<usize>);

/// The groups and the suppressed tuples, `None` if infeasible.
pub(crate) fn art(tuples: &[Tuple], r: &Rational, test: Named) -> Option<Groups> {
    let values = tuples.iter().map(|tuple| tuple.value + 1).max().unwrap_or(0);
    let count = |of: &[usize]| {
        let mut counts = vec![0usize; values];
        of.iter().for_each(|&tuple| counts[tuples[tuple].value] += 1);
        counts
    };
    let mut left: Vec<usize> = (0..tuples.len()).collect();
    let most = count(&left).into_iter().max().unwrap_or(0);
    if ratio(most as u64, 1) * Rational::from(r.ceil()) > ratio(tuples.len() as u64, 1) {
        return None;
    }
    let (mut groups, mut stuck): (Vec<Vec<usize>>, Vec<usize>) = (vec![], vec![]);
    while !left.is_empty() {
        let counts = count(&left);
        let seed =
            *left.iter().min_by_key(|&&tuple| (usize::MAX - counts[tuples[tuple].value], tuple)).unwrap();
        left.retain(|&tuple| tuple != seed);
        let mut group = vec![seed];
        while !holds(tuples, &group, r, test) {
            let counts = count(&left);
            let fresh =
                left.iter().filter(|&&t| group.iter().all(|&member| tuples[member].value != tuples[t].value));
            let next = fresh.min_by_key(|&&tuple| {
                let grown: Vec<usize> = group.iter().copied().chain([tuple]).collect();
                (spread(tuples, &grown), usize::MAX - counts[tuples[tuple].value], tuple)
            });
            let Some(&next) = next else { break };
            left.retain(|&tuple| tuple != next);
            group.push(next);
        }
        if holds(tuples, &group, r, test) { groups.push(group) } else { stuck.extend(group) }
    }
    stuck.sort_unstable();
    let mut suppressed = vec![];
    for tuple in stuck {
        let with = |group: &[usize]| group.iter().copied().chain([tuple]).collect::<Vec<_>>();
        let fits = (0..groups.len()).filter(|&at| holds(tuples, &with(&groups[at]), r, test));
        match fits.min_by_key(|&at| (spread(tuples, &with(&groups[at])), at)) {
            Some(at) => groups[at].push(tuple),
            None => suppressed.push(tuple),
        }
    }
    groups.iter_mut().for_each(|group| group.sort_unstable());
    Some((groups, suppressed))
}

fn column(tuples: &[Tuple], group: &[usize], set: usize, value: usize) -> (Rational, Rational) {
    let priors: Vec<&Rational> = group.iter().map(|&member| &tuples[member].priors[set][value]).collect();
    (priors.iter().copied().min().unwrap().clone(), priors.iter().copied().max().unwrap().clone())
}

fn spread(tuples: &[Tuple], group: &[usize]) -> Rational {
    let sets = tuples[group[0]].priors.len();
    let cells = (0..sets).flat_map(|set| group.iter().map(move |&member| (set, tuples[member].value)));
    let differences = cells.map(|(set, value)| {
        let (low, high) = column(tuples, group, set, value);
        high - low
    });
    differences.max().unwrap()
}

/// Whether the test holds for a group, by the formulas of mathematics 3.2.
pub(crate) fn holds(tuples: &[Tuple], group: &[usize], r: &Rational, test: Named) -> bool {
    let size = ratio(group.len() as u64, 1);
    let values: Vec<usize> = group.iter().map(|&member| tuples[member].value).collect();
    // A group of ART holds at most one of each value, even under the exact test.
    if values.iter().enumerate().any(|(at, value)| values[..at].contains(value)) {
        return false;
    }
    (0..tuples[group[0]].priors.len()).all(|set| {
        if test == Named::Exact {
            let counts = vec![1; values.len()];
            let rows = group.iter().map(|&member| &tuples[member].priors[set]);
            let priors: Vec<Rational> =
                rows.flat_map(|row| values.iter().map(|&value| row[value].clone())).collect();
            let posteriors = posterior::exact(&counts, &priors, 1 << 20);
            return posteriors.is_ok_and(|all| all.iter().all(|p| p * r <= Rational::ONE));
        }
        if size < *r {
            return false;
        }
        let rho = |value: usize| {
            let (low, high) = column(tuples, group, set, value);
            (high != Rational::ZERO).then(|| low / high)
        };
        values.iter().all(|&x| match test {
            Named::Ratio => {
                let others = values.iter().filter(|&&y| y != x).map(|&y| rho(y));
                let Some(smallest) = others.collect::<Option<Vec<_>>>().and_then(|all| all.into_iter().min())
                else {
                    return false;
                };
                rho(x).is_some_and(|rho| (&size - Rational::ONE) * rho * smallest >= r - Rational::ONE)
            }
            _ => {
                let (low, high) = column(tuples, group, set, x);
                if high == Rational::ZERO {
                    return false;
                }
                let ceiling = if high == Rational::ONE {
                    Rational::ZERO
                } else {
                    let odds = &high * (r - Rational::ONE) / (Rational::ONE - &high);
                    (&size - r) * &high / (odds + (&size - Rational::ONE))
                };
                high - low <= ceiling
            }
        })
    })
}
