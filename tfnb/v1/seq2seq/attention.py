"""Attention to the steps of a memory: Bahdanau's and Luong's scores, and their monotonic forms.

Invariant: steps of the memory beyond a sequence's length have no part: their values are zero, and their scores the
lowest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.client.control_flow.map_fold_scan import scan
from tfnb.client.graph.default_graph import name_scope
from tfnb.client.layers.dense_layers import Dense
from tfnb.client.variables.initializers import Constant, Zeros
from tfnb.client.variables.scope import get_variable, variable_scope
from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import convert_to_tensor, ones_like, zeros, zeros_like
from tfnb.ops.array.shape_ops import EXPAND_DIMS, RESHAPE, shape
from tfnb.ops.array.transpose_pad_tile import transpose
from tfnb.ops.array.where_partition import sequence_mask, where
from tfnb.ops.linalg.diag import one_hot
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.math.cast import cast
from tfnb.ops.math.clip import clip_by_value
from tfnb.ops.math.reduce_functions import argmax, reduce_sum
from tfnb.ops.math.scan import cumprod, cumsum
from tfnb.ops.math.unary import EXP, LOG, RSQRT, SIGMOID, SQUARE, TANH
from tfnb.ops.nn.losses import softmax
from tfnb.ops.random.functions import random_normal
from tfnb.types import DTypeLike, as_dtype, int32
from tfnb.v1.seq2seq.decoder import batch_of

__all__ = [
    "AttentionMechanism",
    "BahdanauAttention",
    "BahdanauMonotonicAttention",
    "LuongAttention",
    "LuongMonotonicAttention",
    "additive_score",
    "hardmax",
    "monotonic_attention",
    "multiplicative_score",
    "safe_cumprod",
]


def hardmax(logits: TensorLike, name: str | None = None) -> Tensor:
    """Returns 1 at the largest element of each row, 0 elsewhere, in the shape and dtype of `logits` [batch, n]."""
    with name_scope(name or "hardmax"):
        x = convert_to_tensor(logits)
        return one_hot(argmax(x, -1), shape(x)[-1], dtype=x.dtype)


def safe_cumprod(x: TensorLike, **kwargs: Any) -> Tensor:
    """Returns the products of the elements up to each one, by sums of logarithms, which does not underflow early.

    x: elements in [0, 1]. The other arguments are those of `tf.cumsum`.
    """
    t = convert_to_tensor(x)
    return EXP(cumsum(LOG(clip_by_value(t, float(np.finfo(t.dtype.np).tiny), 1.0)), **kwargs))


def monotonic_attention(p_choose_i: TensorLike, previous_attention: TensorLike, mode: str) -> Tensor:
    """Returns the attention that moves only forwards, [batch, steps], from that of the step before.

    p_choose_i: the probability of stopping at each step of the memory. mode: "recursive" and "parallel" compute the
    same, step by step or at once; "hard" takes the first step that is chosen for sure. Raises `InvalidArgumentError`
    for another mode.
    """
    p, previous = convert_to_tensor(p_choose_i), convert_to_tensor(previous_attention)
    if mode == "recursive":
        passed = concat([ones_like(p[:, :1]), 1 - p[:, :-1]], 1)
        rows = scan(
            lambda x, yz: yz[0] * x + yz[1], (transpose(passed), transpose(previous)), zeros([batch_of(p)], p.dtype)
        )
        return p * transpose(rows)
    if mode == "parallel":
        passed = safe_cumprod(1 - p, axis=1, exclusive=True)
        return p * passed * cumsum(previous / clip_by_value(passed, 1e-10, 1.0), axis=1)
    if mode == "hard":
        p = p * cumsum(previous, axis=1)
        return p * cumprod(1 - p, axis=1, exclusive=True)
    raise InvalidArgumentError(f"mode must be 'recursive', 'parallel', or 'hard', got {mode!r}")


class AttentionMechanism:
    """Base class: the memory, its keys, and the weights of its steps.

    A subclass has `score(query)` [batch, steps]. `mechanism(query, state)` returns (alignments, next state), both
    [batch, steps].
    """

    scope_name = "attention"
    # the names of these attributes in TensorFlow's source, which subclasses of programs use
    _query_layer = property(lambda self: self.query_layer)
    _memory_layer = property(lambda self: self.memory_layer)
    _keys = property(lambda self: self.keys)
    _values = property(lambda self: self.values)
    _batch_size = property(lambda self: self.batch_size)
    _alignments_size = property(lambda self: self.alignments_size)

    def __init__(
        self,
        query_layer: Dense | None,
        memory_layer: Callable[[Any], Any],
        memory: TensorLike,
        lengths: TensorLike | None,
        probability_fn: Callable[[Any, Any], Any],
        score_mask_value: float | None,
        custom_key_value_fn: Callable[[Any, Any], Any] | None,
    ) -> None:
        self.query_layer, self.memory_layer = query_layer, memory_layer
        values = convert_to_tensor(memory)
        self._mask = None
        if lengths is not None:
            known = values.shape.sizes[1] if values.shape.sizes else None
            self._mask = sequence_mask(lengths, shape(values)[1] if known is None else known)
            values = values * _with_rank(cast(self._mask, values.dtype), values.shape.ndims or 3)
        self.values = values
        self.keys = memory_layer(values)
        if custom_key_value_fn is not None:
            self.keys, self.values = custom_key_value_fn(self.keys, self.values)
        self._lowest = -math.inf if score_mask_value is None else score_mask_value
        self._probability = probability_fn
        self.batch_size = batch_of(self.keys)
        steps = self.keys.shape.sizes[1] if self.keys.shape.sizes else None
        self.alignments_size = shape(self.keys)[1] if steps is None else steps
        self.state_size = self.alignments_size

    def score(self, query: Tensor) -> Tensor:
        """Returns how well each step fits the query, [batch, steps]. Subclasses implement it."""
        raise NotImplementedError

    def __call__(self, query: Tensor, state: object) -> tuple[Any, Any]:
        """Returns (alignments, next state) for a query [batch, n], both [batch, steps]."""
        with variable_scope(None, self.scope_name, [query]):
            score = self.score(query)
        alignments = self._probability_fn(score, state)
        return alignments, alignments

    def _probability_fn(self, score: Tensor, previous: object) -> Any:
        """Returns the weights for a score, after the steps that are no part of the memory got the lowest one."""
        if self._mask is not None:
            score = where(self._mask, score, zeros_like(score) + self._lowest)
        return self._probability(score, previous)

    def initial_alignments(self, batch_size: TensorLike, dtype: DTypeLike) -> Tensor:
        """Returns the alignments before the first step: zeros, [batch, steps]."""
        return zeros([batch_size, self.alignments_size], dtype)

    def initial_state(self, batch_size: TensorLike, dtype: DTypeLike) -> Any:
        """Returns the state before the first step for `batch_size` rows, which is the alignments."""
        return self.initial_alignments(batch_size, dtype)


class _BaseAttentionMechanism(AttentionMechanism):
    """The class inside TensorFlow of which programs derive attention of their own, with its order of arguments.

    A subclass has `__call__(query, state)`. memory_layer: makes the keys of the memory, which are the memory itself
    without it. probability_fn: from (score, previous state) to weights. Raises `ShapeError` when the memory has an
    unknown inner dimension, unless `check_inner_dims_defined` is false.
    """

    def __init__(
        self,
        query_layer: Dense | None,
        memory: TensorLike,
        probability_fn: Callable[[Any, Any], Any],
        memory_sequence_length: TensorLike | None = None,
        memory_layer: Callable[[Any], Any] | None = None,
        check_inner_dims_defined: bool = True,
        score_mask_value: float | None = None,
        custom_key_value_fn: Callable[[Any, Any], Any] | None = None,
        name: str | None = None,
    ) -> None:
        self._name = name
        inner = convert_to_tensor(memory).shape[2:]
        if check_inner_dims_defined and not inner.is_fully_defined():
            raise ShapeError(f"Expected memory to have fully defined inner dims, but saw shape: {inner}")
        layer = memory_layer or (lambda values: values)
        super().__init__(
            query_layer, layer, memory, memory_sequence_length, probability_fn, score_mask_value, custom_key_value_fn
        )


def _with_rank(mask: Tensor, rank: int) -> Tensor:
    for _ in range(rank - 2):
        mask = EXPAND_DIMS(mask, -1)
    return mask


def _layer(units: int, name: str, dtype: DTypeLike | None) -> Dense:
    return Dense(units, use_bias=False, name=name, dtype=None if dtype is None else as_dtype(dtype))


def additive_score(
    query: Tensor, keys: Tensor, normalize: bool | TensorLike, g: TensorLike | None = None, b: TensorLike | None = None
) -> Tensor:
    """Returns Bahdanau's score: the sum of v * tanh(keys + query), where `normalize` scales v and adds a bias.

    As in 1.15, v may be given in the place of `normalize`, and g and b with it; the variables are made otherwise.
    """
    if not isinstance(normalize, bool):
        return _weighted(keys + EXPAND_DIMS(query, 1), normalize, g, b)
    units: Any = keys.shape.as_list()[2]
    v = get_variable("attention_v", [units], keys.dtype)
    if normalize:
        g = get_variable("attention_g", [], keys.dtype, Constant(math.sqrt(1.0 / units)))
        b = get_variable("attention_b", [units], keys.dtype, Zeros())
    return _weighted(keys + EXPAND_DIMS(query, 1), v, g, b)


def _weighted(moved: Tensor, v: Any, g: Any, b: Any) -> Tensor:
    if g is None or b is None:
        return reduce_sum(v * TANH(moved), [2])
    return reduce_sum(g * v * RSQRT(reduce_sum(SQUARE(v))) * TANH(moved + b), [2])


def multiplicative_score(query: Tensor, keys: Tensor, scale: bool | TensorLike) -> Any:
    """Returns Luong's score: the products of keys and query, times a variable with `scale`."""
    if query.shape.as_list()[-1] != keys.shape.as_list()[-1]:
        raise ShapeError(
            f"Incompatible or unknown inner dimensions between query and keys. Query has units: "
            f"{query.shape.as_list()[-1]}. Keys have units: {keys.shape.as_list()[-1]}. Perhaps you need to set "
            "num_units to the keys' dimension?"
        )
    score = RESHAPE(matmul(EXPAND_DIMS(query, 1), keys, transpose_b=True), concat([shape(keys)[:1], [-1]], 0))
    score.set_shape(keys.shape.sizes[:2] if keys.shape.sizes else None)
    if not scale:
        return score
    return (get_variable("attention_g", [], query.dtype, Constant(1.0)) if scale is True else scale) * score


