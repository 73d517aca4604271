//! The input of a run, and its outcome.

use super::asked::asked;
use super::input_hashes::InputHashes;
use super::lints::Lints;
use super::tasks::expect_codes_to_suffice;
use crate::check::integrity;
use crate::check::receipt::same_files;
use crate::encode::elsewhere::RowEngine;
use crate::encode::fingerprint::FingerprintKey;
use crate::encode::source::Source;
use crate::encode::source_columns::SourceColumns;
use crate::error::{Error, Lint, Result};
use crate::group::lattice::LatticeMeasure;
use crate::group::lattice::full_domain::Searched;
use crate::group::split::limits::CanonicalSizes;
use crate::math::disclosure_sets::Limits;
use crate::math::skyline::Values;
use crate::model::finding::Finding;
use crate::model::obstacle::Binding;
use crate::model::published::PastGroups;
use crate::model::robust::Distributions;
use crate::model::robust::already_known::AlreadyKnown;
use crate::model::{Grouping, Policy};
use crate::policy::{Cuts, Strategy};
use crate::release::chain::{Chain, ChainLink};
use crate::release::exchanged::OlderRelease;
use crate::release::ledger::LedgerHead;
use crate::release::nightly_files::NightlyFiles;
use crate::release::part_writer::PartOptions;
use crate::release::penalty::Utility;
use crate::release::private_file::PrivateFile;
use crate::release::receipt::{Receipt, ReceiptPaths};
use crate::release::staging::{Staging, Turn};
use crate::report::kept::KeptColumn;
use crate::report::scope::{Replay, ScopeLine};
use crate::resources::Resources;
use crate::resources::budget::Budget;
use crate::resources::progress::Progress;
use crate::resources::spill::{Spill, SpillForm};
use crate::table::CsvTexts;
use crate::table::read::Table;
use crate::table::write::{OutputFormat, WriteOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most people who are grouped together by similarity; beyond it, grouping grows faster than the number of people.
const PART_PEOPLE: u64 = 20_000;

/// Makes a release of a table that is safe by a policy.
pub struct Anonymize<'a> {
    /// The table.
    pub table: &'a Table,
    /// What the owner allows to be published.
    pub policy: &'a Policy,
    /// The directory that the release becomes; must not exist.
    pub out: PathBuf,
    /// Where rows that do not fit in memory are stored; default: the system's directory for temporary files.
    pub temp: PathBuf,
    /// How they are stored; default: encrypted.
    pub spill: SpillForm,
    /// Memory budget in bytes; default: 1 GiB.
    pub memory: u64,
    /// Threads; default: one per processor.
    pub threads: usize,
    /// How groups are searched for; default: in a tree.
    pub search: Search,
    /// How one of several given functions is chosen; default: according to the policy, if it says.
    pub strategy: Option<Strategy>,
    /// The format of the files; default: according to the policy.
    pub format: Option<OutputFormat>,
    /// The functions as a table of group numbers; default: those of the policy.
    pub functions: Option<&'a Table>,
    /// Counting steps per disclosure set of a given function.
    pub limit_steps: u64,
    /// The private list of rows that are not published; default: next to the release. It must not exist, unless it is
    /// that of the release that is exchanged.
    pub suppressed: Option<PathBuf>,
    /// The private receipt; likewise; default: `OUT.receipt.json`. The tree of cuts has the same name with `.tree` in place
    /// of `.receipt.json` or the last extension.
    pub receipt: Option<PathBuf>,
    /// The key of the input's fingerprint, made if it does not exist; default: named like the receipt, with
    /// `.receipt.key`.
    pub key: Option<PathBuf>,
    /// Whether an existing release is exchanged, and what becomes of it; default: an existing one is an error.
    pub replace: Option<OlderRelease>,
    /// Another release whose cuts are followed, found in its private tree; default: cuts are searched for.
    pub cuts_from: Option<PathBuf>,
    /// The order of decisions, and where published files end. Other sizes may give other groups and other bytes.
    pub sizes: CanonicalSizes,
    /// The most people who are grouped together by similarity. A different number may give different groups.
    pub part_people: u64,
    /// Who reads the rows, if `table` has only the columns; default: nobody else.
    #[doc(hidden)]
    pub engine: Option<&'a dyn RowEngine>,
}

