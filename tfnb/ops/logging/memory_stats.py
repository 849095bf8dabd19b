"""The memory of the device that an operation is placed on: `tf.contrib.memory_stats`.

Invariant: the numbers are those of the device's own pool of memory, in bytes, at the time when the operation runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, OpDef
from tfnb.types import scalar

__all__ = ["OPS"]

_UNLIMITED = np.iinfo(np.int64).max


def _measure(name: str, doc: str, number: Callable[[Any], int]) -> OpDef:
    def host(call: HostCall) -> tuple[np.ndarray]:
        return (np.array(number(call.tools.memory_stats()), np.int64),)

    return OpDef(
        name,
        "",
        "out: int64",
        doc + "\n\nHost only.",
        infer=lambda c: scalar,
        host=host,
        grad=NOT_DIFFERENTIABLE,
        stateful=True,
        raw=True,
    )


OPS: tuple[OpDef, ...] = (
    _measure("BytesInUse", "How many bytes live tensors hold on the operation's device.", lambda m: m.in_use),
    _measure(
        "MaxBytesInUse", "The most bytes that live tensors held so far on the operation's device.", lambda m: m.peak
    ),
    _measure(
        "BytesLimit",
        "How many bytes may be in use on the operation's device; 2^63 - 1 if there is no limit.",
        lambda m: m.limit or _UNLIMITED,
    ),
)
