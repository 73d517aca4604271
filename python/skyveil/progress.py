"""How far is the work, in a terminal or a notebook?"""

from __future__ import annotations

import html
import sys
import time
from importlib import import_module
from types import TracebackType
from typing import Any, Callable, Optional, Union

Show = Callable[[str, int, Optional[int]], None]
"""Called with the phase, the rows done, and their total if it is known."""

Progress = Union[None, bool, Show]
"""``None`` shows progress where somebody looks, ``False`` never, ``True`` always; or a function of your own."""

_WIDTH = 30


def display(progress: Progress) -> _Display:
    """What shows the progress of a call."""
    if callable(progress):
        return _Display(progress)
    if progress is False:
        return _Display(None)
    if _in_notebook():
        return _Notebook()
    if progress or sys.stderr.isatty():
        return _Terminal()
    return _Display(None)


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and hasattr(shell, "kernel")


def _in_words(phase: str, done: int, total: Optional[int], seconds: float) -> str:
    of_total = f"{done:,} of {total:,} rows" if total else f"{done:,} rows"
    return f"{phase}: {of_total}, {seconds:.0f} s"


class _Display:
    """Shows progress while it is entered."""

    def __init__(self, show: Optional[Show]) -> None:
        self.show = show

    def __enter__(self) -> Optional[Show]:
        return self.show

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def end(self) -> None:
        """Takes away what was shown."""


class _Timed(_Display):
    """Knows how long a phase has taken."""

    def __init__(self) -> None:
        super().__init__(self._tell)
        self._phase = ""
        self._since = time.monotonic()

    def _tell(self, phase: str, done: int, total: Optional[int]) -> None:
        if phase != self._phase:
            self._phase, self._since = phase, time.monotonic()
        self.draw(phase, done, total, time.monotonic() - self._since)

    def draw(self, phase: str, done: int, total: Optional[int], seconds: float) -> None:
        """Shows how far the phase is."""
        raise NotImplementedError


class _Terminal(_Timed):
    """A line on standard error that is written again and again."""

    _drawn = False

    def draw(self, phase: str, done: int, total: Optional[int], seconds: float) -> None:
        bar = ""
        if total:
            full = min(_WIDTH, _WIDTH * done // total)
            bar = f" [{'#' * full}{' ' * (_WIDTH - full)}]"
        sys.stderr.write(f"\r\x1b[K{_in_words(phase, done, total, seconds)}{bar}")
        sys.stderr.flush()
        self._drawn = True

    def end(self) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class _Notebook(_Timed):
    """A bar below the cell that runs."""

    _handle: Any = None

    def draw(self, phase: str, done: int, total: Optional[int], seconds: float) -> None:
        share = f'value="{min(done, total)}" max="{total}"' if total else ""
        text = html.escape(_in_words(phase, done, total, seconds))
        self._put(f"<progress {share}></progress> {text}")

    def end(self) -> None:
        if self._handle is not None:
            self._put("")

    def _put(self, text: str) -> None:
        notebook: Any = import_module("IPython.display")
        if self._handle is None:
            self._handle = notebook.display(notebook.HTML(text), display_id=True)
        else:
            self._handle.update(notebook.HTML(text))
