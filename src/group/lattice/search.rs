//! Which nodes are safe, with nothing safe below them?

use crate::error::{Error, Result};

/// The level of each column; 0 is the finest.
pub type LatticeNode = Vec<usize>;

/// A lattice with more nodes is not searched.
pub const NODES_LIMIT: usize = 1 << 20;

/// All nodes for columns with this many levels, ordered by the number of steps up, then by the first columns.
pub fn nodes(levels: &[usize]) -> Result<Vec<LatticeNode>> {
    let count = levels.iter().try_fold(1usize, |count, &levels| count.checked_mul(levels));
    if count.is_none_or(|count| count > NODES_LIMIT) {
        return Err(Error::input(
            format!("the lattice of {} columns has more than {NODES_LIMIT} nodes", levels.len()),
            "drop a quasi-identifier, or give hierarchies with fewer levels",
        ));
    }
    let mut nodes: Vec<LatticeNode> = vec![Vec::new()];
    for &levels in levels {
        let extend = |node: LatticeNode| (0..levels).map(move |level| [&node[..], &[level]].concat());
        nodes = nodes.into_iter().flat_map(extend).collect();
    }
    nodes.sort_by_key(|node| node.iter().sum::<usize>());
    Ok(nodes)
}

/// The lowest safe nodes, provided that everything above a safe node is safe. Nodes above a safe one are never tested.
pub fn minimal_safe(
    levels: &[usize],
    mut is_safe: impl FnMut(&[usize]) -> Result<bool>,
) -> Result<Vec<LatticeNode>> {
    let mut minimal: Vec<LatticeNode> = Vec::new();
    for node in nodes(levels)? {
        let below = |safe: &LatticeNode| safe.iter().zip(&node).all(|(safe, own)| safe <= own);
        if !minimal.iter().any(below) && is_safe(&node)? {
            minimal.push(node);
        }
    }
    Ok(minimal)
}
