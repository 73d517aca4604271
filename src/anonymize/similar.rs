//! Groups of similar people that stay safe against an adversary who knows distributions.
//!
//! Reads what the adversary knows, refuses what cannot be grouped, sorts people into parts of similar ones,
//! groups each part bottom-up, and writes the groups in two tables. Anyone who fits in no group is
//! suppressed, as far as the policy allows it: listed by row number in a private file next to the release, and counted in
//! the receipt.
//!
//! Memory: the distributions, and the budget's share for sorting and grouping parts. Invariant: the same
//! table and policy give the same bytes, whatever the order of the rows: a person's index is their position
//! in the order of contents. A table with a single part is grouped as in mathematics 3.3, in that order. Not
//! here: the formulas (`math::robust`), the distributions (`model::robust`), the judgement (`check`).

use super::bucket_tables::BucketTables;
use super::job::{Anonymize, Outcome, Search, Workplace};
use super::lints::Lints;
use super::suppressed::{SuppressedList, expect_allowed};
use super::written::{Attempt, Written};
use crate::encode::combination::SensitiveColumns;
use crate::encode::group_counts::GroupCounts;
use crate::encode::payload::Payload;
use crate::encode::source::Source;
use crate::encode::source_columns::{SensitiveSource, SourceColumns};
use crate::error::{Error, Lint, Result, Setting, number_of};
use crate::group::similar::{PersonColumns, PlacedPeople, SimilarPeople, parts, read_people};
use crate::math::exact::Rational;
use crate::math::robust::Requirement;
use crate::math::skyline::Values;
use crate::model::Target;
use crate::model::robust::already_known::{AlreadyKnown, KnownPeople};
use crate::model::robust::census::{Census, CountedColumns};
use crate::model::robust::{Distributions, KnownDistributions, RobustModel};
use crate::policy::{Quasi, Style};
use crate::release::manifest::ReleaseStyle;
use crate::release::private_file::PrivateFile;
use crate::resources::Resources;
use crate::resources::budget::{Budget, Reservation, release_freed};
use crate::resources::sorter::Sorter;
use crate::resources::threads::thread_pool;
use std::sync::Arc;

/// Posteriors of groups with more states than this (twelve different values) are not computed while groups
/// grow.
const STATES: u64 = 1 << 12;

/// Why everybody would have to be suppressed.
const NOBODY_IS_SIMILAR: &str = "no group keeps every posterior at most 1/r, so everybody would have to be suppressed\n  \
     lower r, or state fewer sets of columns in privacy.known";

/// What lets more people into groups.
const REMEDY: &str =
    "write support = 100 below [privacy], lower r, or state fewer sets of columns in privacy.known";

/// Why no release of a small table is made.
const GIVEN_AWAY: &str = "the counts behind the distributions, together with all groups, give somebody's value more than 1/r\n  \
     lower r, state fewer sets of columns in privacy.known, or give distributions from elsewhere in privacy.distributions";

/// Groups similar people, and writes the groups.
pub(super) fn write_groups(job: &Anonymize<'_>, workplace: &Workplace<'_>) -> Result<Attempt> {
    let Some((target, robust)) = job.policy.robust() else {
        return Err(Error::defect("people are grouped by similarity without the model \"robust\""));
    };
    refuse_unknown(job, target)?;
    let list = workplace.private.suppressed_file()?;
    let requirement = robust.requirement(&job.policy.privacy, target)?;
    let columns = PersonColumns::bind(job.table, job.policy, robust)?;
    let (resources, budget) = (&workplace.resources, &workplace.resources.budget);
    let null_is = job.policy.columns.sensitive(&columns.sensitive).and_then(|own| own.null_is.as_deref());
    let counted = CountedColumns { columns: &columns.known, sensitive: &columns.sensitive, null_is };
    let census = Census::read(job.table, &counted, resources)?;
    if let Err(infeasible) = requirement.check_feasible(&census.value_counts()) {
        let reason = format!("{infeasible}\n  {}", infeasible.remedy());
        return Ok(Attempt::Nothing(Outcome::Withheld(reason)));
    }
    let accepted = accepted(job, &census, resources)?;
    let known = match &robust.distributions {
        Distributions::Estimated => KnownDistributions::estimated(&census, robust, budget)?,
        Distributions::File { path, .. } => {
            KnownDistributions::from_file(path, robust, &columns.sensitive, null_is, resources)?
        }
    };
    let similar = Similarity { job, robust, requirement: &requirement, columns: &columns, null_is };
    similar.write(&census, known, list, accepted, workplace)
}

/// The risks of publishing these people that the policy accepts by name.
fn accepted(job: &Anonymize<'_>, census: &Census, resources: &Resources<'_>) -> Result<Vec<Lint>> {
    let columns = SourceColumns::bound(job.table, job.policy, |_| Values::Single)?;
    let source =
        Source { table: job.table, columns: SourceColumns { travelling: vec![], ..columns }, resources };
    let whole = GroupCounts { people: census.rows, counts: census.value_counts() };
    let mut lints = Lints::default();
    lints.add_values(job.policy, job.table, &SensitiveColumns::one(census.sensitive.clone()), &whole)?;
    lints.add_repeated_ids(&source.find_ids()?);
    lints.accepted(job.policy)
}

/// What makes people similar.
struct Similarity<'a> {
    job: &'a Anonymize<'a>,
    robust: &'a RobustModel,
    requirement: &'a Requirement,
    columns: &'a PersonColumns,
    null_is: Option<&'a str>,
}

