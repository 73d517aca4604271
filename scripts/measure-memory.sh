#!/usr/bin/env bash
# Peak memory of the command on the tables of tests/suite/memory.rs at full size: measured / bound, one line per command.
# Needs 10 GB of disk and some ten minutes. An argument chooses the cases whose names contain it.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --locked
target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
SKYVEIL_BIN="$target/release/skyveil" SKYVEIL_CASE="${1:-}" \
    cargo test --locked --test suite -- memory::large --ignored --nocapture | grep ' | '
