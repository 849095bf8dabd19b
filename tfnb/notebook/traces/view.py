"""`tf.timeline`: the times of a recording in the notebook, to zoom and to search (white paper, section 9.2).

The output of the cell is a picture. If there is a kernel, the browser replaces it by the live view, whose data come
over the widget channel. Invariant: a saved notebook shows the picture without a kernel and without a network.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from tfnb.notebook.assets import widget_module
from tfnb.notebook.channel import Channel
from tfnb.notebook.protocol.timeline import (
    COLUMNS,
    KINDS,
    CardMessage,
    ChromeMessage,
    CostRow,
    DataMessage,
    FromKernel,
    TraceMeta,
)
from tfnb.notebook.protocol.timeline import Lane as LaneMessage
from tfnb.notebook.replaceable_output import in_kernel
from tfnb.notebook.traces.causes import MOST, causes, critical_path
from tfnb.notebook.traces.lanes import is_host, short_name
from tfnb.notebook.traces.model import MOST_EVENTS, TraceModel, trace_model
from tfnb.notebook.traces.picture import time_text, timeline_html
from tfnb.notebook.traces.trace_file import TraceFile, TraceStep, read_trace
from tfnb.session.chrome_trace import chrome_trace
from tfnb.session.config import NodeStats
from tfnb.session.recording import Recording

__all__ = ["Timeline", "timeline"]

MOST_BYTES = 512 << 20  # the largest trace file; in memory it takes about eight times as much
MOST_LIVE = 8  # the number of views that the kernel answers; older ones keep only the data that the browser has


class TimelineChannel(Channel):
    """The channel to the browser."""

    _esm = widget_module("timeline")


_live: deque[TimelineChannel] = deque()


def timeline(recording: object) -> Timeline:
    """Returns the timeline of a recording (`tf.profile`), a `tf.RunMetadata`, its `step_stats`, a message of either, or
    a file.

    A file is a Chrome trace, written by tfnb or by another profiler, as JSON or gzipped. A notebook shows the timeline
    as the last value of a cell. Raises `InvalidArgumentError` if there is no event to show, and for files the errors of
    `read_trace`.
    """
    if isinstance(recording, str | os.PathLike):
        recording = read_trace(os.fspath(recording), MOST_BYTES, MOST_EVENTS)
    return Timeline(recording)


class Timeline:
    """The view that `timeline` returns. `model` contains the events as columns."""

    def __init__(self, recording: object) -> None:
        self.model: TraceModel = trace_model(recording)
        self._recording = recording

    # ---- the interface for programs ----------------------------------------------------------------------

    @property
    def most_expensive(self) -> list[CostRow]:
        """Operations by their total cost in microseconds, the most expensive first."""
        return self.model.table()

    @cached_property
    def _causes(self) -> np.ndarray:
        return causes(self.model)

    @cached_property
    def _critical(self) -> np.ndarray:
        return critical_path(self.model, self._causes)

    @property
    def critical_path(self) -> list[NodeStats]:
        """The events on the critical paths of the steps, in the order of their begin."""
        return [self.model.events[i] for i in np.flatnonzero(self._critical)]

    def chrome_trace(self) -> str:
        """Returns the recording as JSON for chrome://tracing or Perfetto."""
        if isinstance(self._recording, Recording | TraceFile):
            return chrome_trace(self._recording.steps)
        return chrome_trace([TraceStep(0.0, self.model.events, self.model.span_us)])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the Chrome trace to a file."""
        Path(path).write_text(self.chrome_trace(), "utf-8")

    @property
    def summary(self) -> str:
        """Returns one sentence: the number and duration of the steps, and what their time was spent on."""
        steps = self.model.steps
        wall = sum(s.wall_us for s in steps) or 1.0
        shares = ", ".join(f"{name} {duration / wall:.0%}" for name, duration in self.account if name != "other")
        text = (
            f"{len(steps):,} step{'s' * (len(steps) > 1)} of {time_text(wall / len(steps))}: {shares} of it; "
            f"{len(self.model.events):,} events"
        )
        if len(self.model.events) > MOST:
            text += f"; arrows and critical path for the first {MOST:,}"
        return "; ".join([text, *self.model.notes])

    @property
    def account(self) -> list[tuple[str, float]]:
        """The time of all steps in microseconds, by what it was spent on: kernels, and the gaps between them."""
        return self.model.account

    # ---- the display ------------------------------------------------------------------------

    def __repr__(self) -> str:
        lines = [
            f"{r['share']:7.1%} {time_text(r['total_us']):>10} {r['count']:6} x {r['name']} ({r['op']})"
            for r in self.most_expensive[:10]
        ]
        return "\n".join([f"<tf.timeline: {self.summary}>", *lines])

    def _repr_html_(self) -> str:
        key = uuid4().hex
        if in_kernel():
            self._open(key)
        return (
            f'<div id="tfnb-{key}" class="tfnb-timeline" data-tfnb-view="{key}">{timeline_html(self.model)}</div>'
            f'<script>globalThis.tfnbViews?.["{key}"]?.(document.getElementById("tfnb-{key}"))</script>'
        )

    def _open(self, key: str) -> None:
        channel = TimelineChannel(key)
        channel.on_msg(self._received)
        _live.append(channel)
        if len(_live) > MOST_LIVE:
            _live.popleft().close()

    def _received(self, channel: TimelineChannel, message: object, _buffers: object) -> None:
        """Handles a message from the browser, in the thread of a comm."""
        reply = self.answer(message) if isinstance(message, dict) else None
        if reply is not None:
            channel.send(reply[0], buffers=reply[1])

    def answer(self, message: Mapping[str, Any]) -> tuple[FromKernel, list[bytes]] | None:
        """Returns the reply to a message of the browser, and the reply's buffers; None for any other message."""
        kind = message.get("type")
        if kind == "ready":
            data: DataMessage = {"type": "data", "trace": self._meta()}
            return data, self._columns()
        if kind == "card":
            i = message.get("event")
            if isinstance(i, int) and 0 <= i < len(self.model.events):
                card: CardMessage = {"type": "card", "event": i, "card": self.model.card(i)}
                return card, []
        if kind == "chrome":
            chrome: ChromeMessage = {"type": "chrome", "text": self.chrome_trace()}
            return chrome, []
        return None

    def _meta(self) -> TraceMeta:
        m = self.model
        lanes: list[LaneMessage] = [
            {
                "device": lane.device,
                "name": _lane_name(lane.device, lane.name),
                "row": lane.row,
                "rows": lane.rows,
                "group": short_name(lane.group),
            }
            for lane in m.lanes
        ]
        return {
            "kinds": list(KINDS),
            "lanes": lanes,
            "labels": m.labels,
            "span_us": m.span_us,
            "summary": self.summary,
            "steps": [(s.begin_us, s.wall_us) for s in m.steps],
            "table": m.table()[:500],
            "n_rows": sum(lane.rows for lane in m.lanes),
            "account": self.account,
        }

    def _columns(self) -> list[bytes]:
        m = self.model
        columns = {
            "start": m.start,
            "end": m.end,
            "row": m.row,
            "label": m.label,
            "kind": m.kind,
            "step": m.step,
            "cause": self._causes,
            "critical": self._critical,
        }
        return [columns[name].astype(dtype, copy=False).tobytes() for name, dtype in COLUMNS.items()]


def _lane_name(device: str, lane: str) -> str:
    return lane if is_host(device) else f"{device.rpartition('device:')[2]} {lane}"
