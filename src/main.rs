//! The command `skyveil`.

fn main() -> std::process::ExitCode {
    skyveil::command()
}
