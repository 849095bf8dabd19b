"""Exercises of 08_many_devices: predicted transfers, a node that is moved, a product on two devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tfnb.lessons.case import Case
from tfnb.lessons.graph_function import Built, GraphFunction
from tfnb.lessons.plain_function import PlainFunction

__all__ = ["EXERCISES"]


def _transfers(edges: Sequence[tuple[str, str]], devices: Mapping[str, str]) -> int:
    return len({(a, devices[b]) for a, b in edges if devices[a] != devices[b]})


def _graph(edges: str, devices: str) -> tuple[object, ...]:
    """Returns edges and devices: of "ab ac" and "a0 b1 c1" the node a on /cpu:0, which b and c read on /cpu:1."""
    return [(edge[0], edge[1]) for edge in edges.split()], {place[0]: f"/cpu:{place[1]}" for place in devices.split()}


_GRAPHS = [
    _graph("ab ac bd cd", "a0 b1 c1 d0"),
    _graph("ab ac ad bd", "a0 b1 c2 d1"),
    _graph("ab bc", "a0 b0 c0"),
]
_TRANSFERS = (
    "Look at the Sends and Recvs above: what crosses from one device to another?",
    "A tensor that two nodes read on the same other device crosses once; to two other devices it crosses twice.",
    "Count different pairs of a sender and the device of its reader, where that is not the sender's own device.",
)


def _moved(x: np.ndarray) -> np.ndarray:
    return np.sin(np.exp(x)) * np.cos(np.exp(x))


def _sends(built: Built) -> int:
    """How many tensors are sent in a step."""
    pieces = [graph for name, graph in built.passes if name.startswith("partition")]
    return sum(node.type == "_Send" for graph in pieces for node in graph.nodes.values())


def _one_transfer(built: Built) -> str:
    places = {op.type: op.device for op in built.operations if op.type in ("Exp", "Sin", "Cos")}
    sends = _sends(built)
    if places.keys() != {"Exp", "Sin", "Cos"} or not places["Exp"] != places["Sin"] == places["Cos"]:
        return "tf.exp is to stay on /cpu:0, tf.sin and tf.cos on /cpu:1; only the product may move"
    return "" if sends == 1 else f"{sends} tensors are sent in a step; one can do"


_POINTS = [(np.array(x, np.float32),) for x in ([0.1, 0.5], [1, 0, -1])]
_MOVED = (
    "Look at each edge of the graph: which of them go from one device to another?",
    "Two results are sent back to be multiplied. The product needs both of them where they are.",
    "Put the multiplication into the block of the device that computes its two inputs.",
)


def _product(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    return x @ w


def _matrices(n: int, m: int, k: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(n)
    return rng.random((n, m), np.float32), rng.random((m, k), np.float32)


def _on_two(built: Built) -> str:
    places = [op.device for op in built.operations if op.type in ("MatMul", "BatchMatMul")]
    if len(set(places)) < 2:
        return f"the products run on {', '.join(sorted({p or 'no given device' for p in places}))}; needed two devices"
    return ""


_HALVES = (
    "Look at the two halves of the wide layer above: what each device has, and what joins them.",
    "Split the columns of w into two; each device multiplies the whole x with its half.",
    "tf.split along axis 1 gives the halves, a tf.device block for each has its product, tf.concat joins along axis 1.",
)

EXERCISES = (
    (
        "predicted transfers",
        (Case("how many tensors cross", PlainFunction(_GRAPHS, _transfers), _TRANSFERS, points=2),),
    ),
    (
        "a node that is moved",
        (
            Case(
                "the same values with one transfer",
                GraphFunction(
                    [(np.array([0.1, 0.5], np.float32),), (np.array([1, 0, -1], np.float32),)],
                    _moved,
                    _one_transfer,
                    devices=2,
                ),
                _MOVED,
                points=2,
                success_message="One tensor goes to the other device, and nothing comes back but the result.",
            ),
        ),
    ),
    (
        "a product on two devices",
        (
            Case(
                "half of the columns on each",
                GraphFunction([_matrices(3, 5, 4), _matrices(2, 5, 6)], _product, _on_two, devices=3),
                _HALVES,
                points=2,
            ),
        ),
    ),
)