def _softmax_or(probability_fn: Callable[[Any], Any] | None) -> Callable[[Any, Any], Any]:
    function = probability_fn or softmax
    return lambda score, _: function(score)


class BahdanauAttention(AttentionMechanism):
    """The additive score of Bahdanau and others (2015); `normalize` as by Salimans and Kingma (2016).

    memory: [batch, steps, ...]. probability_fn: from scores to weights, softmax by default.
    """

    scope_name = "bahdanau_attention"

    def __init__(
        self,
        num_units: int,
        memory: TensorLike,
        memory_sequence_length: TensorLike | None = None,
        normalize: bool = False,
        probability_fn: Callable[[Any], Any] | None = None,
        score_mask_value: float | None = None,
        dtype: DTypeLike | None = None,
        custom_key_value_fn: Callable[[Any, Any], Any] | None = None,
        name: str = "BahdanauAttention",
    ) -> None:
        layers = _layer(num_units, "query_layer", dtype), _layer(num_units, "memory_layer", dtype)
        self._normalize, self._name, self._num_units = normalize, name, num_units
        super().__init__(
            *layers, memory, memory_sequence_length, _softmax_or(probability_fn), score_mask_value, custom_key_value_fn
        )

    def score(self, query: Tensor) -> Tensor:
        """Returns the additive score, [batch, steps]."""
        assert self.query_layer is not None
        return additive_score(self.query_layer(query), self.keys, self._normalize)


