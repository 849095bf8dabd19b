"""A place in the output of a cell whose content can be replaced any number of times.

In a kernel it is a display with an id (Jupyter messaging, update_display_data); in a terminal the same content appears
as lines of text. Invariant: every content has a text form, so no browser is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TextIO
from uuid import uuid4

from IPython import get_ipython
from IPython.display import display, update_display

from tfnb.system.progress import TextLine

__all__ = ["Outlet", "in_kernel"]


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
        self._line = TextLine(stream)
        self._in_kernel = in_kernel() and stream is None

    def show(self, bundle: Mapping[str, Any], last: bool = False) -> None:
        """Replaces what is shown; in a terminal the text of the `last` bundle is always written."""
        if not self._in_kernel:
            self._line.write(str(bundle["text/plain"]), last)
            return
        metadata = {"tfnb": self._purpose}
        if self._id is None:
            self._id = uuid4().hex
            display(dict(bundle), raw=True, metadata=metadata, display_id=self._id)
        else:
            update_display(dict(bundle), raw=True, metadata=metadata, display_id=self._id)
