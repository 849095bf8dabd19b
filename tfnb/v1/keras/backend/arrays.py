"""Functions of `tf.keras.backend` that create, join, cut and reorder tensors.

Invariant: a dimension that is known stays known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.client.variables.variable import Variable
from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.scopes import NameScope
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.types import DType, DTypeLike
from tfnb.v1.argument_types import TensorOrVariable
from tfnb.v1.keras.argument_types import DenseOrSparse
from tfnb.v1.keras.backend.settings import data_format_of, floatx
from tfnb.v1.keras.backend.values import variable
from tfnb.v1.keras.graph_api import tf


def _dtype(dtype: DTypeLike | None) -> DType:
    return tf.as_dtype(dtype or floatx())


def _seed(seed: int | None) -> int:
    return int(np.random.randint(10_000_000)) if seed is None else seed


def is_sparse(tensor: object) -> bool:
    """Returns whether `tensor` is a sparse tensor."""
    return isinstance(tensor, tf.SparseTensor)


def to_dense(tensor: Any) -> Any:
    """Returns a sparse tensor as a dense one; a dense one is returned unchanged."""
    return tf.sparse_tensor_to_dense(tensor) if is_sparse(tensor) else tensor


def is_keras_tensor(x: object) -> bool:
    """Returns whether a layer, or `Input`, has made the tensor. Raises `InvalidArgumentError` for no tensor."""
    if not hasattr(x, "graph"):
        raise InvalidArgumentError(f"is_keras_tensor: needed a tensor, got {type(x).__name__}")
    return x in x.graph.client_state.get("keras history", {})


def shape(x: TensorLike) -> Tensor:
    """Returns the shape as an integer tensor."""
    return tf.shape(x)


def int_shape(x: DenseOrSparse) -> tuple[int | None, ...] | None:
    """Returns the static shape as a tuple with None for unknown dimensions, or None when the rank is unknown."""
    static = x.shape
    return None if static.ndims is None else tuple(static.as_list())


def ndim(x: DenseOrSparse) -> int | None:
    """Returns the number of dimensions."""
    return None if x.shape.ndims is None else int(x.shape.ndims)


def dtype(x: DenseOrSparse) -> str:
    """Returns the name of the dtype, such as "float32"."""
    return str(x.dtype.base_dtype.name)


def cast(x: TensorLike, dtype: DTypeLike) -> Tensor:
    """Returns x with another dtype."""
    return tf.cast(x, tf.as_dtype(dtype))


def eye(size: int, dtype: DTypeLike | None = None, name: str | None = None) -> Variable:
    """Returns a variable that begins with the identity matrix."""
    return variable(np.eye(size), dtype, name)


def zeros(shape: Tensor | Sequence[int], dtype: DTypeLike | None = None, name: str | None = None) -> TensorOrVariable:
    """Returns a variable of zeros, or a tensor of zeros when the shape is not fully known."""
    return _filled(0, shape, dtype, name)


def ones(shape: Tensor | Sequence[int], dtype: DTypeLike | None = None, name: str | None = None) -> TensorOrVariable:
    """Returns a variable of ones, or a tensor of ones when the shape is not fully known."""
    return _filled(1, shape, dtype, name)


def _filled(value: int, shape: Tensor | Sequence[int], dtype: DTypeLike | None, name: str | None) -> TensorOrVariable:
    if hasattr(shape, "graph"):
        return tf.fill(shape, tf.constant(value, _dtype(dtype)))
    return variable(np.full([int(n) for n in shape], value), dtype, name)


def zeros_like(x: TensorLike, dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """Returns zeros of the shape of x."""
    return tf.zeros_like(x, dtype=dtype and tf.as_dtype(dtype), name=name)


def ones_like(x: TensorLike, dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """Returns ones of the shape of x."""
    return tf.ones_like(x, dtype=dtype and tf.as_dtype(dtype), name=name)


def random_normal(
    shape: TensorLike, mean: float = 0.0, stddev: float = 1.0, dtype: DTypeLike | None = None, seed: int | None = None
) -> Tensor:
    """Returns normally distributed random numbers."""
    return tf.random_normal(shape, mean=mean, stddev=stddev, dtype=_dtype(dtype), seed=_seed(seed))


def random_uniform(
    shape: TensorLike, minval: float = 0.0, maxval: float = 1.0, dtype: DTypeLike | None = None, seed: int | None = None
) -> Tensor:
    """Returns random numbers that are uniform in [minval, maxval)."""
    return tf.random_uniform(shape, minval=minval, maxval=maxval, dtype=_dtype(dtype), seed=_seed(seed))


def random_binomial(
    shape: TensorLike, p: float = 0.0, dtype: DTypeLike | None = None, seed: int | None = None
) -> Tensor:
    """Returns ones with probability `p`, and zeros."""
    draws = tf.random_uniform(shape, dtype=_dtype(dtype), seed=_seed(seed))
    return tf.cast(draws <= p, _dtype(dtype))


def truncated_normal(
    shape: TensorLike, mean: float = 0.0, stddev: float = 1.0, dtype: DTypeLike | None = None, seed: int | None = None
) -> Tensor:
    """Returns normal random numbers of which those beyond two standard deviations are drawn again."""
    return tf.truncated_normal(shape, mean, stddev, dtype=_dtype(dtype), seed=_seed(seed))


def random_normal_variable(
    shape: Any,
    mean: float,
    scale: float,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> Variable:
    """Returns a variable that begins with normally distributed random numbers."""
    return variable(random_normal(shape, mean, scale, dtype, seed), dtype, name)


def random_uniform_variable(
    shape: Any,
    low: float,
    high: float,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    seed: int | None = None,
) -> Variable:
    """Returns a variable that begins with random numbers uniform in [low, high)."""
    return variable(random_uniform(shape, low, high, dtype, seed), dtype, name)


def arange(start: TensorLike, stop: TensorLike | None = None, step: TensorLike = 1, dtype: str = "int32") -> Tensor:
    """Returns the numbers from `start` to `stop`, without it; a negative `start` alone is 0."""
    if stop is None and isinstance(start, int) and start < 0:
        start = 0
    result = tf.range(start, delta=step) if stop is None else tf.range(start, limit=stop, delta=step)
    return result if dtype == "int32" else cast(result, dtype)


def tile(x: TensorLike, n: TensorLike) -> Tensor:
    """Returns x repeated n times along each axis."""
    return tf.tile(x, [n] if isinstance(n, int) else n)


def repeat(x: TensorLike, n: int) -> Tensor:
    """Returns a matrix [batch, width] repeated as [batch, n, width]."""
    return tf.tile(tf.expand_dims(x, 1), tf.stack([1, n, 1]))


def repeat_elements(x: Any, rep: int, axis: int) -> Tensor:
    """Returns x with each element repeated `rep` times along `axis`."""
    axis = axis % x.shape.ndims
    size = x.shape.as_list()[axis]
    expanded = tf.expand_dims(x, axis + 1)
    pattern = [1] * (x.shape.ndims + 1)
    pattern[axis + 1] = rep
    dynamic = tf.shape(x)
    parts = [dynamic[i] * (rep if i == axis else 1) for i in range(x.shape.ndims)]
    result = tf.reshape(tf.tile(expanded, pattern), tf.stack(parts))
    static = x.shape.as_list()
    static[axis] = None if size is None else size * rep
    result.set_shape(static)
    return result


def reshape(x: TensorLike, shape: TensorLike) -> Tensor:
    """Returns x in another shape, in which one dimension may be -1."""
    return tf.reshape(x, shape)


def permute_dimensions(x: TensorLike, pattern: Sequence[int]) -> Tensor:
    """Returns x with its axes in the order of `pattern`."""
    return tf.transpose(x, perm=pattern)


def transpose(x: TensorLike) -> Tensor:
    """Returns x with its axes in reverse order."""
    return tf.transpose(x)


def expand_dims(x: TensorLike, axis: int = -1) -> Tensor:
    """Returns x with a dimension of size 1 at `axis`."""
    return tf.expand_dims(x, axis)


def squeeze(x: TensorLike, axis: int) -> Tensor:
    """Returns x without the dimension `axis` of size 1."""
    return tf.squeeze(x, [axis])


def flatten(x: TensorLike) -> Tensor:
    """Returns all elements as a vector."""
    return tf.reshape(x, [-1])


def batch_flatten(x: Any) -> Tensor:
    """Returns x with all dimensions but the first joined into one."""
    sizes = x.shape.as_list()[1:]
    width = -1 if None in sizes else int(np.prod(sizes))
    return tf.reshape(x, tf.stack([-1, tf.reduce_prod(tf.shape(x)[1:])]) if width == -1 else [-1, width])


def concatenate(tensors: Sequence[Any], axis: int = -1) -> Tensor:
    """Returns the tensors joined along `axis`."""
    if axis < 0:
        axis %= ndim(tensors[0]) or 1
    return tf.concat([to_dense(x) for x in tensors], axis)


def stack(x: Sequence[Any], axis: int = 0) -> Tensor:
    """Returns the tensors stacked along a new axis."""
    return tf.stack(x, axis=axis)


def gather(reference: TensorLike, indices: TensorLike) -> Tensor:
    """Returns the elements of `reference` at `indices` along the first axis."""
    return tf.gather(reference, indices)


def one_hot(indices: TensorLike, num_classes: int) -> Tensor:
    """Returns a vector for each index that has a 1 there and zeros elsewhere."""
    return tf.one_hot(indices, num_classes, axis=-1)


def reverse(x: TensorLike, axes: int | Sequence[int]) -> Tensor:
    """Returns x with the order reversed along `axes`."""
    return tf.reverse(x, [axes] if isinstance(axes, int) else axes)


def temporal_padding(x: TensorLike, padding: Sequence[int] = (1, 1)) -> Tensor:
    """Returns a sequence [batch, time, width] with zeros before and after."""
    return tf.pad(x, [[0, 0], list(padding), [0, 0]])


def spatial_2d_padding(
    x: TensorLike, padding: Sequence[Sequence[int]] = ((1, 1), (1, 1)), data_format: str | None = None
) -> Tensor:
    """Returns images with zeros around them."""
    return _padded(x, padding, data_format)


def spatial_3d_padding(
    x: TensorLike, padding: Sequence[Sequence[int]] = ((1, 1), (1, 1), (1, 1)), data_format: str | None = None
) -> Tensor:
    """Returns volumes with zeros around them."""
    return _padded(x, padding, data_format)


def _padded(x: TensorLike, padding: Sequence[Sequence[int]], data_format: str | None) -> Tensor:
    inner = [list(p) for p in padding]
    first = data_format_of(data_format) == "channels_first"
    return tf.pad(x, [[0, 0], [0, 0], *inner] if first else [[0, 0], *inner, [0, 0]])


def resize_images(
    x: TensorOrVariable, height_factor: int, width_factor: int, data_format: str, interpolation: str = "nearest"
) -> Tensor:
    """Returns images enlarged by whole factors, by "nearest" or "bilinear" interpolation."""
    if interpolation not in ("nearest", "bilinear"):
        raise InvalidArgumentError(f"interpolation should be one of nearest or bilinear, got {interpolation!r}")
    first = data_format_of(data_format) == "channels_first"
    if first:
        x = tf.transpose(x, [0, 2, 3, 1])
    height, width = x.shape.as_list()[1:3]
    size = tf.shape(x)[1:3] * tf.constant([height_factor, width_factor])
    if interpolation == "nearest":
        y = tf.image.resize_nearest_neighbor(x, size)
    else:
        y = tf.image.resize_bilinear(x, size, half_pixel_centers=True)
    y.set_shape((None, height and height * height_factor, width and width * width_factor, None))
    return tf.transpose(y, [0, 3, 1, 2]) if first else y


def resize_volumes(
    x: TensorOrVariable, depth_factor: int, height_factor: int, width_factor: int, data_format: str
) -> TensorOrVariable:
    """Returns volumes with each element repeated by whole factors."""
    axis = 2 if data_format_of(data_format) == "channels_first" else 1
    for i, factor in enumerate((depth_factor, height_factor, width_factor)):
        x = repeat_elements(x, factor, axis + i)
    return x


def dot(x: Any, y: TensorOrVariable) -> Tensor:
    """Returns the product of the last axis of x and the last but one of y."""
    if is_sparse(x):
        return tf.sparse_tensor_dense_matmul(x, y)
    if (ndim(x) or 0) <= 2 and (ndim(y) or 0) <= 2:
        return tf.matmul(x, y)
    return tf.tensordot(x, y, [[ndim(x) - 1], [max((ndim(y) or 1) - 2, 0)]])  # type: ignore[operator]


def batch_dot(x: TensorOrVariable, y: TensorOrVariable, axes: int | Sequence[int] | None = None) -> Tensor:
    """Returns the products of x and y over one axis of each, for each element of the batch.

    axes: the axis of both, or a pair; by default the last one of x and the last but one of y. The result has at least
    two dimensions.
    """
    nx, ny = int(ndim(x) or 0), int(ndim(y) or 0)
    if axes is None:
        axes = (nx - 1, ny - 1 if ny == 2 else ny - 2)
    ax, ay = (axes, axes) if isinstance(axes, int) else axes
    ax, ay = ax % nx, ay % ny
    if ax == 0 or ay == 0:
        raise InvalidArgumentError("batch_dot: the axis 0 is the batch; multiply over other axes")
    left, right = "abcdefgh"[1:nx], "pqrstuvw"[1:ny]
    right = right.replace(right[ay - 1], left[ax - 1])
    kept = left.replace(left[ax - 1], "") + right.replace(left[ax - 1], "")
    result = tf.einsum(f"z{left},z{right}->z{kept}", x, y)
    return tf.expand_dims(result, 1) if not kept else result


def map_fn(fn: Callable[..., Any], elems: object, name: str | None = None, dtype: object = None) -> Any:
    """Returns `fn` of each element along the first axis, stacked."""
    return tf.map_fn(fn, elems, name=name, dtype=dtype)


def foldl(fn: Callable[..., Any], elems: object, initializer: object = None, name: str | None = None) -> Any:
    """Returns the elements combined by `fn` from the first to the last."""
    return tf.foldl(fn, elems, initializer=initializer, name=name)


def foldr(fn: Callable[..., Any], elems: object, initializer: object = None, name: str | None = None) -> Any:
    """Returns the elements combined by `fn` from the last to the first."""
    return tf.foldr(fn, elems, initializer=initializer, name=name)


def print_tensor(x: TensorLike, message: str = "") -> Tensor:
    """Returns x, and prints the message and its value when it is computed."""
    return tf.Print(x, [x], message)


def name_scope(name: str, default_name: str | None = None, values: object = None) -> NameScope:
    """Returns a block in which the names of operations begin with `name`; a name that ends in "/" is taken as it is."""
    del values
    return get_default_graph().name_scope(name or default_name)
