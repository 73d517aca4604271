//! How wrong are count queries that are answered from a release?
//!
//! A query counts the people whose codes lie in a range for each of `dimension` quasi-identifiers and whose sensitive
//! value also lies in a range. Every range has the same share of its column's codes, the (dimension + 1)-th root of the
//! selectivity, so that independent, evenly spread columns would give counts of that share of all people. Columns and
//! positions are drawn anew for each query from a seed. The answer of the release is, summed over the groups, the count
//! of the values in the range times the share of each cover that lies in its range. The relative error is |answer -
//! count| / max(count, least): the bound `least` keeps queries that match hardly anybody from dominating the mean.
//!
//! A person with several sensitive values counts once for each of them.
//!
//! Work: for each row and group a few machine words per 64 queries and column, then only the queries that can count it.
//! Memory: per 1,024 queries and column at most 0.7 MB.

use std::ops::Range;

use super::released::Released;
use crate::error::{Error, Result, Setting};
use crate::math::random::Random;

/// Number of queries that share an index.
const BLOCK: usize = 1024;
const WORDS: usize = BLOCK / 64;
/// The largest number of queries in a workload.
pub const MOST_QUERIES: usize = 10_000;
/// Fractions of a person: answers are whole multiples of these.
const PART_BITS: u32 = 32;

/// Which queries are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Design {
    /// Number of queries.
    pub queries: usize,
    /// Number of quasi-identifiers in each query.
    pub dimension: usize,
    /// The share of the people that a query would count if all columns were independent and evenly spread.
    pub selectivity: f64,
    /// The seed of the random numbers.
    pub seed: u64,
}

impl Default for Design {
    fn default() -> Self {
        Design { queries: 1000, dimension: 2, selectivity: 0.05, seed: 1 }
    }
}

/// One query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// Quasi-identifiers, ascending, and the codes required of them.
    pub quasi: Vec<(usize, Range<u32>)>,
    /// The codes required of the sensitive value.
    pub sensitive: Range<u32>,
}

/// Queries, ready to be counted.
pub struct Workload {
    queries: Vec<Query>,
    columns: usize,
    blocks: Vec<Block>,
}

/// The index of some queries: one column after the other, the sensitive one last.
struct Block {
    first: usize,
    columns: Vec<Index>,
}

type Bits = [u64; WORDS];

/// The queries that may count a code. Between two ends of ranges all codes are alike: they form one step.
struct Index {
    step: Vec<u16>,
    /// Queries whose range begins at or before a step.
    begun: Vec<Bits>,
    /// Queries whose range ends after a step.
    unfinished: Vec<Bits>,
}

impl Workload {
    /// Draws queries over columns with the given numbers of codes and of sensitive values.
    ///
    /// # Errors
    /// A design that these columns do not allow.
    pub fn draw(codes: &[u32], values: u32, design: &Design) -> Result<Self> {
        if design.dimension > codes.len() {
            return Err(Error::missing(
                format!(
                    "queries of dimension {} are requested, with {} quasi-identifiers",
                    design.dimension,
                    codes.len()
                ),
                "ask about fewer columns",
                Setting::Dimension,
            ));
        }
        if !(design.selectivity > 0.0 && design.selectivity <= 1.0) {
            return Err(Error::missing(
                "the selectivity is not a share of the people",
                "give a number above 0 and at most 1, such as 0.05",
                Setting::Selectivity,
            ));
        }
        if design.queries == 0 || design.queries > MOST_QUERIES {
            return Err(Error::missing(
                format!("{} queries are requested", design.queries),
                format!("give a number from 1 to {MOST_QUERIES}"),
                Setting::Queries,
            ));
        }
        let share = design.selectivity.powf(1.0 / (design.dimension as f64 + 1.0));
        let query = |number: usize| {
            let mut draw = Random::stream(design.seed, number as u64);
            let mut left: Vec<usize> = (0..codes.len()).collect();
            let range = |codes: u32, draw: &mut Random| {
                let width = ((f64::from(codes) * share).round() as u32).clamp(1, codes.max(1));
                let start = draw.below(u64::from(codes.max(1) - width + 1)) as u32;
                start..start + width
            };
            let mut quasi: Vec<(usize, Range<u32>)> = (0..design.dimension)
                .map(|_| {
                    let column = left.swap_remove(draw.below(left.len() as u64) as usize);
                    (column, range(codes[column], &mut draw))
                })
                .collect();
            quasi.sort_by_key(|(column, _)| *column);
            Query { quasi, sensitive: range(values, &mut draw) }
        };
        Ok(Self::new((0..design.queries).map(query).collect(), codes, values))
    }

