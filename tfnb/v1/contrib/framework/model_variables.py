"""`tf.contrib.slim`, and the functions of `tf.contrib.framework` that create, find and list variables.

Invariant: these functions read the collections of the graph and keep no state of their own.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tfnb.client.argument_types import DeviceLike, InitializerLike
from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.graph.default_graph import device as on_device
from tfnb.client.graph.default_graph import get_collection
from tfnb.client.variables import initializers, regularizers
from tfnb.client.variables.partitioned import PartitionedVariable
from tfnb.client.variables.replication import VariableAggregation, VariableSynchronization
from tfnb.client.variables.scope import ScopeLike, VariableScope, get_variable
from tfnb.client.variables.variable import Variable
from tfnb.errors import InvalidArgumentError, NotFoundError
from tfnb.ir.tensor import Tensor
from tfnb.types import DTypeLike, ShapeLike
from tfnb.v1.contrib.framework import arg_scope
from tfnb.v1.contrib.layers import stacks as contrib_stacks
from tfnb.v1.contrib.layers import standard_layers as contrib_layers

__all__ = ["API"]


@arg_scope.add_arg_scope
def variable(
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike | None = None,
    initializer: InitializerLike | None = None,
    regularizer: Callable[[Tensor], Any] | None = None,
    trainable: bool = True,
    collections: Sequence[str] | str | None = None,
    caching_device: DeviceLike | None = None,
    device: DeviceLike | None = None,
    partitioner: Callable[..., Any] | None = None,
    custom_getter: Callable[..., Any] | None = None,
    use_resource: bool | None = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Variable | PartitionedVariable:
    """Returns a variable as `get_variable` does; `arg_scope` can set defaults. `device` places it."""
    keys = list(dict.fromkeys([GraphKeys.GLOBAL_VARIABLES, *(collections or ())]))
    with on_device(device):
        return get_variable(
            name,
            shape,
            dtype,
            initializer,
            regularizer,
            trainable,
            keys,
            caching_device,
            partitioner,
            use_resource=use_resource,
            custom_getter=custom_getter,
            synchronization=synchronization,
            aggregation=aggregation,
        )


@arg_scope.add_arg_scope
def model_variable(
    name: str, *args: object, collections: Sequence[str] | str | None = None, **kwargs: object
) -> Variable | PartitionedVariable:
    """Does what `variable` does; the variable is also in the collection MODEL_VARIABLES."""
    return variable(name, *args, collections=[*(collections or ()), GraphKeys.MODEL_VARIABLES], **kwargs)


def get_variables(
    scope: ScopeLike | None = None, suffix: str | None = None, collection: str = GraphKeys.GLOBAL_VARIABLES
) -> list[Any]:
    """Returns the variables of a collection whose names begin with `scope` (a name or a scope) and end with
    `suffix`.
    """
    prefix = scope.name if isinstance(scope, VariableScope) else scope
    if suffix is not None:
        suffix = suffix if ":" in suffix else suffix + ":0"
        prefix = (prefix or "") + ".*" + re.escape(suffix) + "$"
    return get_collection(collection, prefix)


def get_model_variables(scope: ScopeLike | None = None, suffix: str | None = None) -> list[Any]:
    """Returns `get_variables` of the collection MODEL_VARIABLES."""
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)


def get_local_variables(scope: ScopeLike | None = None, suffix: str | None = None) -> list[Any]:
    """Returns `get_variables` of the collection LOCAL_VARIABLES."""
    return get_variables(scope, suffix, GraphKeys.LOCAL_VARIABLES)


def get_trainable_variables(scope: ScopeLike | None = None, suffix: str | None = None) -> list[Any]:
    """Returns `get_variables` of the collection TRAINABLE_VARIABLES."""
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


def get_variables_by_suffix(suffix: str, scope: ScopeLike | None = None) -> list[Any]:
    """Returns the variables whose names end with `suffix`."""
    return get_variables(scope, suffix)


def get_variables_by_name(given_name: str, scope: ScopeLike | None = None) -> list[Any]:
    """Returns the variables whose name, or the part of it after the last "/", is `given_name`."""
    return [v for v in get_variables(scope) if ("/" + v.op.name).endswith("/" + given_name)]


def get_unique_variable(var_op_name: str) -> Any:
    """Returns the variable of this full name. Raises `NotFoundError` if there is none."""
    for match_ in get_variables(var_op_name):
        if match_.op.name == var_op_name:
            return match_
    raise NotFoundError(f"no variable is named {var_op_name!r}")


def get_variables_to_restore(include: Sequence[str] | None = None, exclude: Sequence[str] | None = None) -> list[Any]:
    """Returns all variables, or those in the scopes `include`, without those in the scopes `exclude`.

    Raises `InvalidArgumentError` for a string in place of a list of scopes.
    """
    if isinstance(include, str) or isinstance(exclude, str):
        raise InvalidArgumentError("include and exclude are lists of scopes, got a string")
    candidates = get_variables() if include is None else [v for scope in include for v in get_variables(scope)]
    excluded_ids = {id(v) for scope in exclude or () for v in get_variables(scope)}
    return [v for v in dict.fromkeys(candidates) if id(v) not in excluded_ids]


def analyze_vars(variables: Iterable[Any], print_info: bool = False) -> tuple[int, int]:
    """Returns (elements, bytes) of all `variables`, and with `print_info` prints one line for each.

    Raises `ShapeError` for a shape that is not fully known.
    """
    elements, size, lines = 0, 0, []
    for v in variables:
        dims, dtype = v.get_shape().known(), v.dtype.base_dtype
        count = math.prod(dims)
        elements, size = elements + count, size + count * dtype.size
        lines.append(f"{v.name} ({dtype.name} {'x'.join(map(str, dims))}) [{count}, bytes: {count * dtype.size}]")
    if print_info:
        lines += [f"Total size of variables: {elements}", f"Total bytes of variables: {size}"]
        sys.stdout.write("\n".join(lines) + "\n")
    return elements, size


_VARIABLES: dict[str, Any] = {
    "variable": variable,
    "model_variable": model_variable,
    "get_variables": get_variables,
    "get_model_variables": get_model_variables,
    "get_local_variables": get_local_variables,
    "get_trainable_variables": get_trainable_variables,
    "get_variables_by_suffix": get_variables_by_suffix,
    "get_variables_by_name": get_variables_by_name,
    "get_unique_variable": get_unique_variable,
    "get_variables_to_restore": get_variables_to_restore,
}


def _slim() -> dict[str, Any]:
    """Returns the names of `tf.contrib.slim`: those of `contrib.layers` and `contrib.framework`."""
    names = {}
    for module in (contrib_layers, contrib_stacks, initializers, regularizers, arg_scope):
        for name, value in module.API.items():
            package, _, last = name.rpartition(".")
            if package in ("contrib.layers", "contrib.framework"):
                names[last] = value
    return {**names, **_VARIABLES}


API: dict[str, Any] = {
    **{f"contrib.framework.{name}": value for name, value in _VARIABLES.items()},
    **{f"contrib.slim.{name}": value for name, value in _slim().items()},
    "contrib.slim.model_analyzer.analyze_vars": analyze_vars,
}
