"""`tf.keras.layers.Layer`: a function of tensors with weights, which remembers how it was called.

Invariant: weights are created once, by the first call, in a name scope of the layer's name ("dense/kernel").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any

from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.scopes import NameScope
from tfnb.ir.tensor import Tensor
from tfnb.suggestions import did_you_mean
from tfnb.types import DTypeLike, ShapeLike
from tfnb.v1.keras.argument_types import LayerInputs, TrainingFlag
from tfnb.v1.keras.backend.settings import fixed_learning_phase, floatx, unique_name
from tfnb.v1.keras.engine.calls import Context, Node, calling, current_call
from tfnb.v1.keras.engine.input_checks import check_inputs
from tfnb.v1.keras.engine.structure import (
    as_tensor,
    flat,
    history_of,
    is_tensor,
    map_structure,
    mask_of,
    set_history,
    set_mask,
)
from tfnb.v1.keras.engine.weights import WeightsOfLayer
from tfnb.v1.keras.graph_api import tf
from tfnb.v1.keras.serialization import has_arg

__all__ = ["Layer", "record_call", "snake_case"]


def snake_case(name: str) -> str:
    """Returns the name of a class as layers are named: "conv2d_transpose" for Conv2DTranspose."""
    middle = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    text = re.sub(r"([a-z])([A-Z])", r"\1_\2", middle).lower()
    return "private" + text if text.startswith("_") else text


_KEYWORDS = {"input_shape", "batch_input_shape", "batch_size", "weights", "input_dim", "input_dtype", "autocast"}


class Layer(WeightsOfLayer):
    """The base of layers: `build` creates weights, `call` computes, and `layer(inputs)` does both.

    name: by default the class's in small letters, with a number. trainable: whether optimizers change its weights.
    dtype: of the weights, by default that of the inputs. input_shape: the shape without the batch, for the first layer
    of a `Sequential`. Raises `InvalidArgumentError` for an unknown keyword.
    """

    is_input = False

    def __init__(
        self,
        trainable: bool = True,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        unknown = set(kwargs) - _KEYWORDS
        if unknown:
            keyword, known = sorted(unknown)[0], {*_KEYWORDS, *signature(type(self)).parameters}
            raise TypeError(
                f"{type(self).__name__}: Keyword argument not understood: {keyword}{did_you_mean(keyword, known)}"
            )
        self._start_weights()
        self._dynamic, self._trainable = dynamic, bool(trainable)
        self.stateful = self.built = False
        self.supports_masking = False
        self.input_spec: Any = None
        self._name = str(name) if name else unique_name(snake_case(type(self).__name__), zero_based=True)
        self._dtype = None if dtype is None else tf.as_dtype(dtype).name
        self._activity_regularizer: Any = None
        self._inbound_nodes: list[Node] = []
        self._initial_weights = kwargs.get("weights")
        shape = kwargs.get("batch_input_shape")
        if "input_dim" in kwargs and "input_shape" not in kwargs:
            kwargs["input_shape"] = (kwargs["input_dim"],)
        if shape is None and kwargs.get("input_shape") is not None:
            shape = (kwargs.get("batch_size"), *kwargs["input_shape"])
        if shape is not None:
            self._batch_input_shape = tuple(shape)

    # what a subclass defines

    def build(self, input_shape: Any) -> None:
        """Creates the weights, for inputs of the given shape."""
        self.built = True

    def call(self, inputs: Any, **kwargs: Any) -> Any:
        """Returns the outputs, as tensors."""
        return inputs

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Returns the mask of the outputs. Raises `InvalidArgumentError` when the layer does not support a mask."""
        if not self.supports_masking:
            if any(m is not None for m in flat(mask)):
                raise InvalidArgumentError(
                    f"Layer {self.name} does not support masking, but was passed an input_mask: {mask}"
                )
            return None
        return mask

    def compute_output_shape(self, input_shape: ShapeLike) -> Any:
        """Returns the shape of the outputs for inputs of a shape, found by calling the layer in a graph of its own."""
        with tf.Graph().as_default():
            twin = type(self).from_config(self.get_config())
            if isinstance(input_shape, list) and input_shape and not isinstance(input_shape[0], (int, type(None))):
                inputs: Any = [tf.placeholder(self.dtype or floatx(), shape=s) for s in input_shape]
            else:
                inputs = tf.placeholder(self.dtype or floatx(), shape=input_shape)
            return map_structure(lambda t: t.shape, twin(inputs))

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments from which `from_config` makes an equal layer."""
        config: dict[str, Any] = {"name": self.name, "trainable": self.trainable}
        if hasattr(self, "_batch_input_shape"):
            config["batch_input_shape"] = self._batch_input_shape
        config["dtype"] = self.dtype
        return config

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Any:
        """Returns the layer of a configuration."""
        return cls(**config)

    # calling

    def __call__(self, inputs: LayerInputs, *args: Any, **kwargs: Any) -> Any:
        """Returns the outputs of the inputs, tensors or arrays; the first call creates the weights."""
        inputs = map_structure(as_tensor, inputs)
        nested = current_call()
        masks = self._masks_for(inputs, kwargs)
        training = self._training_for(nested, args, kwargs)
        recorded = {k: v for k, v in kwargs.items() if k not in ("training", "mask") or is_tensor(v)}
        check_inputs(self.input_spec if self.built else None, inputs, self.name)
        with calling(self, training), self._scope():
            self._maybe_build(inputs)
            hidden = self._call_arguments(masks, training, args, kwargs)
            outputs = self.call(inputs, *args, **{**kwargs, **hidden})
            if outputs is None:
                raise InvalidArgumentError(
                    f"A layer's `call` method should return a tensor, not None (layer: {self.name})"
                )
            self._add_activity_losses(outputs)
        self._set_masks(inputs, outputs, masks)
        if nested is None or nested.layer is None:
            outputs = record_call(self, inputs, outputs, recorded)
        return outputs

    def apply(self, inputs: LayerInputs, *args: Any, **kwargs: Any) -> Any:
        """Returns the outputs of the inputs: the older name of calling the layer."""
        return self(inputs, *args, **kwargs)

    def _scope(self) -> NameScope:
        return get_default_graph().name_scope(self._name_scope())

    def _name_scope(self) -> str:
        return self.name

    def _maybe_build(self, inputs: object) -> None:
        if self.built:
            return
        check_inputs(self.input_spec, inputs, self.name)
        tensors = [t for t in flat(inputs) if is_tensor(t)]
        if self._dtype is None and tensors:
            dtype = tensors[0].dtype.base_dtype
            self._dtype = dtype.name if dtype.is_floating else floatx()
        shapes = map_structure(lambda t: t.shape if hasattr(t, "shape") else t, inputs)
        with get_default_graph().control_dependencies(None):
            self.build(shapes)
        self.built = True
        if self._initial_weights is not None:
            self.set_weights(self._initial_weights)
            self._initial_weights = None
        check_inputs(self.input_spec, inputs, self.name)

    def _masks_for(self, inputs: object, kwargs: Mapping[str, Any]) -> Any:
        given = kwargs.get("mask")
        if given is not None:
            return given
        masks = map_structure(mask_of, inputs)
        return masks if any(m is not None for m in flat(masks)) else None

    def _training_for(self, outer: Context | None, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if kwargs.get("training") is not None:
            return kwargs["training"]
        return outer.training if outer is not None else None

    def _call_arguments(
        self, masks: object, training: TrainingFlag | None, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> dict[str, Any]:
        hidden: dict[str, Any] = {}
        if masks is not None and kwargs.get("mask") is None and has_arg(self.call, "mask"):
            hidden["mask"] = masks
        if has_arg(self.call, "training") and kwargs.get("training") is None and not args:
            # A layer that is told nothing takes its own default, or asks for the learning phase.
            chosen = fixed_learning_phase() if training is None else training
            if chosen is not None:
                hidden["training"] = chosen
        return hidden

    def _set_masks(self, inputs: object, outputs: object, masks: object) -> None:
        if all(mask_of(t) is not None for t in flat(outputs) if is_tensor(t)) and not self._computes_mask():
            return
        found = self.compute_mask(inputs, masks)
        if found is None:
            return
        results = flat(outputs)
        for tensor, mask in zip(results, flat(found) if len(results) > 1 else [found], strict=False):
            if isinstance(mask, list):
                mask = mask[0] if mask else None
            if mask is not None:
                set_mask(tensor, mask)

    def _computes_mask(self) -> bool:
        return self.supports_masking or type(self).compute_mask is not Layer.compute_mask

    def _add_activity_losses(self, outputs: object) -> None:
        if self._activity_regularizer is None:
            return
        for y in flat(outputs):
            batch = tf.cast(tf.shape(y)[0], y.dtype)
            with get_default_graph().name_scope("ActivityRegularizer"):
                self.add_loss(self._activity_regularizer(y) / batch, inputs=True)

    # names and shapes

    @property
    def name(self) -> str:
        """The name, unique among the layers of a model."""
        return self._name

    @property
    def dtype(self) -> str | None:
        """The name of the dtype of the weights, or None before the first call."""
        return self._dtype

    @property
    def dynamic(self) -> bool:
        """Whether the layer asked to run outside graphs."""
        return self._dynamic

    @property
    def activity_regularizer(self) -> Any:
        """The regulariser of the outputs, or None."""
        return self._activity_regularizer

    @activity_regularizer.setter
    def activity_regularizer(self, regularizer: Callable[..., Any] | None) -> None:
        self._activity_regularizer = regularizer

    @property
    def inbound_nodes(self) -> list[Node]:
        """The calls of the layer on tensors with a history."""
        return self._inbound_nodes

    def _node(self, index: int) -> Node:
        if index >= len(self._inbound_nodes):
            raise AttributeError(f"The layer {self.name} has been called {len(self._inbound_nodes)} times on inputs")
        return self._inbound_nodes[index]

    def _only(self, what: str) -> Node:
        if len(self._inbound_nodes) > 1:
            shapes = {str([t.shape.as_list() for t in flat(getattr(n, what))]) for n in self._inbound_nodes}
            if len(shapes) > 1 or what != "shapes":
                raise AttributeError(
                    f'Layer {self.name} has multiple inbound nodes, hence the notion of "layer {what}" is ill-defined. '
                    f"Use `get_{what[:-1]}_at(node_index)` instead."
                )
        return self._node(0)

    @property
    def input(self) -> Any:
        """The inputs of the only call."""
        return self._only("inputs").inputs

    @property
    def output(self) -> Any:
        """The outputs of the only call."""
        return self._only("outputs").outputs

    @property
    def input_shape(self) -> Any:
        """The shape of the inputs, a tuple or a list of them."""
        return _shapes(self._node(0).inputs)

    @property
    def output_shape(self) -> Any:
        """The shape of the outputs, a tuple or a list of them."""
        return _shapes(self._node(0).outputs)

    @property
    def input_mask(self) -> Any:
        """The mask of the inputs of the only call."""
        return map_structure(mask_of, self.input)

    @property
    def output_mask(self) -> Any:
        """The mask of the outputs of the only call."""
        return map_structure(mask_of, self.output)

    def get_input_at(self, node_index: int) -> Any:
        """Returns the inputs of the call of this number."""
        return self._node(node_index).inputs

    def get_output_at(self, node_index: int) -> Any:
        """Returns the outputs of the call of this number."""
        return self._node(node_index).outputs

    def get_input_shape_at(self, node_index: int) -> Any:
        """Returns the shape of the inputs of the call of this number."""
        return _shapes(self._node(node_index).inputs)

    def get_output_shape_at(self, node_index: int) -> Any:
        """Returns the shape of the outputs of the call of this number."""
        return _shapes(self._node(node_index).outputs)

    def get_input_mask_at(self, node_index: int) -> Any:
        """Returns the mask of the inputs of the call of this number."""
        return map_structure(mask_of, self._node(node_index).inputs)

    def get_output_mask_at(self, node_index: int) -> Any:
        """Returns the mask of the outputs of the call of this number."""
        return map_structure(mask_of, self._node(node_index).outputs)


def _shapes(tensors: object) -> Any:
    shapes = map_structure(lambda t: tuple(t.shape.as_list()), tensors)
    return shapes[0] if isinstance(shapes, list) and len(shapes) == 1 else shapes


def record_call(layer: Layer, inputs: object, outputs: Any, arguments: Mapping[str, Any]) -> Any:
    """Remembers a call whose inputs have a history, and returns the outputs, copied where they are inputs."""
    given = [t for t in flat(inputs) if is_tensor(t)]
    if not given or (not layer.is_input and not any(_has_keras_source(t) for t in given)):
        return outputs
    same = {id(t) for t in given}
    if not layer.is_input:
        outputs = map_structure(lambda t: _copied(t) if id(t) in same else t, outputs)
    node = Node(layer, inputs, outputs, arguments)
    layer._inbound_nodes.append(node)
    for i, tensor in enumerate(node.output_tensors):
        set_history(tensor, layer, len(layer._inbound_nodes) - 1, i)
    return outputs


def _copied(tensor: Tensor) -> Tensor:
    copy = tf.identity(tensor)
    if mask_of(tensor) is not None:
        set_mask(copy, mask_of(tensor))
    return copy


def _has_keras_source(tensor: object) -> bool:
    """Returns whether the tensor comes from an `Input`, by layers or by operations of the graph."""
    if history_of(tensor) is not None:
        return True
    known = tensor.graph.client_state.get("keras history") if hasattr(tensor, "graph") else None
    if not known or not hasattr(tensor, "op"):
        return False
    seen, waiting = set(), [tensor.op]
    while waiting:
        op = waiting.pop()
        if op in seen:
            continue
        seen.add(op)
        for t in op.inputs:
            if t in known:
                return True
            waiting.append(t.op)
    return False
