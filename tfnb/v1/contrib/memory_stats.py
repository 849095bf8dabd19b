"""`tf.contrib.memory_stats`: operations that measure the memory of the device that they are placed on.

Invariant: a number is that of the moment in which the operation runs; control dependencies say when.
"""

from __future__ import annotations

from tfnb.ir.tensor import Tensor
from tfnb.ops import CATALOG

__all__ = ["BytesInUse", "BytesLimit", "MaxBytesInUse"]


def BytesInUse() -> Tensor:
    """Returns how many bytes live tensors hold on the operation's device, an int64 scalar."""
    return CATALOG["BytesInUse"]()


def BytesLimit() -> Tensor:
    """Returns how many bytes may be in use on the operation's device, an int64 scalar; 2^63 - 1 without a limit."""
    return CATALOG["BytesLimit"]()


def MaxBytesInUse() -> Tensor:
    """Returns the most bytes that live tensors held so far on the operation's device, an int64 scalar."""
    return CATALOG["MaxBytesInUse"]()
