"""Models for a server as TensorFlow 0.x exported them: `tf.contrib.session_bundle`, which SavedModel replaced.

An export is the folder BASE/00000012 of a checkpoint with its graph, whose collections hold signatures, an operation
that initialises, and the files that the graph reads. Invariant: the folder gets its name when everything is in it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any

from tfnb.client.graph.meta_graph import read_meta_graph
from tfnb.client.namespace import Lazy
from tfnb.client.platform import gfile
from tfnb.client.variables.variable import Variable
from tfnb.errors import DataLossError, DTypeError, FailedPreconditionError, InvalidArgumentError
from tfnb.ir.const import constant_value
from tfnb.ir.default import get_default_graph, reset_default_graph
from tfnb.ir.graphdef.message_types import GraphDef, Message
from tfnb.ir.operation import Operation
from tfnb.ir.protos import proto
from tfnb.ir.tensor import Tensor
from tfnb.session.config import ConfigProto
from tfnb.session.session import Session
from tfnb.train.optimizers.global_step import global_step
from tfnb.train.saving.checkpoint_state import checkpoint_exists
from tfnb.train.saving.export_versions import Filter, Path, get_paths, negation
from tfnb.train.saving.import_meta_graph import import_meta_graph
from tfnb.train.saving.saver import Saver
from tfnb.types import string

__all__ = ["API", "BundleExporter", "load_session_bundle_from_path"]

_CONSTANTS = {
    "VERSION_FORMAT_SPECIFIER": "%08d",
    "ASSETS_DIRECTORY": "assets",
    "EXPORT_BASE_NAME": "export",
    "EXPORT_SUFFIX_NAME": "meta",
    "META_GRAPH_DEF_FILENAME": "export.meta",
    "VARIABLES_FILENAME": "export",
    "VARIABLES_FILENAME_PATTERN": "export-?????-of-?????",
    "INIT_OP_KEY": "serving_init_op",
    "SIGNATURES_KEY": "serving_signatures",
    "ASSETS_KEY": "serving_assets",
    "GRAPH_KEY": "serving_graph",
}
_INIT_OP, _SIGNATURES, _ASSETS, _GRAPH = "serving_init_op", "serving_signatures", "serving_assets", "serving_graph"

# message -> fields (name, type, whether it is a map from names); the fields of Signature are alternatives
_MESSAGES: dict[str, tuple[tuple[str, str, bool], ...]] = {
    "TensorBinding": (("tensor_name", "", False),),
    "AssetFile": (("tensor_binding", "TensorBinding", False), ("filename", "", False)),
    "RegressionSignature": (("input", "TensorBinding", False), ("output", "TensorBinding", False)),
    "ClassificationSignature": (
        ("input", "TensorBinding", False), ("classes", "TensorBinding", False), ("scores", "TensorBinding", False)
    ),
    "GenericSignature": (("map", "TensorBinding", True),),
    "Signature": (
        ("regression_signature", "RegressionSignature", False),
        ("classification_signature", "ClassificationSignature", False),
        ("generic_signature", "GenericSignature", False),
    ),
    "Signatures": (("default_signature", "Signature", False), ("named_signatures", "Signature", True)),
}  # fmt: skip
_PACKAGE = "tensorflow.serving"


def manifest(name: str) -> Any:
    """Returns the class of a message of TensorFlow Serving's manifest, the same one each time."""
    return import_module("google.protobuf.message_factory").GetMessageClass(
        _pool().FindMessageTypeByName(f"{_PACKAGE}.{name}")
    )


