"""Batch normalisations are folded into the weights of the layers before them.

The layer is computed a second time, with the weights that inference will have: weights * gamma / sqrt(variance +
epsilon). In training they are scaled by the moving variance, which changes slowly, and the layer's output is corrected
to the moments of the batch. Invariant: without quantisation the values stay the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tfnb.client.control_flow.cond import cond
from tfnb.errors import InvalidArgumentError, UnimplementedError
from tfnb.ir.builder import GraphBuilder, replace_input
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.constants import ones, zeros
from tfnb.ops.array.shape_ops import IDENTITY, RESHAPE
from tfnb.ops.math.binary import ADD, MUL, REAL_DIV, SUB
from tfnb.ops.math.unary import RECIPROCAL, RSQRT
from tfnb.v1.contrib.quantize.batch_norms import BatchNorm, batch_norms
from tfnb.v1.contrib.quantize.delays import reached

__all__ = ["fold_batch_norms", "reroute"]


class _Corrections(NamedTuple):
    """`scale`: a factor of the weights; `recip`, `offset`: what the layer's output is multiplied with, then added."""

    scale: Any
    recip: Any
    offset: Any


def reroute(old: Tensor, new: Tensor, readers: set[Operation] | None = None) -> int:
    """Makes the operations that read `old`, only `readers` if given, read `new`; returns how many inputs changed."""
    count = 0
    for op in dict.fromkeys(old.consumers()):
        if readers is None or op in readers:
            for i, t in enumerate(op.inputs):
                if t is old:
                    replace_input(op, i, new)
                    count += 1
    return count


def fold_batch_norms(graph: GraphBuilder, freeze_delay: int | None) -> None:
    """Folds each batch normalisation that follows a convolution or matrix product directly, in place.

    freeze_delay: the number of steps after which training uses the moving statistics; None for never. Raises
    `UnimplementedError` for one whose channels are not last, or that keeps no moving statistics in training.
    """
    done = set()
    for norm in batch_norms(graph):
        found = norm.layer() if norm.folds() else None
        if found is not None and found[0] not in done:
            done.add(found[0])
            _fold(graph, norm, *found, freeze_delay)


def _fold(graph: GraphBuilder, norm: BatchNorm, layer: Operation, spread: Operation | None, delay: int | None) -> None:
    _check(norm, layer)
    scope, slash, last = layer.name.rpartition("/")
    weights: Any = layer.inputs[1]
    with graph.as_default(), graph.name_scope(scope + slash):
        with graph.name_scope(f"{scope}{slash}BatchNorm_Fold/"):
            gamma: Any = ones(norm.mean.shape.known()) if norm.gamma is None else norm.gamma
            beta: Any = zeros(norm.mean.shape.known()) if norm.beta is None else norm.beta
            factor: Any = MUL(gamma, RSQRT(ADD(norm.variance, norm.epsilon)))
            bias = SUB(beta, MUL(norm.mean, factor), name="bias")
            corrections = _corrections(graph, norm, gamma, delay) if norm.training else None
            scale = None if corrections is None else corrections.scale
            if layer.type == "DepthwiseConv2dNative":
                shape = weights.shape.as_list()[2:4]
                factor = RESHAPE(factor, shape, name="scale_reshape")
                scale = None if scale is None else RESHAPE(scale, shape, name="correction_reshape")
        if scale is not None:
            weights = MUL(scale, weights, name="correction_mult")
        weights = MUL(weights, factor, name="mul_fold")
        y: Any = _again(graph, layer, [layer.inputs[0], weights], f"{last}_Fold")
        if spread is not None:
            name = spread.name.rpartition("/")[2]
            y = _again(graph, spread, [y, *spread.inputs[1:]], f"{name}_Fold")
        if corrections is not None:
            y = ADD(MUL(corrections.recip, y, name="post_conv_mul"), corrections.offset, name="correction_add")
        folded: Any = ADD(y, bias, name="add_fold")
    if not reroute(norm.output, folded):
        raise InvalidArgumentError(f"Folding batch norms failed, {norm.output.name} had no outputs.")


def _check(norm: BatchNorm, layer: Operation) -> None:
    """Refuses what TensorFlow's rewriting, which scales the last axis of weights and outputs, would do wrongly."""
    first = layer.type != "MatMul" and layer.get_attr("data_format") in (b"NCHW", "NCHW")
    if first or norm.mean.shape.ndims != 1:
        raise UnimplementedError(f"{norm.name}: only batch normalisations whose channels are last are folded", layer)
    if layer.type == "MatMul" and (layer.get_attr("transpose_a") or layer.get_attr("transpose_b")):
        raise UnimplementedError(f"{layer.name}: batch normalisations are not folded into transposed matrices", layer)


def _again(graph: GraphBuilder, op: Operation, inputs: list[Tensor], name: str) -> Tensor:
    """Returns the output of the same operation of other inputs."""
    return graph.add_node(op.opdef, inputs, op.attrs, dict(op.types), name).outputs[0]


def _corrections(graph: GraphBuilder, norm: BatchNorm, gamma: Tensor, delay: int | None) -> _Corrections:
    of_mean, of_variance = norm.moving()
    with graph.name_scope("batch_norm_correction"):
        moving_root = RSQRT(ADD(of_variance.moving, norm.epsilon))
        root = RSQRT(ADD(norm.variance, norm.epsilon))
        scale: Any = IDENTITY(REAL_DIV(moving_root, root, name="scale_compute"), name="correction_scale")
        recip: Any = RECIPROCAL(scale, name="reciprocal_compute")
        difference = SUB(MUL(norm.mean, root), MUL(of_mean.moving, moving_root))
        offset: Any = MUL(gamma, difference, name="offset_compute")
        if delay is None:
            return _Corrections(scale, recip, zeros(offset.shape.known()))
        frozen = reached(graph, delay, "use_moving_average")
        for update, name in ((of_mean, "freeze_moving_mean"), (of_variance, "freeze_moving_var")):
            rate = update.step.inputs[1]
            replace_input(update.step, 1, cond(frozen, _returning(graph.to_tensor(0.0)), _returning(rate), name=name))
        recip = cond(frozen, lambda: ones(scale.shape.known()), _returning(recip), name="correction_recip")
        offset = cond(frozen, _returning(offset), lambda: zeros(offset.shape.known()), name="correction_offset")
        return _Corrections(scale, recip, offset)


def _returning(value: object) -> Callable[[], Any]:
    return lambda: value
