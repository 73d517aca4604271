"""Spark on loopback: two workers with addresses of their own, tasks that kill their executor, and tasks that are too slow."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable

import skyveil.spark

PLACE = Path(tempfile.mkdtemp(prefix="skyveil-cluster-"))
"""Where Spark writes what it stores."""
atexit.register(shutil.rmtree, PLACE, ignore_errors=True)


def start(executor_memory: int = 512) -> Any:
    """A session with two executors of one core, which have so many MiB."""
    from pyspark import cloudpickle
    from pyspark.sql import SparkSession

    # The executors do not have this file.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_DIRS"] = str(PLACE)
    return (
        SparkSession.builder.master(_master(2 * executor_memory))
        .config("spark.ui.enabled", "false")
        .config("spark.executor.memory", f"{executor_memory}m")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.speculation", "true")
        .config("spark.speculation.quantile", "0.5")
        # A job of one task has no other one to be compared with.
        .config("spark.speculation.task.duration.threshold", "5s")
        .getOrCreate()
    )


def _master(worker_memory: int) -> str:
    """The address of a master with two workers, which end with this process. Spark never runs a copy of a task on the same
    host, so each worker has a host of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"spark://127.0.0.1:{port}"
    _daemon("master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
    for host in ("127.0.0.2", "127.0.0.3"):
        work = str(PLACE / f"work-{host}")
        means = ["--cores", "1", "--memory", f"{worker_memory}m", "--work-dir", work]
        _daemon("worker.Worker", "--host", host, "--webui-port", "0", *means, address)
    for _ in range(600):
        with socket.socket() as master:
            if master.connect_ex(("127.0.0.1", port)) == 0:
                return address
        time.sleep(0.1)
    raise TimeoutError("the master of Spark does not start")


def _daemon(name: str, *arguments: str) -> None:
    import pyspark

    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    command = [str(program), f"org.apache.spark.deploy.{name}", *arguments]
    environment = {**os.environ, "SPARK_DAEMON_MEMORY": "256m"}
    started = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    atexit.register(started.terminate)


STAGES = ["observe", "encode", "total", "count", "sort", "grow", "write"]


def in_stage(stage: str, act: Callable[[], None], patch: Any) -> None:
    """Every task that comes to a stage does this first."""
    tasks = skyveil.spark._Tasks
    page_task = tasks._page_task
    patch.setattr(tasks, "_page_task", lambda self: ActingStart(page_task(self), stage, act))
    for kind in (skyveil.spark._FileTasks, skyveil.spark._FrameTasks):
        patch.setattr(kind, "_each", _acting(kind._each, stage, act))


def kill_in(stage: str, mark: str, patch: Any) -> None:
    """The first task that comes to a stage kills its executor, and leaves a file behind."""
    in_stage(stage, functools.partial(kill_executor_once, mark), patch)


def delay_in(stage: str, mark: str, patch: Any) -> None:
    """The first task that comes to a stage waits until Spark starts a copy of a task, which leaves a file behind."""
    in_stage(stage, functools.partial(wait_for_copy, mark), patch)


def _acting(each: Any, stage: str, act: Callable[[], None]) -> Any:
    def acting(self: Any, work: Any) -> Any:
        return each(self, ActingStage(work, act) if work._work.__name__ == stage else work)

    return acting


class ActingStage:
    """A stage that is given rows."""

    def __init__(self, stage: Any, act: Callable[[], None]) -> None:
        self._stage = stage
        self._act = act

    def __call__(self, rows: Any) -> Any:
        self._act()
        return self._stage(rows)


class ActingStart:
    """Starts tasks that are given pages."""

    def __init__(self, start: Any, stage: str, act: Callable[[], None]) -> None:
        self._start = start
        self._stage = stage
        self._act = act

    def __call__(self) -> Any:
        return ActingTask(self._start(), self._stage, self._act)


class ActingTask:
    """A task that is given pages."""

    def __init__(self, task: Any, stage: str, act: Callable[[], None]) -> None:
        self._task = task
        self._stage = stage
        self._act = act

    def __getattr__(self, name: str) -> Any:
        if name == self._stage:
            self._act()
        return getattr(self._task, name)


def first_to_come(mark: str) -> bool:
    """Whether the file was not there yet; it is now."""
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def wait_for_copy(mark: str) -> None:
    """Waits until a copy of a task has begun, and then long enough for the copy to end first."""
    from pyspark import TaskContext

    context = TaskContext.get()
    copy = Path(f"{mark}-copy")
    if context is not None and context.attemptNumber() > 0:
        copy.touch()
    elif first_to_come(mark):
        for _ in range(600):
            if copy.exists():
                break
            time.sleep(0.1)
        time.sleep(5)


def kill_executor_once(mark: str) -> None:
    """Kills the executor of this task, unless the file is there."""
    if not first_to_come(mark):
        return
    own = os.getpid()
    while own > 1:
        with open(f"/proc/{own}/cmdline", "rb") as line:
            if b"CoarseGrainedExecutorBackend" in line.read():
                os.kill(own, signal.SIGKILL)
                return
        with open(f"/proc/{own}/stat") as stat:
            own = int(stat.read().rsplit(")", 1)[1].split()[1])
