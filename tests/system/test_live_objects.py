"""Objects that can be listed while other threads add some."""

from __future__ import annotations

import gc
import sys
import threading

from tfnb.system import live_objects
from tfnb.system.live_objects import LiveObjects


class _Thing:
    pass


def test_what_is_destroyed_is_forgotten():
    things: LiveObjects[_Thing] = LiveObjects()
    kept = [_Thing(), _Thing()]
    for thing in kept:
        things.add(thing)
    things.add(_Thing())
    gc.collect()
    assert things.list() == kept
    del kept[0], thing
    gc.collect()
    assert things.list() == kept


def test_listing_while_others_add():
    things: LiveObjects[_Thing] = LiveObjects()
    ends, errors = threading.Event(), []

    def add():
        while not ends.is_set():
            kept = [_Thing() for _ in range(20)]
            for thing in kept:
                things.add(thing)

    def look():
        try:
            for _ in range(2000):
                things.list()
        except RuntimeError as e:
            errors.append(e)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        adders = [threading.Thread(target=add) for _ in range(2)]
        for thread in adders:
            thread.start()
        look()
        ends.set()
        for thread in adders:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not errors


def test_objects_that_outlive_the_module_are_forgotten(monkeypatch):
    """When a process ends, Python 3.10 sets the names of modules to None before the last objects go."""
    known: LiveObjects[_Thing] = LiveObjects()
    item = _Thing()
    known.add(item)
    monkeypatch.setattr(live_objects, "_forget", None)
    del item
    gc.collect()
    assert known._references == {}
