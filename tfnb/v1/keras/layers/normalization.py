"""BatchNormalization and LayerNormalization.

Invariant: moving averages change only in training, by updates of the layer, and not while it is not trainable.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.layers.norm_layers import ONE_OPERATION
from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.tensor import Tensor
from tfnb.types import Shape, ShapeLike
from tfnb.v1.argument_types import TensorOrVariable
from tfnb.v1.keras.argument_types import Identifier, TrainingFlag
from tfnb.v1.keras.backend import nn
from tfnb.v1.keras.backend.settings import learning_phase
from tfnb.v1.keras.graph_api import tf
from tfnb.v1.keras.layer_registry import register
from tfnb.v1.keras.layers.weight_options import LayerWithOptions


@register("BatchNormalizationV1", "BatchNormalizationV2")
class BatchNormalization(LayerWithOptions):
    """Normalises each channel by the mean and variance of the batch in training, by moving averages otherwise.

    Raises `InvalidArgumentError` for renorm, virtual batches and adjustments, which tfnb does not have.
    """

    fields = (
        "axis",
        "momentum",
        "epsilon",
        "center",
        "scale",
        "beta_initializer",
        "gamma_initializer",
        "moving_mean_initializer",
        "moving_variance_initializer",
        "beta_regularizer",
        "gamma_regularizer",
        "beta_constraint",
        "gamma_constraint",
    )

    def __init__(
        self,
        axis: Any = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Identifier | None = "zeros",
        gamma_initializer: Identifier | None = "ones",
        moving_mean_initializer: Identifier | None = "zeros",
        moving_variance_initializer: Identifier | None = "ones",
        beta_regularizer: Identifier | None = None,
        gamma_regularizer: Identifier | None = None,
        beta_constraint: Identifier | None = None,
        gamma_constraint: Identifier | None = None,
        renorm: bool = False,
        renorm_clipping: object = None,
        renorm_momentum: float = 0.99,
        fused: bool | None = None,
        trainable: bool = True,
        virtual_batch_size: int | None = None,
        adjustment: object = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, trainable=trainable, **kwargs)
        refused = {"renorm": renorm, "virtual_batch_size": virtual_batch_size, "adjustment": adjustment}
        given = [key for key, value in refused.items() if value]
        if given or renorm_clipping is not None or renorm_momentum != 0.99:
            raise InvalidArgumentError(f"BatchNormalization: {given or ['renorm']} is not in tfnb; leave it out")
        self.axis = list(axis) if isinstance(axis, (list, tuple)) else axis
        self.momentum, self.epsilon, self.center, self.scale = momentum, epsilon, center, scale
        self.fused, self.supports_masking = fused, True
        self._set_options(
            beta_initializer=beta_initializer,
            gamma_initializer=gamma_initializer,
            moving_mean_initializer=moving_mean_initializer,
            moving_variance_initializer=moving_variance_initializer,
            beta_regularizer=beta_regularizer,
            gamma_regularizer=gamma_regularizer,
            beta_constraint=beta_constraint,
            gamma_constraint=gamma_constraint,
        )
        self.gamma: Any = None
        self.beta: Any = None

    def build(self, input_shape: ShapeLike) -> None:
        sizes = tf.TensorShape(input_shape).as_list()
        axes = self.axis if isinstance(self.axis, list) else [self.axis]
        self._axes = [a % len(sizes) for a in axes]
        self.axis = self._axes
        if any(sizes[a] is None for a in self._axes):
            raise InvalidArgumentError(f"BatchNormalization has input with undefined `axis` dimension: {sizes}")
        one = len(self._axes) == 1
        shape = [sizes[self._axes[0]]] if one else [n if i in self._axes else 1 for i, n in enumerate(sizes)]
        self._shown = (
            None
            if one and self._axes[0] == len(sizes) - 1
            else ([n if i in self._axes else 1 for i, n in enumerate(sizes)])
        )
        # The operation that normalises images at once keeps the unbiased variance of the batch.
        self._unbiased = self.fused is not False and len(sizes) == 4 and self._axes in ([1], [3])
        if self.scale:
            self.gamma = self._weight("gamma", shape)
        if self.center:
            self.beta = self._weight("beta", shape)
        self.moving_mean = self._weight("moving_mean", shape, trainable=False)
        self.moving_variance = self._weight("moving_variance", shape, trainable=False)

    def call(self, inputs: Any, training: TrainingFlag | None = None) -> Tensor:  # type: ignore[override]
        reduced = [i for i in range(inputs.shape.ndims) if i not in self._axes]
        training = learning_phase() if training is None else training
        if not hasattr(training, "graph") and not training:
            return self._normalized(inputs, self.moving_mean.value(), self.moving_variance.value())
        mean, variance = tf.nn.moments(inputs, reduced, keep_dims=len(self._axes) > 1)
        moving = (self.moving_mean.value(), self.moving_variance.value())
        used = [nn.in_train_phase(new, old, training) for new, old in zip((mean, variance), moving, strict=True)]
        self._add_updates(inputs, mean, variance, reduced, training)
        return self._normalized(inputs, *used)

    def _normalized(self, x: TensorOrVariable, mean: TensorOrVariable, variance: TensorOrVariable) -> Tensor:
        parts = [mean, variance, self.beta, self.gamma]
        if self._shown is not None:
            parts = [None if p is None else tf.reshape(p, self._shown) for p in parts]
        y = tf.nn.batch_normalization(x, *parts, self.epsilon)
        if self._unbiased:
            y.op.extra[ONE_OPERATION] = True
        return y

    def _add_updates(
        self, x: TensorOrVariable, mean: Tensor, variance: Tensor, reduced: Any, training: TrainingFlag
    ) -> None:
        if self._unbiased:
            count = tf.cast(tf.reduce_prod(tf.gather(tf.shape(x), reduced)), x.dtype)
            variance = variance * count / tf.maximum(count - 1.0, 1.0)
        for moving, value in ((self.moving_mean, mean), (self.moving_variance, variance)):
            with get_default_graph().colocate_with(moving.op):
                change = (moving.value() - value) * (1.0 - self.momentum)
                change = change * tf.cast(training, change.dtype) if hasattr(training, "graph") else change
                self.add_update(tf.assign_sub(moving, change), inputs=True)

    def compute_output_shape(self, input_shape: ShapeLike) -> Shape:
        return tf.TensorShape(input_shape)


@register()
class LayerNormalization(LayerWithOptions):
    """Normalises each element of the batch over `axis`."""

    fields = (
        "axis",
        "epsilon",
        "center",
        "scale",
        "beta_initializer",
        "gamma_initializer",
        "beta_regularizer",
        "gamma_regularizer",
        "beta_constraint",
        "gamma_constraint",
    )

    def __init__(
        self,
        axis: Any = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Identifier | None = "zeros",
        gamma_initializer: Identifier | None = "ones",
        beta_regularizer: Identifier | None = None,
        gamma_regularizer: Identifier | None = None,
        beta_constraint: Identifier | None = None,
        gamma_constraint: Identifier | None = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, trainable=trainable, **kwargs)
        self.axis = list(axis) if isinstance(axis, (list, tuple)) else axis
        self.epsilon, self.center, self.scale, self.supports_masking = epsilon, center, scale, True
        self._set_options(
            beta_initializer=beta_initializer,
            gamma_initializer=gamma_initializer,
            beta_regularizer=beta_regularizer,
            gamma_regularizer=gamma_regularizer,
            beta_constraint=beta_constraint,
            gamma_constraint=gamma_constraint,
        )
        self.gamma: Any = None
        self.beta: Any = None

    def build(self, input_shape: ShapeLike) -> None:
        sizes = tf.TensorShape(input_shape).as_list()
        axes = self.axis if isinstance(self.axis, list) else [self.axis]
        self._axes = [a % len(sizes) for a in axes]
        shape = [sizes[a] for a in self._axes]
        self._shown = [n if i in self._axes else 1 for i, n in enumerate(sizes)]
        if self.scale:
            self.gamma = self._weight("gamma", shape)
        if self.center:
            self.beta = self._weight("beta", shape)

    def call(self, inputs: TensorOrVariable) -> Tensor:  # type: ignore[override]
        mean, variance = tf.nn.moments(inputs, self._axes, keep_dims=True)
        scale, offset = (None if w is None else tf.reshape(w, self._shown) for w in (self.gamma, self.beta))
        return tf.nn.batch_normalization(inputs, mean, variance, offset, scale, self.epsilon)

    def compute_output_shape(self, input_shape: ShapeLike) -> Shape:
        return tf.TensorShape(input_shape)
