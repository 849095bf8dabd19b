"""Iterators over data sets: one-shot, initializable, reinitializable and fed by a string handle (`tf.data.Iterator`).

Invariant: the tensors of `get_next` have the types, shapes and structure of the elements of the iterator's data set.
"""

from __future__ import annotations

from typing import Any, Protocol

from tfnb.client.dataset.element_spec import ElementSpec
from tfnb.errors import DTypeError, FailedPreconditionError
from tfnb.ir.default import get_default_graph
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.dataset import iterator_ops as ops
from tfnb.types import string

__all__ = ["Iterator"]


class SupportsIteration(Protocol):
    """A data set: the variant scalar that stands for it, and the specification of its elements."""

    variant: Tensor
    element_spec: ElementSpec


class Iterator:
    """An iterator over a data set; `get_next()` returns the tensors of its next element.

    `Dataset.make_one_shot_iterator` and `Dataset.make_initializable_iterator` return one for a data set,
    `Iterator.from_structure` one for data sets that are chosen later.
    """

    def __init__(self, iterator_resource: Tensor, initializer: Operation | None, element_spec: ElementSpec) -> None:
        self._handle = iterator_resource
        self._string_handle: Tensor = ops.TO_STRING(iterator_resource)
        self._initializer = initializer
        self.element_spec = element_spec

    @staticmethod
    def from_structure(
        output_types: object,
        output_shapes: object = None,
        shared_name: str | None = None,
        output_classes: object = None,
    ) -> Iterator:
        """Returns an iterator without a data set. Running `make_initializer(dataset)` assigns a data set with this
        structure.

        output_types: a structure of dtypes. output_shapes, output_classes: like structures of static shapes and of
        `tf.Tensor` or `tf.SparseTensor`; None means unknown shapes and dense tensors. Iterators of one session with
        the same `shared_name` share their position. Raises `DTypeError` when the structures differ.
        """
        spec = ElementSpec.declared(output_types, output_shapes, output_classes)
        handle = ops.ITERATOR(
            shared_name=shared_name or "", name="Iterator", graph=get_default_graph(), **spec.wire_attrs()
        )
        return Iterator(handle, None, spec)

    @staticmethod
    def from_string_handle(
        string_handle: TensorLike, output_types: object, output_shapes: object = None, output_classes: object = None
    ) -> Iterator:
        """Returns the iterator that a string scalar identifies, which is the value of another iterator's
        `string_handle()`.

        Feeding the string chooses an iterator for each step. output_types, output_shapes, output_classes: as in
        `from_structure`. A step raises `NotFoundError` when the session has no such iterator, and
        `InvalidArgumentError` when its elements have other types or shapes.
        """
        spec = ElementSpec.declared(output_types, output_shapes, output_classes)
        text = get_default_graph().to_tensor(string_handle, string)
        return Iterator(ops.FROM_STRING(text, **spec.wire_attrs()), None, spec)

    @property
    def initializer(self) -> Operation:
        """The operation that moves the iterator to the first element of its data set.

        Raises `FailedPreconditionError` for an iterator that was not made by `make_initializable_iterator`.
        """
        if self._initializer is None:
            raise FailedPreconditionError("Iterator does not have an initializer: use make_initializer(dataset)")
        return self._initializer

    def make_initializer(self, dataset: SupportsIteration, name: str | None = None) -> Operation:
        """Returns an operation that assigns `dataset` to the iterator and moves it to the first element.

        Raises `DTypeError` unless the types of the elements are the iterator's and the shapes are compatible.
        """
        own_spec, other_spec = self.element_spec, dataset.element_spec
        if not other_spec.has_types_of(own_spec):
            raise DTypeError(
                f"Expected output types {own_spec.types!r} but got dataset with output types {other_spec.types!r}."
            )
        for own_shape, other_shape in zip(own_spec.shapes, other_spec.shapes, strict=True):
            if not own_shape.is_compatible_with(other_shape):
                raise DTypeError(
                    f"Expected output shapes compatible with {self.output_shapes!r} but got dataset with output shapes "
                    f"{other_spec.output_shapes!r}."
                )
        op: Operation = ops.MAKE_ITERATOR(dataset.variant, self._handle, name=name)
        return op

    def get_next(self, name: str | None = None) -> Any:
        """Returns the tensors of the next element, in the structure of an element.

        A step that needs them advances the iterator by one element. It raises `OutOfRangeError` after the last element
        and `FailedPreconditionError` before the iterator is initialized.
        """
        components = ops.GET_NEXT(self._handle, name=name, **self.element_spec.wire_attrs())
        return self.element_spec.unwired(components if isinstance(components, list) else [components])

    def string_handle(self, name: str | None = None) -> Tensor:
        """Returns a string scalar that identifies the iterator for `from_string_handle`; without a name always one."""
        return self._string_handle if name is None else ops.TO_STRING(self._handle, name=name)

    @property
    def output_types(self) -> Any:
        """The dtypes of the components, in the structure of an element."""
        return self.element_spec.output_types

    @property
    def output_shapes(self) -> Any:
        """The static shapes of the components, in the structure of an element."""
        return self.element_spec.output_shapes

    @property
    def output_classes(self) -> Any:
        """`tf.Tensor` or `tf.SparseTensor` for each component, in the structure of an element."""
        return self.element_spec.output_classes
