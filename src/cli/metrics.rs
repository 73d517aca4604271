//! What does somebody who watches a nightly job want to plot?
//!
//! A file in the text format of Prometheus, as its node exporter reads it from a folder. It is replaced in one step.

use crate::error::{Error, Result};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// The numbers of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunMetrics {
    /// People that the run published.
    pub rows: u64,
    /// Groups that the run published.
    pub groups: u64,
    /// Bytes that did not fit in memory.
    pub spilled_bytes: u64,
    /// People who wait, if the release is continued.
    pub pending: Option<u64>,
    /// The average width of the published labels, from 0 to 1.
    pub penalty: Option<f64>,
    /// Seconds of the whole run.
    pub seconds: f64,
    /// Each phase.
    pub phases: Vec<(&'static str, Duration)>,
}

impl RunMetrics {
    /// The text of the file.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut add = |name: &str, help: &str, values: &[(String, f64)]| {
            text.push_str(&format!("# HELP skyveil_{name} {help}\n# TYPE skyveil_{name} gauge\n"));
            for (labels, value) in values {
                text.push_str(&format!("skyveil_{name}{labels} {value}\n"));
            }
        };
        let one = |value: f64| [(String::new(), value)];
        add("rows", "People that the last run published.", &one(self.rows as f64));
        add("groups", "Groups that the last run published.", &one(self.groups as f64));
        add("spilled_bytes", "Bytes that did not fit in memory.", &one(self.spilled_bytes as f64));
        add("seconds", "Seconds of the last run.", &one(self.seconds));
        if let Some(pending) = self.pending {
            add("people_pending", "People who wait until a night publishes.", &one(pending as f64));
        }
        if let Some(penalty) = self.penalty {
            add("certainty_penalty", "Average width of the published labels, from 0 to 1.", &one(penalty));
        }
        let phase = |(name, took): &(&str, Duration)| (format!("{{phase=\"{name}\"}}"), took.as_secs_f64());
        let phases: Vec<(String, f64)> = self.phases.iter().map(phase).collect();
        add("phase_seconds", "Seconds of each phase of the last run.", &phases);
        text
    }

    /// Writes the file, if one is wanted.
    pub fn write(&self, path: Option<&Path>) -> Result<()> {
        let Some(path) = path else { return Ok(()) };
        let io = |source| Error::io(path, source);
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = tempfile::Builder::new().prefix(".skyveil-").tempfile_in(folder).map_err(io)?;
        file.write_all(self.text().as_bytes()).map_err(io)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let readable = std::fs::Permissions::from_mode(0o644);
            file.as_file().set_permissions(readable).map_err(io)?;
        }
        file.persist(path).map(drop).map_err(|error| io(error.error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_its_help_and_type() {
        let metrics = RunMetrics {
            rows: 7,
            groups: 2,
            pending: Some(3),
            penalty: Some(0.25),
            phases: vec![("reading values", Duration::from_millis(1500))],
            ..RunMetrics::default()
        };
        let text = metrics.text();
        assert!(text.contains("# TYPE skyveil_rows gauge\nskyveil_rows 7\n"), "{text}");
        assert!(text.contains("skyveil_people_pending 3\n"), "{text}");
        assert!(text.contains("skyveil_phase_seconds{phase=\"reading values\"} 1.5\n"), "{text}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("skyveil.prom");
        metrics.write(Some(&path)).unwrap();
        metrics.write(Some(&path)).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
