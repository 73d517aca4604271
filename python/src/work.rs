//! How does long work leave the interpreter free, and how is it stopped?

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{Builder, scope};
use std::time::Duration;

use pyo3::prelude::*;
use skyveil::{Error, Progress, Result, panic_is_contained};

use crate::errors::raised;

/// How often signals are looked at, and progress is told.
const PERIOD: Duration = Duration::from_millis(100);

/// Does some work on a thread of its own, without the lock of the interpreter. `show` is called now and then with the phase,
/// the rows done and their total. A signal whose handler raises, such as Ctrl-C, and an error of `show` stop the work; it
/// has ended when this returns.
pub fn run<T: Send>(
    py: Python<'_>,
    show: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Progress) -> Result<T> + Send,
) -> PyResult<T> {
    let progress = Progress::default();
    let mut stopped = None;
    let outcome = scope(|threads| {
        let (tell, mut told) = channel();
        let progress = &progress;
        let worker = Builder::new().spawn_scoped(threads, move || {
            // Fails only if nobody waits for the outcome any more.
            let _ = tell.send(catch_unwind(AssertUnwindSafe(|| work(progress))));
        });
        if let Err(source) = worker {
            return Ok(Err(Error::Threads { source }));
        }
        loop {
            let told = &mut told;
            match py.detach(move || told.recv_timeout(PERIOD)) {
                Ok(outcome) => return outcome,
                Err(RecvTimeoutError::Disconnected) => {
                    return Ok(Err(Error::defect("the work ended without an outcome")));
                }
                Err(RecvTimeoutError::Timeout) if stopped.is_some() => {}
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(why) = py.check_signals().and_then(|()| tell_progress(show, progress)) {
                        progress.stop();
                        stopped = Some(why);
                    }
                }
            }
        }
    });
    match (stopped, outcome) {
        (Some(why), _) => Err(why),
        (None, Ok(result)) => result.map_err(|error| raised(py, &error)),
        (None, Err(panic)) => resume_unwind(panic),
    }
}

fn tell_progress(show: Option<&Bound<'_, PyAny>>, progress: &Progress) -> PyResult<()> {
    match (show, progress.snapshot()) {
        (Some(show), Some(now)) => show.call1((now.phase, now.done, now.total)).map(drop),
        _ => Ok(()),
    }
}

/// A decoder that panics on a damaged file is reported as an error of that file only.
pub fn silence_contained_panics() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !panic_is_contained() {
            print(info);
        }
    }));
}
