//! How much faster are priors computed by contraction than by the sum over all pairs?
//!
//! `cargo bench --features bench-internals --bench priors -- [TABLE SENSITIVE QUASI,.. [BANDWIDTH]]`; default: UCI
//! Adult, which scripts/fetch.sh adult downloads, with six quasi-identifiers and bandwidth 0.3. Both methods start from
//! the merged combinations and run on all threads.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use skyveil::bench::{KernelPriors, Means, Original, Roles, distance, kernels, naive_prior};
use skyveil::{Budget, Progress, ReadOptions, Resources, SpillForm, Table, parse_fraction};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

const TABLE: &str = "datasets/fetched/adult.csv";
const QUASI: &str = "age,workclass,education,marital-status,race,sex";

fn main() {
    let given: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let argument = |place: usize, default: &str| given.get(place).cloned().unwrap_or(default.to_string());
    let (path, sensitive) = (argument(0, TABLE), argument(1, "occupation"));
    let quasi: Vec<String> = argument(2, QUASI).split(',').map(String::from).collect();
    let width = parse_fraction(&argument(3, "0.3")).unwrap();
    if !std::path::Path::new(&path).exists() {
        println!("{path} is missing; scripts/fetch.sh adult brings it");
        return;
    }
    let table = Table::open(&[path.into()], &ReadOptions::default()).unwrap();
    let progress = Progress::default();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let budget = Budget::new(4 << 30);
    let temp = std::env::temp_dir();
    let resources =
        Resources { threads, budget: budget.clone(), temp, spill: SpillForm::Encrypted, progress: &progress };
    let roles = Roles { null_is: Some("unknown".to_string()), ..Roles::plain(&quasi, &sensitive) };

    let start = Instant::now();
    let known = Original::read(&table, &roles, &resources).unwrap();
    let read = start.elapsed().as_secs_f64();
    let combinations = &known.combinations;
    let distances: Vec<_> =
        known.attributes.iter().zip(&roles.quasi).map(|(a, quasi)| distance(a, quasi).unwrap()).collect();
    let bandwidth = quasi.iter().map(|name| (name.clone(), width.clone())).collect();
    let kernels = || kernels(&roles.names(), &distances, &bandwidth).unwrap();

    let means = Means { threads, budget: &budget, progress: &progress };
    let start = Instant::now();
    let priors = KernelPriors::compute(combinations, kernels(), &means).unwrap();
    let ours = start.elapsed().as_secs_f64();
    println!(
        "{} rows, {} combinations, {} sensitive values, {threads} threads; read in {read:.2} s",
        combinations.rows(),
        combinations.len(),
        combinations.values()
    );
    println!("contraction ({:?}): {ours:.4} s", priors.method);

    // A sample of the people is enough, since all pairs would take hours.
    let people = combinations.len().min(20_000);
    let kernels = kernels();
    let adversary = priors.adversary(combinations, 1);
    let next = AtomicUsize::new(0);
    let furthest = Mutex::new(0.0f64);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut prior = vec![0.0; combinations.values()];
                let mut worst = 0.0f64;
                loop {
                    let person = next.fetch_add(1, Ordering::Relaxed);
                    if person >= people {
                        break;
                    }
                    naive_prior(combinations, &kernels, person, &mut prior);
                    let off = |(a, b): (&f64, &f64)| if a == b { 0.0 } else { (a - b).abs() / a.max(*b) };
                    worst = prior.iter().zip(adversary.prior(person)).map(off).fold(worst, f64::max);
                }
                let mut furthest = furthest.lock().unwrap();
                *furthest = furthest.max(worst);
            });
        }
    });
    let naive = start.elapsed().as_secs_f64() * combinations.len() as f64 / people as f64;
    println!("all pairs: {naive:.2} s, from {people} of {} combinations", combinations.len());
    println!("ratio {:.0}; largest relative difference {:.1e}", naive / ours, furthest.into_inner().unwrap());
}
