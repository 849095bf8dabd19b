"""Nested structures of lists, tuples, named tuples, dicts and composites, as loops and branches return them.

The leaves of a sparse tensor, an IndexedSlices and a tensor array are the tensors in it. Invariant: `pack(s,
flatten(s))` equals `s`; dicts are traversed in the order of their sorted keys.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from typing import Any

from tfnb.client.control_flow.tensor_array import TensorArray
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.sparse import SparseTensor, SparseTensorValue, parts_of
from tfnb.ir.tensor import Tensor
from tfnb.types import Shape, scalar

__all__ = ["COMPOSITES", "flatten", "pack", "part_shapes", "same_structure", "slice_indices"]

COMPOSITES = (SparseTensor, IndexedSlices, TensorArray)


def flatten(structure: object) -> list[Any]:
    """Returns the leaves of a structure as a list, in order; those of a view of a dict in its order."""
    if isinstance(structure, Mapping):
        return [leaf for key in sorted(structure) for leaf in flatten(structure[key])]
    if isinstance(structure, (list, tuple, KeysView, ValuesView, ItemsView)):
        return [leaf for part in structure for leaf in flatten(part)]
    if isinstance(structure, SparseTensor):
        return list(parts_of(structure))
    if isinstance(structure, IndexedSlices):
        return [p for p in (structure.values, structure.indices, structure.dense_shape) if p is not None]
    return [structure.flow] if isinstance(structure, TensorArray) else [structure]


def slice_indices(structure: object) -> list[bool]:
    """Returns, for each leaf in the order of `flatten`, whether it holds the indices of an IndexedSlices."""
    if isinstance(structure, Mapping):
        return [flag for key in sorted(structure) for flag in slice_indices(structure[key])]
    if isinstance(structure, (list, tuple)):
        return [flag for part in structure for flag in slice_indices(part)]
    rows = isinstance(structure, IndexedSlices)
    return [rows and k == 1 for k, _ in enumerate(flatten(structure))]


def part_shapes(structure: object, shape: Shape | None) -> list[Shape | None]:
    """Returns the shapes of a composite's tensors for its shape invariant `shape`; None where nothing is known.

    That is the shape of the values of `tf.IndexedSlices`, and (rank,), that of the dense shape, of a sparse tensor.
    Raises `ShapeError` for another invariant of a sparse tensor.
    """
    if isinstance(structure, TensorArray):
        return [scalar]
    if shape is None:
        return [None] * len(flatten(structure))
    if isinstance(structure, SparseTensor):
        if shape.ndims not in (None, 1):
            raise ShapeError(f"Expected a shape with 1 dimension, (rank,), for a sparse tensor, got {shape}")
        rank = None if shape.sizes is None else shape.sizes[0]
        return [Shape((None, rank)), Shape((None,)), Shape((rank,))]
    first = None if shape.sizes is None else shape.sizes[0]
    shapes: list[Shape | None] = [shape, Shape((first,)), Shape((shape.ndims,))]
    return shapes[: len(flatten(structure))]


def pack(structure: object, leaves: Sequence[Any]) -> Any:
    """Returns `leaves` in the form of `structure`. Raises `InvalidArgumentError` when their numbers differ."""
    source = iter(leaves)
    words = f"Structure had {len(flatten(structure))} elements, but flat_sequence had {len(leaves)} elements."
    try:
        packed = _build(structure, source)
    except RuntimeError:
        raise InvalidArgumentError(words) from None
    if next(source, source) is not source:
        raise InvalidArgumentError(words)
    return packed


def _build(structure: Any, source: Iterator[Any]) -> Any:
    if isinstance(structure, Mapping):
        parts = {key: _build(structure[key], source) for key in sorted(structure)}
        return type(structure)((key, parts[key]) for key in structure)  # type: ignore[call-arg]
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*[_build(part, source) for part in structure])
    if isinstance(structure, (list, tuple)):
        return type(structure)([_build(part, source) for part in structure])
    if isinstance(structure, SparseTensor):
        return _sparse(structure, [_build(part, source) for part in parts_of(structure)])
    if isinstance(structure, IndexedSlices):
        return IndexedSlices(*[_build(None, source) for _ in flatten(structure)])
    for leaf in source:
        is_array = isinstance(structure, TensorArray) and isinstance(leaf, Tensor)
        return structure.with_flow(leaf) if is_array else leaf
    raise RuntimeError("no leaf left")


def _sparse(structure: SparseTensor, parts: list[Any]) -> SparseTensor | SparseTensorValue:
    """Returns a SparseTensor, or a SparseTensorValue where the parts are not tensors (but names or shapes)."""
    if not all(isinstance(part, Tensor) for part in parts):
        return SparseTensorValue(*parts)
    return SparseTensor(*parts)


def same_structure(a: Any, b: Any, check_types: bool = True) -> bool:
    """Returns whether both have the same form; with `check_types` a list and a tuple have different forms."""
    if isinstance(a, Mapping) or isinstance(b, Mapping):
        same_keys = isinstance(a, Mapping) and isinstance(b, Mapping) and set(a) == set(b)
        return same_keys and all(same_structure(a[key], b[key], check_types) for key in a)
    if isinstance(a, (list, tuple)) or isinstance(b, (list, tuple)):
        if not isinstance(a, (list, tuple)) or not isinstance(b, (list, tuple)) or len(a) != len(b):
            return False
        if check_types and type(a) is not type(b):
            return False
        return all(same_structure(x, y, check_types) for x, y in zip(a, b, strict=True))
    return all(isinstance(a, kind) == isinstance(b, kind) for kind in COMPOSITES)
