//! `skyveil attack RELEASE RELEASE...`: what do several releases of overlapping people give away together?

use super::Answer;
use super::attack::AttackArgs;
use super::flags::{open_table, read_options};
use super::suite::{SEVERAL_RELEASES, lines_to_text};
use super::terminal::{print, with_progress};
use super::verdict::aligned;
use crate::check::Subject;
use crate::check::release::{GROUP, Release, is_release};
use crate::check::together::{JointExposure, JointPeople, JointRelease, JointReport, JointRule, together};
use crate::error::{Error, Result, Setting, number_of};
use crate::math::exact::Rational;
use crate::model::Policy;
use crate::model::beliefs::Roles;
use crate::model::judge::Requirements;
use crate::model::skyline::judge::SkylinePoints;
use crate::release::attacks::{AttackTable, Sureness};
use crate::release::chain::Chain;
use crate::table::read::Table;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Follows people through all releases, and prints how many are exposed after each.
pub fn run(args: &AttackArgs) -> Result<Answer> {
    let person = args.person.as_deref().ok_or_else(|| {
        Error::input(
            "several releases are compared person by person, and no column names people",
            "name the column of the tables that does: --person COL",
        )
    })?;
    let report = match args.paths.iter().all(|path| is_release(path)) {
        true => of_releases(args, person)?,
        false => of_tables(args, person)?,
    };
    print(&match args.json {
        true => format!("{}\n", to_json(&report)),
        false => to_text(&report),
    })?;
    Ok(Answer::Yes)
}

/// Releases of this program, with the tables that they were made from.
fn of_releases(args: &AttackArgs, person: &str) -> Result<JointReport> {
    let nights = nights(&args.paths)?;
    if args.original.len() != nights.len() {
        return Err(Error::missing(
            format!(
                "a release does not say who is in which group, and {} and {} were given",
                number_of(nights.len() as u64, "release or night", "releases or nights"),
                number_of(args.original.len() as u64, "table", "tables")
            ),
            "give the table that each release was made from, and that of each night its newcomers, in the same order",
            Setting::Original,
        ));
    }
    let mut opened: Vec<(Release, Table, Roles)> = Vec::new();
    let mut points = SkylinePoints::new();
    for ((path, release), original) in nights.into_iter().zip(&args.original) {
        let own = release.policy()?;
        let [target] = &own.privacy.targets[..] else {
            return Err(Error::input(
                format!("{} protects several columns, and people are followed by one value", path.display()),
                "give releases with one sensitive column",
            ));
        };
        points.extend_from_slice(Requirements::of(&own, target)?.skyline());
        let options = read_options(args.delimiter, Some(&own), args.resources.spool());
        let original = open_table(std::slice::from_ref(original), &options)?;
        let roles = Roles::of(&own, target)?;
        opened.push((release, original, roles));
    }
    let groups = [GROUP.to_string()];
    let mut releases = Vec::new();
    for (release, original, roles) in &opened {
        let Subject::Table(table) = release.subject() else {
            return Err(Error::input(
                "people are followed through releases in one table, and one of these has two",
                "give generalized releases, or tables with a group and the column that names people",
            ));
        };
        let people = JointPeople::Labelled { original, roles };
        releases.push(JointRelease { table, groups: &groups, sensitive: &roles.sensitive, people });
    }
    follow(args, &releases, person, points)
}

/// The releases in order; one that was continued stands for all its nights.
fn nights(paths: &[PathBuf]) -> Result<Vec<(&Path, Release)>> {
    let mut releases = Vec::new();
    for path in paths {
        let chain = Chain::read(path)?;
        for night in chain.nights().iter().filter(|night| !night.is_erasure()) {
            releases.push((path.as_path(), Release::open_night(path, night.number)?));
        }
    }
    Ok(releases)
}

