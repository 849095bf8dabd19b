"""The functions that rewrite a graph for training with, or evaluation of, simulated quantisation.

Batch normalisations are folded first, then the weights and outputs of layers are quantised, then sums and products of
what is quantised. Invariant: the graph is changed in place; variables have the names that TensorFlow 1.15 gives them.
"""

from __future__ import annotations

import re

from tfnb.errors import InvalidArgumentError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.default import get_default_graph
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.v1.contrib.quantize.batch_norms import ADDITIONS, insides
from tfnb.v1.contrib.quantize.fake_quant import Quantization, Range, quantize
from tfnb.v1.contrib.quantize.folding import fold_batch_norms
from tfnb.v1.contrib.quantize.layers import ACTIVATIONS, Layer, find_layers

__all__ = [
    "create_eval_graph",
    "create_training_graph",
    "experimental_create_eval_graph",
    "experimental_create_training_graph",
]

_PLUS = re.compile(r"(.*/)?add(_\d+)?$")
_RELUS = ("Relu", "Relu6")
_SOURCES = (*ADDITIONS, "Mul")
_PASSED = ("Reshape", "Identity", "BatchToSpaceND", "SpaceToBatchND", "MaxPool", "Max")
_NOT_OF_THE_MODEL = ("gradients/", "RMSProp/", "Adagrad/", "Const_", "HistogramSummary", "ScalarSummary")


def create_training_graph(input_graph: GraphBuilder | None = None, quant_delay: int = 0) -> None:
    """Rewrites a graph, in place, so that it is trained with the rounding errors of 8-bit inference.

    input_graph: by default the default graph; it has the loss, but no gradients yet. quant_delay: the number of steps
    after which values are rounded. Raises `InvalidArgumentError` for a graph with an optimizer's operations, and
    `UnimplementedError` for batch normalisations whose channels are not last.
    """
    experimental_create_training_graph(input_graph, quant_delay=quant_delay)


def create_eval_graph(input_graph: GraphBuilder | None = None) -> None:
    """Rewrites a graph for inference, in place, to round as the trained one does; see `create_training_graph`."""
    experimental_create_eval_graph(input_graph)


def experimental_create_training_graph(
    input_graph: GraphBuilder | None = None,
    weight_bits: int = 8,
    activation_bits: int = 8,
    symmetric: bool = False,
    quant_delay: int = 0,
    freeze_bn_delay: int | None = None,
    scope: str | None = None,
) -> None:
    """Does what `create_training_graph` does, with other numbers of bits, 2 to 16.

    symmetric: ranges are symmetric around zero. freeze_bn_delay: the number of steps after which batch normalisations
    use, and no longer change, their moving statistics. scope: only operations in this name scope are quantised.
    """
    whole = Quantization(True, weight_bits, activation_bits, symmetric, quant_delay, scope or "")
    _rewrite(input_graph, whole, freeze_bn_delay)


def experimental_create_eval_graph(
    input_graph: GraphBuilder | None = None,
    weight_bits: int = 8,
    activation_bits: int = 8,
    symmetric: bool = False,
    quant_delay: int | None = None,
    scope: str | None = None,
) -> None:
    """Does what `create_eval_graph` does; see `experimental_create_training_graph` for the arguments."""
    _rewrite(input_graph, Quantization(False, weight_bits, activation_bits, symmetric, quant_delay, scope or ""), None)


def _rewrite(input_graph: GraphBuilder | None, whole: Quantization, freeze_delay: int | None) -> None:
    graph = get_default_graph() if input_graph is None else input_graph
    found = {op.type for op in graph.get_operations() if _trains(op.type)}
    if found:
        raise InvalidArgumentError(f"Training op found in graph, exiting {found}")
    if whole.scope and not whole.scope.endswith("/"):
        whole = whole._replace(scope=f"{whole.scope}/")
    with graph.as_default():
        fold_batch_norms(graph, freeze_delay)
        hidden = insides(graph)
        done = _Rewriting(graph, whole, hidden).layers()
        _Rewriting(graph, whole, hidden).sums_and_products(done)


def _trains(op_type: str) -> bool:
    """Says whether this is an optimizer's operation, such as ApplyAdam or ResourceSparseApplyMomentum."""
    return op_type.removeprefix("Resource").removeprefix("Sparse").startswith("Apply")


