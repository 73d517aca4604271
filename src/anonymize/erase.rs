//! How do people leave a release?
//!
//! Removing somebody from a group would tell their value, and so would a choice by values. So the whole group of whoever
//! leaves is withdrawn, for good: its other people are not published again, and the groups that decide about later nights
//! stay in the ledger, withdrawn or not (mathematics 11). A policy may accept that some groups are
//! [replaced](super::replacing) instead.
//!
//! The files that held withdrawn groups are written again without them, all others are linked; the new directory takes
//! the place of the older one in one step, with an entry in the chain that states what is left.

use super::continued::ContinuedRelease;
use super::lints::Lints;
use super::replacing::{Replaced, Replacing, TagCounts};
use crate::check::Subject;
use crate::check::release::{GROUP, Release};
use crate::encode::person::{PERSON_BYTES, PersonMarker, ValueTag};
use crate::error::{Error, Result};
use crate::model::Policy;
use crate::policy::Leaving;
use crate::release::chain::{Chain, ChainLink, Night, night_folder};
use crate::release::exchanged::OlderRelease;
use crate::release::ledger::{LedgerHead, LedgerReader, LedgerRecord, LedgerWriter};
use crate::release::manifest::{self, Evidence, MANIFEST, ManifestFile, PublishedColumn, REPORT, hash};
use crate::release::pending::PendingHead;
use crate::release::private_file::PrivateFile;
use crate::release::staging::Staging;
use crate::release::tables;
use crate::report::kept::{self, Standing};
use crate::report::page::{Asked, Compared, Contents, Origin, Reader, WITHOUT_ORIGINAL, to_html};
use crate::resources::budget::Budget;
use crate::resources::progress::Progress;
use crate::resources::spill::SpillForm;
use crate::resources::{Resources, disk};
use crate::table::CsvTexts;
use crate::table::read::{ColumnRequest, Morsel, SpoolPlace, Table};
use crate::table::write::{TableWriter, WriteOptions};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Withdraws the groups of some people from a release that is continued.
pub struct Erase<'a> {
    /// A table that names the people: in the column of the policy, or in its only column.
    pub people: &'a Table,
    /// The release.
    pub release: PathBuf,
    /// The key of its ledger; default: next to the release.
    pub key: Option<PathBuf>,
    /// Whether anything is changed.
    pub mode: EraseMode,
    /// Where rows that do not fit in memory are stored.
    pub temp: PathBuf,
    /// How they are stored.
    pub spill: SpillForm,
    /// Memory budget in bytes.
    pub memory: u64,
    /// Threads.
    pub threads: usize,
}

/// Whether an erasure changes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EraseMode {
    /// Groups are withdrawn.
    Withdraw,
    /// It is only counted what would go.
    Count,
}

/// What an erasure does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Erasure {
    /// People who are named.
    pub named: u64,
    /// Those of them who are published.
    pub published: u64,
    /// Those of them who wait.
    pub waiting: u64,
    /// Those of them whose groups were withdrawn before.
    pub withdrawn_before: u64,
    /// Groups that go.
    pub groups: u64,
    /// Groups that are replaced by those who stay.
    pub replaced: u64,
    /// People who go, the named ones included.
    pub people: u64,
    /// The entry of the chain, if one was made.
    pub night: Option<u64>,
}

