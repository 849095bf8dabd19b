"""The layers of `tf.layers` without windows: `Dense` and `Flatten`.

Invariant: names are TensorFlow's (`dense/kernel`, `dense/bias`), so checkpoints and collections fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfnb.client.argument_types import Constraint, InitializerLike, Regularizer
from tfnb.client.layers.base import Layer, functional
from tfnb.client.layers.input_spec import InputSpec
from tfnb.client.variables.initializers import Zeros
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.shape_ops import RESHAPE, shape_of
from tfnb.ops.array.transpose_pad_tile import transpose
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.linalg.tensordot import tensordot
from tfnb.ops.nn.bias_dropout_moments import bias_add
from tfnb.types import Shape, ShapeLike, as_shape

__all__ = ["API", "Dense", "Flatten", "dense", "flatten"]


class Dense(Layer):
    """Computes activation(inputs @ kernel + bias), of `units` columns, over the last dimension of the inputs.

    Raises `ShapeError` when the size of that dimension is not known.
    """

    default_name = "dense"

    def __init__(
        self,
        units: int,
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
        self.units, self.activation, self.use_bias = int(units), activation, use_bias
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer or Zeros()
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint
        self.input_spec = InputSpec(min_ndim=2)

    def build(self, shape: ShapeLike) -> None:
        shape = as_shape(shape)
        n = shape.sizes[-1] if shape.sizes else None
        if n is None:
            raise ShapeError(f"dense: the last dimension of the inputs must be known, got shape {shape}")
        self.input_spec = InputSpec(min_ndim=2, axes={-1: n})
        self.kernel = self.add_variable(
            "kernel",
            [n, self.units],
            None,
            self.kernel_initializer,
            self.kernel_regularizer,
            True,
            self.kernel_constraint,
        )
        self.bias = (
            self.add_variable(
                "bias", [self.units], None, self.bias_initializer, self.bias_regularizer, True, self.bias_constraint
            )
            if self.use_bias
            else None
        )
        self.built = True

    def call(self, inputs: Tensor) -> Tensor:
        rank = inputs.shape.ndims
        if rank is not None and rank > 2:
            y = tensordot(inputs, self.kernel, [[rank - 1], [0]])
        else:
            y = matmul(inputs, self.kernel)
        y = y if self.bias is None else bias_add(y, self.bias)
        return y if self.activation is None else self.activation(y)


class Flatten(Layer):
    """Joins all dimensions of the inputs but the first into one.

    data_format: with "channels_first", shape (batch, channels, ...), the channels come last in the result, so that it
    does not depend on the format. Raises `InvalidArgumentError` for others.
    """

    default_name = "flatten"

    def __init__(
        self, name: str | None = None, data_format: str = "channels_last", trainable: bool = True, **kw: Any
    ) -> None:
        super().__init__(name, trainable, **kw)
        if data_format not in ("channels_last", "channels_first"):
            raise InvalidArgumentError(
                f"Flatten: data_format must be channels_last or channels_first, got {data_format!r}"
            )
        self.data_format = data_format

    def call(self, inputs: Tensor) -> Tensor:
        rank = inputs.shape.ndims
        if rank == 0:
            raise ShapeError(f"Flatten: expected min_ndim=1, found ndim=0: inputs of shape {inputs.shape}")
        if self.data_format == "channels_first" and rank is not None and rank > 2:
            inputs = transpose(inputs, [0, *range(2, rank), 1])
        dims = inputs.shape.sizes
        size = None if not dims else Shape(dims[1:]).num_elements()
        if not dims or size is None:
            rows = shape_of(inputs)[0] if not dims or dims[0] is None else dims[0]
            flat = RESHAPE(inputs, inputs.graph.to_tensor([rows, -1]))
            flat.set_shape([dims[0] if dims else None, size])
            return flat
        return RESHAPE(inputs, [-1 if dims[0] is None else dims[0], size])


dense, flatten = functional(Dense), functional(Flatten)
API: dict[str, Any] = {
    "layers.Dense": Dense,
    "layers.Flatten": Flatten,
    "layers.dense": dense,
    "layers.flatten": flatten,
    "python.layers.core.Dense": Dense,
}
