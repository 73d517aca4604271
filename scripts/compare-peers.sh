#!/usr/bin/env bash
# The same k-anonymity by skyveil and by tools that users would take instead (anonypy, anjana, polarfrost and
# project-lighthouse-anonymize), and checks and scans of the
# same release (pyCANON, DuckDB): prints time, peak memory, groups, discernibility and their ratios to skyveil's.
# usage: scripts/compare-peers.sh [OUT [MINUTES [ROWS]]]
#   OUT      writes OUT/peers/{numbers.csv,result.json} too, which `skyveil reproduce page --out OUT` takes up
#   MINUTES  after which a peer is given up (10)
#   ROWS     of the Agrawal table (1000000)
# Needs python3 with venv; scripts/fetch.sh adult first for Adult.
set -euo pipefail
out=$(realpath -m "${1:-/nonexistent}")
cd "$(dirname "$0")/.."
cargo build --release --quiet
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet anonypy==0.2.1 anjana==1.2.3 pycanon==1.3.5 duckdb pandas pyarrow
python3 -m venv "$work/others"
"$work/others/bin/pip" install --quiet project-lighthouse-anonymize==1.0.0 polarfrost==0.2.1 pyspark fastparquet
export OTHER_PYTHON="$work/others/bin/python"
[ "${1:-}" ] || out=
"$work/venv/bin/python" scripts/peers.py "$PWD/target/release/skyveil" "$work" "$out" "${2:-10}" "${3:-1000000}"
