#!/usr/bin/env bash
# Anonymizes Agrawal tables and lets DuckDB copy and sort the same files with the same threads; prints ratios of one run.
# usage: scripts/compare-duckdb.sh [ROWS...]     (default: 10000000 100000000; needs python3 with venv, and disk space)
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --quiet
skyveil=$PWD/target/release/skyveil
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet duckdb
for rows in "${@:-10000000 100000000}"; do
  for n in $rows; do
    "$skyveil" generate agrawal --rows "$n" --out "$work/table.parquet" >&2
    rm -rf "$work/release"
    "$skyveil" anonymize "$work/table.parquet" --policy datasets/agrawal.toml --out "$work/release" \
      --memory 256MiB --threads 2 --temp "$work" --json > "$work/summary.json"
    "$work/venv/bin/python" - "$work" "$n" <<'P'
import json, sys, time
import duckdb

work, rows = sys.argv[1], int(sys.argv[2])
columns = "salary, commission, age, elevel, car, hvalue, hyears, loan"

def seconds(query):
    connection = duckdb.connect()
    connection.execute(f"set threads=2; set memory_limit='512MB'; set temp_directory='{work}/duckdb'")
    connection.execute("set preserve_insertion_order=false")
    start = time.time()
    connection.execute(query)
    return time.time() - start

copy = seconds(f"COPY (SELECT * FROM '{work}/table.parquet') TO '{work}/copy.parquet'")
sort = seconds(f"COPY (SELECT * FROM '{work}/table.parquet' ORDER BY {columns}) TO '{work}/copy.parquet'")
own = json.load(open(f"{work}/summary.json"))
print(f"{rows} rows: skyveil {own['seconds']:.1f} s, {own['peak_memory_bytes'] >> 20} MiB, {own['groups']} groups; "
      f"DuckDB copy {copy:.1f} s, sorted copy {sort:.1f} s; ratios {own['seconds'] / copy:.2f}, {own['seconds'] / sort:.2f}")
P
  done
done
