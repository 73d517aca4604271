//! What Python calls.
//!
//! The package `skyveil` wraps these functions: it shows progress and arranges, and this crate converts. Tables come in by
//! path or through the Arrow C stream interface ([`table`]), rows go out through the same interface ([`rows`]), errors
//! become exceptions with their fields ([`errors`]), the tasks of an engine
//! such as Spark call [`engine`], notebooks show the report's [`charts`], and long work runs without the lock of the interpreter ([`work`]).

mod charts;
mod engine;
mod errors;
mod release;
mod rows;
mod table;
mod work;

use pyo3::prelude::*;

/// The functions of skyveil as Python sees them.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::charts::{chart_style, histogram, meter};
    #[pymodule_export]
    use crate::engine::{
        NativePageTask, TaskPages, canonical_policy, combine, count_files, encode, merge_combinations, merge_counts,
        merge_totals, merge_values, observe, seal, unseal,
    };
    #[pymodule_export]
    use crate::release::{NativeRelease, anonymize, examine, propose};
    #[pymodule_export]
    use crate::rows::ReleaseRows;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::work::silence_contained_panics();
        Ok(())
    }
}
