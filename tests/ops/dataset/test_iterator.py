"""Iterators over walks that wait for somebody: stopped steps, walks that end meanwhile."""

from __future__ import annotations

import threading

import pytest

import tfnb as tf
from tfnb.errors import CancelledError, DeadlineExceededError, OutOfRangeError
from tfnb.ir.opdef import AsyncCall, HostCall
from tfnb.ops.dataset.iterator import DatasetIterator
from tfnb.ops.dataset.sources import IteratorRows, Source

SECONDS = 120  # which nothing here takes, however busy the machine


class Waiting(Source):
    """Walks over what `make` yields, which may wait."""

    waits = True

    def __init__(self, make):
        self.make = make

    def rows(self):
        return IteratorRows(self.make())


class Asking:
    """A step that asks for the next element. `then` is called when it withdraws what would stop it."""

    def __init__(self, then=lambda: None):
        self.then = then
        self.stop = None
        self.ended = threading.Event()
        self.result = self.error = None

    def ask(self, iterator):
        iterator.get_next(AsyncCall(HostCall(None, {}, (), None), self._done, self._fail, self._on_cancel))
        return self

    def _on_cancel(self, callback):
        self.stop = callback
        return self.then

    def _done(self, result):
        if not self.ended.is_set():
            self.result = result
            self.ended.set()

    def _fail(self, error):
        if not self.ended.is_set():
            self.error = error
            self.ended.set()

    def wait(self):
        assert self.ended.wait(SECONDS)
        if self.error is not None:
            raise self.error
        return self.result


def iterator_over(make):
    iterator = DatasetIterator("i", (), ())
    iterator.start(Waiting(make))
    return iterator


def test_what_comes_after_its_step_was_stopped_is_next_at_once():
    """Also for a step that asks at that moment."""
    go, asked = threading.Event(), threading.Event()

    def elements():
        assert go.wait(SECONDS)
        yield (1,)
        yield (2,)

    iterator, late = iterator_over(elements), []

    def at_that_moment():
        late.append(Asking().ask(iterator).wait())
        asked.set()

    first = Asking(at_that_moment).ask(iterator)
    first.stop(CancelledError("stopped"))
    go.set()
    assert asked.wait(SECONDS)
    with pytest.raises(CancelledError):
        first.wait()
    assert late == [(1,)]
    assert Asking().ask(iterator).wait() == (2,)
    with pytest.raises(OutOfRangeError):
        Asking().ask(iterator).wait()


def test_what_comes_late_is_of_the_walk_that_it_comes_from():
    go, came = threading.Event(), threading.Event()

    def elements():
        assert go.wait(SECONDS)
        yield ("old",)

    iterator = iterator_over(elements)
    first = Asking(came.set).ask(iterator)
    first.stop(CancelledError("stopped"))
    # Whoever begins a walk does not wait for one that may never go on.
    again = threading.Thread(target=iterator.start, args=(Waiting(lambda: iter([("new",)])),), daemon=True)
    again.start()
    again.join(SECONDS)
    assert not again.is_alive()
    go.set()
    assert came.wait(SECONDS)
    assert Asking().ask(iterator).wait() == ("new",)


def test_a_session_closes_while_an_element_never_comes():
    never = threading.Event()

    def elements():
        never.wait()
        yield 1

    with tf.Graph().as_default() as graph:
        x = tf.data.Dataset.from_generator(elements, tf.int32, []).make_one_shot_iterator().get_next()
    session = tf.Session(graph=graph)
    with pytest.raises(DeadlineExceededError, match="waits for the next element"):
        session.run(x, options=tf.RunOptions(timeout_in_ms=50))
    closing = threading.Thread(target=session.close, daemon=True)
    closing.start()
    closing.join(SECONDS)
    closed = not closing.is_alive()
    never.set()
    assert closed
