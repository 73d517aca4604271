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

# Peers that can require several distinct sensitive values in a group.
DISTINCT = ["anonypy", "lighthouse"]

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


def penalty(frame, columns, groups):
    """The average width of the tightest labels: of ranges relative to the column's, of sets relative to its values."""
    total = 0
    for column in columns:
        own, grouped = frame[column], frame[column].groupby(groups)
        if own.dtype == object:
            width = grouped.nunique()
            width = width.where(width > 1, 0) / own.nunique()
        else:
            width = (grouped.max() - grouped.min()) / ((own.max() - own.min()) or 1)
        total += (width * grouped.size()).sum() / len(own)
    return round(float(total / len(columns)), 4)


def labels_penalty(labels, columns, people, original):
    """The same for labels such as `17-20` and `Black,White`, one row of `labels` for each group."""
    total = 0
    for column in columns:
        own = original[column]
        if own.dtype == object:
            width = labels[column].map(lambda label: len(set(label.split(","))))
            width = width.where(width > 1, 0) / own.nunique()
        else:
            ends = labels[column].astype(str).str.extract(r"^(-?[\d.e+]+?)(?:-(-?[\d.e+]+))?$").astype(float)
            width = (ends[1] - ends[0]).fillna(0) / ((own.max() - own.min()) or 1)
        total += (width * people).sum() / people.sum()
    return round(float(total / len(columns)), 4)


def peer(name, table, quasi, sensitive, k, distinct):
    """One peer: seconds without its imports, and what came of it. At least `distinct` values in a group, if not 0."""
    if name == "anonypy":
        import anonypy

        start = time.time()
        frame = read(table)[quasi + [sensitive]]
        for column in frame.columns:
            if frame[column].dtype == object or column == sensitive:
                frame[column] = frame[column].astype("category")
        import pandas

        preserver = anonypy.Preserver(frame, quasi, sensitive)
        rows = preserver.anonymize_l_diversity(k, distinct) if distinct else preserver.anonymize_k_anonymity(k)
        rows = pandas.DataFrame(rows)
        seconds = time.time() - start
        rows[quasi] = rows[quasi].map(",".join)
        # One row for each value of each group; two groups may have the same labels.
        groups = rows.groupby(quasi, observed=True, as_index=False)["count"].sum()
        width = labels_penalty(groups, quasi, groups["count"], read(table))
        return {"seconds": seconds, "penalty": width, **sizes(rows, quasi, "count")}
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
        log = logging.getLogger(name)
        released = k_anonymize(log, frame, quasi, k, trees, "record", parallelism=None)[0]
        if distinct:
            from project_lighthouse_anonymize.wrappers.p_sensitize import p_sensitize

            shares = frame[sensitive].value_counts(normalize=True).to_dict()
            released = p_sensitize(log, released, quasi, sensitive, distinct, k, shares, seed=1, parallelism=None)[0]
        seconds = time.time() - start
        # Numbers are published as averages: what its groups hold is measured at the original records.
        groups = released.groupby(quasi, observed=True).ngroup().set_axis(released["record"])
        original = frame.set_index("record").loc[groups.index]
        width = penalty(original, quasi, groups)
        changed = int((original[sensitive] != released.set_index("record")[sensitive]).sum())
        return {"seconds": seconds, "penalty": width, "changed": changed, **sizes(released, quasi)}
    if name == "polarfrost":
        import pandas
        import polars
        from polarfrost import mondrian_k_anonymity

        start = time.time()
        frame = polars.read_csv(table) if table.endswith(".csv") else polars.read_parquet(table)
        frame = frame.select(quasi + [sensitive])
        texts = [column for column in quasi if frame[column].dtype == polars.String]
        groups = mondrian_k_anonymity(frame, quasi, sensitive, k, texts)
        seconds = time.time() - start
        groups = pandas.DataFrame(groups.to_dict(as_series=False))
        people = groups["count"]
        squares, width = int((people**2).sum()), labels_penalty(groups, quasi, people, read(table))
        found = {"groups": len(people), "discernibility": squares, "people": int(people.sum())}
        return {"seconds": seconds, "penalty": width, **found}
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


