"""Decoders and the loop that runs one until all its sequences are finished (`tf.contrib.seq2seq.dynamic_decode`).

Invariant: the length of a sequence is the number of steps up to and with the one in which it finished.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from tfnb.client.control_flow.tensor_array import TensorArray
from tfnb.client.control_flow.while_loop import while_loop
from tfnb.client.graph.nest import flatten, pack
from tfnb.client.rnn.cells import CellLike
from tfnb.client.variables.scope import ScopeLike, variable_scope
from tfnb.errors import DTypeError, UnimplementedError
from tfnb.ir.default import get_default_graph
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import convert_to_tensor, zeros_like
from tfnb.ops.array.shape_ops import shape_of
from tfnb.ops.array.transpose_pad_tile import transpose
from tfnb.ops.array.where_partition import where
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import LOGICAL_NOT, LOGICAL_OR
from tfnb.ops.math.reduce_functions import reduce_all
from tfnb.types import DType, Shape, bool_, int32

__all__ = ["BasicDecoder", "BasicDecoderOutput", "Decoder", "dynamic_decode", "first_dtype", "layer_size"]


class Decoder:
    """Base class of the decoders. A subclass has `batch_size`, `output_dtype`, `initialize` and `step`.

    `initialize()` returns (finished [batch], first inputs, first state), `step(time, inputs, state)` returns
    (outputs, next state, next inputs, finished [batch]).
    """

    @property
    def batch_size(self) -> Any:
        """The number of sequences."""
        raise UnimplementedError(f"{type(self).__name__} does not say its batch_size")

    @property
    def output_size(self) -> Any:
        """The sizes of the outputs, in their structure."""
        raise UnimplementedError(f"{type(self).__name__} does not say its output_size")

    @property
    def output_dtype(self) -> Any:
        """The dtypes of the outputs, in their structure."""
        raise UnimplementedError(f"{type(self).__name__} does not say its output_dtype")

    @property
    def tracks_own_finished(self) -> bool:
        """Whether a sequence that has finished may go on, because `step` says so."""
        return False

    def initialize(self, name: str | None = None) -> tuple[Any, ...]:
        """Returns (finished, first inputs, first state). Subclasses implement it."""
        raise UnimplementedError(f"{type(self).__name__} has no initialize")

    def step(self, time: Tensor, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, ...]:
        """Returns (outputs, next state, next inputs, finished). Subclasses implement it."""
        raise UnimplementedError(f"{type(self).__name__} has no step")

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Tensor) -> tuple[Any, Any]:
        """Returns (outputs, state) after the loop; subclasses may change them. The outputs are time-major."""
        return outputs, final_state


class BasicDecoderOutput(NamedTuple):
    """What a `BasicDecoder` gives: the outputs of the cell, and the symbols that the helper chose."""

    rnn_output: Any
    sample_id: Any


def layer_size(layer: Any, size: Any) -> Any:
    """Returns the size of the output of a cell with outputs of `size` behind a layer, or of the cell without one."""
    if layer is None:
        return size
    if hasattr(layer, "units"):
        return layer.units
    return layer.compute_output_shape(Shape((None, *([size] if isinstance(size, int) else size))))[1:]


def first_dtype(state: object) -> DType:
    """Returns the dtype of the first floating-point part of a state."""
    parts = [convert_to_tensor(t) if not hasattr(t, "dtype") else t for t in flatten(state)]
    return next((t.dtype for t in parts if t.dtype.is_floating), parts[0].dtype)


class BasicDecoder(Decoder):
    """A decoder that steps through `cell` with the inputs that `helper` gives, and projects outputs by `output_layer`.

    Raises `DTypeError` for a helper or a layer of another kind.
    """

    def __init__(
        self, cell: CellLike, helper: Any, initial_state: object, output_layer: Callable[[Any], Any] | None = None
    ) -> None:
        if not hasattr(helper, "next_inputs"):
            raise DTypeError(f"helper must be a Helper, received: {type(helper).__name__}")
        if output_layer is not None and not callable(output_layer):
            raise DTypeError(f"output_layer must be a Layer, received: {type(output_layer).__name__}")
        self._cell, self._helper, self._initial_state, self._layer = cell, helper, initial_state, output_layer

    @property
    def batch_size(self) -> Any:
        """The number of sequences, as the helper says."""
        return self._helper.batch_size

    @property
    def output_size(self) -> BasicDecoderOutput:
        """The sizes of the outputs: of the layer or the cell, and of a symbol."""
        return BasicDecoderOutput(layer_size(self._layer, self._cell.output_size), self._helper.sample_ids_shape)

    @property
    def output_dtype(self) -> BasicDecoderOutput:
        """The dtypes of the outputs: that of the state, and that of the symbols."""
        return BasicDecoderOutput(first_dtype(self._initial_state), self._helper.sample_ids_dtype)

    def initialize(self, name: str | None = None) -> tuple[Any, ...]:
        """Returns (finished, first inputs, first state)."""
        return (*self._helper.initialize(), self._initial_state)

    def step(self, time: Tensor, inputs: Any, state: Any, name: str | None = None) -> tuple[Any, ...]:
        """Returns (outputs, next state, next inputs, finished) of one step of the cell."""
        with get_default_graph().name_scope(name or "BasicDecoderStep"):
            cell_outputs, cell_state = self._cell(inputs, state)
            if self._layer is not None:
                cell_outputs = self._layer(cell_outputs)
            sample_ids = self._helper.sample(time=time, outputs=cell_outputs, state=cell_state)
            finished, next_inputs, next_state = self._helper.next_inputs(
                time=time, outputs=cell_outputs, state=cell_state, sample_ids=sample_ids
            )
        return BasicDecoderOutput(cell_outputs, sample_ids), next_state, next_inputs, finished


def _kept(finished: Tensor, old: TensorLike, new: Tensor | TensorArray) -> Tensor | TensorArray:
    """Returns `old` in the rows that are finished, else `new`; scalars and tensor arrays are always new."""
    if isinstance(new, TensorArray) or convert_to_tensor(new).shape.ndims == 0:
        return new
    kept = where(finished, old, new)
    kept.set_shape(new.shape)
    return kept


def _batch_major(outputs: Tensor) -> Tensor:
    rank = outputs.shape.ndims
    return transpose(outputs, [1, 0, *range(2, 3 if rank is None else rank)])


def dynamic_decode(
    decoder: Decoder,
    output_time_major: bool = False,
    impute_finished: bool = False,
    maximum_iterations: TensorLike | None = None,
    parallel_iterations: int = 32,
    swap_memory: bool = False,
    scope: ScopeLike | None = None,
) -> tuple[Any, Any, Any]:
    """Runs `decoder` until all sequences are finished; returns (outputs, last state, lengths [batch] int32).

    outputs: in the decoder's structure, [batch, steps, ...], or [steps, batch, ...] with `output_time_major`.
    impute_finished: a finished sequence keeps its state and gives zeros. maximum_iterations: the largest number of
    steps. Raises `DTypeError` for another kind of decoder.
    """
    if not hasattr(decoder, "initialize") or not hasattr(decoder, "step"):
        raise DTypeError(f"Expected decoder to be type Decoder, but saw: {type(decoder).__name__}")
    with variable_scope(scope, "decoder"):
        finished, inputs, state = decoder.initialize()
        graph = get_default_graph()
        finished = graph.to_tensor(finished, bool_)
        state = pack(state, [t if isinstance(t, TensorArray) else graph.to_tensor(t) for t in flatten(state)])
        structure = decoder.output_dtype
        arrays = [TensorArray(dtype, size=0, dynamic_size=True, name="output") for dtype in flatten(structure)]
        if maximum_iterations is not None:
            most = convert_to_tensor(maximum_iterations, int32)
            finished = LOGICAL_OR(finished, most <= 0)

        def body(
            time: Tensor,
            arrays: Sequence[TensorArray],
            state: object,
            inputs: object,
            finished: Tensor,
            lengths: Tensor,
        ) -> tuple[Any, ...]:
            outputs, next_state, next_inputs, ends = decoder.step(time, inputs, state)
            ended = ends if decoder.tracks_own_finished else LOGICAL_OR(ends, finished)
            if maximum_iterations is not None:
                ended = LOGICAL_OR(ended, time + 1 >= most)
            lengths = where(LOGICAL_NOT(finished), zeros_like(lengths) + time + 1, lengths)
            emitted = [graph.to_tensor(t) for t in flatten(outputs)]
            if impute_finished:
                emitted = [_kept(finished, zeros_like(t), t) for t in emitted]
                pairs = zip(flatten_arrays(state), flatten_arrays(next_state), strict=True)
                next_state = pack_arrays(next_state, [_kept(finished, old, new) for old, new in pairs])
            written = [a.write(time, t) for a, t in zip(arrays, emitted, strict=True)]
            return time + 1, written, next_state, next_inputs, ended, lengths

        _, arrays, state, _, _, lengths = while_loop(
            lambda time, arrays, state, inputs, finished, lengths: LOGICAL_NOT(reduce_all(finished)),
            body,
            (graph.to_tensor(0), arrays, state, inputs, finished, zeros_like(cast(finished, int32))),
            parallel_iterations=parallel_iterations,
            swap_memory=swap_memory,
        )
        outputs = pack(structure, [a.stack() for a in arrays])
        with suppress(NotImplementedError):  # a decoder of the user's may have no last step
            outputs, state = decoder.finalize(outputs, state, lengths)
        if not output_time_major:
            outputs = pack(outputs, [_batch_major(t) for t in flatten(outputs)])
    return outputs, state, lengths


def flatten_arrays(structure: object) -> list[Any]:
    """Returns the leaves of a structure, with tensor arrays as leaves."""
    if isinstance(structure, TensorArray):
        return [structure]
    if isinstance(structure, (list, tuple)):
        return [leaf for part in structure for leaf in flatten_arrays(part)]
    if isinstance(structure, dict):
        return [leaf for key in sorted(structure) for leaf in flatten_arrays(structure[key])]
    return [structure]


def pack_arrays(structure: object, leaves: list[Any]) -> Any:
    """Returns the leaves, of which some are tensor arrays, in the form of the structure."""
    return pack(structure, [leaf.flow if isinstance(leaf, TensorArray) else leaf for leaf in leaves])


def batch_of(t: Tensor) -> int | Tensor:
    """Returns the size of the first dimension of a tensor: a number if it is known, else a scalar tensor."""
    known = t.shape.sizes[0] if t.shape.sizes else None
    return shape_of(t)[0] if known is None else known
