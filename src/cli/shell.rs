//! `skyveil completions` and `skyveil man`: the command line as shells and manuals describe it.

use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use super::terminal::print_file;
use super::{Answer, Arguments};
use crate::error::{Error, Result};

/// Print the completions of a shell.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  skyveil completions bash > ~/.local/share/bash-completion/completions/skyveil
  skyveil completions fish > ~/.config/fish/completions/skyveil.fish")]
pub struct CompletionsArgs {
    /// The shell.
    pub shell: Shell,
}

/// Print the manual page, or write the pages of all commands.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  skyveil man | man -l -
  skyveil man --out ~/.local/share/man/man1")]
pub struct ManArgs {
    /// Write skyveil.1 and a page for each command to this directory.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Prints the completions.
pub fn completions(args: &CompletionsArgs) -> Result<Answer> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Arguments::command(), "skyveil", &mut script);
    print_file(&String::from_utf8_lossy(&script))?;
    Ok(Answer::Yes)
}

/// Prints or writes the manual.
pub fn man(args: &ManArgs) -> Result<Answer> {
    let command = Arguments::command();
    match &args.out {
        Some(folder) => {
            let written =
                std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(command, folder));
            written.map_err(|source| Error::io(folder, source))?;
        }
        None => {
            let mut page = Vec::new();
            Man::new(command).render(&mut page).map_err(|source| Error::io("the manual page", source))?;
            print_file(&String::from_utf8_lossy(&page))?;
        }
    }
    Ok(Answer::Yes)
}
