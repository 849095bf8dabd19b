"""Layers: `tf.layers`, functions and classes that make variables and the ops over them.

A layer is plain graph: variables under its scope, ops under its name. Invariant: names are TensorFlow's
(`dense/kernel`, `dense/bias`, `dense_1/kernel`), so checkpoints and collections fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfnb.client.initializers import Zeros
from tfnb.client.keys import GraphKeys
from tfnb.client.variable_scope import get_variable, variable_scope
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.tensor import Tensor
from tfnb.ops.conv_functions import conv2d as conv2d_op
from tfnb.ops.matmul import matmul, tensordot
from tfnb.ops.nn import bias_add
from tfnb.ops.pool_functions import avg_pool, max_pool
from tfnb.ops.shaping import RESHAPE, shape_of
from tfnb.types import DType, Shape, as_dtype

__all__ = [
    "API",
    "AveragePooling2D",
    "Conv2D",
    "Dense",
    "Flatten",
    "Layer",
    "MaxPooling2D",
    "conv2d",
    "dense",
    "flatten",
]


class Layer:
    """Base: builds variables on the first call, in a scope of its own, and shares them on later calls."""

    default_name = "layer"

    def __init__(self, name: str | None = None, trainable: bool = True, activity_regularizer: Any = None,
                 dtype: Any = None, _scope: Any = None, _reuse: bool | None = None) -> None:  # fmt: skip
        self._given_name = name
        self.trainable = trainable
        self.activity_regularizer = activity_regularizer
        self.dtype: DType | None = None if dtype is None else as_dtype(dtype)
        self._reuse = _reuse
        self._scope: Any = _scope
        self.built = False
        self.variables: list[Any] = []

    @property
    def scope_name(self) -> str:
        """The full name of the layer's variable scope; known after the first call."""
        return self._scope.name if self._scope is not None else ""

    @property
    def name(self) -> str:
        return self.scope_name.rpartition("/")[2] or self._given_name or self.default_name

    @property
    def trainable_variables(self) -> list[Any]:
        return [v for v in self.variables if v.trainable]

    weights = property(lambda self: self.variables)
    trainable_weights = trainable_variables

    def use_scope(self, scope: Any) -> None:
        """Makes the variables in this open variable scope instead of one of the layer's own."""
        self._scope = scope
        self._reuse = scope.reuse

    def build(self, shape: Shape) -> None:
        """Makes the variables for inputs of this static shape."""
        self.built = True

    def call(self, inputs: Tensor, **kwargs: Any) -> Tensor:
        """The layer's ops."""
        raise InvalidArgumentError(f"{type(self).__name__} has no call")

    def __call__(self, inputs: Any, **kwargs: Any) -> Tensor:
        inputs = graph_of([inputs]).to_tensor(inputs)
        with inputs.graph.as_default(), self._open() as scope:
            self._scope = self._scope or scope
            if self.dtype is None and inputs.dtype.is_floating:
                self.dtype = inputs.dtype
            if not self.built:
                self.build(inputs.shape)
                self.built = True
            outputs = self.call(inputs, **kwargs)
            if self.activity_regularizer is not None:
                penalty = self.activity_regularizer(outputs)
                inputs.graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, penalty)
        return outputs

    apply = __call__

    def _open(self) -> Any:
        if self._scope is not None:
            return variable_scope(self._scope, reuse=True if self.built else self._reuse)
        return variable_scope(self._given_name, self.default_name, reuse=self._reuse)

    def add_variable(self, name: str, shape: Any, dtype: Any = None, initializer: Any = None, regularizer: Any = None,
                     trainable: bool = True, constraint: Any = None) -> Any:  # fmt: skip
        """A variable in the layer's scope, of the layer's dtype unless another is given."""
        found = get_variable(name, shape, dtype or self.dtype, initializer, regularizer, trainable and self.trainable,
                             constraint=constraint)  # fmt: skip
        self.variables.append(found)
        return found


