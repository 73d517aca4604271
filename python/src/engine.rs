//! What the tasks of an engine call, and how the run calls the engine.
//!
//! The engine is a Python object with the methods of `RowEngine`, which move bytes between the functions here: see
//! `skyveil::engine` for what they promise each other.

use std::sync::{Mutex, PoisonError};
use std::thread::Builder;

use crossbeam_channel::{Receiver, bounded};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use skyveil::engine::{EngineTask, SetPlacement, PageTask, RowEngine, RowSet};
use skyveil::{Error, Policy, Progress, ReadOptions, Result, Table};

use crate::errors::raised;
use crate::release::{GivenPolicy, Means};
use crate::table::GivenTable;
use crate::work::run;

/// Pages that wait for the engine.
const AHEAD: usize = 2;

/// The rows of a task.
pub struct GivenRows {
    table: GivenTable,
    policy: String,
    /// The positions of the files that are the task's, if files are given.
    files: Option<(usize, usize)>,
    means: Means,
}

impl<'py> FromPyObject<'_, 'py> for GivenRows {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (table, policy, files, means) = given.extract()?;
        Ok(GivenRows { table, policy, files, means })
    }
}

/// A policy in its canonical form, in which it needs no other file.
fn read_canonical(policy: &str) -> Result<Policy> {
    Policy::parse(policy, "policy")
}

impl GivenRows {
    fn with<T>(self, progress: &Progress, work: impl FnOnce(&EngineTask<'_>) -> Result<T>) -> Result<T> {
        let policy = read_canonical(&self.policy)?;
        let options = ReadOptions { spool: self.means.spool(), ..policy.read_options() };
        let table = some_files(self.table.open(&options)?, self.files);
        let resources = self.means.resources(progress);
        work(&EngineTask { table: &table, policy: &policy, resources: &resources })
    }
}

/// The table with only these files.
pub fn some_files(table: Table, files: Option<(usize, usize)>) -> Table {
    match files {
        Some((from, to)) => table.with_files(from..to),
        None => table,
    }
}

/// The canonical form of a policy, which tasks understand without the files that it names.
#[pyfunction]
pub fn canonical_policy(py: Python<'_>, policy: GivenPolicy) -> PyResult<String> {
    policy.read().map(|policy| policy.canonical()).map_err(|error| raised(py, &error))
}

/// How many files a table has.
#[pyfunction]
pub fn count_files(py: Python<'_>, table: GivenTable, policy: &str) -> PyResult<usize> {
    let count = || Ok(table.open(&read_canonical(policy)?.read_options())?.files().len());
    count().map_err(|error| raised(py, &error))
}

/// The values of the rows of a task.
#[pyfunction]
pub fn observe(py: Python<'_>, rows: GivenRows) -> PyResult<Bound<'_, PyBytes>> {
    let bytes = run(py, None, |progress| rows.with(progress, |task| task.observe()))?;
    Ok(PyBytes::new(py, &bytes))
}

/// The combinations of sensitive values in the rows of a task.
#[pyfunction]
pub fn combine<'py>(py: Python<'py>, rows: GivenRows, order: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = run(py, None, |progress| rows.with(progress, |task| task.combine(order)))?;
    Ok(PyBytes::new(py, &bytes))
}

/// The rows of a task as encrypted pages.
#[pyfunction]
pub fn encode(py: Python<'_>, rows: GivenRows, order: Vec<u8>) -> PyResult<TaskPages> {
    let (send, pages) = bounded(AHEAD);
    let work = move || {
        let pass = |page| send.send(Ok(page)).map_err(|_| Error::Stopped);
        if let Err(error) = rows.with(&Progress::default(), |task| task.encode(&order, pass)) {
            let _ = send.send(Err(error));
        }
    };
    match Builder::new().spawn(work) {
        Ok(_) => Ok(TaskPages { pages }),
        Err(source) => Err(raised(py, &Error::Threads { source })),
    }
}

/// Encrypts with a key of 32 bytes what an engine may write to a disk.
#[pyfunction]
pub fn seal<'py>(py: Python<'py>, key: &[u8], contents: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let sealed = skyveil::engine::seal(contents.to_vec(), key);
    sealed.map(|bytes| PyBytes::new(py, &bytes)).map_err(|error| raised(py, &error))
}

/// What was encrypted with this key.
#[pyfunction]
pub fn unseal<'py>(py: Python<'py>, key: &[u8], sealed: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let contents = skyveil::engine::unseal(sealed, key);
    contents.map(|bytes| PyBytes::new(py, &bytes)).map_err(|error| raised(py, &error))
}

/// Merges what two tasks returned.
type Merge = fn(&Policy, &[u8], &[u8]) -> Result<Vec<u8>>;

fn merge<'py>(
    py: Python<'py>,
    policy: &str,
    (one, other): (&[u8], &[u8]),
    merge: Merge,
) -> PyResult<Bound<'py, PyBytes>> {
    let merged = read_canonical(policy).and_then(|policy| merge(&policy, one, other));
    merged.map(|bytes| PyBytes::new(py, &bytes)).map_err(|error| raised(py, &error))
}

