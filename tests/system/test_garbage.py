"""The search for garbage waits for an answer, and goes on after it."""

from __future__ import annotations

import gc
import time

from tfnb.system import garbage


def until(condition):
    end = time.monotonic() + 10
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    return condition()


def test_no_search_begins_inside_and_it_goes_on_soon_after():
    assert gc.isenabled()
    before = gc.get_stats()[0]["collections"]
    with garbage.put_off():
        assert not gc.isenabled()
        rings = [[] for _ in range(20_000)]
        for ring in rings:
            ring.append(ring)
        del rings, ring
        assert gc.get_stats()[0]["collections"] == before
    assert not gc.isenabled() and until(gc.isenabled)
    [[] for _ in range(5000)]
    assert gc.get_stats()[0]["collections"] > before


def test_blocks_may_overlap_and_an_error_inside_ends_one():
    with garbage.put_off():
        try:
            with garbage.put_off():
                raise ValueError
        except ValueError:
            pass
        time.sleep(2 * garbage.SECONDS_AFTER)
        assert not gc.isenabled()
    assert until(gc.isenabled)


def test_a_search_that_the_program_turned_off_stays_off():
    gc.disable()
    try:
        with garbage.put_off():
            assert not gc.isenabled()
        time.sleep(2 * garbage.SECONDS_AFTER)
        assert not gc.isenabled()
    finally:
        gc.enable()
