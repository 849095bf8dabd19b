"""SavedModel: a folder with the graphs, signatures, variables and assets of a model, for programs that only use it.

`saved_model.pb` is TensorFlow's message; the variables are a checkpoint in tfnb's format. Invariant: the folder gets
its name only when it is complete.
"""

from __future__ import annotations

import filecmp
import itertools
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.graph.meta_graph import export_meta_graph, import_scoped_meta_graph
from tfnb.client.variables.variable import global_variables_initializer, group, local_variables_initializer
from tfnb.errors import (
    ExportExistsError,
    ExportOrderError,
    FailedPreconditionError,
    InitOpExistsError,
    InvalidArgumentError,
    MissingFileError,
    ResourceExhaustedError,
    SignatureError,
    UnknownTagsError,
    UnreadableFileError,
)
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.default import get_default_graph
from tfnb.ir.graphdef.message_types import MetaGraphDef
from tfnb.ir.graphdef.wire import read_message
from tfnb.ir.operation import Operation
from tfnb.ir.protos import packed, proto, text_of_message, text_parsed, unpacked
from tfnb.ir.tensor import Tensor
from tfnb.ops.checkpoint.files import sweep
from tfnb.session.session import Session
from tfnb.system.files import os_errors, sync_file, sync_folder
from tfnb.system.scratch import Scratch
from tfnb.train.saving.checkpoint_state import FilePath
from tfnb.train.saving.saver import Saver
from tfnb.train.saving.signatures import (
    SIGNATURE_CONSTANTS,
    TAG_CONSTANTS,
    build_tensor_info,
    predict_signature_def,
)

__all__ = ["API", "SavedModelBuilder", "load"]

_FILE, _TEXT_FILE = "saved_model.pb", "saved_model.pbtxt"
_VARIABLES = os.path.join("variables", "variables")
_ASSETS, _ASSETS_KEY = "assets", "saved_model_assets"
_MAIN_OP, _LEGACY_INIT_OP = "saved_model_main_op", "legacy_init_op"
_INIT_OP_KEY = "__saved_model_init_op"
_RESTORE = ("RestoreV2", "Restore", "RestoreSlice")


def _asset_name(folder: str, source: str) -> str:
    """Returns the name of an asset in the folder: that of the file, with a number if it has another content there."""
    base_name = os.path.basename(source)
    for name in itertools.chain([base_name], (f"{base_name}_{k}" for k in itertools.count(1))):
        copy = os.path.join(folder, name)
        if not os.path.lexists(copy) or filecmp.cmp(source, copy, shallow=False):
            return name
    raise AssertionError  # the names do not end


