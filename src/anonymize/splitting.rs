//! Groups by splitting: read the values, give them codes, read the rows as codes, and split while it is safe.
//!
//! Memory: pages of codes while they fit the budget, the triples of the nodes that are counted at once, one batch per
//! table that is written.

use super::append::column_kinds;
use super::coded_table::CodedTable;
use super::following;
use super::job::{Anonymize, Outcome, Search, Workplace};
use super::left_out::LeftOutBoxes;
use super::lints::Lints;
use super::suppressed::{Suppressed, SuppressedList, expect_allowed};
use super::writing::Writing;
use super::written::{Attempt, NightRecord, Written};
use crate::check::expect_numbers;
use crate::encode::attribute::Attribute;
use crate::encode::column::Column;
use crate::encode::combination::SensitiveColumns;
use crate::encode::group_counts::{GroupCounts, Part};
use crate::encode::page::PageStore;
use crate::encode::source::Source;
use crate::encode::source_columns::SourceColumns;
use crate::error::{Error, Result, Setting};
use crate::group::blind::BlindGroups;
use crate::group::followed::FollowedCuts;
use crate::group::groups::{Group, GroupSink, PlacedRows};
use crate::group::lattice::LatticeMeasure;
use crate::group::lattice::full_domain::{self, FullDomain, Searched};
use crate::group::split::grow::Growth;
use crate::group::split::leaf::Pages;
use crate::group::split::lookahead::Lookahead;
use crate::group::split::part_rows::PartRows;
use crate::group::split::plan::SplitPlan;
use crate::group::split::rank::CutOrder;
use crate::group::tree::NumberedTree;
use crate::math::blind::Counting;
use crate::model::Policy;
use crate::model::beliefs::{Roles, TableRows, expect_values_apart};
use crate::model::obstacle::ObstacleTally;
use crate::model::protection::Protection;
use crate::model::published::PastRecorder;
use crate::model::skyline::BlindRequirements;
use crate::model::split::{Scratch, SplitTest};
use crate::policy::Cuts;
use crate::release::cut_tree::TreeFile;
use crate::release::label::Labels;
use crate::release::manifest::ReleaseStyle;
use crate::release::output::ReleaseShape;
use crate::release::penalty::Measure;
use crate::release::person_log::PersonLog;
use crate::resources::Resources;
use crate::resources::budget::release_freed;
use crate::resources::threads::thread_pool;
use crate::table::ColumnKind;
use crate::table::read::Table;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::Range;

/// Why there is no release even though the counts of the whole table would allow one.
const NOBODY_TO_HIDE_WITH: &str = "for some people no group is known in which beliefs move by at most t; raise t, take a wider bandwidth, or \
     allow them to be left out: suppress = \"1%\" below [privacy]";

/// What lets more people into groups.
const REMEDY: &str = "raise t, or take a wider bandwidth";

/// Why there is no release with blind cuts.
const BLIND_CUTS_FAILED: &str = "the tree of candidate groups fails for this table; that it fails tells something to whoever knows how often values \
     occur in all: publish neither these totals nor a second attempt with a weaker policy";