def policy(work, name, quasi, sensitive, drop, k, distinct):
    path = os.path.join(work, name + ".toml")
    with open(path, "w") as file:
        quoted = lambda names: ", ".join(f'"{one}"' for one in names)
        file.write('accept = ["unprotected values", "ends of ranges"]\n')
        file.write(f'[columns]\nsensitive = "{sensitive}"\nquasi = [{quoted(quasi)}]\ndrop = [{quoted(drop)}]\n\n')
        file.write(f"[privacy]\nk_anonymity = {k}\n")
        file.write(f"distinct_l_diversity = {distinct}\n" if distinct else "")
    return path


def compare(skyveil, work, name, table, quasi, sensitive, drop, k, minutes, distinct=0):
    """One line for each tool: what it did, its numbers, and ratios to skyveil's."""
    release = os.path.join(work, f"{name}-release-{distinct}")
    chosen = policy(work, name, quasi, sensitive, drop, k, distinct)
    own = run([skyveil, "anonymize", table, "--policy", chosen, "--out", release, "--temp", work, "--json"], minutes)
    lines = [("anonymize", "skyveil", own)]
    if "failed" not in own:
        own["discernibility"] = int(own["discernibility"])
        own["peak"] = max(own["peak"], own["peak_memory_bytes"])
        own["penalty"] = round(own["certainty_penalty"]["published"], 4)
    me = [sys.executable, os.path.abspath(__file__), "peer"]
    for one in DISTINCT if distinct else ["anonypy", "anjana"] + list(OTHERS):
        asked = me if one not in OTHERS else [os.environ["OTHER_PYTHON"]] + me[1:]
        asked = asked + [one, table, ",".join(quasi), sensitive, str(k), str(distinct)]
        lines.append(("anonymize", one, run(asked, minutes)))
    data = os.path.join(release, "data")
    if os.path.isdir(data) and not distinct:
        check = run([skyveil, "check", release, "--json"], minutes)
        check["seconds"] = check.get("seconds", check.get("wall"))
        lines.append(("check", "skyveil", check))
        parts = os.path.join(data, "*.parquet")
        lines.append(("check", "pyCANON", run(me + ["pyCANON", data, "group", sensitive, str(k), "0"], minutes)))
        lines.append(("group by", "DuckDB", run(me + ["DuckDB", parts, "group", sensitive, str(k), "0"], minutes)))
    rows, first = [], {}
    for task, tool, found in lines:
        reference = first.setdefault("check" if task == "group by" else task, found)
        whole = "failed" not in found
        ratio = lambda key: round(found[key] / reference[key], 3) if whole and found.get(key) and reference.get(key) else ""
        rows.append(
            [name, f"{k}, {distinct} distinct" if distinct else k, task, tool]
            + ([found["failed"]] if "failed" in found else [round(found["seconds"], 3)])
            + [ratio("seconds"), round(found["peak"] / 2**20, 1) or "", ratio("peak")]
            + [found.get("groups", ""), ratio("groups"), found.get("discernibility", ""), ratio("discernibility")]
            + [found.get("penalty", "")]
        )
    return rows


HEAD = [
    "table", "k", "task", "tool", "time (s)", "time ratio", "peak memory (MiB)", "memory ratio", "groups",
    "groups ratio", "discernibility", "discernibility ratio", "certainty penalty",
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
            "k-anonymity only, the one requirement that all of them have: Adult with six quasi-identifiers and k = 10 (and with "
            "5 distinct values in every group, where a tool can require that), "
            f"Agrawal with {agrawal_rows:,} rows, eight quasi-identifiers and k = 1000.",
            f"{versions}; each in a process of its own, peak resident memory as the system keeps it, not told "
            "for processes of less than 0.1 s. Times leave out the "
            "imports of Python; skyveil's include reading, writing and checking the release, the peers' end with the table "
            "in memory. anjana generalizes whole columns (16, 8, 4, 2 and 1 parts of a numeric one) without suppression. project-lighthouse-anonymize publishes averages of "
            "numbers and leaves people out; its groups are those of the people who are left, and for distinct values it replaces "
            "sensitive values by others.",
            "The certainty penalty is the average width of the tightest labels of the groups, from 0 (exact) to 1: the range of a "
            "number relative to the column's, the share of the values in a set, 0 for one value.",
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
        name, table, quasi, sensitive, k, distinct = sys.argv[2:]
        print(json.dumps(peer(name, table, quasi.split(","), sensitive, int(k), int(distinct))))
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
        rows += compare(skyveil, work, "adult", adult, ADULT, "occupation", drop, 10, minutes, distinct=5)
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
