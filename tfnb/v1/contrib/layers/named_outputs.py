"""The outputs of layers in collections, under the names of the layers' scopes; `tf.contrib.layers.utils`.

A collected output has an alias, the scope of its layer, by which networks list their end points. Invariant: aliases
belong to the graph of their tensors, and a tensor without one goes by the name of its operation.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tfnb.client.argument_types import CollectionNames, VariableCollections
from tfnb.client.variables.variable import Variable
from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError
from tfnb.ir.const import constant_value as static_constant
from tfnb.ir.default import get_default_graph
from tfnb.ir.tensor import Tensor
from tfnb.types import DTypeLike, Shape, ShapeLike, as_dtype, as_shape

__all__ = ["append_tensor_alias", "collect_named_outputs", "convert_collection_to_dict", "get_tensor_aliases"]

_STATE = "tensor_aliases"


def append_tensor_alias(tensor: Tensor, alias: str) -> Tensor:
    """Gives `tensor` one more alias, without a final "/", and returns the tensor."""
    aliases = tensor.graph.client_state.setdefault(_STATE, {})
    aliases.setdefault(tensor.name, []).append(alias.removesuffix("/"))
    return tensor


def get_tensor_aliases(tensor: Tensor) -> list[str]:
    """Returns the aliases of `tensor`, or else the name of its operation, with ":1" for its second output."""
    aliases = tensor.graph.client_state.get(_STATE, {}).get(tensor.name)
    return list(aliases) if aliases else [tensor.name.removesuffix(":0")]


def gather_tensors_aliases(tensors: Iterable[Any]) -> list[str]:
    """Returns the aliases of all `tensors`, in their order."""
    return [alias for tensor in tensors for alias in get_tensor_aliases(tensor)]


def collect_named_outputs(collections: CollectionNames | None, alias: str, outputs: Tensor) -> Tensor:
    """Adds `outputs` to `collections`, with the alias `alias`, and returns them; without collections does nothing."""
    if collections:
        append_tensor_alias(outputs, alias)
        outputs.graph.add_to_collections(collections, outputs)
    return outputs


def convert_collection_to_dict(collection: str, clear_collection: bool = False) -> OrderedDict[str, Any]:
    """Returns the tensors of a collection by their aliases; with `clear_collection` it is empty then."""
    graph = get_default_graph()
    tensors = graph.get_collection(collection)
    result = OrderedDict((alias, tensor) for tensor in tensors for alias in get_tensor_aliases(tensor))
    if clear_collection:
        graph.clear_collection(collection)
    return result


def constant_value(value_or_tensor_or_var: object, dtype: DTypeLike | None = None) -> Any:
    """Returns the value of a constant tensor, a Python value as it is, and None for variables and other tensors.

    Raises `DTypeError` for a tensor of another dtype than `dtype`, and for None.
    """
    value = value_or_tensor_or_var
    if value is None:
        raise DTypeError("constant_value needs a value, a tensor or a variable, got None")
    if not isinstance(value, (Tensor, Variable)):
        return value
    if dtype is not None and value.dtype != as_dtype(dtype):
        raise DTypeError(f"constant_value: needed {as_dtype(dtype).name}, got {value.dtype.name}")
    return None if isinstance(value, Variable) else static_constant(value)


def static_cond(pred: object, fn1: Callable[[], Any], fn2: Callable[[], Any]) -> Any:
    """Returns `fn1()` for a true Python value `pred`, else `fn2()`. Raises `DTypeError` unless both are callable."""
    if not (callable(fn1) and callable(fn2)):
        raise DTypeError(f"static_cond needs two functions, got {fn1!r} and {fn2!r}")
    return fn1() if pred else fn2()


def get_variable_collections(variables_collections: VariableCollections | None, name: str) -> CollectionNames | None:
    """Returns the collections of the variable `name`, from those for all variables or a dict by their names."""
    return variables_collections.get(name) if isinstance(variables_collections, Mapping) else variables_collections


def last_dimension(shape: ShapeLike, min_rank: int = 1) -> int:
    """Returns the last dimension of a shape. Raises `ShapeError` unless it is known, and the rank at least
    `min_rank`."""
    return _dimension(shape, -1, min_rank)


def channel_dimension(shape: ShapeLike, data_format: str, min_rank: int = 1) -> int:
    """Returns the number of channels: the second dimension for "channels_first", else the last; as
    `last_dimension`."""
    return _dimension(shape, 1 if data_format == "channels_first" else -1, min_rank)


def _dimension(shape: ShapeLike, axis: int, min_rank: int) -> int:
    dims = as_shape(shape).sizes or ()
    value = dims[axis] if len(dims) >= max(min_rank, 1) else None
    if value is None:
        raise ShapeError(f"dimension {axis} of a shape of at least rank {min_rank} must be known, got {shape}")
    return int(value)


def two_element_tuple(int_or_tuple: int | Sequence[int] | Shape) -> tuple[int, int]:
    """Returns a pair of integers: the two given ones, or one given integer twice. Raises `InvalidArgumentError`."""
    if isinstance(int_or_tuple, int):
        return int_or_tuple, int_or_tuple
    values = tuple(int_or_tuple) if isinstance(int_or_tuple, (list, tuple, Shape)) else ()
    if len(values) != 2:
        raise InvalidArgumentError(f"needed an integer or two, got {int_or_tuple!r}")
    return int(values[0]), int(values[1])


def n_positive_integers(n: int, value: Any) -> tuple[int, ...]:
    """Returns `n` positive integers: the given ones, or one given integer `n` times. Raises `InvalidArgumentError`."""
    values = tuple(int(v) for v in value) if isinstance(value, (list, tuple, Shape)) else (int(value),) * int(n)
    if n < 1 or len(values) != n or min(values) < 1:
        raise InvalidArgumentError(f"needed {n} positive integers, got {value!r}")
    return values
