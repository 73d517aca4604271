"""Rows that the tasks of Spark read give the bytes of one machine, also if executors are killed.

Two workers on loopback, each an executor of its own.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any, Callable, Iterator

import cluster
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest

import skyveil
import skyveil.spark
from conftest import CENSUS, DATASETS, POLICY, files

pytest.importorskip("pyspark")


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    session = cluster.start()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def dealt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The census in another order, in three files."""
    folder = tmp_path_factory.mktemp("dealt")
    table = pyarrow.csv.read_csv(CENSUS)
    order = sorted(range(table.num_rows), key=lambda row: (row * 7919) % table.num_rows)
    table = table.take(order)
    for part in range(3):
        rows = list(range(part, table.num_rows, 3))
        pyarrow.parquet.write_table(table.take(rows), folder / f"{part}.parquet", row_group_size=500)
    return folder


@pytest.mark.parametrize("partitions", [1, 7])
def test_frames_give_the_bytes_of_one_machine(
    spark: Any, dealt: Path, partitions: int, by_command: dict[str, bytes], tmp_path: Path
) -> None:
    frame = spark.read.parquet(str(dealt)).repartition(partitions)
    release = skyveil.spark.anonymize(frame, POLICY, tmp_path / "release", receipt=tmp_path / "receipt.json")
    assert files(release.path) == by_command
    assert skyveil.check(release).safe


def test_files_give_the_bytes_of_one_machine(
    spark: Any, dealt: Path, by_command: dict[str, bytes], tmp_path: Path, command: Callable[..., Any]
) -> None:
    receipt = tmp_path / "receipt.json"
    release = skyveil.spark.anonymize(dealt, POLICY, tmp_path / "release", receipt=receipt)
    assert files(release.path) == by_command
    told = command("check", release.path, "--receipt", receipt, "--original", CENSUS).stdout
    assert "safe" in told
    # What the caller begins later does not belong to the run.
    assert not list(spark.sparkContext.getJobTags())


def test_kept_columns_and_several_sensitive_columns(
    spark: Any,
    dealt: Path,
    keeping: Path,
    keeping_by_command: dict[str, bytes],
    command: Callable[..., Any],
    tmp_path: Path,
) -> None:
    frame = spark.read.parquet(str(dealt)).repartition(3)
    release = skyveil.spark.anonymize(frame, keeping, tmp_path / "kept", receipt=tmp_path / "kept.json")
    assert files(release.path) == keeping_by_command
    two = DATASETS / "census-two.toml"
    command("anonymize", CENSUS, "--policy", two, "--out", tmp_path / "alone")
    release = skyveil.spark.anonymize(frame, two, tmp_path / "two", receipt=tmp_path / "two.json")
    assert files(release.path) == files(tmp_path / "alone")


SMALL = (1 << 13, (1 << 24, 1 << 31), 900)


@pytest.fixture(scope="module")
def bucket() -> Iterator[Callable[[str], str]]:
    """Addresses in a storage that speaks S3, on loopback."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer(
        ip_address="127.0.0.1", port=0, verbose=False
    )
    server.start()
    host, port = server.get_host_and_port()
    options = f"?endpoint_override=http%3A%2F%2F{host}%3A{port}&scheme=http&region=us-east-1"
    options += "&allow_bucket_creation=true"
    yield lambda path: f"s3://key:secret@bucket/{path}{options}"
    server.stop()


def test_tables_and_releases_on_s3(
    spark: Any, dealt: Path, bucket: Callable[[str], str], by_command: dict[str, bytes], tmp_path: Path
) -> None:
    from pyarrow import fs

    storage, root = fs.FileSystem.from_uri(bucket("table"))
    storage.create_dir(root, recursive=True)
    for path in dealt.iterdir():
        with storage.open_output_stream(f"{root}/{path.name}") as copy:
            copy.write(path.read_bytes())
    address = bucket("release")
    release = skyveil.spark.anonymize(
        bucket("table"), POLICY, tmp_path / "release", receipt=tmp_path / "receipt.json"
    )
    assert files(release.path) == by_command
    skyveil.spark.upload(release, address)
    storage, root = fs.FileSystem.from_uri(address)
    found = storage.get_file_info(fs.FileSelector(root, recursive=True))
    names = {info.path.removeprefix(f"{root}/"): info for info in found if info.type == fs.FileType.File}
    assert {name: storage.open_input_file(info.path).read() for name, info in names.items()} == by_command
    with pytest.raises(skyveil.errors.InputError, match="something at this address"):
        skyveil.spark.upload(release, address)


@pytest.fixture(scope="module")
def small_nodes_alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The release of one machine, with small nodes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(skyveil, "_SIZES", SMALL)
        return files(skyveil.anonymize(CENSUS, POLICY, tmp_path_factory.mktemp("small") / "release").path)


@pytest.fixture
def small_nodes(small_nodes_alone: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Nodes and files that are so small that every stage runs."""
    monkeypatch.setattr(skyveil, "_SIZES", SMALL)
    return small_nodes_alone


