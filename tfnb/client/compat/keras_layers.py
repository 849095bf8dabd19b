"""`tf.keras.layers`, as far as 1.x programs used them inside graphs: `tf.layers` with activations by name.

Invariant: these are the layers of `tf.layers`; only their options are written differently.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfnb.client.argument_types import Constraint, InitializerLike, Regularizer, WindowSize
from tfnb.client.layers import conv_layers, dense_layers, norm_layers, pool_layers
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor
from tfnb.ops.math.unary import SIGMOID, TANH
from tfnb.ops.nn.activations import ELU, RELU, SELU, SOFTPLUS, SOFTSIGN
from tfnb.ops.nn.losses import softmax
from tfnb.types import ShapeLike

__all__ = ["API", "Conv2D", "Dense", "activation_of"]

ACTIVATIONS: dict[str, Any] = {
    "linear": None,
    "relu": RELU,
    "elu": ELU,
    "selu": SELU,
    "softplus": SOFTPLUS,
    "softsign": SOFTSIGN,
    "sigmoid": SIGMOID,
    "tanh": TANH,
    "softmax": softmax,
}


def activation_of(given: str | Callable[[Any], Any] | None) -> Any:
    """Returns the activation function of a name; a function is returned unchanged.

    Raises `InvalidArgumentError` for an unknown name.
    """
    if not isinstance(given, str):
        return given
    if given not in ACTIVATIONS:
        raise InvalidArgumentError(f"the activation {given!r}; needed one of {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[given]


class Dense(dense_layers.Dense):
    """Computes activation(inputs @ kernel + bias); the activation may be a name such as "relu"."""

    def __init__(
        self,
        units: int,
        activation: str | Callable[[Any], Any] | None = None,
        use_bias: bool = True,
        kernel_initializer: InitializerLike | None = None,
        bias_initializer: InitializerLike | None = None,
        kernel_regularizer: Regularizer | None = None,
        bias_regularizer: Regularizer | None = None,
        activity_regularizer: Regularizer | None = None,
        kernel_constraint: Constraint | None = None,
        bias_constraint: Constraint | None = None,
        input_shape: ShapeLike | None = None,
        **kw: Any,
    ) -> None:
        super().__init__(
            units,
            activation_of(activation),
            use_bias,
            kernel_initializer,
            bias_initializer,
            kernel_regularizer,
            bias_regularizer,
            activity_regularizer,
            kernel_constraint,
            bias_constraint,
            **kw,
        )


class Conv2D(conv_layers.Conv2D):
    """Computes activation(convolution + bias) of images; the activation may be a name such as "relu"."""

    def __init__(
        self,
        filters: int,
        kernel_size: WindowSize,
        strides: WindowSize = (1, 1),
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: WindowSize = (1, 1),
        activation: str | Callable[[Any], Any] | None = None,
        use_bias: bool = True,
        input_shape: ShapeLike | None = None,
        **kw: Any,
    ) -> None:
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            data_format or "channels_last",
            dilation_rate,
            activation_of(activation),
            use_bias,
            **kw,
        )


class MaxPooling2D(pool_layers.MaxPooling2D):
    """Computes the maximum of each window of images; the default of `strides` is the window's size."""

    def __init__(
        self,
        pool_size: WindowSize = (2, 2),
        strides: WindowSize | None = None,
        padding: str = "valid",
        data_format: str | None = None,
        **kw: Any,
    ) -> None:
        strides = pool_size if strides is None else strides
        super().__init__(pool_size, strides, padding, data_format or "channels_last", **kw)


class Activation(dense_layers.Layer):
    """Applies a function, which may be a name such as "relu", to the inputs."""

    default_name = "activation"

    def __init__(self, activation: str | Callable[[Any], Any] | None, **kw: Any) -> None:
        super().__init__(**kw)
        self.activation = activation_of(activation) or (lambda x: x)

    def call(self, inputs: Tensor) -> Any:
        return self.activation(inputs)


API: dict[str, Any] = {
    "keras.layers.Layer": dense_layers.Layer,
    "keras.layers.Dense": Dense,
    "keras.layers.Conv2D": Conv2D,
    "keras.layers.MaxPooling2D": MaxPooling2D,
    "keras.layers.MaxPool2D": MaxPooling2D,
    "keras.layers.Flatten": dense_layers.Flatten,
    "keras.layers.Dropout": norm_layers.Dropout,
    "keras.layers.BatchNormalization": norm_layers.BatchNormalization,
    "keras.layers.Activation": Activation,
    **{f"keras.activations.{name}": function for name, function in ACTIVATIONS.items() if function is not None},
}
