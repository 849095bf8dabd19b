"""Elementwise arithmetic on two tensors that broadcast together, and the sum of many tensors (white paper, Table 1).

Invariant: both operands and the result have one dtype; the gradient of an operand is summed to the operand's shape.
The quotient of an integer and zero is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfnb.errors import DTypeError, InvalidArgumentError, ShapeError
from tfnb.ir import scalar as s
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import (
    GRADIENT_MISSING,
    NOT_DIFFERENTIABLE,
    GradFn,
    GradientMissing,
    Infer,
    NoAttrs,
    NotDifferentiable,
    OpDef,
)
from tfnb.ir.operation import Operation
from tfnb.ir.scalar import Expr
from tfnb.ir.shapes import broadcast, unlike
from tfnb.ir.tensor import Tensor, TensorLike, is_tensor_like
from tfnb.ops.array.constants import ONES_LIKE, ZEROS_LIKE
from tfnb.ops.array.identity import ShapeAttrs
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.ops.math.cast import cast_to
from tfnb.ops.math.compare import GREATER_EQUAL, LESS_EQUAL, NOT_EQUAL, SELECT
from tfnb.ops.math.complex_numbers import holomorphic
from tfnb.ops.math.reduce_sum import unbroadcast
from tfnb.ops.math.unary import LOG, SQUARE
from tfnb.types import (
    COMPLEX,
    FLOATS,
    INTS,
    NUMBERS,
    REALS,
    DType,
    DTypeLike,
    Shape,
    as_dtype,
    bracketed,
    float32,
    float64,
    string,
    unknown_shape,
)

__all__ = [
    "ADD",
    "ADD_N",
    "API",
    "DIV",
    "FLOOR_DIV",
    "FLOOR_MOD",
    "MAXIMUM",
    "MINIMUM",
    "MUL",
    "OPS",
    "POW",
    "REAL_DIV",
    "SUB",
    "div",
    "floordiv",
    "operands",
    "truediv",
    "quotient_dtype",
]

_TYPE_WORDS = {
    (*FLOATS, *COMPLEX): "the same float or complex type",
    FLOATS: "one float type",
    NUMBERS: "one number type",
    REALS: "one real number type",
    INTS: "one integer type",
    (*NUMBERS, string): "numbers or strings",
}


def _both(fn: Callable[..., tuple[Any, Any]]) -> Callable[[Any, Any], Any]:
    """Makes a gradient function from `fn(op, dy, x, y)`, which returns both gradients in the broadcast shape."""

    def grad(op: Operation, dy: Tensor) -> Any:
        x, y = op.inputs
        return unbroadcast(x, y, *fn(op, dy, x, y))

    return grad


def _binary(
    name: str,
    formula: str,
    fn: Callable[[Expr, Expr], Expr],
    grad: GradFn | NotDifferentiable | GradientMissing | None,
    api: str,
    types: tuple[DType, ...] = REALS,
    inputs: str = "x: T, y: T",
) -> OpDef[Tensor]:
    first, second = (part.partition(":")[0].strip() for part in inputs.split(","))
    return OpDef(
        name,
        inputs=inputs,
        outputs="z: T",
        types={"T": types},
        doc=f"""Elementwise z = {formula}, broadcasting.

        {first}, {second}: {_TYPE_WORDS[types]}; their shapes must broadcast together. z: the same dtype, the
        broadcast shape. Errors: the dtypes differ, or the shapes do not broadcast.""",
        infer=broadcast,
        scalar=lambda attrs, x, y: fn(x, y),
        grad=holomorphic(grad) if callable(grad) else grad,
        api=api,
    )


def _grad_quotient(op: Operation, dy: Tensor, x: Tensor, y: Tensor) -> tuple[Any, Any]:
    return dy / y, dy * (-x / y / y)


def _grad_pow(op: Operation, dy: Tensor, x: Tensor, y: Tensor) -> tuple[Any, Any]:
    positive = NOT_EQUAL(x, ZEROS_LIKE(x)) if x.dtype.is_complex else x > 0
    base = SELECT(positive, x, ONES_LIKE(x))  # avoids log(x) = NaN where x is not positive
    log_x = SELECT(positive, LOG(base), ZEROS_LIKE(x))
    return dy * y * POW(x, y - 1), dy * op.y * log_x


def _chosen(condition: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., tuple[Any, Any]]:
    """The gradient function of a minimum or maximum: the selected operand gets it, the first one if both are equal."""

    def grads(op: Operation, dy: Tensor, x: Tensor, y: Tensor) -> tuple[Any, Any]:
        first, zeros = condition(x, y), ZEROS_LIKE(dy)
        return SELECT(first, dy, zeros), SELECT(first, zeros, dy)

    return grads


def _grad_difference(op: Operation, dy: Tensor, x: Tensor, y: Tensor) -> tuple[Any, Any]:
    g = dy * (2.0 * (x - y))
    return g, -g


def _grad_atan2(op: Operation, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Any, Any]:
    share = dy / (SQUARE(x) + SQUARE(y))
    return share * x, -share * y


def _div_no_nan(x: Expr, y: Expr) -> Expr:
    zero = s.const(0, y.dtype)
    return s.where(s.eq(y, zero), zero, s.div(x, y))


ADD = _binary(
    "Add",
    "x + y; strings are concatenated",
    s.add,
    _both(lambda op, dy, x, y: (dy, dy)),
    "add",
    (*NUMBERS, string),
)
SUB = _binary("Sub", "x - y", s.sub, _both(lambda op, dy, x, y: (dy, -dy)), "sub subtract", NUMBERS)
MUL = _binary("Mul", "x y", s.mul, _both(lambda op, dy, x, y: (dy * y, dy * x)), "mul multiply", NUMBERS)
DIV = _binary("Div", "x / y; for integers without the fraction", s.div, _both(_grad_quotient), "", NUMBERS)
REAL_DIV = _binary("RealDiv", "x / y", s.div, _both(_grad_quotient), "realdiv", NUMBERS)
TRUNCATE_DIV = _binary(
    "TruncateDiv",
    "x / y without its fraction (towards zero)",
    s.div,
    NOT_DIFFERENTIABLE,
    "truncatediv",
    INTS,
)
FLOOR_DIV = _binary("FloorDiv", "x / y rounded down to a whole number", s.floordiv, NOT_DIFFERENTIABLE, "floor_div")
FLOOR_MOD = _binary(
    "FloorMod",
    "x - y floor(x / y), the remainder with the sign of y",
    s.floormod,
    _both(lambda op, dy, x, y: (dy, dy * -FLOOR_DIV(x, y))),
    "mod floormod",
)
TRUNCATE_MOD = _binary(
    "TruncateMod",
    "the remainder with the sign of x, as C's",
    s.truncmod,
    GRADIENT_MISSING,
    "truncatemod",
)
MOD = _binary("Mod", "the remainder with the sign of x, as C's", s.truncmod, GRADIENT_MISSING, "")
DIV_NO_NAN: OpDef[Tensor] = _binary(
    "DivNoNan",
    "x / y, but 0 where y is 0",
    _div_no_nan,
    _both(lambda op, dy, x, y: (DIV_NO_NAN(dy, y), dy * DIV_NO_NAN(DIV_NO_NAN(-x, y), y))),
    "div_no_nan",
    (*FLOATS, *COMPLEX),
)
POW = _binary("Pow", "x to the power y", s.pow_, _both(_grad_pow), "pow", NUMBERS)
MAXIMUM = _binary(
    "Maximum",
    "the larger of x and y",
    s.maximum,
    _both(_chosen(lambda x, y: GREATER_EQUAL(x, y))),
    "maximum",
)
MINIMUM = _binary(
    "Minimum",
    "the smaller of x and y",
    s.minimum,
    _both(_chosen(lambda x, y: LESS_EQUAL(x, y))),
    "minimum",
)
SQUARED_DIFFERENCE = _binary(
    "SquaredDifference",
    "(x - y)^2",
    lambda x, y: s.sub(x, y) * s.sub(x, y),
    _both(_grad_difference),
    "squared_difference",
)
ATAN2 = _binary(
    "Atan2",
    "the angle of the point (x, y) from the x axis, in (-pi, pi]",
    s.atan2,
    _both(_grad_atan2),
    "atan2",
    FLOATS,
    "y: T, x: T",
)


def _merged(c: Infer) -> Shape:
    out = unknown_shape
    for i, shape in enumerate(c.shapes):
        if not out.is_compatible_with(shape):
            raise ShapeError(
                f"{c.op_name}: {unlike(out, shape)}. Inputs must have the same size and shape: input {i} has "
                f"{bracketed(shape.sizes)}, those before it {bracketed(out.sizes)}"
            )
        out = out.merge_with(shape)
    return out


def _add_all(attrs: NoAttrs, *xs: Expr) -> Expr:
    total = xs[0]
    for x in xs[1:]:
        total = s.add(total, x)
    return total


ADD_N: OpDef[Tensor] = OpDef(
    "AddN",
    inputs="inputs: N*T",
    outputs="sum: T",
    types={"T": NUMBERS},
    doc="""The elementwise sum of tensors of one shape, without broadcasting.

    inputs: at least one tensor; all have the same number type and shape. sum: that dtype and shape. Errors: the
    shapes differ.""",
    infer=_merged,
    scalar=_add_all,
    grad=lambda op, dy: (dy,) * len(op.inputs),
)


def operands(
    x: TensorLike, y: TensorLike, name: str, inputs: tuple[str, str] = ("x", "y")
) -> tuple[Tensor, Tensor, str]:
    """Returns x and y as tensors of one dtype, and the name for the operation on them, after which constants are named.

    The dtype is that of the operand which already is a tensor, otherwise that of x. `inputs`: the last parts of the
    names of constants, as `y` in `add/y`.
    """
    graph = graph_of((x, y))
    if is_tensor_like(x) and is_tensor_like(y):
        x = graph.to_tensor(x)
        return x, graph.to_tensor(y, x.dtype), name
    if is_tensor_like(y):
        y = graph.to_tensor(y)
        name, constant = graph.reserve(name, inputs[0])
        return graph.to_tensor(x, y.dtype, name=constant), y, name
    if is_tensor_like(x):
        x = graph.to_tensor(x)
        name, constant = graph.reserve(name, inputs[1])
        return x, graph.to_tensor(y, x.dtype, name=constant), name
    name, *constants = graph.reserve(name, *inputs)
    x = graph.to_tensor(x, name=constants[0])
    return x, graph.to_tensor(y, x.dtype, name=constants[1]), name


def quotient_dtype(dtype: DType) -> DType:
    """Returns the dtype of the true quotient of two numbers of `dtype`."""
    if dtype.is_floating or dtype.is_complex:
        return dtype
    return float32 if dtype.size < 4 else float64


def truediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns the true quotient x / y elementwise, as Python's `/`.

    x, y: one number type, shapes that broadcast. Integers are converted first: 8 and 16 bits to float32, wider ones to
    float64. Raises `InvalidArgumentError` when the dtypes differ.
    """
    x, y, name = operands(x, y, name or "truediv")
    if x.dtype is not y.dtype:
        raise InvalidArgumentError(f"truediv: x is {x.dtype.name}, y is {y.dtype.name}; use tf.cast")
    target_dtype = quotient_dtype(x.dtype)
    return REAL_DIV(cast_to(x, target_dtype), cast_to(y, target_dtype), name=name)


