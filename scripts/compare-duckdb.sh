#!/usr/bin/env bash
# How fast is skyveil, compared with what nobody can be faster than? Anonymizes Agrawal tables and lets DuckDB copy and sort
# the same files with the same threads, everything synced to disk; then compares skyveil's jobs with each other and with
# decoding. Prints elapsed and CPU seconds of every round, and medians of the ratios of the same round.
# usage: scripts/compare-duckdb.sh [ROWS...]     (default: 10000000 100000000; needs python3 with venv, and disk space)
#   ROUNDS=3          rounds
#   SKYVEIL=FILE      the command; built from this folder if it is not given
#   OWN=yes           also one thread, implications, many sensitive values, report and check (yes or no)
#   CHECK_ROWS=50000000   rows of the table that is checked and decoded; 0 leaves it out
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${SKYVEIL:-}" ]; then
  cargo build --release --quiet
  SKYVEIL=$PWD/target/release/skyveil
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet duckdb
[ $# -gt 0 ] || set -- 10000000 100000000
"$work/venv/bin/python" scripts/duckdb_ratios.py "$SKYVEIL" "$work" "${ROUNDS:-3}" "${OWN:-yes}" "$@"
[ "${CHECK_ROWS:-50000000}" = 0 ] || cargo bench --quiet --bench check_scan -- "${CHECK_ROWS:-50000000}"
