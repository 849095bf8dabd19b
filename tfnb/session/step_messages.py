"""Conversion of the times of a step to and from TensorFlow's StepStats message (white paper, section 9.2).

A device becomes a DeviceStepStats with its full name, and a lane one of its threads. A kernel that computes several
nodes has an entry for each node of the user's graph, with an equal share of its time, so that sums over scopes are
right. Invariant: times that were written here are read back unchanged, to the nanosecond.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from tfnb.errors import InvalidArgumentError
from tfnb.ir.protos import proto

__all__ = ["fields_of", "parsed", "step_stats_message"]

_DEVICE = re.compile(r"(?:(/job:[^/]+/replica:\d+/task:\d+)/)?(?:host|(?:device:)?([A-Z]+:\d+))")
_OURS = "tfnb"  # marks a label with data for which TensorFlow's message has no field


M = TypeVar("M", covariant=True)


class MessageType(Protocol[M]):
    """The class of a protobuf message."""

    DESCRIPTOR: Any

    def FromString(self, data: bytes, /) -> M: ...


@dataclass(frozen=True)
class NodeStats:
    """The begin and end of one event of a step, in microseconds since the begin of the step.

    `kind` is "kernel" (on a device), "host" (a host kernel), "launch" or "compile" (of a cluster), "transfer",
    "schedule" (the executor) or "wait". `lane` is the queue of `device`, or the host thread. `nodes` are the names of
    the graph nodes that the event computed. `detail` says for what a wait waited, and `woken_by` names the thread that
    ended it.
    """

    name: str
    op: str
    device: str
    start_us: float
    end_us: float
    nbytes: int = 0
    nodes: tuple[str, ...] = ()
    kind: str = "kernel"
    lane: str = ""
    detail: str = ""
    woken_by: str = ""

    @property
    def took_us(self) -> float:
        """The duration of the event in microseconds."""
        return self.end_us - self.start_us


class NodeExecStatsMessage(Protocol):
    """The fields of TensorFlow's NodeExecStats message that are read here."""

    node_name: str
    timeline_label: str
    thread_id: int
    all_start_micros: int
    all_start_nanos: int
    all_end_rel_micros: int
    all_end_rel_nanos: int
    output: Sequence[Any]


class DeviceStepStatsMessage(Protocol):
    """The fields of TensorFlow's DeviceStepStats message that are read here."""

    device: str
    thread_names: Mapping[int, str]
    node_stats: Sequence[NodeExecStatsMessage]


class StepStatsMessage(Protocol):
    """TensorFlow's StepStats message."""

    dev_stats: Sequence[DeviceStepStatsMessage]


