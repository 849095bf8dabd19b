"""A model as a graph of layers: its calls in the order of dependence, called again on other tensors, and its weights.

Invariant: `layers` are in TensorFlow's order (by depth, then by first visit), and so are weights in files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor
from tfnb.types import ShapeLike
from tfnb.v1.keras.argument_types import Masks, TrainingFlag
from tfnb.v1.keras.backend.settings import unique_name
from tfnb.v1.keras.engine.base_layer import Layer, snake_case
from tfnb.v1.keras.engine.calls import Node
from tfnb.v1.keras.engine.input_layer import complete_history
from tfnb.v1.keras.engine.structure import flat, history_of, is_tensor, map_structure, set_mask

__all__ = ["Network"]


class Network(Layer):
    """A layer made of layers: from `inputs` to `outputs` that layers compute, or with a `call` of a subclass."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        inputs, outputs, name = _arguments(args, kwargs)
        default = snake_case(type(self).__name__)
        super().__init__(trainable=kwargs.pop("trainable", True), name=name or unique_name(default, zero_based=True))
        self.supports_masking = True
        self._is_graph = False
        if inputs is not None:
            self._set_graph(inputs, outputs)

    def _set_graph(self, inputs: Any, outputs: Any) -> None:
        """Takes the calls between the tensors `inputs` and `outputs` as the model."""
        self._structures = (inputs, outputs)
        self._in, self._out = flat(inputs), flat(outputs)
        for t in self._in:
            history = history_of(t)
            if history is None:
                raise InvalidArgumentError(
                    f"Input tensors to a Model must come from `tf.keras.Input`. Received: {t} (missing previous layer "
                    "metadata)."
                )
        _complete_all(self._out)
        for t in self._out:
            if history_of(t) is None:
                raise InvalidArgumentError(
                    f"Output tensors to a Model must be the output of a TensorFlow `Layer`. Found: {t}"
                )
        self._calls, self._layers = _ordered(self._in, self._out)
        names = [layer.name for layer in self._layers]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise InvalidArgumentError(
                f'The name "{twice[0]}" is used {names.count(twice[0])} times in the model. '
                "All layer names should be unique."
            )
        self._is_graph = self.built = True
        self.stateful = any(layer.stateful for layer in self._layers)
        self.input_names = [history_of(t)[0].name for t in self._in]
        self.output_names = _unique([history_of(t)[0].name for t in self._out])

    # layers and weights

    @property
    def layers(self) -> list[Any]:
        """The layers of the model."""
        return [layer for layer in self._layers if isinstance(layer, Layer)]

    def get_layer(self, name: str | None = None, index: int | None = None) -> Layer:
        """Returns the layer of a name or a number. Raises `InvalidArgumentError` when there is none."""
        if index is not None:
            if index >= len(self.layers):
                raise InvalidArgumentError(
                    f"Was asked to retrieve layer at index {index} but model only has {len(self.layers)} layers."
                )
            return self.layers[index]
        if not name:
            raise InvalidArgumentError("Provide either a layer name or layer index.")
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise InvalidArgumentError(f"No such layer: {name}")

    @property
    def weights(self) -> list[Any]:
        """The weights of all layers, layer by layer."""
        self._need_weights()
        own = [*self._trainable_weights, *self._non_trainable_weights]
        found = [*(w for layer in self._layers for w in layer.weights), *own]
        return list({id(w): w for w in found}.values())

    def _need_weights(self) -> None:
        if not self.built and not self._layers:
            raise InvalidArgumentError(
                f"Weights for model {self.name} have not yet been created. Weights are created when the Model is first "
                "called on inputs or `build()` is called with an `input_shape`."
            )

    def get_weights(self) -> list[Any]:
        """Returns the values of all weights, layer by layer."""
        return super().get_weights()

    def reset_states(self) -> None:
        """Sets the states of the stateful recurrent layers to zero."""
        for layer in self.layers:
            if hasattr(layer, "reset_states") and layer.stateful:
                layer.reset_states()

    @property
    def state_updates(self) -> list[Any]:
        """The updates of stateful layers, which also run when predicting."""
        return [u for layer in self.layers if layer.stateful for u in layer.updates]

    # inputs and outputs

    @property
    def inputs(self) -> list[Any]:
        """The input tensors."""
        return list(self._in) if self._is_graph else getattr(self, "_fed_inputs", [])

    @property
    def outputs(self) -> list[Any]:
        """The output tensors."""
        return list(self._out) if self._is_graph else getattr(self, "_fed_outputs", [])

    @property
    def input(self) -> Any:
        """The input tensor, or the structure of them."""
        return self._structures[0] if self._is_graph and hasattr(self, "_structures") else _single(self.inputs)

    @property
    def output(self) -> Any:
        """The output tensor, or the structure of them."""
        return self._structures[1] if self._is_graph and hasattr(self, "_structures") else _single(self.outputs)

    @property
    def input_shape(self) -> Any:
        """The shape of the inputs, a tuple or a list of them."""
        return _single([tuple(t.shape.as_list()) for t in self.inputs])

    @property
    def output_shape(self) -> Any:
        """The shape of the outputs, a tuple or a list of them."""
        return _single([tuple(t.shape.as_list()) for t in self.outputs])

    # calling

    def call(self, inputs: Any, training: TrainingFlag | None = None, mask: Masks | None = None) -> Any:  # type: ignore[override]
        """Returns the outputs for other inputs, by calling each layer again."""
        if not self._is_graph:
            raise InvalidArgumentError(f"{type(self).__name__}: a subclass of Model must define `call`")
        values: dict[Any, Any] = {}
        given = flat(inputs)
        masks = flat(mask) if mask is not None else [None] * len(given)
        if len(given) != len(self._in):
            raise InvalidArgumentError(f"{self.name} has {len(self._in)} inputs, and was called with {len(given)}")
        for old, new, its_mask in zip(self._in, given, masks, strict=True):
            values[id(old)] = new
            if its_mask is not None:
                set_mask(new, its_mask)
        for node in self._calls:
            if node.layer.is_input:
                for t in node.output_tensors:
                    values.setdefault(id(t), t)
                continue
            new_inputs = map_structure(lambda t: values.get(id(t), t), node.inputs)
            arguments = map_structure(lambda t: values.get(id(t), t), node.arguments)
            outputs = flat(node.layer(new_inputs, **arguments))
            for old, new in zip(node.output_tensors, outputs, strict=True):
                values[id(old)] = new
        return map_structure(lambda t: values[id(t)], self._structures[1])

    def compute_mask(self, inputs: Any, mask: Masks | None = None) -> None:
        """Returns the masks of the outputs, which the call has found."""
        return None

    def _set_masks(self, inputs: object, outputs: object, masks: object) -> None:
        if self._is_graph:
            return
        super()._set_masks(inputs, outputs, masks)

    def compute_output_shape(self, input_shape: ShapeLike) -> Any:
        """Returns the shape of the outputs for inputs of a shape."""
        if not self._is_graph:
            return super().compute_output_shape(input_shape)
        shapes = input_shape if isinstance(input_shape, list) else [input_shape]
        known: dict[int, Any] = {id(t): tuple(s) for t, s in zip(self._in, shapes, strict=True)}
        for node in self._calls:
            if node.layer.is_input:
                continue
            given = [known[id(t)] for t in node.input_tensors]
            found = node.layer.compute_output_shape(given if len(given) > 1 else given[0])
            found = found if isinstance(found, list) else [found]
            for t, s in zip(node.output_tensors, found, strict=True):
                known[id(t)] = tuple(s.as_list() if hasattr(s, "as_list") else s)
        return _single([known[id(t)] for t in self._out])

    def build(self, input_shape: ShapeLike | Mapping[str, Any] = None) -> None:
        """Creates the weights of a model that is defined by `call`, for inputs of a shape with the batch."""
        if self._is_graph or input_shape is None or _is_placeholder_shape(input_shape):
            self.built = True

    # configuration

    def get_config(self) -> dict[str, Any]:
        """Returns the layers and their connections. Raises `NotImplementedError` for a model with its own `call`."""
        if not self._is_graph:
            raise NotImplementedError(f"{type(self).__name__}: a model that is defined by `call` has no configuration")
        kept = {id(n) for n in self._calls}
        numbers = {
            id(node): sum(id(other) in kept for other in node.layer._inbound_nodes[:i])
            for layer in self._layers
            for i, node in enumerate(layer._inbound_nodes)
            if id(node) in kept
        }

        def place(t: Tensor) -> list[Any]:
            layer, node_index, tensor_index = history_of(t)
            return [layer.name, numbers[id(layer._inbound_nodes[node_index])], tensor_index]

        layers = []
        for layer in self._layers:
            calls = []
            for node in layer._inbound_nodes:
                if id(node) in kept and not layer.is_input:
                    arguments = {k: _plain(v, place) for k, v in node.arguments.items()}
                    calls.append([[*place(t), arguments] for t in node.input_tensors])
            entry = {"name": layer.name, "class_name": type(layer).__name__, "config": layer.get_config()}
            layers.append({**entry, "inbound_nodes": calls})
        ins, outs = [place(t) for t in self._in], [place(t) for t in self._out]
        return {"name": self.name, "layers": layers, "input_layers": ins, "output_layers": outs}


