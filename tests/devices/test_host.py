"""The memory pool: leases, alignment, limits."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfnb.devices.host import ALIGNMENT, PAD, HostPool, capacity_of, numpy_block
from tfnb.errors import ResourceExhaustedError

F32 = np.dtype(np.float32)


def pool(limit=0, make=numpy_block):
    return HostPool("/device:CPU:0", limit, make)


@given(st.integers(0, 1 << 40))
def test_capacity_pads_and_wastes_little(nbytes):
    capacity = capacity_of(nbytes)
    assert capacity >= nbytes + PAD
    assert capacity <= max(1024, (nbytes + PAD) * 1.125)
    assert capacity_of(nbytes + 1) >= capacity


@given(st.lists(st.tuples(st.integers(0, 3000), st.booleans()), max_size=40))
@settings(deadline=None)
def test_leases_never_overlap(requests):
    p = pool()
    held = []
    for n, drop in requests:
        if drop and held:
            held.pop(0)
        array, _ = p.take(capacity_of(4 * n), (n,), F32)
        array[:] = len(held)
        held.append(array)
    spans = sorted((a.ctypes.data, a.ctypes.data + a.nbytes) for a in held if a.size)
    assert all(end <= begin for (_, end), (begin, _) in zip(spans, spans[1:], strict=False))
    assert all(a.ctypes.data % ALIGNMENT == 0 for a in held)
    assert p.stats().in_use == sum(capacity_of(a.nbytes) for a in held)


def test_a_block_comes_back_when_the_last_view_dies():
    p = pool()
    array, _ = p.take(1024, (4, 4), F32)
    view = array.T[1:].reshape(-1)[::2]
    viewed = memoryview(array)
    address = array.ctypes.data
    del array
    assert p.stats().in_use == 1024
    del view
    assert p.stats().in_use == 1024
    del viewed
    assert p.stats().in_use == 0
    again, _ = p.take(1024, (2,), F32)
    assert again.ctypes.data == address


def test_a_cycle_of_garbage_gives_its_blocks_back():
    p = pool()

    class Holder:
        pass

    holder = Holder()
    holder.array, _ = p.take(1024, (4,), F32)
    holder.me = holder
    del holder
    gc.collect()
    assert p.stats().in_use == 0


def test_owns_whole_arrays_only():
    p, other = pool(), pool()
    array, _ = p.take(1024, (8,), F32)
    assert p.owns(array)
    assert not p.owns(array[1:])
    assert not p.owns(array.copy())
    assert not other.owns(array)
    assert not p.owns(np.zeros(8, np.float32))


def test_limit_counts_what_lives():
    p = pool(limit=4096)
    arrays = [p.take(1024, (4,), F32)[0] for _ in range(4)]
    with pytest.raises(ResourceExhaustedError, match=r"1,024 bytes needed for float32\[4\], 4,096 in use"):
        p.take(1024, (4,), F32)
    arrays.pop()
    p.take(1024, (4,), F32)
    arrays.clear()
    p.take(4096, (4,), F32)  # free blocks of another size make room
    assert p.stats().peak == 4096


def test_free_blocks_go_back_to_the_system():
    blocks, settled = [], []

    def make(capacity):
        block = numpy_block(capacity)
        blocks.append(weakref.ref(block))
        return block

    p = HostPool("/device:CPU:0", 0, make, lambda array: [array], lambda: settled.append(len(blocks)))
    kept = p.take(1024, (4,), F32)[0]
    p.take(1024, (4,), F32)
    p.trim()
    assert [b() is None for b in blocks] == [False, True] and settled == [2]
    kept[:] = 1
    del kept
    p.trim()
    assert blocks[0]() is None


def test_the_systems_refusal_is_ours():
    calls = []

    def none(capacity):
        calls.append(capacity)
        raise MemoryError

    with pytest.raises(ResourceExhaustedError, match="not that much left"):
        pool(make=none).take(1024, (4,), F32)
    assert len(calls) == 2  # once more after the free blocks went


def test_arrays_may_die_in_other_threads():
    p = pool()
    arrays = [p.take(1024, (4,), F32)[0] for _ in range(100)]
    threads = [threading.Thread(target=lambda: [arrays.pop() for _ in range(25)]) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    del threads
    assert p.stats().in_use == 0
