//! Which cuts led to the groups?
//!
//! A private file: its ends can be values that occur in the table. From the root downwards, a group is its number, and
//! people who are left out are null; a cut is its column, the ends between its parts and the parts themselves. The tree of
//! a large table is in parts: each part is a line, the last line is the tree above them, and a leaf that stands for a part
//! names its line.
//!
//! Memory: the open cuts from the root to a node.

use super::label::Labels;
use super::private_file::PrivateFile;
use crate::error::{Error, Result};
use crate::group::tree::{Cut, CutTree, NodeId, NumberedTree, TreeLeaf};
use crate::resources::disk::DiskFile;
use serde_json::json;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

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
                        TreeLeaf::LeftOut => write!(out, "null")?,
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

/// Reads the cuts of another release, in the codes of this table; groups have no numbers. Cuts of `unordered` columns are
/// refused: their order follows from the table.
///
/// Memory: one line, and the trees of all lines.
pub fn read_cuts(path: &Path, labels: &[(String, Labels<'_>)], unordered: &[&str]) -> Result<CutTree> {
    let file = File::open(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => Error::input(
            format!(
                "{} is not there: the cuts of a release are in the private tree next to it",
                path.display()
            ),
            "name a release that you made by cuts, where you made it",
        ),
        _ => Error::io(path, source),
    })?;
    let mut lines: Vec<CutTree> = Vec::new();
    for line in BufReader::new(file).lines() {
        let line = line.map_err(|source| Error::io(path, source))?;
        let mut text = TreeText { rest: &line, labels, unordered, path };
        let (mut tree, parts) = text.tree()?;
        for (node, line) in parts {
            let below = usize::try_from(line).ok().and_then(|line| lines.get(line.checked_sub(1)?));
            tree.graft(node, below.ok_or_else(|| text.damaged())?.clone());
        }
        lines.push(tree);
    }
    lines.pop().ok_or_else(|| TreeText { rest: "", labels, unordered, path }.damaged())
}

/// What is left of a line. It is read without recursion: a tree may be as deep as it has groups.
struct TreeText<'a> {
    rest: &'a str,
    labels: &'a [(String, Labels<'a>)],
    unordered: &'a [&'a str],
    path: &'a Path,
}

impl TreeText<'_> {
    /// The tree of a line, and the lines that its leaves stand for.
    fn tree(&mut self) -> Result<(CutTree, Vec<(NodeId, u64)>)> {
        let (mut tree, mut lines, mut open) = (CutTree::default(), Vec::new(), vec![CutTree::ROOT]);
        while let Some(node) = open.pop() {
            while self.skip(",") || self.skip("]}") {}
            if self.skip("{\"line\":") {
                lines.push((node, self.value()?));
                self.expect("}")?;
            } else if self.skip("{\"column\":") {
                let name: String = self.value()?;
                self.expect(",\"from\":")?;
                let ends: Vec<String> = self.value()?;
                self.expect(",\"parts\":[")?;
                let cut = self.cut(&name, &ends)?;
                let parts = cut.boundaries.len() as NodeId + 1;
                let first = tree.split(node, cut);
                open.extend((first..first + parts).rev());
            } else {
                let _group: Option<u64> = self.value()?;
            }
        }
        while self.skip("]}") {}
        match self.rest.is_empty() {
            true => Ok((tree, lines)),
            false => Err(self.damaged()),
        }
    }

    fn cut(&self, name: &str, ends: &[String]) -> Result<Cut> {
        let column = self.labels.iter().position(|(own, _)| own == name).ok_or_else(|| {
            Error::input(
                format!(
                    "column {name:?} is cut in the other release, and is no quasi-identifier of this policy"
                ),
                "follow a release with the same quasi-identifiers",
            )
        })?;
        if self.unordered.contains(&name) {
            return Err(Error::input(
                format!(
                    "column {name:?} is cut in the other release in an order that was its own: by frequency"
                ),
                format!(
                    "declare the order of its values in both policies: order = [...] below columns.quasi.{name}"
                ),
            ));
        }
        let boundaries: Option<Vec<u32>> =
            ends.iter().map(|end| self.labels[column].1.code_from(end)).collect();
        match boundaries.filter(|codes| !codes.is_empty() && codes.is_sorted()) {
            Some(boundaries) => Ok(Cut { column, boundaries: boundaries.into() }),
            None => Err(Error::input(
                format!("column {name:?} is cut in the other release where this table cannot be cut"),
                "use the same type and the same domain, order or hierarchy in both policies",
            )),
        }
    }

    fn skip(&mut self, word: &str) -> bool {
        let rest = self.rest.strip_prefix(word);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, word: &str) -> Result<()> {
        if self.skip(word) { Ok(()) } else { Err(self.damaged()) }
    }

    /// The value that comes next: a number, a text, or a list of texts.
    fn value<T: serde::de::DeserializeOwned>(&mut self) -> Result<T> {
        let mut values = serde_json::Deserializer::from_str(self.rest).into_iter();
        match values.next() {
            Some(Ok(value)) => {
                self.rest = &self.rest[values.byte_offset()..];
                Ok(value)
            }
            _ => Err(self.damaged()),
        }
    }

    fn damaged(&self) -> Error {
        Error::Format { path: self.path.to_path_buf(), problem: "this is no tree of cuts".to_string() }
    }
}