def step_stats_message(times: Iterable[NodeStats]) -> Any:
    """The StepStats message of these times."""
    message = proto("step_stats").StepStats()
    devices: dict[str, Any] = {}
    lanes: dict[tuple[str, str], int] = {}
    for t in times:
        full_name = _full_device(t)
        device = devices.get(full_name)
        if device is None:
            device = devices[full_name] = message.dev_stats.add(device=full_name)
        lane = lanes.setdefault((full_name, t.lane), len(device.thread_names))
        device.thread_names[lane] = t.lane
        nodes = list(dict.fromkeys(_users_node(n) for n in t.nodes)) or [t.name]
        own_fields = {
            "name": t.name,
            "op": t.op,
            "kind": t.kind,
            "device": t.device if t.device != full_name else "",
            "nodes": t.nodes,
            "nbytes": t.nbytes,
            "detail": t.detail,
            "woken_by": t.woken_by,
            "nanos": _nanos(t),
        }
        own_json = json.dumps({k: v for k, v in own_fields.items() if v}, ensure_ascii=False)
        for name in nodes:
            label = f"{name} = {t.op}() {_OURS}{own_json}"
            time_fields = _times(t.start_us, _nanos(t) // len(nodes))
            device.node_stats.add(node_name=name, timeline_label=label, thread_id=lane, **time_fields)
            own_json = json.dumps({"part": True})
    return message


def _full_device(t: NodeStats) -> str:
    """The full name that TensorFlow gives the device of an event; host kernels run on the first CPU of their task.

    What a host does besides (it launches, it waits) stays at a device of that name, and other texts, as the names of
    TensorFlow's streams, are returned unchanged.
    """
    matched = _DEVICE.fullmatch(t.device)
    if matched is None or (matched[2] is None and t.kind != "host"):
        return t.device
    return f"{matched[1] or '/job:localhost/replica:0/task:0'}/device:{matched[2] or 'CPU:0'}"


def _users_node(name: str) -> str:
    """The name of the node of the user's graph. A part of a composite operation is named `node/part#number`."""
    prefix, mark, _ = name.partition("#")
    return (prefix.rpartition("/")[0] or prefix) if mark else name


def _nanos(t: NodeStats) -> int:
    return max(round((t.end_us - t.start_us) * 1e3), 0)


def _times(start_us: float, took: int) -> dict[str, int]:
    start = round(start_us * 1e3)
    return {
        "all_start_micros": start // 1000,
        "op_end_rel_micros": took // 1000,
        "all_end_rel_micros": took // 1000,
        "all_start_nanos": start,
        "op_end_rel_nanos": took,
        "all_end_rel_nanos": took,
    }


def parsed(message: MessageType[M], data: bytes) -> M:
    """The message of type `message` whose bytes are `data`. Raises `InvalidArgumentError`."""
    try:
        return message.FromString(data)
    except Exception as e:  # protobuf's DecodeError, whose module depends on the implementation
        raise InvalidArgumentError(f"not a {message.DESCRIPTOR.full_name}: {e}") from e


def fields_of(message: StepStatsMessage) -> list[dict[str, Any]]:
    """The keyword arguments of NodeStats for the entries of a StepStats message, by their start.

    Times of a message from TensorFlow are made relative to the first entry."""
    events: list[dict[str, Any]] = []
    ours = False
    for device in message.dev_stats:
        for s in device.node_stats:
            fields = _fields(device, s)
            ours = fields.pop("ours", False) or ours
            if not fields.pop("part", False):
                events.append(fields)
    events.sort(key=lambda f: (f["start_us"], -f["end_us"]))
    if events and not ours:
        zero = events[0]["start_us"]
        for f in events:
            f["start_us"] -= zero
            f["end_us"] -= zero
    return events


def _fields(device: DeviceStepStatsMessage, s: NodeExecStatsMessage) -> dict[str, Any]:
    start = s.all_start_nanos or s.all_start_micros * 1000
    duration = s.all_end_rel_nanos or s.all_end_rel_micros * 1000
    fields: dict[str, Any] = {
        "device": device.device,
        "start_us": start / 1e3,
        "end_us": (start + duration) / 1e3,
        "lane": device.thread_names.get(s.thread_id, f"thread {s.thread_id}"),
    }
    _, marked, own_json = s.timeline_label.partition(f"() {_OURS}{{")
    if marked:
        try:
            return fields | _own_fields(json.loads("{" + own_json), s.node_name, start)
        except (ValueError, TypeError, OverflowError):
            pass  # a label of another program that looks like one of tfnb
    op = s.timeline_label.partition(" = ")[2].partition("(")[0].strip()
    kind = "transfer" if "MEMCPY" in s.timeline_label.upper() or op in ("_Send", "_Recv") else "kernel"
    nbytes = sum(o.tensor_description.allocation_description.requested_bytes for o in s.output)
    return fields | {"name": s.node_name, "op": op, "kind": kind, "nodes": (s.node_name,), "nbytes": nbytes}


def _own_fields(own: Mapping[str, Any], node: str, start: int) -> dict[str, Any]:
    if own.get("part"):
        return {"ours": True, "part": True}
    texts = {k: str(own.get(k, "")) for k in ("op", "kind", "detail", "woken_by")}
    nodes = own.get("nodes", [])
    if not isinstance(nodes, list):
        raise TypeError("nodes must be a list")
    if own.get("device"):
        texts["device"] = str(own["device"])
    return texts | {
        "name": str(own.get("name", node)),
        "nbytes": int(own.get("nbytes", 0)),
        "nodes": tuple(map(str, nodes)),
        "end_us": (start + int(own.get("nanos", 0))) / 1e3,
        "ours": True,
    }
