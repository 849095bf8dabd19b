"""Files as 0.12 reads them with Python 3: what is read at once is bytes, and lines are text.

Invariant: names, positions and errors are those of `tfnb.gfile`.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.argument_types import FilePath
from tfnb.client.platform import file_io, gfile

__all__ = ["EARLY_FILES"]


class GFile(gfile.GFile):
    """`tfnb.gfile.GFile`, whose `read` returns bytes also of a file that is open as text."""

    def read(self, n: int = -1) -> Any:
        """Reads `n` bytes; by default all that are left."""
        data = super().read(n)
        return data.encode() if isinstance(data, str) else data


def read_file_to_string(filename: FilePath) -> Any:
    """Returns the bytes of a file. Raises `NotFoundError` when there is none."""
    return file_io.read_file_to_string(filename, binary_mode=True)


EARLY_FILES: list[tuple[object, object]] = [
    (gfile.GFile, GFile),
    (file_io.read_file_to_string, read_file_to_string),
]
