"""The graph that a document was opened from: its drawing, its import as a whole, and the file that is saved of it.

Of a large one only what the source names is imported, until something asks for the whole graph. Another thread may draw
it and import it while the document is used.
"""

from __future__ import annotations

import threading

from tfnb.ir.graphdef.message_types import GraphDef
from tfnb.notebook.builder.building import MOST_AT_ONCE, Builder, Built, Imported
from tfnb.notebook.builder.files.imports import saved
from tfnb.notebook.builder.files.large_graphs import LargeGraph
from tfnb.notebook.builder.inside.operations import Drawings
from tfnb.notebook.builder.statements import Program

__all__ = ["OriginalGraph"]


class OriginalGraph:
    """`graph` is None for a document that began as source."""

    def __init__(self, graph: GraphDef | None, builder: Builder) -> None:
        self.graph, self.drawings = graph, Drawings()
        self._builder, self._importing = builder, threading.Lock()
        self._whole: Imported | None = None
        if graph is not None and len(graph.node) > MOST_AT_ONCE:
            builder.large = LargeGraph(graph)

    def draw(self, built: Built) -> bool:
        """Makes the drawing of a large graph before somebody asks for it. Returns whether there is one."""
        if self.graph is None or not built.is_deferred:
            return False
        self.drawings.columns(self.graph)
        return True

    def import_apart(self, program: Program) -> None:
        """Imports all of a large graph, for `complete`."""
        with self._importing:
            if self._builder.large is not None and self._whole is None:
                self._whole = self._builder.import_apart(program)

    def complete(self, program: Program) -> None:
        """Lets the next builds have all of a large graph."""
        self.import_apart(program)
        with self._importing:
            self._builder.imported, self._builder.large, self._whole = self._whole, None, None

    def want(self, operations: set[str]) -> bool:
        """Lets the next build have operations of a graph of which a part is imported. Returns whether it is one."""
        large = self._builder.large
        if large is None or not operations:
            return False
        large.wanted |= operations
        return True

    def saved(self, built: Built) -> GraphDef:
        """Returns a built graph as a GraphDef; nodes of the original that no edit has changed keep their bytes."""
        imports = [
            outcome.operations
            for outcome in built.outcomes
            if getattr(outcome.form and outcome.form.function, "__name__", "") == "import_graph_def"
        ]
        return saved(self.graph, built.graph, [op for operations in imports for op in operations])
