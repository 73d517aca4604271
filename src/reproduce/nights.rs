//! What do two nights of overlapping people give away, published again or appended?
//!
//! A table of the census is published twice, with a few people more or less. Each release is safe by its policy; people
//! are followed from group to group, and groups are subtracted. Beside it the same newcomers are appended.
//!
//! Memory: that of [`together`], and of an anonymizer with its usual budget.

use super::{ExperimentFindings, ExperimentSetting, ResultCell, ResultTable};
use crate::anonymize::{Anonymize, Append, Outcome};
use crate::check::Subject;
use crate::check::release::{GROUP, Release};
use crate::check::together::{JointExposure, JointPeople, JointRelease, JointRule, together};
use crate::error::{Error, Result};
use crate::generate::{Generator, SyntheticTable};
use crate::math::exact::Rational;
use crate::model::Policy;
use crate::model::beliefs::Roles;
use crate::model::judge::Requirements;
use crate::report::chart::{Axis, Chart, Series};
use crate::resources::Resources;
use crate::resources::budget::Budget;
use crate::resources::progress::Progress;
use crate::table::read::{ReadOptions, Table};
use crate::table::write::{TableWriter, WriteOptions};
use arrow_array::BooleanArray;
use arrow_select::filter::filter_record_batch;
use std::path::{Path, PathBuf};

/// The policy of the census and the files that it names.
const FILES: [(&str, &str); 3] = [
    ("census.toml", include_str!("../../datasets/census.toml")),
    ("census-tract.csv", include_str!("../../datasets/census-tract.csv")),
    ("census-marital.csv", include_str!("../../datasets/census-marital.csv")),
];

const PERSON: &str = "person_id";

/// Rows of the generated table that are read at a time.
const CHUNK: u64 = 1 << 14;

/// Who is in the second table and not in the first, or the other way round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Joined,
    Left,
}

impl Change {
    fn name(self) -> &'static str {
        match self {
            Change::Joined => "joined",
            Change::Left => "left",
        }
    }
}

pub fn run(setting: &ExperimentSetting<'_>) -> Result<ExperimentFindings> {
    let rows: u64 = setting.scale.pick(20_000, 20_000, 2_000);
    let seeds: &[u64] = setting.scale.pick(&[1, 2, 3], &[1], &[1]);
    let mut measured = Vec::new();
    for changed in [rows / 1000, rows / 100] {
        for change in [Change::Joined, Change::Left] {
            for &seed in seeds {
                (setting.tell)(&format!("{changed} people {}, seed {seed}", change.name()));
                let place = setting.scratch("nights")?;
                let case = Case { folder: place.path(), rows, changed, change, seed };
                case.write_tables()?;
                let (again, appended) = (case.again()?, case.appended()?);
                measured.push(TwoNights { rows, changed, change, seed, again, appended });
            }
        }
    }
    let mut findings = ExperimentFindings { run: described(rows, seeds), ..ExperimentFindings::default() };
    findings.compared = [rows / 1000, rows / 100].map(|changed| compared(&measured, rows, changed)).into();
    let exposed: u64 = measured.iter().map(|own| own.appended.certain + own.appended.violating).sum();
    findings.compared.push(format!("Appended: {exposed} people are certain or in such a cell."));
    findings.tables.push(table(&measured));
    let series = [Change::Joined, Change::Left].map(|change| {
        let own = measured.iter().filter(|own| own.change == change);
        let points = own.map(|own| (100.0 * own.changed as f64 / own.rows as f64, own.certain_share()));
        Series::line(change.name(), points.collect())
    });
    findings.charts.push(Chart {
        title: "Certain values of those who joined or left".to_string(),
        horizontal: Axis::linear("people who joined or left, % of the table"),
        vertical: Axis::linear("certain, % of them"),
        series: series.into(),
    });
    Ok(findings)
}

/// What two nights give away, published again and appended.
struct TwoNights {
    rows: u64,
    changed: u64,
    change: Change,
    seed: u64,
    again: JointExposure,
    appended: JointExposure,
}

impl TwoNights {
    /// Those who joined or left and whose value is certain if the tables are published again.
    fn certain(&self) -> u64 {
        self.again.certain - self.again.certain_stayed
    }

    /// In percent.
    fn certain_share(&self) -> f64 {
        100.0 * self.certain() as f64 / self.changed.max(1) as f64
    }

    /// Those who stayed and are in a cell that violates the policy, in percent.
    fn violating_share(&self) -> f64 {
        100.0 * self.again.violating_stayed as f64 / self.again.stayed.max(1) as f64
    }
}

fn described(rows: u64, seeds: &[u64]) -> Vec<String> {
    vec![
        format!(
            "Census of {rows} people, seeds {seeds:?}, datasets/census.toml. The first table and the second differ in the \
             last people of the census: they are in the second only (joined), or in the first only (left)."
        ),
        "Published again: both tables are anonymized on their own, and each release is safe. People are followed from \
         group to group; cells that are determined are peeled, small components are counted."
            .to_string(),
        "Appended: the second table is appended to the first release, with batch = 1; its nights are attacked in the same \
         way."
            .to_string(),
    ]
}

fn compared(measured: &[TwoNights], rows: u64, changed: u64) -> String {
    let own = measured.iter().filter(|own| own.changed == changed);
    let (low, high, stayed) = own.fold((f64::INFINITY, 0f64, 0f64), |(low, high, most), own| {
        let share = own.certain_share();
        (low.min(share), high.max(share), most.max(own.violating_share()))
    });
    format!(
        "{changed} of {rows} people joined or left: the values of {low:.0} to {high:.0} % of them are certain; up to \
         {stayed:.1} % of those who stayed are in a cell that violates the policy."
    )
}

