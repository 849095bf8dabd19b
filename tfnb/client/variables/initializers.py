"""Initialisers: callables `(shape, dtype, partition_info)` that return the initial value of a variable.

Invariant: shapes are static, and an initialiser with a seed gives the same values on every device.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.client.variables.partitioned import PartitionInfo
from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import constant, ones, zeros
from tfnb.ops.array.shape_ops import RESHAPE
from tfnb.ops.linalg.band_part import matrix_transpose
from tfnb.ops.linalg.decompositions import qr
from tfnb.ops.linalg.diag import MATRIX_DIAG_PART
from tfnb.ops.math.cast import cast
from tfnb.ops.math.unary import SIGN
from tfnb.ops.random.functions import random_normal, random_uniform, truncated_normal
from tfnb.types import DType, DTypeLike, ShapeLike, as_dtype, as_shape, float32

__all__ = ["API", "Constant", "VarianceScaling", "default_initializer"]


class Initializer:
    """Base class of the initialisers: `init(shape, dtype=None, partition_info=None)` returns a tensor."""

    dtype: DType = float32

    def __call__(
        self, shape: ShapeLike, dtype: DTypeLike | None = None, partition_info: PartitionInfo | None = None
    ) -> Tensor:
        value_dtype = self.dtype if dtype is None else as_dtype(dtype)
        dims = list(as_shape(shape).known())
        return (
            self.make(dims, value_dtype)
            if partition_info is None
            else self.make_part(dims, value_dtype, partition_info)
        )

    def make(self, shape: list[int], dtype: DType) -> Tensor:
        """Returns the initial value of a variable, of this shape and dtype. Subclasses implement it."""
        raise InvalidArgumentError(f"{type(self).__name__} does not say how to make a value")

    def make_part(self, shape: list[int], dtype: DType, whole: PartitionInfo) -> Tensor:
        """Returns the initial value of one part of a partitioned variable.

        `shape` is that of the part; `whole` is a `PartitionInfo` with the shape of the whole and the part's offset.
        """
        return self.make(shape, dtype)


class Zeros(Initializer):
    """Fills the variable with zeros."""

    def __init__(self, dtype: DTypeLike = float32) -> None:
        self.dtype = as_dtype(dtype)

    def make(self, shape: list[int], dtype: DType) -> Tensor:
        return zeros(shape, dtype)


class Ones(Zeros):
    """Fills the variable with ones."""

    def make(self, shape: list[int], dtype: DType) -> Tensor:
        return ones(shape, dtype)


class Constant(Initializer):
    """A constant: one number for every element, or as many values as the shape has elements.

    With `verify_shape`, a value of another shape than the variable's raises `ShapeError`.
    """

    def __init__(self, value: TensorLike = 0, dtype: DTypeLike = float32, verify_shape: bool = False) -> None:
        self.value = value
        self.dtype = as_dtype(dtype)
        self.verify_shape = verify_shape

    def make(self, shape: list[int], dtype: DType) -> Tensor:
        array = np.asarray(self.value)
        if self.verify_shape and list(array.shape) != shape:
            raise ShapeError(f"the constant initializer's value has shape {array.shape}, the variable {tuple(shape)}")
        return constant(self.value, dtype, shape)


class RandomUniform(Initializer):
    """Random numbers, uniform in [minval, maxval); `maxval` is 1 by default."""

    def __init__(
        self, minval: float = 0, maxval: float | None = None, seed: int | None = None, dtype: DTypeLike = float32
    ) -> None:
        self.minval, self.maxval, self.seed, self.dtype = minval, maxval, seed, as_dtype(dtype)

    def make(self, shape: list[int], dtype: DType) -> Tensor:
        high = 1 if self.maxval is None else self.maxval
        return random_uniform(shape, self.minval, high, dtype, seed=self.seed)


def _float(dtype: DTypeLike) -> DType:
    """Returns the dtype of normal random numbers. Raises `DTypeError` unless it is a float."""
    checked_dtype = as_dtype(dtype)
    if not checked_dtype.is_floating:
        raise DTypeError(f"Expected floating point type for the initializer, got {checked_dtype.name}")
    return checked_dtype


class RandomNormal(Initializer):
    """Normal random numbers with a mean and a standard deviation. Raises `DTypeError` unless the dtype is a float."""

    sample = staticmethod(random_normal)

    def __init__(
        self, mean: float = 0.0, stddev: float = 1.0, seed: int | None = None, dtype: DTypeLike = float32
    ) -> None:
        self.mean, self.stddev, self.seed, self.dtype = mean, stddev, seed, _float(dtype)

    def make(self, shape: list[int], dtype: DType) -> Tensor:
        return type(self).sample(shape, self.mean, self.stddev, dtype, seed=self.seed)


class TruncatedNormal(RandomNormal):
    """Normal random numbers; those beyond two standard deviations are drawn again."""

    sample = staticmethod(truncated_normal)


class VarianceScaling(Initializer):
    """Random numbers of variance scale / n, where n fits the size of the layer.

    `mode` says what n is: the number of inputs ("fan_in"), of outputs ("fan_out"), or their mean ("fan_avg").
    `distribution` is "normal" (truncated), "untruncated_normal" or "uniform". Raises `InvalidArgumentError` for a scale
    that is not positive and for other names.
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "normal",
        seed: int | None = None,
        dtype: DTypeLike = float32,
        exact: bool = True,
    ) -> None:
        if scale <= 0:
            raise InvalidArgumentError(f"variance_scaling: scale must be positive, got {scale}")
        if mode.lower() not in ("fan_in", "fan_out", "fan_avg"):
            raise InvalidArgumentError(f"variance_scaling: mode {mode!r}; needed fan_in, fan_out or fan_avg")
        if distribution.lower() not in (
            "normal",
            "uniform",
            "truncated_normal",
            "untruncated_normal",
        ):
            raise InvalidArgumentError(f"variance_scaling: distribution {distribution!r}; needed normal or uniform")
        self.scale, self.mode, self.distribution = scale, mode.lower(), distribution.lower()
        self.seed, self.dtype, self.exact = seed, _float(dtype), exact

    def make(self, shape: list[int], dtype: DType) -> Tensor:
        return self._drawn(shape, dtype, shape)

    def make_part(self, shape: list[int], dtype: DType, whole: PartitionInfo) -> Tensor:
        return self._drawn(shape, dtype, whole.full_shape)

    def _drawn(self, shape: list[int], dtype: DType, layer: list[int]) -> Tensor:
        fan_in, fan_out = fans(layer)
        n = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        variance = self.scale / max(1.0, n)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return random_uniform(shape, -limit, limit, dtype, seed=self.seed)
        stddev = math.sqrt(variance)
        if self.distribution == "untruncated_normal":
            return random_normal(shape, 0.0, stddev, dtype, seed=self.seed)
        # a normal distribution that is cut at two standard deviations keeps this share of its deviation
        stddev = stddev / 0.87962566103423978 if self.exact else stddev
        return truncated_normal(shape, 0.0, stddev, dtype, seed=self.seed)


