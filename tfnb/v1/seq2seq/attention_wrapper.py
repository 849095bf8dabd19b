"""`AttentionWrapper`: a cell whose inputs and outputs are joined with what it attends to in a memory.

Invariant: the names of variables are TensorFlow 1.15's, so that its checkpoints load.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tfnb.client.control_flow.tensor_array import TensorArray
from tfnb.client.graph.nest import flatten, pack
from tfnb.client.layers.dense_layers import Dense
from tfnb.client.rnn.cells import CellLike, RNNCell, like_cell
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import constant, zeros
from tfnb.ops.array.shape_ops import EXPAND_DIMS, IDENTITY, SQUEEZE
from tfnb.ops.linalg.matmul import matmul
from tfnb.types import DTypeLike, Shape, int32
from tfnb.v1.seq2seq.decoder import batch_of

__all__ = ["AttentionWrapper", "AttentionWrapperState", "attend"]


class AttentionWrapperState(NamedTuple):
    """The state of an `AttentionWrapper`; with several mechanisms the last three are tuples."""

    cell_state: Any
    attention: Any
    time: Any
    alignments: Any
    alignment_history: Any
    attention_state: Any

    def clone(self, **kwargs: Any) -> AttentionWrapperState:
        """Returns the state with other parts, which must have the same shapes as far as they are known."""
        return self._replace(**kwargs)


def attend(mechanism: Any, output: Tensor, state: object, layer: Callable[..., Any] | None) -> tuple[Any, Any, Any]:
    """Returns (attention, alignments, next state of the mechanism) for the output of a cell."""
    alignments, next_state = mechanism(output, state)
    context = SQUEEZE(matmul(EXPAND_DIMS(alignments, 1), mechanism.values), squeeze_dims=[1])
    attention = context if layer is None else layer(concat([output, context], 1))
    return attention, alignments, next_state


class AttentionWrapper(RNNCell):
    """A cell around `cell` that attends to the memory of one or several mechanisms.

    attention_layer_size: the size of a layer over output and context, for each mechanism; None for the context itself.
    alignment_history: keep the alignments of all steps in a TensorArray of the state. cell_input_fn(inputs, attention):
    what the cell reads, both side by side by default. output_attention: the attention is the output, else the cell's
    output is. initial_cell_state: what `zero_state` gives for the cell. Raises `DTypeError` for other kinds of cells
    and mechanisms, `InvalidArgumentError` for numbers of layers that differ.
    """

    def __init__(
        self,
        cell: CellLike,
        attention_mechanism: Any,
        attention_layer_size: int | Sequence[int] | None = None,
        alignment_history: bool = False,
        cell_input_fn: Callable[[Any, Any], Any] | None = None,
        output_attention: bool = True,
        initial_cell_state: object = None,
        name: str | None = None,
        attention_layer: Callable[..., Any] | Sequence[Any] | None = None,
        attention_fn: Callable[..., Any] | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        if not like_cell(cell):
            raise DTypeError(f"cell must be an RNNCell, saw type: {type(cell).__name__}")
        self._many = isinstance(attention_mechanism, (list, tuple))
        self._mechanisms = tuple(attention_mechanism) if self._many else (attention_mechanism,)
        for mechanism in self._mechanisms:
            if not callable(mechanism) or not hasattr(mechanism, "values"):
                raise DTypeError(f"attention_mechanism must be AttentionMechanism, saw: {type(mechanism).__name__}")
        if attention_layer_size is not None and attention_layer is not None:
            raise InvalidArgumentError("Only one of attention_layer_size and attention_layer should be set")
        self._layers = self._made_layers(attention_layer_size, attention_layer, dtype)
        self._attention_size = self._size_of_attention()
        self._cell, self._history, self._output_attention = cell, alignment_history, output_attention
        self._join = cell_input_fn or (lambda inputs, attention: concat([inputs, attention], -1))
        self._attend = attention_fn or attend
        self._initial_cell_state = initial_cell_state
        if initial_cell_state is not None:
            self._initial_cell_state = pack(initial_cell_state, [IDENTITY(t) for t in flatten(initial_cell_state)])

    def _made_layers(self, sizes: object, layers: object, dtype: DTypeLike | None) -> tuple[Any, ...]:
        given = layers if layers is not None else sizes
        if given is None:
            return (None,) * len(self._mechanisms)
        many = tuple(given) if isinstance(given, (list, tuple)) else (given,)
        if len(many) != len(self._mechanisms):
            raise InvalidArgumentError(
                f"attention layers: {len(many)} for {len(self._mechanisms)} attention mechanisms; give one for each"
            )
        if layers is not None:
            return many
        return tuple(Dense(size, name="attention_layer", use_bias=False, dtype=dtype) for size in many)

    def _size_of_attention(self) -> int:
        sizes = []
        for layer, mechanism in zip(self._layers, self._mechanisms, strict=True):
            units = getattr(layer, "units", None)
            sizes.append(mechanism.values.shape.as_list()[-1] if units is None else units)
        return sum(sizes)

    def _one_or_all(self, parts: Sequence[Any]) -> Any:
        return tuple(parts) if self._many else parts[0]

    @property
    def output_size(self) -> Any:
        """The size of the attention, or of the cell's output."""
        return self._attention_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self) -> AttentionWrapperState:
        """The sizes of the parts of the state."""
        sizes = [m.alignments_size for m in self._mechanisms]
        history = sizes if self._history else [()] * len(sizes)
        return AttentionWrapperState(
            self._cell.state_size,
            self._attention_size,
            Shape(()),
            self._one_or_all(sizes),
            self._one_or_all(history),
            self._one_or_all([m.state_size for m in self._mechanisms]),
        )

    def zero_state(self, batch_size: TensorLike, dtype: DTypeLike) -> AttentionWrapperState:
        """Returns the state before the first step, for `batch_size` rows."""
        cell_state = self._initial_cell_state
        if cell_state is None:
            cell_state = self._cell.zero_state(batch_size, dtype)
        else:
            size = batch_of(flatten(cell_state)[0])
            if isinstance(size, int) and isinstance(batch_size, int) and size != batch_size:
                raise InvalidArgumentError(
                    f"zero_state of AttentionWrapper: the initial cell state has {size} rows, asked for {batch_size}; "
                    "a beam search needs tf.contrib.seq2seq.tile_batch"
                )
        alignments = [m.initial_alignments(batch_size, dtype) for m in self._mechanisms]
        history: list[Any] = [()] * len(alignments)
        if self._history:
            history = [TensorArray(dtype, size=0, dynamic_size=True, element_shape=a.shape) for a in alignments]
        attention = zeros([batch_size, self._attention_size], dtype)
        attention.set_shape([batch_size if isinstance(batch_size, int) else None, self._attention_size])
        return AttentionWrapperState(
            cell_state,
            attention,
            constant(0, int32),
            self._one_or_all(alignments),
            self._one_or_all(history),
            self._one_or_all([m.initial_state(batch_size, dtype) for m in self._mechanisms]),
        )

    def build(self, shape: Shape) -> None:
        """Does nothing: cell, mechanisms and layers create their variables."""

    def call(self, inputs: Tensor, state: object = None, **kwargs: Any) -> tuple[Any, AttentionWrapperState]:
        """Returns (output, next state) of one step."""
        if not isinstance(state, AttentionWrapperState):
            raise DTypeError(
                f"Expected state to be instance of AttentionWrapperState. Received type {type(state).__name__} instead."
            )
        output, cell_state = self._cell(self._join(inputs, state.attention), state.cell_state, **kwargs)
        states = state.attention_state if self._many else (state.attention_state,)
        histories = state.alignment_history if self._many else (state.alignment_history,)
        attentions, alignments, next_states, next_histories = [], [], [], []
        for mechanism, layer, of_mechanism, history in zip(
            self._mechanisms, self._layers, states, histories, strict=True
        ):
            attention, weights, next_state = self._attend(mechanism, output, of_mechanism, layer)
            attentions.append(attention)
            alignments.append(weights)
            next_states.append(next_state)
            next_histories.append(history.write(state.time, weights) if self._history else ())
        joined = attentions[0] if len(attentions) == 1 else concat(attentions, 1)
        new = AttentionWrapperState(
            cell_state,
            joined,
            state.time + 1,
            self._one_or_all(alignments),
            self._one_or_all(next_histories),
            self._one_or_all(next_states),
        )
        return (joined if self._output_attention else output), new
