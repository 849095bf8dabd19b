"""Variants of Adam: AdaMax, Nadam, lazy sparse updates, powers of beta by the global step, decayed weights.

Invariant: slots have the names of the optimizer, as those of `tf.train.AdamOptimizer`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import Any

from tfnb.client.variables.partitioned import PartitionedVariable
from tfnb.client.variables.variable import Variable, group
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import convert_to_tensor
from tfnb.ops.array.gather import gather
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.ops.math.binary import MAXIMUM, POW
from tfnb.ops.math.cast import cast
from tfnb.ops.math.unary import ABS, SQRT, SQUARE
from tfnb.ops.state.scatter import SCATTER_ADD, SCATTER_SUB, SCATTER_UPDATE
from tfnb.ops.training.updates import APPLY_ADAM
from tfnb.train.optimizers.base import Hyper, Optimizer
from tfnb.train.optimizers.update_rules import AdamOptimizer, MomentumOptimizer

__all__ = ["AdaMaxOptimizer", "AdamGSOptimizer", "AdamWOptimizer", "LazyAdamOptimizer", "NadamOptimizer"]


def _ref(variable: Variable) -> Tensor:
    return variable.__tensor__(as_ref=True)


def _moments(optimizer: Optimizer, var: Variable) -> tuple[Any, Any]:
    return optimizer.get_slot(var, "m"), optimizer.get_slot(var, "v")


class AdaMaxOptimizer(AdamOptimizer):
    """AdaMax (Kingma and Ba, 2014): steps are scaled by the largest gradient so far, which decays by beta2.

    The arguments are those of `tf.train.AdamOptimizer`.
    """

    def __init__(
        self,
        learning_rate: Hyper = 0.001,
        beta1: Hyper = 0.9,
        beta2: Hyper = 0.999,
        epsilon: Hyper = 1e-8,
        use_locking: bool = False,
        name: str = "AdaMax",
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)

    power_names = ("beta1",)

    def _moments(self, grad: Tensor, m: Tensor, v: Tensor, var: Variable) -> tuple[Any, Any, Any]:
        """Returns the new moments for values of the old ones, and the step."""
        power, lr, b1, b2, epsilon = self._inputs(var)
        new_m = m * b1 + grad * (1.0 - b1)
        new_v = MAXIMUM(v * b2, ABS(grad))
        return new_m, new_v, lr / (1.0 - power) * (new_m / (new_v + epsilon))

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        m, v = _moments(self, var)
        new_m, new_v, step = self._moments(grad, m.value(), v.value(), var)
        return group(var.assign_sub(step), m.assign(new_m), v.assign(new_v))

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        m, v = _moments(self, var)
        rows = grad.indices
        new_m, new_v, step = self._moments(grad.values, gather(m, rows), gather(v, rows), var)
        updates = [SCATTER_SUB(_ref(var), rows, step)]
        updates += [SCATTER_UPDATE(_ref(slot), rows, new) for slot, new in ((m, new_m), (v, new_v))]
        return group(*updates)


class NadamOptimizer(AdamOptimizer):
    """Nadam (Dozat, 2016): Adam with Nesterov's momentum. The arguments are those of `tf.train.AdamOptimizer`."""

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        m, v = _moments(self, var)
        inputs = [_ref(var), _ref(m), _ref(v), *self._inputs(var), grad]
        return APPLY_ADAM(*inputs, use_locking=self._use_locking, use_nesterov=True).op

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        b1_power, b2_power, lr, b1, b2, epsilon = self._inputs(var)
        lr = lr * SQRT(1.0 - b2_power) / (1.0 - b1_power)
        m, v = _moments(self, var)
        values: Any = grad.values
        added = values * (1.0 - b1)
        new_m = m.value() * b1
        new_v = v.value() * b2
        with var.graph.control_dependencies([m.assign(new_m), v.assign(new_v)]):
            m_done = SCATTER_ADD(_ref(m), grad.indices, added)
            v_done = SCATTER_ADD(_ref(v), grad.indices, SQUARE(values) * (1.0 - b2))
        with var.graph.control_dependencies([m_done, v_done]):
            m_bar = added + b1 * gather(m.read_value(), grad.indices)
            root = SQRT(gather(v.read_value(), grad.indices)) + epsilon
        return group(SCATTER_SUB(_ref(var), grad.indices, lr * m_bar / root), m_done, v_done)


class LazyAdamOptimizer(AdamOptimizer):
    """Adam that leaves the moments of rows without a gradient as they are.

    The arguments are those of `tf.train.AdamOptimizer`; dense gradients are applied as there.
    """

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        b1_power, b2_power, lr, b1, b2, epsilon = self._inputs(var)
        lr = lr * SQRT(1.0 - b2_power) / (1.0 - b1_power)
        m, v = _moments(self, var)
        rows, values = grad.indices, grad.values
        new_m = b1 * gather(m, rows) + (1.0 - b1) * values
        new_v = b2 * gather(v, rows) + (1.0 - b2) * SQUARE(values)
        updates = [SCATTER_SUB(_ref(var), rows, lr * new_m / (SQRT(new_v) + epsilon))]
        updates += [SCATTER_UPDATE(_ref(slot), rows, new) for slot, new in ((m, new_m), (v, new_v))]
        return group(*updates)


