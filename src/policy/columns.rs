//! Which role does each column have?

use std::collections::BTreeMap;
use std::path::Path;

use super::parse::{Item, Mistakes, Section, quoted};
use super::quasi::{Quasi, read_order};
use super::tree::read_hierarchy;
use crate::math::exact::{Rational, parse_fraction};
use crate::policy::hierarchy::Hierarchy;

/// The roles of the columns, and how to read them.
#[derive(Debug, Clone, PartialEq)]
pub struct Columns {
    /// The columns to protect, by name; at least one.
    pub sensitive: Vec<SensitiveRole>,
    /// Sensitive columns whose combination is protected too; empty, or at least two.
    pub joint: Vec<String>,
    /// The columns that an adversary may know, by name; ties between them are broken by table order.
    pub quasi: Vec<Quasi>,
    /// Columns that are not published, by name.
    pub drop: Vec<String>,
    /// Whether columns that the policy does not name are not published either.
    pub rest_is_dropped: bool,
    /// Columns that are published unchanged, by name.
    pub keep: Vec<String>,
    /// The column that identifies people in a table with several rows per person.
    pub individual: Option<String>,
    /// The column that says how many equal rows a row represents.
    pub count: Option<String>,
    /// The types of columns in a CSV file, where they should not be inferred.
    pub types: BTreeMap<String, ColumnType>,
    /// The byte between the fields of a CSV file.
    pub delimiter: Option<u8>,
}

/// A column to protect.
#[derive(Debug, Clone, PartialEq)]
pub struct SensitiveRole {
    /// The column.
    pub name: String,
    /// The meaning of null; if not set, null in a single-valued column is an error.
    pub null_is: Option<String>,
    /// How far its values are from each other.
    pub nearness: Nearness,
    /// Values that need no protection, sorted.
    pub not_sensitive: Vec<String>,
}

/// How far the values of a sensitive column are from each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nearness {
    /// All equally far apart.
    Equal,
    /// By the difference of numbers.
    Numeric,
    /// By their positions in this list.
    Order(Vec<String>),
    /// By their lowest common group.
    Hierarchy(Hierarchy),
}

impl Nearness {
    /// The position of each text in the order of the values, and the number of positions; `None` if a text has no
    /// position.
    ///
    /// Numbers are placed by rank among the given texts, listed values by the list, all others in the given order.
    pub fn places<T: AsRef<str>>(&self, texts: &[T]) -> Option<(Vec<u32>, usize)> {
        match self {
            Nearness::Equal | Nearness::Hierarchy(_) => {
                Some(((0..texts.len() as u32).collect(), texts.len()))
            }
            Nearness::Numeric => {
                let numbers: Option<Vec<Rational>> =
                    texts.iter().map(|text| parse_fraction(text.as_ref())).collect();
                let numbers = numbers?;
                let mut sorted = numbers.clone();
                sorted.sort();
                sorted.dedup();
                let place = |number: &Rational| sorted.partition_point(|other| other < number) as u32;
                Some((numbers.iter().map(place).collect(), sorted.len()))
            }
            Nearness::Order(order) => {
                let place = |text: &T| order.iter().position(|own| own == text.as_ref()).map(|at| at as u32);
                Some((texts.iter().map(place).collect::<Option<_>>()?, order.len()))
            }
        }
    }
}

/// The type of a column in a CSV file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// Whole numbers.
    Integer,
    /// Numbers with decimals.
    Number,
    /// Text.
    Text,
    /// True or false.
    Boolean,
    /// Days such as `2020-07-31`.
    Date,
    /// Days such as `31/7/2020`.
    DayMonthYear,
    /// Days such as `7/31/2020`.
    MonthDayYear,
    /// Points in time.
    Timestamp,
}

