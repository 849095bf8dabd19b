"""Variables of `tf.contrib.framework`: made for a purpose, chosen by their names, given values from arrays.

Invariant: what is made is in the collection that its function names, and in no other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.graph.default_graph import get_collection
from tfnb.client.variables.variable import Variable, group
from tfnb.errors import NotFoundError
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import zeros
from tfnb.ops.array.placeholder import placeholder
from tfnb.ops.state.variables import assign

__all__ = ["VariableDeviceChooser", "assign_from_values", "filter_variables", "global_variable", "local_variable"]


def _variable(
    initial_value: TensorLike | Callable[[], Any], validate_shape: bool, name: str | None, key: str
) -> Variable:
    return Variable(initial_value, trainable=False, collections=[key], validate_shape=validate_shape, name=name)


def local_variable(
    initial_value: TensorLike | Callable[[], Any],
    validate_shape: bool = True,
    name: str | None = None,
    use_resource: bool | None = None,
) -> Variable:
    """Returns a variable of the collection LOCAL_VARIABLES that is not trained; see `tf.Variable`."""
    return _variable(initial_value, validate_shape, name, GraphKeys.LOCAL_VARIABLES)


def global_variable(
    initial_value: TensorLike | Callable[[], Any],
    validate_shape: bool = True,
    name: str | None = None,
    use_resource: bool | None = None,
) -> Variable:
    """Returns a variable of the collection GLOBAL_VARIABLES that is not trained; see `tf.Variable`."""
    return _variable(initial_value, validate_shape, name, GraphKeys.GLOBAL_VARIABLES)


def add_model_variable(var: Variable) -> None:
    """Adds the variable `var` to the collection MODEL_VARIABLES, unless it is there."""
    if var not in var.graph.get_collection(GraphKeys.MODEL_VARIABLES):
        var.graph.add_to_collection(GraphKeys.MODEL_VARIABLES, var)


def get_variable_full_name(var: Variable) -> str:
    """Returns the name of the variable `var`, or for a part of a variable that of the whole."""
    return var.op.name if var.save_slice_info is None else var.save_slice_info.full_name


def filter_variables(
    var_list: Iterable[Any],
    include_patterns: Sequence[str] | None = None,
    exclude_patterns: Sequence[str] | None = None,
    reg_search: bool = True,
) -> list[Any]:
    """Returns the variables of which a regular expression of `include_patterns`, and none of `exclude_patterns`, fits.

    reg_search: an expression fits anywhere in the name, else from its beginning. None stands for all and for none.
    """
    fits = re.search if reg_search else re.match

    def any_fits(patterns: Sequence[str], v: Any) -> bool:
        return any(fits(pattern, v.name) for pattern in patterns)

    kept = [v for v in var_list if include_patterns is None or any_fits(include_patterns, v)]
    return [v for v in kept if exclude_patterns is None or not any_fits(exclude_patterns, v)]


def assign_from_values(var_names_to_values: Mapping[str, Any]) -> tuple[Operation, dict[Any, Any]]:
    """Returns an operation and the feeds with which it assigns arrays to variables, given by the variables' names.

    Raises `NotFoundError` for a name that no global variable has.
    """
    feeds: dict[Any, Any] = {}
    assigned = []
    for name, value in var_names_to_values.items():
        found = [v for v in get_collection(GraphKeys.GLOBAL_VARIABLES) if v.op.name == name]
        if not found:
            raise NotFoundError(f"no global variable is named {name!r}")
        variable = found[0]
        place = placeholder(variable.dtype, variable.shape, f"placeholder/{name}")
        assigned.append(variable.assign(place))
        feeds[place] = np.asarray(value).reshape(variable.shape.known())
    return group(*assigned), feeds


def assign_from_values_fn(var_names_to_values: Mapping[str, Any]) -> Callable[[Any], Any]:
    """Returns a function of a session that assigns arrays to variables; see `assign_from_values`."""
    assign_op, feeds = assign_from_values(var_names_to_values)
    return lambda session: session.run(assign_op, feeds)


class VariableDeviceChooser:
    """Chooses devices for variables: the tasks of a job in turn, or with `num_tasks=0` one device."""

    def __init__(
        self,
        num_tasks: int = 0,
        job_name: str = "ps",
        device_type: str = "CPU",
        device_index: int = 0,
        replica: int | None = None,
    ) -> None:
        self._device = (replica, device_type, device_index)
        self._num_tasks, self._job, self._next = num_tasks, job_name, 0

    def __call__(self, op: object) -> str:
        """Returns the name of the device of the next operation `op`."""
        replica, kind, index = self._device
        parts = [] if replica is None else [f"/replica:{replica}"]
        if self._num_tasks > 0:
            task, self._next = self._next, (self._next + 1) % self._num_tasks
            parts = [f"/job:{self._job}", *parts, f"/task:{task}"]
        return "".join([*parts, f"/device:{kind}:{index}"])


def zero_initializer(ref: Variable, use_locking: bool = True, name: str = "zero_initializer") -> Tensor:
    """Returns an operation that assigns zeros to the variable `ref`."""
    return assign(ref, zeros(ref.shape.known(), ref.dtype), use_locking=use_locking, name=name)
