"""The exceptions of skyveil.

Every error of the library is a :class:`SkyveilError` with the same fields. No message contains the value of a cell.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = [
    "SkyveilError",
    "InputError",
    "PolicyError",
    "RisksError",
    "NoReleaseError",
    "MemoryBudgetError",
    "StorageError",
    "ChangedError",
    "FormatError",
    "BusyError",
    "StoppedError",
    "DefectError",
]


class SkyveilError(Exception):
    """Why an operation stopped.

    Attributes:
        problem: What is wrong, naming the column, file or key.
        remedy: What to do about it, if that is known.
        setting: The parameter that helps, if there is one.
        column: The column that it is about, if it is about one.
        file: The file or directory that it is about, if it is about one.
        may_pass: Whether the same call may succeed later: a resource ran out, another run is at work, or the input
            was changing.
    """

    def __init__(
        self,
        message: str,
        *,
        problem: str | None = None,
        remedy: str | None = None,
        setting: str | None = None,
        column: str | None = None,
        file: Path | None = None,
        may_pass: bool = False,
    ) -> None:
        super().__init__(message)
        self.problem = message if problem is None else problem
        self.remedy = remedy
        self.setting = setting
        self.column = column
        self.file = file
        self.may_pass = may_pass


class InputError(SkyveilError, ValueError):
    """The call, the policy or the table is not usable as given."""


class PolicyError(SkyveilError, ValueError):
    """The policy has mistakes; all of them are listed.

    Attributes:
        mistakes: For each mistake, its ``line``, ``key``, ``problem`` and ``remedy``.
    """

    def __init__(self, message: str, *, mistakes: list[dict[str, Any]], **fields: Any) -> None:
        super().__init__(message, **fields)
        self.mistakes = mistakes


class RisksError(SkyveilError):
    """The release would carry risks that the policy does not accept by name; all of them are listed.

    Attributes:
        risks: For each risk, its ``name`` in ``accept``, the number of ``people``, a ``message`` and the ``remedy``.
    """

    def __init__(self, message: str, *, risks: list[dict[str, Any]], **fields: Any) -> None:
        super().__init__(message, **fields)
        self.risks = risks


class NoReleaseError(SkyveilError):
    """No safe release of this table exists, or the policy withholds it. Nothing was published.

    Attributes:
        obstacles: The requirements that do not even hold for the whole table in one group.
    """

    def __init__(self, message: str, *, obstacles: str = "[]", **fields: Any) -> None:
        super().__init__(message, **fields)
        self.obstacles: list[dict[str, Any]] = json.loads(obstacles)


class MemoryBudgetError(SkyveilError):
    """The memory budget is too small.

    Attributes:
        stage: What needed the memory.
        needed: The smallest sufficient budget in bytes.
        budget: The budget in bytes.
    """

    def __init__(self, message: str, *, stage: str, needed: int, budget: int, **fields: Any) -> None:
        super().__init__(message, **fields)
        self.stage = stage
        self.needed = needed
        self.budget = budget


class StorageError(SkyveilError):
    """A file could not be read or written, or data could not be stored outside of memory.

    Attributes:
        errno: The number of the operating system's error, if it gave one.
    """

    def __init__(self, message: str, *, errno: int | None = None, **fields: Any) -> None:
        super().__init__(message, **fields)
        self.errno = errno


class ChangedError(SkyveilError):
    """A table was written to while it was read."""


class FormatError(SkyveilError, ValueError):
    """A table file is damaged or does not have the format that its name indicates."""


class BusyError(SkyveilError):
    """Another run is writing the same release."""


class StoppedError(SkyveilError):
    """The work was stopped."""


class DefectError(SkyveilError):
    """The library contradicts itself: its own check rejects what it made. Nothing was released."""
