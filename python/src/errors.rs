//! How does an error of the library become an exception?
//!
//! The classes are in `skyveil/errors.py`; all of them have the fields of every error, and some have more.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use skyveil::{Error, Finding, Lint, Mistake, Setting, obstacles};

/// The exception for an error.
pub fn raised(py: Python<'_>, error: &Error) -> PyErr {
    exception(py, error).unwrap_or_else(|failure| failure)
}

/// The exception for a table of which nothing can be published.
pub fn no_release(py: Python<'_>, reason: &str, findings: &[Finding]) -> PyErr {
    let make = || {
        let fields = PyDict::new(py);
        let obstacles: Vec<String> = obstacles(findings).iter().map(ToString::to_string).collect();
        fields.set_item("obstacles", format!("[{}]", obstacles.join(",")))?;
        of_class(py, "NoReleaseError", reason, &fields)
    };
    make().unwrap_or_else(|failure: PyErr| failure)
}

fn exception(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let (problem, remedy) = error.problem_and_remedy();
    let fields = PyDict::new(py);
    fields.set_item("problem", problem)?;
    fields.set_item("remedy", remedy)?;
    fields.set_item("setting", error.setting().map(name_of))?;
    fields.set_item("column", error.column())?;
    fields.set_item("file", error.file())?;
    fields.set_item("may_pass", error.may_pass())?;
    let class = match error {
        Error::Input { .. } => "InputError",
        Error::Policy { mistakes, .. } => {
            fields.set_item("mistakes", list(py, mistakes, mistake)?)?;
            "PolicyError"
        }
        Error::Risks { lints, .. } => {
            fields.set_item("risks", list(py, lints, lint)?)?;
            "RisksError"
        }
        Error::Memory { stage, needed, budget } => {
            fields.set_item("stage", stage)?;
            fields.set_item("needed", needed)?;
            fields.set_item("budget", budget)?;
            "MemoryBudgetError"
        }
        Error::Io { source, .. } | Error::Spill { source, .. } | Error::Undurable { source, .. } => {
            fields.set_item("errno", source.raw_os_error())?;
            "StorageError"
        }
        Error::Changed { .. } => "ChangedError",
        Error::Format { .. } => "FormatError",
        Error::Busy { .. } => "BusyError",
        Error::Stopped => "StoppedError",
        Error::Defect { .. } => "DefectError",
        _ => "SkyveilError",
    };
    of_class(py, class, &error.to_string(), &fields)
}

fn of_class(py: Python<'_>, class: &str, text: &str, fields: &Bound<'_, PyDict>) -> PyResult<PyErr> {
    let class = py.import("skyveil.errors")?.getattr(class)?;
    Ok(PyErr::from_value(class.call((text,), Some(fields))?))
}

fn list<'py, T>(
    py: Python<'py>,
    items: &[T],
    item: impl Fn(Python<'py>, &T) -> PyResult<Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyList>> {
    let items: Vec<_> = items.iter().map(|own| item(py, own)).collect::<PyResult<_>>()?;
    PyList::new(py, items)
}

fn mistake<'py>(py: Python<'py>, mistake: &Mistake) -> PyResult<Bound<'py, PyDict>> {
    let item = PyDict::new(py);
    item.set_item("line", mistake.line)?;
    item.set_item("key", &mistake.key)?;
    item.set_item("problem", &mistake.problem)?;
    item.set_item("remedy", &mistake.remedy)?;
    Ok(item)
}

/// A risk as a dictionary.
pub fn lint<'py>(py: Python<'py>, lint: &Lint) -> PyResult<Bound<'py, PyDict>> {
    let item = PyDict::new(py);
    item.set_item("name", lint.name)?;
    item.set_item("people", lint.people)?;
    item.set_item("message", &lint.message)?;
    item.set_item("remedy", &lint.remedy)?;
    Ok(item)
}

/// The parameter of the Python functions, where there is one.
fn name_of(setting: Setting) -> String {
    format!("{setting:?}").to_lowercase()
}
