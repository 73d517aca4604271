"""Times skyveil and DuckDB in turn and prints the ratios of the same round; called by compare-duckdb.sh."""

import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import time

skyveil, work, rounds, own = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "yes"
sizes = [int(rows) for rows in sys.argv[5:]]
release = f"{work}/release"


def duckdb(query):
    program = f"""
import duckdb, os
connection = duckdb.connect()
connection.execute("set threads=2; set memory_limit='512MB'; set temp_directory='{work}/duckdb'")
connection.execute("set preserve_insertion_order=false")
connection.execute({query!r})
if os.path.exists('{work}/copy.parquet'):
    os.fsync(os.open('{work}/copy.parquet', os.O_RDONLY))
"""
    return [sys.executable, "-c", program]


def anonymize(table, policy, threads=2):
    return [skyveil, "anonymize", table, "--policy", policy, "--out", release, "--memory", "256MiB",
            "--threads", str(threads), "--temp", work, "--json"]


def run(command):
    """Elapsed and CPU seconds, and what was printed."""
    start, before = time.time(), os.times()
    done = subprocess.run(command, stdout=subprocess.PIPE)
    after = os.times()
    if done.returncode not in (0, 1):
        sys.exit(f"{command} ended with {done.returncode}")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return time.time() - start, cpu, done.stdout


def forget():
    shutil.rmtree(release, ignore_errors=True)
    for name in ["release.receipt.json", "release.tree", "release.key", "copy.parquet"]:
        if os.path.exists(f"{work}/{name}"):
            os.remove(f"{work}/{name}")
    os.sync()


def describe(out):
    said = json.loads(out)
    phases = ", ".join(f"{name} {spent:.1f}" for name, spent in said.get("phases", {}).items())
    return f"{said['peak_memory_bytes'] >> 20} MiB, {said['groups']} groups; {phases}"


def compare(title, jobs, ratios, keep=()):
    """Runs all jobs in turn, `rounds` times; returns the seconds of each. A job in `keep` needs the release before it."""
    took = {name: [] for name in jobs}
    for round in range(rounds):
        for name, command in jobs.items():
            if name not in keep:
                forget()
            elapsed, cpu, out = run(command)
            took[name].append((elapsed, cpu))
            said = f"; {describe(out)}" if command[:2] == [skyveil, "anonymize"] else ""
            print(f"{title}, round {round + 1}: {name} {elapsed:.2f} s elapsed, {cpu:.2f} s CPU{said}", flush=True)
    for above, below in ratios:
        print_ratio(f"{title}: {above} / {below}", took[above], took[below])
    return took


def print_ratio(title, above, below):
    for which, what in enumerate(("elapsed", "CPU")):
        median = statistics.median(one[which] / other[which] for one, other in zip(above, below))
        print(f"{title}, {what}: {median:.2f} (median of {rounds} rounds)", flush=True)


def generate(kind, rows):
    table = f"{work}/{kind}-{rows}.parquet"
    if not os.path.exists(table):
        run([skyveil, "generate", kind, "--rows", str(rows), "--out", table])
    return table


policy = "datasets/agrawal.toml"
columns = "salary, commission, age, elevel, car, hvalue, hyears, loan"
by_size = {}
for rows in sizes:
    table = generate("agrawal", rows)
    jobs = {
        "skyveil": anonymize(table, policy),
        "copy": duckdb(f"COPY (SELECT * FROM '{table}') TO '{work}/copy.parquet'"),
        "sorted copy": duckdb(f"COPY (SELECT * FROM '{table}' ORDER BY {columns}) TO '{work}/copy.parquet'"),
    }
    ratios = [("skyveil", "copy"), ("skyveil", "sorted copy")]
    if own and rows == min(sizes):
        jobs["one thread"] = anonymize(table, policy, threads=1)
        ratios.append(("one thread", "skyveil"))
    by_size[rows] = compare(f"{rows} rows", jobs, ratios)["skyveil"]
    if rows != min(sizes):
        print_ratio(f"skyveil, {rows} / {min(sizes)} rows", by_size[rows], by_size[min(sizes)])
        os.remove(table)

if own:
    table = generate("agrawal", min(sizes))
    text = re.sub(r"\[\[privacy.skyline\]\].*", "", open(policy).read(), flags=re.S)
    implications = f"{work}/implications.toml"
    with open(implications, "w") as file:
        file.write(text + '[privacy]\nmodel = "implications"\nimplications = 3\nconfidence = 0.75\n')
    compare(f"{min(sizes)} rows", {"implications": anonymize(table, implications), "skyline": anonymize(table, policy),
            "check": [skyveil, "check", release, "--threads", "2"],
            "report": [skyveil, "report", release, "--out", f"{work}/report.html", "--threads", "2"]},
            [("implications", "skyline"), ("report", "check")], keep=("check", "report"))
    many, values = f"{work}/many.csv", random.Random(1)
    with open(many, "w") as file:
        file.write("age,zip,sex,disease\n")
        for _ in range(280_000):
            row = (values.randrange(90), values.randrange(1000), values.randrange(2), values.randrange(40_000))
            file.write("%d,%d,%d,d%d\n" % row)
    many_policy = f"{work}/many.toml"
    with open(many_policy, "w") as file:
        file.write('[columns]\nsensitive = "disease"\n[columns.quasi]\nage = { domain = [0, 90] }\n'
                   'zip = { domain = [0, 1000] }\nsex = { domain = [0, 1] }\n'
                   "[[privacy.skyline]]\nl = 2\nk = 3\nm = 2\nconfidence = 0.5\n")
    compare("40,000 sensitive values, 280,000 rows", {"skyveil": anonymize(many, many_policy)}, [])
