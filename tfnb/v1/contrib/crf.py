"""Conditional random fields over sequences of tags (`tf.contrib.crf`): scores, log likelihoods, decoding.

A sequence of tags y has the score of its unary inputs plus that of its transitions; its probability is proportional to
the exponential of the score (Lafferty et al., 2001). Invariant: steps at or after an example's length count nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.client.control_flow.map_fold_scan import foldl, scan
from tfnb.client.graph.default_graph import name_scope
from tfnb.client.rnn.cells import RNNCell
from tfnb.client.variables.scope import ScopeLike, get_variable, variable_scope
from tfnb.errors import InvalidArgumentError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import convert_to_tensor, ones_like, zeros_like
from tfnb.ops.array.constants import range_ as range_op
from tfnb.ops.array.gather import gather
from tfnb.ops.array.shape_ops import EXPAND_DIMS, RESHAPE
from tfnb.ops.array.shape_ops import shape as shape_op
from tfnb.ops.array.tile_reverse_mirror import reverse
from tfnb.ops.array.transpose_pad_tile import transpose
from tfnb.ops.array.where_partition import sequence_mask, where
from tfnb.ops.linalg.diag import one_hot
from tfnb.ops.math.binary import MAXIMUM
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import LOGICAL_AND
from tfnb.ops.math.reduce_functions import argmax, reduce_logsumexp, reduce_max, reduce_sum
from tfnb.types import bool_, float32, int32

__all__ = [
    "CrfDecodeBackwardRnnCell",
    "CrfDecodeForwardRnnCell",
    "CrfForwardRnnCell",
    "crf_binary_score",
    "crf_decode",
    "crf_log_likelihood",
    "crf_log_norm",
    "crf_multitag_sequence_score",
    "crf_sequence_score",
    "crf_unary_score",
    "viterbi_decode",
]


def _lengths(sequence_lengths: TensorLike) -> Tensor:
    return cast(convert_to_tensor(sequence_lengths), int32)


def _mask(lengths: Tensor, steps: TensorLike) -> Tensor:
    return cast(sequence_mask(MAXIMUM(lengths, 0), steps), float32)


def crf_unary_score(tag_indices: TensorLike, sequence_lengths: TensorLike, inputs: TensorLike) -> Tensor:
    """Returns the sum of the inputs of each example's tags: [batch].

    tag_indices: [batch, steps] integers. sequence_lengths: [batch]. inputs: [batch, steps, tags] floats.
    """
    scores = convert_to_tensor(inputs)
    tags = convert_to_tensor(tag_indices)
    chosen = one_hot(tags, shape_op(scores)[2], dtype=scores.dtype)
    of_tags = reduce_sum(scores * chosen, -1)
    return reduce_sum(of_tags * cast(_mask(_lengths(sequence_lengths), shape_op(tags)[1]), scores.dtype), 1)


def crf_binary_score(tag_indices: TensorLike, sequence_lengths: TensorLike, transition_params: TensorLike) -> Tensor:
    """Returns the sum of the transitions between each example's tags: [batch].

    tag_indices: [batch, steps] integers. sequence_lengths: [batch]. transition_params: [tags, tags] floats, from rows
    to columns.
    """
    params, tags = convert_to_tensor(transition_params), cast(tag_indices, int32)
    n, steps = shape_op(params)[0], shape_op(tags)[1]
    flat = tags[:, :-1] * n + tags[:, 1:]
    of_steps = gather(RESHAPE(params, [-1]), flat)
    return reduce_sum(of_steps * cast(_mask(_lengths(sequence_lengths) - 1, steps - 1), params.dtype), 1)


def crf_sequence_score(
    inputs: TensorLike, tag_indices: TensorLike, sequence_lengths: TensorLike, transition_params: TensorLike
) -> Tensor:
    """Returns the score of each example's tags, [batch], before normalisation; 0 for an empty sequence.

    inputs: [batch, steps, tags]. tag_indices: [batch, steps]. sequence_lengths: [batch]. transition_params: [tags,
    tags].
    """
    unary = crf_unary_score(tag_indices, sequence_lengths, inputs)
    return unary + crf_binary_score(tag_indices, sequence_lengths, transition_params)


def crf_multitag_sequence_score(
    inputs: TensorLike, tag_bitmap: TensorLike, sequence_lengths: TensorLike, transition_params: TensorLike
) -> Tensor:
    """Returns the log of the sum of exp(score) over all sequences that `tag_bitmap` allows: [batch].

    tag_bitmap: [batch, steps, tags] bool. For the rest see `crf_sequence_score`.
    """
    scores = convert_to_tensor(inputs)
    allowed = cast(tag_bitmap, bool_)
    kept = where(allowed, scores, zeros_like(scores) - np.inf)
    return crf_log_norm(kept, sequence_lengths, transition_params)


def _forward(scores: Tensor, lengths: Tensor, params: Tensor, combine: Callable[[Any], Any]) -> Tensor:
    """Returns [batch, tags]: what `combine` makes of all sequences that end in a tag, over each example's steps."""
    first, rest = scores[:, 0], transpose(scores[:, 1:], [1, 0, 2])
    steps = range_op(1, shape_op(scores)[1])

    def step(state: Tensor, given: tuple[Tensor, Tensor]) -> Tensor:
        x, t = given
        following = x + combine(state[:, :, None] + params[None])
        alive = EXPAND_DIMS(t < lengths, 1)
        return where(LOGICAL_AND(alive, ones_like(following) > 0.0), following, state)

    return foldl(step, (rest, steps), initializer=first)


