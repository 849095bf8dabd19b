"""Reversal of sequences of different lengths, rotation, and sorting (white paper, Table 1, array operations).

Invariant: the ops only reorder elements; equal elements keep their order in a sort.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.bounds import Bound
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import HostCall, Infer, LowerSite, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import normalize_axis, unchanged
from tfnb.ir.tensor import Tensor, TensorLike, is_tensor_like
from tfnb.ops.array.shape_ops import EXPAND_DIMS, SHAPE
from tfnb.ops.array.top_k import TOP_K_V2
from tfnb.ops.array.transpose_pad_tile import TRANSPOSE
from tfnb.ops.math.binary import REAL_DIV
from tfnb.ops.math.bits import INVERT
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.compare import EQUAL
from tfnb.ops.math.reduce_sum import SUM
from tfnb.ops.math.unary import NEG
from tfnb.types import ALL, INDEX, REALS, Shape, int32, int64, unknown_shape

__all__ = ["API", "OPS", "REVERSE_SEQUENCE", "ROLL"]


@record
class ReverseSequenceAttrs:
    """`seq_dim`: the axis that is reversed; `batch_dim`: the axis along which the lengths are given."""

    seq_dim: int
    batch_dim: int = 0


def _axes_in_rank(attrs: ReverseSequenceAttrs, rank: int) -> tuple[int, int]:
    for name, axis in (("seq_dim", attrs.seq_dim), ("batch_dim", attrs.batch_dim)):
        if not 0 <= axis < rank:
            raise InvalidArgumentError(f"ReverseSequence: {name} must be < input rank {rank} and not negative: {axis}")
    return attrs.seq_dim, attrs.batch_dim


def _sequence_axes(attrs: ReverseSequenceAttrs, rank: int) -> tuple[int, int]:
    if attrs.seq_dim == attrs.batch_dim:  # which TensorFlow finds when it runs
        raise InvalidArgumentError(f"ReverseSequence: batch_dim == seq_dim == {attrs.seq_dim}; they must differ")
    return _axes_in_rank(attrs, rank)


def _reversed_shape(c: Infer) -> Shape:
    x, lengths = c.shapes[0], c.shapes[1].with_rank(1)
    if x.sizes is None:
        return x
    _, batch = _axes_in_rank(c.attrs, len(x.sizes))
    if not lengths.is_compatible_with(Shape((x.sizes[batch],))):
        raise ShapeError(f"ReverseSequence: lengths of shape {lengths} for axis {batch} of shape {x}")
    return x


def _host_reverse(call: HostCall, x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    seq, batch = _sequence_axes(call.attrs, x.ndim)
    if lengths.size and (lengths.min() < 0 or lengths.max() > x.shape[seq]):
        raise InvalidArgumentError(f"a length is not in [0, {x.shape[seq]}]: {lengths.tolist()}", call.op)
    at = np.arange(x.shape[seq])
    n = lengths[:, None]
    order = np.where(at < n, n - 1 - at, at)  # shape (batch, sequence)
    order = order if batch < seq else order.T
    shape = [d if i in (seq, batch) else 1 for i, d in enumerate(x.shape)]
    return np.take_along_axis(x, order.reshape(shape).astype(np.int64), seq)


def _lower_reverse(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    seq, batch = _sequence_axes(site.attrs, len(idx))
    size, source = site.inputs[0].shape[seq], list(idx)
    n = s.minimum(s.position(site.load(1, (idx[batch],)), size), size)
    source[seq] = s.where(s.lt(idx[seq], n), n - 1 - idx[seq], idx[seq])
    return site.load(0, source)


def _grad_reverse(op: Operation, dy: Tensor) -> tuple[Tensor, None]:
    a = op.attrs
    return REVERSE_SEQUENCE(dy, op.inputs[1], seq_dim=a.seq_dim, batch_dim=a.batch_dim), None


def _bounds_reverse(c: Infer) -> list[Bound]:
    dims = c.shapes[0].known()
    return [Bound(1, dims[_sequence_axes(c.attrs, len(dims))[0]] + 1, what="length")]


REVERSE_SEQUENCE: OpDef[Tensor] = OpDef(
    "ReverseSequence",
    inputs="input: T, seq_lengths: Tlen",
    outputs="output: T",
    types={"T": ALL, "Tlen": INDEX},
    defaults={"Tlen": int64},
    attrs=ReverseSequenceAttrs,
    doc="""Reverses the first seq_lengths[i] elements along `seq_dim` in slice i along `batch_dim`; the others stay.

    input: any dtype. seq_lengths: integers in [0, size of seq_dim], one for each slice along batch_dim. output: dtype
    and shape of input. Errors: a length is out of range (a device limits a length that it computed itself).""",
    infer=_reversed_shape,
    host=_host_reverse,
    lower=_lower_reverse,
    bounds=_bounds_reverse,
    grad=_grad_reverse,
)


def _pairs(shift: np.ndarray, axis: np.ndarray, rank: int) -> list[tuple[int, int]]:
    """Returns (axis, shift) for each rotation."""
    if shift.shape != axis.shape or axis.ndim > 1:
        raise ShapeError(f"Roll: shift of shape {shift.shape} and axis of shape {axis.shape} must be alike")
    return [(normalize_axis(int(a), rank, "Roll: axis"), k) for k, a in enumerate(axis.reshape(-1))]


def _host_roll(call: HostCall, x: np.ndarray, shift: np.ndarray, axis: np.ndarray) -> np.ndarray:
    out = x
    for a, k in _pairs(shift, axis, x.ndim):
        out = np.roll(out, int(shift.reshape(-1)[k]), a)
    return out


def _lower_roll(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    axis, source = site.value(2), list(idx)
    for a, k in _pairs(np.empty(site.inputs[1].shape), axis, len(idx)):
        n = site.outputs[0].shape[a]
        if n == 0:
            return s.const(0, site.outputs[0].dtype)
        shift = site.load(1, (k,) if axis.ndim else ())
        source[a] = s.floormod(source[a] - s.position(s.floormod(shift, n), n), n)
    return site.load(0, source)


ROLL: OpDef[Tensor] = OpDef(
    "Roll",
    inputs="input: T, shift: Tshift, axis: Taxis",
    outputs="output: T",
    types={"T": ALL, "Tshift": INDEX, "Taxis": INDEX},
    doc="""Rotates elements along axes: elements shifted past the end of an axis return at its start.

    input: any dtype. shift: integers, positive towards the end. axis: one axis per shift (negative: counted from the
    end); an axis that occurs twice is rotated by the sum. output: dtype and shape of input. Errors: an axis is out of
    range.""",
    infer=unchanged,
    host=_host_roll,
    lower=_lower_roll,
    grad=lambda op, dy: (ROLL(dy, -op.inputs[1], op.inputs[2]), None, None),
    shape_inputs=(2,),
    api="roll manip.roll",
)


@record
class NthElementAttrs:
    """`reverse`: selects the n-th largest instead of the n-th smallest element."""

    reverse: bool = False


def _nth_shape(c: Infer) -> Shape:
    x, n = c.shapes[0], c.value(1)
    if x.ndims == 0:
        raise ShapeError("NthElement: input must be at least rank 1 but is rank 0")
    if n is not None:
        _check_nth(int(n), x.sizes[-1] if x.sizes else None, None)
    return unknown_shape if x.sizes is None else Shape(x.sizes[:-1])


def _check_nth(n: int, size: int | None, op: Operation | None) -> None:
    if n < 0:
        raise InvalidArgumentError(f"NthElement: n must be non-negative but is {n}", op)
    if size is not None and n >= size:
        raise InvalidArgumentError(f"NthElement: input must have last dimension > n = {n} but is {size}", op)


def _host_nth(call: HostCall, x: np.ndarray, n: np.ndarray) -> np.ndarray:
    if not x.ndim:
        raise ShapeError("NthElement: input must be at least rank 1 but is rank 0", call.op)
    size, k = x.shape[-1], int(n)
    _check_nth(k, size, call.op)
    k = size - 1 - k if call.attrs.reverse else k
    return np.partition(x, k, axis=-1)[..., k]


def _grad_nth(op: Operation, dy: Tensor) -> tuple[Tensor, None]:
    """All elements of a row that equal its n-th element get equal shares of the gradient."""
    x, last = op.inputs[0], np.int32(-1)
    matches = cast_to(EQUAL(EXPAND_DIMS(op.outputs[0], last), x), dy.dtype)
    share = REAL_DIV(matches, SUM(matches, np.asarray([-1], np.int32), keep_dims=True))
    return share * EXPAND_DIMS(dy, last), None


NTH_ELEMENT: OpDef[Tensor] = OpDef(
    "NthElement",
    inputs="input: T, n: int32",
    outputs="values: T",
    types={"T": REALS},
    attrs=NthElementAttrs,
    doc="""The n-th smallest element (counted from 0) of each row along the last dimension.

    input: a real number type, shape (..., m). n: an int32 scalar in [0, m). values: shape (...). Errors: n is out
    of range. Runs on the host.""",
    infer=_nth_shape,
    host=_host_nth,
    grad=_grad_nth,
    api="contrib.nn.nth_element",
)


def reverse_sequence(
    input: TensorLike,
    seq_lengths: TensorLike,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
    seq_dim: int | None = None,
    batch_dim: int | None = None,
) -> Tensor:
    """Reverses the first seq_lengths[i] elements along `seq_axis` in slice i along `batch_axis` (by default 0).

    `seq_dim` and `batch_dim` are the older names of the two axes. Errors: the sequence axis is not given, or a length
    is out of range.
    """
    seq, batch = (
        seq_dim if seq_axis is None else seq_axis,
        batch_dim if batch_axis is None else batch_axis,
    )
    if seq is None:
        raise InvalidArgumentError("reverse_sequence: needs seq_axis")
    lengths = seq_lengths
    if isinstance(seq_lengths, (list, tuple)) and not any(map(is_tensor_like, seq_lengths)):
        lengths = np.asarray(seq_lengths, np.int64)
    return REVERSE_SEQUENCE(input, lengths, seq_dim=seq, batch_dim=batch or 0, name=name)


def _falling(x: Tensor) -> Tensor:
    """Sort keys that decrease as the values of `x` increase, without overflow."""
    return NEG(x) if x.dtype.is_floating else INVERT(x)


def _ordered(values: TensorLike, axis: int, direction: str, which: int, name: str) -> Any:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise InvalidArgumentError(f"{name}: direction {direction!r}; needed ASCENDING or DESCENDING")
    graph = graph_of((values,))
    with graph.as_default(), graph.name_scope(name):
        x = graph.to_tensor(values)
        rank = x.shape.ndims
        if rank is None:
            raise ShapeError(f"{name}: the rank must be known")
        a = normalize_axis(int(axis), rank, f"{name}: axis")
        swap = list(range(rank))
        swap[a], swap[-1] = swap[-1], swap[a]
        perm = np.asarray(swap, np.int32)
        x = x if a == rank - 1 else TRANSPOSE(x, perm)
        rising = direction == "ASCENDING"
        keys = _falling(x) if rising else x
        size = x.shape.as_list()[-1]
        ordered = TOP_K_V2(keys, SHAPE(x, out_type=int32)[-1] if size is None else np.int32(size))[which]
        ordered = _falling(ordered) if rising and which == 0 else ordered
        return ordered if a == rank - 1 else TRANSPOSE(ordered, perm)


def sort(values: TensorLike, axis: int = -1, direction: str = "ASCENDING", name: str | None = None) -> Any:
    """Sorts the elements along `axis`.

    values: a real number type, of known rank. direction: "ASCENDING" or "DESCENDING". The result has the dtype and
    shape of values. Raises `InvalidArgumentError` for an unknown direction, `ShapeError` for an unknown rank, and an
    error for an axis out of range.
    """
    return _ordered(values, axis, direction, 0, name or "sort")


def argsort(
    values: TensorLike,
    axis: int = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Any:
    """Returns the indices (int32) that sort the elements along `axis`; equal elements keep their order.

    The arguments are those of `sort`, and the result has the shape of values; `stable` has no effect. Errors: the
    direction is unknown, or the axis is out of range.
    """
    return _ordered(values, axis, direction, 1, name or "argsort")


OPS: tuple[OpDef, ...] = (REVERSE_SEQUENCE, ROLL, NTH_ELEMENT)
API: dict[str, Any] = {
    "reverse_sequence": reverse_sequence,
    "sort": sort,
    "argsort": argsort,
    "contrib.framework.sort": sort,
    "contrib.framework.argsort": argsort,
}
