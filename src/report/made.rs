//! What does the manifest tell of how a release was made?

use std::path::Path;

use serde::Deserialize;

use super::page::{Penalties, Worth};
use crate::error::{Error, Result};
use crate::release::manifest::MANIFEST;

/// How a release was made.
pub struct Made {
    /// The version that made it.
    pub version: String,
    /// `generalized` or `bucketized`.
    pub style: String,
    /// Rows of the input.
    pub input_rows: u64,
    /// What binds the release to the input; none where it would tell what is not published.
    pub fingerprint: Option<String>,
    /// What the release is worth.
    pub worth: Worth,
}

#[derive(Deserialize)]
struct Manifest {
    skyveil: String,
    style: String,
    input: Input,
    utility: Utility,
}

#[derive(Deserialize)]
struct Input {
    rows: u64,
    fingerprint: Option<String>,
}

#[derive(Deserialize)]
struct Utility {
    average_group_size: f64,
    discernibility: String,
    certainty_penalty: Option<Penalty>,
}

#[derive(Deserialize)]
struct Penalty {
    published: f64,
    tight: f64,
    columns: Vec<Column>,
}

#[derive(Deserialize)]
struct Column {
    column: String,
    published: f64,
    tight: f64,
}

/// Reads the manifest of a release.
pub fn read(release: &Path) -> Result<Made> {
    let path = release.join(MANIFEST);
    let bytes = std::fs::read(&path).map_err(|source| Error::io(&path, source))?;
    let manifest: Manifest = serde_json::from_slice(&bytes).map_err(|error| Error::Format {
        path,
        problem: format!("the manifest does not tell how the release was made (line {})", error.line()),
    })?;
    let Utility { average_group_size, discernibility, certainty_penalty: penalty } = manifest.utility;
    let own = |column: Column| (column.column, column.published, column.tight);
    // Groups without labels have none.
    let penalty = penalty.filter(|penalty| !penalty.columns.is_empty());
    Ok(Made {
        version: manifest.skyveil,
        style: manifest.style,
        input_rows: manifest.input.rows,
        fingerprint: manifest.input.fingerprint,
        worth: Worth {
            average_group_size,
            discernibility,
            penalty: penalty.map(|penalty| Penalties {
                published: penalty.published,
                tight: penalty.tight,
                columns: penalty.columns.into_iter().map(own).collect(),
            }),
        },
    })
}
