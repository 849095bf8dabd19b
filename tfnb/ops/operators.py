"""The meaning of Python's operators on tensors (TensorFlow 0.x and 1.x semantics).

Invariant: the operand that is a tensor determines the dtype; a Python or NumPy value on the other side is converted
to it. `/` is the true quotient for integers too, `//` rounds down, and `==` compares identities, not elements.

They are installed by one call in `tfnb/ops/__init__.py`, because the catalogue is a layer above the class of tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.ir.opdef import OpDef
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor
from tfnb.ops.array import gather
from tfnb.ops.array.pack import pack_nested
from tfnb.ops.array.strided_slice import getitem
from tfnb.ops.linalg.matmul import matmul
from tfnb.ops.math.binary import ADD, FLOOR_DIV, FLOOR_MOD, MUL, POW, SUB, div, operands, truediv
from tfnb.ops.math.compare import (
    GREATER,
    GREATER_EQUAL,
    LESS,
    LESS_EQUAL,
    LOGICAL_AND,
    LOGICAL_NOT,
    LOGICAL_OR,
    logical_xor,
)
from tfnb.ops.math.reduce import PROD
from tfnb.ops.math.unary import NEG, absolute
from tfnb.ops.sparse.functions import sparse_divide, sparse_multiply

__all__ = ["OPERATORS", "OPS"]


def _of(op: OpDef, name: str | None = None) -> Callable[[Any, Any], Any]:
    def operator(x: Tensor, y: Tensor) -> Any:
        x, y, full_name = operands(x, y, name or op.name)
        return op(x, y, name=full_name)

    operator.__name__ = op.name
    return operator


def _divided(x: Tensor, y: Tensor) -> Any:
    return truediv(x, y, "truediv")


def _multiplied(x: Tensor, y: Tensor) -> Any:
    """x * y elementwise. If y is a `SparseTensor`, the product is sparse as well."""
    if isinstance(y, SparseTensor):
        return sparse_multiply(y, x)
    x, y, name = operands(x, y, "mul")
    return MUL(x, y, name=name)


OPS: tuple[OpDef, ...] = ()
OPERATORS: dict[str, Callable[..., Any]] = {
    "add": _of(ADD, "add"),
    "sub": _of(SUB, "sub"),
    "mul": _multiplied,
    "truediv": _divided,
    "div": div,
    "floordiv": _of(FLOOR_DIV, "floordiv"),
    "mod": _of(FLOOR_MOD, "mod"),
    "pow": _of(POW, "pow"),
    "matmul": matmul,
    "and": _of(LOGICAL_AND, "and"),
    "or": _of(LOGICAL_OR, "or"),
    "xor": logical_xor,
    "lt": _of(LESS),
    "le": _of(LESS_EQUAL),
    "gt": _of(GREATER),
    "ge": _of(GREATER_EQUAL),
    "neg": NEG,
    "abs": absolute,
    "invert": LOGICAL_NOT,
    "getitem": getitem,
    "pack_nested": pack_nested,
    "product": lambda x: PROD(x, np.int32(0)),
    "sparse_mul": sparse_multiply,
    "sparse_div": sparse_divide,
    **gather.OPERATORS,
}