impl ColumnType {
    /// All types with their names in a policy.
    pub const NAMES: [(&'static str, ColumnType); 8] = [
        ("integer", ColumnType::Integer),
        ("number", ColumnType::Number),
        ("text", ColumnType::Text),
        ("boolean", ColumnType::Boolean),
        ("date", ColumnType::Date),
        ("day-month-year", ColumnType::DayMonthYear),
        ("month-day-year", ColumnType::MonthDayYear),
        ("timestamp", ColumnType::Timestamp),
    ];

    /// The name in a policy.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }
}

const KEYS: [&str; 11] = [
    "sensitive",
    "joint",
    "quasi",
    "drop",
    "rest",
    "keep",
    "individual",
    "count",
    "null_is",
    "types",
    "delimiter",
];

/// Where each column is named: the key of its role, and the position in the text.
pub(super) type Places = BTreeMap<String, (String, usize)>;

impl Columns {
    pub(super) fn read(section: &Section, folder: &Path, mistakes: &mut Mistakes) -> (Columns, Places) {
        section.only(&KEYS, mistakes);
        let mut places = Places::new();
        let names = |key: &str, mistakes: &mut Mistakes| {
            section.get(key).map_or(Vec::new(), |item| item.texts("[\"name\", \"ssn\"]", mistakes))
        };
        let one = |key: &str, mistakes: &mut Mistakes| {
            let item = section.get(key)?;
            Some((item.text("the name of one column", mistakes)?, item.at))
        };
        let drop = place("drop", names("drop", mistakes), &mut places, mistakes);
        let keep = place("keep", names("keep", mistakes), &mut places, mistakes);
        let individual = one("individual", mistakes);
        let individual = place("individual", individual.into_iter().collect(), &mut places, mistakes).pop();
        let count = one("count", mistakes);
        let count = place("count", count.into_iter().collect(), &mut places, mistakes).pop();
        if let (Some(_), Some(_), Some(item)) = (&count, &individual, section.get("count")) {
            let remedy = "a long table has one row for each value; leave out count or individual";
            item.wrong("stands beside individual", remedy, mistakes);
        }
        let sensitive = read_sensitive(section, folder, &mut places, mistakes);
        let quasi = read_quasi(section, folder, &mut places, mistakes);
        let joint = read_joint(section, &sensitive, mistakes);
        let types = read_types(section, &places, mistakes);
        let delimiter = section.get("delimiter").and_then(|item| read_delimiter(&item, mistakes));
        let rest_is_dropped =
            section.get("rest").and_then(|item| item.choice(&[("drop", true)], mistakes)).unwrap_or(false);
        let (mut drop, mut keep) = (drop, keep);
        drop.sort();
        keep.sort();
        let columns = Columns {
            sensitive,
            joint,
            quasi,
            drop,
            rest_is_dropped,
            keep,
            individual,
            count,
            types,
            delimiter,
        };
        (columns, places)
    }

    /// The sensitive column with this name.
    pub fn sensitive(&self, name: &str) -> Option<&SensitiveRole> {
        self.sensitive.iter().find(|column| column.name == name)
    }

