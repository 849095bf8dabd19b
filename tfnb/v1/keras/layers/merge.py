"""Layers of several inputs: sums, products, means, extremes, concatenations, dot products and attention.

Invariant: inputs of an elementwise merge are broadcast by their leading dimensions, as NumPy does from the right.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from tfnb.client.variables.variable import Variable
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.types import ShapeLike
from tfnb.v1.argument_types import TensorOrVariable
from tfnb.v1.keras.backend import arrays
from tfnb.v1.keras.engine.base_layer import Layer
from tfnb.v1.keras.graph_api import tf
from tfnb.v1.keras.layer_registry import register


class _Merge(Layer):
    """A function of several tensors."""

    least = 2

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape: ShapeLike) -> None:
        if not isinstance(input_shape, (list, tuple)) or len(input_shape) < self.least:
            raise InvalidArgumentError(f"A merge layer should be called on a list of at least {self.least} inputs")

    def call(self, inputs: Sequence[Any]) -> Tensor:  # type: ignore[override]
        most = max(t.shape.ndims for t in inputs)
        shown = []
        for t in inputs:
            for _ in range(most - t.shape.ndims):
                t = tf.expand_dims(t, 1)
            shown.append(t)
        return self._merged(shown)

    def _merged(self, inputs: Sequence[Any]) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not define its function")

    def compute_mask(self, inputs: Sequence[TensorOrVariable], mask: Sequence[Any] | None = None) -> Tensor | None:
        if mask is None or all(m is None for m in mask):
            return None
        return reduce(tf.logical_and, [m for m in mask if m is not None])


@register()
class Add(_Merge):
    """The sum of the inputs."""

    def _merged(self, inputs: Sequence[Any]) -> Tensor:
        return reduce(lambda a, b: a + b, inputs)


@register()
class Subtract(_Merge):
    """The first input minus the second."""

    def _merged(self, inputs: Sequence[Any]) -> Tensor:
        if len(inputs) != 2:
            raise InvalidArgumentError("A `Subtract` layer should be called on exactly 2 inputs")
        return inputs[0] - inputs[1]


@register()
class Multiply(_Merge):
    """The product of the inputs, by element."""

    def _merged(self, inputs: Sequence[Any]) -> Tensor:
        return reduce(lambda a, b: a * b, inputs)


@register()
class Average(_Merge):
    """The mean of the inputs."""

    def _merged(self, inputs: Sequence[Any]) -> Tensor:
        return reduce(lambda a, b: a + b, inputs) / float(len(inputs))


@register()
class Maximum(_Merge):
    """The largest of the inputs, by element."""

    def _merged(self, inputs: Sequence[Any]) -> Tensor:
        return reduce(tf.maximum, inputs)


@register()
class Minimum(_Merge):
    """The smallest of the inputs, by element."""

    def _merged(self, inputs: Sequence[Any]) -> Tensor:
        return reduce(tf.minimum, inputs)


@register()
class Concatenate(_Merge):
    """The inputs joined along `axis`."""

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Sequence[TensorOrVariable]) -> Tensor:  # type: ignore[override]
        return arrays.concatenate(inputs, self.axis)

    def compute_mask(self, inputs: Sequence[Any], mask: Sequence[Any] | None = None) -> Tensor | None:
        if mask is None or all(m is None for m in mask):
            return None
        rank = inputs[0].shape.ndims
        full = []
        for t, m in zip(inputs, mask, strict=True):
            m = tf.ones_like(t, dtype=tf.bool) if m is None else m
            while m.shape.ndims < rank:
                m = tf.expand_dims(m, -1)
            full.append(tf.logical_and(m, tf.ones_like(t, dtype=tf.bool)))
        return tf.reduce_all(tf.concat(full, self.axis % rank), -1)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "axis": self.axis}


@register()
class Dot(_Merge):
    """The products of two inputs over an axis of each; `normalize` gives the cosine of the angle."""

    def __init__(self, axes: int | Sequence[int], normalize: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axes, self.normalize = axes, normalize

    def call(self, inputs: Sequence[Any]) -> Tensor:  # type: ignore[override]
        x, y = inputs
        first, second = (self.axes, self.axes) if isinstance(self.axes, int) else self.axes
        axes = (first % x.shape.ndims, second % y.shape.ndims)
        if self.normalize:
            x, y = tf.nn.l2_normalize(x, axes[0]), tf.nn.l2_normalize(y, axes[1])
        return arrays.batch_dot(x, y, axes)

    def compute_mask(self, inputs: Sequence[TensorOrVariable], mask: Sequence[Any] | None = None) -> None:
        return None

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "axes": self.axes, "normalize": self.normalize}


def add(inputs: Sequence[TensorLike], **kwargs: Any) -> Any:
    """Returns the sum of the inputs."""
    return Add(**kwargs)(inputs)


def subtract(inputs: Sequence[TensorLike], **kwargs: Any) -> Any:
    """Returns the first input minus the second."""
    return Subtract(**kwargs)(inputs)


def multiply(inputs: Sequence[TensorLike], **kwargs: Any) -> Any:
    """Returns the product of the inputs."""
    return Multiply(**kwargs)(inputs)


def average(inputs: Sequence[TensorLike], **kwargs: Any) -> Any:
    """Returns the mean of the inputs."""
    return Average(**kwargs)(inputs)


def maximum(inputs: Sequence[TensorLike], **kwargs: Any) -> Any:
    """Returns the largest of the inputs."""
    return Maximum(**kwargs)(inputs)


def minimum(inputs: Sequence[TensorLike], **kwargs: Any) -> Any:
    """Returns the smallest of the inputs."""
    return Minimum(**kwargs)(inputs)


def concatenate(inputs: Sequence[TensorLike], axis: int = -1, **kwargs: Any) -> Any:
    """Returns the inputs joined along `axis`."""
    return Concatenate(axis=axis, **kwargs)(inputs)


def dot(inputs: Sequence[TensorLike], axes: int | Sequence[int], normalize: bool = False, **kwargs: Any) -> Any:
    """Returns the products of two inputs over an axis of each."""
    return Dot(axes=axes, normalize=normalize, **kwargs)(inputs)


class _Attention(Layer):
    """A mean of values, weighted by how well their keys match the query: [query, value] or [query, value, key]."""

    def __init__(self, causal: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.causal, self.supports_masking = causal, True

    def _scores(self, query: Tensor, key: Tensor) -> Tensor:
        raise NotImplementedError

    def call(self, inputs: Sequence[Any], mask: Sequence[Any] | None = None) -> Tensor:  # type: ignore[override]
        query, value = inputs[:2]
        scores = self._scores(query, inputs[2] if len(inputs) > 2 else value)
        query_mask, value_mask = (mask or [None, None])[:2]
        hidden = None if value_mask is None else tf.expand_dims(tf.cast(value_mask, scores.dtype), 1)
        if self.causal:
            ones = tf.matrix_band_part(tf.ones_like(scores), -1, 0)
            hidden = ones if hidden is None else hidden * ones
        if hidden is not None:
            scores = scores - 1.0e9 * (1.0 - hidden)
        result = tf.matmul(tf.nn.softmax(scores), value)
        return result if query_mask is None else result * tf.expand_dims(tf.cast(query_mask, result.dtype), -1)

    def compute_mask(self, inputs: Sequence[TensorOrVariable], mask: Sequence[Any] | None = None) -> Any:
        return mask[0] if mask else None

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "causal": self.causal}


@register()
class Attention(_Attention):
    """Attention by dot products (Luong); `use_scale` multiplies the scores by a weight."""

    scale: Variable | None

    def __init__(self, use_scale: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_scale, self.scale = use_scale, None

    def build(self, input_shape: ShapeLike) -> None:
        if self.use_scale:
            self.scale = self.add_weight("scale", (), initializer="ones")

    def _scores(self, query: Tensor, key: Tensor) -> Tensor:
        scores = tf.matmul(query, key, transpose_b=True)
        return scores if self.scale is None else scores * self.scale

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "use_scale": self.use_scale}


@register()
class AdditiveAttention(_Attention):
    """Attention by sums (Bahdanau): sum(tanh(query + key)), with a weight per element if `use_scale`."""

    scale: Variable | None

    def __init__(self, use_scale: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_scale, self.scale = use_scale, None

    def build(self, input_shape: Any) -> None:
        if self.use_scale:
            width = tf.TensorShape(input_shape[1]).as_list()[-1]
            self.scale = self.add_weight("scale", (width,), initializer="glorot_uniform")

    def _scores(self, query: Tensor, key: Tensor) -> Tensor:
        together = tf.tanh(tf.expand_dims(query, 2) + tf.expand_dims(key, 1))
        return tf.reduce_sum(together if self.scale is None else together * self.scale, -1)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "use_scale": self.use_scale}
