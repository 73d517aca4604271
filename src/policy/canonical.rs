//! Which text stands for a policy, whatever its comments, the order of its keys and its files?
//!
//! The canonical text is itself a policy: it reads back as the same value, with shorthands expanded,
//! defaults written out and hierarchies as rows, so that it needs no other file.

use std::fmt::{self, Write};

use sha2::{Digest, Sha256};

use super::columns::{ColumnType, Columns, Nearness};
use super::parse::quoted;
use super::privacy::{Criterion, Distance, Distributions, Model, Privacy, Protected, RobustTest, Target};
use super::publish::{Coarseness, Cuts, Publish, Ranges, Strategy, Style};
use super::quasi::{End, Grid, Quasi, Shape};
use super::read::Policy;
use crate::math::exact::Rational;
use crate::policy::hierarchy::{DateLevel, Hierarchy, decimal_text};

impl Policy {
    /// The policy in its one canonical form.
    pub fn canonical(&self) -> String {
        let mut text = String::new();
        write_policy(self, &mut text).expect("writing to a string cannot fail");
        text
    }

    /// The SHA-256 of the canonical text, in hexadecimal.
    pub fn hash(&self) -> String {
        Sha256::digest(self.canonical()).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn write_policy(policy: &Policy, text: &mut String) -> fmt::Result {
    write_columns(&policy.columns, text)?;
    write_privacy(&policy.privacy, text)?;
    write_publish(&policy.publish, text)?;
    for function in &policy.functions {
        writeln!(text, "[[audit.function]]")?;
        for (column, coarse) in policy.columns.quasi.iter().zip(function) {
            writeln!(text, "{} = {}", quoted(&column.name), coarseness(coarse, &column.shape))?;
        }
    }
    Ok(())
}

fn write_columns(columns: &Columns, text: &mut String) -> fmt::Result {
    writeln!(text, "[columns]")?;
    for (key, names) in [("joint", &columns.joint), ("drop", &columns.drop), ("keep", &columns.keep)] {
        if !names.is_empty() {
            writeln!(text, "{key} = {}", list(names.iter().map(|name| quoted(name))))?;
        }
    }
    for (key, name) in [("individual", &columns.individual), ("count", &columns.count)] {
        if let Some(name) = name {
            writeln!(text, "{key} = {}", quoted(name))?;
        }
    }
    if let Some(byte) = columns.delimiter {
        writeln!(text, "delimiter = {}", quoted(&char::from(byte).to_string()))?;
    }
    if !columns.types.is_empty() {
        let types = columns.types.iter();
        let types =
            types.map(|(name, kind): (_, &ColumnType)| format!("{} = \"{}\"", quoted(name), kind.name()));
        writeln!(text, "types = {{ {} }}", types.collect::<Vec<_>>().join(", "))?;
    }
    for column in &columns.sensitive {
        writeln!(text, "[columns.sensitive.{}]", quoted(&column.name))?;
        if let Some(value) = &column.null_is {
            writeln!(text, "null_is = {}", quoted(value))?;
        }
        match &column.nearness {
            Nearness::Equal => {}
            Nearness::Numeric => writeln!(text, "order = \"numeric\"")?,
            Nearness::Order(values) => writeln!(text, "order = {}", list(values.iter().map(|v| quoted(v))))?,
            Nearness::Hierarchy(tree) => write_hierarchy(tree, text)?,
        }
    }
    columns.quasi.iter().try_for_each(|quasi| write_quasi(quasi, text))
}

fn write_quasi(quasi: &Quasi, text: &mut String) -> fmt::Result {
    writeln!(text, "[columns.quasi.{}]", quoted(&quasi.name))?;
    if let Some(ends) = &quasi.domain {
        writeln!(text, "domain = {}", list(ends.iter().map(end)))?;
    }
    match &quasi.grid {
        Some(Grid::Width(width)) => writeln!(text, "grid = {}", fraction(width))?,
        Some(Grid::Date(level)) => writeln!(text, "grid = \"{}\"", level.name())?,
        None => {}
    }
    if let Some(name) = &quasi.other {
        writeln!(text, "other = {}", quoted(name))?;
    }
    match &quasi.shape {
        Shape::Plain => Ok(()),
        Shape::Hierarchy(tree) => write_hierarchy(tree, text),
        Shape::Widths(widths) => writeln!(text, "levels = {}", list(widths.iter().map(fraction))),
        Shape::Ends(levels) => {
            writeln!(text, "ends = {}", list(levels.iter().map(|ends| list(ends.iter().map(end)))))
        }
        Shape::Prefix(lengths) => writeln!(text, "prefix = {}", list(lengths.iter().map(u64::to_string))),
        Shape::Dates(levels) => {
            let name = |level: &DateLevel| format!("\"{}\"", level.name());
            writeln!(text, "dates = {}", list(levels.iter().map(name)))
        }
        Shape::Order(values) => writeln!(text, "order = {}", list(values.iter().map(|value| quoted(value)))),
    }
}

fn write_hierarchy(tree: &Hierarchy, text: &mut String) -> fmt::Result {
    writeln!(text, "hierarchy = [")?;
    for row in tree.rows() {
        writeln!(text, "{},", list(row.iter().map(|name| quoted(name))))?;
    }
    writeln!(text, "]")
}

fn write_privacy(privacy: &Privacy, text: &mut String) -> fmt::Result {
    writeln!(text, "[privacy]\nminimum_group_size = {}", privacy.minimum_group_size)?;
    privacy.targets.iter().try_for_each(|target| write_target(target, text))
}

fn write_target(target: &Target, text: &mut String) -> fmt::Result {
    let section = format!("privacy.column.{}", quoted(&target.name()));
    writeln!(text, "[{section}]\nvalues = \"{}\"", target.values.name())?;
    writeln!(text, "minimum_distinct = {}", target.minimum_distinct)?;
    for criterion in &target.criteria {
        match criterion {
            Criterion::Closeness { t, distance } => {
                let (t, distance) = (fraction(t), name_of(&Distance::NAMES, *distance));
                writeln!(text, "t_closeness = {{ t = {t}, distance = \"{distance}\" }}")?;
            }
            Criterion::LargestShare { l } => writeln!(text, "probabilistic_l_diversity = {}", fraction(l))?,
        }
    }
    match &target.model {
        Model::Skyline(requirements) => {
            writeln!(text, "model = \"skyline\"")?;
            for point in requirements {
                writeln!(text, "[[{section}.skyline]]")?;
                if let Protected::These(values) = &point.values {
                    writeln!(text, "for = {}", list(values.iter().map(|value| quoted(value))))?;
                }
                let (l, k, m, confidence) = (point.l, point.k, point.m, fraction(&point.confidence));
                writeln!(text, "l = {l}\nk = {k}\nm = {m}\nconfidence = {confidence}")?;
            }
            Ok(())
        }
        Model::Implications { knows, confidence } => {
            writeln!(text, "model = \"implications\"\nimplications = {knows}")?;
            writeln!(text, "confidence = {}", fraction(confidence))
        }
        Model::Robust(robust) => {
            writeln!(text, "model = \"robust\"\nr = {}", fraction(&robust.r))?;
            let set = |names: &Vec<String>| list(names.iter().map(|name| quoted(name)));
            writeln!(text, "known = {}", list(robust.known.iter().map(set)))?;
            if let Distributions::File { given, .. } = &robust.distributions {
                writeln!(text, "distributions = {}", quoted(given))?;
            }
            writeln!(text, "test = \"{}\"", name_of(&RobustTest::NAMES, robust.test))
        }
        Model::Beliefs(beliefs) => {
            writeln!(text, "model = \"beliefs\"")?;
            let smooth = beliefs.smooth.as_ref().map_or("\"none\"".to_string(), fraction);
            writeln!(text, "smooth = {smooth}")?;
            for point in &beliefs.points {
                let widths = point.bandwidth.iter();
                let widths = widths.map(|(name, width)| format!("{} = {}", quoted(name), fraction(width)));
                writeln!(text, "[[{section}.beliefs]]\nt = {}", fraction(&point.t))?;
                writeln!(text, "bandwidth = {{ {} }}", widths.collect::<Vec<_>>().join(", "))?;
            }
            Ok(())
        }
    }
}

fn write_publish(publish: &Publish, text: &mut String) -> fmt::Result {
    writeln!(text, "[publish]\nstyle = \"{}\"", name_of(&Style::NAMES, publish.style))?;
    writeln!(text, "ranges = \"{}\"", name_of(&Ranges::NAMES, publish.ranges))?;
    writeln!(text, "cuts = \"{}\"", name_of(&Cuts::NAMES, publish.cuts))?;
    if let Some(strategy) = publish.strategy {
        writeln!(text, "strategy = \"{}\"", name_of(&Strategy::NAMES, strategy))?;
    }
    Ok(())
}

fn coarseness(coarse: &Coarseness, shape: &Shape) -> String {
    let listed = |level: u32, name: &dyn Fn(usize) -> Option<String>| match level.checked_sub(1) {
        Some(at) => name(at as usize).unwrap_or("\"*\"".to_string()),
        None => "0".to_string(),
    };
    match (coarse, shape) {
        (Coarseness::All, _) => "\"*\"".to_string(),
        (Coarseness::Width(width), _) => fraction(width),
        (Coarseness::Level(level), Shape::Widths(widths)) => {
            listed(*level, &|at| widths.get(at).map(|width| quoted(&decimal_text(width))))
        }
        (Coarseness::Level(level), Shape::Prefix(lengths)) => {
            listed(*level, &|at| lengths.get(at).map(u64::to_string))
        }
        (Coarseness::Level(level), Shape::Dates(levels)) => {
            listed(*level, &|at| levels.get(at).map(|level| quoted(level.name())))
        }
        (Coarseness::Level(level), _) => level.to_string(),
    }
}

fn name_of<T: PartialEq>(names: &[(&'static str, T)], value: T) -> &'static str {
    names.iter().find(|(_, known)| *known == value).map_or("", |(name, _)| name)
}

fn fraction(number: &Rational) -> String {
    format!("\"{number}\"")
}

fn end(end: &End) -> String {
    quoted(&end.text)
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}
