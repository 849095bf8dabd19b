"""The default-graph stack of each thread (white paper, section 2: programs build into the current graph).

Calls of ops without tensor inputs need a graph to build into. The catalogue's own functions make such calls, so the
stack is here and not in `client`. Invariant: each thread has its own stack; at the bottom of all of them is one graph
of the process, made on first use.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from tfnb.errors import GraphError
from tfnb.ir.tensor import GraphLike
from tfnb.upcalls import upcall

__all__ = ["NestedGraphError", "get_default_graph", "graph_of", "pushed", "reset_default_graph"]


class NestedGraphError(GraphError, AssertionError):
    """The process's default graph is reset where another one is the default."""


class _Stack(threading.local):
    def __init__(self) -> None:
        self.graphs: list[Any] = []


_stack = _Stack()
_lock = threading.RLock()
_bottom: list[Any] = []


def get_default_graph() -> Any:
    """Returns the graph that ops are added to in this thread."""
    if _stack.graphs:
        return _stack.graphs[-1]
    if not _bottom:
        graph = upcall("graph")
        with _lock:
            if not _bottom:
                _bottom.append(graph)
    return _bottom[0]


def reset_default_graph() -> None:
    """Replaces the process's default graph by an empty one.

    Raises `NestedGraphError` inside a `with graph.as_default()` block, where it would have no effect.
    """
    if _stack.graphs:
        raise NestedGraphError(
            "reset_default_graph() inside a `with graph.as_default()` block would have no effect: do not use it to "
            "clear nested graphs, but leave the block and make a new graph"
        )
    graph = upcall("graph")
    with _lock:
        _bottom[:] = [graph]


class pushed:
    """Makes `graph` this thread's default inside the `with` block.

    It is a class and no generator, because a generator that is never closed would remove a graph when it is collected.
    """

    def __init__(self, graph: GraphLike) -> None:
        self._graph = graph

    def __enter__(self) -> GraphLike:
        _stack.graphs.append(self._graph)
        return self._graph

    def __exit__(self, *_: object) -> None:
        if not _stack.graphs or _stack.graphs.pop() is not self._graph:
            raise GraphError("blocks of `graph.as_default()` were closed in the wrong order")


def graph_of(inputs: Iterable[Any]) -> GraphLike:
    """Returns the graph to which a call with these inputs adds its node.

    While the body of a function is built, this is the body. Otherwise it is the graph of the first element of a graph
    among `inputs` and the lists in them; without such an element it is the default graph.
    """
    if _stack.graphs and _stack.graphs[-1].captures:
        return _stack.graphs[-1]
    for x in inputs:
        if isinstance(x, (list, tuple)):
            for y in x:
                graph = getattr(y, "graph", None)
                if graph is not None:
                    return graph
        else:
            graph = getattr(x, "graph", None)
            if graph is not None:
                return graph
    return get_default_graph()