class LuongAttention(AttentionMechanism):
    """The multiplicative score of Luong and others (2015); `scale` multiplies it by a variable.

    memory: [batch, steps, ...]. probability_fn: from scores to weights, softmax by default.
    """

    scope_name = "luong_attention"

    def __init__(
        self,
        num_units: int,
        memory: TensorLike,
        memory_sequence_length: TensorLike | None = None,
        scale: bool = False,
        probability_fn: Callable[[Any], Any] | None = None,
        score_mask_value: float | None = None,
        dtype: DTypeLike | None = None,
        custom_key_value_fn: Callable[[Any, Any], Any] | None = None,
        name: str = "LuongAttention",
    ) -> None:
        self._scale, self._name, self._num_units = scale, name, num_units
        super().__init__(
            None,
            _layer(num_units, "memory_layer", dtype),
            memory,
            memory_sequence_length,
            _softmax_or(probability_fn),
            score_mask_value,
            custom_key_value_fn,
        )

    def score(self, query: Tensor) -> Tensor:
        """Returns the multiplicative score, [batch, steps]."""
        return multiplicative_score(query, self.keys, self._scale)


class _Monotonic(AttentionMechanism):
    """Attention that moves only forwards; the first step attends to the first step of the memory."""

    def initial_alignments(self, batch_size: TensorLike, dtype: DTypeLike) -> Tensor:
        """Returns 1 for the first step of the memory, else 0, [batch, steps]."""
        return one_hot(zeros([batch_size], int32), self.alignments_size, dtype=as_dtype(dtype))


