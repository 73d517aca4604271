//! How does the evidence of a judge travel to another process?

use std::sync::Arc;

use super::super::bare_values::BareValues;
use super::super::group_sizes::Sizes;
use super::super::implications::judge::ImplicationsJudge;
use super::super::shares::judge::SharesJudge;
use super::super::skyline::decisive::DecisiveEvidence;
use super::super::skyline::judge::SkylineJudge;
use super::super::skyline::near::NearJudge;
use super::{AdversaryJudge, Charge, ChargedAdversary, Judge};
use crate::resources::byte_form::{ByteForm, ByteReader};

impl Judge {
    /// Appends the evidence, of a charge whose evidence [`travels`](Charge::travels).
    pub fn write(&self, bytes: &mut Vec<u8>) {
        self.impossible.write(bytes);
        self.sizes.write(bytes);
        match &self.adversary {
            AdversaryJudge::Skyline(judge) => judge.write(bytes),
            AdversaryJudge::Implications(judge) => judge.write(bytes),
        }
        self.near.write(bytes);
        self.shares.write(bytes);
        self.decisive.write(bytes);
        self.bare.write(bytes);
    }

    /// Reads the evidence of a judge with the same charge, whose rules depend on the same values; `codes` are those of its
    /// values here. `None` if it is damaged.
    pub fn read(charge: &Arc<Charge>, codes: &[u32], bytes: &mut ByteReader<'_>) -> Option<Self> {
        let mut judge = Judge::new(charge);
        judge.impossible = u64::read(bytes)?;
        judge.sizes = Sizes::read(bytes)?;
        judge.adversary = match &charge.adversary {
            ChargedAdversary::Skyline(points) => {
                AdversaryJudge::Skyline(SkylineJudge::read(points.clone(), codes, bytes)?)
            }
            ChargedAdversary::Implications(required) => {
                AdversaryJudge::Implications(Box::new(ImplicationsJudge::read(required, codes, bytes)?))
            }
        };
        judge.near = NearJudge::read(&charge.rules.near, bytes)?;
        judge.shares = SharesJudge::read(charge.rules.shares.len(), bytes)?;
        judge.decisive = DecisiveEvidence::read(charge.values, &charge.explored, codes, bytes)?;
        judge.bare = BareValues::read(codes, bytes)?;
        Some(judge)
    }
}
