"""Weights and models in HDF5 files, as Keras writes them, where the package h5py is installed.

Invariant: groups are named after layers, and datasets after weights, in the order of the attribute `weight_names`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, UnimplementedError
from tfnb.v1.keras.backend.values import batch_get_value, batch_set_value

try:
    import h5py
except ImportError:  # an optional dependency
    h5py = None

__all__ = ["HDF5Matrix", "is_hdf5_name", "load_weights_from_group", "open_file", "save_weights_to_group"]


def is_hdf5_name(path: str) -> bool:
    """Returns whether a file's name says that it is HDF5."""
    return path.endswith((".h5", ".hdf5", ".keras"))


def open_file(path: str, mode: str) -> Any:
    """Returns the opened file. Raises `UnimplementedError` without h5py."""
    if h5py is None:
        raise UnimplementedError(
            f"{path}: HDF5 files need the package h5py (pip install h5py); a name without .h5 is saved as a checkpoint"
        )
    return h5py.File(path, mode)


def _text(value: object) -> str:
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def save_weights_to_group(group: Any, layers: Sequence[Any]) -> None:
    """Writes the weights of layers into a group of a file."""
    group.attrs["layer_names"] = [layer.name.encode() for layer in layers]
    group.attrs["backend"], group.attrs["keras_version"] = b"tensorflow", b"2.2.4-tf"
    for layer in layers:
        inner = group.create_group(layer.name)
        weights = layer.weights
        inner.attrs["weight_names"] = [w.name.encode() for w in weights]
        for weight, value in zip(weights, batch_get_value(weights), strict=True):
            inner.create_dataset(weight.name, data=value)


def load_weights_from_group(group: Any, layers: Sequence[Any], by_name: bool, skip_mismatch: bool = False) -> None:
    """Sets the weights of layers, in their order or by the layers' names.

    Raises `InvalidArgumentError` when the numbers of layers or weights, or shapes, do not match.
    """
    names = [_text(n) for n in group.attrs["layer_names"]]
    names = [n for n in names if len(group[n].attrs["weight_names"])]
    mine = [layer for layer in layers if layer.weights]
    if by_name:
        pairs = [(layer, n) for n in names for layer in mine if layer.name == n]
    elif len(names) != len(mine):
        raise InvalidArgumentError(
            f"You are trying to load a weight file containing {len(names)} layers into a model with {len(mine)} layers."
        )
    else:
        pairs = list(zip(mine, names, strict=True))
    found = []
    for layer, name in pairs:
        values = [np.asarray(group[name][_text(w)]) for w in group[name].attrs["weight_names"]]
        weights = layer.weights
        shapes = [tuple(w.shape.as_list()) for w in weights]
        if [v.shape for v in values] != shapes:
            if skip_mismatch:
                continue
            raise InvalidArgumentError(
                f"Layer {layer.name} has weights of {shapes}, the file {[v.shape for v in values]}"
            )
        found += list(zip(weights, values, strict=True))
    batch_set_value(found)


class HDF5Matrix:
    """A dataset of an HDF5 file as an array that is read where it is indexed, from row `start` to `end`.

    Raises `UnimplementedError` without h5py.
    """

    def __init__(
        self,
        datapath: str,
        dataset: str,
        start: int = 0,
        end: int | None = None,
        normalizer: Callable[[Any], Any] | None = None,
    ) -> None:
        self.data = open_file(datapath, "r")[dataset]
        self.start, self.end, self.normalizer = start, self.data.shape[0] if end is None else end, normalizer

    def __len__(self) -> int:
        return int(self.end - self.start)

    def __getitem__(self, key: int | slice | Sequence[int] | np.ndarray) -> Any:
        if isinstance(key, slice):
            first, last, _ = key.indices(len(self))
            index: Any = slice(self.start + first, self.start + last)
        elif isinstance(key, (int, np.integer)):
            index = self.start + int(key)
        else:
            index = [self.start + int(i) for i in key]
        value = self.data[index]
        return value if self.normalizer is None else self.normalizer(value)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the rows."""
        return (len(self), *self.data.shape[1:])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the file."""
        return self.data.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape))


def json_of(value: object) -> str:
    """Returns a configuration as JSON, where numbers of NumPy become numbers and tuples lists."""
    return json.dumps(value, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if hasattr(value, "as_list"):
        return value.as_list()
    if hasattr(value, "as_numpy_dtype"):
        return value.name
    if hasattr(value, "get_config"):
        return {"class_name": type(value).__name__, "config": value.get_config()}
    if hasattr(value, "__name__"):
        return value.__name__
    raise TypeError(f"Not JSON Serializable: {value!r}")
