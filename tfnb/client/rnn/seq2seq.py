"""Sequence to sequence over lists of steps: `tf.nn.seq2seq`, `tf.contrib.legacy_seq2seq` (Sutskever 2014, Bahdanau
2014).

An encoder reads a list of inputs, a decoder writes a list of outputs, step by step. Invariant: with a loop function,
each input of a decoder after the first is computed from its previous output.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from tfnb.client.control_flow.cond import cond
from tfnb.client.graph import nest
from tfnb.client.rnn.cell_wrappers import EmbeddingWrapper, OutputProjectionWrapper
from tfnb.client.rnn.cells import CellLike, RNNCell
from tfnb.client.rnn.linear_map import linear_map
from tfnb.client.rnn.sequence_losses import Steps, sequence_loss, sequence_loss_by_example
from tfnb.client.rnn.static_rnn import static_rnn
from tfnb.client.variables.embedding import embedding_lookup
from tfnb.client.variables.scope import ScopeLike, get_variable, get_variable_scope, variable_scope
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import get_default_graph, graph_of
from tfnb.ir.tensor import Tensor, TensorLike, is_tensor_like
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import zeros
from tfnb.ops.array.shape_ops import RESHAPE, STOP_GRADIENT, shape_of
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.math.reduce_functions import argmax, reduce_sum
from tfnb.ops.math.unary import TANH
from tfnb.ops.nn.bias_dropout_moments import xw_plus_b
from tfnb.ops.nn.losses import softmax
from tfnb.types import DTypeLike, float32

__all__ = ["API", "attention_decoder", "model_with_buckets", "rnn_decoder"]


def rnn_decoder(
    decoder_inputs: Steps,
    initial_state: TensorLike,
    cell: CellLike,
    loop_function: Callable[[Any, int], Any] | None = None,
    scope: ScopeLike | None = None,
) -> tuple[list[Any], Any]:
    """Applies `cell` to the list `decoder_inputs` of [batch, n] tensors; returns (list of outputs, last state).

    `loop_function(previous output, step)` computes each input but the first.
    """
    with variable_scope(scope or "rnn_decoder"):
        state, outputs = initial_state, list[Any]()
        for i, x in enumerate(decoder_inputs):
            if loop_function is not None and outputs:
                with variable_scope("loop_function", reuse=True):
                    x = loop_function(outputs[-1], i)
            if i > 0:
                get_variable_scope().reuse_variables()
            output, state = cell(x, state)
            outputs.append(output)
    return outputs, state


def _another(cell: CellLike) -> CellLike | RNNCell:
    """Returns a copy of the cell for the decoder, with variables of its own."""
    return cell.clone() if isinstance(cell, RNNCell) else copy.copy(cell)


def basic_rnn_seq2seq(
    encoder_inputs: Steps,
    decoder_inputs: Steps,
    cell: CellLike,
    dtype: DTypeLike = float32,
    scope: ScopeLike | None = None,
) -> tuple[list[Any], Any]:
    """Encodes `encoder_inputs` and decodes `decoder_inputs` (lists of [batch, n]); returns (list of outputs, last
    state).

    The decoder, a copy of `cell` with variables of its own, begins with the encoder's last state.
    """
    with variable_scope(scope or "basic_rnn_seq2seq"):
        decoder = _another(cell)
        _, state = static_rnn(cell, encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, decoder)


def tied_rnn_seq2seq(
    encoder_inputs: Steps,
    decoder_inputs: Steps,
    cell: CellLike,
    loop_function: Callable[[Any, int], Any] | None = None,
    dtype: DTypeLike = float32,
    scope: ScopeLike | None = None,
) -> tuple[list[Any], Any]:
    """Does what `basic_rnn_seq2seq` does, with the same variables in encoder and decoder."""
    with variable_scope(scope or "combined_tied_rnn_seq2seq"):
        scope_name = scope or "tied_rnn_seq2seq"
        _, state = static_rnn(cell, encoder_inputs, dtype=dtype, scope=scope_name)
        get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function, scope_name)


def _own_symbols(
    embedding: TensorLike, output_projection: tuple[TensorLike, TensorLike] | None, update_embedding: bool = True
) -> Any:
    """Returns a loop function: the embedding of the most likely symbol of the previous output."""

    def loop(previous: Tensor, _: int) -> Tensor:
        if output_projection is not None:
            previous = xw_plus_b(previous, output_projection[0], output_projection[1])
        embedded = embedding_lookup(embedding, argmax(previous, 1))
        return embedded if update_embedding else STOP_GRADIENT(embedded)

    return loop


def embedding_rnn_decoder(
    decoder_inputs: Steps,
    initial_state: TensorLike,
    cell: CellLike,
    num_symbols: int,
    embedding_size: int,
    output_projection: tuple[TensorLike, TensorLike] | None = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    scope: ScopeLike | None = None,
) -> tuple[list[Any], Any]:
    """Applies `rnn_decoder` to the embeddings of `decoder_inputs`, a list of integers [batch].

    With `feed_previous`, each input but the first is the most likely symbol of the previous output.
    """
    with variable_scope(scope or "embedding_rnn_decoder"):
        embedding = get_variable("embedding", [num_symbols, embedding_size])
        inputs = [embedding_lookup(embedding, i) for i in decoder_inputs]
        feed_back = _own_symbols(embedding, output_projection, update_embedding_for_previous)
        loop = feed_back if feed_previous else None
        return rnn_decoder(inputs, initial_state, cell, loop)


def _decoded(decode: Callable[[bool], tuple[list[Any], Any]], feed_previous: TensorLike) -> tuple[list[Any], Any]:
    """Returns the decoder's results; where `feed_previous` is a bool tensor, each step chooses between two decoders.

    The two share their variables; one of them feeds its own symbols back.
    """
    if not is_tensor_like(feed_previous):
        return decode(bool(feed_previous))
    structures: list[Any] = []

    def branch(feed: bool) -> Callable[[], list[Any]]:
        def build() -> list[Any]:
            with variable_scope(get_variable_scope(), reuse=True if structures else None):
                result = decode(feed)
            structures.append(result)
            return nest.flatten(result)

        return build

    flat = cond(feed_previous, branch(True), branch(False))
    outputs, state = nest.pack(structures[0], list(flat))
    return list(outputs), state


def embedding_rnn_seq2seq(
    encoder_inputs: Steps,
    decoder_inputs: Steps,
    cell: CellLike,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    output_projection: tuple[TensorLike, TensorLike] | None = None,
    feed_previous: bool = False,
    dtype: DTypeLike | None = None,
    scope: ScopeLike | None = None,
) -> tuple[list[Any], Any]:
    """Encodes and decodes the embeddings of lists of integers [batch]; returns (list of outputs, last state).

    The outputs are logits [batch, num_decoder_symbols], or with `output_projection=(w, b)` the values before that
    projection. `feed_previous` is a bool, or a bool tensor that chooses in each step.
    """
    with variable_scope(scope or "embedding_rnn_seq2seq"):
        decoder = _another(cell)
        encoder = EmbeddingWrapper(cell, num_encoder_symbols, embedding_size)
        _, state = static_rnn(encoder, encoder_inputs, dtype=dtype or float32)
        if output_projection is None:
            decoder = OutputProjectionWrapper(decoder, num_decoder_symbols)
        return _decoded(
            lambda feed: embedding_rnn_decoder(
                decoder_inputs, state, decoder, num_decoder_symbols, embedding_size, output_projection, feed
            ),
            feed_previous,
        )


def embedding_tied_rnn_seq2seq(
    encoder_inputs: Steps,
    decoder_inputs: Steps,
    cell: CellLike,
    num_symbols: int,
    embedding_size: int,
    num_decoder_symbols: int | None = None,
    output_projection: tuple[TensorLike, TensorLike] | None = None,
    feed_previous: bool = False,
    dtype: DTypeLike | None = None,
    scope: ScopeLike | None = None,
) -> tuple[list[Any], Any]:
    """Does what `tf.nn.seq2seq.embedding_rnn_seq2seq` does, with one embedding and one cell for both sides.

    The embedding is a variable [num_symbols, embedding_size]. The outputs have `num_decoder_symbols` columns, or else
    `num_symbols`.
    """
    with variable_scope(scope or "embedding_tied_rnn_seq2seq"):
        embedding = get_variable("embedding", [num_symbols, embedding_size], dtype or float32)
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols or num_symbols)
        encoder_rows = [embedding_lookup(embedding, x) for x in encoder_inputs]
        decoder_rows = [embedding_lookup(embedding, x) for x in decoder_inputs]
        loop = _own_symbols(embedding, output_projection)
        return _decoded(
            lambda feed: tied_rnn_seq2seq(encoder_rows, decoder_rows, cell, loop if feed else None, dtype or float32),
            feed_previous,
        )


class _Attention:
    """Bahdanau's attention over states [batch, length, size]: each head reads a weighted sum of them."""

    def __init__(self, states: Tensor, heads: int) -> None:
        dims = states.shape.as_list()
        if len(dims) != 3 or dims[1] is None or dims[2] is None:
            raise ShapeError(
                f"attention: needed states [batch, length, size] of known length and size, got {states.shape}"
            )
        self.states, self.heads = states, heads
        self.length, self.size = dims[1], dims[2]
        flat = RESHAPE(states, [-1, self.size])
        self.keys, self.scorers = [], []
        for a in range(heads):
            w = get_variable(f"AttnW_{a}", [1, 1, self.size, self.size], states.dtype)
            keys = matmul(flat, RESHAPE(w, [self.size, self.size]))
            self.keys.append(RESHAPE(keys, [-1, self.length, self.size]))
            self.scorers.append(get_variable(f"AttnV_{a}", [self.size], states.dtype))

    def read(self, query: TensorLike) -> list[Any]:
        """Returns what each head reads for a query: a list of tensors [batch, size]."""
        parts = nest.flatten(query)
        reads = []
        for a in range(self.heads):
            with variable_scope(f"Attention_{a}"):
                y = RESHAPE(linear_map(parts, self.size), [-1, 1, self.size])
                weights = softmax(reduce_sum(self.scorers[a] * TANH(self.keys[a] + y), 2))
                reads.append(reduce_sum(RESHAPE(weights, [-1, self.length, 1]) * self.states, 1))
        return reads

    def nothing(self, batch: TensorLike) -> list[Any]:
        """Returns what the heads read before the first step: zeros [batch, size] each."""
        zero_reads = []
        for _ in range(self.heads):
            zero_reads.append(zeros([batch, self.size], self.states.dtype))
            zero_reads[-1].set_shape([None, self.size])
        return zero_reads