    /// Creates a workload of these queries.
    pub fn new(queries: Vec<Query>, codes: &[u32], values: u32) -> Self {
        let block = |(number, queries): (usize, &[Query])| {
            let quasi = codes.iter().enumerate().map(|(column, &codes)| {
                let own = |query: &Query| {
                    let asked = query.quasi.iter().find(|(asked, _)| *asked == column);
                    asked.map_or(0..codes, |(_, range)| range.clone())
                };
                Index::new(codes, &queries.iter().map(own).collect::<Vec<_>>())
            });
            let sensitive: Vec<Range<u32>> = queries.iter().map(|query| query.sensitive.clone()).collect();
            Block { first: number * BLOCK, columns: quasi.chain([Index::new(values, &sensitive)]).collect() }
        };
        let blocks = queries.chunks(BLOCK).enumerate().map(block).collect();
        Workload { queries, columns: codes.len(), blocks }
    }

    /// The queries.
    pub fn queries(&self) -> &[Query] {
        &self.queries
    }

    /// A counter of 0 for each query.
    pub fn no_counts(&self) -> Vec<u64> {
        vec![0; self.queries.len()]
    }

    /// Adds a row of the original, given by the codes of its quasi-identifiers and its sensitive value.
    pub fn count(&self, codes: &[u32], value: u32, counts: &mut [u64]) {
        debug_assert_eq!(codes.len(), self.columns);
        for block in &self.blocks {
            let mut may = [u64::MAX; WORDS];
            for (index, &code) in block.columns.iter().zip(codes.iter().chain([&value])) {
                index.keep(&mut may, (code, code));
            }
            let counts = &mut counts[block.first..];
            each(&may, counts.len(), |query| counts[query] += 1);
        }
    }

    /// An answer of 0 to each query.
    pub fn no_answers(&self) -> Answers {
        Answers { parts: vec![0; self.queries.len()] }
    }

    /// Adds a group as the release shows it.
    pub fn answer(&self, group: &Released, answers: &mut Answers) {
        let ends: Option<Vec<(u32, u32)>> = group.covers.iter().map(|cover| cover.ends()).collect();
        let (Some(mut ends), [(least, _), ..]) = (ends, &group.values[..]) else { return };
        ends.push((*least, group.values.last().map_or(*least, |(greatest, _)| *greatest)));
        let mut sums = Vec::with_capacity(group.values.len() + 1);
        sums.push(0);
        group.values.iter().for_each(|(_, count)| sums.push(sums[sums.len() - 1] + count));
        let below = |code: u32| sums[group.values.partition_point(|&(own, _)| own < code)];
        for block in &self.blocks {
            let mut may = [u64::MAX; WORDS];
            for (index, &ends) in block.columns.iter().zip(&ends) {
                index.keep(&mut may, ends);
            }
            let queries = &self.queries[block.first..];
            let parts = &mut answers.parts[block.first..];
            each(&may, queries.len(), |at| {
                let query = &queries[at];
                let count = below(query.sensitive.end) - below(query.sensitive.start);
                let mut answer = count as f64;
                for (column, range) in &query.quasi {
                    let cover = &group.covers[*column];
                    answer *= cover.within(range) as f64 / cover.len() as f64;
                }
                parts[at] += (answer * (1u64 << PART_BITS) as f64) as u128;
            });
        }
    }
}

impl Workload {
    /// Adds a person of a release that publishes the quasi-identifiers exactly and `values` (codes, ascending, and
    /// counts) of the person's group.
    pub fn answer_person(&self, codes: &[u32], values: &[(u32, u64)], answers: &mut Answers) {
        let ([(least, _), ..], [.., (greatest, _)]) = (values, values) else { return };
        let all: u64 = values.iter().map(|(_, count)| count).sum();
        for block in &self.blocks {
            let mut may = [u64::MAX; WORDS];
            let Some((sensitive, quasi)) = block.columns.split_last() else { continue };
            for (index, &code) in quasi.iter().zip(codes) {
                index.keep(&mut may, (code, code));
            }
            sensitive.keep(&mut may, (*least, *greatest));
            let queries = &self.queries[block.first..];
            let parts = &mut answers.parts[block.first..];
            each(&may, queries.len(), |at| {
                let asked = values.iter().filter(|(code, _)| queries[at].sensitive.contains(code));
                let count: u64 = asked.map(|(_, count)| count).sum();
                parts[at] += (u128::from(count) << PART_BITS) / u128::from(all);
            });
        }
    }
}