impl Erase<'_> {
    /// Withdraws the groups, or counts them.
    pub fn run(&self, progress: &Progress) -> Result<Erasure> {
        let release = ContinuedRelease::open(&self.release, self.key.as_deref())?;
        let policy = Policy::parse(&release.last().manifest.policy, self.release.join(MANIFEST))?;
        let person = policy.nights.as_ref().and_then(|nights| nights.person.clone()).ok_or_else(|| {
            Error::input(
                format!(
                    "{} does not say who is in it: its policy names no column of people",
                    self.release.display()
                ),
                "only a release with [nights] and `person` knows who was published",
            )
        })?;
        let resources = Resources {
            threads: self.threads,
            budget: Budget::new(self.memory),
            temp: self.temp.clone(),
            spill: self.spill,
            progress,
        };
        let marker = PersonMarker::new(
            &release.key,
            &person,
            policy.columns.sensitive.iter().map(|own| own.name.as_str()),
        );
        let ledger = release.ledger()?;
        let named = self.named(&person, ledger.head(), &marker, &resources)?;
        let mut found = Erasure { named: named.len() as u64, ..Erasure::default() };
        let groups = leaving(ledger, &named, &mut found)?;
        let replaced = self.replaced(&groups, &named, &marker, (&policy, &release), &resources)?;
        let work = Withdrawal {
            job: self,
            release: &release,
            policy: &policy,
            marker: &marker,
            named: &named,
            replaced,
            resources: &resources,
        };
        found.replaced = work.replaced.groups.len() as u64;
        found.groups = groups.len() as u64 - found.replaced;
        let stay;
        (found.people, stay) = work.people_who_go_and_stay(&groups)?;
        let waiting = work.still_waiting(&person, &mut found)?;
        if self.mode == EraseMode::Count || found.published + found.waiting == 0 {
            return Ok(found);
        }
        if found.people > 0 && stay == 0 {
            return Err(Error::input(
                "nobody would be left in the release",
                "remove the release itself, with its ledger and those who wait",
            ));
        }
        match (groups.is_empty(), waiting) {
            (true, Some((head, rows))) => release.files.write_pending(&head, &rows, &release.key)?,
            (true, None) => {}
            (false, waiting) => found.night = Some(work.withdraw(&groups, waiting)?),
        }
        Ok(found)
    }

    /// The groups that are replaced by those who stay; none unless the policy says so.
    fn replaced(
        &self,
        groups: &BTreeSet<u64>,
        named: &HashSet<[u8; PERSON_BYTES]>,
        marker: &PersonMarker,
        (policy, release): (&Policy, &ContinuedRelease),
        resources: &Resources<'_>,
    ) -> Result<Replaced> {
        let ledger = release.ledger()?;
        if policy.nights.as_ref().is_none_or(|nights| nights.erase == Leaving::Withdraw) {
            return Ok(Replaced { groups: BTreeMap::new(), decisive: ledger.head().decisive.clone() });
        }
        Lints::of_erasure(policy)?;
        let replacing = Replacing { release: &self.release, policy, groups, named, marker, resources };
        replacing.decide(ledger)
    }

    /// The hashes of the people who are named.
    fn named(
        &self,
        person: &str,
        head: &LedgerHead,
        marker: &PersonMarker,
        resources: &Resources<'_>,
    ) -> Result<HashSet<[u8; PERSON_BYTES]>> {
        let names: Vec<&str> =
            self.people.schema().fields().iter().map(|field| field.name().as_str()).collect();
        let column = match &names[..] {
            names if names.contains(&person) => person,
            [only] => *only,
            _ => {
                return Err(Error::input(
                    format!("the table of people has no column `{person}`"),
                    "give a table with this column, or with one column",
                ));
            }
        };
        if head.kinds.get(person) != Some(&format!("{:?}", self.people.kind(column)?)) {
            return Err(super::newcomers::other_type(column));
        }
        let work = |morsel: Morsel<'_>| {
            let mut found = Vec::new();
            for batch in morsel {
                found.extend(marker.people(batch?.column(0))?);
            }
            Ok(found)
        };
        let mut named = HashSet::new();
        let mut room = resources.budget.reserve(STAGE, 0)?;
        self.people.scan(&[ColumnRequest::canonical(column)], resources, work, |found| {
            named.extend(found);
            room.resize(STAGE, named.len() as u64 * 40)
        })?;
        Ok(named)
    }
}

const STAGE: &str = "the people who leave";

