//! How is a release continued by one more night?
//!
//! Newcomers become groups of their own, which the test admits in addition to everything published; published groups
//! stay as they are. A night publishes by the number of those who wait, not by their values. Only if they are not
//! admitted as one group, all of them wait, and that is told.
//!
//! The order of changes: the ledger of the new night is in place under its next name, then the receipt, then the folder
//! of the night appears by one rename, then the ledger gets its name and those who waited are forgotten. A run that is
//! killed in between leaves the last whole night, and the next run finishes or undoes the rest.

use super::continued::ContinuedRelease;
use super::job::{Anonymize, Continued, NightPlace, Outcome, Summary, Workplace};
use super::newcomers::{Arrivals, open_waiting};
use super::splitting;
use super::written::Attempt;
use crate::encode::fingerprint::FingerprintKey;
use crate::encode::person::PersonMarker;
use crate::error::{Error, Result, Setting, number_of};
use crate::group::split::limits::CanonicalSizes;
use crate::model::Policy;
use crate::model::finding::Finding;
use crate::policy::{AcceptedRisk, Again, Nights};
use crate::release::chain::{Night, night_folder};
use crate::release::ledger::LedgerHead;
use crate::release::pending::PendingHead;
use crate::release::receipt::read_key;
use crate::resources::Resources;
use crate::resources::budget::Budget;
use crate::resources::progress::Progress;
use crate::resources::spill::SpillForm;
use crate::table::read::{SpoolPlace, Table};
use crate::table::write::OutputFormat;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Continues a release with the newcomers of a table.
pub struct Append<'a> {
    /// A table of people, new or not.
    pub table: &'a Table,
    /// The policy of the release; only what it accepts may differ.
    pub policy: &'a Policy,
    /// The release.
    pub release: PathBuf,
    /// The key of its ledger; default: next to the release.
    pub key: Option<PathBuf>,
    /// Where rows that do not fit in memory are stored; default: the system's directory for temporary files.
    pub temp: PathBuf,
    /// How they are stored; default: encrypted.
    pub spill: SpillForm,
    /// Memory budget in bytes; default: 1 GiB.
    pub memory: u64,
    /// Threads; default: one per processor.
    pub threads: usize,
    /// The order of decisions, and where published files end.
    pub sizes: CanonicalSizes,
}

/// What a night did.
#[derive(Debug)]
pub enum Appended {
    /// The newcomers are published.
    Published {
        /// The number of the night.
        night: u64,
        /// People of the table who were published before and are left out.
        known: u64,
        /// The night.
        summary: Box<Summary>,
    },
    /// All of them wait.
    Waiting(WaitingPeople),
    /// Nobody is new; nothing has changed.
    Nothing {
        /// People of the table who were published before.
        known: u64,
        /// People who wait.
        waiting: u64,
    },
}

/// People who are not published yet.
#[derive(Debug)]
pub struct WaitingPeople {
    /// How many.
    pub people: u64,
    /// How many must wait until a night publishes.
    pub batch: u64,
    /// The day on which the first of them came.
    pub since: String,
    /// People of the table who were published before and are left out.
    pub known: u64,
    /// What they wait for.
    pub reason: WaitingFor,
    /// The private file that holds them.
    pub file: PathBuf,
}

/// What people wait for.
#[derive(Debug)]
pub enum WaitingFor {
    /// Others: the batch is not complete.
    Others,
    /// Other values: they are not safe as one group, so no partition of all of them is; the findings about the group.
    Safety(Vec<Finding>),
    /// The owner, who must accept that they waited because of their values.
    Acknowledgement,
}

impl<'a> Append<'a> {
    /// Continues `release` with `table`.
    pub fn new(table: &'a Table, policy: &'a Policy, release: impl Into<PathBuf>) -> Self {
        let Anonymize { temp, spill, memory, threads, sizes, .. } = Anonymize::new(table, policy, "");
        Append { table, policy, release: release.into(), key: None, temp, spill, memory, threads, sizes }
    }