/// The values of two tasks.
#[pyfunction]
pub fn merge_values<'py>(
    py: Python<'py>,
    policy: &str,
    one: &[u8],
    other: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    merge(py, policy, (one, other), EngineTask::merge_values)
}

/// The combinations of two tasks.
#[pyfunction]
pub fn merge_combinations<'py>(
    py: Python<'py>,
    policy: &str,
    one: &[u8],
    other: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    merge(py, policy, (one, other), EngineTask::merge_combinations)
}

/// What the pages of two tasks hold together.
#[pyfunction]
pub fn merge_totals<'py>(
    py: Python<'py>,
    policy: &str,
    one: &[u8],
    other: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    merge(py, policy, (one, other), PageTask::merge_totals)
}

/// The counts of two tasks.
#[pyfunction]
pub fn merge_counts<'py>(
    py: Python<'py>,
    policy: &str,
    one: &[u8],
    other: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    merge(py, policy, (one, other), PageTask::merge_counts)
}

/// A task that is given pages.
#[pyclass(module = "skyveil._native", frozen)]
pub struct NativePageTask {
    task: PageTask,
}

/// Takes pages out of a Python iterator, with the lock of the interpreter held for that long only.
struct PythonPages {
    pages: Py<PyAny>,
    failure: Mutex<Option<PyErr>>,
}

impl PythonPages {
    fn new(pages: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(PythonPages { pages: pages.try_iter()?.into_any().unbind(), failure: Mutex::default() })
    }

    fn pages(&self) -> impl Iterator<Item = Result<Vec<u8>>> {
        let next = || {
            Python::attach(|py| {
                let next = self.pages.bind(py).try_iter()?.next();
                next.transpose()?.map(|page| page.extract::<Vec<u8>>()).transpose()
            })
        };
        std::iter::from_fn(move || {
            next().transpose().map(|page: PyResult<Vec<u8>>| {
                page.map_err(|why| {
                    *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
                    Error::Stopped
                })
            })
        })
    }

    /// What Python raised, or the library.
    fn raised(self, py: Python<'_>, error: &Error) -> PyErr {
        let failure = self.failure.into_inner().unwrap_or_else(PoisonError::into_inner);
        failure.unwrap_or_else(|| raised(py, error))
    }
}

impl NativePageTask {
    /// Does the work of a task without the lock of the interpreter.
    fn work<'py>(
        &self,
        pages: &Bound<'py, PyAny>,
        work: impl FnOnce(&PageTask, &PythonPages) -> Result<Vec<u8>> + Send,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (py, pages) = (pages.py(), PythonPages::new(pages)?);
        match py.detach(|| work(&self.task, &pages)) {
            Ok(bytes) => Ok(PyBytes::new(py, &bytes)),
            Err(error) => Err(pages.raised(py, &error)),
        }
    }
}

#[pymethods]
impl NativePageTask {
    #[new]
    fn new(py: Python<'_>, rows: GivenRows, order: &[u8]) -> PyResult<Self> {
        let task = run(py, None, |progress| rows.with(progress, |task| PageTask::new(task, order)))?;
        Ok(NativePageTask { task })
    }

    /// What the pages hold together.
    fn total<'py>(&self, pages: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        self.work(pages, |task, pages| task.total(pages.pages()))
    }

    /// The counts of the pages.
    fn count<'py>(&self, request: &[u8], pages: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        self.work(pages, |task, pages| task.count(request, pages.pages()))
    }

    /// What became of the node that has these pages.
    fn grow<'py>(&self, request: &[u8], pages: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        self.work(pages, |task, pages| task.grow(request, pages.pages()))
    }

    /// The rows of some pages as pages, each with the place of its set.
    fn sort<'py>(&self, request: &[u8], pages: &Bound<'py, PyAny>) -> PyResult<SortedPages<'py>> {
        sorted(pages, |pages, pass| self.task.sort(request, pages.pages(), pass))
    }

    /// The same for the files that rows go to.
    fn place<'py>(&self, request: &[u8], pages: &Bound<'py, PyAny>) -> PyResult<SortedPages<'py>> {
        sorted(pages, |pages, pass| self.task.place(request, pages.pages(), pass))
    }

    /// Writes and checks a file, and returns what was found, and the file in pieces.
    fn write<'py>(
        &self,
        order: Vec<Vec<u8>>,
        pages: &Bound<'py, PyAny>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let pieces = sorted(pages, |pages, pass| {
            self.task.write(&order, pages.pages(), |piece| pass(0, piece))
        })?;
        Ok(pieces.into_iter().map(|(_, piece)| piece).collect())
    }
}

/// Pages with the places of their sets.
type SortedPages<'py> = Vec<(usize, Bound<'py, PyBytes>)>;

