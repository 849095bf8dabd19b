"""Iterators over walks that wait for somebody: stopped steps, walks that end meanwhile."""

from __future__ import annotations

import threading

import pytest

import tfnb as tf
from tfnb.errors import CancelledError, DeadlineExceededError, OutOfRangeError
from tfnb.ir.opdef import AsyncCall, HostCall
from tfnb.ops.dataset.iterator import DatasetIterator, Prefetched
from tfnb.ops.dataset.sources import IteratorRows, Rows, Source

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
    session.make_callable(x)  # compiled, so that all of the time limit is for the wait
    with pytest.raises(DeadlineExceededError, match="waits for the next element"):
        session.run(x, options=tf.RunOptions(timeout_in_ms=500))
    closing = threading.Thread(target=session.close, daemon=True)
    closing.start()
    closing.join(SECONDS)
    closed = not closing.is_alive()
    never.set()
    assert closed


def _all_of(source):
    """The elements of a pass, taken four at a time, with an error's message in its place."""
    rows, found = source.rows(), []
    while True:
        try:
            elements = rows.take(4)
        except ValueError as e:
            found.append(str(e))
            continue
        if not elements:
            rows.close()
            return found
        assert len(elements) <= 4
        found += [element[0] for element in elements]


class _Numbers(Rows):
    """Numbers up to 10; `bad` raises an error instead."""

    def __init__(self, bad):
        self.at, self.bad = 0, bad

    def take(self, n):
        self.at += 1
        if self.at == self.bad:
            raise ValueError("bad")
        return [(self.at,)] if self.at <= 10 else []

    def close(self):
        pass


@pytest.mark.parametrize("size", [1, 3, 50])
@pytest.mark.parametrize("bad", [0, 1, 2, 6, 10])
def test_a_prefetching_data_set_below_another_one_keeps_the_order(size, bad):
    source = Source()
    source.rows = lambda: _Numbers(bad)
    assert _all_of(Prefetched(source, size)) == [i if i != bad else "bad" for i in range(1, 11)]


def test_a_prefetching_pass_that_is_closed_ends_who_waits():
    blocked, ended = threading.Event(), []

    def elements():
        blocked.wait(SECONDS)
        return
        yield

    rows = Prefetched(Waiting(elements), 2).rows()

    def take():
        with pytest.raises(CancelledError):
            rows.take(1)
        ended.append(True)

    thread = threading.Thread(target=take)
    thread.start()
    threading.Timer(0.1, blocked.set).start()
    with rows._changed:
        rows._closed = True
        rows._changed.notify_all()
    thread.join(SECONDS)
    rows.close()
    assert ended and not rows._thread.is_alive()
