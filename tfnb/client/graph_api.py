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
from tfnb.ir.tensor import Tensor

__all__ = ["API", "convert_to_tensor", "name_scope"]


def device(device_name_or_function: Any) -> AbstractContextManager[None]:
    """Ops made inside get this (partial) device; a function gets the op and returns a device."""
    return get_default_graph().device(device_name_or_function)  # type: ignore[no-any-return]


def control_dependencies(control_inputs: Any) -> AbstractContextManager[None]:
    """Ops made inside run after `control_inputs`."""
    return get_default_graph().control_dependencies(control_inputs)  # type: ignore[no-any-return]


def colocate_with(op: Any, ignore_existing: bool = False) -> AbstractContextManager[None]:
    """Ops made inside live on the device of `op`."""
    return get_default_graph().colocate_with(op, ignore_existing)  # type: ignore[no-any-return]


def container(container_name: str) -> AbstractContextManager[None]:
    """State made inside lives in the named container."""
    return get_default_graph().container(container_name)  # type: ignore[no-any-return]


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
def op_scope(values: Any, name: str | None, default_name: str | None = None) -> Iterator[str]:
    """The 0.x order of arguments of `name_scope`."""
    with name_scope(name, default_name, values) as scope:
        yield scope


def add_to_collection(name: str, value: Any) -> None:
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: Any, value: Any) -> None:
    get_default_graph().add_to_collections(names, value)


def get_collection(key: str, scope: str | None = None) -> list[Any]:
    """A copy of the collection; with `scope`, the members whose name begins with a match of it."""
    return get_default_graph().get_collection(key, scope)  # type: ignore[no-any-return]


def get_collection_ref(key: str) -> list[Any]:
    return get_default_graph().get_collection_ref(key)  # type: ignore[no-any-return]


def convert_to_tensor(value: Any, dtype: Any = None, name: str | None = None, preferred_dtype: Any = None) -> Tensor:
    """A tensor for a tensor, variable, number, string, list or array.

    Raises `DTypeError` when a tensor has another dtype than asked for, or a value cannot be held in it.
    """
    graph = graph_of([value])
    wanted = None if dtype is None else types.as_dtype(dtype)
    if wanted is None and preferred_dtype is not None and not hasattr(value, "dtype"):
        try:
            return graph.to_tensor(value, types.as_dtype(preferred_dtype))  # type: ignore[no-any-return]
        except DTypeError:
            pass
    found: Tensor = graph.to_tensor(value, wanted)
    if wanted is not None and found.dtype is not wanted:
        raise DTypeError(f"{found.name} is {found.dtype.name}, asked for was {wanted.name}; use tf.cast", found.op)
    return found


def convert_to_tensor_or_indexed_slices(value: Any, dtype: Any = None, name: str | None = None) -> Any:
    return value if isinstance(value, IndexedSlices) else convert_to_tensor(value, dtype, name)


API: dict[str, Any] = {
    "Graph": GraphBuilder,
    "Operation": Operation,
    "Tensor": Tensor,
    "IndexedSlices": IndexedSlices,
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
    "convert_to_tensor": convert_to_tensor,
    "convert_to_tensor_or_indexed_slices": convert_to_tensor_or_indexed_slices,
    **{d.name: d for d in types.ALL},
    "half": types.float16,
    "newaxis": None,
}
