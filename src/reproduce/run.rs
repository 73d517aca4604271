//! Runs one experiment from start to end: runs it, compares it with its paper, and writes it to its folder.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::experiment::{Experiment, Scaling};
use super::{ExperimentResult, ExperimentSetting, Machine, RunSize, findings, page};
use crate::error::{Error, Result};
use crate::report::chart::to_document;

/// Runs an experiment and writes its four files to the folder with its name in `out`, which is returned.
pub fn run(experiment: &Experiment, setting: &ExperimentSetting<'_>, out: &Path) -> Result<PathBuf> {
    let folder = out.join(experiment.name);
    std::fs::create_dir_all(&folder).map_err(|source| Error::io(&folder, source))?;
    let start = Instant::now();
    let findings = (experiment.run)(setting)?;
    let flag = match setting.scale {
        RunSize::Full => "",
        RunSize::Quick => " --quick",
        RunSize::Tiny => " --tiny",
    };
    let texts = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect();
    let outcome = ExperimentResult {
        experiment: experiment.name.to_string(),
        question: experiment.question.to_string(),
        paper: experiment.paper.to_string(),
        place: experiment.place.to_string(),
        shows: texts(experiment.shows),
        command: format!("skyveil reproduce {}{flag}", experiment.name),
        scale: match experiment.sizes {
            Scaling::Fixed => RunSize::Full.name(),
            Scaling::Scaled => setting.scale.name(),
        }
        .to_string(),
        seconds: start.elapsed().as_secs_f64(),
        machine: Machine::here(),
        run: findings.run,
        compared: findings.compared,
        tables: findings.tables,
    };
    let plot = to_document(&findings.charts);
    let json = serde_json::to_string_pretty(&outcome)
        .map_err(|_| Error::input("the result cannot be written as JSON", "this is a defect of skyveil"))?;
    for (name, text) in [
        ("numbers.csv", findings::to_csv(&outcome.tables)),
        ("result.json", json + "\n"),
        ("index.html", page::to_html(&outcome, &plot)),
        ("plot.svg", plot),
    ] {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|source| Error::io(&path, source))?;
    }
    Ok(folder)
}
