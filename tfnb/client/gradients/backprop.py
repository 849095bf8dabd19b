"""Gradients by extending the graph (white paper, section 4.1; OSDI'16, section 4.1).

From each y back to the xs, every op on the way adds the nodes of its gradient function; where paths meet, the partial
gradients are summed. Invariant: only ops on a path from an x to a y get gradient nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

from tfnb.client.control_flow.control_context import context_of, loops_around
from tfnb.client.control_flow.imported_loops import UNCLEAR
from tfnb.client.control_flow.while_context import LOOP, WhileContext
from tfnb.client.gradients.backward_loop import differentiate, has_gradient
from tfnb.client.gradients.paths import open_paths, operations_between
from tfnb.client.gradients.recompute import RECOMPUTE, RecomputeScope
from tfnb.client.platform import tf_logging as logging
from tfnb.client.variables.replication import UnconnectedGradients
from tfnb.errors import (
    AlreadyExistsError,
    DTypeError,
    GraphError,
    InvalidArgumentError,
    NotFoundError,
    ShapeError,
)
from tfnb.ir.default import graph_of
from tfnb.ir.indexed import IndexedSlices
from tfnb.ir.opdef import GRADIENT_MISSING, NOT_DIFFERENTIABLE, Kind
from tfnb.ir.operation import Operation
from tfnb.ir.scopes import NameScope
from tfnb.ir.tensor import GraphLike, Tensor, TensorLike
from tfnb.ops import CATALOG
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import ones_like, zeros_like
from tfnb.ops.control_flow.variants import VARIANT_ADD
from tfnb.ops.math.binary import ADD_N
from tfnb.ops.math.cast import alike_indices
from tfnb.ops.state.tensor_array import TENSOR_ARRAY_GRAD
from tfnb.types import variant

__all__ = ["API", "AggregationMethod", "NoGradient", "RegisterGradient", "gradients", "hessians"]

Grad = Any  # Tensor, IndexedSlices or None
_REGISTERED: dict[str, Callable[..., Any]] = {}


class AggregationMethod:
    """The names of ways to sum partial gradients; all of them use one AddN here, which the compiler fuses."""

    ADD_N = 0
    DEFAULT = 0
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


class RegisterGradient:
    """Decorator: registers a gradient function under a name.

    The function gets `(op, *grads)` and returns a gradient per input. The name is an op type that has no gradient yet,
    or a new name for `graph.gradient_override_map`.
    """

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise DTypeError(f"RegisterGradient needs the name of an op, got {op_type!r}")
        self.op_type = op_type

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        defined = self.op_type in CATALOG and CATALOG[self.op_type].grad not in (None, GRADIENT_MISSING)
        if self.op_type in _REGISTERED or defined:
            raise AlreadyExistsError(f"the gradient of {self.op_type!r} is registered already")
        _REGISTERED[self.op_type] = function
        return function


def NoGradient(op_type: str) -> None:
    """Declares that ops of the type `op_type` have no gradient."""
    RegisterGradient(op_type)(lambda op, *grads: [None] * len(op.inputs))


def gradient_function(op: Operation) -> Callable[..., Any] | None:
    """Returns the gradient function of an op, or None when the op is not differentiable.

    Raises `NotFoundError` when neither is declared.
    """
    if op.gradient_type is not None:
        function = _REGISTERED.get(op.gradient_type)
        if function is None and op.gradient_type in CATALOG:
            function = CATALOG[op.gradient_type].grad  # type: ignore[assignment]
        if function is None or function is GRADIENT_MISSING:
            raise NotFoundError(f"gradient_override_map names {op.gradient_type!r}, which is not registered", op)
        return None if function is NOT_DIFFERENTIABLE else function
    op_gradient = op.opdef.grad
    if op_gradient is NOT_DIFFERENTIABLE:
        return None
    if op_gradient is None or op_gradient is GRADIENT_MISSING:
        op_gradient = _REGISTERED.get(op.type)
    if op_gradient is None:
        raise NotFoundError(
            f"the op {op.type} has no gradient; register one with tf.RegisterGradient({op.type!r})",
            op,
        )
    return op_gradient  # type: ignore[return-value]


def gradients(
    ys: TensorLike,
    xs: TensorLike,
    grad_ys: TensorLike | None = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: TensorLike | None = None,
    unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
) -> list[Grad]:
    """Returns, for each x in `xs`, the sum over `ys` of dy/dx.

    `grad_ys` are the initial gradients, ones by default, of the shapes of `ys` or others that the gradients of the ops
    of `ys` take. No gradient passes through `stop_gradients`. `gate_gradients` and `aggregation_method` have no effect.
    With `unconnected_gradients="zero"` the result is zeros for an x that no y depends on, instead of None.

    Each result is a Tensor of the shape of x, an `IndexedSlices` (for rows gathered from x), or None (no y depends on
    x). Integer ys add nothing without `grad_ys`. Raises `NotFoundError` for an op without a gradient, `DTypeError` for
    complex ys without `grad_ys`, and `ShapeError` where the gradient of an op gets a seed of another shape.
    """
    graph = graph_of([*_listed(ys), *_listed(xs)])
    y_list = [graph.to_tensor(y) for y in _listed(ys)]
    x_list = [_as_ref(graph, x) for x in _listed(xs)]
    stop_tensors = {_as_ref(graph, t) for t in _listed(stop_gradients)} if stop_gradients is not None else set()
    seeds = [None] * len(y_list) if grad_ys is None else _listed(grad_ys)
    if aggregation_method not in (None, 0, 1, 2):
        raise InvalidArgumentError(
            f"gradients: aggregation_method={aggregation_method!r}; needed a value of tf.AggregationMethod"
        )
    if len(seeds) != len(y_list):
        raise InvalidArgumentError(f"gradients: {len(seeds)} grad_ys for {len(y_list)} ys")
    with graph.as_default(), graph.name_scope(name) as scope, _source(graph, scope):
        enclosing_loops = loops_around(graph.scopes.control_flow)
        if not any(has_gradient(y) or seed is not None for y, seed in zip(y_list, seeds, strict=True)):
            logging.warning(
                "gradients: none of %s is a floating or complex tensor, so there are no gradients; cast before you "
                "differentiate",
                [f"{y.name} ({y.dtype.name})" for y in y_list],
            )
        pairs = [
            (y, _seed(y, seed))
            for y, seed in zip(y_list, seeds, strict=True)
            if has_gradient(y) or (seed is not None and y.dtype.is_integer)
        ]
        y_list = [y for y, _ in pairs]
        open_paths(x_list, y_list, stop_tensors)
        walk = _Backward(graph, x_list, y_list, stop_tensors, colocate_gradients_with_ops, enclosing_loops)
        for y, seed in pairs:
            walk.add(y, seed)
        walk.run()
        grads = [walk.gradient(x) for x in x_list]
        if UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO:
            return [zeros_like(x) if grad is None else grad for x, grad in zip(x_list, grads, strict=True)]
        return grads


@contextmanager
def _source(graph: GraphLike, scope: str) -> Iterator[None]:
    """Sets the source of the gradients' tensor arrays, which is different for each call of `gradients`.

    The name scope is not enough, because a graph that was read from a file may hold gradients of the same scope.
    """
    scopes = graph.scopes
    sources = {op.attrs.source for op in graph.get_operations() if op.opdef is TENSOR_ARRAY_GRAD}
    while scope in sources:
        scope += "_"
    previous, scopes.gradient_source = scopes.gradient_source, scope
    try:
        yield
    finally:
        scopes.gradient_source = previous


def _listed(value: object) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _as_ref(graph: GraphLike, x: Tensor) -> Tensor:
    if isinstance(x, IndexedSlices):
        return x.values
    if isinstance(x, (int, float, np.ndarray, np.generic)):  # a constant, on which nothing depends
        return graph.to_tensor(x)
    return graph.as_graph_element(x, allow_operation=False)


def _seed(y: Tensor, seed: TensorLike | None) -> Grad:
    if seed is None and y.dtype.is_complex:
        raise DTypeError(
            f"Gradients of complex tensors must set grad_ys (y.dtype = {y.dtype!r}) for {y.name}; or "
            f"differentiate a real number "
            "that depends on it",
            y.op,
        )
    if seed is None:
        return ones_like(y)
    return y.graph.to_tensor(seed, y.dtype) if not isinstance(seed, IndexedSlices) else seed


def _through_iteration(graph: GraphLike, colocate: bool) -> Callable[..., list[Grad]]:
    """Returns the function with which a backward loop computes the gradients of one iteration of its forward loop."""

    def walk(loop: WhileContext, xs: list[Tensor], ys: list[Tensor], dys: list[Tensor]) -> list[Grad]:
        levels = loops_around(loop)
        inner = _Backward(graph, xs, ys, {*xs, *loop.inputs}, colocate, levels)
        for y, dy in zip(ys, dys, strict=True):
            inner.add(y, dy)
        inner.run()
        return [inner.gradient(x) for x in xs]

    return walk


_Unit = Any  # an Operation, or a WhileContext, a loop that is processed as a whole


class _Backward:
    """The traversal from ys to xs: partial gradients by tensor, and how many readers each unit still waits for.

    A unit is an operation, a loop, or a `tf.recompute` scope; `levels` are the loops in which the traversal itself
    takes place.
    """

    def __init__(
        self,
        graph: GraphLike,
        xs: Sequence[Tensor],
        ys: Sequence[Tensor],
        stops: set[Tensor],
        colocate: bool,
        levels: tuple[WhileContext, ...],
    ) -> None:
        self.graph = graph
        self.colocate = colocate
        self.stops = stops
        self.levels = levels
        self.loop_variables = {m.op: loop for loop in levels for m in loop.merges}
        self.partial: dict[Tensor, list[Grad]] = {}
        self.repeated = {x.op.extra[RECOMPUTE] for x in xs if RECOMPUTE in x.op.extra}
        self.between = set(ops := operations_between(xs, ys, stops))
        self.pending: dict[_Unit, int] = dict.fromkeys(map(self.unit, ops), 0)
        for unit in self.pending:
            for t in self.inputs(unit):
                producer = self.unit(t.op)
                if producer in self.pending:
                    self.pending[producer] += 1
        units = dict.fromkeys(self.unit(y.op) for y in ys)
        self.ready = [unit for unit in units if self.pending.get(unit) == 0]
        self.wanted = {x.op for x in xs}

    def unit(self, op: Operation) -> _Unit:
        """Returns the operation, or the outermost loop around it that is not one of `levels`."""
        if not op.extra:
            return op
        loops = loops_around(context_of(op))
        loop_of_op = op.extra.get(LOOP)  # Enters and Exits belong to their loop
        if loop_of_op is not None and loop_of_op not in self.levels:
            loops = (*loops, loop_of_op)
        inner = [loop for loop in loops if loop not in self.levels]
        if inner:
            return inner[0]
        scope = op.extra.get(RECOMPUTE)
        return op if scope is None or scope in self.repeated or not scope.is_plain else scope

    def inputs(self, unit: _Unit) -> list[Tensor]:
        """Returns the tensors to which the unit passes gradients."""
        if isinstance(unit, Operation):
            return list(unit.inputs)
        if isinstance(unit, RecomputeScope):
            return unit.comes_in(self.between)
        entries = [*unit.enters, *unit.entered.values()]
        return [t.op.inputs[0] for t in entries if t.op in self.between]

    def add(self, t: Tensor, grad: Grad) -> None:
        """Adds a partial gradient of a tensor."""
        if grad is not None:
            self.partial.setdefault(t, []).append(grad)

    def gradient(self, t: Tensor) -> Grad:
        """Returns the sum of the partial gradients of `t`, which is computed once."""
        parts = self.partial.get(t)
        if not parts:
            return None
        if len(parts) > 1:
            self.partial[t] = parts = [self._total(t, parts)]
        return parts[0]

    def _total(self, t: Tensor, parts: Sequence[Grad]) -> Grad:
        """The sum of partial gradients; with `colocate`, those of one device are added there, and the sums at `t`."""
        if not self.colocate or any(isinstance(p, IndexedSlices) for p in parts):
            return _sum(parts)
        on_device: dict[str, list[Any]] = {}
        for p in parts:
            on_device.setdefault(p.device, []).append(p)
        sums: list[Grad] = []
        for device in sorted(on_device):
            group = on_device[device]
            with self.graph.colocate_with(group[-1].op, ignore_existing=True):  # of the first reader, met last
                sums.append(group[0] if len(group) == 1 else _sum(group))
        if len(sums) == 1:
            return sums[0]
        with self.graph.colocate_with(t.op, ignore_existing=True):
            return _sum(sums)

    def run(self) -> None:
        """Processes the units from ys to xs, each after all of its readers."""
        while self.ready:
            unit = self.ready.pop()
            inputs = self.inputs(unit)
            if inputs:
                self._through(unit)
            for t in inputs:
                source = self.unit(t.op)
                if source in self.pending:
                    self.pending[source] -= 1
                    if self.pending[source] == 0:
                        self.ready.append(source)
        blocked = [unit for unit, n in self.pending.items() if n > 0]
        if blocked and any(unit in self.wanted for unit in blocked):
            raise GraphError(f"gradients: {blocked[0].name} lies on a cycle")

    def _through(self, unit: _Unit) -> None:
        """Adds the gradient nodes of one unit."""
        if isinstance(unit, RecomputeScope):
            with self._named(unit.name):
                self._repeat(unit)
            return
        outputs = unit.outputs if isinstance(unit, Operation) else unit.exits
        grads = [self.gradient(t) for t in outputs]
        if all(g is None for g in grads) or any(t in self.stops for t in outputs):
            return
        if not isinstance(unit, Operation):
            with self._named(unit.name):
                walk = _through_iteration(self.graph, self.colocate)
                for t, g in differentiate(self.graph, unit, grads, self.between, walk):
                    self.add(t, g)
            return
        if unit in self.loop_variables:
            loop = self.loop_variables[unit]
            raise GraphError(
                f"gradients: taken inside the loop {loop.name}, they reach its loop variable {unit.name} and would "
                "have to go on into the iterations before. Take gradients by the arguments of the body or by tensors "
                "that the loop only reads, put the loop variable into stop_gradients, or differentiate after the loop",
                unit.inputs[0].op,
            )
        if UNCLEAR in unit.extra:
            raise GraphError(
                f"gradients: {unit.extra[UNCLEAR]}. Build the loop in this program, or export it together with its "
                "gradients",
                unit,
            )
        function = gradient_function(unit)
        if function is not None:
            with self._named(unit.name), self._placed(unit):
                self._apply(unit, function, grads)

    def _repeat(self, scope: RecomputeScope) -> None:
        """Adds a copy of the operations in the scope, and computes the gradients through the copy."""
        outputs = [t for op in scope.ops for t in op.outputs if t in self.partial]
        dys = {t: self.gradient(t) for t in outputs}
        if not dys:
            return
        copies = scope.again(dys, self.between)
        outside = [t for t in scope.comes_in(self.between) if t.op in self.between]
        xs = [copies[t] for t in outside]
        ys = [copies[t] for t in dys]
        stop_tensors = {*xs, *(copies.get(t, t) for t in self.stops)}
        enclosing_loops = loops_around(self.graph.scopes.control_flow)  # the copies are in these loops
        inner = _Backward(self.graph, xs, ys, stop_tensors, self.colocate, (*self.levels, *enclosing_loops))
        for y, dy in zip(ys, dys.values(), strict=True):
            inner.add(y, dy)
        inner.run()
        for t, x in zip(outside, xs, strict=True):
            self.add(t, inner.gradient(x))

    def _apply(self, op: Operation, function: Callable[..., Any], arrived: list[Grad]) -> None:
        output_grads = arrived
        if op.opdef.kind is not Kind.SWITCH:
            output_grads = [
                zeros_like(t) if g is None and (t.dtype.is_floating or t.dtype.is_complex) else g
                for t, g in zip(op.outputs, arrived, strict=True)
            ]
        result = function(op, *output_grads)
        parts = list(result) if isinstance(result, (list, tuple)) else [result]
        if len(parts) != len(op.inputs):
            raise GraphError(
                f"the gradient of {op.type} gave {len(parts)} values for {len(op.inputs)} inputs",
                op,
            )
        for t, g in zip(op.inputs, parts, strict=True):
            self.add(t, _checked(op, t, g))

    def _named(self, name: str) -> NameScope:
        return self.graph.name_scope(f"{name.rpartition('gradients/')[2]}_grad")

    def _placed(self, op: Operation) -> AbstractContextManager[Any]:
        if self.colocate:
            return self.graph.colocate_with(op)
        return nullcontext()


def _checked(op: Operation, t: Tensor, grad: Grad) -> Grad:
    if grad is None:
        return None
    if not isinstance(grad, IndexedSlices):
        grad = t.graph.to_tensor(grad, t.dtype)
        if not grad.shape.is_compatible_with(t.shape):
            raise ShapeError(
                f"the gradient of {op.type} has shape {grad.shape}, its input {t.name} {t.shape}",
                op,
            )
        if grad.shape != t.shape and t.shape.sizes is not None and grad.op.opdef.kind is not Kind.CONST:
            grad.set_shape(t.shape)
    return grad


def _sum(parts: Sequence[Grad]) -> Grad:
    slices = [p for p in parts if isinstance(p, IndexedSlices)]
    if len(slices) == len(parts):
        return IndexedSlices(
            concat([s.values for s in slices], 0),
            concat(alike_indices([s.indices for s in slices]), 0),
            slices[0].dense_shape,
        )
    dense = [p.__tensor__() if isinstance(p, IndexedSlices) else p for p in parts]
    return VARIANT_ADD(dense) if dense[0].dtype is variant else ADD_N(dense)


def hessians(ys: TensorLike, xs: TensorLike, name: str = "hessians", **kwargs: Any) -> list[Grad]:
    """Returns for each vector x the matrix of second derivatives of sum(ys), of shape (n, n).

    `kwargs` are those of `gradients`. Raises `InvalidArgumentError` when an x is not a vector of known length.
    """
    results: list[Grad] = []
    for x in _listed(xs):
        (first,) = gradients(ys, x, name=name, **kwargs)
        n = x.shape.sizes[0] if x.shape.sizes is not None and len(x.shape.sizes) == 1 else None
        if n is None:
            raise InvalidArgumentError(f"hessians: x must be a vector of known length, got shape {x.shape}")
        rows = [gradients(first[i], x, name=name, **kwargs)[0] for i in range(n)]
        results.append(first.graph.to_tensor(rows))
    return results


API = {
    "gradients": gradients,
    "hessians": hessians,
    "AggregationMethod": AggregationMethod,
    "RegisterGradient": RegisterGradient,
    "NoGradient": NoGradient,
    "NotDifferentiable": NoGradient,
}
