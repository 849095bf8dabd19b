"""Functions that do the work of kernels.

PoCL prepares the body of a kernel for groups of work-items, which takes long. So on CPUs the work is done by a
function, which is not inlined and is given the number of the work-item; the kernel only calls it. Chains call several
of them.
Invariant: the function computes the same bits as a kernel with its text.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfnb.codegen.opencl_c.emission import LocalMemory
from tfnb.codegen.opencl_c.kerneltext import wrapped

__all__ = [
    "EACH_ROUNDS",
    "ITEM",
    "ITEM_PARAMETERS",
    "WORK_ITEMS",
    "argument_of",
    "as_function",
    "calling_kernel",
    "part_name",
]

# A product and a sum of one expression are two operations of the graph, each of which rounds its result. As one
# operation of the processor they would round once, and x * x - y * y of equal numbers would be a rest of either sign.
EACH_ROUNDS = "#pragma OPENCL FP_CONTRACT OFF"
# A function that asked for the work-item would be inlined, so its two first parameters say it.
WORK_ITEMS = "#undef ITEM\n#undef ITEMS\n#define ITEM item\n#define ITEMS items"
ITEM_PARAMETERS = "\n    int item, int items"
ITEM = "    int item = get_global_id(0), items = get_global_size(0);"


def part_name(kernel: str) -> str:
    """Returns the name of the function that does the work of a kernel."""
    return f"part_{kernel}"


def argument_of(parameter: str) -> str:
    """Returns the name that a declaration of a parameter declares."""
    return parameter.replace("*", " ").split()[-1]


def as_function(text: str, name: str, local: LocalMemory | None = None) -> str:
    """Returns the function `name` that does the work of the kernel with this text.

    It gets the local memory that its kernel declares as parameters. Such a function must not be static, see
    `lib/types.clh`.
    """
    _, rest = text.split("(", 1)
    parameters, body = rest.split(")", 1)
    if local is None:
        return f"static PART void {name}({ITEM_PARAMETERS},{parameters}){body}"
    return f"PART void {name}({ITEM_PARAMETERS}, {', '.join(local.parameters)},{parameters}){body}"


def calling_kernel(name: str, parameters: Sequence[str], local: LocalMemory | None = None) -> str:
    """Returns the kernel that calls the function which does its work."""
    arguments = ["item", "items", *map(argument_of, (*(local.parameters if local else ()), *parameters))]
    lines = [f"    {local.statement};"] if local else []
    lines += [ITEM, f"    {part_name(name)}(\n{wrapped(arguments, 8)};"]
    return f"__kernel void {name}(\n{wrapped(parameters)}\n{{\n" + "\n".join(lines) + "\n}"
