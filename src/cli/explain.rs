//! `skyveil explain`: what would an adversary do?

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};

use super::Answer;
use super::flags::{read_sizes, read_within};
use super::subject::{Opened, SubjectFlags};
use super::terminal::{print, visible, with_progress};
use crate::check::{ColumnRoles, GroupDetail, count, groups};
use crate::error::{Error, Result, number_of};
use crate::math::exact::{Rational, decimal_at_least};
use crate::math::skyline::{
    Breach, Confidence, Knowledge, NearGroup, Point, Ranking, Seats, Values, Window, Windows, Within, steps,
    useful,
};
use crate::model::judge::Requirements;
use crate::model::skyline::ProtectedValues;
use crate::model::skyline::knowledge::WantedSkylines;
use crate::model::skyline::near::{NearPoint, window_name};

/// Who is most exposed in a release, or any table of groups, and how would an adversary find out?
///
/// Shows the worst case for one value and one size of knowledge: the group of the target, the values to rule
/// out, whom to ask, the family, and how sure each step makes. Names values and rows of the table.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  skyveil explain release
  skyveil explain release --value HIV --point 2,3,1")]
pub struct ExplainArgs {
    #[command(flatten)]
    subject: SubjectFlags,
    /// The sensitive value. Default for a release: the one that is nearest to its limit.
    #[arg(long, value_name = "V", allow_hyphen_values = true)]
    pub value: Option<String>,
    /// The value begins a window of numbers that are this near to each other, such as 1000 or 5%; values that the target
    /// lacks are windows too.
    #[arg(long, value_name = "WIDTH", value_parser = read_within)]
    pub within: Option<Within>,
    /// What the adversary knows: L values that the target lacks, the values of K others, M of the family. Default for a
    /// release: the point of its policy that is nearest to its limit.
    #[arg(long, value_name = "L,K,M", value_parser = read_sizes, allow_hyphen_values = true)]
    pub point: Option<Knowledge>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// The worst case, ready to be shown.
struct Case<'a> {
    value: &'a str,
    values: Values,
    size: Knowledge,
    breach: Breach,
    seats: Seats,
    target: GroupDetail,
    family: GroupDetail,
    /// The others and family members that are worth knowing.
    others: u64,
    relatives: u64,
    steps: [Option<Rational>; 4],
}

/// Explains, and prints the explanation.
pub fn run(args: &ExplainArgs) -> Result<Answer> {
    let (opened, columns) = args.subject.open()?;
    let (value, size) = asked(args, &opened, &columns)?;
    let certain = Confidence::new(Rational::ONE)
        .ok_or_else(|| Error::input("1 is no confidence", "this is a defect; please report it"))?;
    let point = Point { knowledge: size, confidence: certain };
    let requirements = match &args.within {
        None => Requirements::points(vec![(ProtectedValues::These(vec![value.clone()]), point)]),
        Some(_) if size.l > MOST_WINDOWS => {
            let problem = format!("more than {MOST_WINDOWS} windows that the target lacks cannot be shown");
            return Err(Error::input(problem, "give a smaller L in --point L,K,M"));
        }
        Some(within) => {
            let near = NearPoint { within: within.clone(), from: Some(value.clone()), point };
            Requirements { near: vec![near], ..Requirements::nothing() }
        }
    };
    let subject = opened.subject();
    let (value, breach, witness, mut found) = with_progress(|progress| {
        let resources = args.subject.resources(progress);
        let counted = count(&subject, &columns, &requirements, &WantedSkylines::NOTHING, &resources)?;
        let of_value = counted.judge.skyline().and_then(|judge| {
            let (code, _, statistics) = judge.evidence().next()?;
            Some((counted.names[code as usize].to_string(), statistics.breach(), statistics.witness()?))
        });
        let of_window = || {
            let (windows, window, statistics) = counted.judge.near().evidence().next()?;
            let name = window_name(windows, window, &counted.names);
            Some((name, statistics.breach(), statistics.witness()?))
        };
        let evidence = of_value.or_else(of_window);
        let Some((value, breach, witness)) = evidence else {
            return Err(Error::input("the value occurs nowhere", "check its spelling"));
        };
        let label = opened.label_columns(&columns);
        let numbers = [witness.target, witness.family];
        let mut found = groups(&subject, &columns, counted.order, &numbers, &label, &resources)?;
        if let Some((windows, window, _)) = counted.judge.near().evidence().next() {
            let merge = Merge { windows, window, names: &counted.names, l: size.l };
            found = found.into_iter().map(|detail| merge.merged(detail)).collect();
        }
        Ok((value, breach, witness, found))
    })?;
    let (Some(family), Some(target)) = (found.pop(), found.pop()) else {
        return Err(moved());
    };
    let (mut a, mut b) = (Ranking::default(), Ranking::default());
    let seats = witness.seats();
    let counts = |detail: &GroupDetail| detail.counts.iter().map(|(_, count)| *count).collect::<Vec<_>>();
    let own = a.rank(target.people, counts(&target));
    let theirs = b.rank(family.people, counts(&family));
    let (s, t) = ((&own, target.count(&value)), (&theirs, family.count(&value)));
    if s.1 == 0 || t.1 == 0 {
        return Err(moved());
    }
    let steps = steps(columns.values, size, seats, s, t);
    if let (Breach::Exact(breach), Some(last)) = (&breach, &steps[3])
        && breach != last
    {
        return Err(moved());
    }
    let (others, relatives) = useful(columns.values, size, seats, s, t);
    let case = Case {
        value: &value,
        values: columns.values,
        size,
        breach,
        seats,
        target,
        family,
        others,
        relatives,
        steps,
    };
    print(&if args.json { format!("{}\n", case.to_json()) } else { case.to_text() })?;
    Ok(Answer::Yes)
}

