"""The cost model of placement: static estimates, replaced by means of measured times (white paper, section 3.2.1).

An estimate counts the bytes that a node reads and writes and, for matrix products and convolutions, the floating-point
operations. A measurement applies to all nodes with the same operation and static shapes. Invariant: costs are
microseconds and not negative; constants and control flow, which run without a kernel, cost nothing.
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

_OPEN = 32  # the size that is assumed for an unknown dimension
_BYTES_PER_US = 10_000.0  # of memory, read or written
_FLOPS_PER_US = 50_000.0
_LAUNCH_US = 5.0
_HOST_US = 20.0
_LATENCY_US = 20.0
_TRANSFER_BYTES_PER_US = 5_000.0


def _size(dims: Iterable[int | None]) -> int:
    return math.prod(_OPEN if d is None else d for d in dims)


def nbytes(spec: TensorSpec) -> int:
    """Returns the bytes of a tensor of a static shape; an unknown dimension counts with an assumed size."""
    size: int = spec.dtype.size
    return size * _size(spec.shape.sizes if spec.shape.sizes is not None else (None,))


def _product_flops(graph: Graph, node: Node) -> float:
    """Returns the floating-point operations of a matrix product: 2 for each term of the sum of each output element."""
    a = graph.spec(node.inputs[0]).shape.sizes or (None, None)
    is_transposed = getattr(node.attrs, "transpose_a", False) or getattr(node.attrs, "adj_x", False)
    out = node.specs[0].shape.sizes or (None, None)
    return 2.0 * _size(out) * _size(a[-2:-1] if is_transposed else a[-1:])


def _conv_flops(output: int, kernel: int) -> Any:
    """Returns a function that computes the floating-point operations of a node that is a convolution.

    These are 2 for each element of the convolution's output and each number of the filter that the element uses.
    `output` and `kernel` are the positions of that output and of the filter among the inputs of the node; -1 stands for
    the output of the node.
    """

    def flops(graph: Graph, node: Node) -> float:
        def dims(place: int) -> tuple[int | None, ...]:
            spec = node.specs[0] if place < 0 else graph.spec(node.inputs[place])
            return spec.shape.sizes or (None,) * 4

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
    """The costs of the nodes of one session's graph. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._measured: dict[Any, tuple[int, float]] = {}  # number of measurements, and their sum in microseconds

    def node_us(self, graph: Graph, node: Node) -> float:
        """Returns the cost of a node in microseconds: measured if there are measurements, else estimated."""
        with self._lock:
            measurement = self._measured.get(_key(graph, node))
        return measurement[1] / measurement[0] if measurement is not None else self.estimate_us(graph, node)

    def estimate_us(self, graph: Graph, node: Node) -> float:
        """Returns the estimated cost of a node in microseconds, from its static shapes."""
        op = node.opdef
        if op.kind not in (Kind.COMPUTE, Kind.ASYNC) or op.alias is not None:
            return 0.0
        n_bytes = sum(nbytes(s) for s in node.specs) + sum(nbytes(graph.spec(e)) for e in node.inputs)
        work = n_bytes / _BYTES_PER_US
        if op in _FLOPS:
            work = max(work, _FLOPS[op](graph, node) / _FLOPS_PER_US)
        return work + (_LAUNCH_US if op.on_device else _HOST_US)

    def transfer_us(self, spec: TensorSpec) -> float:
        """Returns the cost of a transfer of a tensor to another device, in microseconds."""
        return _LATENCY_US + nbytes(spec) / _TRANSFER_BYTES_PER_US

    def learn(self, graph: Graph, ran: Iterable[tuple[tuple[int, ...], float]]) -> None:
        """Adds measurements: pairs of the ids of nodes that one kernel computed, and its time in microseconds.

        The time is divided among the nodes of a kernel in proportion to their estimates.
        """
        for ids, us in ran:
            nodes = [graph.nodes[i] for i in ids if i in graph.nodes]
            weights = [self.estimate_us(graph, n) for n in nodes]
            total = sum(weights)
            if not total:
                continue
            with self._lock:
                for node, weight in zip(nodes, weights, strict=True):
                    key = _key(graph, node)
                    count, sum_us = self._measured.get(key, (0, 0.0))
                    self._measured[key] = count + 1, sum_us + us * weight / total

    @property
    def n_measured(self) -> int:
        """The number of measured combinations of operation and shapes."""
        with self._lock:
            return len(self._measured)


def _key(graph: Graph, node: Node) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    return node.type, tuple(str(graph.spec(e)) for e in node.inputs), tuple(str(s) for s in node.specs)