def crf_log_norm(inputs: TensorLike, sequence_lengths: TensorLike, transition_params: TensorLike) -> Tensor:
    """Returns the log of the sum of exp(score) over all sequences: [batch], 0 for an empty one.

    inputs: [batch, steps, tags]. sequence_lengths: [batch]. transition_params: [tags, tags].
    """
    scores, params = convert_to_tensor(inputs), convert_to_tensor(transition_params)
    lengths = _lengths(sequence_lengths)
    with name_scope("crf_log_norm"):
        last = _forward(scores, lengths, params, lambda x: reduce_logsumexp(x, 1))
        total = reduce_logsumexp(last, 1)
        return where(lengths <= 0, zeros_like(total), total)


def crf_log_likelihood(
    inputs: TensorLike,
    tag_indices: TensorLike,
    sequence_lengths: TensorLike,
    transition_params: TensorLike | None = None,
) -> tuple[Any, Any]:
    """Returns (log likelihoods, transition_params): the log probability of each example's tags, [batch].

    inputs: [batch, steps, tags] floats. tag_indices: [batch, steps]. sequence_lengths: [batch]. transition_params:
    [tags, tags]; by default the variable "transitions" is made or shared. Raises `InvalidArgumentError` when the number
    of tags is unknown and there are no transition_params.
    """
    scores = convert_to_tensor(inputs)
    tags = scores.shape.sizes[2] if scores.shape.sizes else None
    if transition_params is None:
        if tags is None:
            raise InvalidArgumentError(
                f"crf_log_likelihood: the number of tags of inputs {scores.shape} is unknown; give transition_params"
            )
        transition_params = get_variable("transitions", [tags, tags])
    score = crf_sequence_score(scores, tag_indices, sequence_lengths, transition_params)
    return score - crf_log_norm(scores, sequence_lengths, transition_params), transition_params


