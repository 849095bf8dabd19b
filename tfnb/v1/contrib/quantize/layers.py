"""Which operations of a graph make up a layer: weights, product, bias, a residual addition, an activation.

Each pattern is a function that returns what it found above an operation, or None; alternatives are tried in
TensorFlow's order. Invariant: a convolution or matrix product belongs to one layer only, the largest that fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from tfnb.ir.builder import GraphBuilder
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.v1.contrib.quantize.batch_norms import ADDITIONS, LAYERS

__all__ = ["ACTIVATIONS", "Layer", "find_layers"]

ACTIVATIONS = ("Relu", "Relu6", "Identity")
_MOMENTS = ("Mean", "SquaredDifference")  # of a batch normalisation that is several operations
_VARIABLES = ("Variable", "VariableV2")


class Layer(NamedTuple):
    """The parts of a layer; `product` is the convolution or matrix product."""

    product: Operation
    weights: Tensor | None
    bias: Operation | None = None
    bypass: Operation | None = None
    activation: Operation | None = None
    later_bypass: Operation | None = None


_Pattern = Callable[[Operation], "Layer | None"]


class LayerFinder:
    """The patterns, on a graph of which some operations count as one operation that is no part of any pattern."""

    def __init__(self, hidden: set[Operation]) -> None:
        self._hidden = hidden

    def _is(self, op: Operation, types: Iterable[str]) -> bool:
        return op.type in types and op not in self._hidden

    def _first(self, op: Operation, patterns: Iterable[_Pattern]) -> Layer | None:
        return next((layer for layer in (pattern(op) for pattern in patterns) if layer is not None), None)

    def _either_input(self, op: Operation, types: Iterable[str], patterns: Iterable[_Pattern]) -> Layer | None:
        """Returns what a pattern finds above one of the two inputs."""
        if not self._is(op, types) or len(op.inputs) != 2:
            return None
        return self._first(op.inputs[0].op, patterns) or self._first(op.inputs[1].op, patterns)

    def _is_weights(self, t: Tensor) -> bool:
        if self._is(t.op, ("ReadVariableOp", "Mul")):
            return True
        if t.op.type != "Identity":
            return False
        source = t.op.inputs[0].op
        if source.type == "ConcatV2" and len(source.inputs) == 3:
            source = source.inputs[0].op
        if source.type == "Identity":
            source = source.inputs[0].op
        return source.type in _VARIABLES

    def product(self, op: Operation) -> Layer | None:
        if not self._is(op, LAYERS) or len(op.inputs) != 2:
            return None
        weights = next((t for t in (op.inputs[1], op.inputs[0]) if self._is_weights(t)), None)
        return None if weights is None else Layer(op, weights)

    def output(self, op: Operation) -> Layer | None:
        """A product, or the BatchToSpaceND after it."""
        if self._is(op, ("BatchToSpaceND",)):
            return self.product(op.inputs[0].op)
        return self.product(op)

    def biased(self, op: Operation) -> Layer | None:
        """A bias that is added to a product."""
        layer = self._either_input(op, (*ADDITIONS, "BiasAdd"), [self.output])
        return None if layer is None else layer._replace(bias=op)

    def _multiplied(self, op: Operation) -> Layer | None:
        if not self._is(op, ("Mul",)):
            return None
        return self.output(op.inputs[1].op) or self.output(op.inputs[0].op)

    def _corrected(self, op: Operation) -> Layer | None:
        return self._either_input(op, ADDITIONS, [self._multiplied])

    def folded(self, op: Operation) -> Layer | None:
        """The bias of a folded batch normalisation, added to a corrected product."""
        layer = self._either_input(op, ADDITIONS, [self._corrected])
        return None if layer is None else layer._replace(bias=op)

    def _folded_identity(self, op: Operation) -> Layer | None:
        return self.folded(op.inputs[0].op) if op.type == "Identity" else None

    def _bypass(self, op: Operation) -> Layer | None:
        layer = self._either_input(op, ADDITIONS, [self.biased, self.folded, self._folded_identity])
        return None if layer is None else layer._replace(bypass=op)

    def activation(self, op: Operation) -> Layer | None:
        """An activation after any of these."""
        if not self._is(op, ACTIVATIONS):
            return None
        patterns = [self.biased, self.folded, self._folded_identity, self._bypass, self.product]
        layer = self._first(op.inputs[0].op, patterns)
        return None if layer is None else layer._replace(activation=op)

    def later_bypass(self, op: Operation) -> Layer | None:
        """A residual addition after the activation."""
        if not self._is(op, ADDITIONS):
            return None
        layer = self.activation(op.inputs[1].op) or self.activation(op.inputs[0].op)
        return None if layer is None else layer._replace(later_bypass=op)

    def last(self, op: Operation) -> Layer | None:
        """A bias without an activation, whose output counts as one."""
        layer = self.biased(op) or self.folded(op)
        return None if layer is None else layer._replace(bias=None, activation=op)

    def separable(self, op: Operation) -> Layer | None:
        """The first of two products without anything between them; its output counts as activation."""
        layer = self._either_input(op, LAYERS, [self.output])
        if layer is None:
            return None
        folded = layer.weights is not None and layer.weights.op.type == "Mul"
        return layer._replace(activation=layer.product, weights=None if folded else layer.weights)

    def before_a_batch_norm(self, layer: Layer) -> bool:
        """Says whether the activation is an Identity that only a batch normalisation reads, for its moments."""
        op = layer.activation
        if op is None or op.type != "Identity":
            return False
        readers = op.outputs[0].consumers()
        normalise = [r for r in readers if r in self._hidden or r.type in ("FusedBatchNorm", "FusedBatchNormV3")]
        others = [r for r in readers if r not in normalise and r.type not in _MOMENTS]
        return len(normalise) == 1 and not others


def find_layers(graph: GraphBuilder, hidden: set[Operation]) -> list[Layer]:
    """Returns the layers of a graph whose weights and outputs are quantised; none has an operation of `hidden`."""
    finder = LayerFinder(hidden)
    found: dict[Operation, Layer] = {}
    operations = graph.get_operations()
    for pattern in (finder.later_bypass, finder.activation, finder.last, finder.separable):
        for op in operations:
            layer = pattern(op)
            if layer is None or layer.product in found:
                continue
            if pattern == finder.activation and finder.before_a_batch_norm(layer):
                continue
            found[layer.product] = layer
    return list(found.values())
