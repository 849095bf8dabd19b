"""The messages of `tf.show_graph`.

A graph is compressed by deflate: the length of `GraphHead`, the head as JSON, then columns of 32-bit integers and of
64-bit floats in the order of `ints` and `floats`. Boxes are numbered in preorder; box 0 is the whole graph.
"""

from __future__ import annotations

from typing import Literal, TypedDict, get_args

IntColumn = Literal[
    "parent",
    "label",
    "kind",
    "main",
    "type",
    "device",
    "spec",
    "nodes",
    "extracted",
    "group",
    "inlet",
    "outlet",
    "start",
    "stop",
    "tensors",
    "controls",
    "carried",
    "source",
    "target",
    "before",
    "after",
]
"""Of each box: the box around it, its `labels`, `kinds`, and the part that stands for its own node (or -1); in `types`,
`devices` and `specs`, or -1 (`spec` is that of the first output); nodes inside, 0 or why it is extracted (EXTRACTED),
the group of boxes of one structure, or -1; data edges from and to outside of the box around it.
Of each bundle of edges between parts of one box: its ends, tensors, control edges, their one spec or -1.
Of each edge between leaves: its ends, of data edges, then of control edges."""

FloatColumn = Literal["parameters", "time", "bytes"]


class FloatLengths(TypedDict, total=False):
    """The length of each `FloatColumn` that is present."""

    parameters: int
    time: int
    bytes: int


BoxKind = Literal["scope", "operation", "constant", "variable", "input", "flow", "series"]
KINDS: tuple[BoxKind, ...] = get_args(BoxKind)

ColourBy = Literal["structure", "device", "time", "memory"]
COLOURS: tuple[ColourBy, ...] = get_args(ColourBy)

EXTRACTED = {"none": 0, "hub": 1, "bookkeeping": 2, "attached": 3}


class GraphHead(TypedDict):
    version: Literal[1]
    labels: list[str]
    types: list[str]
    devices: list[str]
    specs: list[str]
    kinds: list[BoxKind]
    missing: int
    """The number of inputs that name a node which the file does not contain."""
    ints: dict[IntColumn, int]
    """The length of each column."""
    floats: FloatLengths


class GraphCard(TypedDict):
    """Details of a selected box that the columns do not contain: short texts, and longer ones that can be unfolded."""

    box: int
    rows: list[tuple[str, str]]
    code: list[tuple[str, str]]


class GraphOptions(TypedDict, total=False):
    colour: ColourBy
    open: list[str]
    """Paths of the boxes that are open at first; without it, as many boxes are open as there is room for."""
    height: int


class GraphMessage(TypedDict):
    """One of the graphs that the compiler produced stage by stage; its columns are in the buffer."""

    type: Literal["graph"]
    stage: int
    stages: list[str]
    options: GraphOptions


class CardMessage(TypedDict):
    type: Literal["card"]
    stage: int
    card: GraphCard


FromKernel = GraphMessage | CardMessage


class _GraphRequest(TypedDict, total=False):
    stage: int
    """The number of the stage; without it, the one that is shown first."""


class GraphRequest(_GraphRequest):
    type: Literal["graph"]


class CardRequest(TypedDict):
    type: Literal["card"]
    stage: int
    box: int


ToKernel = GraphRequest | CardRequest
