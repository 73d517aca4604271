"""Publish tables so that they stay safe against somebody whose knowledge you state.

>>> import skyveil
>>> release = skyveil.anonymize("people.parquet", policy="policy.toml", out="release")  # doctest: +SKIP
>>> release.manifest["groups"], release.data()  # doctest: +SKIP
>>> skyveil.check("release").safe  # doctest: +SKIP
True

The same table and policy give the same bytes as the command ``skyveil``, whatever holds the table: files, pyarrow,
polars, pandas, duckdb.
"""

from __future__ import annotations

import json
import os
import warnings
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Sequence, Union

from . import errors
from ._native import NativeRelease, ReleaseRows, anonymize as _anonymize, examine as _examine, propose as _propose
from .errors import SkyveilError
from .progress import Progress, display
from .release import Release, Verdict

if TYPE_CHECKING:
    from ._native import HasArrowStream

    Path = Union[str, os.PathLike[str]]
    Table = Union[Path, Sequence[Path], HasArrowStream]

__version__ = version("skyveil")

__all__ = [
    "anonymize",
    "check",
    "init",
    "errors",
    "Release",
    "ReleaseRows",
    "SkyveilError",
    "Verdict",
]


def anonymize(
    table: Table,
    policy: Path,
    out: Path,
    *,
    memory: int | str = "1GiB",
    threads: int | None = None,
    temp: Path | None = None,
    trust_disk: bool = False,
    format: str | None = None,
    search: str = "tree",
    measure: str | None = None,
    strategy: str | None = None,
    functions: Path | None = None,
    receipt: Path | None = None,
    key: Path | None = None,
    suppressed: Path | None = None,
    progress: Progress = None,
) -> Release:
    """Make a release of a table that is safe by a policy.

    The release appears in the directory ``out`` whole and checked, or not at all; the private receipt of its owner
    stands next to it. Ctrl-C stops the work and leaves nothing behind.

    Args:
        table: A path, a list of paths, or anything with ``__arrow_c_stream__``, which is read once and kept in an
            encrypted temporary file without a name for as long as the call lasts.
        policy: The path of a policy, or its text.
        out: The directory that the release becomes; it must not exist.
        memory: Memory for data that grows with the table, such as ``"512MiB"``; beyond it, data goes to ``temp``.
        threads: Threads to use; all processors by default. The result is the same for any number.
        temp: The directory for data that does not fit in memory; the system's by default.
        trust_disk: Store that data as it is instead of encrypted.
        format: ``"parquet"``, ``"arrow"``, ``"csv"`` or ``"csv.gz"``; what the policy says by default.
        search: ``"tree"``, or ``"lattice"`` for full-domain generalization.
        measure: What the best node of a lattice minimizes.
        strategy: ``"exclusive"`` or ``"inclusive"``: choose a given function so that the choice reveals nothing.
        functions: For a strategy, a table of groups.
        receipt: The private receipt; ``OUT.receipt.json`` by default.
        key: The key of the fingerprint in the receipt; next to the receipt by default.
        suppressed: For the model "robust", the private list of suppressed rows.
        progress: ``None`` shows progress where somebody looks, ``False`` never, ``True`` always; or a function of the
            phase, the rows done and their total.

    Raises:
        NoReleaseError: If not even the whole table in one group is safe, or the release is withheld.
        RisksError: If the release would carry risks that the policy does not accept by name.
        PolicyError: If the policy has mistakes.
        SkyveilError: If anything else is wrong.
    """
    choices = _choices(
        format=format,
        search=search,
        measure=measure,
        strategy=strategy,
        functions=functions,
        receipt=receipt,
        key=key,
        suppressed=suppressed,
    )
    means = _means(memory, threads, temp, trust_disk)
    with display(progress) as show:
        native, summary = _anonymize(table, policy, out, choices, means, show, None)
    return _made(out, native, summary)


_SIZES: tuple[int, tuple[int, int], int] | None = None
"""Bytes of a node, rows of parts and people of a file. For tests only: other sizes may give other releases."""


def _choices(**chosen: Any) -> dict[str, Any]:
    """What to make of a table, with everything that was not chosen."""
    names = ("format", "measure", "strategy", "functions", "receipt", "key", "suppressed")
    return {**dict.fromkeys(names), "search": "tree", "sizes": _SIZES, **chosen}


def _made(out: Path, native: NativeRelease, summary: dict[str, Any]) -> Release:
    """A release that was just made; its notes become warnings for whoever called for it."""
    for note in summary["notes"]:
        warnings.warn(note, stacklevel=3)
    release = Release.__new__(Release)
    release.path, release.summary, release._native = _path(out), summary, native
    return release


def check(
    release: Path | Release,
    original: Table | None = None,
    *,
    memory: int | str = "1GiB",
    threads: int | None = None,
    temp: Path | None = None,
    trust_disk: bool = False,
    progress: Progress = None,
) -> Verdict:
    """Prove of what was written that it is safe, without asking whoever wrote it.

    Args:
        release: A release, or its directory.
        original: The table that the release was made from, where the policy limits beliefs.
        memory, threads, temp, trust_disk, progress: As in :func:`anonymize`.
    """
    opened = release if isinstance(release, Release) else Release(release)
    with display(progress) as show:
        found: dict[str, Any] = _examine(
            opened._native, original, _means(memory, threads, temp, trust_disk), show
        )
    points = json.loads(found.pop("points", "[]"))
    return Verdict(points=points, **found)


def init(
    table: Table,
    *,
    sensitive: str | None = None,
    memory: int | str = "1GiB",
    threads: int | None = None,
    temp: Path | None = None,
    trust_disk: bool = False,
    progress: Progress = None,
) -> str:
    """Propose a commented policy for a table. Read every line before you publish anything.

    Args:
        table: As in :func:`anonymize`; read once.
        sensitive: The column to protect; guessed by default.
        memory, threads, temp, trust_disk, progress: As in :func:`anonymize`.
    """
    with display(progress) as show:
        text, notes = _propose(table, sensitive, _means(memory, threads, temp, trust_disk), show)
    for note in notes:
        warnings.warn(note, stacklevel=2)
    return text


def _means(
    memory: int | str, threads: int | None, temp: Path | None, trust_disk: bool
) -> dict[str, Any]:
    if threads is not None and not 1 <= threads <= 1024:
        raise ValueError("threads is a number from 1 to 1024")
    return {"memory": memory, "threads": threads, "temp": temp, "trust_disk": trust_disk}


def _path(path: Path) -> Any:
    from pathlib import Path as OwnPath

    return OwnPath(path)
