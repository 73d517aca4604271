"""What the tests share: the datasets of the repository, and the command whose bytes count."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any, Callable

import pytest

ROOT = Path(__file__).resolve().parents[2]
DATASETS = ROOT / "datasets"
CENSUS = DATASETS / "census.csv"
POLICY = DATASETS / "census.toml"

# Occupations are kept, so that a column travels in the type in which it comes.
KEEPING = POLICY.read_text().replace('"occupation", ', "").replace(
    'sensitive = "diagnosis"', 'sensitive = "diagnosis"\nkeep = ["occupation"]'
).replace('"census-', f'"{DATASETS}/census-')


def files(release: Path) -> dict[str, bytes]:
    """The contents of every file of a release."""
    return {str(path.relative_to(release)): path.read_bytes() for path in release.rglob("*") if path.is_file()}


@pytest.fixture(scope="session")
def command() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the command."""
    binary = os.environ.get("SKYVEIL", str(ROOT / "target" / "debug" / "skyveil"))

    def run(*arguments: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True, check=True)

    return run


@pytest.fixture(scope="session")
def by_command(command: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The release that the command makes of the census."""
    out = tmp_path_factory.mktemp("command") / "release"
    command("anonymize", CENSUS, "--policy", POLICY, "--out", out)
    return files(out)


@pytest.fixture(scope="session")
def keeping(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy that keeps a column of texts."""
    path = tmp_path_factory.mktemp("keeping") / "policy.toml"
    path.write_text(KEEPING)
    return path


@pytest.fixture(scope="session")
def keeping_by_command(
    command: Callable[..., Any], keeping: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, bytes]:
    """The release that the command makes with a kept column."""
    out = tmp_path_factory.mktemp("kept") / "release"
    command("anonymize", CENSUS, "--policy", keeping, "--out", out)
    return files(out)
