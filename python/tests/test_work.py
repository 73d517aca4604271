"""Long work leaves the interpreter free, can be stopped, and shows how far it is."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import skyveil
from conftest import CENSUS, POLICY
from skyveil import progress

ENDLESS = f"""
    import itertools, pyarrow, pyarrow.csv, skyveil
    table = pyarrow.csv.read_csv({str(CENSUS)!r})
    batches = itertools.chain.from_iterable(itertools.repeat(table.to_batches()))
    reader = pyarrow.RecordBatchReader.from_batches(table.schema, batches)
    print("begins", flush=True)
    skyveil.anonymize(reader, {str(POLICY)!r}, "release", progress=False)
"""


def test_ctrl_c_stops_the_work_and_leaves_nothing(tmp_path: Path) -> None:
    run = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(ENDLESS)],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert run.stdout is not None and run.stdout.readline() == "begins\n"
    while not any(tmp_path.iterdir()) and run.poll() is None:
        time.sleep(0.01)
    run.send_signal(signal.SIGINT)
    _, told = run.communicate(timeout=60)
    assert run.returncode == -signal.SIGINT and told.rstrip().endswith("KeyboardInterrupt"), told
    assert not list(tmp_path.iterdir())


def test_an_error_of_the_callers_function_stops_the_work(tmp_path: Path) -> None:
    def show(phase: str, done: int, total: int | None) -> None:
        raise RuntimeError("enough")

    # Slow enough that somebody asks how far it is.
    def batches() -> Any:
        import pyarrow.csv

        for batch in pyarrow.csv.read_csv(CENSUS).to_batches(max_chunksize=50):
            time.sleep(0.02)
            yield batch

    import pyarrow

    schema = pyarrow.csv.read_csv(CENSUS).schema
    reader = pyarrow.RecordBatchReader.from_batches(schema, batches())
    with pytest.raises(RuntimeError, match="enough"):
        skyveil.anonymize(reader, POLICY, tmp_path / "release", progress=show)
    assert not list(tmp_path.iterdir())


def test_other_threads_run_meanwhile(tmp_path: Path) -> None:
    ticks, stop = [], threading.Event()

    def tick() -> None:
        while not stop.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    before = len(ticks)
    skyveil.anonymize(CENSUS, POLICY, tmp_path / "release")
    stop.set()
    thread.join()
    assert len(ticks) > before


def test_a_terminal_shows_a_line_and_takes_it_away(monkeypatch: pytest.MonkeyPatch) -> None:
    told = io.StringIO()
    monkeypatch.setattr(sys, "stderr", told)
    with progress.display(True) as show:
        assert show is not None
        show("counting", 500, 1000)
        show("writing", 7, None)
    assert "counting: 500 of 1,000 rows, 0 s [###############               ]" in told.getvalue()
    assert "writing: 7 rows" in told.getvalue() and told.getvalue().endswith("\r\x1b[K")


def test_nobody_looks_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress.display(None) as show:
        assert show is None


def test_a_notebook_shows_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    import IPython
    from IPython import display

    shown: list[str] = []

    class Handle:
        def update(self, page: Any) -> None:
            shown.append(page.data)

    def put(page: Any, display_id: bool) -> Handle:
        shown.append(page.data)
        return Handle()

    kernel = type("Shell", (), {"kernel": object()})()
    monkeypatch.setattr(IPython, "get_ipython", lambda: kernel)
    monkeypatch.setattr(display, "display", put)
    with progress.display(None) as show:
        assert show is not None
        show("counting", 500, 1000)
        show("counting", 600, 1000)
    assert 'value="500" max="1000"' in shown[0] and 'value="600"' in shown[1] and shown[-1] == ""