def attention_decoder(
    decoder_inputs: Steps,
    initial_state: TensorLike,
    attention_states: TensorLike,
    cell: CellLike,
    output_size: int | None = None,
    num_heads: int = 1,
    loop_function: Callable[..., Any] | None = None,
    dtype: DTypeLike | None = None,
    scope: ScopeLike | None = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """Does what `rnn_decoder` does, and reads `attention_states` [batch, length, size] by attention before each output.

    Each of `num_heads` heads reads a weighted sum of the states. Raises `InvalidArgumentError` without inputs or heads,
    and `ShapeError` unless length and size are known.
    """
    if not decoder_inputs or num_heads < 1:
        raise InvalidArgumentError("attention_decoder needs at least one input and one head")
    size = output_size or cell.output_size
    with variable_scope(scope or "attention_decoder", dtype=dtype):
        attention = _Attention(get_default_graph().to_tensor(attention_states), num_heads)
        state, outputs = initial_state, list[Any]()
        reads = attention.nothing(shape_of(decoder_inputs[0])[0])
        if initial_state_attention:
            reads = attention.read(initial_state)
        for i, x in enumerate(decoder_inputs):
            if i > 0:
                get_variable_scope().reuse_variables()
            if loop_function is not None and outputs:
                with variable_scope("loop_function", reuse=True):
                    x = loop_function(outputs[-1], i)
            x = linear_map([x, *reads], x.shape.as_list()[1])
            output, state = cell(x, state)
            if i == 0 and initial_state_attention:
                with variable_scope(get_variable_scope(), reuse=True):
                    reads = attention.read(state)
            else:
                reads = attention.read(state)
            with variable_scope("AttnOutputProjection"):
                outputs.append(linear_map([output, *reads], size))
    return outputs, state


def embedding_attention_decoder(
    decoder_inputs: Steps,
    initial_state: TensorLike,
    attention_states: TensorLike,
    cell: CellLike,
    num_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_size: int | None = None,
    output_projection: tuple[TensorLike, TensorLike] | None = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    dtype: DTypeLike | None = None,
    scope: ScopeLike | None = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """Applies `attention_decoder` to the embeddings of `decoder_inputs`, a list of integers [batch]."""
    with variable_scope(scope or "embedding_attention_decoder", dtype=dtype):
        embedding = get_variable("embedding", [num_symbols, embedding_size])
        inputs = [embedding_lookup(embedding, i) for i in decoder_inputs]
        feed_back = _own_symbols(embedding, output_projection, update_embedding_for_previous)
        loop = feed_back if feed_previous else None
        return attention_decoder(
            inputs,
            initial_state,
            attention_states,
            cell,
            output_size,
            num_heads,
            loop,
            initial_state_attention=initial_state_attention,
        )


def embedding_attention_seq2seq(
    encoder_inputs: Steps,
    decoder_inputs: Steps,
    cell: CellLike,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_projection: tuple[TensorLike, TensorLike] | None = None,
    feed_previous: bool = False,
    dtype: DTypeLike | None = None,
    scope: ScopeLike | None = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """Does what `tf.nn.seq2seq.embedding_rnn_seq2seq` does; the decoder reads the encoder's outputs by attention.

    The arguments are those of that function, with `num_heads` heads of attention.
    """
    with variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype):
        decoder = _another(cell)
        encoder = EmbeddingWrapper(cell, num_encoder_symbols, embedding_size)
        outputs, state = static_rnn(encoder, encoder_inputs, dtype=dtype or float32)
        states = concat([RESHAPE(e, [-1, 1, cell.output_size]) for e in outputs], 1)
        size = None
        if output_projection is None:
            decoder = OutputProjectionWrapper(decoder, num_decoder_symbols)
            size = num_decoder_symbols
        return _decoded(
            lambda feed: embedding_attention_decoder(
                decoder_inputs,
                state,
                states,
                decoder,
                num_decoder_symbols,
                embedding_size,
                num_heads,
                size,
                output_projection,
                feed,
                initial_state_attention=initial_state_attention,
            ),
            feed_previous,
        )


def model_with_buckets(
    encoder_inputs: Steps,
    decoder_inputs: Steps,
    targets: Steps,
    weights: Steps,
    buckets: Sequence[tuple[int, int]],
    seq2seq: Callable[[Any, Any], tuple[Any, Any]],
    softmax_loss_function: Callable[..., Any] | None = None,
    per_example_loss: bool = False,
    name: str | None = None,
) -> tuple[list[Any], list[Any]]:
    """Builds one model for each bucket (encoder length, decoder length), with the same variables: (outputs, losses).

    `seq2seq(encoder inputs, decoder inputs)` builds a model. Raises `InvalidArgumentError` when there are fewer inputs,
    targets or weights than the largest bucket needs.
    """
    longest_bucket = max(b[0] for b in buckets), max(b[1] for b in buckets)
    for role, sequence, required in (
        ("encoder inputs", encoder_inputs, longest_bucket[0]),
        ("targets", targets, longest_bucket[1]),
        ("weights", weights, longest_bucket[1]),
        ("decoder inputs", decoder_inputs, longest_bucket[1]),
    ):
        if len(sequence) < required:
            raise InvalidArgumentError(
                f"model_with_buckets: {len(sequence)} {role}, the largest bucket needs {required}"
            )
    outputs: list[Any] = []
    losses: list[Any] = []
    graph = graph_of([*encoder_inputs, *decoder_inputs, *targets, *weights])
    loss = sequence_loss_by_example if per_example_loss else sequence_loss
    with graph.as_default(), graph.name_scope(name or "model_with_buckets"):
        for j, (encoder_length, decoder_length) in enumerate(buckets):
            with variable_scope(get_variable_scope(), reuse=True if j else None):
                bucket_outputs, _ = seq2seq(
                    list(encoder_inputs[:encoder_length]), list(decoder_inputs[:decoder_length])
                )
                outputs.append(bucket_outputs)
                losses.append(
                    loss(
                        bucket_outputs,
                        targets[:decoder_length],
                        weights[:decoder_length],
                        softmax_loss_function=softmax_loss_function,
                    )
                )
    return outputs, losses


_FUNCTIONS = (
    rnn_decoder,
    basic_rnn_seq2seq,
    tied_rnn_seq2seq,
    embedding_rnn_decoder,
    embedding_rnn_seq2seq,
    embedding_tied_rnn_seq2seq,
    attention_decoder,
    embedding_attention_decoder,
    embedding_attention_seq2seq,
    sequence_loss,
    sequence_loss_by_example,
    model_with_buckets,
)
API: dict[str, Any] = {
    f"{place}.{function.__name__}": function
    for place in ("nn.seq2seq", "contrib.legacy_seq2seq", "models.rnn.seq2seq", "python.ops.seq2seq")
    for function in _FUNCTIONS
}
