"""Convolution layers in one to three dimensions, transposed and separable (`tf.layers`).

One class implements the layers of all ranks; the functions take their signatures from the classes. Invariant: names and
shapes of variables are TensorFlow's (`conv2d/kernel`, `separable_conv2d/depthwise_kernel`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.client.argument_types import Constraint, InitializerLike, Regularizer, WindowSize
from tfnb.client.layers.base import Layer, functional
from tfnb.client.layers.input_spec import InputSpec
from tfnb.client.variables.initializers import Zeros
from tfnb.dimension import Dimension
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.shape_ops import EXPAND_DIMS, SQUEEZE, shape_of
from tfnb.ops.conv_pool.conv_functions import conv_transpose, convolution
from tfnb.ops.conv_pool.depthwise import separable_conv2d as separable_op
from tfnb.ops.nn.bias_dropout_moments import bias_add
from tfnb.types import Shape, ShapeLike, as_shape

__all__ = ["API", "Conv1D", "Conv2D", "Conv2DTranspose", "Conv3D", "SeparableConv2D", "layout", "spatial"]

_LAYOUTS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


def spatial(value: WindowSize, rank: int, what: str) -> tuple[int, ...]:
    """Returns a positive integer per spatial axis, from one integer or several. Raises `InvalidArgumentError` for
    others.
    """
    if isinstance(value, Shape):
        value = value.known()
    if isinstance(value, (list, tuple, np.ndarray)):
        value = tuple(
            int(v) if isinstance(v, np.integer) or (isinstance(v, Dimension) and v.value is not None) else v
            for v in value
        )
    sizes = (value,) * rank if isinstance(value, int) else tuple(value) if isinstance(value, (list, tuple)) else ()
    if len(sizes) != rank or not all(isinstance(v, int) and v > 0 for v in sizes):
        several = {1: "a list of one", 2: "a pair of them"}.get(rank, f"{rank} of them")
        raise InvalidArgumentError(f"{what} must be a positive integer or {several}, got {value!r}")
    return sizes


def layout(data_format: str, rank: int) -> str:
    """Returns the ops' name of "channels_last" or "channels_first". Raises `InvalidArgumentError` for another name."""
    formats = ("channels_last", "channels_first")
    if data_format not in formats:
        raise InvalidArgumentError(f"data_format must be one of {list(formats)}, got {data_format!r}")
    return _LAYOUTS[rank][formats.index(data_format)]


class _Conv(Layer):
    """Computes activation(convolution(inputs, kernel) + bias); the number of channels must be known."""

    rank = 2

    def __init__(
        self,
        filters: int,
        kernel_size: WindowSize,
        strides: WindowSize = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: WindowSize = 1,
        activation: Callable[[Any], Any] | None = None,
        use_bias: bool = True,
        kernel_initializer: InitializerLike | None = None,
        bias_initializer: InitializerLike | None = None,
        kernel_regularizer: Regularizer | None = None,
        bias_regularizer: Regularizer | None = None,
        activity_regularizer: Regularizer | None = None,
        kernel_constraint: Constraint | None = None,
        bias_constraint: Constraint | None = None,
        trainable: bool = True,
        name: str | None = None,
        **kw: Any,
    ) -> None:
        super().__init__(name, trainable, activity_regularizer, **kw)
        self.filters = int(filters)
        self.kernel_size = spatial(kernel_size, self.rank, "kernel_size")
        self.strides = spatial(strides, self.rank, "strides")
        self.dilation_rate = spatial(dilation_rate, self.rank, "dilation_rate")
        self.padding, self.data_format = padding.upper(), layout(data_format, self.rank)
        self.activation, self.use_bias = activation, use_bias
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer or Zeros()
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint
        self.input_spec = InputSpec(ndim=self.rank + 2)

    @property
    def channels_first(self) -> bool:
        """Returns whether the channels are the second dimension of the inputs, not the last."""
        return self.data_format.startswith("NC")

    def _channels(self, shape: ShapeLike) -> int:
        dims = as_shape(shape).with_rank(self.rank + 2).as_list()
        channels = dims[1 if self.channels_first else -1]
        if channels is None:
            raise ShapeError(
                f"{self.default_name} of {shape}: The channel dimension of the inputs should be defined. Found `None`."
            )
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={1 if self.channels_first else -1: channels})
        return channels

    def _add_bias(self) -> None:
        self.bias = (
            self.add_variable(
                "bias", [self.filters], None, self.bias_initializer, self.bias_regularizer, True, self.bias_constraint
            )
            if self.use_bias
            else None
        )
        self.built = True

    def build(self, shape: ShapeLike) -> None:
        kernel = [*self.kernel_size, self._channels(shape), self.filters]
        self.kernel = self.add_variable(
            "kernel", kernel, None, self.kernel_initializer, self.kernel_regularizer, True, self.kernel_constraint
        )
        self._add_bias()

    def _finish(self, y: Tensor) -> Tensor:
        """Adds the bias and applies the activation."""
        if self.bias is not None:
            y = bias_add(y, self.bias, data_format="NCHW" if self.channels_first else "NHWC")
        return y if self.activation is None else self.activation(y)

    def call(self, inputs: Tensor) -> Tensor:
        return self._finish(
            convolution(
                inputs,
                self.kernel,
                self.padding,
                self.strides,
                self.dilation_rate,
                data_format=self.data_format,
            )
        )


