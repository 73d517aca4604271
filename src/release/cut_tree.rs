//! Which cuts led to the groups?
//!
//! A private file: its ends can be values that occur in the table. From the root downwards, a group is its number; a
//! cut is its column, the ends between its parts and the parts themselves. The tree of a large table is in parts: each
//! part is a line, the last line is the tree above them, and a leaf that stands for a part names its line.
//!
//! Memory: the open cuts from the root to a node.

use super::label::Labels;
use super::private_file::PrivateFile;
use crate::error::{Error, Result};
use crate::group::tree::{CutTree, NodeId, NumberedTree, TreeLeaf};
use crate::resources::disk::DiskFile;
use serde_json::json;
use std::io::{self, BufWriter, Write};

/// The file while it is written.
pub struct TreeFile<'a> {
    /// Before `file`: it is closed before it is removed.
    out: BufWriter<DiskFile>,
    file: PrivateFile,
    lines: u64,
    labels: &'a [(String, Labels<'a>)],
}

impl<'a> TreeFile<'a> {
    /// Begins the file; `labels` are those of the columns.
    pub fn create(mut file: PrivateFile, labels: &'a [(String, Labels<'a>)]) -> Result<Self> {
        Ok(TreeFile { out: BufWriter::new(file.create()?), file, lines: 0, labels })
    }

    /// Writes a tree node by node, without building the text in memory; returns its line, counted from 1.
    pub fn push(&mut self, tree: &NumberedTree<'_>) -> Result<u64> {
        self.write(tree).map_err(|source| Error::io(self.file.path(), source))?;
        self.lines += 1;
        Ok(self.lines)
    }

    fn write(&mut self, tree: &NumberedTree<'_>) -> io::Result<()> {
        enum Step {
            Node(NodeId),
            Text(&'static str),
        }
        let out = &mut self.out;
        let mut steps = vec![Step::Text("\n"), Step::Node(CutTree::ROOT)];
        while let Some(step) = steps.pop() {
            match step {
                Step::Text(text) => out.write_all(text.as_bytes())?,
                Step::Node(node) => match tree.tree.cut(node) {
                    None => match tree.leaf(node) {
                        TreeLeaf::Group(number) => write!(out, "{number}")?,
                        TreeLeaf::Line(line) => write!(out, "{{\"line\":{line}}}")?,
                    },
                    Some((cut, children)) => {
                        let (name, labels) = &self.labels[cut.column];
                        let ends: Vec<String> =
                            cut.boundaries.iter().map(|&code| labels.start(code)).collect();
                        write!(out, "{{\"column\":{},\"from\":{},\"parts\":[", json!(name), json!(ends))?;
                        steps.push(Step::Text("]}"));
                        for (i, child) in children.enumerate().collect::<Vec<_>>().into_iter().rev() {
                            steps.push(Step::Node(child));
                            if i > 0 {
                                steps.push(Step::Text(","));
                            }
                        }
                    }
                },
            }
        }
        Ok(())
    }

    /// Ends the file.
    pub fn finish(mut self) -> Result<PrivateFile> {
        self.out.flush().map_err(|source| Error::io(self.file.path(), source))?;
        Ok(self.file)
    }
}
