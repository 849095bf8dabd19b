"""Which tensor an operation reads: inputs and outputs of parts of a graph are exchanged or connected anew.

The graph is changed in place, so it is done before a session runs it. Invariant: a tensor is only replaced by one of
its dtype and a compatible shape.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError
from tfnb.ir.builder import replace_input
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.v1.contrib.graph_editor.elements import (
    Elements,
    check_graphs,
    get_consuming_ops,
    make_list_of_op,
    make_list_of_t,
)
from tfnb.v1.contrib.graph_editor.subgraph import SubGraphView, ViewLike, make_view

__all__ = ["add_control_inputs", "remove_control_inputs", "reroute_inputs", "reroute_ts", "swap_inputs", "swap_outputs"]


def _checked(ts0: Elements, ts1: Elements) -> list[tuple[Any, Any]]:
    first, second = make_list_of_t(ts0), make_list_of_t(ts1)
    if len(first) != len(second):
        raise InvalidArgumentError(f"ts0 and ts1 have different sizes: {len(first)} != {len(second)}")
    for a, b in zip(first, second, strict=True):
        if a.dtype is not b.dtype:
            raise DTypeError(f"Dtypes {a.dtype.name} of {a.name} and {b.dtype.name} of {b.name} are not compatible.")
        if not a.shape.is_compatible_with(b.shape):
            raise ShapeError(f"Shapes {a.shape} of {a.name} and {b.shape} of {b.name} are not compatible.")
    check_graphs(*first, *second)
    return list(zip(first, second, strict=True))


def _read_instead(old: Tensor, new: Tensor, readers: Iterable[Any]) -> int:
    """Makes operations read `new` where they read `old`, and returns how many inputs that changed."""
    count = 0
    for op in readers:
        for i, t in enumerate(op.inputs):
            if t is old:
                replace_input(op, i, new)
                count += 1
    return count


def _rerouted(
    ts0: Elements, ts1: Elements, swap: bool, can_modify: Elements | None, cannot_modify: Elements | None
) -> int:
    """Makes the readers of `ts1` read `ts0` and, with `swap`, the other way around."""
    allowed = None if can_modify is None else set(make_list_of_op(can_modify))
    forbidden = set() if cannot_modify is None else set(make_list_of_op(cannot_modify))
    count = 0
    for a, b in _checked(ts0, ts1):
        if a is b:
            continue
        first, second = (
            [op for op in dict.fromkeys(t.consumers()) if (allowed is None or op in allowed) and op not in forbidden]
            for t in (a, b)
        )
        if swap:
            both = [op for op in first if op in second]
            if both:
                raise InvalidArgumentError(
                    f"{both[0].name} reads both {a.name} and {b.name}, which cannot be exchanged"
                )
        count += _read_instead(b, a, second)
        count += _read_instead(a, b, first) if swap else 0
    return count


def swap_ts(
    ts0: Elements, ts1: Elements, can_modify: Elements | None = None, cannot_modify: Elements | None = None
) -> int:
    """Exchanges the readers of the tensors of two lists, and returns the number of inputs that changed.

    can_modify: the only operations that are changed. cannot_modify: those that are not. Raises `DTypeError` and
    `ShapeError` for tensors that do not fit.
    """
    return _rerouted(ts0, ts1, True, can_modify, cannot_modify)


def reroute_ts(
    ts0: Elements, ts1: Elements, can_modify: Elements | None = None, cannot_modify: Elements | None = None
) -> int:
    """Makes the readers of `ts1` read `ts0`, and returns the number of inputs that changed; see `swap_ts`."""
    return _rerouted(ts0, ts1, False, can_modify, cannot_modify)


def _of_parts(
    sgv0: ViewLike, sgv1: ViewLike, swap: bool, inputs: bool, outputs: bool
) -> tuple[SubGraphView, SubGraphView]:
    first, second = make_view(sgv0), make_view(sgv1)
    check_graphs(first, second)
    around = [*first.ops, *second.ops, *get_consuming_ops([*first.passthroughs, *second.passthroughs])]
    if inputs:
        _rerouted(first.inputs, second.inputs, swap, around, None)
    if outputs:
        _rerouted(first.outputs, second.outputs, swap, None, [*first.ops, *second.ops])
    for view in (first, second):  # the tensors that are read now
        fresh = SubGraphView(view.ops, view.passthroughs)
        view._inputs = fresh._inputs if inputs and len(fresh._inputs) == len(view._inputs) else view._inputs
    return first, second


def swap_inputs(sgv0: ViewLike, sgv1: ViewLike) -> tuple[SubGraphView, SubGraphView]:
    """Exchanges the inputs of two parts of a graph, `sgv0` and `sgv1`, and returns the parts."""
    return _of_parts(sgv0, sgv1, True, True, False)


def reroute_inputs(sgv0: ViewLike, sgv1: ViewLike) -> tuple[SubGraphView, SubGraphView]:
    """Makes the part `sgv1` read the inputs of `sgv0`, and returns the parts."""
    return _of_parts(sgv0, sgv1, False, True, False)


def swap_outputs(sgv0: ViewLike, sgv1: ViewLike) -> tuple[SubGraphView, SubGraphView]:
    """Exchanges the outputs of `sgv0` and `sgv1` for those that read them, and returns the parts."""
    return _of_parts(sgv0, sgv1, True, False, True)


def reroute_outputs(sgv0: ViewLike, sgv1: ViewLike) -> tuple[SubGraphView, SubGraphView]:
    """Makes those that read outputs of `sgv1` read those of `sgv0`, and returns the parts."""
    return _of_parts(sgv0, sgv1, False, False, True)


def swap_ios(sgv0: ViewLike, sgv1: ViewLike) -> tuple[SubGraphView, SubGraphView]:
    """Exchanges inputs and outputs of two parts; see `swap_inputs` and `swap_outputs`."""
    return _of_parts(sgv0, sgv1, True, True, True)


def reroute_ios(sgv0: ViewLike, sgv1: ViewLike) -> tuple[SubGraphView, SubGraphView]:
    """Puts the first part in the place of the second; see `reroute_inputs` and `reroute_outputs`."""
    return _of_parts(sgv0, sgv1, False, True, True)


def _operation(op: object) -> Operation:
    if not isinstance(op, Operation):
        raise DTypeError(f"Expected an operation, got: {op!r}")
    return op


def remove_control_inputs(op: Operation, cops: Elements) -> None:
    """Makes `op` not wait for the operations `cops`. Raises `InvalidArgumentError` when it does not wait for one."""
    _operation(op)
    gone = make_list_of_op(cops, allow_graph=False)
    for before in gone:
        if before not in op.control_inputs:
            raise InvalidArgumentError(f"{op.name} is not a control_input of {before.name}")
    op.control_inputs = [before for before in op.control_inputs if before not in gone]


def add_control_inputs(op: Operation, cops: Elements) -> None:
    """Makes `op` wait for the operations `cops`. Raises `InvalidArgumentError` when it waits for one already."""
    _operation(op)
    for before in make_list_of_op(cops, allow_graph=False):
        if before in op.control_inputs:
            raise InvalidArgumentError(f"{before.name} is already a control_input of {op.name}")
        op.control_inputs = [*op.control_inputs, before]