class SavedModelBuilder:
    """Writes a SavedModel to the folder `export_dir`, which must not exist and is created by `save`.

    Raises `ExportExistsError` when it exists.
    """

    def __init__(self, export_dir: FilePath) -> None:
        self._dir = os.fsdecode(export_dir).rstrip(os.sep)
        if os.path.exists(self._dir):
            raise ExportExistsError(f"the export directory {self._dir} exists already")
        self._scratch: Scratch | None = None
        self._message = proto("saved_model").SavedModel(saved_model_schema_version=1)
        self._has_variables = False

    def add_meta_graph_and_variables(
        self,
        sess: Session,
        tags: Iterable[str],
        signature_def_map: Mapping[str, Any] | None = None,
        assets_collection: Sequence[Tensor] | None = None,
        legacy_init_op: Operation | Tensor | None = None,
        clear_devices: bool = False,
        main_op: Operation | Tensor | None = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Adds the graph and the values of the variables of a session.

        It is called once, before `add_meta_graph`. tags: strings that identify the graph. signature_def_map: a dict of
        name to SignatureDef. assets_collection: string tensors with the names of files that are copied. main_op, or
        legacy_init_op: an operation that runs after loading. clear_devices: omit device names. saver: by default a new
        one.
        """
        if self._has_variables:
            raise ExportOrderError("the variables of the SavedModel have been added already")
        graph = sess.graph
        with graph.as_default():
            saver = saver or Saver(allow_empty=True)
            path = os.path.join(self._temporary_folder(), _VARIABLES)
            with os_errors(path):
                os.makedirs(os.path.dirname(path), exist_ok=True)
            saver.save(sess, path, write_meta_graph=False, write_state=False)
        self._has_variables = True
        self._add(
            graph,
            tags,
            signature_def_map,
            assets_collection,
            legacy_init_op,
            main_op,
            clear_devices,
            saver,
            strip_default_attrs,
        )

    def add_meta_graph(
        self,
        tags: Iterable[str],
        signature_def_map: Mapping[str, Any] | None = None,
        assets_collection: Sequence[Tensor] | None = None,
        legacy_init_op: Operation | Tensor | None = None,
        clear_devices: bool = False,
        main_op: Operation | Tensor | None = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Adds the default graph for the variables that were added before; the arguments are the same."""
        if not self._has_variables:
            raise ExportOrderError("add_meta_graph_and_variables must be called first")
        graph = get_default_graph()
        saver = saver or Saver(allow_empty=True)
        self._add(
            graph,
            tags,
            signature_def_map,
            assets_collection,
            legacy_init_op,
            main_op,
            clear_devices,
            saver,
            strip_default_attrs,
        )

    def _temporary_folder(self) -> str:
        """Returns the scratch folder that gets its final name in `save`; missing parent folders are created."""
        with os_errors(self._dir):
            if self._scratch is None:
                os.makedirs(os.path.dirname(self._dir) or ".", exist_ok=True)
                self._scratch = Scratch(self._dir)
            return self._scratch.file("model")

    def _add(
        self,
        graph: GraphBuilder,
        tags: Iterable[str],
        signatures: Mapping[str, Any] | None,
        assets: Sequence[Tensor] | None,
        legacy_init_op: Operation | Tensor | None,
        main_op: Operation | Tensor | None,
        clear_devices: bool,
        saver: Saver,
        strip_default_attrs: bool,
    ) -> None:
        for signature in (signatures or {}).values():
            for tensor_info in (*signature.inputs.values(), *signature.outputs.values()):
                if not tensor_info.dtype or not tensor_info.WhichOneof("encoding"):
                    raise SignatureError(
                        "All TensorInfo protos used in the SignatureDefs must have the name and dtype fields "
                        f"populated, got {tensor_info}"
                    )
        for key, op in ((_MAIN_OP, main_op), (_LEGACY_INIT_OP, legacy_init_op)):
            members = graph.get_collection(key)
            if op is not None and any(member is not op for member in members):
                raise InitOpExistsError(f"the collection {key!r} has {members} already, so {op} is one too many")
            if op is not None and not members:
                graph.add_to_collection(key, op)
        info = proto("meta_graph").MetaGraphDef.MetaInfoDef(tags=list(tags))
        meta = export_meta_graph(
            meta_info_def=info,
            saver_def=None if saver.is_empty else saver.as_saver_def(),
            graph=graph,
            clear_devices=clear_devices,
            strip_default_attrs=strip_default_attrs,
        )
        for name, signature in (signatures or {}).items():
            meta.signature_def[name].CopyFrom(signature)
        if _ASSETS_KEY in meta.collection_def:  # a graph that was loaded has the assets of its own file
            del meta.collection_def[_ASSETS_KEY]
        for tensor in assets or ():
            self._add_asset(meta, tensor)
        self._message.meta_graphs.add().CopyFrom(meta)

    def _add_asset(self, meta: MetaGraphDef, tensor: Tensor) -> None:
        value = getattr(tensor.op.attrs, "value", None)
        if value is None or np.size(value) != 1:
            raise InvalidArgumentError(f"the asset {tensor.name} is no constant with a file's name")
        source = np.asarray(value).reshape(-1)[0].decode()
        folder = os.path.join(self._temporary_folder(), _ASSETS)
        with os_errors(source):
            os.makedirs(folder, exist_ok=True)
            name = _asset_name(folder, source)
            shutil.copyfile(source, os.path.join(folder, name))
        asset = meta.asset_file_def.add(tensor_info=build_tensor_info(tensor), filename=name)
        meta.collection_def[_ASSETS_KEY].any_list.value.append(packed(asset))  # where loaders before 1.13 look

    def add_extra(self, write: Callable[[str], None]) -> None:
        """Calls `write(folder)`, which may add files to the folder of the model before `save`."""
        write(self._temporary_folder())

    def save(self, as_text: bool = False) -> str:
        """Writes the message, as text if `as_text` is set, gives the folder its name, and returns its path."""
        if not self._message.meta_graphs:
            raise FailedPreconditionError("there is nothing in the SavedModel yet")
        name = _TEXT_FILE if as_text else _FILE
        if as_text:
            content = text_of_message(self._message).encode()
        else:
            content = self._message.SerializeToString()
        temporary_folder = self._temporary_folder()
        with os_errors(self._dir):
            path = os.path.join(temporary_folder, name)
            with open(path, "wb") as file:
                file.write(content)
            sync_file(path)
            sync_folder(temporary_folder)
            if os.path.lexists(self._dir):  # because renaming would replace an empty folder
                raise ExportExistsError(f"the export directory {self._dir} exists already")
            os.rename(temporary_folder, self._dir)
            sync_folder(os.path.dirname(self._dir))
        if self._scratch is not None:
            self._scratch.remove()
            self._scratch = None
        sweep(os.path.dirname(self._dir))
        return os.path.join(self._dir, name)


# ---- loading -------------------------------------------------------------------------------------


def maybe_saved_model_directory(export_dir: str) -> bool:
    """Returns True if the folder `export_dir` contains a SavedModel."""
    folder = os.fsdecode(export_dir)
    return any(os.path.exists(os.path.join(folder, name)) for name in (_FILE, _TEXT_FILE))


def _read(folder: str) -> Any:
    message = proto("saved_model").SavedModel
    path = os.path.join(folder, _FILE)
    try:
        if os.path.exists(path):
            parsed = message()
            read_message(parsed, Path(path).read_bytes())
            return parsed
        path = os.path.join(folder, _TEXT_FILE)
        if os.path.exists(path):
            return text_parsed(Path(path).read_text(encoding="utf-8"), message())
    except OSError as e:
        with os_errors(path):
            raise e
    except ResourceExhaustedError:
        raise
    except Exception as e:  # a DataLossError, or a ParseError of protobuf
        raise UnreadableFileError(f"Cannot parse file {path}: it is no SavedModel: {e}") from None
    raise MissingFileError(f"SavedModel file does not exist at: {folder} (no file {_FILE})")


def load(
    sess: Session, tags: Iterable[str], export_dir: str, import_scope: str | None = None, **saver_kwargs: Any
) -> Any:
    """Adds the graph with exactly these tags to that of the session, restores its variables, returns its MetaGraphDef.

    sess: the session. tags: strings. export_dir: the folder. import_scope: a name scope for the nodes. As in
    TensorFlow, the main op (or legacy init op) that the file names is run. It can do whatever an operation can, also
    write files, so load only models whose authors you trust. Raises `MissingFileError` when there is no SavedModel,
    `UnknownTagsError` when it has no graph with these tags, and `UnreadableFileError` when it is damaged.
    """
    folder = os.fsdecode(export_dir)
    tag_set = {tags} if isinstance(tags, str) else set(tags)
    saved = _read(folder)
    matches = [m for m in saved.meta_graphs if set(m.meta_info_def.tags) == tag_set]
    if not matches:
        stored_tags = [sorted(m.meta_info_def.tags) for m in saved.meta_graphs]
        raise UnknownTagsError(f"no graph in {folder} has the tags {sorted(tag_set)}; there are {stored_tags}")
    graph = sess.graph
    with graph.as_default():
        message, scope = import_scoped_meta_graph(matches[0], graph=graph, import_scope=import_scope, **saver_kwargs)
        _restore(sess, message, scope, os.path.join(folder, _VARIABLES))
        _run_init_op(sess, message, scope, folder)
    return message


def _restore(sess: Session, message: MetaGraphDef, scope: str, path: str) -> None:
    """Restores the variables as the model's SaverDef says; without one, those of the collection of variables.

    Models of TensorFlow 2 have no such collection, and the SaverDef names a function. A SaverDef without names, or of a
    graph that restores nothing, restores nothing.
    """
    if message.saver_def.restore_op_name:
        functions = [node for function in message.graph_def.library.function for node in function.node_def]
        if any(node.op in _RESTORE for node in (*message.graph_def.node, *functions)):
            Saver.from_proto(message.saver_def, scope).restore(sess, path)
    elif sess.graph.get_collection(GraphKeys.GLOBAL_VARIABLES, scope or None):
        Saver(sess.graph.get_collection(GraphKeys.GLOBAL_VARIABLES, scope or None)).restore(sess, path)


def _assets_of(message: MetaGraphDef) -> list[Any]:
    """Returns the descriptions of a model's files; before 1.13 they were only in a collection."""
    if message.asset_file_def or _ASSETS_KEY not in message.collection_def:
        return list(message.asset_file_def)
    assets = []
    for holder in message.collection_def[_ASSETS_KEY].any_list.value:
        assets.append(proto("meta_graph").AssetFileDef())
        if not unpacked(holder, assets[-1]):
            raise UnreadableFileError(f"the SavedModel has an asset of the type {holder.type_url!r}, not AssetFileDef")
    return assets


def _init_op(message: MetaGraphDef) -> str | None:
    """Returns the name of the operation to run after loading, which newer models name by a signature."""
    if _INIT_OP_KEY in message.signature_def:
        outputs = message.signature_def[_INIT_OP_KEY].outputs
        if _INIT_OP_KEY in outputs:
            return str(outputs[_INIT_OP_KEY].name)
    for key in (_MAIN_OP, _LEGACY_INIT_OP):
        if key in message.collection_def:
            names = message.collection_def[key].node_list.value
            if len(names) != 1:
                raise UnreadableFileError(f"Expected exactly one SavedModel init op. Found: {list(names)}")
            return str(names[0])
    return None


def _run_init_op(sess: Session, message: MetaGraphDef, scope: str, folder: str) -> None:
    prefix, name = f"{scope}/" if scope else "", _init_op(message)
    if name is not None:
        feeds = {
            prefix + a.tensor_info.name: os.path.join(folder, _ASSETS, os.path.basename(a.filename)).encode()
            for a in _assets_of(message)
        }
        sess.run(sess.graph.as_graph_element(prefix + name), feeds)


def simple_save(
    session: Session,
    export_dir: str,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    legacy_init_op: Operation | Tensor | None = None,
) -> None:
    """Writes a SavedModel to `export_dir` with one signature from the tensors `inputs` to the tensors `outputs`."""
    builder = SavedModelBuilder(export_dir)
    key = SIGNATURE_CONSTANTS["DEFAULT_SERVING_SIGNATURE_DEF_KEY"]
    builder.add_meta_graph_and_variables(
        session,
        [TAG_CONSTANTS["SERVING"]],
        {key: predict_signature_def(inputs, outputs)},
        assets_collection=session.graph.get_collection(GraphKeys.ASSET_FILEPATHS),
        legacy_init_op=legacy_init_op,
        clear_devices=True,
    )
    builder.save()


def main_op() -> Operation:
    """Returns an operation that initialises variables and tables, for the `main_op` of a SavedModel."""
    graph = get_default_graph()
    tables = graph.get_collection(GraphKeys.TABLE_INITIALIZERS)
    return group(global_variables_initializer(), local_variables_initializer(), *tables)


def main_op_with_restore(restore_op_name: str) -> Operation:
    """Returns an operation that runs `main_op`, and after it the operation or tensor `restore_op_name`."""
    graph = get_default_graph()
    with graph.control_dependencies([main_op()]):
        return group(graph.as_graph_element(restore_op_name))


API: dict[str, Any] = {
    "saved_model.Builder": SavedModelBuilder,
    "saved_model.builder.SavedModelBuilder": SavedModelBuilder,
    "saved_model.load": load,
    "saved_model.loader.load": load,
    "saved_model.loader.maybe_saved_model_directory": maybe_saved_model_directory,
    "saved_model.maybe_saved_model_directory": maybe_saved_model_directory,
    "saved_model.contains_saved_model": maybe_saved_model_directory,
    "saved_model.simple_save": simple_save,
    "saved_model.constants.ASSETS_KEY": _ASSETS_KEY,
    "saved_model.constants.LEGACY_INIT_OP_KEY": _LEGACY_INIT_OP,
    "saved_model.constants.MAIN_OP_KEY": _MAIN_OP,
    "saved_model.constants.SAVED_MODEL_SCHEMA_VERSION": 1,
    "saved_model.main_op.main_op": main_op,
    "saved_model.main_op.main_op_with_restore": main_op_with_restore,
    "saved_model.main_op_with_restore": main_op_with_restore,
    "saved_model.constants.SAVED_MODEL_FILENAME_PB": _FILE,
    "saved_model.constants.SAVED_MODEL_FILENAME_PBTXT": _TEXT_FILE,
    "saved_model.constants.VARIABLES_DIRECTORY": "variables",
    "saved_model.constants.VARIABLES_FILENAME": "variables",
    "saved_model.constants.ASSETS_DIRECTORY": _ASSETS,
}
