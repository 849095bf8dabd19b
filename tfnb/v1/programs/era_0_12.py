"""Functions that refused in 0.12 what 1.x takes, or had another meaning: quotients, segments, log beta, splitting,
images, and others.

Invariant: the graphs consist of standard ops, and where nothing is refused the values are those of tfnb's functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.client.control_flow.cond import cond
from tfnb.client.variables.initializers import Ones, Zeros
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.operation import Operation
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops import API as OPS
from tfnb.ops.math.binary import DIV
from tfnb.types import DTypeLike, ShapeLike, as_dtype, bool_, float32

__all__ = ["EARLY_OPS", "in_top_k"]


def div(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Divides as C: integers give the quotient without its fraction, towards zero. See `tfnb.div`."""
    return DIV(x, y, name=name)


def floordiv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Divides floats and rounds down; integers give the quotient without its fraction, as C. See `tfnb.floordiv`."""
    numerator = graph_of((x, y)).to_tensor(x)
    return DIV(x, y, name=name) if numerator.dtype.is_integer else OPS["floordiv"](x, y, name=name)


def mod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the remainder with the sign of `x`, as C. See `tfnb.mod`."""
    return OPS["truncatemod"](x, y, name=name)


def _require(condition: Tensor, *text: object) -> Operation:
    """Returns an operation that fails unless the scalar `condition` holds; the parts of the text are joined."""
    parts = [part if isinstance(part, (str, Tensor)) else str(part) for part in text]
    return OPS["Assert"](condition, [OPS["string_join"]([_text(part) for part in parts])])


def _text(part: str | Tensor) -> str | Tensor:
    return part if isinstance(part, str) or part.dtype.is_string else OPS["as_string"](part)


def _after(checks: list[Any], value: Tensor) -> Tensor:
    with value.graph.control_dependencies(checks):
        return OPS["identity"](value)


def _gapless(ids: Tensor) -> Tensor:
    """The ids of sorted segments, which must begin with 0 and go up by 0 or 1; a negative last one the op refuses."""
    is_negative = OPS["reduce_any"](ids[-1:] < 0)
    steps = ids[1:] - ids[:-1]
    conditions = {
        "segment ids do not start at 0": OPS["reduce_all"](OPS["equal"](ids[:1], 0)),
        "segment ids are not increasing by 1": OPS["reduce_all"](
            OPS["logical_or"](OPS["equal"](steps, 0), OPS["equal"](steps, 1))
        ),
    }
    checks: list[Any] = []
    for words, holds in conditions.items():
        with ids.graph.control_dependencies(checks):
            checks.append(_require(OPS["logical_or"](is_negative, holds), words))
    return _after(checks, ids)


def _segments(function: Callable[..., Any], position: int) -> Callable[..., Any]:
    """Returns `function`, a reduction over sorted segments, whose ids are the argument at `position`."""

    def segments(data: TensorLike, *rest: Any, name: str | None = None, **kwargs: Any) -> Tensor:
        given = list(rest)
        ids = kwargs.pop("segment_ids") if "segment_ids" in kwargs else given.pop(position - 1)
        graph = graph_of((data, ids, *given))
        ids = _gapless(graph.to_tensor(ids))
        return function(data, *given, segment_ids=ids, name=name, **kwargs)

    segments.__name__, segments.__doc__ = function.__name__, function.__doc__
    return segments