impl<'a> Anonymize<'a> {
    /// A release of `table` in the directory `out`.
    pub fn new(table: &'a Table, policy: &'a Policy, out: impl Into<PathBuf>) -> Self {
        Anonymize {
            table,
            policy,
            out: out.into(),
            temp: std::env::temp_dir(),
            spill: SpillForm::Encrypted,
            memory: 1 << 30,
            threads: std::thread::available_parallelism().map_or(1, |threads| threads.get()),
            search: Search::Tree,
            strategy: None,
            format: None,
            functions: None,
            limit_steps: Limits::default().steps,
            suppressed: None,
            receipt: None,
            key: None,
            replace: None,
            cuts_from: None,
            sizes: CanonicalSizes::default(),
            part_people: PART_PEOPLE,
            engine: None,
        }
    }

    /// Fails if the policy asks for what the way to form groups, or the engine, cannot do.
    pub(super) fn expect_possible(&self) -> Result<()> {
        if self.engine.is_some() {
            expect_codes_to_suffice(self)?;
        }
        let by_cuts = self.grouping() == Grouping::Split;
        if self.policy.nights.is_some() {
            self.policy.expect_continuable()?;
            if !by_cuts {
                return Err(Error::input(
                    "nights: a strategy chooses one function for all people, so its release cannot be continued",
                    "leave out the strategy, or [nights]",
                ));
            }
            if self.replace.is_some() {
                return Err(Error::input(
                    "nights: a release that is continued is not replaced: its people were published",
                    "append to it, or make another release",
                ));
            }
        }
        if self.cuts_from.is_some() && !by_cuts {
            return Err(Error::input(
                "the cuts of another release are given, and this policy does not make groups by cuts",
                "follow cuts with the model \"skyline\" or \"implications\", and without a strategy",
            ));
        }
        Ok(())
    }

    /// Whether somebody who replays the choice of groups learns nothing more.
    pub(super) fn replay(&self) -> Replay {
        match self.grouping() {
            Grouping::GivenFunctions(_) => Replay::Withstood,
            Grouping::Split if self.policy.publish.cuts == Cuts::Blind => Replay::Withstood,
            Grouping::Split | Grouping::SimilarPeople => Replay::NotConsidered,
        }
    }

    /// Whether the release is there already and unaltered with its private files, made from these files by this policy and
    /// this version, and asked for in the same way.
    pub fn is_current(&self, progress: &Progress) -> Result<bool> {
        let paths = self.private_files()?;
        let (Ok(receipt), Ok(chain)) = (Receipt::read(&paths.receipt), Chain::read(&self.out)) else {
            return Ok(false);
        };
        let [only] = chain.nights() else { return Ok(false) };
        Ok(receipt.skyveil == env!("CARGO_PKG_VERSION")
            && only.manifest.policy_sha256 == self.policy.hash()
            && receipt.manifest_sha256 == only.manifest_sha256
            && receipt.asked == asked(self)?
            && receipt.files_are_there(&paths)
            && integrity::nights(chain.nights(), None, progress)?.is_empty()
            && same_files(&receipt.input.files, self.table)?)
    }

    /// How the files of the release are written.
    pub(super) fn part_options(&self) -> PartOptions {
        let write = write_options(self.threads);
        let format = self.format.unwrap_or(self.policy.publish.format);
        PartOptions { write, format, file_people: self.sizes.file_people }
    }

    /// Where the private files of the release go.
    fn private_files(&self) -> Result<ReceiptPaths> {
        let paths = ReceiptPaths::of(&self.out, self.receipt.as_deref(), self.key.as_deref())?;
        let leaves_out = match self.grouping() {
            Grouping::SimilarPeople => true,
            Grouping::Split => self.policy.privacy.suppress.allows_some(),
            Grouping::GivenFunctions(_) => false,
        };
        if leaves_out { paths.with_suppressed(self.suppressed.as_deref(), &self.out) } else { Ok(paths) }
    }

