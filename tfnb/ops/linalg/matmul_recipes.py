"""The kernel launches of matrix products: which kernel of `kernels_cl/linalg` runs, with how many groups.

One build per element type serves all shapes; the recipe only decides how the product is divided: into parts of the
rows, parts of the columns and, where the output is too small to occupy the device, parts of the depth. Invariant: the
parts cover the output exactly, and partial sums are combined in a fixed order, so the bits of a product depend on its
shape and the device, never on timing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tfnb.caches import remembered
from tfnb.errors import InternalError, ShapeError, UnimplementedError
from tfnb.ir.kernelcall import I32, Arg, BiasIn, In, KernelCall, KernelSite, Out, Product, Temp, i32, integers
from tfnb.ops.linalg.gpu_tiles import Tiles, tile_sum
from tfnb.sizes import derived, plain, same, smallest

__all__ = ["matmul_calls", "matmul_product"]

FILE, GPU_FILE = "linalg/matmul.cl", "linalg/matmul_gpu.cl"

# The kernel's element type for each dtype: integers wrap around, so one unsigned type per width serves both signs.
TUNED = {"float32": "float", "float64": "double"}
NAIVE = TUNED | {
    "int8": "uchar",
    "uint8": "uchar",
    "int16": "ushort",
    "uint16": "ushort",
    "int32": "uint",
    "uint32": "uint",
    "int64": "ulong",
    "uint64": "ulong",
    "float16": "half",
    "bfloat16": "bfloat",
}
ACTIVATIONS = {"none": 0, "relu": 1, "tanh": 2, "sigmoid": 3}
NAIVE_LOCAL = 64
HAS_BIAS = 4 | 8  # the flags of a bias for the columns, and for the rows
ADD = 16  # the flag that adds the product to the existing contents of the result

# Sizes of the tuned kernel: the rows of a register tile and the bytes of a tile's row; the depth and columns of a
# block; the number of rows up to which B is read without packing, and the bytes that fit the second-level cache.
TILE_ROWS, TILE_BYTES = 6, 64
DEPTH, COLUMNS = 256, 256
DIRECT_ROWS, NEAR_BYTES = 16, 1 << 20

# The least columns and elements of a product in generated code. For smaller ones, a separate kernel for the following
# ops costs less than compiling another product.
PRODUCT_COLUMNS, PRODUCT_SIZE = 16, 1 << 14
# The most multiplications for one work-item, and the most elements of B that it reads transposed.
SMALL_WORK, SMALL_TRANSPOSE = 1 << 18, 1 << 12

# Cycles of one core, fitted to measurements: storing a tile; for one step of depth: packing a panel of rows, packing a
# panel of columns of a B in the near and in a far cache, reading a panel without packing, the panel of a single row;
# starting a group; the delay until other cores start after a launch. UNEVEN is the fraction of a group's time by which
# cores finish at different times, because of other work.
STORE, PACK_ROWS, PACK_NEAR, PACK_FAR, DIRECT, LONE_ROW = 40.0, 3.0, 6.0, 18.0, 1.5, 3.0
GROUP, WAKE, UNEVEN = 1000.0, 40_000.0, 0.06
# The multiplications of float32 numbers that a core does in the time in which it accesses a byte of memory.
PRODUCTS = 5
# Estimated start-up cost of a sum of partial products when the cores are already active, as in training.
SUM = 10_000.0


class _Problem(NamedTuple):
    """C[batch, m, n] = op(A) op(B) with inner dimension k and `size` bytes an element.

    swapped: the op's second input is A. scattered: the parts of B are in the caches of the cores that wrote them in the
    previous step.
    """

    batch: int
    m: int
    n: int
    k: int
    flags: int
    size: int
    swapped: bool = False
    scattered: bool = False


def matmul_calls(site: KernelSite, add: bool = False) -> tuple[KernelCall, ...]:
    """Returns the launches of "MatMul" (transpose_a, transpose_b) and "BatchMatMul" (adj_x, adj_y).

    a is (..., M, K) or its transpose, b is (..., K, N) or its transpose, and the result is (..., M, N); all have the
    same dtype and leading dimensions. An empty result needs no call; K = 0 gives zeros, to which bias and activation
    are applied. With `add`, the product is added to the contents of the result.
    """
    problem = _problem(site)
    if add:
        problem = problem._replace(flags=problem.flags | ADD)
    if problem.batch * problem.m * problem.n == 0:
        return ()
    dtype = site.inputs[0].dtype
    if dtype.name not in NAIVE:
        raise UnimplementedError(f"{site.op} has no OpenCL kernel for {dtype.name}")
    if dtype.name not in TUNED:
        return (_naive_call(site, problem, NAIVE[dtype.name]),)
    if site.kind != "cpu":
        return _tile_calls(site, problem, TUNED[dtype.name])
    how = site.units, site.epilogue.activation, TUNED[dtype.name]
    return _remembered_calls(problem, *how) if all(map(plain, problem[:4])) else _tuned_calls(problem, *how)


def matmul_product(site: KernelSite) -> Product | None:
    """Returns the product in the form that generated code can compute, or None if it has no such form.

    Only products of float32 matrices on a CPU have one. The form by tiles computes A^T B, the gradient of a weight, if
    its depth (the examples of a batch) fits one packed block and it has at least one vector of rows. The form by one
    work-item computes what the recipe gives to one group.
    """
    if site.kind != "cpu" or site.inputs[0].dtype.name != "float32" or len(site.outputs[0].shape) != 2:
        return None
    p = _problem(site)
    if p.swapped or p.m < 1 or p.n < 1 or p.k < 1:
        return None
    ta, tb = bool(p.flags & 1), bool(p.flags & 2)
    tiled = ta and not tb and p.k <= DEPTH and p.n >= PRODUCT_COLUMNS and p.m * p.n >= PRODUCT_SIZE
    small = derived(_is_small, site.units, *p, lower=0)
    return Product(0, 1, p.m, p.n, p.k, ta, tb, tiled, small) if tiled or not same(small, 0) else None


def _is_small(units: int, *problem: Any) -> int:
    """Returns 1 if one work-item may compute the product, else 0."""
    p = _Problem(*problem)
    is_little = p.m >= TILE_ROWS and p.m * p.n * p.k <= SMALL_WORK
    is_transposed = bool(p.flags & 2) and p.n * p.k > SMALL_TRANSPOSE
    return int(is_little and not is_transposed and _cut(p, units) == (1, 1, 1))


def _problem(site: KernelSite) -> _Problem:
    if site.op == "MatMul":
        ta, tb = bool(site.attrs.transpose_a), bool(site.attrs.transpose_b)
    elif site.op in ("BatchMatMul", "BatchMatMulV2"):
        ta, tb = bool(site.attrs.adj_x), bool(site.attrs.adj_y)
    else:
        raise InternalError(f"the matrix product's recipe was asked for a {site.op}")
    a, b = site.inputs[0].shape, site.inputs[1].shape
    if len(a) < 2 or len(a) != len(b) or a[:-2] != b[:-2]:
        raise ShapeError(f"{site.op} needs matrices with equal batch dimensions, got {a} and {b}")
    (m, k), (k2, n) = (a[:-3:-1] if ta else a[-2:]), (b[:-3:-1] if tb else b[-2:])
    if k != k2:
        raise ShapeError(f"{site.op} of {a} and {b}: inner dimensions {k} and {k2} differ")
    batch = 1
    for d in a[:-2]:
        batch *= d
    has_bias = site.epilogue.bias is not None
    size = site.inputs[0].dtype.size
    if n == 1:
        # a column is a row in memory: b^T op(A)^T fills vectors, whereas op(A) b would use one lane of each
        return _Problem(batch, 1, m, k, 2 * (not ta) + 8 * has_bias, size, swapped=True)
    return _Problem(batch, m, n, k, ta + 2 * tb + 4 * has_bias, size, scattered=1 in site.updated)


def _pointers(p: _Problem) -> tuple[Arg, Arg, Arg]:
    """The pointers a, b and bias; one that is never read points to some buffer that exists."""
    bias: Arg = BiasIn() if p.flags & HAS_BIAS else Out(0)
    if p.k == 0:
        return Out(0), Out(0), bias
    return (In(1), In(0), bias) if p.swapped else (In(0), In(1), bias)


def _naive_call(site: KernelSite, p: _Problem, element: str) -> KernelCall:
    sizes = (I32(p.m), I32(p.n), I32(p.k), I32(p.flags), I32(ACTIVATIONS[site.epilogue.activation]))
    return KernelCall(
        FILE,
        "matmul_naive",
        (*_pointers(p), Out(0), *sizes),
        groups=(-(-p.n // NAIVE_LOCAL), p.m, p.batch),
        local=(NAIVE_LOCAL, 1, 1),
        defines=_defines(element),
    )


def _tile_calls(site: KernelSite, p: _Problem, element: str) -> tuple[KernelCall, ...]:
    """Returns the launches on a GPU."""
    a, b, bias = _pointers(p)
    activation = ACTIVATIONS[site.epilogue.activation]
    tiles, defines = Tiles.of(p.batch, p.m, p.n, p.k, site.units), _defines(element)
    sizes = (I32(p.m), I32(p.n), I32(p.k))
    if same(tiles.splits, 1):
        args = (a, b, bias, Out(0), *sizes, I32(p.flags), I32(activation), I32(1))
        return (tiles.call(GPU_FILE, "matmul_tiles", args, defines),)
    partial = tiles.partial(p.batch, p.m, p.n, p.size)
    parts = (a, b, bias, partial, *sizes, I32(p.flags & 3), I32(0), I32(tiles.splits))
    return (
        tiles.call(GPU_FILE, "matmul_tiles", parts, defines),
        tile_sum(tiles, (p.batch, p.m, p.n), (partial, bias), defines, p.flags, activation),
    )


def _defines(element: str) -> tuple[tuple[str, str], ...]:
    return () if element == "float" else (("T", element),)


def _tuned_calls(p: _Problem, units: int, activation_name: str, element: str) -> tuple[KernelCall, ...]:
    """Returns the launches on a CPU with so many cores."""
    a, b, bias = _pointers(p)
    activation = ACTIVATIONS[activation_name]
    rows, columns, splits = _parts(p, units)
    sizes = integers(p.m, p.n, p.k)
    defines = _defines(element)
    work = p.batch * p.m * p.n * p.k * p.size // (4 * PRODUCTS)
    if splits == 1:
        arguments = (a, b, bias, Out(0), *sizes, i32(p.flags), i32(activation), i32(1))
        return (KernelCall(FILE, "matmul", arguments, (rows, columns, p.batch), defines=defines, nbytes=work),)
    partial = Temp("matmul_partial", p.batch * splits * p.m * p.n * p.size + 256)
    parts = (a, b, bias, partial, *sizes, i32(p.flags & 3), i32(0), i32(splits))
    add = (partial, bias, Out(0), *sizes[:2], i32(p.flags), i32(activation), i32(splits))
    return (
        KernelCall(FILE, "matmul", parts, (rows, columns, p.batch * splits), defines=defines, nbytes=work),
        KernelCall(FILE, "matmul_sum", add, (smallest(p.m, units), p.batch, 1), defines=defines, nbytes=partial.nbytes),
    )


_remembered_calls = remembered("launches of matrix products", 4096)(_tuned_calls)


def _parts(p: _Problem, units: int) -> tuple[int, int, int]:
    """Returns the result of `_cut` as formulas if the sizes are formulas."""
    if all(map(plain, p[:4])):
        return _cut(p, units)
    rows, columns = (derived(_part, k, units, *p, lower=1) for k in (0, 1))
    # `_best_cut` divides no depth that is less than two blocks.
    return rows, columns, 1 if plain(p.k) and p.k < 2 * DEPTH else derived(_part, 2, units, *p, lower=1)


def _part(k: int, units: int, *problem: Any) -> int:
    return _cut(_Problem(*problem), units)[k]


@remembered("divisions of matrix products", 4096)
def _cut(p: _Problem, units: int) -> tuple[int, int, int]:
    """The numbers of parts of the rows, the columns and the depth with the least estimated time."""
    panels = -(-p.n * p.size // TILE_BYTES)
    whole = _group_cycles(p, p.m, p.k)(panels)
    if p.batch * whole * UNEVEN <= GROUP and (p.m <= DIRECT_ROWS or p.flags & 2):
        # Parts together take no less than the whole and another GROUP for each, which is more than they can gain.
        return 1, 1, 1
    rows, columns, splits = _best_cut(_coarse(p), units)
    return min(rows, p.m), columns, splits


def _coarse(p: _Problem) -> _Problem:
    """Returns the problem with a number of rows that is a multiple of four, which takes about as long.

    One search is enough for all problems for which this is the same, so few new shapes need one. Where a panel is read
    without packing, up to a power of two of rows, is the same too.
    """
    return p if p.m <= DIRECT_ROWS else p._replace(m=-(-p.m // 4) * 4)


@remembered("searches for divisions", 4096)
def _best_cut(p: _Problem, units: int) -> tuple[int, int, int]:
    """The result of `_cut`, by trying all divisions. Most are no better than another even if all units are as busy."""
    panels = -(-p.n * p.size // TILE_BYTES)
    group_limit = max(1, 4 * units // p.batch)
    depths = [1]
    if -(-p.m // TILE_ROWS) * panels < 4 * units:
        depths += [s for s in (2, 4, 8, 16, 32, 64) if s <= units and p.k >= DEPTH * s]
    elif p.scattered and p.batch == 1 and p.k * p.n * p.size <= NEAR_BYTES:
        depths += [units] if p.k >= DEPTH * units > DEPTH else []
    uneven = UNEVEN if units > 1 else 0.0
    least, best = float("inf"), (1, 1, 1)
    for splits in depths:
        start = SUM if p.scattered else WAKE
        add = p.batch * p.m * p.n * (splits + 1.0) / units + start if splits > 1 else 0.0
        depth = -(-p.k // splits)
        parts = group_limit // splits
        for rows in range(1, min(p.m, parts) + 1):
            cycles_of = _group_cycles(p, -(-p.m // rows), depth)
            step = rows * splits * p.batch
            for columns in range(1, min(panels, parts // rows) + 1):
                cycles = cycles_of(-(-panels // columns))
                groups = step * columns
                if _level(groups, cycles, units) * (1 - 1e-9) + uneven * cycles + add > least:
                    continue
                total = _makespan(groups, cycles, units) + uneven * cycles + add
                if total < least or (total == least and (rows, columns, splits) < best):
                    least, best = total, (rows, columns, splits)
    return best


def _group_cycles(p: _Problem, rows: int, depth: int) -> Callable[[int], float]:
    """Returns a function from tiles of columns (panels) to the estimated time of a group.

    The group computes `rows` rows of C in `depth` steps. A tile of fewer than four rows takes as long as one of four,
    because of the latency of multiply-add.
    """
    if p.m == 1:
        return lambda panels: panels * depth * LONE_ROW + GROUP
    heights = -(-rows // TILE_ROWS)
    step_cycles, stored = max(4.0 * heights, rows), max(1, -(-depth // DEPTH))
    direct_rows = DIRECT_ROWS * (4 if p.n * p.size % TILE_BYTES == 0 else 1)
    near_cycles = DIRECT if rows <= direct_rows and not p.flags & 2 else PACK_NEAR
    packed, block_bytes = depth * heights * PACK_ROWS, COLUMNS * p.size
    near_panels = 0 if p.scattered else NEAR_BYTES // TILE_BYTES // max(depth, 1)
    tile = depth * step_cycles + heights * stored * STORE
    near, far = tile + depth * near_cycles, tile + depth * PACK_FAR

    def cycles(panels: int) -> float:
        blocks = -(-panels * TILE_BYTES // block_bytes)
        return panels * (near if panels <= near_panels else far) + packed * blocks + GROUP

    return cycles


def _level(groups: int, one: float, units: int) -> float:
    """The time at which all of equal groups end if they can be divided; no division of whole ones ends earlier."""
    work = groups * one
    return work if units == 1 or work <= WAKE + one else (work + (units - 1) * WAKE) / units


def _makespan(groups: int, one: float, units: int) -> float:
    """The time at which the last of equal groups ends, if all units except the first start WAKE cycles late."""
    level = _level(groups, one, units)
    if level == groups * one:
        return level
    least = float("inf")
    for late, first in ((0.0, level // one), (WAKE, (level - WAKE) // one)):
        for end in (first * one + late, (first + 1) * one + late):
            in_time = int(end / one + 1e-9)
            if end > WAKE:
                in_time += (units - 1) * int((end - WAKE) / one + 1e-9)
            if in_time >= groups:
                least = min(least, end)
                break
    return level + one if least == float("inf") else least
