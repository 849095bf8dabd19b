"""tf.cond: one of two branches, by Switch and Merge (white paper, section 4.4; OSDI'16, section 3.4).

Operations made inside a branch belong to its context. A tensor from outside enters through a Switch, an
operation without any such input waits for the branch's pivot; so all of a branch is dead when it is not taken.
Constants enter as they are, which keeps shapes static; references too: they are places. Invariant: exactly one
input of each Merge is alive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tfnb.client.structure import flatten, pack, same_structure
from tfnb.errors import DTypeError, GraphError, InvalidArgumentError, ShapeError
from tfnb.ir.const import constant_value
from tfnb.ir.default import get_default_graph, graph_of
from tfnb.ir.opdef import Kind
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, is_tensor_like
from tfnb.ops.concat import stack
from tfnb.ops.control_flow import MERGE, SWITCH
from tfnb.ops.convert import cast
from tfnb.ops.logging import assert_that
from tfnb.ops.reduce_api import reduce_any, reduce_sum
from tfnb.ops.shaping import IDENTITY
from tfnb.types import bool_, int32, scalar

__all__ = ["API", "CondContext", "case", "cond", "smart_cond"]

CONTEXT = "control_flow"  # key in Operation.extra
_PLACES = (Kind.CONST, Kind.VARIABLE)  # the same in every branch and iteration


class CondContext:
    """One branch of a conditional while it is built.

    `pivot` is alive exactly when the branch is taken; `outer` is the context around the conditional, or None.
    """

    def __init__(self, pred: Tensor, pivot: Tensor, branch: int) -> None:
        self.graph = pivot.graph
        self.pred = pred
        self.pivot = pivot
        self.branch = branch
        self.outer: Any = self.graph.scopes.control_flow
        self._entered: dict[Tensor, Tensor] = {}  # tensor outside -> output of its Switch
        self._gated: set[Tensor] = {pivot}  # tensors made outside that live and die with the branch

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Operations made inside belong to this branch."""
        scopes = self.graph.scopes
        before, scopes.control_flow = scopes.control_flow, self
        try:
            yield
        finally:
            scopes.control_flow = before

    def holds(self, op: Operation) -> bool:
        """Was the operation made in this branch or in one inside it?"""
        context = op.extra.get(CONTEXT)
        while context is not None and context is not self:
            context = context.outer
        return context is self

    def has(self, t: Tensor) -> bool:
        """Does the tensor live and die with this branch?"""
        return t in self._gated or (t.op.opdef.kind not in _PLACES and self.holds(t.op))

    def enter(self, t: Tensor) -> Tensor:
        """The tensor as seen from inside the branch."""
        if self.has(t):
            return t
        if t.spec.ref or t.op.opdef.kind in _PLACES:
            return t if self.outer is None else self.outer.enter(t)
        found = self._entered.get(t)
        if found is None:
            scopes = self.graph.scopes
            with self.graph.control_dependencies(None), self.graph.colocate_with(t.op):
                scopes.control_flow = self.outer
                found = SWITCH(t, self.pred, name="Switch")[self.branch]
            self._entered[t] = found
            self._gated.add(found)
        return found

    def add_op(self, op: Operation) -> None:
        """Called for each new operation before it is registered: draws its inputs into the branch."""
        op.inputs = tuple(self.enter(t) for t in op.inputs)
        op.extra[CONTEXT] = self
        if op.opdef.kind in _PLACES:
            return
        alive_with_us = any(self.has(t) for t in op.inputs)
        if not alive_with_us and not any(self.holds(c) for c in op.control_inputs):
            op.control_inputs = [*op.control_inputs, self.pivot.op]
        self.graph.prevent_fetching(op)
        for t in op.outputs:
            self.graph.prevent_feeding(t)

    def result(self, value: Any) -> Tensor:
        """What a branch hands to its Merge for one of the values that its function returned."""
        if isinstance(value, Operation):
            with self.graph.control_dependencies([value]):
                return IDENTITY(self.pivot)
        t = self.graph.to_tensor(value)
        if t.spec.ref or t.op.opdef.kind in _PLACES:
            return IDENTITY(t)
        return self.enter(t)