def _around(name: str) -> str:
    return name.rpartition("/")[0]


def _type_there(op: Operation) -> str:
    """Returns the type that TensorFlow 1.15 gives an operation: the operator + adds an AddV2, which it names "add"."""
    return "AddV2" if op.type == "Add" and _PLUS.match(op.name) else op.type


class _Rewriting:
    """Quantises tensors of a graph; who reads them is as it was when the object was made."""

    def __init__(self, graph: GraphBuilder, whole: Quantization, hidden: set[Operation]) -> None:
        self._graph, self._whole, self._hidden = graph, whole, hidden
        self._readers: dict[Tensor, set[Operation]] = {}
        for op in graph.get_operations():
            if not op.name.startswith(_NOT_OF_THE_MODEL):
                for t in op.inputs:
                    self._readers.setdefault(t, set()).add(op)

    def _reading(self, op: Operation) -> set[Operation]:
        return {reader for t in op.outputs for reader in self._readers.get(t, ())}

    def _quantize(self, context: str, name: str, op: Operation, how: Range, producer: bool, readers: bool) -> None:
        """Quantises the output of `op` if it (`producer`) and all that read it (`readers`) are in the scope."""
        scope, reading = self._whole.scope, self._reading(op)
        if producer and not op.name.startswith(scope):
            return
        if readers and not all(reader.name.startswith(scope) for reader in reading):
            return
        full = f"{context}/{name}" if context else name
        around = self._graph.scopes.name
        if around:
            full = full.removeprefix(f"{around}/")
        quantize(self._graph, self._whole, full, op, reading, how)

    def layers(self) -> set[Operation]:
        """Quantises weights and outputs of all layers, and returns the operations whose outputs are quantised."""
        done: set[Operation] = set()
        for layer in find_layers(self._graph, self._hidden):
            self._layer(layer, done)
        return done

    def _layer(self, layer: Layer, done: set[Operation]) -> None:
        whole, context = self._whole, _around(layer.product.name)
        activations = Range(whole.activation_bits, whole.symmetric)
        if layer.weights is not None:
            how = Range(whole.weight_bits, whole.symmetric, last=True, narrow=True)
            self._quantize(context, "weights_quant", layer.weights.op, how, False, True)
        outer = context if layer.bypass is None else _around(context)
        if layer.activation is not None:
            self._quantize(outer, "act_quant", layer.activation, activations._replace(lowest=0.0), True, False)
            done.add(layer.activation)
        if layer.bypass is not None and layer.bias is not None:
            self._quantize(context, "conv_quant", layer.bias, activations, True, True)
            done.add(layer.bias)
            if not self._read_by(layer.bypass, ACTIVATIONS):  # which would be computed with the addition
                self._quantize(outer, "add_quant", layer.bypass, activations, True, True)
                done.add(layer.bypass)
        later = layer.later_bypass
        if later is not None and not self._read_by(later, _RELUS):
            self._quantize(_around(later.name), "post_activation_bypass_quant", later, activations, True, False)
            done.add(later)

    def _read_by(self, op: Operation, types: tuple[str, ...]) -> bool:
        return any(reader.type in types for reader in self._reading(op))

    def sums_and_products(self, done: set[Operation]) -> None:
        """Quantises sums and products of quantised tensors, other than those in `done`."""
        how = Range(self._whole.activation_bits, False)
        for op in list(self._graph.get_operations()):
            if self._follows(op, done):
                self._quantize(op.name, f"activation_{_type_there(op)}_quant", op, how, True, False)

    def _follows(self, op: Operation, done: set[Operation]) -> bool:
        """Says whether `op` is a sum or product of something quantised, and no activation is computed with it."""
        if op in done or op in self._hidden or op.type not in _SOURCES:
            return False
        readers = op.outputs[0].consumers()
        if len(readers) == 1 and readers[0].type in _RELUS:
            return False
        for t in op.inputs:
            source = t.op
            while source.type in _PASSED:
                source = source.inputs[0].op
            if source.type == "FakeQuantWithMinMaxVars" or source.name.find("delayed_quant/Merge") > 0:
                return True
            if source.type in _SOURCES and any(self._follows(u.op, done) for u in source.inputs):
                return True
        return False