def test_small_nodes_give_the_bytes_of_one_machine(
    spark: Any, dealt: Path, small_nodes: dict[str, bytes], by_command: dict[str, bytes], tmp_path: Path
) -> None:
    release = skyveil.spark.anonymize(dealt, POLICY, tmp_path / "release", receipt=tmp_path / "receipt.json")
    assert files(release.path) == small_nodes != by_command


@pytest.mark.parametrize("stage", cluster.STAGES)
def test_an_executor_that_is_killed_changes_nothing(
    spark: Any, dealt: Path, stage: str, small_nodes: dict[str, bytes], tmp_path: Path
) -> None:
    mark = tmp_path / "killed"
    with pytest.MonkeyPatch.context() as patch:
        cluster.kill_in(stage, str(mark), patch)
        release = skyveil.spark.anonymize(
            dealt, POLICY, tmp_path / "release", receipt=tmp_path / "receipt.json"
        )
    assert mark.exists()
    assert files(release.path) == small_nodes


@pytest.mark.parametrize("stage", ["encode", "grow", "write"])
def test_a_task_that_spark_copies_leaves_no_stray_part(
    spark: Any, dealt: Path, stage: str, small_nodes: dict[str, bytes], tmp_path: Path
) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    out = tmp_path / "out"
    out.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        cluster.delay_in(stage, str(marks / "slow"), patch)
        release = skyveil.spark.anonymize(dealt, POLICY, out / "release", receipt=out / "receipt.json")
    assert sorted(mark.name for mark in marks.iterdir()) == ["slow", "slow-copy"]
    assert files(release.path) == small_nodes
    assert all(path.name.startswith(("receipt.", "release")) for path in out.iterdir())
    assert not list(cluster.PLACE.rglob("part-*.parquet"))


