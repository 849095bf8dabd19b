"""The loops of `fit`, `evaluate` and `predict`: batches through a model's steps, with callbacks.

Invariant: the loss of an epoch is the mean over its samples, and metrics are their state after its last batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.v1.keras.callbacks.base import CallbackList
from tfnb.v1.keras.engine.data import Batch, length, rows

__all__ = ["array_batches", "evaluated", "fitted", "predicted"]


def array_batches(data: Batch, batch_size: int, shuffle: bool | str) -> Iterator[Batch]:
    """Yields the batches of arrays, in a random order of rows, or, with "batch", of batches."""
    n = length(data.inputs)
    index = np.arange(n)
    if shuffle == "batch":
        whole = n // batch_size
        blocks = index[: whole * batch_size].reshape(whole, batch_size)
        np.random.shuffle(blocks)
        index = np.append(blocks.flatten(), index[whole * batch_size :])
    elif shuffle:
        np.random.shuffle(index)
    for start in range(0, n, batch_size):
        yield rows(data, index[start : start + batch_size])


class _Averages:
    """The loss by samples, and the last value of everything else."""

    def __init__(self) -> None:
        self.count, self.loss = 0, 0.0
        self.rest: list[Any] = []

    def add(self, values: Sequence[Any], n: int) -> None:
        self.loss += float(values[0]) * n
        self.count += n
        self.rest = [_number(v) for v in values[1:]]

    def values(self) -> list[float]:
        return [self.loss / max(self.count, 1), *self.rest]


def _number(value: Any) -> Any:
    return float(value) if np.ndim(value) == 0 else value


def fitted(
    model: Any,
    batches: Callable[[], Iterator[Batch]],
    callbacks: CallbackList,
    epochs: range,
    steps: int | None,
    validate: Callable[[], Sequence[float]] | None,
    validation_freq: int | Sequence[int],
) -> None:
    """Trains for some epochs. `batches()` begins the batches of an epoch; with `steps` they go on in the next one."""
    callbacks.on_train_begin({})
    source: Iterator[Batch] | None = None
    for epoch in epochs:
        model.reset_metrics()
        callbacks.on_epoch_begin(epoch, {})
        averages, done = _Averages(), 0
        if source is None or steps is None:
            source = batches()
        for number, batch in enumerate(source if steps is None else islice(source, steps)):
            n = length(batch.inputs) or 1
            callbacks.on_batch_begin(number, {"batch": number, "size": n})
            values = model._run_training(batch)
            averages.add(values, n)
            done += 1
            logs = dict(zip(model.metrics_names, (_number(v) for v in values), strict=True))
            callbacks.on_batch_end(number, {"batch": number, "size": n, **logs})
            if model.stop_training:
                break
        if done == 0:
            raise InvalidArgumentError("fit: the data has no batch")
        logs = dict(zip(model.metrics_names, averages.values(), strict=True))
        if validate is not None and _validates(epoch, validation_freq):
            logs.update({f"val_{n}": v for n, v in zip(model.metrics_names, validate(), strict=True)})
        callbacks.on_epoch_end(epoch, logs)
        if model.stop_training or (steps is not None and done < steps):
            break
    callbacks.on_train_end({})


def _validates(epoch: int, frequency: int | Sequence[int]) -> bool:
    number = epoch + 1
    return number % frequency == 0 if isinstance(frequency, int) else number in frequency


def evaluated(model: Any, batches: Iterable[Batch], callbacks: CallbackList | None = None) -> list[float]:
    """Returns the loss and the metrics over some batches. Raises `InvalidArgumentError` when there is none."""
    model.reset_metrics()
    averages, number = _Averages(), 0
    for number, batch in enumerate(batches, 1):
        n = length(batch.inputs) or 1
        if callbacks is not None:
            callbacks.on_test_batch_begin(number - 1, {"batch": number - 1, "size": n})
        values = model._run_test(batch)
        averages.add(values, n)
        if callbacks is not None:
            logs = dict(zip(model.metrics_names, (_number(v) for v in values), strict=True))
            callbacks.on_test_batch_end(number - 1, {"batch": number - 1, "size": n, **logs})
    if number == 0:
        raise InvalidArgumentError("evaluate: the data has no batch")
    return averages.values()


def predicted(
    model: Any, batches: Iterable[Batch], callbacks: CallbackList | None = None
) -> np.ndarray | list[np.ndarray]:
    """Returns the outputs of all batches, joined. Raises `InvalidArgumentError` when there is none."""
    parts: list[list[np.ndarray]] = []
    for number, batch in enumerate(batches):
        n = length(batch.inputs) or 1
        if callbacks is not None:
            callbacks.on_predict_batch_begin(number, {"batch": number, "size": n})
        parts.append(model._run_prediction(batch))
        if callbacks is not None:
            callbacks.on_predict_batch_end(number, {"batch": number, "size": n})
    if not parts:
        raise InvalidArgumentError("predict: the data has no batch")
    joined = [np.concatenate(column, 0) for column in zip(*parts, strict=True)]
    return joined[0] if len(joined) == 1 else joined
