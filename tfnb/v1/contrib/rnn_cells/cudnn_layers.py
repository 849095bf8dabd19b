"""`tf.contrib.cudnn_rnn`'s layers on every device: stacks of cells whose variables have the canonical names.

TensorFlow keeps the weights of such a layer in one opaque vector, and saves them under these names. Invariant: a
checkpoint that TensorFlow wrote of a layer is restored into the layer here, and into a stack of compatible cells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfnb.client.argument_types import InitializerLike
from tfnb.client.layers.base import Layer
from tfnb.client.rnn.cell_wrappers import DropoutWrapper
from tfnb.client.rnn.cells import BasicRNNCell, CellLike, LSTMStateTuple, MultiRNNCell
from tfnb.client.rnn.dynamic_rnn import dynamic_rnn
from tfnb.client.variables.initializers import Zeros
from tfnb.client.variables.scope import variable_scope
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.default import graph_of
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import stack
from tfnb.ops.array.constants import convert_to_tensor
from tfnb.ops.array.transpose_pad_tile import transpose
from tfnb.ops.math.unary import TANH
from tfnb.ops.nn.activations import RELU
from tfnb.types import DTypeLike, float32
from tfnb.v1.contrib.rnn_cells.cudnn_cells import CudnnCompatibleGRUCell, CudnnCompatibleLSTMCell
from tfnb.v1.contrib.rnn_cells.stacked import stack_bidirectional_dynamic_rnn

__all__ = ["CudnnGRU", "CudnnLSTM", "CudnnRNNRelu", "CudnnRNNTanh"]

_DIRECTIONS = {"unidirectional": 1, "bidirectional": 2}


class _CudnnLayer(Layer):
    """A stack of `num_layers` recurrent layers; a subclass has the cell."""

    parts = 1  # the number of tensors of a state
    shares_name = True

    def __init__(
        self,
        num_layers: int,
        num_units: int,
        input_mode: str = "linear_input",
        direction: str = "unidirectional",
        dropout: float = 0.0,
        seed: int | None = None,
        dtype: DTypeLike = float32,
        kernel_initializer: InitializerLike | None = None,
        bias_initializer: InitializerLike | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name, dtype=dtype)
        if direction not in _DIRECTIONS:
            raise InvalidArgumentError(f"direction must be one of {sorted(_DIRECTIONS)}, got {direction!r}")
        if input_mode not in ("linear_input", "auto_select"):
            raise InvalidArgumentError(f"input_mode must be linear_input or auto_select, got {input_mode!r}")
        self.num_layers, self.num_units, self.direction = num_layers, num_units, direction
        self._dropout, self._seed = dropout, seed
        self._initializers = (kernel_initializer, bias_initializer or Zeros())
        self._cells: list[Any] = []

    @property
    def num_dirs(self) -> int:
        """The number of directions, 1 or 2."""
        return _DIRECTIONS[self.direction]

    def state_shape(self, batch_size: int) -> tuple[list[int], ...]:
        """Returns the shapes of the tensors of a state: [layers * directions, batch_size, units] each."""
        return ([self.num_layers * self.num_dirs, batch_size, self.num_units],) * self.parts

    def _cell(self) -> CellLike:
        raise InvalidArgumentError(f"{type(self).__name__} has no cell")

    def __call__(
        self,
        inputs: TensorLike,
        initial_state: tuple[Any, ...] | None = None,
        sequence_lengths: TensorLike | None = None,
        time_major: bool = True,
        training: bool = True,
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Returns (outputs [time, batch, directions * units], the last state as a tuple).

        inputs: [time, batch, n], or [batch, time, n] without `time_major`. initial_state: a tuple of tensors of
        `state_shape`, (h, c) for an LSTM, by default zeros. training: whether outputs between layers are dropped.
        Raises `DTypeError` for a state that is no tuple.
        """
        if initial_state is not None and not isinstance(initial_state, tuple):
            raise DTypeError(f"Invalid initial_state type: {type(initial_state).__name__}, expecting tuple.")
        x = graph_of([inputs]).to_tensor(inputs)
        states = [] if initial_state is None else [convert_to_tensor(s) for s in initial_state]
        if not time_major:
            x, states = transpose(x, [1, 0, 2]), [transpose(s, [1, 0, 2]) for s in states]
        with x.graph.as_default(), self._open() as scope:
            self._scope = self._scope or scope
            with variable_scope(scope, custom_getter=self._initialized):
                outputs, finals = self._run(x, states, sequence_lengths, training)
            if not self.built:
                self.variables = scope.global_variables()
                self.built = True
        stacked = [stack([f[part] for f in finals]) for part in range(self.parts)]
        if not time_major:
            outputs, stacked = transpose(outputs, [1, 0, 2]), [transpose(s, [1, 0, 2]) for s in stacked]
        return outputs, tuple(stacked)

    apply = __call__

    def _initialized(self, getter: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        kernel, bias = self._initializers
        initializer = bias if name.endswith("bias") else (kernel or kwargs.get("initializer"))
        return getter(name, *args, **{**kwargs, "initializer": initializer})

    def _run(
        self, x: Tensor, states: list[Any], lengths: TensorLike | None, training: bool
    ) -> tuple[Any, list[tuple[Any, ...]]]:
        """Returns (outputs, the last state of each layer and direction as a tuple of h, c)."""
        dirs = self.num_dirs
        if not self._cells:
            self._cells = [self._cell() for _ in range(self.num_layers * dirs)]
        firsts = [self._joined([s[i] for s in states]) for i in range(len(self._cells))] if states else None
        if dirs == 1:
            cells = [self._dropped(c, i, training) for i, c in enumerate(self._cells)]
            first = None if firsts is None else tuple(firsts)
            outputs, last = dynamic_rnn(
                MultiRNNCell(cells), x, lengths, first, dtype=None if firsts else x.dtype, time_major=True
            )
            return outputs, [self._split(s) for s in last]
        forward, backward = ([self._dropped(c, i, training) for i, c in enumerate(self._cells[d::2])] for d in range(2))
        outputs, last_fw, last_bw = stack_bidirectional_dynamic_rnn(
            forward,
            backward,
            x,
            initial_states_fw=None if firsts is None else firsts[::2],
            initial_states_bw=None if firsts is None else firsts[1::2],
            dtype=x.dtype,
            sequence_length=lengths,
            time_major=True,
        )
        return outputs, [self._split(s) for pair in zip(last_fw, last_bw, strict=True) for s in pair]

    def _dropped(self, cell: CellLike, layer: int, training: bool) -> CellLike:
        if not training or not self._dropout or layer == self.num_layers - 1:
            return cell
        return DropoutWrapper(cell, output_keep_prob=1.0 - self._dropout, seed=self._seed)

    def _joined(self, parts: list[Any]) -> Any:
        return parts[0]

    def _split(self, state: Any) -> tuple[Any, ...]:
        return (state,)


class CudnnLSTM(_CudnnLayer):
    """A stack of LSTMs as cuDNN computes them; the state is (h, c).

    num_layers, num_units: of the stack. direction: "unidirectional" or "bidirectional". dropout: the share of outputs
    that is dropped between layers in training. kernel_initializer, bias_initializer: by default Glorot's and zeros.
    """

    default_name, parts = "cudnn_lstm", 2

    def _cell(self) -> CellLike:
        return CudnnCompatibleLSTMCell(self.num_units)

    def _joined(self, parts: list[Any]) -> Any:
        return LSTMStateTuple(parts[1], parts[0])

    def _split(self, state: Any) -> tuple[Any, ...]:
        return state.h, state.c


class CudnnGRU(_CudnnLayer):
    """A stack of GRUs as cuDNN computes them; the state is (h,). The arguments are those of `CudnnLSTM`."""

    default_name = "cudnn_gru"

    def _cell(self) -> CellLike:
        return CudnnCompatibleGRUCell(self.num_units)


class CudnnRNNTanh(_CudnnLayer):
    """A stack of plain cells with tanh; the state is (h,). The arguments are those of `CudnnLSTM`."""

    default_name = "cudnn_rnn_tanh"

    def _cell(self) -> CellLike:
        return BasicRNNCell(self.num_units, TANH)


class CudnnRNNRelu(_CudnnLayer):
    """A stack of plain cells with ReLU; the state is (h,). The arguments are those of `CudnnLSTM`."""

    default_name = "cudnn_rnn_relu"

    def _cell(self) -> CellLike:
        return BasicRNNCell(self.num_units, RELU)
