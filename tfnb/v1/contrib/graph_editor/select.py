"""Which operations and tensors: by regular expressions, by scopes, and by walks forward and backward.

Invariant: a walk contains what it begins with, unless `inclusive` is False.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.v1.contrib.graph_editor.elements import (
    ControlOutputs,
    Elements,
    concatenate_unique,
    get_consuming_ops,
    get_generating_ops,
    is_iterable,
    make_list_of_op,
    make_list_of_t,
)

__all__ = ["compute_boundary_ts", "get_name_scope_ops", "get_walks_intersection_ops", "select_ops_and_ts"]

_Filter = Callable[[Any], bool] | bool


def can_be_regex(obj: object) -> bool:
    """Returns whether a value is a text or a compiled regular expression."""
    return isinstance(obj, (str, re.Pattern))


def make_regex(obj: Any) -> re.Pattern[str]:
    """Returns a compiled regular expression. Raises `InvalidArgumentError` for another value."""
    if not can_be_regex(obj):
        raise InvalidArgumentError(f"Expected a string or a regex, got: {type(obj).__name__}")
    return re.compile(obj)


def filter_ts(ops: Elements, positive_filter: _Filter) -> list[Any]:
    """Returns the outputs of operations for which positive_filter(tensor) is true; the filter True takes all."""
    tensors = [t for op in make_list_of_op(ops) for t in op.outputs]
    return tensors if positive_filter is True else [t for t in tensors if positive_filter(t)]  # type: ignore[operator]


def filter_ts_from_regex(ops: Elements, regex: str | re.Pattern[str]) -> list[Any]:
    """Returns the outputs of operations in whose name the regular expression is found."""
    pattern = make_regex(regex)
    return filter_ts(ops, lambda t: pattern.search(t.name) is not None)


def filter_ops(ops: Elements, positive_filter: _Filter) -> list[Any]:
    """Returns the operations for which positive_filter(operation) is true; the filter True takes all."""
    found = make_list_of_op(ops)
    return found if positive_filter is True else [op for op in found if positive_filter(op)]  # type: ignore[operator]


def filter_ops_from_regex(ops: Elements, regex: str | re.Pattern[str]) -> list[Any]:
    """Returns the operations in whose name the regular expression is found."""
    pattern = make_regex(regex)
    return filter_ops(ops, lambda op: pattern.search(op.name) is not None)


def get_name_scope_ops(ops: Elements, scope: str) -> list[Any]:
    """Returns the operations in a name scope."""
    return filter_ops_from_regex(ops, f"^{re.escape(scope.rstrip('/'))}(/.*)?$" if scope.rstrip("/") else "")


def check_cios(
    control_inputs: object = False,
    control_outputs: ControlOutputs | GraphBuilder | None = None,
    control_ios: ControlOutputs | GraphBuilder | None = None,
) -> tuple[bool, Any]:
    """Returns (whether to follow what is waited for, the `ControlOutputs` or None).

    control_ios: both at once, a `ControlOutputs` or a graph. Raises `InvalidArgumentError` when it is given together
    with the others, and `DTypeError` for other values.
    """
    if control_ios is not None:
        if control_outputs is not None or control_inputs:
            raise InvalidArgumentError(
                "control_ios should not be given together with control_inputs or control_outputs"
            )
        control_inputs, control_outputs = True, control_ios
    if not control_inputs:
        control_inputs = False
    if isinstance(control_outputs, GraphBuilder):
        control_outputs = ControlOutputs(control_outputs)
    if control_outputs is not None and not isinstance(control_outputs, ControlOutputs):
        raise DTypeError(f"Expected a ControlOutputs or a graph, got: {control_outputs!r}")
    return bool(control_inputs), control_outputs


def get_ops_ios(
    ops: Elements,
    control_inputs: bool = False,
    control_outputs: ControlOutputs | GraphBuilder | None = None,
    control_ios: ControlOutputs | GraphBuilder | None = None,
) -> list[Any]:
    """Returns the operations that compute the inputs of `ops` or read their outputs."""
    follow, waiting = check_cios(control_inputs, control_outputs, control_ios)
    found: list[Any] = []
    for op in make_list_of_op(ops):
        concatenate_unique(found, [t.op for t in op.inputs])
        concatenate_unique(found, [consumer for t in op.outputs for consumer in t.consumers()])
        concatenate_unique(found, op.control_inputs if follow else ())
        concatenate_unique(found, waiting.get(op) if waiting is not None else ())
    return found


def compute_boundary_ts(ops: Elements) -> tuple[list[Any], list[Any], list[Any]]:
    """Returns (inputs, outputs, inner tensors) of a set of operations.

    Inputs are computed outside. Outputs are not read, or read outside; one that is read inside, too, is also an inner
    tensor.
    """
    members = make_list_of_op(ops)
    inside = set(members)
    outputs = [t for op in members for t in op.outputs]
    inputs = list(dict.fromkeys(t for op in members for t in op.inputs))
    made = set(outputs)
    inner = [t for t in inputs if t in made]
    only_inner = {t for t in inner if inside.issuperset(t.consumers())}
    return [t for t in inputs if t not in made], [t for t in outputs if t not in only_inner], inner


def get_within_boundary_ops(
    ops: Elements,
    seed_ops: Elements,
    boundary_ops: Elements = (),
    inclusive: bool = True,
    control_inputs: bool = False,
    control_outputs: ControlOutputs | GraphBuilder | None = None,
    control_ios: ControlOutputs | GraphBuilder | None = None,
) -> list[Any]:
    """Returns those of `ops` that are connected with `seed_ops` without passing `boundary_ops`.

    inclusive: whether the boundary that is reached belongs to the result. Raises `InvalidArgumentError` when an
    operation is both.
    """
    follow, waiting = check_cios(control_inputs, control_outputs, control_ios)
    members, boundary = make_list_of_op(ops), set(make_list_of_op(boundary_ops))
    wave = make_list_of_op(seed_ops)
    if boundary.intersection(wave):
        raise InvalidArgumentError("Boundary is intersecting with the seeds.")
    found, reached = set(wave), set()
    while wave:
        near = get_ops_ios(wave, follow, waiting)
        reached |= boundary.intersection(near)
        wave = [op for op in near if op not in found and op not in boundary]
        found.update(wave)
    found |= reached if inclusive else set()
    return [op for op in members if op in found]


def _walk(
    seeds: Any,
    inclusive: bool,
    within_ops: Elements | None,
    within_ops_fn: Callable[[Any], bool] | None,
    of_tensors: Callable[[Any], list[Any]],
    following: Callable[[Any], Iterable[Any]],
) -> list[Any]:
    elements = list(seeds) if is_iterable(seeds) else [seeds]
    if elements and isinstance(elements[0], Tensor):
        start = of_tensors(elements)
    else:
        start = make_list_of_op(elements, allow_graph=False)
    within = None if within_ops is None else set(make_list_of_op(within_ops, allow_graph=False))
    start = [op for op in start if within is None or op in within]

    def allowed(op: Operation) -> bool:
        return (within is None or op in within) and (within_ops_fn is None or within_ops_fn(op))

    found, wave = dict.fromkeys(start), list(start)
    while wave:
        near = dict.fromkeys(op for before in wave for op in following(before) if allowed(op))
        wave = [op for op in near if op not in found]
        found.update(dict.fromkeys(wave))
    begun = set(start)
    return [op for op in found if inclusive or op not in begun]


def get_forward_walk_ops(
    seed_ops: Elements,
    inclusive: bool = True,
    within_ops: Elements | None = None,
    within_ops_fn: Callable[[Any], bool] | None = None,
    stop_at_ts: Elements = (),
    control_outputs: ControlOutputs | GraphBuilder | None = None,
) -> list[Any]:
    """Returns the operations that depend on `seed_ops`, operations or tensors.

    within_ops, within_ops_fn: only these are passed. stop_at_ts: tensors that are not passed. control_outputs: a
    `ControlOutputs` or a graph, if what only waits belongs to the walk.
    """
    _, waiting = check_cios(False, control_outputs)
    stops = set(make_list_of_t(stop_at_ts))

    def following(op: Operation) -> list[Any]:
        found = [consumer for t in op.outputs if t not in stops for consumer in t.consumers()]
        return [*found, *(waiting.get(op) if waiting is not None else ())]

    return _walk(seed_ops, inclusive, within_ops, within_ops_fn, get_consuming_ops, following)


def get_backward_walk_ops(
    seed_ops: Elements,
    inclusive: bool = True,
    within_ops: Elements | None = None,
    within_ops_fn: Callable[[Any], bool] | None = None,
    stop_at_ts: Elements = (),
    control_inputs: bool = False,
) -> list[Any]:
    """Returns the operations that `seed_ops`, operations or tensors, depend on; see `get_forward_walk_ops`.

    control_inputs: whether what is only waited for belongs to the walk.
    """
    stops = set(make_list_of_t(stop_at_ts))

    def following(op: Operation) -> list[Any]:
        return [*(t.op for t in op.inputs if t not in stops), *(op.control_inputs if control_inputs else ())]

    return _walk(seed_ops, inclusive, within_ops, within_ops_fn, get_generating_ops, following)


def _two_walks(
    forward_seed_ops: Elements,
    backward_seed_ops: Elements,
    forward_inclusive: bool,
    backward_inclusive: bool,
    within_ops: Elements | None,
    within_ops_fn: Callable[[Any], bool] | None,
    controls: tuple[bool, Any],
) -> tuple[list[Any], list[Any]]:
    follow, waiting = controls
    forward = get_forward_walk_ops(
        forward_seed_ops, forward_inclusive, within_ops, within_ops_fn, control_outputs=waiting
    )
    backward = get_backward_walk_ops(
        backward_seed_ops, backward_inclusive, within_ops, within_ops_fn, control_inputs=follow
    )
    return forward, backward


def get_walks_intersection_ops(
    forward_seed_ops: Elements,
    backward_seed_ops: Elements,
    forward_inclusive: bool = True,
    backward_inclusive: bool = True,
    within_ops: Elements | None = None,
    within_ops_fn: Callable[[Any], bool] | None = None,
    control_inputs: bool = False,
    control_outputs: ControlOutputs | GraphBuilder | None = None,
    control_ios: ControlOutputs | GraphBuilder | None = None,
) -> list[Any]:
    """Returns the operations between `forward_seed_ops` and `backward_seed_ops`."""
    controls = check_cios(control_inputs, control_outputs, control_ios)
    inclusive = (forward_inclusive, backward_inclusive)
    walks = _two_walks(forward_seed_ops, backward_seed_ops, *inclusive, within_ops, within_ops_fn, controls)
    back = set(walks[1])
    return [op for op in walks[0] if op in back]


def get_walks_union_ops(
    forward_seed_ops: Elements,
    backward_seed_ops: Elements,
    forward_inclusive: bool = True,
    backward_inclusive: bool = True,
    within_ops: Elements | None = None,
    within_ops_fn: Callable[[Any], bool] | None = None,
    control_inputs: bool = False,
    control_outputs: ControlOutputs | GraphBuilder | None = None,
    control_ios: ControlOutputs | GraphBuilder | None = None,
) -> list[Any]:
    """Returns the operations that depend on `forward_seed_ops`, and those that `backward_seed_ops` depend on."""
    controls = check_cios(control_inputs, control_outputs, control_ios)
    inclusive = (forward_inclusive, backward_inclusive)
    walks = _two_walks(forward_seed_ops, backward_seed_ops, *inclusive, within_ops, within_ops_fn, controls)
    return concatenate_unique(*walks)


def _selected(
    args: Iterable[Any],
    graph: GraphBuilder | None,
    positive_filter: Callable[[Any], bool] | None,
    restricted: bool,
    marks: tuple[str, str],
    by_regex: Callable[[Any, Any], list[Any]],
    as_list: Callable[[Any], list[Any]],
) -> list[Any]:
    """Returns the elements of arguments. marks: how a pattern says what it selects, and how one of the other kind."""
    found: list[Any] = []
    for argument in args:
        if can_be_regex(argument):
            if graph is None:
                raise InvalidArgumentError("Use the keyword argument 'graph' to use regex.")
            pattern = make_regex(argument)
            if pattern.pattern.startswith(marks[1]) or (restricted and not pattern.pattern.startswith(marks[0])):
                continue
            chosen = by_regex(graph, pattern)
        else:
            chosen = as_list(argument)
        concatenate_unique(found, chosen if positive_filter is None else filter(positive_filter, chosen))
    return found


def select_ops(
    *args: object,
    graph: GraphBuilder | None = None,
    restrict_ops_regex: bool = False,
    positive_filter: Callable[[Any], bool] | None = None,
) -> list[Any]:
    """Returns the operations of arguments: operations, lists of them, or regular expressions of names in `graph`.

    A pattern that begins with "(?#ts)" selects tensors only; restrict_ops_regex: one must begin with "(?#ops)".
    """

    def as_list(argument: Elements) -> list[Any]:
        return make_list_of_op(argument, ignore_ts=True)

    marks = ("(?#ops)", "(?#ts)")
    return _selected(args, graph, positive_filter, restrict_ops_regex, marks, filter_ops_from_regex, as_list)


def select_ts(
    *args: object,
    graph: GraphBuilder | None = None,
    restrict_ts_regex: bool = False,
    positive_filter: Callable[[Any], bool] | None = None,
) -> list[Any]:
    """Returns the tensors of arguments; see `select_ops`."""

    def as_list(argument: Elements) -> list[Any]:
        return make_list_of_t(argument, ignore_ops=True)

    marks = ("(?#ts)", "(?#ops)")
    return _selected(args, graph, positive_filter, restrict_ts_regex, marks, filter_ts_from_regex, as_list)


def select_ops_and_ts(
    *args: object, graph: GraphBuilder | None = None, positive_filter: Callable[[Any], bool] | None = None
) -> tuple[list[Any], list[Any]]:
    """Returns (operations, tensors) of arguments; a pattern of tensors begins with "(?#ts)"."""
    ops = select_ops(*args, graph=graph, positive_filter=positive_filter)
    return ops, select_ts(*args, graph=graph, restrict_ts_regex=True, positive_filter=positive_filter)
