//! The cheapest method for the priors that fits the memory.
//!
//! Memory: the layout and, if that method is chosen, the suffixes of the trie; the workspace of each thread
//! is bounded by the bytes of the [`CostEstimate`]. Priors are passed to the caller as they are finished;
//! keeping all takes 8 B x values per combination.

use super::layout::PriorLayout;
use super::trie;
use super::trie::Trie;
use crate::math::beliefs::combinations::Combinations;
use crate::math::beliefs::kernel::Kernel;
use crate::math::beliefs::roundings::relative_error;
use crate::{Error, Result};

/// A method to compute the priors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriorMethod {
    /// Every person against every combination.
    Pairs,
    /// Contraction over the prefixes and suffixes that occur.
    Trie,
}

/// The expected cost of a method.
#[derive(Debug, Clone, Copy)]
pub struct CostEstimate {
    /// The method.
    pub method: PriorMethod,
    /// Multiplications and additions, roughly.
    pub operations: f64,
    /// The maximum number of bytes for each workspace.
    pub bytes: u64,
}

/// How the priors of a table are computed: independent slices of people.
pub struct PriorPlan<'a> {
    combinations: &'a Combinations,
    kernels: &'a [Kernel],
    layout: PriorLayout,
    trie: Option<Trie>,
    chosen: CostEstimate,
}

/// The scratch memory of one thread, reused from slice to slice of one plan.
#[derive(Default)]
pub struct Workspace {
    pairs: Vec<f64>,
    trie: trie::TrieScratch,
}

/// A contraction over suffixes follows indices; a sum over pairs does not.
const INDIRECTION: f64 = 2.0;

impl<'a> PriorPlan<'a> {
    /// The cheapest plan whose workspaces take at most `bytes` each; one kernel per column.
    pub fn new(combinations: &'a Combinations, kernels: &'a [Kernel], bytes: u64) -> Result<Self> {
        PriorPlan::build(combinations, kernels, |estimates| {
            let fitting = estimates.iter().filter(|estimate| estimate.bytes <= bytes);
            fitting.min_by(|a, b| a.operations.total_cmp(&b.operations)).copied()
        })
    }

    /// The plan with the given method, regardless of cost.
    #[cfg(test)]
    pub fn with(combinations: &'a Combinations, kernels: &'a [Kernel], method: PriorMethod) -> Result<Self> {
        PriorPlan::build(combinations, kernels, |estimates| {
            estimates.iter().find(|estimate| estimate.method == method).copied()
        })
    }

    fn build(
        combinations: &'a Combinations,
        kernels: &'a [Kernel],
        choose: impl FnOnce(&[CostEstimate]) -> Option<CostEstimate>,
    ) -> Result<Self> {
        check(combinations, kernels)?;
        let layout = PriorLayout::new(combinations, kernels);
        let trie = (!layout.columns.is_empty()).then(|| Trie::new(combinations, &layout));
        let estimates = estimate(combinations, kernels, &layout, trie.as_ref());
        let chosen = choose(&estimates).unwrap_or(estimates[0]);
        let trie = trie.filter(|_| chosen.method == PriorMethod::Trie);
        Ok(PriorPlan { combinations, kernels, layout, trie, chosen })
    }

    /// The chosen method and its cost.
    pub fn chosen(&self) -> CostEstimate {
        self.chosen
    }

    /// The number of independent slices.
    pub fn slices(&self) -> usize {
        self.layout.slices.len()
    }

    /// Computes one slice; `emit` receives the number of each combination in it and its prior.
    pub fn run(&self, slice: usize, workspace: &mut Workspace, mut emit: impl FnMut(usize, &[f64])) {
        let table = (self.combinations, self.kernels, &self.layout);
        let slice = &self.layout.slices[slice];
        match (self.chosen.method, &self.trie) {
            (PriorMethod::Trie, Some(trie)) => trie.run(table, slice, &mut workspace.trie, emit),
            _ => {
                workspace.pairs.resize(self.combinations.values(), 0.0);
                for person in slice.people.clone() {
                    let person = self.layout.order[person as usize] as usize;
                    let rows = self.layout.order[slice.block.start as usize..slice.block.end as usize].iter();
                    super::pairs::prior(self.combinations, self.kernels, person, rows, &mut workspace.pairs);
                    emit(person, &workspace.pairs);
                }
            }
        }
    }

