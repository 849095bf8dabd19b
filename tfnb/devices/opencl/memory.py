"""Memory of OpenCL devices: shared with the host if the device supports it, else buffers that are copied.

Shared memory is fine-grained SVM: kernels and NumPy access the same memory by pointers, without mapping. Invariant:
every tensor can be read 256 bytes past its end by kernels.
"""

from __future__ import annotations

import ctypes
import mmap
from typing import Any, Protocol, cast

import numpy as np
import pyopencl as cl
from pyopencl.tools import ImmediateAllocator, MemoryPool

from tfnb.devices.buffers import DeviceTensor, MemoryStats
from tfnb.devices.host import ALIGNMENT, PAD, Block, HostPool, capacity_of
from tfnb.devices.interface import Lock
from tfnb.errors import InternalError, ResourceExhaustedError
from tfnb.ir.kernelcall import TensorInfo
from tfnb.types import as_dtype

__all__ = ["BufferMemory", "DeviceMemory", "SharedMemory"]

_BORROW = 1 << 15  # bytes; for a larger array of the user, a kernel argument is cheaper than a copy
_HUGE = 4 << 20  # bytes; large pages make a copy of a larger block 25% faster
_MADV_HUGEPAGE = 14
_SMALL = 8 << 10  # bytes; smaller blocks are parts of slabs, because each allocation takes 1 KB more
_SLAB = 128 << 10


class MemoryOwner(Protocol):
    """The part of a device that the device's memory uses."""

    name: str

    @property
    def lock(self) -> Lock: ...

    def download(self, tensor: DeviceTensor) -> np.ndarray: ...

    def settle(self) -> None:
        """Waits for all enqueued work; the caller holds the lock."""
        ...

    def synchronize(self) -> None:
        """Waits for all enqueued work."""
        ...


class DeviceMemory(Protocol):
    """The memory of a device, which serialises the calls. Parts begin at multiples of `align` bytes.

    `has_sized_parts` says whether the kernel argument for a part of a tensor depends on how long the part is, and
    `is_lazy` whether memory that nobody has used takes no room.
    """

    align: int
    has_sized_parts: bool
    is_lazy: bool

    def allocate(self, info: TensorInfo, capacity: int) -> DeviceTensor:
        """Returns a new tensor in memory of `capacity` bytes.

        That is `capacity_of(info.nbytes)`, which the caller has computed once, or more.
        """
        ...

    def upload(self, array: np.ndarray, info: TensorInfo, capacity: int) -> DeviceTensor:
        """Returns a copy of the array."""
        ...

    def admit(self, array: np.ndarray, info: TensorInfo, capacity: int) -> DeviceTensor:
        """Returns a tensor for reading the array: the array itself if kernels can access it, else a copy."""
        ...

    def download(self, tensor: DeviceTensor) -> np.ndarray: ...

    def viewed(self, tensor: DeviceTensor, info: TensorInfo) -> np.ndarray:
        """Returns the start of a tensor's memory, which the caller keeps alive, as an array. The memory is shared."""
        ...

    def part(self, tensor: DeviceTensor, offset: int, nbytes: int) -> Any:
        """Returns the kernel argument for `nbytes` bytes of a tensor from `offset` on."""
        ...

    def rows(self, table: np.ndarray) -> tuple[DeviceTensor, list[Any]]:
        """Copies a table to the device; returns the copy and the kernel argument of each row."""
        ...

    def copy(self, source: DeviceTensor, target: DeviceTensor) -> None:
        """Copies `source` to the start of `target`, whose memory has room for it, after all enqueued work.

        Work that is enqueued later finds the copy.
        """
        ...

    def bytes_of(self, tensor: DeviceTensor, begin: int, nbytes: int) -> np.ndarray:
        """Returns bytes of a tensor's memory, which may lie behind its value, when all work is done."""
        ...

    def set_bytes(self, tensor: DeviceTensor, begin: int, values: np.ndarray) -> None:
        """Sets bytes of a tensor's memory from `begin` on."""
        ...

    def stats(self) -> MemoryStats: ...

    def trim(self) -> None: ...