def test_nothing_that_spark_stores_can_be_read(
    spark: Any, dealt: Path, keeping: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Keys are not compressed, and neither is a text where it occurs first."""
    key = tmp_path / "key"
    key.write_bytes(os.urandom(32))
    key.chmod(0o600)
    occupation = pyarrow.parquet.read_table(dealt)["occupation"][0].as_py().encode()
    # Frames of other tests, which Spark shuffled as they are.
    of_others = set(cluster.PLACE.rglob("*"))
    stored: list[bytes] = []
    finish = skyveil.spark._Tasks.finish_file

    def look_and_finish(tasks: Any, file: int) -> Iterator[bytes]:
        pieces = list(finish(tasks, file))
        own = (path for path in cluster.PLACE.rglob("*") if path.is_file() and path not in of_others)
        everything = [path.read_bytes() for path in own]
        stored.extend(everything)
        for secret in (tasks._key, key.read_bytes(), occupation):
            assert not any(secret in contents for contents in everything)
        yield from pieces

    monkeypatch.setattr(skyveil.spark._Tasks, "finish_file", look_and_finish)
    # As if there were many values.
    monkeypatch.setattr(skyveil.spark, "_WITH_CODE", 64)
    skyveil.spark.anonymize(dealt, keeping, tmp_path / "release", receipt=tmp_path / "receipt.json", key=key)
    assert sum(map(len, stored)) > 100_000


@pytest.mark.parametrize("partitions", [None, 2])
def test_the_code_of_tasks_is_small_and_without_the_policy(
    spark: Any, dealt: Path, partitions: int | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Spark writes large code to disks, with the keys in it."""
    import pyspark.core.rdd
    from pyspark.serializers import CloudPickleSerializer

    policy = skyveil._native.canonical_policy(POLICY).encode()
    prepare = pyspark.core.rdd._prepare_for_python_RDD
    codes: list[bytes] = []

    def look_and_prepare(context: Any, command: Any) -> Any:
        codes.append(CloudPickleSerializer().dumps(command))
        return prepare(context, command)

    monkeypatch.setattr("pyspark.core.rdd._prepare_for_python_RDD", look_and_prepare)
    table = dealt if partitions is None else spark.read.parquet(str(dealt)).repartition(partitions)
    skyveil.spark.anonymize(table, POLICY, tmp_path / "release", receipt=tmp_path / "receipt.json")
    assert codes and max(map(len, codes)) < skyveil._sent._CODE
    assert not any(policy[:100] in code for code in codes)


def test_spark_that_writes_small_code_to_disks_is_refused(
    spark: Any, dealt: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("skyveil._sent._CODE", (1 << 20) + 1)
    with pytest.raises(skyveil.errors.InputError, match="the keys with it"):
        skyveil.spark.anonymize(dealt, POLICY, tmp_path / "release", receipt=tmp_path / "receipt.json")
    assert not list(tmp_path.iterdir())


def test_ctrl_c_ends_the_jobs_and_leaves_nothing(dealt: Path, tmp_path: Path) -> None:
    """Also in a notebook, which does not leave Ctrl-C to Spark."""
    place, began = tmp_path / "place", tmp_path / "began"
    place.mkdir()
    script = f"""
        import os, signal, time, skyveil, skyveil.spark
        from pyspark.sql import SparkSession
        os.environ["PYSPARK_PYTHON"] = {sys.executable!r}
        session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()

        def wait():
            open({str(began)!r}, "w").close()
            time.sleep(600)

        skyveil.spark._Tasks._page_task = lambda tasks: wait
        signal.signal(signal.SIGINT, signal.default_int_handler)
        skyveil.spark.anonymize({str(dealt)!r}, {str(POLICY)!r}, "release", receipt="receipt.json")
    """
    run = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], cwd=place, stderr=subprocess.PIPE, text=True
    )
    while not began.exists() and run.poll() is None:
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    _, told = run.communicate(timeout=300)
    assert run.returncode == -signal.SIGINT and "KeyboardInterrupt" in told, told
    assert not list(place.iterdir())


def test_a_driver_that_is_killed_leaves_nothing_visible(
    spark: Any, dealt: Path, by_command: dict[str, bytes], tmp_path: Path
) -> None:
    script = f"""
        import os, signal, skyveil, skyveil.spark
        from pyspark.sql import SparkSession
        os.environ["PYSPARK_PYTHON"] = {sys.executable!r}
        session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
        skyveil.spark._Tasks.grow = lambda tasks, nodes: os.kill(os.getpid(), signal.SIGKILL)
        skyveil.spark.anonymize({str(dealt)!r}, {str(POLICY)!r}, "release", receipt="receipt.json")
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], cwd=tmp_path, capture_output=True)
    assert run.returncode == -signal.SIGKILL, run.stderr.decode()
    assert not (tmp_path / "release").exists() and not (tmp_path / "receipt.json").exists()
    release = skyveil.spark.anonymize(
        dealt, POLICY, tmp_path / "release", receipt=tmp_path / "receipt.json"
    )
    assert files(release.path) == by_command


def test_types_that_spark_changes_are_refused_by_name(spark: Any, tmp_path: Path) -> None:
    frame = spark.sql("select timestamp'2024-01-01 00:00:00' as seen, 1 as age")
    with pytest.raises(skyveil.errors.InputError) as caught:
        skyveil.spark.anonymize(frame, POLICY, tmp_path / "release", receipt=tmp_path / "receipt.json")
    assert caught.value.column == "seen"


def test_policies_that_look_at_people_are_refused(spark: Any, dealt: Path, tmp_path: Path) -> None:
    with pytest.raises(skyveil.errors.InputError, match="more of the people than counts"):
        skyveil.spark.anonymize(
            dealt, DATASETS / "census-beliefs.toml", tmp_path / "release", receipt=tmp_path / "receipt.json"
        )
    assert not list(tmp_path.iterdir())


def test_an_error_of_a_task_is_raised(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("age,disease\n3,flu\n")
    with pytest.raises(Exception, match="sex|column"):
        skyveil.spark.anonymize(
            tmp_path / "table.csv", POLICY, tmp_path / "release", receipt=tmp_path / "receipt.json"
        )
    assert not (tmp_path / "release").exists()
