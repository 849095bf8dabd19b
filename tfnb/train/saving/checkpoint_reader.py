"""Functions that read checkpoints without a graph, and variables whose initial values come from a checkpoint.

Invariant: a value is returned only if it is complete and its checksum is right.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.variables.partitioned import PartitionedVariable
from tfnb.client.variables.variable import Variable
from tfnb.errors import InvalidArgumentError, NotFoundError, ShapeError, UnknownNameError
from tfnb.ir.default import get_default_graph
from tfnb.ir.protos import proto
from tfnb.ops.array.placeholder import PLACEHOLDER
from tfnb.ops.checkpoint.save_restore import RESTORE_V2
from tfnb.ops.checkpoint.tensorflow_v2 import open_checkpoint
from tfnb.ops.control_flow.switch_merge import NO_OP
from tfnb.ops.state.variables import ASSIGN
from tfnb.train.saving.checkpoint_state import FilePath, latest_checkpoint
from tfnb.train.saving.saver import Saver
from tfnb.types import DType, as_shape

__all__ = ["API", "CheckpointReader", "load_checkpoint"]


class CheckpointReader:
    """Reads the tensors of a checkpoint by their names.

    filepattern: the prefix of the checkpoint. Raises `NotFoundError` when there is none, and `DataLossError` when its
    index is damaged.
    """

    def __init__(self, filepattern: FilePath) -> None:
        self._checkpoint = open_checkpoint(os.fsdecode(filepattern))

    def has_tensor(self, tensor_str: str) -> bool:
        """Returns whether the checkpoint has a tensor with the name `tensor_str`."""
        return tensor_str in self._checkpoint.entries

    def get_tensor(self, tensor_str: str) -> np.ndarray:
        """Returns the value of the tensor with the name `tensor_str`, a NumPy array.

        Raises `NotFoundError` for an unknown name, and `DataLossError` for damaged data.
        """
        return self._checkpoint.read(tensor_str)

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Returns a dict of the name of each tensor to its shape, a list of ints."""
        return {n: list(e.shape) for n, e in self._checkpoint.entries.items()}

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        """Returns a dict of the name of each tensor to its dtype."""
        return {n: e.dtype for n, e in self._checkpoint.entries.items()}

    def debug_string(self) -> bytes:
        """Returns a text with one line for each tensor: name, dtype and shape."""
        entries = sorted(self._checkpoint.entries.items())
        names = proto("types").DataType.Name
        lines = (f"{n} ({names(e.dtype.enum)}) [{','.join(map(str, e.shape))}]\n" for n, e in entries)
        return "".join(lines).encode()


def load_checkpoint(ckpt_dir_or_file: FilePath) -> CheckpointReader:
    """Returns the reader of a checkpoint, or of the latest one in a folder. Raises `NotFoundError` without one."""
    path = os.fsdecode(ckpt_dir_or_file)
    if os.path.isdir(path):
        prefix = latest_checkpoint(path)
        if prefix is None:
            raise NotFoundError(f"there is no checkpoint in the folder {path}")
        path = prefix
    return CheckpointReader(path)


