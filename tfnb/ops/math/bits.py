"""Operations on bits: and, or, exclusive or, shifts, counts of set bits, and reading the bits as another type.

Invariant: integers are in two's complement; a shift by at least the number of bits of the type acts as a shift by
that number less one, as in TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.errors import ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.opdef import GRADIENT_MISSING, NOT_DIFFERENTIABLE, HostCall, Infer, LowerSite, NoAttrs, OpDef
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import broadcast, unchanged
from tfnb.ir.tensor import Tensor
from tfnb.types import INTS, NUMBERS, QUANTIZED, DType, Shape, bfloat16, float16, uint8, uint16, uint32, uint64

__all__ = ["BITCAST", "INVERT", "OPS"]

_UNSIGNED = {1: uint8, 2: uint16, 4: uint32, 8: uint64}


def _bitwise(name: str, formula: str, fn: Callable[[Expr, Expr], Expr], api: str) -> OpDef[Tensor]:
    return OpDef(
        name,
        inputs="x: T, y: T",
        outputs="z: T",
        types={"T": INTS},
        doc=f"""Elementwise z = {formula}, broadcasting.

        x, y: the same integer type; their shapes must broadcast together. z: that dtype, the broadcast shape.""",
        infer=broadcast,
        scalar=lambda attrs, x, y: fn(x, y),
        grad=NOT_DIFFERENTIABLE,
        api=f"bitwise.{api}",
    )


def _by(y: Expr) -> Expr:
    """The number of bits to shift by: y, limited to the range from 0 to the width of its type less one."""
    return s.minimum(s.maximum(y, 0), y.dtype.size * 8 - 1)


BITWISE_AND = _bitwise("BitwiseAnd", "the bits that both x and y have", s.bitand, "bitwise_and")
BITWISE_OR = _bitwise("BitwiseOr", "the bits that x or y has", s.bitor, "bitwise_or")
BITWISE_XOR = _bitwise("BitwiseXor", "the bits that just one of x and y has", s.bitxor, "bitwise_xor")
LEFT_SHIFT = _bitwise("LeftShift", "x shifted left by y bits", lambda x, y: s.shl(x, _by(y)), "left_shift")
RIGHT_SHIFT = _bitwise(
    "RightShift",
    "x shifted right by y bits; signed numbers keep their sign",
    lambda x, y: s.shr(x, _by(y)),
    "right_shift",
)

INVERT: OpDef[Tensor] = OpDef(
    "Invert",
    inputs="x: T",
    outputs="y: T",
    types={"T": INTS},
    doc="""Inverts every bit, elementwise: -x - 1 for signed numbers.

    x: an integer type, any shape. y: dtype and shape of x.""",
    infer=unchanged,
    scalar=lambda attrs, x: s.bitnot(x),
    grad=NOT_DIFFERENTIABLE,
    api="bitwise.invert",
)


def _bits_of(x: Expr) -> Expr:
    """The number of set bits of a uint32, computed by adding neighbouring groups of bits in pairs."""
    x = x - s.bitand(s.shr(x, 1), 0x55555555)
    x = s.bitand(x, 0x33333333) + s.bitand(s.shr(x, 2), 0x33333333)
    x = s.bitand(x + s.shr(x, 4), 0x0F0F0F0F)
    return s.shr(x * 0x01010101, 24)


def _population(attrs: NoAttrs, x: Expr) -> Expr:
    bits = s.bitcast(x, _UNSIGNED[x.dtype.size])
    if x.dtype.size < 8:
        return s.cast(_bits_of(s.cast(bits, uint32)), uint8)
    low, high = s.cast(s.bitand(bits, 0xFFFFFFFF), uint32), s.cast(s.shr(bits, 32), uint32)
    return s.cast(_bits_of(low) + _bits_of(high), uint8)


POPULATION_COUNT: OpDef[Tensor] = OpDef(
    "PopulationCount",
    inputs="x: T",
    outputs="y: uint8",
    types={"T": INTS},
    doc="""The number of set bits of each element.

    x: an integer type, any shape. y: uint8, the shape of x.""",
    infer=unchanged,
    scalar=_population,
    grad=NOT_DIFFERENTIABLE,
    api="bitwise.population_count",
)


def _cast_shape(c: Infer) -> Shape:
    x, source_size, target_size = c.shapes[0], c.dtypes[0].size, c.types["type"].size
    if x.sizes is None or source_size == target_size:
        return x
    if source_size > target_size:
        return Shape((*x.sizes, source_size // target_size))
    if not x.sizes or x.sizes[-1] not in (None, target_size // source_size):
        raise ShapeError(
            f"Cannot bitcast due to shape: to take {target_size // source_size} numbers as one, the last dimension "
            f"must be that; got {x}"
        )
    return Shape(x.sizes[:-1])


def _host_cast(call: HostCall, x: np.ndarray) -> np.ndarray:
    target_dtype: DType = call.types["type"]
    source_size, target_size = x.dtype.itemsize, target_dtype.size
    if source_size < target_size and x.shape[-1:] != (target_size // source_size,):
        raise ShapeError(
            f"Bitcast: the last dimension of shape {x.shape} must be {target_size // source_size}", call.op
        )
    shape = (
        x.shape
        if source_size == target_size
        else (*x.shape, source_size // target_size)
        if source_size > target_size
        else x.shape[:-1]
    )
    return np.frombuffer(np.ascontiguousarray(x).tobytes(), target_dtype.np).reshape(shape)


def _lower_cast(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    """One element of the output. The bits are split or joined as unsigned integers of the two element sizes."""
    source, target = site.inputs[0].dtype, site.outputs[0].dtype
    source_word, target_word = _UNSIGNED[source.size], _UNSIGNED[target.size]
    if source_word.size == target_word.size:
        return s.bitcast(site.load(0, idx), target)
    if source_word.size > target_word.size:
        shift = s.cast(idx[-1] * (8 * target_word.size), source_word)
        return s.bitcast(s.cast(s.shr(s.bitcast(site.load(0, idx[:-1]), source_word), shift), target_word), target)
    total: Expr | None = None
    for k in range(target_word.size // source_word.size):
        part = s.shl(s.cast(s.bitcast(site.load(0, (*idx, k)), source_word), target_word), 8 * source_word.size * k)
        total = part if total is None else s.bitor(total, part)
    return s.bitcast(total, target)  # type: ignore[arg-type]


BITCAST: OpDef[Tensor] = OpDef(
    "Bitcast",
    inputs="input: T",
    outputs="output: type",
    types=dict.fromkeys(("T", "type"), (*NUMBERS, *QUANTIZED)),
    doc="""Reads the bits of a tensor as another type.

    input: a number type. output: dtype `type`. The output has the shape of input, with
    an additional last dimension when the type is smaller, and without the last dimension (which must hold the parts of
    one number) when it is larger. Errors: the last dimension has another size. 16-bit floats, complex and
    quantised numbers run on the host.""",
    host_dtypes=(float16, bfloat16),
    infer=_cast_shape,
    host=_host_cast,
    lower=_lower_cast,
    grad=GRADIENT_MISSING,
    api="bitcast",
)

OPS: tuple[OpDef, ...] = (
    BITWISE_AND,
    BITWISE_OR,
    BITWISE_XOR,
    LEFT_SHIFT,
    RIGHT_SHIFT,
    INVERT,
    POPULATION_COUNT,
    BITCAST,
)
API: dict[str, Any] = {}
