"""Counter-based random ops, whose numbers are the same on every device (Salmon et al., SC'11).

The bits of an element are Philox-4x32 of (key, call number, element index). The only state is the number of calls, and
a kernel can compute any element independently. Keys come from the seeds of the graph and the op. Invariant: two runs of
a session with the same seeds give the same numbers on every device, for any number of compute units.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir import scalar as s
from tfnb.ir.bounds import Bound
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, LowerSite, OpDef
from tfnb.ir.record import record
from tfnb.ir.scalar import Expr
from tfnb.ir.scalar.host import evaluate
from tfnb.ir.scalar.host_philox import philox_4x32
from tfnb.ir.shapes import with_rank
from tfnb.ir.tensor import Tensor
from tfnb.types import (
    FLOATS,
    INDEX,
    DType,
    DTypeLike,
    Shape,
    bfloat16,
    float16,
    float32,
    float64,
    int32,
    int64,
    uint32,
    uint64,
)

__all__ = [
    "OPS",
    "RANDOM_STANDARD_NORMAL",
    "RANDOM_UNIFORM",
    "RANDOM_UNIFORM_INT",
    "TRUNCATED_NORMAL",
    "SeedAttrs",
]

Words = Any  # a function from the number of a word (0..3) to its uint32 expression
_WIDTH = math.erf(math.sqrt(2.0))  # the probability that a normal number is within two deviations


@record
class SeedAttrs:
    """`seed`, `seed2`: the key of the generator; for (0, 0) the runtime chooses a key."""

    seed: int = 0
    seed2: int = 0


def _shape(c: Infer) -> Shape:
    with_rank(c, 0, 1, "shape must be a vector")
    return c.as_shape(0)


def _unit(word: Words, first: int, dtype: DType) -> Expr:
    """A number in [0, 1) from as many random bits as the type represents exactly, so that none rounds to 1."""
    if dtype is float64:
        high = s.cast(s.shr(word(first), 5), float64)
        low = s.cast(s.shr(word(first + 1), 6), float64)
        return (high * 67108864.0 + low) * 2.0**-53
    bits = {float16: 11, bfloat16: 8}.get(dtype, 24)
    return s.cast(s.shr(word(first), 32 - bits), float32) * 2.0**-bits


def _uniform(word: Words, dtype: DType) -> Expr:
    return _unit(word, 0, dtype)


def _normal(word: Words, dtype: DType) -> Expr:
    """Applies the Box-Muller transform: the radius from one uniform number in (0, 1], the angle from another."""
    if dtype is float64:
        u, v = _unit(word, 0, dtype) + 2.0**-53, _unit(word, 2, dtype)
    else:
        u, v = (s.cast(word(0), float32) + 1.0) * 2.0**-32, _unit(word, 1, float32)
    return s.sqrt(s.log(u) * -2.0) * s.cos(v * (2.0 * math.pi))


def _truncated(word: Words, dtype: DTypeLike) -> Expr:
    """Applies the inverse of the normal distribution function to a uniform number between its values at -2 and 2."""
    if dtype is float64:
        u = _unit(word, 0, dtype) + 2.0**-54
    else:
        u = (s.cast(s.shr(word(0), 9), float32) + 0.5) * 2.0**-23
    return s.erfinv((u * 2.0 - 1.0) * _WIDTH) * math.sqrt(2.0)


def _lower(of: Callable[..., Any]) -> Any:
    """Makes the `lower` recipe of a distribution `of(words, dtype) -> Expr`."""

    def recipe(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
        dtype = site.outputs[0].dtype
        return s.cast(of(_words(site, idx), dtype), dtype)

    return recipe


def _words(site: LowerSite, idx: tuple[Expr, ...]) -> Words:
    linear: Expr = s.const(0, int32)
    for i, d in zip(idx, site.outputs[0].shape, strict=True):
        linear = linear * d + i
    position = s.cast(linear, uint32)
    return lambda n: s.philox(site.rng(0), site.rng(1), position, site.rng(2), n)


def _host(of: Callable[..., Any]) -> Any:
    """The host kernel of a distribution, which evaluates its expression for all words at once."""

    def kernel(call: HostCall, shape: np.ndarray, *bounds: np.ndarray) -> np.ndarray:
        dims = tuple(int(d) for d in shape)
        dtype = call.outputs[0].dtype
        words = random_words(call, math.prod(dims))
        leaves = [s.arg(i, uint32) for i in range(4)]
        bound_args = [s.arg(4 + i, dtype) for i in range(len(bounds))]
        arrays = [*words, *bounds]
        e = of(lambda n: leaves[n], dtype, *bound_args)
        value = evaluate(e, lambda leaf: arrays[leaf.value])
        return value.astype(dtype.np, copy=False).reshape(dims)

    return kernel


def random_words(call: HostCall, n: int) -> tuple[np.ndarray, ...]:
    """Returns four uint32 words for each of the `n` elements of this call."""
    key0, key1, number, _ = call.rng()  # type: ignore[misc]
    return philox_4x32(key0, key1, np.arange(n, dtype=np.uint32), number)


def _uniform_int(word: Words, dtype: DTypeLike, low: Expr, high: Expr) -> Expr:
    """low + bits mod (high - low), in unsigned arithmetic; the bias is below (high - low) / 2^32 (or 2^64)."""
    if dtype is int32:
        span = s.cast(high, uint32) - s.cast(low, uint32)
        return s.bitcast(s.cast(low, uint32) + word(0) % span, int32)
    bits = s.bitor(s.shl(s.cast(word(0), uint64), 32), s.cast(word(1), uint64))
    span = s.cast(high, uint64) - s.cast(low, uint64)
    return s.bitcast(s.cast(low, uint64) + bits % span, int64)


def _lower_uniform_int(site: LowerSite, idx: tuple[Expr, ...], port: int) -> Expr:
    low, high = site.load(1, ()), site.load(2, ())
    return _uniform_int(_words(site, idx), site.outputs[0].dtype, low, high)


def _host_uniform_int(call: HostCall, shape: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    if low >= high and shape.all():
        raise InvalidArgumentError(f"Need minval < maxval, got {low} >= {high}")
    return _host(_uniform_int)(call, shape, low, high)


def _bounds_uniform_int(c: Infer) -> list[Bound]:
    """Returns the bound of `minval`, which only a result with elements needs and which is no error of the graph."""
    high, size = c.value(2), c.as_shape(0).num_elements()
    return [] if high is None or size == 0 else [Bound(1, int(high.reshape(())), None, "minval")]


_SHAPES = """

