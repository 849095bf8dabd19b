"""Pooling over windows and over everything, padding, cropping and enlarging, in one to three dimensions.

Invariant: the default of `strides` is the window's size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfnb.client.argument_types import WindowSize
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor
from tfnb.types import Shape, ShapeLike
from tfnb.v1.argument_types import TensorOrVariable
from tfnb.v1.keras.argument_types import Masks
from tfnb.v1.keras.backend import arrays, nn
from tfnb.v1.keras.backend.settings import data_format_of
from tfnb.v1.keras.engine.base_layer import Layer
from tfnb.v1.keras.engine.calls import InputSpec
from tfnb.v1.keras.graph_api import tf
from tfnb.v1.keras.layer_registry import register
from tfnb.v1.keras.layers.convolution import length_after


class _Spatial(Layer):
    """A layer over the spatial axes."""

    rank, mode = 2, "max"

    def _set_format(self, data_format: str | None) -> None:
        self.data_format = data_format_of(data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    @property
    def _axes(self) -> list[int]:
        first = 2 if self.data_format == "channels_first" else 1
        return list(range(first, first + self.rank))


class _Pooling(_Spatial):
    def __init__(
        self,
        pool_size: WindowSize = 2,
        strides: WindowSize | None = None,
        padding: str = "valid",
        data_format: str | None = "channels_last",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.pool_size = nn.window(pool_size, self.rank, "pool_size")
        self.strides = self.pool_size if strides is None else nn.window(strides, self.rank, "strides")
        self.padding = nn.padding_of(padding).lower()
        self._set_format(data_format)

    def call(self, inputs: TensorOrVariable) -> Tensor:  # type: ignore[override]
        return nn.pool(inputs, self.pool_size, self.strides, self.padding, self.data_format, self.mode, self.rank)

    def compute_output_shape(self, input_shape: ShapeLike) -> Shape:
        sizes = tf.TensorShape(input_shape).as_list()
        for axis, window, stride in zip(self._axes, self.pool_size, self.strides, strict=True):
            sizes[axis] = length_after(sizes[axis], window, self.padding, stride)
        return tf.TensorShape(sizes)

    def get_config(self) -> dict[str, Any]:
        own = {"pool_size": self.pool_size, "padding": self.padding, "strides": self.strides}
        return {**super().get_config(), **own, "data_format": self.data_format}


@register("MaxPool1D")
class MaxPooling1D(_Pooling):
    """The maximum of each window of sequences."""

    rank = 1


@register("MaxPool2D")
class MaxPooling2D(_Pooling):
    """The maximum of each window of images."""

    def __init__(
        self,
        pool_size: WindowSize = (2, 2),
        strides: WindowSize | None = None,
        padding: str = "valid",
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, data_format, **kwargs)


@register("MaxPool3D")
class MaxPooling3D(_Pooling):
    """The maximum of each window of volumes."""

    rank = 3

    def __init__(
        self,
        pool_size: WindowSize = (2, 2, 2),
        strides: WindowSize | None = None,
        padding: str = "valid",
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, data_format, **kwargs)


@register("AvgPool1D")
class AveragePooling1D(MaxPooling1D):
    """The mean of each window of sequences."""

    mode = "avg"


@register("AvgPool2D")
class AveragePooling2D(MaxPooling2D):
    """The mean of each window of images."""

    mode = "avg"


@register("AvgPool3D")
class AveragePooling3D(MaxPooling3D):
    """The mean of each window of volumes."""

    mode = "avg"


class _Global(_Spatial):
    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._set_format(data_format)

    def call(self, inputs: TensorOrVariable) -> Tensor:  # type: ignore[override]
        return (tf.reduce_max if self.mode == "max" else tf.reduce_mean)(inputs, self._axes)

    def compute_output_shape(self, input_shape: ShapeLike) -> Shape:
        sizes = tf.TensorShape(input_shape).as_list()
        return tf.TensorShape([n for i, n in enumerate(sizes) if i not in self._axes])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "data_format": self.data_format}


@register("GlobalMaxPool1D")
class GlobalMaxPooling1D(_Global):
    """The maximum over time."""

    rank = 1


@register("GlobalMaxPool2D")
class GlobalMaxPooling2D(_Global):
    """The maximum over images."""


@register("GlobalMaxPool3D")
class GlobalMaxPooling3D(_Global):
    """The maximum over volumes."""

    rank = 3


@register("GlobalAvgPool1D")
class GlobalAveragePooling1D(_Global):
    """The mean over time; masked steps do not count."""

    rank, mode = 1, "avg"

    def __init__(self, data_format: str | None = "channels_last", **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.supports_masking = True

    def call(self, inputs: TensorOrVariable, mask: Tensor | None = None) -> Tensor:  # type: ignore[override]
        if mask is None:
            return super().call(inputs)
        axis = self._axes[0]
        weight = tf.expand_dims(tf.cast(mask, inputs.dtype), 2 if axis == 1 else 1)
        return tf.reduce_sum(inputs * weight, axis) / tf.reduce_sum(weight, axis)

    def compute_mask(self, inputs: TensorOrVariable, mask: Masks | None = None) -> None:
        return None


@register("GlobalAvgPool2D")
class GlobalAveragePooling2D(_Global):
    """The mean over images."""

    mode = "avg"


@register("GlobalAvgPool3D")
class GlobalAveragePooling3D(_Global):
    """The mean over volumes."""

    rank, mode = 3, "avg"


def _pairs(value: Any, rank: int, name: str) -> tuple[tuple[int, int], ...]:
    """Returns (before, after) for each axis, from one number, one per axis, or pairs."""
    if isinstance(value, int):
        return ((value, value),) * rank
    if rank == 1 and len(value) == 2 and isinstance(value[0], int):
        return (tuple(value),)
    if len(value) != rank:
        raise InvalidArgumentError(f"`{name}` should have {rank} elements. Found: {value}")
    return tuple((p, p) if isinstance(p, int) else (int(p[0]), int(p[1])) for p in value)


class _Padding(_Spatial):
    def __init__(self, padding: int | Sequence[Any] = 1, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._pairs = _pairs(padding, self.rank, "padding")
        self.padding = self._pairs[0] if self.rank == 1 else self._pairs
        self._set_format(data_format)

    def call(self, inputs: TensorOrVariable) -> Tensor:  # type: ignore[override]
        widths = [[0, 0]] * (self.rank + 2)
        for axis, pair in zip(self._axes, self._pairs, strict=True):
            widths[axis] = list(pair)
        return tf.pad(inputs, widths)

    def get_config(self) -> dict[str, Any]:
        config = {**super().get_config(), "padding": self.padding}
        return config | ({"data_format": self.data_format} if self.rank > 1 else {})


@register()
class ZeroPadding1D(_Padding):
    """Adds zeros before and after sequences."""

    rank = 1

    def __init__(self, padding: int | Sequence[Any] = 1, **kwargs: Any) -> None:
        super().__init__(padding, "channels_last", **kwargs)


@register()
class ZeroPadding2D(_Padding):
    """Adds zeros around images."""


@register()
class ZeroPadding3D(_Padding):
    """Adds zeros around volumes."""

    rank = 3


class _Cropping(_Spatial):
    def __init__(self, cropping: int | Sequence[Any] = 0, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._pairs = _pairs(cropping, self.rank, "cropping")
        self.cropping = self._pairs[0] if self.rank == 1 else self._pairs
        self._set_format(data_format)

    def call(self, inputs: TensorOrVariable) -> Tensor:  # type: ignore[override]
        index = [slice(None)] * (self.rank + 2)
        for axis, (before, after) in zip(self._axes, self._pairs, strict=True):
            index[axis] = slice(before, -after if after else None)
        return inputs[tuple(index)]

    def get_config(self) -> dict[str, Any]:
        config = {**super().get_config(), "cropping": self.cropping}
        return config | ({"data_format": self.data_format} if self.rank > 1 else {})


@register()
class Cropping1D(_Cropping):
    """Cuts steps off both ends of sequences."""

    rank = 1

    def __init__(self, cropping: int | Sequence[Any] = (1, 1), **kwargs: Any) -> None:
        super().__init__(cropping, "channels_last", **kwargs)


@register()
class Cropping2D(_Cropping):
    """Cuts rows and columns off images."""


@register()
class Cropping3D(_Cropping):
    """Cuts planes off volumes."""

    rank = 3

    def __init__(self, cropping: int | Sequence[Any] = 1, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(cropping, data_format, **kwargs)


class _UpSampling(_Spatial):
    def __init__(self, size: WindowSize = 2, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.size: Any = size if self.rank == 1 else nn.window(size, self.rank, "size")
        self._set_format(data_format)

    def get_config(self) -> dict[str, Any]:
        config = {**super().get_config(), "size": self.size}
        return config | ({"data_format": self.data_format} if self.rank > 1 else {})


@register()
class UpSampling1D(_UpSampling):
    """Repeats each step of sequences."""

    rank = 1

    def __init__(self, size: int = 2, **kwargs: Any) -> None:
        super().__init__(int(size), "channels_last", **kwargs)

    def call(self, inputs: TensorOrVariable) -> Tensor:  # type: ignore[override]
        return arrays.repeat_elements(inputs, self.size, 1)


@register()
class UpSampling2D(_UpSampling):
    """Enlarges images by whole factors, by "nearest" or "bilinear" interpolation."""

    def __init__(
        self, size: WindowSize = (2, 2), data_format: str | None = None, interpolation: str = "nearest", **kwargs: Any
    ) -> None:
        super().__init__(size, data_format, **kwargs)
        if interpolation not in ("nearest", "bilinear"):
            raise InvalidArgumentError(f"`interpolation` should be nearest or bilinear, got {interpolation!r}")
        self.interpolation = interpolation

    def call(self, inputs: TensorOrVariable) -> Tensor:  # type: ignore[override]
        height, width = self.size
        return arrays.resize_images(inputs, height, width, self.data_format, self.interpolation)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "interpolation": self.interpolation}


@register()
class UpSampling3D(_UpSampling):
    """Repeats each element of volumes."""

    rank = 3

    def call(self, inputs: TensorOrVariable) -> TensorOrVariable:  # type: ignore[override]
        depth, height, width = self.size
        return arrays.resize_volumes(inputs, depth, height, width, self.data_format)
