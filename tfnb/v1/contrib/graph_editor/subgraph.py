"""`SubGraphView`: some operations of a graph, with their inputs and outputs in an order that can be chosen.

Invariant: inputs are tensors that operations outside compute, or tensors that only pass through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from tfnb.errors import InvalidArgumentError, NotFoundError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.v1.contrib.graph_editor.elements import ControlOutputs, get_consuming_ops
from tfnb.v1.contrib.graph_editor.select import (
    compute_boundary_ts,
    get_backward_walk_ops,
    get_name_scope_ops,
    select_ops_and_ts,
)

__all__ = ["SubGraphView", "ViewLike", "make_view", "make_view_from_scope"]


class SubGraphView:
    """A part of a graph. inside_ops: its operations. passthrough_ts: tensors that are inputs and outputs at once."""

    def __init__(self, inside_ops: Iterable[Any] = (), passthrough_ts: Iterable[Any] = ()) -> None:
        self._ops = list(dict.fromkeys(inside_ops))
        self._passing = list(dict.fromkeys(passthrough_ts))
        inputs, outputs, inner = compute_boundary_ts(self._ops)
        known = {*inputs, *outputs, *inner}
        self._passing = [t for t in self._passing if t not in known]
        self._inputs, self._outputs = [*inputs, *self._passing], [*outputs, *self._passing]

    @property
    def graph(self) -> GraphBuilder | None:
        """The graph, or None for an empty part."""
        first = next(iter([*self._ops, *self._passing]), None)
        return None if first is None else first.graph

    @property
    def ops(self) -> list[Any]:
        """The operations."""
        return list(self._ops)

    @property
    def inputs(self) -> list[Any]:
        """The inputs, tensors."""
        return list(self._inputs)

    @property
    def outputs(self) -> list[Any]:
        """The outputs, tensors."""
        return list(self._outputs)

    @property
    def passthroughs(self) -> list[Any]:
        """The tensors that only pass through."""
        return list(self._passing)

    @property
    def connected_inputs(self) -> list[Any]:
        """The inputs that an operation inside reads."""
        return [t for t in self._inputs if t not in self._passing]

    @property
    def connected_outputs(self) -> list[Any]:
        """The outputs that an operation inside computes."""
        return [t for t in self._outputs if t not in self._passing]

    def op(self, op_id: int) -> Operation:
        """Returns the operation of a number."""
        return self._ops[op_id]

    def is_passthrough(self, t: Tensor) -> bool:
        """Returns whether a tensor only passes through."""
        return t in self._passing

    def input_index(self, t: Tensor) -> int:
        """Returns the number of an input. Raises `InvalidArgumentError` for another tensor."""
        return _index(self._inputs, t, "an input")

    def output_index(self, t: Tensor) -> int:
        """Returns the number of an output. Raises `InvalidArgumentError` for another tensor."""
        return _index(self._outputs, t, "an output")

    def find_op_by_name(self, op_name: str) -> Operation:
        """Returns the operation of a name. Raises `NotFoundError` when there is none."""
        for op in self._ops:
            if op.name == op_name:
                return op
        raise NotFoundError(f"{op_name} not found in subgraph.")

    def consumers(self) -> list[Any]:
        """Returns the operations outside that read outputs."""
        inside = set(self._ops)
        return [op for op in get_consuming_ops(self._outputs) if op not in inside]

    def copy(self) -> SubGraphView:
        """Returns an equal view."""
        other = SubGraphView()
        other._ops, other._passing = self.ops, self.passthroughs
        other._inputs, other._outputs = self.inputs, self.outputs
        return other

    __copy__ = copy

    def __enter__(self) -> SubGraphView:
        return self

    def __exit__(self, *args: object) -> None:
        """Does nothing: a view holds nothing open."""

    def remap_inputs(self, new_input_indices: Sequence[int]) -> SubGraphView:
        """Returns a view whose inputs are those of these numbers, in this order."""
        other = self.copy()
        other._inputs = [self._inputs[i] for i in new_input_indices]
        return other

    def remap_outputs(self, new_output_indices: Sequence[int]) -> SubGraphView:
        """Returns a view whose outputs are those of these numbers, in this order."""
        other = self.copy()
        other._outputs = [self._outputs[i] for i in new_output_indices]
        return other

    def remap(
        self, new_input_indices: Sequence[int] | None = None, new_output_indices: Sequence[int] | None = None
    ) -> SubGraphView:
        """Returns a view with other inputs and outputs; see `remap_inputs`."""
        other = self if new_input_indices is None else self.remap_inputs(new_input_indices)
        return other.copy() if new_output_indices is None else other.remap_outputs(new_output_indices)

    def remap_default(self, remove_input_map: bool = True, remove_output_map: bool = True) -> SubGraphView:
        """Returns a view whose inputs and outputs are those of the graph, as far as is wanted."""
        plain, other = SubGraphView(self._ops, self._passing), self.copy()
        other._inputs = plain._inputs if remove_input_map else other._inputs
        other._outputs = plain._outputs if remove_output_map else other._outputs
        return other

    def remap_outputs_make_unique(self) -> SubGraphView:
        """Returns a view in which no output is there twice."""
        other = self.copy()
        other._outputs = list(dict.fromkeys(self._outputs))
        return other

    def remap_outputs_to_consumers(self) -> SubGraphView:
        """Returns a view in which an output is there as often as it is read outside."""
        inside, other = set(self._ops), self.copy()
        outputs = dict.fromkeys(self._outputs)
        other._outputs = [t for t in outputs for op in t.consumers() if op not in inside]
        return other

    def remove_unused_ops(self, control_inputs: bool = True) -> SubGraphView:
        """Returns a view of the operations that the outputs depend on."""
        within = get_backward_walk_ops(self.connected_outputs, within_ops=self._ops, control_inputs=control_inputs)
        used = set(within)
        other = self.copy()
        other._ops = [op for op in self._ops if op in used]
        needed = set(SubGraphView(other._ops)._inputs) | set(self._passing)
        other._inputs = [t for t in self._inputs if t in needed]
        return other

    def detach_control_inputs(self, control_outputs: ControlOutputs | None = None) -> None:
        """Makes the operations wait for none outside and, with `control_outputs`, none outside wait for them."""
        inside = set(self._ops)
        for op in self._ops:
            op.control_inputs = [before for before in op.control_inputs if before in inside]
            for after in control_outputs.get(op) if control_outputs is not None else ():
                if after not in inside:
                    after.control_inputs = [before for before in after.control_inputs if before is not op]

    def __repr__(self) -> str:
        return f"<SubGraphView of {len(self._ops)} operations>"


def _index(tensors: Sequence[Any], t: Tensor, what: str) -> int:
    for i, other in enumerate(tensors):
        if other is t:
            return i
    raise InvalidArgumentError(f"the tensor {t} is not {what} of the subgraph")


# A part of a graph, or operations and tensors that select one, or patterns of their names.
ViewLike: TypeAlias = SubGraphView | Operation | Tensor | Iterable[Any]


def make_view(
    *args: object, graph: GraphBuilder | None = None, positive_filter: Callable[[Any], bool] | None = None
) -> SubGraphView:
    """Returns a view of what arguments select; see `select_ops_and_ts`. A view becomes a copy of itself."""
    if len(args) == 1 and isinstance(args[0], SubGraphView):
        return args[0].copy()
    ops, ts = select_ops_and_ts(*args, graph=graph, positive_filter=positive_filter)
    return SubGraphView(ops, ts)


def make_view_from_scope(scope: str, graph: GraphBuilder) -> SubGraphView:
    """Returns a view of the operations in a name scope of a graph."""
    return SubGraphView(get_name_scope_ops(graph, scope))
