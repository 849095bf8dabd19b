"""The messages of `tf.builder`, the visual graph builder.

The Python source is the document. The kernel parses and runs it, and sends what is to be drawn; the browser draws, and
sends edits. A node of the drawing is a statement of the source; its id is the name that the statement assigns (the
first of several), or "line:N" for a statement that assigns none.
"""

from __future__ import annotations

from typing import Literal, TypedDict


class Wire(TypedDict):
    """The output of a node that an input is connected to."""

    node: str
    output: int


class InputPort(TypedDict):
    """A parameter of a call that takes a tensor, or one element of a list of tensors."""

    name: str
    """The parameter's name, with the index for an element of a list: "values[1]". An edit names ports by it."""
    label: str
    wire: Wire | None
    text: str
    """The Python literal that stands in the place of a tensor, or ""."""
    is_needed: bool
    doc: str


class OutputPort(TypedDict):
    name: str
    """The Python name or expression that refers to this output, such as "h" or "parts[1]"."""
    dtype: str
    """For example "float32"; "" if it is not known, because the statement failed or gives no tensor."""
    shape: list[int | None] | None
    """None for an unknown rank, and for an unknown dimension."""


class Parameter(TypedDict):
    """A parameter of a call that takes no tensor; it is edited in the node's form."""

    name: str
    kind: Literal["bool", "int", "float", "string", "shape", "dtype", "choice", "python"]
    text: str
    """The Python text that the source gives, or "" where the source leaves it to the default."""
    default: str
    """The Python text of the default, or "" where there is none."""
    choices: list[str]
    """For "choice" and "dtype", the Python texts to choose from."""
    doc: str


class Fix(TypedDict):
    """One way to mend an error with one click; `id` is sent back in the edit "fix"."""

    id: str
    label: str


class Problem(TypedDict):
    text: str
    """What came and what was needed, in plain words."""
    port: str
    """The name of the input or parameter that the problem is about, or ""."""
    fixes: list[Fix]


class BuilderNode(TypedDict):
    id: str
    kind: Literal["op", "layer", "code", "function"]
    """A call that makes one operation; a call that makes several, which opens; a grey block of other Python; a call of
    a function that the source defines."""
    call: str
    """The function that is called, such as "tf.matmul"; for a grey block its first line."""
    title: str
    line: int
    """The line of the source, from 1."""
    source: str
    """The statement's text."""
    inputs: list[InputPort]
    outputs: list[OutputPort]
    parameters: list[Parameter]
    problem: Problem | None
    parameter_count: int
    """The number of trainable numbers that this node creates."""
    flops: int
    """Floating point operations for one example, or -1 if that is not known."""
    frame: str
    """The id of the frame that holds it, or ""."""


class Frame(TypedDict):
    """A coloured frame around nodes, kept in the source as a comment."""

    id: str
    title: str
    colour: str
    nodes: list[str]


class Note(TypedDict):
    """A comment that stands by itself."""

    id: str
    text: str
    line: int


class Totals(TypedDict):
    parameters: int
    flops: int
    nodes: int
    problems: int


class Drawing(TypedDict):
    """What is drawn after an edit. Nodes that did not change are not sent again."""

    type: Literal["drawing"]
    revision: int
    gesture: int
    """The number of the gesture that this answers; 0 if the kernel or another browser changed the document."""
    changed: list[BuilderNode]
    order: list[str]
    """The ids of all nodes, in the order of the source."""
    lines: list[int]
    """The line of each node of `order`; a node that has only moved to another line is not sent again."""
    frames: list[Frame]
    notes: list[Note]
    positions: dict[str, list[float]]
    """The upper left corners, in pixels at zoom 1, of nodes that have been placed; the browser lays the others out.
    `node>port` has the points through which a wire is drawn, x and y in turn, or [] for a pair of named stubs."""
    totals: Totals
    selected: list[str]
    """The nodes to select, for example those that were pasted; [] leaves the selection."""
    echo: str
    """The lines of Python that the gesture has written, for the log; "" for none."""
    message: str
    """What to announce: the outcome of the gesture, or why it was refused, in plain words."""
    is_refused: bool
    waits_for_line: int
    """The line of half-typed code for which the drawing waits, and which keeps its last state; else 0."""
    can_undo: bool
    can_redo: bool


