"""Activations with weights or options, noise, and embeddings.

Invariant: noise is added in training only.
"""

from __future__ import annotations

import math
from typing import Any

from tfnb.client.argument_types import WindowSize
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.types import Shape, ShapeLike
from tfnb.v1.argument_types import TensorOrVariable
from tfnb.v1.keras.argument_types import Identifier, Masks, TrainingFlag
from tfnb.v1.keras.backend import nn
from tfnb.v1.keras.graph_api import tf
from tfnb.v1.keras.layer_registry import register
from tfnb.v1.keras.layers.weight_options import LayerWithOptions


class _Elementwise(LayerWithOptions):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def compute_output_shape(self, input_shape: ShapeLike) -> Shape:
        return tf.TensorShape(input_shape)


@register()
class LeakyReLU(_Elementwise):
    """Computes x where it is positive, and alpha * x elsewhere."""

    fields = ("alpha",)

    def __init__(self, alpha: float = 0.3, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = float(alpha)

    def call(self, inputs: TensorOrVariable) -> Tensor:  # type: ignore[override]
        return tf.nn.leaky_relu(inputs, self.alpha)


@register()
class PReLU(_Elementwise):
    """Computes x where it is positive, and alpha * x elsewhere, where alpha is learnt."""

    fields = ("alpha_initializer", "alpha_regularizer", "alpha_constraint", "shared_axes")

    def __init__(
        self,
        alpha_initializer: Identifier | None = "zeros",
        alpha_regularizer: Identifier | None = None,
        alpha_constraint: Identifier | None = None,
        shared_axes: WindowSize | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._set_options(
            alpha_initializer=alpha_initializer, alpha_regularizer=alpha_regularizer, alpha_constraint=alpha_constraint
        )
        self.shared_axes = [shared_axes] if isinstance(shared_axes, int) else shared_axes and list(shared_axes)

    def build(self, input_shape: ShapeLike) -> None:
        sizes = tf.TensorShape(input_shape).as_list()
        shape = [1 if i in (self.shared_axes or ()) else n for i, n in enumerate(sizes)][1:]
        self.alpha = self._weight("alpha", shape)

    def call(self, inputs: Any) -> Tensor:  # type: ignore[override]
        return tf.nn.relu(inputs) - self.alpha * tf.nn.relu(-inputs)


@register()
class ELU(_Elementwise):
    """Computes x where it is positive, and alpha * (exp(x) - 1) elsewhere."""

    fields = ("alpha",)

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = float(alpha)

    def call(self, inputs: TensorOrVariable) -> Tensor:  # type: ignore[override]
        return nn.elu(inputs, self.alpha)


@register()
class ThresholdedReLU(_Elementwise):
    """Computes x where it is above `theta`, and 0 elsewhere."""

    fields = ("theta",)

    def __init__(self, theta: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.theta = float(theta)

    def call(self, inputs: Any) -> Tensor:  # type: ignore[override]
        return inputs * tf.cast(inputs > self.theta, inputs.dtype)


@register()
class Softmax(_Elementwise):
    """Computes the softmax along `axis`."""

    fields = ("axis",)

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: TensorOrVariable) -> Tensor:  # type: ignore[override]
        return tf.nn.softmax(inputs, axis=self.axis)


@register()
class ReLU(_Elementwise):
    """Computes max(x, 0), at most `max_value`, with a slope and a threshold below."""

    fields = ("max_value", "negative_slope", "threshold")

    def __init__(
        self, max_value: float | None = None, negative_slope: float = 0, threshold: float = 0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if (max_value is not None and max_value < 0) or negative_slope < 0:
            raise InvalidArgumentError(f"ReLU: max_value {max_value} and negative_slope {negative_slope} must be >= 0")
        self.max_value, self.negative_slope, self.threshold = max_value, negative_slope, threshold

    def call(self, inputs: TensorOrVariable) -> Tensor:  # type: ignore[override]
        return nn.relu(inputs, self.negative_slope, self.max_value, self.threshold)


class _Noise(_Elementwise):
    def call(self, inputs: TensorOrVariable, training: TrainingFlag | None = None) -> Any:  # type: ignore[override]
        return nn.in_train_phase(lambda: self._noised(inputs), lambda: tf.identity(inputs), training)

    def _noised(self, inputs: TensorOrVariable) -> Tensor:
        raise NotImplementedError


@register()
class GaussianNoise(_Noise):
    """Adds normal noise in training."""

    fields = ("stddev",)

    def __init__(self, stddev: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.stddev = stddev

    def _noised(self, inputs: TensorOrVariable) -> Tensor:
        return inputs + tf.random_normal(tf.shape(inputs), 0.0, self.stddev, inputs.dtype)


@register()
class GaussianDropout(_Noise):
    """Multiplies by normal noise with the mean 1 in training."""

    fields = ("rate",)

    def __init__(self, rate: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate = rate

    def _noised(self, inputs: TensorOrVariable) -> Tensor:
        deviation = math.sqrt(self.rate / (1.0 - self.rate))
        return inputs * tf.random_normal(tf.shape(inputs), 1.0, deviation, inputs.dtype)


@register()
class AlphaDropout(_Noise):
    """Dropout that keeps mean and variance, for networks of scaled exponential units."""

    fields = ("rate",)

    def __init__(
        self, rate: float, noise_shape: TensorLike | None = None, seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def _noised(self, inputs: TensorOrVariable) -> Tensor:
        low = -1.6732632423543772848170429916717 * 1.0507009873554804934193349852946
        shape = tf.shape(inputs) if self.noise_shape is None else self.noise_shape
        kept = tf.cast(tf.random_uniform(shape, seed=self.seed) >= self.rate, inputs.dtype)
        a = ((1 - self.rate) * (1 + self.rate * low**2)) ** -0.5
        return a * (inputs * kept + low * (1 - kept)) - a * low * self.rate


@register()
class Embedding(LayerWithOptions):
    """Looks vectors up by numbers: [batch, ...] of integers below `input_dim` become [batch, ..., output_dim]."""

    fields = (
        "input_dim",
        "output_dim",
        "embeddings_initializer",
        "embeddings_regularizer",
        "activity_regularizer",
        "embeddings_constraint",
        "mask_zero",
        "input_length",
    )

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: Identifier | None = "uniform",
        embeddings_regularizer: Identifier | None = None,
        activity_regularizer: Identifier | None = None,
        embeddings_constraint: Identifier | None = None,
        mask_zero: bool = False,
        input_length: WindowSize | None = None,
        **kwargs: Any,
    ) -> None:
        if "input_shape" not in kwargs and "batch_input_shape" not in kwargs:
            length = input_length if isinstance(input_length, (list, tuple)) else (input_length,)
            kwargs["input_shape"] = tuple(length)
        kwargs.setdefault("dtype", "float32")
        super().__init__(**kwargs)
        self.input_dim, self.output_dim, self.mask_zero, self.input_length = (
            input_dim,
            output_dim,
            mask_zero,
            input_length,
        )
        self.supports_masking = mask_zero
        self._set_options(
            embeddings_initializer=embeddings_initializer,
            embeddings_regularizer=embeddings_regularizer,
            activity_regularizer=activity_regularizer,
            embeddings_constraint=embeddings_constraint,
        )

    def build(self, input_shape: ShapeLike) -> None:
        self.embeddings = self._weight("embeddings", (self.input_dim, self.output_dim))

    def compute_mask(self, inputs: TensorOrVariable, mask: Masks | None = None) -> Tensor | None:
        return tf.not_equal(inputs, 0) if self.mask_zero else None

    def call(self, inputs: TensorOrVariable) -> Tensor:  # type: ignore[override]
        numbers = inputs if inputs.dtype.base_dtype in (tf.int32, tf.int64) else tf.cast(inputs, tf.int32)
        return tf.nn.embedding_lookup(self.embeddings, numbers)

    def compute_output_shape(self, input_shape: ShapeLike) -> Shape:
        return tf.TensorShape([*tf.TensorShape(input_shape).as_list(), self.output_dim])
