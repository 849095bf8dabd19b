"""MetaGraphDef: a graph together with what a program needs besides its nodes: collections of variables and names.

Variables are stored as VariableDef messages, so that `tf.Variable` objects can be restored; loops and branches as
WhileContextDef and CondContextDef, which TensorFlow needs for gradients. Invariant: members of a collection that no
message can hold (functions, Python objects) are left out, never pickled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from tfnb.client.control_flow.control_context import Context
from tfnb.client.control_flow.imported_loops import restore_loops
from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.graph.control_flow_def import context_messages, restored_loops
from tfnb.client.graph.graph_def import VERSION, library, write_message
from tfnb.client.variables.variable import Variable
from tfnb.errors import (
    AlreadyExistsError,
    DataLossError,
    DTypeError,
    InvalidArgumentError,
    MissingFileError,
    OpError,
    UnreadableFileError,
    refuse_given,
)
from tfnb.ir.builder import GraphBuilder, all_or_nothing
from tfnb.ir.default import get_default_graph
from tfnb.ir.graphdef.attrs import default_attrs
from tfnb.ir.graphdef.decode import import_graph_def
from tfnb.ir.graphdef.message import as_message
from tfnb.ir.graphdef.message_types import GraphDef, Message, MetaGraphDef
from tfnb.ir.graphdef.op_def import op_def_message
from tfnb.ir.operation import Operation
from tfnb.ir.protos import proto, text_parsed
from tfnb.ir.tensor import Tensor
from tfnb.ops import CATALOG

__all__ = [
    "API",
    "MetaGraphLike",
    "export_meta_graph",
    "import_scoped_meta_graph",
    "read_meta_graph",
    "register_proto_function",
]

# A MetaGraphDef: the message, its bytes, or the name of a file that holds one.
MetaGraphLike: TypeAlias = str | Path | Message | bytes

_VARIABLES = (
    GraphKeys.GLOBAL_VARIABLES,
    GraphKeys.LOCAL_VARIABLES,
    GraphKeys.MODEL_VARIABLES,
    GraphKeys.METRIC_VARIABLES,
    GraphKeys.TRAINABLE_VARIABLES,
    GraphKeys.MOVING_AVERAGE_VARIABLES,
)

_CONTEXTS = {GraphKeys.COND_CONTEXT: "CondContextDef", GraphKeys.WHILE_CONTEXT: "WhileContextDef"}


def export_meta_graph(
    filename: str | None = None,
    meta_info_def: Message | None = None,
    graph_def: Message | bytes | None = None,
    saver_def: Message | bytes | None = None,
    collection_list: Iterable[str] | None = None,
    as_text: bool = False,
    graph: GraphBuilder | None = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
) -> Any:
    """Returns the MetaGraphDef of a graph (by default the default graph), and writes it to `filename` if given.

    graph_def: nodes to store instead of the graph's. saver_def: how to restore checkpoints. collection_list: the
    collections to store (default: all). export_scope: only nodes, variables and names below it, without its prefix.
    clear_devices: drops device names. strip_default_attrs: leaves out attributes that have their defaults. Raises
    `InvalidArgumentError` when a node of the scope reads one outside, and for `save_debug_info`.
    """
    why = "source lines are not written; a node's traceback has them"
    refuse_given("export_meta_graph", why, save_debug_info=save_debug_info)
    graph = get_default_graph() if graph is None else graph
    meta_graph = proto("meta_graph").MetaGraphDef()
    if meta_info_def is not None:
        meta_graph.meta_info_def.MergeFromString(meta_info_def.SerializeToString())
    meta_graph.meta_info_def.tensorflow_version = meta_graph.meta_info_def.tensorflow_version or VERSION
    scope = f"{export_scope.rstrip('/')}/" if export_scope else ""
    graph_message = graph.as_graph_def() if graph_def is None else as_message("graph", "GraphDef", graph_def)
    meta_graph.graph_def.CopyFrom(_below(graph_message, scope) if scope else graph_message)
    if clear_devices:
        for node in meta_graph.graph_def.node:
            node.device = ""
    if strip_default_attrs:
        _strip_default_attrs(meta_graph.graph_def)
    if not meta_graph.meta_info_def.HasField("stripped_op_list"):
        meta_graph.meta_info_def.stripped_op_list.CopyFrom(stripped_op_list_for_graph(meta_graph.graph_def))
    if saver_def is not None:
        meta_graph.saver_def.CopyFrom(as_message("saver", "SaverDef", saver_def))
    for key in graph.get_all_collection_keys() if collection_list is None else collection_list:
        if not (clear_extraneous_savers and key == GraphKeys.SAVERS):
            _add_collection(meta_graph, key, graph.get_collection(key), scope)
    if filename:
        write_message(meta_graph, filename, as_text)
    return meta_graph


def _strip_default_attrs(graph_def: GraphDef) -> None:
    """Removes the attributes that have the defaults of their ops."""
    functions = [node for function in graph_def.library.function for node in function.node_def]
    for node in [*graph_def.node, *functions]:
        opdef = CATALOG.get(node.op)
        for name, default in ({} if opdef is None else default_attrs(opdef)).items():
            if name in node.attr and node.attr[name] == default:
                del node.attr[name]


def stripped_op_list_for_graph(graph_def: GraphDef) -> Any:
    """Returns the OpList message with the definitions, without texts, of the ops that a GraphDef uses, by name.

    The nodes of functions count too, and ops that are not in the catalogue do not.
    """
    message = as_message("graph", "GraphDef", graph_def)
    nodes = [*message.node, *(node for function in message.library.function for node in function.node_def)]
    found = (CATALOG.get(name) for name in sorted({node.op for node in nodes}))
    return proto("op_def").OpList(op=[op_def_message(opdef) for opdef in found if opdef is not None])


def _below(graph_def: GraphDef, scope: str) -> Any:
    """Returns the nodes of a scope, under names without its prefix."""
    result = proto("graph").GraphDef()
    result.versions.CopyFrom(graph_def.versions)
    result.library.CopyFrom(graph_def.library)
    for node in graph_def.node:
        if not node.name.startswith(scope):
            continue
        copy = result.node.add()
        copy.CopyFrom(node)
        copy.name = node.name.removeprefix(scope)
        for i, text in enumerate(node.input):
            prefix, name = ("^", text[1:]) if text.startswith("^") else ("", text)
            if not name.startswith(scope):
                raise InvalidArgumentError(f"the node {node.name!r} reads {name!r}, outside of the scope {scope!r}")
            copy.input[i] = prefix + name.removeprefix(scope)
        if "_class" in node.attr:
            colocated = [s for s in node.attr["_class"].list.s if s.startswith(f"loc:@{scope}".encode())]
            copy.attr["_class"].list.s[:] = [s.replace(scope.encode(), b"", 1) for s in colocated]
    return result


class _Form(NamedTuple):
    """How the members of a collection become messages and come back; a part that is None is left out."""

    message: Any
    to_proto: Callable[..., Any] | None
    from_proto: Callable[..., Any] | None


_registered: dict[str, _Form] = {}


def register_proto_function(
    collection_name: str,
    proto_type: type | None = None,
    to_proto: Callable[..., Any] | None = None,
    from_proto: Callable[..., Any] | None = None,
) -> None:
    """Says how the members of a collection are written to a MetaGraphDef and read from one.

    proto_type: the class of the messages. to_proto(member, export_scope=...) returns a message, or None to leave the
    member out; from_proto(message, import_scope=...) returns the member. Raises `AlreadyExistsError` for a collection
    that has such functions, and `DTypeError` for what cannot be called.
    """
    for function in (to_proto, from_proto):
        if function is not None and not callable(function):
            raise DTypeError(f"to_proto and from_proto must be callable, got {function!r}")
    if collection_name in _registered:
        raise AlreadyExistsError(f"the functions of the collection {collection_name!r} are registered already")
    _registered[collection_name] = _Form(proto_type, to_proto, from_proto)


def _restored(form: _Form, content: bytes, scope: str) -> Any:
    message = form.message()
    message.ParseFromString(content)
    return form.from_proto(message, import_scope=scope.rstrip("/") or None)  # type: ignore[misc]


def _add_collection(into: MetaGraphDef, key: str, items: list[Any], scope: str) -> None:
    """Writes a collection in the one form that can hold all of its members; without such a form it is left out."""
    if not items:
        return
    names = [x.name for x in items if isinstance(x, (Variable, Tensor, Operation))]
    if scope and names:
        items = [x for x in items if getattr(x, "name", "").startswith(scope)]
        names = [n.removeprefix(scope) for n in names if n.startswith(scope)]
    collection = proto("meta_graph").CollectionDef()
    if items and key in _VARIABLES and all(isinstance(x, Variable) for x in items):
        messages = [x.to_proto(scope.rstrip("/")) for x in items]
        collection.bytes_list.value.extend(m.SerializeToString() for m in messages)
    elif key in _registered and (write := _registered[key].to_proto) is not None:
        messages = [write(x, export_scope=scope.rstrip("/") or None) for x in items]
        collection.bytes_list.value.extend(m.SerializeToString() for m in messages if m is not None)
    elif items and all(isinstance(x, Context) for x in items):
        collection.bytes_list.value.extend(m.SerializeToString() for m in context_messages(items, scope))
    elif names and len(names) == len(items):
        collection.node_list.value.extend(names)
    elif all(_is_any(x) for x in items):
        collection.any_list.value.extend(items)
    elif all(isinstance(x, (str, bytes)) for x in items):
        collection.bytes_list.value.extend(x.encode() if isinstance(x, str) else x for x in items)
    elif all(isinstance(x, int) for x in items):
        collection.int64_list.value.extend(items)
    elif all(isinstance(x, float) for x in items):
        collection.float_list.value.extend(items)
    elif all(hasattr(x, "to_proto") for x in items):
        messages = [x.to_proto(scope.rstrip("/") or None) for x in items]
        collection.bytes_list.value.extend(m.SerializeToString() for m in messages if m is not None)
    if collection.WhichOneof("kind") is not None:
        into.collection_def[key].CopyFrom(collection)


def _is_any(item: object) -> bool:
    """Says whether a member of a collection is a message `Any`, which holds a message of any type."""
    return getattr(getattr(item, "DESCRIPTOR", None), "full_name", "") == "google.protobuf.Any"


def read_meta_graph(meta_graph_or_file: MetaGraphLike) -> Any:
    """Returns a MetaGraphDef, or reads that of a file in protobuf's text or bytes.

    Raises `MissingFileError` without the file, and `UnreadableFileError` when it holds no MetaGraphDef; both are
    `OSError` too.
    """
    if not isinstance(meta_graph_or_file, (str, Path)):
        return as_message("meta_graph", "MetaGraphDef", meta_graph_or_file)
    path = Path(meta_graph_or_file)
    try:
        content = path.read_bytes()
    except OSError as e:
        problem = "does not exist" if isinstance(e, FileNotFoundError) else f"cannot be read: {e.strerror}"
        raise MissingFileError(f"the MetaGraphDef {str(path)!r} {problem}") from None
    try:
        return as_message("meta_graph", "MetaGraphDef", content)
    except DataLossError:
        text_format = import_module("google.protobuf.text_format")
        try:
            return text_parsed(content.decode(), proto("meta_graph").MetaGraphDef())
        except (UnicodeDecodeError, RecursionError, text_format.ParseError):
            raise UnreadableFileError(
                f"Cannot parse file {str(path)!r}: it is no MetaGraphDef, neither as bytes nor as text"
            ) from None


def import_scoped_meta_graph(
    meta_graph_or_file: MetaGraphLike,
    clear_devices: bool = False,
    graph: GraphBuilder | None = None,
    import_scope: str | None = None,
    input_map: Mapping[str, Any] | None = None,
    makers: Mapping[str, Callable[[bytes, str | None], Any]] | None = None,
) -> tuple[Any, str]:
    """Adds the nodes and collections of a MetaGraphDef to a graph; returns the message and the scope.

    The graph is the default graph unless `graph` is given. import_scope: the name scope for all nodes. makers:
    functions, by collection, that create a member from its bytes and the scope. Raises the errors of `import_graph_def`
    and `read_meta_graph`, and `NotFoundError` when a collection names a missing node; the graph is then unchanged.
    """
    graph = get_default_graph() if graph is None else graph
    message = read_meta_graph(meta_graph_or_file)
    nodes = message.graph_def
    if clear_devices:
        nodes = type(nodes).FromString(nodes.SerializeToString())
        for node in nodes.node:
            node.device = ""
    scope = ""
    with graph.as_default(), all_or_nothing(graph):
        if import_scope:
            with graph.name_scope(import_scope) as scope:
                pass
        start = graph.version
        import_graph_def(graph, nodes, library, input_map, None, scope)
        restore_loops(graph, graph.get_operations()[start:])
        collections = _collections(graph, message, scope, makers or {})
        graph_collections = {key: items for key, items in collections.items() if items}
    for key, items in graph_collections.items():
        for item in items:
            graph.add_to_collection(key, item)
    return message, scope.rstrip("/")


def _collections(
    graph: GraphBuilder, message: MetaGraphDef, scope: str, makers: Mapping[str, Any]
) -> dict[str, list[Any]]:
    """Returns the members of the collections; a variable that is in several of them is one object."""
    variables: dict[str, Variable] = {}
    collections: dict[str, list[Any]] = {}
    for key in sorted(message.collection_def):
        stored = message.collection_def[key]
        kind = stored.WhichOneof("kind")
        if kind is None:
            continue
        values = list(getattr(stored, kind).value)
        try:
            if kind == "node_list":
                collections[key] = [graph.as_graph_element(scope + name) for name in values]
            elif kind == "bytes_list" and key in _VARIABLES:
                collections[key] = [_variable(content, scope, variables) for content in values]
            elif kind == "bytes_list" and key in makers:
                collections[key] = [makers[key](content, scope.rstrip("/") or None) for content in values]
            elif kind == "bytes_list" and key in _registered and _registered[key].from_proto is not None:
                collections[key] = [_restored(_registered[key], content, scope) for content in values]
            elif kind == "bytes_list" and key in _CONTEXTS:
                loops = restored_loops(graph, _CONTEXTS[key], values, scope)
                collections.setdefault(GraphKeys.WHILE_CONTEXT, []).extend(loops)
            elif key not in (*_CONTEXTS, GraphKeys.QUEUE_RUNNERS):
                collections[key] = values
        except OpError as e:
            e.message = f"MetaGraphDef, collection {key[:80]!r}: {e.message}"
            e.args = (e.message,)
            raise
    return collections


def _variable(content: bytes, scope: str, known: dict[str, Variable]) -> Variable:
    message = as_message("variable", "VariableDef", content)
    name = message.variable_name
    if name not in known:
        known[name] = Variable.from_proto(message, scope.rstrip("/"))
    return known[name]


API: dict[str, Any] = {
    "train.export_meta_graph": export_meta_graph,
    "python.framework.ops.register_proto_function": register_proto_function,
    "contrib.util.stripped_op_list_for_graph": stripped_op_list_for_graph,
}
