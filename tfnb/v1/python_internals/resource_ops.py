"""`tf.raw_ops` on resource variables, by the operations on reference variables that do the same.

A variable has one form here, the reference, as graphs from files show (`ir/graphdef/resource_variables.py`): the handle
that `VarHandleOp` returns is a reference. Invariant: the arguments are TensorFlow's, and each is passed on or checked.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from tfnb.client.graph.raw_ops import raw_op
from tfnb.client.namespace import Lazy
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.array.batch_functions import gather
from tfnb.types import as_dtype
from tfnb.v1.argument_types import TensorOrVariable

__all__ = ["API"]

# operation on a handle <- operation on a reference: argument=argument there; checked arguments stand behind "/"
_TABLE = """
VarHandleOp <- VariableV2
ReadVariableOp <- Identity : resource=input / dtype
AssignVariableOp <- Assign : resource=ref
AssignAddVariableOp <- AssignAdd : resource=ref
AssignSubVariableOp <- AssignSub : resource=ref
VarIsInitializedOp <- IsVariableInitialized : resource=ref
VariableShape <- Shape
ResourceGatherNd <- GatherNd : resource=params / dtype
ResourceCountUpTo <- CountUpTo : resource=ref / T
ResourceScatterAdd <- ScatterAdd : resource=ref
ResourceScatterDiv <- ScatterDiv : resource=ref
ResourceScatterMax <- ScatterMax : resource=ref
ResourceScatterMin <- ScatterMin : resource=ref
ResourceScatterMul <- ScatterMul : resource=ref
ResourceScatterSub <- ScatterSub : resource=ref
ResourceScatterUpdate <- ScatterUpdate : resource=ref
ResourceScatterNdAdd <- ScatterNdAdd
ResourceScatterNdSub <- ScatterNdSub
ResourceScatterNdUpdate <- ScatterNdUpdate
ResourceStridedSliceAssign <- StridedSliceAssign
"""
_RULES = """
Adadelta Adagrad AdagradDA AdagradV2 CenteredRMSProp Ftrl FtrlV2 KerasMomentum Momentum ProximalAdagrad
ProximalGradientDescent RMSProp
"""
_DENSE_ONLY = "AdaMax Adam AdamWithAmsgrad AddSign GradientDescent PowerSign"
_VALUES = ("VarHandleOp", "ReadVariableOp", "VarIsInitializedOp", "VariableShape", "ResourceGatherNd")
_COUNTS = ("ResourceCountUpTo",)


def _function(name: str, original: str, renamed: dict[str, str], checked: tuple[str, ...]) -> Callable[..., Any]:
    """The function `tf.raw_ops.name`, which adds a node of the operation `original` on the variable itself."""
    add = raw_op(original)
    names = {new: old for old, new in renamed.items()}
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [p.replace(name=names.get(p.name, p.name)) for p in inspect.signature(add).parameters.values()]
    signature = inspect.Signature([*(inspect.Parameter(n, kind) for n in checked), *parameters])
    has_value = name in (*_VALUES, *_COUNTS)

    def function(**arguments: Any) -> Any:
        try:
            signature.bind(**arguments)
        except TypeError as e:
            raise InvalidArgumentError(f"tf.raw_ops.{name}{signature}: {e}") from None
        for argument in checked:
            _check_dtype(name, arguments.pop(argument), next(iter(arguments.values())))
        made = add(**{renamed.get(n, n): value for n, value in arguments.items()})
        return made if has_value else made.op

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Adds a node of the operation {original}, which does on a reference what {name} does."
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def _check_dtype(name: str, dtype: object, variable: TensorOrVariable) -> None:
    if as_dtype(dtype) is not variable.dtype.base_dtype:
        raise DTypeError(f"tf.raw_ops.{name}: the variable is {variable.dtype.name}, needed {as_dtype(dtype).name}")


def resource_gather(
    *,
    resource: TensorOrVariable,
    indices: TensorLike,
    dtype: object,
    batch_dims: int = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """Returns the rows `indices` of the variable `resource`, or with `batch_dims` those of each of its parts.

    indices: int32 or int64, any shape. Raises `DTypeError` unless `dtype` is the variable's.
    """
    _check_dtype("ResourceGather", dtype, resource)
    if batch_dims:
        return gather(resource, indices, validate_indices, name, batch_dims=batch_dims)
    return raw_op("Gather")(params=resource, indices=indices, validate_indices=validate_indices, name=name)


def _names() -> dict[str, Any]:
    found: dict[str, Any] = {"raw_ops.ResourceGather": resource_gather}
    rules = [f"Apply{rule}" for rule in (*_RULES.split(), *_DENSE_ONLY.split())]
    rules += [f"SparseApply{rule}" for rule in _RULES.split()]
    lines = [*filter(None, _TABLE.splitlines()), *(f"Resource{rule} <- {rule}" for rule in rules)]
    for line in lines:
        operations, _, rest = line.partition(" : ")
        name, _, original = operations.partition(" <- ")
        arguments, _, checked = rest.partition("/")
        renamed = dict(pair.split("=") for pair in arguments.split())
        found[f"raw_ops.{name}"] = Lazy(partial(_function, name, original.strip(), renamed, tuple(checked.split())))
    return found


API: dict[str, Any] = _names()
