"""`tf.show_cluster`: the tasks of a cluster in the notebook, live, while cells run too (white paper, section 3.3).

A thread of the view asks the tasks twice a second, but only while somebody looks; what it shows last stays as a picture
in the saved notebook. Invariant: a fault in the thread is shown, never raised into the user's program.
"""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Any
from uuid import uuid4

import anywidget
from IPython import get_ipython
from IPython.display import display, update_display
from traitlets import Unicode

from tfnb.errors import ClosedSessionError, DTypeError
from tfnb.notebook.assets import widget_module
from tfnb.notebook.cluster_picture import amount, cluster_html, summary
from tfnb.notebook.outlet import hear_while_busy, in_kernel
from tfnb.notebook.trace_lanes import short_name

__all__ = ["ClusterView", "show_cluster"]

SECONDS, SECONDS_ASLEEP, SECONDS_PER_PICTURE = 0.5, 2.0, 10.0
SECONDS_PER_TASK = 0.005  # a large cluster is asked less often


class ClusterChannel(anywidget.AnyWidget):
    """The line to the browser: never displayed itself, it finds its places in the page by `key`, also its model id."""

    _esm = widget_module("cluster_view")
    key = Unicode().tag(sync=True)


class ClusterView:
    """A view of a cluster; made by `tf.show_cluster`. A context manager, which closes at the end.

    `refresh()` asks the tasks and gives what they said; `state` is what they said last: `tasks`, `devices` and `sent`
    (who sent how many messages and bytes to whom, and the tensors with the most). `close()` leaves a picture.
    """

    def __init__(self, found: Any) -> None:
        census = getattr(found, "census", None)
        if census is None:
            raise DTypeError(
                f"needed a tf.train.DaskCluster, or a session on a cluster, got {type(found).__name__}"
            )
        self._census = census()
        self._asking = threading.Lock()
        try:
            self.state: dict[str, Any] = self._census.take()
        except BaseException:
            self._census.close()
            raise
        self._key = f"tfnb-cluster-{uuid4().hex}"
        self._channel: ClusterChannel | None = None
        self._thread: threading.Thread | None = None
        self._watchers = 0
        self._heard = False  # the browser has answered
        self._closed = threading.Event()
        self._wake = threading.Event()
        self._shown_in: Any = None

    # ---- for programs ----------------------------------------------------------------------

    def refresh(self) -> dict[str, Any]:
        """Asks the tasks how they are. Raises `ClosedSessionError` when the cluster or the view is closed."""
        with self._asking:
            self.state = self._census.take()
        return self.state

    def close(self) -> None:
        """Asks no more; the picture stays."""
        with self._asking:
            if self._closed.is_set():
                return
            self._closed.set()
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(10)
        with self._asking:
            self._census.close()
        if self._channel is not None:
            get_ipython().events.unregister("post_run_cell", self._show_picture)
            self._show_picture()
            self._channel.close()

    def __enter__(self) -> ClusterView:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        lines = [
            f"  {short_name(t['name']):12} {t['state']:6} {t.get('steps', 0):8,} steps "
            f"{t.get('variables', 0):5,} variables {amount(t.get('variable_bytes', 0)):>12}  {t['address']}"
            for t in self.state["tasks"]
        ]
        return "\n".join([f"<tf.show_cluster: {summary(self.state)}>", *lines])

    def _repr_html_(self) -> str:
        return f'<div id="{self._key}" class="tfnb-cluster-picture">{cluster_html(self.state)}</div>'

    # ---- in a notebook ---------------------------------------------------------------------

    def _ipython_display_(self) -> None:
        if not in_kernel() or self._closed.is_set():
            display({"text/html": self._repr_html_(), "text/plain": repr(self)}, raw=True)
        elif self._shown_in != get_ipython().execution_count:  # `show_cluster` has shown it in this cell already
            self.show()

    def show(self) -> None:
        """Shows the view here, once more if it is shown elsewhere."""
        self._shown_in = get_ipython().execution_count
        first = self._channel is None
        if first:
            self._start()
        told, place = {"tfnb": "cluster"}, f"tfnb-{uuid4().hex}"
        html = (
            f'<div id="{place}" class="tfnb-cluster" data-tfnb-view="{self._key}"></div>'
            f'<script>globalThis.tfnbViews?.["{self._key}"]?.(document.getElementById("{place}"))</script>'
        )
        display({"text/html": html, "text/plain": repr(self)}, raw=True, metadata=told)
        if first:
            display(self._picture(), raw=True, metadata=told, display_id=self._key)

    def _start(self) -> None:
        self._channel = ClusterChannel(key=self._key, model_id=self._key)
        hear_while_busy(self._channel)
        self._channel.on_msg(self._told)
        get_ipython().events.register("post_run_cell", self._show_picture)
        thread = threading.Thread(target=self._work, name="tfnb-cluster", daemon=True)
        thread.start()
        self._thread = thread  # what `close` finds here can be joined

    def _picture(self) -> dict[str, str]:
        return {"text/html": self._repr_html_(), "text/plain": ""}

    def _show_picture(self, _result: object = None) -> None:
        update_display(self._picture(), raw=True, metadata={"tfnb": "cluster"}, display_id=self._key)

    def _told(self, _channel: object, message: Any, _buffers: object) -> None:
        """From the browser, in a comm's thread."""
        what = message.get("type") if isinstance(message, dict) else None
        if what == "hello":
            self._heard = True
            self._watchers += 1
            self._wake.set()
        elif what == "bye":
            self._watchers = max(self._watchers - 1, 0)

    # ---- the thread ------------------------------------------------------------------------

    def _work(self) -> None:
        pictured = time.monotonic()
        while not self._closed.is_set():
            looked_at = self._watchers > 0 or not self._heard
            busy = SECONDS_PER_TASK * len(self.state["tasks"])
            began = time.monotonic()
            try:
                if looked_at:
                    self._send({"type": "state", "state": self.refresh()})
                    if began - pictured > SECONDS_PER_PICTURE:
                        self._show_picture()
                        pictured = began
            except ClosedSessionError as over:
                self._send({"type": "note", "text": over.message})
                return
            except Exception as fault:
                self._send({"type": "note", "text": f"{type(fault).__name__}: {fault}"[:300]})
            took = time.monotonic() - began
            self._wake.wait(max(SECONDS - took, busy, 0.05) if looked_at else SECONDS_ASLEEP)
            self._wake.clear()

    def _send(self, message: dict[str, Any]) -> None:
        try:
            if self._channel is not None and not self._closed.is_set():
                self._channel.send(message)
        except Exception:  # the comm itself is gone: nobody is left to be told
            self._closed.set()


def show_cluster(found: Any) -> ClusterView:
    """The tasks of a `tf.train.DaskCluster`, or of a session on a cluster: state, memory, variables, who sends to whom.

    In a notebook it is shown at once, and is live while cells run. Raises `DTypeError` for anything else,
    `FailedPreconditionError` for a session without a cluster, `ClosedSessionError` where it is closed.
    """
    made = ClusterView(found)
    if in_kernel():
        made.show()
    return made
