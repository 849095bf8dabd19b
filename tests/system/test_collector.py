"""Pauses of the collector end with the last of them, and leave it as it was."""

import gc
import os
import threading
import time
import weakref

import numpy as np
import pytest
from waiting import until

import tfnb as tf
from tfnb.system import collector
from tfnb.system.collector import collector_paused


def test_pauses_nest_and_end_when_something_is_raised():
    assert gc.isenabled()
    with collector_paused():
        with pytest.raises(ValueError), collector_paused():
            raise ValueError
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_the_user_has_disabled_stays_disabled():
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_pauses_of_many_threads():
    failures, start = [], threading.Barrier(16)

    def work():
        start.wait()
        for _ in range(300):
            with collector_paused():
                if gc.isenabled():
                    failures.append(1)

    threads = [threading.Thread(target=work) for _ in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures
    assert gc.isenabled()


def test_compiling_a_step_collects_nothing():
    generations = []
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 4])
        y = x
        for k in range(300):
            y = tf.nn.relu(y * np.float32(k) + x)
        with tf.Session() as sess:
            gc.callbacks.append(lambda phase, info: generations.append(phase))
            try:
                sess.run(y, {x: np.ones((3, 4), np.float32)})
            finally:
                gc.callbacks.pop()
    assert gc.isenabled()
    assert len(generations) < 40  # thousands of objects are made, each 700 of which would start a collection


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_ends_the_pauses_of_other_threads():
    paused, end = threading.Event(), threading.Event()

    def work():
        with collector_paused():
            paused.set()
            end.wait()

    thread = threading.Thread(target=work)
    thread.start()
    paused.wait()
    child = os.fork()
    if not child:
        os._exit(0 if gc.isenabled() else 1)
    end.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert gc.isenabled()


def test_no_search_begins_inside_and_it_goes_on_soon_after():
    assert gc.isenabled()
    before = gc.get_stats()[0]["collections"]
    with collector.put_off():
        assert not gc.isenabled()
        rings = [[] for _ in range(20_000)]
        for ring in rings:
            ring.append(ring)
        del rings, ring
        assert gc.get_stats()[0]["collections"] == before
    assert not gc.isenabled()
    until(gc.isenabled)
    # Again and again, since a thread of another test that still compiles may put searches off meanwhile.
    until(lambda: bool([[] for _ in range(5000)]) and gc.get_stats()[0]["collections"] > before)


def test_blocks_may_overlap_and_an_error_inside_ends_one():
    with collector.put_off():
        try:
            with collector.put_off():
                raise ValueError
        except ValueError:
            pass
        time.sleep(2 * collector.SECONDS_AFTER)
        assert not gc.isenabled()
    until(gc.isenabled)


def test_a_search_that_the_program_turned_off_stays_off():
    gc.disable()
    try:
        with collector.put_off():
            assert not gc.isenabled()
        time.sleep(2 * collector.SECONDS_AFTER)
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.fixture
def first(monkeypatch):
    """The next compilation counts as the first of the process."""
    monkeypatch.setattr(collector, "_has_aged", False)
    yield
    gc.collect()  # what other tests have dropped would stay for long, as it counts as old now


def is_old(objects):
    old = {id(o) for o in gc.get_objects(generation=2)}
    return all(id(o) in old for o in objects)


@pytest.mark.usefixtures("first")
def test_what_the_first_compilation_has_made_is_in_the_oldest_generation():
    with collector_paused():
        made = [[k] for k in range(1000)]
    assert is_old(made) and gc.get_freeze_count() == 0
    with collector_paused():
        later = [[k] for k in range(100)]
    assert not is_old(later)


@pytest.mark.usefixtures("first")
def test_garbage_of_the_first_compilation_is_found_by_a_full_collection():
    class Ring:
        def __init__(self):
            self.itself = self

    with collector_paused():
        ring = weakref.ref(Ring())
    gc.collect()
    assert ring() is None


@pytest.mark.usefixtures("first")
def test_what_the_user_has_frozen_stays_so():
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with collector_paused():
            made = [[k] for k in range(1000)]
        assert 0 < gc.get_freeze_count() <= frozen  # fewer, if some are freed meanwhile
        assert made
    finally:
        gc.unfreeze()
