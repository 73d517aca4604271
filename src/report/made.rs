//! What does the manifest say about how a release was made?

use std::path::Path;

use super::page::{Origin, Penalties, Worth};
use crate::error::{Error, Result};
use crate::model::Policy;
use crate::release::manifest::{ColumnPenalty, MANIFEST, Manifest, ManifestPenalty};

/// How a release was made.
pub struct Origins {
    /// The version that made it.
    pub version: String,
    /// `generalized` or `bucketized`.
    pub style: &'static str,
    /// The utility of the release.
    pub worth: Worth,
}

impl Origins {
    /// Reads it from the manifest of the release in `folder`.
    pub fn of(manifest: &Manifest, folder: &Path) -> Result<Self> {
        let Some(utility) = &manifest.utility else {
            return Err(Error::Format {
                path: folder.join(MANIFEST),
                problem: "the manifest does not say how the release was made".to_string(),
            });
        };
        let own = |column: &ColumnPenalty| (column.column.clone(), column.published);
        let penalty = |penalty: &ManifestPenalty| Penalties {
            published: penalty.published,
            columns: penalty.columns.iter().map(own).collect(),
        };
        // Groups without labels have no penalty.
        let labelled = utility.certainty_penalty.as_ref().filter(|penalty| !penalty.columns.is_empty());
        Ok(Origins {
            version: manifest.skyveil.clone(),
            style: manifest.style.name(),
            worth: Worth {
                average_group_size: utility.average_group_size,
                discernibility: utility.discernibility.clone(),
                penalty: labelled.map(penalty),
            },
        })
    }

    /// The origin for the page, with the policy of the release.
    pub fn origin<'a>(&'a self, policy: &'a Policy) -> Origin<'a> {
        Origin::Release { policy, style: self.style, version: &self.version }
    }
}