impl Index {
    fn new(codes: u32, ranges: &[Range<u32>]) -> Self {
        let mut begins: Vec<u32> = ranges.iter().flat_map(|range| [range.start, range.end]).collect();
        begins.push(0);
        begins.retain(|&code| code < codes.max(1));
        begins.sort_unstable();
        begins.dedup();
        let mut step = vec![0; codes.max(1) as usize];
        for (number, &begin) in begins.iter().enumerate() {
            let end = begins.get(number + 1).map_or(step.len(), |&end| end as usize);
            step[begin as usize..end].fill(number as u16);
        }
        let table = |holds: &dyn Fn(&Range<u32>, u32) -> bool| {
            let bits = |&begin: &u32| {
                let mut bits = [0; WORDS];
                for (query, _) in ranges.iter().enumerate().filter(|(_, range)| holds(range, begin)) {
                    bits[query / 64] |= 1 << (query % 64);
                }
                bits
            };
            begins.iter().map(bits).collect()
        };
        Index {
            begun: table(&|range, begin| range.start <= begin),
            unfinished: table(&|range, begin| range.end > begin),
            step,
        }
    }

    /// Keeps the queries whose range overlaps the codes from the least to the greatest.
    #[inline]
    fn keep(&self, may: &mut Bits, (least, greatest): (u32, u32)) {
        let begun = &self.begun[usize::from(self.step[greatest as usize])];
        let unfinished = &self.unfinished[usize::from(self.step[least as usize])];
        for ((may, begun), unfinished) in may.iter_mut().zip(begun).zip(unfinished) {
            *may &= begun & unfinished;
        }
    }
}

/// The numbers of the bits that are set, below `end`.
#[inline]
fn each(bits: &Bits, end: usize, mut visit: impl FnMut(usize)) {
    for (word, &bits) in bits.iter().enumerate() {
        let mut left = bits;
        while left != 0 {
            let at = word * 64 + left.trailing_zeros() as usize;
            if at >= end {
                return;
            }
            visit(at);
            left &= left - 1;
        }
    }
}

/// The answers of a release while they are accumulated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answers {
    parts: Vec<u128>,
}

impl Answers {
    /// The answer to each query.
    pub fn people(&self) -> Vec<f64> {
        self.parts.iter().map(|&parts| parts as f64 / (1u64 << PART_BITS) as f64).collect()
    }

    /// Adds the answers from other groups.
    pub fn merge(&mut self, other: &Answers) {
        self.parts.iter_mut().zip(&other.parts).for_each(|(own, theirs)| *own += theirs);
    }
}

/// The relative errors of a workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueryErrors {
    /// Half of the queries have at most this error.
    pub median: f64,
    /// The average.
    pub mean: f64,
    /// Errors are relative to at least this many people.
    pub least: u64,
    /// Queries whose count is below that.
    pub below_least: usize,
}

impl QueryErrors {
    /// The errors of the answers against the counts of the original, relative to at least `least` people (at least
    /// one).
    pub fn of(counts: &[u64], answers: &Answers, least: u64) -> Self {
        let least = least.max(1);
        let error = |(&count, answer): (&u64, f64)| (answer - count as f64).abs() / count.max(least) as f64;
        let mut errors: Vec<f64> = counts.iter().zip(answers.people()).map(error).collect();
        let mean = errors.iter().sum::<f64>() / errors.len().max(1) as f64;
        errors.sort_by(f64::total_cmp);
        let median = match (errors.len(), errors.len() / 2) {
            (0, _) => 0.0,
            (n, half) if n % 2 == 0 => errors[half - 1].midpoint(errors[half]),
            (_, half) => errors[half],
        };
        let below_least = counts.iter().filter(|&&count| count < least).count();
        QueryErrors { median, mean, least, below_least }
    }

    /// One person in a thousand, the bound used in reports.
    pub fn least_of(people: u64) -> u64 {
        (people / 1000).max(1)
    }
}
