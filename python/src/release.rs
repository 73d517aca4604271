//! The three questions that Python asks: make a release, examine one, propose a policy.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use skyveil::engine::RowEngine;
use skyveil::{
    Anonymize, CanonicalSizes, Budget, Examined, LatticeMeasure, Outcome, OutputFormat, Policy, Progress, ReadOptions,
    Release, Resources, Result, Search, SpillForm, SpoolPlace, StartingPolicy, Strategy, Summary, Verdict,
    parse_size,
};

use crate::engine::GivenEngine;
use crate::errors::{lint, no_release, raised};
use crate::rows::ReleaseRows;
use crate::table::GivenTable;
use crate::work::run;

/// What a call may use.
pub struct Means {
    memory: u64,
    threads: Option<usize>,
    temp: Option<PathBuf>,
    trust_disk: bool,
}

impl<'py> FromPyObject<'_, 'py> for Means {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Means {
            memory: size(&given.get_item("memory")?)?,
            threads: given.get_item("threads")?.extract()?,
            temp: given.get_item("temp")?.extract()?,
            trust_disk: given.get_item("trust_disk")?.extract()?,
        })
    }
}

/// A number of bytes, or a size in words.
fn size(given: &Bound<'_, PyAny>) -> PyResult<u64> {
    let bytes = match given.extract::<u64>() {
        Ok(bytes) => Some(bytes),
        Err(_) => given.extract::<String>().ok().and_then(|text| parse_size(&text)),
    };
    bytes.filter(|bytes| *bytes > 0).ok_or_else(|| {
        PyValueError::new_err("memory is a number of bytes, or a size such as \"512MiB\" or \"2GiB\"")
    })
}

impl Means {
    /// Where data goes that does not fit in memory.
    pub fn temp(&self) -> PathBuf {
        self.temp.clone().unwrap_or_else(std::env::temp_dir)
    }

    fn spill(&self) -> SpillForm {
        if self.trust_disk { SpillForm::Plain } else { SpillForm::Encrypted }
    }

    /// Where streams are copied.
    pub fn spool(&self) -> SpoolPlace {
        SpoolPlace { directory: self.temp(), form: self.spill() }
    }

    /// All of them.
    pub fn resources<'a>(&self, progress: &'a Progress) -> Resources<'a> {
        let own = Resources::new(Budget::new(self.memory), progress);
        Resources {
            threads: self.threads.unwrap_or(own.threads),
            temp: self.temp(),
            spill: self.spill(),
            ..own
        }
    }
}

/// A policy: the path of its file, or its text.
#[derive(FromPyObject)]
pub enum GivenPolicy {
    /// Anything with a line break is a text.
    Text(String),
    /// The path of a file.
    Path(PathBuf),
}

impl GivenPolicy {
    /// Reads it.
    pub fn read(self) -> Result<Policy> {
        match self {
            GivenPolicy::Text(text) if text.contains('\n') => Policy::parse(&text, "policy"),
            GivenPolicy::Text(path) => Policy::read(path),
            GivenPolicy::Path(path) => Policy::read(path),
        }
    }
}

/// How a release is made, where a caller says so.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Choices {
    format: Option<String>,
    search: String,
    measure: Option<String>,
    strategy: Option<String>,
    functions: Option<PathBuf>,
    receipt: Option<PathBuf>,
    key: Option<PathBuf>,
    suppressed: Option<PathBuf>,
    /// Bytes of a node, rows of parts and people of a file; only tests choose others than the usual ones.
    sizes: Option<(usize, [u64; 2], u64)>,
}

impl Choices {
    fn sizes(&self) -> CanonicalSizes {
        let sizes = |(subtree_bytes, part_rows, file_people)| CanonicalSizes { subtree_bytes, part_rows, file_people };
        self.sizes.map(sizes).unwrap_or_default()
    }

    fn search(&self) -> PyResult<Search> {
        let measure = chosen("measure", self.measure.as_deref(), &LatticeMeasure::NAMES)?;
        match self.search.as_str() {
            "tree" => Ok(Search::Tree),
            "lattice" => Ok(Search::Lattice(measure.unwrap_or(LatticeMeasure::NAMES[0].1))),
            _ => Err(PyValueError::new_err("search is \"tree\" or \"lattice\"")),
        }
    }
}