/// The value and the size of knowledge: as the flags say, or those of a release that are nearest to their limit.
fn asked(args: &ExplainArgs, opened: &Opened, columns: &ColumnRoles) -> Result<(String, Knowledge)> {
    if let (Some(value), Some(point)) = (&args.value, args.point) {
        return Ok((value.clone(), point));
    }
    let near = opened.nearest_point(columns, args.value.as_deref());
    let value = args.value.clone().or_else(|| Some(near.as_ref()?.value.clone()));
    let point = args.point.or_else(|| Some(near.as_ref()?.knowledge));
    value.zip(point).ok_or_else(|| {
        Error::input(
            "no value or no point is given",
            "name them: --value V --point L,K,M, such as --point 1,5,1",
        )
    })
}

/// More windows than this are not shown one by one.
const MOST_WINDOWS: u64 = 64;

/// Shows the values of a group as an adversary counts them: the window, the windows to rule out, and the rest.
struct Merge<'a> {
    windows: &'a Windows,
    window: Window,
    names: &'a [Arc<str>],
    l: u64,
}

impl Merge<'_> {
    fn merged(&self, detail: GroupDetail) -> GroupDetail {
        let code = |name: &str| self.names.iter().position(|own| **own == *name).map(|code| code as u32);
        let codes: HashMap<String, u32> =
            detail.counts.iter().filter_map(|(name, _)| Some((name.clone(), code(name)?))).collect();
        let mut group = NearGroup::default();
        let counts = detail.counts.iter().filter_map(|(name, count)| Some((*codes.get(name)?, *count)));
        group.read(self.windows, detail.people, counts);
        let mut shown = vec![self.window];
        shown.extend(group.widest_outside(self.window, self.l));
        let renamed = |name: &String| {
            let held =
                |window: &&Window| codes.get(name).is_some_and(|code| self.windows.holds(**window, *code));
            let window = shown.iter().find(held);
            window.map_or_else(|| name.clone(), |window| window_name(self.windows, *window, self.names))
        };
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for (name, count) in &detail.counts {
            *counts.entry(renamed(name)).or_default() += count;
        }
        let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
        counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let rows = detail.rows.iter().map(|(row, own)| (*row, own.iter().map(renamed).collect())).collect();
        GroupDetail { counts, rows, ..detail }
    }
}

fn moved() -> Error {
    Error::input(
        "the groups of the worst case were not found again",
        "the table must not change while it is read",
    )
}

/// The number of rows that are named as examples.
const EXAMPLES: usize = 5;
/// Digits after the point.
const PLACES: usize = 6;

