"""`BeamSearchDecoder`: keeps the best partial sequences of each batch entry; `tile_batch` prepares its state.

Invariant: within the decoder a state has the shape [batch, beams, ...]; the cell sees [batch * beams, ...].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tfnb.client.control_flow.cond import cond
from tfnb.client.control_flow.tensor_array import TensorArray
from tfnb.client.graph.nest import flatten, pack
from tfnb.client.rnn.cells import CellLike
from tfnb.client.variables.embedding import embedding_lookup
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import concat, stack
from tfnb.ops.array.constants import convert_to_tensor, zeros, zeros_like
from tfnb.ops.array.constants import range_ as range_op
from tfnb.ops.array.gather import gather
from tfnb.ops.array.gather_nd import GATHER_ND
from tfnb.ops.array.shape_ops import EXPAND_DIMS, RESHAPE, shape
from tfnb.ops.array.tile_reverse_mirror import TILE
from tfnb.ops.array.top_k import top_k
from tfnb.ops.array.transpose_pad_tile import transpose
from tfnb.ops.array.where_partition import sequence_mask, where
from tfnb.ops.linalg.diag import one_hot
from tfnb.ops.math.binary import FLOOR_DIV, FLOOR_MOD, MINIMUM
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import EQUAL, LOGICAL_NOT, LOGICAL_OR
from tfnb.ops.math.reduce_functions import reduce_all, reduce_max, reduce_sum
from tfnb.ops.math.unary import LOG
from tfnb.ops.nn.gather_tree import GATHER_TREE
from tfnb.ops.nn.losses import log_softmax
from tfnb.types import Shape, bool_, float32, int32, int64
from tfnb.v1.seq2seq.decoder import Decoder, batch_of, first_dtype, flatten_arrays, pack_arrays

__all__ = [
    "BeamSearchDecoder",
    "BeamSearchDecoderOutput",
    "BeamSearchDecoderState",
    "FinalBeamSearchDecoderOutput",
    "tile_batch",
]


class BeamSearchDecoderState(NamedTuple):
    """The state of a beam search: of the cell, log probabilities, which beams are finished, lengths, attention."""

    cell_state: Any
    log_probs: Any
    finished: Any
    lengths: Any
    accumulated_attention_probs: Any


class BeamSearchDecoderOutput(NamedTuple):
    """What a step gives, each [batch, beams]: scores, symbols, and the beams of the step before."""

    scores: Any
    predicted_ids: Any
    parent_ids: Any


class FinalBeamSearchDecoderOutput(NamedTuple):
    """What a beam search gives: the sequences [batch, steps, beams], best first, and the outputs of all steps."""

    predicted_ids: Any
    beam_search_decoder_output: Any


def tile_batch(t: object, multiplier: int, name: str | None = None) -> Any:
    """Returns each row of the tensors of a structure `multiplier` times in a row: [batch * multiplier, ...]."""

    def tiled(part: TensorLike) -> Tensor:
        x = convert_to_tensor(part)
        if not x.shape.ndims:
            raise InvalidArgumentError("t must have statically known rank of at least 1")
        repeated = TILE(EXPAND_DIMS(x, 1), [1, multiplier] + [1] * (x.shape.ndims - 1))
        y = RESHAPE(repeated, concat([[-1], shape(x)[1:]], 0))
        first = x.shape.as_list()[0]
        y.set_shape([None if first is None else first * multiplier, *x.shape.as_list()[1:]])
        return y

    with get_default_graph().name_scope(name or "tile_batch"):
        return pack(t, [tiled(part) for part in flatten(t)])


def _merged(x: Tensor) -> Tensor:
    """Returns [batch * beams, ...] from [batch, beams, ...]."""
    y = RESHAPE(x, concat([[-1], shape(x)[2:]], 0))
    batch, beams, *rest = x.shape.as_list()
    y.set_shape([None if batch is None or beams is None else batch * beams, *rest])
    return y


class BeamSearchDecoder(Decoder):
    """A decoder that follows the `beam_width` best sequences.

    embedding: a function of symbols, or the rows for `embedding_lookup`. start_tokens: [batch]. initial_state: the
    state of the cell for batch * beams rows (see `tile_batch`). Scores are log probabilities, divided by ((5 + length)
    / 6) ** length_penalty_weight, plus `coverage_penalty_weight` times the logarithm of the attention that each step of
    the memory got. reorder_tensor_arrays: tensor arrays of the last state follow the beams. Raises `DTypeError` for
    other kinds of arguments.
    """

    def __init__(
        self,
        cell: CellLike,
        embedding: TensorLike | Callable[[Any], Any],
        start_tokens: TensorLike,
        end_token: TensorLike,
        initial_state: object,
        beam_width: int,
        output_layer: Callable[[Any], Any] | None = None,
        length_penalty_weight: float = 0.0,
        coverage_penalty_weight: float = 0.0,
        reorder_tensor_arrays: bool = True,
    ) -> None:
        if output_layer is not None and not callable(output_layer):
            raise DTypeError(f"output_layer must be a Layer, received: {type(output_layer).__name__}")
        self._cell, self._layer, self._reorder = cell, output_layer, reorder_tensor_arrays
        self._embedding = embedding if callable(embedding) else lambda ids: embedding_lookup(embedding, ids)
        tokens = convert_to_tensor(start_tokens, int32)
        if tokens.shape.ndims not in (None, 1):
            raise InvalidArgumentError("start_tokens must be a vector")
        self._end_token = convert_to_tensor(end_token, int32)
        self._size, self._width = batch_of(tokens), beam_width
        self._length_weight, self._coverage_weight = length_penalty_weight, coverage_penalty_weight
        self._initial_cell_state = pack_arrays(
            initial_state, [self._split(part) for part in flatten_arrays(initial_state)]
        )
        beams = TILE(EXPAND_DIMS(tokens, 1), [1, beam_width])
        self._start_inputs = self._embedding(beams)

    @property
    def batch_size(self) -> int | Tensor:
        """The number of entries of the batch, without the beams."""
        return self._size

    @property
    def tracks_own_finished(self) -> bool:
        """Whether the decoder says itself which beams are finished: they change places."""
        return True

    @property
    def output_size(self) -> BeamSearchDecoderOutput:
        """The sizes of the outputs: one number for each beam."""
        return BeamSearchDecoderOutput(*[Shape((self._width,))] * 3)

    @property
    def output_dtype(self) -> BeamSearchDecoderOutput:
        """The dtypes of the outputs."""
        return BeamSearchDecoderOutput(first_dtype(self._initial_cell_state), int32, int32)

    def _split(self, part: TensorLike | TensorArray) -> Any:
        """Returns [batch, beams, ...] from [batch * beams, ...]; tensor arrays and scalars as they are."""
        if isinstance(part, TensorArray):
            return part
        x = convert_to_tensor(part)
        if not x.shape.ndims:
            return x
        y = RESHAPE(x, concat([[-1, self._width], shape(x)[1:]], 0))
        size = self._size if isinstance(self._size, int) else None
        y.set_shape([size, self._width, *x.shape.as_list()[1:]])
        return y

    def _chosen(self, parents: Tensor, part: TensorLike | TensorArray) -> Any:
        """Returns the rows of a state that the beams continue; tensor arrays and scalars as they are."""
        if isinstance(part, TensorArray):
            return part
        x = convert_to_tensor(part)
        if (x.shape.ndims or 0) < 2:
            return x
        rows = parents + EXPAND_DIMS(range_op(self._size) * self._width, 1)
        chosen = RESHAPE(gather(_merged(x), RESHAPE(rows, [-1])), shape(x))
        chosen.set_shape(x.shape)
        return chosen

    def _attention(self, cell_state: object) -> Any:
        """Returns the alignments that count for the coverage, [batch, beams, steps]; () without a penalty."""
        if self._coverage_weight == 0.0:
            return ()
        alignments = getattr(cell_state, "alignments", None)
        if alignments is None:
            raise InvalidArgumentError("coverage_penalty_weight needs a cell that is an AttentionWrapper")
        return concat(list(alignments), -1) if isinstance(alignments, tuple) else alignments

    def initialize(self, name: str | None = None) -> tuple[Tensor, Any, BeamSearchDecoderState]:
        """Returns (finished, first inputs, first state): of each entry only the first beam is alive."""
        dtype = first_dtype(self._initial_cell_state)
        first = cast(one_hot(zeros([self._size], int32), self._width), bool_)
        first.set_shape([self._size if isinstance(self._size, int) else None, self._width])
        log_probs = where(first, zeros_like(cast(first, dtype)), zeros_like(cast(first, dtype)) - np.inf)
        finished = LOGICAL_NOT(first)
        attention = self._attention(self._initial_cell_state)
        state = BeamSearchDecoderState(
            self._initial_cell_state,
            log_probs,
            finished,
            zeros_like(cast(first, int64)),
            () if attention == () else zeros_like(attention),
        )
        return finished, self._start_inputs, state

    def step(
        self, time: Tensor, inputs: object, state: BeamSearchDecoderState, name: str | None = None
    ) -> tuple[BeamSearchDecoderOutput, BeamSearchDecoderState, Any, Tensor]:
        """Returns (outputs, next state, next inputs, finished) of one step."""
        with get_default_graph().name_scope(name or "BeamSearchDecoderStep"):
            merged = pack(inputs, [_merged(t) for t in flatten(inputs)])
            parts = [
                part if isinstance(part, TensorArray) or (part.shape.ndims or 0) < 2 else _merged(part)
                for part in flatten_arrays(state.cell_state)
            ]
            cell_outputs, cell_state = self._cell(merged, pack_arrays(state.cell_state, parts))
            if self._layer is not None:
                cell_outputs = self._layer(cell_outputs)
            split = [self._split(part) for part in flatten_arrays(cell_state)]
            output, next_state = self._search(self._split(cell_outputs), pack_arrays(cell_state, split), state)
            ids = output.predicted_ids
            next_inputs = cond(
                reduce_all(next_state.finished), lambda: self._start_inputs, lambda: self._embedding(ids)
            )
        return output, next_state, next_inputs, next_state.finished

    def _scores(self, log_probs: Tensor, lengths: Tensor, attention: Any) -> Tensor:
        scores = log_probs
        if self._length_weight != 0.0:
            penalty = ((5.0 + cast(lengths, float32)) / 6.0) ** self._length_weight
            scores = scores / cast(penalty, scores.dtype)
        if self._coverage_weight != 0.0:
            coverage = reduce_sum(LOG(MINIMUM(attention, 1.0)), 2)
            scores = scores + EXPAND_DIMS(coverage * self._coverage_weight, 2)
        return scores

    def _search(self, logits: Tensor, cell_state: object, state: BeamSearchDecoderState) -> tuple[Any, Any]:
        """Returns (outputs, next state): the best continuations of all beams together."""
        symbols = logits.shape.as_list()[-1] or shape(logits)[-1]
        at_end = one_hot(self._end_token, symbols, on_value=True, off_value=False, dtype=bool_)
        finished = state.finished
        # a finished beam goes on with its end token alone, which costs nothing
        only_end = where(at_end, zeros([symbols], logits.dtype), zeros([symbols], logits.dtype) + logits.dtype.min)
        over = EXPAND_DIMS(cast(finished, logits.dtype), 2)
        steps = (1.0 - over) * log_softmax(logits) + over * only_end
        total = EXPAND_DIMS(state.log_probs, 2) + steps
        longer = cast(LOGICAL_NOT(at_end), int64) * EXPAND_DIMS(cast(LOGICAL_NOT(finished), int64), 2)
        attention = self._attention(cell_state)
        if self._coverage_weight != 0.0:
            alive = EXPAND_DIMS(1.0 - cast(finished, float32), 2)
            attention = state.accumulated_attention_probs + attention * alive
        scores = self._scores(total, longer + EXPAND_DIMS(state.lengths, 2), attention)
        best, places = top_k(RESHAPE(scores, [self._size, -1]), self._width)
        parents = FLOOR_DIV(places, symbols)
        ids = FLOOR_MOD(places, symbols)
        rows = EXPAND_DIMS(range_op(self._size), 1) + zeros_like(places)
        probs = GATHER_ND(RESHAPE(total, [self._size, -1]), stack([rows, places], -1))
        was_over = self._chosen(parents, finished)
        next_finished = LOGICAL_OR(was_over, EQUAL(ids, self._end_token))
        lengths = self._chosen(parents, state.lengths) + cast(LOGICAL_NOT(was_over), int64)
        for part in (best, probs, ids, parents, next_finished, lengths):
            part.set_shape(state.log_probs.shape)
        chosen = [self._chosen(parents, part) for part in flatten_arrays(cell_state)]
        next_state = BeamSearchDecoderState(
            pack_arrays(cell_state, chosen),
            probs,
            next_finished,
            lengths,
            () if self._coverage_weight == 0.0 else self._chosen(parents, attention),
        )
        return BeamSearchDecoderOutput(best, ids, parents), next_state

    def finalize(
        self, outputs: BeamSearchDecoderOutput, final_state: BeamSearchDecoderState, sequence_lengths: Tensor
    ) -> tuple[FinalBeamSearchDecoderOutput, BeamSearchDecoderState]:
        """Returns (the sequences along the beams, the last state)."""
        longest = cast(reduce_max(final_state.lengths, 1), int32)
        ids = GATHER_TREE(outputs.predicted_ids, outputs.parent_ids, longest, self._end_token)
        if self._reorder:
            parts = [
                self._sorted(part, outputs.parent_ids, sequence_lengths) if isinstance(part, TensorArray) else part
                for part in flatten_arrays(final_state.cell_state)
            ]
            final_state = final_state._replace(cell_state=_packed(final_state.cell_state, parts))
        return FinalBeamSearchDecoderOutput(ids, outputs), final_state

    def _sorted(self, array: TensorArray, parents: Tensor, lengths: Tensor) -> Tensor | TensorArray:
        """Returns the steps of a tensor array as a tensor [steps, batch * beams, ...] along the beams."""
        steps = array.stack()
        if steps.shape.ndims is None or steps.shape.ndims < 2:
            return array
        rows = RESHAPE(steps, concat([shape(parents), shape(steps)[2:]], 0))
        beams = zeros_like(parents) + range_op(self._width)
        longest = cast(reduce_max(lengths, 1), int32)
        along = GATHER_TREE(beams, parents, longest, self._width + 1)
        inside = transpose(sequence_mask(lengths, shape(parents)[0]), [2, 0, 1])
        along = where(inside, along, beams)
        time = zeros_like(parents) + RESHAPE(range_op(shape(parents)[0]), [-1, 1, 1])
        entry = zeros_like(parents) + EXPAND_DIMS(range_op(self._size), 1)
        ordered = RESHAPE(GATHER_ND(rows, stack([time, entry, along], -1)), shape(steps))
        ordered.set_shape(steps.shape)
        return ordered


def _packed(structure: object, leaves: list[Any]) -> Any:
    """Returns the leaves in the form of the structure, of which some leaves were tensor arrays before."""
    parts = iter(leaves)

    def build(part: object) -> Any:
        if isinstance(part, tuple) and hasattr(part, "_fields"):
            return type(part)(*[build(p) for p in part])
        if isinstance(part, (list, tuple)):
            return type(part)([build(p) for p in part])
        return next(parts)

    return build(structure)
