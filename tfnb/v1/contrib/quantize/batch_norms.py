"""Which operations of a graph are a batch normalisation, and which layer it follows.

A batch normalisation is one FusedBatchNorm operation, or the operations that `tf.layers` and `tf.contrib.layers` add
for it. Invariant: nothing is changed here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tfnb.client.layers.norm_layers import ONE_OPERATION
from tfnb.errors import UnimplementedError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor

__all__ = ["ADDITIONS", "LAYERS", "BatchNorm", "Rate", "batch_norms", "insides"]

ADDITIONS = ("Add", "AddV2")
LAYERS = ("Conv2D", "MatMul", "DepthwiseConv2dNative")
_FUSED = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
_MOVING = ("StopGradient", "Variable", "VariableV2")
_UNFUSED_NAME = re.compile("BatchNorm/batchnorm")  # those of tf.contrib.layers


class Rate(NamedTuple):
    """A moving statistic, and the operation of its update whose second input is the rate."""

    moving: Tensor
    step: Operation


class BatchNorm(NamedTuple):
    """A batch normalisation, (x - mean) / sqrt(variance + epsilon) * gamma + beta.

    `mean`, `variance`: the moments of the batch in training, else the moving ones; `training` is None where a tensor
    decides. `fused`: TensorFlow computes it by one operation. `parts`: the operations that it has here instead.
    `averaged`: the moments that the moving statistics follow.
    """

    x: Tensor
    output: Tensor
    gamma: Tensor | None
    beta: Tensor | None
    mean: Tensor
    variance: Tensor
    epsilon: Any
    training: bool | None
    fused: bool
    name: str
    averaged: tuple[Tensor, Tensor]
    parts: tuple[Operation, ...] = ()

    def folds(self) -> bool:
        """Says whether TensorFlow folds it: those that are one operation, and the others of `tf.contrib.layers`."""
        known = self.fused or _UNFUSED_NAME.search(self.name) is not None
        return known and self.training is not None and bool(self.output.consumers())

    def layer(self) -> tuple[Operation, Operation | None] | None:
        """Returns the layer whose outputs are normalised, and the BatchToSpaceND after it, or None."""
        op = self.x.op
        if op.type == "Reshape" and op.inputs[0].op.type == "MatMul":
            op = op.inputs[0].op
        if op.type == "Identity":
            op = op.inputs[0].op
        spread = op if op.type == "BatchToSpaceND" else None
        op = op.inputs[0].op if spread is not None else op
        return (op, spread) if op.type in LAYERS and len(op.inputs) == 2 else None

    def moving(self) -> tuple[Rate, Rate]:
        """Returns the updates of the moving mean and variance. Raises `UnimplementedError` where there is none."""
        of_mean, of_variance = self.averaged
        mean, variance = _update([of_mean]), _update([of_variance, *_scaled(of_variance)])
        if mean is None or variance is None:
            raise UnimplementedError(f"{self.name}: a batch normalisation without moving statistics is not folded")
        return mean, variance


def _scaled(variance: Tensor) -> Iterator[Tensor]:
    """Yields multiples of the variance, such as that of n - 1 degrees of freedom."""
    for op in variance.consumers():
        if op.type in ("Mul", "RealDiv") and op.inputs[0] is variance:
            yield op.outputs[0]
            yield from _scaled(op.outputs[0])


def _update(statistics: Iterable[Tensor]) -> Rate | None:
    """Returns the update of a moving statistic, (moving - statistic) * rate, among those that read the statistic."""
    for statistic in statistics:
        for difference in statistic.consumers():
            if difference.type == "Sub" and difference.inputs[1] is statistic:
                for step in difference.outputs[0].consumers():
                    if step.type == "Mul" and step.inputs[0] is difference.outputs[0]:
                        return Rate(difference.inputs[0], step)
    return None


def batch_norms(graph: GraphBuilder) -> list[BatchNorm]:
    """Returns the batch normalisations of a graph, in the order in which they were added."""
    found = []
    for op in graph.get_operations():
        norm = _one_operation(op) if op.type in _FUSED else _composed(op) if op.type in ADDITIONS else None
        if norm is not None:
            found.append(norm)
    return found


def insides(graph: GraphBuilder) -> set[Operation]:
    """Returns the operations that are one FusedBatchNorm in TensorFlow, which has no additions and products there."""
    return {op for norm in batch_norms(graph) if norm.fused for op in norm.parts}


def _one_operation(op: Operation) -> BatchNorm:
    x, gamma, beta, mean, variance = op.inputs
    output, training = op.outputs[0], bool(op.get_attr("is_training"))
    if training:
        mean, variance = op.outputs[3], op.outputs[4]
    if x.op.type == "Reshape":
        output = next((r.outputs[0] for r in output.consumers() if r.type == "Reshape"), output)
    epsilon, averaged = op.get_attr("epsilon"), (op.outputs[1], op.outputs[2])
    return BatchNorm(x, output, gamma, beta, mean, variance, epsilon, training, True, op.name, averaged)


def _composed(op: Operation) -> BatchNorm | None:
    """Returns the batch normalisation that ends in this addition: x * factor + (beta - mean * factor)."""
    scaled, shift = (t.op for t in op.inputs)
    if scaled.type != "Mul":
        return None
    x, factor = scaled.inputs
    root = factor.op
    gamma = None
    if root.type == "Mul":
        gamma, root = root.inputs[1], root.inputs[0].op
    if root.type != "Rsqrt" or root.inputs[0].op.type not in ADDITIONS:
        return None
    variance, epsilon = root.inputs[0].op.inputs
    if shift.type == "Sub" and shift.inputs[1].op.type == "Mul":
        beta, product = shift.inputs[0], shift.inputs[1].op
        mean = product.inputs[0]
    elif shift.type == "Mul" and shift.inputs[0].op.type == "Neg":
        beta, product = None, shift
        mean = product.inputs[0].op.inputs[0]
    else:
        return None
    if product.inputs[1] is not factor:
        return None
    source = variance.op
    while source.type in ("Identity", "Squeeze", "Reshape"):
        source = source.inputs[0].op
    training = True if source.type == "Mean" else False if source.type in _MOVING else None
    overridden = source.type == "Mean" and source.inputs[0].op.gradient_type is not None
    fused = ONE_OPERATION in op.extra or overridden or source.type == "StopGradient"
    parts, output = (scaled, factor.op, product, shift, op), op.outputs[0]
    return BatchNorm(x, output, gamma, beta, mean, variance, epsilon, training, fused, op.name, (mean, variance), parts)
