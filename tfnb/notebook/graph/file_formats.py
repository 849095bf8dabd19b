"""Files that contain graphs: GraphDef, MetaGraphDef and SavedModel, in binary form or as protobuf's text.

The kind of a file is known only after parsing it: each of the three is tried, first the one that the file's name
suggests. Invariant: nothing in a file is run or built; reading it gives a message, or raises an `OpError`.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from typing import Any, cast

from tfnb.errors import DataLossError, ResourceExhaustedError
from tfnb.ir.graphdef.message_types import GraphDef, Message
from tfnb.ir.graphdef.wire import read_message
from tfnb.ir.protos import proto, text_parsed
from tfnb.system.files import os_errors

__all__ = ["MOST_BYTES", "MOST_NODES", "MOST_TEXT", "MOST_TEXT_VALUES", "read_graph", "saved_model_tags"]

MOST_BYTES, MOST_TEXT = 256 << 20, 4 << 20
MOST_TEXT_VALUES = 200_000  # protobuf's parser of text is written in Python, and takes some 10 us per value
MOST_NODES = (
    100_000  # more than twice the number of nodes of Inception with gradients; such a graph is drawn in seconds
)


def read_graph(path: str) -> GraphDef:
    """Returns the GraphDef message in a file. Raises `NotFoundError`, `ResourceExhaustedError` (too large),
    `DataLossError`.
    """
    for message in _messages(path):
        graph = _graph_in(message)
        if graph is not None and _plausible(graph):
            return graph
    raise DataLossError("no GraphDef, MetaGraphDef or SavedModel with a graph in it")


def saved_model_tags(path: str) -> list[str]:
    """Returns the tags of the graph that `read_graph` reads of a SavedModel. Raises the errors of `read_graph`."""
    for message in _messages(path):
        if hasattr(message, "meta_graphs"):
            found = next((m for m in message.meta_graphs if m.graph_def.node), None)
            return [str(tag) for tag in found.meta_info_def.tags] if found is not None else []
    raise DataLossError("no SavedModel with a graph in it")


def _messages(path: str) -> Iterator[Any]:
    """Yields the messages as which the bytes or the text of a file can be read, the likeliest first."""
    text = path.endswith((".pbtxt", ".txt"))
    max_size = MOST_TEXT if text else MOST_BYTES
    with os_errors(path):
        size = os.path.getsize(path)
        if size > max_size:
            raise ResourceExhaustedError(
                f"a graph of {size:,} bytes: at most {max_size:,} are read of a file of this kind"
            )
        with open(path, "rb") as file:
            content = file.read(max_size + 1)
    parse = _from_text if text else _from_bytes
    for kind in _kinds(os.path.basename(path)):
        message = kind()
        if parse(message, content):
            yield message


def _kinds(name: str) -> Iterator[Any]:
    kinds = [proto("graph").GraphDef, proto("meta_graph").MetaGraphDef, proto("saved_model").SavedModel]
    first = 1 if ".meta" in name else 2 if "saved_model" in name else 0
    yield kinds.pop(first)
    yield from kinds


def _from_bytes(message: Message, content: bytes) -> bool:
    try:
        read_message(message, content)
    except DataLossError:
        return False
    return True


def _from_text(message: Message, content: bytes) -> bool:
    values = sum(content.count(mark) for mark in (b":", b"{", b"<", b","))
    if values > MOST_TEXT_VALUES:
        raise ResourceExhaustedError(
            f"a graph as text with some {values:,} values: at most {MOST_TEXT_VALUES:,} are read; write it as bytes"
        )
    parser = importlib.import_module("google.protobuf.text_format")
    try:
        text_parsed(content.decode("utf-8"), message)
    except (parser.ParseError, ValueError, RecursionError):
        return False
    return True


def _graph_in(message: object) -> GraphDef | None:
    """Returns the graph in a GraphDef, a MetaGraphDef or a SavedModel. Of several graphs it is the first that has
    nodes.
    """
    if hasattr(message, "meta_graphs"):
        graphs = [m.graph_def for m in message.meta_graphs if m.graph_def.node]
        return graphs[0] if graphs else None
    return cast(GraphDef, getattr(message, "graph_def", message))


def _plausible(graph: GraphDef) -> bool:
    """Returns whether each node has a name and a type. Other bytes often parse as a message with strange nodes.

    Raises `ResourceExhaustedError` for too many nodes.
    """
    if len(graph.node) > MOST_NODES:
        raise ResourceExhaustedError(f"a graph of {len(graph.node):,} nodes: at most {MOST_NODES:,} are shown")
    return len(graph.node) > 0 and all(node.name and node.op for node in graph.node)
