"""The clipboard as protobuf's text: nodes as a pbtxt, and a pbtxt as statements.

Invariant: what is pasted is Python that builds the nodes of the text, with new names where theirs are taken.
"""

from __future__ import annotations

import importlib
import re
from typing import Any

from tfnb.errors import InvalidArgumentError, OpError
from tfnb.ir.operation import Operation
from tfnb.ir.protos import proto
from tfnb.notebook.builder.building import library, plain_message
from tfnb.notebook.builder.files.programs import program_of
from tfnb.notebook.builder.state import State
from tfnb.notebook.protocol.builder import Clipboard
from tfnb.notebook.protocol.builder_details import CopyGraphRequest

__all__ = ["MOST_CHARACTERS", "MOST_NODES", "copied_graph", "is_graph_text", "python_of_graph"]

MOST_NODES = 300
MOST_CHARACTERS = 200_000


def is_graph_text(text: str) -> bool:
    """Returns whether a text looks like a GraphDef as protobuf's text."""
    return re.match(r"\s*(node|library|versions)\s*\{", text) is not None


def python_of_graph(text: str) -> str:
    """Returns the statements of a GraphDef as text; what it reads of elsewhere becomes a placeholder.

    Raises `InvalidArgumentError` for another text and for what statements cannot say.
    """
    if len(text) > MOST_CHARACTERS:
        raise InvalidArgumentError(f"a text of {len(text):,} characters: at most {MOST_CHARACTERS:,} are pasted")
    parser = importlib.import_module("google.protobuf.text_format")
    graph = proto("graph").GraphDef()
    try:
        parser.Parse(text, graph)
    except (parser.ParseError, ValueError, RecursionError) as e:
        raise InvalidArgumentError(f"the text is no graph: {str(e)[:300]}") from None
    if len(graph.node) > MOST_NODES:
        raise InvalidArgumentError(f"{len(graph.node):,} nodes: at most {MOST_NODES} are pasted; open it as a file")
    try:
        return program_of(graph)
    except OpError as e:
        raise InvalidArgumentError(f"the graph cannot be pasted: {plain_message(e)}") from None


def copied_graph(state: State, request: CopyGraphRequest) -> Clipboard:
    """Returns the operations of nodes as a GraphDef's text. What they read of other nodes becomes a placeholder."""
    statements = sorted((state.statement(n) for n in dict.fromkeys(request["nodes"])), key=lambda s: s.index)
    operations = [op for s in statements for op in state.built.outcomes[s.index].operations]
    graph = proto("graph").GraphDef()
    for op in _read(operations):
        graph.node.append(_placeholder(op))
    graph.node.extend(op.node_def for op in operations)
    inside = {node.name for node in graph.node}
    for node in graph.node:
        kept = [i for i in node.input if not i.startswith("^") or i[1:] in inside]
        del node.input[:]
        node.input.extend(kept)
        partners = [p for p in node.attr["_class"].list.s if p.decode().removeprefix("loc:@") in inside]
        del node.attr["_class"]
        if partners:
            node.attr["_class"].list.s.extend(partners)
    parser = importlib.import_module("google.protobuf.text_format")
    return {"type": "clipboard", "request": request["request"], "text": parser.MessageToString(graph)}


def _read(operations: list[Operation]) -> list[Operation]:
    """The operations outside that these read, each once."""
    inside = set(operations)
    outside: dict[Operation, None] = {}
    for op in operations:
        for tensor in op.inputs:
            if tensor.op not in inside:
                if tensor.index:
                    raise InvalidArgumentError(
                        f"{op.name} reads output {tensor.index} of {tensor.op.name}; copy it too"
                    )
                outside[tensor.op] = None
    return list(outside)


def _placeholder(op: Operation) -> Any:
    from_graph = type(op.graph)()
    with from_graph.as_default():
        tensor = op.outputs[0]
        library().placeholder(tensor.dtype.base_dtype, tensor.get_shape().sizes, name=op.name)
    return from_graph.get_operations()[0].node_def
