"""The base of views that a cell shows and that stay live, as `tf.view` and `tf.show_cluster`.

Each cell that shows a view contains a place in which the browser draws. The first one also contains a picture, which
the browser hides while the view is live and which the saved notebook keeps. A thread sends updates while the view is
visible, and ends with `close`. Invariant: an error in the thread is shown in the view, never raised into the user's
program.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar
from uuid import uuid4

from IPython import get_ipython
from IPython.display import display, update_display

from tfnb.notebook.channel import Channel
from tfnb.notebook.replaceable_output import in_kernel

__all__ = ["ClosedAtEnd", "LiveView"]

SECONDS_TO_END = 10.0

Self = TypeVar("Self", bound="ClosedAtEnd")


class ClosedAtEnd(ABC):
    """A context manager that closes at the end of its `with` block."""

    @abstractmethod
    def close(self) -> None:
        """Closes the object. Further calls have no effect."""

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_fault: object) -> None:
        self.close()


class LiveView(ClosedAtEnd):
    """`kind` names the view in the metadata of its output, in its HTML classes, and in the name of its thread."""

    kind: ClassVar[str]

    def __init__(self) -> None:
        self._key = f"tfnb-{self.kind}-{uuid4().hex}"
        self._channel: Channel | None = None
        self._thread: threading.Thread | None = None
        self._watchers = 0
        self._answered = False  # whether the browser has answered
        self._closed = threading.Event()  # this is also set when the browser can no longer be reached
        self._wake = threading.Event()
        self._closing, self._released = threading.Lock(), False
        self._shown_in: Any = None

    # ---- to be defined by each view ----------------------------------------------------------------------

    @abstractmethod
    def _open(self, key: str) -> Channel:
        """Creates the channel to the browser, with the state that the page gets first."""

    @abstractmethod
    def _received(self, channel: Channel, message: object, buffers: object) -> None:
        """Handles a message from the browser, in the thread of a comm."""

    @abstractmethod
    def _work(self) -> None:
        """Runs in a thread: waits for `_wake` and sends updates, until `_closed` is set."""

    @abstractmethod
    def _release(self) -> None:
        """Releases the resources of the view when its thread has ended."""

    @abstractmethod
    def _repr_html_(self) -> str:
        """Returns the static picture."""

    def _opened(self) -> None:
        """Sends messages while the browser creates its first place."""

    def _cell_ended(self, _result: object = None) -> None:
        self._show_picture()

    # ---- in a notebook -----------------------------------------------------------------------

    def _ipython_display_(self) -> None:
        if not in_kernel() or self._closed.is_set():
            display({"text/html": self._repr_html_(), "text/plain": repr(self)}, raw=True)
        elif self._shown_in != get_ipython().execution_count:  # otherwise this cell has shown the view already
            self.show()

    def show(self) -> None:
        """Shows the view in the current cell, also if another cell shows it already."""
        self._shown_in = get_ipython().execution_count
        first = self._channel is None
        if first:
            self._start()
        key, element_id, metadata = self._key, f"tfnb-{uuid4().hex}", {"tfnb": self.kind}
        html = (
            f'<div id="{element_id}" class="tfnb-{self.kind}" data-tfnb-view="{key}"></div>'
            f'<script>globalThis.tfnbViews?.["{key}"]?.(document.getElementById("{element_id}"))</script>'
        )
        display({"text/html": html, "text/plain": repr(self)}, raw=True, metadata=metadata)
        if first:
            self._opened()
            display(self._picture(), raw=True, metadata=metadata, display_id=key)

    def _start(self) -> None:
        self._channel = self._open(self._key)
        self._channel.on_msg(self._received)
        get_ipython().events.register("post_run_cell", self._cell_ended)
        thread = threading.Thread(target=self._work, name=f"tfnb-{self.kind}", daemon=True)
        thread.start()
        self._thread = thread  # assigned only after its start, so that `close` can join it

    def _picture(self) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "text/plain": ""}

    def _show_picture(self) -> None:
        update_display(self._picture(), raw=True, metadata={"tfnb": self.kind}, display_id=self._key)

    def _looked_at(self, what: object) -> None:
        """Counts visible places: the browser sends "hello" when one becomes visible and "bye" when it is hidden."""
        if what == "hello":
            self._answered = True
            self._watchers += 1
            self._wake.set()
        elif what == "bye":
            self._watchers = max(self._watchers - 1, 0)

    def _send(self, message: Mapping[str, Any], *buffers: bytes) -> None:
        try:
            if self._channel is not None and not self._closed.is_set():
                self._channel.send(message, list(buffers))
        except Exception:  # the comm is closed, so the error cannot be shown
            self._closed.set()

    # ---- the end -----------------------------------------------------------------------------

    def close(self) -> None:
        """Ends the thread and closes the channel; the picture stays."""
        with self._closing:
            if self._released:
                return
            self._released = True
        self._closed.set()
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(SECONDS_TO_END)
        self._release()
        if self._channel is not None:
            get_ipython().events.unregister("post_run_cell", self._cell_ended)
            self._show_picture()
            self._channel.close()