impl Similarity<'_> {
    /// How many parts of a table of this many people are grouped at once, and the memory for it.
    fn room(&self, people: u64, budget: &Arc<Budget>) -> Result<(usize, Reservation)> {
        let people = self.job.part_people.min(people);
        let record_bytes = 64 + 16 * self.columns.travelling.len() as u64;
        let bytes = |at_once| SimilarPeople::working_bytes(at_once, people, record_bytes);
        let mut at_once = self.job.threads.max(1) * 2;
        while at_once > 1 && bytes(at_once) > budget.free() / 2 {
            at_once -= 1;
        }
        Ok((at_once, budget.reserve("grouping similar people", bytes(at_once))?))
    }

    /// Fails unless the policy allows so many people to be left out, and says why there are so many.
    fn expect_allowed(&self, left_out: u64, own: &AlreadyKnown, counted: &KnownPeople<'_>) -> Result<()> {
        let policy = self.job.policy;
        if policy.privacy.suppress.allows(left_out, own.people) {
            return Ok(());
        }
        let mut remedy = REMEDY.to_string();
        if let Some(reason) = own.in_words() {
            remedy = format!("{reason}\n  {remedy}");
        }
        if *self.requirement.r() > Rational::from(2) {
            let at_two = counted.already_known(&Requirement::new(Rational::from(2))?)?;
            remedy.push_str(&format!(
                "; at r = 2 the distributions would do so for {}",
                number_of(at_two.likelier, "person", "people")
            ));
        }
        expect_allowed(policy, left_out, own.people, &remedy)
    }

    fn write(
        &self,
        census: &Census,
        known: KnownDistributions,
        list: PrivateFile,
        accepted: Vec<Lint>,
        workplace: &Workplace<'_>,
    ) -> Result<Attempt> {
        let (job, columns) = (self.job, self.columns);
        let (resources, budget) = (&workplace.resources, &workplace.resources.budget);
        let bound = known.bind(census, budget)?;
        release_freed();
        let counted = KnownPeople { census, known: &known, bound: &bound, budget };
        let already_known = counted.already_known(self.requirement)?;
        let weights = census.weights();
        let (places, count) = parts(known.priors(), &bound.signatures, &weights, job.part_people);
        let schema = job.table.schema();
        let fields = columns.travelling.iter().filter_map(|name| schema.field_with_name(name).ok());
        let payload = Payload::new(&fields.collect::<Vec<_>>())?;
        let (at_once, working) = self.room(census.rows, budget)?;
        let mut sorter = Sorter::new(budget, &workplace.spill)?;
        let quasi: Vec<Quasi> = columns.known.iter().map(Quasi::plain).collect();
        let column =
            SensitiveSource { name: &columns.sensitive, null_is: self.null_is, values: Values::Single };
        let travelling = columns.travelling.iter().map(String::as_str).collect();
        let wanted = SourceColumns { travelling, ..SourceColumns::of_people(quasi.iter().collect(), column) };
        let source = Source { table: job.table, columns: wanted, resources };
        read_people(&source, census, &payload, &places, &mut sorter)?;
        let values = SensitiveColumns::one(census.sensitive.clone());
        let mut output = BucketTables::create(&payload, &values, job.part_options(), workplace)?;
        let people = SimilarPeople {
            known: &known,
            bound: &bound,
            requirement: self.requirement,
            test: self.robust.test.condition(STATES),
            part_people: job.part_people,
            at_once,
            pool: &thread_pool(job.threads)?,
            budget,
            spill: &workplace.spill,
            progress: resources.progress,
        };
        people.group(sorter, count, &weights, &mut |placed| match placed {
            PlacedPeople::Group { number, group, people } => output.group(number, &group, people),
            PlacedPeople::LeftOut { row } => output.suppress(row),
        })?;
        drop((people, working));
        let (suppressed, utility) = output.finish()?;
        if utility.discernibility == 0 {
            return Ok(Attempt::Nothing(Outcome::Withheld(NOBODY_IS_SIMILAR.to_string())));
        }
        let left_out = suppressed.count();
        self.expect_allowed(left_out, &already_known, &counted)?;
        // Whether the counts of a small table give somebody away shows only when all groups are there.
        let veto = known.is_small().then(|| GIVEN_AWAY.to_string());
        let list = SuppressedList { already_known: Some(already_known), ..suppressed.write(list)? };
        drop(bound);
        let (source_rows, fingerprint) = workplace.fingerprint(job)?;
        Ok(Attempt::Written(Box::new(Written {
            style: ReleaseStyle::Bucketized,
            people: census.rows - left_out,
            input_rows: source_rows,
            fingerprint,
            utility,
            binds: Vec::new(),
            searched: None,
            tree: None,
            audit: None,
            distributions: Some(known),
            suppressed: Some(list),
            veto,
            accepted,
            night: None,
            by_tasks: None,
        })))
    }
}

/// Refuses settings that this model does not support, so that they cannot appear to hold.
fn refuse_unknown(job: &Anonymize<'_>, target: &Target) -> Result<()> {
    if job.policy.privacy.targets.len() != 1 || target.columns.len() != 1 || !target.criteria.is_empty() {
        return Err(Error::input(
            "the model \"robust\" protects one sensitive column, and takes no other criteria",
            "leave the others out of the policy",
        ));
    }
    if job.policy.publish.style != Style::Bucketized {
        return Err(Error::input(
            "publish.style: the model \"robust\" publishes exact quasi-identifiers next to the values of their group",
            "write style = \"bucketized\" below [publish]",
        ));
    }
    if job.search != Search::Tree {
        return Err(Error::missing(
            "a lattice has no meaning with the model \"robust\", which generalizes nothing",
            "search a tree",
            Setting::Search,
        ));
    }
    Ok(())
}
