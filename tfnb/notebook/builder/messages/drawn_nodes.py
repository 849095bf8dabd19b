"""The nodes, frames and notes of a document as the browser draws them, and which of them it has.

Invariant: a drawing has each node that was never sent or has changed since; the lines of all nodes are sent each time.
"""

from __future__ import annotations

from tfnb.notebook.builder.comments import frames_of, notes_of
from tfnb.notebook.builder.drawing import is_drawn, node_of
from tfnb.notebook.builder.fixes import problem_of
from tfnb.notebook.builder.state import State
from tfnb.notebook.protocol.builder import BuilderNode, Frame, Note, Totals

__all__ = ["DrawnNodes"]


class DrawnNodes:
    """`nodes` are those of the last complete source by their ids, in its order."""

    def __init__(self) -> None:
        self.nodes: dict[str, BuilderNode] = {}
        self.frames: list[Frame] = []
        self.notes: list[Note] = []
        self._sent: dict[str, BuilderNode] = {}

    def read(self, state: State) -> None:
        """Takes the nodes of a program that was built."""
        program = state.program
        self.frames, self.notes = frames_of(program), notes_of(program)
        frame_of = {node: frame["id"] for frame in self.frames for node in frame["nodes"]}
        self.nodes = {}
        for statement in program.statements:
            if is_drawn(statement):
                node = node_of(program, state.built, statement)
                node["problem"] = problem_of(state, statement)
                node["frame"] = frame_of.get(statement.id, "")
                self.nodes[statement.id] = node

    def changed(self) -> list[BuilderNode]:
        """Returns the nodes that have changed since the last call."""
        changed = [node for name, node in self.nodes.items() if not _is_same(self._sent.get(name), node)]
        self._sent = dict(self.nodes)
        return changed

    def forget_sent(self) -> None:
        """Lets the next drawing have all nodes."""
        self._sent = {}

    def totals(self) -> Totals:
        nodes = self.nodes.values()
        return {
            "parameters": sum(n["parameter_count"] for n in nodes),
            "flops": sum(max(n["flops"], 0) for n in nodes),
            "nodes": len(self.nodes),
            "problems": sum(n["problem"] is not None for n in nodes),
        }


def _is_same(former: BuilderNode | None, node: BuilderNode) -> bool:
    """Is it the node that was sent, except for its line?"""
    return former is node or former is not None and (former == node or {**former, "line": node["line"]} == node)
