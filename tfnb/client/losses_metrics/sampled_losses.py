"""Losses over a sample of the classes: noise-contrastive estimation and sampled softmax (OSDI'16, sections 4.2, 6.4).

The true classes and a few random ones represent all classes; logits are corrected by the expected count of each class.
Invariant: only the rows of those classes are read from `weights` and `biases`, and their gradients are sparse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.client.variables.embedding import embedding_lookup
from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import graph_of
from tfnb.ir.tensor import GraphLike, Tensor, TensorLike
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import ones_like, zeros_like
from tfnb.ops.array.shape_ops import EXPAND_DIMS, RESHAPE, STOP_GRADIENT, shape
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.compare import EQUAL, LOGICAL_AND, SELECT
from tfnb.ops.math.reduce import ANY_OF
from tfnb.ops.math.reduce_sum import SUM
from tfnb.ops.math.unary import LOG
from tfnb.ops.nn.losses import sigmoid_cross_entropy_with_logits, softmax_cross_entropy_with_logits
from tfnb.ops.random.candidate_samplers import API as SAMPLERS
from tfnb.types import bool_, int64

__all__ = ["API", "nce_loss", "sampled_softmax_loss"]


def _labels_and_inputs(graph: GraphLike, labels: TensorLike, inputs: TensorLike) -> tuple[Tensor, Tensor]:
    """Returns the integer labels and the float inputs, which 1.x has in this order and 0.x in the other."""
    a, b = graph.to_tensor(labels), graph.to_tensor(inputs)
    if a.dtype.is_floating and b.dtype.is_integer:
        a, b = b, a
    if not (a.dtype.is_integer and b.dtype.is_floating):
        raise InvalidArgumentError(f"needed integer labels and float inputs, got {a.dtype.name} and {b.dtype.name}")
    return cast_to(a, int64), b


def _without_hits(logits: Tensor, labels: Tensor, sampled: Tensor) -> Tensor:
    """Returns the sampled logits, with the lowest number where a sampled class is a true class."""
    if labels.shape.ndims == 2 and labels.shape.sizes[1] == 1:  # type: ignore[index]
        hits = EQUAL(labels, sampled)
    else:
        hits = ANY_OF(EQUAL(EXPAND_DIMS(labels, 2), sampled), np.int32(1))
    hits = LOGICAL_AND(hits, ones_like(logits, dtype=bool_))  # labels of one row stand for those of all
    lowest = zeros_like(logits) + logits.dtype.np.type(np.finfo(np.float32).min)
    return SELECT(hits, lowest, logits)


def _sampled_logits(
    graph: GraphLike,
    weights: TensorLike,
    biases: TensorLike,
    labels: Tensor,
    inputs: Tensor,
    num_true: int,
    samples: Sequence[Tensor],
    remove_accidental_hits: bool,
    strategy: str,
) -> tuple[Tensor, Tensor]:
    """Returns logits (batch, num_true + num_sampled) and their target probabilities."""
    sampled, true_count, sampled_count = (STOP_GRADIENT(t) for t in samples)
    flat = RESHAPE(labels, np.asarray([-1], np.int32))
    sampled_w = embedding_lookup(weights, sampled, strategy)
    sampled_b = embedding_lookup(biases, sampled, strategy)
    dims = sampled_w.shape.sizes
    width = dims[1] if dims is not None and dims[1] is not None else shape(sampled_w)[1]
    true_w = embedding_lookup(weights, flat, strategy)
    true_w = RESHAPE(true_w, graph.to_tensor([-1, num_true, width]))
    true_b = RESHAPE(embedding_lookup(biases, flat, strategy), np.asarray([-1, num_true], np.int32))
    true_logits = SUM(EXPAND_DIMS(inputs, 1) * true_w, np.int32(2)) + true_b
    sampled_logits = matmul(inputs, sampled_w, transpose_b=True) + sampled_b
    if remove_accidental_hits:
        sampled_logits = _without_hits(sampled_logits, labels, sampled)
    dtype = inputs.dtype
    true_logits = true_logits - LOG(cast_to(true_count, dtype))
    sampled_logits = sampled_logits - LOG(cast_to(sampled_count, dtype))
    targets = concat([ones_like(true_logits) / float(num_true), zeros_like(sampled_logits)], 1)
    return concat([true_logits, sampled_logits], 1), targets


def _sampled(
    weights: TensorLike,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: Sequence[TensorLike] | None,
    remove_accidental_hits: bool,
    strategy: str,
    seed: int | None,
) -> tuple[Tensor, Tensor]:
    shards = list(weights) if isinstance(weights, (list, tuple)) else [weights]
    graph = graph_of([*shards, labels, inputs])
    at, x = _labels_and_inputs(graph, labels, inputs)
    if at.shape.ndims == 1:
        at = EXPAND_DIMS(at, -1)
    if sampled_values is None:
        draw = SAMPLERS["nn.log_uniform_candidate_sampler"]
        sampled_values = draw(at, num_true, num_sampled, True, num_classes, seed)
    samples = [graph.to_tensor(t) for t in sampled_values]
    return _sampled_logits(graph, weights, biases, at, x, num_true, samples, remove_accidental_hits, strategy)


def nce_loss(
    weights: TensorLike,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Sequence[TensorLike] | None = None,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str = "nce_loss",
) -> Tensor:
    """Returns the noise-contrastive loss per example: logistic regression of true classes against random classes.

    weights: (classes, dim), a list of shards, or a partitioned variable. biases: (classes,), likewise. labels: integers
    (batch, num_true). inputs: (batch, dim). 0.x has `inputs` before `labels`; the dtypes tell the orders apart.
    sampled_values: the result of a candidate sampler; the default is log-uniform, for classes sorted by decreasing
    frequency. The result has shape (batch,). Raises `InvalidArgumentError` for labels that are not integers.
    """
    graph = graph_of([labels, inputs])
    with graph.as_default(), graph.name_scope(name or "nce_loss"):
        logits, targets = _sampled(
            weights,
            biases,
            labels,
            inputs,
            num_sampled,
            num_classes,
            num_true,
            sampled_values,
            remove_accidental_hits,
            partition_strategy,
            None,
        )
        return SUM(sigmoid_cross_entropy_with_logits(logits=logits, labels=targets), np.int32(1))


def sampled_softmax_loss(
    weights: TensorLike,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Sequence[TensorLike] | None = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str = "sampled_softmax_loss",
    seed: int | None = None,
) -> Tensor:
    """Returns the softmax cross entropy per example over the true classes and random ones; arguments as in `nce_loss`.

    The result has shape (batch,). It is an estimate for training only: evaluate with the full softmax.
    """
    graph = graph_of([labels, inputs])
    with graph.as_default(), graph.name_scope(name or "sampled_softmax_loss"):
        logits, targets = _sampled(
            weights,
            biases,
            labels,
            inputs,
            num_sampled,
            num_classes,
            num_true,
            sampled_values,
            remove_accidental_hits,
            partition_strategy,
            seed,
        )
        return softmax_cross_entropy_with_logits(logits=logits, labels=targets)


API: dict[str, Any] = {"nn.nce_loss": nce_loss, "nn.sampled_softmax_loss": sampled_softmax_loss}
