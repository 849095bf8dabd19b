"""Cells of TensorFlow's fused kernels, and cells that compute all steps in one call.

Invariant: values and variables are those of the plain cells; fusing is the compiler's work here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfnb.client.layers.base import Layer
from tfnb.client.rnn.cells import CellLike, GRUCell, LSTMCell, LSTMStateTuple
from tfnb.client.rnn.dynamic_rnn import dynamic_rnn
from tfnb.client.rnn.static_rnn import static_rnn
from tfnb.client.variables.initializers import Constant, Zeros
from tfnb.client.variables.scope import Reuse, ScopeLike, variable_scope
from tfnb.errors import InvalidArgumentError, ShapeError, UnimplementedError
from tfnb.ir.default import graph_of
from tfnb.ir.tensor import TensorLike
from tfnb.ops.array.concat import stack, unstack
from tfnb.ops.array.sort_roll_reverse import reverse_sequence
from tfnb.ops.array.tile_reverse_mirror import reverse
from tfnb.types import DTypeLike, Shape
from tfnb.v1.contrib.layers.named_outputs import last_dimension

__all__ = ["FusedRNNCellAdaptor", "GRUBlockCell", "LSTMBlockCell", "LSTMBlockFusedCell", "TimeReversedFusedRNN"]


class LSTMBlockCell(LSTMCell):
    """An `LSTMCell` under the name and with the variables of TensorFlow's fused cell.

    `use_peephole` adds peepholes, `cell_clip` bounds the state where it is positive.
    """

    default_name = "lstm_cell"
    _peephole_order = "ifo"

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        dtype: DTypeLike | None = None,
        reuse: Reuse | None = None,
        name: str | None = "lstm_cell",
    ) -> None:
        clip = cell_clip if cell_clip is not None and cell_clip > 0 else None
        super().__init__(num_units, use_peephole, clip, forget_bias=forget_bias, reuse=reuse, name=name, dtype=dtype)


class GRUBlockCellV2(GRUCell):
    """A `GRUCell` under the name of TensorFlow's fused cell. Give `num_units`, or the deprecated `cell_size`.

    Raises `InvalidArgumentError` unless exactly one is given.
    """

    default_name = "gru_cell"

    def __init__(
        self,
        num_units: int | None = None,
        cell_size: int | None = None,
        reuse: Reuse | None = None,
        name: str | None = "gru_cell",
    ) -> None:
        if (num_units is None) == (cell_size is None):
            raise InvalidArgumentError("Exactly one of num_units or cell_size must be provided")
        super().__init__(num_units or cell_size or 0, reuse=reuse, name=name)


class GRUBlockCell(GRUBlockCellV2):
    """A `GRUBlockCellV2` whose variables have the names of the first fused cell: w_ru, b_ru, w_c and b_c."""

    default_name = "gru_cell"

    def build(self, shape: Shape) -> None:
        n, rows = self._num_units, self._columns(shape) + self._num_units
        self._gates = (
            self.add_variable("w_ru", [rows, 2 * n]),
            self.add_variable("b_ru", [2 * n], initializer=Constant(1.0)),
        )
        self._candidate = (
            self.add_variable("w_c", [rows, n]),
            self.add_variable("b_c", [n], initializer=Zeros()),
        )


class FusedRNNCell:
    """The base class of cells that compute all steps in one call, from inputs (time, batch, n) or a list of steps."""

    def __call__(
        self,
        inputs: TensorLike,
        initial_state: Any = None,
        dtype: DTypeLike | None = None,
        sequence_length: TensorLike | None = None,
        scope: ScopeLike | None = None,
    ) -> tuple[Any, Any]:
        """Returns (outputs of all steps, in the form of the inputs, the last state). Subclasses implement it."""
        raise UnimplementedError(f"{type(self).__name__} does not compute anything")


class FusedRNNCellAdaptor(FusedRNNCell):
    """Any cell as a fused one, by `tf.nn.static_rnn`, or with `use_dynamic_rnn` by `tf.nn.dynamic_rnn`."""

    def __init__(self, cell: CellLike, use_dynamic_rnn: bool = False) -> None:
        self._cell, self._dynamic = cell, use_dynamic_rnn

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: DTypeLike | None = None,
        sequence_length: TensorLike | None = None,
        scope: ScopeLike | None = None,
    ) -> tuple[Any, Any]:
        """Returns (outputs of all steps, the last state) for `inputs` (time, batch, n) or a list of (batch, n)."""
        listed = isinstance(inputs, list)
        if self._dynamic:
            x = stack(inputs) if listed else inputs
            outputs, state = dynamic_rnn(
                self._cell, x, sequence_length, initial_state, dtype, time_major=True, scope=scope
            )
            return unstack(outputs) if listed else outputs, state
        steps = inputs if listed else unstack(inputs)
        outputs, state = static_rnn(self._cell, steps, initial_state, dtype, sequence_length, scope)
        return outputs if listed else stack(outputs), state


class TimeReversedFusedRNN(FusedRNNCell):
    """A fused cell that goes from the last step to the first."""

    def __init__(self, cell: Callable[..., Any]) -> None:
        self._cell = cell

    def __call__(
        self,
        inputs: TensorLike,
        initial_state: Any = None,
        dtype: DTypeLike | None = None,
        sequence_length: TensorLike | None = None,
        scope: ScopeLike | None = None,
    ) -> tuple[Any, Any]:
        """Returns (outputs of all steps in the order of `inputs`, the state after the first step)."""
        options = {"initial_state": initial_state, "dtype": dtype, "sequence_length": sequence_length, "scope": scope}
        outputs, state = self._cell(_reversed(inputs, sequence_length), **options)
        return _reversed(outputs, sequence_length), state


def _reversed(steps: Any, lengths: TensorLike | None) -> Any:
    if isinstance(steps, list):
        return steps[::-1]
    return reverse(steps, [0]) if lengths is None else reverse_sequence(steps, lengths, 0, 1)


class LSTMBlockWrapper(Layer):
    """The base class of LSTMs that compute all steps in one call: `layer(inputs, initial_state, dtype, lengths)`.

    A subclass has `num_units`, and `_cell()`, a cell with the layer's variables that computes one step.
    """

    shares_name = True

    @property
    def num_units(self) -> int:
        """The number of units."""
        raise InvalidArgumentError(f"{type(self).__name__} does not say its num_units")

    def _cell(self) -> CellLike:
        raise InvalidArgumentError(f"{type(self).__name__} has no cell")

    def __call__(
        self,
        inputs: TensorLike,
        initial_state: Any = None,
        dtype: DTypeLike | None = None,
        sequence_length: TensorLike | None = None,
        scope: ScopeLike | None = None,
    ) -> tuple[Any, Any]:
        """Returns (outputs of all steps, the last state as `LSTMStateTuple`).

        inputs: (time, batch, n), or a list of (batch, n). initial_state: a pair (c, h), by default zeros of `dtype`.
        After the end of a sequence, by `sequence_length`, outputs are zero. Raises `ShapeError` for another rank,
        `InvalidArgumentError` without a state and a dtype.
        """
        if initial_state is None and dtype is None:
            raise InvalidArgumentError("Either initial_state or dtype needs to be specified")
        listed = isinstance(inputs, list)
        x = stack(inputs) if listed else graph_of([inputs]).to_tensor(inputs)
        columns = x.shape.with_rank(3).as_list()[2]
        if columns is None:
            raise ShapeError(f"{type(self).__name__}: the last dimension of the inputs must be known, got {x.shape}")
        state = None if initial_state is None else LSTMStateTuple(*initial_state)
        if scope is not None and self._scope is None:
            with variable_scope(scope) as opened:
                self._scope = opened
        with x.graph.as_default(), self._open() as opened:
            self._scope = self._scope or opened
            self.dtype = self.dtype or x.dtype
            if not self.built:
                self.build(x.shape)
                self.built = True
        kind = dtype if state is None else None
        outputs, final = dynamic_rnn(self._cell(), x, sequence_length, state, kind, time_major=True)
        return unstack(outputs) if listed else outputs, final

    apply = __call__


class _WithWeights(LSTMCell):
    """An LSTM's step with the variables of a layer."""

    def __init__(self, layer: LSTMBlockFusedCell, num_units: int, clip: float | None, forget_bias: float) -> None:
        super().__init__(num_units, bool(layer.diagonals), clip, forget_bias=forget_bias)
        self._kernel, self._bias, self._peepholes = layer.kernel, layer.bias, layer.diagonals
        self.built = True

    def __call__(self, inputs: Any, state: Any = None, scope: Any = None, **kwargs: Any) -> Any:
        return self.call(inputs, state, **kwargs)


class LSTMBlockFusedCell(LSTMBlockWrapper):
    """An LSTM that computes all steps in one call; the arguments are those of `LSTMBlockCell`."""

    default_name = "lstm_fused_cell"

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        reuse: Reuse | None = None,
        dtype: DTypeLike | None = None,
        name: str | None = "lstm_fused_cell",
    ) -> None:
        super().__init__(name, dtype=dtype, _reuse=reuse)
        self._num_units, self._forget_bias, self._peeps = num_units, forget_bias, use_peephole
        self._clip = cell_clip if cell_clip is not None and cell_clip > 0 else None
        self.diagonals: dict[str, Any] = {}

    num_units = property(lambda self: self._num_units, doc="The number of units.")

    def build(self, shape: Shape) -> None:
        n = self._num_units
        self.kernel = self.add_variable("kernel", [last_dimension(shape, 3) + n, 4 * n])
        self.bias = self.add_variable("bias", [4 * n], initializer=Zeros())
        if self._peeps:
            self.diagonals = {gate: self.add_variable(f"w_{gate}_diag", [n]) for gate in "ifo"}

    def _cell(self) -> CellLike:
        return _WithWeights(self, self._num_units, self._clip, self._forget_bias)
