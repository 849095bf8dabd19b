"""Writes docs/ops.md, the reference of all operations: `python scripts/op_reference.py`.

All of it comes from the catalogue: signature, dtypes, attributes, kernels, gradient and document of each `OpDef`. With
--check nothing is written, and the exit status is 1 when the file is not current.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from pathlib import Path

from pages import settle

from tfnb.ir.opdef import GRADIENT_MISSING, NOT_DIFFERENTIABLE, Kind, OpDef
from tfnb.ops import all_families

PAGE = Path(__file__).resolve().parents[1] / "docs" / "ops.md"
HEAD = """# Operations

Written by `python scripts/op_reference.py` from the catalogue (`tfnb/ops`); do not edit.

Names, inputs, outputs and attributes are those of TensorFlow's graphs. `N*T` is a list of N tensors of one dtype,
`[T]` a list of tensors of the dtypes T, `Ref(T)` a variable. *Kernels* says how an OpenCL device computes the op; the
host has a kernel in NumPy too, unless the op is made of others."""
KERNELS = (
    ("scalar", "elementwise, fused with its neighbours"),
    ("lower", "an element as a function of its index, fused with its neighbours"),
    ("reduce", "reduction"),
    ("opencl", "library kernels"),
    ("expand", "made of other ops"),
    ("alias", "no work: the memory of its input"),
)


def kernels(op: OpDef) -> str:
    """How an OpenCL device computes the op."""
    found = [text for field, text in KERNELS if getattr(op, field) is not None]
    if found:
        return "; ".join(found)
    if op.kind not in (Kind.COMPUTE, Kind.ASYNC):
        return f"none: the runtime's own ({op.kind.value.replace('_', ' ')})"
    return "host only"


def gradient(op: OpDef) -> str:
    return "none" if op.grad in (None, NOT_DIFFERENTIABLE, GRADIENT_MISSING) else "yes"


def attributes(op: OpDef) -> list[str]:
    """`name = default` of each attribute that stands in a graph's file."""
    found = []
    for f in dataclasses.fields(op.attrs):
        if f.metadata.get("local"):
            continue
        plain = isinstance(f.default, (bool, int, float, str, bytes, tuple)) or f.default is None
        known = f.default is not dataclasses.MISSING
        found.append(f"{f.name} = {f.default if not plain else repr(f.default)}" if known else f.name)
    return found


def entry(op: OpDef) -> str:
    """The op's part of the page."""
    lines = [f"### {op.name}", "", f"`({op.inputs}) -> ({op.outputs})`", ""]
    for variable, allowed in op.types.items():
        lines.append(f"- {variable}: {', '.join(d.name for d in allowed)}")
    if attributes(op):
        lines.append(f"- attributes: {', '.join(f'`{a}`' for a in attributes(op))}")
    if op.api:
        lines.append(f"- called as {', '.join(f'`tf.{name}`' for name in op.api.split())}")
    lines += [f"- kernels: {kernels(op)}", f"- gradient: {gradient(op)}", "", "```text"]
    lines += [inspect.cleandoc(op.doc).replace("```", "'''"), "```"]
    return "\n".join(lines)


def page() -> str:
    """The whole text."""
    parts = [HEAD]
    families = all_families()
    count = sum(len(family.OPS) for family in families)
    parts.append(f"{count} operations in {sum(bool(f.OPS) for f in families)} families.")
    for family in families:
        if family.OPS:
            title = (family.__doc__ or family.__name__).splitlines()[0].rstrip(".")
            parts += [f"## {title}", *(entry(op) for op in family.OPS)]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(settle(PAGE, page(), "op_reference.py"))
