"""Optimizers around another one: moving averages, clipped variables, stale and empty gradients left out.

Invariant: slots are those of the inner optimizer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from tfnb.client.control_flow.cond import cond
from tfnb.client.graph.default_graph import name_scope
from tfnb.client.logging.summaries import scalar
from tfnb.client.variables.initializers import Zeros
from tfnb.client.variables.scope import get_variable
from tfnb.client.variables.variable import Variable, global_variables, group
from tfnb.errors import DTypeError, FailedPreconditionError, InvalidArgumentError, NotFoundError
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.constants import convert_to_tensor
from tfnb.ops.array.gather import gather
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.ops.math.cast import cast
from tfnb.ops.math.clip import clip_by_global_norm, clip_by_norm, global_norm
from tfnb.ops.math.compare import EQUAL, LESS_EQUAL
from tfnb.ops.math.reduce_functions import reduce_all
from tfnb.ops.state.scatter import SCATTER_UPDATE
from tfnb.train.optimizers.base import Optimizer
from tfnb.train.optimizers.global_step import get_global_step
from tfnb.train.optimizers.moving_averages import ExponentialMovingAverage
from tfnb.train.saving.saver import Saver
from tfnb.types import float32

__all__ = ["DropStaleGradientOptimizer", "MovingAverageOptimizer", "MultitaskOptimizerWrapper"]


class _Around(Optimizer):
    """An optimizer whose gradients and slots are those of an inner one."""

    def __init__(self, opt: Optimizer, use_locking: bool, name: str) -> None:
        super().__init__(use_locking, name)
        self._inner = opt

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """Returns the pairs (gradient, variable) of the inner optimizer; the arguments are those of `Optimizer`."""
        return self._inner.compute_gradients(*args, **kwargs)

    def get_slot(self, var: Variable, name: str) -> Variable | None:
        """Returns the slot `name` of the variable `var` of the inner optimizer, or None."""
        return self._inner.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        """Returns the sorted names of the inner optimizer's slots."""
        return self._inner.get_slot_names()

    def variables(self) -> list[Any]:
        """Returns the variables of the inner optimizer."""
        return self._inner.variables()


class MovingAverageOptimizer(_Around):
    """An optimizer that keeps moving averages of the variables; `swapping_saver` saves them in the variables' place.

    opt: the inner optimizer. average_decay, num_updates: as of `tf.train.ExponentialMovingAverage`. sequential_update:
    averages are updated after the variables, else at the same time.
    """

    def __init__(
        self,
        opt: Optimizer,
        average_decay: float = 0.9999,
        num_updates: TensorLike | None = None,
        sequential_update: bool = True,
    ) -> None:
        super().__init__(opt, False, opt.get_name())
        self._average = ExponentialMovingAverage(average_decay, num_updates)
        self._sequential = sequential_update
        self._swapped: dict[str, str] | None = None

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: Variable | None = None, name: str | None = None
    ) -> Operation:
        """Returns an operation that applies pairs (gradient, variable), and updates the averages."""
        pairs = list(grads_and_vars)
        train_op = self._inner.apply_gradients(pairs, global_step, name)
        variables = [v for g, v in pairs if g is not None]
        with train_op.graph.control_dependencies([train_op] if self._sequential else []):
            averaged = self._average.apply(variables)
        names: dict[str, str] = {}
        for v in variables:
            average: Any = self._average.average(v)
            names |= {v.op.name: average.op.name, average.op.name: v.op.name}
        self._swapped = names
        return group(train_op, averaged, name="train_with_avg")

    def swapping_saver(
        self,
        var_list: Mapping[str, Variable] | Iterable[Variable] | None = None,
        name: str = "swapping_saver",
        **kwargs: Any,
    ) -> Saver:
        """Returns a saver that saves each average under the name of its variable, and the variable under that of the
        average.

        var_list: variables, or a dict of them by name, by default all. Raises `FailedPreconditionError` before
        `apply_gradients`, `NotFoundError` when one of a pair is not to be saved.
        """
        if self._swapped is None:
            raise FailedPreconditionError("call apply_gradients or minimize before swapping_saver")
        chosen = global_variables() if var_list is None else var_list
        named = dict(chosen) if isinstance(chosen, Mapping) else {v.op.name: v for v in chosen}
        result = {}
        for key, v in named.items():
            other = self._swapped.get(v.op.name)
            if other is not None and other not in named:
                raise NotFoundError(f"{other} is not among the variables to save, but {v.op.name} is")
            result[key] = v if other is None else named[other]
        return Saver(result, name=name, **kwargs)


