"""Launches of the kernels in `kernels_cl/state` and `kernels_cl/training` that update selected rows of a variable.

Invariant: the recipes are pure functions of shapes, dtypes and attributes; each row number belongs to one group, so
repeated indices never race.
"""

from __future__ import annotations

from dataclasses import replace

from tfnb.ir.kernelcall import I32, Arg, In, KernelCall, KernelSite, Temp, TensorInfo
from tfnb.ops.kernel_dtypes import element_defines, signed_defines

__all__ = ["row_count", "scatter_calls", "sparse_apply_calls"]

_SHARE = 8192  # the number of elements of updates from which an additional group pays


def row_count(ref: TensorInfo, indices: TensorInfo) -> tuple[int, int, int]:
    """Returns (rows, width, count) of a variable and an index tensor of any rank."""
    rows = ref.shape[0]
    return rows, ref.size // rows if rows else 0, indices.size


def _launch(
    site: KernelSite,
    file: str,
    entry: str,
    pointers: list[int],
    indices: int,
    defines: dict[str, str],
    numbered: tuple[Arg, tuple[int, int, int]] | None = None,
) -> tuple[KernelCall, ...]:
    """One launch; `numbered`: row numbers (int) in separate memory instead of the input, and (rows, width, count)."""
    rows, width, count = row_count(site.inputs[0], site.inputs[indices]) if numbered is None else numbered[1]
    if rows * width * count == 0:
        return ()
    groups = max(1, min(2 * site.units, rows, width * count // _SHARE))
    kind = site.inputs[indices].dtype.cl if numbered is None else "int"
    types = {"T": site.inputs[0].dtype.cl, "INDEX": kind}
    memory = [numbered[0] if numbered is not None and p == indices else In(p) for p in pointers]
    args = (*memory, I32(rows), I32(width), I32(count))
    with_rows = sum(p != indices and site.inputs[p].size > 1 for p in pointers)  # not hyperparameters
    accessed = (with_rows * width * site.inputs[0].dtype.size + 8) * count
    return (KernelCall(file, entry, args, (groups, 1, 1), defines=tuple((types | defines).items()), nbytes=accessed),)


def scatter_calls(
    site: KernelSite,
    entry: str,
    numbers: Arg | None = None,
    sizes: tuple[int, int, int] = (0, 0, 0),
) -> tuple[KernelCall, ...]:
    """Returns one launch of `entry` for the op's inputs ref, indices and updates.

    With `numbers`, row numbers replace the indices, and `sizes` are (rows, width, count).
    """
    dtype = site.inputs[0].dtype
    numbered = None if numbers is None else (numbers, sizes)
    if entry == "scatter_update" and dtype.is_floating and dtype.size == 2:
        return _launch(site, "state/scatter.cl", entry, [0, 1, 2], 1, {"T": "ushort"}, numbered)
    types = dict(signed_defines(dtype))
    return _launch(site, "state/scatter.cl", entry, [0, 1, 2], 1, types, numbered)


def sparse_apply_calls(
    site: KernelSite, entry: str, grad: int, indices: int, summed: bool = False
) -> tuple[KernelCall, ...]:
    """Returns one launch of `entry`: references and hyperparameters in the op's order, then gradient and indices.

    If the gradients of equal rows are to be `summed`, another launch before it links equal indices.
    """
    first = [i for i in range(len(site.inputs)) if i not in (grad, indices)]
    defines = dict(element_defines(site.inputs[0].dtype)) | {
        "NESTEROV": str(int(getattr(site.attrs, "use_nesterov", False))),
        "UPDATE_SLOTS": str(int(getattr(site.attrs, "update_slots", True))),
    }
    file = "training/sparse_apply.cl"
    calls = _launch(site, file, entry, [*first, grad, indices], indices, defines | {"SUMMED": str(int(summed))})
    if not summed or not calls:
        return calls
    count = site.inputs[indices].size
    bits = count.bit_length() + 1
    links = (Temp("next", 4 * count), Temp("last", 4 * count))
    args = (In(indices), *links, Temp("table", 4 << bits), I32(count), I32(bits))
    (call,) = calls
    return (
        KernelCall(file, "link_rows", args, defines=call.defines, nbytes=32 * count),
        replace(call, args=(*call.args[:-3], *links, *call.args[-3:])),
    )