impl Case<'_> {
    /// The values to rule out, with their counts.
    fn ruled_out(&self) -> Vec<&(String, u64)> {
        let others = self.target.counts.iter().filter(|(name, _)| name != self.value);
        others.take(usize::try_from(self.size.l).unwrap_or(usize::MAX)).collect()
    }

    fn others_group(&self) -> &GroupDetail {
        if self.seats == Seats::WithFamily { &self.family } else { &self.target }
    }

    /// For single values: what the others have, and how many of them are known.
    fn answers(&self) -> Vec<(&str, u64)> {
        let out = match self.seats {
            Seats::WithFamily => Vec::new(),
            _ => self.ruled_out(),
        };
        let mut left = self.others;
        let mut answers = Vec::new();
        for entry in &self.others_group().counts {
            if entry.0 == self.value || out.contains(&entry) || left == 0 {
                continue;
            }
            let asked = left.min(entry.1);
            answers.push((entry.0.as_str(), asked));
            left -= asked;
        }
        answers
    }

    /// Rows of a target, of others and of the family; empty if the rows do not show this.
    fn examples(&self) -> [Vec<u64>; 3] {
        let has = |row: &&(u64, Vec<String>), value: &str| row.1.iter().any(|own| own == value);
        let told = self.target.rows.iter().any(|(_, own)| !own.is_empty());
        let target: Vec<u64> = match told {
            true => {
                self.target.rows.iter().filter(|row| has(row, self.value)).map(|row| row.0).take(1).collect()
            }
            false => self.target.rows.iter().map(|row| row.0).take(1).collect(),
        };
        let most = usize::try_from(self.others).unwrap_or(usize::MAX);
        let rows = self.others_group().rows.iter().filter(|row| !target.contains(&row.0));
        let others: Vec<u64> = match (self.values, told) {
            (Values::Single, true) => {
                let mut left = self.answers();
                let wanted = rows.filter(|row| {
                    let own = left.iter_mut().find(|(value, asked)| *asked > 0 && has(row, value));
                    own.map(|(_, asked)| *asked -= 1).is_some()
                });
                wanted.map(|row| row.0).take(most).collect()
            }
            (_, true) => rows.filter(|row| !has(row, self.value)).map(|row| row.0).take(most).collect(),
            (_, false) => rows.map(|row| row.0).take(most).collect(),
        };
        let most = usize::try_from(self.relatives).unwrap_or(usize::MAX);
        let free = |row: &&(u64, Vec<String>)| !target.contains(&row.0) && !others.contains(&row.0);
        let family = self.family.rows.iter().filter(free).map(|row| row.0).take(most).collect();
        [target, others, family]
    }

    fn seats_text(&self) -> (&'static str, &'static str) {
        match self.seats {
            Seats::Together => ("the same group", "the same group"),
            Seats::WithTarget => ("the target's group", "another group"),
            Seats::WithFamily => ("the family's group", "another group"),
        }
    }

    fn to_text(&self) -> String {
        let value = visible(self.value);
        let Knowledge { l, k, m } = self.size;
        let sure = match &self.breach {
            Breach::Exact(exact) => fraction(Some(exact)),
            Breach::AtMost(bound) => format!("at most {bound}"),
        };
        let mut text = format!("{value} at l={l}, k={k}, m={m}: an adversary can become sure to {sure}\n\n");
        let [target_rows, other_rows, family_rows] = self.examples();
        let mut say = |head: &str, body: String| {
            if !body.is_empty() {
                text.push_str(&format!("{head:<12}{body}\n"));
            }
        };
        say("target", format!("one of {}", place(&self.target, self.value)));
        say("", rows(&target_rows));
        let ruled_out = self.ruled_out();
        let names: Vec<String> =
            ruled_out.iter().map(|(name, count)| format!("{} ({count})", visible(name))).collect();
        let how = match self.values {
            Values::Single => "the target does not have them".to_string(),
            _ => format!("if the target has one of them, then {value} too"),
        };
        say(
            "rule out",
            if names.is_empty() { "no value".into() } else { format!("{}: {how}", names.join(", ")) },
        );
        let (where_others, where_family) = self.seats_text();
        if self.others == 0 {
            say("ask", "nobody".to_string());
        } else {
            let people = number_of(self.others, "other person", "other people");
            let have = match self.values {
                Values::Single => {
                    let of = |(name, asked): &(&str, u64)| format!("{asked} with {}", visible(name));
                    self.answers().iter().map(of).collect::<Vec<_>>().join(", ")
                }
                _ => format!("they do not have {value}"),
            };
            say("ask", format!("{people} of {where_others}: {have}"));
            say("", rows(&other_rows));
        }
        if self.relatives == 0 {
            say("family", "nobody".to_string());
        } else {
            let people = number_of(self.relatives, "person", "people");
            say(
                "family",
                format!("{people} of {where_family}: if one of them has {value}, the target has it"),
            );
            if self.seats != Seats::Together {
                say("", format!("among {}", place(&self.family, self.value)));
            }
            say("", rows(&family_rows));
        }
        text.push_str("\nwhat is known            how sure\n");
        for (name, step) in STEPS.iter().zip(&self.steps) {
            text.push_str(&format!("{name:<24} {}\n", fraction(step.as_ref())));
        }
        text
    }

    fn to_json(&self) -> Value {
        let [target_rows, other_rows, family_rows] = self.examples();
        let group = |detail: &GroupDetail| {
            let label: serde_json::Map<_, _> =
                detail.label.iter().map(|(name, text)| (name.clone(), json!(text))).collect();
            json!({"label": label, "people": detail.people, "with_value": detail.count(self.value)})
        };
        let step = |(name, step): (&&str, &Option<Rational>)| {
            json!({
                "knowing": name,
                "sure": step.as_ref().map(crate::math::exact::f64_at_least),
                "exact": step.as_ref().map(Rational::to_string),
            })
        };
        let few = |rows: Vec<u64>| rows.into_iter().take(EXAMPLES).map(|row| row + 1).collect::<Vec<_>>();
        let single = self.values == Values::Single;
        json!({
            "value": self.value,
            "l": self.size.l,
            "k": self.size.k,
            "m": self.size.m,
            "breach": self.breach.at_least(),
            "target": {"group": group(&self.target), "rows": few(target_rows)},
            "rule_out": self.ruled_out().iter().map(|(name, _)| name).collect::<Vec<_>>(),
            "others": {
                "people": self.others,
                "in": self.seats_text().0,
                "group": group(self.others_group()),
                "have": single.then(|| {
                    self.answers().iter().map(|(name, n)| json!({"value": name, "people": n})).collect::<Vec<_>>()
                }),
                "rows": few(other_rows),
            },
            "family": {
                "people": self.relatives,
                "in": self.seats_text().1,
                "group": group(&self.family),
                "rows": few(family_rows),
            },
            "steps": STEPS.iter().zip(&self.steps).map(step).collect::<Vec<_>>(),
        })
    }
}

