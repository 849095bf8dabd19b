"""`tf.show_cluster`: the tasks of a cluster in the notebook, updated also while cells run (white paper, section 3.3).

A thread of the view polls the tasks twice a second, but only while the view is visible; its last state stays as a
picture in the saved notebook. Invariant: an error in the thread is shown in the view, never raised into the user's
program.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast, get_type_hints

from tfnb.errors import ClosedSessionError, DTypeError
from tfnb.notebook.assets import widget_module
from tfnb.notebook.channel import Channel
from tfnb.notebook.cluster_picture import amount, cluster_html, summary
from tfnb.notebook.live_view import LiveView
from tfnb.notebook.protocol.cluster import (
    ClusterState,
    DeviceReport,
    NoteMessage,
    Sent,
    StateMessage,
    TaskReport,
)
from tfnb.notebook.replaceable_output import in_kernel
from tfnb.notebook.traces.lanes import short_name

__all__ = ["ClusterView", "show_cluster"]

SECONDS, SECONDS_ASLEEP, SECONDS_PER_PICTURE = 0.5, 2.0, 10.0
Row = TypeVar("Row", TaskReport, DeviceReport, Sent)
SECONDS_PER_TASK = 0.005  # a large cluster is polled less often


class ClusterChannel(Channel):
    """The channel to the browser."""

    _esm = widget_module("cluster_view")


class ClusterView(LiveView):
    """A view of a cluster, created by `tf.show_cluster`; as a context manager it closes at the end.

    `refresh()` polls the tasks and returns the new state; `state` is the last one: `tasks`, `devices` and `sent` (how
    many messages and bytes each task sent to each other task, and the tensors with the most bytes). `close()` leaves a
    picture.
    """

    kind = "cluster"

    def __init__(self, cluster: object) -> None:
        super().__init__()
        cluster_status = getattr(cluster, "cluster_status", None)
        if cluster_status is None:
            raise DTypeError(f"needed a tf.train.DaskCluster, or a session on a cluster, got {type(cluster).__name__}")
        self._monitor = cluster_status()
        self._asking = threading.Lock()
        try:
            self.state: dict[str, Any] = self._monitor.poll()
        except BaseException:
            self._monitor.close()
            raise

    # ---- the interface for programs ----------------------------------------------------------------------

    def refresh(self) -> dict[str, Any]:
        """Polls the tasks and returns their state. Raises `ClosedSessionError` if the cluster or the view is closed."""
        with self._asking:
            self.state = self._monitor.poll()
        return self.state

    def _release(self) -> None:
        with self._asking:
            self._monitor.close()

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

    def _open(self, key: str) -> ClusterChannel:
        return ClusterChannel(key)

    def _received(self, _channel: Channel, message: object, _buffers: object) -> None:
        self._looked_at(message.get("type") if isinstance(message, dict) else None)

    # ---- the thread ------------------------------------------------------------------------

    def _work(self) -> None:
        last_picture = time.monotonic()
        while not self._closed.is_set():
            is_watched = self._watchers > 0 or not self._answered
            busy = SECONDS_PER_TASK * len(self.state["tasks"])
            start = time.monotonic()
            try:
                if is_watched:
                    self._send(_state_message(self.refresh()))
                    if start - last_picture > SECONDS_PER_PICTURE:
                        self._show_picture()
                        last_picture = start
            except ClosedSessionError as over:
                self._note(over.message)
                return
            except Exception as fault:
                self._note(f"{type(fault).__name__}: {fault}"[:300])
            duration = time.monotonic() - start
            self._wake.wait(max(SECONDS - duration, busy, 0.05) if is_watched else SECONDS_ASLEEP)
            self._wake.clear()

    def _note(self, text: str) -> None:
        message: NoteMessage = {"type": "note", "text": text}
        self._send(message)


def _state_message(state: Mapping[str, Any]) -> StateMessage:
    """Returns the part of the state that the browser shows; the reports of the tasks contain more."""
    public_state: ClusterState = {
        "tasks": _rows(TaskReport, state["tasks"]),
        "devices": _rows(DeviceReport, state["devices"]),
        "sent": _rows(Sent, state["sent"]),
        "dashboard": state["dashboard"],
    }
    return {"type": "state", "state": public_state}


def _rows(declared: type[Row], rows: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Returns the fields of each row that the message declares."""
    fields = get_type_hints(declared)
    return [cast(Row, {name: row[name] for name in fields if name in row}) for row in rows]


def show_cluster(cluster: object) -> ClusterView:
    """Returns a live view of a `tf.train.DaskCluster`, or of a session on one: state, memory, variables, and transfers
    between tasks.

    A notebook shows it at once and updates it also while cells run. Raises `DTypeError` if `cluster` is neither,
    `FailedPreconditionError` for a session without a cluster, and `ClosedSessionError` if it is closed.
    """
    view = ClusterView(cluster)
    if in_kernel():
        view.show()
    return view