class Conv1D(_Conv):
    """Computes activation(convolution + bias) of inputs (batch, width, channels).

    `filters` is the number of output channels, `kernel_size` the width of the kernel. With `data_format`
    "channels_first" the channels come second. Raises `ShapeError` when the number of channels is not known.
    """

    default_name, rank = "conv1d", 1


class Conv2D(_Conv):
    """Computes activation(convolution + bias) of inputs (batch, height, width, channels).

    `filters` is the number of output channels, `kernel_size` the size of the kernel. With `data_format`
    "channels_first" the channels come second. Raises `ShapeError` when the number of channels is not known.
    """

    default_name, rank = "conv2d", 2


class Conv3D(_Conv):
    """Computes activation(convolution + bias) of inputs (batch, depth, height, width, channels).

    `filters` is the number of output channels, `kernel_size` the size of the kernel. With `data_format`
    "channels_first" the channels come second. Raises `ShapeError` when the number of channels is not known.
    """

    default_name, rank = "conv3d", 3


class _Transposed(_Conv):
    """Computes activation(transposed convolution + bias).

    Each side becomes `strides` times longer; with "valid" padding it also grows by the part of the kernel that reaches
    over the edge.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: WindowSize,
        strides: WindowSize = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        activation: Callable[[Any], Any] | None = None,
        use_bias: bool = True,
        kernel_initializer: InitializerLike | None = None,
        bias_initializer: InitializerLike | None = None,
        kernel_regularizer: Regularizer | None = None,
        bias_regularizer: Regularizer | None = None,
        activity_regularizer: Regularizer | None = None,
        kernel_constraint: Constraint | None = None,
        bias_constraint: Constraint | None = None,
        trainable: bool = True,
        name: str | None = None,
        **kw: object,
    ) -> None:
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            1,
            activation,
            use_bias,
            kernel_initializer,
            bias_initializer,
            kernel_regularizer,
            bias_regularizer,
            activity_regularizer,
            kernel_constraint,
            bias_constraint,
            trainable,
            name,
            **kw,
        )

    def build(self, shape: ShapeLike) -> None:
        kernel = [*self.kernel_size, self.filters, self._channels(shape)]
        self.kernel = self.add_variable(
            "kernel", kernel, None, self.kernel_initializer, self.kernel_regularizer, True, self.kernel_constraint
        )
        self._add_bias()

    def _longer(self, side: int | Tensor, axis: int) -> Any:
        size, step = self.kernel_size[axis], self.strides[axis]
        return side * step + (max(size - step, 0) if self.padding == "VALID" else 0)

    def call(self, inputs: Tensor) -> Tensor:
        static_dims = inputs.shape.with_rank(self.rank + 2).as_list()
        dims = [shape_of(inputs)[i] if d is None else d for i, d in enumerate(static_dims)]
        first = self.channels_first
        sides = [self._longer(d, i) for i, d in enumerate(dims[2:] if first else dims[1:-1])]
        output_dims = [dims[0], self.filters, *sides] if first else [dims[0], *sides, self.filters]
        sizes = output_dims if all(isinstance(d, int) for d in output_dims) else inputs.graph.to_tensor(output_dims)
        y = conv_transpose(inputs, self.kernel, sizes, self.strides, self.padding, data_format=self.data_format)
        y.set_shape([d if isinstance(d, int) else None for d in output_dims])
        return self._finish(y)


class Conv2DTranspose(_Transposed):
    """Computes activation(transpose of a `Conv2D` layer + bias) of images; see `tf.nn.conv2d_transpose`."""

    default_name, rank = "conv2d_transpose", 2


class Conv3DTranspose(_Transposed):
    """Computes activation(transpose of a `Conv3D` layer + bias) of volumes; see `tf.nn.conv3d_transpose`."""

    default_name, rank = "conv3d_transpose", 3


class SeparableConv2D(_Conv):
    """Convolves each channel of images by itself, and then mixes the channels; see `tf.nn.separable_conv2d`.

    Each channel has `depth_multiplier` kernels of `kernel_size`; a 1 x 1 convolution then makes `filters` channels.
    """

    default_name, rank = "separable_conv2d", 2

    def __init__(
        self,
        filters: int,
        kernel_size: WindowSize,
        strides: WindowSize = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: WindowSize = 1,
        depth_multiplier: int = 1,
        activation: Callable[[Any], Any] | None = None,
        use_bias: bool = True,
        depthwise_initializer: InitializerLike | None = None,
        pointwise_initializer: InitializerLike | None = None,
        bias_initializer: InitializerLike | None = None,
        depthwise_regularizer: Regularizer | None = None,
        pointwise_regularizer: Regularizer | None = None,
        bias_regularizer: Regularizer | None = None,
        activity_regularizer: Regularizer | None = None,
        depthwise_constraint: Constraint | None = None,
        pointwise_constraint: Constraint | None = None,
        bias_constraint: Constraint | None = None,
        trainable: bool = True,
        name: str | None = None,
        **kw: object,
    ) -> None:
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            dilation_rate,
            activation,
            use_bias,
            None,
            bias_initializer,
            None,
            bias_regularizer,
            activity_regularizer,
            None,
            bias_constraint,
            trainable,
            name,
            **kw,
        )
        self.depth_multiplier = int(depth_multiplier)
        self.depthwise_initializer, self.pointwise_initializer = depthwise_initializer, pointwise_initializer
        self.depthwise_regularizer, self.pointwise_regularizer = depthwise_regularizer, pointwise_regularizer
        self.depthwise_constraint, self.pointwise_constraint = depthwise_constraint, pointwise_constraint

    def build(self, shape: ShapeLike) -> None:
        channels = self._channels(shape)
        taps = [*self.kernel_size, channels, self.depth_multiplier]
        pointwise_shape = [*(1,) * self.rank, channels * self.depth_multiplier, self.filters]
        self.depthwise_kernel = self.add_variable(
            "depthwise_kernel",
            taps,
            None,
            self.depthwise_initializer,
            self.depthwise_regularizer,
            True,
            self.depthwise_constraint,
        )
        self.pointwise_kernel = self.add_variable(
            "pointwise_kernel",
            pointwise_shape,
            None,
            self.pointwise_initializer,
            self.pointwise_regularizer,
            True,
            self.pointwise_constraint,
        )
        self._add_bias()

    def _separable(
        self, x: Tensor, taps: Tensor, point: Tensor, strides: tuple[int, ...], rate: tuple[int, ...]
    ) -> Any:
        steps = (1, 1, *strides) if self.channels_first else (1, *strides, 1)
        name = _LAYOUTS[2][self.channels_first]
        return separable_op(x, taps, point, steps, self.padding, rate, data_format=name)

    def call(self, inputs: Tensor) -> Tensor:
        kernels = (self.depthwise_kernel, self.pointwise_kernel)
        return self._finish(self._separable(inputs, *kernels, self.strides, self.dilation_rate))


class SeparableConv1D(SeparableConv2D):
    """Does what `SeparableConv2D` does along one axis: inputs (batch, width, channels).

    Each channel has `depth_multiplier` kernels of `kernel_size`; a 1 x 1 convolution then makes `filters` channels.
    """

    default_name, rank = "separable_conv1d", 1

    def call(self, inputs: Tensor) -> Tensor:
        axis = 2 if self.channels_first else 1
        taps, pointwise = (EXPAND_DIMS(k, 0) for k in (self.depthwise_kernel, self.pointwise_kernel))
        steps = (
            *self.strides,
            *self.strides,
        )  # the op needs equal strides; this changes nothing, because the image has one row
        rate = (1, *self.dilation_rate)
        y = self._separable(EXPAND_DIMS(inputs, axis), taps, pointwise, steps, rate)
        return self._finish(SQUEEZE(y, squeeze_dims=[axis]))


_CLASSES = {
    "conv1d": Conv1D,
    "conv2d": Conv2D,
    "conv3d": Conv3D,
    "conv2d_transpose": Conv2DTranspose,
    "conv3d_transpose": Conv3DTranspose,
    "separable_conv1d": SeparableConv1D,
    "separable_conv2d": SeparableConv2D,
}
conv2d = functional(Conv2D)
API: dict[str, Any] = {
    **{f"layers.{layer.__name__}": layer for layer in _CLASSES.values()},
    **{f"layers.{name}": functional(layer) for name, layer in _CLASSES.items()},
}