class VariableClippingOptimizer(_Around):
    """An optimizer after whose step variables are shortened to the norm `max_norm`.

    opt: the inner optimizer. vars_to_clip_dims: variables to the dimensions over which their norm is taken, [0] for
    columns of a matrix; after a sparse gradient only its rows are clipped. colocate_clip_ops_with_vars: where to clip.
    """

    def __init__(
        self,
        opt: Optimizer,
        vars_to_clip_dims: Mapping[Any, Sequence[int]],
        max_norm: float,
        use_locking: bool = False,
        colocate_clip_ops_with_vars: bool = False,
        name: str = "VariableClipping",
    ) -> None:
        super().__init__(opt, use_locking, name)
        self._dims = {v: list(dims) for v, dims in vars_to_clip_dims.items()}
        self._max_norm, self._colocates = max_norm, colocate_clip_ops_with_vars

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: Variable | None = None, name: str | None = None
    ) -> Operation:
        """Returns an operation that applies pairs (gradient, variable), and then clips the variables."""
        pairs = list(grads_and_vars)
        with name_scope(name, self._name):
            update = self._inner.apply_gradients(pairs, global_step)
            with update.graph.control_dependencies([update]):
                clipped = [self._placed(g, v) for g, v in pairs if g is not None and v in self._dims]
            return group(update, *clipped)

    def _placed(self, grad: Tensor | IndexedSlices, var: Variable) -> Operation:
        with var.graph.colocate_with(var.op) if self._colocates else nullcontext():
            return self._clip(grad, var)

    def _clip(self, grad: Tensor | IndexedSlices, var: Variable) -> Operation:
        dims = self._dims[var]
        if isinstance(grad, IndexedSlices) and 0 not in dims:
            rows = gather(var.read_value(), grad.indices)
            return SCATTER_UPDATE(
                var.__tensor__(as_ref=True), grad.indices, clip_by_norm(rows, self._max_norm, dims)
            ).op
        return var.assign(clip_by_norm(var.read_value(), self._max_norm, dims)).op


class DropStaleGradientOptimizer(_Around):
    """An optimizer that leaves gradients out which were computed more than `staleness` steps ago.

    The variable "stale_counter" counts what was left out. The graph needs a global step.
    """

    def __init__(
        self, opt: Optimizer, staleness: int, use_locking: bool = False, name: str = "DropStaleGradient"
    ) -> None:
        super().__init__(opt, use_locking, name)
        self._staleness = staleness
        self._local: Any = None

    def compute_gradients(self, loss: Any, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """Returns the pairs (gradient, variable) of the tensor `loss`, for the global step at that time."""
        step = get_global_step(loss.graph)
        if step is None:
            raise FailedPreconditionError("DropStaleGradientOptimizer: the graph has no global step")
        self._local = IDENTITY(step.read_value())
        with loss.graph.control_dependencies([self._local]):
            return self._inner.compute_gradients(IDENTITY(loss), *args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: Variable | None = None, name: str | None = None
    ) -> Any:
        """Returns a tensor of the number of steps that were left out; evaluating it applies pairs (gradient, variable).

        Raises `InvalidArgumentError` without `global_step`.
        """
        if global_step is None:
            raise InvalidArgumentError("DropStaleGradientOptimizer needs the global_step")
        pairs = [(g, v) for g, v in grads_and_vars if g is not None]
        graph = global_step.graph
        counter = get_variable("stale_counter", [], initializer=Zeros(), trainable=False)
        parts = [g.values if isinstance(g, IndexedSlices) else g for g, _ in pairs]
        with graph.control_dependencies(None):
            self._inner._create_slots([v for _, v in pairs])
        with graph.control_dependencies(parts):
            age = global_step.read_value() - self._local

        def accept() -> Tensor:
            with graph.control_dependencies([self._inner.apply_gradients(pairs, global_step, name)]):
                return IDENTITY(convert_to_tensor(0.0))

        dropped = cond(LESS_EQUAL(age, self._staleness), accept, lambda: IDENTITY(convert_to_tensor(1.0)))
        total = counter.assign_add(dropped)
        scalar("Gradient_staleness_percentage", total / (cast(global_step.read_value(), float32) + 1.0))
        return total


class MultitaskOptimizerWrapper:
    """An optimizer, changed so that a gradient of nothing but zeros updates neither its variable nor its slots.

    Tasks that share variables, and are trained in turn, so do not decay the moments of each other. Raises `DTypeError`
    for another object than an optimizer.
    """

    def __init__(self, opt: Optimizer) -> None:
        if not isinstance(opt, Optimizer):
            raise DTypeError(f"MultitaskOptimizerWrapper needs an optimizer, got {opt!r}")
        self._optimizer = opt
        for name in ("_apply_dense", "_apply_sparse"):
            setattr(opt, name, _unless_zero(getattr(opt, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._optimizer, name)


def _is_zero(grad: Tensor | IndexedSlices) -> Tensor:
    values = grad.values if isinstance(grad, IndexedSlices) else grad
    return reduce_all(EQUAL(values, convert_to_tensor(0.0, values.dtype)))


def _unless_zero(apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def call(grad: Tensor | IndexedSlices, var: Variable) -> Operation:
        def update() -> Tensor:
            with var.graph.control_dependencies([apply(grad, var)]):
                return IDENTITY(convert_to_tensor(True))

        return cond(_is_zero(grad), lambda: IDENTITY(convert_to_tensor(False)), update).op

    return call


def clip_gradients_by_global_norm(
    gradients_variables: Iterable[tuple[Any, Any]], clip_norm: float = 20.0
) -> tuple[list[tuple[Any, Any]], Any]:
    """Returns (the pairs (gradient, variable) with gradients of a global norm of at most `clip_norm`, that norm)."""
    pairs = list(gradients_variables)
    gradients = [g for g, _ in pairs]
    norm = global_norm(gradients)
    clipped, _ = clip_by_global_norm(gradients, clip_norm, use_norm=norm)
    return list(zip(clipped, [v for _, v in pairs], strict=True)), norm