def list_variables(ckpt_dir_or_file: FilePath) -> list[tuple[str, list[int]]]:
    """Returns the sorted pairs (name, shape) of a checkpoint's tensors. Raises `NotFoundError` without a checkpoint."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def load_variable(ckpt_dir_or_file: FilePath, name: str) -> Any:
    """Returns the value of the tensor `name` of a checkpoint; a final ":0" of the name is ignored. Raises
    `NotFoundError`.
    """
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


# ---- variables from checkpoints ------------------------------------------------------------------


def init_from_checkpoint(ckpt_dir_or_file: FilePath, assignment_map: Mapping[str, Any] | Sequence[Variable]) -> None:
    """Makes values of a checkpoint the initial values of variables of the default graph.

    assignment_map: a dict of a name in the checkpoint to a variable, a list of its parts or its name, or of a scope in
    the checkpoint ("scope/", or "/" for all) to a scope of the graph; or a list of variables. Raises `NotFoundError`
    for a name that the checkpoint or the graph lacks, and `ShapeError` when shapes differ.
    """
    reader = load_checkpoint(ckpt_dir_or_file)
    shapes = reader.get_variable_to_shape_map()
    for stored_name, variable in _pairs(assignment_map):
        if stored_name not in shapes:
            raise UnknownNameError(
                f"Tensor {stored_name} is not found in {os.fsdecode(ckpt_dir_or_file)} checkpoint {shapes}"
            )
        _begin_with(reader, stored_name, variable, shapes[stored_name])


def _pairs(assignment_map: Mapping[str, Any] | Sequence[Variable]) -> list[tuple[str, Any]]:
    assignments = assignment_map
    if not isinstance(assignments, Mapping):
        assignments = {v.op.name: v for v in assignments}
    graph = get_default_graph()
    named: dict[str, list[Any]] = {}
    for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES):
        named.setdefault(v.op.name if v.save_slice_info is None else v.save_slice_info.full_name, []).append(v)
    pairs: list[tuple[str, Any]] = []
    for stored_name, target in assignments.items():
        if not isinstance(target, str):
            parts = target if isinstance(target, (list, tuple, PartitionedVariable)) else [target]
            pairs += [(stored_name, v) for v in parts]
        elif target in named and not stored_name.endswith("/"):
            pairs += [(stored_name, v) for v in named[target]]
        else:
            pairs += _scope_pairs(stored_name, target, named)
    return pairs


def _scope_pairs(theirs: str, ours: str, named: Mapping[str, list[Any]]) -> list[tuple[str, Any]]:
    if not theirs.endswith("/"):
        raise UnknownNameError(f"there is no variable {ours!r} to begin with {theirs!r} of the checkpoint")
    graph_prefix, stored_prefix = ("" if s == "/" else s.rstrip("/") + "/" for s in (ours, theirs))
    pairs = [
        (stored_prefix + n[len(graph_prefix) :], v)
        for n, parts in named.items()
        if n.startswith(graph_prefix)
        for v in parts
    ]
    if not pairs:
        raise UnknownNameError(f"there is no variable in the scope {ours!r}")
    return pairs


def _begin_with(reader: CheckpointReader, name: str, variable: Variable, shape: Sequence[int]) -> None:
    if not isinstance(variable, Variable):
        raise InvalidArgumentError(f"init_from_checkpoint needs a variable, got {variable!r}")
    part = variable.save_slice_info
    required_shape = variable.shape if part is None else as_shape(part.full_shape)
    if not required_shape.is_compatible_with(shape):
        raise ShapeError(
            f"Shape of variable {variable.name} ({required_shape}) doesn't match with shape of tensor {name} ({shape}) "
            "from checkpoint reader."
        )
    graph = variable.graph
    with graph.as_default(), graph.name_scope("checkpoint_initializer"), graph.control_dependencies(None):
        prefix = graph.constant(np.array(reader._checkpoint.prefix.encode(), object))
        spec = "" if part is None else part.spec
        names, slices = np.array([name.encode()], object), np.array([spec.encode()], object)
        (value,) = RESTORE_V2(prefix, names, slices, dtypes=[variable.dtype])
        value.set_shape(variable.shape)
        variable.begin_with(value)


def assign_from_checkpoint(
    model_path: FilePath, var_list: Mapping[str, Any] | Sequence[Any], ignore_missing_vars: bool = False
) -> tuple[Any, dict[Any, Any]]:
    """Returns a pair of an operation and a feed_dict; the operation, run with these feeds, assigns the values of a
    checkpoint.

    var_list: variables, or a dict of names in the checkpoint to variables. Raises `NotFoundError` for a name that the
    checkpoint lacks, unless `ignore_missing_vars` is set, and `ShapeError` when shapes differ.
    """
    reader = CheckpointReader(model_path)
    variables = var_list if isinstance(var_list, Mapping) else {v.op.name: v for v in var_list}
    feeds: dict[Any, Any] = {}
    assigned = []
    graph = get_default_graph()
    for name, variable in variables.items():
        if not reader.has_tensor(name):
            if ignore_missing_vars:
                continue
            raise NotFoundError(f"Key {name} not found in checkpoint {os.fsdecode(model_path)}")
        value = reader.get_tensor(name)
        if not variable.shape.is_compatible_with(value.shape):
            raise ShapeError(f"{variable.name} has shape {variable.shape}, {name} in the checkpoint {value.shape}")
        graph = variable.graph
        with graph.as_default(), graph.name_scope("assign_from_checkpoint"):
            placeholder = PLACEHOLDER(shape=as_shape(value.shape), dtype=variable.dtype, name="value", graph=graph)
        feeds[placeholder] = value
        assigned.append(ASSIGN(variable, placeholder))
    with graph.as_default(), graph.control_dependencies(assigned):
        return NO_OP(name="assign_from_checkpoint"), feeds


def assign_from_checkpoint_fn(
    model_path: FilePath,
    var_list: Mapping[str, Any] | Sequence[Any],
    ignore_missing_vars: bool = False,
    reshape_variables: bool = False,
) -> Callable[[Any], None]:
    """Returns a function of a session that restores variables from the checkpoint `model_path`.

    var_list: variables, or a dict of names in the checkpoint to variables. ignore_missing_vars: skip variables that it
    lacks. reshape_variables: a variable may have another shape with the same number of elements.
    """
    variables = var_list if isinstance(var_list, Mapping) else {v.op.name: v for v in var_list}
    if ignore_missing_vars:
        reader = CheckpointReader(model_path)
        variables = {n: v for n, v in variables.items() if reader.has_tensor(n)}
    saver = Saver(variables, reshape=reshape_variables, allow_empty=True)
    return lambda session: saver.restore(session, model_path)


API: dict[str, Any] = {
    "train.NewCheckpointReader": CheckpointReader,
    "python.pywrap_tensorflow.NewCheckpointReader": CheckpointReader,
    "train.load_checkpoint": load_checkpoint,
    "train.list_variables": list_variables,
    "train.load_variable": load_variable,
    "train.init_from_checkpoint": init_from_checkpoint,
    "contrib.framework.assign_from_checkpoint": assign_from_checkpoint,
    "contrib.framework.assign_from_checkpoint_fn": assign_from_checkpoint_fn,
}
