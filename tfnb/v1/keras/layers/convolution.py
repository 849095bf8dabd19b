"""Convolutions in one to three dimensions, transposed, depthwise and separable.

Invariant: names and shapes of weights are TensorFlow's (`conv2d/kernel`, `separable_conv2d/depthwise_kernel`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfnb.client.argument_types import WindowSize
from tfnb.client.variables.variable import Variable
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor
from tfnb.types import Shape, ShapeLike
from tfnb.v1.argument_types import TensorOrVariable
from tfnb.v1.keras.argument_types import Identifier
from tfnb.v1.keras.backend import nn
from tfnb.v1.keras.backend.settings import data_format_of
from tfnb.v1.keras.engine.calls import InputSpec
from tfnb.v1.keras.graph_api import tf
from tfnb.v1.keras.layer_registry import register
from tfnb.v1.keras.layers.weight_options import LayerWithOptions

_COMMON = ("strides", "padding", "data_format", "dilation_rate", "activation", "use_bias")
_KERNEL = (
    "kernel_initializer",
    "bias_initializer",
    "kernel_regularizer",
    "bias_regularizer",
    "activity_regularizer",
    "kernel_constraint",
    "bias_constraint",
)


def length_after(size: int | None, window: int, padding: str, stride: int, dilation: int = 1) -> int | None:
    """Returns the length of an axis after a convolution or a pooling."""
    if size is None:
        return None
    wide = window + (window - 1) * (dilation - 1)
    kept = size if padding in ("same", "causal") else size - wide + 1
    return (kept + stride - 1) // stride


class _Conv(LayerWithOptions):
    """The parts that all convolutions share."""

    rank = 2
    fields: tuple[str, ...] = ("filters", "kernel_size", *_COMMON, *_KERNEL)

    def __init__(
        self,
        filters: int | None,
        kernel_size: WindowSize,
        strides: WindowSize = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: WindowSize = 1,
        activation: Identifier | None = None,
        use_bias: bool = True,
        kernel_initializer: Identifier | None = "glorot_uniform",
        bias_initializer: Identifier | None = "zeros",
        kernel_regularizer: Identifier | None = None,
        bias_regularizer: Identifier | None = None,
        activity_regularizer: Identifier | None = None,
        kernel_constraint: Identifier | None = None,
        bias_constraint: Identifier | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.filters = None if filters is None else int(filters)
        self.kernel_size = nn.window(kernel_size, self.rank, "kernel_size")
        self.strides = nn.window(strides, self.rank, "strides")
        self.dilation_rate = nn.window(dilation_rate, self.rank, "dilation_rate")
        self.padding, self.data_format, self.use_bias = padding.lower(), data_format_of(data_format), use_bias
        if self.padding not in ("same", "valid", "causal") or (self.padding == "causal" and self.rank != 1):
            raise InvalidArgumentError(
                f"The `padding` argument must be valid or same (or causal, for Conv1D): {padding}"
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

    def _channels(self, input_shape: ShapeLike) -> int:
        axis = 1 if self._first else -1
        channels = tf.TensorShape(input_shape).as_list()[axis]
        if channels is None:
            raise InvalidArgumentError("The channel dimension of the inputs should be defined. Found `None`.")
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={axis: channels})
        return int(channels)

    def build(self, input_shape: ShapeLike) -> None:
        self.kernel = self._weight("kernel", (*self.kernel_size, self._channels(input_shape), self.filters))
        if self.use_bias:
            self.bias = self._weight("bias", (self.filters,))

    def call(self, inputs: TensorOrVariable) -> Tensor:  # type: ignore[override]
        y = nn.convolution(
            inputs, self.kernel, self.strides, self.padding, self.data_format, self.dilation_rate, self.rank
        )
        return self._finished(y)

    def _finished(self, y: Tensor) -> Tensor:
        if self.bias is not None:
            y = nn.bias_add(y, self.bias, self.data_format)
        return self.activation(y)

    def _spatial(self, sizes: Sequence[int | None]) -> list[int | None]:
        parts = zip(sizes, self.kernel_size, self.strides, self.dilation_rate, strict=True)
        return [length_after(n, k, self.padding, s, d) for n, k, s, d in parts]

    def compute_output_shape(self, input_shape: ShapeLike) -> Shape:
        sizes = tf.TensorShape(input_shape).as_list()
        inner = self._spatial(sizes[2:] if self._first else sizes[1:-1])
        width = self._width(sizes)
        return tf.TensorShape([sizes[0], width, *inner] if self._first else [sizes[0], *inner, width])

    def _width(self, sizes: Sequence[int | None]) -> int | None:
        return self.filters


@register("Convolution1D")
class Conv1D(_Conv):
    """A convolution of sequences."""

    rank = 1


@register("Convolution2D")
class Conv2D(_Conv):
    """A convolution of images."""


@register("Convolution3D")
class Conv3D(_Conv):
    """A convolution of volumes."""

    rank = 3


class _Transposed(_Conv):
    """A transposed convolution."""

    def __init__(
        self,
        filters: int,
        kernel_size: WindowSize,
        strides: WindowSize = 1,
        padding: str = "valid",
        output_padding: WindowSize | None = None,
        data_format: str | None = None,
        dilation_rate: WindowSize = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(filters, kernel_size, strides, padding, data_format, dilation_rate, **kwargs)
        self.output_padding = None if output_padding is None else nn.window(output_padding, self.rank)
        if any(d != 1 for d in self.dilation_rate):
            raise InvalidArgumentError(f"{type(self).__name__}: dilation_rate must be 1, got {dilation_rate}")
        if any(p >= s for p, s in zip(self.output_padding or (), self.strides, strict=False)):
            raise InvalidArgumentError(f"Stride {self.strides} must be greater than output padding {output_padding}")

    def build(self, input_shape: ShapeLike) -> None:
        self.kernel = self._weight("kernel", (*self.kernel_size, self.filters, self._channels(input_shape)))
        if self.use_bias:
            self.bias = self._weight("bias", (self.filters,))

    def _spatial(self, sizes: Sequence[int | None]) -> list[Any]:
        return [self._length(n, i) for i, n in enumerate(sizes)]

    def _length(self, size: Any, axis: int) -> Any:
        if size is None:
            return None
        kernel, stride = self.kernel_size[axis], self.strides[axis]
        if self.output_padding is None:
            return size * stride + (max(kernel - stride, 0) if self.padding == "valid" else 0)
        edge = kernel // 2 if self.padding == "same" else 0
        return (size - 1) * stride + kernel - 2 * edge + self.output_padding[axis]

    def call(self, inputs: TensorOrVariable) -> Tensor:  # type: ignore[override]
        static, dynamic = inputs.shape.as_list(), tf.shape(inputs)
        start = 2 if self._first else 1
        inner = [static[start + i] or dynamic[start + i] for i in range(self.rank)]
        shape = [self._length(n, i) for i, n in enumerate(inner)]
        full = [None, self.filters, *shape] if self._first else [None, *shape, self.filters]
        y = nn.transposed(inputs, self.kernel, full, self.strides, self.padding, self.data_format, self.rank)
        y.set_shape(self.compute_output_shape(inputs.shape))
        return self._finished(y)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "output_padding": self.output_padding}


@register("Convolution2DTranspose")
class Conv2DTranspose(_Transposed):
    """A transposed convolution of images."""


@register("Convolution3DTranspose")
class Conv3DTranspose(_Transposed):
    """A transposed convolution of volumes."""

    rank = 3


@register()
class DepthwiseConv2D(_Conv):
    """A convolution of each channel of images by `depth_multiplier` kernels of its own."""

    fields: tuple[str, ...] = (
        "kernel_size",
        "strides",
        "padding",
        "depth_multiplier",
        "data_format",
        "dilation_rate",
        "activation",
        "use_bias",
        "depthwise_initializer",
        "bias_initializer",
        "depthwise_regularizer",
        "bias_regularizer",
        "activity_regularizer",
        "depthwise_constraint",
        "bias_constraint",
    )

    def __init__(
        self,
        kernel_size: WindowSize,
        strides: WindowSize = (1, 1),
        padding: str = "valid",
        depth_multiplier: int = 1,
        data_format: str | None = None,
        activation: Identifier | None = None,
        use_bias: bool = True,
        depthwise_initializer: Identifier | None = "glorot_uniform",
        bias_initializer: Identifier | None = "zeros",
        depthwise_regularizer: Identifier | None = None,
        bias_regularizer: Identifier | None = None,
        activity_regularizer: Identifier | None = None,
        depthwise_constraint: Identifier | None = None,
        bias_constraint: Identifier | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            None,
            kernel_size,
            strides,
            padding,
            data_format,
            kwargs.pop("dilation_rate", 1),
            activation,
            use_bias,
            bias_initializer=bias_initializer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            bias_constraint=bias_constraint,
            **kwargs,
        )
        self.depth_multiplier = depth_multiplier
        self._set_options(
            depthwise_initializer=depthwise_initializer,
            depthwise_regularizer=depthwise_regularizer,
            depthwise_constraint=depthwise_constraint,
        )

    def build(self, input_shape: ShapeLike) -> None:
        channels = self._channels(input_shape)
        options: dict[str, Any] = {
            "initializer": self.depthwise_initializer,
            "regularizer": self.depthwise_regularizer,
            "constraint": self.depthwise_constraint,
        }
        shape = (*self.kernel_size, channels, self.depth_multiplier)
        self.depthwise_kernel = self.add_weight("depthwise_kernel", shape, **options)
        if self.use_bias:
            self.bias = self._weight("bias", (channels * self.depth_multiplier,))

    def call(self, inputs: TensorOrVariable) -> Tensor:  # type: ignore[override]
        y = nn.depthwise_conv2d(
            inputs, self.depthwise_kernel, self.strides, self.padding, self.data_format, self.dilation_rate
        )
        return self._finished(y)

    def _width(self, sizes: Sequence[int | None]) -> int | None:
        channels = sizes[1 if self._first else -1]
        return None if channels is None else channels * self.depth_multiplier


class _Separable(_Conv):
    """A convolution of each channel, and one of size 1 that mixes them."""

    depthwise_kernel: Variable
    pointwise_kernel: Variable
    _parts = ("depthwise", "pointwise")
    fields: tuple[str, ...] = (
        "filters",
        "kernel_size",
        *_COMMON,
        "depth_multiplier",
        "depthwise_initializer",
        "pointwise_initializer",
        "bias_initializer",
        "depthwise_regularizer",
        "pointwise_regularizer",
        "bias_regularizer",
        "activity_regularizer",
        "depthwise_constraint",
        "pointwise_constraint",
        "bias_constraint",
    )

    def __init__(
        self,
        filters: int,
        kernel_size: WindowSize,
        strides: WindowSize = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: WindowSize = 1,
        depth_multiplier: int = 1,
        activation: Identifier | None = None,
        use_bias: bool = True,
        depthwise_initializer: Identifier | None = "glorot_uniform",
        pointwise_initializer: Identifier | None = "glorot_uniform",
        bias_initializer: Identifier | None = "zeros",
        depthwise_regularizer: Identifier | None = None,
        pointwise_regularizer: Identifier | None = None,
        bias_regularizer: Identifier | None = None,
        activity_regularizer: Identifier | None = None,
        depthwise_constraint: Identifier | None = None,
        pointwise_constraint: Identifier | None = None,
        bias_constraint: Identifier | None = None,
        **kwargs: Any,
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
            bias_initializer=bias_initializer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            bias_constraint=bias_constraint,
            **kwargs,
        )
        self.depth_multiplier = depth_multiplier
        self._set_options(
            depthwise_initializer=depthwise_initializer,
            depthwise_regularizer=depthwise_regularizer,
            depthwise_constraint=depthwise_constraint,
            pointwise_initializer=pointwise_initializer,
            pointwise_regularizer=pointwise_regularizer,
            pointwise_constraint=pointwise_constraint,
        )

    def build(self, input_shape: ShapeLike) -> None:
        channels, deep = self._channels(input_shape), self.depth_multiplier
        shapes = ((*self.kernel_size, channels, deep), (*([1] * self.rank), channels * deep, self.filters))
        for part, shape in zip(self._parts, shapes, strict=True):
            options = {kind: getattr(self, f"{part}_{kind}") for kind in ("initializer", "regularizer", "constraint")}
            setattr(self, f"{part}_kernel", self.add_weight(f"{part}_kernel", shape, **options))
        if self.use_bias:
            self.bias = self._weight("bias", (self.filters,))

    def call(self, inputs: TensorOrVariable) -> Tensor:  # type: ignore[override]
        if self.rank == 2:
            y = nn.separable_conv2d(
                inputs,
                self.depthwise_kernel,
                self.pointwise_kernel,
                self.strides,
                self.padding,
                self.data_format,
                self.dilation_rate,
            )
            return self._finished(y)
        axis = 2 if self._first else 1
        if self.padding == "causal":
            left = (self.kernel_size[0] - 1) * self.dilation_rate[0]
            inputs = tf.pad(inputs, [[0, 0], [left, 0], [0, 0]] if axis == 1 else [[0, 0], [0, 0], [left, 0]])
        y = nn.separable_conv2d(
            tf.expand_dims(inputs, axis),
            tf.expand_dims(self.depthwise_kernel, 0),
            tf.expand_dims(self.pointwise_kernel, 0),
            self.strides * 2,
            "valid" if self.padding == "causal" else self.padding,
            self.data_format,
            (1, *self.dilation_rate),
        )
        return self._finished(tf.squeeze(y, [axis]))


@register("SeparableConvolution1D")
class SeparableConv1D(_Separable):
    """A separable convolution of sequences."""

    rank = 1


@register("SeparableConvolution2D")
class SeparableConv2D(_Separable):
    """A separable convolution of images."""
