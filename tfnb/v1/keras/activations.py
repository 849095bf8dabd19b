"""`tf.keras.activations`: functions of a tensor that layers take by name.

Invariant: `get(serialize(f))` is f.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.v1.argument_types import TensorOrVariable
from tfnb.v1.keras.argument_types import Identifier
from tfnb.v1.keras.backend import nn
from tfnb.v1.keras.graph_api import tf
from tfnb.v1.keras.serialization import deserialize_keras_object


def softmax(x: TensorOrVariable, axis: int = -1) -> Tensor:
    """Returns the softmax along `axis`. Raises `InvalidArgumentError` for a vector."""
    rank = x.shape.ndims
    if rank == 1:
        raise InvalidArgumentError(f"Cannot apply softmax to a tensor that is 1D. Received input: {x}")
    return tf.nn.softmax(x, axis=axis)


def elu(x: TensorOrVariable, alpha: float = 1.0) -> Tensor:
    """Returns x where it is positive, and alpha * (exp(x) - 1) elsewhere."""
    return nn.elu(x, alpha)


def selu(x: TensorLike) -> Tensor:
    """Returns the scaled exponential linear unit."""
    return tf.nn.selu(x)


def softplus(x: TensorLike) -> Tensor:
    """Returns log(1 + exp(x))."""
    return tf.nn.softplus(x)


def softsign(x: TensorLike) -> Tensor:
    """Returns x / (1 + abs(x))."""
    return tf.nn.softsign(x)


def relu(x: TensorOrVariable, alpha: float = 0.0, max_value: float | None = None, threshold: float = 0) -> Tensor:
    """Returns x where it is at least `threshold`, alpha * (x - threshold) below, and at most `max_value`."""
    return nn.relu(x, alpha, max_value, threshold)


def tanh(x: TensorLike) -> Tensor:
    """Returns the hyperbolic tangent."""
    return tf.tanh(x)


def sigmoid(x: TensorLike) -> Tensor:
    """Returns 1 / (1 + exp(-x))."""
    return tf.sigmoid(x)


def exponential(x: TensorLike) -> Tensor:
    """Returns exp(x)."""
    return tf.exp(x)


def hard_sigmoid(x: TensorOrVariable) -> Tensor:
    """Returns 0.2 x + 0.5, limited to [0, 1]."""
    return nn.hard_sigmoid(x)


def linear(x: object) -> Any:
    """Returns x."""
    return x


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (softmax, elu, selu, softplus, softsign, relu, tanh, sigmoid, exponential, hard_sigmoid, linear)
}
# Functions of tf.nn that programs pass to layers, by the names under which a configuration keeps them.
_OTHER_NAMES = {"softmax_v2": "softmax"}


def serialize(activation: object) -> str | dict[str, Any]:
    """Returns the name of an activation function, or the configuration of a layer."""
    if hasattr(activation, "get_config"):
        return {"class_name": type(activation).__name__, "config": activation.get_config()}
    name = getattr(activation, "__name__", None) or getattr(activation, "name", None)
    if name is None:
        raise InvalidArgumentError(f"Cannot serialize the activation {activation!r}")
    name = str(name)
    return _OTHER_NAMES.get(name, name.lower() if name.lower() in _FUNCTIONS else name)


def deserialize(name: str | Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
    """Returns the activation function of a name. Raises `InvalidArgumentError` for an unknown one."""
    return deserialize_keras_object(name, _FUNCTIONS, custom_objects, "activation function")


def get(identifier: Identifier | None) -> Callable[..., Any]:
    """Returns the activation function of a name; None is `linear`, and a callable is returned unchanged."""
    if identifier is None:
        return linear
    if callable(identifier):
        return identifier
    return deserialize(identifier)
