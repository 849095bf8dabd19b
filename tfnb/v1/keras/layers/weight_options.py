"""The options of weights that many layers have: initialiser, regulariser and constraint of "kernel", "bias" and others.

Invariant: an option of the weight W is the attribute `W_initializer` (and so on), and stands in the configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tfnb.client.variables.variable import Variable
from tfnb.types import ShapeLike
from tfnb.v1.keras import activations, constraints, initializers, regularizers
from tfnb.v1.keras.engine.base_layer import Layer

__all__ = ["LayerWithOptions"]

_KINDS: Mapping[str, Any] = {
    "initializer": initializers,
    "regularizer": regularizers,
    "constraint": constraints,
}


class LayerWithOptions(Layer):
    """A layer whose weights have options, and whose configuration lists the attributes of `fields`."""

    fields: tuple[str, ...] = ()
    weight_names: tuple[str, ...] = ()
    # the options that a subclass sets by `_set_options`
    activation: Callable[[Any], Any]
    recurrent_activation: Callable[[Any], Any]
    kernel_initializer: Callable[..., Any]
    recurrent_initializer: Callable[..., Any]
    depthwise_initializer: Callable[..., Any]
    bias_initializer: Callable[..., Any]
    recurrent_regularizer: Callable[[Any], Any] | None
    depthwise_regularizer: Callable[[Any], Any] | None
    bias_regularizer: Callable[[Any], Any] | None
    recurrent_constraint: Callable[[Any], Any] | None
    depthwise_constraint: Callable[[Any], Any] | None
    bias_constraint: Callable[[Any], Any] | None

    def _set_options(self, **given: Any) -> None:
        """Sets the options that were given; each is an attribute of its name."""
        for name, value in given.items():
            kind = name.rpartition("_")[2]
            if name == "activity_regularizer":
                self._activity_regularizer = regularizers.get(value)
            elif kind in _KINDS:
                setattr(self, name, _KINDS[kind].get(value))
            elif kind == "activation":
                setattr(self, name, activations.get(value))
            else:
                setattr(self, name, value)

    def _weight(self, name: str, shape: ShapeLike, trainable: bool = True) -> Variable:
        """Returns a new weight with the options of its name."""
        options = {kind: getattr(self, f"{name}_{kind}", None) for kind in _KINDS}
        return self.add_weight(name, shape, trainable=trainable, **options)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        for name in self.fields:
            value = getattr(self, name)
            kind = name.rpartition("_")[2]
            if kind in _KINDS:
                value = _KINDS[kind].serialize(value)
            elif kind == "activation":
                value = activations.serialize(value)
            config[name] = value
        return config