/// Splits the table as long as the parts are safe, and writes the groups.
pub(super) fn write_groups(job: &Anonymize<'_>, workplace: &Workplace<'_>) -> Result<Attempt> {
    let protection = Protection::new(job.policy)?;
    if protection.judges_rows() && job.search != Search::Tree {
        return Err(Error::missing(
            "a lattice cannot be searched for the model \"beliefs\": a coarser release may be less private",
            "search a tree",
            Setting::Search,
        ));
    }
    let before = workplace.decisive();
    if job.policy.nights.is_some() && job.search != Search::Tree {
        return Err(Error::missing(
            "a release that is continued cannot be searched in a lattice: later nights have other levels",
            "search a tree, or leave out [nights]",
            Setting::Search,
        ));
    }
    if job.policy.publish.cuts == Cuts::Blind && job.search != Search::Tree {
        return Err(Error::missing(
            "cuts = \"blind\" makes a tree, and a lattice was to be searched",
            "search a tree",
            Setting::Search,
        ));
    }
    following::expect_followable(job, &protection)?;
    let resources = &workplace.resources;
    for target in job.policy.privacy.targets.iter().filter(|target| target.has_closeness_rule()) {
        let name = target.name();
        let null_is = job.policy.columns.sensitive(&name).and_then(|column| column.null_is.as_deref());
        expect_numbers(job.table, &name, null_is, resources)?;
    }
    for target in job.policy.privacy.targets.iter().filter(|target| target.model.beliefs().is_some()) {
        let roles = Roles::of(job.policy, target)?;
        expect_values_apart(job.table, &job.policy.columns.quasi, &roles, resources)?;
    }
    let columns = SourceColumns::bound(job.table, job.policy, |name| protection.values_of(name))?;
    let source = Source { table: job.table, columns, resources };
    let mut coded = CodedTable::read(job, &protection, &source, workplace)?;
    // With many values the findings take much, so they are not kept.
    let findings = || protection.judge_whole(&coded.whole, &coded.sensitive);
    let mut lints = Lints::of_findings(&findings()?);
    lints.add_values(job.policy, job.table, &coded.sensitive, &coded.whole)?;
    lints.add_repeated_ids(&coded.ids);
    lints.add_nights(
        job.policy,
        coded.whole.people,
        workplace.continued.as_ref().is_some_and(|own| own.by_values),
    );
    lints.add_ends(job.policy, &coded.attributes, coded.whole.people);
    coded.accepted = lints.accepted(job.policy)?;
    let quasi: Vec<_> = source.quasi().collect();
    let attributes = &coded.attributes;
    let rows = coded.rows.here().map(|store| TableRows { resources, store, attributes, quasi: &quasi });
    let test = protection.split_test_after(before, &coded.sensitive, &coded.whole, rows.as_ref())?;
    release_freed();
    if !test.admits(&[Part::of(&coded.whole)], &mut Scratch::default()) {
        return Ok(Attempt::Nothing(Outcome::Impossible(findings()?)));
    }
    coded.write_groups(job, &protection, test, &source, workplace)
}

impl<'s> CodedTable<'s> {
    /// Watches for the groups that decide about later nights, if there may be some.
    fn decisive(
        &self,
        job: &Anonymize<'_>,
        protection: &Protection<'_>,
        workplace: &Workplace<'_>,
    ) -> Result<Option<PastRecorder>> {
        if job.policy.nights.is_none() {
            return Ok(None);
        }
        let test = protection.split_test_after(workplace.decisive(), &self.sensitive, &self.whole, None)?;
        Ok(Some(PastRecorder::after(test)))
    }

    /// Writes the groups of blind cuts, and returns how they were chosen; `None` if nothing may be published.
    fn choose_blindly(
        &self,
        job: &Anonymize<'_>,
        columns: &[Column],
        files: &mut GroupFiles<'_>,
    ) -> Result<Option<Value>> {
        let blind = BlindGroups {
            attributes: &self.attributes,
            columns,
            requirements: &BlindRequirements::new(job.policy, &self.sensitive)?,
            least_people: job.policy.privacy.minimum_group_size,
            budget: &files.resources.budget,
        };
        files.choose_blindly(&blind, &self.rows, &self.whole)
    }

    /// Writes the groups of the best safe node of a lattice.
    fn search_lattice(
        &self,
        measure: LatticeMeasure,
        protection: &Protection<'_>,
        columns: &[Column],
        files: &mut GroupFiles<'_>,
    ) -> Result<Searched> {
        let levels = self.attributes.iter().zip(columns);
        let levels = levels.map(|(attribute, column)| full_domain::levels(attribute, column)).collect();
        let lattice = FullDomain { columns, levels, measure, budget: &files.resources.budget };
        let untouched = || protection.split_test(&self.sensitive, &self.whole, None);
        files.search(&lattice, &self.rows, self.sensitive.len(), untouched)
    }

