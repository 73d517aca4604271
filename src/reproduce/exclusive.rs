//! What do the naive, the inclusive and the exclusive strategy publish, in the paper's examples and on random tables?
//!
//! Memory: the states of the disclosure sets of one table at a time.

use super::{ExperimentFindings, ExperimentSetting, ResultCell, ResultTable};
use crate::error::Result;
use crate::math::disclosure_sets::{
    Audit, AuditFinding, AuditedRelease, Limits, Partition, Property, Sequence, SharesSummary,
};
use crate::math::exact::{decimal_at_least, ratio};
use crate::math::random::Random;
use crate::report::chart::{Axis, Chart, Series};

/// The paper's functions on ten people A to J.
const FUNCTIONS: [[u32; 10]; 3] =
    [[0, 0, 1, 1, 2, 2, 3, 3, 4, 4], [0, 0, 1, 1, 1, 2, 2, 2, 3, 3], [0, 0, 0, 1, 1, 1, 1, 2, 2, 2]];

/// Its tables, with what the strategies publish according to the paper: naive, inclusive, exclusive.
const EXAMPLES: [(&str, [u32; 10], [&str; 3]); 3] = [
    ("G0", [1, 2, 3, 2, 4, 4, 6, 5, 6, 7], ["g2", "nothing", "nothing"]),
    ("Ga", [1, 2, 3, 4, 2, 6, 4, 5, 6, 7], ["not printed", "g1", "not printed"]),
    ("Gb", [1, 3, 2, 2, 4, 4, 6, 6, 5, 7], ["not printed", "nothing", "g3"]),
];

/// What was published for random tables of one size.
#[derive(Debug, Default)]
struct Tally {
    tables: u64,
    /// How often each strategy published something: naive, inclusive, exclusive.
    published: [u64; 3],
    /// The naive strategy published, and someone who replays it learns more than allowed.
    naive_unsafe: u64,
    /// Only one of the two safe strategies publishes, or an earlier function.
    inclusive_better: u64,
    exclusive_better: u64,
    undecided: u64,
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.tables += other.tables;
        self.published.iter_mut().zip(other.published).for_each(|(sum, count)| *sum += count);
        self.naive_unsafe += other.naive_unsafe;
        self.inclusive_better += other.inclusive_better;
        self.exclusive_better += other.exclusive_better;
        self.undecided += other.undecided;
    }

    /// How often something is published, and how often the naive strategy should not have published.
    fn shares(&self) -> [f64; 4] {
        let [naive, inclusive, exclusive] = self.published;
        [naive, inclusive, exclusive, self.naive_unsafe].map(|count| count as f64 / self.tables.max(1) as f64)
    }

    fn row(&self, people: usize) -> Vec<ResultCell> {
        let [naive, inclusive, exclusive] = self.published;
        vec![
            people.into(),
            self.tables.into(),
            naive.into(),
            self.naive_unsafe.into(),
            inclusive.into(),
            exclusive.into(),
            self.inclusive_better.into(),
            self.exclusive_better.into(),
            self.undecided.into(),
        ]
    }
}

pub fn run(setting: &ExperimentSetting<'_>) -> Result<ExperimentFindings> {
    let tables = setting.scale.pick(5_000, 400, 20);
    let mut findings = ExperimentFindings {
        run: vec![
            "The paper's three tables and three functions, recursive (2,2)-diversity, every disclosure set counted exactly.".to_string(),
            format!(
                "{tables} random tables for each number of people from 5 to 10: values uniform among 4, three functions that cut the \
                 people into runs of 2 to 4 at random, those with more groups first."
            ),
        ],
        ..ExperimentFindings::default()
    };
    examples(&mut findings)?;
    random_tables(setting, tables, &mut findings)?;
    Ok(findings)
}

