"""`tf.keras.utils.Sequence`, batches by number, and the queues that fetch them in other threads.

Invariant: a sequence gives each batch once an epoch, in the order of its numbers or a shuffled one.
"""

from __future__ import annotations

import queue
import random
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfnb.errors import UnimplementedError, UnknownError
from tfnb.v1.keras.engine.structure import map_structure

__all__ = ["GeneratorEnqueuer", "OrderedEnqueuer", "Sequence", "SequenceEnqueuer"]


class Sequence:
    """The base of batches by number: subclasses define `__getitem__` and `__len__`."""

    def __getitem__(self, index: int) -> Any:
        """Returns the batch of a number."""
        raise NotImplementedError(f"{type(self).__name__} does not define `__getitem__`")

    def __len__(self) -> int:
        """Returns the number of batches."""
        raise NotImplementedError(f"{type(self).__name__} does not define `__len__`")

    def on_epoch_end(self) -> None:
        """Is called at the end of each epoch."""

    def __iter__(self) -> Iterator[Any]:
        for i in range(len(self)):
            yield self[i]


def _copied(value: object) -> object:
    return value.copy() if isinstance(value, np.ndarray) else value


class SequenceEnqueuer:
    """Fetches batches in a thread before they are asked for. Raises `UnimplementedError` for several processes."""

    def __init__(self, sequence: Any, use_multiprocessing: bool = False) -> None:
        if use_multiprocessing:
            raise UnimplementedError("batches are fetched in threads here; leave use_multiprocessing out")
        self.sequence, self._stop = sequence, threading.Event()
        self._queue: queue.Queue[Any] = queue.Queue(10)
        self._thread: threading.Thread | None = None

    def is_running(self) -> bool:
        """Returns whether batches are being fetched."""
        return self._thread is not None and not self._stop.is_set()

    def start(self, workers: int = 1, max_queue_size: int = 10) -> None:
        """Begins to fetch; up to `max_queue_size` batches wait."""
        del workers  # one thread keeps the order
        self._queue = queue.Queue(max_queue_size)
        self._stop.clear()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _items(self) -> Iterator[Any]:
        yield from self.sequence

    def _run(self) -> None:
        try:
            for item in self._items():
                # A batch waits in the queue while the generator goes on, perhaps in the same arrays.
                if not self._put((map_structure(_copied, item), None)):
                    return
            self._put((None, StopIteration()))
        except BaseException as error:
            is_usual = isinstance(error, Exception)
            text = f"the sequence raised {type(error).__name__}: {error}"
            self._put((None, error if is_usual else UnknownError(text)))

    def _put(self, value: object) -> bool:
        while not self._stop.is_set():
            try:
                self._queue.put(value, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def get(self) -> Iterator[Any]:
        """Yields the batches; an error of the sequence is raised here."""
        while self.is_running() or not self._queue.empty():
            item, error = self._queue.get()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield item

    def stop(self, timeout: float | None = None) -> None:
        """Ends the fetching."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout)


class OrderedEnqueuer(SequenceEnqueuer):
    """Fetches the batches of a `Sequence`, epoch after epoch."""

    def __init__(self, sequence: Any, use_multiprocessing: bool = False, shuffle: bool = False) -> None:
        super().__init__(sequence, use_multiprocessing)
        self.shuffle = shuffle

    def _items(self) -> Iterator[Any]:
        while True:
            order = list(range(len(self.sequence)))
            if self.shuffle:
                random.shuffle(order)
            for i in order:
                yield self.sequence[i]
            self.sequence.on_epoch_end()


class GeneratorEnqueuer(SequenceEnqueuer):
    """Fetches what a generator gives."""

    def __init__(self, sequence: Any, use_multiprocessing: bool = False, random_seed: int | None = None) -> None:
        super().__init__(sequence, use_multiprocessing)
        if random_seed is not None:
            random.seed(random_seed)
