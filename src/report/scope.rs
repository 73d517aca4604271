//! What does a policy cover, and what does it leave open?
//!
//! The only place that says so: the page, the summary of a run and its JSON show these lines.

use super::kept::KeptColumn;
use crate::error::number_of;
use crate::model::robust::Distributions;
use crate::model::{Policy, Target};
use crate::policy::{AcceptedRisk, Style};

/// Something that an adversary may try, and whether the policy covers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeLine {
    /// What it is about, in a few words.
    pub topic: &'static str,
    /// Whether it is covered.
    pub covered: ScopeVerdict,
    /// What that means here.
    pub words: String,
    /// How many people it concerns, if that can be counted.
    pub people: Option<u64>,
}

/// Whether the policy covers something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScopeVerdict {
    /// It does.
    Covered,
    /// It does not.
    Open,
}

/// Whether somebody who replays the choice of groups learns nothing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replay {
    /// A strategy chose them so that this holds.
    Withstood,
    /// They were chosen by looking at the values.
    NotConsidered,
}

/// What a release is about.
pub struct ReleasedPeople<'a> {
    /// How many people are published.
    pub people: u64,
    /// How many of them have a value that nothing protects.
    pub unprotected: u64,
    /// How the groups were chosen.
    pub replay: Replay,
    /// What kept columns reveal.
    pub kept: &'a [KeptColumn],
}

/// What a policy covers for a release, and what not.
pub fn scope(policy: &Policy, release: &ReleasedPeople<'_>) -> Vec<ScopeLine> {
    let people = release.people;
    let line =
        |topic, covered, words: &str, people| ScopeLine { topic, covered, words: words.to_string(), people };
    let covered_if = |holds: bool| if holds { ScopeVerdict::Covered } else { ScopeVerdict::Open };
    let close = policy.privacy.targets.iter().all(Target::bounds_closeness);
    let mut lines = vec![
        match release.unprotected {
            0 => line(
                "sensitive values",
                ScopeVerdict::Covered,
                "how sure others become of them is limited as this report lists",
                Some(people),
            ),
            open => line(
                "sensitive values",
                ScopeVerdict::Open,
                "some values are protected by nothing",
                Some(open),
            ),
        },
        identity(policy, people),
        line("membership", ScopeVerdict::Open, "that somebody is in the table is not hidden", Some(people)),
        several_releases(policy, people),
        match release.replay {
            Replay::Withstood => line(
                "replays",
                ScopeVerdict::Covered,
                "whoever repeats the choice of groups learns nothing more",
                Some(people),
            ),
            Replay::NotConsidered => line(
                "replays",
                ScopeVerdict::Open,
                "whoever repeats the algorithm may learn from groups that it refused",
                None,
            ),
        },
        line(
            "closeness of numbers",
            covered_if(close),
            match close {
                true => "numbers that are close to each other count as the same",
                false => "numbers that are close to each other count as different values",
            },
            None,
        ),
        kept_columns(release.kept),
    ];
    lines.extend(counts_of_distributions(policy, people));
    lines.extend(left_out(policy));
    lines
}

/// Whoever has the counts behind the distributions subtracts what is published, and keeps what was suppressed. Whether that
/// gives anybody away depends on people who are not published, so the words do not.
fn counts_of_distributions(policy: &Policy, people: u64) -> Option<ScopeLine> {
    let (_, robust) = policy.robust()?;
    let (covered, words) = match robust.distributions {
        Distributions::Estimated => (
            ScopeVerdict::Open,
            match policy.privacy.suppress.allows_some() {
                true => {
                    "who uses the distributions as beliefs is covered; who knows the counts behind them subtracts the \
                     published values and is left with those of the people who are not published"
                }
                false => {
                    "who uses the distributions as beliefs is covered, and nobody's value is left if published values are \
                     subtracted from the counts behind them; what else these counts say is not covered"
                }
            },
        ),
        Distributions::File { .. } => (
            ScopeVerdict::Covered,
            "the distributions were not counted in the table, so nothing can be subtracted from them",
        ),
    };
    Some(ScopeLine {
        topic: "counts behind the distributions",
        covered,
        words: words.to_string(),
        people: Some(people),
    })
}

/// Whether somebody is missing depends on values; how many are is for the owner.
fn left_out(policy: &Policy) -> Option<ScopeLine> {
    let share = &policy.privacy.suppress;
    share.allows_some().then(|| ScopeLine {
        topic: "people left out",
        covered: ScopeVerdict::Open,
        words: format!(
            "up to {} of the people may be left out because of their values, and what that tells is not covered",
            share.in_words()
        ),
        people: None,
    })
}

fn several_releases(policy: &Policy, people: u64) -> ScopeLine {
    let waited = policy.accept.contains(&AcceptedRisk::WaitedByValues);
    let (covered, words) = match policy.nights.as_ref().map(|nights| &nights.person) {
        None => (ScopeVerdict::Open, "the same people in another release can be compared with this one"),
        Some(None) => {
            (ScopeVerdict::Open, "nobody checked whether newcomers were published in an earlier night")
        }
        Some(Some(_)) if waited => (
            ScopeVerdict::Open,
            "people may have waited because of their values, and what that tells is not covered",
        ),
        Some(Some(_)) if policy.accept.contains(&AcceptedRisk::ReplacedGroups) => (
            ScopeVerdict::Open,
            "all nights of this release are judged together; but groups of people who left may have been replaced or \
             withdrawn because of their values, and what that tells is not covered",
        ),
        Some(Some(_)) => (
            ScopeVerdict::Covered,
            "all nights of this release are judged together, and nobody is in two; other releases are not covered",
        ),
    };
    ScopeLine { topic: "several releases", covered, words: words.to_string(), people: Some(people) }
}

fn identity(policy: &Policy, people: u64) -> ScopeLine {
    let least = policy.privacy.minimum_group_size;
    let (covered, words) = match (policy.publish.style, least) {
        (Style::Bucketized, _) => (
            ScopeVerdict::Open,
            "quasi-identifiers are published exactly: somebody who knows them can find the person"
                .to_string(),
        ),
        (Style::Generalized, 0 | 1) => {
            (ScopeVerdict::Open, "no group size is required: a row may belong to one person only".to_string())
        }
        (Style::Generalized, least) => (
            ScopeVerdict::Covered,
            format!("whoever knows the quasi-identifiers is left with at least {least} people"),
        ),
    };
    ScopeLine { topic: "identity", covered, words, people: Some(people) }
}

fn kept_columns(kept: &[KeptColumn]) -> ScopeLine {
    let alone = kept.iter().map(|column| column.alone).max().flatten();
    let (covered, words) = match kept.len() as u64 {
        0 => (ScopeVerdict::Covered, "none are published".to_string()),
        some => (
            ScopeVerdict::Open,
            format!(
                "{} published unchanged; who knows a value that is unique in its group finds the row",
                number_of(some, "column is", "columns are")
            ),
        ),
    };
    ScopeLine {
        topic: "kept columns",
        covered,
        words,
        people: alone.filter(|_| covered == ScopeVerdict::Open),
    }
}

/// What is not covered, in a line.
pub fn in_a_line(scope: &[ScopeLine]) -> String {
    let open = scope.iter().filter(|line| line.covered == ScopeVerdict::Open).map(|line| line.topic);
    format!("not covered: {}; this is not differential privacy", open.collect::<Vec<_>>().join(", "))
}
