"""Shape functions that many ops share.

Each takes an `Infer` and returns the output's shape, or a tuple with a shape for each output. Invariant: a shape that
is known when the graph is built holds at run time; contradictions raise `ShapeError` with both shapes in the message.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.opdef import Infer
from tfnb.types import Shape, bracketed, scalar, unknown_shape

__all__ = [
    "broadcast",
    "broadcast_all",
    "broadcast_shapes",
    "distinct_axes",
    "merged",
    "no_outputs",
    "normalize_axes",
    "normalize_axis",
    "reduced",
    "scalar_shape",
    "unchanged",
    "unknown",
    "unlike",
    "with_rank",
]

_KNOWN = frozenset((int, type(None)))  # the types of the sizes of a shape in a graph


def unchanged(c: Infer) -> Shape:
    """Returns the shape of the first input."""
    return c.shapes[0]


def scalar_shape(c: Infer) -> Shape:
    """Returns the shape of a scalar."""
    return scalar


def unknown(c: Infer) -> Shape:
    """Returns the unknown shape."""
    return unknown_shape


def no_outputs(c: Infer) -> tuple[Shape, ...]:
    """Returns no shapes; this is for ops without outputs."""
    return ()


def broadcast_shapes(a: Shape, b: Shape) -> Shape:
    """Broadcasts two static shapes by NumPy's rules. Raises `ShapeError` if they do not fit."""
    if a.sizes is None or b.sizes is None:
        return unknown_shape
    # Sizes that are symbols note what is asked of them, so these are asked the same questions whether equal or not.
    if _KNOWN.issuperset(map(type, a.sizes + b.sizes)) and (a.sizes == b.sizes or not a.sizes):
        return b
    n = max(len(a.sizes), len(b.sizes))
    left = (1,) * (n - len(a.sizes)) + a.sizes
    right = (1,) * (n - len(b.sizes)) + b.sizes
    out: list[int | None] = []
    for x, y in zip(left, right, strict=True):
        if x == 1:
            out.append(y)
        elif y == 1 or x == y:
            out.append(x)
        elif x is None or y is None:
            out.append(x if y is None else y)
        else:
            raise ShapeError(
                f"Dimensions must be equal, but are {x} and {y}. Incompatible shapes: {bracketed(a.sizes)} vs. "
                f"{bracketed(b.sizes)} cannot be broadcast together{_broadcast_mend(a, b)}"
            )
    return Shape(tuple(out))


def _broadcast_mend(a: Shape, b: Shape) -> str:
    """Returns advice on how to change one of two shapes so that they fit; "" if no simple change helps."""
    x, y = a.sizes, b.sizes
    assert x is not None and y is not None
    if len(x) == len(y) == 2:
        if x == y[::-1]:
            return "; the transpose of either fits"
        if x[1] is not None and x[1] == y[0]:
            return "; a product of matrices, tf.matmul, fits"
    for small, large in ((x, y), (y, x)):
        if len(small) == 1 and len(large) == 2 and small[0] == large[0]:
            return f"; tf.expand_dims(..., 1) makes ({small[0]}, 1) of {Shape(small)}, which fits"
    return ""


def broadcast_all(shapes: Sequence[Shape]) -> Shape:
    """Broadcasts any number of static shapes by NumPy's rules. Raises `ShapeError` if they do not fit."""
    out = scalar
    for s in shapes:
        out = broadcast_shapes(out, s)
    return out


def broadcast(c: Infer) -> Shape:
    """Returns the shape to which all inputs broadcast. Raises `ShapeError` with the name of the op."""
    try:
        return broadcast_all(c.shapes)
    except ShapeError as e:
        raise ShapeError(f"{c.op_name}: {e.message}") from None


