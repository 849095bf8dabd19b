"""The messages of `tf.timeline`. The columns of the events are the buffers of "data", in the order of COLUMNS."""

from __future__ import annotations

from typing import Literal, TypedDict, get_args

EventKind = Literal["kernel", "host", "launch", "compile", "transfer", "schedule", "wait"]
KINDS: tuple[EventKind, ...] = get_args(EventKind)

# The dtype of each column. `cause` is the event that was waited for, or -1; `critical` is 1 on the critical path.
COLUMNS = {
    "start": "float64",
    "end": "float64",
    "row": "int32",
    "label": "int32",
    "kind": "uint8",
    "step": "int32",
    "cause": "int32",
    "critical": "uint8",
}


class Lane(TypedDict):
    """Rows `row` to `row + rows - 1` of the drawing: a queue of a device, a thread of the host, or transfers."""

    device: str
    name: str
    row: int
    rows: int
    group: str
    """The task of the lane, where a step ran on several; the lanes of a task follow each other."""


class CostRow(TypedDict):
    """The cost of all events of one label; `share` is relative to all kernels and host kernels."""

    label: int
    name: str
    op: str
    source: str
    """The user's line that created the operation."""
    kind: str
    count: int
    total_us: float
    mean_us: float
    max_us: float
    share: float


class TraceMeta(TypedDict):
    kinds: list[EventKind]
    lanes: list[Lane]
    labels: list[str]
    span_us: float
    n_rows: int
    steps: list[tuple[float, float]]
    """Begin and duration of each step, in microseconds."""
    table: list[CostRow]
    summary: str
    account: list[tuple[str, float]]
    """Where the time of all steps went, in microseconds: kernels and the gaps between them add up to it."""


class NodeCard(TypedDict):
    name: str
    op: str
    shapes: list[str]
    source: str
    """The user's line that created the node, or the node whose gradient it computes."""
    gradient_of: str
    """The node whose gradient it computes, or ""."""


class EventCard(TypedDict):
    """What the kernel knows of an event beyond its columns."""

    op: str
    kind: str
    device: str
    lane: str
    nbytes: int
    detail: str
    woken_by: str
    nodes: list[NodeCard]
    more: int


class DataMessage(TypedDict):
    type: Literal["data"]
    trace: TraceMeta


class CardMessage(TypedDict):
    type: Literal["card"]
    event: int
    card: EventCard


class ChromeMessage(TypedDict):
    type: Literal["chrome"]
    text: str


FromKernel = DataMessage | CardMessage | ChromeMessage


class DataRequest(TypedDict):
    type: Literal["ready"]


class CardRequest(TypedDict):
    type: Literal["card"]
    event: int


class ChromeRequest(TypedDict):
    type: Literal["chrome"]


ToKernel = DataRequest | CardRequest | ChromeRequest
