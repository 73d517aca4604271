#!/usr/bin/env python3
"""Spark and one machine make the same release: two workers on loopback, millions of rows, speculative tasks, executors
and a driver that are killed, and a storage that speaks S3.

    python/test                                        # once: installs the package into target/python
    target/python/bin/python scripts/spark.py [ROWS]   # 10,000,000 by default

Every policy is compared for so many rows in seven files, and for a fifth of them in 1 and 7 partitions of a frame.
Prints a line for each comparison, with the seconds of both, the nodes that were grown again and the peak memory of the
driver, and ends with an error if bytes differ.
"""

from __future__ import annotations

import filecmp
import math
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SKYVEIL = os.environ.get("SKYVEIL", str(ROOT / "target" / "release" / "skyveil"))
MEMORY = "256MiB"

sys.path.insert(0, str(ROOT / "python" / "tests"))
import pytest  # noqa: E402

import cluster  # noqa: E402
from conftest import DATASETS, KEEPING  # noqa: E402


def generated(what: str, rows: int, files: int, folder: Path) -> Path:
    """A table in several files, the same rows for any number of them."""
    whole = folder / f"{what}-{rows}.parquet"
    if not whole.exists():
        subprocess.run([SKYVEIL, "generate", what, "--rows", str(rows), "--out", whole], check=True)
    if files == 1:
        return whole
    import pyarrow
    import pyarrow.parquet

    parts = folder / f"{what}-{rows}-in-{files}"
    if not parts.exists():
        parts.mkdir()
        source = pyarrow.parquet.ParquetFile(whole)
        writers = [
            pyarrow.parquet.ParquetWriter(parts / f"{part}.parquet", source.schema_arrow) for part in range(files)
        ]
        # Rows are dealt out, so that no file has a range of them.
        for number, batch in enumerate(source.iter_batches(batch_size=5_000)):
            writers[(number * 5) % files].write_batch(batch)
        for writer in writers:
            writer.close()
    return parts


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
    spark, table: Path, whole: Path, policy: Path, partitions: int | None, folder: Path, kill: str | None = None
) -> None:
    import skyveil.spark

    alone, elsewhere = removed(folder, "alone"), removed(folder, "elsewhere")
    began = time.monotonic()
    command = [SKYVEIL, "anonymize", whole, "--policy", policy, "--out", alone, "--memory", MEMORY]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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
        how += f", executor killed in {kill}" if mark.exists() else f", NOBODY killed in {kill}"
    grown, again = release.summary["nodes_grown"], release.summary["nodes_grown_again"]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    equal = same(alone, elsewhere)
    print(
        f"{'same' if equal else 'DIFFERENT'}: {whole.name}, {policy.name}, {how}: "
        f"{between - began:.1f} s alone, {ended - between:.1f} s on Spark, {again} of {grown} nodes grown again, "
        f"driver {peak} MiB at most so far",
        flush=True,
    )
    safe = subprocess.run([SKYVEIL, "check", elsewhere], stdout=subprocess.DEVNULL).returncode == 0
    if not (equal and safe):
        raise SystemExit("the releases differ, or the check rejects one")
    if again > 3 * math.log2(max(grown, 2)):
        raise SystemExit("more nodes were grown again than expected")


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


def main() -> None:
    rows = int(sys.argv[1].replace("_", "")) if len(sys.argv) > 1 else 10_000_000
    few = rows // 5
    spark = cluster.start(1024)
    with tempfile.TemporaryDirectory(prefix="skyveil-spark-", dir=os.environ.get("TMPDIR")) as place:
        folder = Path(place)
        kept = folder / "keeping.toml"
        kept.write_text(KEEPING)
        census = DATASETS / "census.toml"
        cases = [("agrawal", DATASETS / "agrawal.toml")]
        cases += [("census", policy) for policy in (census, kept, DATASETS / "census-two.toml")]
        for what, policy in cases:
            compare(spark, generated(what, rows, 7, folder), generated(what, rows, 1, folder), policy, None, folder)
        for what, policy in cases:
            whole, parts = generated(what, few, 1, folder), generated(what, few, 7, folder)
            for partitions in (1, 7):
                compare(spark, parts, whole, policy, partitions, folder)
        whole, parts = generated("census", few, 1, folder), generated("census", few, 7, folder)
        for kill in ("count", "sort", "grow", "place", "write"):
            compare(spark, parts, whole, kept, None, folder, kill)
        kill_driver(parts, census, folder)
        compare(spark, parts, whole, census, None, folder)
        # The memory of the driver, which must not follow the rows.
        for many in (rows // 10, 2 * rows):
            whole, parts = generated("agrawal", many, 1, folder), generated("agrawal", many, 7, folder)
            compare(spark, parts, whole, DATASETS / "agrawal.toml", None, folder)
    spark.stop()
    raise SystemExit(pytest.main(["-q", "-rs", "-k", "s3", str(ROOT / "python" / "tests" / "test_spark.py")]))


if __name__ == "__main__":
    main()
