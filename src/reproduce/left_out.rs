//! How many people does a robust release of a public table leave out, and how many must be left out whatever the groups are?
//!
//! The command itself, with the default of what is known: every column and every two of them.

use std::path::{Path, PathBuf};

use super::{ExperimentFindings, ExperimentSetting, ResultCell, ResultTable, child};
use crate::error::{Error, Result};

/// A table, and the roles of its columns.
struct PublicTable {
    name: &'static str,
    path: PathBuf,
    columns: &'static str,
    r: &'static [u64],
}

const ADULT: &str = r#"sensitive = "occupation"
quasi = ["age", "workclass", "education", "marital-status", "race", "sex"]
rest = "drop""#;
const CENSUS_INCOME: &str = r#"sensitive = "education"
quasi = ["age", "sex", "race", "marital-status", "class-of-worker"]
rest = "drop""#;

/// Adds a table of the people who are left out.
pub fn add(setting: &ExperimentSetting<'_>, findings: &mut ExperimentFindings) -> Result<()> {
    let r = setting.scale.pick(&[2, 4, 8][..], &[2], &[2]);
    let income = setting.adult.with_file_name("census-income.csv");
    let tables = [
        PublicTable { name: "Adult", path: setting.adult.to_path_buf(), columns: ADULT, r },
        PublicTable { name: "Census-Income", path: income, columns: CENSUS_INCOME, r },
    ];
    findings.run.push(
        "Who is left out: `skyveil anonymize` with the default of what is known (every column and every two of them, support 100) and \
         suppress = \"99%\". Likely before: people with a value that these distributions alone make likelier than 1/r. Unavoidable: \
         people who must be left out whatever the groups are, a proved lower bound."
            .to_string(),
    );
    let headings = [
        "table",
        "people",
        "r",
        "likely before",
        "unavoidable",
        "left out",
        "left out (%)",
        "groups",
        "time (s)",
    ];
    let mut table = ResultTable::new("left-out", "People who are left out of r-robust releases", &headings);
    for public in tables {
        if !public.path.is_file() {
            findings.run.push(format!(
                "{} is not there, and left out of this table: run scripts/fetch.sh {} first.",
                public.name,
                public.name.to_lowercase()
            ));
            continue;
        }
        for &r in public.r {
            let row = release(setting, &public, r)?;
            (setting.tell)(&format!("{}, r = {r}", public.name));
            table.push(row);
        }
    }
    findings.tables.push(table);
    Ok(())
}

fn release(setting: &ExperimentSetting<'_>, public: &PublicTable, r: u64) -> Result<Vec<ResultCell>> {
    let folder = setting.scratch("left-out")?;
    let policy = folder.path().join("policy.toml");
    let privacy = format!("[privacy]\nmodel = \"robust\"\nr = {r}\nsuppress = \"99%\"");
    let text = format!(
        "accept = [\"repeated ids\"]\n[columns]\n{}\n{privacy}\n[publish]\nstyle = \"bucketized\"\n",
        public.columns
    );
    std::fs::write(&policy, text).map_err(|source| Error::io(&policy, source))?;
    let out: &Path = &folder.path().join("release");
    let more = ["--temp".as_ref(), folder.path().as_os_str()];
    let none = || ResultCell::from("");
    let Ok(said) = child::anonymize(setting.skyveil, &public.path, &policy, out, &more) else {
        let mut row = vec![public.name.into(), none(), r.into(), none(), none(), "no release".into()];
        row.extend([none(), none(), none()]);
        return Ok(row);
    };
    let count = |key: &str| said[key].as_u64().unwrap_or(0);
    let share = 100.0 * count("suppressed") as f64 / count("input_rows").max(1) as f64;
    Ok(vec![
        public.name.into(),
        count("input_rows").into(),
        r.into(),
        count("already_likely").into(),
        count("unavoidable").into(),
        count("suppressed").into(),
        ((share * 100.0).ceil() / 100.0).into(),
        count("groups").into(),
        said["seconds"].as_f64().unwrap_or(0.0).into(),
    ])
}
