//! What was a run asked for, in addition to its table and its policy?
//!
//! A release is up to date only if it was asked for in the same way.

use super::job::{Anonymize, Search};
use crate::error::Result;
use crate::group::lattice::LatticeMeasure;
use crate::model::robust::Distributions;
use crate::policy::{Strategy, name_of};
use crate::release::manifest::hash;
use crate::release::receipt::{ReceiptPaths, input_file};
use crate::table::read::Table;
use serde_json::{Value, json};

/// As the receipt says it. Files are named by their hashes.
pub(super) fn asked(job: &Anonymize<'_>) -> Result<Value> {
    let search = match job.search {
        Search::Tree => "tree".to_string(),
        Search::Lattice(measure) => format!("lattice, {}", name_of(&LatticeMeasure::NAMES, measure)),
    };
    let models = job.policy.privacy.targets.iter().filter_map(|target| target.model.robust());
    let distributions = models.filter_map(|model| match &model.distributions {
        Distributions::File { path, .. } => Some(hash(path).map(|(_, sha256)| sha256)),
        Distributions::Estimated => None,
    });
    let cuts_from = job.cuts_from.as_ref().map(|release| {
        let tree = ReceiptPaths::of(release, None, None)?.tree;
        hash(&tree).map(|(_, sha256)| sha256)
    });
    Ok(json!({
        "search": search,
        "strategy": job.strategy.map(|strategy| name_of(&Strategy::NAMES, strategy)),
        "functions": job.functions.map(hashes).transpose()?,
        "cuts_from": cuts_from.transpose()?,
        "distributions": distributions.collect::<Result<Vec<_>>>()?,
        "format": job.part_options().format.name(),
        "file_people": job.sizes.file_people,
        "part_rows": job.sizes.part_rows,
        "subtree_bytes": job.sizes.subtree_bytes,
        "part_people": job.part_people,
    }))
}

fn hashes(table: &Table) -> Result<Vec<Option<String>>> {
    table.files().iter().map(|file| Ok(input_file(file.path(), || Ok(()))?.sha256)).collect()
}
