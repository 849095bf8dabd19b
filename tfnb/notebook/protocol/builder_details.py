"""Messages of `tf.builder` beyond drawing and editing: inside of nodes, costs of runs, probes, variants, lessons.

Each request has a number, which its answer repeats. Edits of this module are sent in a gesture, like those of
builder.py.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict


class InsideRequest(TypedDict):
    """Asks for the operations that a node has made, to open it in its place."""

    type: Literal["inside"]
    request: int
    node: str


class Gradient(TypedDict):
    """An operation that computes a gradient, and the operation whose gradient it is."""

    operation: str
    forward: str
    node: str
    """The node that has made the forward operation, or ""."""


class Inside(TypedDict):
    type: Literal["inside"]
    request: int
    node: str
    code: str
    """The body of the function that the node calls, or ""."""
    parameters: list[str]
    """The names of the function's parameters."""
    nodes: list[Any]
    """The statements of the function, as `BuilderNode`s of builder.py; the first is that of the parameters."""
    calls: list[str]
    """All nodes that call this function."""
    count: int
    """The number of operations."""
    columns: str
    """The drawing of the operations: base64 of the bytes that a `GraphMessage` of graph.py has in its buffer."""
    gradients: list[Gradient]


class CompiledRequest(TypedDict):
    """Asks for what the compiler makes of a run to this node."""

    type: Literal["compiled"]
    request: int
    node: str
    feeds: dict[str, str]
    """As in `RunRequest`; remembered too."""


class Stage(TypedDict):
    """The graph after one stage of the compiler; `columns` as in `Inside`."""

    name: str
    count: int
    columns: str


class CompiledCluster(TypedDict):
    """One cluster: the nodes of the drawing and the operations in it, and its OpenCL once it has run."""

    name: str
    device: str
    nodes: list[str]
    operations: list[str]
    sources: list[str]
    launches: list[str]
    not_fused: list[str]


class Compiled(TypedDict):
    type: Literal["compiled"]
    request: int
    node: str
    stages: list[Stage]
    clusters: list[CompiledCluster]
    error: str
    needs: list[str]


class ProfileRequest(TypedDict):
    """Runs a node once with times, and asks where the time went."""

    type: Literal["profile"]
    request: int
    node: str
    feeds: dict[str, str]
    """As in `RunRequest`; remembered too."""


class NodeTime(TypedDict):
    """The time that the kernels of a node took. A kernel of several nodes counts for each by an equal share."""

    node: str
    microseconds: float
    start: float
    """When the first of them began, in microseconds after the begin of the step."""
    kernels: int
    device: str


class Profile(TypedDict):
    type: Literal["profile"]
    request: int
    node: str
    times: list[NodeTime]
    microseconds: float
    """The whole step."""
    other: float
    """The time of kernels that belong to no node of the drawing."""
    error: str
    needs: list[str]


class DevicesRequest(TypedDict):
    """Asks for the devices on which the graph may run, and for the constraints of the nodes."""

    type: Literal["devices"]
    request: int


class DeviceLane(TypedDict):
    name: str
    """The full name, which the edit "device" takes."""
    kind: str
    bytes: int


class Devices(TypedDict):
    type: Literal["devices"]
    request: int
    node: str
    devices: list[DeviceLane]
    constraints: dict[str, str]
    """The device of each node that is constrained to one."""
    error: str
    needs: list[str]


class CompareRequest(TypedDict):
    """Runs two variants on one feed. `node` is a node of either variant."""

    type: Literal["compare"]
    request: int
    node: str
    feeds: dict[str, str]
    """As in `RunRequest`; remembered too."""


class NodeDifference(TypedDict):
    a: str
    b: str
    problem: str
    absolute: float
    relative: float


class Compared(TypedDict):
    type: Literal["compare"]
    request: int
    node: str
    differences: list[NodeDifference]
    """In the order of the computation: the first is where to search for the cause."""
    equal: list[str]
    """The nodes of the first variant whose values are the same in both."""
    error: str
    needs: list[str]


class LessonRequest(TypedDict):
    """Asks for the lessons (an empty `lesson`), or whether the document solves one."""

    type: Literal["lesson"]
    request: int
    lesson: str


class LessonText(TypedDict):
    id: str
    title: str
    text: str
    start: str
    """The source with which the lesson begins."""


class Lessons(TypedDict):
    type: Literal["lesson"]
    request: int
    lessons: list[LessonText]
    """All lessons, or [] as the answer about one."""
    lesson: str
    is_done: bool
    hint: str
    """What to do next, or that it is done."""
    kind: Literal["", "error", "missing", "dtype", "shape", "value"]
    node: str
    """The node that the hint is about, or ""."""


class CopyGraphRequest(TypedDict):
    """Asks for the operations of nodes as protobuf's text; the answer is a `Clipboard`."""

    type: Literal["copy graph"]
    request: int
    nodes: list[str]


class ProbesRequest(TypedDict):
    """The outputs whose values are sent while a training runs; it takes effect at the training's next step."""

    type: Literal["probes"]
    wires: list[tuple[str, int]]
    """Pairs of a node and the number of an output. The list replaces the one before."""


class Probed(TypedDict):
    """The value that an output had in one step of a training."""

    type: Literal["probed"]
    node: str
    output: int
    step: int
    value: Any
    """A `RunValue` of builder.py, or None if there is none."""
    error: str


DetailsFromKernel = Inside | Compiled | Profile | Devices | Compared | Lessons | Probed


class PickTensor(TypedDict):
    """Adds a statement that refers to an output of any operation, also of one inside of a block or of a file."""

    edit: Literal["pick"]
    operation: str
    output: int


class MakeVariant(TypedDict):
    """Writes nodes a second time as the variant B; what they read outside of themselves is shared."""

    edit: Literal["variant"]
    nodes: list[str]


class OwnFunction(TypedDict):
    """Gives one call a copy of the function that it calls, so that edits of it leave the other calls alone."""

    edit: Literal["own"]
    node: str


class EditInside(TypedDict):
    """Edits the body of the function that a node calls, and so all its calls. `edits` are edits of builder.py."""

    edit: Literal["inside"]
    node: str
    edits: list[Any]


class RouteWire(TypedDict):
    """How the wire into an input is drawn: through points, or as a pair of named stubs. The source does not change."""

    edit: Literal["route"]
    node: str
    port: str
    points: list[list[float]]
    is_link: bool


DetailEdit = PickTensor | MakeVariant | OwnFunction | EditInside | RouteWire
