#!/usr/bin/env python3
"""What the stages cost that an engine runs as tasks: CPU seconds and bytes for each row, without an engine.

    python/test                                               # once: installs the package into target/python
    target/python/bin/python scripts/engine_costs.py [ROWS]   # 2,000,000 by default

All tasks run in this process, one after the other, on one thread each. Prints a line for each stage of each policy; the
rest of the time is what the driver does itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, Callable

from skyveil import _choices, _means, _native

ROOT = Path(__file__).resolve().parents[1]
SKYVEIL = os.environ.get("SKYVEIL", str(ROOT / "target" / "release" / "skyveil"))
CASES = [("agrawal", "agrawal.toml"), ("census", "census.toml"), ("census", "census-two.toml")]


class Engine:
    """Holds the pages of every set in memory."""

    def __init__(self, table: Path, policy: str) -> None:
        self._policy = policy
        self._table = [str(table)]
        self._means = _means("512MiB", 1, None, False)
        self._sets: dict[int, list[bytes]] = {}
        self._orders: dict[int, list[bytes]] = {}
        self._files: dict[int, list[bytes]] = {}
        self.seconds: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()

    def _measured(self, stage: str, work: Callable[[], Any]) -> Any:
        began = time.process_time()
        made = work()
        self.seconds[stage] += time.process_time() - began
        self.bytes[stage] += sum(map(len, made)) if isinstance(made, list) else len(made)
        self.calls[stage] += 1
        return made

    def _rows(self, files: tuple[int, int]) -> Any:
        return self._table, self._policy, files, self._means

    def values(self) -> bytes:
        return self._measured("observe", lambda: _native.observe(self._rows((0, 1))))

    def combinations(self, order: bytes) -> bytes:
        return self._measured("combinations", lambda: _native.combine(self._rows((0, 1)), order))

    def encode(self, order: bytes) -> bytes:
        self._sets[0] = self._measured("encode", lambda: list(_native.encode(self._rows((0, 1)), order)))
        self._task = _native.NativePageTask(self._rows((0, 0)), order)
        return self._measured("total", lambda: self._task.total(self._sets[0]))

    def count(self, rows: int, request: bytes) -> bytes:
        return self._measured("count", lambda: self._task.count(request, self._sets[rows]))

    def sort(self, rows: int, request: bytes, sets: int, together: bool) -> int:
        return self._sorted("sort", rows, request, sets)

    def _sorted(self, stage: str, rows: int, request: bytes, sets: int) -> int:
        first = max(self._sets) + 1
        self._sets.update((first + place, []) for place in range(sets))

        def sort() -> list[bytes]:
            pieces = getattr(self._task, stage)(request, self._sets[rows])
            for place, page in pieces:
                self._sets[first + place].append(page)
            return [page for _, page in pieces]

        self._measured(stage, sort)
        return first

    def grow(self, nodes: list[tuple[int, bytes]]) -> list[bytes]:
        return self._measured(
            "grow", lambda: [self._task.grow(request, self._sets[rows]) for rows, request in nodes]
        )

    def place(self, rows: int, request: bytes, sets: int) -> int:
        return self._sorted("place", rows, request, sets)

    def order_file(self, file: int, piece: bytes) -> None:
        self.bytes["groups to tasks"] += len(piece)
        self._orders.setdefault(file, []).append(piece)

    def begin_file(self, file: int, rows: list[int]) -> None:
        pages = [page for own in rows for page in self._sets[own]]
        order = self._orders.pop(file)
        self._files[file] = self._measured("write, check", lambda: self._task.write(order, pages))

    def finish_file(self, file: int) -> list[bytes]:
        return self._files.pop(file)

    def pages(self, rows: int) -> list[bytes]:
        return self._sets[rows]

    def forget(self, first: int) -> None:
        pass

    def tasks_at_once(self) -> int:
        return 2


def main() -> None:
    rows = int(sys.argv[1].replace("_", "")) if len(sys.argv) > 1 else 2_000_000
    with tempfile.TemporaryDirectory(prefix="skyveil-costs-") as place:
        for number, (what, name) in enumerate(CASES):
            table, policy = Path(place) / f"{what}.parquet", ROOT / "datasets" / name
            if not table.exists():
                subprocess.run([SKYVEIL, "generate", what, "--rows", str(rows), "--out", table], check=True)
            engine = Engine(table, _native.canonical_policy(policy))
            out, means = Path(place) / f"out-{number}", _means("256MiB", 1, None, False)
            began = time.process_time()
            _, summary = _native.anonymize([str(table)], policy, out, _choices(), means, None, engine)
            rest = time.process_time() - began - engine.seconds.total()
            print(f"{name}, {rows:,} rows, {summary['groups']:,} groups")
            for stage, seconds in engine.seconds.items():
                each = f"{seconds / rows * 1e6:.3f} µs, {engine.bytes[stage] / rows:.2f} bytes"
                print(f"  {stage:12} {each} for each row, {engine.calls[stage]} jobs")
            print(f"  driver       {rest / rows * 1e6:.3f} µs for each row", flush=True)


if __name__ == "__main__":
    main()
