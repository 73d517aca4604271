//! Which cuts led to the groups?
//!
//! A private file: its ends can be values that occur in the table. From the root downwards, a group is its number; a
//! cut is its column, the ends between its parts and the parts themselves.

use super::label::Labels;
use super::private_file::PrivateFile;
use crate::error::{Error, Result};
use crate::group::tree::{CutTree, NodeId};
use serde_json::json;
use std::io::{BufWriter, Write};

/// Writes the tree of cuts to `file` node by node, without building the text in memory, and returns the file.
pub fn write(mut file: PrivateFile, tree: &CutTree, labels: &[(String, Labels<'_>)]) -> Result<PrivateFile> {
    enum Step {
        Node(NodeId),
        Text(&'static str),
    }
    let path = file.path().to_path_buf();
    let io = |source| Error::io(&path, source);
    let mut out = BufWriter::new(file.create()?);
    let mut steps = vec![Step::Text("\n"), Step::Node(CutTree::ROOT)];
    while let Some(step) = steps.pop() {
        match step {
            Step::Text(text) => out.write_all(text.as_bytes()).map_err(io)?,
            Step::Node(node) => match tree.cut(node) {
                None => write!(out, "{}", tree.group(node)).map_err(io)?,
                Some((cut, children)) => {
                    let (name, labels) = &labels[cut.column];
                    let ends: Vec<String> = cut.boundaries.iter().map(|&code| labels.start(code)).collect();
                    write!(out, "{{\"column\":{},\"from\":{},\"parts\":[", json!(name), json!(ends))
                        .map_err(io)?;
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
    out.flush().map_err(io)?;
    Ok(file)
}
