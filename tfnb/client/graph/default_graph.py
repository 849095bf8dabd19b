"""Module-level functions on the default graph, and the names of the basic types.

Invariant: each does what the method of `tf.Graph` of the same name does on the thread's default graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from tfnb import types
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.default import get_default_graph, graph_of, reset_default_graph
from tfnb.ir.device_spec import DeviceSpec
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.operation import Operation
from tfnb.ir.sparse import IndexedSlicesValue, SparseTensor, SparseTensorValue
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import convert_to_tensor
from tfnb.types import DTypeLike

__all__ = ["API", "name_scope"]


def device(device_name_or_function: Any) -> AbstractContextManager[None]:
    """Ops made inside get this (partial) device; a function gets the op and returns a device."""
    return get_default_graph().device(device_name_or_function)


def control_dependencies(control_inputs: Any) -> AbstractContextManager[None]:
    """Ops made inside run after `control_inputs`."""
    return get_default_graph().control_dependencies(control_inputs)


def colocate_with(op: Operation, ignore_existing: bool = False) -> AbstractContextManager[None]:
    """Ops made inside live on the device of `op`."""
    return get_default_graph().colocate_with(op, ignore_existing)


def container(container_name: str) -> AbstractContextManager[None]:
    """State made inside lives in the named container."""
    return get_default_graph().container(container_name)


@contextmanager
def name_scope(name: str | None, default_name: str | None = None, values: Any = None) -> Iterator[str]:
    """Names made inside begin with `name/` (or `default_name/` when `name` is None); yields that prefix.

    Raises `InvalidArgumentError` when both are None but values are given.
    """
    wanted = default_name if name is None else name
    if name is None and default_name is None and values:
        raise InvalidArgumentError("name_scope: needed a name or a default_name")
    graph = graph_of(values or ())
    with graph.as_default(), graph.name_scope(wanted) as scope:
        yield scope


@contextmanager
def op_scope(values: TensorLike, name: str | None, default_name: str | None = None) -> Iterator[str]:
    """The 0.x order of arguments of `name_scope`."""
    with name_scope(name, default_name, values) as scope:
        yield scope


def add_to_collection(name: str, value: TensorLike) -> None:
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: Any, value: TensorLike) -> None:
    get_default_graph().add_to_collections(names, value)


def get_collection(key: str, scope: str | None = None) -> list[Any]:
    """A copy of the collection; with `scope`, the members whose name begins with a match of it."""
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: str) -> list[Any]:
    return get_default_graph().get_collection_ref(key)


def convert_to_tensor_or_indexed_slices(
    value: TensorLike, dtype: DTypeLike | None = None, name: str | None = None
) -> Any:
    return value if isinstance(value, IndexedSlices) else convert_to_tensor(value, dtype, name)


def convert_to_tensor_or_sparse_tensor(
    value: TensorLike, dtype: DTypeLike | None = None, name: str | None = None
) -> Any:
    """The sparse tensor that `value` is, or is the value of; else a tensor. Raises `DTypeError` for another dtype."""
    if not isinstance(value, (SparseTensor, SparseTensorValue)):
        return convert_to_tensor(value, dtype, name)
    found = SparseTensor.from_value(value)
    if dtype is not None and found.dtype is not types.as_dtype(dtype):
        raise DTypeError(f"the sparse tensor is {found.dtype.name}, needed {types.as_dtype(dtype).name}", found.op)
    return found


API: dict[str, Any] = {
    "Graph": GraphBuilder,
    "Operation": Operation,
    "Tensor": Tensor,
    "TensorShape": types.Shape,
    "Dimension": types.Dimension,
    "DType": types.DType,
    "DeviceSpec": DeviceSpec,
    "as_dtype": types.as_dtype,
    "get_default_graph": get_default_graph,
    "reset_default_graph": reset_default_graph,
    "device": device,
    "control_dependencies": control_dependencies,
    "colocate_with": colocate_with,
    "container": container,
    "name_scope": name_scope,
    "op_scope": op_scope,
    "add_to_collection": add_to_collection,
    "add_to_collections": add_to_collections,
    "get_collection": get_collection,
    "get_collection_ref": get_collection_ref,
    "convert_to_tensor_or_indexed_slices": convert_to_tensor_or_indexed_slices,
    "convert_to_tensor_or_sparse_tensor": convert_to_tensor_or_sparse_tensor,
    "SparseTensor": SparseTensor,
    "SparseTensorValue": SparseTensorValue,
    "IndexedSlicesValue": IndexedSlicesValue,
    **{d.name: d for d in (*types.ALL, *types.QUANTIZED)},
    "half": types.float16,
}
