//! Figures 5 and 6: what do k implications disclose at most, and how is that related to entropy?

use std::collections::BTreeMap;

use super::{ExperimentFindings, ExperimentSetting, ResultCell, ResultTable, adult};
use crate::error::Result;
use crate::group::lattice::{ColumnLevels, LatticeCells, nodes};
use crate::math::exact::{Rational, f64_at_least};
use crate::math::implications::{Bucket, Scanner};
use crate::report::chart::{Axis, Chart, Series};

/// At 13 pieces of knowledge every one of 14 occupations is disclosed.
const UP_TO: usize = 12;

/// The pieces of knowledge of Figure 6.
const PIECES: [usize; 6] = [1, 3, 5, 7, 9, 11];

/// Values of marital status, ordered so that the middle level consists of neighbours.
const MARITAL: [&str; 7] = [
    "Married-AF-spouse",
    "Married-civ-spouse",
    "Married-spouse-absent",
    "Divorced",
    "Separated",
    "Widowed",
    "Never-married",
];

/// First value of each cell of the middle level except the first: married, was married, never married.
const MARITAL_MIDDLE: [u32; 2] = [3, 6];

/// The level of age with intervals of 20; all other columns of Figure 5 are suppressed.
const TWENTIES: usize = 3;

/// What one table of the lattice discloses.
struct Node {
    levels: Vec<usize>,
    buckets: usize,
    /// The smallest entropy of a bucket, in bits.
    entropy: f64,
    /// For 0, 1, ... implications, and for negated atoms.
    implied: Vec<Rational>,
    negated: Vec<Rational>,
}

pub fn run(setting: &ExperimentSetting<'_>) -> Result<ExperimentFindings> {
    let columns = adult::read(setting.adult, &["age", "marital-status", "race", "sex", adult::OCCUPATION])?;
    let [age, marital, race, sex, occupation] = &columns[..] else {
        return Ok(ExperimentFindings::default());
    };
    let marital = marital.reordered(&MARITAL)?;
    let ages: Vec<Option<f64>> = age.texts.iter().map(|text| text.parse().ok()).collect();
    let flat = |codes: usize| ColumnLevels::new(codes as u32, [(1..codes as u32).collect()]);
    let levels = [
        ColumnLevels::intervals(&ages),
        ColumnLevels::new(
            MARITAL.len() as u32,
            [(1..MARITAL.len() as u32).collect(), MARITAL_MIDDLE.to_vec()],
        ),
        flat(race.texts.len()),
        flat(sex.texts.len()),
    ];
    let mut finest = LatticeCells::new(occupation.texts.len());
    for (row, &value) in occupation.codes.iter().enumerate() {
        finest.add(&[age.codes[row], marital.codes[row], race.codes[row], sex.codes[row]], value);
    }
    let counts: Vec<usize> = levels.iter().map(ColumnLevels::len).collect();
    let lattice = nodes(&counts)?;
    let all: Vec<Node> =
        lattice.into_iter().map(|node| measure(&finest.rolled_up(&levels, &node), node)).collect();
    (setting.tell)(&format!("{} tables of the lattice", all.len()));
    let suppressed: Vec<usize> =
        [TWENTIES.min(counts[0] - 1)].into_iter().chain(counts[1..].iter().map(|count| count - 1)).collect();
    let five = all.iter().find(|node| node.levels == suppressed);
    let mut findings = ExperimentFindings {
        run: vec![
            format!(
                "{} people; age in intervals of 1, 5, 10, 20, 40 from 0, and suppressed; marital status as it is, as married, \
                 was married, never married (the paper does not print its middle level), and suppressed; race and sex as they \
                 are, and suppressed: {} tables.",
                occupation.codes.len(),
                all.len()
            ),
            "Maximum disclosure in exact fractions, printed rounded up; entropy in bits, its least over the buckets of a table."
                .to_string(),
        ],
        ..ExperimentFindings::default()
    };
    if let Some(node) = five {
        figure_five(node, &mut findings);
    }
    figure_six(&all, &mut findings);
    findings.tables.push(lattice_table(&all));
    Ok(findings)
}

fn measure(cells: &LatticeCells, levels: Vec<usize>) -> Node {
    let mut scanner = Scanner::new(UP_TO);
    let mut entropy = f64::INFINITY;
    // Positions only identify witnesses; the minima do not depend on the order.
    for (position, part) in cells.parts().enumerate() {
        if let Some(bucket) = Bucket::from_counts(part.counts.iter().copied(), UP_TO) {
            scanner.observe(&bucket, position as u64);
        }
        entropy = entropy.min(bits(&part.counts, part.people));
    }
    let curve = scanner.finish().curve();
    Node {
        levels,
        buckets: cells.len(),
        entropy,
        implied: curve.iter().map(|point| point.disclosure.clone()).collect(),
        negated: curve.into_iter().map(|point| point.negated).collect(),
    }
}

