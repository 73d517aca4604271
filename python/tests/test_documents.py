"""The Python of the documentation runs as it is written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conftest import DATASETS, ROOT


def test_the_page_for_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "datasets").symlink_to(DATASETS)
    page = (ROOT / "docs" / "how-to" / "python.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)
    assert len(blocks) > 3
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "docs/how-to/python.md", "exec"), names)
    assert (tmp_path / "release").is_dir() and not (tmp_path / "other").exists()
