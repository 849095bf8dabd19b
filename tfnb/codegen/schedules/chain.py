"""Chains: small kernels that follow each other, in one launch.

A launch costs more than the work of such a kernel, and one thread that runs all of them has the results of the last one
in its cache. Each kernel becomes a function, and a new kernel calls the functions in turn. Invariant: one work-item
does the work of all parts, one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfnb.codegen.opencl_c.kerneltext import wrapped

__all__ = ["as_part", "chain_name", "chain_text", "part_name"]


def part_name(entry: str) -> str:
    """Returns the name of the function that does the work of the kernel `entry`."""
    return f"part_{entry}"


def chain_name(entries: Sequence[str]) -> str:
    """Returns the name of the kernel that is made of others: the numbers of all, and the name of the first."""
    numbers = [e.split("_")[0] for e in entries]
    return "_".join([*numbers, *entries[0].split("_")[1:]])


def as_part(text: str) -> str:
    """Returns a kernel's text as a function."""
    return text.replace("__kernel void", "static void", 1)


def chain_text(name: str, parts: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Returns the kernel that calls the parts, given as (entry, declarations of its parameters)."""
    declarations, calls = [], []
    for k, (entry, parameters) in enumerate(parts):
        args = []
        for text in parameters:
            parameter_name = text.replace("*", " ").split()[-1]
            declarations.append(f"{text.removesuffix(parameter_name)}{chr(97 + k)}_{parameter_name}")
            args.append(f"{chr(97 + k)}_{parameter_name}")
        calls.append(f"    {part_name(entry)}({', '.join(args)});")
    return f"__kernel void {name}(\n{wrapped(declarations)}\n{{\n" + "\n".join(calls) + "\n}"
