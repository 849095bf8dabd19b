"""Iterators over data sets, and prefetching (`tf.data`; white paper, section 4.6: input concurrent with training).

An iterator is a resource that keeps a pass over a data set between steps. A prefetching data set fills a queue from its
own thread, so the next elements are computed while a step runs. Invariant: every element is delivered once, to one
step; an element that arrives after its step was stopped is delivered to the next one.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from tfnb.errors import CancelledError, FailedPreconditionError, OutOfRangeError
from tfnb.ir.opdef import AsyncCall, HostCall
from tfnb.ops.dataset.sources import Element, Rows, Source
from tfnb.ops.dataset.transforms import Over
from tfnb.ops.sync.queue_store import FIFOQueue
from tfnb.system import threads
from tfnb.types import DType

__all__ = ["DatasetIterator", "Prefetched"]

_NO_CALL = HostCall(None, {}, (), None)


class _Waiter:
    """A call to a queue whose result a thread waits for."""

    def __init__(self) -> None:
        self.came = threading.Event()
        self.result: Any = None
        self.error: BaseException | None = None
        self.call = AsyncCall(_NO_CALL, self._done, self._fail, lambda callback: lambda: None)

    def _done(self, result: Sequence[Any]) -> None:
        self.result = result
        self.came.set()

    def _fail(self, error: BaseException) -> None:
        self.error = error
        self.came.set()

    def wait(self) -> Any:
        self.came.wait()
        if self.error is not None:
            raise self.error
        return self.result


class _PrefetchRows(Rows):
    """A pass from which a thread takes elements: (element, None), or (None, the error in place of an element)."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._thread = threading.Thread(target=self._fill, daemon=True, name="tfnb-prefetch")
        threads.start(self._thread)

    def _fill(self) -> None:
        try:
            self._await_place()  # before the element is computed, so that no more of them than asked for are ahead
            while items := self._next():
                self._put(items[0])
                self._await_place()
        except CancelledError:
            return  # the iterator was closed
        self._finish()

    def _next(self) -> list[tuple[Any, Any]]:
        """Returns the next element, or the error that took its place; nothing after the last one."""
        try:
            return [(element, None) for element in self._rows.take(1)]
        except CancelledError:
            raise
        except BaseException as e:  # a thread that ended here would leave the reader waiting for ever
            return [(None, e)]

    def _await_place(self) -> None:
        """Waits for a place. Raises `CancelledError` after `close`."""
        raise AssertionError("a kind of prefetching says how")

    def _put(self, item: tuple[Any, Any]) -> None:
        """Puts an item into the free place. Raises `CancelledError` after `close`."""
        raise AssertionError("a kind of prefetching says how")

    def _finish(self) -> None:
        """Says that there are no more items."""
        raise AssertionError("a kind of prefetching says how")

    def close(self) -> None:
        if self._thread is not threading.current_thread() and not threads.are_over():
            self._thread.join(timeout=5)
        self._rows.close()


class _PlacesQueue(FIFOQueue):
    """A queue whose free places can be waited for."""

    def __init__(self, size: int) -> None:
        super().__init__("prefetch", size, (), ())
        self.places = threading.Semaphore(size)

    def _take(self) -> Any:
        element = super()._take()
        self.places.release()
        return element

    def _put_back(self, elements: Sequence[Any]) -> None:
        for _ in elements:
            self.places.acquire(blocking=False)
        super()._put_back(elements)


class _QueuedRows(_PrefetchRows):
    """Elements for steps, which wait in a queue without a thread."""

    def __init__(self, rows: Rows, size: int) -> None:
        self.queue = _PlacesQueue(size)
        self._closed = False
        super().__init__(rows)

    def _await_place(self) -> None:
        self.queue.places.acquire()
        if self._closed:
            raise CancelledError("the iterator was closed")

    def _put(self, item: tuple[Any, Any]) -> None:
        waiter = _Waiter()
        self.queue.enqueue(waiter.call, [item])
        waiter.wait()

    def _finish(self) -> None:
        self.queue.close(_Waiter().call, cancel_pending_enqueues=False)

    def close(self) -> None:
        self._closed = True
        self.queue.places.release()
        self.queue.dispose()
        super().close()


