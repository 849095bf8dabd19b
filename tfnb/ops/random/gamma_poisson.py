"""Random numbers of distributions with parameters: gamma, Poisson, truncated normal.

Each sample is the inverse of the distribution function at one counter-based uniform number, so equal seeds give equal
samples for any batch size. SciPy computes them on the host. Invariant: the result's shape is `shape` followed by the
shape of the parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import GRADIENT_MISSING, NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import GraphLike, Tensor, TensorLike, is_tensor_like
from tfnb.ops.array.constants import ZEROS_LIKE
from tfnb.ops.math.binary import MAXIMUM
from tfnb.ops.math.reduce_sum import SUM
from tfnb.ops.math.special import RANDOM_GAMMA_GRAD
from tfnb.ops.random.functions import seeds_for
from tfnb.ops.random.uniform_normal import SeedAttrs, random_words
from tfnb.types import (
    FLOATS,
    INDEX,
    DType,
    DTypeLike,
    Shape,
    as_dtype,
    float16,
    float32,
    float64,
    int32,
    int64,
)

__all__ = ["API", "OPS", "RANDOM_GAMMA"]

_KINDS = (float16, float32, float64)


def _units(call: HostCall, n: int) -> np.ndarray:
    """Uniform random numbers in the open interval (0, 1)."""
    high, low = random_words(call, n)[:2]
    return np.asarray(((high >> 5) * 67108864.0 + (low >> 6) + 0.5) * 2.0**-53)


def _sample_shape(c: Infer) -> Shape:
    return c.as_shape(0).concatenate(c.shapes[1])


def _drawn(
    inverse: Callable[[Any, np.ndarray, np.ndarray], np.ndarray],
) -> Callable[..., np.ndarray]:
    """The host kernel that applies `inverse(scipy.special, parameter, uniform numbers)`."""

    def kernel(call: HostCall, shape: np.ndarray, parameter: np.ndarray) -> np.ndarray:
        dims = (*shape.tolist(), *parameter.shape)
        u = _units(call, math.prod(dims)).reshape(dims)
        with np.errstate(all="ignore"):
            values = inverse(import_module("scipy.special"), parameter.astype(np.float64), u)
            return np.asarray(values).astype(call.outputs[0].dtype.np)

    return kernel


_SAMPLES_PER_RATE = 64  # from as many on, a table of the distribution function is made for a rate
_LARGEST_RATE = 1e6


def _inverse_poisson(special: ModuleType, rate: np.ndarray, u: np.ndarray) -> np.ndarray:
    """The smallest k at which the distribution function is at least u; NaN for a negative rate."""
    rates = np.unique(rate)
    if rates.size * _SAMPLES_PER_RATE <= u.size and (0 <= rates).all() and (rates <= _LARGEST_RATE).all():
        return _inverse_by_tables(special, rate, rates, u)
    safe = np.where(rate > 0, rate, 1.0)
    guess = special.pdtrik(u, np.broadcast_to(safe, u.shape))
    k = np.maximum(np.ceil(np.nan_to_num(guess)), 0.0)
    k = np.where(special.pdtr(k, safe) < u, k + 1, k)
    k = np.where((k > 0) & (special.pdtr(np.maximum(k - 1, 0), safe) >= u), k - 1, k)
    return np.where(rate > 0, k, np.where(rate == 0, 0.0, np.nan))


def _inverse_by_tables(special: ModuleType, rate: np.ndarray, rates: np.ndarray, u: np.ndarray) -> np.ndarray:
    """The same for few different rates: each has a table of its distribution function, in which u is looked up."""
    drawn, of = np.empty(u.shape), np.broadcast_to(rate, u.shape)
    for one in rates:
        table = special.pdtr(np.arange(int(one + 12 * math.sqrt(one)) + 40), one)
        here = of == one
        drawn[here] = np.searchsorted(table, u[here])
    return drawn


def _grad_gamma(op: Operation, dy: Tensor) -> tuple[None, Tensor]:
    alpha, sample = op.inputs[1], op.outputs[0]
    if sample.shape.ndims is None or alpha.shape.ndims is None:
        raise ShapeError("the gradient of RandomGamma needs known ranks", op)
    slope = RANDOM_GAMMA_GRAD(alpha, sample)
    lead = np.arange(sample.shape.ndims - alpha.shape.ndims, dtype=np.int32)
    return None, SUM(dy * slope, lead)


_TAIL = """ output: shape `shape` followed by that of {what}. seed, seed2: the key of the generator; with equal keys,
    the n-th call in a session gives equal numbers. Runs on the host."""

RANDOM_GAMMA: OpDef[Tensor] = OpDef(
    "RandomGamma",
    inputs="shape: S, alpha: T",
    outputs="output: T",
    types={"S": INDEX, "T": _KINDS},
    attrs=SeedAttrs,
    doc="""Samples of the gamma distribution with shape alpha and rate 1.

    shape: an integer vector. alpha: a float type, positive, any shape; a value <= 0 gives NaN."""
    + _TAIL.format(what="alpha"),
    infer=_sample_shape,
    host=_drawn(lambda special, alpha, u: special.gammaincinv(alpha, u)),
    grad=_grad_gamma,
    shape_inputs=(0,),
    stateful=True,
)


def _poisson(
    name: str, inputs: str, types: Mapping[str, tuple[DType, ...]], defaults: Mapping[str, Any]
) -> OpDef[Tensor]:
    return OpDef(
        name,
        inputs=inputs,
        outputs="output: dtype",
        types=types,
        attrs=SeedAttrs,
        doc="""Samples of the Poisson distribution.

    shape: an integer vector. rate: the mean, a number type, not negative, any shape."""
        + _TAIL.format(what="rate"),
        infer=_sample_shape,
        host=_drawn(_inverse_poisson),
        grad=GRADIENT_MISSING,
        shape_inputs=(0,),
        stateful=True,
        defaults=defaults,
    )


RANDOM_POISSON = _poisson("RandomPoisson", "shape: S, rate: dtype", {"S": INDEX, "dtype": _KINDS}, {})
RANDOM_POISSON_V2 = _poisson(
    "RandomPoissonV2",
    "shape: S, rate: R",
    {"S": INDEX, "R": (*_KINDS, *INDEX), "dtype": (*_KINDS, *INDEX)},
    {"R": float64, "dtype": int64},
)


def _host_truncated(call: HostCall, shape: np.ndarray, *parameters: np.ndarray) -> np.ndarray:
    """Draws samples of truncated normal distributions.

    An interval above the mean is mirrored below it, where the distribution function is more accurate.
    """
    dims = tuple(shape.tolist())
    if any(p.ndim > 1 or (p.ndim == 1 and p.size not in (1, *dims[:1])) for p in parameters):
        raise InvalidArgumentError(f"each parameter must be a scalar or have {dims[:1]} elements", call.op)
    wide_parameters = [p.astype(np.float64).reshape(-1, *(1,) * max(len(dims) - 1, 0)) for p in parameters]
    mean, deviation, low, high = (p if dims else p.reshape(()) for p in wide_parameters)
    if (deviation <= 0).any() or (low >= high).any():
        raise InvalidArgumentError("needs positive deviations and minvals below maxvals", call.op)
    special = import_module("scipy.special")
    a, b = (low - mean) / deviation, (high - mean) / deviation
    flip = a > 0
    a, b = np.where(flip, -b, a), np.where(flip, -a, b)
    first, last = special.ndtr(a), special.ndtr(b)
    u = _units(call, math.prod(dims)).reshape(dims)
    z = np.clip(special.ndtri(first + u * (last - first)), a, b)
    return np.asarray(mean + deviation * np.where(flip, -z, z)).astype(call.outputs[0].dtype.np)


PARAMETERIZED_TRUNCATED_NORMAL: OpDef[Tensor] = OpDef(
    "ParameterizedTruncatedNormal",
    inputs="shape: T, means: dtype, stdevs: dtype, minvals: dtype, maxvals: dtype",
    outputs="output: dtype",
    types={"dtype": FLOATS, "T": INDEX},
    attrs=SeedAttrs,
    doc="""Normally distributed numbers between two bounds.

    shape: an integer vector; its first number is the number of batches. means, stdevs, minvals, maxvals: a float
    type, scalars or one per batch. output: that dtype and shape. Errors: a deviation <= 0, or minvals >= maxvals.
    Runs on the host.""",
    infer=lambda c: c.as_shape(0),
    host=_host_truncated,
    grad=NOT_DIFFERENTIABLE,
    shape_inputs=(0,),
    stateful=True,
)


def _dims(graph: GraphLike, shape: TensorLike) -> Tensor:
    if hasattr(shape, "dtype"):
        return graph.to_tensor(shape)
    if isinstance(shape, (list, tuple)) and any(map(is_tensor_like, shape)):
        return graph.to_tensor(list(shape), int32)
    return graph.to_tensor(np.asarray(shape, np.int32).reshape(-1))


def random_gamma(
    shape: TensorLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws samples of the gamma distribution with shape `alpha` and rate `beta` (by default 1).

    The result has `shape` followed by the shape of the parameters, and is differentiable with respect to both. dtype:
    the dtype of alpha when it is not a tensor.
    """
    graph = graph_of((alpha, beta, shape))
    with graph.as_default(), graph.name_scope(name or "random_gamma"):
        kind = as_dtype(dtype)
        a = graph.to_tensor(alpha, None if is_tensor_like(alpha) else kind)
        b = graph.to_tensor(1.0 if beta is None else beta, None if is_tensor_like(beta) else a.dtype)
        draw = RANDOM_GAMMA(_dims(graph, shape), a + ZEROS_LIKE(b), graph=graph, **seeds_for(graph, seed))
        return MAXIMUM(draw / b, np.finfo(a.dtype.np).tiny)


