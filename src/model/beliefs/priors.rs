//! What does an adversary with each bandwidth believe about each person before the release?
//!
//! Slices of the table are independent and run on all threads; one thread receives the finished priors and
//! stores them. The method is chosen by the table alone, within a fixed workspace, so that the priors are the
//! same for any memory and any number of threads.
//!
//! Memory: 8 B x sensitive values per combination and bandwidth; during computation also [`SHARED`] and 8 B x
//! columns per combination, and at most [`WORKSPACE`] bytes per thread. Everything is reserved from the
//! budget; with less memory, fewer threads work.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Error, Result};
use crate::math::beliefs::combinations::Combinations;
use crate::math::beliefs::distance::Distance;
use crate::math::beliefs::group::BeliefAdversary;
use crate::math::beliefs::kernel::Kernel;
use crate::math::beliefs::prior::{PriorMethod, PriorPlan, Workspace};
use crate::math::exact::Rational;
use crate::resources::budget::{Budget, Reservation};
use crate::resources::progress::Progress;
use crate::resources::threads::start_in;

/// The maximum size of the workspace of one thread.
pub const WORKSPACE: u64 = 64 << 20;

/// The bytes that threads share for each combination while a plan is made: its position, slice and suffixes,
/// and scratch space to sort them.
const SHARED: usize = 52;
const SHARED_PER_COLUMN: usize = 8;

/// The number of priors that are sent together.
const BATCH: usize = 1024;

/// The priors of one bandwidth.
pub struct KernelPriors {
    /// One kernel per quasi-identifier.
    pub kernels: Vec<Kernel>,
    /// How they were computed.
    #[cfg_attr(not(feature = "bench-internals"), expect(dead_code, reason = "shown by the bench"))]
    pub method: PriorMethod,
    priors: Vec<f64>,
    error: f64,
    _room: Reservation,
}

/// The resources for computing priors.
pub struct Means<'a> {
    /// Threads.
    pub threads: usize,
    /// The memory budget.
    pub budget: &'a Arc<Budget>,
    /// Counts finished combinations.
    pub progress: &'a Progress,
}

/// The kernels of a bandwidth; `names` are those of the columns, in the order of the distances.
pub fn kernels(
    names: &[&str],
    distances: &[Distance],
    bandwidth: &BTreeMap<String, Rational>,
) -> Result<Vec<Kernel>> {
    let kernel = |(name, distance): (&&str, &Distance)| {
        let width = bandwidth.get(*name).ok_or_else(|| {
            Error::input(
                format!("column `{name}` has no bandwidth"),
                "give one for every quasi-identifier, or one number for all",
            )
        })?;
        Kernel::new(distance, width, name)
    };
    names.iter().zip(distances).map(kernel).collect()
}

impl KernelPriors {
    /// Computes the priors of all combinations.
    pub fn compute(combinations: &Combinations, kernels: Vec<Kernel>, means: &Means<'_>) -> Result<Self> {
        let values = combinations.values();
        let bytes = 8 * (combinations.len() * values) as u64;
        let room = means.budget.reserve("the priors", bytes).map_err(|_| {
            Error::input(
                format!(
                    "the priors of {} combinations of quasi-identifiers with {values} sensitive values need {} MiB, \
                     and the memory limit leaves {} MiB for them",
                    combinations.len(),
                    (bytes >> 20) + 1,
                    means.budget.free() >> 20
                ),
                "raise the memory limit, or name fewer or coarser quasi-identifiers",
            )
        })?;
        let shared = (combinations.len() * (SHARED + SHARED_PER_COLUMN * kernels.len())) as u64;
        let _shared = means.budget.reserve("the order of the combinations", shared)?;
        let plan = PriorPlan::new(combinations, &kernels, WORKSPACE)?;
        let (method, error) = (plan.chosen().method, plan.relative_error());
        let workspace = plan.chosen().bytes.max(1);
        let threads = (1..=means.threads.max(1) as u64).rev();
        let scratch = threads.map(|many| (many, means.budget.try_reserve(many * workspace)));
        let (threads, _scratch) =
            scratch.into_iter().find(|(_, scratch)| scratch.is_some()).ok_or_else(|| Error::Memory {
                stage: "computing the priors",
                needed: means.budget.total() - means.budget.free() + workspace,
                budget: means.budget.total(),
            })?;
        let mut priors = vec![0.0; combinations.len() * values];
        means.progress.start("estimating beliefs", Some(combinations.len() as u64));
        let ran = run(&plan, threads as usize, values, means.progress, &mut priors);
        means.progress.finish();
        ran?;
        drop(plan);
        Ok(KernelPriors { kernels, method, priors, error, _room: room })
    }

    /// The adversary with these priors; groups with more states have no exact posterior.
    pub fn adversary<'a>(&'a self, combinations: &'a Combinations, states: u64) -> BeliefAdversary<'a> {
        BeliefAdversary {
            table: combinations,
            kernels: &self.kernels,
            priors: &self.priors,
            error: self.error,
            states,
        }
    }
}

/// Some finished priors: which combinations, and their numbers one after the other.
type Finished = (Vec<u32>, Vec<f64>);

fn run(
    plan: &PriorPlan<'_>,
    threads: usize,
    values: usize,
    progress: &Progress,
    priors: &mut [f64],
) -> Result<()> {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let (send, receive) = crossbeam_channel::bounded::<Finished>(2 * threads);
        for _ in 0..threads {
            let (send, next) = (send.clone(), &next);
            start_in(scope, move || {
                let mut workspace = Workspace::default();
                let mut done: Finished = Default::default();
                // The receiver outlives the senders, so sending cannot fail.
                let flush = |done: &mut Finished| drop(send.send(std::mem::take(done)));
                loop {
                    let slice = next.fetch_add(1, Ordering::Relaxed);
                    if slice >= plan.slices() || progress.go_on().is_err() {
                        break;
                    }
                    plan.run(slice, &mut workspace, |combination, prior| {
                        done.0.push(combination as u32);
                        done.1.extend_from_slice(prior);
                        if done.0.len() >= BATCH {
                            flush(&mut done);
                        }
                    });
                }
                flush(&mut done);
            })?;
        }
        drop(send);
        for (combinations, finished) in receive {
            for (combination, prior) in combinations.iter().zip(finished.chunks_exact(values.max(1))) {
                priors[*combination as usize * values..][..values].copy_from_slice(prior);
            }
            progress.advance(combinations.len() as u64);
        }
        progress.go_on()
    })
}
