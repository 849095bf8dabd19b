"""Control flow over functions: what `If`, `Case` and `While` of later TensorFlow 1.x graphs stand for.

Each is a function whose body holds the conditional or loop of white paper, section 4.4, with calls of the functions
that the node names; so the compiler, gradients and drawings see nothing new. Invariant: a variable among the arguments
reaches the named functions as it is, and is no loop variable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfnb.client.cond import cond
from tfnb.client.function_op import like_arguments, make_gradient, symbolic_gradient
from tfnb.client.while_loop import while_loop
from tfnb.errors import GraphError, UnimplementedError
from tfnb.ir.function import Function, FunctionBuilder
from tfnb.ir.tensor import Tensor
from tfnb.ops.compare import LOGICAL_OR
from tfnb.ops.convert import cast
from tfnb.ops.partition import where
from tfnb.ops.shaping import IDENTITY
from tfnb.types import DType, bool_, scalar, unknown_shape

__all__ = ["FunctionalForms"]

Build = Callable[[Sequence[Tensor]], list[Tensor]]


class FunctionalForms:
    """How functions of a GraphDef are made of others."""

    gradient = staticmethod(make_gradient)
    symbolic = staticmethod(symbolic_gradient)

    @staticmethod
    def branches(dtype: DType, functions: Sequence[Function]) -> Function:
        """(condition or number of a branch, arguments) -> results of the function chosen, and when it has run.

        A condition of `dtype` bool, or a number that is not 0, chooses the first; of an int32 number that is too
        small or too large the last.
        """
        first = functions[0]
        for f in functions[1:]:
            _check_alike(first, f)
        if dtype.is_string:
            raise UnimplementedError("If: a string is no condition here")

        def build(args: Sequence[Tensor]) -> list[Tensor]:
            selector, rest = args[0], args[1:]
            if len(functions) == 2 and dtype.is_bool:
                return _choose(selector, functions, rest)
            return _among(selector, functions, rest)

        body = FunctionBuilder()
        with body.as_default():
            selector = body.add_arg(dtype, scalar, "selector")
            args = [selector, *like_arguments(first, body)]
        names = "_".join(f.name for f in functions[:2])
        return _finished(f"If_{names}", body, args, build)

    @staticmethod
    def loop(condition: Function, step: Function) -> Function:
        """(loop variables) -> loop variables, `step`'s results as long as `condition` of them is true."""
        if len(step.results) != len(step.args) or len(condition.args) != len(step.args) or len(condition.results) != 1:
            raise GraphError(f"While: {condition.name!r} and {step.name!r} are no condition and body of one loop")
        variables = [k for k, a in enumerate(step.args) if not a.spec.ref]
        for k, a in enumerate(step.args):
            if a.spec.ref and step.passed.get(k) != k:
                raise GraphError(f"While: {step.name!r} must return the variable {a.op.name!r} that it takes")
            if not a.spec.ref and step.results[k].dtype is not a.dtype:
                raise GraphError(f"While: {step.name!r} takes {a.dtype.name} and returns {step.results[k].dtype.name}")

        def build(args: Sequence[Tensor]) -> list[Tensor]:
            def filled(values: Sequence[Tensor]) -> list[Tensor]:
                found = list(args)
                for k, v in zip(variables, values, strict=True):
                    found[k] = v
                return found

            def body(*values: Tensor) -> list[Tensor]:
                found = _call(step, filled(values))
                return [found[k] for k in variables]

            exits = while_loop(
                lambda *values: _truth(_call(condition, filled(values))[0]),
                body,
                [args[k] for k in variables],
                [unknown_shape] * len(variables),
                return_same_structure=True,
                name="loop",
            )
            found = filled(exits)
            return [IDENTITY(t) if t.spec.ref else t for t in found]

        body = FunctionBuilder()
        with body.as_default():
            args = like_arguments(step, body)
        return _finished(f"While_{condition.name}_{step.name}", body, args, build)


def _finished(name: str, body: FunctionBuilder, args: Sequence[Tensor], build: Build) -> Function:
    with body.as_default():
        results = build(args)

    def gradient(function: Function) -> Callable[..., Any]:
        return make_gradient(function, build)

    return Function(Function.unique_name(name[:80], body), body, results, gradient)


def _call(function: Function, args: Sequence[Tensor]) -> list[Tensor]:
    found = function.opdef(*args, name=function.name)
    return found if isinstance(found, list) else [found] if function.results else []


def _check_alike(a: Function, b: Function) -> None:
    """Raises `GraphError` unless the functions can be branches of one node."""

    def kinds(tensors: Sequence[Tensor]) -> list[tuple[str, bool]]:
        return [(t.dtype.name, t.spec.ref) for t in tensors]

    if kinds(a.args) != kinds(b.args) or [t.dtype for t in a.results] != [t.dtype for t in b.results]:
        raise GraphError(f"the branches {a.name!r} and {b.name!r} take or return different dtypes")


def _truth(value: Tensor) -> Tensor:
    return value if value.dtype.is_bool else cast(value, bool_)


def _run(function: Function, args: Sequence[Tensor]) -> list[Any]:
    """The results of a call, and last its operation."""
    made = function.opdef(*args, name=function.name)
    results = made if isinstance(made, list) else [made] if function.results else []
    return [*results, results[0].op if results else made]


def _choose(condition: Tensor, functions: Sequence[Function], args: Sequence[Tensor]) -> list[Tensor]:
    """The results of the first function if `condition` is true, else of the second; last a bool when it has run."""
    return list(cond(condition, lambda: _run(functions[0], args), lambda: _run(functions[1], args), strict=True))


def _among(number: Any, functions: Sequence[Function], args: Sequence[Tensor]) -> list[Tensor]:
    """The results of the function of this number, found by halving; last a bool when it has run."""
    count = len(functions)
    if not number.dtype.is_integer or count == 1:
        return _choose(_truth(number), (functions[0], functions[-1]), args)
    outside = LOGICAL_OR(number < 0, number >= count)
    number = where(outside, count - 1, number)

    def within(low: int, high: int) -> list[Any]:
        if high - low == 1:
            return _run(functions[low], args)
        middle = (low + high) // 2
        return list(cond(number < middle, lambda: within(low, middle), lambda: within(middle, high), strict=True))

    return within(0, count)
