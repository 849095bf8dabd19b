"""`tf.nest`: structures of lists, tuples and dicts, whose leaves are anything else.

Invariant: a sparse tensor, indexed slices or a tensor array is a leaf, unless `expand_composites` asks for its tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfnb.client.graph.nest import flatten as flatten_all
from tfnb.client.graph.nest import pack as pack_all
from tfnb.client.graph.nest import same_structure
from tfnb.errors import InvalidArgumentError

__all__ = ["API"]


class _Leaf:
    """A composite tensor that is not taken apart."""

    def __init__(self, value: object) -> None:
        self.value = value


def _covered(structure: Any) -> Any:
    """The structure with leaves that the functions of graphs do not take apart."""
    if isinstance(structure, Mapping):
        pairs = [(key, _covered(structure[key])) for key in structure]
        return dict(pairs)
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*[_covered(part) for part in structure])
    if isinstance(structure, (list, tuple)):
        return type(structure)([_covered(part) for part in structure])
    return _Leaf(structure)


def is_nested(seq: object) -> bool:
    """Returns whether the structure is a list, a tuple or a dict."""
    return isinstance(seq, (list, tuple, Mapping))


def flatten(structure: object, expand_composites: bool = False) -> list[Any]:
    """Returns the leaves of a structure in order, those of a dict by its sorted keys.

    With `expand_composites`, the tensors of a sparse tensor or indexed slices are leaves of their own.
    """
    if expand_composites:
        return flatten_all(structure)
    return [leaf.value for leaf in flatten_all(_covered(structure))]


def pack_sequence_as(structure: Any, flat_sequence: Sequence[Any], expand_composites: bool = False) -> Any:
    """Returns the leaves `flat_sequence` in the form of `structure`.

    With `expand_composites` composites are made of their tensors again. Raises `InvalidArgumentError` for another
    number of leaves.
    """
    if expand_composites:
        return pack_all(structure, flat_sequence)
    packed = pack_all(_covered(structure), flat_sequence)
    return _as(structure, packed)


def _as(structure: Any, packed: Any) -> Any:
    """The packed values in dicts of the structure's own types."""
    if isinstance(structure, Mapping):
        pairs = [(key, _as(structure[key], packed[key])) for key in structure]
        return type(structure)(pairs)  # type: ignore[call-arg]
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*[_as(a, b) for a, b in zip(structure, packed, strict=True)])
    if isinstance(structure, (list, tuple)):
        return type(structure)([_as(a, b) for a, b in zip(structure, packed, strict=True)])
    return packed


def assert_same_structure(
    nest1: object, nest2: object, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raises `InvalidArgumentError` unless `nest1` and `nest2` are structures of the same form.

    With `check_types` a list and a tuple differ; with `expand_composites` composites must be of the same kind.
    """
    one, two = (nest1, nest2) if expand_composites else (_covered(nest1), _covered(nest2))
    if not same_structure(one, two, check_types):
        raise InvalidArgumentError(f"{nest1!r} has not the structure of {nest2!r}")


def map_structure(
    func: Callable[..., Any], *structure: object, check_types: bool = True, expand_composites: bool = False
) -> Any:
    """Returns the results of `func` for the leaves of structures of the same form, in that form.

    Raises `InvalidArgumentError` for structures of different forms, see `assert_same_structure`.
    """
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types, expand_composites)
    leaves = [flatten(s, expand_composites) for s in structure]
    results = [func(*xs) for xs in zip(*leaves, strict=True)]
    return pack_sequence_as(structure[0], results, expand_composites)


API: dict[str, Any] = {
    "nest.is_nested": is_nested,
    "contrib.framework.nest.is_sequence": is_nested,
}
for _function in (flatten, pack_sequence_as, assert_same_structure, map_structure):
    API[f"nest.{_function.__name__}"] = API[f"contrib.framework.nest.{_function.__name__}"] = _function
