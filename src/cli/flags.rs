//! Which flags do several commands share, and what do they mean?

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::terminal::complain;
use crate::error::{Error, Setting};
use crate::math::skyline::{Confidence, Knowledge, Point, Values, Within};
use crate::model::Policy;
use crate::resources::Resources;
use crate::resources::budget::{Budget, parse_size};
use crate::resources::progress::Progress;
use crate::resources::spill::SpillForm;
use crate::table::read::{ReadOptions, SpoolPlace, Table};

/// The resources that a command may use.
#[derive(Debug, Args)]
pub struct ResourceFlags {
    /// Memory for data that grows with the table, such as 512MiB; beyond it, data goes to --temp.
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = read_size)]
    pub memory: u64,
    /// Threads to use. Default: all processors. The result is the same for any number.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Directory for data that does not fit in memory. Default: the system's.
    #[arg(long, value_name = "DIR")]
    pub temp: Option<PathBuf>,
    /// Store it there as it is. Without this, it is encrypted with a key that only this run knows.
    #[arg(long)]
    pub trust_disk: bool,
}

impl ResourceFlags {
    /// The number of threads.
    pub fn threads(&self) -> usize {
        match self.threads {
            Some(threads) => usize::from(threads),
            None => std::thread::available_parallelism().map_or(1, usize::from),
        }
    }

    /// The memory budget.
    pub fn budget(&self) -> Arc<Budget> {
        Budget::new(self.memory)
    }

    /// All of them.
    pub fn all<'a>(&self, progress: &'a Progress) -> Resources<'a> {
        Resources {
            threads: self.threads(),
            budget: self.budget(),
            temp: self.temp(),
            spill: self.spill(),
            progress,
        }
    }

    /// How data that does not fit in memory is stored.
    pub fn spill(&self) -> SpillForm {
        if self.trust_disk { SpillForm::Plain } else { SpillForm::Encrypted }
    }

    /// Where pipes are copied.
    pub fn spool(&self) -> SpoolPlace {
        SpoolPlace { directory: self.temp(), form: self.spill() }
    }

    /// The directory for data that does not fit in memory.
    pub fn temp(&self) -> PathBuf {
        self.temp.clone().unwrap_or_else(std::env::temp_dir)
    }
}

/// How to read the table: the flag takes precedence over the policy.
pub fn read_options(delimiter: Option<u8>, policy: Option<&Policy>, spool: SpoolPlace) -> ReadOptions {
    let stated = policy.map_or_else(ReadOptions::default, |policy| policy.read_options());
    ReadOptions { delimiter: delimiter.or(stated.delimiter), spool, ..stated }
}

/// Opens a table, and says which files of a directory are not read.
pub fn open_table(paths: &[PathBuf], options: &ReadOptions) -> Result<Table, Error> {
    let table = Table::open(paths, options)?;
    table.notes().iter().for_each(|note| complain("note", note));
    Ok(table)
}

/// The largest l, k, m and group size.
const LARGEST: u64 = 1_000_000_000;

/// Reads `L,K,M,C`.
pub fn read_point(text: &str) -> Result<Point, String> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    let [l, k, m, confidence] = parts[..] else {
        return Err("expected L,K,M,C, such as 3,100,2,0.5".to_string());
    };
    let knowledge = sizes([l, k, m])?;
    let confidence = Confidence::parse(confidence)
        .ok_or("C must be a decimal or a fraction above 0 and at most 1, such as 0.5 or 1/5")?;
    Ok(Point { knowledge, confidence })
}

/// Reads `L,K,M`.
pub fn read_sizes(text: &str) -> Result<Knowledge, String> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    let [l, k, m] = parts[..] else { return Err("expected L,K,M, such as 3,100,2".to_string()) };
    sizes([l, k, m])
}

fn sizes([l, k, m]: [&str; 3]) -> Result<Knowledge, String> {
    let whole = |name: &str, text: &str| match text.parse::<u64>() {
        Ok(number) if number <= LARGEST => Ok(number),
        _ => Err(format!("{name} must be a whole number from 0 to {LARGEST}")),
    };
    Ok(Knowledge { l: whole("L", l)?, k: whole("K", k)?, m: whole("M", m)? })
}

