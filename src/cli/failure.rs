//! How is an error told, and what is its exit code?
//!
//! 2 is a mistake that a retry will not mend; [`RETRY`] is what a retry may mend. Both are for schedulers.

use super::flags;
use super::terminal::{complain, print, visible};
use crate::error::{Error, Mistake};
use serde_json::{Value, json};
use std::process::ExitCode;

/// The call, the policy or the table must be changed first.
const MISTAKE: u8 = 2;

/// A resource ran out, another run is at work, or the input was changing: EX_TEMPFAIL of sysexits.h.
const RETRY: u8 = 75;

/// The form in which the caller wants to read an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Lines on standard error.
    Text,
    /// Also an object on standard output.
    Json,
}

/// Tells why a call cannot be read; help and version are answers.
pub fn of_call(error: &clap::Error, form: Form) -> ExitCode {
    let text = error.render().to_string();
    if visible(&text.replace('\n', "")) == text.replace('\n', "") {
        // Coloured in a terminal. If it cannot be written, nobody is there to be told.
        let _ = error.print();
    } else {
        complain("error", text.trim_start_matches("error: "));
    }
    if !error.use_stderr() {
        return ExitCode::SUCCESS;
    }
    if form == Form::Json {
        let problem = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
        tell(
            json!({ "code": MISTAKE, "message": problem, "remedy": "see --help", "column": null, "file": null }),
        );
    }
    ExitCode::from(MISTAKE)
}

/// Tells why a command failed.
pub fn of_run(error: &Error, form: Form) -> ExitCode {
    let code = if error.may_pass() { RETRY } else { MISTAKE };
    let hint = error.setting().map(flags::hint).unwrap_or_default();
    complain("error", &format!("{error}{hint}"));
    if form == Form::Json {
        tell(described(error, code, hint));
    }
    ExitCode::from(code)
}

fn tell(error: Value) {
    // If standard output is the problem, standard error has named it.
    let _ = print(&format!("{}\n", json!({ "error": error })));
}

fn described(error: &Error, code: u8, hint: &str) -> Value {
    let (problem, remedy) = error.problem_and_remedy();
    let mut described = json!({
        "code": code,
        "message": problem,
        "remedy": remedy.map(|remedy| format!("{remedy}{hint}")),
        "column": error.column(),
        "file": error.file(),
    });
    if let Error::Policy { mistakes, .. } = error {
        described["mistakes"] = mistakes.iter().map(mistake).collect();
    }
    described
}

fn mistake(mistake: &Mistake) -> Value {
    let Mistake { line, key, problem, remedy } = mistake;
    json!({ "line": line, "key": key, "message": problem, "remedy": remedy })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_described_by_its_parts() {
        let error = Error::input("column `age` is odd", "mend it").of_column("age").of_file("t.csv");
        let told = described(&error, MISTAKE, " (--count)");
        let expected = json!({
            "code": 2, "message": "column `age` is odd", "remedy": "mend it (--count)", "column": "age", "file": "t.csv",
        });
        assert_eq!(told, expected);
    }

    #[test]
    fn every_mistake_of_a_policy_is_described() {
        let one =
            Mistake { line: Some(3), key: "privacy".into(), problem: "odd".into(), remedy: "mend it".into() };
        let error = Error::Policy { file: "p.toml".into(), mistakes: vec![one] };
        let told = described(&error, MISTAKE, "");
        assert_eq!(told["file"], "p.toml");
        assert_eq!(
            told["mistakes"][0],
            json!({"line": 3, "key": "privacy", "message": "odd", "remedy": "mend it"})
        );
    }
}
