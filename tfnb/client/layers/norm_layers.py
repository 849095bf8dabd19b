"""Layers that differ between training and inference: dropout and batch normalisation (`tf.layers`).

`training` is a Python bool, which chooses while the graph is built, or a bool tensor, which chooses in each step.
Invariant: moving statistics change only by the operations in UPDATE_OPS, and only where `training` is true.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tfnb.client.argument_types import Constraint, InitializerLike, Regularizer, ScalarLike
from tfnb.client.control_flow.cond import smart_cond, static_value
from tfnb.client.gradients.backprop import RegisterGradient
from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.layers.base import Layer
from tfnb.client.layers.input_spec import InputSpec
from tfnb.client.layers.renorm import Renorm
from tfnb.client.variables.initializers import Ones, Zeros
from tfnb.client.variables.partitioned import PartitionedVariable
from tfnb.client.variables.scope import Reuse, VariableScope, get_variable_scope
from tfnb.client.variables.variable import Variable
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import ONES_LIKE, ZEROS_LIKE
from tfnb.ops.array.shape_ops import IDENTITY, RESHAPE, STOP_GRADIENT, shape_of, size, squeeze
from tfnb.ops.math.binary import MAXIMUM, SQUARED_DIFFERENCE
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.reduce import MEAN
from tfnb.ops.math.reduce_functions import reduce_mean
from tfnb.ops.nn.bias_dropout_moments import batch_normalization as normalized
from tfnb.ops.nn.bias_dropout_moments import dropout as drop
from tfnb.ops.nn.bias_dropout_moments import moments
from tfnb.types import DType, Shape, ShapeLike, as_shape, float32

__all__ = ["API", "ONE_OPERATION", "BatchNormalization", "Dropout", "batch_normalization", "dropout"]

# the mark of operations that end a batch normalisation which is one operation in TensorFlow
ONE_OPERATION = "one FusedBatchNorm in TensorFlow"
_FROM_THE_MEAN = "SquaredDifferenceFromTheMean"  # the name of a gradient


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
    `tf.control_dependencies`. `axis` may be a list of axes. `renorm` corrects the values towards moving statistics,
    within `renorm_clipping`, a dict with "rmax", "rmin" and "dmax". With `virtual_batch_size` parts of this many
    examples are normalised by themselves. `adjustment(shape of the inputs)` gives a factor and a shift of the
    normalised values in training. Raises `ShapeError` when the number of channels is not known.
    """

    default_name = "batch_normalization"

    def __init__(
        self,
        axis: int | list[int] | tuple[int, ...] = -1,
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
        renorm: bool = False,
        renorm_clipping: Mapping[str, Any] | None = None,
        renorm_momentum: float = 0.99,
        fused: bool | None = None,
        trainable: bool = True,
        virtual_batch_size: int | None = None,
        adjustment: Callable[[Any], tuple[Any, Any]] | None = None,
        name: str | None = None,
        **kw: Any,
    ) -> None:
        self.fused_ranks: Sequence[int] = kw.pop("fused_ranks", (4,))
        self.beta_first = kw.pop("beta_first", False)
        self.updates_collection = kw.pop("updates_collection", GraphKeys.UPDATE_OPS)
        super().__init__(name, trainable, **kw)
        self.axis = [int(a) for a in axis] if isinstance(axis, (list, tuple)) else int(axis)
        self.momentum, self.epsilon, self.center, self.scale = momentum, epsilon, center, scale
        self.beta_initializer, self.gamma_initializer = beta_initializer or Zeros(), gamma_initializer or Ones()
        self.beta_regularizer, self.gamma_regularizer = beta_regularizer, gamma_regularizer
        self.beta_constraint, self.gamma_constraint = beta_constraint, gamma_constraint
        self.moving_mean_initializer = moving_mean_initializer or Zeros()
        self.moving_variance_initializer = moving_variance_initializer or Ones()
        self.fused, self.renorm = fused, renorm
        self._renorm = Renorm(renorm_clipping, renorm_momentum) if renorm else None
        self.virtual_batch_size, self.adjustment = virtual_batch_size, adjustment
        # TensorFlow's name: with False the moving variance of images is not that of n - 1 degrees of freedom
        self._bessels_correction_test_only = True

    def _axes(self, shape: Shape) -> list[int]:
        """Returns the axes of the channels as numbers from 0 on, or raises `ShapeError`."""
        given, rank = self.axis if isinstance(self.axis, list) else [self.axis], shape.ndims
        if rank is None or not all(-rank <= a < rank for a in given):
            raise ShapeError(f"Invalid axis: batch_normalization: inputs of shape {shape} have no axis {self.axis}")
        axes = [a % rank for a in given]
        if len(set(axes)) < len(axes) or not axes:
            raise ShapeError(f"Duplicate axis: batch_normalization: the axes {self.axis} are not different ones")
        if self.virtual_batch_size is not None:
            self._check_virtual(axes)
        return axes

    def _check_virtual(self, axes: Sequence[int]) -> None:
        if self.virtual_batch_size is not None and self.virtual_batch_size <= 0:
            raise InvalidArgumentError(
                "virtual_batch_size must be a positive integer that divides the true batch size of the input Tensor, "
                f"got {self.virtual_batch_size}"
            )
        if 0 in axes:
            raise InvalidArgumentError("with virtual_batch_size, axis cannot include 0, the dimension of the batch")
        if self.adjustment is not None:
            raise InvalidArgumentError("When using virtual_batch_size, adjustment cannot be specified")

    def build(self, shape: ShapeLike) -> None:
        shape = as_shape(shape)
        axes, dims = self._axes(shape), shape.as_list()
        self.axis = axes
        if any(dims[a] is None for a in axes):
            raise ShapeError(f"batch_normalization: dimension {self.axis} of the inputs must be known, got {shape}")
        self.input_spec = InputSpec(ndim=len(dims), axes={a: dims[a] for a in axes})
        # 16-bit floats keep their statistics and parameters in 32 bits
        dtype = self.dtype if self.dtype is None or self.dtype.size > 2 else float32
        if len(axes) == 1 and self.virtual_batch_size is None:
            sizes = [dims[axes[0]]]
        else:  # these broadcast over the inputs, whose parts are along an axis of their own
            sizes = [n if i in axes else 1 for i, n in enumerate(dims)]
            sizes[1:1] = [] if self.virtual_batch_size is None else [1]
        if self.beta_first:
            self.beta = self._new_beta(sizes, dtype)
            self.gamma = self._new_gamma(sizes, dtype)
        else:
            self.gamma = self._new_gamma(sizes, dtype)
            self.beta = self._new_beta(sizes, dtype)
        scope = self._scope if isinstance(self._scope, VariableScope) else get_variable_scope()
        partitioner = scope.partitioner
        scope.set_partitioner(None)  # because each moving statistic is assigned as a whole
        try:
            self._add_statistics(sizes, dtype)
        finally:
            scope.set_partitioner(partitioner)
        self.built = True

    def _new_gamma(self, sizes: Sequence[int | None], dtype: DType | None) -> Variable | PartitionedVariable | None:
        options = (self.gamma_initializer, self.gamma_regularizer, True, self.gamma_constraint)
        return self.add_variable("gamma", sizes, dtype, *options) if self.scale else None

    def _new_beta(self, sizes: Sequence[int | None], dtype: DType | None) -> Variable | PartitionedVariable | None:
        options = (self.beta_initializer, self.beta_regularizer, True, self.beta_constraint)
        return self.add_variable("beta", sizes, dtype, *options) if self.center else None

    def _add_statistics(self, sizes: Sequence[Any], dtype: DType | None) -> None:
        def statistic(name: str, shape: Sequence[Any], initializer: InitializerLike) -> Any:
            return self.add_variable(name, shape, dtype, initializer, None, False)

        self.moving_mean = statistic("moving_mean", sizes, self.moving_mean_initializer)
        self.moving_variance = statistic("moving_variance", sizes, self.moving_variance_initializer)
        if self._renorm is not None:
            self._renorm.mean = statistic("renorm_mean", sizes, Zeros())
            self._renorm.mean_weight = statistic("renorm_mean_weight", (), Zeros())
            self._renorm.stddev = statistic("renorm_stddev", sizes, Zeros())
            self._renorm.stddev_weight = statistic("renorm_stddev_weight", (), Zeros())

    def call(self, inputs: Tensor, training: TensorLike = False) -> Tensor:
        axes = self._axes(inputs.shape)
        x = cast_to(inputs, self.moving_mean.dtype)
        if self.virtual_batch_size is not None:
            rest = [shape_of(x)[i + 1] if n is None else n for i, n in enumerate(inputs.shape.as_list()[1:])]
            x = RESHAPE(x, x.graph.to_tensor([self.virtual_batch_size, -1, *rest]))
            axes = [a + 1 for a in axes]
        gamma, beta = (None if p is None else self._broadcast(p, x.shape, axes) for p in (self.gamma, self.beta))
        if static_value(training) is False:
            mean, variance = self._statistics(x, axes)
        else:
            mean, variance, gamma, beta = self._trained(x, inputs, axes, training, gamma, beta)
        mean, variance = self._broadcast(mean, x.shape, axes), self._broadcast(variance, x.shape, axes)
        y = normalized(x, mean, variance, beta, gamma, self.epsilon)
        if self._is_fused(x, axes):
            y.op.extra[ONE_OPERATION] = True
        if self.virtual_batch_size is not None:
            y = RESHAPE(y, shape_of(inputs))
        y = cast_to(y, inputs.dtype)
        y.set_shape(inputs.shape)
        return y

    def _trained(
        self,
        x: Tensor,
        inputs: Tensor,
        axes: Sequence[int],
        training: TensorLike,
        gamma: TensorLike | None,
        beta: TensorLike | None,
    ) -> tuple[Any, Any, Any, Any]:
        """Returns the mean, variance, factor and shift to use, and adds the updates of the moving statistics."""
        if self.adjustment is not None:
            factor, shift = self.adjustment(shape_of(inputs))
            gamma, beta = _composed(
                smart_cond(training, lambda: IDENTITY(factor), lambda: ONES_LIKE(factor)),
                smart_cond(training, lambda: IDENTITY(shift), lambda: ZEROS_LIKE(shift)),
                gamma,
                beta,
            )
        parts = self.virtual_batch_size is not None
        reduced = [i for i in range(len(x.shape)) if i not in axes and not (parts and i == 1)]
        moments_of = _moments_of_all_orders if self._is_fused(x, axes) else moments
        batch_mean, batch_variance = moments_of(x, reduced, keep_dims=parts or len(axes) > 1)
        mean, variance = smart_cond(
            training,
            lambda: (IDENTITY(batch_mean), IDENTITY(batch_variance)),
            lambda: tuple(_like(moving, batch_mean) for moving in self._statistics(x, axes)),
        )
        new_mean, new_variance = mean, self._unbiased(variance, x, axes)
        if self._renorm is not None:
            factor, shift, new_mean, new_variance = self._renorm.corrected(mean, variance, self.epsilon, training)
            factor, shift = (self._broadcast(STOP_GRADIENT(t), x.shape, axes) for t in (factor, shift))
            gamma, beta = _composed(factor, shift, gamma, beta)
        if parts:
            new_mean, new_variance = (reduce_mean(t, 1, keep_dims=True) for t in (new_mean, new_variance))
        self._move(new_mean, new_variance, training, inputs)
        return mean, variance, gamma, beta

    def _is_fused(self, x: Tensor, axes: Sequence[int]) -> bool:
        """Says whether TensorFlow normalises with its fused kernel, as `tf.contrib.layers` does for vectors too."""
        rank = len(x.shape)
        plain = self._renorm is None and self.virtual_batch_size is None and self.adjustment is None
        return self.fused is not False and plain and rank in self.fused_ranks and list(axes) in ([1], [rank - 1])

    def _statistics(self, x: Tensor, axes: Sequence[int]) -> tuple[Any, Any]:
        """Returns the moving mean and variance, to which the fused kernel passes no gradient on."""
        values = self.moving_mean.value(), self.moving_variance.value()
        if self._is_fused(x, axes):
            return STOP_GRADIENT(values[0]), STOP_GRADIENT(values[1])
        return values

    def _unbiased(self, variance: Tensor, x: Tensor, axes: Sequence[int]) -> Any:
        """Multiplies the variance by n / (n - 1), as the fused kernel does for the moving variance."""
        if not self._is_fused(x, axes) or not self._bessels_correction_test_only:
            return variance
        n = cast_to(size(x), self.moving_mean.dtype) / float(self.moving_mean.shape.known()[0])
        return variance * (n / MAXIMUM(n - 1.0, 1.0))

    def _broadcast(self, p: Tensor | Variable | PartitionedVariable, shape: Shape, axes: Sequence[int]) -> Any:
        """Reshapes a vector with an element per channel so that it broadcasts over the inputs."""
        if p.shape.ndims != 1 or axes[0] == len(shape) - 1:
            return p
        return RESHAPE(p, [-1 if i == axes[0] else 1 for i in range(len(shape))])

    def _move(self, mean: Tensor, variance: Tensor, training: TensorLike, inputs: Tensor) -> None:
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
            self.add_update(update, inputs)