@cache
def _pool() -> Any:
    field = import_module("google.protobuf.descriptor_pb2").FieldDescriptorProto
    file = import_module("google.protobuf.descriptor_pb2").FileDescriptorProto(
        name="tfnb/manifest.proto", package=_PACKAGE, syntax="proto3"
    )
    for message_name, fields in _MESSAGES.items():
        message = file.message_type.add(name=message_name)
        if message_name == "Signature":
            message.oneof_decl.add(name="type")
        for number, (name, kind, is_map) in enumerate(fields, 1):
            type_name = f".{_PACKAGE}.{kind}"
            if is_map:
                entry = message.nested_type.add(name="".join(w.capitalize() for w in name.split("_")) + "Entry")
                entry.options.map_entry = True
                entry.field.add(name="key", number=1, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
                entry.field.add(name="value", number=2, type=11, type_name=type_name, label=field.LABEL_OPTIONAL)
                type_name = f".{_PACKAGE}.{message_name}.{entry.name}"
            added = message.field.add(name=name, number=number, label=3 if is_map else 1)
            added.type = field.TYPE_MESSAGE if kind else field.TYPE_STRING
            if kind:
                added.type_name = type_name
            if message_name == "Signature":
                added.oneof_index = 0
    pool = import_module("google.protobuf.descriptor_pool").DescriptorPool()
    pool.Add(file)
    return pool


def _any(message: Message, name: str) -> Any:
    """Returns a message `Any` that holds a message, under its name in TensorFlow."""
    url = f"type.googleapis.com/{name}"
    return import_module("google.protobuf.any_pb2").Any(type_url=url, value=message.SerializeToString())


def gfile_copy_callback(files_to_copy: Mapping[str, str], export_dir_path: str) -> None:
    """Copies files, from their paths to names in the folder `export_dir_path`, and replaces what is there."""
    gfile.MakeDirs(export_dir_path)
    for source, name in files_to_copy.items():
        gfile.Copy(source, os.path.join(export_dir_path, name), overwrite=True)


def regression_signature(input_tensor: Tensor, output_tensor: Tensor) -> Any:
    """Returns the `Signature` of a regression: the names of its input and output."""
    signature = manifest("Signature")()
    signature.regression_signature.input.tensor_name = input_tensor.name
    signature.regression_signature.output.tensor_name = output_tensor.name
    return signature


def classification_signature(
    input_tensor: Tensor, classes_tensor: Tensor | None = None, scores_tensor: Tensor | None = None
) -> Any:
    """Returns the `Signature` of a classification: the names of its input, and of its classes and scores if given."""
    signature = manifest("Signature")()
    signature.classification_signature.input.tensor_name = input_tensor.name
    if classes_tensor is not None:
        signature.classification_signature.classes.tensor_name = classes_tensor.name
    if scores_tensor is not None:
        signature.classification_signature.scores.tensor_name = scores_tensor.name
    return signature


def generic_signature(name_tensor_map: Mapping[str, Tensor]) -> Any:
    """Returns a `Signature` of tensors by names of the caller's choice."""
    signature = manifest("Signature")()
    for name, tensor in name_tensor_map.items():
        signature.generic_signature.map[name].tensor_name = tensor.name
    return signature


class BundleExporter:
    """Exports a graph with the variables that `saver` saves: `init` once, then `export` for each version."""

    def __init__(self, saver: Saver) -> None:
        saver_def = saver.as_saver_def()
        saver_def.ClearField("max_to_keep")  # versions are kept by `exports_to_keep`
        self._saver = Saver(saver_def=saver_def)
        self._assets: dict[str, str] | None = None  # path -> name in the export, once `init` was called
        self._copy: Callable[[Mapping[str, str], str], None] | None = None

    def init(
        self,
        graph_def: GraphDef | None = None,
        init_op: Operation | None = None,
        clear_devices: bool = False,
        default_graph_signature: Message | None = None,
        named_graph_signatures: Mapping[str, Any] | None = None,
        assets_collection: Sequence[Tensor] | None = None,
        assets_callback: Callable[[Mapping[str, str], str], None] | None = gfile_copy_callback,
    ) -> None:
        """Adds what an export holds to the collections of the default graph.

        graph_def: the graph for the server, by default the default graph. init_op: is run when the export is loaded.
        clear_devices: the graph for the server names no devices. default_graph_signature, named_graph_signatures:
        messages of the functions of signatures. assets_collection: constants, the paths of files that the graph reads;
        assets_callback copies these files to the export. Raises `FailedPreconditionError` when it is called twice, and
        `DTypeError` for an asset that is no constant text, or an `init_op` that is no operation.
        """
        if self._assets is not None:
            raise FailedPreconditionError("init should be called only once")
        if init_op is not None and not isinstance(init_op, Operation):
            raise DTypeError(f"init_op needs to be an Operation: {init_op}")
        graph = get_default_graph()
        assets = [(_path_of(tensor), tensor) for tensor in assets_collection or ()]
        self._assets, self._copy = {path: os.path.basename(path) for path, _ in assets}, assets_callback
        if graph_def is not None or clear_devices:
            served = type(graph_def)() if graph_def is not None else proto("graph").GraphDef()
            served.CopyFrom(graph_def if graph_def is not None else graph.as_graph_def())
            for node in served.node if clear_devices else ():
                node.device = ""
            graph.add_to_collection(_GRAPH, _any(served, "tensorflow.GraphDef"))
        if init_op is not None:
            graph.add_to_collection(_INIT_OP, init_op)
        signatures = manifest("Signatures")()
        if default_graph_signature is not None:
            signatures.default_signature.CopyFrom(default_graph_signature)
        for name, signature in (named_graph_signatures or {}).items():
            signatures.named_signatures[name].CopyFrom(signature)
        graph.add_to_collection(_SIGNATURES, _any(signatures, f"{_PACKAGE}.Signatures"))
        for path, tensor in assets:
            asset = manifest("AssetFile")(filename=os.path.basename(path))
            asset.tensor_binding.tensor_name = tensor.name
            graph.add_to_collection(_ASSETS, _any(asset, f"{_PACKAGE}.AssetFile"))

    def export(
        self,
        export_dir_base: str,
        global_step_tensor: Variable | Tensor,
        sess: Session,
        exports_to_keep: Filter | None = None,
    ) -> bytes:
        """Writes the version that the global step numbers and returns its folder, as bytes like TensorFlow.

        exports_to_keep: a filter of `session_bundle.gc`; versions that it does not choose are deleted. Raises
        `FailedPreconditionError` before `init`, and when there is such a version already.
        """
        if self._assets is None:
            raise FailedPreconditionError("init must be called first")
        base = os.fsdecode(export_dir_base).rstrip("/")
        folder = os.path.join(base, _CONSTANTS["VERSION_FORMAT_SPECIFIER"] % global_step(sess, global_step_tensor))
        if gfile.Exists(folder):
            raise FailedPreconditionError(f"Overwriting exports can cause corruption and are not allowed: {folder}")
        unfinished = f"{folder}-tmp"
        gfile.MakeDirs(unfinished)
        prefix = os.path.join(unfinished, _CONSTANTS["EXPORT_BASE_NAME"])
        self._saver.save(sess, prefix, meta_graph_suffix=_CONSTANTS["EXPORT_SUFFIX_NAME"])
        if self._copy is not None and self._assets:
            self._copy(self._assets, os.path.join(unfinished, _CONSTANTS["ASSETS_DIRECTORY"]))
        gfile.Rename(unfinished, folder)
        if exports_to_keep is not None:
            for path in negation(exports_to_keep)(get_paths(base, _with_version)):
                gfile.DeleteRecursively(path.path)
        return os.fsencode(folder)


def _with_version(path: Path) -> Path | None:
    name = os.path.basename(path.path)
    return path._replace(export_version=int(name)) if re.fullmatch(r"\d{8}", name) else None


def _path_of(tensor: Tensor) -> str:
    """Returns the path that a constant holds."""
    value = constant_value(tensor) if isinstance(tensor, Tensor) and tensor.op.type == "Const" else None
    if value is None or tensor.dtype is not string or value.size != 1:
        raise DTypeError(f"an asset needs a constant scalar text, got {tensor}")
    path = os.fsdecode(value.reshape(-1)[0])
    if not path:
        raise InvalidArgumentError(f"invalid asset filepath tensor {tensor}")
    return path


def load_session_bundle_from_path(
    export_dir: str, target: str = "", config: ConfigProto | None = None
) -> tuple[Session, Any]:
    """Loads an export into a new default graph; returns a session with the variables, and the MetaGraphDef.

    target, config: those of the session. Raises `NotFoundError` without the graph of the export, and `DataLossError`
    when it is damaged.
    """
    folder = os.fsdecode(export_dir)
    message = read_meta_graph(os.path.join(folder, _CONSTANTS["META_GRAPH_DEF_FILENAME"]))
    collections = message.collection_def
    if _GRAPH in collections:
        served = collections[_GRAPH].any_list.value
        if len(served) != 1:
            raise DataLossError(f"Expected exactly one serving GraphDef in {folder}, got {len(served)}")
        message.graph_def.CopyFrom(proto("graph").GraphDef.FromString(served[0].value))
    reset_default_graph()
    session = Session(target, None, config)
    saver = import_meta_graph(message)
    prefix = os.path.join(folder, _CONSTANTS["VARIABLES_FILENAME"])
    if saver is not None and checkpoint_exists(prefix):
        saver.restore(session, prefix)
    init_ops = get_default_graph().get_collection(_INIT_OP)
    if len(init_ops) > 1:
        raise DataLossError(f"Expected exactly one serving init op in {folder}, got {len(init_ops)}")
    assets = [manifest("AssetFile").FromString(a.value) for a in collections[_ASSETS].any_list.value]
    where = os.path.join(folder, _CONSTANTS["ASSETS_DIRECTORY"])
    if init_ops:
        session.run(init_ops[0], {a.tensor_binding.tensor_name: os.path.join(where, a.filename) for a in assets})
    return session, message


API: dict[str, Any] = {
    **{f"contrib.session_bundle.manifest_pb2.{name}": Lazy(partial(manifest, name)) for name in _MESSAGES},
    "contrib.session_bundle.session_bundle.load_session_bundle_from_path": load_session_bundle_from_path,
    **{f"contrib.session_bundle.constants.{name}": value for name, value in _CONSTANTS.items()},
}
API["contrib.session_bundle.exporter.Exporter"] = BundleExporter
for _value in (classification_signature, generic_signature, gfile_copy_callback, regression_signature):
    API[f"contrib.session_bundle.exporter.{_value.__name__}"] = _value
