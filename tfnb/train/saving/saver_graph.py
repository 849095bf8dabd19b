"""The Save, Restore and Assign nodes of a Saver, with TensorFlow's names (white paper, section 3.3).

Invariant: a graph with these nodes can be saved and restored by their names alone (`SaverDef`), so a MetaGraph that is
imported can be as well.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.variables.variable import Variable, group
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.pack import PACK
from tfnb.ops.array.placeholder import PLACEHOLDER_WITH_DEFAULT
from tfnb.ops.array.shape_ops import IDENTITY, RESHAPE
from tfnb.ops.checkpoint.save_restore import MERGE_V2, RESTORE_V2, SAVE_V2, SHARDED_FILENAME
from tfnb.ops.state.variables import ASSIGN
from tfnb.ops.strings.join_split import STRING_JOIN
from tfnb.types import Shape

__all__ = ["Saveable", "SaverNames", "add_saver", "saveables"]


@dataclass(frozen=True)
class Saveable:
    """A variable and its name in checkpoints; `slice_spec` says which part it is of a larger tensor, if it is one."""

    name: str
    variable: Any
    slice_spec: str = ""

    @property
    def ref(self) -> Tensor:
        """The reference tensor of the variable."""
        reference: Tensor = (
            self.variable if isinstance(self.variable, Tensor) else self.variable.__tensor__(as_ref=True)
        )
        return reference


@dataclass(frozen=True)
class SaverNames:
    """The names of the nodes of a saver, as in a SaverDef."""

    filename_tensor_name: str
    save_tensor_name: str
    restore_op_name: str


def saveables(var_list: Mapping[str, Any] | Sequence[Any] | None) -> list[Saveable]:
    """Returns the variables of `var_list`, sorted by name. `var_list` is None for all variables, a list, or a dict of
    names to variables.

    Raises `DTypeError` for an object that is not a variable, and `InvalidArgumentError` for a name that occurs twice.
    """
    if var_list is None:
        graph = get_default_graph()
        var_list = graph.get_collection(GraphKeys.GLOBAL_VARIABLES) + graph.get_collection("saveable_objects")
    result: list[Saveable] = []
    if isinstance(var_list, Mapping):
        for name, value in var_list.items():  # a part with a name of its own is saved like a whole variable
            is_single = isinstance(value, (Variable, Tensor))
            result += [_saveable(v, str(name), not is_single) for v in _parts(value)]
    else:
        for value in var_list:
            result += [_saveable(v, None, True) for v in _parts(value)]
    specs: dict[str, list[str]] = {}
    for s in result:
        specs.setdefault(s.name, []).append(s.slice_spec)
    # Slices of one tensor have its name; the spec of a whole one is empty.
    shared = {name: found for name, found in specs.items() if len(found) > 1}
    duplicates = sorted(name for name, found in shared.items() if "" in found or len(set(found)) < len(found))
    if duplicates:
        raise InvalidArgumentError(f"at least two variables have the same name: {', '.join(duplicates)}")
    return sorted(result, key=lambda s: (s.name, s.ref.name))  # parts in TensorFlow's order


def _parts(value: object) -> list[Any]:
    """Returns the parts of a partitioned variable, the members of a list, or a list of the one variable."""
    if isinstance(value, (list, tuple)):
        return list(value)
    if isinstance(value, (Variable, Tensor)):
        return [value]
    return list(value) if isinstance(value, Iterable) else [value]


def _saveable(value: Tensor, name: str | None, in_slices: bool) -> Saveable:
    is_ref = isinstance(value, Tensor) and value.spec.ref
    if not (is_ref or hasattr(value, "initializer") and hasattr(value, "__tensor__")):
        raise DTypeError(f"only variables can be saved, got {value!r}")
    info = getattr(value, "save_slice_info", None) if in_slices else None
    if info is not None:
        return Saveable(name or info.full_name, value, info.spec)
    return Saveable(name or value.op.name, value)


def add_saver(
    chosen: list[Saveable],
    *,
    name: str | None,
    reshape: bool,
    sharded: bool,
    sequentially: bool,
    filename: str | bytes | None,
) -> SaverNames:
    """Adds the nodes of a saver to the default graph, and returns their names."""
    graph = get_default_graph()
    with graph.name_scope(name or "save"), graph.control_dependencies(None):
        default = graph.constant(np.array(os.fsencode(filename or "model"), object), name="filename")
        prefix = PLACEHOLDER_WITH_DEFAULT(default, shape=Shape(()), name="Const")
        is_sharded = sharded and bool(chosen)
        groups = _by_device(chosen) if is_sharded else [(None, chosen)]
        saved = _add_sharded_save(prefix, groups) if is_sharded else _add_save(prefix, chosen)
        restores = []
        for device, members in groups:
            with graph.device(device):
                restores.append(_add_restore(prefix, members, reshape, sequentially))
        restore_all = group(*restores, name="restore_all")
    return SaverNames(prefix.name, saved.name, restore_all.name)


def _by_device(chosen: list[Saveable]) -> list[tuple[Any, list[Saveable]]]:
    by_device: dict[str, list[Saveable]] = {}
    for s in chosen:
        by_device.setdefault(s.ref.device or "", []).append(s)
    return [(device or None, members) for device, members in sorted(by_device.items())]


def _strings(values: Iterable[str], name: str) -> Any:
    array = np.array([v.encode() for v in values], object)
    return get_default_graph().constant(array, name=name)


def _save_node(prefix: Tensor, chosen: list[Saveable]) -> Operation:
    graph = get_default_graph()
    with graph.name_scope("SaveV2"):
        names = _strings([s.name for s in chosen], "tensor_names")
        slices = _strings([s.slice_spec for s in chosen], "shape_and_slices")
    return SAVE_V2(prefix, names, slices, [s.ref for s in chosen], name="SaveV2")


def _add_save(prefix: Tensor, chosen: list[Saveable]) -> Tensor:
    saved = _save_node(prefix, chosen)
    with get_default_graph().control_dependencies([saved]):
        saved_prefix: Tensor = IDENTITY(prefix, name="control_dependency")
    return saved_prefix


def _add_sharded_save(prefix: Tensor, groups: list[tuple[Any, list[Saveable]]]) -> Tensor:
    """Adds nodes by which each device writes its variables to a scratch folder, and a node that merges the parts."""
    graph = get_default_graph()
    part = f"_temp_{uuid.uuid4().hex}/part"
    folder = STRING_JOIN([prefix, graph.constant(np.array(part.encode(), object))], name="StringJoin")
    names, saves = [], []
    for i, (device, members) in enumerate(groups):
        with graph.device(device):
            names.append(SHARDED_FILENAME(folder, i, len(groups), name="ShardedFilename"))
            saves.append(_save_node(names[-1], members))
    with graph.control_dependencies(saves):
        merged = MERGE_V2(PACK(names), prefix, name="MergeV2Checkpoints")
    with graph.control_dependencies([merged]):
        saved_prefix: Tensor = IDENTITY(prefix, name="control_dependency")
    return saved_prefix


def _add_restore(prefix: Tensor, chosen: list[Saveable], reshape: bool, sequentially: bool) -> Operation:
    graph = get_default_graph()
    assigned: list[Any] = []
    batches = [[s] for s in chosen] if sequentially else [chosen] if chosen else []
    for batch in batches:
        with graph.control_dependencies(assigned[-1:] if sequentially else None):
            with graph.name_scope("RestoreV2"):
                names = _strings([s.name for s in batch], "tensor_names")
                slices = _strings([s.slice_spec for s in batch], "shape_and_slices")
            dtypes = [s.ref.dtype for s in batch]
            values = RESTORE_V2(prefix, names, slices, dtypes=dtypes, name="RestoreV2")
            for s, value in zip(batch, values if isinstance(values, list) else [values], strict=True):
                assigned.append(_assign(s, value, reshape))
    return group(*assigned, name="restore_shard")


def _assign(s: Saveable, value: Tensor, reshape: bool) -> Tensor:
    shape = s.ref.shape
    if reshape and not s.slice_spec and shape.is_fully_defined():
        value = RESHAPE(value, np.array(shape.known(), np.int32))
    with get_default_graph().colocate_with(s.ref.op):
        return ASSIGN(s.ref, value, validate_shape=shape.is_fully_defined(), name="Assign")