def _plain(value: object, place: Callable[[Tensor], list[Any]]) -> Any:
    """Returns an argument of a call for a configuration: a tensor as the place that it comes from."""
    return map_structure(lambda v: place(v) if is_tensor(v) and history_of(v) else v, value)


def _is_placeholder_shape(shape: object) -> bool:
    return hasattr(shape, "as_list") or isinstance(shape, (list, tuple, dict))


def _single(values: Sequence[Any]) -> Any:
    return values[0] if len(values) == 1 else list(values)


def _unique(names: Iterable[str]) -> list[str]:
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name}_{seen[name] - 1}")
    return result


def _arguments(args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, Any, str | None]:
    given = dict(zip(("inputs", "outputs", "name"), args, strict=False))
    inputs = given.get("inputs", kwargs.get("inputs", kwargs.get("input")))
    outputs = given.get("outputs", kwargs.get("outputs", kwargs.get("output")))
    unknown = set(kwargs) - {"inputs", "outputs", "input", "output", "name", "trainable"}
    if unknown:
        raise TypeError(f"Model: unknown keyword arguments {sorted(unknown)}")
    if (inputs is None) != (outputs is None):
        raise InvalidArgumentError("Model: needed both inputs and outputs")
    return inputs, outputs, given.get("name", kwargs.get("name"))


