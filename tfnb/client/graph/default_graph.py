"""Functions of the module `tf` that work on the default graph, and the names of the basic types.

Invariant: each does what the method of `tf.Graph` of the same name does on the default graph of the thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from tfnb import types
from tfnb.client.argument_types import CollectionNames, DeviceLike
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.default import get_default_graph, graph_of, reset_default_graph
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.operation import Operation
from tfnb.ir.sparse import IndexedSlicesValue, SparseTensor, SparseTensorValue
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import convert_to_tensor
from tfnb.types import DTypeLike

__all__ = ["API", "name_scope"]


def device(device_name_or_function: DeviceLike | None) -> AbstractContextManager[None]:
    """Within the block, new operations get this (partial) device; a function gets the operation and returns a
    device.
    """
    return get_default_graph().device(device_name_or_function)


def control_dependencies(control_inputs: Iterable[Any] | None) -> AbstractContextManager[None]:
    """Within the block, new operations run after `control_inputs`, operations or tensors; None clears them."""
    return get_default_graph().control_dependencies(control_inputs)


def colocate_with(op: Operation, ignore_existing: bool = False) -> AbstractContextManager[None]:
    """Within the block, new operations are placed on the device of `op`."""
    return get_default_graph().colocate_with(op, ignore_existing)


def container(container_name: str) -> AbstractContextManager[None]:
    """Within the block, new state (variables, queues, ...) belongs to the container `container_name`."""
    return get_default_graph().container(container_name)


@contextmanager
def name_scope(name: str | None, default_name: str | None = None, values: Iterable[Any] | None = None) -> Iterator[str]:
    """Within the block, new names begin with `name/`, or `default_name/` where `name` is None; yields that prefix.

    Raises `InvalidArgumentError` when both are None but `values` are given.
    """
    scope_name = default_name if name is None else name
    if name is None and default_name is None and values:
        raise InvalidArgumentError("name_scope: needed a name or a default_name")
    graph = graph_of(values or ())
    with graph.as_default(), graph.name_scope(scope_name) as scope:
        yield scope


@contextmanager
def op_scope(values: Iterable[Any], name: str | None, default_name: str | None = None) -> Iterator[str]:
    """Opens a name scope with the order of arguments of 0.x: `name_scope(name, default_name, values)`."""
    with name_scope(name, default_name, values) as scope:
        yield scope


def add_to_collection(name: str, value: TensorLike) -> None:
    """Adds `value`, which may be any object, to the collection `name` of the default graph."""
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: CollectionNames, value: TensorLike) -> None:
    """Adds `value` to each of the collections `names` of the default graph."""
    get_default_graph().add_to_collections(names, value)


def get_collection(key: str, scope: str | None = None) -> list[Any]:
    """Returns a copy of the collection; with `scope`, the members whose name begins with a match of this expression."""
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: str) -> list[Any]:
    """Returns the list that is the collection `key` of the default graph; changing it changes the collection."""
    return get_default_graph().get_collection_ref(key)


def convert_to_tensor_or_indexed_slices(
    value: TensorLike, dtype: DTypeLike | None = None, name: str | None = None
) -> Any:
    """Returns `value` if it is an `IndexedSlices` or a `SparseTensor`, else as a tensor; see `tf.convert_to_tensor`.

    Raises `DTypeError` when it has another dtype than `dtype`.
    """
    if not isinstance(value, (IndexedSlices, SparseTensor)):
        return convert_to_tensor(value, dtype, name)
    if dtype is not None and value.dtype is not types.as_dtype(dtype):
        wanted = types.as_dtype(dtype).name
        raise DTypeError(
            f"Tensor conversion requested dtype {wanted} for Tensor with dtype {value.dtype.name}: {value}"
        )
    return value


def convert_to_tensor_or_sparse_tensor(
    value: TensorLike, dtype: DTypeLike | None = None, name: str | None = None
) -> Any:
    """Returns a sparse tensor for a `SparseTensor` or its value, else a tensor. Raises `DTypeError` for another
    dtype.
    """
    if not isinstance(value, (SparseTensor, SparseTensorValue)):
        return convert_to_tensor(value, dtype, name)
    sparse = SparseTensor.from_value(value)
    if dtype is not None and sparse.dtype is not types.as_dtype(dtype):
        raise DTypeError(f"the sparse tensor is {sparse.dtype.name}, needed {types.as_dtype(dtype).name}", sparse.op)
    return sparse


API: dict[str, Any] = {
    "Graph": GraphBuilder,
    "Operation": Operation,
    "Tensor": Tensor,
    "TensorShape": types.Shape,
    "Dimension": types.Dimension,
    "DType": types.DType,
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