fn random_tables(
    setting: &ExperimentSetting<'_>,
    tables: u64,
    findings: &mut ExperimentFindings,
) -> Result<()> {
    let mut table = ResultTable::new(
        "random",
        "Random tables: how often something is published",
        &[
            "people",
            "tables",
            "naive publishes",
            "of these unsafe against replay",
            "inclusive publishes",
            "exclusive publishes",
            "inclusive better",
            "exclusive better",
            "undecided",
        ],
    );
    let names = ["naive", "inclusive", "exclusive", "naive, but unsafe"];
    let mut series = names.map(|name| Series::line(name, Vec::new()));
    let mut total = Tally::default();
    for people in 5..=10 {
        let tally = count(people, tables)?;
        let [naive, inclusive, exclusive] = tally.published;
        (setting.tell)(&format!(
            "{people} people: of {} tables, naive publishes {naive}, inclusive {inclusive}, exclusive {exclusive}",
            tally.tables
        ));
        table.push(tally.row(people));
        for (series, share) in series.iter_mut().zip(tally.shares()) {
            series.points.push((people as f64, share));
        }
        total.add(&tally);
    }
    findings.tables.push(table);
    findings.charts.push(Chart {
        title: "Random tables: how often a strategy publishes".to_string(),
        horizontal: Axis::linear("people"),
        vertical: Axis::unit("share of the tables"),
        series: series.into(),
    });
    findings.compared.push(compared_at_random(&total));
    Ok(())
}

fn compared_at_random(total: &Tally) -> String {
    let percent = |count: u64, of: u64| 100.0 * count as f64 / of.max(1) as f64;
    let [naive, inclusive, exclusive] = total.published;
    format!(
        "Random tables: naive publishes {:.1}%, and {:.1}% of what it publishes is unsafe against someone who replays it; inclusive \
         publishes {:.1}%, exclusive {:.1}%. Inclusive does better in {} of {} tables, exclusive in {} (the paper: incomparable).",
        percent(naive, total.tables),
        percent(total.naive_unsafe, naive),
        percent(inclusive, total.tables),
        percent(exclusive, total.tables),
        total.inclusive_better,
        total.tables,
        total.exclusive_better
    )
}

fn audit(functions: Vec<Partition>, table: &[u32]) -> Result<Audit> {
    let property = Property::RecursiveDiversity { c: ratio(2, 1), l: 2 };
    Ok(Sequence::new(functions, table.to_vec(), &property, Limits::default())?.audit())
}

fn examples(findings: &mut ExperimentFindings) -> Result<()> {
    let mut sets = ResultTable::new(
        "sets",
        "The paper's tables: rearrangements and disclosure sets",
        &["table", "function", "set", "tables left", "largest share", "exact", "holds"],
    );
    let mut published = ResultTable::new(
        "published",
        "The paper's tables: what is published",
        &["table", "strategy", "the paper", "here"],
    );
    let mut agree = true;
    for (name, values, expected) in EXAMPLES {
        let audit =
            audit(FUNCTIONS.iter().map(|groups| Partition::by_label(groups.iter())).collect(), &values)?;
        for (at, function) in audit.functions.iter().enumerate() {
            let number = format!("g{}", at + 1);
            let found = [
                ("rearrangements", Some(&function.per)),
                ("inclusive", counted(&function.inclusive)),
                ("exclusive", counted(&function.exclusive)),
            ];
            for (set, summary) in found {
                let Some(summary) = summary else { continue };
                let share = summary.largest.as_ref().map(|worst| worst.share.clone());
                sets.push(vec![
                    name.into(),
                    number.clone().into(),
                    set.into(),
                    summary.size.to_string().into(),
                    share.as_ref().map_or("".into(), ResultCell::risk),
                    share.as_ref().map_or("".into(), |share| share.to_string().into()),
                    if summary.holds { "yes" } else { "no" }.into(),
                ]);
            }
        }
        let here = [audit.naive, audit.inclusive, audit.exclusive].map(|release| match release {
            AuditedRelease::Function(function) => format!("g{}", function + 1),
            AuditedRelease::Nothing | AuditedRelease::Undecided(_) => "nothing".to_string(),
        });
        for ((strategy, paper), here) in ["naive", "inclusive", "exclusive"].iter().zip(expected).zip(here) {
            agree &= paper == "not printed" || paper == here;
            published.push(vec![name.into(), (*strategy).into(), paper.into(), here.into()]);
        }
    }
    let g0 =
        audit(FUNCTIONS.iter().map(|groups| Partition::by_label(groups.iter())).collect(), &EXAMPLES[0].1)?;
    let share = |finding: &AuditFinding| {
        let summary = counted(finding)?;
        let worst = summary.largest.as_ref()?;
        Some(format!("{} tables, {} = {}", summary.size, worst.share, decimal_at_least(&worst.share, 4)))
    };
    let (inclusive, exclusive) = (share(&g0.functions[2].inclusive), share(&g0.functions[2].exclusive));
    findings.compared.push(format!(
        "The strategies publish {} in the paper's examples.",
        if agree { "what the paper says" } else { "something else than the paper says" }
    ));
    findings.compared.push(format!(
        "Third disclosure set of G0, inclusive: {}; the paper: 120 tables, 0.8. Twenty of its 120 tables would have been published at the \
         second function, because the value shared by two groups is not forced; the conclusion is the same.",
        inclusive.unwrap_or_default()
    ));
    findings.compared.push(format!("Exclusive: {}; the paper: 0.647.", exclusive.unwrap_or_default()));
    findings.tables.push(published);
    findings.tables.push(sets);
    Ok(())
}

