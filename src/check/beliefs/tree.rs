//! Which cuts made the groups of a release?
//!
//! Reads `tree.json` back into a tree of cuts over the codes of the original table. The file is as deep as the tree, so
//! it is read by a loop and not by calls. Memory: the file and about 40 bytes per node.

use std::path::Path;

use crate::encode::attribute::{Attribute, Coding};
use crate::error::{Error, Result};
use crate::group::tree::{Cut, CutTree, NodeId};
use crate::model::beliefs::original::other_table;
use crate::release::manifest::TREE;

/// The tree of the release in `folder`, for these columns.
pub fn read(folder: &Path, attributes: &[Attribute]) -> Result<CutTree> {
    let path = folder.join(TREE);
    let bytes = std::fs::read(&path).map_err(|source| Error::io(&path, source))?;
    parse(&bytes, attributes)
        .ok_or_else(|| other_table(&format!("the cuts in {} do not fit it", path.display())))
}

fn parse(bytes: &[u8], attributes: &[Attribute]) -> Option<CutTree> {
    let mut reader = Reader { bytes, at: 0 };
    let mut tree = CutTree::default();
    // The children of each open node that are still to be read.
    let mut open: Vec<std::ops::Range<NodeId>> = Vec::new();
    let mut node = CutTree::ROOT;
    loop {
        if reader.eat(b"{\"column\":").is_some() {
            let cut = reader.cut(attributes)?;
            let parts = cut.boundaries.len() as NodeId + 1;
            let first = tree.split(node, cut);
            open.push(first + 1..first + parts);
            node = first;
            continue;
        }
        tree.number(node, reader.number()?);
        node = loop {
            let Some(siblings) = open.last_mut() else {
                return reader.is_finished().then_some(tree);
            };
            match siblings.next() {
                Some(next) => {
                    reader.eat(b",")?;
                    break next;
                }
                None => {
                    reader.eat(b"]}")?;
                    open.pop();
                }
            }
        };
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn eat(&mut self, text: &[u8]) -> Option<()> {
        self.bytes[self.at..].starts_with(text).then(|| self.at += text.len())
    }

    fn is_finished(&self) -> bool {
        self.bytes[self.at..].trim_ascii().is_empty()
    }

    fn number(&mut self) -> Option<u64> {
        let rest = &self.bytes[self.at..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += digits;
        std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()
    }

    fn string(&mut self) -> Option<String> {
        let rest = &self.bytes[self.at..];
        let mut end = 1;
        while *rest.get(end)? != b'"' {
            end += if rest[end] == b'\\' { 2 } else { 1 };
        }
        self.at += end + 1;
        serde_json::from_slice(&rest[..=end]).ok()
    }

    /// The column, the ends and the beginning of the parts.
    fn cut(&mut self, attributes: &[Attribute]) -> Option<Cut> {
        let name = self.string()?;
        let column = attributes.iter().position(|attribute| attribute.name == name)?;
        self.eat(b",\"from\":[")?;
        let mut boundaries = Vec::new();
        while self.eat(b"]").is_none() {
            if !boundaries.is_empty() {
                self.eat(b",")?;
            }
            boundaries.push(start(&attributes[column], &self.string()?)?);
        }
        self.eat(b",\"parts\":[")?;
        let ascending = boundaries.windows(2).all(|pair| pair[0] < pair[1]);
        (ascending && !boundaries.is_empty()).then(|| Cut { column, boundaries: boundaries.into() })
    }
}

/// The first code that is not below an end.
fn start(attribute: &Attribute, end: &str) -> Option<u32> {
    let code = match &attribute.coding {
        Coding::Numbers { .. } | Coding::TextRanges { .. } if end == "*" => 0,
        Coding::Numbers { scale, samples, .. } => {
            let key = scale.parse(end)?;
            samples.partition_point(|sample| *sample < key) as u32
        }
        Coding::TextRanges { starts } => starts.iter().position(|start| **start == *end)? as u32 + 1,
        Coding::Set { values, .. } => values.iter().position(|value| **value == *end)? as u32,
        Coding::Tree { hierarchy, .. } => hierarchy.own_leaf(end)?,
    };
    Some(attribute.shifted(code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::distinct::DistinctValues;
    use crate::encode::scale::Scale;

    fn columns() -> Vec<Attribute> {
        let mut distinct = DistinctValues::default();
        [17i64, 23, 41, 90].into_iter().for_each(|value| distinct.insert(value));
        let age = Coding::numbers(Scale::Integer, distinct);
        let values = ["b", "a\"|", "c"].map(|value| value.into()).to_vec();
        let set = Coding::Set { values, other: None };
        vec![
            Attribute { name: "age".into(), nulls: true, coding: age },
            Attribute { name: "job".into(), nulls: false, coding: set },
        ]
    }

    #[test]
    fn rows_find_their_groups() {
        let text = br#"{"column":"age","from":["*","40"],"parts":[1,{"column":"job","from":["a\"|"],"parts":[2,3]},4]}
"#;
        let tree = parse(text, &columns()).unwrap();
        let group = |age: u16, job: u16| tree.group(tree.find(|column| [age, job][column]));
        assert_eq!([group(0, 2), group(1, 0), group(2, 1), group(2, 2), group(3, 0)], [1, 2, 3, 3, 4]);
        assert_eq!(parse(b"1\n", &columns()).map(|tree| tree.group(CutTree::ROOT)), Some(1));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for bad in [
            &b""[..],
            b"{",
            b"1 2",
            br#"{"column":"zip","from":["1"],"parts":[1,2]}"#,
            br#"{"column":"age","from":["40"],"parts":[1]}"#,
            br#"{"column":"age","from":["40"],"parts":[1,2,3]}"#,
            br#"{"column":"age","from":[],"parts":[1]}"#,
            br#"{"column":"age","from":["90","20"],"parts":[1,2,3]}"#,
            br#"{"column":"job","from":["d"],"parts":[1,2]}"#,
            br#"{"column":"job","from":["c"#,
        ] {
            assert!(parse(bad, &columns()).is_none());
        }
    }

    #[test]
    fn a_tree_may_be_deep() {
        let mut text = String::new();
        for depth in 0..20_000 {
            text.push_str(&format!(r#"{{"column":"job","from":["c"],"parts":[{},"#, depth + 1));
        }
        text.push('0');
        text.push_str(&"]}".repeat(20_000));
        assert!(parse(text.as_bytes(), &columns()).is_some());
    }
}