def fans(shape: Sequence[int]) -> tuple[float, float]:
    """Returns the numbers of inputs and outputs of a weight of this shape; a kernel's receptive field multiplies
    both.
    """
    if not shape:
        return 1, 1
    if len(shape) == 1:
        return shape[0], shape[0]
    field = math.prod(shape[:-2])
    return shape[-2] * field, shape[-1] * field


class UniformUnitScaling(Initializer):
    """Random numbers, uniform in +-sqrt(3 / fan_in) * factor, which keeps the scale of the signal from layer to
    layer.
    """

    def __init__(self, factor: float = 1.0, seed: int | None = None, dtype: DTypeLike = float32) -> None:
        self.factor, self.seed, self.dtype = factor, seed, _float(dtype)

    def make(self, shape: list[int], dtype: DType) -> Tensor:
        return self._drawn(shape, dtype, shape)

    def make_part(self, shape: list[int], dtype: DType, whole: PartitionInfo) -> Tensor:
        return self._drawn(shape, dtype, whole.full_shape)

    def _drawn(self, shape: list[int], dtype: DType, layer: list[int]) -> Tensor:
        limit = math.sqrt(3 / max(math.prod(layer[:-1]), 1)) * self.factor
        return random_uniform(shape, -limit, limit, dtype, seed=self.seed)


class Identity(Initializer):
    """The identity matrix, times `gain`. Raises `ShapeError` unless the shape has rank 2."""

    def __init__(self, gain: float = 1.0, dtype: DTypeLike = float32) -> None:
        self.gain, self.dtype = gain, as_dtype(dtype)

    def make(self, shape: list[int], dtype: DType) -> Tensor:
        if len(shape) != 2:
            raise ShapeError(f"the identity initializer needs a matrix, got shape {tuple(shape)}")
        return constant(self.gain * np.eye(shape[0], shape[1]), dtype)

    def make_part(self, shape: list[int], dtype: DType, whole: Any) -> Tensor:
        if len(shape) != 2:
            return self.make(shape, dtype)
        (row, column), (rows, columns) = whole.var_offset, shape
        matrix = np.eye(*whole.full_shape)[row : row + rows, column : column + columns]
        return constant(self.gain * matrix, dtype)


