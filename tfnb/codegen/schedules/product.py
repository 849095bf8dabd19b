"""Product kernels: the work on the elements of a matrix product is done when its tile has been computed.

The update of a weight uses its gradient in this way: the gradient is never in memory, and the cache lines of the weight
and its slots are loaded while the tile is multiplied. Invariant: each element of a tile is used exactly once.
"""

from __future__ import annotations

from tfnb.codegen.fusion.group import Group
from tfnb.codegen.fusion.nest import make_nest
from tfnb.codegen.fusion.values import CallDef
from tfnb.codegen.opencl_c.clexpr import INNER
from tfnb.codegen.opencl_c.ctypes import register_type, vector_lanes
from tfnb.codegen.opencl_c.emission import Generated, Geometry, LocalMemory, assemble
from tfnb.codegen.opencl_c.kerneltext import KernelText
from tfnb.codegen.opencl_c.tree import Block, Call, Declare, For
from tfnb.codegen.program import DeviceFacts
from tfnb.codegen.schedules.body import Body, Stored, dtypes_of, kernel_for
from tfnb.errors import InternalError
from tfnb.ir.kernelcall import Product
from tfnb.sizes import AnySize, largest, smallest, typical

__all__ = ["emit_product", "emit_small_product", "is_small_product"]

PANEL = 12  # the rows of a tile that are assumed when the number of groups is computed
_MEMORY = LocalMemory("PRODUCT_MEMORY", ("__local float *b_block", "__local float *a_panel", "__local float *tile"))
LONG = 1 << 25  # multiplications; a product with as many or more takes more than a quarter of a millisecond


def emit_product(group: Group, facts: DeviceFacts, needed: frozenset[object]) -> Generated:
    """Returns the kernel of a product and of the members that continue with its tiles."""
    call = group.members[0].definition
    if not isinstance(call, CallDef) or call.product is None:
        raise InternalError("a group of a product begins with something else")
    members = list(zip(group.members, group.exprs, strict=True))[1:]
    pairs = [(v, e) for m, es in members for v, e in zip(m.values, es, strict=True)]
    nest = make_nest(group.domain, (), [e for _, e in pairs], call.values[0].info.size)
    stores = [(v, e) for (v, _), e in zip(pairs, nest.exprs, strict=True) if v in needed]
    lanes = vector_lanes(dtypes_of([e for _, e in stores]) | {v.info.dtype for v, _ in stores}, facts)
    kernel = kernel_for(nest, stores)
    a, b = (kernel.pointer(call.ins[i].value) for i in (call.product.a, call.product.b))
    ctype = register_type(call.values[0].info.dtype)
    kernel.need("fused/product.clh", ctype, lanes)
    name = nest.loops[0].name
    body = Body(kernel, nest, {name: INNER, call.values[0].number: INNER}, lanes)
    body.printer.locals[call.values[0].number] = "product"
    body.printer.count(e for _, e in stores)
    body.open_inner()
    _store(body, stores)
    aligned_pointers = [kernel.pointer(v) for v in sorted(body.aligned(stores), key=lambda v: v.number)]
    loops = _loops(kernel, call.product, a, b, name, body, aligned_pointers, f"{ctype}{lanes}")
    return assemble(kernel, [*body.top, *loops], Geometry(_groups(call.product, facts.units), 1), local=_MEMORY)


def _groups(p: Product, units: int) -> AnySize:
    """Returns the number of work-groups: one for each core if the product is short, else more.

    With more work-groups the cores end at nearly the same time.
    """
    parts = smallest(4 * units, largest(units, units * (1 + p.m * p.n * p.k // LONG)))
    return smallest(-(-p.m // PANEL), parts)


def _store(body: Body, stores: list[Stored]) -> None:
    """Computes all values of a vector, then writes the lanes that no earlier vector has written."""
    kernel = body.kernel
    terms = [body.printer.broadcast(e) for _, e in stores]
    at = body.printer.position(body.nest.at, INNER, "out", raw=True)
    for (value, _), text in zip(stores, terms, strict=True):
        body.inner.append(Call("put_from", (f"{kernel.pointer(value)} + {at}", text, "done")))


def _loops(
    kernel: KernelText, p: Product, a: str, b: str, element: str, body: Body, touched: list[str], kind: str
) -> Block:
    """Returns the loops over blocks of columns, panels of rows, tiles, and the vectors of a tile."""
    m, n, k = kernel.size(p.m, "m"), kernel.size(p.n, "n"), kernel.size(p.k, "k")
    lanes = body.lanes
    vector: Block = [
        Declare("int", "done", f"max(0, c + {lanes} - columns)"),
        Declare("int", element, f"(i + r) * {n} + j0 + j + c - done"),
        Declare("int", "live", str(lanes)),
        Declare(kind, "product", f"vload{lanes}(0, tile + r * NR + c - done)"),
        *body.row,
        *body.inner,
    ]
    tile: Block = [
        Declare("int", "columns", "LOWER(NR, width - j)"),
        *(Call("product_ahead", (f"{t} + i * {n} + j0 + j", n, "rows", "columns")) for t in touched),
        Call("product_tile", ("a_panel", f"b_block + j / NR * B_PANEL({k})", k, "columns", "tile")),
        For("int", "r", "0", "rows", "1", [For("int", "c", "0", "columns", str(lanes), vector)]),
    ]
    panel: Block = [
        Declare("int", "i", "panel * MR"),
        Declare("int", "rows", f"LOWER(MR, {m} - i)"),
        Call("pack_a_kmajor", ("a_panel", f"{a} + i", m, k)),
        For("int", "j", "0", "width", "NR", tile),
    ]
    columns: Block = [
        Declare("int", "width", f"LOWER(NC, {n} - j0)"),
        Call("pack_b_kmajor", ("b_block", f"{b} + j0", n, k, "(width + NR - 1) / NR")),
        For("int", "panel", "first", "last", "1", panel),
    ]
    return [
        Declare("int", "panels", f"({m} + MR - 1) / MR"),
        Declare("int", "first", "panels * ITEM / ITEMS"),
        Declare("int", "last", "panels * (ITEM + 1) / ITEMS"),
        For("int", "j0", "0", n, "NC", columns),
    ]


def is_small_product(call: CallDef) -> bool:
    """Returns whether one work-item may compute the product, of typical sizes, as a part of a generated program."""
    if call.product is None or call.site.epilogue.activation not in ("none", "relu"):
        return False
    return typical(call.product.small) == 1


def emit_small_product(call: CallDef) -> Generated:
    """Returns the kernel of a small product, with its bias and activation."""
    p = call.product
    if p is None:
        raise InternalError(f"{call.label} is no product")
    kernel = KernelText(outputs=frozenset({call.values[0].memory}))
    kernel.need("fused/small_product.clh", "float", 16)
    a, b = (kernel.pointer(call.ins[i].value) for i in (p.a, p.b))
    m, n, k = kernel.size(p.m, "m"), kernel.size(p.n, "n"), kernel.size(p.k, "k")
    block: Block = []
    if p.transpose_b:
        transposed = kernel.scratch("transposed", 0, "float", p.n * p.k)
        block.append(Call("small_transpose", (b, transposed, n, k)))
        b = transposed
    row, step = ("1", m) if p.transpose_a else (k, "1")
    bias = "0" if call.bias is None else kernel.pointer(call.bias.value)
    c = kernel.pointer(call.values[0])
    relu = str(int(call.site.epilogue.activation == "relu"))
    block.append(Call("small_product", (a, row, step, b, bias, c, m, n, k, relu)))
    return assemble(kernel, block, Geometry(1, 1))
