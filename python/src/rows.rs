//! How do the rows of a release go out to Python?
//!
//! The library pushes batches, and the Arrow C stream interface pulls them: a thread scans the table, at most [`AHEAD`]
//! batches ahead of the reader.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use crossbeam_channel::{Receiver, bounded};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use skyveil::{ColumnRequest, Error, Release, Result, Table};

use crate::errors::raised;

/// Batches that wait for the reader.
const AHEAD: usize = 2;

/// The rows of a table of a release, which can be read once.
#[pyclass(module = "skyveil", frozen)]
pub struct ReleaseRows {
    /// Nothing after they were handed over.
    batches: Mutex<Option<Batches>>,
}

impl ReleaseRows {
    /// The rows of the table with this position.
    pub fn of(py: Python<'_>, release: &Arc<Release>, table: usize) -> PyResult<Self> {
        let batches = Batches::of(release.clone(), table).map_err(|error| raised(py, &error))?;
        Ok(ReleaseRows { batches: Mutex::new(Some(batches)) })
    }
}

#[pymethods]
impl ReleaseRows {
    /// The rows as an Arrow C stream. They can be read once.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The rows come in the types of the release; whoever wants others converts them, as the interface allows.
        drop(requested_schema);
        let batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner).take();
        let batches = batches
            .ok_or_else(|| PyValueError::new_err("these rows were read already; call data() again"))?;
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }
}

struct Batches {
    schema: SchemaRef,
    batches: Receiver<Result<RecordBatch>>,
}

impl Batches {
    fn of(release: Arc<Release>, position: usize) -> Result<Self> {
        let (send, batches) = bounded(AHEAD);
        let table = |release: &Release| release.named_tables()[position].1.schema().clone();
        let schema = table(&release);
        let scan = move || {
            let table: &Table = release.named_tables()[position].1;
            let columns: Vec<_> =
                table.schema().fields().iter().map(|field| ColumnRequest::as_is(field.name())).collect();
            // A reader that has gone away ends the scan.
            let gone = |_| Error::Stopped;
            let scanned = table.scan(
                &columns,
                1,
                |mut morsel| morsel.try_for_each(|batch| send.send(Ok(batch?)).map_err(gone)),
                |()| Ok(()),
            );
            if let Err(error) = scanned {
                let _ = send.send(Err(error));
            }
        };
        Builder::new().spawn(scan).map_err(|source| Error::Threads { source })?;
        Ok(Batches { schema, batches })
    }
}

impl Iterator for Batches {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.batches.recv().ok()?;
        Some(batch.map_err(|error| ArrowError::ExternalError(Box::new(error))))
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
