#!/usr/bin/env python3
"""Spark and one machine make the same release: two workers on loopback, millions of rows in another order, tiny tiers,
speculative tasks, executors and a driver that are killed, and a storage that speaks S3.

    python/test                                               # once: installs the package into target/python
    target/python/bin/python scripts/spark.py [ROWS [PART...]]   # 10,000,000 rows and all parts by default

The parts: `files` compares every policy for so many rows in seven files; `partitions` does so for a fifth of them in 1 and 7
partitions of a frame; `tiers` for 20,000 rows, with nodes and parts so small that nodes are grown again; `kills` lets an
executor die in each stage, and a driver; `memory` measures drivers of a tenth, half, all and twice of the rows, each in a
process of its own; `s3` runs the tests of that name. Prints a line for each comparison, with the seconds of both and the
nodes that were grown again, and ends with an error if bytes differ, too many nodes were grown again, nobody was killed, or
the memory of the driver is not flat.
"""

from __future__ import annotations

import filecmp
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable

ROOT = Path(__file__).resolve().parents[1]
SKYVEIL = os.environ.get("SKYVEIL", str(ROOT / "target" / "release" / "skyveil"))
MEMORY = "256MiB"

# Nodes of at most 146 rows of the census, parts of at most 16,384, and files of 9,000 people.
TINY = (1 << 10, (1 << 14, 1 << 31), 9_000)
TINY_ROWS = 20_000
# As if there were so many cores, so that more nodes are grown ahead of their turn.
TINY_TASKS = 32

# What the driver may take more for many rows than for few: two waves of nodes and what the allocator keeps.
FLAT = 32

sys.path.insert(0, str(ROOT / "python" / "tests"))
import pytest  # noqa: E402

import cluster  # noqa: E402
from conftest import DATASETS, KEEPING  # noqa: E402

AGRAWAL, CENSUS, TWO = (DATASETS / f"{name}.toml" for name in ("agrawal", "census", "census-two"))

SHUFFLED = """
import sys, numpy, pyarrow, pyarrow.parquet
whole, parts, files = sys.argv[1], sys.argv[2], int(sys.argv[3])
source, order = pyarrow.parquet.ParquetFile(whole), numpy.random.default_rng(7)
writers = [pyarrow.parquet.ParquetWriter(f"{parts}/{part}.parquet", source.schema_arrow) for part in range(files)]
for batch in source.iter_batches(batch_size=1 << 20):
    rows = pyarrow.Table.from_batches([batch]).take(order.permutation(batch.num_rows))
    cuts = [0, *sorted(order.integers(0, batch.num_rows + 1, files - 1)), batch.num_rows]
    for writer, begin, end in zip(writers, cuts, cuts[1:]):
        writer.write_table(rows.slice(begin, end - begin))
for writer in writers:
    writer.close()
"""


def generated(what: str, rows: int, files: int, folder: Path) -> Path:
    """A table in several files, the same rows for any number of them, in another order if there are several."""
    whole = folder / f"{what}-{rows}.parquet"
    if not whole.exists():
        subprocess.run([SKYVEIL, "generate", what, "--rows", str(rows), "--out", whole], check=True)
    parts = folder / f"{what}-{rows}-in-{files}"
    if files > 1 and not parts.exists():
        parts.mkdir()
        # In another process, whose memory is not the driver's.
        subprocess.run([sys.executable, "-c", SHUFFLED, whole, parts, str(files)], check=True)
    return parts if files > 1 else whole


def same(one: Path, other: Path) -> bool:
    """Whether two releases have the same files with the same bytes."""
    compared = filecmp.dircmp(one, other)
    if compared.left_only or compared.right_only or compared.funny_files:
        return False
    _, mismatch, errors = filecmp.cmpfiles(one, other, compared.common_files, shallow=False)
    below = (same(one / name, other / name) for name in compared.common_dirs)
    return not mismatch and not errors and all(below)


def removed(folder: Path, name: str) -> Path:
    """The path of a release, where there is none any more, nor a private file of one."""
    shutil.rmtree(folder / name, ignore_errors=True)
    for private in folder.glob(f"{name}.*"):
        private.unlink()
    return folder / name


def compare(
    spark: Any, table: Path, whole: Path, policy: Path, partitions: int | None, folder: Path, kill: str | None = None
) -> int:
    """Ends with an error if the releases differ; returns how many nodes were grown again."""
    import skyveil.spark

    alone, elsewhere = removed(folder, "alone"), removed(folder, "elsewhere")
    began = time.monotonic()
    if skyveil._SIZES is None:
        command = [SKYVEIL, "anonymize", whole, "--policy", policy, "--out", alone, "--memory", MEMORY]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    else:
        skyveil.anonymize(whole, policy, alone, memory=MEMORY, progress=False)
    between = time.monotonic()
    given = table if partitions is None else spark.read.parquet(str(table)).repartition(partitions)
    mark = folder / f"killed-{time.monotonic_ns()}"
    with pytest.MonkeyPatch.context() as patch:
        if kill:
            cluster.kill_in(kill, str(mark), patch)
        release = skyveil.spark.anonymize(
            given, policy, elsewhere, receipt=folder / "elsewhere.receipt.json", memory=MEMORY, progress=False
        )
    ended = time.monotonic()
    how = "files" if partitions is None else f"{partitions} partitions"
    if kill:
        how += f", executor killed in {kill}"
    grown, again = release.summary["nodes_grown"], release.summary["nodes_grown_again"]
    equal = same(alone, elsewhere)
    print(
        f"{'same' if equal else 'DIFFERENT'}: {whole.name}, {policy.name}, {how}: "
        f"{between - began:.1f} s alone, {ended - between:.1f} s on Spark, {again} of {grown} nodes grown again",
        flush=True,
    )
    safe = subprocess.run([SKYVEIL, "check", elsewhere], stdout=subprocess.DEVNULL).returncode == 0
    if not (equal and safe):
        raise SystemExit("the releases differ, or the check rejects one")
    if kill and not mark.exists():
        raise SystemExit("no executor was killed, so that nothing was tried")
    if again > 3 * math.log2(max(grown, 2)):
        raise SystemExit("more nodes were grown again than expected")
    return again