class SharedMemory:
    """Pooled SVM that NumPy accesses. With `any_pointer`, kernels may also read memory that is not SVM."""

    align = 1
    has_sized_parts = False
    is_lazy = True

    def __init__(self, device: MemoryOwner, context: cl.Context, limit: int, any_pointer: bool = False) -> None:
        self._device = device
        self._context = context
        self._any_pointer = any_pointer
        self._flags = cl.svm_mem_flags.READ_WRITE | cl.svm_mem_flags.SVM_FINE_GRAIN_BUFFER
        self._pool = HostPool(device.name, limit, self._block, cl.SVM, device.settle)
        # The raw bytes of the slab, and the object that frees them.
        self._slab: tuple[ctypes.Array[ctypes.c_ubyte], cl.SVMAllocation] | None = None
        self._slab_at = 0  # the offset of its unused part

    def allocate(self, info: TensorInfo, capacity: int) -> DeviceTensor:
        array, arg = self._pool.take(capacity, info.shape, info.dtype.np)
        return DeviceTensor(self._device, info, arg, array)

    def upload(self, array: np.ndarray, info: TensorInfo, capacity: int) -> DeviceTensor:
        copy, arg = self._pool.take(capacity, info.shape, info.dtype.np)
        copy[...] = array
        return DeviceTensor(self._device, info, arg, copy)

    def admit(self, array: np.ndarray, info: TensorInfo, capacity: int) -> DeviceTensor:
        if self._pool.owns(array) and array.flags.c_contiguous:
            return DeviceTensor(self._device, info, self._pool.arg(array), array)
        if self._any_pointer and array.nbytes >= _BORROW and _readable(array):
            return DeviceTensor(self._device, info, cl.SVM(array), array)
        return self.upload(array, info, capacity)

    def download(self, tensor: DeviceTensor) -> np.ndarray:
        assert tensor.array is not None
        return tensor.array

    def viewed(self, tensor: DeviceTensor, info: TensorInfo) -> np.ndarray:
        block: Any = cast(np.ndarray, tensor.array).base
        array: np.ndarray = np.ndarray(info.shape, info.dtype.np, block, block.start)
        return array

    def part(self, tensor: DeviceTensor, offset: int, nbytes: int) -> Any:
        if not offset:
            return tensor.arg
        return cl.SVM(tensor.arg.mem[offset:])

    def rows(self, table: np.ndarray) -> tuple[DeviceTensor, list[Any]]:
        info = TensorInfo(as_dtype(table.dtype), table.shape)
        tensor = self.upload(table, info, capacity_of(info.nbytes))
        width = table.itemsize * table.shape[1]
        return tensor, [self.part(tensor, i * width, width) for i in range(len(table))]

    def copy(self, source: DeviceTensor, target: DeviceTensor) -> None:
        self._device.synchronize()
        nbytes = source.info.nbytes
        target.arg.mem[:nbytes] = source.arg.mem[:nbytes]

    def bytes_of(self, tensor: DeviceTensor, begin: int, nbytes: int) -> np.ndarray:
        memory: np.ndarray = tensor.arg.mem
        return memory[begin : begin + nbytes]

    def set_bytes(self, tensor: DeviceTensor, begin: int, values: np.ndarray) -> None:
        tensor.arg.mem[begin : begin + len(values)] = values

    def stats(self) -> MemoryStats:
        return self._pool.stats()

    def trim(self) -> None:
        self._pool.trim()

    def _block(self, capacity: int) -> Block:
        if capacity > _SMALL:
            return _on(*self._raw(capacity), 0, capacity)
        if self._slab is None or self._slab_at + capacity > _SLAB:
            self._slab, self._slab_at = self._raw(_SLAB), 0
        begin, self._slab_at = self._slab_at, self._slab_at + capacity
        return _on(*self._slab, begin, capacity)

    def _raw(self, nbytes: int) -> tuple[ctypes.Array[ctypes.c_ubyte], cl.SVMAllocation]:
        """Allocates shared memory; returns its bytes and the object that frees them. Raises MemoryError."""
        try:
            memory = cl.SVMAllocation(self._context, nbytes, ALIGNMENT, self._flags)
        except cl.Error as e:
            raise MemoryError(str(e)) from None
        address = memory.svm_ptr
        if nbytes >= _HUGE:
            _advise_huge(address, nbytes)
        # The memory is wrapped by ctypes, because views would skip a plain array as their base (see `Block`).
        return (ctypes.c_ubyte * nbytes).from_address(address), memory


def _on(raw: ctypes.Array[ctypes.c_ubyte], memory: cl.SVMAllocation, begin: int, capacity: int) -> Block:
    block: Block = np.ndarray.__new__(Block, (capacity,), np.uint8, cast("memoryview[int]", raw), begin)
    block.start = 0
    block.memory = memory
    return block


def _readable(array: np.ndarray) -> bool:
    """Returns whether a kernel may read the memory of the array, and PAD bytes past its end.

    The blocks of every pool are padded. Elsewhere, the bytes up to the end of the page can be read, whatever they are.
    """
    flags = array.flags
    if not (flags.c_contiguous and flags.writeable and flags.aligned):
        return False  # an SVM argument needs writable memory
    if type(array.base) is Block:
        return True
    bytes_to_page_end = -(array.ctypes.data + array.nbytes) % mmap.PAGESIZE
    return bytes_to_page_end >= PAD


