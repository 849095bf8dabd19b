"""A view that shows itself in a cell and lives there: what `tf.view` and `tf.show_cluster` have in common.

A cell that shows it gets a place, in which the browser's side draws, and the first one a picture, which the browser
hides while the view lives and the notebook keeps. A thread brings news while somebody looks and ends with `close`.
Invariant: a fault in the thread is shown, never raised into the user's program.
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
from tfnb.notebook.outlet import in_kernel

__all__ = ["ClosedAtEnd", "LiveView"]

SECONDS_TO_END = 10.0

Self = TypeVar("Self", bound="ClosedAtEnd")


class ClosedAtEnd(ABC):
    """A context manager that closes at the end of its `with`."""

    @abstractmethod
    def close(self) -> None:
        """Ends it; once more changes nothing."""

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_fault: object) -> None:
        self.close()


class LiveView(ClosedAtEnd):
    """`kind` names the view in the output's metadata, its places, and its thread."""

    kind: ClassVar[str]

    def __init__(self) -> None:
        self._key = f"tfnb-{self.kind}-{uuid4().hex}"
        self._channel: Channel | None = None
        self._thread: threading.Thread | None = None
        self._watchers = 0
        self._heard = False  # the browser has answered
        self._closed = threading.Event()  # also when nobody is left to be told
        self._wake = threading.Event()
        self._closing, self._released = threading.Lock(), False
        self._shown_in: Any = None

    # ---- what a view is ----------------------------------------------------------------------

    @abstractmethod
    def _open(self, key: str) -> Channel:
        """The line to the browser, with what the page is told at first."""

    @abstractmethod
    def _told(self, channel: Channel, message: Any, buffers: Any) -> None:
        """From the browser, in a comm's thread."""

    @abstractmethod
    def _work(self) -> None:
        """The thread: until `_closed`, waits for `_wake` and sends what is new."""

    @abstractmethod
    def _release(self) -> None:
        """Gives up what the view holds, when its thread has ended."""

    @abstractmethod
    def _repr_html_(self) -> str:
        """The picture."""

    def _opened(self) -> None:
        """What is sent while the browser makes its first place."""

    def _cell_ended(self, _result: object = None) -> None:
        self._show_picture()

    # ---- in a notebook -----------------------------------------------------------------------

    def _ipython_display_(self) -> None:
        if not in_kernel() or self._closed.is_set():
            display({"text/html": self._repr_html_(), "text/plain": repr(self)}, raw=True)
        elif self._shown_in != get_ipython().execution_count:  # else this cell has shown it already
            self.show()

    def show(self) -> None:
        """Shows the view here, once more if it is shown elsewhere."""
        self._shown_in = get_ipython().execution_count
        first = self._channel is None
        if first:
            self._start()
        key, place, told = self._key, f"tfnb-{uuid4().hex}", {"tfnb": self.kind}
        html = (
            f'<div id="{place}" class="tfnb-{self.kind}" data-tfnb-view="{key}"></div>'
            f'<script>globalThis.tfnbViews?.["{key}"]?.(document.getElementById("{place}"))</script>'
        )
        display({"text/html": html, "text/plain": repr(self)}, raw=True, metadata=told)
        if first:
            self._opened()
            display(self._picture(), raw=True, metadata=told, display_id=key)

    def _start(self) -> None:
        self._channel = self._open(self._key)
        self._channel.on_msg(self._told)
        get_ipython().events.register("post_run_cell", self._cell_ended)
        thread = threading.Thread(target=self._work, name=f"tfnb-{self.kind}", daemon=True)
        thread.start()
        self._thread = thread  # what `close` finds here can be joined

    def _picture(self) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "text/plain": ""}

    def _show_picture(self) -> None:
        update_display(self._picture(), raw=True, metadata={"tfnb": self.kind}, display_id=self._key)

    def _looked_at(self, what: object) -> None:
        """The browser says "hello" for each place that is seen, and "bye" when it no longer is."""
        if what == "hello":
            self._heard = True
            self._watchers += 1
            self._wake.set()
        elif what == "bye":
            self._watchers = max(self._watchers - 1, 0)

    def _send(self, message: Mapping[str, Any], *buffers: bytes) -> None:
        try:
            if self._channel is not None and not self._closed.is_set():
                self._channel.send(message, list(buffers))
        except Exception:  # the comm itself is gone: nobody is left to be told
            self._closed.set()

    # ---- the end -----------------------------------------------------------------------------

    def close(self) -> None:
        """Ends the thread and all listening; the picture stays."""
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
