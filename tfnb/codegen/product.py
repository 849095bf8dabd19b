"""Product kernels: what is done with each element of a matrix product is done where its tile is computed.

The update of a weight takes over its gradient so: the gradient is never in memory, and the lines of the weight
and its slots come while the tile is being multiplied. Invariant: a tile's elements are each taken over once.
"""

from __future__ import annotations

from tfnb.codegen.clexpr import INNER
from tfnb.codegen.ctypes import register_type, vector_lanes
from tfnb.codegen.emission import Generated, Geometry, assemble, indent
from tfnb.codegen.group import Group
from tfnb.codegen.kerneltext import KernelText
from tfnb.codegen.nest import make_nest
from tfnb.codegen.pointwise import Body, Store, dtypes_of
from tfnb.codegen.program import DeviceFacts
from tfnb.codegen.values import CallDef
from tfnb.errors import InternalError
from tfnb.ir.kernelcall import Product

__all__ = ["emit_product", "emit_small_product", "is_small_product"]

PANEL = 12  # rows of a tile, as far as the number of groups goes
LONG = 1 << 25  # multiplications that take more than a quarter of a millisecond


def emit_product(group: Group, facts: DeviceFacts, needed: frozenset[object]) -> Generated:
    """The kernel of a product and the members that go on with it."""
    call = group.members[0].definition
    if not isinstance(call, CallDef) or call.product is None:
        raise InternalError("a group of a product begins with something else")
    members = list(zip(group.members, group.exprs, strict=True))[1:]
    pairs = [(v, e) for m, es in members for v, e in zip(m.values, es, strict=True)]
    nest = make_nest(group.domain, (), [e for _, e in pairs], call.values[0].info.size)
    stores = [(v, e) for (v, _), e in zip(pairs, nest.exprs, strict=True) if v in needed]
    lanes = vector_lanes(dtypes_of([e for _, e in stores]) | {v.info.dtype for v, _ in stores})
    kernel = KernelText()
    a, b = (kernel.pointer(call.ins[i].value) for i in (call.product.a, call.product.b))
    kernel.need("fused/product.clh", register_type(call.values[0].info.dtype), lanes)
    name = nest.loops[0].name
    body = Body(kernel, nest, {name: INNER, call.values[0].number: INNER}, lanes, stores)
    body.printer.locals[call.values[0].number] = "product"
    body.printer.count(e for _, e in stores)
    body.open_inner()
    _store(body, stores)
    touched = [kernel.pointer(v) for v in sorted(body.aligned(stores), key=lambda v: v.number)]
    lines = _loops(kernel, call.product, a, b, name, body, touched)
    return assemble(kernel, [*body.top, *lines], Geometry(_groups(call.product, facts.units), 1), has_local=True)


def _groups(p: Product, units: int) -> int:
    """One for each core if the product is so short that its start counts, more for an even end of a long one."""
    parts = units if p.m * p.n * p.k < LONG else 4 * units
    return min(-(-p.m // PANEL), parts)


def _store(body: Body, stores: list[Store]) -> None:
    """Computes all values of a vector, then writes the lanes that no vector before it had."""
    kernel = body.kernel
    terms = [body.printer.broadcast(e) for _, e in stores]
    at = body.printer.position(body.nest.at, INNER, raw=True)
    for (value, _), text in zip(stores, terms, strict=True):
        body.inner.append(f"put_from({kernel.pointer(value, written=True)} + {at}, {text}, done);")


def _loops(
    kernel: KernelText, p: Product, a: str, b: str, i0: str, body: Body, touched: list[str]
) -> list[str]:
    """Blocks of columns, panels of rows, tiles, and the vectors of a tile."""
    m, n, k = (kernel.size(x) for x in (p.m, p.n, p.k))
    lanes, kind = body.lanes, f"{register_type(body.stores[0][0].info.dtype)}{body.lanes}"
    vectors = [
        f"int done = max(0, c + {lanes} - columns);",
        f"int {i0} = (i + r) * {n} + j0 + j + c - done;",
        f"int live = {lanes};",
        f"{kind} product = vload{lanes}(0, tile + r * NR + c - done);",
        *body.row,
        *body.inner,
    ]
    ahead = [f"AHEAD({t} + i * {n} + j0 + j, {n}, rows, columns);" for t in touched]
    return [
        "PRODUCT_MEMORY;",
        f"int panels = ({m} + MR - 1) / MR;",
        "int first = panels * ITEM / ITEMS;",
        "int last = panels * (ITEM + 1) / ITEMS;",
        f"for (int j0 = 0; j0 < {n}; j0 += NC) {{",
        f"    int width = LOWER(NC, {n} - j0);",
        f"    pack_b_kmajor(b_block, {b} + j0, {n}, {k}, (width + NR - 1) / NR);",
        "    for (int panel = first; panel < last; ++panel) {",
        "        int i = panel * MR;",
        f"        int rows = LOWER(MR, {m} - i);",
        f"        pack_a_kmajor(a_panel, {a} + i, {m}, {k});",
        "        for (int j = 0; j < width; j += NR) {",
        "            int columns = LOWER(NR, width - j);",
        *indent(ahead, 3),
        f"            product_tile(a_panel, b_block + j / NR * B_PANEL({k}), {k}, columns, tile);",
        "            for (int r = 0; r < rows; ++r)",
        f"                for (int c = 0; c < columns; c += {lanes}) {{",
        *indent(vectors, 5),
        "                }",
        "        }",
        "    }",
        "}",
    ]


def is_small_product(call: CallDef) -> bool:
    """Is it a product that one work-item may compute as a part of a generated program?"""
    return call.product is not None and call.product.small and call.site.epilogue.activation in ("none", "relu")


def emit_small_product(call: CallDef) -> Generated:
    """The kernel of such a product, with its bias and activation."""
    p = call.product
    if p is None:
        raise InternalError(f"{call.label} is no product")
    kernel = KernelText()
    kernel.need("fused/small_product.clh", "float", 16)
    a, b = (kernel.pointer(call.ins[i].value) for i in (p.a, p.b))
    m, n, k = (kernel.size(x) for x in (p.m, p.n, p.k))
    lines = []
    if p.transpose_b:
        turned = kernel.scratch(0, "float", 4 * p.n * p.k)
        lines.append(f"small_transpose({b}, {turned}, {n}, {k});")
        b = turned
    row, step = ("1", m) if p.transpose_a else (k, "1")
    bias = "0" if call.bias is None else kernel.pointer(call.bias.value)
    c = kernel.pointer(call.values[0], written=True)
    relu = int(call.site.epilogue.activation == "relu")
    lines.append(f"small_product({a}, {row}, {step}, {b}, {bias}, {c}, {m}, {n}, {k}, {relu});")
    return assemble(kernel, lines, Geometry(1, 1))
