"""Memory that host and device share: aligned, padded, pooled, limited.

Kernels may read 256 bytes past the end of a tensor and are faster with aligned rows, and the first access to new pages
costs more than a small kernel. So blocks are taken from a pool and returned when the last array on them is destroyed.
Invariant: a block is leased to at most one array, and every array that a user can have keeps its lease alive through
NumPy's `base`.
"""

from __future__ import annotations

import ctypes
import sys
import weakref
from collections import deque
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from tfnb.devices.buffers import MemoryStats
from tfnb.errors import ResourceExhaustedError
from tfnb.system.ownership import OwnedMemory

__all__ = ["ALIGNMENT", "PAD", "Block", "HostPool", "capacity_of", "keep_freed_memory", "numpy_block"]

ALIGNMENT = 128
PAD = 256
_KEEP = 1 << 28  # bytes of free blocks that are always kept


_WHOLE = 1 << 26  # bytes; larger arrays are still allocated by the system and returned to it
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # from malloc.h


@cache
def keep_freed_memory() -> None:
    """Makes the process keep memory that NumPy frees, because clearing new pages costs more than most host kernels.

    It has an effect only with glibc.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _WHOLE)
        mallopt(_M_TRIM_THRESHOLD, _KEEP)


class Block(OwnedMemory):
    """Raw bytes that own their memory; tensors begin at byte `start`. `arg` binds it to kernels.

    It is a subclass because NumPy skips a base of the same type when it makes a view of a view. A block is of another
    type than the array on it, so neither is skipped.
    """

    __slots__ = ("arg", "capacity", "lease", "memory", "start")
    start: int
    capacity: int
    arg: Any
    lease: _Lease | None
    memory: Any  # the object that frees the memory, if NumPy does not


class _Lease(weakref.ref[np.ndarray]):
    """A weak reference to the array to which a block is leased."""

    __slots__ = ("block",)
    block: Block


def capacity_of(nbytes: int) -> int:
    """Bytes of the block for a tensor of `nbytes`: padded, and rounded up by at most an eighth so that others can reuse
    it."""
    n = nbytes + PAD
    if n <= 1024:
        return 1024
    step = 1 << ((n - 1).bit_length() - 4)
    return -(-n // step) * step


def numpy_block(capacity: int) -> Block:
    """Returns a block of ordinary memory."""
    block: Block = np.ndarray.__new__(Block, (capacity + ALIGNMENT,), np.uint8)
    block.start = -block.ctypes.data % ALIGNMENT
    return block


class HostPool:
    """Leases typed arrays on blocks. The owner serialises the calls; arrays may be destroyed in any thread.

    `limit` is in bytes (0: none). `make(capacity)` returns a block or raises MemoryError. `settle()` waits for the work
    that may still write to free blocks, and is called before they are returned to the system.
    """

    def __init__(
        self,
        owner: str,
        limit: int,
        make: Callable[[int], Block] = numpy_block,
        bind: Callable[[np.ndarray], Any] = id,
        settle: Callable[[], None] = lambda: None,
    ) -> None:
        self._owner = owner
        self._limit = limit
        self._make = make
        self._bind = bind
        self._settle = settle
        self._free: dict[int, list[Block]] = {}
        self._leases: dict[int, _Lease] = {}
        self._returned: deque[_Lease] = deque()
        self._in_use = 0
        self._peak = 0
        self._cached = 0

    def take(self, capacity: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[np.ndarray, Any]:
        """An array with any content on a block of `capacity` (see `capacity_of`), and the block's kernel argument.

        Raises `ResourceExhaustedError` when the limit or the machine's memory is reached.
        """
        if self._returned:
            self._collect()
        if self._limit and self._in_use + capacity > self._limit:
            self._recount()
            if self._in_use + capacity > self._limit:
                raise self._exhausted(capacity, shape, dtype, f"the limit is {self._limit:,}")
        free = self._free.get(capacity)
        if free:
            block = free.pop()
            self._cached -= capacity
        else:
            block = self._fresh(capacity, shape, dtype)
        array: np.ndarray = np.ndarray(shape, dtype, block, block.start)
        lease = _Lease(array, self._returned.append)
        lease.block = block
        block.lease = self._leases[id(block)] = lease
        self._in_use += capacity
        if self._in_use > self._peak:
            self._peak = self._in_use
        return array, block.arg

    def owns(self, array: np.ndarray) -> bool:
        """Returns whether this is an array that `take` has returned, and not a part of one."""
        block = array.base
        if type(block) is not Block:
            return False
        lease = block.lease
        return lease is not None and lease() is array and self._leases.get(id(block)) is lease

    def arg(self, array: np.ndarray) -> Any:
        """Returns the kernel argument of an array for which `owns` is true."""
        return array.base.arg  # type: ignore[union-attr]

    def stats(self) -> MemoryStats:
        self._recount()
        return MemoryStats(self._in_use, self._peak, self._cached, self._limit)

    def trim(self) -> None:
        """Returns all free blocks to the system."""
        self._collect()
        self._drop()

    def _drop(self) -> None:
        if self._free:
            self._settle()
        for blocks in self._free.values():
            for block in blocks:
                block.arg = None  # else a reference cycle that the collector does not see
        self._free.clear()
        self._cached = 0

    def _collect(self) -> None:
        while self._returned:
            block = self._returned.popleft().block
            block.lease = None
            if self._leases.pop(id(block), None) is None:
                continue  # an interrupt ended `take` early
            self._in_use -= block.capacity
            self._free.setdefault(block.capacity, []).append(block)
            self._cached += block.capacity
        if self._cached > max(_KEEP, self._in_use):
            self._drop()

    def _recount(self) -> None:
        """Corrects the leases and their sum after Ctrl-C in the middle of `take` or `_collect`."""
        self._collect()
        self._leases = {key: lease for key, lease in self._leases.items() if lease() is not None}
        self._in_use = sum(lease.block.capacity for lease in self._leases.values())

    def _fresh(self, capacity: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Block:
        if self._limit and self._in_use + self._cached + capacity > self._limit:
            self.trim()
        try:
            block = self._make(capacity)
        except MemoryError:
            self.trim()
            try:
                block = self._make(capacity)
            except MemoryError:
                raise self._exhausted(capacity, shape, dtype, "the machine has not that much left") from None
        block.capacity = capacity
        block.lease = None
        block.arg = self._bind(np.ndarray((len(block) - block.start,), np.uint8, block, block.start))
        return block

    def _exhausted(
        self, capacity: int, shape: tuple[int, ...], dtype: np.dtype[Any], why: str
    ) -> ResourceExhaustedError:
        return ResourceExhaustedError(
            f"out of memory on {self._owner}: {capacity:,} bytes needed for {dtype.name}{list(shape)}, "
            f"{self._in_use:,} in use, {why}"
        )
