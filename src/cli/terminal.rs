//! How does text reach the user?

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::error::{Error, Result};
use crate::resources::progress::{Progress, Snapshot};

/// Writes a result to standard output; if the reader has gone away, returns [`Error::ClosedPipe`].
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|source| match source.kind() {
        io::ErrorKind::BrokenPipe => Error::ClosedPipe,
        _ => Error::io(Path::new("standard output"), source),
    })
}

/// Whether only results and errors are printed.
static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on, prints results and errors only.
pub fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Writes a warning or an error to standard error, ignoring failures.
pub fn complain(kind: &str, text: &str) {
    if kind == "warning" && is_quiet() {
        return;
    }
    let _ = writeln!(io::stderr().lock(), "{kind}: {text}");
}

/// Text of a table made safe to show: control characters cannot reach the terminal.
pub fn visible(text: &str) -> String {
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
}

/// How often the bar is drawn.
const PERIOD: Duration = Duration::from_millis(100);

/// Does some work, with its progress on standard error if that is a terminal.
pub fn with_progress<T>(work: impl FnOnce(&Progress) -> T) -> T {
    let progress = Progress::default();
    if is_quiet() || !io::stderr().is_terminal() {
        return work(&progress);
    }
    std::thread::scope(|scope| {
        let (stop, stopped) = mpsc::channel::<()>();
        scope.spawn(|| draw(&progress, stopped));
        let result = work(&progress);
        drop(stop);
        result
    })
}

fn draw(progress: &Progress, stopped: mpsc::Receiver<()>) {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let mut shown: Option<Snapshot> = None;
    while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(PERIOD) {
        let Some(now) = progress.snapshot() else { continue };
        if shown.is_none_or(|shown| shown.since != now.since) {
            shown.iter().for_each(|ended| tell_end(&bar, ended, now.since));
            restart(&bar, &now);
        }
        bar.set_position(now.done);
        bar.tick();
        shown = Some(now);
    }
    bar.finish_and_clear();
}

/// Leaves a line about a phase that took long.
fn tell_end(bar: &ProgressBar, ended: &Snapshot, end: Instant) {
    let took = end.saturating_duration_since(ended.since);
    if took >= Duration::from_secs(1) {
        bar.println(format!("{} took {:.1} s", ended.phase, took.as_secs_f64()));
    }
}

fn restart(bar: &ProgressBar, now: &Snapshot) {
    let template = match now.total {
        Some(_) => "{msg} {wide_bar} {human_pos} of {human_len} rows, {eta} left",
        None => "{msg} {spinner} {human_pos} rows, {elapsed}",
    };
    bar.reset();
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    if let Some(total) = now.total {
        bar.set_length(total);
    }
    bar.set_message(now.phase);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_as_text() {
        assert_eq!(visible("a\u{1b}[2Jß\n"), "a\\u{1b}[2Jß\\n");
    }
}