def random_poisson(
    lam: TensorLike, shape: TensorLike, dtype: DTypeLike = float32, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Draws samples of the Poisson distribution with mean `lam`.

    lam: a number or tensor. The result has `dtype`, and `shape` followed by the shape of lam.
    """
    graph = graph_of((lam, shape))
    rate = graph.to_tensor(lam, None if hasattr(lam, "dtype") else float32)
    dims, seeds = _dims(graph, shape), seeds_for(graph, seed)
    return RANDOM_POISSON_V2(dims, rate, dtype=as_dtype(dtype), name=name or "random_poisson", graph=graph, **seeds)


def parameterized_truncated_normal(
    shape: TensorLike,
    means: float = 0.0,
    stddevs: float = 1.0,
    minvals: TensorLike = -2.0,
    maxvals: float = 2.0,
    dtype: DTypeLike = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draws normally distributed numbers between minvals and maxvals.

    shape: integers or an integer tensor; its first dimension is the batch. The other parameters are numbers or tensors
    of `dtype`: scalars, or vectors with one element per batch entry.
    """
    graph, kind = graph_of((shape, means, stddevs, minvals, maxvals)), as_dtype(dtype)
    parameters = [graph.to_tensor(p, kind) for p in (means, stddevs, minvals, maxvals)]
    dims, seeds = _dims(graph, shape), seeds_for(graph, seed)
    return PARAMETERIZED_TRUNCATED_NORMAL(dims, *parameters, name=name, graph=graph, **seeds)


OPS: tuple[OpDef, ...] = (
    RANDOM_GAMMA,
    RANDOM_POISSON,
    RANDOM_POISSON_V2,
    PARAMETERIZED_TRUNCATED_NORMAL,
)
API: dict[str, Any] = {
    "random_gamma": random_gamma,
    "random.gamma": random_gamma,
    "random_poisson": random_poisson,
    "random.poisson": random_poisson,
    "parameterized_truncated_normal": parameterized_truncated_normal,
}
