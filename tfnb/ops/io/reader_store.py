"""Readers as data structures: they read records of the files whose names a queue contains (white paper, section 4.5).

A reader works through one file at a time and dequeues the next name when it needs one; waiting for a name holds no
thread. Invariant: reads are answered one after the other, and each continues where the previous one ended.
"""

from __future__ import annotations

import json
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tfnb.errors import CancelledError, DataLossError, InvalidArgumentError
from tfnb.ir.opdef import AsyncCall
from tfnb.ops.io.record_files import RecordFile
from tfnb.ops.sync.queue_store import Queue
from tfnb.types import string

__all__ = ["Reader", "WholeFile", "WorkItem", "check_names"]


class WorkItem(RecordFile):
    """A work item whose only record is its own name."""

    def __init__(self, name: bytes | str) -> None:
        self.name = os.fsdecode(name)
        self.places = []
        self.position = 0

    def take(self, n: int) -> list[bytes]:
        n = min(n, 1 - self.position)
        self.position += n
        return [os.fsencode(self.name)] * n

    def close(self) -> None:
        """Does nothing, since there is no file."""

    def __del__(self) -> None:
        """Does nothing, since there is no file."""


class WholeFile(RecordFile):
    """A file as one record."""

    def take(self, n: int) -> list[bytes]:
        n = min(n, 1 - self.position)
        self.position += n
        return [self._file.read()] if n else []


@dataclass(eq=False)
class _Read:
    """A read operation, waiting or in progress: `wanted` records, or with `several` possibly fewer."""

    call: AsyncCall
    queue: Queue
    wanted: int
    several: bool
    keys: list[bytes] = field(default_factory=list)
    values: list[bytes] = field(default_factory=list)
    withdraw: Callable[[], None] | None = None


