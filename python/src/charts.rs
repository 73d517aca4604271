//! The charts of the report, for notebooks.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use skyveil::charts::{self, CHART_STYLE};
use skyveil::{Rational, parse_fraction};

/// A risk as a bar with its limit, both exact: decimals or fractions.
#[pyfunction]
pub fn meter(risk: &str, limit: &str) -> PyResult<String> {
    let (risk, limit) = (fraction(risk)?, fraction(limit)?);
    Ok(charts::meter(&risk, Some(&limit)).into_string())
}

fn fraction(text: &str) -> PyResult<Rational> {
    parse_fraction(text).ok_or_else(|| PyValueError::new_err("a risk is a decimal or a fraction"))
}

/// Groups by size: the first and the last size of each bar, and its groups.
#[pyfunction]
pub fn histogram(title: &str, bars: Vec<(u64, u64, u64)>) -> String {
    charts::histogram(title, &bars).into_string()
}

/// The style of the charts, for what is inside of an element of this class alone.
#[pyfunction]
pub fn chart_style(class: &str) -> String {
    format!(".{class}{{{}}}", CHART_STYLE.replace(":root", "&"))
}