def div(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Divides as Python 2's `/`: integers give the quotient rounded down, floats the true quotient.

    x, y: one number type, shapes that broadcast. The result has their dtype.
    """
    x, y, name = operands(x, y, name or "div")
    return (FLOOR_DIV if x.dtype.is_integer else REAL_DIV)(x, y, name=name)


def floordiv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns x / y elementwise, rounded down to a whole number.

    x, y: one number type, shapes that broadcast. The result has their dtype.
    """
    return FLOOR_DIV(x, y, name=name)


def add_n(inputs: TensorLike, name: str | None = None) -> Any:
    """Returns the elementwise sum of a list of tensors of one shape and dtype.

    Raises `InvalidArgumentError` when the list is empty, and an error when shapes or dtypes differ.
    """
    items = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    if not items:
        raise InvalidArgumentError("add_n needs at least one tensor")
    if len(items) == 1:
        return IDENTITY(items[0], name=name) if name else graph_of(items).to_tensor(items[0])
    return ADD_N(items, name=name)


def accumulate_n(
    inputs: TensorLike, shape: TensorLike | None = None, tensor_dtype: DTypeLike | None = None, name: str | None = None
) -> Any:
    """Returns the elementwise sum of a list of tensors of one shape and dtype.

    Raises an error when `shape` or `tensor_dtype` is given and the tensors do not match it.
    """
    total = add_n(inputs, name)
    if tensor_dtype is not None and as_dtype(tensor_dtype) is not total.dtype.base_dtype:
        raise DTypeError(f"accumulate_n: the tensors are {total.dtype.name}, tensor_dtype is {tensor_dtype}", total.op)
    if shape is not None:
        total.set_shape(shape)
    return total


ACCUMULATE_N_V2: OpDef[Tensor] = OpDef(
    "AccumulateNV2",
    inputs="inputs: N*T",
    outputs="sum: T",
    types={"T": REALS},
    attrs=ShapeAttrs,
    doc="""The elementwise sum of tensors of one shape, as `AddN`.

    inputs: at least one tensor; all have the same number type and shape. sum: that dtype and shape. Errors: the
    shapes differ.""",
    infer=ADD_N.infer,
    scalar=ADD_N.scalar,
    grad=lambda op, dy: (dy,) * len(op.inputs),
)


OPS: tuple[OpDef, ...] = (
    ADD,
    SUB,
    MUL,
    DIV,
    REAL_DIV,
    TRUNCATE_DIV,
    FLOOR_DIV,
    FLOOR_MOD,
    TRUNCATE_MOD,
    MOD,
    DIV_NO_NAN,
    POW,
    MAXIMUM,
    MINIMUM,
    SQUARED_DIFFERENCE,
    ATAN2,
    ADD_N,
    ACCUMULATE_N_V2,
)
API: dict[str, Any] = {
    "div": div,
    "truediv": truediv,
    "divide": truediv,
    "floordiv": floordiv,
    "add_n": add_n,
    "accumulate_n": accumulate_n,
}
