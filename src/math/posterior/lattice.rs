//! Which vectors of used counts are there, and which layer (tuple) does each belong to?

use super::Refusal;

/// The number of states of a group with these value counts; `None` if it exceeds `u64`.
pub fn states(counts: &[u32]) -> Option<u64> {
    counts.iter().try_fold(1u64, |states, &count| states.checked_mul(u64::from(count) + 1))
}

/// All vectors of used counts, numbered in mixed radix and listed layer by layer.
///
/// Layer i holds the vectors with total i: the first i tuples have their values.
pub(super) struct Lattice {
    counts: Vec<u32>,
    strides: Vec<usize>,
    /// Whether every value occurs once: then a state is a set of bits.
    distinct: bool,
    by_layer: Vec<u32>,
    layer_starts: Vec<usize>,
}

impl Lattice {
    /// The lattice of a group of `tuples` tuples, or why it is refused.
    pub(super) fn new(counts: &[u32], tuples: usize, limit: u64) -> Result<Self, Refusal> {
        let total: u64 = counts.iter().map(|&count| u64::from(count)).sum();
        if tuples == 0 || total != tuples as u64 || counts.contains(&0) {
            return Err(Refusal::Malformed);
        }
        let states = match states(counts) {
            Some(states) if states <= limit.min(u64::from(u32::MAX)) => states as usize,
            _ => return Err(Refusal::TooManyStates),
        };
        let mut strides = Vec::with_capacity(counts.len());
        let mut layer = vec![0u32; states];
        let mut stride = 1;
        for &count in counts {
            strides.push(stride);
            let next = stride * (count as usize + 1);
            for state in stride..next {
                layer[state] = layer[state - stride] + 1;
            }
            stride = next;
        }
        let mut layer_starts = vec![0usize; tuples + 2];
        for &layer in &layer {
            layer_starts[layer as usize + 1] += 1;
        }
        for layer in 0..=tuples {
            layer_starts[layer + 1] += layer_starts[layer];
        }
        let mut by_layer = vec![0u32; states];
        let mut next = layer_starts.clone();
        for (state, &layer) in layer.iter().enumerate() {
            by_layer[next[layer as usize]] = state as u32;
            next[layer as usize] += 1;
        }
        let distinct = counts.iter().all(|&count| count == 1);
        Ok(Lattice { counts: counts.to_vec(), strides, distinct, by_layer, layer_starts })
    }

    pub(super) fn len(&self) -> usize {
        self.by_layer.len()
    }

    pub(super) fn tuples(&self) -> usize {
        self.layer_starts.len() - 2
    }

    pub(super) fn values(&self) -> usize {
        self.counts.len()
    }

    /// The states in which exactly `used` values are assigned.
    pub(super) fn layer(&self, used: usize) -> impl Iterator<Item = usize> + '_ {
        self.by_layer[self.layer_starts[used]..self.layer_starts[used + 1]]
            .iter()
            .map(|&state| state as usize)
    }

    pub(super) fn widest_layer(&self) -> usize {
        self.layer_starts.windows(2).map(|ends| ends[1] - ends[0]).max().unwrap_or(0)
    }

    /// The state after assigning one more `value`, if one is left.
    pub(super) fn after(&self, state: usize, value: usize) -> Option<usize> {
        let stride = self.strides[value];
        if self.distinct {
            return (state & stride == 0).then_some(state | stride);
        }
        let used = (state / stride) % (self.counts[value] as usize + 1);
        (used < self.counts[value] as usize).then(|| state + stride)
    }
}
