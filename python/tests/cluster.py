"""Spark on loopback: two workers, each an executor of its own, and tasks that kill theirs."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import skyveil.spark


def start(executor_memory: int = 512) -> Any:
    """A session whose executors have so many MiB."""
    from pyspark import cloudpickle
    from pyspark.sql import SparkSession

    # The executors do not have this file.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    os.environ["PYSPARK_PYTHON"] = sys.executable
    return (
        SparkSession.builder.master(f"local-cluster[2,1,{2 * executor_memory}]")
        .config("spark.ui.enabled", "false")
        .config("spark.executor.memory", f"{executor_memory}m")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.speculation", "true")
        .getOrCreate()
    )


STAGES = ["observe", "encode", "total", "count", "sort", "grow", "write"]


def kill_in(stage: str, mark: str, patch: Any) -> None:
    """The first task that comes to a stage kills its executor, and leaves a file behind."""
    tasks = skyveil.spark._Tasks
    page_task = tasks._page_task
    patch.setattr(tasks, "_page_task", lambda self: DeadlyStart(page_task(self), stage, mark))
    for kind in (skyveil.spark._FileTasks, skyveil.spark._FrameTasks):
        patch.setattr(kind, "_each", _deadly(kind._each, stage, mark))


def _deadly(each: Any, stage: str, mark: str) -> Any:
    def deadly(self: Any, work: Any) -> Any:
        name = "observe" if work is skyveil.spark._observe else work._stage.__name__
        return each(self, DeadlyStage(work, mark) if name == stage else work)

    return deadly


class DeadlyStage:
    """A stage that is given rows."""

    def __init__(self, stage: Any, mark: str) -> None:
        self._stage = stage
        self._mark = mark

    def __call__(self, rows: Any) -> Any:
        kill_executor_once(self._mark)
        return self._stage(rows)


class DeadlyStart:
    """Starts tasks that are given pages."""

    def __init__(self, start: Any, stage: str, mark: str) -> None:
        self._start = start
        self._stage = stage
        self._mark = mark

    def __call__(self) -> Any:
        return DeadlyTask(self._start(), self._stage, self._mark)


class DeadlyTask:
    """A task that is given pages."""

    def __init__(self, task: Any, stage: str, mark: str) -> None:
        self._task = task
        self._stage = stage
        self._mark = mark

    def __getattr__(self, name: str) -> Any:
        if name == self._stage:
            kill_executor_once(self._mark)
        return getattr(self._task, name)


def kill_executor_once(mark: str) -> None:
    """Kills the executor of this task, unless the file is there."""
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    own = os.getpid()
    while own > 1:
        with open(f"/proc/{own}/cmdline", "rb") as line:
            if b"CoarseGrainedExecutorBackend" in line.read():
                os.kill(own, signal.SIGKILL)
                return
        with open(f"/proc/{own}/stat") as stat:
            own = int(stat.read().rsplit(")", 1)[1].split()[1])