    /// Writes the groups that the cuts of another release lead to.
    fn follow_cuts(
        &self,
        job: &Anonymize<'_>,
        labels: &[(String, Labels<'_>)],
        columns: &[Column],
        test: &mut dyn SplitTest,
        files: &mut GroupFiles<'_>,
    ) -> Result<()> {
        let tree = following::read_tree(job, &self.attributes, labels)?;
        let budget = &files.resources.budget;
        let _tree = budget.reserve("the cuts of another release", tree.bytes())?;
        files.resources.progress.start("following cuts", None);
        let cuts = FollowedCuts { tree, columns, budget };
        let (store, values) = (pages_here(&self.rows)?, self.sensitive.len());
        let tree = cuts.publish(store, values, test, |number, group| files.group(number, group))?;
        let tree = NumberedTree { tree: &tree, before: 0, leaves: BTreeMap::new() };
        files.end_node();
        files.end_part(Some(PlacedRows { rows: &self.rows, tree: &tree }))?;
        files.tree(&tree).map(drop)
    }

    fn write_groups(
        mut self,
        job: &Anonymize<'_>,
        protection: &Protection<'_>,
        mut test: Box<dyn SplitTest>,
        source: &Source<'_>,
        workplace: &Workplace<'_>,
    ) -> Result<Attempt> {
        let (labels, progress) = (&labels(job.table, &self.attributes)?, workplace.resources.progress);
        let columns: Vec<Column> = self.attributes.iter().map(Attribute::column).collect();
        let (sensitive, payload, people) = (&self.sensitive, self.payload.as_ref(), self.whole.people);
        let shape = ReleaseShape {
            style: job.policy.publish.style,
            ranges: job.policy.publish.ranges,
            labels,
            sensitive,
            payload,
            groups_before: workplace.groups_before(),
        };
        let measure = measure(job.table, source, &self.attributes)?;
        let mut files = GroupFiles::create(job, workplace, &shape, measure, (&self.rows, &self.whole))?;
        files.decisive = self.decisive(job, protection, workplace)?;
        let mut audit = None;
        let grown = match job.search {
            Search::Tree if job.policy.publish.cuts == Cuts::Blind => {
                audit = self.choose_blindly(job, &columns, &mut files)?;
                audit.is_some().then_some(None)
            }
            Search::Tree if job.cuts_from.is_some() => {
                test.accept(&[Part::of(&self.whole)]);
                self.follow_cuts(job, labels, &columns, &mut *test, &mut files)?;
                Some(None)
            }
            Search::Tree => {
                let untouched = test.fork();
                let growth = Growth {
                    plan: plan(job.policy, &columns, Lookahead::new(&*untouched, people)),
                    pool: &thread_pool(self.threads)?,
                    budget: &workplace.resources.budget,
                    spill: &workplace.spill,
                    limits: self.limits,
                    pages: if payload.is_some() { Pages::Kept } else { Pages::Consumed },
                    progress,
                };
                growth.grow(&mut self.rows, &self.whole, test, &mut files)?.map(|()| None)
            }
            Search::Lattice(by) => Some(Some(self.search_lattice(by, protection, &columns, &mut files)?)),
        };
        let Some(searched) = grown else { return Ok(withheld(job.policy)) };
        progress.start("writing", None);
        drop(self.rows);
        let GroupFiles { output, measure, obstacles, tree, decisive, left_out, .. } = files;
        expect_allowed(job.policy, left_out.people, people, REMEDY)?;
        let (log, by_tasks) = output.finish()?;
        let suppressed = list_left_out(job, &left_out, source, (&self.attributes, sensitive), workplace)?;
        let night = night_record(job, protection, decisive, (log, sensitive), workplace)?;
        release_freed();
        let tree = tree.finish()?;
        progress.finish();
        Ok(Attempt::Written(Box::new(Written {
            style: if shape.is_joined() { ReleaseStyle::Generalized } else { ReleaseStyle::Bucketized },
            people: people - left_out.people,
            input_rows: self.input.rows,
            fingerprint: source.hasher(&workplace.key).seal(&self.input),
            utility: measure.finish(),
            binds: protection.bindings(&obstacles, sensitive)?,
            searched,
            tree: Some(tree),
            veto: audit.is_some().then(|| BLIND_CUTS_FAILED.to_string()),
            audit,
            distributions: None,
            suppressed,
            accepted: self.accepted,
            night,
            by_tasks,
        })))
    }
}

/// Why nothing is published although the counts of the whole table would allow it.
fn withheld(policy: &Policy) -> Attempt {
    let reason = match policy.publish.cuts {
        Cuts::Blind => BLIND_CUTS_FAILED,
        Cuts::Best | Cuts::Mondrian => NOBODY_TO_HIDE_WITH,
    };
    Attempt::Nothing(Outcome::Withheld(reason.to_string()))
}

/// Lists the rows that are left out, if the policy allows some to be.
fn list_left_out(
    job: &Anonymize<'_>,
    left_out: &LeftOutBoxes,
    source: &Source<'_>,
    (attributes, sensitive): (&[Attribute], &SensitiveColumns),
    workplace: &Workplace<'_>,
) -> Result<Option<SuppressedList>> {
    if !job.policy.privacy.suppress.allows_some() {
        return Ok(None);
    }
    let mut rows = Suppressed::new(&workplace.resources.budget, &workplace.spill)?;
    left_out.list(source, attributes, sensitive, &mut rows)?;
    rows.write(workplace.private.suppressed_file()?).map(Some)
}

/// What the ledger needs of a night; `None` if the release is not continued.
fn night_record(
    job: &Anonymize<'_>,
    protection: &Protection<'_>,
    decisive: Option<PastRecorder>,
    (log, sensitive): (PersonLog, &SensitiveColumns),
    workplace: &Workplace<'_>,
) -> Result<Option<NightRecord>> {
    let Some(decisive) = decisive else { return Ok(None) };
    let decisive = protection.decisive(decisive.finish(sensitive, workplace.decisive()), sensitive)?;
    Ok(Some(NightRecord { log, decisive, kinds: column_kinds(job.table, job.policy)? }))
}

/// Where the groups of a release go while they are found.
struct GroupFiles<'a> {
    output: Writing<'a>,
    measure: Measure<'a>,
    obstacles: ObstacleTally,
    tree: TreeFile<'a>,
    /// If the release is continued.
    decisive: Option<PastRecorder>,
    left_out: LeftOutBoxes,
    resources: &'a Resources<'a>,
}

impl<'a> GroupFiles<'a> {
    fn create(
        job: &Anonymize<'_>,
        workplace: &'a Workplace<'_>,
        shape: &'a ReleaseShape<'a>,
        measure: Measure<'a>,
        held: (&PartRows<'a>, &'a GroupCounts),
    ) -> Result<Self> {
        let (folder, spill) = (workplace.staging.folder(), &workplace.spill);
        shape.expect_told_apart(job.part_options().format)?;
        let output = Writing::begin(held, folder, shape, spill, job.part_options())?;
        Ok(GroupFiles {
            output,
            measure,
            obstacles: ObstacleTally::default(),
            tree: TreeFile::create(workplace.private.tree_file()?, shape.labels)?,
            decisive: None,
            left_out: LeftOutBoxes::default(),
            resources: &workplace.resources,
        })
    }
}

impl GroupFiles<'_> {
    /// Writes the groups of a blind choice, and returns how they were chosen; `None` if nothing may be published.
    fn choose_blindly(
        &mut self,
        blind: &BlindGroups<'_>,
        rows: &PartRows<'_>,
        whole: &GroupCounts,
    ) -> Result<Option<Value>> {
        self.resources.progress.start("cutting without looking", None);
        let store = pages_here(rows)?;
        let outcome = blind.choose(store, whole, |number, group| self.group(number, group))?;
        let Some(tree) = &outcome.tree else { return Ok(None) };
        let tree = NumberedTree { tree, before: 0, leaves: BTreeMap::new() };
        self.end_node();
        self.end_part(Some(PlacedRows { rows, tree: &tree }))?;
        self.tree(&tree)?;
        Ok(Some(json!({
            "strategy": "blind",
            "leaf_people": outcome.least_people,
            "leaves": outcome.leaves,
            "failed_leaves": outcome.failed_leaves,
            "expected_failures": outcome.expected_failures,
            "counting": match outcome.counting {
                Counting::Exact => "exact",
                Counting::Limits => "limits",
            },
        })))
    }

