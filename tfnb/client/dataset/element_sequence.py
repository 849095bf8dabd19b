"""What every data set has: a variant tensor, a description of its elements, and iterators (`tf.data.Dataset`).

Invariant: a data set is immutable; its description is that of every element that an iterator returns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfnb.client.dataset.element_spec import ElementSpec
from tfnb.client.dataset.elements import normal, parts
from tfnb.client.dataset.functions import trace
from tfnb.client.dataset.iterators import Iterator
from tfnb.client.dataset.options import Options
from tfnb.client.graph.nest import pack
from tfnb.errors import DTypeError
from tfnb.ir.tensor import Tensor
from tfnb.ops import CATALOG
from tfnb.ops.dataset import iterator_ops as ops
from tfnb.ops.dataset.definition import GraphFunction, SkipCount

__all__ = ["ElementSequence"]


class ElementSequence:
    """A sequence of elements that all have the same structure, and iterators over it.

    `variant` is the scalar tensor that stands for the data set in the graph. `skip_counts` count what this data set
    and its inputs skip. In a data set of data sets, `inner` describes the elements of the data set that each component
    holds; otherwise it is empty. `options` are those of this data set and its inputs.
    """

    def __init__(
        self,
        variant: Tensor,
        element_spec: ElementSpec,
        skip_counts: Sequence[SkipCount] = (),
        inner: Sequence[ElementSpec] = (),
        options: Options | None = None,
    ) -> None:
        self._options = options
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

    def options(self) -> Options:
        """Returns the options of this data set and its inputs."""
        return Options().merge(self._options or Options())

    def reduce(self, initial_state: object, reduce_func: Callable[[Any, Any], Any]) -> Any:
        """Returns the last state, a tensor or a structure of tensors like `initial_state`.

        The first state is `initial_state`, and each element in turn makes the next one: `reduce_func(state, element)`.
        A step computes it from the first element on. Raises `DTypeError` when the function returns a state of another
        structure or of other dtypes.
        """
        state = normal(initial_state)
        first = parts(state)
        types = pack(state, [t.dtype for t in first])
        shapes = [t.shape for t in first]
        while True:
            spec = ElementSpec((types, self.element_spec.types), (*shapes, *self.element_spec.shapes))
            traced = trace(reduce_func, spec, normal, "reduce")
            following = parts(traced.result)
            if [t.dtype for t in following] != [t.dtype for t in first] or type(traced.result) is not type(state):
                raise DTypeError(
                    f"The element types for the new state must match the initial state. Expected {types}; got "
                    f"{[t.dtype for t in following]}"
                )
            common = [a.most_specific_compatible_shape(t.shape) for a, t in zip(shapes, following, strict=True)]
            if common == shapes:
                break
            shapes = common  # a shape of the state must hold for all states
        result = ElementSpec.of(state, shapes)
        attrs = {**result.wire_attrs(), "f": traced.function}
        outputs = CATALOG["ReduceDataset"](self.variant, first, traced.captured, **attrs)
        return result.unwired(outputs if isinstance(outputs, list) else [outputs])

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