def _complete_all(outputs: Sequence[Any]) -> None:
    """Gives a history to all tensors between layers that operations of the graph compute."""
    seen: set[int] = set()
    waiting = list(outputs)
    while waiting:
        t = waiting.pop()
        complete_history([t])
        history = history_of(t)
        if history is None:
            continue
        node = history[0]._inbound_nodes[history[1]]
        if id(node) not in seen:
            seen.add(id(node))
            waiting += [v for v in (*node.input_tensors, *flat(node.arguments)) if is_tensor(v) and v is not t]


def _ordered(inputs: Sequence[Any], outputs: Sequence[Any]) -> tuple[list[Node], list[Any]]:
    """Returns the calls in the order of dependence, and the layers by depth."""
    visited, numbers = _visited(inputs, outputs)
    depths: dict[Node, int] = {}
    of_layer: dict[Any, int] = {}
    for node in reversed(visited):
        depth = max(depths.setdefault(node, 0), of_layer.get(id(node.layer), 0))
        of_layer[id(node.layer)] = depths[node] = depth
        for _, (layer, index, _) in node.sources():
            before = layer._inbound_nodes[index]
            depths[before] = max(depth + 1, depths.get(before, 0))
    by_id = {id(node.layer): node.layer for node in visited}
    for t in inputs:
        layer = history_of(t)[0]
        if id(layer) not in of_layer:
            of_layer[id(layer)], numbers[id(layer)], by_id[id(layer)] = 0, -1, layer
            visited.insert(0, layer._inbound_nodes[0])
            depths[layer._inbound_nodes[0]] = 0
    layers = sorted(by_id.values(), key=lambda layer: (-of_layer[id(layer)], numbers[id(layer)]))
    return visited, layers


def _visited(inputs: Sequence[Any], outputs: Sequence[Any]) -> tuple[list[Node], dict[int, int]]:
    """Returns the calls that the outputs need, each after those that it needs, and the number of each layer's visit."""
    order: list[Node] = []
    numbers: dict[int, int] = {}
    done: set[int] = set()
    ends = {id(t) for t in inputs}

    def node_of(history: tuple[Any, int, int]) -> Node:
        return history[0]._inbound_nodes[history[1]]

    for output in outputs:
        stack: list[tuple[Node, Any]] = []

        def enter(node: Node, stack: list[Any] = stack) -> None:
            numbers.setdefault(id(node.layer), len(numbers))
            stack.append((node, iter(node.sources())))

        first = node_of(history_of(output))
        if id(first) not in done:
            enter(first)
        while stack:
            node, sources = stack[-1]
            following = next(sources, None)
            if following is None:
                stack.pop()
                if id(node) not in done:
                    done.add(id(node))
                    order.append(node)
                continue
            tensor, history = following
            before = node_of(history)
            if id(before) in done or (id(tensor) in ends and not before.layer.is_input):
                continue
            if any(before is n for n, _ in stack):
                raise InvalidArgumentError(f"The tensor {tensor} at layer {before.layer.name} is part of a cycle.")
            if before.layer.is_input and id(before.output_tensors[0]) not in ends:
                raise InvalidArgumentError(
                    f'Graph disconnected: cannot obtain value for tensor {tensor} at layer "{before.layer.name}".'
                )
            enter(before)
    return order, numbers
