"""The settings of Keras (`floatx`, `epsilon`, `image_data_format`), the numbers of names, and the learning phase.

Invariant: settings are the process's; numbers of names and learning phases belong to a graph.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.v1.keras.argument_types import TrainingFlag
from tfnb.v1.keras.graph_api import graph_state, tf

__all__ = [
    "backend",
    "cast_to_floatx",
    "data_format_of",
    "epsilon",
    "fixed_learning_phase",
    "floatx",
    "get_uid",
    "image_data_format",
    "learning_phase",
    "learning_phase_scope",
    "reset_uids",
    "set_epsilon",
    "set_floatx",
    "set_image_data_format",
    "set_learning_phase",
    "symbolic_learning_phase",
    "unique_name",
]

_SETTINGS: dict[str, Any] = {"floatx": "float32", "epsilon": 1e-7, "image_data_format": "channels_last"}


def backend() -> str:
    """Returns the name of the backend, "tensorflow"."""
    return "tensorflow"


def epsilon() -> float:
    """Returns the small number that keeps divisions and logarithms finite."""
    return float(_SETTINGS["epsilon"])


def set_epsilon(value: float) -> None:
    """Sets the small number that keeps divisions and logarithms finite."""
    _SETTINGS["epsilon"] = float(value)


def floatx() -> str:
    """Returns the name of the default dtype of weights and inputs, such as "float32"."""
    return str(_SETTINGS["floatx"])


def set_floatx(value: str) -> None:
    """Sets the default dtype: "float16", "float32" or "float64". Raises `InvalidArgumentError` for another."""
    if value not in ("float16", "float32", "float64"):
        raise InvalidArgumentError(f"Unknown floatx type: {value}")
    _SETTINGS["floatx"] = str(value)


def cast_to_floatx(x: TensorLike) -> Tensor | np.ndarray:
    """Returns the array, or the tensor, `x` with the default dtype."""
    if hasattr(x, "graph"):
        return tf.cast(x, floatx())
    return np.asarray(x, dtype=floatx())


def image_data_format() -> str:
    """Returns the default layout of images, "channels_last" or "channels_first"."""
    return str(_SETTINGS["image_data_format"])


def set_image_data_format(data_format: str) -> None:
    """Sets the default layout of images. Raises `InvalidArgumentError` for an unknown one."""
    _SETTINGS["image_data_format"] = data_format_of(str(data_format))


def data_format_of(value: str | None) -> str:
    """Returns the layout `value`, or the default one for None. Raises `InvalidArgumentError` for an unknown one."""
    value = image_data_format() if value is None else value.lower()
    if value not in ("channels_first", "channels_last"):
        raise InvalidArgumentError(f"Unknown data_format: {value}; needed channels_first or channels_last")
    return value


def get_uid(prefix: str = "") -> int:
    """Returns the next number for `prefix` in the default graph, from 1."""
    numbers = graph_state("uids", lambda: defaultdict(int))
    numbers[prefix] += 1
    return int(numbers[prefix])


def reset_uids() -> None:
    """Begins the numbers of names in the default graph anew."""
    graph_state("uids", lambda: defaultdict(int)).clear()


def unique_name(base: str, zero_based: bool = False) -> str:
    """Returns a name of a layer or model that the default graph has not given yet: "dense", "dense_1"."""
    number = get_uid(base) - (1 if zero_based else 0)
    return f"{base}_{number}" if number or not zero_based else base


def symbolic_learning_phase() -> Tensor:
    """Returns the default graph's placeholder of the learning phase, a boolean scalar that is False unless fed."""
    graph = get_default_graph()

    def make() -> Tensor:
        with graph.control_dependencies(None), graph.name_scope(None):
            return tf.placeholder_with_default(False, shape=(), name="keras_learning_phase")

    return graph_state("learning phase", make)


def fixed_learning_phase() -> int | None:
    """Returns the number that `set_learning_phase` has set for the default graph, or None."""
    fixed = graph_state("fixed learning phase", list)
    return fixed[0] if fixed else None


def learning_phase() -> TrainingFlag:
    """Returns the learning phase: the number that `set_learning_phase` has set, or the placeholder of the graph."""
    fixed = fixed_learning_phase()
    return symbolic_learning_phase() if fixed is None else fixed


def set_learning_phase(value: int | bool) -> None:
    """Fixes the learning phase of the default graph: 0 for testing, 1 for training.

    Raises `InvalidArgumentError` for another value.
    """
    if value not in (0, 1):
        raise InvalidArgumentError(f"Expected learning phase to be 0 or 1, got {value!r}")
    graph_state("fixed learning phase", list)[:] = [int(value)]


@contextmanager
def learning_phase_scope(value: int | bool) -> Iterator[None]:
    """Fixes the learning phase within the block, and puts the earlier one back afterwards."""
    fixed = graph_state("fixed learning phase", list)
    before = list(fixed)
    set_learning_phase(value)
    try:
        yield
    finally:
        fixed[:] = before
