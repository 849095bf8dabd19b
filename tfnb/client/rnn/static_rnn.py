"""Unrolled recurrent networks: one step of a cell for each input of a list (`tf.nn.static_rnn`, `tf.nn.rnn`).

Invariant: after the end of a row, which `sequence_length` gives, its output is zero and its state is constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from tfnb.client.graph import nest
from tfnb.client.rnn.cells import CellLike, like_cell
from tfnb.client.variables.scope import ScopeLike, get_variable_scope, variable_scope
from tfnb.client.variables.variable import group
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.tensor import GraphLike, Tensor, TensorLike
from tfnb.ops.array.concat import concat, stack, unstack
from tfnb.ops.array.constants import range_, zeros_like
from tfnb.ops.array.gather_nd import GATHER_ND
from tfnb.ops.array.shape_ops import IDENTITY, shape_of
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import GREATER, SELECT
from tfnb.types import DTypeLike, as_dtype, int32

__all__ = ["API", "static_bidirectional_rnn", "static_rnn", "state_saving_rnn"]


def static_rnn(
    cell: CellLike,
    inputs: Sequence[Any],
    initial_state: TensorLike | None = None,
    dtype: DTypeLike | None = None,
    sequence_length: TensorLike | None = None,
    scope: ScopeLike | None = None,
) -> tuple[list[Any], Any]:
    """Applies `cell` to each of the `inputs`, a list of [batch, n]; returns (list of outputs [batch, m], last state).

    `initial_state` has the structure of the cell's state; without it, the state begins as zeros of `dtype`.
    `sequence_length` are integers [batch]. Raises `InvalidArgumentError` for an object that is not a cell, for an empty
    list, and when neither state nor dtype is given, and `ShapeError` for lengths of another rank.
    """
    xs = _checked(cell, inputs)
    graph = graph_of(xs)
    xs = [_of_tensors(graph, x) for x in xs]
    with graph.as_default(), variable_scope(scope or "rnn"):
        state = initial_state if initial_state is not None else _first_state(cell, xs, dtype)
        lengths = None if sequence_length is None else _lengths(sequence_length)
        outputs = []
        for time, x in enumerate(xs):
            if time == 1:
                get_variable_scope().reuse_variables()
            output, new = cell(x, state)
            if lengths is not None:
                alive = GREATER(lengths, time)
                output = _where(alive, output, None)
                new = _where(alive, new, state)
            outputs.append(output)
            state = new
        return outputs, state


def _of_tensors(graph: GraphLike, x: object) -> Any:
    """Returns an input as a tensor, or as the structure of tensors that it is for cells that take several parts."""
    leaves = nest.flatten(x)
    if leaves and leaves[0] is not x and any(isinstance(leaf, Tensor) for leaf in leaves):
        return nest.pack(x, [graph.to_tensor(leaf) for leaf in leaves])
    return graph.to_tensor(x)


def _lengths(sequence_length: TensorLike) -> Tensor:
    lengths: Tensor = cast(sequence_length, int32)
    if lengths.shape.ndims not in (None, 1):
        raise ShapeError(f"rnn: sequence_length must be a vector of length batch_size, got shape {lengths.shape}")
    return lengths


def _checked(cell: CellLike, inputs: TensorLike) -> list[Any]:
    if not like_cell(cell):
        raise InvalidArgumentError(f"rnn: {cell!r} is not a cell")
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise InvalidArgumentError(
            f"rnn: inputs must be a list of at least one tensor, got {inputs!r}; tf.unstack makes one of a tensor"
        )
    return list(inputs)


def _first_state(cell: CellLike, xs: Sequence[Tensor], dtype: DTypeLike | None) -> Any:
    if dtype is None:
        raise InvalidArgumentError("rnn: without an initial_state the dtype must be given")
    leaves = nest.flatten(xs)
    for x in leaves:
        if not x.shape.ndims:
            raise ShapeError(f"rnn: each input must be [batch, ...], got shape {x.shape}")
    static_batch = next((x.shape.sizes[0] for x in leaves if x.shape.sizes and x.shape.sizes[0] is not None), None)
    return cell.zero_state(shape_of(leaves[0])[0] if static_batch is None else static_batch, as_dtype(dtype))


def _where(alive: Tensor, new: object, old: object) -> Any:
    """Returns `new` for the rows where `alive` is true, and `old` (or zeros) for the others."""
    new_parts = nest.flatten(new)
    old_parts = [zeros_like(x) for x in new_parts] if old is None else nest.flatten(old)
    return nest.pack(new, [SELECT(alive, a, b) for a, b in zip(new_parts, old_parts, strict=True)])


def _reversed(xs: Sequence[Any], lengths: TensorLike | None) -> list[Any]:
    """Returns the list in reverse order; with `lengths`, the first inputs of each row, up to its length, are
    reversed. Each item is a tensor, or a structure of them.
    """
    if lengths is None:
        return list(reversed(xs))
    parts = [_reversed_tensors(part, lengths) for part in zip(*map(nest.flatten, xs), strict=True)]
    return [nest.pack(xs[0], item) for item in zip(*parts, strict=True)]


def _reversed_tensors(xs: Sequence[Tensor], lengths: TensorLike) -> list[Any]:
    row_lengths = cast(lengths, int32)
    rows = range_(shape_of(xs[0])[0])
    indices = [
        stack([SELECT(GREATER(row_lengths, t), row_lengths - 1 - t, zeros_like(row_lengths) + t), rows], 1)
        for t in range(len(xs))
    ]
    reordered = unstack(GATHER_ND(stack(list(xs)), stack(indices)), len(xs))
    for a, b in zip(reordered, xs, strict=True):
        a.set_shape(b.shape)
    return reordered


def static_bidirectional_rnn(
    cell_fw: CellLike,
    cell_bw: CellLike,
    inputs: Sequence[Any],
    initial_state_fw: TensorLike | None = None,
    initial_state_bw: TensorLike | None = None,
    dtype: DTypeLike | None = None,
    sequence_length: TensorLike | None = None,
    scope: ScopeLike | None = None,
) -> tuple[list[Any], Any, Any]:
    """Applies one cell forwards and one backwards: (outputs, last forward state, last backward state).

    Each output is [batch, forward + backward], in the order of the `inputs`, which may be structures of tensors, for
    cells that take several. Raises the errors of `static_rnn`.
    """
    xs = _checked(cell_fw, inputs)
    _checked(cell_bw, inputs)
    graph = graph_of(xs)
    xs = [_of_tensors(graph, x) for x in xs]
    with graph.as_default(), variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw:
            forward_outputs, state_fw = static_rnn(cell_fw, xs, initial_state_fw, dtype, sequence_length, fw)
        with variable_scope("bw") as bw:
            backward_outputs, state_bw = static_rnn(
                cell_bw, _reversed(xs, sequence_length), initial_state_bw, dtype, sequence_length, bw
            )
        output_pairs = zip(forward_outputs, _reversed(backward_outputs, sequence_length), strict=True)
        outputs = [_side_by_side(a, b) for a, b in output_pairs]
    return outputs, state_fw, state_bw


def _side_by_side(a: Tensor, b: Tensor) -> Any:
    pairs = zip(nest.flatten(a), nest.flatten(b), strict=True)
    return nest.pack(a, [concat([x, y], 1) for x, y in pairs])


class StateSaver(Protocol):
    """An object that keeps the states of sequences from one step to the next."""

    def state(self, state_name: str, /) -> Any: ...

    def save_state(self, state_name: str, value: Tensor, /) -> Any: ...


def state_saving_rnn(
    cell: CellLike,
    inputs: Sequence[Any],
    state_saver: StateSaver,
    state_name: str | Sequence[Any],
    sequence_length: TensorLike | None = None,
    scope: ScopeLike | None = None,
) -> tuple[list[Any], Any]:
    """Runs `static_rnn` from the state `state_saver.state(name)` and saves the last state: `save_state(name, state)`.

    `state_name` is one name, or a tuple of names in the structure of the cell's state. The outputs are available after
    the state has been saved. Raises `InvalidArgumentError` when names and state do not have the same structure.
    """
    names = nest.flatten(state_name)
    if len(names) != len(nest.flatten(cell.state_size)):
        raise InvalidArgumentError(f"state_saving_rnn: names {state_name!r} do not fit the state {cell.state_size!r}")
    initial = nest.pack(cell.state_size, [state_saver.state(n) for n in names])
    outputs, state = static_rnn(cell, inputs, initial, None, sequence_length, scope)
    flat = nest.flatten(state)
    saves = [state_saver.save_state(n, s) for n, s in zip(names, flat, strict=True)]
    with graph_of(flat).control_dependencies([group(*saves)]):
        last = [IDENTITY(x) for x in nest.flatten(outputs[-1])]
        flat = [IDENTITY(s) for s in flat]
    return [*outputs[:-1], nest.pack(outputs[-1], last)], nest.pack(state, flat)


API: dict[str, Any] = {
    "nn.static_rnn": static_rnn,
    "nn.rnn": static_rnn,
    "nn.static_bidirectional_rnn": static_bidirectional_rnn,
    "nn.bidirectional_rnn": static_bidirectional_rnn,
    "nn.static_state_saving_rnn": state_saving_rnn,
    "nn.state_saving_rnn": state_saving_rnn,
    "contrib.rnn.static_rnn": static_rnn,
    "contrib.rnn.static_bidirectional_rnn": static_bidirectional_rnn,
    "contrib.rnn.static_state_saving_rnn": state_saving_rnn,
    "models.rnn.rnn.rnn": static_rnn,
    "models.rnn.rnn.bidirectional_rnn": static_bidirectional_rnn,
    "python.ops.rnn.rnn": static_rnn,
    "python.ops.rnn.bidirectional_rnn": static_bidirectional_rnn,
}