fn table(measured: &[TwoNights]) -> ResultTable {
    let mut table = ResultTable::new(
        "nights",
        "Two nights of the census: what is certain, and what violates the policy",
        &[
            "people",
            "change",
            "changed",
            "seed",
            "certain of the changed, published again",
            "%",
            "violating of those who stayed",
            "%",
            "not determined",
            "certain, appended",
            "violating, appended",
        ],
    );
    for own in measured {
        table.push(vec![
            ResultCell::Whole(own.rows),
            ResultCell::Text(own.change.name().to_string()),
            ResultCell::Whole(own.changed),
            ResultCell::Whole(own.seed),
            ResultCell::Whole(own.certain()),
            ResultCell::Real(own.certain_share()),
            ResultCell::Whole(own.again.violating_stayed),
            ResultCell::Real(own.violating_share()),
            ResultCell::Whole(own.again.not_determined),
            ResultCell::Whole(own.appended.certain),
            ResultCell::Whole(own.appended.violating),
        ]);
    }
    table
}

/// Two tables in a folder.
struct Case<'a> {
    folder: &'a Path,
    rows: u64,
    changed: u64,
    change: Change,
    seed: u64,
}

impl Case<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn write_tables(&self) -> Result<()> {
        for (name, text) in FILES {
            let path = self.path(name);
            std::fs::write(&path, text).map_err(|source| Error::io(&path, source))?;
        }
        let nights = format!("{}\n[nights]\nperson = \"{PERSON}\"\nbatch = 1\n", FILES[0].1);
        let path = self.path("nights.toml");
        std::fs::write(&path, nights).map_err(|source| Error::io(&path, source))?;
        let last = self.rows - self.changed;
        let first = |row: u64| self.change == Change::Left || row < last;
        let second = |row: u64| self.change == Change::Joined || row < last;
        self.write_rows("first.parquet", first)?;
        self.write_rows("second.parquet", second)?;
        self.write_rows("newcomers.parquet", |row| second(row) && !first(row))
    }

    fn write_rows(&self, name: &str, keep: impl Fn(u64) -> bool) -> Result<()> {
        let census = SyntheticTable { generator: Generator::Census, rows: self.rows, seed: self.seed };
        let mut writer = TableWriter::create(self.path(name), census.schema(), &WriteOptions::default())?;
        let mut start = 0;
        while start < self.rows {
            let end = (start + CHUNK).min(self.rows);
            let kept: BooleanArray = (start..end).map(|row| Some(keep(row))).collect();
            let batch = filter_record_batch(&census.batch(start..end)?, &kept);
            writer.write(&batch.map_err(|_| Error::defect("rows of the census cannot be filtered"))?)?;
            start = end;
        }
        writer.finish().map(drop)
    }

    fn table(&self, name: &str) -> Result<Table> {
        Table::open(&[self.path(name)], &ReadOptions::default())
    }

    fn publish(&self, table: &str, policy: &str, out: &str) -> Result<()> {
        let (table, policy) = (self.table(table)?, Policy::read(self.path(policy))?);
        let job =
            Anonymize { temp: self.folder.to_path_buf(), ..Anonymize::new(&table, &policy, self.path(out)) };
        match job.run(&Progress::default())? {
            Outcome::Published(_) => Ok(()),
            _ => Err(Error::input("no release of the census exists", "run the experiment at its full size")),
        }
    }

    /// Both tables are published on their own.
    fn again(&self) -> Result<JointExposure> {
        self.publish("first.parquet", "census.toml", "one")?;
        self.publish("second.parquet", "census.toml", "two")?;
        let releases = [Release::open(self.path("one"))?, Release::open(self.path("two"))?];
        self.exposure(&releases, &["first.parquet", "second.parquet"])
    }

    /// The second table is appended to a release of the first.
    fn appended(&self) -> Result<JointExposure> {
        self.publish("first.parquet", "nights.toml", "chain")?;
        let (table, policy) = (self.table("second.parquet")?, Policy::read(self.path("nights.toml"))?);
        let job =
            Append { temp: self.folder.to_path_buf(), ..Append::new(&table, &policy, self.path("chain")) };
        job.run(&Progress::default())?;
        let nights = Release::open(self.path("chain"))?.nights().len() as u64;
        let nights: Vec<Release> = (1..=nights)
            .map(|night| Release::open_night(self.path("chain"), night))
            .collect::<Result<_>>()?;
        self.exposure(&nights, &["first.parquet", "newcomers.parquet"][..nights.len()])
    }

    fn exposure(&self, releases: &[Release], tables: &[&str]) -> Result<JointExposure> {
        let policy = Policy::read(self.path("census.toml"))?;
        let target = &policy.privacy.targets[0];
        let roles = Roles::of(&policy, target)?;
        let originals: Vec<Table> = tables.iter().map(|name| self.table(name)).collect::<Result<_>>()?;
        let groups = [GROUP.to_string()];
        let mut joint = Vec::new();
        for (release, original) in releases.iter().zip(&originals) {
            let Subject::Table(table) = release.subject() else { continue };
            let people = JointPeople::Labelled { original, roles: &roles };
            joint.push(JointRelease { table, groups: &groups, sensitive: &roles.sensitive, people });
        }
        let points = Requirements::of(&policy, target)?.skyline().to_vec();
        let rule = JointRule { confidence: Rational::ONE, points };
        let progress = Progress::default();
        let report = together(&joint, PERSON, &rule, &Resources::new(Budget::new(1 << 30), &progress))?;
        report.after.last().copied().ok_or_else(|| Error::defect("no release was attacked"))
    }
}
