"""Make a release of rows that the tasks of Spark read.

The tasks observe the values of their rows, turn rows into codes, count them, sort them, split the nodes that fit in
memory, and write and check the files; the driver decides in the order of the nodes, and joins what the checks found. It
sees counts, groups and finished files, never rows. The release has the bytes that the same rows give on one machine,
whatever the partitions are.

Needs pyspark, pyarrow and pandas 2.2, and skyveil on every executor.
"""

from __future__ import annotations

import functools
import itertools
import logging
import os
import pathlib
import pickle
import shutil
import signal
import threading
import uuid
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Sequence, Union

from . import _choices, _made, _means
from ._native import (
    anonymize as _anonymize,
    canonical_policy,
    NativePageTask,
    combine,
    count_files,
    encode,
    merge_combinations,
    merge_counts,
    merge_totals,
    merge_values,
    observe,
    seal,
    unseal,
)
from ._sent import Given, Rows, Sent, expect_code_in_memory
from .errors import InputError
from .progress import Progress, display
from .release import Release

if TYPE_CHECKING:
    import pyarrow
    from pyarrow.dataset import Dataset
    from pyspark import RDD, Broadcast, SparkContext
    from pyspark.sql import DataFrame, SparkSession

    Path = Union[str, os.PathLike[str]]

__all__ = ["anonymize", "upload"]

_MANIFEST = "manifest.json"

_PART = "part binary"
"""The only column that tasks return."""

_PAGES_AT_ONCE = 16
"""Pages that a task sorts before it passes their rows on."""

_FILES_AT_ONCE = 8
"""At most so many files are written at once."""

_PIECES = 18
"""What a task returns that wrote a file: how many pieces, what it found, and at most 8 pieces of each of two tables."""

_WITH_CODE = 1 << 16
"""So many bytes of each thing sent may travel with the code of a task; Spark writes the code to a disk if it is large."""

_LOG = logging.getLogger(__name__)


def anonymize(
    table: DataFrame | Dataset | Path | Sequence[Path],
    policy: Path,
    out: Path,
    *,
    receipt: Path,
    key: Path | None = None,
    spark: SparkSession | None = None,
    memory: int | str = "1GiB",
    threads: int | None = None,
    temp: Path | None = None,
    trust_disk: bool = False,
    format: str | None = None,
    task_memory: int | str = "512MiB",
    progress: Progress = None,
) -> Release:
    """Make a release of a frame of Spark, or of files that its executors can open.

    The release appears in the directory ``out`` of the driver whole and checked, or not at all. Executors may be lost and
    tasks may be tried several times. What Spark may write to disks, such as the pages of codes that the executors keep while
    the run lasts, is encrypted with keys that travel with the code of the tasks.

    Args:
        table: A frame, whose rows must be the same however often it is computed; or paths, of which each file is read by
            one task; or a dataset of pyarrow or its address, such as ``s3://bucket/folder``, of which the same holds.
            Folders ``key=value`` are columns.
        policy: The path of a policy on the driver, or its text. Policies that look at single people (the models "beliefs"
            and "robust", strategies, ``columns.individual``) are refused.
        out: The directory that the release becomes; it must not exist.
        receipt: The private receipt, on the driver. It must be said where it goes, because the folder of the release may
            be shared.
        key: The key of the fingerprint in the receipt; next to the receipt by default. The tasks get it too.
        spark: The session; the active one by default.
        memory, threads, temp, trust_disk, format, progress: As in :func:`skyveil.anonymize`, for the driver.
        task_memory: The memory of each task for data that grows with its rows.

    Raises:
        InputError: If the frame has a column that Spark changes, such as a timestamp.
        SkyveilError: As in :func:`skyveil.anonymize`.
    """
    text = canonical_policy(policy)
    session = _session(spark)
    means = _means(task_memory, 1, None, trust_disk)
    tasks = _tasks(session, table, text, means)
    choices = _choices(format=format, receipt=receipt, key=key)
    try:
        with display(progress) as show, tasks.cancelled_by_ctrl_c():
            native, summary = _anonymize(
                tasks.columns(),
                policy,
                out,
                choices,
                _means(memory, threads, temp, trust_disk),
                show,
                tasks,
            )
    finally:
        tasks.close()
    _LOG.info("nodes grown: %d, of them again: %d", summary["nodes_grown"], summary["nodes_grown_again"])
    return _made(out, native, summary)