class Orthogonal(Initializer):
    """A matrix with orthonormal rows or columns: the Q of the QR decomposition of a random normal matrix.

    Dimensions before the last are taken together as rows. Up to 0.12 the dtype came before the seed, which its type
    tells. Raises `ShapeError` for rank 0 and 1.
    """

    def __init__(self, gain: float = 1.0, seed: int | DType | None = None, dtype: DTypeLike = float32) -> None:
        if isinstance(seed, DType):
            given = seed
            seed = dtype if isinstance(dtype, int) else None
            dtype = given
        self.gain, self.seed, self.dtype = gain, seed, _float(dtype)

    def make(self, shape: list[int], dtype: DType) -> Tensor:
        if len(shape) < 2:
            raise ShapeError(f"the orthogonal initializer needs rank 2 or more, got shape {tuple(shape)}")
        rows, cols = math.prod(shape[:-1]), shape[-1]
        wide = dtype if dtype.size > 2 else float32
        q, r = qr(random_normal([max(rows, cols), min(rows, cols)], dtype=wide, seed=self.seed))
        q = q * SIGN(MATRIX_DIAG_PART(r))
        q = matrix_transpose(q) if rows < cols else q
        return cast(self.gain * RESHAPE(q, shape), dtype)


def glorot_uniform(seed: int | None = None, dtype: DTypeLike = float32) -> VarianceScaling:
    """Returns Glorot and Bengio's uniform initialiser: +-sqrt(6 / (fan_in + fan_out))."""
    return VarianceScaling(1.0, "fan_avg", "uniform", seed, dtype)


def glorot_normal(seed: int | None = None, dtype: DTypeLike = float32) -> VarianceScaling:
    """Returns Glorot and Bengio's normal initialiser, of variance 2 / (fan_in + fan_out)."""
    return VarianceScaling(1.0, "fan_avg", "normal", seed, dtype)


def he_normal(seed: int | None = None) -> VarianceScaling:
    """Returns He et al.'s normal initialiser, of variance 2 / fan_in."""
    return VarianceScaling(2.0, "fan_in", "normal", seed)


def he_uniform(seed: int | None = None) -> VarianceScaling:
    """Returns He et al.'s uniform initialiser: +-sqrt(6 / fan_in)."""
    return VarianceScaling(2.0, "fan_in", "uniform", seed)


def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """Returns a normal initialiser of variance 1 / fan_in (LeCun 1998)."""
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """Returns a uniform initialiser of variance 1 / fan_in (LeCun 1998)."""
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


def xavier_initializer(uniform: bool = True, seed: int | None = None, dtype: DTypeLike = float32) -> VarianceScaling:
    """Returns Glorot's initialiser, which is also called Xavier's: uniform, or else a truncated normal."""
    return glorot_uniform(seed, dtype) if uniform else glorot_normal(seed, dtype)


def variance_scaling_initializer(
    factor: float = 2.0,
    mode: str = "FAN_IN",
    uniform: bool = False,
    seed: int | None = None,
    dtype: DTypeLike = float32,
) -> VarianceScaling:
    """Returns a `VarianceScaling` from the arguments that it has in `tf.contrib.layers`."""
    return VarianceScaling(factor, mode, "uniform" if uniform else "normal", seed, dtype)


def default_initializer(dtype: DType) -> Initializer:
    """Returns the initialiser that `get_variable` uses without another: Glorot's uniform for floats, else zeros."""
    return glorot_uniform(dtype=dtype) if dtype.is_floating else Zeros(dtype)


API: dict[str, Any] = {
    "contrib.layers.xavier_initializer": xavier_initializer,
    "contrib.layers.xavier_initializer_conv2d": xavier_initializer,
    "contrib.layers.variance_scaling_initializer": variance_scaling_initializer,
    "uniform_unit_scaling_initializer": UniformUnitScaling,
    "glorot_uniform_initializer": glorot_uniform,
    "glorot_normal_initializer": glorot_normal,
    "initializers.glorot_uniform": glorot_uniform,
    "initializers.glorot_normal": glorot_normal,
    "initializers.lecun_uniform": lecun_uniform,
    "initializers.lecun_normal": lecun_normal,
    "initializers.uniform_unit_scaling": UniformUnitScaling,
    "contrib.layers.python.layers.initializers.xavier_initializer": xavier_initializer,
    "contrib.layers.python.layers.initializers.variance_scaling_initializer": variance_scaling_initializer,
    "initializers.he_normal": he_normal,
    "initializers.he_uniform": he_uniform,
}
for _name, _make in {
    "zeros": Zeros,
    "ones": Ones,
    "constant": Constant,
    "random_uniform": RandomUniform,
    "random_normal": RandomNormal,
    "truncated_normal": TruncatedNormal,
    "variance_scaling": VarianceScaling,
    "orthogonal": Orthogonal,
    "identity": Identity,
}.items():
    API[f"{_name}_initializer"] = _make
    API[f"initializers.{_name}"] = _make
