"""All layers and models by name: loading this module makes every class known to `deserialize`.

Invariant: a model from a configuration has the very classes that programs use.
"""

from __future__ import annotations

from tfnb.v1.keras.engine.input_layer import InputLayer
from tfnb.v1.keras.engine.sequential import Sequential
from tfnb.v1.keras.engine.training import Model
from tfnb.v1.keras.layer_registry import deserialize, register, serialize
from tfnb.v1.keras.layers import (
    activations,
    cells,
    convolution,
    core,
    features,
    local,
    merge,
    normalization,
    pooling,
    recurrent,
    recurrent_convolution,
    wrappers,
)

__all__ = ["FAMILIES_OF_LAYERS", "deserialize", "serialize"]

FAMILIES_OF_LAYERS = (
    activations,
    cells,
    convolution,
    core,
    features,
    local,
    merge,
    normalization,
    pooling,
    recurrent,
    recurrent_convolution,
    wrappers,
)
register("Functional", "Network")(Model)
register()(Sequential)
register()(InputLayer)
