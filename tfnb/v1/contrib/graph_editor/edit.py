"""Parts of a graph are cut off, connected with others, or passed by.

Invariant: what is cut off is replaced by placeholders of the same dtype and shape.
"""

from __future__ import annotations

from typing import Any

from tfnb.errors import InvalidArgumentError
from tfnb.ir.builder import GraphBuilder
from tfnb.v1.contrib.graph_editor.elements import ControlOutputs, make_placeholder_from_tensor
from tfnb.v1.contrib.graph_editor.reroute import reroute_inputs, reroute_ts
from tfnb.v1.contrib.graph_editor.select import check_cios
from tfnb.v1.contrib.graph_editor.subgraph import SubGraphView, ViewLike, make_view

__all__ = ["bypass", "connect", "detach", "detach_inputs", "detach_outputs"]


def detach_control_inputs(sgv: ViewLike) -> None:
    """Makes the operations of a part wait for none outside."""
    make_view(sgv).detach_control_inputs()


def detach_control_outputs(sgv: ViewLike, control_outputs: ControlOutputs | GraphBuilder | None) -> None:
    """Makes no operation outside wait for those of a part. control_outputs: a `ControlOutputs` or a graph."""
    view = make_view(sgv)
    _, waiting = check_cios(False, control_outputs)
    inside = set(view.ops)
    for op in view.ops:
        for after in waiting.get(op) if waiting is not None else ():
            if after not in inside:
                after.control_inputs = [before for before in after.control_inputs if before is not op]
    if isinstance(waiting, ControlOutputs):
        waiting.update()


def detach_inputs(sgv: ViewLike, control_inputs: bool = False) -> tuple[SubGraphView, list[Any]]:
    """Returns a part whose inputs are new placeholders, and these.

    control_inputs: the part does not wait for operations outside either.
    """
    view = make_view(sgv)
    if view.graph is None:
        return view, []
    with view.graph.as_default():
        made = [make_placeholder_from_tensor(t) for t in view.inputs]
    inside = view.ops
    for old, new in zip(view.inputs, made, strict=True):
        if not view.is_passthrough(old):
            reroute_ts(new, old, can_modify=inside)
    passing = {old: new for old, new in zip(view.inputs, made, strict=True) if view.is_passthrough(old)}
    view._inputs = made
    view._passing = [passing[t] for t in view._passing]
    view._outputs = [passing.get(t, t) for t in view._outputs]
    if control_inputs:
        view.detach_control_inputs()
    return view, made


def detach_outputs(
    sgv: ViewLike, control_outputs: ControlOutputs | GraphBuilder | None = None
) -> tuple[SubGraphView, list[Any]]:
    """Returns the part `sgv`, whose readers outside read new placeholders now, and these.

    Outputs that nobody reads are left out. control_outputs: a `ControlOutputs` or a graph, if nothing outside shall
    wait for the part either.
    """
    view = make_view(sgv)
    inside = set(view.ops)
    read = [i for i, t in enumerate(view.outputs) if any(op not in inside for op in t.consumers())]
    view = view.remap_outputs(read)
    if view.graph is None:
        return view, []
    with view.graph.as_default():
        made = [make_placeholder_from_tensor(t) for t in view.outputs]
    for old, new in zip(view.outputs, made, strict=True):
        reroute_ts(new, old, cannot_modify=view.ops)
    if control_outputs is not None:
        detach_control_outputs(view, control_outputs)
    return view, made


def detach(
    sgv: ViewLike,
    control_inputs: bool = False,
    control_outputs: ControlOutputs | GraphBuilder | None = None,
    control_ios: ControlOutputs | GraphBuilder | None = None,
) -> tuple[SubGraphView, list[Any], list[Any]]:
    """Returns the part `sgv`, cut off on both sides, and the placeholders of its inputs and for its readers."""
    follow, waiting = check_cios(control_inputs, control_outputs, control_ios)
    view, inputs = detach_inputs(sgv, follow)
    _, outputs = detach_outputs(view, waiting)
    return view, inputs, outputs


def connect(sgv0: ViewLike, sgv1: ViewLike, disconnect_first: bool = False) -> tuple[SubGraphView, SubGraphView]:
    """Makes the inputs of the second part the outputs of the first, and returns the parts.

    disconnect_first: those that read the first part until now read placeholders. Raises `InvalidArgumentError` when the
    numbers differ.
    """
    first, second = make_view(sgv0), make_view(sgv1)
    if len(first.outputs) != len(second.inputs):
        raise InvalidArgumentError(
            f"connect: {len(first.outputs)} outputs cannot be connected with {len(second.inputs)} inputs"
        )
    if disconnect_first:
        detach_outputs(first)
    reroute_inputs(SubGraphView(passthrough_ts=first.outputs), second)
    return first, second


def bypass(sgv: ViewLike) -> tuple[SubGraphView, list[Any]]:
    """Makes the readers of a part's outputs read its inputs; returns the part and the placeholders of its inputs.

    Raises `InvalidArgumentError` when there are other numbers of outputs than of inputs.
    """
    view = make_view(sgv)
    inputs = view.inputs
    if len(inputs) != len(view.outputs):
        raise InvalidArgumentError(f"bypass: {len(inputs)} inputs do not stand for {len(view.outputs)} outputs")
    view, made = detach_inputs(view)
    reroute_ts(inputs, view.outputs, cannot_modify=view.ops)
    return view, made