    /// Writes the groups of the best safe node of a lattice.
    fn search(
        &mut self,
        lattice: &FullDomain<'_>,
        rows: &PartRows<'_>,
        values: usize,
        untouched: impl Fn() -> Result<Box<dyn SplitTest>>,
    ) -> Result<Searched> {
        self.resources.progress.start("searching the lattice", None);
        let store = pages_here(rows)?;
        let publish = |number, group| self.group(number, group);
        let (tree, searched) = lattice.search(store, values, untouched, publish)?;
        let tree = NumberedTree { tree: &tree, before: 0, leaves: BTreeMap::new() };
        self.end_part(Some(PlacedRows { rows, tree: &tree }))?;
        self.tree(&tree)?;
        Ok(searched)
    }
}

impl GroupSink for GroupFiles<'_> {
    fn group(&mut self, number: u64, group: Group) -> Result<()> {
        self.resources.progress.go_on()?;
        self.resources.progress.advance(group.part.people);
        self.measure.add(&group);
        self.obstacles.add(group.obstacle, group.part.people);
        if let Some(decisive) = &mut self.decisive {
            decisive.observe(&group.part);
        }
        self.output.push(number, group)
    }

    fn left_out(&mut self, extent: &[Range<u32>], people: u64) -> Result<()> {
        self.left_out.add(extent, people);
        Ok(())
    }

    fn end_node(&mut self) {
        self.measure.end_node();
    }

    fn end_part(&mut self, rows: Option<PlacedRows<'_>>) -> Result<()> {
        self.measure.end_part();
        let Some(rows) = rows else { return Ok(()) };
        self.resources.progress.start("writing", None);
        self.output.push_travelling(rows, &self.resources.budget)
    }

    fn tree(&mut self, tree: &NumberedTree<'_>) -> Result<u64> {
        self.tree.push(tree)
    }
}

