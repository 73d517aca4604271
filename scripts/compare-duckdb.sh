#!/usr/bin/env bash
# Anonymizes Agrawal tables and lets DuckDB copy and sort the same files with the same threads, all of it synced to disk.
# Prints elapsed and CPU seconds of each round, and the medians of the ratios of the same round.
# usage: scripts/compare-duckdb.sh [ROWS...]     (default: 10000000 100000000; needs python3 with venv, and disk space)
# ROUNDS=3 SKYVEIL=target/release/skyveil (built if it is not given)
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
for rows in "${@:-10000000 100000000}"; do
  for n in $rows; do
    "$SKYVEIL" generate agrawal --rows "$n" --out "$work/table.parquet" >&2
    "$work/venv/bin/python" - "$SKYVEIL" "$work" "$n" "${ROUNDS:-3}" <<'P'
import json, os, shutil, statistics, subprocess, sys, time

skyveil, work, rows, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
columns = "salary, commission, age, elevel, car, hvalue, hyears, loan"
table = f"'{work}/table.parquet'"

def duckdb(query):
    program = f"""
import duckdb, os
connection = duckdb.connect()
connection.execute("set threads=2; set memory_limit='512MB'; set temp_directory='{work}/duckdb'")
connection.execute("set preserve_insertion_order=false")
connection.execute({query!r})
file = os.open('{work}/copy.parquet', os.O_RDONLY)
os.fsync(file)
"""
    return [sys.executable, "-c", program]

jobs = {
    "skyveil": [skyveil, "anonymize", f"{work}/table.parquet", "--policy", "datasets/agrawal.toml", "--out",
                f"{work}/release", "--memory", "256MiB", "--threads", "2", "--temp", work, "--json"],
    "copy": duckdb(f"COPY (SELECT * FROM {table}) TO '{work}/copy.parquet'"),
    "sorted copy": duckdb(f"COPY (SELECT * FROM {table} ORDER BY {columns}) TO '{work}/copy.parquet'"),
}

def seconds(command):
    start, before = time.time(), os.times()
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return time.time() - start, cpu, done.stdout

ratios = {}
for round in range(rounds):
    took = {}
    for name, command in jobs.items():
        shutil.rmtree(f"{work}/release", ignore_errors=True)
        os.sync()
        elapsed, cpu, out = seconds(command)
        took[name] = (elapsed, cpu)
        if name == "skyveil":
            own = json.loads(out)
    line = ", ".join(f"{name} {elapsed:.1f} s elapsed {cpu:.1f} s CPU" for name, (elapsed, cpu) in took.items())
    phases = ", ".join(f"{name} {spent:.1f}" for name, spent in own.get("phases", {}).items())
    print(f"{rows} rows, round {round + 1}: {line}; {own['peak_memory_bytes'] >> 20} MiB, {own['groups']} groups; {phases}")
    for name in ("copy", "sorted copy"):
        for which, what in enumerate(("elapsed", "CPU")):
            ratios.setdefault((name, what), []).append(took["skyveil"][which] / took[name][which])
for (name, what), all_rounds in ratios.items():
    print(f"{rows} rows: skyveil / {name}, {what}: {statistics.median(all_rounds):.2f} (median of {rounds} rounds)")
P
  done
done