class Dense(Layer):
    """activation(inputs @ kernel + bias) over the last dimension, which must be known."""

    default_name = "dense"

    def __init__(self, units: int, activation: Callable[[Any], Any] | None = None, use_bias: bool = True,
                 kernel_initializer: Any = None, bias_initializer: Any = None, kernel_regularizer: Any = None,
                 bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None,
                 bias_constraint: Any = None, trainable: bool = True, name: str | None = None,
                 **kw: Any) -> None:  # fmt: skip
        super().__init__(name, trainable, activity_regularizer, **kw)
        self.units, self.activation, self.use_bias = int(units), activation, use_bias
        self.kernel_options = (kernel_initializer, kernel_regularizer, True, kernel_constraint)
        self.bias_options = (bias_initializer or Zeros(), bias_regularizer, True, bias_constraint)

    def build(self, shape: Shape) -> None:
        n = shape.dims[-1] if shape.dims else None
        if n is None:
            raise ShapeError(
                f"dense: the last dimension of the inputs must be known, got shape {shape}"
            )
        self.kernel = self.add_variable("kernel", [n, self.units], None, *self.kernel_options)
        self.bias = (
            self.add_variable("bias", [self.units], None, *self.bias_options)
            if self.use_bias
            else None
        )

    def call(self, inputs: Tensor, **_: Any) -> Tensor:
        rank = inputs.shape.ndims
        if rank is not None and rank > 2:
            y = tensordot(inputs, self.kernel, [[rank - 1], [0]])
        else:
            y = matmul(inputs, self.kernel)
        y = y if self.bias is None else bias_add(y, self.bias)
        return y if self.activation is None else self.activation(y)


def _pair(value: Any, name: str) -> tuple[int, int]:
    pair = (value, value) if isinstance(value, int) else tuple(value)
    if len(pair) != 2 or not all(isinstance(v, int) and v > 0 for v in pair):
        raise InvalidArgumentError(
            f"{name} must be a positive integer or a pair of them, got {value!r}"
        )
    return pair


def _format(data_format: str) -> str:
    formats = {"channels_last": "NHWC", "channels_first": "NCHW"}
    if data_format not in formats:
        raise InvalidArgumentError(
            f"data_format must be one of {list(formats)}, got {data_format!r}"
        )
    return formats[data_format]


def _window(pair: tuple[int, int], data_format: str) -> list[int]:
    return [1, *pair, 1] if data_format == "NHWC" else [1, 1, *pair]


class Conv2D(Layer):
    """activation(conv2d(inputs, kernel) + bias); inputs of rank 4, the number of channels known."""

    default_name = "conv2d"

    def __init__(self, filters: int, kernel_size: Any, strides: Any = (1, 1), padding: str = "valid",
                 data_format: str = "channels_last", dilation_rate: Any = (1, 1),
                 activation: Callable[[Any], Any] | None = None, use_bias: bool = True, kernel_initializer: Any = None,
                 bias_initializer: Any = None, kernel_regularizer: Any = None, bias_regularizer: Any = None,
                 activity_regularizer: Any = None, kernel_constraint: Any = None, bias_constraint: Any = None,
                 trainable: bool = True, name: str | None = None, **kw: Any) -> None:  # fmt: skip
        super().__init__(name, trainable, activity_regularizer, **kw)
        self.filters = int(filters)
        self.kernel_size = _pair(kernel_size, "kernel_size")
        self.strides, self.dilation = (
            _pair(strides, "strides"),
            _pair(dilation_rate, "dilation_rate"),
        )
        self.padding, self.data_format = padding.upper(), _format(data_format)
        self.activation, self.use_bias = activation, use_bias
        self.kernel_options = (kernel_initializer, kernel_regularizer, True, kernel_constraint)
        self.bias_options = (bias_initializer or Zeros(), bias_regularizer, True, bias_constraint)

    def build(self, shape: Shape) -> None:
        dims = shape.with_rank(4).dims or ()
        channels = dims[-1 if self.data_format == "NHWC" else 1]
        if channels is None:
            raise ShapeError(f"conv2d: the number of channels must be known, got shape {shape}")
        kernel = [*self.kernel_size, channels, self.filters]
        self.kernel = self.add_variable("kernel", kernel, None, *self.kernel_options)
        self.bias = (
            self.add_variable("bias", [self.filters], None, *self.bias_options)
            if self.use_bias
            else None
        )

    def call(self, inputs: Tensor, **_: Any) -> Tensor:
        y = conv2d_op(
            inputs, self.kernel, _window(self.strides, self.data_format), self.padding, data_format=self.data_format,
            dilations=_window(self.dilation, self.data_format),
        )  # fmt: skip
        y = y if self.bias is None else bias_add(y, self.bias, data_format=self.data_format)
        return y if self.activation is None else self.activation(y)