/// The pages of a table that is searched as a whole.
fn pages_here<'r, 's>(rows: &'r PartRows<'s>) -> Result<&'r PageStore<'s>> {
    rows.here().ok_or_else(|| Error::defect("the rows are with an engine"))
}

fn labels<'a>(table: &Table, attributes: &'a [Attribute]) -> Result<Vec<(String, Labels<'a>)>> {
    Ok(labels_of(attributes, kinds(table, attributes)?))
}

/// The types of the quasi-identifiers.
pub(super) fn kinds(table: &Table, attributes: &[Attribute]) -> Result<Vec<ColumnKind>> {
    attributes.iter().map(|attribute| table.kind(&attribute.name)).collect()
}

/// How the quasi-identifiers are labelled.
pub(super) fn labels_of(attributes: &[Attribute], kinds: Vec<ColumnKind>) -> Vec<(String, Labels<'_>)> {
    let named = attributes.iter().zip(kinds);
    named.map(|(own, kind)| (own.name.clone(), Labels::new(own, kind))).collect()
}

fn measure<'a>(table: &Table, source: &Source<'a>, attributes: &'a [Attribute]) -> Result<Measure<'a>> {
    let measured = source.quasi().zip(attributes);
    let measured = measured.map(|(quasi, own)| Ok((quasi, table.kind(&quasi.name)?, own)));
    Ok(Measure::new(measured.collect::<Result<Vec<_>>>()?))
}

/// How a policy wants these columns to be cut.
pub(super) fn plan<'c>(
    policy: &Policy,
    columns: &'c [Column],
    lookahead: Option<Lookahead<'c>>,
) -> SplitPlan<'c> {
    let (order, lookahead) = match (policy.publish.cuts, lookahead) {
        (Cuts::Mondrian, _) => (CutOrder::Mondrian, None),
        // Blind cuts have no order: they are not tried.
        (Cuts::Best | Cuts::Blind, None) => (CutOrder::Gain, None),
        (Cuts::Best | Cuts::Blind, ahead) => (CutOrder::GainAndRoom, ahead),
    };
    SplitPlan { columns, order, least_people: policy.privacy.minimum_group_size, lookahead }
}
