//! Which cuts of another release can be followed in this table?

use super::job::{Anonymize, Search};
use crate::encode::attribute::{Attribute, Coding};
use crate::error::{Error, Result};
use crate::group::tree::CutTree;
use crate::model::protection::Protection;
use crate::policy::{Cuts, QuasiShape};
use crate::release::cut_tree::read_cuts;
use crate::release::label::Labels;
use crate::release::receipt::ReceiptPaths;

/// Fails if cuts are given and groups are searched for in a way that has none.
pub(super) fn expect_followable(job: &Anonymize<'_>, protection: &Protection<'_>) -> Result<()> {
    let searched =
        job.search != Search::Tree || job.policy.publish.cuts == Cuts::Blind || protection.judges_rows();
    match job.cuts_from.is_some() && searched {
        true => Err(Error::input(
            "the cuts of another release are followed in place of a search: not with a lattice, blind cuts, or the model \
             \"beliefs\"",
            "leave out one of them",
        )),
        false => Ok(()),
    }
}

/// The cuts of the other release, in the codes of this table; none if no release is given.
pub(super) fn read_tree(
    job: &Anonymize<'_>,
    attributes: &[Attribute],
    labels: &[(String, Labels<'_>)],
) -> Result<CutTree> {
    let Some(other) = &job.cuts_from else { return Ok(CutTree::default()) };
    let declared = |name: &str| {
        job.policy.columns.quasi(name).is_some_and(|quasi| matches!(quasi.shape, QuasiShape::Order(_)))
    };
    let sets = attributes.iter().filter(|own| matches!(own.coding, Coding::Set { .. }));
    let unordered: Vec<&str> = sets.map(|own| own.name.as_str()).filter(|name| !declared(name)).collect();
    read_cuts(&ReceiptPaths::of(other, None, None)?.tree, labels, &unordered)
}