def upload(release: Path | Release, address: str) -> None:
    """Copy a release to a storage of pyarrow, such as ``s3://bucket/folder``; its manifest comes last.

    Nothing is a release without its manifest, so nobody takes a part of one for the whole.

    Raises:
        InputError: If there is something at the address.
    """
    from pyarrow import fs

    folder = pathlib.Path(release.path if isinstance(release, Release) else release)
    storage, root = fs.FileSystem.from_uri(address)
    if storage.get_file_info(fs.FileSelector(root, recursive=True, allow_not_found=True)):
        raise InputError("there is something at this address", remedy="remove it, or take another address")
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    manifest = folder / _MANIFEST
    for path in [*(path for path in files if path != manifest), manifest]:
        name = path.relative_to(folder).as_posix()
        storage.create_dir(f"{root}/{name}".rpartition("/")[0], recursive=True)
        with open(path, "rb") as own, storage.open_output_stream(f"{root}/{name}") as copy:
            shutil.copyfileobj(own, copy, 1 << 20)


def _tasks(session: SparkSession, table: Any, policy: str, means: dict[str, Any]) -> _Tasks:
    if hasattr(table, "mapInArrow"):
        return _FrameTasks(table, policy, means)
    if isinstance(table, str) and "://" in table:
        from pyarrow import dataset

        table = dataset.dataset(table, partitioning="hive")
    if hasattr(table, "get_fragments"):
        return _DatasetTasks(session, table, policy, means)
    return _FileTasks(session, table, policy, means)


def _session(spark: SparkSession | None) -> SparkSession:
    from pyspark.sql import SparkSession

    session = spark or SparkSession.getActiveSession()
    if session is None:
        raise InputError("there is no session of Spark", remedy="start one, or give it as spark")
    return session


