"""What a layer remembers of its calls: the inputs and outputs of each, and their static shapes.

Invariant: the number of a call is the order in which it was made; a structure of tensors is kept as it was given.
"""

from __future__ import annotations

from typing import Any

from tfnb.client.graph import nest
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor

__all__ = ["RecordedCalls"]


class RecordedCalls:
    """The base of layers that answers what a layer was called with and what it gave."""

    name: str

    def __init__(self) -> None:
        self._calls: list[tuple[Any, Any]] = []

    def get_input_at(self, node_index: int) -> Any:
        """Returns the inputs of the call of this number. Raises `InvalidArgumentError` when there is none."""
        return self._call(node_index, "input")[0]

    def get_output_at(self, node_index: int) -> Any:
        """Returns the outputs of the call of this number. Raises `InvalidArgumentError` when there is none."""
        return self._call(node_index, "output")[1]

    def get_input_shape_at(self, node_index: int) -> Any:
        """Returns the shapes of the inputs of a call as tuples. Raises `InvalidArgumentError` when there is none."""
        return _shapes(self._call(node_index, "input shape")[0])

    def get_output_shape_at(self, node_index: int) -> Any:
        """Returns the shapes of the outputs of a call as tuples. Raises `InvalidArgumentError` when there is none."""
        return _shapes(self._call(node_index, "output shape")[1])

    @property
    def input(self) -> Any:
        """The inputs of the only call. Raises `AttributeError` when there were none, or several."""
        return self._only_call("input")[0]

    @property
    def output(self) -> Any:
        """The outputs of the only call. Raises `AttributeError` when there were none, or several."""
        return self._only_call("output")[1]

    @property
    def input_shape(self) -> Any:
        """The shapes of the inputs, as tuples, if they are the same in all calls. Raises `AttributeError` if not."""
        return self._same_shapes("input", 0)

    @property
    def output_shape(self) -> Any:
        """The shapes of the outputs, as tuples, if they are the same in all calls. Raises `AttributeError` if not."""
        return self._same_shapes("output", 1)

    def _call(self, number: int, what: str) -> tuple[Any, Any]:
        if not self._calls:
            raise InvalidArgumentError(f"The layer {self.name} has never been called and thus has no defined {what}.")
        if not 0 <= number < len(self._calls):
            count = len(self._calls)
            raise InvalidArgumentError(f"Asked to get {what} at node {number}, but the layer was called {count} times")
        return self._calls[number]

    def _only_call(self, what: str) -> tuple[Any, Any]:
        if not self._calls:
            raise AttributeError(f"Layer {self.name} is not connected, no {what} to return.")
        if len(self._calls) > 1:
            raise AttributeError(
                f'Layer {self.name} has multiple inbound nodes, hence the notion of "layer {what}" is ill-defined. '
                f"Use `get_{what}_at(node_index)` instead."
            )
        return self._calls[0]

    def _same_shapes(self, what: str, side: int) -> Any:
        if not self._calls:
            raise AttributeError(f"The layer {self.name} has never been called and thus has no defined {what} shape.")
        shapes = [_shapes(call[side]) for call in self._calls]
        if any(s != shapes[0] for s in shapes):
            raise AttributeError(
                f"The layer {self.name} has multiple inbound nodes with different {what} shapes, hence the notion of "
                f'"{what} shape" is ill-defined. Use `get_{what}_shape_at(node_index)` instead.'
            )
        return shapes[0]


def _shapes(tensors: object) -> Any:
    if isinstance(tensors, Tensor):
        return None if tensors.shape.sizes is None else tuple(tensors.shape.as_list())
    return [_shapes(t) for t in nest.flatten(tensors)]
