//! Criteria over shares as a split test.
//!
//! t-closeness and probabilistic l-diversity depend on one group and the whole table, so nothing is
//! remembered and a refusal is permanent. Memory: O(values).

use crate::encode::group_counts::Part;
use crate::math::shares::ShareRule;
use crate::model::obstacle::{Objection, ObstructingRule};
use crate::model::split::{Scratch, SplitTest};

/// Rules that every group must satisfy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharesTest {
    rules: Vec<ShareRule>,
}

impl SharesTest {
    /// All of these rules.
    pub fn new(rules: Vec<ShareRule>) -> Self {
        SharesTest { rules }
    }

    /// Whether a group satisfies all rules.
    fn holds(&self, part: &Part) -> bool {
        let counts = || part.counts().iter().map(|&(code, count)| (u32::from(code), count));
        self.rules.iter().all(|rule| rule.measure(counts()) <= *rule.most())
    }
}

impl SplitTest for SharesTest {
    fn admits(&self, parts: &[Part], _scratch: &mut Scratch) -> bool {
        parts.iter().all(|part| self.holds(part))
    }

    fn accept(&mut self, _parts: &[Part]) -> bool {
        false
    }

    fn least_people(&self) -> u64 {
        1
    }

    fn fork(&self) -> Box<dyn SplitTest> {
        Box::new(self.clone())
    }

    fn afresh(&self) -> Box<dyn SplitTest> {
        self.fork()
    }

    fn objection(&self, parts: &[Part], _scratch: &mut Scratch) -> Option<Objection> {
        let of_rule = |(number, rule): (u16, &ShareRule)| {
            let most = rule.most().to_f64().value();
            let excesses = parts.iter().map(|part| {
                let counts = part.counts().iter().map(|&(code, count)| (u32::from(code), count));
                match rule.measure(counts).to_f64().value() {
                    0.0 => 0.0,
                    measured => measured / most,
                }
            });
            Objection::new(ObstructingRule::Shares(number), excesses.fold(0.0, f64::max))
        };
        Objection::furthest((0..).zip(&self.rules).map(of_rule))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::group_counts::GroupCounts;
    use crate::math::exact::ratio;
    use crate::math::shares::Ground;

    #[test]
    fn every_part_must_fulfil_every_rule() {
        let near = ShareRule::closeness(ratio(1, 4), Ground::Equal, vec![0, 1], 2, &[10, 10]);
        let few = ShareRule::LargestShare { most: ratio(3, 5) };
        let part = |a, b| Part::of(&GroupCounts { people: a + b, counts: vec![a, b] });
        let asked = |rules: &[&ShareRule], parts: &[Part]| {
            SharesTest::new(rules.iter().map(|&rule| rule.clone()).collect())
                .admits(parts, &mut Scratch::default())
        };
        assert!(asked(&[&near], &[part(3, 1), part(2, 2)]));
        assert!(!asked(&[&near], &[part(4, 1), part(2, 2)]));
        assert!(!asked(&[&near, &few], &[part(3, 1), part(2, 2)]));
        assert!(asked(&[&near, &few], &[part(3, 2)]));
    }
}