/// What a name stands for.
fn chosen<T: Copy>(what: &str, name: Option<&str>, names: &[(&str, T)]) -> PyResult<Option<T>> {
    let Some(name) = name else { return Ok(None) };
    match names.iter().find(|(known, _)| *known == name) {
        Some((_, meant)) => Ok(Some(*meant)),
        None => {
            let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
            Err(PyValueError::new_err(format!("{what} is one of {}", names.join(", "))))
        }
    }
}

/// Makes a release of a table; returns it with what only its owner may know.
#[pyfunction]
pub fn anonymize<'py>(
    py: Python<'py>,
    table: GivenTable,
    policy: GivenPolicy,
    out: PathBuf,
    choices: Choices,
    means: Means,
    show: Option<Bound<'py, PyAny>>,
    engine: Option<Py<PyAny>>,
) -> PyResult<(NativeRelease, Bound<'py, PyDict>)> {
    let engine = engine.map(GivenEngine::new);
    let search = choices.search()?;
    let strategy = chosen("strategy", choices.strategy.as_deref(), &Strategy::NAMES)?;
    let format = chosen("format", choices.format.as_deref(), &OutputFormat::NAMES)?;
    let made = run(py, show.as_ref(), |progress| {
        let policy = policy.read()?;
        let table = table.open(&ReadOptions { spool: means.spool(), ..policy.read_options() })?;
        let functions = choices.functions.as_ref();
        let functions = functions
            .map(|path| skyveil::Table::open(std::slice::from_ref(path), &ReadOptions::default()))
            .transpose()?;
        let resources = means.resources(progress);
        let job = Anonymize {
            temp: resources.temp,
            spill: resources.spill,
            memory: means.memory,
            threads: resources.threads,
            search,
            strategy,
            format,
            functions: functions.as_ref(),
            sizes: choices.sizes(),
            suppressed: choices.suppressed.clone(),
            receipt: choices.receipt.clone(),
            key: choices.key.clone(),
            engine: engine.as_ref().map(|engine| engine as &dyn RowEngine),
            ..Anonymize::new(&table, &policy, &out)
        };
        let outcome = job.run(progress)?;
        let release = matches!(outcome, Outcome::Published(_)).then(|| Release::open(&out)).transpose()?;
        Ok((outcome, release))
    });
    // An engine that failed knows better why.
    let (outcome, release) = made.map_err(|error| engine.and_then(GivenEngine::failure).unwrap_or(error))?;
    match (outcome, release) {
        (Outcome::Published(made), Some(release)) => Ok((NativeRelease::new(release), summary(py, &made)?)),
        (Outcome::Impossible(findings), _) => Err(no_release(
            py,
            "the whole table in one group is not safe, so no part of it can be published",
            &findings,
        )),
        (Outcome::Withheld(reason), _) => Err(no_release(py, &reason, &[])),
        (Outcome::Published(_), None) => Err(PyValueError::new_err("the release could not be opened")),
    }
}

/// What only the owner may know.
fn summary<'py>(py: Python<'py>, made: &Summary) -> PyResult<Bound<'py, PyDict>> {
    let summary = PyDict::new(py);
    summary.set_item("safe", made.safe)?;
    summary.set_item("records", made.records)?;
    summary.set_item("groups", made.groups)?;
    summary.set_item("receipt", &made.receipt)?;
    summary.set_item("notes", &made.notes)?;
    summary.set_item("unprotected", &made.unprotected)?;
    let accepted: Vec<_> = made.accepted.iter().map(|own| lint(py, own)).collect::<PyResult<_>>()?;
    summary.set_item("accepted", accepted)?;
    summary.set_item("spilled_bytes", made.spilled_bytes)?;
    summary.set_item("nodes_grown", made.nodes_grown)?;
    summary.set_item("nodes_grown_again", made.nodes_grown_again)?;
    summary.set_item("average_group_size", made.utility.average_group_size)?;
    if !made.utility.columns.is_empty() {
        summary.set_item("certainty_penalty", made.utility.published_penalty())?;
    }
    if let Some(suppression) = &made.suppression {
        summary.set_item("suppressed", suppression.suppressed)?;
        summary.set_item("suppressed_list", &suppression.list)?;
    }
    Ok(summary)
}

