//! May these groups be published beside the others?

use crate::encode::group_counts::GroupCounts;
use crate::encode::rows::Rows;
use crate::math::beliefs::group::Passes;
use crate::math::implications::{Bucket, Confidence, Safety, Verdict};
use crate::math::skyline::{Ranking, SkylineState};

/// Scratch to rank the counts of parts without allocating for each question.
#[derive(Debug, Default)]
pub struct Room {
    rankings: Vec<Ranking>,
    /// Parts as one of several criteria sees them.
    pub(super) projected: Vec<GroupCounts>,
}

/// A privacy criterion over all groups of a release, with what it remembers of those accepted so far.
///
/// Invariant: what [`Criterion::admits`] refuses it refuses for ever, whatever is accepted meanwhile.
/// The planner relies on it: a node without an admissible cut is finished.
pub trait Criterion: Send + Sync {
    /// Whether a group may be replaced by these parts; `room` is scratch, reused from one question to the next.
    fn admits(&self, parts: &[GroupCounts], room: &mut Room) -> bool;

    /// Takes in parts that were admitted; they become groups.
    fn accept(&mut self, parts: &[GroupCounts]);

    /// No group with fewer people can be admitted.
    fn least_people(&self) -> u64;

    /// Whether groups are judged by their rows too, with [`Criterion::judge`].
    fn asks_for_rows(&self) -> bool {
        false
    }

    /// Whether the rows numbered `of`, which publish `part`, may be a group, whatever the others are. Not monotone: groups
    /// that pass may have parts that do not, and the other way round.
    fn judge(&self, _rows: &Rows, _of: &[u32], _part: &GroupCounts, _effort: Effort) -> Passes {
        Passes::Yes
    }
}

/// How much work an answer is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// One of many cuts is tried; "unknown" is an answer.
    Try,
    /// The answer decides what is published.
    Settle,
}

/// Several criteria that must all hold.
pub struct Every {
    criteria: Vec<Box<dyn Criterion>>,
}

impl Every {
    /// All of these; at least one.
    pub fn new(criteria: Vec<Box<dyn Criterion>>) -> Self {
        Every { criteria }
    }
}

impl Criterion for Every {
    fn admits(&self, parts: &[GroupCounts], room: &mut Room) -> bool {
        self.criteria.iter().all(|criterion| criterion.admits(parts, room))
    }

    fn accept(&mut self, parts: &[GroupCounts]) {
        self.criteria.iter_mut().for_each(|criterion| criterion.accept(parts));
    }

    fn least_people(&self) -> u64 {
        self.criteria.iter().map(|criterion| criterion.least_people()).max().unwrap_or(1)
    }

    fn asks_for_rows(&self) -> bool {
        self.criteria.iter().any(|criterion| criterion.asks_for_rows())
    }

    fn judge(&self, rows: &Rows, of: &[u32], part: &GroupCounts, effort: Effort) -> Passes {
        let judged = self.criteria.iter().map(|criterion| criterion.judge(rows, of, part, effort));
        judged.fold(Passes::Yes, Passes::and)
    }
}

/// Minimum sizes that hold beside any model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Minimum {
    /// People per group.
    pub people: u64,
    /// Different sensitive values per group.
    pub distinct: usize,
}

impl Minimum {
    /// Whether a group is large and diverse enough.
    pub fn holds(&self, part: &GroupCounts) -> bool {
        part.people >= self.people && (self.distinct <= 1 || part.distinct() >= self.distinct)
    }
}

/// The privacy skyline, as a criterion for the planner.
#[derive(Debug, Clone)]
pub struct SkylineCriterion {
    minimum: Minimum,
    least_people: u64,
    state: SkylineState,
}

impl SkylineCriterion {
    /// With no group accepted yet.
    pub fn new(state: SkylineState, minimum: Minimum, distinct: usize) -> Self {
        let least_people = minimum.people.max(state.least_people(distinct)).max(1);
        SkylineCriterion { minimum, least_people, state }
    }

    /// The statistics over everything accepted.
    pub fn state(&self) -> &SkylineState {
        &self.state
    }
}

impl Criterion for SkylineCriterion {
    fn admits(&self, parts: &[GroupCounts], room: &mut Room) -> bool {
        if !parts.iter().all(|part| part.people >= self.least_people && self.minimum.holds(part)) {
            return false;
        }
        room.rankings.resize_with(parts.len().max(room.rankings.len()), Ranking::default);
        let ranked = room.rankings.iter_mut().zip(parts);
        let ranked = ranked.map(|(ranking, part)| {
            (ranking.rank(part.people, part.counts.iter().copied()), &part.counts[..])
        });
        match parts {
            [_, _] => {
                let mut ranked = ranked;
                match (ranked.next(), ranked.next()) {
                    (Some(below), Some(from)) => self.state.admits(&[below, from]),
                    _ => false,
                }
            }
            _ => self.state.admits(&ranked.collect::<Vec<_>>()),
        }
    }

    fn accept(&mut self, parts: &[GroupCounts]) {
        let mut ranking = Ranking::default();
        for part in parts {
            self.state.observe(&mut ranking, part.people, &part.counts, 0);
        }
    }

    fn least_people(&self) -> u64 {
        self.least_people
    }
}

/// Safety against k implications, as a criterion for the planner; only for single values.
///
/// Minima over all groups ever accepted decide exactly as the live groups would, see
/// [`implications`](crate::math::implications), so nothing has to be taken back when a group is replaced by its parts.
#[derive(Debug, Clone)]
pub struct ImplicationsCriterion {
    minimum: Minimum,
    least_people: u64,
    implications: usize,
    safety: Safety,
}

impl ImplicationsCriterion {
    /// With no group accepted yet.
    pub fn new(implications: usize, confidence: Confidence, minimum: Minimum) -> Self {
        let safety = Safety::new(implications, confidence);
        let least_people = minimum.people.max(safety.least_people());
        ImplicationsCriterion { minimum, least_people, implications, safety }
    }

    /// `None` if a part has nobody, or too many people for exact arithmetic.
    fn buckets(&self, parts: &[GroupCounts]) -> Option<Vec<Bucket>> {
        let bucket = |part: &GroupCounts| Bucket::from_counts(part.counts.iter().copied(), self.implications);
        parts.iter().map(bucket).collect()
    }
}

impl Criterion for ImplicationsCriterion {
    fn admits(&self, parts: &[GroupCounts], _room: &mut Room) -> bool {
        parts.iter().all(|part| part.people >= self.least_people && self.minimum.holds(part))
            && self.buckets(parts).is_some_and(|buckets| self.safety.allows(&buckets) == Verdict::Safe)
    }

    fn accept(&mut self, parts: &[GroupCounts]) {
        let admitted = self.buckets(parts).map(|buckets| self.safety.admit(&buckets));
        debug_assert_eq!(admitted, Some(Verdict::Safe), "only what is admitted may be accepted");
    }

    fn least_people(&self) -> u64 {
        self.least_people
    }
}