def crf_decode(potentials: TensorLike, transition_params: TensorLike, sequence_length: TensorLike) -> tuple[Any, Any]:
    """Returns (tags, scores): the sequence of the highest score of each example, [batch, steps] int32, and that score.

    Steps after an example's length get the tag 0. potentials: [batch, steps, tags]. transition_params: [tags, tags].
    sequence_length: [batch].
    """
    scores, params = convert_to_tensor(potentials), convert_to_tensor(transition_params)
    lengths = _lengths(sequence_length)
    with name_scope("crf_decode"):
        first, rest = scores[:, 0], transpose(scores[:, 1:], [1, 0, 2])
        steps = range_op(1, shape_op(scores)[1])
        own = range_op(shape_op(scores)[2])

        def forward(state: tuple[Tensor, Tensor], given: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
            x, t = given
            ways = state[0][:, :, None] + params[None]
            alive = LOGICAL_AND(EXPAND_DIMS(t < lengths, 1), ones_like(x) > 0.0)
            best = where(alive, x + reduce_max(ways, 1), state[0])
            source = where(alive, cast(argmax(ways, 1), int32), zeros_like(state[1]) + own)
            return best, source

        start = (first, zeros_like(cast(first, int32)))
        values, sources = scan(forward, (rest, steps), initializer=start)
        last = concat([first[None], values], 0)[-1]
        ends = cast(argmax(last, 1), int32)

        def backward(tag: Tensor, source: Tensor) -> Tensor:
            return reduce_sum(source * one_hot(tag, shape_op(source)[1], dtype=int32), 1)

        earlier = scan(backward, reverse(sources, [0]), initializer=ends)
        tags = transpose(reverse(concat([ends[None], earlier], 0), [0]))
        kept = tags * cast(sequence_mask(MAXIMUM(lengths, 1), shape_op(tags)[1]), int32)
        kept.set_shape(scores.shape[:2])
        return kept, reduce_max(last, 1)


def viterbi_decode(score: np.ndarray, transition_params: np.ndarray) -> tuple[list[Any], Any]:
    """Returns (tags, score) of the sequence of the highest score, with NumPy and without a graph.

    score: [steps, tags] array. transition_params: [tags, tags] array. The tags are NumPy's integers: int32, but for the
    last one.
    """
    best = np.zeros_like(score)
    sources = np.zeros(score.shape, np.int32)
    best[0] = score[0]
    for t in range(1, len(score)):
        ways = best[t - 1][:, None] + transition_params
        best[t] = score[t] + ways.max(0)
        sources[t] = ways.argmax(0)
    tags = [best[-1].argmax()]
    for source in sources[:0:-1]:
        tags.append(source[tags[-1]])
    return tags[::-1], best[-1].max()


class CrfForwardRnnCell(RNNCell):
    """One step of the sum over all sequences: the state [batch, tags] is the logarithm of the sums by their last tag.

    transition_params: [tags, tags].
    """

    def __init__(self, transition_params: TensorLike) -> None:
        super().__init__()
        self._params = convert_to_tensor(transition_params)

    @property
    def state_size(self) -> Any:
        """The number of tags."""
        return self._params.shape.sizes[0]

    @property
    def output_size(self) -> Any:
        """The number of tags."""
        return self.state_size

    def __call__(self, inputs: TensorLike, state: Any = None, scope: ScopeLike | None = None) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """Returns (alphas, alphas), [batch, tags], of the unary scores `inputs` [batch, tags]."""
        with variable_scope(scope or "crf_forward"):
            following = inputs + reduce_logsumexp(state[:, :, None] + self._params[None], 1)
            return following, following


class CrfDecodeForwardRnnCell(CrfForwardRnnCell):
    """One step of Viterbi's algorithm: the output [batch, tags] is the best tag before each tag, the state its score.

    transition_params: [tags, tags].
    """

    def __call__(self, inputs: TensorLike, state: Any = None, scope: ScopeLike | None = None) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """Returns (sources int32, scores), [batch, tags], of the unary scores `inputs` [batch, tags]."""
        with variable_scope(scope or "crf_decode_forward"):
            ways = state[:, :, None] + self._params[None]
            return cast(argmax(ways, 1), int32), inputs + reduce_max(ways, 1)


class CrfDecodeBackwardRnnCell(RNNCell):
    """One step back along the best tags: the state [batch, 1] is a tag, the output the tag before it.

    num_tags: the number of tags.
    """

    def __init__(self, num_tags: int) -> None:
        super().__init__()
        self._tags = num_tags

    @property
    def state_size(self) -> Any:
        """1, a tag."""
        return 1

    @property
    def output_size(self) -> Any:
        """1, a tag."""
        return 1

    def __call__(self, inputs: TensorLike, state: Any = None, scope: ScopeLike | None = None) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        """Returns (tags, tags), [batch, 1] int32, of the sources `inputs` [batch, tags]."""
        with variable_scope(scope or "crf_decode_backward"):
            chosen = one_hot(state[:, 0], self._tags, dtype=int32)
            before = EXPAND_DIMS(reduce_sum(cast(inputs, int32) * chosen, 1), 1)
            return before, before
