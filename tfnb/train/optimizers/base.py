"""The base class of optimizers: gradients of a loss, and operations that apply them to variables (OSDI'16, 4.1).

A subclass defines the slots of a variable and the op that updates it. Invariant: `apply_gradients` adds one update for
each variable and one increment of the global step, which runs after all updates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from tfnb.client.gradients.backprop import gradients
from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.graph.nest import flatten
from tfnb.client.variables.partitioned import PartitionedVariable
from tfnb.client.variables.variable import Variable, group, tuple_
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import GraphLike, Tensor, TensorLike
from tfnb.ops.array.constants import constant
from tfnb.ops.math.cast import cast
from tfnb.ops.state.variables import ASSIGN_ADD
from tfnb.train.distribute.contexts import StrategyLike, replica_of_several
from tfnb.train.distribute.reduction import ReduceOp
from tfnb.train.distribute.strategies import loss_divisor
from tfnb.train.optimizers.slots import create_slot, create_zeros_slot
from tfnb.train.optimizers.sparse_gradients import deduplicated
from tfnb.types import (
    DType,
    DTypeLike,
    ShapeLike,
    as_dtype,
    as_shape,
    bfloat16,
    float16,
    float32,
    float64,
)

__all__ = ["Hyper", "Optimizer", "UpdateRule"]

# A hyper-parameter: a number, a tensor, or a function without arguments that returns one.
Hyper: TypeAlias = TensorLike | Callable[[], TensorLike]


class UpdateRule:
    """The slots and hyper-parameters of an optimizer, and what its kind defines, with what holds when it does not.

    It is the base of `Optimizer`, so that classes of rules can stand after `Optimizer` among the bases of a class and
    still come before these defaults.
    """

    def __init__(self, use_locking: bool, name: str) -> None:
        if not name:
            raise InvalidArgumentError("an optimizer needs a name")
        self._use_locking = use_locking
        self._name = name
        self._slots: dict[str, dict[Any, Variable]] = {}
        self._values: dict[str, Hyper] = {}
        self._tensors: dict[str, Tensor] = {}
        self._non_slot_dict: dict[tuple[str, Any], Variable] = {}

    def get_slot(self, var: Variable, name: str) -> Variable | None:
        """Returns the slot variable called `name` of the variable `var`, or None."""
        return self._slots.get(name, {}).get(var)

    def get_slot_names(self) -> list[str]:
        """Returns the sorted names of the slots."""
        return sorted(self._slots)

    def variables(self) -> list[Variable]:
        """Returns the variables that the optimizer has made in the default graph, slots and others, sorted by name."""
        graph = get_default_graph()
        slots = (v for table in self._slots.values() for v in table.values())
        return sorted((v for v in (*slots, *self._non_slot_variables()) if v.graph is graph), key=lambda v: v.name)

    def _non_slot_variables(self) -> Iterable[Variable]:
        """The variables that belong to no single variable of the program."""
        return self._non_slot_dict.values()

    def _create_non_slot_variable(
        self, initial_value: TensorLike | Callable[[], TensorLike], name: str, colocate_with: Variable
    ) -> Variable:
        """Returns the variable called `name` of the graph of `colocate_with`, which is made if there is none yet.

        It stands in the program's name scope, as in TensorFlow's checkpoints.
        """
        graph = colocate_with.graph
        if (name, graph) not in self._non_slot_dict:
            with graph.as_default(), graph.control_dependencies(None), graph.colocate_with(colocate_with):
                self._non_slot_dict[name, graph] = Variable(initial_value, trainable=False, name=name)
        return self._non_slot_dict[name, graph]

    def _get_non_slot_variable(self, name: str, graph: GraphLike | None = None) -> Variable | None:
        """Returns the variable that `_create_non_slot_variable` has made in `graph`, or None."""
        return self._non_slot_dict.get((name, graph))

    def _zeros_slot(self, var: Variable, slot_name: str, op_name: str) -> Variable:
        table = self._slots.setdefault(slot_name, {})
        if var not in table:
            table[var] = create_zeros_slot(var, op_name)
        return table[var]

    def _get_or_make_slot(
        self, var: Variable, value: TensorLike | Callable[[], Tensor], slot_name: str, op_name: str
    ) -> Variable:
        table = self._slots.setdefault(slot_name, {})
        if var not in table:
            table[var] = create_slot(var, value, op_name, var.dtype)
        return table[var]

    def _get_or_make_slot_with_initializer(
        self,
        var: Variable,
        initializer: Callable[..., Any],
        shape: ShapeLike,
        dtype: DTypeLike,
        slot_name: str,
        op_name: str,
    ) -> Variable:
        """Returns the slot of `var`, which is made with `initializer(shape, dtype=dtype)` if there is none yet."""
        sizes = as_shape(shape)
        return self._get_or_make_slot(var, lambda: initializer(sizes, dtype=as_dtype(dtype)), slot_name, op_name)

    def _call_if_callable(self, param: Hyper) -> TensorLike:
        return param() if callable(param) else param

    def _valid_dtypes(self) -> set[DType]:
        """The dtypes of losses, variables and gradients that the optimizer takes."""
        return {float16, bfloat16, float32, float64}

    def _assert_valid_dtypes(self, tensors: Iterable[Any]) -> None:
        """Raises `InvalidArgumentError` for a tensor of another dtype than those of `_valid_dtypes`."""
        valid = self._valid_dtypes()
        for t in tensors:
            dtype = t.dtype.base_dtype
            if dtype not in valid:
                raise InvalidArgumentError(f"Invalid type {dtype!r} for {t.name}, expected: {list(valid)}.")

    def _hyper(self, name: str, value: Hyper) -> None:
        """Stores a hyper-parameter (a number, tensor, variable or callable) as a tensor of the graph."""
        value = value() if callable(value) else value
        value = value.__tensor__() if hasattr(value, "__tensor__") else value
        self._tensors[name] = value if isinstance(value, Tensor) else constant(value, name=name)

    def _cast(self, name: str, var: Variable) -> Tensor:
        """Returns a hyper-parameter as a tensor with the dtype of the variable."""
        t = self._tensors[name]
        return t if t.dtype is var.dtype else cast(t, var.dtype)

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        """Creates the slots of the variables; by default there are none."""

    def _prepare(self) -> None:
        """Creates the tensors of the hyper-parameters."""

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        raise DTypeError(f"{type(self).__name__} does not take dense gradients")

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        raise DTypeError(f"{type(self).__name__} does not take sparse gradients")

    def _finish(self, update_ops: Sequence[Operation], name_scope: str) -> Operation:
        return group(*update_ops, name=name_scope)


class Optimizer(UpdateRule):
    """The base class of optimizers.

    A subclass defines `_create_slots`, `_prepare`, `_apply_dense` and `_apply_sparse`; it may override `_finish`.
    """

    takes_repeated_rows = False  # if False, the values of equal rows are summed before `_apply_sparse`
    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2

    def get_name(self) -> str:
        """Returns the name of the optimizer, which is the name scope of its operations."""
        return self._name

    def minimize(
        self,
        loss: Tensor,
        global_step: Variable | None = None,
        var_list: Sequence[Variable | PartitionedVariable] | Variable | PartitionedVariable | None = None,
        gate_gradients: int = 1,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: TensorLike | None = None,
    ) -> Operation:
        """Returns an operation that takes one step down the gradient of `loss` and increments `global_step`.

        loss: a tensor; that of a vector is the sum of its elements. var_list: the variables, by default the trainable
        ones. grad_loss: the gradient of the loss, by default ones. gate_gradients, aggregation_method,
        colocate_gradients_with_ops: as in `compute_gradients`. Raises `InvalidArgumentError` when the loss depends on
        none of the variables.
        """
        pairs = self.compute_gradients(
            loss,
            var_list,
            gate_gradients,
            aggregation_method,
            colocate_gradients_with_ops,
            grad_loss,
        )
        if not any(g is not None for g, _ in pairs):
            raise InvalidArgumentError(
                f"No gradients provided for any variable: {[v.name for _, v in pairs]} do not influence {loss.name}",
                getattr(loss, "op", None),
            )
        return self.apply_gradients(pairs, global_step, name)

    def compute_gradients(
        self,
        loss: TensorLike,
        var_list: Sequence[Variable | PartitionedVariable] | Variable | PartitionedVariable | None = None,
        gate_gradients: int = 1,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: TensorLike | None = None,
    ) -> list[tuple[Any, Any]]:
        """Returns a list of pairs (gradient, variable), with one pair for each part of a partitioned variable.

        The gradient is None for an integer variable, and for a variable on which the loss does not depend. loss: a
        floating tensor. var_list: the variables, in lists, dicts or views of dicts, by default the trainable ones.
        gate_gradients: GATE_GRAPH computes all gradients before any is used. grad_loss: the gradient of the loss, by
        default ones. Raises `DTypeError` for a loss or a variable of another class, and `InvalidArgumentError` when
        there are no variables.
        """
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise InvalidArgumentError(f"gate_gradients must be GATE_NONE, GATE_OP or GATE_GRAPH, got {gate_gradients}")
        loss = loss.__tensor__() if hasattr(loss, "__tensor__") else loss
        if not isinstance(loss, Tensor):
            raise DTypeError(f"the loss must be a tensor, got {type(loss).__name__}")
        variables = self._variables(loss, var_list)
        divisor = loss_divisor()
        loss = loss / divisor if divisor > 1 else loss  # the gradients of replicas are added
        floats = [v for v in variables if v.dtype.is_floating]
        grads = gradients(
            loss,
            floats,
            grad_ys=grad_loss,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            aggregation_method=aggregation_method,
        )
        if gate_gradients == self.GATE_GRAPH:
            grads = tuple_(grads)
        grad_of = dict(zip(floats, grads, strict=True))
        return [(grad_of.get(v), v) for v in variables]

    def _variables(
        self, loss: Tensor, var_list: Sequence[Variable | PartitionedVariable] | Variable | PartitionedVariable | None
    ) -> list[Any]:
        if var_list is None:
            variables = list(dict.fromkeys(loss.graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)))
        else:
            variables = [v for x in flatten(var_list) for v in (x if isinstance(x, PartitionedVariable) else [x])]
        if not variables:
            raise InvalidArgumentError("No variables to optimize.", loss.op)
        for v in variables:
            if not isinstance(v, Variable):
                raise DTypeError(f"the argument {v!r} is not a variable")
        return variables

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: Variable | None = None, name: str | None = None
    ) -> Operation:
        """Returns an operation that applies gradients to their variables and then increments `global_step`, if it is
        given.

        grads_and_vars: the pairs that `compute_gradients` returns; a pair without a gradient is ignored. Raises
        `InvalidArgumentError` when there is no gradient, and `DTypeError` for a variable of another class.
        """
        replica = replica_of_several()
        if replica is not None:
            given = [(g, v) for g, v in grads_and_vars]
            return replica.merge_call(self._apply_of_replicas, (given, global_step, name))
        pairs = [(g, v) for g, v in grads_and_vars if g is not None]
        if not pairs:
            raise InvalidArgumentError("No gradients provided for any variable: apply_gradients got none")
        variables = [v for _, v in pairs]
        for v in variables:
            if not isinstance(v, Variable):
                raise DTypeError(f"apply_gradients: needed (gradient, variable) pairs, got {v!r} for a variable")
        graph = variables[0].graph
        with graph.as_default():
            with graph.control_dependencies(None):
                self._create_slots(variables)
            with graph.name_scope(name or self._name) as scope:
                self._prepare()
                updates = []
                for g, v in pairs:
                    with graph.name_scope(f"update_{v.op.name}"), graph.colocate_with(v.op):
                        updates.append(self._update(g, v))
                train = self._counted(updates, global_step, scope)
        graph.add_to_collection(GraphKeys.TRAIN_OP, train)
        return train

    def _apply_of_replicas(
        self,
        strategy: StrategyLike,
        grads_and_vars: Sequence[tuple[Any, Any]],
        global_step: Variable | None,
        name: str | None,
    ) -> Operation:
        """Returns the operation that applies the sums of the gradients of all replicas."""
        pairs = [(g, v) for g, v in grads_and_vars if g is not None]
        sums = strategy.extended.batch_reduce_to(ReduceOp.SUM, pairs)
        return self.apply_gradients(zip(sums, (v for _, v in pairs), strict=True), global_step, name)

    def _counted(self, updates: Sequence[Operation], global_step: Variable | None, scope: str) -> Operation:
        """Returns the training operation: all updates, followed by the increment of `global_step`."""
        if global_step is None:
            return self._finish(updates, scope)
        done = self._finish(updates, "update")
        graph = done.graph
        with graph.control_dependencies([done]), graph.colocate_with(global_step):
            one = graph.to_tensor(1, global_step.dtype)
            return ASSIGN_ADD(_ref(global_step), one, name=scope).op

    def _update(self, grad: Tensor, variable: Variable) -> Operation:
        if isinstance(grad, IndexedSlices):
            grad = grad if self.takes_repeated_rows else deduplicated(grad)
            update = self._apply_sparse(grad, variable)
        else:
            update = self._apply_dense(variable.graph.to_tensor(grad, variable.dtype), variable)
        if variable.constraint is None:
            return update
        with variable.graph.control_dependencies([update]):
            return variable.assign(variable.constraint(variable.read_value())).op


def _ref(variable: Variable) -> Tensor:
    return variable.__tensor__(as_ref=True)
