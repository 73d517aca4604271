//! How does a table become a release that stays safe against whoever knows distributions?
//!
//! Read what the adversary knows, refuse what cannot be grouped, sort people into parts of similar ones, group each part
//! bottom-up, write the groups in two tables, read them back and judge each, and only then publish. Whoever fits in no
//! group is suppressed: counted in the manifest, and listed by row number in a private file beside the release. No
//! fingerprint of the input is published: what is left of it without the published values is that of the suppressed.
//!
//! Memory: the distributions, and the budget's share for sorting and grouping parts.
//! Invariant: the same table and policy give the same bytes, whatever the order of the rows: a person's index is the
//! place in the order of contents. A table of one part is grouped as mathematics 3.3 groups it in that order.
//! Not here: the mathematics (`robust`), the distributions (`distributions`), the judgement (`check`).

mod compare;
mod output;
mod suppressed;

use super::{Job, Outcome, Search, Summary, kept_written, published_columns, thread_pool, unsafe_release};
use crate::check::beliefs::Membership;
use crate::check::{self, Buckets, Check, Skylines, Subject, Verdict};
use crate::encode::combination::SensitiveColumns;
use crate::encode::payload::Payload;
use crate::encode::source::Source;
use crate::encode::source_columns::{SensitiveSource, SourceColumns};
use crate::error::{Error, Result};
use crate::group::similar::{PersonColumns, PlacedPeople, SimilarPeople, parts, read_people};
use crate::math::robust::Tuples;
use crate::model::Target;
use crate::model::finding::Finding;
use crate::model::robust::Distributions;
use crate::model::robust::Known;
use crate::model::robust::census::{Census, Counted};
use crate::model::robust::judge::DeltaInstead;
use crate::policy::{Quasi, Style};
use crate::release::manifest::{self, Evidence, Input, ReleaseStyle};
use crate::release::penalty::Utility;
use crate::release::rows::{COUNT, GROUP};
use crate::release::staging::Staging;
use crate::report::REPORT;
use crate::report::page::{Asked, Compared, Contents, Origin, WITHOUT_ORIGINAL, to_html};
use crate::resources::budget::{Budget, release_freed};
use crate::resources::sorter::Sorter;
use crate::resources::spill::Spill;
use crate::table::read::Table;
use compare::DeltaComparison;
use output::BucketTables;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use suppressed::List;

/// The most people of a part; beyond it, grouping grows faster than the number of people.
pub const PART_PEOPLE: u64 = 20_000;
/// Posteriors of groups with more states are not asked for while groups grow: twelve different values.
const STATES: u64 = 1 << 12;

/// What a run may be told beside its job.
pub struct Options<'a> {
    /// The private list of suppressed rows; must not exist.
    pub suppressed: &'a Path,
    /// Normally [`PART_PEOPLE`]; tests take less.
    pub part_people: u64,
}

/// What is told of a robust release beside the summary of every release.
#[derive(Debug)]
pub struct RobustSummary {
    /// Rows of the table.
    pub input_rows: u64,
    /// Rows that are in no group.
    pub suppressed: u64,
    /// The file that lists them.
    pub list: PathBuf,
    /// What the check of the written groups found.
    pub finding: Finding,
}

/// The default place of the list of suppressed rows: beside the release.
pub fn default_list(out: &Path) -> PathBuf {
    let mut name = out.file_name().unwrap_or_default().to_os_string();
    name.push(".suppressed.csv");
    out.with_file_name(name)
}

