"""Errors are exceptions with the fields of the library's errors."""

from __future__ import annotations

from pathlib import Path

import pytest

import skyveil
from conftest import CENSUS, DATASETS, POLICY


def test_mistakes_of_a_policy_are_listed(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[columns]\nsensitiv = "x"\n')
    with pytest.raises(skyveil.errors.PolicyError) as caught:
        skyveil.anonymize(CENSUS, policy, tmp_path / "release")
    error = caught.value
    assert error.file == policy and not error.may_pass
    assert error.mistakes and {"line", "key", "problem", "remedy"} <= error.mistakes[0].keys()


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("age,disease\n3,flu\n")
    with pytest.raises(skyveil.SkyveilError) as caught:
        skyveil.anonymize(table, POLICY, tmp_path / "release")
    assert "sex" in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(skyveil.errors.StorageError) as caught:
        skyveil.anonymize(tmp_path / "nowhere.csv", POLICY, tmp_path / "release")
    assert caught.value.file == tmp_path / "nowhere.csv" and caught.value.errno == 2


def test_little_memory_is_an_error_with_numbers(tmp_path: Path) -> None:
    with pytest.raises(skyveil.errors.MemoryBudgetError) as caught:
        skyveil.anonymize(CENSUS, POLICY, tmp_path / "release", memory=1)
    assert caught.value.needed > caught.value.budget == 1
    assert caught.value.setting == "memory"


def test_risks_are_listed(tmp_path: Path) -> None:
    policy = POLICY.read_text().replace('"census-', f'"{DATASETS}/census-')
    policy = policy.replace('drop      = ["person_id", ', 'keep = ["person_id"]\ndrop = [')
    with pytest.raises(skyveil.errors.RisksError) as caught:
        skyveil.anonymize(CENSUS, policy, tmp_path / "release")
    assert caught.value.risks[0]["name"] and not list(tmp_path.iterdir())


def test_a_table_that_cannot_be_published_is_an_error_with_obstacles(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("age,disease\n" + "3,flu\n" * 20)
    policy = (
        '[columns]\nsensitive = "disease"\nquasi = { age = { domain = [0, 9] } }\n[privacy]\n'
        "[[privacy.skyline]]\nl = 0\nk = 0\nm = 0\nconfidence = 0.5\n"
    )
    with pytest.raises(skyveil.errors.NoReleaseError) as caught:
        skyveil.anonymize(table, policy, tmp_path / "release")
    assert caught.value.obstacles[0]["column"] == "disease"
    assert not (tmp_path / "release").exists()


def test_values_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    for given in [{"memory": "much"}, {"threads": 0}, {"format": "xls"}, {"search": "far"}, {"strategy": "none"}]:
        with pytest.raises(ValueError):
            skyveil.anonymize(CENSUS, POLICY, tmp_path / "release", **given)  # type: ignore[arg-type]


def test_an_existing_target_is_refused(tmp_path: Path) -> None:
    with pytest.raises(skyveil.errors.InputError) as caught:
        skyveil.anonymize(CENSUS, POLICY, tmp_path)
    assert caught.value.remedy
