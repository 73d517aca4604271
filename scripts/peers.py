"""Runs skyveil and its peers on the same tables, each in a process of its own, and prints ratios.

Called by compare-peers.sh. `peers.py peer NAME ...` runs one peer in this process and prints one JSON object.
"""

import csv
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
import time

# Peers whose requirements contradict those of the others, with their packages; they run in an environment of their own.
OTHERS = {"lighthouse": "project-lighthouse-anonymize", "polarfrost": "polarfrost"}

ADULT = ["age", "workclass", "education", "marital-status", "race", "sex"]
AGRAWAL = ["salary", "commission", "age", "elevel", "car", "hvalue", "hyears", "loan"]


def read(table):
    import pandas

    return pandas.read_csv(table) if table.endswith(".csv") else pandas.read_parquet(table)


def sizes(frame, columns, count=None):
    """Groups and discernibility of a released table."""
    frame = frame[columns + ([count] if count else [])].astype({column: str for column in columns})
    grouped = frame.groupby(columns, observed=True)
    people = grouped[count].sum() if count else grouped.size()
    return {"groups": int(len(people)), "discernibility": int((people**2).sum()), "people": int(people.sum())}


def peer(name, table, quasi, sensitive, k):
    """One peer: seconds without its imports, and what came of it."""
    if name == "anonypy":
        import anonypy

        start = time.time()
        frame = read(table)[quasi + [sensitive]]
        for column in frame.columns:
            if frame[column].dtype == object or column == sensitive:
                frame[column] = frame[column].astype("category")
        import pandas

        rows = pandas.DataFrame(anonypy.Preserver(frame, quasi, sensitive).anonymize_k_anonymity(k))
        seconds = time.time() - start
        rows[quasi] = rows[quasi].map(str)
        return {"seconds": seconds, **sizes(rows, quasi, "count")}
    if name == "anjana":
        from anjana.anonymity import k_anonymity

        start = time.time()
        frame = read(table)[quasi + [sensitive]]
        hierarchies = {}
        for column in quasi:
            values = frame[column].values
            levels = [values]
            if frame[column].dtype != object and frame[column].nunique() > 20:
                low, width = frame[column].min(), (frame[column].max() - frame[column].min()) / 16 or 1
                for parts in (1, 2, 4, 8):
                    bins = ((frame[column] - low) / (width * parts)).astype(int)
                    levels.append(bins.map(lambda i, w=width * parts: f"[{low + i * w:g},{low + (i + 1) * w:g})").values)
            levels.append(["*"] * len(frame))
            hierarchies[column] = {level: list(texts) for level, texts in enumerate(levels)}
        released = k_anonymity(frame, [], quasi, k, 0, hierarchies)
        return {"seconds": time.time() - start, **sizes(released, quasi)}
    if name == "lighthouse":
        import logging

        from project_lighthouse_anonymize.gtrees import make_flat_default_gtree
        from project_lighthouse_anonymize.wrappers.k_anonymize import k_anonymize

        start = time.time()
        frame = read(table)[quasi + [sensitive]]
        trees = {}
        for column in quasi:
            if frame[column].dtype == object:
                trees[column] = make_flat_default_gtree(set(frame[column].unique()))
            else:
                frame[column] = frame[column].astype(float)
        frame["record"] = range(len(frame))
        released = k_anonymize(logging.getLogger(name), frame, quasi, k, trees, "record", parallelism=None)[0]
        return {"seconds": time.time() - start, **sizes(released, quasi)}
    if name == "polarfrost":
        import polars
        from polarfrost import mondrian_k_anonymity

        start = time.time()
        frame = polars.read_csv(table) if table.endswith(".csv") else polars.read_parquet(table)
        frame = frame.select(quasi + [sensitive])
        texts = [column for column in quasi if frame[column].dtype == polars.String]
        people = mondrian_k_anonymity(frame, quasi, sensitive, k, texts)["count"].to_list()
        seconds = time.time() - start
        squares = sum(size * size for size in people)
        return {"seconds": seconds, "groups": len(people), "discernibility": squares, "people": sum(people)}
    if name == "pyCANON":
        from pycanon import anonymity

        start = time.time()
        frame = read(table)
        found = anonymity.k_anonymity(frame, quasi)
        return {"seconds": time.time() - start, "smallest": int(found)}
    if name == "DuckDB":
        import duckdb

        connection = duckdb.connect()
        connection.execute("set threads=2")
        start = time.time()
        query = f'SELECT "group", "{sensitive}", count(*) FROM \'{table}\' GROUP BY ALL'
        found = connection.execute(f"SELECT count(*), sum(n) FROM ({query.replace('count(*)', 'count(*) AS n')})").fetchone()
        return {"seconds": time.time() - start, "counts": int(found[0])}
    raise SystemExit(f"no such peer: {name}")


