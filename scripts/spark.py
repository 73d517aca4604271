#!/usr/bin/env python3
"""Spark and one machine make the same release: two workers on loopback, millions of rows, executors that are killed.

    python/test                                        # once: installs the package into target/python
    target/python/bin/python scripts/spark.py [ROWS]   # 10,000,000 by default

Prints a line for each comparison, with the seconds of both and the peak memory of the driver, and ends with an error if
bytes differ.
"""

from __future__ import annotations

import filecmp
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SKYVEIL = os.environ.get("SKYVEIL", str(ROOT / "target" / "release" / "skyveil"))
MEMORY = "256MiB"

sys.path.insert(0, str(ROOT / "python" / "tests"))
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


def compare(spark, table: Path, whole: Path, policy: Path, partitions: int | None, folder: Path) -> None:
    import skyveil.spark

    alone, elsewhere = folder / "alone", folder / "elsewhere"
    for out in (alone, elsewhere):
        shutil.rmtree(out, ignore_errors=True)
        for private in folder.glob(f"{out.name}.*"):
            private.unlink()
    began = time.monotonic()
    command = [SKYVEIL, "anonymize", whole, "--policy", policy, "--out", alone, "--memory", MEMORY]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    between = time.monotonic()
    given = table if partitions is None else spark.read.parquet(str(table)).repartition(partitions)
    receipt = folder / "elsewhere.receipt.json"
    skyveil.spark.anonymize(given, policy, elsewhere, receipt=receipt, memory=MEMORY, progress=False)
    ended = time.monotonic()
    how = "files" if partitions is None else f"{partitions} partitions"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    equal = same(alone, elsewhere)
    print(
        f"{'same' if equal else 'DIFFERENT'}: {whole.name}, {policy.name}, {how}: "
        f"{between - began:.1f} s alone, {ended - between:.1f} s on Spark, driver {peak} MiB at most so far",
        flush=True,
    )
    safe = subprocess.run([SKYVEIL, "check", elsewhere], stdout=subprocess.DEVNULL).returncode == 0
    if not (equal and safe):
        raise SystemExit("the releases differ, or the check rejects one")


def main() -> None:
    rows = int(sys.argv[1].replace("_", "")) if len(sys.argv) > 1 else 10_000_000
    spark = cluster.start(1024)
    with tempfile.TemporaryDirectory(prefix="skyveil-spark-") as place:
        folder = Path(place)
        kept = folder / "keeping.toml"
        kept.write_text(KEEPING)
        for what, policies in [
            ("agrawal", [DATASETS / "agrawal.toml"]),
            ("census", [DATASETS / "census.toml", kept, DATASETS / "census-two.toml"]),
        ]:
            whole, parts = generated(what, rows, 1, folder), generated(what, rows, 7, folder)
            for policy in policies:
                for partitions in (None, 1, 7):
                    compare(spark, parts, whole, policy, partitions, folder)
        # The memory of the driver, which must not follow the rows.
        for many in (rows // 10, 2 * rows):
            whole, parts = generated("agrawal", many, 1, folder), generated("agrawal", many, 7, folder)
            compare(spark, parts, whole, DATASETS / "agrawal.toml", None, folder)
    spark.stop()


if __name__ == "__main__":
    main()
