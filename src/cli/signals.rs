//! What happens when a signal asks the command to stop?
//!
//! What the run had made is removed, one line says so, and the process ends by the signal, as its caller expects. A
//! signal that was ignored when the command started (`nohup`) stays ignored.

#[cfg(unix)]
pub use unix::handle;

/// Elsewhere the system ends the process; a later run sweeps what it left.
#[cfg(not(unix))]
pub fn handle() {}

#[cfg(unix)]
mod unix {
    use crate::cli::terminal::{complain, visible_path};
    use crate::resources::threads::start;
    use crate::resources::unfinished::{Remains, remove_all};
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::{emulate_default_handler, signal_name};
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc::channel;

    /// Handles the signals that end the command, from now on.
    pub fn handle() {
        // A file beyond the limit on its size is then an error of the system instead of the end.
        let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
        let (tell, told) = channel();
        // Without a thread nobody could clean up, and the signals keep their usual effect.
        let waiting = start(move || {
            let ignored = ignored_signals();
            let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| ignored & bit(*signal) == 0);
            let signals = Signals::new(wanted);
            let _ = tell.send(());
            let Ok(mut signals) = signals else { return };
            if let Some(signal) = signals.forever().next() {
                let remains = remove_all();
                complain("stopped", &line(signal, &remains));
                let _ = emulate_default_handler(signal);
            }
        });
        if waiting.is_ok() {
            let _ = told.recv();
        }
    }

    fn line(signal: i32, remains: &Remains) -> String {
        let name = signal_name(signal).unwrap_or("a signal");
        match (remains.published.first(), remains.removed) {
            (Some(release), _) => {
                format!("{name} came when {} was complete; it stays", visible_path(release))
            }
            (None, 0) => format!("{name}; nothing was published, and nothing is left behind"),
            (None, _) => format!("{name}; nothing was published, and what this run had made is removed"),
        }
    }

    fn bit(signal: i32) -> u64 {
        1 << (signal - 1)
    }

    /// The signals that this process ignores, where the system tells.
    fn ignored_signals() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_signal_is_told_with_what_remains() {
            let remains = |removed, published: &[&str]| Remains {
                removed,
                published: published.iter().map(Into::into).collect(),
            };
            let nothing = "SIGTERM; nothing was published, and nothing is left behind";
            assert_eq!(line(SIGTERM, &remains(0, &[])), nothing);
            let removed = "SIGINT; nothing was published, and what this run had made is removed";
            assert_eq!(line(SIGINT, &remains(2, &[])), removed);
            assert_eq!(line(SIGHUP, &remains(1, &["out"])), "SIGHUP came when out was complete; it stays");
        }
    }
}
