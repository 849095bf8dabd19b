"""Layers that differ between training and inference: dropout and batch normalisation (`tf.layers`).

`training` is a Python bool, which chooses while the graph is built, or a bool tensor, which chooses in each step.
Invariant: moving statistics change only by the operations in UPDATE_OPS, and only where `training` is true.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfnb.client.argument_types import Constraint, InitializerLike, Regularizer, ScalarLike
from tfnb.client.control_flow.cond import smart_cond, static_value
from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.layers.dense_layers import Layer
from tfnb.client.variables.initializers import Ones, Zeros
from tfnb.client.variables.scope import Reuse, get_variable_scope
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.shape_ops import IDENTITY, RESHAPE, size
from tfnb.ops.math.binary import MAXIMUM
from tfnb.ops.math.cast import cast_to
from tfnb.ops.nn.bias_dropout_moments import batch_normalization as normalized
from tfnb.ops.nn.bias_dropout_moments import dropout as drop
from tfnb.ops.nn.bias_dropout_moments import moments
from tfnb.types import Shape, float32

__all__ = ["API", "BatchNormalization", "Dropout", "batch_normalization", "dropout"]


class Dropout(Layer):
    """In training, sets a share `rate` of the inputs to zero and multiplies the others by 1 / (1 - rate).

    `noise_shape` broadcasts the choice over dimensions of size 1. Raises `InvalidArgumentError` for a rate outside [0,
    1).
    """

    default_name = "dropout"

    def __init__(
        self,
        rate: ScalarLike = 0.5,
        noise_shape: TensorLike | None = None,
        seed: int | None = None,
        name: str | None = None,
        **kw: Any,
    ) -> None:
        super().__init__(name, **kw)
        if isinstance(rate, (int, float)) and not 0 <= rate < 1:
            raise InvalidArgumentError(f"dropout: rate must be in [0, 1), got {rate}")
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def call(self, inputs: Tensor, training: TensorLike = False) -> Tensor:
        return smart_cond(
            training,
            lambda: drop(inputs, 1 - self.rate, self.noise_shape, self.seed),
            lambda: IDENTITY(inputs),
        )


class BatchNormalization(Layer):
    """Computes (x - mean) / sqrt(variance + epsilon) * gamma + beta for each index of `axis` (the channels).

    In training, mean and variance are those of the batch, and operations in UPDATE_OPS move the moving averages towards
    them; otherwise they are the moving averages. Run the updates with the training operation, for instance under
    `tf.control_dependencies`. Raises `ShapeError` when the number of channels is not known.
    """

    default_name = "batch_normalization"

    def __init__(
        self,
        axis: Any = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: InitializerLike | None = None,
        gamma_initializer: InitializerLike | None = None,
        moving_mean_initializer: InitializerLike | None = None,
        moving_variance_initializer: InitializerLike | None = None,
        beta_regularizer: Regularizer | None = None,
        gamma_regularizer: Regularizer | None = None,
        beta_constraint: Constraint | None = None,
        gamma_constraint: Constraint | None = None,
        trainable: bool = True,
        name: str | None = None,
        **kw: Any,
    ) -> None:
        if kw.pop("renorm", False):
            raise InvalidArgumentError("batch_normalization: renorm=True is not supported; use renorm=False")
        for changes in ("virtual_batch_size", "adjustment"):
            if kw.pop(changes, None) is not None:
                raise InvalidArgumentError(f"batch_normalization: {changes} is not supported")
        for option in ("renorm_clipping", "renorm_momentum"):
            kw.pop(option, None)
        self.fused = kw.pop("fused", None)
        self.fused_ranks: Sequence[int] = kw.pop("fused_ranks", (4,))
        self.updates_collection = kw.pop("updates_collection", GraphKeys.UPDATE_OPS)
        super().__init__(name, trainable, **kw)
        self.axis = int(axis[0] if isinstance(axis, (list, tuple)) and len(axis) == 1 else axis)
        self.momentum, self.epsilon, self.center, self.scale = momentum, epsilon, center, scale
        self.beta_options = (beta_initializer or Zeros(), beta_regularizer, True, beta_constraint)
        self.gamma_options = (
            gamma_initializer or Ones(),
            gamma_regularizer,
            True,
            gamma_constraint,
        )
        self.mean_initializer = moving_mean_initializer or Zeros()
        self.variance_initializer = moving_variance_initializer or Ones()
        self.updates: list[Any] = []

    def _place(self, shape: Shape) -> int:
        rank = shape.ndims
        if rank is None or not -rank <= self.axis < rank:
            raise ShapeError(f"batch_normalization: inputs of shape {shape} have no axis {self.axis}")
        return self.axis % rank

    def build(self, shape: Shape) -> None:
        n = shape.as_list()[self._place(shape)]
        if n is None:
            raise ShapeError(f"batch_normalization: dimension {self.axis} of the inputs must be known, got {shape}")
        # 16-bit floats keep their statistics and parameters in 32 bits
        dtype = self.dtype if self.dtype is None or self.dtype.size > 2 else float32
        self.gamma = self.add_variable("gamma", [n], dtype, *self.gamma_options) if self.scale else None
        self.beta = self.add_variable("beta", [n], dtype, *self.beta_options) if self.center else None
        scope = get_variable_scope()
        partitioner = scope.partitioner
        scope.set_partitioner(None)  # because each moving statistic is assigned as a whole
        try:
            self.moving_mean = self.add_variable("moving_mean", [n], dtype, self.mean_initializer, None, False)
            self.moving_variance = self.add_variable(
                "moving_variance", [n], dtype, self.variance_initializer, None, False
            )
        finally:
            scope.set_partitioner(partitioner)

    def call(self, inputs: Tensor, training: TensorLike = False) -> Tensor:
        axis = self._place(inputs.shape)
        static_training = static_value(training)
        if static_training is False:
            mean, variance = self.moving_mean.value(), self.moving_variance.value()
        else:
            x = cast_to(inputs, self.moving_mean.dtype)
            reduced_axes = [i for i in range(len(inputs.shape)) if i != axis]
            batch_mean, batch_variance = moments(x, reduced_axes)
            mean, variance = smart_cond(
                training,
                lambda: (IDENTITY(batch_mean), IDENTITY(batch_variance)),
                lambda: (self.moving_mean.value(), self.moving_variance.value()),
            )
            self._move(mean, self._unbiased(variance, inputs, axis), training)
        parameters = (mean, variance, self.beta, self.gamma)
        mean, variance, beta, gamma = (self._broadcast(p, inputs.shape, axis) for p in parameters)
        x = cast_to(inputs, self.moving_mean.dtype)
        y = cast_to(normalized(x, mean, variance, beta, gamma, self.epsilon), inputs.dtype)
        y.set_shape(inputs.shape)
        return y

    def _unbiased(self, variance: Tensor, inputs: Tensor, axis: int) -> Any:
        """Multiplies the variance by n / (n - 1) for images, as TensorFlow's fused kernel does for the moving
        variance; `tf.contrib.layers` uses that kernel for vectors too.
        """
        rank = len(inputs.shape)
        if self.fused is False or rank not in self.fused_ranks or axis not in (1, rank - 1):
            return variance
        n = cast_to(size(inputs), self.moving_mean.dtype) / float(self.moving_mean.shape.known()[0])
        return variance * (n / MAXIMUM(n - 1.0, 1.0))

    def _broadcast(self, p: Tensor | None, shape: Shape, axis: int) -> Any:
        """Reshapes a vector with an element per channel so that it broadcasts over the inputs."""
        if p is None or axis == len(shape) - 1:
            return p
        return RESHAPE(p, [-1 if i == axis else 1 for i in range(len(shape))])

    def _move(self, mean: Tensor, variance: Tensor, training: TensorLike) -> None:
        """Adds the updates of the moving statistics, whose rate is zero in inference."""
        rate = smart_cond(training, lambda: 1.0 - self.momentum, lambda: 0.0)
        for moving, value, name in (
            (self.moving_mean, mean, "AssignMovingAvg"),
            (self.moving_variance, variance, "AssignMovingAvg_1"),
        ):
            graph = moving.graph
            with graph.name_scope(name), graph.colocate_with(moving.op):
                step = (moving.value() - value) * cast_to(graph.to_tensor(rate), moving.dtype)
                update = moving.assign_sub(step)
            self.updates.append(update)
            if self.updates_collection is not None:
                graph.add_to_collections(self.updates_collection, update)


def dropout(
    inputs: TensorLike,
    rate: ScalarLike = 0.5,
    noise_shape: TensorLike | None = None,
    seed: int | None = None,
    training: TensorLike = False,
    name: str | None = None,
) -> Tensor:
    """Applies dropout to `inputs` while `training` (a bool or a bool tensor; False by default); see `Dropout`.

    Raises `InvalidArgumentError` for a rate outside [0, 1).
    """
    return Dropout(rate, noise_shape, seed, name)(inputs, training=training)


def batch_normalization(
    inputs: TensorLike,
    axis: int | Sequence[int] = -1,
    momentum: float = 0.99,
    epsilon: float = 1e-3,
    center: bool = True,
    scale: bool = True,
    beta_initializer: InitializerLike | None = None,
    gamma_initializer: InitializerLike | None = None,
    moving_mean_initializer: InitializerLike | None = None,
    moving_variance_initializer: InitializerLike | None = None,
    beta_regularizer: Regularizer | None = None,
    gamma_regularizer: Regularizer | None = None,
    beta_constraint: Constraint | None = None,
    gamma_constraint: Constraint | None = None,
    training: TensorLike = False,
    trainable: bool = True,
    name: str | None = None,
    reuse: Reuse | None = None,
    **kw: object,
) -> Tensor:
    """Normalises each channel of `inputs` over the batch; see `BatchNormalization`.

    Raises `ShapeError` when the number of channels is not known.
    """
    layer = BatchNormalization(
        axis,
        momentum,
        epsilon,
        center,
        scale,
        beta_initializer,
        gamma_initializer,
        moving_mean_initializer,
        moving_variance_initializer,
        beta_regularizer,
        gamma_regularizer,
        beta_constraint,
        gamma_constraint,
        trainable,
        name,
        _reuse=reuse,
        **kw,
    )
    return layer(inputs, training=training)


API: dict[str, Any] = {
    "layers.Dropout": Dropout,
    "layers.BatchNormalization": BatchNormalization,
    "layers.dropout": dropout,
    "layers.batch_normalization": batch_normalization,
}
