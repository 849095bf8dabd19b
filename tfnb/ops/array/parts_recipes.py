"""Launches that join many tensors along an axis, or split a tensor into many.

One generated kernel for all parts would have a text that grows with their number; the library kernel gets 32 parts as
arguments. Invariant: the parts lie in the whole one after the other, in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tfnb.ir.kernelcall import I32, In, KernelCall, KernelSite, Out, TensorInfo, i32

__all__ = ["join_calls", "split_calls"]

PARTS = 32  # of one launch
_UNITS = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong"}

_Parts = Sequence[tuple[In | Out, TensorInfo]]


def join_calls(site: KernelSite, axis: int, first: int) -> tuple[KernelCall, ...]:
    """Returns the launches that write the inputs from number `first` on into output 0, beside each other along `axis`.

    The axis is a new one if the inputs lack it.
    """
    parts = [(In(i), info) for i, info in enumerate(site.inputs) if i >= first]
    return _calls("join_parts", site, (Out(0), site.outputs[0]), parts, axis)


def split_calls(site: KernelSite, axis: int, whole: int) -> tuple[KernelCall, ...]:
    """Returns the launches that write the parts of input number `whole` along `axis` into the outputs."""
    parts = [(Out(i), info) for i, info in enumerate(site.outputs)]
    return _calls("split_parts", site, (In(whole), site.inputs[whole]), parts, axis)


def _calls(
    entry: str, site: KernelSite, whole: tuple[In | Out, TensorInfo], parts: _Parts, axis: int
) -> tuple[KernelCall, ...]:
    place, info = whole
    filled = [(p, prod(part.shape[axis:])) for p, part in parts if part.size]
    rows, stride = prod(info.shape[:axis]), prod(info.shape[axis:])
    defines = (("T", _UNITS[info.dtype.size]),)
    is_gpu = site.kind == "gpu"
    calls, start = [], 0
    for k in range(0, len(filled), PARTS):
        chunk = filled[k : k + PARTS]
        pointers = [p for p, _ in chunk] + [chunk[0][0]] * (PARTS - len(chunk))
        widths = [w for _, w in chunk] + [0] * (PARTS - len(chunk))
        width = sum(widths)
        size = rows * width
        groups = max(1, min(256, size // 1024)) if is_gpu else max(1, min(4 * site.units, size // 16384))
        args = (place, *pointers, I32(rows), I32(stride), I32(start), *map(i32, widths))
        calls.append(
            KernelCall(
                "array/parts.cl",
                entry,
                args,
                (groups, 1, 1),
                (64 if is_gpu else 1, 1, 1),
                (*defines, ("INTERLEAVED", "1")) if is_gpu else defines,
            )
        )
        start += width
    return tuple(calls)