/// What is known after each step.
const STEPS: [&str; 4] =
    ["the release alone", "and the ruled out values", "and the others", "and the family"];

fn fraction(value: Option<&Rational>) -> String {
    /// Longer fractions are only shown in decimals.
    const MOST_DIGITS: usize = 40;
    match value {
        None => "not shown: the fraction has too many digits".to_string(),
        Some(value) => {
            let (decimal, exact) = (decimal_at_least(value, PLACES), value.to_string());
            if exact.len() <= MOST_DIGITS { format!("{decimal}  ({exact})") } else { decimal }
        }
    }
}

/// A group in words.
fn place(detail: &GroupDetail, value: &str) -> String {
    let label: Vec<String> =
        detail.label.iter().map(|(name, text)| format!("{}={}", visible(name), visible(text))).collect();
    let (people, times) = (number_of(detail.people, "person", "people"), detail.count(value));
    let times = number_of(times, "time", "times");
    format!("{people} with {}, among whom {} occurs {times}", label.join(", "), visible(value))
}

/// Example rows, counted from 1; nothing if there are none.
fn rows(rows: &[u64]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let shown: Vec<String> = rows.iter().take(EXAMPLES).map(|row| (row + 1).to_string()).collect();
    let more = if rows.len() > EXAMPLES { ", ..." } else { "" };
    let word = if rows.len() == 1 { "row" } else { "rows" };
    format!("for example {word} {}{more}", shown.join(", "))
}