KILLED = """
import os, signal, skyveil.spark
from pyspark.sql import SparkSession
SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
skyveil.spark._Tasks.finish_file = lambda tasks, file: os.kill(os.getpid(), signal.SIGKILL)
skyveil.spark.anonymize({table!r}, {policy!r}, {out!r}, receipt={receipt!r})
"""


def kill_driver(table: Path, policy: Path, folder: Path) -> None:
    """A driver that is killed while files are written leaves nothing visible."""
    out, receipt = removed(folder, "elsewhere"), folder / "elsewhere.receipt.json"
    script = KILLED.format(table=str(table), policy=str(policy), out=str(out), receipt=str(receipt))
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    ended = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True).returncode
    print(f"driver killed: ended with {ended}, release {'there' if out.exists() else 'absent'}", flush=True)
    if ended != -signal.SIGKILL or out.exists() or receipt.exists():
        raise SystemExit("a driver that was killed left something behind")


def driver(table: str, policy: str, out: str) -> None:
    """Makes a release in a process of its own, and prints the most memory that it took."""
    import skyveil.spark

    cluster.start(1024)
    before = most_memory()
    skyveil.spark.anonymize(table, policy, out, receipt=f"{out}.receipt.json", memory=MEMORY, progress=False)
    print(before, most_memory())


def most_memory() -> int:
    """The most MiB that this process held so far, without the JVM, which is another one."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) >> 10


def of_files(spark: Any, rows: int, folder: Path) -> None:
    for what, policy in cases(folder):
        compare(spark, generated(what, rows, 7, folder), generated(what, rows, 1, folder), policy, None, folder)


def of_partitions(spark: Any, rows: int, folder: Path) -> None:
    for what, policy in cases(folder):
        whole, parts = generated(what, rows // 5, 1, folder), generated(what, rows // 5, 7, folder)
        for partitions in (1, 7):
            compare(spark, parts, whole, policy, partitions, folder)


def of_tiers(spark: Any, rows: int, folder: Path) -> None:
    import skyveil.spark

    whole, parts = generated("census", TINY_ROWS, 1, folder), generated("census", TINY_ROWS, 7, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(skyveil, "_SIZES", TINY)
        patch.setattr(skyveil.spark._Tasks, "tasks_at_once", lambda tasks: TINY_TASKS)
        again = [compare(spark, parts, whole, policy, None, folder) for _, policy in cases(folder)[1:3]]
    if not any(again):
        raise SystemExit("no node was grown again, so that nothing was tried")


def of_kills(spark: Any, rows: int, folder: Path) -> None:
    whole, parts = generated("census", rows // 5, 1, folder), generated("census", rows // 5, 7, folder)
    for kill in (*cluster.STAGES, "place"):
        compare(spark, parts, whole, kept(folder), None, folder, kill)
    compare(spark, parts, whole, TWO, None, folder, "combine")
    kill_driver(parts, CENSUS, folder)
    compare(spark, parts, whole, CENSUS, None, folder)


def of_memory(spark: Any, rows: int, folder: Path) -> None:
    for what, policy in (("agrawal", AGRAWAL), ("census", CENSUS)):
        taken = []
        for many in (rows // 10, rows // 2, rows, 2 * rows):
            parts, out = generated(what, many, 7, folder), removed(folder, "elsewhere")
            command = [sys.executable, __file__, "driver", parts, policy, out]
            ended = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            before, most = map(int, ended.stdout.split())
            taken.append(most)
            print(f"driver: {what}, {many:,} rows: {most} MiB, of which {before} before it began", flush=True)
        if max(taken) - min(taken) > FLAT:
            raise SystemExit("the memory of the driver is not flat")


def of_s3(spark: Any, rows: int, folder: Path) -> None:
    if spark is not None:
        spark.stop()
    if failed := pytest.main(["-q", "-rs", "-k", "s3", str(ROOT / "python" / "tests" / "test_spark.py")]):
        raise SystemExit(failed)


PARTS: dict[str, Callable[[Any, int, Path], None]] = {
    "files": of_files,
    "partitions": of_partitions,
    "tiers": of_tiers,
    "kills": of_kills,
    "memory": of_memory,
    "s3": of_s3,
}


def kept(folder: Path) -> Path:
    """A policy that keeps a column."""
    policy = folder / "keeping.toml"
    policy.write_text(KEEPING)
    return policy


def cases(folder: Path) -> list[tuple[str, Path]]:
    return [("agrawal", AGRAWAL), ("census", CENSUS), ("census", kept(folder)), ("census", TWO)]


def main() -> None:
    if sys.argv[1:2] == ["driver"]:
        return driver(*sys.argv[2:5])
    rows = int(sys.argv[1].replace("_", "")) if len(sys.argv) > 1 else 10_000_000
    parts = sys.argv[2:] or list(PARTS)
    spark = cluster.start(1024) if {*parts} - {"memory", "s3"} else None
    with tempfile.TemporaryDirectory(prefix="skyveil-spark-", dir=os.environ.get("TMPDIR")) as place:
        for part in parts:
            PARTS[part](spark, rows, Path(place))


if __name__ == "__main__":
    main()
