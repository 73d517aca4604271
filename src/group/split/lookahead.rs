//! Where does a cut lead?
//!
//! The gain of a cut says nothing about the cuts that are possible below it. In small nodes the best cut of each column is
//! therefore followed to its end: its parts are split as long as that is safe, and the cut that leaves the smallest
//! certainty penalty is preferred. Which cuts are followed, and what is found, depends on the node alone: they are judged
//! by a test that has accepted nothing else, never by what was accepted before (mathematics 12). If none of them is
//! admitted, the gain decides.
//!
//! Memory: a copy of the rows of one node for each thread.

use super::count::{CountRows, Counted};
use super::frontier::OpenNode;
use super::leaf::rows_of_parts;
use super::plan::SplitPlan;
use super::propose::{ProposalRoom, ProposedCut};
use super::rank::CutStanding;
use super::rows::InMemory;
use super::triples::Counter;
use crate::encode::rows::Rows;
use crate::error::Result;
use crate::group::tree::CutTree;
use crate::model::split::SplitTest;

/// Nodes with fewer people than this many groups of the smallest size are small.
const SMALL_GROUPS: u64 = 64;
/// No node with more people is small.
const SMALL_PEOPLE: u64 = 1 << 13;
/// Cuts of a node that are followed, those of the columns with the largest gains.
const FOLLOWED: usize = 6;
/// In a table with more people, each cut matters less, and time matters more.
const TABLE_PEOPLE: u64 = 1 << 18;

/// Follows cuts with a test that has accepted nothing.
#[derive(Clone, Copy)]
pub struct Lookahead<'a> {
    untouched: &'a dyn SplitTest,
}

impl<'a> Lookahead<'a> {
    /// For a table of so many people; `None` if it is too large, or if groups are judged by their rows.
    pub fn new(untouched: &'a dyn SplitTest, people: u64) -> Option<Self> {
        (people <= TABLE_PEOPLE && !untouched.asks_for_rows()).then_some(Lookahead { untouched })
    }
}

impl SplitPlan<'_> {
    /// The cut of a small node that leads furthest, of those that the criterion admits.
    pub(super) fn look_ahead<R: CountRows>(
        &self,
        rows: &R,
        counted: Counted<'_, R>,
        criterion: &dyn SplitTest,
        columns: &[CutStanding],
        room: &mut ProposalRoom,
    ) -> Option<ProposedCut> {
        let (ahead, in_memory) = (self.lookahead?, rows.in_memory()?);
        let small = SMALL_PEOPLE.min(SMALL_GROUPS * ahead.untouched.least_people());
        if columns.len() < 2 || counted.node.part.people >= small {
            return None;
        }
        let followed = columns.iter().take(FOLLOWED);
        let cuts = followed
            .filter_map(|own| self.propose_column(rows, counted, ahead.untouched, own.column, None, room));
        let cuts: Vec<ProposedCut> = cuts.collect();
        if cuts.len() < 2 {
            return None;
        }
        let plan = SplitPlan { lookahead: None, ..*self };
        let end = |cut: ProposedCut| {
            let left = plan.penalty_below(in_memory, counted.node, &cut, ahead.untouched).ok()?;
            Some((left, cut))
        };
        let mut ends: Vec<(f64, ProposedCut)> = cuts.into_iter().map(end).collect::<Option<_>>()?;
        ends.sort_by(|(left, cut), (other, than)| left.total_cmp(other).then_with(|| than.preference(cut)));
        let mut admitted = ends.into_iter().map(|(_, cut)| cut);
        admitted.find(|cut| criterion.admits(&cut.parts, room.sweep.scratch()))
    }

    /// The certainty penalty of all people of a node once the parts of a cut are split as long as that is safe.
    fn penalty_below(
        &self,
        rows: &Rows,
        node: &OpenNode,
        cut: &ProposedCut,
        untouched: &dyn SplitTest,
    ) -> Result<f64> {
        let ranges = cut.cut.ranges(node.extent[cut.cut.column].clone());
        let of_parts = rows_of_parts(rows, node, &cut.cut, cut.parts.len());
        let mut test = untouched.fork();
        test.accept(&cut.parts);
        let mut penalty = 0.0;
        for ((of_part, part), range) in of_parts.iter().zip(&cut.parts).zip(ranges) {
            let mut own = InMemory::new(self.columns, rows.selected(of_part)?);
            let mut root =
                OpenNode { id: CutTree::ROOT, part: part.clone(), rows: 0..of_part.len(), ..node.clone() };
            root.extent[cut.cut.column] = range;
            let split = self.split(&mut own, root, &mut CutTree::default(), &mut *test)?;
            penalty += split.leaves.iter().map(|leaf| self.penalty(&own, leaf)).sum::<f64>();
        }
        Ok(penalty)
    }

    /// The certainty penalty of the people of a group.
    fn penalty(&self, rows: &InMemory<'_>, node: &OpenNode) -> f64 {
        let mut counter = Counter::default();
        let counted = Counted { counts: &(), place: 0, node };
        let widths =
            (0..self.columns.len()).map(|column| rows.spread(counted, column, &mut counter).whole_width());
        node.part.people as f64 * widths.sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::codes::Codes;
    use crate::encode::column::Column;
    use crate::encode::rows::Sensitive;
    use crate::group::split::rank::CutOrder;
    use crate::model::split::MinimumSizes;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    /// The certainty penalty of the groups of at least three of these people, who have two codes each.
    fn penalty(people: &[(u8, u8)], look: impl Fn(&dyn SplitTest) -> Option<Lookahead<'_>>) -> f64 {
        let columns = [Column::evenly_spaced(10), Column::evenly_spaced(10)];
        let (first, second) = people.iter().copied().unzip();
        let rows = Rows {
            columns: vec![Codes::Narrow(first), Codes::Narrow(second)],
            sensitive: Sensitive::Single(Codes::Narrow(vec![0; people.len()])),
        };
        let mut sizes = MinimumSizes { people: 3, distinct: 1 };
        let untouched = sizes;
        let plan = SplitPlan {
            columns: &columns,
            order: CutOrder::GainAndRoom,
            least_people: 3,
            lookahead: look(&untouched),
        };
        let whole = rows.total(1);
        let groups = plan.groups(rows, &whole, &mut sizes).unwrap().unwrap();
        let width = |(least, greatest): (u32, u32)| f64::from(greatest - least);
        let own = groups.iter().map(|group| {
            let widths = group.present.iter().map(|present| width(present.ends));
            group.part.people as f64 * widths.sum::<f64>()
        });
        own.sum()
    }

    /// Where groups are judged one by one, following cuts to their end never costs anything.
    #[test]
    fn cuts_that_are_followed_lead_further() {
        let mut runner = TestRunner::deterministic();
        let (mut better, tables) = (0, 300);
        for _ in 0..tables {
            let people = vec((0u8..10, 0u8..10), 6..60).new_tree(&mut runner).unwrap().current();
            let greedy = penalty(&people, |_| None);
            let followed = penalty(&people, |test| Lookahead::new(test, people.len() as u64));
            assert!(followed <= greedy + 1e-9, "{followed} above {greedy}: {people:?}");
            better += usize::from(followed + 1e-9 < greedy);
        }
        assert!(better > tables / 4, "better for {better} of {tables}");
    }
}
