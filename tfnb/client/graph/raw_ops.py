"""`tf.raw_ops`: a function for each operation of the catalogue that takes its inputs and attributes by keyword alone.

Invariant: a function adds exactly one node, of the operation that has its name.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tfnb.client.namespace import Lazy
from tfnb.errors import InvalidArgumentError, UnimplementedError
from tfnb.ops import CATALOG, op_function
from tfnb.types import DType, Shape, as_dtype, as_shape

__all__ = ["API", "raw_op"]

_AXIS = {"reduction_indices": "axis"}
# operation -> the names that TensorFlow's function has for inputs and attributes, by those that tfnb's function has
_RENAMED: Mapping[str, Mapping[str, str]] = {
    **dict.fromkeys(("All", "Any", "EuclideanNorm", "Max", "Mean", "Min", "Prod", "Sum"), _AXIS),
    "ExpandDims": {"dim": "axis"},
    "Select": {"t": "x", "e": "y"},
    "Split": {"split_dim": "axis"},
    "SplitV": {"split_dim": "axis"},
    "Squeeze": {"squeeze_dims": "axis"},
    "Where": {"input": "condition"},
}


def raw_op(op_name: str) -> Callable[..., Any]:
    """Returns the function that adds a node of the operation `op_name`, and takes arguments by keyword alone.

    An attribute of which the operation serves one value alone, or any since it has no effect, is an argument too.
    Raises `NotFoundError` when there is no such operation.
    """
    op = CATALOG[op_name]
    add = op_function(op, op_name)
    renamed = _RENAMED.get(op_name, {})
    originals = {new: old for old, new in renamed.items()}
    hints = typing.get_type_hints(op.attrs)
    of_op = inspect.signature(add).parameters.values()
    parameters = [p.replace(name=renamed.get(p.name, p.name), kind=p.KEYWORD_ONLY) for p in of_op]
    parameters = [p.replace(default=op.defaults.get(p.name, p.default)) for p in parameters]
    served = {name: value for name, value in op.defaults.items() if name not in {*hints, *op.types}}
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters += [inspect.Parameter(name, kind, default=value) for name, value in served.items()]
    signature = inspect.Signature(parameters)

    def function(**arguments: object) -> Any:
        try:
            bound = signature.bind(**arguments)
        except TypeError as e:
            raise InvalidArgumentError(f"tf.raw_ops.{op_name}{signature}: {e}") from None
        bound.apply_defaults()
        for name, value in served.items():
            given = bound.arguments.pop(name)
            if value is not None and given != value:
                raise UnimplementedError(f"tf.raw_ops.{op_name}: {name}={given!r} is not served, needed {value!r}")
        names = {originals.get(name, name): value for name, value in bound.arguments.items()}
        return add(**{name: _as_declared(hints.get(name), value) for name, value in names.items()})

    function.__name__ = function.__qualname__ = op_name
    function.__doc__ = f"Adds a node of the operation {op_name}. {op.doc}"
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def _as_declared(hint: object, value: object) -> Any:
    """Returns shapes and dtypes, and sequences of them, as the attribute's annotation has them."""
    options = [t for t in typing.get_args(hint) if t is not type(None)] or [hint]
    if typing.get_origin(hint) is tuple and isinstance(value, (list, tuple)):
        return tuple(_as_declared(options[0], v) for v in value)
    if options[0] is Shape and value is not None:
        return as_shape(value)
    return as_dtype(value) if options[0] is DType and value is not None else value


_INTERNAL = "LoopProductsSum"  # has an input and an attribute of one name, and is added by gradients of loops alone
API: dict[str, Any] = {f"raw_ops.{name}": Lazy(partial(raw_op, name)) for name in CATALOG if name != _INTERNAL}
