"""Optional values, and sums and zeros of variant tensors, which the gradients of functional control flow use.

TensorFlow 1.x writes these ops for `If` and `While`; they run on the host. Invariant: an op never changes the object in
a variant tensor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.shapes import scalar_shape
from tfnb.ir.tensor import Tensor
from tfnb.ops.state.handles import make_handle, resource_of
from tfnb.ops.state.tensor_list_kernels import host_zeros
from tfnb.ops.state.tensor_list_value import Optional, TensorList
from tfnb.types import ANY, Shape, as_dtype, as_shape, scalar, unknown_shape

__all__ = ["API", "OPS"]


@record
class GetAttrs:
    """`output_shapes`: the static shape of each component."""

    output_shapes: tuple[Shape, ...] = ()


@record
class FakeAttrs:
    """`shape`: the static shape."""

    shape: Shape = unknown_shape


def _none(call: HostCall) -> tuple[Any]:
    return (make_handle(Optional()),)


def _from_value(call: HostCall, *components: np.ndarray) -> tuple[Any]:
    return (make_handle(Optional(components)),)


def _optional(call: HostCall, handle: np.ndarray) -> Optional:
    return resource_of(np.asarray(handle, object), Optional, call.op)


def _get(call: HostCall, handle: np.ndarray) -> tuple[Any, ...]:
    components = _optional(call, handle).components
    dtypes = call.types["output_types"]
    if components is None:
        raise InvalidArgumentError("OptionalGetValue: the optional has no value", call.op)
    if [as_dtype(call.tools.dtype_name(v)) for v in components if not _is_object(v)] != [
        t for t, v in zip(dtypes, components, strict=False) if not _is_object(v)
    ] or len(components) != len(dtypes):
        raise InvalidArgumentError(f"OptionalGetValue: the optional does not hold {[t.name for t in dtypes]}", call.op)
    return components


def _is_object(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.hasobject


def _has(call: HostCall, handle: np.ndarray) -> np.ndarray:
    return np.asarray(_optional(call, handle).components is not None)


def _fake(call: HostCall) -> np.ndarray:
    """Zeros of the static shape, with size 0 where it is unknown; the value is never used."""
    dtype, shape = call.outputs[0].dtype, call.attrs.shape
    if dtype.kind == "r":
        return make_handle(Optional())
    return host_zeros(dtype, [n or 0 for n in shape.sizes or ()])


def _zeros(call: HostCall, x: np.ndarray) -> tuple[Any]:
    return (make_handle(_zeros_of(call, np.asarray(x, object).item())),)


def _zeros_of(call: HostCall, value: np.ndarray) -> Any:
    if isinstance(value, TensorList):
        return value.with_items([None if item is None else _zero(call, item) for item in value.items])
    if isinstance(value, Optional):
        parts = value.components
        return Optional(None if parts is None else tuple(_zero(call, v) for v in parts))
    raise InvalidArgumentError(f"{call.op.type}: {type(value).__name__} has no zero", call.op)


def _zero(call: HostCall, value: np.ndarray) -> np.ndarray:
    if _is_object(value) and value.ndim == 0 and isinstance(value.item(), (TensorList, Optional)):
        return make_handle(_zeros_of(call, value.item()))
    return host_zeros(as_dtype(call.tools.dtype_name(value)), call.tools.shape(value))


def _add(call: HostCall, *inputs: object) -> tuple[Any]:
    total = np.asarray(inputs[0], object).item()
    for x in inputs[1:]:
        total = _sum_of(call, total, np.asarray(x, object).item())
    return (make_handle(total),)


def _sum_of(call: HostCall, a: np.ndarray, b: np.ndarray) -> Any:
    if isinstance(a, TensorList) and isinstance(b, TensorList):
        items = [_sum(call, x, y) for x, y in zip(a.items, b.items, strict=False)]
        return a.merged(b).with_items(items)
    if isinstance(a, Optional) and isinstance(b, Optional):
        if a.components is None or b.components is None:
            return a if b.components is None else b
        return Optional(tuple(_sum(call, x, y) for x, y in zip(a.components, b.components, strict=True)))
    raise InvalidArgumentError(f"{call.op.type}: cannot add {type(a).__name__} and {type(b).__name__}", call.op)


def _sum(call: HostCall, x: Any, y: np.ndarray) -> Any:
    if x is None or y is None:
        return y if x is None else x
    if _is_object(x):
        return make_handle(_sum_of(call, x.item(), y.item()))
    return call.tools.add([x, y])


def _got_shapes(c: Infer) -> tuple[Shape, ...]:
    shapes = c.attrs.output_shapes
    count = len(c.types["output_types"])
    return tuple(as_shape(s) for s in shapes) if len(shapes) == count else (unknown_shape,) * count


def _grad_get(op: Operation, *dys: Tensor | None) -> Tensor:
    return FROM_VALUE(list(dys))


def _grad_from_value(op: Operation, dy: Tensor) -> Any:
    grads = GET_VALUE(dy, output_types=[t.dtype for t in op.inputs], output_shapes=[t.shape for t in op.inputs])
    return tuple(grads)


FROM_VALUE: OpDef[Tensor] = OpDef(
    "OptionalFromValue",
    "components: [Toutput_types]",
    "optional: variant",
    "An optional that contains the tensors `components`: a scalar. Host only.",
    types={"Toutput_types": ANY},
    infer=scalar_shape,
    host=_from_value,
    grad=_grad_from_value,
    stateful=True,
    raw=True,
)
NONE: OpDef[Tensor] = OpDef(
    "OptionalNone",
    "",
    "optional: variant",
    "An optional without contents: a scalar. Host only.",
    infer=scalar_shape,
    host=_none,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
    raw=True,
)
GET_VALUE: OpDef[list[Tensor]] = OpDef(
    "OptionalGetValue",
    "optional: variant",
    "components: [output_types]",
    "The tensors in an optional. Host only. Errors: it is empty, or contains other tensors.",
    types={"output_types": ANY},
    attrs=GetAttrs,
    infer=_got_shapes,
    host=_get,
    grad=_grad_get,
    stateful=True,
    raw=True,
)
HAS_VALUE: OpDef[Tensor] = OpDef(
    "OptionalHasValue",
    "optional: variant",
    "has_value: bool",
    "True if the optional contains tensors; a bool scalar. Host only.",
    infer=scalar_shape,
    host=_has,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)
FAKE_PARAM: OpDef[Tensor] = OpDef(
    "FakeParam",
    "",
    "output: dtype",
    "A placeholder for a value that the other branch of an `If` computes; its contents are never used. Host only.",
    types={"dtype": ANY},
    attrs=FakeAttrs,
    infer=lambda c: c.attrs.shape,
    host=_fake,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
)
VARIANT_ZEROS: OpDef[Tensor] = OpDef(
    "VariantZerosLike",
    "x: variant",
    "y: variant",
    "TensorFlow's ZerosLike for variants: a list or an optional of zeros. Host only. Errors: another object.",
    infer=lambda c: scalar,
    host=_zeros,
    grad=NOT_DIFFERENTIABLE,
    stateful=True,
    raw=True,
)
VARIANT_ADD: OpDef[Tensor] = OpDef(
    "VariantAddN",
    "inputs: N*variant",
    "sum: variant",
    "TensorFlow's AddN for variants: lists are added element by element, and so are optionals. Host only.\n\n"
    "Elements that are not set count as zeros. Errors: the lists have different lengths or dtypes.",
    infer=lambda c: scalar,
    host=_add,
    grad=lambda op, dy: (dy,) * len(op.inputs),
    stateful=True,
    raw=True,
)

OPS: tuple[OpDef, ...] = (FROM_VALUE, NONE, GET_VALUE, HAS_VALUE, FAKE_PARAM, VARIANT_ZEROS, VARIANT_ADD)
API: dict[str, Any] = {}
