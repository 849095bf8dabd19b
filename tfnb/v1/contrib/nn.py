"""The functions of `tf.contrib.nn` that have no other place: alpha dropout, a scaled softplus.

Invariant: both act element by element.
"""

from __future__ import annotations

from tfnb.client.graph.default_graph import name_scope
from tfnb.errors import InvalidArgumentError
from tfnb.ir.graphdef.message_types import GraphDef
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import convert_to_tensor
from tfnb.ops.array.shape_ops import shape as shape_op
from tfnb.ops.math.binary import MINIMUM
from tfnb.ops.math.cast import cast
from tfnb.ops.nn.activations import SOFTPLUS
from tfnb.ops.random.functions import random_uniform
from tfnb.types import float32

__all__ = ["alpha_dropout", "ops_used_by_graph_def", "scaled_softplus"]

_ALPHA = -1.7580993408473766


def alpha_dropout(
    x: TensorLike,
    keep_prob: float,
    noise_shape: TensorLike | None = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns `x` of which elements are kept with the probability `keep_prob`, so that mean and variance stay.

    It is for networks with selu. noise_shape: of the random choice, by default that of x. Raises
    `InvalidArgumentError` for a probability outside of (0, 1].
    """
    if not 0 < keep_prob <= 1:
        raise InvalidArgumentError(f"keep_prob must be a scalar tensor or a float in the range (0, 1], got {keep_prob}")
    with name_scope(name or "alpha_dropout"):
        value = convert_to_tensor(x)
        if keep_prob == 1:
            return value
        shape = shape_op(value) if noise_shape is None else noise_shape
        kept = cast(random_uniform(shape, dtype=value.dtype, seed=seed) < keep_prob, value.dtype)
        a = (keep_prob + _ALPHA**2 * keep_prob * (1 - keep_prob)) ** -0.5
        b = -a * _ALPHA * (1 - keep_prob)
        return a * (value * kept + _ALPHA * (1.0 - kept)) + b


def scaled_softplus(
    x: TensorLike, alpha: TensorLike, clip: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Returns alpha log(1 + exp(x / alpha)), at most `clip` where that is given.

    alpha: positive numbers that broadcast against the tensor x.
    """
    with name_scope(name or "scaled_softplus"):
        value, scale = convert_to_tensor(x), cast(alpha, float32)
        result = scale * SOFTPLUS(value / scale)
        return result if clip is None else MINIMUM(result, cast(clip, float32))


def ops_used_by_graph_def(graph_def: GraphDef) -> set[str]:
    """Returns the names of the operations of a GraphDef, and of those in the functions of its library."""
    nodes = [*graph_def.node, *(n for f in graph_def.library.function for n in f.node_def)]
    functions = {f.signature.name for f in graph_def.library.function}
    return {n.op for n in nodes} - functions
