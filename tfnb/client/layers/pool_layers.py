"""Pooling layers in one to three dimensions (`tf.layers`).

Invariant: a pooling layer has no variables, and its operation is in the layer's scope (`max_pooling2d/MaxPool`).
"""

from __future__ import annotations

from typing import Any

from tfnb.client.argument_types import WindowSize
from tfnb.client.layers.base import Layer, functional
from tfnb.client.layers.conv_layers import layout, spatial
from tfnb.ir.tensor import Tensor
from tfnb.ops.conv_pool.pool import AVG_POOL, MAX_POOL
from tfnb.ops.conv_pool.pool_functions import avg_pool, avg_pool3d, max_pool, max_pool3d, pool1d

__all__ = ["API", "AveragePooling2D", "MaxPooling2D", "average_pooling2d", "max_pooling2d"]


def _max_pool1d(x: Tensor, size: WindowSize, step: WindowSize, padding: str, data_format: str) -> Any:
    """Computes the maximum of each window of `size` elements of x, every `step` elements."""
    return pool1d(MAX_POOL, x, size, step, padding, data_format, None)


def _avg_pool1d(x: Tensor, size: WindowSize, step: WindowSize, padding: str, data_format: str) -> Any:
    """Computes the mean of each window of `size` elements of x, every `step` elements."""
    return pool1d(AVG_POOL, x, size, step, padding, data_format, None)


class _Pooling(Layer):
    """Computes one number for each window of every channel."""

    rank = 2
    pool: Any = staticmethod(max_pool)

    def __init__(
        self,
        pool_size: WindowSize,
        strides: WindowSize,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        **kw: Any,
    ) -> None:
        super().__init__(name, **kw)
        self.data_format = layout(data_format, self.rank)
        self.pool_size = spatial(pool_size, self.rank, "pool_size")
        self.strides = spatial(strides, self.rank, "strides")
        self.padding = padding.upper()

    def call(self, inputs: Tensor) -> Tensor:
        inputs.shape.with_rank(self.rank + 2)
        window = (list(self.pool_size), list(self.strides), self.padding, self.data_format)
        return type(self).pool(inputs, *window)


class MaxPooling1D(_Pooling):
    """Computes the maximum of each window of `pool_size` elements of inputs (batch, width, channels)."""

    default_name, rank, pool = "max_pooling1d", 1, staticmethod(_max_pool1d)


class MaxPooling2D(_Pooling):
    """Computes the maximum of each window of `pool_size` elements of inputs (batch, height, width, channels)."""

    default_name, rank, pool = "max_pooling2d", 2, staticmethod(max_pool)


class MaxPooling3D(_Pooling):
    """Computes the maximum of each window of `pool_size` elements of inputs (batch, depth, height, width, channels)."""

    default_name, rank, pool = "max_pooling3d", 3, staticmethod(max_pool3d)


class AveragePooling1D(_Pooling):
    """Computes the mean of each window of `pool_size` elements of inputs (batch, width, channels)."""

    default_name, rank, pool = "average_pooling1d", 1, staticmethod(_avg_pool1d)


class AveragePooling2D(_Pooling):
    """Computes the mean of each window of `pool_size` elements of inputs (batch, height, width, channels)."""

    default_name, rank, pool = "average_pooling2d", 2, staticmethod(avg_pool)


class AveragePooling3D(_Pooling):
    """Computes the mean of each window of `pool_size` elements of inputs (batch, depth, height, width, channels)."""

    default_name, rank, pool = "average_pooling3d", 3, staticmethod(avg_pool3d)


max_pooling2d, average_pooling2d = functional(MaxPooling2D), functional(AveragePooling2D)
_CLASSES = (MaxPooling1D, MaxPooling2D, MaxPooling3D, AveragePooling1D, AveragePooling2D, AveragePooling3D)
API: dict[str, Any] = {
    **{f"layers.{layer.__name__}": layer for layer in _CLASSES},
    **{f"layers.{layer.default_name}": functional(layer) for layer in _CLASSES},
}