class SourceMessage(TypedDict):
    """The source after an edit, for the cell and the code pane."""

    type: Literal["source"]
    revision: int
    source: str


class PaletteEntry(TypedDict):
    call: str
    """The function, such as "tf.nn.conv2d"."""
    title: str
    doc: str
    """The first sentence of the docstring."""
    group: str
    """For example "math", "nn", "layers"."""
    port: str
    """With a wire: the input, or output, to which the wire would be connected; else ""."""
    parameters: dict[str, str]
    """Python texts by name that the new call needs to fit, such as the dtype of a placeholder."""


class PaletteMessage(TypedDict):
    type: Literal["palette"]
    request: int
    entries: list[PaletteEntry]
    outputs: list[Wire]
    """With an input: the outputs of the drawing that it accepts, the last of the source first."""


class ConnectTargets(TypedDict):
    """Which inputs a dragged wire may be dropped on, and why the others refuse it."""

    type: Literal["targets"]
    request: int
    accepted: list[tuple[str, str]]
    """Pairs of a node and the name of an input."""
    refused: list[tuple[str, str, str]]
    """The same and the reason."""


class RunValue(TypedDict):
    """The value of one output of a node."""

    name: str
    dtype: str
    shape: list[int]
    text: str
    """The value as a number or a table, shortened."""
    image: str
    """A data URL of a PNG, or ""."""
    histogram: list[tuple[float, float, int]]
    """Lower edge, upper edge and count."""
    nan_count: int
    inf_count: int
    least: float | None
    largest: float | None
    mean: float | None


class RunResult(TypedDict):
    type: Literal["result"]
    node: str
    values: list[RunValue]
    milliseconds: float
    error: str
    """"" if it ran."""
    needs: list[str]
    """The placeholders that have no feed yet, if that is why it did not run."""


class LossPoint(TypedDict):
    """The progress of a training that the builder has started."""

    type: Literal["training"]
    node: str
    step: int
    value: float  # 0 if the loss is not finite
    is_finite: bool
    progress: str  # as "96 of 3,000 · 35/s · 80 s left"
    broken: str  # as "NaN since step 212", or ""
    state: Literal["running", "done", "stopped", "failed"]
    message: str
    needs: list[str]  # the placeholders without a feed, or with a wrong one, if that is why it did not begin


class Clipboard(TypedDict):
    """The Python of the copied nodes, for the browser's clipboard."""

    type: Literal["clipboard"]
    request: int
    text: str


FromKernel = Drawing | SourceMessage | PaletteMessage | ConnectTargets | RunResult | LossPoint | Clipboard


class AddNode(TypedDict):
    """Adds a call. `wires` connects inputs of the new node; `to` connects its first output to an input."""

    edit: Literal["add"]
    call: str
    wires: list[tuple[str, Wire]]
    to: list[tuple[str, str]]
    """Pairs of a node and the name of an input."""
    position: list[float] | None
    parameters: dict[str, str]
    """Python texts by name."""


class Connect(TypedDict):
    edit: Literal["connect"]
    wire: Wire
    node: str
    port: str
    """The name of an input; "" takes the first free input that accepts the wire."""


class Disconnect(TypedDict):
    edit: Literal["disconnect"]
    node: str
    port: str


class SetParameter(TypedDict):
    """Sets a parameter, or the literal of an input, to a Python text; "" takes the argument out of the source."""

    edit: Literal["set"]
    node: str
    name: str
    text: str


class RenameNode(TypedDict):
    edit: Literal["rename"]
    node: str
    name: str


class DeleteNodes(TypedDict):
    """Deletes nodes. With `heal`, wires into the first input of a deleted node go on to the readers of its output."""

    edit: Literal["delete"]
    nodes: list[str]
    heal: bool


class BypassNodes(TypedDict):
    """The readers of nodes read what the first inputs of these read. The nodes stay."""

    edit: Literal["bypass"]
    nodes: list[str]


class MoveNodes(TypedDict):
    """The new upper left corners of nodes. The source does not change."""

    edit: Literal["move"]
    positions: dict[str, list[float]]


