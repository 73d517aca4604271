"""What Python sees of a release, and of the verdict on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

import polars
import pyarrow
import pyarrow.parquet
import pytest

import skyveil
from conftest import CENSUS, DATASETS, POLICY


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> skyveil.Release:
    return skyveil.anonymize(CENSUS, POLICY, tmp_path_factory.mktemp("made") / "release")


def test_a_release_tells_what_it_holds(release: skyveil.Release) -> None:
    assert release.manifest["records"] == 5_000
    assert release.people == 5_000
    assert release.groups == release.manifest["groups"] > 10
    assert release.tables == ["data"]
    assert release.report.exists()
    assert release.summary is not None and release.summary["receipt"].exists()
    opened = skyveil.Release(release.path)
    assert opened.summary is None and opened.manifest == release.manifest


def test_its_rows_are_a_stream(release: skyveil.Release) -> None:
    expected = pyarrow.parquet.read_table(release.path / "data")
    rows = pyarrow.table(release.data())
    assert rows.num_rows == 5_000
    assert rows.cast(expected.schema).equals(expected)
    assert polars.DataFrame(release.data()).height == 5_000
    assert pyarrow.RecordBatchReader.from_stream(release.data()).read_next_batch().num_rows > 0


def test_rows_can_be_read_once(release: skyveil.Release) -> None:
    rows = release.data()
    pyarrow.table(rows)
    with pytest.raises(ValueError, match="read already"):
        pyarrow.table(rows)
    with pytest.raises(ValueError, match="only data"):
        release.data("sensitive")


def test_the_verdict_is_that_of_the_command(
    release: skyveil.Release, command: Callable[..., Any]
) -> None:
    verdict = skyveil.check(release.path)
    told = json.loads(command("check", release.path, "--json").stdout)
    assert verdict and verdict.safe is told["safe"] is True
    assert verdict.points == release.manifest["points"]
    assert (verdict.people, verdict.groups) == (5_000, release.groups)
    assert not verdict.altered


def test_an_altered_release_is_not_safe(tmp_path: Path) -> None:
    release = skyveil.anonymize(CENSUS, POLICY, tmp_path / "release")
    page = release.path / "report.html"
    page.write_text(page.read_text() + " ")
    verdict = skyveil.check(release)
    assert verdict.safe is False and not verdict
    assert len(verdict.altered) == 1 and "report.html" in verdict.altered[0]
    (release.path / "data" / "part-0.parquet").write_bytes(b"PAR1")
    with pytest.raises(skyveil.errors.FormatError):
        skyveil.check(tmp_path / "release")


def test_people_and_values_apart(tmp_path: Path) -> None:
    policy = POLICY.read_text().replace('style  = "generalized"', 'style = "bucketized"')
    policy = policy.replace('"census-', f'"{DATASETS}/census-')
    release = skyveil.anonymize(CENSUS, policy, tmp_path / "release")
    assert release.tables == ["quasi", "sensitive"]
    people, values = (pyarrow.table(release.data(name)) for name in release.tables)
    assert people.num_rows == sum(values["count"].to_pylist()) == 5_000


def test_a_notebook_shows_summary_and_skyline(release: skyveil.Release) -> None:
    shown = release._repr_html_()
    for text in ["5,000", "receipt", "<svg", "<td>2</td><td>3</td><td>2</td><td>0.8</td>", "0.333333"]:
        assert text in shown, text
    verdict = skyveil.check(release)._repr_html_()
    assert "safe" in verdict and "class=\"histogram\"" in verdict
    # The charts are those of the report, and their style stays with them.
    page = release.report.read_text()
    meter = page[page.index("<svg class=\"meter\"") :].split("</svg>")[0]
    assert meter in shown and meter in verdict
    assert ":root" not in shown and shown.count("<style>.skyveil-view{") == 1
    assert "5000 people" in repr(release)


def test_a_proposed_policy_is_that_of_the_command(command: Callable[..., Any], tmp_path: Path) -> None:
    with pytest.warns(UserWarning) if _warns(command) else _nothing():
        text = skyveil.init(CENSUS)
    assert text == command("init", CENSUS, "--no-trial").stdout
    # A frame has types of its own; the policy only says which whole numbers are codes.
    with pytest.warns(UserWarning) if _warns(command) else _nothing():
        of_frame = skyveil.init(polars.read_csv(CENSUS), sensitive="diagnosis")
    assert "[columns.sensitive.diagnosis]" in of_frame
    assert of_frame.partition("[columns.types]")[2].split() == ["region", "=", '"text"']


def _warns(command: Callable[..., Any]) -> bool:
    return "warning" in command("init", CENSUS).stderr


def _nothing() -> Any:
    from contextlib import nullcontext

    return nullcontext()