    /// All priors, by combination, on this thread; 8 B x values per combination.
    pub fn run_all(&self) -> Vec<Vec<f64>> {
        let mut priors = vec![Vec::new(); self.combinations.len()];
        let mut workspace = Workspace::default();
        for slice in 0..self.slices() {
            self.run(slice, &mut workspace, |combination, prior| priors[combination] = prior.to_vec());
        }
        priors
    }

    /// A bound on the relative error of every prior; infinite if nothing is known.
    pub fn relative_error(&self) -> f64 {
        let bits: u64 = self.kernels.iter().map(|kernel| u64::from(kernel.bits())).sum();
        if bits > 900 {
            return f64::INFINITY;
        }
        if bits + u64::from(64 - self.combinations.rows().leading_zeros()) <= 53 {
            return relative_error(1);
        }
        let columns = || self.layout.columns.iter().map(|column| &self.kernels[*column]);
        let weights: u64 = columns().map(|kernel| u64::from(kernel.roundings()) + 1).sum();
        let additions: u64 = match self.chosen.method {
            PriorMethod::Pairs => self.combinations.entries() as u64,
            PriorMethod::Trie => columns().map(|kernel| 2 * kernel.codes() as u64).sum(),
        };
        relative_error(2 * (weights + additions) + self.combinations.values() as u64 + 1)
    }
}

fn check(combinations: &Combinations, kernels: &[Kernel]) -> Result<()> {
    let mistake =
        |problem: &str| Error::input(format!("priors: {problem}"), "this is a mistake of the caller");
    if kernels.len() != combinations.columns() {
        return Err(mistake("not one kernel per column"));
    }
    if u32::try_from(combinations.len()).is_err() {
        return Err(Error::input(
            "priors: more than 2^32 distinct combinations",
            "use fewer quasi-identifiers",
        ));
    }
    let known =
        |codes: &[u32]| codes.iter().zip(kernels).all(|(code, kernel)| (*code as usize) < kernel.codes());
    if !(0..combinations.len()).all(|combination| known(combinations.codes(combination))) {
        return Err(mistake("a code without a distance"));
    }
    Ok(())
}

/// The costs of all methods; pairs come first because they are always possible.
fn estimate(
    combinations: &Combinations,
    kernels: &[Kernel],
    layout: &PriorLayout,
    trie: Option<&Trie>,
) -> Vec<CostEstimate> {
    let values = combinations.values();
    let people = combinations.len() as f64;
    let entries = combinations.entries() as f64;
    let blocks = layout.prefixes[0].max(1) as f64;
    let columns = layout.columns.len() as f64;
    let operations = people / blocks * (people * columns + entries);
    let mut estimates =
        vec![CostEstimate { method: PriorMethod::Pairs, operations, bytes: 8 * values as u64 }];
    let Some(trie) = trie else { return estimates };

    let share: Vec<f64> = layout.columns.iter().map(|column| kernels[*column].share()).collect();
    let slices = layout.slices.len() as f64;
    let scatter = slices * entries / blocks * share[0];
    // State sizes: at most the number of suffixes that occur, and of rows of a block within reach.
    let mut reached = people / blocks;
    let mut operations = scatter;
    for (j, suffixes) in trie.sizes().enumerate() {
        reached *= share[j];
        if let (Some(next), Some(share)) = (layout.prefixes.get(j + 2), share.get(j + 1)) {
            operations += INDIRECTION * *next as f64 * reached.min(suffixes as f64) * share * values as f64;
        }
    }
    let bytes = trie.bytes(values);
    estimates.push(CostEstimate { method: PriorMethod::Trie, operations, bytes });
    estimates
}
