"""Control flow over functions: the ops `If`, `Case` and `While` of graphs of later TensorFlow 1.x.

Each becomes a function whose body holds the conditional or loop of white paper, section 4.4, with calls of the
functions that the node names; so compiler, gradients and drawings need no further cases. Invariant: a variable among
the arguments reaches the named functions as it is, and a value that a loop's body returns unchanged is no loop
variable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfnb.client.control_flow.cond import cond
from tfnb.client.control_flow.while_loop import while_loop
from tfnb.client.graph.function_op import like_arguments, make_gradient, symbolic_gradient
from tfnb.errors import GraphError, UnimplementedError
from tfnb.ir.function import Function, FunctionBuilder, copy_into
from tfnb.ir.graphdef.decode import common_shape
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.ops.array.where_partition import where
from tfnb.ops.math.cast import cast
from tfnb.ops.math.compare import LOGICAL_OR
from tfnb.types import DType, Shape, bool_, int32, scalar, unknown_shape

__all__ = ["FunctionalForms"]

_ROUNDS = 12  # rounds in which the shapes of loop variables are widened; if they still change, all become unknown
Build = Callable[[Sequence[Tensor], Sequence[Function]], list[Tensor]]


class FunctionalForms:
    """Creates functions for the conditionals and loops of a GraphDef from the functions that the nodes name."""

    gradient = staticmethod(make_gradient)
    symbolic = staticmethod(symbolic_gradient)

    @staticmethod
    def branches(dtype: DType | None, functions: Sequence[Function]) -> Function:
        """Returns a function (condition or number, arguments) -> results of the chosen function, and a bool after them.

        With a `dtype`, a condition that is true, or a number other than 0, chooses the first function. Without, the
        argument is the number of the function, and the last function is chosen for a number out of range.
        """
        first = functions[0]
        for f in functions[1:]:
            _check_alike(first, f)
        if dtype is not None and dtype.is_string:
            raise UnimplementedError("If: a string is no condition here")

        def build(args: Sequence[Tensor], choices: Sequence[Function]) -> list[Tensor]:
            selector, rest = args[0], args[1:]
            return _among(selector, choices, rest) if dtype is None else _choose(_truth(selector), choices, rest)

        body = FunctionBuilder()
        with body.as_default():
            selector = body.add_arg(dtype or int32, scalar, "selector")
            args = [selector, *like_arguments(first, body)]
        names = "_".join(f.name for f in functions[:2])
        return _finished(f"If_{names}", body, args, functions, build)

    @staticmethod
    def loop(condition: Function, step: Function) -> Function:
        """Returns a function (loop variables) -> loop variables that applies `step` as long as `condition` is true."""
        if len(step.results) != len(step.args) or len(condition.args) != len(step.args) or len(condition.results) != 1:
            raise GraphError(f"While: {condition.name!r} and {step.name!r} are no condition and body of one loop")
        variables = [k for k, a in enumerate(step.args) if not a.spec.ref and _source(step.results[k]) != a]
        if not variables:
            variables = [k for k, a in enumerate(step.args) if not a.spec.ref]
        for k, a in enumerate(step.args):
            if a.spec.ref and step.passed.get(k) != k:
                raise GraphError(f"While: {step.name!r} must return the variable {a.op.name!r} that it takes")
            if not a.spec.ref and step.results[k].dtype is not a.dtype:
                raise GraphError(f"While: {step.name!r} takes {a.dtype.name} and returns {step.results[k].dtype.name}")

        def build(args: Sequence[Tensor], parts: Sequence[Function]) -> list[Tensor]:
            def filled(values: Sequence[Tensor]) -> list[Tensor]:
                result = list(args)
                for k, v in zip(variables, values, strict=True):
                    result[k] = v
                return result

            def body(*values: Tensor) -> list[Tensor]:
                result = _call(parts[1], filled(values))
                return [result[k] for k in variables]

            exits = while_loop(
                lambda *values: _truth(_call(parts[0], filled(values))[0]),
                body,
                [args[k] for k in variables],
                [args[k].shape for k in variables],
                return_same_structure=True,
                name="loop",
            )
            result = filled(exits)
            return [IDENTITY(t) if t.spec.ref else t for t in result]

        def made(shapes: Sequence[Shape]) -> Function:
            body = FunctionBuilder()
            with body.as_default():
                args = [
                    body.add_arg(a.dtype, shape, a.op.name, a.spec.ref)
                    for a, shape in zip(step.args, shapes, strict=True)
                ]
            return _finished(f"While_{condition.name}_{step.name}", body, args, (condition, step), build)

        function_of_shapes: dict[tuple[Shape, ...], Function] = {}

        def refined(shapes: tuple[Shape, ...]) -> Function:
            static_shapes = _invariant(step, shapes)
            if static_shapes not in function_of_shapes:
                function_of_shapes[static_shapes] = made(static_shapes)
            return function_of_shapes[static_shapes]

        result = made([a.shape for a in step.args])
        result.refined = refined
        return result


def _source(t: Tensor) -> Tensor:
    """Returns the tensor that reaches `t`, perhaps through several Identity nodes."""
    while t.op.opdef is IDENTITY and not t.op.control_inputs:
        t = t.op.inputs[0]
    return t


def _invariant(step: Function, shapes: tuple[Shape, ...]) -> tuple[Shape, ...]:
    """Returns the static shapes that the loop variables have in all iterations if they begin with `shapes`."""
    for _ in range(_ROUNDS):
        next_shapes = step.result_shapes(shapes)
        common_shapes = tuple(
            a if arg.spec.ref else common_shape(a, b) for a, b, arg in zip(shapes, next_shapes, step.args, strict=True)
        )
        if common_shapes == shapes:
            return common_shapes
        shapes = common_shapes
    return (unknown_shape,) * len(shapes)


def _finished(
    name: str, body: FunctionBuilder, args: Sequence[Tensor], functions: Sequence[Function], build: Build
) -> Function:
    """Returns the function whose results are those of `build(args, functions)`.

    Its gradient reads the variables first, because a gradient must leave a branch or loop the way its value entered.
    """
    with body.as_default():
        results = build(args, functions)

    def again(args: Sequence[Tensor]) -> list[Tensor]:
        return build([IDENTITY(a) if a.spec.ref else a for a in args], [_by_value(f) for f in functions])

    def gradient(function: Function) -> Callable[..., Any]:
        return make_gradient(function, again)

    return Function(Function.unique_name(name[:80], body), body, results, gradient)


def _by_value(function: Function) -> Function:
    """Returns the function with values of variables as its arguments; it changes no variable."""
    if not any(a.spec.ref for a in function.args):
        return function
    body = FunctionBuilder()
    with body.as_default():
        args = [body.add_arg(a.dtype, a.shape, a.op.name) for a in function.args]
        copies = copy_into(function, body, args)
    names = [a.name for a in function.opdef.output_args]
    results = [copies[t] for t in function.results]
    return Function(Function.unique_name(f"{function.name}_values", body), body, results, make_gradient, names)


def _call(function: Function, args: Sequence[Tensor]) -> list[Tensor]:
    outputs = function.opdef(*args, name=function.name)
    return outputs if isinstance(outputs, list) else [outputs] if function.results else []


def _check_alike(a: Function, b: Function) -> None:
    """Raises `GraphError` unless the functions can be branches of one node."""

    def kinds(tensors: Sequence[Tensor]) -> list[tuple[str, bool]]:
        return [(t.dtype.name, t.spec.ref) for t in tensors]

    if kinds(a.args) != kinds(b.args) or [t.dtype for t in a.results] != [t.dtype for t in b.results]:
        raise GraphError(f"the branches {a.name!r} and {b.name!r} take or return different dtypes")


def _truth(value: Tensor) -> Tensor:
    return value if value.dtype.is_bool else cast(value, bool_)


def _run(function: Function, args: Sequence[Tensor]) -> list[Any]:
    """Returns the results of a call, and last the operation of the call."""
    outputs = function.opdef(*args, name=function.name)
    results = outputs if isinstance(outputs, list) else [outputs] if function.results else []
    return [*results, results[0].op if results else outputs]


def _choose(condition: Tensor, functions: Sequence[Function], args: Sequence[Tensor]) -> list[Tensor]:
    """Returns the results of the first function if `condition` is true, else of the second, and last a bool tensor.

    The bool is computed after the chosen function has run.
    """
    return list(cond(condition, lambda: _run(functions[0], args), lambda: _run(functions[1], args), strict=True))


def _among(number: Tensor, functions: Sequence[Function], args: Sequence[Tensor]) -> list[Tensor]:
    """Returns the results of the function with this number, which a binary search finds, and last a bool tensor."""
    count = len(functions)
    if count == 1:
        return _choose(number < 0, (functions[0], functions[0]), args)
    outside = LOGICAL_OR(number < 0, number >= count)
    number = where(outside, count - 1, number)

    def within(low: int, high: int) -> list[Any]:
        if high - low == 1:
            return _run(functions[low], args)
        middle = (low + high) // 2
        return list(cond(number < middle, lambda: within(low, middle), lambda: within(middle, high), strict=True))

    return within(0, count)