/// The entropy of a bucket's values; sorted, so that equal buckets give bit-identical results.
fn bits(counts: &[u64], people: u64) -> f64 {
    let mut counts: Vec<u64> = counts.iter().copied().filter(|&count| count > 0).collect();
    counts.sort_unstable();
    let share = |count: u64| count as f64 / people as f64;
    counts.into_iter().map(|count| share(count) * share(count).log2()).sum::<f64>().abs()
}

fn figure_five(node: &Node, findings: &mut ExperimentFindings) {
    let mut table = ResultTable::new(
        "5",
        "Figure 5: age in intervals of 20, all else suppressed",
        &["k", "implications", "exact", "negated atoms", "exact, negated"],
    );
    let pairs = || node.implied.iter().zip(&node.negated).enumerate();
    for (k, (implied, negated)) in pairs() {
        table.push(vec![
            k.into(),
            ResultCell::risk(implied),
            implied.to_string().into(),
            ResultCell::risk(negated),
            negated.to_string().into(),
        ]);
    }
    findings.tables.push(table);
    let series = |name: &str, risks: &[Rational]| {
        Series::line(
            name.to_string(),
            risks.iter().enumerate().map(|(k, risk)| (k as f64, f64_at_least(risk))).collect(),
        )
    };
    findings.charts.push(Chart {
        title: "Figure 5: maximum disclosure against k".to_string(),
        horizontal: Axis::whole("pieces of knowledge k (number)"),
        vertical: Axis::unit("maximum disclosure (probability)"),
        series: vec![series("implications", &node.implied), series("negated atoms", &node.negated)],
    });
    let ordered = pairs().all(|(_, (implied, negated))| negated <= implied);
    let strictly = pairs().filter(|(_, (implied, negated))| negated < implied).count();
    let gap = pairs().map(|(k, (implied, negated))| (f64_at_least(&(implied - negated)), k));
    let (gap, k) = gap.fold((0.0, 0), |most, own| if own.0 > most.0 { own } else { most });
    findings.compared.push(format!(
        "Figure 5: negated atoms {} disclose more than implications; they disclose less at {strictly} of {} numbers k and as much \
         at the others (the paper: always less). The largest difference is {gap:.4}, at k = {k}.",
        if ordered { "never" } else { "sometimes" },
        node.implied.len()
    ));
}

fn figure_six(all: &[Node], findings: &mut ExperimentFindings) {
    let mut table = ResultTable::new(
        "6",
        "Figure 6: least disclosure among tables of equal minimum entropy",
        &["k", "entropy (bits)", "least disclosure"],
    );
    let mut chart = Chart {
        title: "Figure 6: least maximum disclosure against minimum entropy".to_string(),
        horizontal: Axis::linear("least entropy of a bucket (bits)"),
        vertical: Axis::unit("least maximum disclosure (probability)"),
        series: Vec::new(),
    };
    let (mut steps, mut risen) = (0, Vec::new());
    for k in PIECES {
        // Entropies of equal buckets are equal to the last bit.
        let mut least: BTreeMap<u64, (f64, &Rational)> = BTreeMap::new();
        for node in all {
            let Some(risk) = node.implied.get(k) else { continue };
            let entry = least.entry(node.entropy.to_bits()).or_insert((node.entropy, risk));
            entry.1 = entry.1.min(risk);
        }
        let curve: Vec<(f64, &Rational)> = least.into_values().collect();
        let rises = curve.windows(2).filter(|pair| pair[1].1 > pair[0].1).count();
        steps = curve.len().saturating_sub(1);
        risen.push(format!("{rises} for k = {k}"));
        for (entropy, risk) in &curve {
            table.push(vec![k.into(), (*entropy).into(), ResultCell::risk(risk)]);
        }
        let points = curve.iter().map(|(entropy, risk)| (*entropy, f64_at_least(risk))).collect();
        chart.series.push(Series::line(format!("k = {k}"), points));
    }
    findings.compared.push(format!(
        "Figure 6: over {steps} steps to the next larger entropy the least disclosure rises this often: {} (the paper: it decreases \
         monotonically). A table of larger least entropy can have another bucket that discloses more.",
        risen.join(", ")
    ));
    findings.tables.push(table);
    findings.charts.push(chart);
}

fn lattice_table(all: &[Node]) -> ResultTable {
    let mut table = ResultTable::new(
        "lattice",
        "All tables of the lattice: levels of age, marital status, race and sex",
        &[
            "levels",
            "buckets",
            "least entropy (bits)",
            "disclosure, k = 0",
            "disclosure, k = 1",
            "disclosure, k = 3",
        ],
    );
    for node in all {
        let risk = |k: usize| node.implied.get(k).map_or("".into(), ResultCell::risk);
        table.push(vec![
            format!("{:?}", node.levels).into(),
            node.buckets.into(),
            node.entropy.into(),
            risk(0),
            risk(1),
            risk(3),
        ]);
    }
    table
}
