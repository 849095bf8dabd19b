"""Programs written by hand, as code generation would make them."""

from __future__ import annotations

from tfnb.codegen.program import F32, I32, Copy, Launch, Module, Program, Slot, VariableUse
from tfnb.ir.kernelcall import TensorInfo
from tfnb.types import float32

ADD = Module(
    "__kernel void add(__global const float *a, __global const float *b, __global float *c)"
    "{ size_t i = get_global_id(0); c[i] = a[i] + b[i]; }"
    "__kernel void scale(__global const float *a, __global float *b, float by)"
    "{ size_t i = get_global_id(0); b[i] = a[i] * by; }"
    "__kernel void update(__global float *v, __global const float *d, float by)"
    "{ size_t i = get_global_id(0); v[i] += d[i] * by; }"
    "__kernel void bits(__global const uint *state, __global float *b)"
    "{ for (int i = 0; i < 4; ++i) b[i] = state[i]; }"
)


def vector(n: int) -> TensorInfo:
    return TensorInfo(float32, (n,))


def sized(slot: Slot, n: int) -> Slot:
    return Slot(slot.kind, slot.index, slot.offset, 4 * n)


def add_scale(n: int, by: float = 2.0, name: str = "add_scale") -> Program:
    """(a + b) * by, through the arena."""
    a, b, out, middle = (sized(Slot(k, i), n) for k, i in (("input", 0), ("input", 1), ("output", 0), ("arena", 0)))
    return Program(
        name,
        (ADD,),
        (
            Launch(0, "add", (a, b, middle), (n, 1, 1), nodes=(1,), label="add"),
            Launch(0, "scale", (middle, out, F32(by)), (n, 1, 1), nodes=(2,)),
        ),
        (vector(n), vector(n)),
        (vector(n),),
        (),
        (),
        (),
        4 * n,
    )


def product(n: int) -> Program:
    """Of two n x n matrices given as vectors, by the library's kernel: cut in two where that pays."""
    a, b, c = (sized(Slot(k, i), n * n) for k, i in (("input", 0), ("input", 1), ("output", 0)))
    args = (a, b, c, c, I32(n), I32(n), I32(n), I32(0), I32(0), I32(1))
    launch = Launch(0, "matmul", args, (1 if n < 128 else 2, 1, 1), nodes=(1,))
    infos = (vector(n * n), vector(n * n)), (vector(n * n),)
    return Program("product", (Module(file="linalg/matmul.cl"),), (launch,), *infos, (), (), (), 0)


def assign(n: int) -> Program:
    """v = input"""
    return Program(
        "assign",
        (ADD,),
        (Copy(sized(Slot("input"), n), sized(Slot("variable"), n), 4 * n, (1,)),),
        (vector(n),),
        (),
        (VariableUse(7, vector(n), reads=False, writes=True),),
        (),
        (),
        0,
    )


def read(n: int) -> Program:
    return Program(
        "read",
        (ADD,),
        (Copy(sized(Slot("variable"), n), sized(Slot("output"), n), 4 * n, (1,)),),
        (),
        (vector(n),),
        (VariableUse(7, vector(n), reads=True, writes=False),),
        (),
        (),
        0,
    )


def train(n: int, steps: int = 1) -> Program:
    """v += input, `steps` times; gives v."""
    one = Launch(
        0,
        "update",
        (sized(Slot("variable"), n), sized(Slot("input"), n), F32(1.0)),
        (n, 1, 1),
        nodes=(2,),
    )
    return Program(
        "train",
        (ADD,),
        (one,) * steps + (Copy(sized(Slot("variable"), n), sized(Slot("output"), n), 4 * n),),
        (vector(n),),
        (vector(n),),
        (VariableUse(7, vector(n), reads=True, writes=True),),
        (),
        (),
        0,
    )


__all__ = ["ADD", "I32", "add_scale", "assign", "read", "sized", "train", "vector"]
