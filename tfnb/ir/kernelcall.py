"""Launches of library kernels as pure data, with which an op uses the kernels of `kernels_cl`.

An op's `opencl` recipe gets a `KernelSite` (concrete shapes, attributes, facts about the device) and returns a tuple of
`KernelCall`s. Nothing here knows pyopencl: code generation turns the calls into bound launches.
Invariant: a recipe is a pure function of its site, so plans can be cached by shapes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Generic, TypeVar

from tfnb.caches import remembered
from tfnb.errors import UnimplementedError
from tfnb.ir.record import Attrs
from tfnb.sizes import AnySize, plain
from tfnb.types import DType

__all__ = [
    "F32",
    "F64",
    "I32",
    "Arg",
    "BiasIn",
    "Epilogue",
    "In",
    "KernelCall",
    "KernelSite",
    "Out",
    "Product",
    "Temp",
    "TensorInfo",
    "i32",
    "integers",
]

A = TypeVar("A", bound=Attrs | None, covariant=True)
"""The attrs class of an op: `site: KernelSite[PoolAttrs]` says which attributes `site.attrs` has."""


@dataclass(slots=True, unsafe_hash=True)  # nobody changes one, but a frozen one would take three times as long to make
class TensorInfo:
    """A tensor whose shape is known at specialisation time."""

    dtype: DType
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The number of bytes in memory."""
        return prod(self.shape) * self.dtype.size


@dataclass(frozen=True, slots=True)
class In:
    """A pointer to the op's input `index` (dense, row major, readable 256 bytes past its end)."""

    index: int


@dataclass(frozen=True, slots=True)
class Out:
    """A pointer to the op's output `index` (dense, row major, writable up to its size only)."""

    index: int


@dataclass(frozen=True, slots=True)
class Temp:
    """A pointer to scratch memory of `nbytes` bytes, which all calls of the site with the same `key` share."""

    key: str
    nbytes: int


@dataclass(frozen=True, slots=True, init=False)
class I32:
    """A 32-bit integer argument.

    Raises `UnimplementedError` if `value` needs more bits: a kernel that counts in 32 bits cannot compute such sizes.
    A formula is checked when it gets a value.
    """

    value: int

    def __init__(self, value: int) -> None:
        if plain(value) and not -(2**31) <= value < 2**31:
            raise UnimplementedError(f"no OpenCL kernel serves a size of {value:,}: it counts in 32 bits")
        _set_value(self, value)


# A new shape brings hundreds of these numbers, and the `__init__` of a frozen dataclass takes several times as long.
_set_value = vars(I32)["value"].__set__

# For numbers alone. Programs for many shapes have the same small ones, and fewer objects mean shorter pauses of
# Python's collector.
i32 = remembered("integers in kernel arguments", 1 << 14)(I32)


def integers(*values: AnySize) -> tuple[I32, ...]:
    """Returns arguments for numbers and formulas."""
    return tuple([i32(n) if type(n) is int else I32(n) for n in values])


@dataclass(frozen=True, slots=True)
class F32:
    """A 32-bit float argument."""

    value: float


@dataclass(frozen=True, slots=True)
class F64:
    """A 64-bit float argument."""

    value: float


@dataclass(frozen=True, slots=True)
class BiasIn:
    """A pointer to the bias vector of the fused epilogue (the site's `epilogue.bias`)."""


Arg = In | Out | Temp | I32 | F32 | F64 | BiasIn


@dataclass(slots=True, unsafe_hash=True)  # not frozen, see `TensorInfo`
class KernelCall:
    """One launch: `entry` of `kernels_cl/<file>` over `groups` work-groups of `local` work-items.

    `source` is the text of the program if it is in no file, as for an op that a user has registered. `nbytes` says how
    much work it is: the bytes of memory that are accessed, or that could be accessed in the same time. A program of
    little work runs in the caller's thread. None: that is not known.
    """

    file: str
    entry: str
    args: tuple[Arg, ...]
    groups: tuple[int, int, int] = (1, 1, 1)
    local: tuple[int, int, int] = (1, 1, 1)
    defines: tuple[tuple[str, str], ...] = ()
    source: str = ""
    nbytes: int | None = None


@dataclass(frozen=True, slots=True)
class Epilogue:
    """Work fused at the store of a library kernel: `activation(result + bias)`.

    `bias` is the bias vector's tensor (length = last dimension of the output) or None;
    `activation` is one of "none", "relu", "tanh", "sigmoid".
    """

    bias: TensorInfo | None = None
    activation: str = "none"


@dataclass(frozen=True, slots=True)
class Product:
    """A product of matrices that generated code can compute: C[m, n] = sum over k of op(A)[m, k] op(B)[k, n].

    `a` and `b` are the positions of A and B among the op's inputs, which are dense and row major; `transpose_a` and
    `transpose_b` say whether op transposes them. C is the op's only output. `tiled` says that another operation may
    continue with the tiles of C, `small` (1 or 0) that one work-item computes C as fast as several.
    """

    a: int
    b: int
    m: int
    n: int
    k: int
    transpose_a: bool
    transpose_b: bool
    tiled: bool
    small: AnySize


@dataclass(slots=True, unsafe_hash=True)  # not frozen, see `TensorInfo`
class KernelSite(Generic[A]):
    """The argument of a recipe.

    `values[i]` is the NumPy value of input i, if it is known before the program runs, as that of a shape input.
    `units` is the device's number of compute units; `kind` is "cpu" or "gpu". `updated` are the positions of inputs
    that are variables which the program writes: at the next run each part is in the cache of the core that wrote it.
    """

    op: str
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    attrs: A
    values: Mapping[int, Any]
    units: int
    kind: str
    epilogue: Epilogue = Epilogue()
    updated: frozenset[int] = frozenset()
