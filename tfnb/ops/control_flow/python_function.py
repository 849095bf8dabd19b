"""Python functions as nodes of a graph (`tf.py_func`).

The function runs in the client's process, on NumPy arrays, each time a step computes the node. Invariant: its results
have the declared dtypes; their shapes are unknown before it has run, so the node stays out of clusters.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, OpError, UnimplementedError, error_class_of
from tfnb.ir.bind import bind, to_bytes
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import LOCAL, NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.record import record
from tfnb.ir.tensor import Tensor
from tfnb.system.interrupts import interruptible, is_from_handler
from tfnb.system.ownership import arguments, make_own
from tfnb.types import ALL_AND_QUANTIZED, DType, Shape, as_dtype, unknown_shape

__all__ = ["API", "OPS", "PY_FUNC", "PY_FUNC_STATELESS"]

_TOKENS = itertools.count()


@record
class PyFuncAttrs:
    """`token`: the function's name in a GraphDef; `function`: the function, which exists as long as the graph."""

    token: str = ""
    function: Callable[..., Any] | None = field(default=None, repr=False, metadata=LOCAL)


def _unknown(c: Infer) -> tuple[Shape, ...]:
    return (unknown_shape,) * len(c.types["Tout"])


def _as_output(call: HostCall, value: np.ndarray, dtype: DType, i: int) -> np.ndarray:
    try:
        array = np.asarray(value)
    except ValueError as e:
        raise InvalidArgumentError(f"py_func {call.attrs.token}: result {i} is no array: {e}", call.op) from None
    if array.dtype.kind in "SUO":  # from the original value, since NumPy's strings lose trailing zero bytes
        array = to_bytes(np.asarray(value, object))
    is_text = array.dtype == object and all(isinstance(x, bytes) for x in array.flat)
    if (is_text and dtype.is_string) or (array.dtype == dtype.np and not dtype.is_string):
        return array
    if array.dtype.type is np.void:
        raise UnimplementedError(
            f"py_func {call.attrs.token}: Unsupported numpy type {array.dtype} of result {i}", call.op
        )
    plain = not isinstance(value, (np.ndarray, np.generic))
    if array.dtype.kind == "O":
        raise UnimplementedError(
            f"py_func {call.attrs.token}: Unsupported object type {array.dtype} of result {i}, declared {dtype.name}",
            call.op,
        )
    if dtype.is_string or not ((plain and array.size == 0) or np.can_cast(array.dtype, dtype.np, "same_kind")):
        raise InvalidArgumentError(
            f"py_func {call.attrs.token}: result {i} is {array.dtype}, but {dtype.name} was declared",
            call.op,
        )
    return array.astype(dtype.np)


def _call(call: HostCall, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
    function, dtypes = call.attrs.function, call.types["Tout"]
    if function is None:
        raise InvalidArgumentError(f"py_func {call.attrs.token}: its function is not in this process", call.op)
    try:
        with interruptible():
            # Scalars are given as NumPy or bytes have them.
            value = function(*(x[()] if x.ndim == 0 else x for x in arguments(inputs, call.owns)))
    except OpError:
        raise
    except BaseException as e:
        if is_from_handler(e):
            raise  # of a signal: it ends the step, and is nothing that the function has to do with
        raise error_class_of(e)(f"py_func {call.attrs.token}: {type(e).__name__}: {e}", call.op) from e
    results = list(value) if isinstance(value, (list, tuple)) else [] if value is None else [value]
    if isinstance(value, (list, tuple)) and len(dtypes) == 1 and len(results) != 1:
        results = [value]
    if len(results) != len(dtypes):
        raise InvalidArgumentError(
            f"py_func {call.attrs.token}: the function gave {len(results)} results, {len(dtypes)} were declared",
            call.op,
        )
    del value  # what nobody holds but the list of results is not copied
    for i, dtype in enumerate(dtypes):
        results[i] = _as_output(call, results[i], dtype, i)
    make_own(results, range(len(results)))
    return tuple(results)


def _py_func(name: str, stateful: bool, doc: str) -> OpDef[list[Tensor]]:
    return OpDef(
        name,
        "input: [Tin]",
        "output: [Tout]",
        doc + "\n\ninput: tensors of any dtypes. output: tensors of the dtypes `Tout`, of any shapes.",
        types={"Tin": ALL_AND_QUANTIZED, "Tout": ALL_AND_QUANTIZED},
        attrs=PyFuncAttrs,
        infer=_unknown,
        host=_call,
        grad=NOT_DIFFERENTIABLE,
        stateful=stateful,
        dynamic=True,
        blocking=True,
        calls_user=True,
    )


PY_FUNC = _py_func("PyFunc", True, "Calls a Python function with the values of the inputs.")
PY_FUNC_STATELESS = _py_func(
    "PyFuncStateless",
    False,
    "Calls a Python function without side effects whose result depends only on its inputs.",
)


def py_func(
    func: Callable[..., Any],
    inp: Sequence[Any],
    Tout: Any,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Adds a node that calls a Python function on NumPy arrays.

    func: called with the values of `inp` (arrays of its own, which it may change and keep; for shape () scalars of
    NumPy, or bytes); returns one array or value per output, or a list of them, which it may change later.
    Tout: a dtype, or a list of dtypes. stateful=False permits merging equal calls, and
    calling it only once for constant inputs. Returns a tensor, a list of tensors when Tout is a list, or the operation
    when the list is empty and the function stateful. At run time a result that does not match `Tout` raises
    `InvalidArgumentError`. An exception in the function raises `InvalidArgumentError` (for `ValueError`, `TypeError`),
    `OutOfRangeError` (`StopIteration`), `ResourceExhaustedError` (`MemoryError`), `UnimplementedError`
    (`NotImplementedError`) or else `UnknownError`, also for `SystemExit`; what a signal's handler raises stays.
    """
    if not callable(func):
        raise InvalidArgumentError(f"py_func needs a function, got {func!r}")
    listed = isinstance(Tout, (list, tuple))
    types = [as_dtype(t) for t in Tout] if listed else [as_dtype(Tout)]
    op = PY_FUNC if stateful else PY_FUNC_STATELESS
    token = f"pyfunc_{next(_TOKENS)}"
    graph = graph_of((inp,))
    bound = bind(op, [list(inp)], {"Tout": types, "token": token, "function": func}, graph.to_tensor)
    node = graph.add_node(op, bound.inputs, bound.attrs, bound.types, name)
    if not types and stateful:
        return node
    return list(node.outputs) if listed else node.outputs[0]


OPS: tuple[OpDef, ...] = (PY_FUNC, PY_FUNC_STATELESS)
API: dict[str, Any] = {"py_func": py_func}
