"""Stacks of bidirectional recurrent networks: each layer reads what the layer below gave in both directions.

Invariant: layer i has its variables in "cell_i" of the stack's scope.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfnb.client.rnn.cells import CellLike
from tfnb.client.rnn.dynamic_rnn import bidirectional_dynamic_rnn
from tfnb.client.rnn.static_rnn import static_bidirectional_rnn
from tfnb.client.variables.scope import ScopeLike, variable_scope
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import convert_to_tensor, range_
from tfnb.ops.array.shape_ops import rank, shape_of
from tfnb.ops.array.transpose_pad_tile import transpose
from tfnb.types import DTypeLike

__all__ = ["best_effort_input_batch_size", "stack_bidirectional_dynamic_rnn", "stack_bidirectional_rnn"]


def _checked(
    cells_fw: list[CellLike], cells_bw: list[CellLike], states_fw: list[Any] | None, states_bw: list[Any] | None
) -> list[tuple[Any, Any, Any, Any]]:
    for name, cells in (("cells_fw", cells_fw), ("cells_bw", cells_bw)):
        if not isinstance(cells, list) or not cells:
            raise InvalidArgumentError(f"{name} must be a list of cells, one per layer, got {cells!r}")
    if len(cells_fw) != len(cells_bw):
        raise InvalidArgumentError(f"there are {len(cells_fw)} cells forward and {len(cells_bw)} backward")
    for name, states in (("initial_states_fw", states_fw), ("initial_states_bw", states_bw)):
        if states is not None and (not isinstance(states, list) or len(states) != len(cells_fw)):
            raise InvalidArgumentError(f"{name} must be a list of states, one per layer, got {states!r}")
    none = [None] * len(cells_fw)
    return list(zip(cells_fw, cells_bw, states_fw or none, states_bw or none, strict=True))


def stack_bidirectional_rnn(
    cells_fw: list[CellLike],
    cells_bw: list[CellLike],
    inputs: Sequence[Any],
    initial_states_fw: list[Any] | None = None,
    initial_states_bw: list[Any] | None = None,
    dtype: DTypeLike | None = None,
    sequence_length: TensorLike | None = None,
    scope: ScopeLike | None = None,
) -> tuple[Sequence[Any], tuple[Any, ...], tuple[Any, ...]]:
    """Returns (outputs, last states forward, last states backward) of layers of `static_bidirectional_rnn`.

    cells_fw, cells_bw: lists of cells, one per layer. inputs: a list of (batch, n), one per step; the outputs are
    such a list, with both directions side by side. The states are tuples, one per layer. Raises `InvalidArgumentError`
    when the lists do not agree.
    """
    layers = _checked(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    outputs, forward, backward = inputs, [], []
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for i, (cell_fw, cell_bw, state_fw, state_bw) in enumerate(layers):
            with variable_scope(f"cell_{i}") as layer_scope:
                outputs, last_fw, last_bw = static_bidirectional_rnn(
                    cell_fw, cell_bw, outputs, state_fw, state_bw, dtype, sequence_length, layer_scope
                )
            forward.append(last_fw)
            backward.append(last_bw)
    return outputs, tuple(forward), tuple(backward)


def stack_bidirectional_dynamic_rnn(
    cells_fw: list[CellLike],
    cells_bw: list[CellLike],
    inputs: TensorLike,
    initial_states_fw: list[Any] | None = None,
    initial_states_bw: list[Any] | None = None,
    dtype: DTypeLike | None = None,
    sequence_length: TensorLike | None = None,
    parallel_iterations: int | None = None,
    time_major: bool = False,
    scope: ScopeLike | None = None,
    swap_memory: bool = False,
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Returns (outputs, last states forward, last states backward) of layers of `tf.nn.bidirectional_dynamic_rnn`.

    cells_fw, cells_bw: lists of cells, one per layer. inputs: a tensor (batch, time, n), or time first with
    `time_major`; the outputs have both directions side by side. Raises `InvalidArgumentError` when the lists do not
    agree.
    """
    layers = _checked(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    outputs, forward, backward = inputs, [], []
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for i, (cell_fw, cell_bw, state_fw, state_bw) in enumerate(layers):
            with variable_scope(f"cell_{i}"):
                both, (last_fw, last_bw) = bidirectional_dynamic_rnn(
                    cell_fw,
                    cell_bw,
                    outputs,
                    sequence_length,
                    state_fw,
                    state_bw,
                    dtype,
                    parallel_iterations,
                    swap_memory,
                    time_major,
                )
            outputs = concat(list(both), 2)
            forward.append(last_fw)
            backward.append(last_bw)
    return outputs, tuple(forward), tuple(backward)


def transpose_batch_time(x: TensorLike) -> Tensor:
    """Returns the tensor `x` with its first two dimensions exchanged; below rank 2 it is as it was."""
    t = convert_to_tensor(x)
    if t.shape.ndims is not None and t.shape.ndims < 2:
        return t
    known = t.shape.ndims
    if known is not None:
        return transpose(t, [1, 0, *range(2, known)])
    return transpose(t, concat([[1, 0], range_(2, rank(t))], 0))


def best_effort_input_batch_size(flat_input: Sequence[Any]) -> int | Tensor:
    """Returns the batch size of inputs (time, batch, ...): a number where one of them knows it, else a tensor."""
    for x in flat_input:
        if x.shape.ndims is not None and x.shape.ndims >= 2 and x.shape.as_list()[1] is not None:
            return x.shape.as_list()[1]
    return shape_of(flat_input[0])[1]
