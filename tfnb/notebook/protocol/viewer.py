"""The messages of `tf.view`: what the kernel sends about runs, and what the browser asks for.

Numbers are sent as the bytes of float64 arrays.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict, get_args

Kind = Literal["scalar", "histogram", "image", "audio", "text", "tensor"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class ParameterTable(TypedDict):
    name: str
    rows: list[tuple[str, int, str, int]]
    """Scope or variable, its depth, its shape, and its number of parameters."""


class HyperParameters(TypedDict):
    run: str
    values: dict[str, str]
    metrics: dict[str, str]
    """The newest values of some scalars."""


class Catalogue(TypedDict):
    runs: list[str]
    tags: dict[Kind, list[str]]
    first_runs: int
    """How many runs are shown until the user selects others."""
    parameters: list[ParameterTable]
    hparams: list[HyperParameters]
    notes: list[str]


class CurveData(TypedDict):
    run: int
    total: int
    """The number of points before downsampling."""
    step: bytes
    wall: bytes
    value: bytes
    kept: bytes
    """Where the points above stand among all values; empty if these are all."""
    every: bytes
    """All values, which the browser smooths: float32 if that is exact (told by the length), else float64; empty if
    the points above are all.
    """


class _Content(TypedDict, total=False):
    number: int
    """Different in each message, so that a trait with equal content is sent as well."""


class ScalarContent(_Content):
    kind: Literal["scalar"]
    tag: str
    curves: list[CurveData]


class HistogramRun(TypedDict):
    run: int
    total: int
    steps: bytes
    walls: bytes
    levels: bytes
    """Nine percentiles per step."""
    ridges: bytes
    """Counts in common buckets from `low` to `high`, per step."""
    low: float
    high: float
    notes: list[str]


class HistogramContent(_Content):
    kind: Literal["histogram"]
    tag: str
    runs: list[HistogramRun]
    left_out: int


class ItemTime(TypedDict):
    step: int
    wall: float


class UnreadableItem(ItemTime):
    note: str
    """Why the item cannot be shown."""


class ImageItem(ItemTime):
    width: int
    height: int
    png: bytes


class AudioItem(ItemTime):
    wav: bytes
    rate: int
    channels: int
    seconds: float
    of: float
    """The duration of the whole recording, of which this may be the beginning."""


class TextItem(ItemTime):
    text: str
    cut: int
    """The number of characters that were cut off."""


class ImageRun(TypedDict):
    run: int
    total: int
    items: list[ImageItem | UnreadableItem]


class AudioRun(TypedDict):
    run: int
    total: int
    items: list[AudioItem | UnreadableItem]


class TextRun(TypedDict):
    run: int
    total: int
    items: list[TextItem | UnreadableItem]


class ImageContent(_Content):
    kind: Literal["image"]
    tag: str
    runs: list[ImageRun]
    left_out: int


class AudioContent(_Content):
    kind: Literal["audio"]
    tag: str
    runs: list[AudioRun]
    left_out: int


class TextContent(_Content):
    kind: Literal["text"]
    tag: str
    runs: list[TextRun]
    left_out: int


class TensorContent(_Content):
    kind: Literal["tensor"]
    tag: str
    runs: list[TextRun]
    left_out: int


Content = ScalarContent | HistogramContent | ImageContent | AudioContent | TextContent | TensorContent


class ChartTheme(TypedDict):
    """`charts` are empty charts as JSON for `Bokeh.embed.embed_item`; the browser requests further ones by name."""

    version: str
    colours: list[str]
    dashes: list[str]
    charts: dict[str, Any]


class Wanted(TypedDict):
    """The content that is visible in the browser; the kernel sends nothing else."""

    kind: Kind
    tags: list[str]
    runs: list[int]


class AppendPoints(TypedDict):
    """New points of curves that were sent before. For each curve the first buffer contains steps, then times, then
    values; the second one contains all new values, of which these are a selection, and then the places of these.
    """

    op: Literal["append"]
    tags: list[str]
    curves: list[tuple[int, int, int, int, int]]
    """Index of the tag, run, total before and after this message, number of points in the buffer."""
    pause: float
    """The least number of seconds until the next message."""


class Note(TypedDict):
    op: Literal["note"]
    text: str


class CsvFile(TypedDict):
    """A CSV file, whose content is in the buffer."""

    op: Literal["csv"]
    tag: str


FromKernel = AppendPoints | Note | CsvFile


class ExportRequest(TypedDict):
    op: Literal["csv", "frame"]
    tag: str


class ChartRequest(TypedDict):
    op: Literal["chart"]
    name: str


class VisibilityRequest(TypedDict):
    """A place of the view became visible ("hello") or hidden ("bye"), or lacks the points before the new ones
    ("whole").
    """

    op: Literal["hello", "bye", "whole"]


ToKernel = ExportRequest | ChartRequest | VisibilityRequest


class _ViewerState(TypedDict, total=False):
    has_kernel: bool
    """False where Jupyter's server takes the place of the kernel."""
    options: str
    """What the user has chosen, as the page writes it; a page that is loaded again begins with it. Servers lack it."""


class ViewerState(_ViewerState):
    """The traits of the widget's model."""

    key: str
    library: str
    """The id of the model that carries BokehJS."""
    templates: ChartTheme
    catalogue: Catalogue
    changes: list[Content]
    wanted: Wanted
