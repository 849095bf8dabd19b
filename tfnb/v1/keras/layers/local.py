"""Locally connected layers: convolutions whose kernel differs from place to place.

They keep their weights in one of three forms (`implementation`): 1, a matrix for each place; 2, a matrix between all
pixels of input and output, of which a mask hides the rest; 3, only its elements that are not hidden. Invariant: shapes
of weights are TensorFlow's, so that saved weights fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from tfnb.client.argument_types import WindowSize
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor
from tfnb.types import Shape, ShapeLike
from tfnb.v1.argument_types import TensorOrVariable
from tfnb.v1.keras.argument_types import Identifier
from tfnb.v1.keras.backend import nn
from tfnb.v1.keras.backend.sequences import local_convolution
from tfnb.v1.keras.backend.settings import data_format_of
from tfnb.v1.keras.engine.calls import InputSpec
from tfnb.v1.keras.graph_api import tf
from tfnb.v1.keras.layer_registry import register
from tfnb.v1.keras.layers.convolution import length_after
from tfnb.v1.keras.layers.weight_options import LayerWithOptions

_OPTIONS = (
    "kernel_initializer",
    "bias_initializer",
    "kernel_regularizer",
    "bias_regularizer",
    "activity_regularizer",
    "kernel_constraint",
    "bias_constraint",
)


class _Local(LayerWithOptions):
    rank = 2
    fields = (
        "filters",
        "kernel_size",
        "strides",
        "padding",
        "data_format",
        "activation",
        "use_bias",
        *_OPTIONS,
        "implementation",
    )

    def __init__(
        self,
        filters: int,
        kernel_size: WindowSize,
        strides: WindowSize = 1,
        padding: str = "valid",
        data_format: str | None = None,
        activation: Identifier | None = None,
        use_bias: bool = True,
        kernel_initializer: Identifier | None = "glorot_uniform",
        bias_initializer: Identifier | None = "zeros",
        kernel_regularizer: Identifier | None = None,
        bias_regularizer: Identifier | None = None,
        activity_regularizer: Identifier | None = None,
        kernel_constraint: Identifier | None = None,
        bias_constraint: Identifier | None = None,
        implementation: int = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.filters = int(filters)
        self.kernel_size = nn.window(kernel_size, self.rank, "kernel_size")
        self.strides = nn.window(strides, self.rank, "strides")
        self.padding, self.data_format, self.use_bias = padding.lower(), data_format_of(data_format), use_bias
        self.implementation = self._form = implementation
        if implementation not in (1, 2, 3):
            raise InvalidArgumentError(f"Unrecognized implementation mode: {implementation}; needed 1, 2 or 3")
        if self.padding not in (("valid",) if implementation == 1 else ("valid", "same")):
            raise InvalidArgumentError(
                f"Invalid border mode for {type(self).__name__} (only valid is supported if implementation is 1): "
                f"{padding}"
            )
        self._set_options(
            activation=activation,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
        )
        self.input_spec = InputSpec(ndim=self.rank + 2)
        self.bias: Any = None

    @property
    def _first(self) -> bool:
        return self.data_format == "channels_first"

    def _ordered(self, channels: int | None, inner: Sequence[int | None]) -> tuple[Any, ...]:
        return (channels, *inner) if self._first else (*inner, channels)

    def build(self, input_shape: ShapeLike) -> None:
        sizes = tf.TensorShape(input_shape).as_list()
        inner, channels = (sizes[2:], sizes[1]) if self._first else (sizes[1:-1], sizes[-1])
        if None in inner or channels is None:
            raise InvalidArgumentError(
                f"The sizes of the inputs to a {type(self).__name__} layer should be fully-defined, got {sizes}"
            )
        parts = zip(inner, self.kernel_size, self.strides, strict=True)
        self._inner: tuple[Any, ...] = tuple(length_after(n, k, self.padding, s) for n, k, s in parts)
        if any(n <= 0 for n in self._inner):
            raise InvalidArgumentError(f"{type(self).__name__}: inputs of {sizes} are smaller than the kernel")
        self._in_sizes = self._ordered(channels, inner)
        self._out_sizes = self._ordered(self.filters, self._inner)
        if self._form == 1:
            shape: Any = (int(np.prod(self._inner)), int(np.prod(self.kernel_size)) * channels, self.filters)
        elif self._form == 2:
            shape = (*self._in_sizes, *self._out_sizes)
        else:
            self._pairs = np.argwhere(self._connected(inner, channels).T)
            shape = (len(self._pairs),)
        self.kernel = self._weight("kernel", shape)
        if self._form == 2:
            self._mask = self._connected(inner, channels)
        if self.use_bias:
            self.bias = self._weight("bias", (*self._inner, self.filters))
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={1 if self._first else -1: channels})

    def _connected(self, inner: Sequence[int], channels: int) -> np.ndarray:
        """Returns which elements of the input each element of the output sees, bool [inputs, outputs]."""
        near = np.zeros((*inner, *self._inner), bool)
        for place in product(*[range(n) for n in self._inner]):
            cut = []
            for axis, at in enumerate(place):
                size = self.kernel_size[axis]
                middle = at * self.strides[axis] + (size // 2 if self.padding == "valid" else 0)
                cut.append(slice(max(0, middle - size // 2), min(inner[axis], middle + size - size // 2)))
            seen: tuple[Any, ...] = (*cut, *place)
            near[seen] = True
        grid = np.expand_dims(near, (0, self.rank + 1) if self._first else (self.rank, 2 * self.rank + 1))
        whole = np.broadcast_to(grid, (*self._in_sizes, *self._out_sizes))
        return whole.reshape(int(np.prod(self._in_sizes)), -1)

    def call(self, inputs: TensorOrVariable) -> Tensor:  # type: ignore[override]
        if self._form == 1:
            y = local_convolution(inputs, self.kernel, self.kernel_size, self.strides, self._inner, self.data_format)
        else:
            y = self._by_matrix(inputs)
        y.set_shape([None, *self._out_sizes])
        if self.bias is not None:
            bias = self.bias.value()
            y = y + (tf.transpose(bias, [self.rank, *range(self.rank)]) if self._first else bias)
        return self.activation(y)

    def _by_matrix(self, inputs: TensorOrVariable) -> Tensor:
        count = int(np.prod(self._in_sizes))
        x = tf.reshape(inputs, [-1, count])
        if self._form == 2:
            y = tf.matmul(x, tf.reshape(self.kernel, self._mask.shape) * tf.constant(self._mask, x.dtype))
        else:
            shape = [int(np.prod(self._out_sizes)), count]
            matrix = tf.SparseTensor(tf.constant(self._pairs, tf.int64), self.kernel.value(), shape)
            y = tf.transpose(tf.sparse_tensor_dense_matmul(matrix, x, adjoint_b=True))
        return tf.reshape(y, [-1, *self._out_sizes])

    def compute_output_shape(self, input_shape: ShapeLike) -> Shape:
        sizes = tf.TensorShape(input_shape).as_list()
        parts = zip(sizes[2:] if self._first else sizes[1:-1], self.kernel_size, self.strides, strict=True)
        inner = [length_after(n, k, self.padding, s) for n, k, s in parts]
        return tf.TensorShape([sizes[0], *self._ordered(self.filters, inner)])


@register()
class LocallyConnected1D(_Local):
    """A convolution of sequences with a kernel of its own at each step."""

    rank = 1


@register()
class LocallyConnected2D(_Local):
    """A convolution of images with a kernel of its own at each place."""