    /// The quasi-identifier with this name.
    pub fn quasi(&self, name: &str) -> Option<&Quasi> {
        self.quasi.iter().find(|column| column.name == name)
    }
}

/// Records the role of each name; returns the names that had no role before.
fn place(
    role: &str,
    names: Vec<(String, usize)>,
    places: &mut Places,
    mistakes: &mut Mistakes,
) -> Vec<String> {
    let mut placed = Vec::new();
    for (name, at) in names {
        let key = format!("columns.{role}");
        match places.get(&name) {
            Some((other, _)) => {
                let problem = format!("column {} is also in {other}", quoted(&name));
                mistakes.add(at, &key, problem, "give every column one role");
            }
            None => {
                places.insert(name.clone(), (key, at));
                placed.push(name);
            }
        }
    }
    placed
}

fn read_sensitive(
    section: &Section,
    folder: &Path,
    places: &mut Places,
    mistakes: &mut Mistakes,
) -> Vec<SensitiveRole> {
    let example = "sensitive = \"the column to protect\"";
    let Some(item) = section.get("sensitive") else {
        section.missing("sensitive", example, mistakes);
        return Vec::new();
    };
    let null_is = section.get("null_is").and_then(|item| item.label(mistakes));
    let plain = |name: String| SensitiveRole {
        name,
        null_is: null_is.clone(),
        nearness: Nearness::Equal,
        not_sensitive: Vec::new(),
    };
    if !item.is_table() {
        let names = item.texts("\"disease\"", mistakes);
        if names.is_empty() && item.is_list() {
            item.wrong("is empty", example, mistakes);
        }
        let mut names = place("sensitive", names, places, mistakes);
        names.sort();
        return names.into_iter().map(plain).collect();
    }
    let Some(table) = item.section(example, mistakes) else { return Vec::new() };
    let mut columns = Vec::new();
    for (name, item) in table.entries() {
        if place("sensitive", vec![(name.clone(), item.at)], places, mistakes).is_empty() {
            continue;
        }
        let mut column = plain(name);
        if let Some(stated) = item.section("[columns.sensitive.NAME]", mistakes) {
            column.read_details(&stated, folder, mistakes);
        }
        columns.push(column);
    }
    if columns.is_empty() {
        item.wrong("names no column", example, mistakes);
    }
    columns.sort_by(|one, another| one.name.cmp(&another.name));
    columns
}

impl SensitiveRole {
    fn read_details(&mut self, stated: &Section, folder: &Path, mistakes: &mut Mistakes) {
        stated.only(&["null_is", "order", "hierarchy", "not_sensitive"], mistakes);
        if let Some(item) = stated.get("null_is") {
            self.null_is = item.label(mistakes);
        }
        if let Some(item) = stated.get("not_sensitive") {
            self.not_sensitive = item.labels(mistakes);
            self.not_sensitive.sort();
        }
        if let Some(item) = stated.get("hierarchy") {
            if let Some(tree) = read_hierarchy(&item, folder, mistakes) {
                self.nearness = Nearness::Hierarchy(tree);
            }
            if let Some(order) = stated.get("order") {
                order.wrong("stands beside hierarchy", "keep either hierarchy or order", mistakes);
            }
        } else if let Some(item) = stated.get("order") {
            self.nearness = match item.as_text() {
                Some(_) => match item.choice(&[("numeric", ())], mistakes) {
                    Some(()) => Nearness::Numeric,
                    None => Nearness::Equal,
                },
                None => Nearness::Order(read_order(&item, mistakes)),
            };
        }
    }
}

fn read_quasi(section: &Section, folder: &Path, places: &mut Places, mistakes: &mut Mistakes) -> Vec<Quasi> {
    let Some(item) = section.get("quasi") else { return Vec::new() };
    if !item.is_table() {
        // A plain list is enough if there is nothing else to say about the columns.
        let names = place("quasi", item.texts("[columns.quasi.NAME]", mistakes), places, mistakes);
        let plain =
            |name| Quasi { name, shape: super::QuasiShape::Plain, domain: None, grid: None, other: None };
        let mut columns: Vec<Quasi> = names.into_iter().map(plain).collect();
        columns.sort_by(|one, another| one.name.cmp(&another.name));
        return columns;
    }
    let Some(table) = item.section("[columns.quasi.NAME]", mistakes) else { return Vec::new() };
    let mut columns = Vec::new();
    for (name, item) in table.entries() {
        let Some(stated) = item.section("[columns.quasi.NAME]", mistakes) else { continue };
        let quasi = Quasi::read(&name, &stated, folder, mistakes);
        if !place("quasi", vec![(name, item.at)], places, mistakes).is_empty() {
            columns.push(quasi);
        }
    }
    columns.sort_by(|one, another| one.name.cmp(&another.name));
    columns
}

fn read_joint(section: &Section, sensitive: &[SensitiveRole], mistakes: &mut Mistakes) -> Vec<String> {
    let Some(item) = section.get("joint") else { return Vec::new() };
    let names = item.texts("[\"disease\", \"job\"]", mistakes);
    if names.len() < 2 {
        item.wrong("needs at least two columns", "list sensitive columns, or leave it out", mistakes);
    }
    for (name, at) in &names {
        if !sensitive.iter().any(|column| column.name == *name) {
            let problem = format!("column {} is not sensitive", quoted(name));
            mistakes.add(*at, "columns.joint", problem, "list it in columns.sensitive too");
        }
    }
    let mut names: Vec<String> = names.into_iter().map(|(name, _)| name).collect();
    names.sort();
    let joint = names.join("+");
    if names.len() > 1 && sensitive.iter().any(|column| column.name == joint) {
        let problem = format!("the joint column would be named {}, like another", quoted(&joint));
        item.wrong(problem, "rename that column first", mistakes);
    }
    names
}

fn read_types(section: &Section, places: &Places, mistakes: &mut Mistakes) -> BTreeMap<String, ColumnType> {
    let mut types = BTreeMap::new();
    let stated = section.get("types").and_then(|item| item.section("types = { zip = \"text\" }", mistakes));
    for (name, item) in stated.iter().flat_map(Section::entries) {
        if !places.contains_key(&name) {
            let remedy = match super::parse::closest(&name, places.keys().map(String::as_str)) {
                Some(near) => format!("did you mean {near}?"),
                None => "give it a role (drop, quasi, keep or sensitive), or delete this line".to_string(),
            };
            item.wrong("has a type, but no role", remedy, mistakes);
        }
        if let Some(kind) = item.choice(&ColumnType::NAMES, mistakes) {
            types.insert(name, kind);
        }
    }
    types
}

fn read_delimiter(item: &Item, mistakes: &mut Mistakes) -> Option<u8> {
    match item.text("\";\"", mistakes)?.as_bytes() {
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r' | 0) => Some(*byte),
        _ => {
            item.wrong("is not one ASCII character", "write \",\", \";\", \"\\t\" or \"|\"", mistakes);
            None
        }
    }
}
