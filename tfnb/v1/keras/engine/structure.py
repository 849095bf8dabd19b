"""Nested lists, tuples and dictionaries of tensors, and what the graph remembers of each tensor.

Invariant: a tensor has the history of the outermost layer that returned it, and at most one mask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from tfnb.ir.tensor import Tensor
from tfnb.v1.keras.graph_api import tf

__all__ = ["flat", "history_of", "is_tensor", "map_structure", "mask_of", "reachable", "set_history", "set_mask"]


def flat(value: object) -> list[Any]:
    """Returns the leaves of a structure, values of dictionaries in the order of their keys."""
    if isinstance(value, Mapping):
        return [leaf for key in sorted(value) for leaf in flat(value[key])]
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in flat(part)]
    return [value]


def map_structure(function: Callable[[Any], Any], value: object) -> Any:
    """Returns a structure like `value` with the function of each leaf."""
    if isinstance(value, Mapping):
        return {key: map_structure(function, part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        parts = [map_structure(function, part) for part in value]
        if isinstance(value, list):
            return parts
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return function(value)


def is_tensor(value: object) -> bool:
    """Returns whether a value is a tensor, a variable or a sparse tensor of a graph."""
    return isinstance(value, (Tensor, tf.SparseTensor)) or hasattr(value, "__tensor__")


def as_tensor(value: object) -> Any:
    """Returns arrays and numbers as constants of the default graph, and everything else unchanged."""
    return tf.constant(value) if isinstance(value, (np.ndarray, float, int)) and not isinstance(value, bool) else value


def _table(tensor: object, key: str) -> dict[Any, Any]:
    return tensor.graph.client_state.setdefault(key, {}) if hasattr(tensor, "graph") else {}


def history_of(tensor: object) -> Any:
    """Returns (layer, number of the call, number of the output) of a tensor that a layer returned, or None."""
    return _table(tensor, "keras history").get(_key(tensor))


def set_history(tensor: object, layer: object, node_index: int, tensor_index: int) -> None:
    """Remembers which call of which layer returned the tensor."""
    _table(tensor, "keras history")[_key(tensor)] = (layer, node_index, tensor_index)


def mask_of(tensor: object) -> Any:
    """Returns the mask of a tensor, or None."""
    return _table(tensor, "keras masks").get(_key(tensor))


def set_mask(tensor: object, mask: object) -> None:
    """Remembers the mask of a tensor."""
    if is_tensor(tensor):
        _table(tensor, "keras masks")[_key(tensor)] = mask


def _key(tensor: object) -> Tensor | int:
    return tensor if isinstance(tensor, Tensor) else id(tensor)


def reachable(inputs: Iterable[Any]) -> set[Any]:
    """Returns the operations that depend on any of the `inputs`."""
    found: set[Any] = set()
    waiting = [t.op for t in inputs if isinstance(t, Tensor)]
    while waiting:
        op = waiting.pop()
        if op not in found:
            found.add(op)
            waiting += [consumer for output in op.outputs for consumer in output.consumers()]
    return found
