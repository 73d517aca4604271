//! A knowledge skyline as a chart: how far k and m can go together, as a stepped line for each l.

use super::draw::{MOST_SERIES, spread};
use super::{Axis, Chart, Series};
use crate::math::skyline::{Level, Reach};

/// The chart of these levels; if there are very many, an evenly spread selection of them.
pub fn knowledge_skyline(title: &str, levels: &[Level]) -> Chart {
    let line = |level: &Level| {
        let name = match level.l {
            Reach::Number(l) => format!("l = {l}"),
            Reach::Anything => "any l".to_string(),
        };
        Series::steps(name, level.corners.iter().map(|&(m, k)| (m as f64, k as f64)).collect())
    };
    Chart {
        title: title.to_string(),
        horizontal: Axis::whole("m: members of the family"),
        vertical: Axis::whole("k: other people"),
        series: spread(levels.len(), MOST_SERIES).map(|i| line(&levels[i])).collect(),
    }
}
