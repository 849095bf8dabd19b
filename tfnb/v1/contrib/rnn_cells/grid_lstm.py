"""LSTMs over time and frequency (Li et al. 2015, 2016): one cell for each window of the features.

Invariant: the weights of a block of windows are shared by its windows; variables have TensorFlow's names.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping, Sequence
from typing import Any

from tfnb.client.argument_types import InitializerLike
from tfnb.client.rnn.cells import RNNCell
from tfnb.client.variables.initializers import Zeros
from tfnb.client.variables.scope import Reuse, get_variable, variable_scope
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import zeros_like
from tfnb.ops.array.transpose_pad_tile import PAD
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.math.clip import clip_by_value
from tfnb.ops.math.unary import SIGMOID, TANH
from tfnb.ops.nn.bias_dropout_moments import bias_add
from tfnb.types import DTypeLike
from tfnb.v1.contrib.rnn_cells.parts import row_shards, split_gates

__all__ = ["BidirectionalGridLSTMCell", "GridLSTMCell", "TimeFreqLSTMCell"]


def _windows(x: Tensor, start: int, count: int, size: int, skip: int) -> list[Any]:
    return [x[:, start + i * skip : start + i * skip + size] for i in range(count)]


class TimeFreqLSTMCell(RNNCell):
    """An LSTM that goes over the windows of the features, each with a state over time of its own.

    A window has `feature_size` columns, and begins `frequency_skip` columns after the one before; the outputs of all
    windows stand side by side. `initializer` is not read, as in TensorFlow.
    """

    default_name = "time_freq_lstm_cell"

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: InitializerLike | None = None,
        num_unit_shards: int = 1,
        forget_bias: float = 1.0,
        feature_size: int | None = None,
        frequency_skip: int = 1,
        reuse: Reuse | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._peeps, self._clip = num_units, use_peepholes, cell_clip
        self._shards, self._forget_bias = num_unit_shards, forget_bias
        self._feature_size, self._skip = feature_size or 0, frequency_skip

    state_size = property(lambda self: 2 * self._num_units, doc="The size of the state of one window.")
    output_size = property(lambda self: self._num_units, doc="The number of units.")

    def call(self, inputs: Tensor, state: Any = None) -> tuple[Tensor, Tensor]:
        n, dtype = self._num_units, inputs.dtype
        count = (self._columns(inputs.shape) - self._feature_size) // self._skip + 1
        kernel = row_shards("W", [self._feature_size + 2 * n, 4 * n], dtype, self._shards)
        bias = get_variable("B", [4 * n], dtype, Zeros())
        peeps = [get_variable(f"W_{g}_diag", [n], dtype) if self._peeps else 0.0 for g in "FIO"]
        below: Any = zeros_like(state[:, :n])
        outputs, states = [], []
        for k, x in enumerate(_windows(inputs, 0, count, self._feature_size, self._skip)):
            c, h = state[:, 2 * k * n : (2 * k + 1) * n], state[:, (2 * k + 1) * n : (2 * k + 2) * n]
            i, j, f, o = split_gates(bias_add(matmul(concat([x, h, below], 1), kernel), bias), 4)
            c = SIGMOID(f + self._forget_bias + peeps[0] * c) * c + SIGMOID(i + peeps[1] * c) * TANH(j)
            c = c if self._clip is None else clip_by_value(c, -self._clip, self._clip)
            below = SIGMOID(o + peeps[2] * c) * TANH(c)
            outputs.append(below)
            states += [c, below]
        return concat(outputs, 1), concat(states, 1)


class GridLSTMCell(RNNCell):
    """An LSTM with a memory over time and one over frequency, for blocks of windows of the features.

    num_frequency_blocks: the number of windows of each block. Windows are as in `TimeFreqLSTMCell`; several blocks
    begin and end at the columns of `start_freqindex_list` and `end_freqindex_list`. share_time_frequency_weights: the
    two memories have the same weights. couple_input_forget_gates: a forget gate is one minus the input gate. The output
    has the outputs over time and over frequency of each window. `initializer` is not read, as in TensorFlow. Raises
    `InvalidArgumentError` without num_frequency_blocks, and `ShapeError` when the windows do not fit the inputs.
    """

    default_name = "grid_lstm_cell"
    _directions: tuple[str, ...] = ("state",)

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        share_time_frequency_weights: bool = False,
        cell_clip: float | None = None,
        initializer: InitializerLike | None = None,
        num_unit_shards: int = 1,
        forget_bias: float = 1.0,
        feature_size: int | None = None,
        frequency_skip: int | None = None,
        num_frequency_blocks: Sequence[int] | None = None,
        start_freqindex_list: Sequence[int] | None = None,
        end_freqindex_list: Sequence[int] | None = None,
        couple_input_forget_gates: bool = False,
        state_is_tuple: bool = True,
        reuse: Reuse | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        if num_frequency_blocks is None:
            raise InvalidArgumentError(f"{type(self).__name__}: num_frequency_blocks must be given")
        self._num_units, self._peeps, self._shares = num_units, use_peepholes, share_time_frequency_weights
        self._clip, self._shards, self._forget_bias = cell_clip, num_unit_shards, forget_bias
        self._feature_size, self._skip = feature_size or 0, frequency_skip or 1
        self._blocks, self._starts, self._ends = list(num_frequency_blocks), start_freqindex_list, end_freqindex_list
        self._couples, self._as_tuple = couple_input_forget_gates, state_is_tuple
        names = [
            f"{d}_f{f:02d}_b{b:02d}_{part}"
            for d in self._directions
            for b, count in enumerate(self._blocks)
            for f in range(count)
            for part in "cm"
        ]
        make: Any = namedtuple
        self._tuple: Any = make(f"{type(self).__name__.removesuffix('Cell')}StateTuple", names)

    @property
    def state_tuple_type(self) -> type | None:
        """The class of the state, or None without `state_is_tuple`."""
        return self._tuple if self._as_tuple else None

    @property
    def state_size(self) -> Any:
        """The sizes of the memories of all windows, or their sum without `state_is_tuple`."""
        count = len(self._tuple._fields)
        return self._tuple(*[self._num_units] * count) if self._as_tuple else self._num_units * count

    @property
    def output_size(self) -> int:
        """Twice the number of units for each window."""
        return self._num_units * len(self._tuple._fields)

    def call(self, inputs: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        parts = self._tuple(*(state if self._as_tuple else split_gates(state, len(self._tuple._fields))))
        outputs, states = [], []
        for b, windows in enumerate(self._features(inputs, 0)):
            more, new = self._block(windows, b, parts, "state")
            outputs += more
            states += new
        return concat(outputs, 1), self._tuple(*states) if self._as_tuple else concat(states, 1)

    def _features(self, inputs: Tensor, offset: int) -> list[list[Any]]:
        """Returns the windows of each block, `offset` columns further on, with zeros beyond the ends."""
        columns = self._columns(inputs.shape)
        if offset:
            inputs = PAD(inputs, [[0, 0], [max(-offset, 0), max(offset, 0)]])
        starts = list(self._starts or [0])
        ends = list(self._ends or [columns])
        if not len(starts) == len(ends) == len(self._blocks):
            raise ShapeError(f"{len(self._blocks)} blocks need as many starts and ends, got {starts} and {ends}")
        blocks = []
        for start, end, wanted in zip(starts, ends, self._blocks, strict=True):
            count = (end - start - self._feature_size) // self._skip + 1
            if count != wanted:
                raise ShapeError(f"num_frequency_blocks says {wanted} windows, {end - start} columns have {count}")
            blocks.append(_windows(inputs, start + max(offset, 0), count, self._feature_size, self._skip))
        return blocks

    def _weights(self, axis: str, block: int, rows: int, dtype: DTypeLike) -> tuple[Any, Any]:
        n = (3 if self._couples else 4) * self._num_units
        kernel = row_shards(f"W_{axis}_{block}", [rows, n], dtype, self._shards)
        return kernel, get_variable(f"B_{axis}_{block}", [n], dtype, Zeros())

    def _diagonals(self, kind: str, block: int, dtype: DTypeLike) -> dict[str, tuple[Any, Any]]:
        """Returns the peephole weights of each gate, for the memory over frequency and that over time."""
        return {
            gate: (
                get_variable(f"W_{gate}_diag_{kind}f_{block}", [self._num_units], dtype),
                get_variable(f"W_{gate}_diag_{kind}t_{block}", [self._num_units], dtype),
            )
            for gate in ("IO" if self._couples else "FIO")
        }

    def _block(self, windows: list[Any], block: int, state: Any, direction: str) -> tuple[list[Any], list[Any]]:
        n, dtype = self._num_units, windows[0].dtype
        rows = windows[0].shape.as_list()[1] + 2 * n
        by_frequency = self._weights("f", block, rows, dtype)
        by_time = by_frequency if self._shares else self._weights("t", block, rows, dtype)
        peeps_f = self._diagonals("freq", block, dtype) if self._peeps else {}
        peeps_t = peeps_f if self._shares or not self._peeps else self._diagonals("time", block, dtype)
        c_below = h_below = zeros_like(getattr(state, f"{direction}_f00_b{block:02d}_c"))
        outputs: list[Any] = []
        states: list[Any] = []
        for f, x in enumerate(windows):
            name = f"{direction}_f{f:02d}_b{block:02d}"
            c_time, h_time = getattr(state, name + "_c"), getattr(state, name + "_m")
            both = concat([x, h_time, h_below], 1)
            gates_f = self._gates(both, by_frequency)
            gates_t = gates_f if self._shares else self._gates(both, by_time)
            new_below = self._memory(gates_f, c_below, (c_below, c_time), peeps_f)
            new_time = self._memory(gates_t, c_time, (c_below, c_time), peeps_t)
            memories = (new_below, new_time)
            h_below = self._output(gates_f["O"], new_below, memories, peeps_f)
            h_time = self._output(gates_t["O"], new_time, memories, peeps_t)
            c_below = new_below
            outputs += [h_time, h_below]
            states += [new_time, h_time]
        return outputs, states

    def _gates(self, x: Tensor, weights: tuple[Any, Any]) -> dict[str, Any]:
        names = "IJO" if self._couples else "IJFO"
        return dict(zip(names, split_gates(bias_add(matmul(x, weights[0]), weights[1]), len(names)), strict=True))

    @staticmethod
    def _peeped(gate: Tensor, name: str, memories: tuple[Any, Any], peeps: Mapping[str, tuple[Any, Any]]) -> Tensor:
        return gate + peeps[name][0] * memories[0] + peeps[name][1] * memories[1] if peeps else gate

    def _memory(
        self, gates: Mapping[str, Any], old: Tensor, memories: tuple[Any, Any], peeps: Mapping[str, tuple[Any, Any]]
    ) -> Tensor:
        take = SIGMOID(self._peeped(gates["I"], "I", memories, peeps))
        if self._couples:
            keep = 1.0 - take
        else:
            keep = SIGMOID(self._peeped(gates["F"] + self._forget_bias, "F", memories, peeps))
        new = keep * old + take * TANH(gates["J"])
        return new if self._clip is None else clip_by_value(new, -self._clip, self._clip)

    def _output(
        self, gate: Tensor, memory: Tensor, memories: tuple[Any, Any], peeps: Mapping[str, tuple[Any, Any]]
    ) -> Tensor:
        return SIGMOID(self._peeped(gate, "O", memories, peeps)) * TANH(memory)


class BidirectionalGridLSTMCell(GridLSTMCell):
    """A `GridLSTMCell` that goes over the frequencies in both directions, with weights for each.

    backward_slice_offset: by how many columns the windows of the backward direction are shifted.
    """

    default_name = "bidirectional_grid_lstm_cell"
    _directions = ("fwd_state", "bwd_state")

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        share_time_frequency_weights: bool = False,
        cell_clip: float | None = None,
        initializer: InitializerLike | None = None,
        num_unit_shards: int = 1,
        forget_bias: float = 1.0,
        feature_size: int | None = None,
        frequency_skip: int | None = None,
        num_frequency_blocks: Sequence[int] | None = None,
        start_freqindex_list: Sequence[int] | None = None,
        end_freqindex_list: Sequence[int] | None = None,
        couple_input_forget_gates: bool = False,
        backward_slice_offset: int = 0,
        reuse: Reuse | None = None,
    ) -> None:
        super().__init__(
            num_units,
            use_peepholes,
            share_time_frequency_weights,
            cell_clip,
            initializer,
            num_unit_shards,
            forget_bias,
            feature_size,
            frequency_skip,
            num_frequency_blocks,
            start_freqindex_list,
            end_freqindex_list,
            couple_input_forget_gates,
            True,
            reuse,
        )
        self._offset = int(backward_slice_offset)

    def call(self, inputs: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        outputs, states = [], []
        for scope, direction, offset in (("fwd", "fwd_state", 0), ("bwd", "bwd_state", self._offset)):
            with variable_scope(scope):
                for b, windows in enumerate(self._features(inputs, offset)):
                    ordered = windows[::-1] if scope == "bwd" else windows
                    more, new = self._block(ordered, b, state, direction)
                    outputs += more
                    states += new
        return concat(outputs, 1), self._tuple(*states)
