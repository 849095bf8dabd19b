"""The public functions for random tensors, and the derivation of their seeds.

The seed of a graph (`tf.set_random_seed`) and the `seed` of an op together form the key. With only the graph's seed,
the op's position in the graph replaces the other one. Invariant: a program that sets a seed gets the same numbers in
every run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import get_default_graph, graph_of
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.scalar.host_philox import philox_4x32
from tfnb.ir.shapes import unchanged, with_rank
from tfnb.ir.tensor import GraphLike, Tensor, TensorLike, is_tensor_like
from tfnb.ops.array.shape_ops import shape_of
from tfnb.ops.array.transpose_pad_tile import slice_
from tfnb.ops.math.binary import ADD, MUL
from tfnb.ops.random.uniform_normal import (
    RANDOM_STANDARD_NORMAL,
    RANDOM_UNIFORM,
    RANDOM_UNIFORM_INT,
    TRUNCATED_NORMAL,
    SeedAttrs,
)
from tfnb.types import (
    ALL,
    INDEX,
    REALS,
    DTypeLike,
    Shape,
    as_dtype,
    as_shape,
    float32,
    int32,
    int64,
    sizes_array,
)

__all__ = ["API", "MULTINOMIAL", "OPS", "RANDOM_SHUFFLE", "get_seed", "random_uniform", "seeds_for"]

_GRAPH_SEED = 87654321  # the seed of a graph that sets none, for an op that has one
_LARGEST_SEED = 2**31 - 1  # seeds are numbers of 32 bits; (0, 0) would mean that there is none


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """Returns the two seeds of a random op created now in the default graph; (None, None) when neither is set."""
    graph = get_default_graph()
    if graph.seed is not None:
        pair = int(graph.seed), graph.next_seed() if op_seed is None else int(op_seed)
    elif op_seed is not None:
        pair = _GRAPH_SEED, int(op_seed)
    else:
        return None, None
    pair = pair[0] % _LARGEST_SEED, pair[1] % _LARGEST_SEED
    return (0, _LARGEST_SEED) if pair == (0, 0) else pair


def set_random_seed(seed: int | None) -> None:
    """Sets the seed of the default graph, so that random ops created later are reproducible. None removes it."""
    get_default_graph().seed = None if seed is None else int(seed)


def seeds_for(graph: GraphLike, seed: int | None) -> dict[str, Any]:
    """Returns the seed attributes of a random op created now in `graph`; zeros when no seed is set."""
    with graph.as_default():
        first, second = get_seed(seed)
    return {"seed": first or 0, "seed2": second or 0}


def _dims(graph: GraphLike, shape: TensorLike) -> Any:
    """The shape as an integer tensor or array."""
    if is_tensor_like(shape) or isinstance(shape, np.ndarray):
        return shape
    if isinstance(shape, (list, tuple)) and any(is_tensor_like(d) for d in shape):
        return graph.to_tensor(shape, int32)
    return sizes_array(as_shape(shape).known())


def _scaled(
    unit: Callable[[str | None], Tensor], scale: tuple[str, TensorLike], shift: tuple[str, TensorLike], scope: str
) -> Tensor:
    """Returns unit * scale + shift, without multiplying by 1 or adding 0; the last operation has the scope's name.

    unit: a function of the name of its operation, None for the type's. scale, shift: the names of their constants, and
    their values.
    """
    scales, shifts = (is_tensor_like(v) or v != neutral for (_, v), neutral in ((scale, 1), (shift, 0)))
    value = unit(None if scales or shifts else scope)
    if scales:
        factor = value.graph.to_tensor(scale[1], value.dtype, name=scale[0])
        value = MUL(value, factor, name="mul" if shifts else scope)
    return ADD(value, value.graph.to_tensor(shift[1], value.dtype, name=shift[0]), name=scope) if shifts else value


def random_uniform(
    shape: TensorLike,
    minval: TensorLike = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Returns uniformly distributed random numbers in [minval, maxval), of the given shape and dtype.

    shape: integers or an integer tensor. minval, maxval: numbers or scalar tensors of `dtype`; maxval is 1 by default
    for floats and required for integers. dtype: a float type, int32 or int64. Raises `InvalidArgumentError` for
    integers without maxval, or with minval >= maxval.
    """
    target_dtype = as_dtype(dtype)
    graph = graph_of((shape, minval, maxval))
    if maxval is None and target_dtype.is_integer:
        raise InvalidArgumentError(f"random_uniform needs maxval for {target_dtype.name}")
    with graph.name_scope(name or "random_uniform") as scope:
        dims, keys = _dims(graph, shape), seeds_for(graph, seed)
        if target_dtype.is_integer:
            low, high = (graph.to_tensor(v, target_dtype, name=n) for v, n in ((minval, "min"), (maxval, "max")))
            return RANDOM_UNIFORM_INT(dims, low, high, graph=graph, name=scope, **keys)
        top: Any = 1 if maxval is None else maxval

        def unit(op_name: str | None) -> Tensor:
            return RANDOM_UNIFORM(dims, dtype=target_dtype, graph=graph, name=op_name, **keys)

        if is_tensor_like(minval) or is_tensor_like(top):
            numbers = unit(None)
            minval = graph.to_tensor(minval, target_dtype, name="min")
            width = graph.to_tensor(top, target_dtype, name="max") - minval
            return ADD(numbers * width, minval, name=scope)
        return _scaled(unit, ("width", top - minval), ("min", minval), scope)