def _monotonic(noise: float, mode: str, seed: int | None) -> Callable[[Any, Any], Any]:
    def probabilities(score: Tensor, previous: Tensor) -> Tensor:
        if noise > 0:
            score = score + noise * random_normal(shape(score), dtype=score.dtype, seed=seed)
        chosen = cast(score > 0, score.dtype) if mode == "hard" else SIGMOID(score)
        return monotonic_attention(chosen, previous, mode)

    return probabilities


def _bias(first: float, dtype: DTypeLike) -> Any:
    return get_variable("attention_score_bias", [], dtype, Constant(first))


class BahdanauMonotonicAttention(_Monotonic):
    """Monotonic attention (Raffel and others, 2017) with the additive score. `mode`: see `monotonic_attention`."""

    scope_name = "bahdanau_monotonic_attention"

    def __init__(
        self,
        num_units: int,
        memory: TensorLike,
        memory_sequence_length: TensorLike | None = None,
        normalize: bool = False,
        score_mask_value: float | None = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: DTypeLike | None = None,
        name: str = "BahdanauMonotonicAttention",
    ) -> None:
        layers = _layer(num_units, "query_layer", dtype), _layer(num_units, "memory_layer", dtype)
        self._normalize, self._first_bias, self._name = normalize, score_bias_init, name
        chosen = _monotonic(sigmoid_noise, mode, sigmoid_noise_seed)
        super().__init__(*layers, memory, memory_sequence_length, chosen, score_mask_value, None)

    def score(self, query: Tensor) -> Tensor:
        """Returns the additive score and a bias, [batch, steps]."""
        assert self.query_layer is not None
        score = additive_score(self.query_layer(query), self.keys, self._normalize)
        return score + _bias(self._first_bias, score.dtype)


class LuongMonotonicAttention(_Monotonic):
    """Monotonic attention (Raffel and others, 2017), multiplicative score. `mode`: see `monotonic_attention`."""

    scope_name = "luong_monotonic_attention"

    def __init__(
        self,
        num_units: int,
        memory: TensorLike,
        memory_sequence_length: TensorLike | None = None,
        scale: bool = False,
        score_mask_value: float | None = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: DTypeLike | None = None,
        name: str = "LuongMonotonicAttention",
    ) -> None:
        self._scale, self._first_bias, self._name = scale, score_bias_init, name
        layer, chosen = _layer(num_units, "memory_layer", dtype), _monotonic(sigmoid_noise, mode, sigmoid_noise_seed)
        super().__init__(None, layer, memory, memory_sequence_length, chosen, score_mask_value, None)

    def score(self, query: Tensor) -> Tensor:
        """Returns the multiplicative score and a bias, [batch, steps]."""
        score = multiplicative_score(query, self.keys, self._scale)
        return score + _bias(self._first_bias, score.dtype)
