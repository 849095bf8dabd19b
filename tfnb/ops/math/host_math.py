"""Operations of TensorFlow 1.15 on numbers: the next float, cumulative log-sum-exp, bits of comparisons, time.

Invariant: each runs on the host, as the documents say; gradients are made of other operations.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.shapes import broadcast, normalize_axis, scalar_shape, unchanged
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import ZEROS_LIKE
from tfnb.ops.math.binary import MUL
from tfnb.ops.math.buckets_norms_bessel import BESSEL_I0E, BESSEL_I1E
from tfnb.ops.math.compare import SELECT
from tfnb.ops.math.reduce_sum import unbroadcast
from tfnb.ops.math.scan import ScanAttrs
from tfnb.ops.math.unary import ABS, EXP, LOG
from tfnb.ops.strings.hashing import fingerprint64
from tfnb.types import ALL, ALL_AND_QUANTIZED, FLOATS, INDEX, Shape, float32, float64, int32, scalar

__all__ = ["API", "CUMULATIVE_LOGSUMEXP", "OPS"]


def _next_after(call: HostCall, x1: np.ndarray, x2: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(np.nextafter(x1, x2))


def _grad_next_after(op: Operation, dy: Tensor) -> Any:
    """The gradient passes to x1, as if the step had no size; x2 says the direction only, and gets zeros."""
    x1, x2 = op.inputs
    return unbroadcast(x1, x2, dy, None)[0], ZEROS_LIKE(x2)


NEXT_AFTER: OpDef[Tensor] = OpDef(
    "NextAfter",
    "x1: T, x2: T",
    "output: T",
    """The next number after x1 that its type has, in the direction of x2, elementwise; x2 where both are equal.

    x1, x2: float32 or float64, shapes that broadcast. output: that dtype, the common shape. Runs on the host.""",
    types={"T": (float64, float32)},
    infer=broadcast,
    host=_next_after,
    grad=_grad_next_after,
    api="math.nextafter",
)


def _cumulative(call: HostCall, x: np.ndarray, axis: np.ndarray) -> np.ndarray:
    a = normalize_axis(int(axis), x.ndim)
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    v = np.flip(wide, a) if call.attrs.reverse else wide
    with np.errstate(all="ignore"):
        v = np.logaddexp.accumulate(v, axis=a) if x.shape[a] else v
    if call.attrs.exclusive and x.shape[a]:
        first = np.full_like(np.take(v, [0], a), -np.inf)
        v = np.concatenate([first, np.delete(v, -1, a)], a)
    return np.asarray((np.flip(v, a) if call.attrs.reverse else v).astype(x.dtype))


def _grad_cumulative(op: Operation, dy: Tensor) -> Any:
    """Each element gets exp(x - result) * dy of the results it is in, summed separately for either sign of dy."""
    x, axis = op.inputs
    a = op.attrs
    lowest = graph_of((x,)).constant(np.asarray(np.finfo(x.dtype.np).min, x.dtype.np))

    def part(grads: Tensor) -> Tensor:
        positive = grads > 0.0
        safe = SELECT(positive, grads, grads * 0.0 + 1.0)
        logs = SELECT(positive, LOG(safe) - op.outputs[0], MUL(grads * 0.0 + 1.0, lowest))
        sums = CUMULATIVE_LOGSUMEXP(logs, axis, exclusive=a.exclusive, reverse=not a.reverse)
        return EXP(sums + x)

    return part(dy) - part(-dy), None


CUMULATIVE_LOGSUMEXP: OpDef[Tensor] = OpDef(
    "CumulativeLogsumexp",
    "x: T, axis: Tidx",
    "out: T",
    """The logarithm of the cumulative sum of exponentials along one axis.

    x: a float type. axis: an integer scalar. out: dtype and shape of x. With `exclusive`, an element has those before
    it (-inf for the first); with `reverse`, it is taken from the end to the start. Errors: the axis is out of range.
    Runs on the host.""",
    types={"T": FLOATS, "Tidx": INDEX},
    defaults={"Tidx": int32},
    attrs=ScanAttrs,
    infer=unchanged,
    host=_cumulative,
    grad=_grad_cumulative,
    shape_inputs=(1,),
)


def _bytes_of_bits(c: Infer) -> Shape:
    x = c.shapes[0]
    if not c.shapes[1].is_compatible_with(scalar):
        raise ShapeError(f"{c.op_name}: the threshold must be a scalar, got shape {c.shapes[1]}")
    if x.sizes is None:
        return x
    if not x.sizes or (x.sizes[-1] is not None and x.sizes[-1] % 8):
        raise ShapeError(f"{c.op_name}: the last dimension must be a multiple of 8, got shape {x}")
    return Shape((*x.sizes[:-1], None if x.sizes[-1] is None else x.sizes[-1] // 8))


def _bitpack(call: HostCall, x: np.ndarray, threshold: np.ndarray) -> np.ndarray:
    if x.shape[-1] % 8:
        raise InvalidArgumentError(f"the last dimension must be a multiple of 8, got shape {x.shape}", call.op)
    return np.packbits(x if x.dtype == np.bool_ else x > threshold, axis=-1)


COMPARE_AND_BITPACK: OpDef[Tensor] = OpDef(
    "CompareAndBitpack",
    "input: T, threshold: T",
    "output: uint8",
    """Eight comparisons with a threshold as the bits of one byte, the first one as the highest bit. Bools are the bits
    themselves, whatever the threshold is.

    input: shape (..., 8 n). threshold: a scalar of that dtype. output: shape (..., n). Errors: the last dimension is no
    multiple of 8. Runs on the host.""",
    types={"T": tuple(t for t in ALL if t.kind in "fib" and t.name != "bfloat16")},
    infer=_bytes_of_bits,
    host=_bitpack,
    grad=NOT_DIFFERENTIABLE,
)

TIMESTAMP: OpDef[Tensor] = OpDef(
    "Timestamp",
    "",
    "ts: float64",
    "The seconds since 1970 at which the node runs, a scalar. Runs on the host.",
    infer=scalar_shape,
    host=lambda call: np.asarray(time.time()),
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)


def _fingerprint_shape(c: Infer) -> Shape:
    x = c.shapes[0]
    if x.ndims == 0:
        raise ShapeError("Fingerprint: data needs a rank >= 1, got a scalar")
    return Shape((None if x.sizes is None else x.sizes[0], 8))


def _fingerprints(call: HostCall, data: np.ndarray, method: np.ndarray) -> np.ndarray:
    if method.item() != b"farmhash64":
        raise InvalidArgumentError(f"Fingerprint: method must be farmhash64, got {method.item()!r}", call.op)
    rows = data.reshape(data.shape[0], -1) if data.size else data
    found = np.zeros(data.shape[0], "<u8")
    for i, row in enumerate(rows):
        if data.dtype == object and row.size == 1:
            found[i] = fingerprint64(row.item())
        elif data.dtype == object:
            inner = np.array([fingerprint64(text) for text in row], "<u8")
            found[i] = fingerprint64(inner.tobytes())
        else:
            found[i] = fingerprint64(row.tobytes())
    return found.view(np.uint8).reshape(-1, 8)


FINGERPRINT: OpDef[Tensor] = OpDef(
    "Fingerprint",
    "data: T, method: string",
    "fingerprint: uint8",
    """FarmHash's 64-bit fingerprint of each row, as eight bytes, the lowest first.

    data: shape (n, ...). method: the text "farmhash64". fingerprint: shape (n, 8). Errors: data is a scalar, or another
    method. Runs on the host.""",
    types={"T": ALL_AND_QUANTIZED},
    infer=_fingerprint_shape,
    host=_fingerprints,
    grad=NOT_DIFFERENTIABLE,
)


FACT: OpDef[Tensor] = OpDef(
    "Fact",
    "",
    "fact: string",
    "A fact about factorials, a scalar. Runs on the host.",
    infer=scalar_shape,
    host=lambda call: np.array(b"0! == 1", object),
    grad=NOT_DIFFERENTIABLE,
)

OPS: tuple[OpDef, ...] = (NEXT_AFTER, CUMULATIVE_LOGSUMEXP, COMPARE_AND_BITPACK, TIMESTAMP, FINGERPRINT, FACT)


def cumulative_logsumexp(
    x: TensorLike, axis: TensorLike = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Returns the logarithm of the cumulative sum of exponentials along `axis`: see the op CumulativeLogsumexp."""
    return CUMULATIVE_LOGSUMEXP(x, axis, exclusive=exclusive, reverse=reverse, name=name)


def fingerprint(data: TensorLike, method: TensorLike = "farmhash64", name: str | None = None) -> Tensor:
    """Returns the fingerprint of each row of `data`, shape (n, 8), uint8: see the op Fingerprint."""
    return FINGERPRINT(data, method, name=name)


def _bessel(scaled: OpDef, x: TensorLike, name: str | None) -> Tensor:
    t = graph_of((x,)).to_tensor(x)
    return MUL(EXP(ABS(t)), scaled(t), name=name)


def bessel_i0(x: TensorLike, name: str | None = None) -> Any:
    """Returns the modified Bessel function of the first kind, of order 0, elementwise. x: a float type."""
    return _bessel(BESSEL_I0E, x, name)


def bessel_i1(x: TensorLike, name: str | None = None) -> Any:
    """Returns the modified Bessel function of the first kind, of order 1, elementwise. x: a float type."""
    return _bessel(BESSEL_I1E, x, name)


API: dict[str, Any] = {
    "math.cumulative_logsumexp": cumulative_logsumexp,
    "fingerprint": fingerprint,
    "math.bessel_i0": bessel_i0,
    "math.bessel_i1": bessel_i1,
}
