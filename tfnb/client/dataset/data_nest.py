"""`tensorflow.python.data.util.nest`: structures of the elements of data sets, tuples and dicts.

Unlike in `tf.nest`, a list is a leaf, since a data set makes a tensor of it, and so is the value of a sparse tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfnb.client.graph import nest_functions as nest
from tfnb.ir.sparse import SparseTensorValue

__all__ = ["API"]


class _Hidden:
    """A leaf that `tf.nest` would take apart."""

    def __init__(self, value: object) -> None:
        self.value = value


def _hide(structure: object) -> Any:
    if isinstance(structure, (list, SparseTensorValue)):
        return _Hidden(structure)
    if isinstance(structure, Mapping):
        return type(structure)([(key, _hide(structure[key])) for key in structure])  # type: ignore[call-arg]
    if isinstance(structure, tuple):
        parts = [_hide(part) for part in structure]
        return type(structure)(*parts) if hasattr(structure, "_fields") else type(structure)(parts)
    return structure


def _shown(leaf: object) -> object:
    return leaf.value if isinstance(leaf, _Hidden) else leaf


def is_sequence(seq: object) -> bool:
    """Returns whether the structure is a tuple or a dict."""
    return nest.is_nested(_hide(seq))


def flatten(nest_: object) -> list[Any]:
    """Returns the leaves of the structure `nest_` in order, those of a dict by its sorted keys."""
    return [_shown(leaf) for leaf in nest.flatten(_hide(nest_))]


def pack_sequence_as(structure: object, flat_sequence: Sequence[Any]) -> Any:
    """Returns the leaves `flat_sequence` in the form of `structure`. Raises errors as `tf.nest.pack_sequence_as`."""
    return nest.pack_sequence_as(_hide(structure), flat_sequence)


def assert_same_structure(nest1: object, nest2: object, check_types: bool = True) -> None:
    """Raises `InvalidArgumentError` unless `nest1` and `nest2` are structures of the same form, and `DTypeError` if
    `check_types` is true and their types differ.
    """
    nest.assert_same_structure(_hide(nest1), _hide(nest2), check_types)


def map_structure(func: Callable[..., Any], *structure: object, **check_types_dict: bool) -> Any:
    """Returns the results of `func` for the leaves of structures of the same form, in that form.

    check_types_dict: `check_types`, as in `assert_same_structure`.
    """
    function: Any = (lambda *leaves: func(*map(_shown, leaves))) if callable(func) else func
    return nest.map_structure(function, *map(_hide, structure), **check_types_dict)


API: dict[str, Any] = {
    f"python.data.util.nest.{function.__name__}": function
    for function in (is_sequence, flatten, pack_sequence_as, assert_same_structure, map_structure)
}
