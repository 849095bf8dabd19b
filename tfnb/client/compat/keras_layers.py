"""`tf.keras.layers`, as far as the programs of 1.x used them inside graphs: `tf.layers` with activations by name.

Invariant: a layer here is the `tf.layers` one; only how its options are written differs.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.layers import conv_layers, dense_layers, norm_layers, pool_layers
from tfnb.errors import InvalidArgumentError
from tfnb.ops.math.unary import SIGMOID, TANH
from tfnb.ops.nn.activations import ELU, RELU, SELU, SOFTPLUS, SOFTSIGN
from tfnb.ops.nn.losses import softmax

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


def activation_of(given: Any) -> Any:
    """A function, or the one of that name. Raises `InvalidArgumentError` for an unknown name."""
    if not isinstance(given, str):
        return given
    if given not in ACTIVATIONS:
        raise InvalidArgumentError(f"the activation {given!r}; needed one of {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[given]


class Dense(dense_layers.Dense):
    """activation(inputs @ kernel + bias); the activation may be a name such as "relu"."""

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        input_shape: Any = None,
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
    """activation(convolution + bias); the activation may be a name such as "relu"."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = (1, 1),
        activation: Any = None,
        use_bias: bool = True,
        input_shape: Any = None,
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
    """The maximum of each window; the stride is the window unless given."""

    def __init__(
        self,
        pool_size: Any = (2, 2),
        strides: Any = None,
        padding: str = "valid",
        data_format: str | None = None,
        **kw: Any,
    ) -> None:
        strides = pool_size if strides is None else strides
        super().__init__(pool_size, strides, padding, data_format or "channels_last", **kw)


class Activation(dense_layers.Layer):
    """A function of the inputs, or the one of that name."""

    default_name = "activation"

    def __init__(self, activation: Any, **kw: Any) -> None:
        super().__init__(**kw)
        self.activation = activation_of(activation) or (lambda x: x)

    def call(self, inputs: Any) -> Any:
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
