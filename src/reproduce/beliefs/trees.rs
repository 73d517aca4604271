//! How far apart are the values of Adult?
//!
//! The paper says that occupation has a hierarchy of height 2, but prints no hierarchy. These are ours: height 3 for
//! workclass, education and marital status, height 1 for race and sex.

use crate::error::{Error, Result};
use crate::math::beliefs::distance::Distance;
use crate::math::exact::parse_fraction;
use crate::reproduce::adult::Coded;

/// A value and the names of its ancestors below the root, the nearest first.
type Path = (&'static str, &'static [&'static str]);

const WORKCLASS: &[Path] = &[
    ("Private", &["employee", "private"]),
    ("Self-emp-inc", &["self-employed", "private"]),
    ("Self-emp-not-inc", &["self-employed", "private"]),
    ("Federal-gov", &["federal", "public"]),
    ("Local-gov", &["local", "public"]),
    ("State-gov", &["local", "public"]),
    ("Without-pay", &["unpaid", "other"]),
    ("Never-worked", &["unpaid", "other"]),
];

const EDUCATION: &[Path] = &[
    ("Preschool", &["primary", "school"]),
    ("1st-4th", &["primary", "school"]),
    ("5th-6th", &["primary", "school"]),
    ("7th-8th", &["primary", "school"]),
    ("9th", &["secondary", "school"]),
    ("10th", &["secondary", "school"]),
    ("11th", &["secondary", "school"]),
    ("12th", &["secondary", "school"]),
    ("HS-grad", &["graduate of a school", "school"]),
    ("Some-college", &["college", "higher"]),
    ("Assoc-voc", &["college", "higher"]),
    ("Assoc-acdm", &["college", "higher"]),
    ("Bachelors", &["bachelor", "higher"]),
    ("Masters", &["graduate", "higher"]),
    ("Prof-school", &["graduate", "higher"]),
    ("Doctorate", &["graduate", "higher"]),
];

const MARITAL: &[Path] = &[
    ("Married-civ-spouse", &["together", "married"]),
    ("Married-AF-spouse", &["together", "married"]),
    ("Married-spouse-absent", &["apart", "married"]),
    ("Separated", &["apart", "married"]),
    ("Divorced", &["was married", "alone"]),
    ("Widowed", &["was married", "alone"]),
    ("Never-married", &["never married", "alone"]),
];

const OCCUPATION: &[Path] = &[
    ("Exec-managerial", &["office"]),
    ("Prof-specialty", &["office"]),
    ("Adm-clerical", &["office"]),
    ("Tech-support", &["office"]),
    ("Sales", &["service"]),
    ("Other-service", &["service"]),
    ("Priv-house-serv", &["service"]),
    ("Protective-serv", &["service"]),
    ("Armed-Forces", &["service"]),
    ("Craft-repair", &["manual"]),
    ("Machine-op-inspct", &["manual"]),
    ("Transport-moving", &["manual"]),
    ("Handlers-cleaners", &["manual"]),
    ("Farming-fishing", &["manual"]),
];

/// The distances between the values of a column of Adult.
pub fn distance(column: &Coded) -> Result<Distance> {
    Ok(match column.name.as_str() {
        "age" => Distance::Numeric(column.texts.iter().map(|text| parse_fraction(text)).collect()),
        "workclass" => tree(column, WORKCLASS)?,
        "education" => tree(column, EDUCATION)?,
        "marital-status" => tree(column, MARITAL)?,
        "occupation" => tree(column, OCCUPATION)?,
        _ => Distance::Flat(column.texts.len()),
    })
}

fn tree(column: &Coded, paths: &[Path]) -> Result<Distance> {
    // Nodes: the column's values by code, then the ancestors in the order found, the root last.
    let mut names: Vec<(usize, &str)> = Vec::new();
    let mut parents: Vec<Option<(usize, &str)>> = Vec::new();
    let mut of_names: Vec<Option<(usize, &str)>> = Vec::new();
    for text in &column.texts {
        let path = paths.iter().find(|(value, _)| value == text).ok_or_else(|| {
            Error::input(
                format!("column `{}` holds a value that Adult does not have", column.name),
                "give the file that scripts/fetch.sh adult writes",
            )
        })?;
        let above: Vec<(usize, &str)> = path.1.iter().copied().enumerate().collect();
        parents.push(above.first().copied());
        for (at, &name) in above.iter().enumerate() {
            if !names.contains(&name) {
                names.push(name);
                of_names.push(above.get(at + 1).copied());
            }
        }
    }
    let leaves = parents.len() as u32;
    let root = leaves + names.len() as u32;
    let node = |name: Option<(usize, &str)>| {
        let place = name.and_then(|name| names.iter().position(|known| *known == name));
        Some(place.map_or(root, |place| leaves + place as u32))
    };
    let parents = parents.into_iter().chain(of_names.iter().copied()).map(node).chain([None]).collect();
    Ok(Distance::Hierarchy { parents, nodes: (0..leaves).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::beliefs::distance::Metric;
    use crate::math::exact::ratio;

    #[test]
    fn distances_follow_the_hierarchies() {
        let texts: Vec<String> = EDUCATION.iter().map(|(value, _)| value.to_string()).collect();
        let column = Coded { name: "education".into(), texts, codes: Vec::new() };
        let metric = Metric::new(&distance(&column).unwrap(), "education").unwrap();
        let at = |value: &str| EDUCATION.iter().position(|(own, _)| *own == value).unwrap() as u32;
        for (a, b, expected) in [
            ("9th", "9th", ratio(0, 1)),
            ("9th", "12th", ratio(1, 3)),
            ("9th", "HS-grad", ratio(2, 3)),
            ("9th", "Masters", ratio(1, 1)),
        ] {
            assert_eq!(metric.between(at(a), at(b)), expected, "{a} {b}");
        }
        let unknown = Coded { name: "education".into(), texts: vec!["x".into()], codes: Vec::new() };
        assert!(distance(&unknown).is_err());
    }
}
