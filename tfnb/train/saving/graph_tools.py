"""The functions of `tensorflow.python.tools`: frozen and smaller graphs in files, and what a checkpoint holds.

Invariant: a graph that is made here computes what the given one computes, for the inputs and outputs that are named.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from tfnb.client.argument_types import FilePath
from tfnb.client.graph.graph_def import import_graph_def
from tfnb.client.graph.graph_util import convert_variables_to_constants, extract_sub_graph, remove_training_nodes
from tfnb.client.platform.gfile import GFile
from tfnb.errors import DataLossError, InvalidArgumentError, NotFoundError, refuse_given
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.graphdef.attrs import encode_value
from tfnb.ir.graphdef.message import as_message
from tfnb.ir.graphdef.message_types import GraphDef, SaverDef
from tfnb.ir.protos import proto, text_parsed
from tfnb.session.session import Session
from tfnb.train.saving.checkpoint_reader import CheckpointReader
from tfnb.train.saving.saver import Saver
from tfnb.types import as_dtype

__all__ = ["API"]


def _names(text: str | Sequence[str]) -> list[str]:
    return [n.strip() for n in text.split(",") if n.strip()] if isinstance(text, str) else list(text)


def _message(path: FilePath, binary: bool, file: str, name: str) -> Any:
    """Returns the message `name` of `file`.proto that a file holds, in binary or as text."""
    with GFile(path, "rb") as opened:
        content = opened.read()
    if binary:
        return as_message(file, name, content)
    text_format = import_module("google.protobuf.text_format")
    try:
        return text_parsed(content.decode(), getattr(proto(file), name)())
    except (text_format.ParseError, UnicodeDecodeError, RecursionError) as error:
        raise DataLossError(f"{path} is not a {name} as text: {error}") from error


def freeze_graph_with_def_protos(
    input_graph_def: GraphDef,
    input_saver_def: SaverDef | None,
    input_checkpoint: FilePath,
    output_node_names: str | Sequence[str],
    restore_op_name: str | None,
    filename_tensor_name: str | None,
    output_graph: FilePath | None,
    clear_devices: bool,
    initializer_nodes: str | Sequence[str],
    variable_names_whitelist: str = "",
    variable_names_blacklist: str = "",
) -> Any:
    """Returns the GraphDef with constants in place of the variables of a checkpoint, and writes it if it is named.

    Without `input_saver_def` the variables get the tensors of the checkpoint that have their names. restore_op_name and
    filename_tensor_name have no effect, as in TensorFlow. Raises `InvalidArgumentError` without names of outputs.
    """
    del restore_op_name, filename_tensor_name
    outputs = _names(output_node_names)
    if not outputs:
        raise InvalidArgumentError("You need to supply the name of a node to --output_node_names.")
    for node in input_graph_def.node if clear_devices else ():
        node.device = ""
    graph = GraphBuilder()
    with graph.as_default(), Session(graph=graph) as sess:
        import_graph_def(input_graph_def, name="")
        _restore(sess, input_saver_def, str(input_checkpoint))
        if initializer_nodes:
            sess.run(_names(initializer_nodes))
        frozen = convert_variables_to_constants(
            sess,
            input_graph_def,
            outputs,
            _names(variable_names_whitelist) or None,
            _names(variable_names_blacklist) or None,
        )
    if output_graph:
        with GFile(output_graph, "wb") as file:
            file.write(frozen.SerializeToString())
    return frozen


def _restore(sess: Session, saver_def: SaverDef | None, checkpoint: str) -> None:
    if saver_def:
        Saver(saver_def=saver_def).restore(sess, checkpoint)
        return
    reader, graph = CheckpointReader(checkpoint), sess.graph
    for op in graph.get_operations():
        if op.type in ("Variable", "VariableV2", "VarHandleOp") and reader.has_tensor(op.name):
            for assign in (c for c in op.outputs[0].consumers() if c.type in ("Assign", "AssignVariableOp")):
                sess.run(assign, {assign.inputs[1]: reader.get_tensor(op.name)})
                break
            else:
                raise NotFoundError(f"the variable {op.name} has no operation that assigns to it", op)


def freeze_graph(
    input_graph: FilePath,
    input_saver: FilePath,
    input_binary: bool,
    input_checkpoint: FilePath,
    output_node_names: str,
    restore_op_name: str | None,
    filename_tensor_name: str | None,
    output_graph: FilePath,
    clear_devices: bool,
    initializer_nodes: str,
    variable_names_whitelist: str = "",
    variable_names_blacklist: str = "",
    input_meta_graph: FilePath | None = None,
    input_saved_model_dir: FilePath | None = None,
) -> Any:
    """Writes the graph of a file with constants in place of the variables of a checkpoint, and returns it.

    input_graph: a GraphDef, binary or text. input_saver: the SaverDef of the checkpoint in the same form, if it has
    other names than the variables. input_meta_graph: a binary MetaGraphDef instead. output_node_names: names with
    commas between. Raises `InvalidArgumentError` for a SavedModel, and `NotFoundError` for a file that is not there.
    """
    why = "load it with tf.saved_model.loader.load, and use tf.graph_util.convert_variables_to_constants"
    refuse_given("freeze_graph", why, input_saved_model_dir=input_saved_model_dir)
    saver_def = None
    if input_meta_graph:
        meta = _message(input_meta_graph, True, "meta_graph", "MetaGraphDef")
        graph_def, saver_def = meta.graph_def, meta.saver_def if meta.HasField("saver_def") else None
    else:
        graph_def = _message(input_graph, input_binary, "graph", "GraphDef")
    if input_saver:
        saver_def = _message(input_saver, input_binary, "saver", "SaverDef")
    return freeze_graph_with_def_protos(
        graph_def,
        saver_def,
        input_checkpoint,
        output_node_names,
        restore_op_name,
        filename_tensor_name,
        output_graph,
        clear_devices,
        initializer_nodes,
        variable_names_whitelist,
        variable_names_blacklist,
    )


def strip_unused(
    input_graph_def: GraphDef,
    input_node_names: Sequence[str],
    output_node_names: Sequence[str],
    placeholder_type_enum: int | Sequence[int],
) -> Any:
    """Returns the nodes between the inputs, which become placeholders of the given dtypes, and the outputs.

    Raises `NotFoundError` for a name that is no node.
    """
    present = {node.name for node in input_graph_def.node}
    for name in input_node_names:
        if name not in present:
            raise NotFoundError(f"The node {name!r} is not in the graph")
    kinds = placeholder_type_enum
    types = [kinds] * len(input_node_names) if isinstance(kinds, int) else list(kinds)
    chosen = dict(zip(input_node_names, types, strict=True))
    cut = proto("graph").GraphDef()
    cut.versions.CopyFrom(input_graph_def.versions)
    cut.library.CopyFrom(input_graph_def.library)
    for node in input_graph_def.node:
        copy = cut.node.add()
        if node.name not in chosen:
            copy.CopyFrom(node)
            continue
        copy.name, copy.op, copy.device = node.name, "Placeholder", node.device
        copy.attr["dtype"].CopyFrom(encode_value("type", False, as_dtype(chosen[node.name])))
        for kept in ("shape", "_output_shapes"):
            if kept in node.attr:
                copy.attr[kept].CopyFrom(node.attr[kept])
    return extract_sub_graph(cut, list(output_node_names))


def optimize_for_inference(
    input_graph_def: GraphDef,
    input_node_names: Sequence[str],
    output_node_names: Sequence[str],
    placeholder_type_enum: int | Sequence[int],
    toco_compatible: bool = False,
) -> Any:
    """Returns what inference needs of the frozen graph `input_graph_def`, without checks and identities.

    That is what the nodes `output_node_names` compute from `input_node_names`, which become placeholders whose types
    are `placeholder_type_enum`, one for all or one for each. Batch normalisations stay as they are, since a session
    folds them. Raises `InvalidArgumentError` for `toco_compatible`.
    """
    refuse_given("optimize_for_inference", "it prepares graphs for phones", toco_compatible=toco_compatible)
    part = strip_unused(input_graph_def, input_node_names, output_node_names, placeholder_type_enum)
    return remove_training_nodes(part, list(output_node_names))


def print_tensors_in_checkpoint_file(
    file_name: FilePath, tensor_name: str, all_tensors: bool, all_tensor_names: bool = False
) -> None:
    """Prints the names of the tensors of a checkpoint with `all_tensor_names`, with their values for `all_tensors`.

    Without either, the tensor `tensor_name` is printed, or the list of names and shapes when that is empty.
    """
    reader = CheckpointReader(file_name)
    lines: list[Any] = []
    if all_tensors or all_tensor_names:
        for name in sorted(reader.get_variable_to_shape_map()):
            lines += [f"tensor_name:  {name}", *([reader.get_tensor(name)] if all_tensors else [])]
    elif tensor_name:
        lines = [f"tensor_name:  {tensor_name}", reader.get_tensor(tensor_name)]
    else:
        lines = [reader.debug_string().decode()]
    sys.stdout.write("".join(f"{line}\n" for line in lines))


API: dict[str, Any] = {
    "python.tools.freeze_graph.freeze_graph": freeze_graph,
    "python.tools.freeze_graph.freeze_graph_with_def_protos": freeze_graph_with_def_protos,
    "python.tools.inspect_checkpoint.print_tensors_in_checkpoint_file": print_tensors_in_checkpoint_file,
    "python.tools.optimize_for_inference_lib.optimize_for_inference": optimize_for_inference,
    "python.tools.strip_unused_lib.strip_unused": strip_unused,
}
