"""How a notebook displays graphs, operations, variables, sessions, devices, caches, recorded steps and progress.

`register` is called when tfnb is imported inside IPython; it also installs `tfnb/notebook/tracebacks.py` and the magic
`%%tfnb_build`. IPython's own formatters are used, so nothing is patched and the core's classes do not know of their
displays. Invariant: a display never fails; for an object that it cannot draw, IPython shows the `repr`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

import tfnb.notebook as notebook
from tfnb.caches import CacheInfo, Caches
from tfnb.client.variables.variable import Variable
from tfnb.errors import InvalidArgumentError, OpError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.session.default import get_default_session

if TYPE_CHECKING:  # sessions load OpenCL, which `import tfnb` does not
    from tfnb.lessons.checking import Progress
    from tfnb.session.config import RunMetadata
    from tfnb.session.local import DeviceDescription
    from tfnb.session.recording import Recording
    from tfnb.session.session import Session

__all__ = [
    "caches_html",
    "device_html",
    "graph_html",
    "tensor_html",
    "devices_html",
    "operation_html",
    "progress_html",
    "session_html",
    "steps_html",
    "variable_html",
]

UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def graph_html(graph: GraphBuilder) -> str | None:
    """Returns the picture of a graph."""
    return notebook.show_graph(graph)._repr_html_()


def session_html(session: Session) -> str:
    """Returns the HTML of a session: its devices, the size of its graph and, folded, the counters of its caches."""
    size = len(session.graph.get_operations())
    kept = f"<details><summary>what it has compiled and keeps</summary>{caches_html(session.list_caches())}</details>"
    return f"{devices_html(session.list_devices())}<p>graph: {size:,} operations</p>{kept}"


def device_html(device: DeviceDescription) -> str:
    """Returns the HTML table of one device."""
    return devices_html([device])


def devices_html(devices: Iterable[DeviceDescription]) -> str:
    """Returns the HTML table of devices: name, kind, hardware, platform, compute units and memory."""
    rows = []
    for device in devices:
        details = device.details
        rows.append(
            (
                device.name,
                device.device_type,
                str(details.get("device", "")),
                str(details.get("platform", "")),
                str(details.get("units", "")),
                _amount(device.memory_limit_bytes),
            )
        )
    return _table(("device", "type", "hardware", "platform", "units", "memory"), rows)


def caches_html(caches: Caches) -> str:
    """Returns the HTML table of caches: those of `tf.list_caches()`, or of a session."""
    rows = [
        [info.name, *(f"{n:,}" for n in info[1:6]), f"{info.seconds:,.2f}" if info.seconds is not None else ""]
        for info in caches
    ]
    return _table(CacheInfo._fields, rows)


def operation_html(op: Operation) -> str:
    """Returns the HTML of an operation: its inputs, outputs and attributes, and the user's line that created it."""
    rows = [("type", op.type)]
    rows += [("input", _spec(t)) for t in op.inputs]
    rows += [("control input", c.name) for c in op.control_inputs]
    rows += [("output", _spec(t)) for t in op.outputs]
    if op.device:
        rows.append(("device", op.device))
    if op.origin is not None:
        rows.append(("source", str(op.origin)))
    return _table(("operation", op.name), rows)


def tensor_html(tensor: Tensor) -> str:
    """Returns what `operation_html` gives of the tensor's operation."""
    return operation_html(tensor.op)


def variable_html(variable: Variable) -> str:
    """Returns the HTML of a variable: shape, size, the line that created it, and its values if there is a default
    session.
    """
    dtype, shape = variable.dtype, variable.get_shape()
    rows = [("type", f"{dtype.name} {shape}")]
    size = shape.num_elements() if shape.is_fully_defined() else None
    if size is not None:
        rows.append(("size", f"{size:,} values, {_amount(size * dtype.size)}"))
    op = variable.op
    rows.append(("trainable", "yes" if variable in op.graph.get_collection("trainable_variables") else "no"))
    if op.device:
        rows.append(("device", op.device))
    rows.append(("initializer", variable.initial_value.name if variable.initial_value is not None else ""))
    rows.append(("value", _values(variable)))
    if op.origin is not None:
        rows.append(("source", str(op.origin)))
    return _table(("variable", variable.name), [row for row in rows if row[1]])


def _values(variable: Variable) -> str:
    """Returns the values of a variable in the default session, as text."""
    session = get_default_session()
    if session is None or session.graph is not variable.op.graph:
        return ""
    try:
        values = np.asarray(session.run(variable))
    except OpError as e:
        return f"{type(e).__name__}: {str(e).splitlines()[0]}"
    if values.size > 8 and values.dtype.kind in "fiu":
        mean = values.mean(dtype=np.float64)
        n_nonfinite = int(values.size - np.isfinite(values).sum())
        range_and_mean = f"from {values.min():.4g} to {values.max():.4g}, mean {mean:.4g}"
        return f"{range_and_mean}; {n_nonfinite:,} are not finite" if n_nonfinite else range_and_mean
    return np.array2string(values, threshold=8)


def steps_html(steps: RunMetadata | Recording) -> str | None:
    """Returns the HTML of the timeline of a recording or of a run's metadata, and of the compiler passes of the step;
    None without either.
    """
    try:
        picture = notebook.timeline(steps)._repr_html_()
    except InvalidArgumentError:  # nothing was recorded
        picture = ""
    passes = [
        (name, f"{len(graph.nodes):,} nodes") for name, graph in getattr(steps, "passes", ()) if hasattr(graph, "nodes")
    ]
    return (picture + (_table(("pass", "graph after it"), passes) if passes else "")) or None


def progress_html(progress: Progress) -> str:
    """Returns the HTML table of a reader's progress: points and tries of each exercise, and the sum."""
    rows = [
        (number, title, f"{points} of {most}", str(tries) if tries else "")
        for number, title, points, most, tries in progress.rows
    ]
    total = f"<p>{progress.points} of {progress.most} points</p>"
    return (
        _table(("", "exercise", "points", "tries"), rows)
        + total
        + (f"<p>{escape(progress.note)}</p>" * bool(progress.note))
    )


def _spec(tensor: Tensor) -> str:
    return f"{tensor.name}  {tensor.dtype.name} {tensor.shape}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def row(cells: Sequence[str], tag: str) -> str:
        style = "text-align:left;white-space:pre-wrap"
        inner = "".join(f'<{tag} style="{style}">{escape(c)}</{tag}>' for c in cells)
        return f"<tr>{inner}</tr>"

    body = "".join(row(cells, "td") for cells in rows)
    return f'<table class="tfnb-table"><thead>{row(head, "th")}</thead><tbody>{body}</tbody></table>'


def _amount(size: float) -> str:
    unit = 0
    while size >= 1024 and unit < len(UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.3g} {UNITS[unit]}"
