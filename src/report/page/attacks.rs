//! Whom do attacks affect? What the receipt says, for the owner alone.

use maud::{Markup, html};

use super::contents::{Contents, Origin, Reader};
use crate::math::exact::decimal_at_least;
use crate::release::attacks::{AttackLine, AttackTable};
use crate::report::digits::grouped;
use crate::report::html::with_code;

pub(super) fn section(contents: &Contents<'_>) -> Markup {
    match (&contents.attacks, contents.reader, &contents.origin) {
        (Some(attacks), ..) => found(attacks),
        (None, Reader::Owner, Origin::Release { .. }) => html! {
            h2 { "Whom do attacks affect?" }
            p.soft {
                "Not known: "
                (with_code("`skyveil attack RELEASE --original TABLE --replay --receipt FILE --record` finds out and writes it down"))
                "."
            }
        },
        _ => html! {},
    }
}

fn found(table: &AttackTable) -> Markup {
    html! {
        h2 { "Whom do attacks affect?" }
        p.soft { "As recorded in the receipt. An estimate comes from a sample, and never proves that somebody is safe." }
        div.scroll.few {
            table {
                thead { tr { th { "attack" } th.words { "the adversary needs" } th { "people" } th { "share" } th { "at most" } th {} } }
                tbody { @for line in &table.attacks { (row(table, line)) } }
            }
        }
    }
}

fn row(table: &AttackTable, line: &AttackLine) -> Markup {
    html! {
        tr {
            td { (line.attack) }
            td.words { (line.needs) }
            td { @if let Some(people) = line.people { (grouped(people)) } }
            td { @if let Some(people) = line.people { (decimal_at_least(&table.share(people), 4)) } }
            td { @if let Some(people) = line.at_most { (grouped(people)) } }
            td { (line.remark()) }
        }
    }
}
