"""Random words in generated kernels: computed in every loop that reads them."""

from __future__ import annotations

from tfnb.codegen.fusion.nest import make_nest
from tfnb.codegen.opencl_c.clexpr import INNER, Printer
from tfnb.codegen.opencl_c.kerneltext import KernelText
from tfnb.codegen.opencl_c.render import render
from tfnb.ir import scalar as s
from tfnb.types import uint32


def test_every_body_computes_its_own():
    """Also where Python puts one body's table of names at the place of an earlier one's."""
    position = s.index("i0")
    counter = s.cast(position, uint32)
    key = s.const(7, uint32)
    words = [s.philox(key, key, counter, key, k) for k in range(2)]
    printer = Printer(KernelText(), make_nest((100,), (), words, 100), {"i0": INNER}, 1)
    printer.count(words)
    for _ in range(50):
        block = []
        printer.open(INNER, block)
        first, second = (printer.term(w) for w in words)
        lines = render(block)
        made = first.partition("[")[0]
        assert second == f"{made}[1]" or second in "\n".join(lines)
        assert sum("philox_4x32" in line for line in lines) == 1, lines