def cond(pred: Any, true_fn: Callable[[], Any] | None = None, false_fn: Callable[[], Any] | None = None,
         strict: Any = False, name: str | None = None, fn1: Callable[[], Any] | None = None,
         fn2: Callable[[], Any] | None = None) -> Any:  # fmt: skip
    """What `true_fn()` returns where the bool scalar `pred` is true, else what `false_fn()` returns.

    Both functions build ops and return tensors (or values, operations, or one and the same nested structure of
    them) of the same dtypes. Only the ops of the taken branch run. A list of one tensor is unpacked unless `strict`.
    Raises `DTypeError` for a Python bool, a function that is not callable or differing dtypes, `ShapeError` for a
    `pred` that is not a scalar, `InvalidArgumentError` for structures that differ or None results.
    """
    if isinstance(strict, str):  # 0.x: (pred, fn1, fn2, name)
        strict, name = False, strict
    true_fn = fn1 if true_fn is None else true_fn
    false_fn = fn2 if false_fn is None else false_fn
    if not callable(true_fn) or not callable(false_fn):
        raise DTypeError("cond: true_fn and false_fn must be callable")
    if isinstance(pred, (bool, np.bool_)):
        raise DTypeError(
            "cond: pred must be a tensor, not a Python bool; use a Python `if` instead"
        )
    graph = graph_of([pred])
    with graph.as_default(), graph.name_scope(name or "cond"):
        pred = graph.to_tensor(pred, bool_)
        _check_pred(pred)
        when_false, when_true = SWITCH(pred, pred, name="Switch")
        pivots = IDENTITY(when_true, name="switch_t"), IDENTITY(when_false, name="switch_f")
        pred = IDENTITY(pred, name="pred_id")
        taken, flat_taken = _branch(CondContext(pred, pivots[0], 1), true_fn, "true_fn", strict)
        other, flat_other = _branch(CondContext(pred, pivots[1], 0), false_fn, "false_fn", strict)
        if not same_structure(taken, other):
            raise InvalidArgumentError(
                f"cond: true_fn returned {taken!r}, false_fn the different {other!r}"
            )
        for a, b in zip(flat_taken, flat_other, strict=True):
            if a.dtype is not b.dtype:
                kinds = f"{a.dtype.name} ({a.name}), false_fn {b.dtype.name} ({b.name})"
                raise DTypeError(f"cond: true_fn returned {kinds}")
        merged = [
            MERGE([b, a], name="Merge")[0] for a, b in zip(flat_taken, flat_other, strict=True)
        ]
        return pack(taken, merged)


def _check_pred(pred: Tensor) -> None:
    if not pred.dtype.is_bool:
        raise DTypeError(f"cond: pred must be bool, got {pred.dtype.name}", pred.op)
    if not pred.shape.is_compatible_with(scalar):
        raise ShapeError(f"cond: pred must be a scalar, got shape {pred.shape}", pred.op)


def _branch(
    context: CondContext, fn: Callable[[], Any], what: str, strict: bool
) -> tuple[Any, list[Tensor]]:
    """The structure that `fn` returned, and the tensors for its leaves."""
    with context.opened():
        found = fn()
        if found is None:
            raise InvalidArgumentError(f"cond: {what} must return something")
        if not strict and isinstance(found, (list, tuple)) and len(found) == 1:
            found = found[0]
        if context.graph is not get_default_graph():
            raise GraphError(f"cond: {what} changed the default graph")
        return found, [context.result(value) for value in flatten(found)]


def static_value(pred: Any) -> bool | None:
    """The value of a condition if it is known while the graph is built."""
    if is_tensor_like(pred):
        known = constant_value(graph_of([pred]).to_tensor(pred))
        return None if known is None else bool(known)
    if isinstance(pred, (bool, int, np.bool_, np.integer)):
        return bool(pred)
    raise DTypeError(f"a condition must be a bool or a bool tensor, got {type(pred).__name__}")


def smart_cond(
    pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any], name: str | None = None
) -> Any:
    """As `cond`, but a condition that is known now (a Python bool, a constant) chooses at once."""
    known = static_value(pred)
    if known is None:
        return cond(pred, true_fn, false_fn, name=name)
    return true_fn() if known else false_fn()


def case(pred_fn_pairs: Any, default: Callable[[], Any] | None = None, exclusive: bool = False, strict: bool = False,
         name: str = "case") -> Any:  # fmt: skip
    """What the function of the first true condition returns, else what `default()` returns.

    `pred_fn_pairs`: pairs (bool scalar tensor, function), or a dict of them. `exclusive`: two true conditions are
    an error of the step. Without a `default` one condition must be true. Raises `DTypeError` for malformed pairs.
    """
    pairs: Sequence[Any] = list(
        pred_fn_pairs.items() if isinstance(pred_fn_pairs, Mapping) else pred_fn_pairs
    )
    if not pairs or not all(
        isinstance(p, (tuple, list)) and len(p) == 2 and callable(p[1]) for p in pairs
    ):
        raise DTypeError("case: needed pairs of a condition and a function")
    graph = graph_of([p for p, _ in pairs])
    with graph.as_default(), graph.name_scope(name):
        checks = []
        if exclusive or default is None:
            preds = stack([graph.to_tensor(p, bool_) for p, _ in pairs])
            if default is None:
                checks.append(
                    assert_that(reduce_any(preds), ["case: no condition is true:", preds])
                )
            if exclusive:
                count = reduce_sum(cast(preds, int32))
                checks.append(
                    assert_that(count <= 1, ["case: more than one condition is true:", preds])
                )
        if default is None:
            (_, default), pairs = pairs[-1], pairs[:-1]
        chosen = default
        for pred, fn in reversed(pairs):
            chosen = _either(pred, fn, chosen, strict)
        with graph.control_dependencies(checks):
            return chosen()


def _either(
    pred: Any, fn: Callable[[], Any], other: Callable[[], Any], strict: bool
) -> Callable[[], Any]:
    return lambda: cond(pred, fn, other, strict=strict)


API: dict[str, Any] = {
    "cond": cond,
    "case": case,
    "contrib.framework.smart_cond": smart_cond,
}
