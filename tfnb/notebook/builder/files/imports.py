"""Opens graphs that have no source: as statements if these can say them, or else as a statement that imports the graph.

The code of an imported graph reads the file, or names the GraphDef, and calls `tf.import_graph_def`; edits are
statements behind it. Invariant: a node that no edit has changed is saved with the bytes that it had.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from tfnb.client.graph.graph_def import import_graph_def
from tfnb.errors import UnimplementedError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.graphdef.message_types import GraphDef
from tfnb.ir.operation import Operation
from tfnb.ir.protos import proto
from tfnb.notebook.builder.files.programs import program_of
from tfnb.notebook.graph.file_formats import saved_model_tags

__all__ = ["MOST_STATEMENTS", "OpenedGraph", "opened", "saved"]

MOST_STATEMENTS = 300  # as many nodes are drawn near; a larger graph is one block, which is drawn by its scopes
NAME = "graph_def"


@dataclass(frozen=True)
class OpenedGraph:
    """The source of a graph, and the values of names that the source cannot compute by building alone."""

    source: str
    known: dict[str, Any]
    graph: GraphDef | None

    def key(self) -> tuple[str, str]:
        """Returns what tells two opened graphs apart: the source, and a digest of what the source does not contain."""
        graphs = [self.known[name].SerializeToString(deterministic=True) for name in sorted(self.known)]
        return self.source, hashlib.sha256(b"".join(graphs)).hexdigest() if graphs else ""


def opened(graph: GraphDef, path: str = "") -> OpenedGraph:
    """Returns the program of a GraphDef, which was read from `path` if that is not empty.

    A graph of at most `MOST_STATEMENTS` nodes becomes one statement a node. Larger ones, and those with loops,
    functions or large constants, are imported. Raises the errors of `tf.import_graph_def` for a small GraphDef
    that is damaged.
    """
    if len(graph.node) <= MOST_STATEMENTS:
        try:
            return OpenedGraph(program_of(graph), {}, graph)
        except UnimplementedError:
            pass
    lines = ["import tfnb as tf", "", *_reading(path), f"tf.import_graph_def({NAME}, name='')", ""]
    if path.endswith(".pbtxt") and "text_format" in "".join(lines):
        lines.insert(0, "from google.protobuf import text_format")
    return OpenedGraph("\n".join(lines), {NAME: graph}, graph)


def _reading(path: str) -> list[str]:
    """The lines that bind the GraphDef."""
    if not path:
        return [f"# {NAME} is the GraphDef of the graph that was opened: `graph.as_graph_def()`."]
    message, end = ("tf.MetaGraphDef", ".graph_def") if path.endswith(".meta") else ("tf.GraphDef", "")
    folder, name = os.path.split(path)
    if name.startswith("saved_model.pb"):
        return [
            "with tf.Session(graph=tf.Graph()) as session:",
            f"    {NAME} = tf.saved_model.loader.load(session, {saved_model_tags(path)!r}, {folder!r}).graph_def",
        ]
    if path.endswith(".pbtxt"):
        return [
            f"with tf.gfile.GFile({path!r}) as file:",
            f"    {NAME} = text_format.Parse(file.read(), {message}()){end}",
        ]
    return [f"with tf.gfile.GFile({path!r}, 'rb') as file:", f"    {NAME} = {message}.FromString(file.read()){end}"]


def saved(original: GraphDef | None, graph: GraphBuilder, imported: Iterable[Operation] = ()) -> GraphDef:
    """Returns the GraphDef of a built graph, in which each node that is as in `original` is that of the
    original, byte for byte.

    `imported` are operations of `graph` that are known to be as in the original.
    """
    result = graph.as_graph_def()
    if original is None:
        return result
    names = {node.name for node in original.node}
    unchanged = {op.name for op in imported}
    if not unchanged:
        again = GraphBuilder()
        with again.as_default():
            import_graph_def(original, name="")
        forms = {op.name: op.node_def for op in again.get_operations()}
        unchanged = {node.name for node in result.node if forms.get(node.name) == node}
    unchanged &= {node.name for node in result.node}
    merged = proto("graph").GraphDef()
    merged.versions.CopyFrom(original.versions)
    merged.library.CopyFrom(original.library)
    merged.node.extend(node for node in original.node if node.name in unchanged)
    merged.node.extend(node for node in result.node if node.name not in unchanged or node.name not in names)
    return cast(GraphDef, merged)
