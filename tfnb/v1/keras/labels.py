"""Arrays of labels, kernels of other libraries, and the tensors that models begin with (`tf.keras.utils`).

Invariant: the functions of arrays leave the arrays that they are given as they were.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from tfnb.v1.argument_types import TensorOrVariable
from tfnb.v1.keras.backend.values import batch_get_value, batch_set_value
from tfnb.v1.keras.engine.base_layer import Layer
from tfnb.v1.keras.engine.network import Network
from tfnb.v1.keras.engine.structure import flat, history_of

__all__ = ["convert_all_kernels_in_model", "get_source_inputs", "normalize", "to_categorical"]


def to_categorical(y: ArrayLike, num_classes: int | None = None, dtype: npt.DTypeLike = "float32") -> np.ndarray:
    """Returns rows with a 1 at each class number and zeros elsewhere."""
    y = np.array(y, dtype="int")
    shape = y.shape[:-1] if y.ndim > 1 and y.shape[-1] == 1 else y.shape
    numbers = y.ravel()
    result = np.zeros((len(numbers), num_classes or int(np.max(numbers)) + 1), dtype=dtype)
    result[np.arange(len(numbers)), numbers] = 1
    return result.reshape((*shape, result.shape[1]))


def normalize(x: ArrayLike, axis: int = -1, order: int = 2) -> np.ndarray:
    """Returns an array divided by its lengths along `axis`."""
    lengths = np.atleast_1d(np.linalg.norm(x, order, axis))
    lengths[lengths == 0] = 1
    return np.asarray(x / np.expand_dims(lengths, axis))


def get_source_inputs(tensor: TensorOrVariable, layer: Layer | None = None, node_index: int | None = None) -> list[Any]:
    """Returns the inputs from which layers compute a tensor."""
    history = history_of(tensor)
    if layer is None:
        if history is None:
            return [tensor]
        layer, node_index = history[0], history[1]
    node = layer._inbound_nodes[node_index or 0]
    if layer.is_input:
        return flat(node.inputs)
    found: list[Any] = []
    for t in node.input_tensors:
        found += [s for s in get_source_inputs(t) if not any(s is f for f in found)]
    return found


def convert_all_kernels_in_model(model: Network) -> None:
    """Turns the kernels of all convolutions of a model around, as weights between Theano and TensorFlow need it."""
    turned = {"Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose"}
    pairs = []
    for layer in model.layers:
        if type(layer).__name__ in turned:
            value = batch_get_value([layer.kernel])[0]
            pairs.append((layer.kernel, np.flip(value, tuple(range(value.ndim - 2)))))
    batch_set_value(pairs)