/// A confidence.
pub fn read_confidence(text: &str) -> Result<Confidence, String> {
    let remedy = "expected a decimal or a fraction above 0 and at most 1, such as 0.5 or 1/5";
    Confidence::parse(text).ok_or_else(|| remedy.to_string())
}

/// The width of a window.
pub fn read_within(text: &str) -> Result<Within, String> {
    let remedy = "expected a number above 0 or a share, such as 1000 or 5%";
    Within::parse(text).filter(|within| !within.is_empty()).ok_or_else(|| remedy.to_string())
}

/// Reads the kind of sensitive values.
pub fn read_values(text: &str) -> Result<Values, String> {
    [Values::Single, Values::Set, Values::Multiset]
        .into_iter()
        .find(|values| values.name() == text)
        .ok_or_else(|| "expected single, set or multiset".to_string())
}

/// Reads a group size.
pub fn read_count(text: &str) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(number) if (1..=LARGEST).contains(&number) => Ok(number),
        _ => Err(format!("expected a whole number from 1 to {LARGEST}")),
    }
}

/// Reads the byte between two cells.
pub fn read_delimiter(text: &str) -> Result<u8, String> {
    match text {
        "\\t" | "tab" => Ok(b'\t'),
        _ if text.len() == 1 && !matches!(text, "\"" | "\n" | "\r") => Ok(text.as_bytes()[0]),
        _ => Err("expected one ASCII character, such as ; or tab".to_string()),
    }
}

/// Reads an amount of memory.
pub fn read_size(text: &str) -> Result<u64, String> {
    match parse_size(text) {
        Some(bytes) if bytes > 0 => Ok(bytes),
        _ => Err("expected a size such as 512MiB or 2GiB".to_string()),
    }
}

/// The flag for the setting that a library error refers to.
pub fn hint(setting: Setting) -> &'static str {
    match setting {
        Setting::Count => " (--count)",
        Setting::Delimiter => " (--delimiter)",
        Setting::Dimension => " (--dimension)",
        Setting::Groups => " (--group COL,..)",
        Setting::Individual => " (--individual)",
        Setting::Key => " (--key FILE)",
        Setting::Memory => " (--memory)",
        Setting::Original => " (--original TABLE)",
        Setting::Out => " (--out DIR)",
        Setting::Points => " (--point L,K,M,C)",
        Setting::Policy => " (--policy FILE)",
        Setting::Queries => " (--queries)",
        Setting::Receipt => " (--receipt FILE)",
        Setting::Search => " (--search)",
        Setting::Selectivity => " (--selectivity)",
        Setting::Sensitive => " (--sensitive COL)",
        Setting::Suppressed => " (--suppressed FILE)",
        Setting::Temp => " (--temp DIR)",
        Setting::Threads => " (--threads)",
        Setting::Values => " (--values single, set or multiset)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_read_exactly_or_refused() {
        let point = read_point("1, 2,3,1/5").unwrap();
        assert_eq!(point.knowledge, Knowledge { l: 1, k: 2, m: 3 });
        assert_eq!(point.confidence, Confidence::parse("0.2").unwrap());
        for bad in [
            "",
            "1,2,3",
            "1,2,3,0.5,6",
            "-1,0,0,0.5",
            "0,-1,0,0.5",
            "0,0,1.5,0.5",
            "1e99,0,0,0.5",
            "0,0,0,0",
            "0,0,0,1.5",
            "0,0,0,abc",
            "0,0,0,nan",
            "99999999999999999999,0,0,0.5",
            "1000000001,0,0,0.5",
        ] {
            assert!(read_point(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn delimiters_are_one_byte() {
        assert_eq!(read_delimiter(";"), Ok(b';'));
        assert_eq!(read_delimiter("tab"), Ok(b'\t'));
        for bad in ["", ";;", "ß", "\""] {
            assert!(read_delimiter(bad).is_err(), "{bad}");
        }
    }
}
