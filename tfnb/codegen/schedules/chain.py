"""Chains: small kernels that follow each other, in one launch.

A launch costs more than the work of such a kernel, and one thread that runs all of them has the results of the last one
in its cache. A new kernel calls the functions of those kernels in turn that its first argument selects. So the compiled
kernel also serves when a part gets several work-items, and the parts are launched one by one.
Invariant: a part computes the same bits however many parts are selected, because the branches between them keep the
compiler from joining operations of two parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tfnb.codegen.opencl_c.functions import ITEM, argument_of, part_name
from tfnb.codegen.opencl_c.kerneltext import wrapped
from tfnb.codegen.program import Launch, Slot, Step
from tfnb.ir.kernelcall import F32, F64, I32

__all__ = ["chain_text", "joined", "selection"]


def selection(parts: Iterable[int]) -> int:
    """Returns the first argument of a chain that selects the parts with these numbers."""
    return sum(1 << k for k in parts)


def joined(chain: Launch, before: Step, step: Step) -> Launch | None:
    """Returns one launch for two parts of a chain that follow each other; None if they cannot be joined.

    `chain` is the launch of all parts. Two parts are joined if both have one work-item and are launched by the kernel
    of the chain: the pointers of all other parts are null then and their numbers 0. Other kernels, as those of the
    library, are launched as they are.
    """
    if not isinstance(before, Launch) or not isinstance(step, Launch):
        return None
    is_chain = all((s.module, s.entry) == (chain.module, chain.entry) for s in (before, step))
    if not is_chain or not before.groups == step.groups == before.local == step.local == (1, 1, 1):
        return None
    (selected, *args), (more, *other_args) = before.args, step.args
    merged = [b if _is_nothing(a) else a for a, b in zip(args, other_args, strict=True)]
    nodes = tuple(dict.fromkeys((*before.nodes, *step.nodes)))
    parts = I32(int(selected.value) + int(more.value))  # type: ignore[union-attr]
    nbytes = None if before.nbytes is None or step.nbytes is None else before.nbytes + step.nbytes
    return before._replace(args=(parts, *merged), nodes=nodes, nbytes=nbytes)


def _is_nothing(arg: Slot | I32 | F32 | F64) -> bool:
    return arg.kind == "none" if isinstance(arg, Slot) else not arg.value


def chain_text(name: str, parts: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Returns the kernel that calls the parts, given as (entry, declarations of its parameters)."""
    declarations, calls = ["int parts"], []
    for k, (entry, parameters) in enumerate(parts):
        args = []
        for text in parameters:
            parameter_name = argument_of(text)
            declarations.append(f"{text.removesuffix(parameter_name)}{chr(97 + k)}_{parameter_name}")
            args.append(f"{chr(97 + k)}_{parameter_name}")
        call = f"{part_name(entry)}({', '.join(['item', 'items', *args])});"
        calls.append(f"    if (parts & {selection([k])})\n        {call}")
    return f"__kernel void {name}(\n{wrapped(declarations)}\n{{\n" + "\n".join([ITEM, *calls]) + "\n}"
