//! SkylineCheck against the dynamic program of the paper, on the same groups in memory (its Figure 7).
//!
//! Prints ratios of CPU time measured in one run: `cargo bench --bench skyline_check [RECORDS]`.

use skyveil::math::skyline::program::Program;
use skyveil::math::skyline::{Knowledge, Ranking, Statistics, Values};
use std::hint::black_box;
use std::time::Instant;

const PEOPLE: u64 = 100;
const VALUES: usize = 20;

/// Groups of 100 people with 20 values drawn uniformly; a value's count in each.
fn groups(records: u64) -> Vec<[u64; VALUES]> {
    let mut state = 1u64;
    let mut draw = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        skyveil::math::random::mix(state)
    };
    let group = |_| {
        let mut counts = [0; VALUES];
        (0..PEOPLE).for_each(|_| counts[(draw() % VALUES as u64) as usize] += 1);
        counts
    };
    (0..records / PEOPLE).map(group).collect()
}

fn seconds(mut work: impl FnMut()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

fn main() {
    let records = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(1_000_000);
    let groups = groups(records);
    let mut out = String::from("l,k,m: SkylineCheck s, dynamic program s, ratio\n");
    for (l, k, m) in
        [(10, 10, 10), (10, 32, 10), (0, 10, 10), (16, 10, 10), (10, 0, 10), (10, 10, 0), (10, 10, 16)]
    {
        let size = Knowledge { l, k, m };
        let mut ranking = Ranking::default();
        let mut statistics = Statistics::new(Values::Single, size);
        let check = seconds(|| {
            for (number, counts) in groups.iter().enumerate() {
                let group = ranking.rank(PEOPLE, counts.iter().copied());
                statistics.observe(&group, counts[0], number as u64);
            }
            black_box(statistics.breach());
        });
        // The program is so much slower that a part of the groups tells its time.
        let part = &groups[..groups.len().min(2_000)];
        let mut program = Program::<f64>::new(Values::Single, size);
        let dynamic = seconds(|| {
            for counts in part {
                program.observe(&ranking.rank(PEOPLE, counts.iter().copied()), counts[0]);
            }
            black_box(program.min_negated_ratio());
        }) * groups.len() as f64
            / part.len() as f64;
        out.push_str(&format!("{l},{k},{m}: {check:.4} {dynamic:.3} {:.0}\n", dynamic / check));
    }
    use std::io::Write;
    let _ = std::io::stdout().write_all(out.as_bytes());
}
