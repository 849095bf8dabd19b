"""Models of calls from configurations, and copies of them with other layers.

Invariant: the k-th call of a layer in the configuration is the k-th call of the new layer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfnb.errors import InvalidArgumentError
from tfnb.v1.keras.engine.network import Network
from tfnb.v1.keras.engine.structure import flat, map_structure

__all__ = ["built", "copied_graph"]


def copied_graph(model: Network, inputs: Sequence[Any], copy: Callable[[Any], Any]) -> tuple[list[Any], list[Any]]:
    """Returns (inputs, outputs) of the calls of `model` on other inputs, by copies of its layers."""
    values = {id(old): new for old, new in zip(model._in, inputs, strict=True)}
    copies: dict[int, Any] = {}
    for node in model._calls:
        if node.layer.is_input:
            continue
        layer = copies.setdefault(id(node.layer), None) or copy(node.layer)
        copies[id(node.layer)] = layer
        given = map_structure(lambda t: values.get(id(t), t), node.inputs)
        arguments = map_structure(lambda t: values.get(id(t), t), node.arguments)
        for old, new in zip(node.output_tensors, flat(layer(given, **arguments)), strict=True):
            values[id(old)] = new
    return list(inputs), [values[id(t)] for t in model._out]


class _Builder:
    """Calls layers as a configuration says, each as soon as the layers before it have been called."""

    def __init__(self, config: Mapping[str, Any], make: Callable[[Any], Any]) -> None:
        self.layers = {entry["name"]: make(entry) for entry in config["layers"]}
        self.waiting = {entry["name"]: list(entry["inbound_nodes"]) for entry in config["layers"]}
        self.outputs: dict[tuple[str, int, int], Any] = {}
        for name, layer in self.layers.items():
            if layer.is_input:
                self._note(name, 0, layer.input_tensor)

    def _note(self, name: str, number: int, outputs: object) -> None:
        for i, tensor in enumerate(flat(outputs)):
            self.outputs[(name, number, i)] = tensor

    def build(self) -> None:
        done = dict.fromkeys(self.layers, 0)
        while any(self.waiting.values()):
            called = False
            for name, calls in self.waiting.items():
                while calls and self._ready(calls[0]):
                    self._note(name, done[name], self._call(self.layers[name], calls.pop(0)))
                    done[name] += 1
                    called = True
            if not called:
                names = [name for name, calls in self.waiting.items() if calls]
                raise InvalidArgumentError(f"the configuration connects {names} in a circle, or to missing layers")

    def _ready(self, call: Sequence[Any]) -> bool:
        places = [tuple(place[:3]) for place in call]
        places += [p for place in call if len(place) > 3 for p in self._places_in(place[3])]
        return all(place in self.outputs for place in places)

    def _places_in(self, arguments: Any) -> list[tuple[str, int, int]]:
        if isinstance(arguments, Mapping):
            return [p for value in arguments.values() for p in self._places_in(value)]
        if self._is_place(arguments):
            return [tuple(arguments)]
        if isinstance(arguments, (list, tuple)):
            return [p for value in arguments for p in self._places_in(value)]
        return []

    def _is_place(self, value: Any) -> bool:
        if not isinstance(value, (list, tuple)) or len(value) != 3 or not isinstance(value[0], str):
            return False
        return value[0] in self.layers

    def _resolved(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {k: self._resolved(v) for k, v in value.items()}
        if self._is_place(value):
            return self.outputs[tuple(value)]
        return [self._resolved(v) for v in value] if isinstance(value, (list, tuple)) else value

    def _call(self, layer: Callable[..., Any], call: Sequence[Any]) -> Any:
        tensors = [self.outputs[tuple(place[:3])] for place in call]
        arguments: dict[str, Any] = {}
        for place in call:
            arguments.update(self._resolved(place[3]) if len(place) > 3 else {})
        return layer(tensors[0] if len(tensors) == 1 else tensors, **arguments)


def built(config: Mapping[str, Any], make: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Returns (inputs, outputs) of a configuration of `Network.get_config`; `make` makes a layer of an entry."""
    builder = _Builder(config, make)
    builder.build()
    ins = [builder.outputs[tuple(place)] for place in config["input_layers"]]
    outs = [builder.outputs[tuple(place)] for place in config["output_layers"]]
    return ins[0] if len(ins) == 1 else ins, outs[0] if len(outs) == 1 else outs
