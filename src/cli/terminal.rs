//! How does text reach the user?

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::error::{Error, Result};
use crate::resources::progress::{Progress, Snapshot};
use crate::resources::threads::start_in;

/// Writes an answer, text or JSON, to standard output. Only its line ends reach the terminal as they are: the escapes
/// of other characters are also those of JSON.
pub fn print(text: &str) -> Result<()> {
    write(&escape(text, |rest| rest.starts_with('\n')))
}

/// Writes a text that may hold codes of colours; whatever comes from a table or a policy in it is [`visible`] already.
pub fn print_drawn(text: &str) -> Result<()> {
    write(text)
}

/// Where a drawing of letters appears.
#[derive(Debug, Clone, Copy)]
pub struct Canvas {
    /// Letters in a line; unlimited if nobody looks at it in a terminal.
    pub columns: usize,
    /// Whether it may be coloured.
    pub colours: bool,
}

impl Canvas {
    /// Not a terminal.
    pub const PAPER: Canvas = Canvas { columns: usize::MAX, colours: false };

    /// Standard output. Colours follow the usual variables, such as `NO_COLOR`.
    pub fn of_output() -> Self {
        if !io::stdout().is_terminal() {
            return Canvas::PAPER;
        }
        let size = console::Term::stdout().size_checked();
        let columns = size.map_or(80, |(_, columns)| usize::from(columns).max(20));
        Canvas { columns, colours: console::colors_enabled() }
    }
}

/// Writes a file to standard output: as it is, unless somebody looks at it in a terminal.
pub fn print_file(contents: &str) -> Result<()> {
    if io::stdout().is_terminal() { print(contents) } else { write(contents) }
}

fn write(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // A reader that has gone away has read what it wanted. The exit code is the answer still.
        Err(source) if source.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|source| Error::Output { source, made: None }),
    }
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

/// In which form warnings and phases are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogForm {
    /// Lines for people.
    Text,
    /// One JSON object in each line, also for each phase that ended.
    Json,
}

/// Whether standard error is for programs.
static LOG_JSON: AtomicBool = AtomicBool::new(false);

/// From now on, warnings and phases are told in this form.
pub fn log_as(form: LogForm) {
    LOG_JSON.store(form == LogForm::Json, Ordering::Relaxed);
}

fn logs_json() -> bool {
    LOG_JSON.load(Ordering::Relaxed)
}

fn log(object: &serde_json::Value) {
    let _ = writeln!(io::stderr().lock(), "{object}");
}

/// Writes a warning, a note or an error to standard error, ignoring failures. Only our own line ends are followed by two spaces,
/// so a line end in a name cannot begin a line that looks like ours.
pub fn complain(kind: &str, text: &str) {
    if matches!(kind, "warning" | "note" | "accepted") && is_quiet() {
        return;
    }
    if logs_json() {
        return log(&serde_json::json!({"level": kind, "message": text}));
    }
    let text = escape(text, |rest| rest.starts_with("\n  "));
    let _ = writeln!(io::stderr().lock(), "{kind}: {text}");
}

/// A name or a text of a table made safe to show: control characters and those that change the direction of the text
/// after them cannot reach the terminal.
pub fn visible(text: &str) -> String {
    escape(text, |_| false)
}

/// A path made safe to show.
pub fn visible_path(path: &Path) -> String {
    visible(&path.to_string_lossy())
}

/// Writes what must not reach a terminal as `\n` or `\u001b`, except where `keep` says otherwise of the rest of the text.
fn escape(text: &str, keep: impl Fn(&str) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        match c {
            _ if !misleads(c) || keep(&text[at..]) => shown.push(c),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            _ => shown.push_str(&format!("\\u{:04x}", u32::from(c))),
        }
    }
    shown
}