/// Collects what a task passes on, without the lock of the interpreter.
fn sorted<'py>(
    pages: &Bound<'py, PyAny>,
    work: impl FnOnce(&PythonPages, &mut dyn FnMut(usize, Vec<u8>) -> Result<()>) -> Result<()> + Send,
) -> PyResult<SortedPages<'py>> {
    let (py, pages, mut sorted) = (pages.py(), PythonPages::new(pages)?, Vec::new());
    let outcome = py.detach(|| {
        work(&pages, &mut |place, page| {
            sorted.push((place, page));
            Ok(())
        })
    });
    match outcome {
        Ok(()) => Ok(sorted.into_iter().map(|(place, page)| (place, PyBytes::new(py, &page))).collect()),
        Err(error) => Err(pages.raised(py, &error)),
    }
}

/// The pages of a task, one after the other.
#[pyclass(module = "skyveil", frozen)]
pub struct TaskPages {
    pages: Receiver<Result<Vec<u8>>>,
}

#[pymethods]
impl TaskPages {
    fn __iter__(pages: PyRef<'_, Self>) -> PyRef<'_, Self> {
        pages
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        match py.detach(|| self.pages.recv()) {
            Ok(Ok(page)) => Ok(Some(PyBytes::new(py, &page))),
            Ok(Err(error)) => Err(raised(py, &error)),
            Err(_) => Ok(None),
        }
    }
}

/// An engine that Python gave.
pub struct GivenEngine {
    engine: Py<PyAny>,
    /// Why it failed.
    failure: Mutex<Option<PyErr>>,
}

impl GivenEngine {
    /// The engine behind an object.
    pub fn new(engine: Py<PyAny>) -> Self {
        GivenEngine { engine, failure: Mutex::default() }
    }

    /// Why the engine failed, if it did.
    pub fn failure(self) -> Option<PyErr> {
        self.failure.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn call<T>(&self, call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Result<T> {
        Python::attach(|py| call(self.engine.bind(py))).map_err(|why| {
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
            Error::Stopped
        })
    }
}

impl GivenEngine {
    /// Passes on what the iterator gives that a method returns.
    fn each(&self, method: &str, number: u64, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let pages: Py<PyAny> =
            self.call(|engine| Ok(engine.call_method1(method, (number,))?.try_iter()?.into_any().unbind()))?;
        let next = || {
            self.call(|engine| {
                let mut pages = pages.bind(engine.py()).try_iter()?;
                pages.next().transpose()?.map(|page| page.extract::<Vec<u8>>()).transpose()
            })
        };
        while let Some(page) = next()? {
            each(&page)?;
        }
        Ok(())
    }
}

impl RowEngine for GivenEngine {
    fn values(&self) -> Result<Vec<u8>> {
        self.call(|engine| engine.call_method0("values")?.extract())
    }

    fn combinations(&self, order: &[u8]) -> Result<Vec<u8>> {
        self.call(|engine| engine.call_method1("combinations", (order,))?.extract())
    }

    fn encode(&self, order: &[u8]) -> Result<Vec<u8>> {
        self.call(|engine| engine.call_method1("encode", (order,))?.extract())
    }

    fn count(&self, rows: RowSet, request: &[u8]) -> Result<Vec<u8>> {
        self.call(|engine| engine.call_method1("count", (rows, request))?.extract())
    }

    fn sort(&self, rows: RowSet, request: &[u8], sets: usize, gathered: SetPlacement) -> Result<RowSet> {
        let together = gathered == SetPlacement::Together;
        self.call(|engine| engine.call_method1("sort", (rows, request, sets, together))?.extract())
    }

    fn grow(&self, nodes: &[(RowSet, Vec<u8>)]) -> Result<Vec<Vec<u8>>> {
        self.call(|engine| {
            let py = engine.py();
            let nodes: Vec<_> =
                nodes.iter().map(|(rows, request)| (*rows, PyBytes::new(py, request))).collect();
            engine.call_method1("grow", (nodes,))?.extract()
        })
    }

    fn place(&self, rows: RowSet, request: &[u8], sets: usize) -> Result<RowSet> {
        self.call(|engine| engine.call_method1("place", (rows, request, sets))?.extract())
    }

    fn order_file(&self, file: u64, piece: &[u8]) -> Result<()> {
        self.call(|engine| {
            let piece = PyBytes::new(engine.py(), piece);
            engine.call_method1("order_file", (file, piece)).map(drop)
        })
    }

    fn begin_file(&self, file: u64, rows: &[RowSet]) -> Result<()> {
        self.call(|engine| engine.call_method1("begin_file", (file, rows)).map(drop))
    }

    fn finish_file(&self, file: u64, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.each("finish_file", file, each)
    }

    fn pages(&self, rows: RowSet, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.each("pages", rows, each)
    }

    fn forget(&self, first: RowSet) -> Result<()> {
        self.call(|engine| engine.call_method1("forget", (first,)).map(drop))
    }

    fn tasks_at_once(&self) -> usize {
        self.call(|engine| engine.call_method0("tasks_at_once")?.extract()).unwrap_or(1)
    }
}