class _BufferedRows(_PrefetchRows):
    """Elements for another data set, which takes as many at once as it needs."""

    def __init__(self, rows: Rows, size: int) -> None:
        self._size = size
        self._items: deque[tuple[Any, Any]] = deque()
        self._changed = threading.Condition()  # protects the following, and wakes the one that waits
        self._wanted = 0  # for so many items somebody waits
        self._ended = self._closed = False
        super().__init__(rows)

    def _await_place(self) -> None:
        with self._changed:
            while len(self._items) >= self._size and not self._closed:
                self._changed.wait()
            if self._closed:
                raise CancelledError("the iterator was closed")

    def _put(self, item: tuple[Any, Any]) -> None:
        with self._changed:
            self._items.append(item)
            if self._wanted and (len(self._items) >= self._wanted or item[1] is not None):
                self._changed.notify_all()

    def _finish(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def take(self, n: int) -> list[Element]:
        with self._changed:
            self._wanted = min(n, self._size)
            while not (self._closed or self._ended or self._is_ready()):
                self._changed.wait()
            self._wanted = 0
            if self._closed:
                raise CancelledError("the iterator was closed")
            self._changed.notify_all()
            elements: list[Element] = []
            while self._items and len(elements) < n:
                if self._items[0][1] is not None and elements:
                    break  # the error, in its turn
                elements.append(_open(self._items.popleft()))
            return elements

    def _is_ready(self) -> bool:
        """Are there as many items as somebody waits for, or an error after fewer?"""
        return len(self._items) >= self._wanted or bool(self._items and self._items[-1][1] is not None)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        super().close()


def _open(item: Sequence[Any]) -> Element:
    element, error = item
    if error is not None:
        raise error
    return element


class Prefetched(Over):
    """Computes up to `size` elements ahead, in its own thread."""

    waits = True

    def __init__(self, source: Source, size: int) -> None:
        super().__init__(source)
        self.waits = True
        self._size = size if size > 0 else 2

    def rows(self) -> Rows:
        return _BufferedRows(self.source.rows(), self._size)

    def queued(self) -> Rows:
        """Returns a new pass for steps, which wait for its elements without a thread."""
        return _QueuedRows(self.source.rows(), self._size)


class _Walk:
    """A pass over a data set that steps share. `waits`: taking an element may block for an unlimited time."""

    def __init__(self, rows: Rows, waits: bool) -> None:
        self.rows = rows
        self.waits = waits
        self._lock = threading.Lock()
        self._giver = 0  # the thread that has the lock
        self._ended = False
        self.returned: deque[Element] = deque()  # elements that arrived after their steps were stopped; under the lock

    def give_next(self, give: Callable[[Element], bool]) -> None:
        """Passes the next element to `give`; if it is refused, it stays the next. Raises `OutOfRangeError`.

        Raises `FailedPreconditionError` in a function of the data set's, or in a signal handler that comes there: they
        cannot have the next element before this one.
        """
        with self._alone():
            if self._ended:
                raise CancelledError("the iterator was initialized anew, or its container was reset")
            elements = [self.returned.popleft()] if self.returned else self.rows.take(1)
            if not elements:
                raise OutOfRangeError("End of sequence")
            if not give(elements[0]):
                self.returned.appendleft(elements[0])

    def end(self) -> None:
        """Releases threads and files. It does not wait for blocked readers, but wakes them if that is possible."""
        self._ended = True
        if self.waits or self._giver == threading.get_ident():
            self.rows.close()
            return
        with self._alone():
            self.rows.close()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        thread = threading.get_ident()
        if self._giver == thread:
            raise FailedPreconditionError("the iterator computes an element in this thread, which asks for another one")
        with self._lock:
            self._giver = thread
            try:
                yield
            finally:
                self._giver = 0


class DatasetIterator:
    """The contents of an iterator: the current pass, and the types and shapes of its elements."""

    def __init__(self, name: str, dtypes: Sequence[DType], shapes: Sequence[Any]) -> None:
        self.name = name
        self.dtypes = tuple(dtypes)
        self.shapes = tuple(shapes)
        self._lock = threading.Lock()
        self._starting = threading.Lock()
        self._walk: _Walk | None = None

    def start(self, source: Source) -> None:
        """Begins a pass over `source`, after ending the previous one."""
        self._follow(_Walk(source.queued() if isinstance(source, Prefetched) else source.rows(), source.waits))

    def _follow(self, walk: _Walk | None) -> None:
        with self._lock:
            before, self._walk = self._walk, walk
        if before is not None:
            before.end()

    def start_once(self, make: Callable[[], Source]) -> None:
        """Begins a pass unless there is one already; safe when several threads call it."""
        with self._starting:
            if self._walk is None:
                self.start(make())

    @property
    def started(self) -> bool:
        return self._walk is not None

    def get_next(self, call: AsyncCall) -> Callable[[], str] | None:
        """Delivers the next element, or `OutOfRangeError` after the last one."""
        walk = self._walk
        if walk is None:
            raise FailedPreconditionError(
                "GetNext() failed because the iterator has not been initialized. Ensure that you have run the "
                "initializer operation for this iterator before getting the next element."
            )
        if isinstance(walk.rows, _QueuedRows):
            queue = walk.rows.queue
            queue.dequeue(replace(call, done=lambda item: _answer(call, item), fail=lambda e: _ended(call, e)))
            return lambda: f"waits for the next element; {queue.describe()}"
        if walk.waits:
            _in_thread(call, walk)
            return lambda: f"waits for the next element of '{self.name}'"
        elements: list[Element] = []
        walk.give_next(lambda element: elements.append(element) is None)  # type: ignore[func-returns-value]
        call.done(elements[0])
        return None

    def dispose(self) -> None:
        """Ends the pass and its threads."""
        self._follow(None)


def _in_thread(call: AsyncCall, walk: _Walk) -> None:
    """Takes the element in a separate thread, so that the step can be stopped meanwhile."""
    first = threading.Lock()  # the thread that acquires it delivers the answer
    elements: list[Element] = []

    def stop(error: BaseException) -> None:
        if first.acquire(blocking=False):
            call.fail(CancelledError("the step was stopped while it waited for the next element"))

    def take(element: Element) -> bool:
        if not first.acquire(blocking=False):
            return False
        elements.append(element)
        return True

    withdraw = call.on_cancel(stop)

    def work() -> None:
        try:
            walk.give_next(take)
        except BaseException as e:
            withdraw()
            call.fail(e)
            return
        withdraw()
        if elements:
            call.done(elements[0])

    threads.start(threading.Thread(target=work, daemon=True, name="tfnb-next"))


def _answer(call: AsyncCall, item: Sequence[Any]) -> None:
    try:
        element = _open(item)
    except BaseException as e:
        call.fail(e)
        return
    call.done(element)


def _ended(call: AsyncCall, error: BaseException) -> None:
    over = isinstance(error, OutOfRangeError)
    call.fail(OutOfRangeError("End of sequence") if over else error)
