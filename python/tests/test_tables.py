"""Whatever holds a table, the release has the bytes that the command gives it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.csv
import pytest

import skyveil
from conftest import CENSUS, POLICY, files


def as_pyarrow() -> Any:
    return pyarrow.csv.read_csv(CENSUS)


def as_reader() -> Any:
    """Batches that are made on demand, once, and then gone."""
    table = as_pyarrow()
    return pyarrow.RecordBatchReader.from_batches(table.schema, iter(table.to_batches(max_chunksize=700)))


def as_categories() -> Any:
    frame = pandas.read_csv(CENSUS, keep_default_na=False)
    return frame.astype({name: "category" for name in ["sex", "education", "marital", "occupation", "diagnosis"]})


def as_views() -> Any:
    table = as_pyarrow()
    texts = {"sex", "education", "marital", "occupation", "industry", "diagnosis"}
    schema = pyarrow.schema(
        [pyarrow.field(f.name, pyarrow.string_view() if f.name in texts else f.type) for f in table.schema]
    )
    return table.cast(schema)


TABLES: list[Callable[[], Any]] = [
    lambda: CENSUS,
    lambda: [str(CENSUS)],
    as_pyarrow,
    as_reader,
    as_views,
    lambda: polars.read_csv(CENSUS),
    lambda: pandas.read_csv(CENSUS, keep_default_na=False),
    as_categories,
    lambda: duckdb.sql(f"select * from read_csv('{CENSUS}')"),
]
NAMES = ["path", "paths", "pyarrow", "reader", "views", "polars", "pandas", "categories", "duckdb"]


@pytest.mark.parametrize("table", TABLES, ids=NAMES)
def test_every_table_gives_the_bytes_of_the_command(
    table: Callable[[], Any], by_command: dict[str, bytes], tmp_path: Path
) -> None:
    release = skyveil.anonymize(table(), POLICY, tmp_path / "release")
    assert files(release.path) == by_command


@pytest.mark.parametrize("table", TABLES, ids=NAMES)
def test_kept_columns_do_not_show_what_held_them(
    table: Callable[[], Any], keeping: Path, keeping_by_command: dict[str, bytes], tmp_path: Path
) -> None:
    release = skyveil.anonymize(table(), keeping, tmp_path / "release")
    assert files(release.path) == keeping_by_command


def test_memory_and_threads_do_not_change_the_bytes(by_command: dict[str, bytes], tmp_path: Path) -> None:
    release = skyveil.anonymize(as_pyarrow(), POLICY, tmp_path / "release", memory="40MiB", threads=1)
    assert files(release.path) == by_command


def test_a_stream_that_was_read_is_an_empty_table(tmp_path: Path) -> None:
    reader = as_reader()
    list(reader)
    with pytest.raises(skyveil.SkyveilError):
        skyveil.anonymize(reader, POLICY, tmp_path / "release")
    assert not list(tmp_path.iterdir())


def test_a_stream_that_fails_leaves_nothing_and_tells_no_value(tmp_path: Path) -> None:
    table = as_pyarrow()

    def batches() -> Any:
        yield from table.to_batches(max_chunksize=700)[:2]
        raise RuntimeError("the value was Substance dependence")

    reader = pyarrow.RecordBatchReader.from_batches(table.schema, batches())
    with pytest.raises(skyveil.errors.InputError) as caught:
        skyveil.anonymize(reader, POLICY, tmp_path / "release")
    assert "Substance" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_what_is_no_table_is_named(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="a table is a path"):
        skyveil.anonymize(3, POLICY, tmp_path / "release")  # type: ignore[arg-type]