class AdamGSOptimizer(AdamOptimizer):
    """Adam whose powers of beta1 and beta2 follow from `global_step`, so there are no variables of them."""

    power_names = ()

    def __init__(
        self,
        global_step: TensorLike | Variable = 0,
        learning_rate: Hyper = 0.001,
        beta1: Hyper = 0.9,
        beta2: Hyper = 0.999,
        epsilon: Hyper = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)
        self._step = global_step

    def _inputs(self, var: Variable) -> list[Any]:
        hyper = super()._inputs(var)
        step = cast(IDENTITY(self._step) + 1, var.dtype)
        return [POW(hyper[1], step), POW(hyper[2], step), *hyper]


class LazyAdamGSOptimizer(AdamGSOptimizer):
    """`LazyAdamOptimizer` whose powers of beta1 and beta2 follow from `global_step`."""

    _apply_sparse = LazyAdamOptimizer._apply_sparse


class DecoupledWeightDecayExtension:
    """Weights that shrink by a factor of their own, beside the gradients (Loshchilov and Hutter, 2017).

    A class of this and of an optimizer is one whose every step also subtracts `weight_decay` times each variable, or
    those of `decay_var_list`.
    """

    def __init__(self, weight_decay: Hyper, **kwargs: Any) -> None:
        self._decayed: Any = None
        self._weight_decay = weight_decay
        super().__init__(**kwargs)

    def minimize(
        self,
        loss: Tensor,
        global_step: Variable | None = None,
        var_list: Sequence[Variable | PartitionedVariable] | Variable | PartitionedVariable | None = None,
        gate_gradients: int = Optimizer.GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: TensorLike | None = None,
        decay_var_list: Iterable[Any] | None = None,
    ) -> Operation:
        """Returns an operation that takes one step down the gradient of the tensor `loss`; see `Optimizer.minimize`.

        decay_var_list: the variables that decay, by default all of `var_list`.
        """
        optimizer: Any = self
        arguments = (var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, grad_loss)
        pairs = optimizer.compute_gradients(loss, *arguments)
        return self.apply_gradients(pairs, global_step, name, decay_var_list)

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Any]],
        global_step: Variable | None = None,
        name: str | None = None,
        decay_var_list: Iterable[Any] | None = None,
    ) -> Operation:
        """Returns an operation that applies the pairs (gradient, variable); see `Optimizer.apply_gradients`.

        decay_var_list: the variables that decay, by default all.
        """
        self._decayed = None if not decay_var_list else set(decay_var_list)
        base: Any = super()
        return base.apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _decay(self, var: Variable, rows: Tensor | None = None) -> list[Any]:
        if self._decayed is not None and var not in self._decayed:
            return []
        rate = self._weight_decay() if callable(self._weight_decay) else self._weight_decay
        rate = cast(convert_to_tensor(rate), var.dtype)
        if rows is None:
            return [var.assign_sub(rate * var.value())]
        return [SCATTER_SUB(_ref(var), rows, rate * gather(var, rows))]

    def _apply_dense(self, grad: Tensor, var: Variable) -> Operation:
        base: Any = super()
        with var.graph.control_dependencies(self._decay(var)):
            return base._apply_dense(grad, var)

    def _apply_sparse(self, grad: IndexedSlices, var: Variable) -> Operation:
        base: Any = super()
        with var.graph.control_dependencies(self._decay(var, grad.indices)):
            return base._apply_sparse(grad, var)


def extend_with_decoupled_weight_decay(base_optimizer: type) -> type:
    """Returns a class of optimizers whose first argument is `weight_decay`, followed by those of `base_optimizer`."""

    class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecayExtension, base_optimizer):
        """An optimizer with decayed weights; see `DecoupledWeightDecayExtension`."""

        def __init__(self, weight_decay: Hyper, *args: Any, **kwargs: Any) -> None:
            named = inspect.signature(base_optimizer).bind(*args, **kwargs).arguments
            super().__init__(weight_decay, **named)

    return OptimizerWithDecoupledWeightDecay


class MomentumWOptimizer(DecoupledWeightDecayExtension, MomentumOptimizer):
    """`tf.train.MomentumOptimizer` with weights that decay by `weight_decay`."""

    def __init__(
        self,
        weight_decay: Hyper,
        learning_rate: Hyper,
        momentum: Hyper,
        use_locking: bool = False,
        name: str = "MomentumW",
        use_nesterov: bool = False,
    ) -> None:
        options = {"learning_rate": learning_rate, "momentum": momentum, "use_nesterov": use_nesterov}
        super().__init__(weight_decay, use_locking=use_locking, name=name, **options)


class AdamWOptimizer(DecoupledWeightDecayExtension, AdamOptimizer):
    """`tf.train.AdamOptimizer` with weights that decay by `weight_decay`."""

    def __init__(
        self,
        weight_decay: Hyper,
        learning_rate: Hyper = 0.001,
        beta1: Hyper = 0.9,
        beta2: Hyper = 0.999,
        epsilon: Hyper = 1e-8,
        use_locking: bool = False,
        name: str = "AdamW",
    ) -> None:
        options = {"learning_rate": learning_rate, "beta1": beta1, "beta2": beta2, "epsilon": epsilon}
        super().__init__(weight_decay, use_locking=use_locking, name=name, **options)