/// Control characters, line separators, and the marks that change the direction of writing.
fn misleads(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// How often the bar is drawn.
const PERIOD: Duration = Duration::from_millis(100);

/// Does some work, with its progress on standard error if that is a terminal.
pub fn with_progress<T>(work: impl FnOnce(&Progress) -> T) -> T {
    let progress = Progress::default();
    if logs_json() {
        let result = work(&progress);
        for (phase, took) in progress.took() {
            log(&serde_json::json!({"level": "phase", "phase": phase, "seconds": took.as_secs_f64()}));
        }
        return result;
    }
    if is_quiet() || !io::stderr().is_terminal() {
        return work(&progress);
    }
    std::thread::scope(|scope| {
        let (stop, stopped) = mpsc::channel::<()>();
        // Where no thread can be started for it, there is no bar.
        let _ = start_in(scope, || draw(&progress, stopped));
        let result = work(&progress);
        drop(stop);
        result
    })
}

fn draw(progress: &Progress, stopped: mpsc::Receiver<()>) {
    let mut shown: Option<(Snapshot, ProgressBar)> = None;
    while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(PERIOD) {
        let Some(now) = progress.snapshot() else { continue };
        let same = |(before, _): &(Snapshot, _)| (before.phase, before.since) == (now.phase, now.since);
        let bar = match shown.take_if(|shown| same(shown)) {
            Some((_, bar)) => bar,
            None => {
                shown.iter().for_each(|(_, ended)| ended.finish_and_clear());
                bar_of(&now)
            }
        };
        bar.set_position(now.done);
        bar.tick();
        shown = Some((now, bar));
    }
    shown.iter().for_each(|(_, bar)| bar.finish_and_clear());
    // A phase may take many turns, so its time is told when all is done.
    for (phase, took) in progress.took().into_iter().filter(|(_, took)| *took >= Duration::from_secs(1)) {
        let _ = writeln!(io::stderr().lock(), "{phase} took {:.1} s", took.as_secs_f64());
    }
}

/// A bar for a phase. Nothing is drawn yet.
fn bar_of(now: &Snapshot) -> ProgressBar {
    let template = match now.total {
        Some(_) => "{msg} {wide_bar} {human_pos} of {human_len}, {left}",
        None => "{msg} {spinner} {so_far}",
    };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let left = |state: &ProgressState, out: &mut dyn fmt::Write| {
        let _ = out.write_str(&time_left(state.pos(), state.len().unwrap_or(0), state.elapsed()));
    };
    let so_far = |state: &ProgressState, out: &mut dyn fmt::Write| {
        let seconds = state.elapsed().as_secs();
        let _ = match state.pos() {
            0 => write!(out, "{seconds} s"),
            rows => write!(out, "{} rows, {seconds} s", HumanCount(rows)),
        };
    };
    let style = style.with_key("left", left).with_key("so_far", so_far);
    ProgressBar::with_draw_target(now.total, ProgressDrawTarget::stderr())
        .with_style(style)
        .with_message(now.phase)
        .with_elapsed(now.since.elapsed())
}

/// How long the rest of a phase takes at the pace so far, in words; nothing is said before there is a pace, nor after all
/// rows were seen.
fn time_left(done: u64, total: u64, elapsed: Duration) -> String {
    if done >= total {
        return "finishing".to_string();
    }
    if done == 0 || elapsed < Duration::from_millis(500) {
        return "no estimate yet".to_string();
    }
    let left = elapsed.as_secs_f64() * (total - done) as f64 / done as f64;
    match left.ceil() as u64 {
        seconds @ 0..90 => format!("{seconds} s left in this phase"),
        seconds => format!("{} min left in this phase", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_the_pace_so_far() {
        let left = |done, total, seconds| time_left(done, total, Duration::from_secs(seconds));
        assert_eq!(left(0, 100, 20), "no estimate yet");
        assert_eq!(time_left(50, 100, Duration::from_millis(100)), "no estimate yet");
        assert_eq!(left(25, 100, 10), "30 s left in this phase");
        assert_eq!(left(1, 100, 10), "17 min left in this phase");
        assert_eq!(left(100, 100, 10), "finishing");
    }

    #[test]
    fn control_characters_are_shown_as_text() {
        assert_eq!(visible("a\u{1b}[2Jß\n"), "a\\u001b[2Jß\\n");
    }

    #[test]
    fn marks_that_turn_the_direction_of_writing_are_shown_as_text() {
        let name = "drop\u{202e}yas\u{2066}\u{200f}\u{61c}\u{2028}";
        assert_eq!(visible(name), "drop\\u202eyas\\u2066\\u200f\\u061c\\u2028");
        assert_eq!(visible("שלום, Ελλάδα, 👩‍🔬"), "שלום, Ελλάδα, 👩‍🔬");
        let json = serde_json::json!({ "out": name }).to_string();
        let read: serde_json::Value = serde_json::from_str(&visible(&json)).unwrap();
        assert_eq!(read["out"], name);
    }

    #[test]
    fn a_line_end_in_a_name_begins_no_line_of_ours() {
        let ours = |rest: &str| rest.starts_with("\n  ");
        assert_eq!(escape("a\nerror: b\n  remedy", ours), "a\\nerror: b\n  remedy");
    }
}
