"""The static description of the elements of data sets and iterators (`tf.data`): structure, dtypes and shapes.

Invariant: a specification has one shape for each component of its structure of types, in the order of `flatten`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tfnb.client.dataset.elements import (
    ComponentType,
    SparseType,
    mapped,
    of_classes,
    parts,
    type_of,
    unwired,
    value_dtype,
    wire_dtype,
    wire_shape,
)
from tfnb.client.graph.nest import flatten, pack, same_structure
from tfnb.errors import DTypeError
from tfnb.ir.const import constant_value
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor, is_tensor_like
from tfnb.types import Shape, as_dtype, as_shape, unknown_shape

__all__ = ["ElementSpec", "flat_shapes"]


@dataclass(frozen=True)
class ElementSpec:
    """The structure of an element, with the type and the static shape of each component.

    `types` is a component type, or a tuple or dict of structures of component types; `shapes` is flat.
    """

    types: Any
    shapes: tuple[Shape, ...]

    @staticmethod
    def of(components: object, shapes: Sequence[Shape]) -> ElementSpec:
        """Returns the specification for a structure of tensors or of component types, with these flat shapes."""
        return ElementSpec(mapped(components, type_of), tuple(Shape(s.sizes) for s in shapes))

    @staticmethod
    def declared(output_types: object, output_shapes: object = None, classes: object = None) -> ElementSpec:
        """Returns the specification that a user declares.

        output_types: a structure of dtypes. output_shapes: a like structure of shapes; None if all are unknown.
        classes: a like structure of `tf.Tensor` and `tf.SparseTensor`; None if all are dense. Raises
        `DTypeError` when the structures differ.
        """
        types = pack(output_types, [as_dtype(d) for d in flatten(output_types)])
        count = len(flatten(types))
        shapes = [unknown_shape] * count if output_shapes is None else flat_shapes(output_types, output_shapes)
        return ElementSpec(of_classes(types, classes), tuple(shapes))

    @property
    def flat_types(self) -> list[ComponentType]:
        """The types of the components, in order."""
        return parts(self.types)

    @property
    def output_types(self) -> Any:
        """The dtypes of the components, in the structure of an element."""
        return mapped(self.types, value_dtype)

    @property
    def output_shapes(self) -> Any:
        """The static shapes of the components, in the structure of an element."""
        return pack(self.types, self.shapes)

    @property
    def output_classes(self) -> Any:
        """`tf.Tensor` or `tf.SparseTensor` for each component, in the structure of an element."""
        return mapped(self.types, lambda t: SparseTensor if isinstance(t, SparseType) else Tensor)

    def has_types_of(self, other: ElementSpec) -> bool:
        """Returns whether both have the same structure and the same component types."""
        return same_structure(self.types, other.types) and self.flat_types == other.flat_types

    def wire_attrs(self) -> dict[str, Any]:
        """Returns the attributes `output_types` and `output_shapes` of an op, for the tensors that carry the
        components.
        """
        kinds = self.flat_types
        return {
            "output_types": tuple(wire_dtype(t) for t in kinds),
            "output_shapes": tuple(wire_shape(t, s) for t, s in zip(kinds, self.shapes, strict=True)),
        }

    def unwired(self, tensors: Sequence[Tensor]) -> Any:
        """Returns the element whose components these tensors carry."""
        return pack(
            self.types, [unwired(t, s, x) for t, s, x in zip(self.flat_types, self.shapes, tensors, strict=True)]
        )


def shape_leaves(like: object, shapes: Any) -> list[Any]:
    """Returns the leaves of a structure like `like`: shapes, as lists, `TensorShape` or integer vectors.

    Raises `DTypeError` when the structures differ.
    """
    if isinstance(like, dict):
        return [s for key in sorted(like) for s in shape_leaves(like[key], shapes[key])]
    if isinstance(like, tuple):
        if not isinstance(shapes, (tuple, list)) or len(shapes) != len(like):
            raise DTypeError(f"{len(like)} components need as many shapes, got {shapes!r}")
        return [s for a, b in zip(like, shapes, strict=True) for s in shape_leaves(a, b)]
    return [shapes]


def static_shape(leaf: Any) -> Shape:
    """Returns what is known statically of a shape that may be an integer vector. A dimension that is None or -1 is
    unknown.
    """
    if is_tensor_like(leaf) and not isinstance(leaf, Shape):
        value, length = constant_value(leaf), leaf.shape.as_list()[0] if leaf.shape.ndims else None
        if value is None:
            return unknown_shape if length is None else Shape((None,) * length)
        leaf = value.tolist()
    if isinstance(leaf, (list, tuple)):
        leaf = [None if isinstance(d, int) and d == -1 else d for d in leaf]
    return as_shape(leaf)


def flat_shapes(like: object, shapes: object) -> list[Shape]:
    """Returns the static shapes of a structure of shapes like `like`. Raises the errors of `shape_leaves`."""
    return [static_shape(leaf) for leaf in shape_leaves(like, shapes)]
