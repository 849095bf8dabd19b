"""`tf.raw_ops`: a function for each operation of the catalogue that takes its inputs and attributes by keyword alone.

Invariant: a function adds exactly one node, of the operation that has its name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tfnb.client.namespace import Lazy
from tfnb.errors import InvalidArgumentError
from tfnb.ops import CATALOG, op_function

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

    Raises `NotFoundError` when there is no such operation.
    """
    op = CATALOG[op_name]
    add = op_function(op, op_name)
    renamed = _RENAMED.get(op_name, {})
    originals = {new: old for old, new in renamed.items()}
    of_op = inspect.signature(add).parameters.values()
    parameters = [p.replace(name=renamed.get(p.name, p.name), kind=p.KEYWORD_ONLY) for p in of_op]
    signature = inspect.Signature(parameters)

    def function(**arguments: Any) -> Any:
        try:
            signature.bind(**arguments)
        except TypeError as e:
            raise InvalidArgumentError(f"tf.raw_ops.{op_name}{signature}: {e}") from None
        return add(**{originals.get(name, name): value for name, value in arguments.items()})

    function.__name__ = function.__qualname__ = op_name
    function.__doc__ = f"Adds a node of the operation {op_name}. {op.doc}"
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


_INTERNAL = "LoopProductsSum"  # has an input and an attribute of one name, and is added by gradients of loops alone
API: dict[str, Any] = {f"raw_ops.{name}": Lazy(partial(raw_op, name)) for name in CATALOG if name != _INTERNAL}
