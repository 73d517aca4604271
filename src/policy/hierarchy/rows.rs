//! Do these rows make one tree?
//!
//! A row is `value; group; wider group; ...; root`. Rows may differ in length: a group keeps the parent that another
//! row gave it, and a node without a parent is placed below the root `*`. A name repeated in the next field is the same
//! node, one level higher. A duplicate row is harmless.

use std::collections::HashMap;
use std::ops::Range;

use super::tree::{Entry, Hierarchy, Node};

/// The name of the root if the rows have no common root.
const ROOT: &str = "*";

/// The largest number of levels; more would only be a way to exhaust memory.
const MAX_LEVELS: usize = 1000;

/// The most rows: no column has codes for more values.
pub(super) const MAX_ROWS: usize = 65_536;

/// The most names in all rows; with more, the rows alone would take too much memory.
pub(super) const MAX_NAMES: usize = 1 << 19;

/// The number of problems of one hierarchy that are reported at once.
pub(super) const MAX_PROBLEMS: usize = 5;

/// One line of a hierarchy: a value and the groups above it.
#[derive(Clone)]
pub struct Row {
    /// The line of the file, or the position in the list, counted from 1.
    pub line: usize,
    /// The value, then its groups from narrow to wide.
    pub names: Vec<String>,
}

/// Why rows are not a hierarchy; contains no values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line at fault, if there is one.
    pub line: Option<usize>,
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub remedy: String,
}

impl Problem {
    pub(super) fn new(line: Option<usize>, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Problem { line, problem: problem.into(), remedy: remedy.into() }
    }
}

/// A node while the rows are read; `line` is where it first occurred.
struct Draft<'a> {
    name: &'a str,
    line: usize,
    parent: Option<(usize, usize)>,
    children: Vec<usize>,
    level: u32,
    is_value: bool,
}

#[derive(Default)]
struct Drafts<'a> {
    nodes: Vec<Draft<'a>>,
    by_name: HashMap<&'a str, usize>,
    problems: Vec<Problem>,
}

/// Builds the tree that the rows describe; leaves keep the order of the rows as far as groups stay together.
pub fn from_rows(rows: &[Row]) -> Result<Hierarchy, Vec<Problem>> {
    let mut drafts = Drafts::default();
    for row in rows {
        drafts.add(row);
    }
    if rows.is_empty() {
        drafts.problem(None, "has no values", "list every value, one line each: value;group;*");
    }
    let root = drafts.hang_below_root();
    for (at, draft) in drafts.nodes.iter().enumerate() {
        if draft.is_value && (at == root || !draft.children.is_empty()) {
            drafts.problems.push(Problem::new(
                Some(draft.line),
                "the value in the first field is also the name of a group",
                "give the group another name, so that a published label means one thing",
            ));
        }
    }
    if drafts.problems.is_empty() {
        if let Some(tree) = drafts.number_from(root) {
            return Ok(tree);
        }
        drafts.problem(
            None,
            "some groups contain each other",
            "order the fields of each line from narrow to wide",
        );
    }
    drafts.problems.sort_by_key(|problem| problem.line);
    drafts.problems.truncate(MAX_PROBLEMS);
    Err(drafts.problems)
}

impl<'a> Drafts<'a> {
    fn problem(&mut self, line: Option<usize>, problem: &str, remedy: &str) {
        self.problems.push(Problem::new(line, problem, remedy));
    }

    fn add(&mut self, row: &'a Row) {
        let line = row.line;
        let filled = row.names.iter().rposition(|name| !name.is_empty()).map_or(0, |last| last + 1);
        let names = &row.names[..filled];
        if names.first().is_none_or(|value| value.is_empty()) {
            return self.problem(
                Some(line),
                "the first field is empty",
                "put the value first: value;group;*",
            );
        }
        if let Some(empty) = names.iter().position(|name| name.is_empty()) {
            let problem = format!("field {} is empty", empty + 1);
            let remedy = "name the group, or repeat the field before it if nothing changes on this level";
            return self.problem(Some(line), &problem, remedy);
        }
        if names.len() > MAX_LEVELS {
            let problem = format!("has {} fields, more than {MAX_LEVELS}", names.len());
            return self.problem(Some(line), &problem, "use fewer levels");
        }
        let mut below: Option<usize> = None;
        for (level, name) in names.iter().enumerate() {
            let node = self.node(name, line);
            match below {
                None => self.nodes[node].is_value = true,
                Some(below) if below == node => continue,
                Some(below) => self.join(below, node, line, level),
            }
            self.nodes[node].level = self.nodes[node].level.max(level as u32);
            below = Some(node);
        }
    }

