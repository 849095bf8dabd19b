"""tf.while_loop: repeats a body while a condition holds (white paper, section 4.4; OSDI'16, section 3.4).

Loop variables are any structure of tensors, tensor arrays, sparse tensors and indexed slices. Invariant: the value of a
loop variable in an iteration is the one that the body returned for it in the previous iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfnb.client.control_flow.while_context import WhileContext
from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.graph.nest import COMPOSITES, flatten, pack, part_shapes, same_structure
from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import GraphLike, Tensor, TensorLike
from tfnb.ops.math.compare import LOGICAL_AND
from tfnb.types import Shape, as_shape, int32

__all__ = ["API", "while_loop"]


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Sequence[Any],
    shape_invariants: object = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: TensorLike | None = None,
    return_same_structure: bool = False,
) -> Any:
    """Repeats `loop_vars = body(*loop_vars)` while `cond(*loop_vars)` is true, and returns the last loop variables.

    `loop_vars` is a list or tuple of (structures of) tensors; the body returns as many, of the same dtypes. Shapes must
    stay the same unless `shape_invariants`, the same structure of shapes, says what is known of them in all iterations.
    At most `parallel_iterations` iterations overlap. `maximum_iterations` ends the loop whatever `cond` returns.
    `swap_memory` keeps what gradients need in the host's memory. A single tensor is returned without a list unless
    `return_same_structure`. Raises `DTypeError` for functions that are not callable, a condition that is not a bool or
    a variable whose dtype changes, `ShapeError` for one whose shape changes, and `InvalidArgumentError` for a body that
    returns another structure.
    """
    if not callable(cond):
        raise DTypeError("while_loop: cond must be callable")
    if not callable(body):
        raise DTypeError("while_loop: body must be callable")
    if not isinstance(loop_vars, (list, tuple)):
        loop_vars = [loop_vars]
    if not loop_vars:
        raise InvalidArgumentError("while_loop: no loop variables provided")
    if not isinstance(parallel_iterations, int) or parallel_iterations < 1:
        raise DTypeError(f"while_loop: parallel_iterations must be a positive integer, got {parallel_iterations!r}")
    graph = graph_of(flatten(loop_vars))
    with graph.as_default(), graph.name_scope(name or "while"):
        if maximum_iterations is not None:
            limit = _limit(graph, maximum_iterations)
            inner_cond, inner_body = cond, body
            if shape_invariants is not None:
                shape_invariants = (Shape(()), shape_invariants)
            loop_vars = (graph.constant(int32.np.type(0)), loop_vars)
            cond = lambda i, v: LOGICAL_AND(i < limit, inner_cond(*v))  # noqa: E731
            body = lambda i, v: (i + 1, _as_returned(inner_body(*v), v))  # noqa: E731
        loop = WhileContext(graph, parallel_iterations, back_prop, swap_memory)
        graph.add_to_collection(GraphKeys.WHILE_CONTEXT, loop)
        result = _build(graph, loop, cond, body, loop_vars, shape_invariants)
    if maximum_iterations is not None:
        result = result[1]
        is_single = len(result) == 1
    else:
        is_single = len(loop.exits) == 1
    return result[0] if is_single and not return_same_structure else result


def _limit(graph: GraphLike, maximum_iterations: TensorLike) -> Tensor:
    limit: Tensor = graph.to_tensor(maximum_iterations)
    if not limit.dtype.is_integer or limit.shape.ndims not in (0, None):
        raise ShapeError(
            f"while_loop: maximum_iterations must be an integer scalar, got {limit.dtype.name} of shape {limit.shape}"
        )
    return limit


def _as_returned(returned: object, variables: Sequence[Any]) -> Any:
    """Returns what a body returned in the form of the loop variables: a list or tuple."""
    if isinstance(returned, Operation) or returned is None:
        raise InvalidArgumentError(f"while_loop: body must return the loop variables, got {returned!r}")
    one = len(variables) == 1 and not (
        isinstance(returned, (list, tuple)) and same_structure(list(variables), list(returned))
    )
    return [returned] if one or not isinstance(returned, (list, tuple)) else returned


def _build(
    graph: GraphLike,
    loop: WhileContext,
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Sequence[Any],
    shape_invariants: object,
) -> Any:
    flat = flatten(loop_vars)
    values = [_value(graph, leaf) for leaf in flat]
    structure = pack(loop_vars, values)
    shapes = _shapes(structure, values, shape_invariants)
    results: list[Any] = []

    def run(variables: list[Tensor]) -> list[Tensor]:
        result = _as_returned(body(*pack(structure, variables)), structure)
        if not same_structure(list(structure), list(result)):
            raise InvalidArgumentError(
                "while_loop: body and the loop variables do not have the same number of elements or structure: "
                f"{result!r} and {structure!r}"
            )
        results.append(result)
        return [graph.to_tensor(leaf, v.dtype) for leaf, v in zip(flatten(result), variables, strict=True)]

    exits = loop.build(values, shapes, lambda variables: cond(*pack(structure, variables)), run)
    return pack(results[0], exits)


def _value(graph: GraphLike, leaf: TensorLike) -> Tensor:
    tensor: Tensor = graph.to_tensor(leaf)
    return tensor


def _shapes(structure: object, values: list[Tensor], invariants: object) -> list[Shape | None]:
    """Returns the static shape of each variable in all iterations; None stands for the shape with which it enters."""
    if invariants is None:
        return [None] * len(values)
    shapes = list(_invariants(structure, invariants))
    for value, shape in zip(values, shapes, strict=True):
        if shape is not None and not _at_least_as_known(value.shape, shape):
            raise ShapeError(
                f"while_loop: {value.name} of shape {value.shape} is not compatible with the shape invariant {shape}"
            )
    return shapes


def _invariants(structure: object, invariants: Any) -> Any:
    """Yields a shape (or None) for each leaf; a composite (tensor array, sparse tensor) has one for all of its
    parts.
    """
    if isinstance(structure, dict):
        for key in sorted(structure):
            yield from _invariants(structure[key], invariants[key])
    elif isinstance(structure, (list, tuple)):
        if not isinstance(invariants, (list, tuple)) or len(invariants) != len(structure):
            raise InvalidArgumentError(
                f"while_loop: shape_invariants {invariants!r} have not the structure of the loop variables"
            )
        for part, shape in zip(structure, invariants, strict=True):
            yield from _invariants(part, shape)
    elif isinstance(structure, COMPOSITES):
        yield from part_shapes(structure, None if invariants is None else as_shape(invariants))
    else:
        yield as_shape(invariants)


def _at_least_as_known(got: Shape, wanted: Shape) -> bool:
    if wanted.sizes is None:
        return True
    if got.sizes is None or len(got.sizes) != len(wanted.sizes):
        return False
    return all(w is None or w == g for w, g in zip(wanted.sizes, got.sizes, strict=True))


API: dict[str, Any] = {"while_loop": while_loop}