def _advise_huge(address: int, nbytes: int) -> None:
    """Requests large pages. The error of a system without them is ignored."""
    madvise = getattr(ctypes.CDLL(None), "madvise", None)
    if madvise is not None:
        first = -(-address // mmap.PAGESIZE) * mmap.PAGESIZE
        length = (address + nbytes) // mmap.PAGESIZE * mmap.PAGESIZE - first
        madvise(ctypes.c_void_p(first), ctypes.c_size_t(length), _MADV_HUGEPAGE)


class BufferMemory:
    """Buffers of pyopencl's memory pool, which are copied to and from the host."""

    has_sized_parts = True
    is_lazy = False

    def __init__(self, device: MemoryOwner, queue: cl.CommandQueue, limit: int) -> None:
        self._device = device
        self._queue = queue
        self._limit = limit
        self._peak = 0
        self._pool = MemoryPool(ImmediateAllocator(queue))
        self.align = max(16, queue.device.mem_base_addr_align // 8)

    def allocate(self, info: TensorInfo, capacity: int) -> DeviceTensor:
        in_use = self._pool.active_bytes
        reason = f"the limit is {self._limit:,}"
        if not self._limit or in_use + capacity <= self._limit:
            try:
                buffer = self._pool.allocate(capacity)
                self._peak = max(self._peak, self._pool.active_bytes)
                return DeviceTensor(self._device, info, buffer)
            except cl.MemoryError as e:
                reason = str(e)
        raise ResourceExhaustedError(
            f"out of memory on {self._device.name}: {capacity:,} bytes needed for "
            f"{info.dtype.name}{list(info.shape)}, {in_use:,} in use, {reason}"
        )

    def upload(self, array: np.ndarray, info: TensorInfo, capacity: int) -> DeviceTensor:
        tensor = self.allocate(info, capacity)
        if info.nbytes:
            cl.enqueue_copy(self._queue, tensor.arg, np.ascontiguousarray(array), is_blocking=True)
        return tensor

    admit = upload

    def download(self, tensor: DeviceTensor) -> np.ndarray:
        array = np.empty(tensor.shape, tensor.info.dtype.np)
        if array.nbytes:
            with self._device.lock:
                cl.enqueue_copy(self._queue, array.reshape(-1).view(np.uint8), tensor.arg, is_blocking=True)
        return array

    def viewed(self, tensor: DeviceTensor, info: TensorInfo) -> np.ndarray:
        raise InternalError("the host cannot access the memory of a buffer")

    def part(self, tensor: DeviceTensor, offset: int, nbytes: int) -> Any:
        if not offset:
            return tensor.arg
        # A pooled buffer itself has no sub-regions.
        return cast(cl.Buffer, cl.Buffer.from_int_ptr(tensor.arg.int_ptr)).get_sub_region(offset, nbytes + PAD)

    def rows(self, table: np.ndarray) -> tuple[DeviceTensor, list[Any]]:
        # A sub-buffer must begin at an aligned offset, so the rows are padded.
        width = table.itemsize * table.shape[1]
        stride = -(-width // self.align) * self.align
        padded_rows = np.zeros((len(table), stride), np.uint8)
        padded_rows[:, :width] = np.ascontiguousarray(table).view(np.uint8)
        info = TensorInfo(as_dtype(padded_rows.dtype), padded_rows.shape)
        tensor = self.upload(padded_rows, info, capacity_of(info.nbytes))
        return tensor, [self.part(tensor, i * stride, width) for i in range(len(table))]

    def copy(self, source: DeviceTensor, target: DeviceTensor) -> None:
        if source.info.nbytes:
            self._device.synchronize()  # traced runs have a queue of their own, which this one does not wait for
            cl.enqueue_copy(self._queue, target.arg, source.arg, byte_count=source.info.nbytes).wait()

    def bytes_of(self, tensor: DeviceTensor, begin: int, nbytes: int) -> np.ndarray:
        found = np.empty(nbytes, np.uint8)
        cl.enqueue_copy(self._queue, found, tensor.arg, src_offset=begin, is_blocking=True)
        return found

    def set_bytes(self, tensor: DeviceTensor, begin: int, values: np.ndarray) -> None:
        cl.enqueue_copy(self._queue, tensor.arg, values, dst_offset=begin, is_blocking=True)

    def stats(self) -> MemoryStats:
        pool = self._pool
        return MemoryStats(pool.active_bytes, self._peak, pool.managed_bytes - pool.active_bytes, self._limit)

    def trim(self) -> None:
        self._pool.free_held()
