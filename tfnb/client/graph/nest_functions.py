"""`tf.nest`: structures of lists, tuples and dicts, whose leaves are anything else.

Invariant: a sparse tensor, indexed slices or a tensor array is a leaf, unless `expand_composites` asks for its tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tfnb.client.graph.nest import flatten as flatten_all
from tfnb.client.graph.nest import pack as pack_all
from tfnb.client.graph.nest import same_structure
from tfnb.errors import DTypeError, InvalidArgumentError

__all__ = ["API"]


class _Leaf:
    """A composite tensor that is not taken apart."""

    def __init__(self, value: object) -> None:
        self.value = value


def _covered(structure: object) -> Any:
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


def pack_sequence_as(structure: object, flat_sequence: Sequence[Any], expand_composites: bool = False) -> Any:
    """Returns the leaves `flat_sequence` in the form of `structure`.

    With `expand_composites` composites are made of their tensors again. Raises `InvalidArgumentError` for another
    number of leaves, and `DTypeError` unless they are a list or a tuple.
    """
    if not isinstance(flat_sequence, (list, tuple)):
        raise DTypeError(f"flat_sequence must be a sequence, got {type(flat_sequence).__name__} {flat_sequence!r}")
    if not is_nested(structure) and not expand_composites and len(flat_sequence) != 1:
        raise InvalidArgumentError(f"Structure is a scalar but len(flat_sequence) == {len(flat_sequence)} > 1")
    if expand_composites:
        return pack_all(structure, flat_sequence)
    packed = pack_all(_covered(structure), flat_sequence)
    return _as(structure, packed)


def _as(structure: object, packed: Any) -> Any:
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

    With `check_types` a list and a tuple differ, for which it raises `DTypeError`; with `expand_composites` composites
    must be of the same kind.
    """
    sizes = [len(flatten(nest)) if is_nested(nest) else 1 for nest in (nest1, nest2)]
    if sizes[0] != sizes[1]:
        first, second = (f"({n} elements): {nest!r}" for n, nest in zip(sizes, (nest1, nest2), strict=True))
        raise InvalidArgumentError(
            "The two structures don't have the same number of elements.\n\n"
            f"First structure {first}\n\nSecond structure {second}"
        )
    _compare(nest1, nest2, check_types)
    if expand_composites and not same_structure(nest1, nest2, check_types):
        raise InvalidArgumentError(f"{nest1!r} has not the structure of {nest2!r}")


def _compare(a: Any, b: Any, check_types: bool) -> None:
    """Raises the error of `assert_same_structure` for the first difference between two structures."""
    if is_nested(a) != is_nested(b):
        raise InvalidArgumentError(
            f"The two structures don't have the same nested structure.\n\nFirst structure: {a!r}\n\n"
            f"Second structure: {b!r}"
        )
    if not is_nested(a):
        return
    if check_types and type(a) is not type(b):
        raise DTypeError(
            "The two structures don't have the same sequence type. First structure has type "
            f"{type(a).__name__}, while second structure has type {type(b).__name__}."
        )
    if not check_types and isinstance(a, Mapping) != isinstance(b, Mapping):
        a, b = (list(_values(x)) for x in (a, b))
    if isinstance(a, Mapping) or isinstance(b, Mapping):
        if not isinstance(a, Mapping) or not isinstance(b, Mapping) or set(a) != set(b):
            raise InvalidArgumentError(f"The two dictionaries don't have the same set of keys: {list(a)} and {list(b)}")
        for key in a:
            _compare(a[key], b[key], check_types)
        return
    if len(a) != len(b):
        raise InvalidArgumentError(
            f"The two structures don't have the same nested structure.\n\nFirst structure: {a!r}\n\n"
            f"Second structure: {b!r}"
        )
    for x, y in zip(a, b, strict=True):
        _compare(x, y, check_types)


def _values(structure: Iterable[Any]) -> Iterable[Any]:
    """The parts of a structure in their order, those of a dict by its sorted keys."""
    return [structure[key] for key in sorted(structure)] if isinstance(structure, Mapping) else structure


def map_structure(
    func: Callable[..., Any],
    *structure: object,
    check_types: bool = True,
    expand_composites: bool = False,
    **others: object,
) -> Any:
    """Returns the results of `func` for the leaves of structures of the same form, in that form.

    Raises `InvalidArgumentError` for structures of different forms, see `assert_same_structure`, without a structure
    and for `others`, keywords that it does not have; `DTypeError` if `func` is not a function.
    """
    if not callable(func):
        raise DTypeError(f"func must be callable, got {func!r}")
    if not structure:
        raise InvalidArgumentError("Must provide at least one structure")
    if others:
        raise InvalidArgumentError(f"Only valid keyword argument is check_types, not: {', '.join(others)}")
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