/// A release that is open.
#[pyclass(module = "skyveil", frozen)]
pub struct NativeRelease {
    release: Arc<Release>,
}

impl NativeRelease {
    fn new(release: Release) -> Self {
        NativeRelease { release: Arc::new(release) }
    }
}

#[pymethods]
impl NativeRelease {
    /// Opens the release in a folder.
    #[new]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let opened = py.detach(|| Release::open(path)).map_err(|error| raised(py, &error))?;
        Ok(NativeRelease::new(opened))
    }

    /// The names of its tables.
    fn tables(&self) -> Vec<&'static str> {
        self.release.named_tables().into_iter().map(|(name, _)| name).collect()
    }

    /// The rows of a table.
    fn rows(&self, py: Python<'_>, table: &str) -> PyResult<ReleaseRows> {
        match self.tables().iter().position(|name| *name == table) {
            Some(position) => ReleaseRows::of(py, &self.release, position),
            None => {
                let tables = self.tables().join(" and ");
                Err(PyValueError::new_err(format!("this release has no table {table:?}, only {tables}")))
            }
        }
    }
}

/// Examines a release; returns its verdict as a dictionary.
#[pyfunction]
pub fn examine<'py>(
    py: Python<'py>,
    release: &NativeRelease,
    original: Option<GivenTable>,
    means: Means,
    show: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let release = &release.release;
    let examined = run(py, show.as_ref(), |progress| {
        let resources = means.resources(progress);
        let options =
            || release.policy().map(|policy| ReadOptions { spool: means.spool(), ..policy.read_options() });
        let original = original.map(|table| table.open(&options()?)).transpose()?;
        release.examine(original.as_ref(), &resources)
    })?;
    let answer = PyDict::new(py);
    answer.set_item("safe", safety(&examined).into_py_any(py)?)?;
    answer.set_item("altered", &examined.altered)?;
    match &examined.verdict {
        Ok(verdict) => describe(verdict, &answer)?,
        Err(error) => answer.set_item("not_judged", error.to_string())?,
    }
    Ok(answer)
}

/// Whether the release is safe; nothing if that was not judged, or if values are not protected, as the owner accepts.
fn safety(examined: &Examined) -> Option<bool> {
    match &examined.verdict {
        Ok(verdict) if examined.altered.is_empty() => {
            let open = verdict.is_open() && verdict.holds_as_far_as_judged();
            verdict.safety().filter(|_| !open)
        }
        _ => Some(false),
    }
}

fn describe(verdict: &Verdict, answer: &Bound<'_, PyDict>) -> PyResult<()> {
    let first = verdict.first();
    let points: Vec<String> = verdict.points().iter().map(ToString::to_string).collect();
    answer.set_item("points", format!("[{}]", points.join(",")))?;
    answer.set_item("warnings", verdict.warnings())?;
    answer.set_item("unprotected", verdict.unprotected())?;
    answer.set_item("records", first.records)?;
    answer.set_item("people", first.individuals)?;
    answer.set_item("groups", first.groups)?;
    answer.set_item("smallest_group", first.smallest_group)?;
    answer.set_item("sizes", first.sizes.bars())
}

/// Proposes a policy for a table; returns its text, and what the owner should decide first.
#[pyfunction]
pub fn propose(
    py: Python<'_>,
    table: GivenTable,
    sensitive: Option<String>,
    means: Means,
    show: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, Vec<String>)> {
    let proposed = run(py, show.as_ref(), |progress| {
        let name = table.name();
        let table = table.open(&ReadOptions { spool: means.spool(), ..ReadOptions::default() })?;
        StartingPolicy::propose(&table, &name, sensitive.as_deref(), &means.resources(progress))
    })?;
    Ok((proposed.text, proposed.warnings))
}