# Seconds; the peak of a shorter process is not told.
SHORTEST = 0.1


def peak_bytes(process):
    """The largest resident memory of a process so far; 0 if it is gone."""
    try:
        with open(f"/proc/{process}/status") as file:
            return next((int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM")), 0)
    except OSError:
        return 0


def run(command, minutes):
    """The JSON object that a process prints, its wall time and its peak memory; or why there is none."""
    started = time.time()
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as errors:
        child, peak = subprocess.Popen(command, stdout=said, stderr=errors), 0
        while child.poll() is None:
            peak = max(peak, peak_bytes(child.pid))
            if time.time() - started > minutes * 60:
                child.kill()
                child.wait()
                return {"failed": f"not finished after {minutes:g} minutes", "peak": peak}
            time.sleep(0.003)
        said.seek(0)
        errors.seek(0)
        said, errors = said.read(), errors.read()
    if child.returncode != 0:
        last = (errors.strip().splitlines() or ["no message"])[-1]
        return {"failed": f"failed: {last[:120]}", "peak": peak}
    found = json.loads(said.strip().splitlines()[-1])
    wall = time.time() - started
    # A process that is gone so soon was not seen at its peak.
    return {"peak": peak if wall >= SHORTEST else 0, "wall": wall, **found}


def policy(work, name, quasi, sensitive, drop, k):
    path = os.path.join(work, name + ".toml")
    with open(path, "w") as file:
        quoted = lambda names: ", ".join(f'"{one}"' for one in names)
        file.write('accept = ["unprotected values", "ends of ranges"]\n')
        file.write(f'[columns]\nsensitive = "{sensitive}"\nquasi = [{quoted(quasi)}]\ndrop = [{quoted(drop)}]\n\n')
        file.write(f"[privacy]\nk_anonymity = {k}\n")
    return path


def compare(skyveil, work, name, table, quasi, sensitive, drop, k, minutes):
    """One line for each tool: what it did, its numbers, and ratios to skyveil's."""
    release = os.path.join(work, name + "-release")
    chosen = policy(work, name, quasi, sensitive, drop, k)
    own = run([skyveil, "anonymize", table, "--policy", chosen, "--out", release, "--temp", work, "--json"], minutes)
    lines = [("anonymize", "skyveil", own)]
    if "failed" not in own:
        own["discernibility"] = int(own["discernibility"])
        own["peak"] = max(own["peak"], own["peak_memory_bytes"])
    me = [sys.executable, os.path.abspath(__file__), "peer"]
    for one in ["anonypy", "anjana"] + list(OTHERS):
        asked = me if one not in OTHERS else [os.environ["OTHER_PYTHON"]] + me[1:]
        lines.append(("anonymize", one, run(asked + [one, table, ",".join(quasi), sensitive, str(k)], minutes)))
    data = os.path.join(release, "data")
    if os.path.isdir(data):
        check = run([skyveil, "check", release, "--json"], minutes)
        check["seconds"] = check.get("seconds", check.get("wall"))
        lines.append(("check", "skyveil", check))
        parts = os.path.join(data, "*.parquet")
        lines.append(("check", "pyCANON", run(me + ["pyCANON", data, "group", sensitive, str(k)], minutes)))
        lines.append(("group by", "DuckDB", run(me + ["DuckDB", parts, "group", sensitive, str(k)], minutes)))
    rows, first = [], {}
    for task, tool, found in lines:
        reference = first.setdefault("check" if task == "group by" else task, found)
        whole = "failed" not in found
        ratio = lambda key: round(found[key] / reference[key], 3) if whole and found.get(key) and reference.get(key) else ""
        rows.append(
            [name, k, task, tool]
            + ([found["failed"]] if "failed" in found else [round(found["seconds"], 3)])
            + [ratio("seconds"), round(found["peak"] / 2**20, 1) or "", ratio("peak")]
            + [found.get("groups", ""), ratio("groups"), found.get("discernibility", ""), ratio("discernibility")]
        )
    return rows


HEAD = [
    "table", "k", "task", "tool", "time (s)", "time ratio", "peak memory (MiB)", "memory ratio", "groups",
    "groups ratio", "discernibility", "discernibility ratio",
]  # fmt: skip


def machine(skyveil):
    field = lambda file, name: next((l.split(":")[1].strip() for l in open(file) if l.startswith(name)), None)
    version = subprocess.run([skyveil, "--version"], capture_output=True, text=True).stdout.split()[-1]
    return {
        "processor": field("/proc/cpuinfo", "model name"),
        "cores": os.cpu_count(),
        "memory_bytes": int(field("/proc/meminfo", "MemTotal").split()[0]) << 10,
        "system": f"{platform.system().lower()} {platform.machine()}",
        "skyveil": version,
        "build": "release",
    }


def write(out, skyveil, rows, agrawal_rows, minutes, seconds):
    folder = os.path.join(out, "peers")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "numbers.csv"), "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["table", "row", "column", "value"])
        for number, row in enumerate(rows, 1):
            for column, value in zip(HEAD, row):
                writer.writerow(["peers", number, column, value])
    names = ["anonypy", "anjana", "pycanon", "duckdb", "pandas"]
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
    tell = "import importlib.metadata, sys; print(', '.join(f'{n} {importlib.metadata.version(n)}' for n in sys.argv[1:]))"
    asked = [os.environ["OTHER_PYTHON"], "-c", tell, *OTHERS.values()]
    versions += ", " + subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    result = {
        "experiment": "peers",
        "question": "How do tools compare that users would take instead?",
        "paper": "No paper",
        "place": "the same tables and the same k for all",
        "shows": [],
        "command": f"scripts/compare-peers.sh OUT {minutes:g} {agrawal_rows}",
        "scale": "full" if agrawal_rows == 1000000 else "quick",
        "seconds": seconds,
        "machine": machine(skyveil),
        "run": [
            "k-anonymity only, the one requirement that all of them have: Adult with six quasi-identifiers and k = 10, "
            f"Agrawal with {agrawal_rows:,} rows, eight quasi-identifiers and k = 1000.",
            f"{versions}; each in a process of its own, peak resident memory as the system keeps it, not told "
            "for processes of less than 0.1 s. Times leave out the "
            "imports of Python; skyveil's include reading, writing and checking the release, the peers' end with the table "
            "in memory. anjana generalizes whole columns (16, 8, 4, 2 and 1 parts of a numeric one) without suppression. project-lighthouse-anonymize publishes averages of "
            "numbers and leaves people out; its groups are those of the people who are left.",
            "The check of skyveil is of the whole policy, with exact verdicts; pyCANON computes the least group size, DuckDB counts "
            "values by group. Ratios are to skyveil's line above them.",
            f"A tool that fails or does not finish within {minutes:g} minutes is named as such.",
        ],
        "compared": [],
        "tables": [{"name": "peers", "title": "Tools on the same tables", "columns": HEAD, "rows": rows}],
    }
    with open(os.path.join(folder, "result.json"), "w") as file:
        json.dump(result, file, indent=1)


def main():
    if sys.argv[1] == "peer":
        name, table, quasi, sensitive, k = sys.argv[2:]
        print(json.dumps(peer(name, table, quasi.split(","), sensitive, int(k))))
        return
    skyveil, work, out, minutes, agrawal_rows = sys.argv[1:]
    minutes, agrawal_rows, started = float(minutes), int(agrawal_rows), time.time()
    rows = []
    adult = "datasets/fetched/adult.csv"
    if os.path.exists(adult):
        with open(adult) as file:
            header = file.readline().strip().split(",")
        drop = [column for column in header if column not in ADULT + ["occupation"]]
        rows += compare(skyveil, work, "adult", adult, ADULT, "occupation", drop, 10, minutes)
    else:
        print("without Adult: run scripts/fetch.sh adult first", file=sys.stderr)
    table = os.path.join(work, "agrawal.parquet")
    made = ["generate", "agrawal", "--rows", str(agrawal_rows), "--out", table]
    subprocess.run([skyveil] + made, check=True, stdout=subprocess.DEVNULL)
    drop = ["record", "class"]
    rows += compare(skyveil, work, "agrawal", table, AGRAWAL, "zipcode", drop, 1000, minutes)
    print("\t".join(HEAD))
    for row in rows:
        print("\t".join(str(cell) for cell in row))
    if out:
        write(out, skyveil, rows, agrawal_rows, minutes, time.time() - started)


if __name__ == "__main__":
    main()
