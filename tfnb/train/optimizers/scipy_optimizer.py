"""`tf.contrib.opt.ScipyOptimizerInterface`: SciPy's minimizers, by default L-BFGS-B, for losses in a graph.

SciPy sees one vector of all variables; each of its evaluations is a step that computes the loss and its gradients.
Invariant: the variables keep their values until the end (and until a callback), and then get those of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tfnb.client.gradients.backprop import gradients
from tfnb.client.variables.variable import Variable, trainable_variables
from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.constants import zeros_like
from tfnb.session.default import get_default_session
from tfnb.session.session import Session

__all__ = ["API", "ExternalOptimizerInterface", "ScipyOptimizerInterface"]


class ExternalOptimizerInterface:
    """The base class of minimizers outside the graph. It packs the variables into one vector.

    loss: a scalar tensor. var_list: the variables, by default the trainable ones. equalities, inequalities: scalars or
    vectors that must be zero, or not negative, at the minimum. var_to_bounds: a dict of variable to a pair of bounds,
    which are broadcast to its shape. Further arguments are passed to the minimizer. Raises `InvalidArgumentError` when
    there are no variables.
    """

    def __init__(
        self,
        loss: Tensor,
        var_list: Sequence[Any] | None = None,
        equalities: Sequence[Any] | None = None,
        inequalities: Sequence[Any] | None = None,
        var_to_bounds: Mapping[Variable, tuple[ArrayLike, ArrayLike]] | None = None,
        **optimizer_kwargs: object,
    ) -> None:
        self._vars = list(trainable_variables() if var_list is None else var_list)
        if not self._vars:
            raise InvalidArgumentError("ScipyOptimizerInterface: there are no variables to optimise")
        self._loss = loss
        self._conditions = {"eq": list(equalities or ()), "ineq": list(inequalities or ())}
        self.optimizer_kwargs = optimizer_kwargs
        self._shapes = [tuple(v.shape.known()) for v in self._vars]
        ends = np.cumsum([int(np.prod(s, dtype=int)) for s in self._shapes])
        starts = [0, *ends[:-1]]
        self._parts = [slice(int(a), int(b)) for a, b in zip(starts, ends, strict=True)]
        self._bounds = self._packed_bounds(var_to_bounds)
        with get_default_graph().name_scope("external_optimizer"):
            self._loss_grads = self._gradients(loss)
            self._condition_grads = {
                kind: [self._gradients(c) for c in conditions] for kind, conditions in self._conditions.items()
            }

    def _gradients(self, target: Tensor) -> list[Any]:
        grads = gradients(target, self._vars)
        return [zeros_like(v) if g is None else v.graph.to_tensor(g) for g, v in zip(grads, self._vars, strict=True)]

    def _packed_bounds(
        self, table: Mapping[Variable, tuple[ArrayLike, ArrayLike]] | None
    ) -> list[tuple[float, float]] | None:
        if table is None:
            return None
        packed: list[tuple[float, float]] = []
        for v, shape in zip(self._vars, self._shapes, strict=True):
            low, high = table.get(v, (-np.inf, np.inf))
            lows, highs = np.broadcast_to(low, shape).ravel(), np.broadcast_to(high, shape).ravel()
            packed += [(float(a), float(b)) for a, b in zip(lows, highs, strict=True)]
        return packed

    def _pack(self, arrays: Sequence[Any]) -> np.ndarray:
        return np.concatenate([np.asarray(a, np.float64).ravel() for a in arrays])

    def _feeds(self, x: np.ndarray) -> dict[Any, Any]:
        return {
            v.value(): x[part].reshape(shape).astype(v.dtype.np)
            for v, part, shape in zip(self._vars, self._parts, self._shapes, strict=True)
        }

    def minimize(
        self,
        session: Session | None = None,
        feed_dict: Mapping[Any, Any] | None = None,
        fetches: Sequence[Any] | None = None,
        step_callback: Callable[[Any], Any] | None = None,
        loss_callback: Callable[..., Any] | None = None,
        **run_kwargs: Any,
    ) -> Any:
        """Minimizes the loss, stores the result in the variables, and returns SciPy's result.

        session: by default the default session. step_callback(vector) is called after each step, and
        loss_callback(*fetches) after each evaluation. run_kwargs: arguments of `Session.run` for the evaluations
        (`options`, `run_metadata`). Raises `InvalidArgumentError` without a session.
        """
        runner = session or get_default_session()
        if runner is None:
            raise InvalidArgumentError("minimize needs a session, given or default")
        feeds = dict(feed_dict or {})

        def value(x: np.ndarray) -> tuple[float, np.ndarray]:
            loss, grads, fetched = runner.run(
                [self._loss, self._loss_grads, list(fetches or [])], feeds | self._feeds(x), **run_kwargs
            )
            if loss_callback is not None:
                loss_callback(*fetched)
            return np.asarray(loss).item(), self._pack(grads)

        def condition(tensor: Tensor, grads: object) -> tuple[Any, Any]:
            return (
                lambda x: runner.run(tensor, feeds | self._feeds(x)),
                lambda x: self._pack(runner.run(grads, feeds | self._feeds(x))),
            )

        constraints = []
        for kind, tensors in self._conditions.items():
            for tensor, grads in zip(tensors, self._condition_grads[kind], strict=True):
                fun, jac = condition(tensor, grads)
                constraints.append({"type": kind, "fun": fun, "jac": jac})
        start = self._pack(runner.run([v.value() for v in self._vars], feeds))
        result = self._minimize(start, value, constraints, self._bounds, step_callback)
        for v, a in zip(self._vars, self._feeds(np.asarray(result.x)).values(), strict=True):
            v.load(a, session)
        return result

    def _minimize(
        self,
        start: np.ndarray,
        value: Callable[[np.ndarray], tuple[float, np.ndarray]],
        constraints: list[Any],
        bounds: object,
        callback: Callable[[np.ndarray], Any] | None,
    ) -> Any:
        raise InvalidArgumentError(f"{type(self).__name__} does not say how to minimise")


class ScipyOptimizerInterface(ExternalOptimizerInterface):
    """Minimizes a loss by `scipy.optimize.minimize`, for example with `options={"maxiter": 100}`.

    `method` is by default L-BFGS-B, or SLSQP if there are equalities or inequalities.
    """

    def _minimize(
        self,
        start: np.ndarray,
        value: Callable[[np.ndarray], tuple[float, np.ndarray]],
        constraints: list[Any],
        bounds: object,
        callback: Callable[[np.ndarray], Any] | None,
    ) -> Any:
        kwargs = dict(self.optimizer_kwargs)
        method = kwargs.pop("method", "SLSQP" if constraints else "L-BFGS-B")
        # imported here since that takes as long as importing tfnb
        minimize = import_module("scipy.optimize").minimize
        if constraints:
            kwargs["constraints"] = constraints
        return minimize(value, start, jac=True, method=method, bounds=bounds, callback=callback, **kwargs)


API: dict[str, Any] = {
    "contrib.opt.ScipyOptimizerInterface": ScipyOptimizerInterface,
    "contrib.opt.ExternalOptimizerInterface": ExternalOptimizerInterface,
}