def unsorted_segment_sum(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """Adds rows with the same number, which may not be negative. See `tfnb.unsorted_segment_sum`."""
    ids = graph_of((data, segment_ids)).to_tensor(segment_ids)
    negative = ids < 0
    places = OPS["as_string"](OPS["where"](negative)[:1])
    lowest = OPS["reduce_min"](OPS["boolean_mask"](ids, negative)[:1])
    check = _require(
        OPS["logical_not"](OPS["reduce_any"](negative)),
        *("segment_ids[", OPS["reduce_join"](OPS["reshape"](places, [-1]), 0, separator=","), "] = ", lowest),
        *(" is out of range [0, ", graph_of((ids,)).to_tensor(num_segments), ")"),
    )
    return OPS["unsorted_segment_sum"](data, _after([check], ids), num_segments, name=name)


def lbeta(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the logarithm of the beta function along the last axis; of no elements, `x` without its first axis,
    whose size is 1. See `tfnb.lbeta`.
    """
    t = graph_of((x,)).to_tensor(x)
    if t.shape.num_elements() not in (0, None):
        return OPS["lbeta"](t, name)
    if t.shape.num_elements() == 0:
        return _squeezed(t)
    return cond(OPS["equal"](OPS["size"](t), 0), lambda: _squeezed(t), lambda: OPS["lbeta"](t), name=name)


def _squeezed(t: Tensor) -> Tensor:
    if t.shape.ndims is not None:
        t.shape.with_rank_at_least(2)
        return OPS["squeeze"](t, [0])
    rank = OPS["rank"](t)
    return OPS["squeeze"](_after([_require(rank >= 2, "x of rank ", rank, " must have at least rank 2")], t), [0])


def string_split(source: TensorLike, delimiter: TensorLike = " ", name: str | None = None) -> SparseTensor:
    """Splits strings at a delimiter of at most one byte. See `tfnb.string_split`."""
    if isinstance(delimiter, (str, bytes)):
        if len(delimiter) > 1:
            raise InvalidArgumentError(f"delimiter must be a single byte or empty, got {delimiter!r}")
    elif isinstance(delimiter, Tensor):
        fits = OPS["reduce_all"](OPS["string_length"](delimiter) <= 1)
        delimiter = _after([_require(fits, "delimiter must be a single byte or empty")], delimiter)
    else:
        raise ShapeError(f"Shape must be rank 0: the delimiter is one string, got {delimiter!r}")
    return OPS["string_split"](source, delimiter, name=name)


def reduce_join(
    inputs: TensorLike,
    reduction_indices: TensorLike,
    keep_dims: bool = False,
    separator: str = "",
    name: str | None = None,
) -> Tensor:
    """Joins the strings along dimensions; no indices mean all of them, from the last one on. See `tfnb.reduce_join`.

    Raises `ShapeError` for a dimension that is known to have no elements.
    """
    x = graph_of((inputs, reduction_indices)).to_tensor(inputs)
    axes = None if isinstance(reduction_indices, Tensor) else np.asarray(reduction_indices, np.int64).reshape(-1)
    sizes = x.shape.sizes or ()
    for axis in () if axes is None else axes:
        if -len(sizes) <= axis < len(sizes) and sizes[axis] == 0:
            raise ShapeError(f"Cannot reduce dimension {axis} with size 0, of a tensor of shape {x.shape}")
    given = reduction_indices if axes is None or axes.size else None
    return OPS["reduce_join"](x, given, keep_dims, separator, name)


def _of_one_image(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns `function`, which crops or pads, for single images only."""
    words = "'image' must be three-dimensional."

    def one_image(image: TensorLike, *args: Any, **kwargs: Any) -> Tensor:
        t = graph_of((image,)).to_tensor(image)
        if t.shape.ndims not in (3, None):
            raise ShapeError(f"{words} Its shape is {t.shape}")
        if t.shape.ndims is None:
            t = _after([_require(OPS["equal"](OPS["rank"](t), 3), words)], t)
            t.set_shape([None] * 3)
        return function(t, *args, **kwargs)

    one_image.__name__, one_image.__doc__ = function.__name__, function.__doc__
    return one_image


def matrix_determinant(input: TensorLike, name: str | None = None) -> Tensor:
    """Computes determinants, which must be finite. See `tfnb.matrix_determinant`."""
    found = OPS["matrix_determinant"](input, name)
    finite = OPS["reduce_all"](OPS["is_finite"](OPS["abs"](found)))
    return _after([_require(finite, "The determinant is not finite.")], found)


def in_top_k(predictions: TensorLike, targets: TensorLike, k: int, name: str | None = None) -> Tensor:
    """Returns whether the targets, which must be classes, are among the k largest. See `tfnb.nn.in_top_k`."""
    found = OPS["nn.in_top_k"](predictions, targets, k, name)
    scores, classes, *_ = found.op.inputs
    count = OPS["cast"](OPS["shape"](scores)[1], classes.dtype)
    valid = OPS["reduce_all"](OPS["logical_and"](classes >= 0, classes < count))
    return _after([_require(valid, "targets are out of range [0, ", count, ")")], found)


def sequence_mask(
    lengths: TensorLike, maxlen: TensorLike | None = None, dtype: DTypeLike = bool_, name: str | None = None
) -> Tensor:
    """Returns a row for each of the lengths, which are a vector. See `tfnb.sequence_mask`."""
    t = graph_of((lengths, maxlen)).to_tensor(lengths)
    if t.shape.ndims not in (1, None):
        raise ShapeError(f"lengths must be 1D for sequence_mask, got shape {t.shape}")
    return OPS["sequence_mask"](t, maxlen, dtype, name)


def separable_conv2d(
    input: TensorLike,
    depthwise_filter: TensorLike,
    pointwise_filter: TensorLike,
    strides: Sequence[int],
    padding: str,
    name: str | None = None,
) -> Tensor:
    """Convolves with as many channels between the two filters as come out, or fewer. See
    `tfnb.nn.separable_conv2d`.
    """
    graph = graph_of((input, depthwise_filter, pointwise_filter))
    depth, point = graph.to_tensor(depthwise_filter), graph.to_tensor(pointwise_filter)
    between, out = depth.shape.with_rank(4)[2:].num_elements(), point.shape.with_rank(4)[-1:].num_elements()
    if between is not None and out is not None and between > out:
        raise ShapeError(
            "Refusing to perform an overparameterized separable convolution: channel_multiplier * in_channels = "
            f"{between} > {out} = out_channels"
        )
    return OPS["nn.separable_conv2d"](input, depth, point, strides, padding, name=name)


def _filling(later: type, fill: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the initialiser of 0.12 that `later` is in 1.x: a function that makes the tensor itself."""

    def initializer(shape: ShapeLike = None, dtype: DTypeLike = float32, partition_info: object = None) -> Any:
        """Returns a tensor of the shape, or without one the initialiser of 1.x; `partition_info` changes nothing."""
        return later(dtype) if shape is None else fill(shape, as_dtype(dtype))

    initializer.__name__ = f"{later.__name__.lower()}_initializer"
    return initializer


_IMAGES = ("crop_to_bounding_box", "pad_to_bounding_box", "resize_image_with_crop_or_pad")
EARLY_OPS: list[tuple[object, object]] = [
    *((OPS[f"segment_{n}"], _segments(OPS[f"segment_{n}"], 1)) for n in ("sum", "mean", "prod", "min", "max")),
    *((OPS[f"sparse_segment_{n}"], _segments(OPS[f"sparse_segment_{n}"], 2)) for n in ("sum", "mean", "sqrt_n")),
    *((OPS[f"image.{n}"], _of_one_image(OPS[f"image.{n}"])) for n in _IMAGES),
    (OPS["div"], div),
    (OPS["floordiv"], floordiv),
    (OPS["mod"], mod),
    (OPS["unsorted_segment_sum"], unsorted_segment_sum),
    (Zeros, _filling(Zeros, OPS["zeros"])),
    (Ones, _filling(Ones, OPS["ones"])),
    (OPS["lbeta"], lbeta),
    (OPS["matrix_determinant"], matrix_determinant),
    (OPS["sequence_mask"], sequence_mask),
    (OPS["nn.separable_conv2d"], separable_conv2d),
    (OPS["string_split"], string_split),
    (OPS["reduce_join"], reduce_join),
]
