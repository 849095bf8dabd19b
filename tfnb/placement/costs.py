"""What nodes and transfers cost: static estimates, and means of what was measured (white paper, section 3.2.1).

An estimate counts bytes touched and, for products and convolutions, multiplications. A measurement is kept by op and
static shapes, and replaces the estimate. Invariant: all costs are microseconds and at least zero; what the runtime
does without a kernel (constants, control flow) costs nothing.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping
from typing import Any

from tfnb.ir.opdef import Kind, OpDef
from tfnb.ir.step_graph.graph import Graph, Node
from tfnb.ops.conv_pool.conv import CONV2D, CONV2D_BACKPROP_FILTER, CONV2D_BACKPROP_INPUT
from tfnb.ops.linalg.matmul import BATCH_MAT_MUL, MAT_MUL
from tfnb.types import TensorSpec

__all__ = ["CostModel", "nbytes"]

_OPEN = 32  # what an unknown dimension is taken for
_BYTES_PER_US = 10_000.0  # of memory
_FLOPS_PER_US = 50_000.0
_LAUNCH_US = 5.0
_HOST_US = 20.0
_LATENCY_US = 20.0
_TRANSFER_BYTES_PER_US = 5_000.0


def _size(dims: Iterable[int | None]) -> int:
    return math.prod(_OPEN if d is None else d for d in dims)


def nbytes(spec: TensorSpec) -> int:
    """Bytes of a tensor, as far as its static shape tells."""
    size: int = spec.dtype.size
    return size * _size(spec.shape.dims if spec.shape.dims is not None else (None,))


def _product_flops(graph: Graph, node: Node) -> float:
    """2 m k n, from the output and the length of the sum."""
    a = graph.spec(node.inputs[0]).shape.dims or (None, None)
    turned = getattr(node.attrs, "transpose_a", False) or getattr(node.attrs, "adj_x", False)
    out = node.specs[0].shape.dims or (None, None)
    return 2.0 * _size(out) * _size(a[-2:-1] if turned else a[-1:])


def _conv_flops(output: int, kernel: int) -> Any:
    """2 x elements of the convolution's output x numbers of the filter per output channel; places of both among the
    inputs, -1 for the output."""

    def flops(graph: Graph, node: Node) -> float:
        def dims(place: int) -> Any:
            spec = node.specs[0] if place < 0 else graph.spec(node.inputs[place])
            return spec.shape.dims or (None,) * 4

        return 2.0 * _size(dims(output)) * _size(dims(kernel)[:-1])

    return flops


_FLOPS: Mapping[OpDef, Any] = {
    MAT_MUL: _product_flops,
    BATCH_MAT_MUL: _product_flops,
    CONV2D: _conv_flops(-1, 1),
    CONV2D_BACKPROP_INPUT: _conv_flops(2, 1),
    CONV2D_BACKPROP_FILTER: _conv_flops(2, -1),
}


class CostModel:
    """Costs of one graph's nodes. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._measured: dict[Any, tuple[int, float]] = {}  # how often, and microseconds in all

    def node_us(self, graph: Graph, node: Node) -> float:
        """What a node costs."""
        with self._lock:
            found = self._measured.get(_key(graph, node))
        return found[1] / found[0] if found is not None else self.estimate_us(graph, node)

    def estimate_us(self, graph: Graph, node: Node) -> float:
        """What a node would cost by its shapes alone."""
        op = node.opdef
        if op.kind not in (Kind.COMPUTE, Kind.ASYNC) or op.alias is not None:
            return 0.0
        touched = sum(nbytes(s) for s in node.specs) + sum(nbytes(graph.spec(e)) for e in node.inputs)
        work = touched / _BYTES_PER_US
        if op in _FLOPS:
            work = max(work, _FLOPS[op](graph, node) / _FLOPS_PER_US)
        return work + (_LAUNCH_US if op.on_device else _HOST_US)

    def transfer_us(self, spec: TensorSpec) -> float:
        """What it costs to hand a tensor to another device."""
        return _LATENCY_US + nbytes(spec) / _TRANSFER_BYTES_PER_US

    def learn(self, graph: Graph, ran: Iterable[tuple[tuple[int, ...], float]]) -> None:
        """Takes what ran: (ids of the nodes that were computed together, microseconds).

        What was computed together shares the time in the proportion of the estimates.
        """
        for ids, took in ran:
            nodes = [graph.nodes[i] for i in ids if i in graph.nodes]
            weights = [self.estimate_us(graph, n) for n in nodes]
            total = sum(weights)
            if not total:
                continue
            with self._lock:
                for node, weight in zip(nodes, weights, strict=True):
                    key = _key(graph, node)
                    count, us = self._measured.get(key, (0, 0.0))
                    self._measured[key] = count + 1, us + took * weight / total

    @property
    def n_measured(self) -> int:
        """How many ops of different shapes were measured."""
        with self._lock:
            return len(self._measured)


def _key(graph: Graph, node: Node) -> Any:
    return node.type, tuple(str(graph.spec(e)) for e in node.inputs), tuple(str(s) for s in node.specs)
