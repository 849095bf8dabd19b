"""Names of late 1.x programs: switches of TensorFlow 2's behaviour, `tf.dtypes`, `tf.nest`, own gradients.

Invariant: graphs are the only mode here. A function that switches to graph mode does nothing; one that switches away
from it raises an error.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfnb import types
from tfnb.client.control_flow.cond import cond
from tfnb.client.gradients.backprop import NoGradient, RegisterGradient
from tfnb.client.graph.nest import flatten, pack
from tfnb.errors import DTypeError, InvalidArgumentError, UnimplementedError
from tfnb.ir.default import graph_of
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.identity import IDENTITY_N
from tfnb.ops.math.cast import cast
from tfnb.ops.math.clip import saturate_cast
from tfnb.ops.math.compare import LOGICAL_OR

__all__ = ["API", "custom_gradient", "switch_case"]

_numbers = itertools.count()


def _nothing(name: str) -> Callable[[], None]:
    def function() -> None:
        """Does nothing, because graphs always behave in this way here."""

    function.__name__ = function.__qualname__ = name
    return function


def _refused(name: str) -> Callable[..., None]:
    def function(*args: object, **kwargs: object) -> None:
        """Raises `UnimplementedError`, because operations run in sessions here."""
        raise UnimplementedError(f"{name}: operations run in sessions here, not when they are made")

    function.__name__ = function.__qualname__ = name
    return function


def executing_eagerly() -> bool:
    """Returns False, because operations run in sessions."""
    return False


def switch_case(
    branch_index: TensorLike,
    branch_fns: Mapping[int, Callable[[], Any]] | Sequence[Any],
    default: Callable[[], Any] | None = None,
    name: str = "switch_case",
) -> Any:
    """Returns the results of the function with the number `branch_index`, an int32 scalar.

    For other numbers `default` is called, or else the last function. `branch_fns` are functions, or pairs (number,
    function), or a dict, with numbers from 0 on; all return the same structure and dtypes. Raises `DTypeError` for
    other arguments.
    """
    items = branch_fns.items() if isinstance(branch_fns, dict) else branch_fns
    pairs = [f if isinstance(f, tuple) else (i, f) for i, f in enumerate(items)]
    functions = [f for _, f in sorted(pairs, key=lambda p: p[0])]
    if sorted(i for i, _ in pairs) != list(range(len(pairs))) or not all(callable(f) for f in functions):
        raise DTypeError("switch_case: needed functions, or pairs of the numbers from 0 on and functions")
    if default is not None:
        functions.append(default)
    if not functions:
        raise InvalidArgumentError("switch_case: no functions")
    graph = graph_of([branch_index])
    with graph.as_default(), graph.name_scope(name):
        index: Any = graph.to_tensor(branch_index)
        last = len(functions) - 1
        outside = LOGICAL_OR(index < 0, index > last)

        def within(low: int, high: int) -> Any:
            if low == high:
                return functions[low]()
            middle = (low + high) // 2
            return cond(index <= middle, lambda: within(low, middle), lambda: within(middle + 1, high))

        return within(0, 0) if last == 0 else cond(outside, functions[last], lambda: within(0, last))


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates `f(*tensors)`, which returns (results, grad): `grad(*dys)` computes the gradients of the arguments.

    `dys` are the gradients of the results. Raises `InvalidArgumentError` when `f` returns something else, or `grad`
    another number of gradients.
    """

    def decorated(*args: object, **kwargs: object) -> Any:
        graph = graph_of(args)
        with graph.as_default():
            tensors = [graph.to_tensor(a) for a in args]
            returned = f(*tensors, **kwargs)
            if not (isinstance(returned, tuple) and len(returned) == 2 and callable(returned[1])):
                raise InvalidArgumentError("custom_gradient: the function must return (results, gradient function)")
            results, gradient = returned
            result_parts = [graph.to_tensor(v) for v in flatten(results)]

            def through(op: Operation, *dys: Tensor) -> list[Any]:
                grads = gradient(*dys[: len(result_parts)])
                grad_list = list(grads) if isinstance(grads, (list, tuple)) else [grads]
                if len(grad_list) != len(tensors):
                    raise InvalidArgumentError(
                        f"custom_gradient: {len(grad_list)} gradients for {len(tensors)} arguments"
                    )
                return [None] * len(result_parts) + grad_list

            key = f"CustomGradient-{next(_numbers)}"
            RegisterGradient(key)(through)
            with graph.gradient_override_map({"IdentityN": key}):
                outputs = IDENTITY_N([*result_parts, *tensors])
        return pack(results, outputs[: len(result_parts)])

    decorated.__name__ = getattr(f, "__name__", "decorated")
    decorated.__doc__ = f.__doc__
    return decorated


def no_regularizer(_: object) -> None:
    """Returns None, no penalty: for a scope inside one that has a regulariser."""


_DTYPES: Sequence[str] = (
    "bfloat16 complex64 complex128 float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 string "
    "qint8 qint16 qint32 quint8 quint16 resource variant"
).split()
API: dict[str, Any] = {
    **{
        name: _nothing(name)
        for name in (
            "disable_v2_behavior",
            "disable_eager_execution",
            "disable_resource_variables",
            "disable_control_flow_v2",
            "disable_tensor_equality",
            "disable_v2_tensorshape",
            "enable_resource_variables",
            "enable_control_flow_v2",
        )
    },
    **{name: _refused(name) for name in ("enable_v2_behavior", "enable_eager_execution")},
    "executing_eagerly": executing_eagerly,
    "switch_case": switch_case,
    "custom_gradient": custom_gradient,
    "no_regularizer": no_regularizer,
    "no_gradient": NoGradient,
    **{f"dtypes.{name}": getattr(types, name) for name in _DTYPES},
    "resource": types.resource,
    "variant": types.variant,
    "double": types.float64,
    "dtypes.half": types.float16,
    "dtypes.double": types.float64,
    "dtypes.bool": types.bool_,
    "dtypes.DType": types.DType,
    "dtypes.as_dtype": types.as_dtype,
    "dtypes.cast": cast,
    "dtypes.saturate_cast": saturate_cast,
}