class Reader:
    """A reader: `open_work(name)` opens a work item; `with_places`: keys are "name:position" instead of the name."""

    def __init__(self, name: str, kind: str, open_work: Callable[[bytes], RecordFile], with_places: bool) -> None:
        self.name = name
        self.kind = kind
        self._open_work = open_work
        self._with_places = with_places
        self._lock = threading.RLock()
        self._line: deque[_Read] = deque()
        self._serving = False
        self._work: RecordFile | None = None
        self._work_name = b""
        self._started = self._finished = self._produced = self._skipped = 0

    # ---- reading ----------------------------------------------------------------------------

    def read(self, call: AsyncCall, queue: Queue, n: int, several: bool) -> Callable[[], str]:
        """Answers `call` with one key and value, or with `several` with vectors of at most `n`."""
        if n <= 0:
            raise InvalidArgumentError(f"num_records must be positive, got {n}")
        request = _Read(call, queue, n, several)
        with self._lock:
            self._line.append(request)
            is_server = not self._serving
            self._serving = True
        if is_server:
            self._serve()
        elif request in self._line:
            request.withdraw = call.on_cancel(lambda e: self._drop(request))
        return lambda: f"{self.kind} '{self.name}' waits for work from {queue.describe()}"

    def _drop(self, request: _Read) -> None:
        """Cancels a waiting read; one in progress waits in the queue, which cancels it."""
        with self._lock:
            if request not in self._line or self._line[0] is request:
                return
            self._line.remove(request)
        request.call.fail(CancelledError("Read operation was cancelled"))

    def _serve(self) -> None:
        """Serves waiting reads until there are none, or until a work item is needed that has not arrived."""
        while True:
            with self._lock:
                if not self._line:
                    self._serving = False
                    return
                request = self._line[0]
            try:
                records = self._records(request)
            except Exception as e:
                self._end(request, e)
                continue
            if records:
                self._end(request, None)
            elif not self._next_work(request):
                return  # the queue calls this method again

    def _end(self, request: _Read, error: BaseException | None) -> None:
        with self._lock:
            self._line.popleft()
        if request.withdraw is not None:
            request.withdraw()
        if error is not None:
            request.call.fail(error)
        elif request.several:
            request.call.done([_strings(request.keys), _strings(request.values)])
        else:
            request.call.done([_scalar(request.keys[0]), _scalar(request.values[0])])

    def _records(self, request: _Read) -> bool:
        """Takes records from the current work item; True when the read can be answered."""
        with self._lock:
            work = self._work
            if work is None:
                return False
            try:
                values = work.take(request.wanted)
            except DataLossError:
                self._leave()
                raise
            if not values:
                self._leave()
                return False
            self._produced += len(values)
            name = self._work_name
            request.values = values
            if self._with_places:
                request.keys = [b"%s:%d" % (name, p) for p in work.places]
            else:
                request.keys = [name] * len(values)
            return True

    def _next_work(self, request: _Read) -> bool:
        """Dequeues a work item; True if one was available at once."""
        state = {"waits": False, "came": False}
        guard = threading.Lock()

        def go_on(error: BaseException | None) -> None:
            with guard:
                state["came"] = True
                waits = state["waits"]
            if error is not None:
                self._end(request, error)
            if waits:
                self._serve()

        def done(element: Sequence[Any]) -> None:
            try:
                self._begin(np.asarray(element[0], object).item())
            except Exception as e:
                go_on(e)
                return
            go_on(None)

        call = replace(request.call, done=done, fail=go_on)
        try:
            request.queue.dequeue(call)
        except Exception as e:
            go_on(e)
        with guard:
            state["waits"] = not state["came"]
        return state["came"]

    def _begin(self, name: bytes) -> None:
        work = self._open_work(name)
        with self._lock:
            self._work, self._work_name = work, name
            self._started += 1

    def _leave(self) -> None:
        """Finishes the current work item."""
        if self._work is not None:
            self._skipped += getattr(self._work, "skipped", 0)
            self._work.close()
            self._work = None
            self._finished += 1

    # ---- state ------------------------------------------------------------------------------

    def counts(self) -> tuple[int, int, int]:
        """Returns (records produced, work items completed, corrupt records skipped)."""
        with self._lock:
            now = getattr(self._work, "skipped", 0)
            return self._produced, self._finished, self._skipped + now

    def reset(self) -> None:
        """Returns to the initial state: no current work item, and all counts zero."""
        with self._lock:
            self._leave()
            self._started = self._finished = self._produced = self._skipped = 0

    def dispose(self) -> None:
        """Closes the file."""
        self.reset()

    def state(self) -> bytes:
        """Returns the state of the reader as JSON, for `restore`."""
        with self._lock:
            work = None if self._work is None else self._work_name.decode("utf-8", "surrogateescape")
            position = 0 if self._work is None else self._work.position
            fields = {
                "kind": self.kind,
                "started": self._started,
                "finished": self._finished,
                "produced": self._produced,
                "skipped": self._skipped,
                "work": work,
                "position": position,
            }
            return json.dumps(fields).encode()

    def restore(self, state: bytes) -> None:
        """Restores a state that `state` returned. Raises `InvalidArgumentError` for that of another kind of reader."""
        try:
            fields = json.loads(state)
            kind = fields["kind"]
            numbers = [fields[k] for k in ("started", "finished", "produced", "skipped", "position")]
            work = fields["work"]
            sound = all(type(n) is int and n >= 0 for n in numbers) and (work is None or type(work) is str)
        except (ValueError, KeyError, TypeError):
            kind, sound = None, False
        if not sound or kind != self.kind:
            raise InvalidArgumentError(f"Could not parse state for {self.kind} '{self.name}': {state[:80]!r}")
        opened = None
        if work is not None:
            opened = self._open_work(work.encode("utf-8", "surrogateescape"))
            try:
                opened.skip_to(numbers[4])
            except BaseException:
                opened.close()
                raise
        with self._lock:
            self._leave()
            self._work = opened
            self._work_name = b"" if work is None else work.encode("utf-8", "surrogateescape")
            self._started, self._finished, self._produced, self._skipped = numbers[:4]


def check_names(queue: Queue) -> None:
    """Raises `InvalidArgumentError` unless the queue contains names: one string scalar per element."""
    if queue.dtypes != (string,):
        names = ", ".join(d.name for d in queue.dtypes)
        raise InvalidArgumentError(f"Reader needs a queue of strings, but '{queue.name}' holds {names}")


def _strings(values: list[bytes]) -> np.ndarray:
    array = np.empty(len(values), object)
    array[:] = values
    return array


def _scalar(value: bytes) -> np.ndarray:
    array = np.empty((), object)
    array[()] = value
    return array