def merged(c: Infer, *inputs: int) -> Shape:
    """Returns the shape that these inputs share; a dimension is known if it is known of one of them.

    Raises `ShapeError` if the shapes contradict each other.
    """
    shape = c.shapes[inputs[0]]
    for i in inputs[1:]:
        try:
            shape = shape.merge_with(c.shapes[i])
        except ShapeError:
            raise ShapeError(
                f"{c.op_name}: {unlike(shape, c.shapes[i])}; inputs {inputs[0]} and {i} must have the same shape, got "
                f"{shape} and {c.shapes[i]}"
            ) from None
    return shape


def unlike(a: Shape, b: Shape) -> str:
    """Returns what differs between two shapes that are not compatible, in TensorFlow's words."""
    x, y = a.sizes or (), b.sizes or ()
    if len(x) != len(y):
        return f"Shapes must be equal rank, but are {len(x)} and {len(y)}"
    i = next(i for i, (p, q) in enumerate(zip(x, y, strict=True)) if None not in (p, q) and p != q)
    return f"Dimension {i} in both shapes must be equal, but are {x[i]} and {y[i]}"


def normalize_axis(axis: int, rank: int, what: str = "axis") -> int:
    """Returns the axis as a number from 0 to rank - 1. Raises `InvalidArgumentError` if it is out of range."""
    if not -rank <= axis < rank:
        raise InvalidArgumentError(f"{what} {axis} is out of valid range [{-rank}, {rank}) of a tensor of rank {rank}")
    return axis % rank if rank else 0


def distinct_axes(axes: np.ndarray, rank: int, what: str = "axis") -> tuple[int, ...]:
    """Returns the axes of a reduction as sorted non-negative numbers; one that is named twice is reduced once.

    `axes` is a NumPy value of rank 0 or 1. Raises `InvalidArgumentError` for an axis that is out of range.
    """
    return tuple(sorted({normalize_axis(int(a), rank, what) for a in axes.reshape(-1)}))


def normalize_axes(axes: np.ndarray, rank: int) -> tuple[int, ...]:
    """Returns the axes as sorted non-negative numbers; `axes` is a NumPy value of rank 0 or 1.

    Raises `InvalidArgumentError` for an axis that is out of range or occurs twice.
    """
    sorted_axes = sorted(normalize_axis(int(a), rank) for a in axes.reshape(-1))
    if len(set(sorted_axes)) < len(sorted_axes):
        twice = next(a for a in sorted_axes if sorted_axes.count(a) > 1)
        raise InvalidArgumentError(f"axis {twice} specified more than once, it stands twice in {axes.tolist()}")
    return tuple(sorted_axes)


def reduced(c: Infer, keep_dims: bool) -> Shape:
    """Returns the shape of a reduction of input 0 over the axes in input 1."""
    x, axes = c.shapes[0], c.value(1)
    if c.shapes[1].ndims not in (None, 0, 1):
        raise ShapeError(f"{c.op_name}: Shape must be at most rank 1 but is rank {c.shapes[1].ndims}: the axes")
    if x.sizes is None:
        return unknown_shape
    if axes is None:
        return Shape((None,) * len(x.sizes)) if keep_dims else unknown_shape
    reduced_axes = distinct_axes(axes, len(x.sizes), "Invalid reduction dimension: axis")
    if keep_dims:
        return Shape(tuple(1 if i in reduced_axes else d for i, d in enumerate(x.sizes)))
    return Shape(tuple(d for i, d in enumerate(x.sizes) if i not in reduced_axes))


def with_rank(c: Infer, i: int, rank: int, rule: str = "") -> Shape:
    """Returns the shape of input i, which must have `rank` dimensions.

    Raises `ShapeError` if it has others; `rule` is what the message says of the input in TensorFlow's kernels.
    """
    s = c.shapes[i]
    if s.sizes is not None and len(s.sizes) != rank:
        raise ShapeError(
            f"{c.op_name}: Shape must be rank {rank} but is rank {len(s.sizes)} for input {i}, got shape {s}"
            + (rule and f": {rule}")
        )
    return Shape((None,) * rank) if s.sizes is None else s
