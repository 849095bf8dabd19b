"""Graphs in files: `tf.import_graph_def`, `tf.train.write_graph`, and the writing of protobuf messages.

Invariant: protobuf is not loaded before one of these functions is called.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from tfnb.client.control_flow.function_branches import FunctionalForms
from tfnb.client.control_flow.imported_loops import restore_loops
from tfnb.errors import DTypeError, GraphError, NotFoundError, refuse_given
from tfnb.ir.builder import GraphBuilder, all_or_nothing
from tfnb.ir.default import get_default_graph
from tfnb.ir.function import ARG, RETVAL
from tfnb.ir.graphdef.decode import import_graph_def as decode_graph_def
from tfnb.ir.graphdef.functions import Library
from tfnb.ir.graphdef.message import as_message
from tfnb.ir.graphdef.message_types import FunctionDefLibrary, Message
from tfnb.ir.graphdef.tensor_proto import make_ndarray, make_tensor_proto
from tfnb.ir.opdef import OpDef
from tfnb.ir.protos import text_of_message
from tfnb.ops import CATALOG
from tfnb.system.collector import collector_paused
from tfnb.system.files import make_folder, replace_file

__all__ = ["API", "import_graph_def", "write_graph"]


_OF_FUNCTIONS = {op.name: op for op in (ARG, RETVAL)}


def find_op(name: str) -> OpDef:
    """Returns the op of this name. Raises `GraphError` when there is none.

    Arguments and results of a function may stand in a graph that was made of its body; nobody adds them by a call.
    """
    if name in _OF_FUNCTIONS:
        return _OF_FUNCTIONS[name]
    try:
        return CATALOG[name]
    except NotFoundError:
        raise GraphError(f"no op is named {name[:200]!r}") from None


def library(message: FunctionDefLibrary) -> Library:
    """Returns the functions of a GraphDef's library, which extend the catalogue of ops."""
    return Library(message, find_op, FunctionalForms())


def import_graph_def(
    graph_def: Message | bytes,
    input_map: Mapping[str, Any] | None = None,
    return_elements: Sequence[str] | None = None,
    name: str | None = None,
    op_dict: object = None,
    producer_op_list: object = None,
) -> list[Any] | None:
    """Adds the nodes of a GraphDef (this library's or TensorFlow's) to the default graph.

    input_map: names of tensors in the file ("x:0") -> tensors to read in their place. return_elements: names of
    operations ("x") and tensors ("x:0") to return as a list. name: the name scope of the nodes ("import" by default, ""
    for none). `op_dict` and `producer_op_list` raise an error, because the catalogue defines the ops. Raises
    `GraphError`, `DTypeError` and the like, which name the faulty node; the graph is then unchanged.
    """
    refuse_given(
        "import_graph_def",
        "leave it out, the operations are those of the catalogue",
        op_dict=op_dict,
        producer_op_list=producer_op_list,
    )
    graph = get_default_graph()
    with collector_paused(), all_or_nothing(graph):
        start = graph.version
        if name == "":
            elements = decode_graph_def(graph, graph_def, library, input_map, return_elements)
        else:
            with graph.name_scope(name or "import") as scope:
                elements = decode_graph_def(graph, graph_def, library, input_map, return_elements, scope)
        restore_loops(graph, graph.get_operations()[start:])
        return elements


def write_graph(graph_or_graph_def: object, logdir: str, name: str, as_text: bool = True) -> str:
    """Writes a graph to the file `name` in `logdir`, as protobuf's text or bytes, and returns the path.

    A GraphDef, and also another message such as a MetaGraphDef or SaverDef, is written as it is.
    The folder is created if needed. The file appears complete or not at all.
    """
    graph = getattr(graph_or_graph_def, "graph", graph_or_graph_def)
    if isinstance(graph, GraphBuilder):
        message = graph.as_graph_def()
    elif isinstance(graph_or_graph_def, import_module("google.protobuf.message").Message):
        message = graph_or_graph_def
    else:
        message = as_message("graph", "GraphDef", graph_or_graph_def)
    if not isinstance(name, str):
        raise DTypeError(f"write_graph: needed a file name, got {name!r}")
    path = os.path.join(logdir, name)
    write_message(message, path, as_text)
    return path


def write_message(message: Message, path: str, as_text: bool) -> None:
    """Writes a message to a temporary file and renames it, so that readers never see half a file."""
    make_folder(os.path.dirname(path))
    if as_text:
        content = text_of_message(message).encode()
    else:
        content = message.SerializeToString()

    def write(temporary_path: str) -> None:
        with open(temporary_path, "xb") as file:
            file.write(content)

    replace_file(path, write)


VERSION = "1.12.0"  # the version of TensorFlow that MetaGraphs name

API: dict[str, Any] = {
    "VERSION": VERSION,
    "import_graph_def": import_graph_def,
    "make_tensor_proto": make_tensor_proto,
    "make_ndarray": make_ndarray,
    "contrib.util.make_tensor_proto": make_tensor_proto,
    "contrib.util.make_ndarray": make_ndarray,
    "train.write_graph": write_graph,
}