class _Tasks:
    """What the run asks of Spark; the bytes mean nothing here."""

    def __init__(self, context: SparkContext, table: Any, policy: str, means: dict[str, Any]) -> None:
        expect_code_in_memory(context)
        self._context = context
        self._tag = f"skyveil-{uuid.uuid4()}"
        """Marks the jobs of the run."""
        self._key = os.urandom(32)
        self._given = Given(self._send(pickle.dumps((table, policy, means))))
        self._order: Sent | None = None
        self._requests: list[Sent] = []
        """Requests that lost rows are sorted by again."""
        self._all: RDD[bytes] | None = None
        self._sets: dict[int, tuple[RDD[bytes], range]] = {}
        """The partitions of the pages of each set."""
        self._sorts: dict[int, int] = {}
        self._next = 1
        self._writers = ThreadPoolExecutor(max_workers=_FILES_AT_ONCE)
        self._orders: dict[int, list[Broadcast[bytes]]] = {}
        """The orders of files that were not begun, in pieces, which the run has encrypted."""
        self._files: dict[int, Future[tuple[list[Broadcast[bytes]], RDD[Any], int]]] = {}

    def columns(self) -> Any:
        """The table of which the run sees the columns."""
        raise NotImplementedError

    def _each(self, stage: Callable[[Rows], Iterable[bytes]]) -> RDD[bytes]:
        """What a stage returns in all tasks."""
        raise NotImplementedError

    @contextmanager
    def cancelled_by_ctrl_c(self) -> Iterator[None]:
        """Lets Ctrl-C end the jobs of the run, which would be waited for otherwise."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        interrupted = threading.Event()

        def cancel(number: int, frame: Any) -> None:
            interrupted.set()
            try:
                self._context.cancelJobsWithTag(self._tag)
            finally:
                raise KeyboardInterrupt

        before = signal.signal(signal.SIGINT, cancel)
        try:
            yield
        except Exception:
            # The error of a cancelled job may arrive first.
            if interrupted.is_set():
                raise KeyboardInterrupt from None
            raise
        finally:
            signal.signal(signal.SIGINT, before or signal.SIG_DFL)

    def _send(self, contents: bytes, together: int = 1) -> Sent:
        """For tasks of which so many are sent something together."""
        return Sent(self._context, self._key, contents, _WITH_CODE // together)

    def _mark(self) -> None:
        """Marks the jobs that this thread begins from now on as those of the run; not every call has the same thread."""
        self._context.addJobTag(self._tag)

    def _merging(self, merge: Callable[[str, bytes, bytes], bytes]) -> Callable[[bytes, bytes], bytes]:
        """Merges what two tasks returned, which is encrypted."""
        key, given = self._key, self._given
        return lambda one, other: seal(key, merge(given.open()[1], unseal(key, one), unseal(key, other)))

    def values(self) -> bytes:
        """The values of all rows."""
        self._mark()
        merge, none = self._merging(merge_values), seal(self._key, observe(self._given.no_rows()))
        return unseal(self._key, self._each(_Stage(observe, self._key)).treeAggregate(none, merge, merge))

    def combinations(self, order: bytes) -> bytes:
        """The combinations of sensitive values in all rows."""
        self._mark()
        sent = self._send(order)
        found = self._each(_Stage(combine, self._key, sent)).treeReduce(self._merging(merge_combinations))
        sent.remove()
        return unseal(self._key, found)

    def encode(self, order: bytes) -> bytes:
        """Makes the pages of all rows, which the executors keep, and returns what they hold together."""
        from pyspark import StorageLevel

        self._mark()
        self._order = self._send(order)
        self._all = self._each(_Stage(encode, self._key, self._order)).persist(StorageLevel.DISK_ONLY)
        self._sets = {0: (self._all, range(self._all.getNumPartitions()))}
        key, start = self._key, self._page_task()
        totals = self._all.mapPartitions(lambda pages: [seal(key, start().total(pages))])
        return unseal(key, totals.treeReduce(self._merging(merge_totals)))

    def count(self, rows: int, request: bytes) -> bytes:
        """The counts of the pages of a set."""
        self._mark()
        key, start, sent = self._key, self._page_task(), self._send(request)

        def count(pages: Iterable[bytes]) -> Iterator[bytes]:
            pages = iter(pages)
            for first in pages:
                yield seal(key, start().count(sent.open(), itertools.chain([first], pages)))

        counts = self._pages_of(rows).mapPartitions(count).treeReduce(self._merging(merge_counts))
        sent.remove()
        return unseal(key, counts)

    def sort(self, rows: int, request: bytes, sets: int, together: bool) -> int:
        """Sorts the pages of a set into others, and returns the number of the first."""
        return self._sorted("sort", rows, request, sets, 1 if together else self._context.defaultParallelism)

    def place(self, rows: int, request: bytes, sets: int) -> int:
        """Sorts the pages of a set into those of files, and returns the number of the first."""
        return self._sorted("place", rows, request, sets, 1)

    def _sorted(self, stage: str, rows: int, request: bytes, sets: int, tasks: int) -> int:
        start, sent = self._page_task(), self._send(request)
        self._requests.append(sent)

        def places(number: int, pages: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
            task, own, pages = None, b"", iter(pages)
            while some := list(itertools.islice(pages, _PAGES_AT_ONCE)):
                task, own = task or start(), own or sent.open()
                for place, page in getattr(task, stage)(own, some):
                    # Nothing but the place of a row and its partition decides where it goes: a task that is tried again
                    # may cut pages elsewhere.
                    yield place * tasks + number % tasks, page

        pairs = self._pages_of(rows).mapPartitionsWithIndex(places)
        sorted_pages = pairs.partitionBy(sets * tasks, lambda partition: partition).values()
        first = self._next
        self._next += sets
        for place in range(sets):
            self._sets[first + place] = (sorted_pages, range(place * tasks, (place + 1) * tasks))
        self._sorts[first] = sets
        return first

    def grow(self, nodes: list[tuple[int, bytes]]) -> list[bytes]:
        """What becomes of nodes, each of which has the pages of a set."""
        self._mark()
        start = self._page_task()
        pages = self._sets[nodes[0][0]][0]
        sent = {self._sets[rows][1][0]: self._send(request, len(nodes)) for rows, request in nodes}

        def run(number: int, own: Iterable[bytes]) -> Iterator[bytes]:
            yield start().grow(sent[number].open(), own)

        grown = self._context.runJob(pages.mapPartitionsWithIndex(run), lambda made: made, list(sent))
        for request in sent.values():
            request.remove()
        return grown

    def order_file(self, file: int, piece: bytes) -> None:
        """The next piece of the order to write a file."""
        self._orders.setdefault(file, []).append(self._context.broadcast(piece))

    def begin_file(self, file: int, rows: list[int]) -> None:
        """Lets a task write and check a file, while the run goes on."""
        pages = [self._pages_of(own) for own in rows]
        self._files[file] = self._writers.submit(self._write, self._orders.pop(file), pages)

    def _write(
        self, order: list[Broadcast[bytes]], rows: list[RDD[bytes]]
    ) -> tuple[list[Broadcast[bytes]], RDD[Any], int]:
        """Runs the task; what it returns, which the executors store, and how many pieces that is."""
        self._mark()
        start = self._page_task()
        nothing: RDD[bytes] = self._context.parallelize([], 1)
        own = self._context.union(rows).coalesce(1) if rows else nothing

        def write(pages: Iterable[bytes]) -> Iterator[tuple[int, Any]]:
            pieces = start().write([piece.value for piece in order], pages)
            yield 0, len(pieces)
            yield from enumerate(pieces, 1)

        stored = own.mapPartitions(write).partitionBy(_PIECES, lambda piece: piece).values()
        (pieces,) = self._context.runJob(stored, list, [0])
        return order, stored, pieces

    def finish_file(self, file: int) -> Iterator[bytes]:
        """What the task returned that wrote a file, piece by piece."""
        order, stored, pieces = self._files.pop(file).result()
        for piece in range(1, pieces + 1):
            self._mark()
            yield from self._context.runJob(stored, list, [piece])
        for sent in order:
            sent.destroy()

    def pages(self, rows: int) -> Iterator[bytes]:
        """The pages of a set, fetched partition by partition."""
        self._mark()
        yield from self._pages_of(rows).toLocalIterator(prefetchPartitions=True)

    def forget(self, first: int) -> None:
        """Lets Spark remove what came out of a sort."""
        for rows in range(first, first + self._sorts.pop(first)):
            del self._sets[rows]

    def tasks_at_once(self) -> int:
        """How many tasks run at once."""
        return self._context.defaultParallelism

    def _pages_of(self, rows: int) -> RDD[bytes]:
        pages, partitions = self._sets[rows]
        if len(partitions) == pages.getNumPartitions():
            return pages
        return pages.mapPartitionsWithIndex(lambda number, own: own if number in partitions else iter(()))

    def _page_task(self) -> Callable[[], NativePageTask]:
        """What starts a task that is given pages."""
        assert self._order is not None
        return functools.partial(_start, self._given, self._order)

    def close(self) -> None:
        """Removes what Spark stored for the run, and its mark from the thread of the caller."""
        self._writers.shutdown(cancel_futures=True)
        self._context.removeJobTag(self._tag)
        self._sets.clear()
        if self._all is not None:
            self._all.unpersist(blocking=True)
        for request in self._requests:
            request.remove()
        if self._order is not None:
            self._order.remove()
        self._given.remove()


def _start(given: Given, order: Sent) -> NativePageTask:
    *others, means = given.no_rows()
    # Spark removes these folders, however an executor ends.
    folders = os.environ.get("SPARK_LOCAL_DIRS", os.environ.get("LOCAL_DIRS", ""))
    return NativePageTask((*others, {**means, "temp": folders.split(",")[0] or means["temp"]}), order.open())


class _Stage:
    """What a task does with rows that it reads; what it returns is encrypted."""

    def __init__(
        self, work: Callable[..., bytes | Iterator[bytes]], key: bytes, order: Sent | None = None
    ) -> None:
        self._work = work
        self._key = key
        self._order = order

    def __call__(self, rows: Rows) -> Iterable[bytes]:
        given = () if self._order is None else (self._order.open(),)
        made = self._work(rows, *given)
        # Pages are encrypted as they are made.
        return [seal(self._key, made)] if isinstance(made, bytes) else made


class _FileTasks(_Tasks):
    """A task for each file, which reads it without Spark."""

    def __init__(self, session: SparkSession, table: Any, policy: str, means: dict[str, Any]) -> None:
        paths = [table] if isinstance(table, (str, os.PathLike)) else list(table)
        self._paths = [os.path.abspath(path) for path in paths]
        self._count = count_files(self._paths, policy)
        super().__init__(session.sparkContext, self._paths, policy, means)

    def columns(self) -> Any:
        return self._paths

    def _each(self, stage: Callable[[Rows], Iterable[bytes]]) -> RDD[bytes]:
        given, files = self._given, self._count

        def run(numbers: Iterable[int]) -> Iterable[bytes]:
            paths, policy, means = given.open()
            for number in numbers:
                yield from stage((paths, policy, (number, number + 1), means))

        return self._context.parallelize(range(files), files).mapPartitions(run)


class _DatasetTasks(_Tasks):
    """A task for each file of a dataset, which pyarrow reads."""

    def __init__(self, session: SparkSession, dataset: Dataset, policy: str, means: dict[str, Any]) -> None:
        self._columns = dataset.schema.empty_table()
        super().__init__(session.sparkContext, self._columns, policy, means)
        self._fragments = list(dataset.get_fragments())

    def columns(self) -> Any:
        return self._columns

    def _each(self, stage: Callable[[Rows], Iterable[bytes]]) -> RDD[bytes]:
        given = self._given

        def run(fragments: Iterable[Any]) -> Iterable[bytes]:
            columns, policy, means = given.open()
            for fragment in fragments:
                reader = fragment.scanner(schema=columns.schema).to_reader()
                yield from stage((reader, policy, None, means))

        return self._context.parallelize(self._fragments, len(self._fragments)).mapPartitions(run)


class _FrameTasks(_Tasks):
    """A task for each partition of a frame."""

    def __init__(self, frame: Any, policy: str, means: dict[str, Any]) -> None:
        self._columns = _arrow_schema(frame).empty_table()
        super().__init__(frame.sparkSession.sparkContext, self._columns, policy, means)
        self._frame: DataFrame = frame

    def columns(self) -> Any:
        return self._columns

    def _each(self, stage: Callable[[Rows], Iterable[bytes]]) -> RDD[bytes]:
        given = self._given

        def run(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
            import pyarrow

            columns, policy, means = given.open()
            cast = (_as_promised(batch, columns.schema) for batch in batches)
            reader = pyarrow.RecordBatchReader.from_batches(columns.schema, cast)
            for part in stage((reader, policy, None, means)):
                yield pyarrow.record_batch([pyarrow.array([part], pyarrow.binary())], names=["part"])

        return self._frame.mapInArrow(run, _PART).rdd.map(lambda row: bytes(row.part))


def _arrow_schema(frame: DataFrame) -> pyarrow.Schema:
    """The types in which Spark hands rows over; those that it changes are refused."""
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import TimestampNTZType, TimestampType

    for field in frame.schema.fields:
        if isinstance(field.dataType, (TimestampType, TimestampNTZType)):
            raise InputError(
                f"column `{field.name}` holds timestamps, which Spark changes to microseconds",
                remedy="cast it to a date or to text, drop it from the frame, or give the paths of the files",
                column=field.name,
            )
    schema: pyarrow.Schema = to_arrow_schema(frame.schema)
    return schema


def _as_promised(batch: pyarrow.RecordBatch, columns: pyarrow.Schema) -> pyarrow.RecordBatch:
    """The same rows; an error if Spark hands over other types than it promised."""
    import pyarrow

    if batch.schema.types != columns.types:
        raise TypeError("Spark hands rows over in other types than those of the frame")
    return pyarrow.RecordBatch.from_arrays(batch.columns, schema=columns)