fn counted(finding: &AuditFinding) -> Option<&SharesSummary> {
    match finding {
        AuditFinding::Exact(summary) => Some(summary),
        AuditFinding::Refused { .. } => None,
    }
}

fn count(people: usize, tables: u64) -> Result<Tally> {
    let mut random = Random::new(people as u64);
    let mut tally = Tally::default();
    for _ in 0..tables {
        let values: Vec<u32> = (0..people).map(|_| random.below(4) as u32).collect();
        let mut functions: Vec<Partition> = (0..3).map(|_| runs(people, &mut random)).collect();
        functions.sort_by_key(|function| std::cmp::Reverse(function.groups().len()));
        let audit = audit(functions, &values)?;
        tally.tables += 1;
        let releases = [audit.naive, audit.inclusive, audit.exclusive];
        for (count, release) in tally.published.iter_mut().zip(releases) {
            *count += u64::from(matches!(release, AuditedRelease::Function(_)));
        }
        tally.undecided +=
            u64::from(releases.iter().any(|release| matches!(release, AuditedRelease::Undecided(_))));
        tally.naive_unsafe +=
            u64::from(audit.naive_adversary().is_some_and(|learned| learned.holds() != Some(true)));
        let place = |release: AuditedRelease| match release {
            AuditedRelease::Function(function) => function,
            AuditedRelease::Nothing | AuditedRelease::Undecided(_) => usize::MAX,
        };
        tally.inclusive_better += u64::from(place(audit.inclusive) < place(audit.exclusive));
        tally.exclusive_better += u64::from(place(audit.exclusive) < place(audit.inclusive));
    }
    Ok(tally)
}

/// Neighbours in groups of 2 to 4; a single person at the end joins the previous group.
fn runs(people: usize, random: &mut Random) -> Partition {
    let mut labels = Vec::new();
    let mut group = 0u32;
    while labels.len() < people {
        let left = people - labels.len();
        let size = (random.between(2, 4) as usize).min(left);
        let size = if left - size == 1 { left } else { size };
        labels.extend(std::iter::repeat_n(group, size));
        group += 1;
    }
    Partition::by_label(labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_come_out_as_in_the_errata() {
        let mut findings = ExperimentFindings::default();
        examples(&mut findings).unwrap();
        assert!(findings.compared[0].contains("what the paper says"), "{findings:?}");
        assert!(findings.compared[1].contains("100 tables, 19/25 = 0.760"), "{:?}", findings.compared);
        assert!(findings.compared[2].contains("68 tables, 11/17 = 0.6471"), "{:?}", findings.compared);
    }

    #[test]
    fn runs_have_two_people_or_more() {
        let mut random = Random::new(3);
        for people in 2..12 {
            assert!(runs(people, &mut random).groups().iter().all(|group| group.len() >= 2));
        }
    }
}
