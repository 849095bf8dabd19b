"""What every data set has: a variant tensor, a description of its elements, and iterators (`tf.data.Dataset`).

Invariant: a data set is immutable; its description is that of every element that an iterator returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfnb.client.dataset.element_spec import ElementSpec
from tfnb.client.dataset.iterators import Iterator
from tfnb.ir.tensor import Tensor
from tfnb.ops.dataset import iterator_ops as ops
from tfnb.ops.dataset.definition import GraphFunction, SkipCount

__all__ = ["ElementSequence"]


class ElementSequence:
    """A sequence of elements that all have the same structure, and iterators over it.

    `variant` is the scalar tensor that stands for the data set in the graph. `skip_counts` count what this data set
    and its inputs skip. In a data set of data sets, `inner` describes the elements of the data set that each component
    holds; otherwise it is empty.
    """

    def __init__(
        self,
        variant: Tensor,
        element_spec: ElementSpec,
        skip_counts: Sequence[SkipCount] = (),
        inner: Sequence[ElementSpec] = (),
    ) -> None:
        self.variant = variant
        self.element_spec = element_spec
        self.skip_counts = tuple(skip_counts)
        self.inner = tuple(inner)

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

    @property
    def skipped(self) -> int:
        """The number of damaged records and failed elements that this data set and its inputs have skipped so far."""
        return sum(count.total for count in self.skip_counts)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} shapes: {self.output_shapes}, types: {self.output_types}>"

    def make_one_shot_iterator(self) -> Iterator:
        """Returns an iterator that needs no initialization and returns each element once per session.

        The data set must not depend on a placeholder: the step that uses the iterator first creates it.
        """
        handle = ops.ONE_SHOT(
            dataset_factory=GraphFunction((), (self.variant,)),
            graph=self.variant.graph,
            **self.element_spec.wire_attrs(),
        )
        return Iterator(handle, None, self.element_spec)

    def make_initializable_iterator(self, shared_name: str | None = None) -> Iterator:
        """Returns an iterator that starts at the first element each time its `initializer` runs.

        Placeholders that the data set depends on are fed to the step that runs the initializer. Iterators of one
        session with the same `shared_name` share their position.
        """
        handle = ops.ITERATOR(
            shared_name=shared_name or "", name="Iterator", graph=self.variant.graph, **self.element_spec.wire_attrs()
        )
        begin = ops.MAKE_ITERATOR(self.variant, handle)
        return Iterator(handle, begin, self.element_spec)