    /// The files that the run reads.
    fn read_files(&self) -> Vec<PathBuf> {
        let tables = [Some(self.table), self.functions].into_iter().flatten();
        let files = tables.flat_map(|table| table.files().iter().map(|file| file.path().to_path_buf()));
        let known = self.policy.robust().and_then(|(_, model)| match &model.distributions {
            Distributions::File { path, .. } => Some(path.clone()),
            Distributions::Estimated => None,
        });
        files.chain(known).collect()
    }

    fn resources<'p>(&self, progress: &'p Progress) -> Resources<'p> {
        Resources {
            threads: self.threads,
            budget: Budget::new(self.memory),
            temp: self.temp.clone(),
            spill: self.spill,
            progress,
        }
    }

    /// How groups are formed.
    pub(super) fn grouping(&self) -> Grouping {
        self.strategy.map_or_else(|| self.policy.grouping(), Grouping::GivenFunctions)
    }
}

/// How a file of a release is written.
pub(super) fn write_options(threads: usize) -> WriteOptions {
    WriteOptions { threads, texts: CsvTexts::Guarded, ..WriteOptions::default() }
}

/// How groups are searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// Each group is split on its own, as long as the parts are safe.
    Tree,
    /// All people's values are generalized to the same levels; the best safe choice by a measure is taken.
    Lattice(LatticeMeasure),
}

/// Where a run works: the directory in which the release is built, the private files, the spill and the budget.
///
/// Fields are dropped in this order: a run without free file handles closes those of its input and of its spill before the
/// directory is removed, which needs some.
pub(super) struct Workplace<'a> {
    /// The files of the input.
    pub inputs: InputHashes,
    pub spill: Spill,
    pub staging: Staging,
    pub private: ReceiptPaths,
    pub key: FingerprintKey,
    /// The file for a key that this run made.
    pub new_key: Option<PrivateFile>,
    pub resources: Resources<'a>,
    /// The ledger and those who wait, if the release is continued.
    pub nightly: NightlyFiles,
    /// What this night continues.
    pub continued: Option<Continued>,
    /// What becomes of the release that is exchanged, if one is.
    pub replaced: Option<OlderRelease>,
    /// The risks of exchanging it that the policy accepts.
    pub accepted: Vec<Lint>,
}

/// What a night needs besides its job.
pub(super) struct NightPlace<'a> {
    /// The right to change the release.
    pub turn: Arc<Turn>,
    /// The key of its ledger.
    pub key: FingerprintKey,
    /// The release so far.
    pub continued: Continued,
    /// The table that the owner gave.
    pub input: &'a Table,
}

/// A release that a night continues.
pub(super) struct Continued {
    /// The night.
    pub link: ChainLink,
    /// What its ledger says.
    pub head: LedgerHead,
    /// Whether the people of this night waited because of their values.
    pub by_values: bool,
    /// The key of its ledger.
    pub key_path: PathBuf,
}

impl<'a> Workplace<'a> {
    pub(super) fn open(job: &Anonymize<'_>, progress: &'a Progress) -> Result<Self> {
        let mut private = job.private_files()?;
        let replaced = job.replace.filter(|_| job.out.symlink_metadata().is_ok());
        let mut accepted = Vec::new();
        let staging = match replaced {
            None => Staging::create(&job.out)?,
            Some(older) => {
                accepted = Lints::of_replacement(job.policy)?;
                let staging = Staging::replacing(Arc::new(Turn::take(&job.out)?), &job.out, older)?;
                private = private.of_newer_release(&job.out, older, &job.read_files())?;
                staging
            }
        };
        // Older files are noticed before the table is read.
        private.expect_free()?;
        let (key, new_key) = private.key()?;
        let (nightly, resources) = (NightlyFiles::of(&job.out), job.resources(progress));
        let (spill, inputs) = (resources.new_spill()?, input_hashes(job.table, job.threads)?);
        let continued = None;
        Ok(Workplace {
            staging,
            private,
            key,
            new_key,
            spill,
            resources,
            nightly,
            continued,
            inputs,
            replaced,
            accepted,
        })
    }

