"""Pooling over windows of randomly drawn, slightly different sizes (Graham 2014: fractional max-pooling).

The ops run on the host only. Invariant: the windows of a run are among its outputs, so that the gradient uses the same
windows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.opdef import GRADIENT_MISSING, GradFn, GradientMissing, HostCall, Infer, NotDifferentiable, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.shape_ops import SHAPE
from tfnb.types import Shape, float32, float64, int32, int64, unknown_shape

__all__ = ["API", "OPS"]

_TYPES = (float32, float64, int32, int64)


@record
class PoolAttrs:
    """`pooling_ratio`: for batch, rows, columns and channels; at least 1 for rows and columns, 1 for the others.

    `pseudo_random`: evenly spaced windows with a random start, otherwise sizes in random order; `overlapping`:
    neighbouring windows share the pixel at their border; `deterministic`: the same windows in every step.
    """

    pooling_ratio: tuple[float, ...]
    pseudo_random: bool = False
    overlapping: bool = False
    deterministic: bool = False
    seed: int = 0
    seed2: int = 0


@record
class GradAttrs:
    """`overlapping`: the attribute of the forward op."""

    overlapping: bool = False


def _checked(ratio: tuple[float, ...], what: str) -> tuple[float, ...]:
    if len(ratio) != 4 or ratio[0] != 1 or ratio[3] != 1 or min(ratio) < 1:
        raise InvalidArgumentError(f"{what}: pooling_ratio must be (1, rows, columns, 1), at least 1, got {ratio}")
    return ratio


def _borders(length: int, count: int, pseudo: bool, rng: np.random.Generator) -> np.ndarray:
    """The indices at which `count` windows over `length` pixels begin, and the end of the last window."""
    if length % count == 0:
        return np.arange(0, length + 1, length // count, dtype=np.int64)
    least = length // count
    if not pseudo:
        sizes = np.full(count, least) + (np.arange(count) < length % count)
        return np.concatenate([[0], np.cumsum(rng.permutation(sizes))]).astype(np.int64)
    alpha = length / count
    highest = min((least + 2) / alpha - 1, (length + 1 - least) / alpha - (count - 1))
    start = rng.uniform() * highest
    inner = np.ceil(alpha * (np.arange(1, count) + start)).astype(np.int64)
    return np.concatenate([[0], inner - 1, [length]])


def _generator(call: HostCall) -> np.random.Generator:
    a = call.attrs
    if a.deterministic or call.rng is None:
        return np.random.default_rng([a.seed & 0xFFFFFFFF, a.seed2 & 0xFFFFFFFF])
    return np.random.default_rng([int(w) for w in call.rng()])


def _windows(rows: np.ndarray, cols: np.ndarray, overlapping: bool, shape: tuple[int, ...]) -> Iterator[Any]:
    """Yields (output row, output column, slice of rows, slice of columns) for each window."""
    more = 1 if overlapping else 0
    for i in range(len(rows) - 1):
        down = slice(int(rows[i]), min(int(rows[i + 1]) + more, shape[1]))
        for j in range(len(cols) - 1):
            yield i, j, down, slice(int(cols[j]), min(int(cols[j + 1]) + more, shape[2]))


def _mean(part: np.ndarray) -> np.ndarray:
    total = part.sum((1, 2), dtype=part.dtype)
    count = part.shape[1] * part.shape[2]
    return total // count if part.dtype.kind == "i" else total / part.dtype.type(count)


def _pool(reduce: Callable[[np.ndarray], np.ndarray]) -> Callable[..., Any]:
    def run(call: HostCall, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        ratio = _checked(call.attrs.pooling_ratio, call.op.type)
        sizes = [int(np.floor(n / r)) for n, r in zip(x.shape, ratio, strict=True)] if x.ndim == 4 else []
        if x.ndim != 4 or min(sizes[1:3]) < 1:
            raise InvalidArgumentError(f"{call.op.type}: cannot pool shape {x.shape} by {ratio}", call.op)
        rng = _generator(call)
        rows, cols = (_borders(x.shape[k], sizes[k], call.attrs.pseudo_random, rng) for k in (1, 2))
        out = np.empty(sizes, x.dtype)
        for i, j, down, right in _windows(rows, cols, call.attrs.overlapping, x.shape):
            out[:, i, j] = reduce(x[:, down, right])
        return out, rows, cols

    return run


def _check_borders(call: HostCall, shape: tuple[int, ...], dy: np.ndarray, *both: np.ndarray) -> None:
    for k, borders in zip((1, 2), both, strict=True):
        steps = np.diff(borders)
        fits = borders.ndim == 1 and len(borders) == dy.shape[k] + 1 and (steps > 0).all()
        if not fits or borders[0] < 0 or borders[-1] > shape[k]:
            raise InvalidArgumentError(
                f"{call.op.type}: the windows {borders[:9].tolist()} do not fit {shape} and {dy.shape}", call.op
            )


def _max_grad(
    call: HostCall, x: np.ndarray, y: np.ndarray, dy: np.ndarray, rows: np.ndarray, cols: np.ndarray
) -> np.ndarray:
    if x.ndim != 4 or dy.ndim != 4 or dy.shape != y.shape:
        raise InvalidArgumentError(f"{call.op.type}: shapes {x.shape}, {y.shape} and {dy.shape}", call.op)
    _check_borders(call, x.shape, dy, rows, cols)
    out = np.zeros_like(x)
    lead, tail = np.arange(x.shape[0])[:, None], np.arange(x.shape[3])[None, :]
    for i, j, down, right in _windows(rows, cols, call.attrs.overlapping, x.shape):
        part = x[:, down, right]
        best = part.reshape(len(part), -1, x.shape[3]).argmax(1)
        r, c = np.divmod(best, part.shape[2])
        out[lead, r + down.start, c + right.start, tail] += dy[:, i, j]
    return out


def _avg_grad(call: HostCall, sizes: np.ndarray, dy: np.ndarray, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    shape = tuple(int(n) for n in sizes)
    if len(shape) != 4 or dy.ndim != 4 or min(shape) < 0 or (shape[0], shape[3]) != (dy.shape[0], dy.shape[3]):
        raise InvalidArgumentError(f"{call.op.type}: the shape {shape} for a gradient of shape {dy.shape}", call.op)
    _check_borders(call, shape, dy, rows, cols)
    out = np.zeros(shape, dy.dtype)
    for i, j, down, right in _windows(rows, cols, call.attrs.overlapping, shape):
        count = (down.stop - down.start) * (right.stop - right.start)
        share = dy[:, i, j] // count if dy.dtype.kind == "i" else dy[:, i, j] / dy.dtype.type(count)
        out[:, down, right] += share[:, None, None]
    return out


def _pooled(c: Infer) -> tuple[Shape, ...]:
    ratio = _checked(c.attrs.pooling_ratio, c.op_name)
    dims = c.shapes[0].sizes
    if dims is None:
        return Shape((None,) * 4), Shape((None,)), Shape((None,))
    if len(dims) != 4:
        raise ShapeError(f"{c.op_name}: images must have four dimensions, got shape {c.shapes[0]}")
    out = [None if n is None else int(np.floor(n / r)) for n, r in zip(dims, ratio, strict=True)]
    return Shape(tuple(out)), *(Shape((None if n is None else n + 1,)) for n in out[1:3])


def _grad_max(op: Operation, dy: Tensor, *_: Tensor) -> Tensor:
    y, rows, cols = op.outputs
    return FRACTIONAL_MAX_POOL_GRAD(op.inputs[0], y, dy, rows, cols, overlapping=op.attrs.overlapping)


def _grad_avg(op: Any, dy: Tensor, *_: Tensor | None) -> Tensor:
    _, rows, cols = op.outputs
    sizes = SHAPE(op.inputs[0], out_type=int64)
    return FRACTIONAL_AVG_POOL_GRAD(sizes, dy, rows, cols, overlapping=op.attrs.overlapping)


def _forward(
    name: str, what: str, reduce: Callable[[np.ndarray], np.ndarray], grad: GradFn | NotDifferentiable | GradientMissing
) -> OpDef[tuple[Tensor, Tensor, Tensor]]:
    return OpDef(
        name,
        "value: T",
        "output: T, row_pooling_sequence: int64, col_pooling_sequence: int64",
        f"""The {what} of windows of random sizes that together cover the image: output rows are rows / ratio.

        value: (batch, rows, columns, channels). The two sequences are the borders of the windows. Errors: a ratio is
        below 1, or leaves no pixel. Runs on the host.""",
        types={"T": _TYPES},
        attrs=PoolAttrs,
        infer=_pooled,
        host=_pool(reduce),
        grad=grad,
        stateful=True,
    )


FRACTIONAL_MAX_POOL = _forward("FractionalMaxPool", "maximum", lambda part: part.max((1, 2)), _grad_max)
FRACTIONAL_AVG_POOL = _forward("FractionalAvgPool", "mean", _mean, _grad_avg)
FRACTIONAL_MAX_POOL_GRAD: OpDef[Tensor] = OpDef(
    "FractionalMaxPoolGrad",
    "orig_input: T, orig_output: T, out_backprop: T, row_pooling_sequence: int64, col_pooling_sequence: int64",
    "output: T",
    "The gradient of FractionalMaxPool: that of each window goes to its first largest element. Errors: the windows do "
    "not match the shapes. Runs on the host.",
    types={"T": _TYPES},
    attrs=GradAttrs,
    infer=lambda c: c.shapes[0],
    host=_max_grad,
    grad=GRADIENT_MISSING,
)
FRACTIONAL_AVG_POOL_GRAD: OpDef[Tensor] = OpDef(
    "FractionalAvgPoolGrad",
    "orig_input_tensor_shape: int64, out_backprop: T, row_pooling_sequence: int64, col_pooling_sequence: int64",
    "output: T",
    "The gradient of FractionalAvgPool: that of each window is divided among its elements. Errors: the windows do not "
    "match the shapes. Runs on the host.",
    types={"T": _TYPES},
    attrs=GradAttrs,
    infer=lambda c: c.as_shape(0) if c.shapes[0].ndims == 1 else unknown_shape,
    host=_avg_grad,
    grad=GRADIENT_MISSING,
    shape_inputs=(0,),
)


def _function(op: OpDef, what: str) -> Any:
    def pool(
        value: Tensor,
        pooling_ratio: Sequence[float],
        pseudo_random: bool = False,
        overlapping: bool = False,
        deterministic: bool = False,
        seed: int = 0,
        seed2: int = 0,
        name: str | None = None,
    ) -> Any:
        ratio = tuple(float(r) for r in pooling_ratio)
        return op(
            value,
            pooling_ratio=ratio,
            pseudo_random=pseudo_random,
            overlapping=overlapping,
            deterministic=deterministic or bool(seed or seed2),
            seed=seed,
            seed2=seed2,
            name=name,
        )

    pool.__name__ = pool.__qualname__ = what
    pool.__doc__ = f"(pooled images, borders of the rows, borders of the columns): see `{op.name}`."
    return pool


OPS: tuple[OpDef, ...] = (
    FRACTIONAL_MAX_POOL,
    FRACTIONAL_AVG_POOL,
    FRACTIONAL_MAX_POOL_GRAD,
    FRACTIONAL_AVG_POOL_GRAD,
)
API: dict[str, Any] = {
    "nn.fractional_max_pool": _function(FRACTIONAL_MAX_POOL, "fractional_max_pool"),
    "nn.fractional_avg_pool": _function(FRACTIONAL_AVG_POOL, "fractional_avg_pool"),
}