    /// Publishes the night, or lets its people wait.
    pub fn run(&self, progress: &Progress) -> Result<Appended> {
        let start = Instant::now();
        let nights = self.nights()?;
        let release = ContinuedRelease::open(&self.release, self.key.as_deref())?;
        let (last, files, key) = (release.last(), &release.files, &release.key);
        self.expect_policy(last)?;
        let ledger = release.ledger()?;
        let head = ledger.head().clone();
        let kinds = column_kinds(self.table, self.policy)?;
        expect_kinds(&head, &kinds)?;
        let waiting = release.waiting()?;
        let waited = waiting.as_ref().map(|waiting| waiting.head.clone());
        let waiting = waiting.map(|waiting| open_waiting(waiting.rows, self.spool())).transpose()?;
        let marker = marker(self.policy, key);
        let resources = self.resources(progress);
        let arrivals = Arrivals {
            table: self.table,
            waiting: waiting.as_ref(),
            policy: self.policy,
            marker: marker.as_ref(),
            resources: &resources,
        };
        let newcomers = arrivals.find(ledger)?;
        newcomers.found.expect_publishable(nights.person.as_deref().unwrap_or_default())?;
        let known = newcomers.found.known;
        if known > 0 && nights.again == Again::Refuse {
            return Err(Error::input(
                format!("{} published before", number_of(known, "person was", "people were")),
                "leave them out of the table, or write again = \"skip\" below [nights]",
            ));
        }
        let ready = newcomers.people >= nights.batch;
        if newcomers.joined == 0 && !ready {
            return Ok(Appended::Nothing { known, waiting: newcomers.people });
        }
        let by_values = waited.as_ref().is_some_and(|waited| waited.by_values);
        let pending = PendingHead {
            after_sha256: last.manifest_sha256.clone(),
            people: newcomers.people,
            since: waited.map_or_else(today, |waited| waited.since),
            by_values,
        };
        let wait = |pending: PendingHead, reason: WaitingFor| -> Result<Appended> {
            files.write_pending(&pending, &newcomers.rows, key)?;
            let PendingHead { people, since, .. } = pending;
            let (batch, file) = (nights.batch, files.pending.clone());
            Ok(Appended::Waiting(WaitingPeople { people, batch, since, known, reason, file }))
        };
        if !ready {
            return wait(pending, WaitingFor::Others);
        }
        if by_values && !self.policy.accept.contains(&AcceptedRisk::WaitedByValues) {
            return wait(pending, WaitingFor::Acknowledgement);
        }
        let night = last.next().number;
        let continued = Continued { link: last.next(), head, by_values, key_path: release.key_path.clone() };
        let table = newcomers.open(self.spool())?;
        let (turn, key) = (release.turn.clone(), read_key(&release.key_path)?);
        let place = NightPlace { turn, key, continued, input: self.table };
        match self.make_night(&table, release.end.format, place, progress, start)? {
            Outcome::Published(summary) => {
                // The night is there: whatever fails from here on, the next run finishes.
                let _ = files.take_next();
                let _ = files.remove_pending();
                Ok(Appended::Published { night, known, summary })
            }
            Outcome::Impossible(findings) => {
                wait(PendingHead { by_values: true, ..pending }, WaitingFor::Safety(findings))
            }
            Outcome::Withheld(reason) => Err(Error::defect(reason)),
        }
    }

    fn nights(&self) -> Result<&'a Nights> {
        self.policy.expect_continuable()?;
        self.policy.nights.as_ref().ok_or_else(|| {
            Error::missing(
                "the policy has no [nights], so a release by it cannot be continued",
                "add [nights] with batch, and person, before the first night",
                Setting::Policy,
            )
        })
    }

    /// The policy must be that of the release, except for what it accepts.
    fn expect_policy(&self, last: &Night) -> Result<()> {
        let own = Policy::parse(&last.manifest.policy, &self.release)?;
        match own.without_accepted() == self.policy.without_accepted() {
            true => Ok(()),
            false => Err(Error::missing(
                format!("{} was made by another policy", self.release.display()),
                "continue it with the policy that it was made with; only `accept` may differ",
                Setting::Policy,
            )),
        }
    }

    fn make_night(
        &self,
        table: &Table,
        format: Option<OutputFormat>,
        place: NightPlace<'_>,
        progress: &Progress,
        start: Instant,
    ) -> Result<Outcome> {
        let out = night_folder(&self.release, place.continued.link.number);
        let job = Anonymize {
            temp: self.temp.clone(),
            spill: self.spill,
            memory: self.memory,
            threads: self.threads,
            sizes: self.sizes,
            format,
            ..Anonymize::new(table, self.policy, out)
        };
        let workplace = Workplace::open_night(&job, &self.release, place, progress)?;
        match splitting::write_groups(&job, &workplace)? {
            Attempt::Written(written) => job.publish(*written, workplace, start),
            Attempt::Nothing(outcome) => Ok(outcome),
        }
    }

    fn spool(&self) -> SpoolPlace {
        SpoolPlace { directory: self.temp.clone(), form: self.spill }
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
}

/// Marks the people of a policy that names them.
pub(super) fn marker(policy: &Policy, key: &FingerprintKey) -> Option<PersonMarker> {
    let person = policy.nights.as_ref()?.person.as_deref()?;
    Some(PersonMarker::new(key, person, policy.columns.sensitive.iter().map(|column| column.name.as_str())))
}

/// The types of the columns that a ledger hashes.
pub(super) fn column_kinds(table: &Table, policy: &Policy) -> Result<BTreeMap<String, String>> {
    let person = policy.nights.as_ref().and_then(|nights| nights.person.as_ref());
    let sensitive = policy.columns.sensitive.iter().map(|column| &column.name);
    let kind = |name: &String| Ok((name.clone(), format!("{:?}", table.kind(name)?)));
    person.into_iter().chain(sensitive).map(kind).collect()
}

fn expect_kinds(head: &LedgerHead, kinds: &BTreeMap<String, String>) -> Result<()> {
    match kinds.iter().find(|(name, kind)| head.kinds.get(*name) != Some(kind)) {
        None => Ok(()),
        Some((name, _)) => Err(super::newcomers::other_type(name)),
    }
}

/// The day, in universal time.
fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let day = chrono::DateTime::from_timestamp(seconds as i64, 0);
    day.map_or_else(String::new, |day| day.date_naive().to_string())
}