    /// The published groups that decide about those of this run.
    pub(super) fn decisive(&self) -> &PastGroups {
        const NONE: &PastGroups = &PastGroups::NONE;
        self.continued.as_ref().map_or(NONE, |continued| &continued.head.decisive)
    }

    /// Groups that earlier nights numbered.
    pub(super) fn groups_before(&self) -> u64 {
        self.continued.as_ref().map_or(0, |continued| continued.link.groups_before)
    }

    /// Where a night of a release is made.
    pub(super) fn open_night(
        job: &Anonymize<'_>,
        release: &Path,
        place: NightPlace<'_>,
        progress: &'a Progress,
    ) -> Result<Self> {
        let NightPlace { turn, key, continued, input } = place;
        let staging = Staging::of_night(turn, release, &job.out)?;
        let private = ReceiptPaths::of_night(release, continued.link.number, &continued.key_path)?;
        let (nightly, resources) = (NightlyFiles::of(release), job.resources(progress));
        let (spill, inputs) = (resources.new_spill()?, input_hashes(input, job.threads)?);
        let continued = Some(continued);
        Ok(Workplace {
            staging,
            private,
            key,
            new_key: None,
            spill,
            resources,
            nightly,
            continued,
            inputs,
            replaced: None,
            accepted: Vec::new(),
        })
    }

    /// The rows of the table and their keyed fingerprint, in a scan of its own.
    pub(super) fn fingerprint(&self, job: &Anonymize<'_>) -> Result<(u64, String)> {
        let columns = SourceColumns::bound(job.table, job.policy, |_| Values::Single)?;
        let source = Source { table: job.table, columns, resources: &self.resources };
        let hasher = source.hasher(&self.key);
        let fingerprint = source.fingerprint(&hasher)?;
        Ok((fingerprint.rows, hasher.seal(&fingerprint)))
    }
}

fn input_hashes(table: &Table, threads: usize) -> Result<InputHashes> {
    InputHashes::begin(table.files().iter().map(|file| file.path().to_path_buf()).collect(), threads)
}

/// The outcome of a run.
#[derive(Debug)]
pub enum Outcome {
    /// The release is in place.
    Published(Box<Summary>),
    /// Not even the whole table in one group is safe, so nothing can be released; the findings for each
    /// sensitive column of that group.
    Impossible(Vec<Finding>),
    /// Nothing is published, for this reason.
    Withheld(String),
}

/// A finished release.
#[derive(Debug)]
pub struct Summary {
    /// People in the release.
    pub records: u64,
    /// Groups.
    pub groups: u64,
    /// Bytes written to the spill.
    pub spilled_bytes: u64,
    /// How often the source was read.
    pub source_scans: u64,
    /// Nodes that were grown ahead of their turn.
    pub nodes_grown: u64,
    /// How many of them had to be grown again.
    pub nodes_grown_again: u64,
    /// The utility of the release.
    pub utility: Utility,
    /// What refuses the best cuts of the groups, most people first.
    pub binds: Vec<Binding>,
    /// The result of the lattice search, if there was one.
    pub searched: Option<Searched>,
    /// Whether the release is safe; `None` if values are not protected, as the policy accepts.
    pub safe: Option<bool>,
    /// What the policy covers, and what not.
    pub scope: Vec<ScopeLine>,
    /// What holds for values that nothing protects, in words.
    pub unprotected: Option<String>,
    /// What the owner may not expect of the policy, in words.
    pub notes: Vec<String>,
    /// The risks that the policy accepts by name.
    pub accepted: Vec<Lint>,
    /// What kept columns reveal.
    pub kept: Vec<KeptColumn>,
    /// The private receipt.
    pub receipt: PathBuf,
    /// The people who are not published, if the model may leave people out.
    pub suppression: Option<Box<Suppression>>,
}

/// The people who are not published.
#[derive(Debug)]
pub struct Suppression {
    /// Rows of the table.
    pub input_rows: u64,
    /// Rows that are not in any group.
    pub suppressed: u64,
    /// The private file that lists them.
    pub list: PathBuf,
    /// What distributions give away about all people.
    pub already_known: Option<AlreadyKnown>,
    /// The result of checking the written groups.
    pub finding: Finding,
}
