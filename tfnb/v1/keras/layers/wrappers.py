"""Layers around layers: TimeDistributed and Bidirectional.

Invariant: the weights are those of the layers inside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor
from tfnb.types import Shape, ShapeLike
from tfnb.v1.keras.argument_types import LayerInputs, Masks, TrainingFlag
from tfnb.v1.keras.engine.base_layer import Layer
from tfnb.v1.keras.graph_api import tf
from tfnb.v1.keras.layer_registry import deserialize, register
from tfnb.v1.keras.layers.cells import sizes_of
from tfnb.v1.keras.serialization import has_arg


def _config(layer: Layer) -> dict[str, Any]:
    return {"class_name": type(layer).__name__, "config": layer.get_config()}


class Wrapper(Layer):
    """The base of layers around a layer."""

    def __init__(self, layer: Layer, **kwargs: Any) -> None:
        if not isinstance(layer, Layer):
            raise InvalidArgumentError(f"{type(self).__name__} needs a layer, got {layer!r}")
        super().__init__(**kwargs)
        self.layer = layer

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "layer": _config(self.layer)}

    @classmethod
    def from_config(cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
        """Returns the layer of a configuration."""
        config = dict(config)
        return cls(deserialize(config.pop("layer"), custom_objects), **config)


@register()
class TimeDistributed(Wrapper):
    """Applies a layer to each step of [batch, time, ...]."""

    def __init__(self, layer: Layer, **kwargs: Any) -> None:
        super().__init__(layer, **kwargs)
        self.supports_masking = True

    def build(self, input_shape: ShapeLike) -> None:
        sizes = tf.TensorShape(input_shape).as_list()
        if len(sizes) < 3:
            raise InvalidArgumentError(f"`TimeDistributed` needs inputs of at least 3 dimensions, got {sizes}")
        if not self.layer.built:
            if self.layer._dtype is None:
                self.layer._dtype = self.dtype
            self.layer.build(tf.TensorShape([sizes[0], *sizes[2:]]))
            self.layer.built = True

    def call(self, inputs: Tensor, training: TrainingFlag | None = None, mask: Masks | None = None) -> Tensor:  # type: ignore[override]
        sizes, dynamic = inputs.shape.as_list(), tf.shape(inputs)
        flat = tf.reshape(inputs, tf.concat([[-1], dynamic[2:]], 0))
        flat.set_shape([None, *sizes[2:]])
        options = {"training": training} if has_arg(self.layer.call, "training") else {}
        y = self.layer(flat, **options)
        result = tf.reshape(y, tf.concat([dynamic[:2], tf.shape(y)[1:]], 0))
        result.set_shape([*sizes[:2], *y.shape.as_list()[1:]])
        return result

    def compute_output_shape(self, input_shape: ShapeLike) -> Shape:
        sizes = tf.TensorShape(input_shape).as_list()
        inner = tf.TensorShape(self.layer.compute_output_shape(tf.TensorShape([sizes[0], *sizes[2:]]))).as_list()
        return tf.TensorShape([*sizes[:2], *inner[1:]])


@register()
class Bidirectional(Wrapper):
    """Runs a recurrent layer forwards and a copy of it backwards, and merges their outputs.

    merge_mode: "concat", "sum", "mul", "ave", or None for the list of both. Raises `InvalidArgumentError` for others.
    """

    def __init__(
        self,
        layer: Any,
        merge_mode: str | None = "concat",
        weights: Sequence[Any] | None = None,
        backward_layer: Any = None,
        **kwargs: Any,
    ) -> None:
        if merge_mode not in ("sum", "mul", "ave", "concat", None):
            raise InvalidArgumentError(f"Invalid merge mode {merge_mode!r}; needed sum, mul, ave, concat or None")
        super().__init__(layer, **kwargs)
        forward = layer.get_config()
        backward = layer.get_config() if backward_layer is None else backward_layer.get_config()
        self._given_backward = backward_layer
        self.forward_layer = type(layer).from_config({**forward, "name": f"forward_{layer.name}"})
        if backward_layer is None:
            turned = {**backward, "name": f"backward_{layer.name}", "go_backwards": not layer.go_backwards}
            self.backward_layer = type(layer).from_config(turned)
        else:
            self.backward_layer = backward_layer
        self._layers = [self.forward_layer, self.backward_layer]
        self.merge_mode, self.supports_masking = merge_mode, True
        self.return_state, self.return_sequences = layer.return_state, layer.return_sequences
        self.stateful, self._initial_weights = layer.stateful, weights

    def __call__(self, inputs: LayerInputs, initial_state: Sequence[Any] | None = None, **kwargs: Any) -> Any:
        """Returns the merged outputs; `initial_state` are the states of both directions."""
        if isinstance(inputs, (list, tuple)):
            inputs, *more = inputs
            initial_state = more or initial_state
        if initial_state is not None:
            kwargs["initial_state"] = list(initial_state)
        return super().__call__(inputs, **kwargs)

    def call(  # type: ignore[override]
        self,
        inputs: Tensor,
        mask: Masks | None = None,
        training: TrainingFlag | None = None,
        initial_state: Sequence[Any] | None = None,
    ) -> Tensor | list[Any]:
        options: dict[str, Any] = {"training": training, "mask": mask}
        both: list[dict[str, Any]] = [dict(options), dict(options)]
        if initial_state is not None:
            half = len(sizes_of(self.forward_layer.cell))
            both[0]["initial_state"], both[1]["initial_state"] = initial_state[:half], initial_state[half:]
        y = self.forward_layer(inputs, **both[0])
        back = self.backward_layer(inputs, **both[1])
        states: list[Any] = []
        if self.return_state:
            states, y, back = [*y[1:], *back[1:]], y[0], back[0]
        if self.return_sequences:
            back = tf.reverse(back, [1])
        merged = self._merged(y, back)
        if not self.return_state:
            return merged
        return [*merged, *states] if self.merge_mode is None else [merged, *states]

    def _merged(self, y: Any, back: Any) -> Tensor | list[Tensor]:
        if self.merge_mode == "concat":
            return tf.concat([y, back], y.shape.ndims - 1)
        if self.merge_mode == "sum":
            return y + back
        if self.merge_mode == "ave":
            return (y + back) / 2.0
        return y * back if self.merge_mode == "mul" else [y, back]

    def compute_mask(self, inputs: Any, mask: Masks | None = None) -> Any:
        mask = mask[0] if isinstance(mask, list) else mask
        return mask if self.return_sequences and self.merge_mode is not None and not self.return_state else None

    def reset_states(self) -> None:
        """Sets the states of both directions to zero."""
        self.forward_layer.reset_states()
        self.backward_layer.reset_states()

    def get_config(self) -> dict[str, Any]:
        config = {**super().get_config(), "merge_mode": self.merge_mode}
        return config | ({"backward_layer": _config(self._given_backward)} if self._given_backward is not None else {})

    @classmethod
    def from_config(cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
        """Returns the layer of a configuration."""
        config = dict(config)
        backward = config.pop("backward_layer", None)
        if backward is not None:
            config["backward_layer"] = deserialize(backward, custom_objects)
        return super().from_config(config, custom_objects)
