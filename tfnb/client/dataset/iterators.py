"""Iterators over data sets: one-shot, initialisable, reinitialisable, fed by a string (`tf.data.Iterator`).

Invariant: an iterator's `get_next` has the types, shapes and structure of its data set's elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfnb.client.dataset.elements import (
    SparseType,
    mapped,
    of_classes,
    parts,
    unwired,
    value_dtype,
    wire_dtype,
    wire_shape,
)
from tfnb.client.graph.nest import flatten, pack, same_structure
from tfnb.errors import DTypeError, FailedPreconditionError, InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.operation import Operation
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor
from tfnb.ops.dataset import dataset_ops as ops
from tfnb.types import DType, Shape, as_dtype, as_shape, string

__all__ = ["Iterator", "type_structure"]


def type_structure(output_types: Any, output_shapes: Any) -> tuple[Any, list[DType], list[Shape]]:
    """(types as a structure, flat dtypes, flat shapes); shapes None: unknown."""
    dtypes = [as_dtype(d) for d in flatten(output_types)]
    if output_shapes is None:
        return pack(output_types, dtypes), dtypes, [Shape(None)] * len(dtypes)
    return pack(output_types, dtypes), dtypes, flat_shapes(output_types, output_shapes)


def flat_shapes(like: Any, shapes: Sequence[Any]) -> list[Shape]:
    """The shapes of a structure like `like`, whose leaves are shapes (lists, tuples of numbers, TensorShapes)."""
    if isinstance(like, dict):
        return [s for key in sorted(like) for s in flat_shapes(like[key], shapes[key])]
    if isinstance(like, tuple):
        if not isinstance(shapes, (tuple, list)) or len(shapes) != len(like):
            raise InvalidArgumentError(f"{len(like)} components need as many shapes, got {shapes!r}")
        return [s for a, b in zip(like, shapes, strict=True) for s in flat_shapes(a, b)]
    if isinstance(shapes, (list, tuple)):
        shapes = [None if isinstance(d, int) and d == -1 else d for d in shapes]  # -1: open, as None
    return [as_shape(shapes)]


def wire_specs(types: Any, shapes: Sequence[Shape]) -> dict[str, Any]:
    """The attributes that say what the tensors of an element are inside."""
    kinds = parts(types)
    return {
        "output_types": tuple(wire_dtype(t) for t in kinds),
        "output_shapes": tuple(wire_shape(t, s) for t, s in zip(kinds, shapes, strict=True)),
    }


class Iterator:
    """Walks over a data set; `get_next()` are the tensors of the next element.

    Made by a data set's `make_one_shot_iterator` or `make_initializable_iterator`, or by `from_structure` for data
    sets that come later.
    """

    def __init__(
        self,
        iterator_resource: Tensor,
        initializer: Operation | None,
        output_types: Any,
        output_shapes: Sequence[Shape],
        output_classes: Any = None,
    ) -> None:
        self._handle = iterator_resource
        self._initializer = initializer
        self._types = of_classes(output_types, output_classes)
        self._shapes = list(output_shapes)

    @staticmethod
    def from_structure(
        output_types: Any, output_shapes: Any = None, shared_name: str | None = None, output_classes: Any = None
    ) -> Iterator:
        """An iterator for any data set of these types and shapes: `make_initializer(dataset)` chooses one."""
        types, _, shapes = type_structure(output_types, output_shapes)
        types = of_classes(types, output_classes)
        handle = ops.ITERATOR(
            shared_name=shared_name or "", name="Iterator", graph=get_default_graph(), **wire_specs(types, shapes)
        )
        return Iterator(handle, None, types, shapes)

    @staticmethod
    def from_string_handle(
        string_handle: Any, output_types: Any, output_shapes: Any = None, output_classes: Any = None
    ) -> Iterator:
        """The iterator whose `string_handle()` is fed: which one a step reads is chosen when it runs."""
        types, _, shapes = type_structure(output_types, output_shapes)
        types = of_classes(types, output_classes)
        text = get_default_graph().to_tensor(string_handle, string)
        handle = ops.FROM_STRING(text, **wire_specs(types, shapes))
        return Iterator(handle, None, types, shapes)

    @property
    def initializer(self) -> Operation:
        """The operation that begins the walk anew. Raises `FailedPreconditionError` when there is none."""
        if self._initializer is None:
            raise FailedPreconditionError("Iterator does not have an initializer: use make_initializer(dataset)")
        return self._initializer

    def make_initializer(self, dataset: Any, name: str | None = None) -> Operation:
        """An operation that begins a walk over `dataset`, whose types must be the iterator's, shapes compatible."""
        types = dataset._types
        if not same_structure(types, self._types) or flatten(types) != flatten(self._types):
            raise DTypeError(f"Expected output types {self._types!r} but got dataset with output types {types!r}.")
        for mine, theirs in zip(self._shapes, dataset.flat_shapes, strict=True):
            if not mine.is_compatible_with(theirs):
                raise DTypeError(
                    f"Expected output shapes compatible with {self.output_shapes!r} but got dataset with output shapes "
                    f"{dataset.output_shapes!r}."
                )
        op: Operation = ops.MAKE_ITERATOR(dataset.variant, self._handle, name=name)
        return op

    def get_next(self, name: str | None = None) -> Any:
        """The tensors of the next element, in its structure. Running them raises `OutOfRangeError` at the end."""
        found = ops.GET_NEXT(self._handle, name=name, **wire_specs(self._types, self._shapes))
        flat = found if isinstance(found, list) else [found]
        kinds = parts(self._types)
        return pack(self._types, [unwired(t, s, x) for t, s, x in zip(kinds, self._shapes, flat, strict=True)])

    def string_handle(self, name: str | None = None) -> Any:
        """A string scalar that stands for the iterator in `from_string_handle`."""
        return ops.TO_STRING(self._handle, name=name)

    @property
    def output_types(self) -> Any:
        return mapped(self._types, value_dtype)

    @property
    def output_shapes(self) -> Any:
        return pack(self._types, self._shapes)

    @property
    def output_classes(self) -> Any:
        return mapped(self._types, lambda t: SparseTensor if isinstance(t, SparseType) else Tensor)
