"""A place in the output of a cell whose content can be replaced any number of times.

In a kernel it is a display with an id (Jupyter messaging, update_display_data); in a terminal the same content appears
as lines of text. Invariant: every content has a text form, so no browser is needed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any, TextIO
from uuid import uuid4

from IPython import get_ipython
from IPython.display import display, update_display

__all__ = ["Outlet", "in_kernel"]

# The least time between two lines in a log file or a pipe. In a terminal the line is rewritten in place.
SECONDS_PER_LINE = 5.0


def in_kernel() -> bool:
    """Returns whether this process is the kernel of a Jupyter front end, such as a notebook, that shows its output."""
    shell = get_ipython()
    return shell is not None and hasattr(shell, "kernel")


class Outlet:
    """Shows bundles of one content in several formats (`{"text/html": ..., "text/plain": ...}`).

    `purpose` names the outlet in the output's metadata, so that programs that run notebooks can recognise it.
    `stream` is where text goes outside of a kernel (default: standard error, since progress is not a result).
    """

    def __init__(self, purpose: str, stream: TextIO | None = None) -> None:
        self._purpose = purpose
        self._id: str | None = None
        self._stream = stream or sys.stderr
        self._in_kernel = in_kernel() and stream is None
        self._last_line = float("-inf")
        self._width = 0

    def show(self, bundle: Mapping[str, Any], last: bool = False) -> None:
        """Replaces what is shown; in a terminal the text of the `last` bundle is always written."""
        if not self._in_kernel:
            self._write(str(bundle["text/plain"]), last)
            return
        metadata = {"tfnb": self._purpose}
        if self._id is None:
            self._id = uuid4().hex
            display(dict(bundle), raw=True, metadata=metadata, display_id=self._id)
        else:
            update_display(dict(bundle), raw=True, metadata=metadata, display_id=self._id)

    def _write(self, text: str, last: bool) -> None:
        if self._stream.isatty():
            self._stream.write("\r" + text.ljust(self._width) + ("\n" if last else ""))
            self._width = 0 if last else len(text)
        else:
            now = time.monotonic()
            if not last and now - self._last_line < SECONDS_PER_LINE:
                return
            self._last_line = now
            self._stream.write(text + "\n")
        self._stream.flush()
