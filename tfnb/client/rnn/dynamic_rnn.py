"""Recurrent networks as loops: dynamic_rnn, bidirectional_dynamic_rnn, raw_rnn (white paper, section 4.4).

The body of a while loop is one step of a cell. Inputs and outputs are tensor arrays, so one graph runs sequences of any
length. Invariant: after the end of a row, which `sequence_length` gives, its output is zero and its state is constant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfnb.client.control_flow.primitives import with_dependencies
from tfnb.client.control_flow.tensor_array import TensorArray
from tfnb.client.control_flow.while_loop import while_loop
from tfnb.client.graph.nest import flatten, pack, same_structure
from tfnb.client.rnn.cells import CellLike, like_cell
from tfnb.client.variables.scope import ScopeLike, variable_scope
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.tensor import GraphLike, Tensor, TensorLike
from tfnb.ops.array.concat import stack
from tfnb.ops.array.constants import zeros
from tfnb.ops.array.shape_ops import shape_of
from tfnb.ops.array.sort_roll_reverse import reverse_sequence
from tfnb.ops.array.transpose_pad_tile import transpose
from tfnb.ops.logging.print_assert import assert_that
from tfnb.ops.math.binary import MAXIMUM, MINIMUM
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import EQUAL, GREATER_EQUAL, LOGICAL_NOT, LOGICAL_OR, SELECT
from tfnb.ops.math.reduce_functions import reduce_all, reduce_max
from tfnb.types import DTypeLike, Shape, as_dtype, as_shape, bool_, int32

__all__ = ["API", "bidirectional_dynamic_rnn", "dynamic_rnn", "raw_rnn"]


def dynamic_rnn(
    cell: CellLike,
    inputs: TensorLike,
    sequence_length: TensorLike | None = None,
    initial_state: TensorLike | None = None,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: ScopeLike | None = None,
) -> tuple[Any, Any]:
    """Applies `cell` to each step of `inputs` and returns (outputs, last state).

    `inputs` is a tensor (or a structure of them) of shape [batch, time, ...], or, with `time_major`, [time, batch,
    ...]. The outputs are laid out alike: [batch, time, output size]. `sequence_length` are integers [batch], the
    lengths of the rows. `initial_state` has the structure of the cell's state; without it, the state begins as zeros of
    `dtype`. `swap_memory` keeps what gradients need in the host's memory. Raises `InvalidArgumentError` for an object
    that is not a cell and when neither state nor dtype is given, `ShapeError` for inputs without batch and time and for
    lengths that are not a vector.
    """
    if not like_cell(cell):
        raise InvalidArgumentError(f"dynamic_rnn: {cell!r} is not a cell")
    graph = graph_of(flatten(inputs))
    with graph.as_default(), variable_scope(scope or "rnn"):
        xs = [graph.to_tensor(x) for x in flatten(inputs)]
        if not time_major:
            xs = [_swapped(x) for x in xs]
        batch = _dimension(xs, 1)
        size = shape_of(xs[0])[1] if batch is None else batch
        lengths = None
        if sequence_length is not None:
            lengths = _lengths(graph, sequence_length, size)
        if initial_state is None:
            if dtype is None:
                raise InvalidArgumentError("dynamic_rnn: without an initial_state the dtype must be given")
            initial_state = cell.zero_state(size, as_dtype(dtype))
        state = pack(initial_state, [graph.to_tensor(s) for s in flatten(initial_state)])
        loop = _Steps(graph, cell, inputs, xs, lengths, size, batch, dtype)
        outputs, last = loop.run(state, parallel_iterations or 32, swap_memory)
        if not time_major:
            outputs = [_swapped(y) for y in outputs]
        return pack(cell.output_size, outputs), last


def _swapped(x: Tensor) -> Tensor:
    """Returns the tensor with batch and time exchanged."""
    rank = x.shape.ndims
    if rank is None:
        raise ShapeError("dynamic_rnn: the rank of the inputs must be known", x.op)
    if rank < 2:
        raise ShapeError(f"dynamic_rnn: inputs must be [batch, time, ...], got shape {x.shape}", x.op)
    result: Tensor = transpose(x, [1, 0, *range(2, rank)])
    return result


def _dimension(xs: list[Tensor], axis: int) -> int | None:
    dimension = Shape((None,))
    for x in xs:
        if x.shape.sizes is None or len(x.shape.sizes) < 2:
            raise ShapeError(f"dynamic_rnn: inputs must have batch and time, got shape {x.shape}", x.op)
        dimension = dimension.merge_with(Shape((x.shape.sizes[axis],)))
    return dimension.sizes[0] if dimension.sizes else None


def _lengths(graph: GraphLike, sequence_length: TensorLike, size: TensorLike) -> Tensor:
    lengths: Tensor = cast(graph.to_tensor(sequence_length), int32)
    if lengths.shape.ndims not in (None, 1):
        raise ShapeError(
            f"dynamic_rnn: sequence_length must be a vector of length batch size, got shape {lengths.shape}"
        )
    if isinstance(size, int):
        lengths.set_shape([size])
        return lengths
    check = assert_that(
        EQUAL(shape_of(lengths)[0], size), ["sequence_length must have an entry per row, has", shape_of(lengths)]
    )
    checked_lengths: Tensor = with_dependencies([check], lengths)
    return checked_lengths


class _Steps:
    """The loop of `dynamic_rnn`."""

    def __init__(
        self,
        graph: GraphLike,
        cell: CellLike,
        inputs: TensorLike,
        xs: list[Tensor],
        lengths: Tensor | None,
        size: TensorLike,
        batch: int | None,
        dtype: DTypeLike | None,
    ) -> None:
        self.graph = graph
        self.cell = cell
        self.structure = inputs
        self.lengths = lengths
        self.size = size
        self.batch = batch
        self.n = _dimension(xs, 0)
        self.steps: Any = graph.to_tensor(self.n) if self.n is not None else shape_of(xs[0])[0]
        self.dtype = xs[0].dtype if dtype is None else as_dtype(dtype)
        self.arrays = [TensorArray(x.dtype, size=self.steps, name="input").unstack(x) for x in xs]
        self.limit = self.steps
        if lengths is not None:
            self.limit = MINIMUM(self.steps, MAXIMUM(1, reduce_max(lengths)))

    def run(self, state: TensorLike, parallel_iterations: int, swap_memory: bool) -> tuple[list[Tensor], Any]:
        sizes = [as_shape(_as_dims(s)) for s in flatten_sizes(self.cell.output_size)]
        dtypes = [self.dtype] * len(sizes)
        targets = [
            TensorArray(d, size=self.steps, element_shape=Shape((self.batch, *s.as_list())), name="output")
            for d, s in zip(dtypes, sizes, strict=True)
        ]
        self.zero_outputs = None
        if self.lengths is not None:
            self.zero_outputs = [_zeros(self.size, s, d) for s, d in zip(sizes, dtypes, strict=True)]
        _, targets, last = while_loop(
            lambda time, *_: time < self.limit,
            self.step,
            (self.graph.to_tensor(0), targets, state),
            parallel_iterations=parallel_iterations,
            swap_memory=swap_memory,
        )
        outputs = [t.stack() for t in targets]
        for y, s in zip(outputs, sizes, strict=True):
            y.set_shape(Shape((self.n, self.batch, *s.as_list())))
        return outputs, last

    def step(self, time: Tensor, targets: Sequence[TensorArray], state: TensorLike) -> Any:
        x = pack(self.structure, [a.read(time) for a in self.arrays])
        output, new = self.cell(x, state)
        if not same_structure(state, new):
            raise InvalidArgumentError(
                f"dynamic_rnn: the cell made a state {new!r}, whose structure is not that of {state!r}"
            )
        outputs, new_states = flatten(output), flatten(new)
        if self.lengths is not None:
            is_finished = GREATER_EQUAL(time, self.lengths)
            outputs = [SELECT(is_finished, z, y) for z, y in zip(self.zero_outputs or (), outputs, strict=True)]
            new_states = [_kept(is_finished, s, t) for s, t in zip(flatten(state), new_states, strict=True)]
        for s, t in zip(flatten(state), new_states, strict=True):
            if isinstance(t, Tensor) and isinstance(s, Tensor):
                t.set_shape(s.shape)
        targets = [t.write(time, y) for t, y in zip(targets, outputs, strict=True)]
        return time + 1, targets, pack(new, new_states)


def _kept(over: Tensor, old: TensorLike, new: TensorLike) -> Any:
    """Returns the old state for the rows that are over, else the new one; scalar states and tensor arrays are always
    new.
    """
    if isinstance(new, TensorArray) or (isinstance(new, Tensor) and new.shape.ndims == 0):
        return new
    return SELECT(over, old, new)


def flatten_sizes(sizes: TensorLike) -> list[Any]:
    """Returns the leaves of a structure of sizes: integers or shapes."""
    return [sizes] if isinstance(sizes, Shape) else flatten(sizes)


def _as_dims(size: object) -> object:
    return [int(size)] if hasattr(size, "__index__") else size


def _zeros(batch: TensorLike, size: Shape, dtype: DTypeLike) -> Tensor:
    dims = size.known()
    result: Tensor = zeros([batch, *dims] if isinstance(batch, int) else stack([batch, *dims]), dtype)
    return result


def bidirectional_dynamic_rnn(
    cell_fw: CellLike,
    cell_bw: CellLike,
    inputs: TensorLike,
    sequence_length: TensorLike | None = None,
    initial_state_fw: TensorLike | None = None,
    initial_state_bw: TensorLike | None = None,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: ScopeLike | None = None,
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Applies one cell forwards and one backwards, and returns ((outputs, outputs), (last state, last state)).

    The outputs of `cell_bw` are in the order of the inputs. Arguments and errors are those of `dynamic_rnn`.
    """
    for cell in (cell_fw, cell_bw):
        if not like_cell(cell):
            raise InvalidArgumentError(f"bidirectional_dynamic_rnn: {cell!r} is not a cell")
    rest = (parallel_iterations, swap_memory, time_major)
    graph = graph_of(flatten(inputs))
    with graph.as_default(), variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw:
            forward_outputs, last_fw = dynamic_rnn(
                cell_fw, inputs, sequence_length, initial_state_fw, dtype, *rest, scope=fw
            )
        with variable_scope("bw") as bw:
            reversed_inputs = _in_reverse(graph, inputs, sequence_length, time_major)
            backward_outputs, last_bw = dynamic_rnn(
                cell_bw, reversed_inputs, sequence_length, initial_state_bw, dtype, *rest, scope=bw
            )
        backward_outputs = _in_reverse(graph, backward_outputs, sequence_length, time_major)
    return (forward_outputs, backward_outputs), (last_fw, last_bw)