/// The groups of the people who are named.
fn leaving(
    mut ledger: LedgerReader,
    named: &HashSet<[u8; PERSON_BYTES]>,
    found: &mut Erasure,
) -> Result<BTreeSet<u64>> {
    let mut groups = BTreeSet::new();
    while let Some(record) = ledger.next()? {
        if !named.contains(record.person()) {
            continue;
        }
        match record.is_withdrawn() {
            true => found.withdrawn_before += 1,
            false => {
                found.published += 1;
                groups.insert(record.group());
            }
        }
    }
    Ok(groups)
}

/// The people who still wait, as a file.
type StillWaiting = Option<(PendingHead, Arc<crate::resources::spill_stream::SpillStream>)>;

struct Withdrawal<'a> {
    job: &'a Erase<'a>,
    release: &'a ContinuedRelease,
    policy: &'a Policy,
    marker: &'a PersonMarker,
    /// Who leaves.
    named: &'a HashSet<[u8; PERSON_BYTES]>,
    /// The groups that are replaced; all others of whoever leaves go.
    replaced: Replaced,
    resources: &'a Resources<'a>,
}

impl Withdrawal<'_> {
    /// Whether somebody who is published goes, given the groups of whoever leaves.
    fn goes(&self, record: &LedgerRecord, groups: &BTreeSet<u64>) -> bool {
        let group = record.group();
        !record.is_withdrawn()
            && groups.contains(&group)
            && (!self.replaced.groups.contains_key(&group) || self.named.contains(record.person()))
    }

    /// How many of the people who are published go, given the groups of whoever leaves, and how many stay.
    fn people_who_go_and_stay(&self, groups: &BTreeSet<u64>) -> Result<(u64, u64)> {
        let (mut ledger, mut go, mut stay) = (self.release.ledger()?, 0, 0);
        while let Some(record) = ledger.next()? {
            let goes = self.goes(&record, groups);
            go += u64::from(goes);
            stay += u64::from(!goes && !record.is_withdrawn());
        }
        Ok((go, stay))
    }

    /// Those who wait without the people who are named; `None` if nobody waits.
    fn still_waiting(&self, person: &str, found: &mut Erasure) -> Result<StillWaiting> {
        let Some(waiting) = self.release.waiting()? else { return Ok(None) };
        let place = SpoolPlace { directory: self.job.temp.clone(), form: self.job.spill };
        let head = waiting.head;
        let table = super::newcomers::open_waiting(waiting.rows, place)?;
        let stays = |people: &ArrayRef| -> Result<BooleanArray> {
            let people = self.marker.people(people)?;
            Ok(people.iter().map(|person| Some(!self.named.contains(person))).collect())
        };
        let (rows, left) = super::newcomers::copy_rows(&table, person, stays, self.resources)?;
        found.waiting = head.people - left;
        Ok(Some((PendingHead { people: left, ..head }, rows)))
    }

    /// Makes the directory without these groups and puts it in place; returns the entry of the chain.
    fn withdraw(&self, groups: &BTreeSet<u64>, waiting: StillWaiting) -> Result<u64> {
        let staging =
            Staging::replacing(self.release.turn.clone(), &self.job.release, OlderRelease::Removed)?;
        let mut link = self.release.last().next();
        let mut rewritten = Vec::new();
        let mut leaving = self.replaced.groups.clone();
        for night in Chain::read(&self.job.release)?.nights() {
            rewritten.extend(self.copy_night(night, groups, &mut leaving, staging.folder())?);
        }
        rewritten.sort_by(|one, other| one.path.cmp(&other.path));
        let number = link.number;
        link.rewritten = Some(rewritten);
        let sha256 = self.write_entry(staging.folder(), &link)?;
        staging.seal()?;
        let mut private = vec![self.next_ledger(groups, number, &sha256)?];
        if let Some((head, rows)) = waiting {
            let head = PendingHead { after_sha256: sha256, ..head };
            private.push(self.release.files.next_pending(&head, &rows, &self.release.key)?);
        }
        private.iter_mut().try_for_each(PrivateFile::place)?;
        let placed: Vec<PathBuf> = private.iter().map(|file| file.path().to_path_buf()).collect();
        let paths: Vec<&Path> = placed.iter().map(PathBuf::as_path).collect();
        let exchanged = staging.exchange(&paths, OlderRelease::Removed);
        if exchanged.is_ok() || matches!(exchanged, Err(Error::Undurable { .. })) {
            private.into_iter().for_each(PrivateFile::keep);
            // Whatever fails from here on, the next run finishes.
            let _ = self.release.files.take_next();
        }
        exchanged.map(|()| number)
    }

    /// Links the files of a night, and writes those again that hold groups that go.
    fn copy_night(
        &self,
        night: &Night,
        groups: &BTreeSet<u64>,
        leaving: &mut BTreeMap<u64, TagCounts>,
        staging: &Path,
    ) -> Result<Vec<ManifestFile>> {
        let mut rewritten = Vec::new();
        let prefix = night.prefix();
        let target = staging.join(&prefix);
        let first = night.manifest.night.as_ref().map_or(0, |link| link.groups_before) + 1;
        let affected = !night.is_erasure() && groups.range(first..=night.groups()).next().is_some();
        let listed = night.manifest.files.iter().flatten().map(|file| file.path.as_str());
        for name in listed.chain([MANIFEST, "manifest.json.sig"]) {
            let (from, to) = (night.folder.join(name), target.join(name));
            if !from.exists() {
                continue;
            }
            let folder = to.parent().unwrap_or(&target);
            disk::create_dir_all(folder).map_err(|source| Error::io(folder, source))?;
            let is_part = name.contains("/part-");
            match affected && (is_part || name == REPORT) {
                false => disk::link(&from, &to).map_err(|source| Error::io(&to, source))?,
                true => {
                    match is_part {
                        true => self.rewrite(&from, &to, groups, leaving)?,
                        false => disk::write(&to, WITHDRAWN_PAGE).map_err(|source| Error::io(&to, source))?,
                    }
                    let (bytes, sha256) = hash(&to)?;
                    rewritten.push(ManifestFile { path: format!("{prefix}{name}"), bytes, sha256 });
                }
            }
        }
        Ok(rewritten)
    }

    /// Writes a file of a table again, without the groups that go. Of a group that is replaced a row goes for each tag in
    /// `leaving`, and the tag with it: equal rows are one like the other.
    fn rewrite(
        &self,
        from: &Path,
        to: &Path,
        groups: &BTreeSet<u64>,
        leaving: &mut BTreeMap<u64, TagCounts>,
    ) -> Result<()> {
        let folder = from.parent().unwrap_or(Path::new(""));
        let table = tables::open_files(folder, &[from.to_path_buf()])?;
        let options =
            WriteOptions { threads: self.job.threads, texts: CsvTexts::Guarded, ..WriteOptions::default() };
        let mut writer = TableWriter::create(to, table.schema().clone(), &options)?;
        let sensitive: Vec<ColumnRequest> = match leaving.is_empty() {
            true => Vec::new(),
            false => {
                let names = self.policy.columns.sensitive.iter().map(|column| column.name.as_str());
                names.map(ColumnRequest::canonical).collect()
            }
        };
        let all = table.schema().fields().iter().map(|field| ColumnRequest::as_is(field.name()));
        let columns: Vec<ColumnRequest> = sensitive.iter().cloned().chain(all).collect();
        let work = |morsel: Morsel<'_>| {
            let mut read = Vec::new();
            for batch in morsel {
                let mut batch = batch?;
                let values: Vec<ArrayRef> = sensitive.iter().map(|_| batch.remove_column(0)).collect();
                let tags = match values.is_empty() {
                    true => vec![ValueTag::default(); batch.num_rows()],
                    false => self.marker.tags(&values, batch.num_rows())?,
                };
                read.push((batch, tags));
            }
            Ok(read)
        };
        table.scan(&columns, self.resources, work, |read: Vec<(RecordBatch, Vec<ValueTag>)>| {
            for (batch, tags) in read {
                let numbers = batch.column(0).as_primitive_opt::<Int64Type>().ok_or_else(unfit)?;
                let stays = numbers.values().iter().zip(&tags).map(|(number, tag)| {
                    let number = *number as u64;
                    match leaving.get_mut(&number) {
                        None => Some(!groups.contains(&number)),
                        Some(tags) => Some(!take_one(tags, tag)),
                    }
                });
                let stays: BooleanArray = stays.collect();
                writer.write(&filter_record_batch(&batch, &stays).map_err(|_| unfit())?)?;
            }
            Ok(())
        })?;
        writer.finish().map(drop)
    }

    /// Judges what is left, and writes the entry of the chain; returns the hash of its manifest.
    fn write_entry(&self, staging: &Path, link: &ChainLink) -> Result<String> {
        let release = Release::open(staging)?;
        let verdict = release.check(None, self.resources)?;
        if !verdict.stands() {
            return Err(Error::defect("what is left of the release is not safe"));
        }
        let folder = night_folder(staging, link.number);
        disk::create_dir_all(&folder).map_err(|source| Error::io(&folder, source))?;
        let people = match release.subject() {
            Subject::Table(table) => table,
            Subject::Buckets(buckets) => buckets.people,
        };
        let (numbers, keep) = ([GROUP.to_string()], &self.policy.columns.keep);
        let kept = kept::measure(people, &numbers, keep, Standing::Together, self.resources)?;
        let style = release.manifest().style;
        let page = to_html(&Contents {
            verdict: &verdict,
            asked: Asked::Policy,
            origin: Origin::Release {
                policy: self.policy,
                style: style.name(),
                version: env!("CARGO_PKG_VERSION"),
            },
            reader: Reader::Public,
            penalties: None,
            binds: Vec::new(),
            tried: None,
            attacks: None,
            compared: Compared::Not(WITHOUT_ORIGINAL),
            kept: &kept,
        });
        let path = folder.join(REPORT);
        disk::write(&path, page).map_err(|source| Error::io(&path, source))?;
        let columns: Vec<PublishedColumn<'_>> = verdict.columns.iter().map(PublishedColumn::from).collect();
        let evidence = Evidence { policy: self.policy, style, columns: &columns, night: Some(link) };
        manifest::write(&folder, &evidence, &[])?;
        hash(&folder.join(MANIFEST)).map(|(_, sha256)| sha256)
    }

    /// The ledger after this: the same people, of whom some go, and the groups that decide about later nights.
    fn next_ledger(&self, groups: &BTreeSet<u64>, night: u64, manifest_sha256: &str) -> Result<PrivateFile> {
        let mut ledger = self.release.ledger()?;
        let manifest_sha256 = manifest_sha256.to_string();
        let decisive = self.replaced.decisive.clone();
        let head = LedgerHead { night, manifest_sha256, decisive, ..ledger.head().clone() };
        let mut file = PrivateFile::newer(&self.release.files.next_ledger, "the next ledger")?;
        let mut writer = LedgerWriter::create(&mut file, &head, &self.release.key)?;
        while let Some(record) = ledger.next()? {
            let goes = self.goes(&record, groups);
            writer.push(if goes { record.withdrawn() } else { record })?;
        }
        writer.finish("")?;
        Ok(file)
    }
}

/// In place of the page of a night of which groups were withdrawn: that one told of their values.
const WITHDRAWN_PAGE: &str = "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>People left</title>\n\
     <p>Groups of this night were withdrawn, or people left them. The page of the last entry below nights/ describes what is left.</p>\n</html>\n";

/// Takes one of these tags away, if it is there.
fn take_one(tags: &mut TagCounts, tag: &ValueTag) -> bool {
    match tags.get_mut(tag).filter(|left| **left > 0) {
        None => false,
        Some(left) => {
            *left -= 1;
            true
        }
    }
}

pub(super) fn unfit() -> Error {
    Error::input("a table of the release cannot be read", "check the release first")
}
