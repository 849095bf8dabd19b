"""Losses that learn distances: embeddings of one class come together, those of others apart.

labels are [batch], embeddings [batch, n]. Invariant: an example is no pair with itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfnb.errors import DTypeError, ShapeError
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.array_functions import eye
from tfnb.ops.array.concat import stack
from tfnb.ops.array.constants import convert_to_tensor, zeros_like
from tfnb.ops.array.shape_ops import RESHAPE, expand_dims, shape_of
from tfnb.ops.array.transpose_pad_tile import transpose
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.logging.print_assert import print_
from tfnb.ops.math.binary import MAXIMUM, MINIMUM
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import EQUAL, GREATER, SELECT
from tfnb.ops.math.reduce_functions import reduce_max, reduce_mean, reduce_min, reduce_sum
from tfnb.ops.math.unary import EXP, LOG, SQRT, SQUARE
from tfnb.ops.nn.losses import softmax_cross_entropy_with_logits
from tfnb.ops.sparse.functions import sparse_tensor_to_dense
from tfnb.types import float32

__all__ = ["contrastive_loss", "lifted_struct_loss", "npairs_loss", "npairs_loss_multilabel", "triplet_semihard_loss"]


def contrastive_loss(
    labels: TensorLike, embeddings_anchor: TensorLike, embeddings_positive: TensorLike, margin: float = 1.0
) -> Tensor:
    """Returns the mean of d^2 for equal pairs and max(margin - d, 0)^2 for others (Hadsell et al. 2006), a scalar.

    labels: [batch], 1 for equal pairs. embeddings_anchor, embeddings_positive: [batch, n], d is their distance.
    """
    difference = convert_to_tensor(embeddings_anchor) - convert_to_tensor(embeddings_positive)
    distances = SQRT(reduce_sum(SQUARE(difference), 1))
    equal = cast(labels, distances.dtype)
    return reduce_mean(equal * SQUARE(distances) + (1.0 - equal) * SQUARE(MAXIMUM(margin - distances, 0.0)))


def _distances(embeddings: TensorLike, squared: bool) -> Tensor:
    """Returns the distances of all pairs, [batch, batch], with zeros on the diagonal."""
    x = convert_to_tensor(embeddings)
    squares = reduce_sum(SQUARE(x), 1)
    products = matmul(x, x, transpose_b=True)
    d = MAXIMUM(expand_dims(squares, 1) + expand_dims(squares, 0) - 2.0 * products, 0.0)
    known = cast(GREATER(d, 0.0), x.dtype) * (1.0 - eye(shape_of(x)[0], dtype=x.dtype))
    return d * known if squared else SQRT(d + (1.0 - known) * 1e-16) * known


def _equal(labels: TensorLike) -> tuple[Any, Any]:
    """Returns which pairs have equal labels, as float32 [batch, batch]: with, and without the diagonal."""
    y = convert_to_tensor(labels)
    if y.shape.ndims not in (None, 1):
        raise ShapeError(f"labels must have rank 1, got shape {y.shape}")
    same = cast(EQUAL(expand_dims(y, 1), expand_dims(y, 0)), float32)
    return same, same - eye(shape_of(y)[0])


def triplet_semihard_loss(labels: TensorLike, embeddings: TensorLike, margin: float = 1.0) -> Tensor:
    """Returns the triplet loss with semi-hard negatives (Schroff et al. 2015), a scalar.

    For each pair of one label the negative is the nearest that is further away than the pair, or else the furthest of
    all. labels: [batch], embeddings: [batch, n]. Raises `ShapeError` for labels of another rank.
    """
    d = _distances(embeddings, squared=True)
    same, positive = _equal(labels)
    other = 1.0 - same
    # [anchor, positive, negative]: negatives further from the anchor than the positive
    further = cast(GREATER(expand_dims(d, 1), expand_dims(d, 2)), float32) * expand_dims(other, 1)
    top = reduce_max(d, 1, True)
    outside = reduce_min((expand_dims(d, 1) - expand_dims(top, 2)) * further, 2) + top
    low = reduce_min(d, 1, True)
    inside = reduce_max((d - low) * other, 1, True) + low
    negatives = SELECT(GREATER(reduce_sum(further, 2), 0.0), outside, inside + zeros_like(outside))
    loss = MAXIMUM((margin + d - negatives) * positive, 0.0)
    return reduce_sum(loss) / reduce_sum(positive)


def lifted_struct_loss(labels: TensorLike, embeddings: TensorLike, margin: float = 1.0) -> Tensor:
    """Returns the lifted structured loss (Song et al. 2015), a scalar: each pair against all negatives of both.

    labels: [batch], embeddings: [batch, n]. Raises `ShapeError` for labels of another rank.
    """
    d = _distances(embeddings, squared=False)
    same, positive = _equal(labels)
    other = 1.0 - same
    room = margin - d
    low = reduce_min(room, 1, True)
    largest = reduce_max((room - low) * other, 1, True) + low
    bound = MAXIMUM(largest, transpose(largest))
    # [i, j]: the negatives of i, relative to the bound of the pair
    left = reduce_sum(EXP(expand_dims(room, 1) - expand_dims(bound, 2)) * expand_dims(other, 1), 2)
    loss = bound + LOG(left + transpose(left)) + d
    return 0.25 * reduce_sum(SQUARE(MAXIMUM(loss * positive, 0.0))) / (reduce_sum(positive) / 2.0)


def _npairs(targets: Tensor, anchor: TensorLike, positive: TensorLike, reg_lambda: float, print_losses: bool) -> Tensor:
    a, b = convert_to_tensor(anchor), convert_to_tensor(positive)
    penalty = 0.25 * reg_lambda * (reduce_mean(reduce_sum(SQUARE(a), 1)) + reduce_mean(reduce_sum(SQUARE(b), 1)))
    targets = targets / reduce_sum(targets, 1, True)
    logits = matmul(a, b, transpose_b=True)
    entropy = reduce_mean(softmax_cross_entropy_with_logits(labels=targets, logits=logits))
    if print_losses:
        entropy = print_(entropy, [entropy, penalty], "cross entropy, l2loss: ")
    return penalty + entropy


def npairs_loss(
    labels: TensorLike,
    embeddings_anchor: TensorLike,
    embeddings_positive: TensorLike,
    reg_lambda: float = 0.002,
    print_losses: bool = False,
) -> Tensor:
    """Returns the N-pairs loss (Sohn 2016): the cross entropy of each anchor over all positives, a scalar.

    labels: [batch]; embeddings_anchor, embeddings_positive: [batch, n]. reg_lambda: the factor of the squared norms.
    Raises `ShapeError` for labels of another rank.
    """
    return _npairs(_equal(labels)[0], embeddings_anchor, embeddings_positive, reg_lambda, print_losses)


def npairs_loss_multilabel(
    sparse_labels: Sequence[Any],
    embeddings_anchor: TensorLike,
    embeddings_positive: TensorLike,
    reg_lambda: float = 0.002,
    print_losses: bool = False,
) -> Tensor:
    """Returns the N-pairs loss for examples with several labels: a target is the number of labels in common.

    sparse_labels: one sparse tensor of ones per example, all of one shape. Raises `DTypeError` for other tensors.
    """
    if not all(isinstance(one, SparseTensor) for one in sparse_labels):
        raise DTypeError(f"sparse_labels must be a list of SparseTensors, got {sparse_labels}")
    rows = [RESHAPE(cast(sparse_tensor_to_dense(one), float32), [-1]) for one in sparse_labels]
    dense = stack(rows)
    common = reduce_sum(MINIMUM(expand_dims(dense, 1), expand_dims(dense, 0)), 2)
    return _npairs(common, embeddings_anchor, embeddings_positive, reg_lambda, print_losses)
