//! Where can a quasi-identifier be cut, and how wide is a part of it?
//!
//! Every value has a code. Codes follow the order of the values, or the order of the leaves of a hierarchy, so every
//! possible label of a group is a contiguous range of codes.

use std::ops::Range;

/// How the codes of a column may be split.
#[derive(Debug, Clone, PartialEq)]
pub enum Splitting {
    /// Between any two neighbouring codes.
    Ordered,
    /// Into the children of a hierarchy node, all at once.
    Tree(CodeTree),
}

/// How the width of a part of a column is measured, from 0 (one value) to 1 (the whole column).
#[derive(Debug, Clone, PartialEq)]
pub enum Width {
    /// By the distance between its ends: one coordinate in [0, 1] per code.
    Span(Vec<f64>),
    /// By the share of the column's values that it holds, or that its hierarchy node covers.
    Share,
}

/// A quasi-identifier as the planner sees it: its codes are those below `codes`.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Number of codes; a code is below it.
    pub codes: u32,
    /// How it may be cut.
    pub splitting: Splitting,
    /// How wide a part of it is.
    pub width: Width,
}

impl Column {
    /// An ordered column with evenly spaced values.
    pub fn evenly_spaced(codes: u32) -> Self {
        let step = 1.0 / f64::from(codes.max(2) - 1);
        Column {
            codes,
            splitting: Splitting::Ordered,
            width: Width::Span((0..codes).map(|code| f64::from(code) * step).collect()),
        }
    }

    /// The width of a part with `present` different codes, of which `ends` are the least and the greatest.
    pub fn width_of(&self, ends: (u32, u32), present: usize) -> f64 {
        match &self.width {
            Width::Span(coordinate) => coordinate[ends.1 as usize] - coordinate[ends.0 as usize],
            Width::Share if present <= 1 => 0.0,
            Width::Share => {
                let held = match &self.splitting {
                    Splitting::Ordered => present as f64,
                    Splitting::Tree(tree) => tree.codes(tree.smallest_cover(ends)).len() as f64,
                };
                held / f64::from(self.codes)
            }
        }
    }
}

/// A hierarchy over codes: each node covers a range, and its children divide that range in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeTree {
    nodes: Vec<CodeNode>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct CodeNode {
    codes: Range<u32>,
    children: Vec<usize>,
}

impl CodeTree {
    /// A tree with only a root over `codes` codes.
    pub fn new(codes: u32) -> Self {
        CodeTree { nodes: vec![CodeNode { codes: 0..codes, children: vec![] }] }
    }

    /// The root's number.
    pub const ROOT: usize = 0;

    /// Adds a child that covers `codes`, after the children that `parent` already has.
    pub fn add(&mut self, parent: usize, codes: Range<u32>) -> usize {
        let number = self.nodes.len();
        self.nodes.push(CodeNode { codes, children: vec![] });
        self.nodes[parent].children.push(number);
        number
    }

    /// The codes that a node covers.
    pub fn codes(&self, node: usize) -> Range<u32> {
        self.nodes[node].codes.clone()
    }

    /// The children of a node, in order.
    pub fn children(&self, node: usize) -> &[usize] {
        &self.nodes[node].children
    }

    /// The tree over `codes` bins, given the bin of each code; nodes inside a bin are left out.
    pub fn binned(&self, codes: u32, bin: &[u16]) -> CodeTree {
        let mut tree = CodeTree::new(codes);
        let mut open = vec![(Self::ROOT, Self::ROOT)];
        while let Some((node, place)) = open.pop() {
            let bins = |node: usize| {
                let codes = self.codes(node);
                u32::from(bin[codes.start as usize])..u32::from(bin[codes.end as usize - 1]) + 1
            };
            let inside = self.children(node).len() > 1 && bins(node).len() == 1;
            for &child in self.children(node).iter().filter(|_| !inside) {
                let child_place = tree.add(place, bins(child));
                open.push((child, child_place));
            }
        }
        tree
    }

    /// The smallest node that covers both codes.
    pub fn smallest_cover(&self, ends: (u32, u32)) -> usize {
        let mut node = Self::ROOT;
        loop {
            let child = self.nodes[node].children.iter().find(|&&child| {
                let codes = &self.nodes[child].codes;
                codes.contains(&ends.0) && codes.contains(&ends.1)
            });
            match child {
                Some(&child) => node = child,
                None => return node,
            }
        }
    }

    /// Where the children of a node begin, except for the first child.
    pub fn boundaries(&self, node: usize) -> impl Iterator<Item = u32> + '_ {
        self.nodes[node].children.iter().skip(1).map(|&child| self.nodes[child].codes.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_cover_is_found() {
        let mut tree = CodeTree::new(6);
        let left = tree.add(CodeTree::ROOT, 0..4);
        let right = tree.add(CodeTree::ROOT, 4..6);
        let leaf = tree.add(left, 0..2);
        tree.add(left, 2..4);
        assert_eq!(tree.smallest_cover((0, 1)), leaf);
        assert_eq!(tree.smallest_cover((1, 3)), left);
        assert_eq!(tree.smallest_cover((4, 4)), right);
        assert_eq!(tree.smallest_cover((3, 4)), CodeTree::ROOT);
        assert_eq!(tree.boundaries(CodeTree::ROOT).collect::<Vec<_>>(), [4]);
    }
}