/// Tables of anybody, which hold a group, the sensitive value and the column that names people.
fn of_tables(args: &AttackArgs, person: &str) -> Result<JointReport> {
    let sensitive = args
        .sensitive
        .as_deref()
        .ok_or_else(|| Error::input("no sensitive column is given", "name it with --sensitive"))?;
    if args.group.is_empty() {
        return Err(Error::input("no group columns are given", "name them with --group"));
    }
    let stated = args.policy.as_ref().map(Policy::read).transpose()?;
    let options = read_options(args.delimiter, stated.as_ref(), args.resources.spool());
    let tables: Vec<Table> = args
        .paths
        .iter()
        .map(|path| open_table(std::slice::from_ref(path), &options))
        .collect::<Result<_>>()?;
    let release = |table| JointRelease { table, groups: &args.group, sensitive, people: JointPeople::Own };
    let points = match stated.as_ref().map(|own| (own, &own.privacy.targets[..])) {
        Some((own, [target])) => Requirements::of(own, target)?.skyline().to_vec(),
        _ => SkylinePoints::new(),
    };
    follow(args, &tables.iter().map(release).collect::<Vec<_>>(), person, points)
}

fn follow(
    args: &AttackArgs,
    releases: &[JointRelease<'_>],
    person: &str,
    points: SkylinePoints,
) -> Result<JointReport> {
    let confidence = args.confidence.as_ref().map_or(Rational::ONE, |stated| stated.value().clone());
    let rule = JointRule { confidence, points };
    with_progress(|progress| together(releases, person, &rule, &args.resources.all(progress)))
}

fn to_text(report: &JointReport) -> String {
    let head = [
        "after release",
        "people",
        "stayed",
        "certain",
        "of them stayed",
        "violating",
        "of them stayed",
        "not determined",
    ];
    let rows = (1..).zip(&report.after).map(|(number, after): (u64, &JointExposure)| {
        [
            number,
            after.people,
            after.stayed,
            after.certain,
            after.certain_stayed,
            after.violating,
            after.violating_stayed,
            after.not_determined,
        ]
        .map(|number| number.to_string())
    });
    let head = head.map(str::to_string);
    let table = aligned(&std::iter::once(head).chain(rows).collect::<Vec<_>>());
    let mut text = format!(
        "{} in {}\n\n{}\n{table}",
        number_of(report.people, "person", "people"),
        number_of(report.after.len() as u64, "release", "releases"),
        lines_to_text(&attacks(report))
    );
    match first_exposing(report) {
        Some(number) => text.push_str(&format!(
            "\nrelease {number} is the first that makes somebody certain; --append would have kept its people apart\n"
        )),
        None => text.push_str("\nnobody is certain; who is not determined is not called safe\n"),
    }
    text
}

/// What all releases together give away, as lines of the table of attacks.
fn attacks(report: &JointReport) -> AttackTable {
    let last = report.after.last().copied().unwrap_or_default();
    let mut table = AttackTable::new(report.people, last.cells);
    for (needs, people) in [
        ("all of them, and who is in which: certain of a value", last.certain),
        ("all of them, and who is in which: reaches a confidence", last.violating),
    ] {
        let at_most = (people + last.not_determined).min(report.people);
        table.push(SEVERAL_RELEASES, needs, [people, at_most], Sureness::Sure);
    }
    table
}

/// The first release after which somebody is certain who was not before.
fn first_exposing(report: &JointReport) -> Option<usize> {
    report.after.iter().position(|after| after.certain > 0).map(|place| place + 1)
}

fn to_json(report: &JointReport) -> Value {
    let after = report.after.iter().map(|after| {
        json!({
            "people": after.people,
            "stayed": after.stayed,
            "certain": after.certain,
            "certain_stayed": after.certain_stayed,
            "violating": after.violating,
            "violating_stayed": after.violating_stayed,
            "not_determined": after.not_determined,
            "cells": after.cells,
        })
    });
    json!({
        "people": report.people,
        "attacks": attacks(report).attacks,
        "after": after.collect::<Vec<_>>(),
        "first_exposing": first_exposing(report),
    })
}
