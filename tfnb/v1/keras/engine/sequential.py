"""`tf.keras.Sequential`: a model of layers one after another.

Invariant: once the shape of the input is known, the layers are called on tensors, as each is added.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.types import ShapeLike
from tfnb.v1.argument_types import TensorOrVariable
from tfnb.v1.keras.argument_types import Masks, TrainingFlag
from tfnb.v1.keras.engine.base_layer import Layer
from tfnb.v1.keras.engine.input_layer import Input
from tfnb.v1.keras.engine.network import Network
from tfnb.v1.keras.engine.training import Model
from tfnb.v1.keras.layer_registry import deserialize

__all__ = ["Sequential"]


class Sequential(Model):
    """A linear stack of layers.

    layers: those to begin with. The first one may have `input_shape`; without it the weights are created by the first
    data. Raises `InvalidArgumentError` for a layer with several outputs.
    """

    def __init__(self, layers: Iterable[Layer] | None = None, name: str | None = None) -> None:
        super().__init__(name=name)
        for layer in layers or ():
            self.add(layer)

    @property
    def layers(self) -> list[Any]:  # type: ignore[override]
        """The layers, without that of the input."""
        return [layer for layer in self._layers if not layer.is_input]

    def add(self, layer: Layer) -> None:
        """Adds a layer at the end."""
        if not isinstance(layer, Layer):
            raise TypeError(f"The added layer must be an instance of class Layer. Found: {layer}")
        if any(layer.name == other.name for other in self._layers):
            raise InvalidArgumentError(f"All layers added to a Sequential model should have unique names: {layer.name}")
        if not self._layers:
            self._add_first(layer)
        elif self._is_graph:
            self._extend(layer)
        else:
            self._tracked.append(layer)
        self._training = self._train_op = None

    def _add_first(self, layer: Layer) -> None:
        if layer.is_input:
            self._tracked.append(layer)
            self._set_graph(layer.output, layer.output)
            return
        shape, dtype = _first_shape(layer)
        if shape is None:
            self._tracked.append(layer)
            return
        x = Input(batch_shape=shape, dtype=dtype, name=f"{layer.name}_input")
        self._set_graph(x, layer(x))
        self._check_one_output()

    def _extend(self, layer: Layer) -> None:
        first = self._structures[0]
        self._set_graph(first, layer(self._out[0]))
        self._check_one_output()

    def _check_one_output(self) -> None:
        if len(self._out) != 1:
            raise InvalidArgumentError("All layers in a Sequential model should have a single output tensor.")

    def pop(self) -> None:
        """Removes the last layer. Raises `InvalidArgumentError` when there is none."""
        if not self.layers:
            raise InvalidArgumentError("There are no layers in the model.")
        removed = self.layers[-1]
        self._layers = [layer for layer in self._layers if layer is not removed]
        self._training = self._train_op = None
        if self._is_graph:
            node = removed._inbound_nodes.pop()
            if not self.layers:
                self._is_graph = self.built = False
                self._layers = []
            else:
                self._set_graph(self._structures[0], node.input_tensors[0])

    def build(self, input_shape: ShapeLike | Mapping[str, Any] = None) -> None:
        """Calls the layers on an input of a shape with the batch."""
        if not self._is_graph and isinstance(input_shape, (tuple, list)):
            self._connect(Input(batch_shape=tuple(input_shape)))
        self.built = True

    def _connect(self, x: TensorOrVariable) -> None:
        y, layers = x, self.layers
        for layer in layers:
            y = layer(y)
        self._set_graph(x, y)

    def _fix_inputs(self, inputs: Any) -> None:
        super()._fix_inputs(inputs)
        self.output_names = [self.layers[-1].name]

    def call(self, inputs: Any, training: TrainingFlag | None = None, mask: Masks | None = None) -> Any:  # type: ignore[override]
        """Returns the outputs for other inputs."""
        if self._is_graph:
            return super().call(inputs, training, mask)
        y = inputs
        for layer in self.layers:
            y = layer(y)
        return y

    def predict_proba(self, x: object, batch_size: int = 32, verbose: int = 0) -> Any:
        """Returns the outputs, which are probabilities."""
        return self.predict(x, batch_size, verbose)

    def predict_classes(self, x: object, batch_size: int = 32, verbose: int = 0) -> np.ndarray:
        """Returns the class numbers: of the largest output, or whether the only output is above a half."""
        p = self.predict(x, batch_size, verbose)
        return p.argmax(axis=-1) if p.shape[-1] > 1 else (p > 0.5).astype("int32")

    def get_config(self) -> dict[str, Any]:
        """Returns the layers' classes and configurations."""
        layers = [{"class_name": type(layer).__name__, "config": layer.get_config()} for layer in self.layers]
        config: dict[str, Any] = {"name": self.name, "layers": layers}
        if self._is_graph and self.layers and not hasattr(self.layers[0], "_batch_input_shape"):
            config["build_input_shape"] = tuple(self._in[0].shape.as_list())
        return config

    @classmethod
    def from_config(cls, config: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
        """Returns the model of a configuration."""
        named = isinstance(config, Mapping)
        model = cls(name=config.get("name") if named else None)
        for layer in config["layers"] if named else config:
            model.add(deserialize(layer, custom_objects))
        shape = config.get("build_input_shape") if named else None
        if shape is not None and not model._is_graph:
            model.build(tuple(shape))
        return model


def _first_shape(layer: Layer) -> tuple[Any, Any]:
    """Returns the shape with the batch that a first layer declares, and its dtype."""
    inner = layer
    while isinstance(inner, Network):
        if inner._is_graph:
            return tuple(inner._in[0].shape.as_list()), inner._in[0].dtype.base_dtype
        if not inner.layers:
            break
        inner = inner.layers[0]
    return getattr(inner, "_batch_input_shape", None), inner.dtype