shape: an integer vector. output: dtype `dtype`, that shape. seed, seed2: the generator's key; with equal keys
the n-th call in a session gives equal numbers on every device."""


def _floats(name: str, of: Callable[..., Any], doc: str) -> OpDef[Tensor]:
    return OpDef(
        name,
        "shape: T",
        "output: dtype",
        doc + _SHAPES,
        types={"T": INDEX, "dtype": FLOATS},
        attrs=SeedAttrs,
        infer=_shape,
        host=_host(of),
        lower=_lower(of),
        grad=NOT_DIFFERENTIABLE,
        shape_inputs=(0,),
        stateful=True,
    )


RANDOM_UNIFORM = _floats("RandomUniform", _uniform, "Uniformly distributed numbers in [0, 1).")
RANDOM_STANDARD_NORMAL = _floats(
    "RandomStandardNormal", _normal, "Normally distributed numbers with mean 0 and deviation 1."
)
TRUNCATED_NORMAL = _floats(
    "TruncatedNormal",
    _truncated,
    "Normally distributed numbers with mean 0 and deviation 1, restricted to [-2, 2].",
)

RANDOM_UNIFORM_INT: OpDef[Tensor] = OpDef(
    "RandomUniformInt",
    "shape: T, minval: Tout, maxval: Tout",
    "output: Tout",
    "Uniformly distributed integers in [minval, maxval)."
    + _SHAPES
    + "\nErrors: minval >= maxval, where the host knows them and the result is not empty.",
    types={"T": INDEX, "Tout": INDEX},
    attrs=SeedAttrs,
    infer=_shape,
    host=_host_uniform_int,
    lower=_lower_uniform_int,
    bounds=_bounds_uniform_int,
    grad=NOT_DIFFERENTIABLE,
    shape_inputs=(0,),
    stateful=True,
)

OPS: tuple[OpDef, ...] = (
    RANDOM_UNIFORM,
    RANDOM_STANDARD_NORMAL,
    TRUNCATED_NORMAL,
    RANDOM_UNIFORM_INT,
)
API: dict[str, Any] = {}