    fn node(&mut self, name: &'a str, line: usize) -> usize {
        *self.by_name.entry(name).or_insert_with(|| {
            let draft = Draft { name, line, parent: None, children: Vec::new(), level: 0, is_value: false };
            self.nodes.push(draft);
            self.nodes.len() - 1
        })
    }

    fn join(&mut self, below: usize, above: usize, line: usize, field: usize) {
        match self.nodes[below].parent {
            None => {
                self.nodes[below].parent = Some((above, line));
                self.nodes[above].children.push(below);
            }
            Some((known, _)) if known == above => {}
            Some((_, first)) => {
                let problem = format!("field {field} has another parent here than on line {first}");
                self.problem(Some(line), &problem, "give every value and group one parent only");
            }
        }
    }

    /// Creates one root above all nodes without a parent, and returns it.
    fn hang_below_root(&mut self) -> usize {
        let tops: Vec<usize> =
            (0..self.nodes.len()).filter(|&node| self.nodes[node].parent.is_none()).collect();
        if let [only] = tops[..]
            && !self.nodes[only].is_value
        {
            return only;
        }
        let root = self.node(ROOT, 0);
        for node in tops.into_iter().filter(|&node| node != root) {
            self.nodes[node].parent = Some((root, 0));
            self.nodes[root].children.push(node);
        }
        root
    }

    /// Numbers the nodes so that parents come first and the leaves below a node are contiguous; `None` if groups
    /// contain each other in a cycle.
    fn number_from(&self, root: usize) -> Option<Hierarchy> {
        let mut nodes: Vec<Entry> = Vec::with_capacity(self.nodes.len());
        let mut leaves = Vec::new();
        let mut waiting: Vec<(usize, Option<Node>)> = vec![(root, None)];
        while let Some((draft, parent)) = waiting.pop() {
            if nodes.len() == self.nodes.len() {
                return None;
            }
            let number = Node(nodes.len() as u32);
            let from = &self.nodes[draft];
            if let Some(parent) = parent {
                nodes[parent.index()].children.push(number);
            }
            let first = leaves.len() as u32;
            if from.children.is_empty() {
                leaves.push(number);
            }
            let range: Range<u32> = first..leaves.len() as u32;
            let (name, level) = (from.name.to_string(), from.level);
            nodes.push(Entry { name, parent, children: Vec::new(), range, level, height: 0 });
            waiting.extend(from.children.iter().rev().map(|&child| (child, Some(number))));
        }
        if nodes.len() < self.nodes.len() {
            return None;
        }
        // Children have larger numbers, so going backwards finishes them before their parent.
        for number in (1..nodes.len()).rev() {
            let (end, level, height) = (nodes[number].range.end, nodes[number].level, nodes[number].height);
            if let Some(parent) = nodes[number].parent {
                let above = &mut nodes[parent.index()];
                above.range.end = above.range.end.max(end);
                above.level = above.level.max(level + 1);
                above.height = above.height.max(height + 1);
            }
        }
        let by_name: HashMap<String, Node> = nodes
            .iter()
            .enumerate()
            .map(|(number, entry)| (entry.name.clone(), Node(number as u32)))
            .collect();
        Some(Hierarchy { nodes: nodes.into(), leaves: leaves.into(), by_name: by_name.into(), other: None })
    }
}

impl Hierarchy {
    /// Maps the values that the hierarchy does not cover to the leaf `name`, which may be new (below the root) or
    /// existing.
    pub fn with_other(mut self, name: &str) -> Result<Self, Problem> {
        if self.node(name).is_none() {
            let root = self.name(self.root()).to_string();
            let mut rows: Vec<Vec<String>> = self.rows();
            rows.push(vec![name.to_string(), root]);
            let rows: Vec<Row> =
                rows.into_iter().enumerate().map(|(at, names)| Row { line: at + 1, names }).collect();
            self = from_rows(&rows).map_err(|problems| {
                let first = problems.into_iter().next();
                first.unwrap_or_else(|| Problem::new(None, "cannot be added", "use another name"))
            })?;
        }
        self.other = self.own_leaf(name);
        match self.other {
            Some(_) => Ok(self),
            None => Err(Problem::new(
                None,
                "is the name of a group",
                "name a value, or a new name that becomes a value of its own",
            )),
        }
    }
}
