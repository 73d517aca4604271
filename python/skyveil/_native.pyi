import os
from typing import Any, Callable, Protocol, Sequence

class HasArrowStream(Protocol):
    """Anything that hands out its rows through the Arrow C stream interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

_Path = str | os.PathLike[str]
_Table = _Path | Sequence[_Path] | HasArrowStream
_Show = Callable[[str, int, int | None], None] | None

class ReleaseRows:
    """The rows of a table of a release, which can be read once."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class NativeRelease:
    def __init__(self, path: _Path) -> None: ...
    def manifest(self) -> str: ...
    def tables(self) -> list[str]: ...
    def rows(self, table: str) -> ReleaseRows: ...

def anonymize(
    table: _Table,
    policy: _Path,
    out: _Path,
    choices: dict[str, Any],
    means: dict[str, Any],
    show: _Show,
) -> tuple[NativeRelease, dict[str, Any]]: ...
def examine(
    release: NativeRelease, original: _Table | None, means: dict[str, Any], show: _Show
) -> dict[str, Any]: ...
def propose(
    table: _Table, sensitive: str | None, means: dict[str, Any], show: _Show
) -> tuple[str, list[str]]: ...