class InsertOnWire(TypedDict):
    """Puts a new call between an output and an input that it is connected to."""

    edit: Literal["insert"]
    call: str
    node: str
    port: str
    position: list[float] | None


class ReplaceCall(TypedDict):
    """Calls another function with the same inputs as far as it has them."""

    edit: Literal["replace"]
    node: str
    call: str


class ApplyFix(TypedDict):
    edit: Literal["fix"]
    node: str
    id: str


class GroupNodes(TypedDict):
    """Makes nodes a Python function with inferred parameters, and a call of it."""

    edit: Literal["group"]
    nodes: list[str]
    name: str


class UngroupNode(TypedDict):
    edit: Literal["ungroup"]
    node: str


class Paste(TypedDict):
    """Adds the statements of a Python text, or the nodes of a pbtxt, with new names."""

    edit: Literal["paste"]
    text: str
    position: list[float] | None


class Duplicate(TypedDict):
    edit: Literal["duplicate"]
    nodes: list[str]


class SetFrame(TypedDict):
    """Makes or changes a frame; with no nodes, removes it. An empty id makes a new frame."""

    edit: Literal["frame"]
    id: str
    title: str
    colour: str
    nodes: list[str]


class SetNote(TypedDict):
    """Makes (empty id), changes, or with an empty text removes a note. `before` is the node before which it stands."""

    edit: Literal["note"]
    id: str
    text: str
    before: str


class Minimize(TypedDict):
    """Adds an optimizer's training operation for a loss."""

    edit: Literal["minimize"]
    node: str
    optimizer: str
    """For example "tf.train.AdamOptimizer"."""
    parameters: dict[str, str]


class SetDevice(TypedDict):
    """Places nodes on a device, with `tf.device` in the source; "" removes the constraint."""

    edit: Literal["device"]
    nodes: list[str]
    device: str


class SetSource(TypedDict):
    """The user has typed in the code: the whole new source."""

    edit: Literal["source"]
    source: str


Edit = (
    AddNode
    | Connect
    | Disconnect
    | SetParameter
    | RenameNode
    | DeleteNodes
    | BypassNodes
    | MoveNodes
    | InsertOnWire
    | ReplaceCall
    | ApplyFix
    | GroupNodes
    | UngroupNode
    | Paste
    | Duplicate
    | SetFrame
    | SetNote
    | Minimize
    | SetDevice
    | SetSource
)


class Gesture(TypedDict):
    """One step of undo: all its edits are done, or none."""

    type: Literal["gesture"]
    gesture: int
    """Counts from 1 in each browser."""
    edits: list[Edit]


class Undo(TypedDict):
    type: Literal["undo", "redo"]
    gesture: int


class Open(TypedDict):
    """The browser wants everything: a Drawing with all nodes, and the source."""

    type: Literal["open"]


class PaletteRequest(TypedDict):
    """Asks for calls that fit a query and, if a wire is being dragged, the wire."""

    type: Literal["palette"]
    request: int
    query: str
    wire: Wire | None
    """Calls that accept this output."""
    port: tuple[str, str] | None
    """A node and the name of an input: calls whose output it accepts."""
    count: int
    inside: str
    """The call of a function in whose body `wire` and `port` are, or ""."""


class TargetsRequest(TypedDict):
    type: Literal["targets"]
    request: int
    wire: Wire
    inside: str


class RunRequest(TypedDict):
    """Runs what a node needs, and sends its values."""

    type: Literal["run"]
    node: str
    feeds: dict[str, str]
    """The Python text of the value for each placeholder, by node. Earlier feeds are remembered."""


class TrainRequest(TypedDict):
    """Runs a training operation many times in a thread; the loss is sent while it runs."""

    type: Literal["train", "stop"]
    node: str
    loss: str
    steps: int
    feeds: dict[str, str]


class CopyRequest(TypedDict):
    type: Literal["copy"]
    request: int
    nodes: list[str]


class BuilderState(TypedDict):
    """The traits of the widget's model, saved with the notebook, which shows the picture (SVG) without a kernel."""

    key: str
    source: str
    positions: dict[str, list[float]]
    picture: str
    cell: str
    """The id of the cell whose code this is, or ""."""
    lesson: str
    """The id of the lesson with which the builder begins, or ""."""