/// Runs a job whose policy has the model "robust".
pub fn run(job: &Job<'_>, options: &Options<'_>) -> Result<Outcome> {
    let Some((target, robust)) = job.policy.robust() else {
        return Err(Error::input("the policy has another model", "set privacy.model = \"robust\""));
    };
    refuse_unknown(job, target)?;
    if resolved(options.suppressed).starts_with(resolved(job.out)) {
        return Err(Error::input(
            format!("{} is inside the release", options.suppressed.display()),
            "the list of suppressed rows is private: give --suppressed a file elsewhere",
        ));
    }
    let requirement = robust.requirement(&job.policy.privacy, target)?;
    let columns = PersonColumns::bind(job.table, job.policy, robust)?;
    let mut list = List::new(options.suppressed)?;
    let staging = Staging::create(job.out)?;
    let spill = Spill::create(job.temp)?;
    let budget = Budget::new(job.memory);
    let resources = job.resources(&budget);

    let null_is = job.policy.columns.sensitive(&columns.sensitive).and_then(|own| own.null_is.as_deref());
    let counted = Counted { columns: &columns.known, sensitive: &columns.sensitive, null_is };
    let census = Census::read(job.table, &counted, &resources)?;
    if let Err(infeasible) = requirement.check_feasible(&census.value_counts()) {
        return Ok(Outcome::Withheld(format!("{infeasible}\n  {}", infeasible.remedy())));
    }
    let known = match &robust.distributions {
        Distributions::Estimated => Known::estimated(&census, robust, &budget)?,
        Distributions::File { path, .. } => {
            Known::from_file(path, robust, &columns.sensitive, null_is, &resources)?
        }
    };
    let bound = known.bind(&census, &budget)?;
    release_freed();

    let weights = census.weights();
    let (places, count) = parts(known.priors(), &bound.signatures, &weights, options.part_people);
    let schema = job.table.schema();
    let fields = columns.travelling.iter().filter_map(|name| schema.field_with_name(name).ok());
    let payload = Payload::new(&fields.collect::<Vec<_>>())?;
    let people = options.part_people.min(census.rows);
    let record_bytes = 64 + 16 * columns.travelling.len() as u64;
    let mut at_once = job.threads.max(1) * 2;
    while at_once > 1 && SimilarPeople::working_bytes(at_once, people, record_bytes) > budget.free() / 2 {
        at_once -= 1;
    }
    let room = SimilarPeople::working_bytes(at_once, people, record_bytes);
    let room = budget.reserve("grouping similar people", room)?;

    let mut sorter = Sorter::new(&budget, &spill)?;
    let quasi: Vec<Quasi> = columns.known.iter().map(Quasi::plain).collect();
    let column = SensitiveSource { name: &columns.sensitive, null_is };
    let travelling = columns.travelling.iter().map(String::as_str).collect();
    let wanted = SourceColumns { travelling, ..SourceColumns::of_people(quasi.iter().collect(), column) };
    let source = Source { table: job.table, columns: wanted, resources: &resources };
    read_people(&source, &census, &payload, &places, &mut sorter)?;
    let pool = thread_pool(job.threads)?;
    let values = SensitiveColumns::one(census.sensitive.clone());
    let mut output = BucketTables::create(staging.folder(), &payload, &values, job.threads, &budget, &spill)?;
    let comparison = DeltaComparison::new(&known, &requirement);
    let compare = |tuples: Tuples<'_>| comparison.add(tuples);
    let people = SimilarPeople {
        known: &known,
        bound: &bound,
        requirement: &requirement,
        test: robust.test.condition(STATES),
        part_people: options.part_people,
        at_once,
        first_parts: Some(&compare),
        pool: &pool,
        budget: &budget,
        spill: &spill,
        progress: job.progress,
    };
    people.group(sorter, count, &weights, &mut |placed| match placed {
        PlacedPeople::Group { number, group, people } => output.group(number, &group, people),
        PlacedPeople::LeftOut { row } => output.suppress(row),
    })?;
    drop(room);
    let (suppressed, sizes) = output.finish()?;
    release_freed();
    if sizes.groups == 0 {
        return Ok(Outcome::Withheld(
            "no group keeps every posterior at most 1/r, so everybody would have to be suppressed\n  \
             lower r, or state fewer sets of columns in privacy.known"
                .to_string(),
        ));
    }
    let left_out = suppressed.count();
    suppressed.write(&mut list)?;

    let verdict = judge_written(job, &known, comparison.finish(), staging.folder(), &budget)?;
    let judged = verdict.first();
    if !verdict.is_safe() || judged.individuals + left_out != census.rows {
        return Err(unsafe_release());
    }
    let utility = Utility {
        average_group_size: judged.individuals as f64 / judged.groups.max(1) as f64,
        discernibility: sizes.squares,
        columns: Vec::new(),
    };
    let kept = kept_written(job, &staging.folder().join("quasi"))?;
    let page = to_html(&Contents {
        verdict: &verdict,
        asked: Asked::Policy,
        origin: Origin::Release {
            policy: job.policy,
            style: "bucketized",
            input_rows: census.rows,
            fingerprint: None,
            version: env!("CARGO_PKG_VERSION"),
        },
        worth: (&utility).into(),
        compared: Compared::Not(WITHOUT_ORIGINAL),
        kept: &kept,
    });
    let path = staging.folder().join(REPORT);
    std::fs::write(&path, page).map_err(|source| Error::io(&path, source))?;
    manifest::write(
        staging.folder(),
        &Evidence {
            policy: job.policy,
            style: ReleaseStyle::Bucketized,
            input: Input::Grouped { rows: census.rows, suppressed: left_out },
            columns: &published_columns(&verdict),
            utility: &utility,
        },
    )?;
    staging.publish()?;
    Ok(Outcome::Published(Summary {
        records: judged.individuals,
        groups: judged.groups,
        spilled_bytes: spill.bytes(),
        source_scans: job.table.scans(),
        utility,
        searched: None,
        kept,
        robust: Some(Box::new(RobustSummary {
            input_rows: census.rows,
            suppressed: left_out,
            list: list.publish()?,
            finding: judged.finding.clone(),
        })),
    }))
}

