"""A large graph that was opened and is not imported yet: the part of it that statements name can be imported alone.

To import 39,551 nodes takes seconds; what a node is computed from takes hundredths of them. Invariant: a part has, of
each node in it, all nodes that it reads, waits for or is placed with, in the order of the graph.
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Iterable
from functools import cached_property

from tfnb.ir.graphdef.message_types import GraphDef, NodeDef
from tfnb.ir.protos import proto
from tfnb.notebook.builder.statements import Program

__all__ = ["LargeGraph"]


class LargeGraph:
    """`graph` is the GraphDef; `wanted` are nodes that edits have asked for, beside those that the source names."""

    def __init__(self, graph: GraphDef) -> None:
        self.graph = graph
        self.wanted: set[str] = set()
        self._lock = threading.Lock()

    @cached_property
    def _nodes(self) -> dict[str, tuple[int, NodeDef]]:
        return {node.name: (k, node) for k, node in enumerate(self.graph.node)}

    def named(self, program: Program) -> frozenset[str]:
        """Returns the nodes that the texts of a program name, and those that are wanted."""
        texts = {
            part.value.removeprefix("^").partition(":")[0]
            for statement in program.statements
            for part in ast.walk(statement.tree)
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        }
        with self._lock:
            return frozenset(name for name in texts | self.wanted if name in self._nodes)

    def part(self, names: Iterable[str]) -> GraphDef:
        """Returns these nodes with all that they need."""
        found: dict[str, tuple[int, NodeDef]] = {}
        todo = list(names)
        while todo:
            name = todo.pop()
            if name not in found and name in self._nodes:
                found[name] = self._nodes[name]
                todo += _needed(found[name][1])
        part = proto("graph").GraphDef()
        part.versions.CopyFrom(self.graph.versions)
        part.library.CopyFrom(self.graph.library)
        part.node.extend(node for _, node in sorted(found.values(), key=lambda one: one[0]))
        return part


def _needed(node: NodeDef) -> list[str]:
    names = [link.removeprefix("^").partition(":")[0] for link in node.input]
    if "_class" in node.attr:
        names += [text.decode("utf-8", "replace").removeprefix("loc:@") for text in node.attr["_class"].list.s]
    return names
