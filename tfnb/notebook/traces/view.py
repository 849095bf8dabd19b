"""`tf.timeline`: the times of a recording in the notebook, to zoom, search and ask (white paper, section 9.2).

The cell's output is a picture; where a kernel is there the browser puts the live view in its place, fed over the
widget channel. Invariant: a saved notebook needs neither kernel nor network to show the picture.
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
from tfnb.notebook.outlet import in_kernel
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
from tfnb.notebook.traces.causes import MOST, causes, critical_path
from tfnb.notebook.traces.lanes import is_host, short_name
from tfnb.notebook.traces.model import MOST_EVENTS, TraceModel, trace_model
from tfnb.notebook.traces.picture import time_text, timeline_html
from tfnb.notebook.traces.trace_file import TraceFile, TraceStep, read_trace
from tfnb.session.chrome_trace import chrome_trace
from tfnb.session.recording import Recording

__all__ = ["Timeline", "timeline"]

MOST_BYTES = 512 << 20  # of a trace file; Python makes about eight times that of it
MOST_LIVE = 8  # views that the kernel answers; older ones keep what the browser has of them


class TimelineChannel(Channel):
    """The line to the browser."""

    _esm = widget_module("timeline")


_live: deque[TimelineChannel] = deque()


def timeline(found: Any) -> Timeline:
    """The timeline of a recording (`tf.profile`), a `tf.RunMetadata`, its `step_stats`, a message of either, a file.

    A file is a Chrome trace, ours or another profiler's, as JSON or gzipped. Shown as the last value of a cell. Raises
    `InvalidArgumentError` when there is nothing to show, for files also what `read_trace` raises.
    """
    if isinstance(found, str | os.PathLike):
        found = read_trace(os.fspath(found), MOST_BYTES, MOST_EVENTS)
    return Timeline(found)


class Timeline:
    """See `timeline`. `model` has the events as columns."""

    def __init__(self, found: Any) -> None:
        self.model: TraceModel = trace_model(found)
        self._found = found

    # ---- for programs ----------------------------------------------------------------------

    @property
    def most_expensive(self) -> list[CostRow]:
        """Operations by what they cost in all, in microseconds."""
        return self.model.table()

    @cached_property
    def _causes(self) -> np.ndarray:
        return causes(self.model)

    @cached_property
    def _critical(self) -> np.ndarray:
        return critical_path(self.model, self._causes)

    @property
    def critical_path(self) -> list[Any]:
        """The NodeStats on the critical paths of the steps, in order."""
        return [self.model.events[i] for i in np.flatnonzero(self._critical)]

    def chrome_trace(self) -> str:
        """JSON for chrome://tracing or Perfetto."""
        if isinstance(self._found, Recording | TraceFile):
            return chrome_trace(self._found.steps)
        return chrome_trace([TraceStep(0.0, self.model.events, self.model.span_us)])

    def save(self, path: Any) -> None:
        """Writes the Chrome trace to a file."""
        Path(path).write_text(self.chrome_trace(), "utf-8")

    @property
    def summary(self) -> str:
        """One sentence: how long, and where the time went."""
        steps = self.model.steps
        wall = sum(s.wall_us for s in steps) or 1.0
        told = ", ".join(f"{name} {us / wall:.0%}" for name, us in self.account if name != "other")
        text = (
            f"{len(steps):,} step{'s' * (len(steps) > 1)} of {time_text(wall / len(steps))}: {told} of it; "
            f"{len(self.model.events):,} events"
        )
        if len(self.model.events) > MOST:
            text += f"; arrows and critical path for the first {MOST:,}"
        return "; ".join([text, *self.model.notes])

    @property
    def account(self) -> list[tuple[str, float]]:
        """Where the time of all steps went, in microseconds: kernels, and the gaps between them by what filled them."""
        return self.model.account

    # ---- for people ------------------------------------------------------------------------

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
        channel.on_msg(self._asked)
        _live.append(channel)
        if len(_live) > MOST_LIVE:
            _live.popleft().close()

    def _asked(self, channel: Any, message: Any, buffers: Any) -> None:
        answer = self.answer(message)
        if answer is not None:
            channel.send(answer[0], buffers=answer[1])

    def answer(self, message: Mapping[str, Any]) -> tuple[FromKernel, list[bytes]] | None:
        """What the browser gets for what it asked, with arrays; None for what is no question."""
        what = message.get("type")
        if what == "ready":
            data: DataMessage = {"type": "data", "trace": self._meta()}
            return data, self._columns()
        if what == "card":
            i = message.get("event")
            if isinstance(i, int) and 0 <= i < len(self.model.events):
                card: CardMessage = {"type": "card", "event": i, "card": self.model.card(i)}
                return card, []
        if what == "chrome":
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
