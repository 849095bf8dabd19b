"""The optimizers: SGD, Momentum, Adagrad, Adadelta, RMSProp, Adam, FTRL, and the proximal forms of SGD and Adagrad.

Each class defines its slots and its update op; `tfnb/ops/training/updates.py` has the formulas. Invariant: slots and
hyper-parameters have TensorFlow's names, so that checkpoints and programs are compatible.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfnb.client.variables.variable import Variable, group
from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import GraphLike, Tensor, TensorLike
from tfnb.ops import CATALOG
from tfnb.ops.array.constants import constant, zeros
from tfnb.ops.array.shape_ops import shape
from tfnb.ops.math.cast import cast
from tfnb.ops.math.unary import SQRT, SQUARE
from tfnb.ops.state.scatter import SCATTER_ADD, SCATTER_SUB
from tfnb.ops.training.updates import APPLY_ADAM, APPLY_GRADIENT_DESCENT
from tfnb.train.optimizers.attributes import named
from tfnb.train.optimizers.base import Hyper, Optimizer, UpdateRule
from tfnb.types import int64

__all__ = [
    "API",
    "AdadeltaOptimizer",
    "AdagradDAOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "FtrlOptimizer",
    "GradientDescentOptimizer",
    "MomentumOptimizer",
    "ProximalAdagradOptimizer",
    "ProximalGradientDescentOptimizer",
    "RMSPropOptimizer",
]


def _ref(variable: Variable | None) -> Tensor:
    if variable is None:
        raise InvalidArgumentError("an optimizer applies gradients before its slots exist")
    return variable.__tensor__(as_ref=True)


@named("_tensor", learning_rate="_learning_rate")
class GradientDescentOptimizer(Optimizer):
    """Gradient descent: var -= learning_rate * grad."""

    takes_repeated_rows = True

    def __init__(self, learning_rate: Hyper, use_locking: bool = False, name: str = "GradientDescent") -> None:
        super().__init__(use_locking, name)
        self._values = {"learning_rate": learning_rate}

    def _prepare(self) -> None:
        self._hyper("learning_rate", self._values["learning_rate"])

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        lr = self._cast("learning_rate", var)
        return APPLY_GRADIENT_DESCENT(_ref(var), lr, grad, use_locking=self._use_locking).op

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        values: Any = grad.values
        delta = values * self._cast("learning_rate", var)
        return SCATTER_SUB(_ref(var), grad.indices, delta).op


class _SlotRule(UpdateRule):
    """The rule of an optimizer that a table of slots, hyper-parameters and the names of its ops describes.

    slots: slot name -> initial value, or None for zeros; in the graph a slot has the name of the optimizer, or that in
    `_slot_names`. `order` has the hyper-parameters in the order of the inputs of the op; `extra` has its attributes.
    """

    dense_op = ""
    sparse_op = ""
    order: tuple[str, ...] = ()
    grad_after: int | None = None  # the position of the gradient among the hyper-parameters; None: last

    def _describe(self, hyper: dict[str, Any], slots: dict[str, Any], extra: dict[str, Any] | None = None) -> None:
        """Sets the hyper-parameters, the slots and the attributes of this optimizer."""
        self._values = hyper
        self._slot_table = slots
        self._slot_names: dict[str, str] = {}
        self._extra = {"use_locking": self._use_locking, **(extra or {})}

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for v in var_list:
            for key, initial in self._slot_table.items():
                name = self._slot_names.get(key, self._name)
                if initial is None:
                    self._zeros_slot(v, key, name)
                else:
                    self._get_or_make_slot(v, _filled(v, initial), key, name)

    def _prepare(self) -> None:
        for name, value in self._values.items():
            self._hyper(name, value)

    def _inputs(self, grad: Tensor, var: Variable, sparse: Tensor | None = None) -> list[Any]:
        refs = [_ref(var)] + [_ref(self.get_slot(var, key)) for key in self._slot_table]
        hyper = [self._cast(name, var) for name in self.order]
        position = len(hyper) if self.grad_after is None else self.grad_after
        grad_inputs = [grad] if sparse is None else [grad, sparse]
        return [*refs, *hyper[:position], *grad_inputs, *hyper[position:]]

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        return CATALOG[self.dense_op](*self._inputs(grad, var), **self._extra).op

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        if not self.sparse_op:
            return self._apply_dense(grad.__tensor__(), var)
        inputs = self._inputs(grad.values, var, grad.indices)
        return CATALOG[self.sparse_op](*inputs, **self._extra).op


def _filled(var: Variable, value: float) -> Tensor | Callable[[], Tensor]:
    if not var.shape.is_fully_defined():
        return zeros(shape(var.initialized_value()), var.dtype) + constant(value, var.dtype)
    return lambda: zeros(var.shape.known(), var.dtype) + constant(value, var.dtype)


@named("_tensor", learning_rate="_learning_rate", momentum="_momentum")
class MomentumOptimizer(Optimizer, _SlotRule):
    """Momentum: accum = momentum * accum + grad; var -= learning_rate * accum.

    `use_nesterov` selects the accelerated form of Nesterov (Sutskever et al., 2013).
    """

    dense_op, sparse_op = "ApplyMomentum", "SparseApplyMomentum"
    order, grad_after = ("learning_rate", "momentum"), 1

    def __init__(
        self,
        learning_rate: Hyper,
        momentum: Hyper,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        hyper = {"learning_rate": learning_rate, "momentum": momentum}
        super().__init__(use_locking, name)
        self._describe(hyper, {"momentum": None}, {"use_nesterov": use_nesterov})


@named("_tensor", learning_rate="_learning_rate")
class AdagradOptimizer(Optimizer, _SlotRule):
    """Adagrad (Duchi et al., 2011): accum += grad^2; var -= learning_rate * grad / sqrt(accum).

    Raises `InvalidArgumentError` unless `initial_accumulator_value` is positive.
    """

    dense_op, sparse_op = "ApplyAdagrad", "SparseApplyAdagrad"
    order = ("learning_rate",)

    def __init__(
        self,
        learning_rate: Hyper,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        if initial_accumulator_value <= 0:
            raise InvalidArgumentError(f"initial_accumulator_value must be > 0, got {initial_accumulator_value}")
        slots = {"accumulator": initial_accumulator_value}
        super().__init__(use_locking, name)
        self._describe({"learning_rate": learning_rate}, slots)


@named("_tensor", learning_rate="_learning_rate", l1="_l1_regularization_strength", l2="_l2_regularization_strength")
class ProximalGradientDescentOptimizer(Optimizer, _SlotRule):
    """Gradient descent, followed by the proximal step of the l1 and l2 penalties."""

    dense_op, sparse_op = "ApplyProximalGradientDescent", "SparseApplyProximalGradientDescent"
    order = ("learning_rate", "l1", "l2")

    def __init__(
        self,
        learning_rate: Hyper,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        hyper = {
            "learning_rate": learning_rate,
            "l1": l1_regularization_strength,
            "l2": l2_regularization_strength,
        }
        super().__init__(use_locking, name)
        self._describe(hyper, {})


@named("_tensor", learning_rate="_learning_rate", l1="_l1_regularization_strength", l2="_l2_regularization_strength")
class ProximalAdagradOptimizer(Optimizer, _SlotRule):
    """Adagrad, followed by the proximal step of the l1 and l2 penalties."""

    dense_op, sparse_op = "ApplyProximalAdagrad", "SparseApplyProximalAdagrad"
    order = ("learning_rate", "l1", "l2")

    def __init__(
        self,
        learning_rate: Hyper,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        hyper = {
            "learning_rate": learning_rate,
            "l1": l1_regularization_strength,
            "l2": l2_regularization_strength,
        }
        super().__init__(use_locking, name)
        self._describe(hyper, {"accumulator": initial_accumulator_value})


@named("_t", learning_rate="_lr", rho="_rho", epsilon="_epsilon")
class AdadeltaOptimizer(Optimizer, _SlotRule):
    """Adadelta (Zeiler, 2012): steps are scaled by running averages of squared gradients and squared steps."""

    dense_op, sparse_op = "ApplyAdadelta", "SparseApplyAdadelta"
    order = ("learning_rate", "rho", "epsilon")

    def __init__(
        self,
        learning_rate: Hyper = 0.001,
        rho: Hyper = 0.95,
        epsilon: Hyper = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        hyper = {"learning_rate": learning_rate, "rho": rho, "epsilon": epsilon}
        slots = {"accum": None, "accum_update": None}
        super().__init__(use_locking, name)
        self._describe(hyper, slots)


@named("_tensor", learning_rate="_learning_rate", decay="_decay", momentum="_momentum", epsilon="_epsilon")
class RMSPropOptimizer(Optimizer, _SlotRule):
    """RMSProp (Hinton, 2012): gradients are divided by the root of a running mean of their squares.

    decay: of the running mean. `centered` subtracts the square of the running mean of the gradients from that of
    squares.
    """

    order = ("learning_rate", "decay", "momentum", "epsilon")

    def __init__(
        self,
        learning_rate: Hyper,
        decay: Hyper = 0.9,
        momentum: Hyper = 0.0,
        epsilon: Hyper = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        hyper = {
            "learning_rate": learning_rate,
            "decay": decay,
            "momentum": momentum,
            "epsilon": epsilon,
        }
        means: dict[str, Any] = {"mg": None} if centered else {}
        slots = {**means, "rms": 1.0, "momentum": None}
        self.dense_op = "ApplyCenteredRMSProp" if centered else "ApplyRMSProp"
        self.sparse_op = f"Sparse{self.dense_op}"
        super().__init__(use_locking, name)
        self._describe(hyper, slots)


def _scatter_added(slot: Variable, rows: Tensor, values: TensorLike) -> Tensor:
    return SCATTER_ADD(_ref(slot), rows, values)


@named("_t", learning_rate="_lr", beta1="_beta1", beta2="_beta2", epsilon="_epsilon")
class AdamOptimizer(Optimizer):
    """Adam (Kingma and Ba, 2014), in the form with epsilon outside the bias correction ("epsilon hat").

    beta1, beta2: the decays of the running means of the gradients and of their squares.
    """

    power_names: tuple[str, ...] = ("beta1", "beta2")  # the hyper-parameters whose powers are variables

    def __init__(
        self,
        learning_rate: Hyper = 0.001,
        beta1: Hyper = 0.9,
        beta2: Hyper = 0.999,
        epsilon: Hyper = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(use_locking, name)
        self._values = {
            "learning_rate": learning_rate,
            "beta1": beta1,
            "beta2": beta2,
            "epsilon": epsilon,
        }

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        first = min(var_list, key=lambda v: v.name)
        for beta in self.power_names:
            self._create_non_slot_variable(self._values[beta], f"{beta}_power", first)
        for v in var_list:
            self._zeros_slot(v, "m", self._name)
            self._zeros_slot(v, "v", self._name)

    def _prepare(self) -> None:
        for name, value in self._values.items():
            self._hyper(name, value)

    def _powers(self, graph: GraphLike) -> list[Any]:
        return [self._get_non_slot_variable(f"{beta}_power", graph) for beta in self.power_names]

    def _get_beta_accumulators(self) -> tuple[Any, ...]:
        """Returns the variables of the powers of beta1 and beta2 of the default graph."""
        return tuple(self._powers(get_default_graph()))

    def _inputs(self, var: Variable) -> list[Any]:
        powers = [p.value() if p.dtype is var.dtype else cast(p.value(), var.dtype) for p in self._powers(var.graph)]
        hyper = [self._cast(n, var) for n in ("learning_rate", "beta1", "beta2", "epsilon")]
        return [*powers, *hyper]

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        inputs = [_ref(var), _ref(m), _ref(v), *self._inputs(var), grad]
        return APPLY_ADAM(*inputs, use_locking=self._use_locking).op

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        return self._apply_sparse_shared(grad.values, var, grad.indices, _scatter_added)

    def _apply_sparse_shared(
        self, grad: Tensor, var: Variable, indices: Tensor, scatter_add: Callable[[Any, Tensor, Any], Tensor]
    ) -> Operation:
        """Decays all rows of the moments, as TensorFlow does, and adds the gradient to the rows that it has.

        grad: the values of the rows `indices`. scatter_add(slot, rows, values): adds to rows and returns the new slot.
        """
        b1_power, b2_power, lr, b1, b2, epsilon = self._inputs(var)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        lr = lr * SQRT(1 - b2_power) / (1 - b1_power)
        graph = var.graph
        m_decayed = m.assign(m.value() * b1)  # type: ignore[union-attr]
        v_decayed = v.assign(v.value() * b2)  # type: ignore[union-attr]
        with graph.control_dependencies([m_decayed]):
            m_new = scatter_add(m, indices, (1 - b1) * grad)
        with graph.control_dependencies([v_decayed]):
            v_new = scatter_add(v, indices, SQUARE(grad) * (1 - b2))
        with graph.control_dependencies([m_new, v_new]):
            step = lr * m.read_value() / (SQRT(v.read_value()) + epsilon)  # type: ignore[union-attr]
        return group(var.assign_sub(step), m_new, v_new)

    def _finish(self, update_ops: Sequence[Operation], name_scope: str) -> Operation:
        graph = update_ops[0].graph
        updated = []
        with graph.control_dependencies(update_ops):
            for beta, power in zip(self.power_names, self._powers(graph), strict=True):
                with graph.colocate_with(power):
                    new = power.value() * self._cast(beta, power)
                    updated.append(power.assign(new, use_locking=self._use_locking))
        return group(*update_ops, *updated, name=name_scope)


@named(
    "_tensor",
    learning_rate="_learning_rate",
    l1="_l1_regularization_strength",
    l2="_l2_regularization_strength",
    learning_rate_power="_learning_rate_power",
    l2_shrinkage="_l2_shrinkage_regularization_strength",
)
class FtrlOptimizer(Optimizer, _SlotRule):
    """Follow the regularized leader (McMahan et al., 2013), with l1 and l2 penalties.

    `accum_name` and `linear_name` name the slots. `l2_shrinkage_regularization_strength` penalises the weights of each
    step.

    Raises `InvalidArgumentError` for a negative accumulator or penalty, or a positive `learning_rate_power`.
    """

    dense_op, sparse_op = "ApplyFtrl", "SparseApplyFtrl"
    order: tuple[str, ...] = ("learning_rate", "l1", "l2", "learning_rate_power")
    grad_after = 0

    def __init__(
        self,
        learning_rate: Hyper,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
    ) -> None:
        if initial_accumulator_value < 0 or learning_rate_power > 0:
            raise InvalidArgumentError(
                "FTRL needs initial_accumulator_value >= 0 and learning_rate_power <= 0, "
                f"got {initial_accumulator_value} and {learning_rate_power}"
            )
        shrinkage = l2_shrinkage_regularization_strength
        if min(l1_regularization_strength, l2_regularization_strength, shrinkage) < 0:
            raise InvalidArgumentError("FTRL needs penalties >= 0")
        hyper = {
            "learning_rate": learning_rate,
            "l1": l1_regularization_strength,
            "l2": l2_regularization_strength,
            "learning_rate_power": learning_rate_power,
        }
        if shrinkage > 0:
            self.dense_op, self.sparse_op = "ApplyFtrlV2", "SparseApplyFtrlV2"
            self.order = ("learning_rate", "l1", "l2", "l2_shrinkage", "learning_rate_power")
            hyper["l2_shrinkage"] = shrinkage
        super().__init__(use_locking, name)
        self._describe(hyper, {"accum": initial_accumulator_value, "linear": None})
        self._slot_names = {"accum": accum_name or name, "linear": linear_name or name}


@named("_tensor", learning_rate="_learning_rate", l1="_l1_regularization_strength", l2="_l2_regularization_strength")
class AdagradDAOptimizer(Optimizer, _SlotRule):
    """Adagrad with dual averaging (Duchi et al., 2011): weights follow the sum of all gradients, so l1 makes them zero.

    global_step: the int64 or int32 variable that counts the steps. Raises `InvalidArgumentError` unless
    `initial_gradient_squared_accumulator_value` is positive.
    """

    dense_op, sparse_op = "ApplyAdagradDA", "SparseApplyAdagradDA"
    order, grad_after = ("learning_rate", "l1", "l2"), 0

    def __init__(
        self,
        learning_rate: Hyper,
        global_step: Variable,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:
        initial = initial_gradient_squared_accumulator_value
        if initial <= 0:
            raise InvalidArgumentError(f"AdagradDA needs initial_gradient_squared_accumulator_value > 0, got {initial}")
        hyper = {
            "learning_rate": learning_rate,
            "l1": l1_regularization_strength,
            "l2": l2_regularization_strength,
        }
        slots = {"gradient_accumulator": None, "gradient_squared_accumulator": initial}
        super().__init__(use_locking, name)
        self._describe(hyper, slots)
        self._global_step = global_step

    def _inputs(self, grad: Tensor, var: Variable, sparse: Tensor | None = None) -> list[Any]:
        step = self._global_step
        with var.graph.colocate_with(step):
            number = cast(step.value(), int64)
        return [*super()._inputs(grad, var, sparse), number + 1]


API = {
    "train.AdagradDAOptimizer": AdagradDAOptimizer,
    "train.Optimizer": Optimizer,
    "train.GradientDescentOptimizer": GradientDescentOptimizer,
    "train.MomentumOptimizer": MomentumOptimizer,
    "train.AdagradOptimizer": AdagradOptimizer,
    "train.AdadeltaOptimizer": AdadeltaOptimizer,
    "train.RMSPropOptimizer": RMSPropOptimizer,
    "train.AdamOptimizer": AdamOptimizer,
    "train.FtrlOptimizer": FtrlOptimizer,
    "train.ProximalGradientDescentOptimizer": ProximalGradientDescentOptimizer,
    "train.ProximalAdagradOptimizer": ProximalAdagradOptimizer,
}
