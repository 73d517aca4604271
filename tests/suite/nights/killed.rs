//! Nights and erasures that are killed at any moment: the last whole night stays, and the next run goes on.

use super::place::{APPEND, POLICY, Place, people};
use crate::support::{command, draws, scramble};
use std::process::Stdio;
use std::time::{Duration, Instant};

const ROUNDS: u64 = 12;

/// Runs `step` in a release of two nights with people who wait, kills it in the middle, and goes on.
fn kill(seed: u64, step: &[&str]) {
    let start = || {
        let place = Place::new(POLICY, &people(0..60));
        place.night(0, &people(60..90));
        place.night(0, &people(90..95));
        place.0.write("leavers.csv", "name\n7\n65\n92\n");
        place.table(&people(95..130));
        place
    };
    let finish = |place: &Place| {
        let message = place.ends_with(0, step);
        place.night(0, &people(130..160));
        message
    };
    let oracle = start();
    let before = oracle.release();
    let began = Instant::now();
    oracle.ends_with(0, step);
    let took = began.elapsed().as_micros() as u64;
    let after = oracle.release();
    finish(&oracle);
    let last = oracle.release();
    let (mut random, mut killed) = (draws(scramble(seed)), 0);
    for round in 0..ROUNDS {
        let place = start();
        let mut run = command();
        run.args(step).current_dir(place.0.path("")).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = run.spawn().unwrap();
        std::thread::sleep(Duration::from_micros(random(took + took / 4)));
        // SIGKILL: nothing can be cleaned up.
        child.kill().unwrap();
        killed += u64::from(!child.wait().unwrap().success());
        let left = place.release();
        assert!(left == before || left == after, "round {round}: neither the last night nor the next");
        place.check();
        finish(&place);
        assert!(place.release() == last, "round {round}: somebody was lost, or published twice");
        place.check();
        let names = std::fs::read_dir(place.0.path("")).unwrap().map(|entry| entry.unwrap().file_name());
        let names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        assert!(
            !names.iter().any(|name| name.ends_with(".next") || name.contains("unfinished")),
            "round {round}: {names:?}"
        );
    }
    assert!(killed > 0, "no run was killed");
}

#[test]
fn a_night_that_is_killed_at_any_moment() {
    kill(1, &APPEND);
}

#[test]
fn an_erasure_that_is_killed_at_any_moment() {
    kill(2, &["erase", "r", "--people", "leavers.csv"]);
}