/// The place that a path means, whether or not there is a file: without `.`, `..` and symbolic links.
fn resolved(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut place = PathBuf::new();
    for component in absolute.components() {
        match component {
            Component::ParentDir => {
                place.pop();
            }
            other => place.push(other),
        }
        place = place.canonicalize().unwrap_or(place);
    }
    place
}

/// What this model does not know is refused: it must not look as if it held.
fn refuse_unknown(job: &Job<'_>, target: &Target) -> Result<()> {
    if job.policy.privacy.targets.len() != 1 || target.columns.len() != 1 || !target.criteria.is_empty() {
        return Err(Error::input(
            "the model \"robust\" protects one sensitive column, and knows no criteria beside it",
            "leave the others out of the policy",
        ));
    }
    if job.policy.publish.style != Style::Bucketized {
        return Err(Error::input(
            "publish.style: the model \"robust\" publishes exact quasi-identifiers beside the values of their group",
            "write style = \"bucketized\" below [publish]",
        ));
    }
    if job.search != Search::Tree {
        return Err(Error::input(
            "--search lattice has no meaning with the model \"robust\", which generalizes nothing",
            "leave it out",
        ));
    }
    Ok(())
}

/// Reads the written tables back and judges every group anew, by the distributions that are known already.
fn judge_written(
    job: &Job<'_>,
    known: &Known,
    delta_instead: Option<DeltaInstead>,
    folder: &Path,
    budget: &Arc<Budget>,
) -> Result<Verdict> {
    let open = |table: &str| Table::open(&[folder.join(table)], &Default::default());
    let (people, values) = (open("quasi")?, open("sensitive")?);
    let subject = Subject::Buckets(Buckets { people: &people, values: &values, count: COUNT.to_string() });
    let group = [GROUP.to_string()];
    let mut tasks = check::policy::tasks(job.policy, &group)?;
    tasks.iter_mut().for_each(|task| task.requirements.compare_with(delta_instead));
    let check = Check {
        subject: &subject,
        tasks: &tasks,
        original: Some(job.table),
        distributions: Some(known),
        membership: Membership::Own(&group),
        manifest: None,
        skylines: Skylines::Leave,
    };
    check.judge(&job.resources(budget))
}