def dense(inputs: Any, units: int, activation: Any = None, use_bias: bool = True, kernel_initializer: Any = None,
          bias_initializer: Any = None, kernel_regularizer: Any = None, bias_regularizer: Any = None,
          activity_regularizer: Any = None, kernel_constraint: Any = None, bias_constraint: Any = None,
          trainable: bool = True, name: str | None = None, reuse: Any = None) -> Tensor:  # fmt: skip
    """A fully connected layer; see `Dense`. Raises `ShapeError` when the last dimension is not known."""
    layer = Dense(units, activation, use_bias, kernel_initializer, bias_initializer, kernel_regularizer,
                  bias_regularizer, activity_regularizer, kernel_constraint, bias_constraint, trainable, name,
                  _reuse=reuse)  # fmt: skip
    return layer(inputs)


def conv2d(inputs: Any, filters: int, kernel_size: Any, strides: Any = (1, 1), padding: str = "valid",
           data_format: str = "channels_last", dilation_rate: Any = (1, 1), activation: Any = None,
           use_bias: bool = True, kernel_initializer: Any = None, bias_initializer: Any = None,
           kernel_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None,
           kernel_constraint: Any = None, bias_constraint: Any = None, trainable: bool = True,
           name: str | None = None, reuse: Any = None) -> Tensor:  # fmt: skip
    """A 2-D convolution layer; see `Conv2D`."""
    layer = Conv2D(filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
                   kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
                   kernel_constraint, bias_constraint, trainable, name, _reuse=reuse)  # fmt: skip
    return layer(inputs)


class MaxPooling2D(Layer):
    """The maximum of each window."""

    default_name = "max_pooling2d"
    pool = staticmethod(max_pool)

    def __init__(self, pool_size: Any, strides: Any, padding: str = "valid", data_format: str = "channels_last",
                 name: str | None = None, **kw: Any) -> None:  # fmt: skip
        super().__init__(name, **kw)
        self.data_format = _format(data_format)
        self.window = _window(_pair(pool_size, "pool_size"), self.data_format)
        self.strides = _window(_pair(strides, "strides"), self.data_format)
        self.padding = padding.upper()

    def call(self, inputs: Tensor, **_: Any) -> Tensor:
        return type(self).pool(
            inputs, self.window, self.strides, self.padding, data_format=self.data_format
        )


class AveragePooling2D(MaxPooling2D):
    """The mean of each window."""

    default_name = "average_pooling2d"
    pool = staticmethod(avg_pool)


def max_pooling2d(inputs: Any, pool_size: Any, strides: Any, padding: str = "valid",
                  data_format: str = "channels_last", name: str | None = None) -> Tensor:  # fmt: skip
    """The maximum of each window of a rank 4 tensor; `pool_size` and `strides` are integers or pairs."""
    return MaxPooling2D(pool_size, strides, padding, data_format, name)(inputs)


def average_pooling2d(inputs: Any, pool_size: Any, strides: Any, padding: str = "valid",
                      data_format: str = "channels_last", name: str | None = None) -> Tensor:  # fmt: skip
    """The mean of each window of a rank 4 tensor; `pool_size` and `strides` are integers or pairs."""
    return AveragePooling2D(pool_size, strides, padding, data_format, name)(inputs)


class Flatten(Layer):
    """All dimensions but the first in one."""

    default_name = "flatten"

    def call(self, inputs: Tensor, **_: Any) -> Tensor:
        dims = inputs.shape.dims
        size = None if not dims else Shape(dims[1:]).num_elements()
        if not dims or size is None:
            rows = shape_of(inputs)[0] if not dims or dims[0] is None else dims[0]
            found = RESHAPE(inputs, inputs.graph.to_tensor([rows, -1]))
            found.set_shape([dims[0] if dims else None, size])
            return found
        return RESHAPE(inputs, [-1 if dims[0] is None else dims[0], size])


def flatten(inputs: Any, name: str | None = None) -> Tensor:
    """All dimensions but the first in one."""
    return Flatten(name)(inputs)


API: dict[str, Any] = {
    "layers.Layer": Layer,
    "layers.Dense": Dense,
    "layers.Conv2D": Conv2D,
    "layers.Flatten": Flatten,
    "layers.MaxPooling2D": MaxPooling2D,
    "layers.AveragePooling2D": AveragePooling2D,
    "layers.dense": dense,
    "layers.conv2d": conv2d,
    "layers.max_pooling2d": max_pooling2d,
    "layers.average_pooling2d": average_pooling2d,
    "layers.flatten": flatten,
}
