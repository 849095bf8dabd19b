"""Exponential moving averages of variables, in shadow variables.

An update computes shadow = decay * shadow + (1 - decay) * variable. Invariant: the shadow variable of `W` is named
`W/ExponentialMovingAverage`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.variables.initializers import Zeros
from tfnb.client.variables.scope import get_variable, variable_scope
from tfnb.client.variables.variable import Variable, group, trainable_variables
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import zeros
from tfnb.ops.math.binary import FLOOR_DIV, MINIMUM, POW, REAL_DIV
from tfnb.ops.math.cast import cast
from tfnb.train.optimizers.slots import create_slot

__all__ = ["API", "ExponentialMovingAverage", "assign_moving_average"]


def assign_moving_average(
    variable: Variable, value: TensorLike, decay: TensorLike, zero_debias: bool = True, name: str | None = None
) -> Any:
    """Returns an operation that computes variable -= (1 - decay) * (variable - value).

    With `zero_debias` the average is corrected for its initial value of zero.
    """
    graph = variable.graph
    with (
        graph.as_default(),
        graph.name_scope(name or "AssignMovingAvg"),
        graph.colocate_with(variable.op),
    ):
        # a number is subtracted before it is rounded: 1 - 0.999 has few exact digits in 32 bits
        if isinstance(decay, (int, float)):
            rest = graph.to_tensor(1.0 - decay, variable.dtype)
        else:
            rest = 1 - cast(graph.to_tensor(decay), variable.dtype)
        value = _now(value)
        if zero_debias:
            return _debiased(variable, value, rest)
        return variable.assign_sub((variable.value() - value) * rest)


def weighted_moving_average(
    value: Tensor,
    decay: TensorLike,
    weight: TensorLike,
    truediv: bool = True,
    collections: Iterable[str] | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns the moving average of `value` with the changing weights `weight`, as of after this step.

    Two variables hold the averages of weight * value and of weight; `collections` are theirs. The division rounds down
    unless `truediv`.
    """
    keys = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
    with value.graph.as_default(), variable_scope(name, "WeightedMovingAvg", [value, weight]):
        weighted = value * weight
        averages = []
        for what, now in (("value_x_weight", weighted), ("weight", value.graph.to_tensor(weight, value.dtype))):
            shadow = get_variable(f"{what}_var", now.shape, value.dtype, Zeros(), trainable=False, collections=keys)
            averages.append(assign_moving_average(shadow, now, decay, zero_debias=False))
        return (REAL_DIV if truediv else FLOOR_DIV)(*averages)


def _now(value: object) -> Any:
    """Returns the value of a variable after the current control dependencies, such as a training step."""
    return value.read_value() if isinstance(value, Variable) else value


def _debiased(variable: Variable, value: TensorLike, rest: Tensor) -> Tensor:
    biased = create_slot(variable, lambda: zeros(variable.shape.known(), variable.dtype), "biased", variable.dtype)
    count = create_slot(variable, 0.0, "local_step", variable.dtype)
    new_biased = biased.assign_sub((biased.value() - value) * rest)
    new_count = count.assign_add(1.0)
    with variable.graph.control_dependencies([new_biased, new_count]):
        correction = 1 - POW(1 - rest, count.read_value())
        return variable.assign(biased.read_value() / correction)


class ExponentialMovingAverage:
    """Exponential moving averages of variables and tensors.

    decay: a number below but near 1. num_updates: the number of updates so far, n; if it is given, the decay is at most
    (1 + n) / (10 + n), so that averages change fast at first. zero_debias: corrects averages of tensors for their
    initial value of zero.
    """

    def __init__(
        self,
        decay: TensorLike,
        num_updates: TensorLike | None = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._averages: dict[Any, Variable] = {}

    @property
    def name(self) -> str:
        """The name of the object, which is the last part of the names of shadow variables."""
        return self._name

    def apply(self, var_list: Iterable[Any] | None = None) -> Operation:
        """Returns an operation that updates the averages of `var_list`, by default the trainable variables.

        Raises `DTypeError` for an element that is not floating, and `InvalidArgumentError` for one that already has an
        average.
        """
        variables = trainable_variables() if var_list is None else list(var_list)
        for v in variables:
            if not v.dtype.is_floating:
                raise DTypeError(f"{v.name} is {v.dtype.name}; only floats have moving averages", v.op)
            if v in self._averages:
                raise InvalidArgumentError(f"the moving average of {v.name} is kept already", v.op)
            self._averages[v] = self._shadow(v)
        with get_default_graph().name_scope(self._name) as scope:
            decay = self._effective_decay()
            updates = [
                assign_moving_average(self._averages[v], v, decay, self._zero_debias and not isinstance(v, Variable))
                for v in variables
            ]
            return group(*updates, name=scope)

    def _shadow(self, v: Tensor) -> Variable:
        if isinstance(v, Variable):
            v.graph.add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, v)
            return create_slot(v, v.initialized_value(), self._name, v.dtype)
        return create_slot(v, lambda: zeros(v.shape.known(), v.dtype), self._name, v.dtype)

    def _effective_decay(self) -> Any:
        graph = get_default_graph()
        if self._num_updates is None:
            return graph.to_tensor(self._decay)
        n = cast(graph.to_tensor(_now(self._num_updates)), "float32")
        return MINIMUM(graph.to_tensor(self._decay), (1.0 + n) / (10.0 + n))

    def average(self, var: TensorLike) -> Variable | None:
        """Returns the shadow variable of `var`, or None."""
        return self._averages.get(var)

    def average_name(self, var: Variable) -> str:
        """Returns the name of the shadow variable of `var`. The shadow variable need not exist."""
        average = self._averages.get(var)
        if average is not None:
            return average.op.name
        return var.graph.unique_name(f"{var.op.name}/{self._name}", mark_as_used=False)

    def variables_to_restore(self, moving_avg_variables: Iterable[Variable] | None = None) -> dict[str, Any]:
        """Returns a dict of names to variables for a `Saver` that restores the averages into the variables themselves.

        moving_avg_variables: the variables with averages, by default the trainable ones and those that have one.
        """
        graph = get_default_graph()
        averaged_variables = trainable_variables() if moving_avg_variables is None else list(moving_avg_variables)
        if moving_avg_variables is None:
            averaged_variables += graph.get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES)
        names = {self.average_name(v): v for v in averaged_variables}
        averages = set(names.values())
        remaining = (v for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES) if v not in averages)
        return names | {v.op.name: v for v in remaining if v.op.name not in names}


API = {
    "train.ExponentialMovingAverage": ExponentialMovingAverage,
    "python.training.moving_averages.assign_moving_average": assign_moving_average,
    "python.training.moving_averages.weighted_moving_average": weighted_moving_average,
}
