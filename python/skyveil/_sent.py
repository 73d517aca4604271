"""What the driver of Spark sends to tasks.

Spark writes the code of tasks to a disk if it is large. So the code is small, with the key of the run in it; everything else
is encrypted with this key.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any, Union

from ._native import seal, unseal
from .errors import InputError

if TYPE_CHECKING:
    from pyspark import Broadcast, SparkContext

_CODE = 1 << 19
"""The code of a task is smaller than this."""

Rows = tuple[Any, str, Union[tuple[int, int], None], dict[str, Any]]
"""A table, the policy, the files of the table if it has some, and the means."""


def expect_code_in_memory(context: SparkContext) -> None:
    """Fails if Spark would write the code of tasks to a disk, and the keys with it."""
    # What decides about it in PySpark too.
    largest = context._jvm.PythonUtils.getBroadcastThreshold(context._jsc)  # type: ignore[union-attr]
    if largest < _CODE:
        raise InputError(
            f"Spark would write code of {largest:,} bytes to disks, and the keys with it",
            remedy="leave spark.broadcast.UDFCompressionThreshold at its default",
        )


class Sent:
    """Bytes for tasks, encrypted, as Spark may write them to a disk; the key travels with the code of the tasks."""

    def __init__(self, context: SparkContext, key: bytes, contents: bytes, with_code: int) -> None:
        sealed = seal(key, contents)
        self._key = key
        self._apart: Broadcast[bytes] | None = None
        self._with_code = b""
        if len(sealed) > with_code:
            self._apart = context.broadcast(sealed)
        else:
            self._with_code = sealed

    def open(self) -> bytes:
        return unseal(self._key, self._with_code if self._apart is None else self._apart.value)

    def remove(self) -> None:
        """Only if no task needs it again."""
        if self._apart is not None:
            self._apart.destroy()


class Given:
    """What every task is told, however large: the table or its columns, the policy and the means."""

    def __init__(self, sent: Sent) -> None:
        self._sent = sent

    def open(self) -> tuple[Any, str, dict[str, Any]]:
        """Nobody without the key can have made this."""
        table, policy, means = pickle.loads(self._sent.open())
        return table, policy, means

    def no_rows(self) -> Rows:
        """The columns of the table without rows."""
        table, policy, means = self.open()
        return table, policy, (0, 0) if isinstance(table, list) else None, means

    def remove(self) -> None:
        """Only if no task needs it again."""
        self._sent.remove()