def _normal(
    op: OpDef, shape: TensorLike, mean: TensorLike, stddev: TensorLike, dtype: DTypeLike, seed: int | None, name: str
) -> Any:
    graph = graph_of((shape, mean, stddev))
    with graph.name_scope(name) as scope:
        dims, keys = _dims(graph, shape), seeds_for(graph, seed)

        def unit(op_name: str | None) -> Tensor:
            return op(dims, dtype=as_dtype(dtype), graph=graph, name=op_name, **keys)

        return _scaled(unit, ("stddev", stddev), ("mean", mean), scope)


def random_normal(
    shape: TensorLike,
    mean: TensorLike = 0.0,
    stddev: float = 1.0,
    dtype: DTypeLike = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Returns normally distributed random numbers with the given mean and standard deviation.

    shape: integers or an integer tensor. mean, stddev: numbers or tensors of `dtype` that broadcast to it. dtype: a
    float type.
    """
    return _normal(RANDOM_STANDARD_NORMAL, shape, mean, stddev, dtype, seed, name or "random_normal")


def truncated_normal(
    shape: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Returns normally distributed numbers within two standard deviations of the mean.

    The arguments are those of `random_normal`.
    """
    return _normal(TRUNCATED_NORMAL, shape, mean, stddev, dtype, seed, name or "truncated_normal")


class _Permutations(threading.local):
    """NumPy's permutations of a Philox generator, one for each thread.

    To set its state takes a tenth of the time that a new generator takes, which asks the system for random bits.
    """

    def __init__(self) -> None:
        self._words = np.random.Philox(key=0)
        self._generator = np.random.Generator(self._words)
        self._start = self._words.state

    def permutation(self, n: int, key: int, number: int) -> np.ndarray:
        """Returns the permutation of n numbers for a key of 64 bits and the number of a call."""
        self._start["state"] = {"counter": np.array([0, 0, 0, number], np.uint64), "key": np.array([key, 0], np.uint64)}
        self._words.state = self._start
        return self._generator.permutation(n)


_permutations = _Permutations()


def _shuffle(call: HostCall, value: np.ndarray) -> np.ndarray:
    """Permutes rows by NumPy's permutation with a Philox generator that starts at this call's own counter."""
    key0, key1, number, _ = (int(n) for n in call.rng())  # type: ignore[misc]
    if not value.ndim:
        return value
    return value.take(_permutations.permutation(value.shape[0], key0 | key1 << 32, number), axis=0)


RANDOM_SHUFFLE: OpDef[Tensor] = OpDef(
    "RandomShuffle",
    "value: T",
    "output: T",
    """The rows of `value` in a random order.

    value: any dtype and shape; the first dimension is shuffled. output: the same dtype and shape.""",
    types={"T": ALL},
    attrs=SeedAttrs,
    infer=unchanged,
    host=_shuffle,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)


def _infer_multinomial(c: Infer) -> Shape:
    n = c.value(1)
    if not c.shapes[1].is_compatible_with(Shape(())):
        raise ShapeError(f"Multinomial: num_samples must be a scalar, got shape {c.shapes[1]}")
    return Shape((with_rank(c, 0, 2).as_list()[0], None if n is None else int(n)))


def _multinomial(call: HostCall, logits: np.ndarray, num_samples: np.ndarray) -> np.ndarray:
    """Draws classes by inverting their cumulative distribution."""
    rows, classes = logits.shape
    n = int(num_samples)
    if classes == 0 and rows * n:
        raise InvalidArgumentError("Multinomial: num_classes should be positive, got 0", call.op)
    key0, key1, number, _ = call.rng()  # type: ignore[misc]
    high, low = philox_4x32(key0, key1, np.arange(rows * n, dtype=np.uint32), number)[:2]
    u = ((high >> 5) * 67108864.0 + (low >> 6)) * 2.0**-53
    with np.errstate(all="ignore"):
        x = logits.astype(np.float64)
        weights = np.where(np.isfinite(x), np.exp(x - x.max(axis=1, keepdims=True, initial=-np.inf)), 0.0)
    total = np.cumsum(weights, axis=1)
    samples = [np.searchsorted(total[i], u[i * n : (i + 1) * n] * total[i, -1], side="right") for i in range(rows)]
    draws = np.asarray(samples, np.int64).reshape(rows, n)
    return np.minimum(draws, max(classes - 1, 0)).astype(call.outputs[0].dtype.np)


MULTINOMIAL: OpDef[Tensor] = OpDef(
    "Multinomial",
    "logits: T, num_samples: int32",
    "output: output_dtype",
    """Draws class numbers from unnormalised log probabilities.

    logits: a real number type, shape (batch, classes). num_samples: a scalar, the number of draws per row. output:
    int64 or int32 (`output_dtype`), shape (batch, num_samples). Errors: there are no classes.""",
    types={"T": REALS, "output_dtype": INDEX},
    attrs=SeedAttrs,
    infer=_infer_multinomial,
    host=_multinomial,
    grad=NOT_DIFFERENTIABLE,
    shape_inputs=(1,),
    stateful=True,
    defaults={"output_dtype": int64},
)


def random_shuffle(value: TensorLike, seed: int | None = None, name: str | None = None) -> Tensor:
    """Permutes the rows of `value` (its first dimension) randomly. The result has the dtype and shape of `value`."""
    graph = graph_of((value,))
    return RANDOM_SHUFFLE(value, name=name, graph=graph, **seeds_for(graph, seed))


def multinomial(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: DTypeLike = "int64",
) -> Tensor:
    """Draws `num_samples` class numbers per row of `logits`, which are unnormalised log probabilities.

    logits: shape (batch, classes). The result has shape (batch, num_samples) and dtype int64 or `output_dtype`.
    """
    graph = graph_of((logits, num_samples))
    return MULTINOMIAL(
        logits,
        num_samples,
        output_dtype=as_dtype(output_dtype),
        name=name,
        graph=graph,
        **seeds_for(graph, seed),
    )


def categorical(
    logits: TensorLike,
    num_samples: TensorLike,
    dtype: DTypeLike | None = None,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draws class numbers as `multinomial` does; `dtype` is the dtype of the class numbers, by default int64."""
    return multinomial(logits, num_samples, seed, name, "int64" if dtype is None else dtype)


def random_crop(value: TensorLike, size: TensorLike, seed: int | None = None, name: str | None = None) -> Any:
    """Returns a block of shape `size` at a random position of `value`.

    size: an integer, or a scalar tensor of integers, per dimension of value, or a tensor of all. Raises `ShapeError`
    when `value` is known to be smaller, or to have another rank.
    """
    graph = graph_of((value, size))
    with graph.name_scope(name or "random_crop"):
        x = graph.to_tensor(value)
        is_known = not (is_tensor_like(size) or (isinstance(size, (list, tuple)) and any(map(is_tensor_like, size))))
        dims = np.asarray(as_shape(size).known(), np.int32) if is_known else graph.to_tensor(size, int32)
        if is_known and x.shape.is_fully_defined():
            static_dims = np.asarray(x.shape.known())
            if static_dims.size != dims.size or (static_dims < dims).any():
                raise ShapeError(f"random_crop: a block of shape {dims.tolist()} does not fit into shape {x.shape}")
        room = graph.to_tensor(shape_of(x) - dims + 1)
        words = random_uniform(shape_of(graph.to_tensor(dims)), 0, 2**31 - 1, int32, seed)
        return slice_(x, words % room, dims)


OPS: tuple[OpDef, ...] = (RANDOM_SHUFFLE, MULTINOMIAL)
API: dict[str, Any] = {
    "random_uniform": random_uniform,
    "random_normal": random_normal,
    "truncated_normal": truncated_normal,
    "random_shuffle": random_shuffle,
    "multinomial": multinomial,
    "random_crop": random_crop,
    "set_random_seed": set_random_seed,
    "get_seed": get_seed,
    "random.set_random_seed": set_random_seed,
    "random.uniform": random_uniform,
    "random.normal": random_normal,
    "random.truncated_normal": truncated_normal,
    "random.shuffle": random_shuffle,
    "random.multinomial": multinomial,
    "random.categorical": categorical,
}