def _in_reverse(graph: GraphLike, structure: TensorLike, lengths: TensorLike | None, time_major: bool) -> Any:
    """Returns the sequences in reverse order; with `lengths`, each is reversed up to its length."""
    time, batch = (0, 1) if time_major else (1, 0)
    results = []
    for x in map(graph.to_tensor, flatten(structure)):
        if lengths is None:
            n = shape_of(x)
            row_lengths = zeros(stack([n[batch]]), int32) + n[time]
        else:
            row_lengths = graph.to_tensor(lengths)
        reversed_part = reverse_sequence(x, row_lengths, seq_axis=time, batch_axis=batch)
        reversed_part.set_shape(x.shape)
        results.append(reversed_part)
    return pack(structure, results)


def raw_rnn(
    cell: CellLike,
    loop_fn: Callable[..., Any],
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    scope: ScopeLike | None = None,
) -> tuple[Any, Any, Any]:
    """Runs `cell` in a loop that `loop_fn` controls; returns (tensor arrays of emitted values, last state, loop state).

    `loop_fn(time, cell_output, cell_state, loop_state)` returns (finished [batch] bool, next input, cell state, value
    to emit, loop state). Its first call, with time 0 and None for the other arguments, returns the initial states and
    an example of the values to emit, for their shape and dtype (None: like the cell's output). Rows that are finished
    emit zeros and keep their state; the loop ends when all rows are finished. Raises `InvalidArgumentError` for an
    object that is not a cell, and for a `loop_fn` that is not a function.
    """
    if not like_cell(cell):
        raise InvalidArgumentError(f"raw_rnn: {cell!r} is not a cell")
    if not callable(loop_fn):
        raise InvalidArgumentError("raw_rnn: loop_fn must be callable")
    with variable_scope(scope or "rnn"):
        graph = graph_of([])
        time = graph.to_tensor(0)
        finished, x, state, emitted, loop_state = loop_fn(time, None, None, None)
        flat_x = [graph.to_tensor(t) for t in flatten(x)]
        x = pack(x, flat_x)
        static = flat_x[0].shape.sizes[0] if flat_x[0].shape.sizes else None
        size = shape_of(flat_x[0])[0] if static is None else static
        state = pack(state, [graph.to_tensor(s) for s in flatten(state)])
        structure, zero_emit, shapes = _emission(cell, emitted, size, flat_x[0].dtype)
        arrays = [
            TensorArray(z.dtype, size=0, dynamic_size=True, element_shape=Shape((static, *s.as_list())))
            for z, s in zip(zero_emit, shapes, strict=True)
        ]
        has_state = loop_state is not None
        kept = loop_state if has_state else graph.to_tensor(0)

        def body(
            time: Tensor, done: Tensor, x: Tensor, written: Sequence[TensorArray], state: Tensor, kept: object
        ) -> Any:
            output, new = cell(x, state)
            transition = loop_fn(time + 1, output, new, kept if has_state else None)
            next_done, next_x, next_state, emit, next_loop = transition
            emits = flatten(emit if emitted is not None else output)
            emits = [SELECT(done, z, e) for z, e in zip(zero_emit, emits, strict=True)]
            states = [_kept(done, a, b) for a, b in zip(flatten(state), flatten(next_state), strict=True)]
            written = [a.write(time, e) for a, e in zip(written, emits, strict=True)]
            is_over = LOGICAL_OR(done, next_done)
            return time + 1, is_over, next_x, written, pack(next_state, states), next_loop if has_state else kept

        start = (time, graph.to_tensor(finished, bool_), x, arrays, state, kept)
        final_values = while_loop(
            lambda time, done, *_: LOGICAL_NOT(reduce_all(done)),
            body,
            start,
            parallel_iterations=parallel_iterations or 32,
            swap_memory=swap_memory,
        )
        return pack(structure, final_values[3]), final_values[4], final_values[5] if has_state else None


def _emission(
    cell: CellLike, emitted: TensorLike, size: TensorLike, dtype: DTypeLike
) -> tuple[Any, list[Tensor], list[Shape]]:
    """Returns structure, zeros and shapes of the emitted values."""
    if emitted is None:
        structure, sizes = cell.output_size, flatten_sizes(cell.output_size)
        shapes = [as_shape(_as_dims(s)) for s in sizes]
        dtypes = [dtype] * len(shapes)
    else:
        tensors = [graph_of([e]).to_tensor(e) for e in flatten(emitted)]
        structure = emitted
        shapes, dtypes = [t.shape for t in tensors], [t.dtype for t in tensors]
    return structure, [_zeros(size, s, d) for s, d in zip(shapes, dtypes, strict=True)], shapes


API: dict[str, Any] = {
    "nn.dynamic_rnn": dynamic_rnn,
    "nn.bidirectional_dynamic_rnn": bidirectional_dynamic_rnn,
    "nn.raw_rnn": raw_rnn,
}
