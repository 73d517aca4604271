"""A release, and the verdict on one."""

from __future__ import annotations

import html
import json
import math
import os
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from ._native import NativeRelease, ReleaseRows, chart_style, histogram, meter

__all__ = ["Release", "Verdict"]

_ROWS = 12
"""Points that a notebook shows."""
_CLASS = "skyveil-view"
"""The class that the style of the charts is limited to."""


class Release:
    """A release: a directory with tables, a manifest and a page about them.

    Attributes:
        path: The directory.
        summary: What only the owner may know, if this call made the release: where the private receipt is
            (``receipt``), notes on the policy, accepted risks, the certainty penalty, and how many nodes were grown
            ahead of their turn and again (``nodes_grown``, ``nodes_grown_again``). ``None`` for a release that was
            opened.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.summary: dict[str, Any] | None = None
        self._native = NativeRelease(self.path)

    @property
    def manifest(self) -> dict[str, Any]:
        """What binds the release to its policy and its evidence."""
        manifest: dict[str, Any] = json.loads((self.path / "manifest.json").read_text(encoding="utf-8"))
        return manifest

    @property
    def groups(self) -> int:
        """How many groups it has."""
        return int(self.manifest["groups"])

    @property
    def people(self) -> int:
        """How many people it has."""
        return int(self.manifest["individuals"])

    @property
    def tables(self) -> list[str]:
        """The names of its tables: ``data``, or ``quasi`` and ``sensitive`` if people and values are apart."""
        return self._native.tables()

    def data(self, table: str | None = None) -> ReleaseRows:
        """The rows of a table, the first one by default, as an Arrow stream.

        Anything that reads the Arrow C stream interface takes it, row group by row group::

            pyarrow.RecordBatchReader.from_stream(release.data())
            polars.DataFrame(release.data())
            pyarrow.table(release.data()).to_pandas()
        """
        return self._native.rows(self.tables[0] if table is None else table)

    @property
    def report(self) -> Path:
        """The page about the release, which a browser shows."""
        return self.path / "report.html"

    def __repr__(self) -> str:
        return f"Release({str(self.path)!r}: {self.people} people in {self.groups} groups)"

    def _repr_html_(self) -> str:
        manifest = self.manifest
        facts = [
            ("people", f"{manifest['individuals']:,}"),
            ("groups", f"{manifest['groups']:,}"),
            ("people in the smallest group", f"{manifest['smallest_group']:,}"),
        ]
        utility = manifest.get("utility")
        if utility:
            facts.append(("people in a group, on average", f"{utility['average_group_size']:,.1f}"))
        if self.summary:
            penalty = self.summary.get("certainty_penalty")
            if penalty is not None:
                facts.append(("certainty penalty (for you alone)", f"{penalty:.4f}"))
            facts.append(("receipt (for you alone)", str(self.summary["receipt"])))
        cells = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
            for name, value in facts
        )
        return _view(
            f"<b>Release {html.escape(str(self.path))}</b><table>{cells}</table>{_skyline(manifest['points'])}"
        )


@dataclass(frozen=True)
class Verdict:
    """What the check of a release found.

    Attributes:
        safe: Whether every requirement is proven, and the release is the one that was made. ``None`` if something needs
            the original to be judged, or if values are not protected, as the policy accepts.
        points: Each requirement with its result, as in a manifest.
        altered: In what the release is not the one that was made.
        warnings: What the owner may not expect.
        people: How many people the release has.
        groups: How many groups it has.
        smallest_group: How many people the smallest group has.
        sizes: Groups by number of people: from, to, and how many groups.
        unprotected: What holds for values that nothing protects, in words.
        not_judged: Why an altered release could not be judged.
    """

    safe: bool | None
    points: list[dict[str, Any]] = field(default_factory=list)
    altered: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    records: int = 0
    people: int = 0
    groups: int = 0
    smallest_group: int = 0
    sizes: list[tuple[int, int, int]] = field(default_factory=list)
    unprotected: str | None = None
    not_judged: str | None = None

    def __bool__(self) -> bool:
        return self.safe is True

    def _repr_html_(self) -> str:
        words = {True: "safe", False: "not safe", None: self.unprotected or "not judged without the original"}
        altered = "".join(f"<li>{html.escape(text)}</li>" for text in self.altered)
        sizes = f"<p>Groups by number of people:</p>{histogram('Groups by size', self.sizes)}" if self.sizes else ""
        return _view(
            f"<b>{html.escape(words[self.safe])}</b>: {self.people:,} people in {self.groups:,} groups"
            f"<ul>{altered}</ul>{sizes}{_skyline(self.points)}"
        )


def _view(contents: str) -> str:
    """Contents on a ground of their own, because a notebook may be dark where the system is light."""
    own = "background:var(--paper);color:var(--ink);padding:.8rem;max-width:44rem"
    return f"<div class='{_CLASS}' style='{own}'><style>{chart_style(_CLASS)}</style>{contents}</div>"


def _skyline(points: list[dict[str, Any]]) -> str:
    """The points of the skyline, each with the value that comes closest to its limit."""
    worst: dict[tuple[Any, ...], tuple[float, dict[str, Any]]] = {}
    for point in points:
        risk, limit = point.get("breach"), _number(point.get("confidence"))
        if risk is None or limit is None:
            continue
        where = (point.get("column", ""), point.get("l"), point.get("k"), point.get("m"), limit)
        if where not in worst or risk > worst[where][0]:
            worst[where] = (risk, point)
    if not worst:
        return ""
    rows = "".join(_point(where, *found) for where, found in list(worst.items())[:_ROWS])
    more = f"<p>and {len(worst) - _ROWS} more</p>" if len(worst) > _ROWS else ""
    head = "".join(f"<th>{name}</th>" for name in ("l", "k", "m", "below", "worst", "", "value"))
    return (
        "<p>How sure somebody can become who rules out l values, knows k others and m of the family:</p>"
        f"<table><tr>{head}</tr>{rows}</table>{more}"
    )


def _point(where: tuple[Any, ...], risk: float, point: dict[str, Any]) -> str:
    column, l, k, m, limit = where
    value = str(point.get("value", ""))
    name = f"{column}: {value}" if column else value
    exact = str(point.get("breach_exact", risk))
    # Risks are rounded up.
    shown = math.ceil(Fraction(exact) * 10_000) / 10_000
    chart = meter(exact, str(point["confidence"]))
    return (
        f"<tr><td>{l}</td><td>{k}</td><td>{m}</td><td>{limit:g}</td><td>{shown:.4f}</td>"
        f"<td style='width:8rem'>{chart}</td><td style='text-align:left'>{html.escape(name)}</td></tr>"
    )


def _number(text: Any) -> float | None:
    """A decimal or a fraction."""
    try:
        above, _, below = str(text).partition("/")
        return float(above) / float(below or 1)
    except ValueError:
        return None