def _grad_from_the_mean(op: Operation, dy: Tensor) -> tuple[Any, None]:
    """The gradient of (x - mean)^2, of which the mean over x needs none, since x - mean sums to zero."""
    x, mean = op.inputs
    return dy * (2.0 * (x - mean)), None


RegisterGradient(_FROM_THE_MEAN)(_grad_from_the_mean)


def _moments_of_all_orders(x: Tensor, axes: Sequence[int], keep_dims: bool) -> tuple[Any, Any]:
    """Returns the mean and variance of `x` along `axes`, with derivatives of every order, as the fused kernel has them.

    `tf.nn.moments` holds the mean constant within the variance, here and in TensorFlow, which is right for the first
    derivative only.
    """
    graph, indices = x.graph, np.asarray(axes, np.int32)
    with graph.name_scope("moments"):
        mean = MEAN(x, indices, keep_dims=True, name="mean")
        with graph.gradient_override_map({"SquaredDifference": _FROM_THE_MEAN}):
            squares = SQUARED_DIFFERENCE(x, mean)
        variance = MEAN(squares, indices, keep_dims=True, name="variance")
        return (mean, variance) if keep_dims else (squeeze(mean, list(axes)), squeeze(variance, list(axes)))


def _composed(factor: Tensor, shift: Tensor, gamma: TensorLike | None, beta: TensorLike | None) -> tuple[Any, Any]:
    """Returns the factor and the shift of (x * factor + shift) * gamma + beta, where gamma and beta may be None."""
    if gamma is not None:
        factor, shift = factor * gamma, shift * gamma
    return factor, shift if beta is None else shift + beta


def _like(moving: Tensor, moment: Tensor) -> Any:
    """Returns moving statistics in the shape of moments, which differ where each part of a batch has its own."""
    return IDENTITY(moving) if moving.shape.is_compatible_with(moment.shape) else moving + ZEROS_LIKE(moment)


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
    axis: int | list[int] | tuple[int, ...] = -1,
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
    renorm: bool = False,
    renorm_clipping: Mapping[str, Any] | None = None,
    renorm_momentum: float = 0.99,
    fused: bool | None = None,
    virtual_batch_size: int | None = None,
    adjustment: Callable[[Any], tuple[Any, Any]] | None = None,
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
        renorm,
        renorm_clipping,
        renorm_momentum,
        fused,
        trainable,
        virtual_batch_size,
        adjustment,
        name,
        _reuse=reuse,
    )
    layer.shares_name = True
    return layer(inputs, training=training)


API: dict[str, Any] = {
    "layers.Dropout": Dropout,
    "layers.BatchNormalization": BatchNormalization,
    "layers.dropout": dropout,
    "layers.batch_normalization": batch_normalization,
    "python.layers.normalization.batch_norm": batch_normalization,
    "python.layers.normalization.BatchNorm": BatchNormalization,
}
