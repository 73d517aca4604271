//! What does the user want, and how is the answer shown?
//!
//! One file for each subcommand: its flags become a validated job of the library once, and its result
//! becomes text or JSON. Results go to standard output, warnings and progress to standard error. Exit codes
//! are decided here alone: 0 done or safe, 1 the answer is no, and those of [`failure`].

mod anonymize;
mod append;
mod attack;
mod attack_several;
mod audit;
mod check;
mod disclosure;
mod dry_run;
mod erase;
mod explain;
mod explore;
mod failure;
mod flags;
mod generate;
mod init;
mod metrics;
mod receipt;
mod replay;
mod report;
mod reproduce;
mod shell;
mod show;
mod signals;
mod skyline;
mod subject;
mod suite;
mod suppression;
mod terminal;
mod verdict;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::error::Result;
use crate::resources::budget::keep_little_freed;

/// Publishes tables larger than memory that stay safe against an adversary whose knowledge you specify.
#[derive(Debug, Parser)]
#[command(name = "skyveil", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Print no progress and no warnings.
    #[arg(long, short, global = true)]
    quiet: bool,
    /// The form of warnings on standard error: text, or json with one object for each phase and warning.
    #[arg(long, global = true, value_enum, value_name = "FORM", default_value_t = terminal::LogForm::Text)]
    log: terminal::LogForm,
}

#[derive(Debug, Subcommand)]
enum Command {
    Anonymize(anonymize::AnonymizeArgs),
    Attack(attack::AttackArgs),
    Audit(audit::AuditArgs),
    Check(check::CheckArgs),
    Completions(shell::CompletionsArgs),
    Disclosure(disclosure::DisclosureArgs),
    Erase(erase::EraseArgs),
    Explain(explain::ExplainArgs),
    Explore(explore::ExploreArgs),
    Generate(generate::GenerateArgs),
    Init(init::InitArgs),
    Man(shell::ManArgs),
    Report(report::ReportArgs),
    Reproduce(reproduce::ReproduceArgs),
    Show(show::ShowArgs),
    Skyline(skyline::SkylineArgs),
}

impl Command {
    /// The budget for groups that wait to be written; other commands hold few small things.
    fn memory(&self) -> u64 {
        match self {
            Command::Anonymize(args) => args.resources.memory,
            _ => u64::MAX,
        }
    }
}

/// The answer of a command that succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Done, or safe.
    Yes,
    /// Unsafe, or impossible.
    No,
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    silence_contained_panics();
    // A call that cannot be read is an error too, and told in the same form.
    let form = match std::env::args_os().any(|argument| argument == "--json") {
        true => failure::Form::Json,
        false => failure::Form::Text,
    };
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return failure::of_call(&error, form),
    };
    keep_little_freed(arguments.command.memory());
    if arguments.quiet {
        terminal::be_quiet();
    }
    terminal::log_as(arguments.log);
    keep_memory_private();
    signals::handle();
    match run(&arguments.command) {
        Ok(Answer::Yes) => ExitCode::SUCCESS,
        Ok(Answer::No) => ExitCode::from(1),
        Err(error) => failure::of_run(&error, form),
    }
}

fn run(command: &Command) -> Result<Answer> {
    match command {
        Command::Anonymize(args) => anonymize::run(args),
        Command::Attack(args) => attack::run(args),
        Command::Audit(args) => audit::run(args),
        Command::Check(args) => check::run(args),
        Command::Completions(args) => shell::completions(args),
        Command::Disclosure(args) => disclosure::run(args),
        Command::Erase(args) => erase::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Explore(args) => explore::run(args),
        Command::Generate(args) => generate::run(args),
        Command::Init(args) => init::run(args),
        Command::Man(args) => shell::man(args),
        Command::Report(args) => report::run(args),
        Command::Reproduce(args) => reproduce::run(args),
        Command::Show(args) => show::run(args),
        Command::Skyline(args) => skyline::run(args),
    }
}

/// No core file and no other process of the user shows what this one holds of people. The library leaves this to its
/// caller.
fn keep_memory_private() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

/// A decoder panic on a damaged file is reported only as an error of that file.
fn silence_contained_panics() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !crate::table::read::panic_is_contained() {
            print(info);
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_command_shows_examples_that_can_be_called() {
        Arguments::command().debug_assert();
        for command in Arguments::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples: Vec<&str> = help.lines().filter_map(|line| line.strip_prefix("  ")).collect();
            assert!(!examples.is_empty(), "{} has no examples", command.get_name());
            for example in examples {
                let words = example.split(['|', '>']).next().unwrap_or_default().replace('\'', "");
                let parsed = Arguments::try_parse_from(words.split_whitespace());
                assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
            }
        }
    }
}
