"""The base of callbacks, lists of them, the history, and the progress that `fit` prints.

Invariant: a callback's methods are called in the order of the list, with the numbers of epochs and batches from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.v1.keras.progress import Progbar

__all__ = ["BaseLogger", "Callback", "CallbackList", "History", "ProgbarLogger", "callback_list"]


class Callback:
    """The base of callbacks: methods that do nothing. `model` and `params` are set before the first call."""

    def __init__(self) -> None:
        self.model: Any = None
        self.params: dict[str, Any] = {}

    def set_params(self, params: dict[str, Any]) -> None:
        """Sets the parameters of the training: epochs, steps, samples, metrics."""
        self.params = params

    def set_model(self, model: Any) -> None:
        """Sets the model."""
        self.model = model

    def on_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Is called before a training step."""

    def on_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Is called after a training step, with its loss and metrics."""

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Is called before an epoch."""

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Is called after an epoch, with its loss and metrics, and those of the validation."""

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Is called before a training step; by default it calls `on_batch_begin`."""
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Is called after a training step; by default it calls `on_batch_end`."""
        self.on_batch_end(batch, logs)

    def on_test_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Is called before a step of an evaluation."""

    def on_test_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Is called after a step of an evaluation."""

    def on_predict_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Is called before a step of a prediction."""

    def on_predict_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Is called after a step of a prediction."""

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Is called before the training."""

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Is called after the training."""

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Is called before an evaluation."""

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        """Is called after an evaluation."""

    def on_predict_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Is called before a prediction."""

    def on_predict_end(self, logs: dict[str, Any] | None = None) -> None:
        """Is called after a prediction."""


class CallbackList:
    """Calls the methods of several callbacks."""

    def __init__(self, callbacks: Sequence[Any]) -> None:
        self.callbacks = list(callbacks)

    def __getattr__(self, name: str) -> Callable[..., None]:
        if not name.startswith("on_"):
            raise AttributeError(name)
        method = name.replace("on_batch", "on_train_batch")

        def call(*args: object) -> None:
            for callback in self.callbacks:
                getattr(callback, method)(*args)

        return call


class History(Callback):
    """Collects the loss and the metrics of the epochs: `history` from names to lists, `epoch` the numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.epoch: list[int] = []
        self.history: dict[str, list[Any]] = {}

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self.epoch, self.history = [], {}

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)


class BaseLogger(Callback):
    """Averages the values of batches over an epoch; those of `stateful_metrics` are taken as they are."""

    def __init__(self, stateful_metrics: Sequence[str] | None = None) -> None:
        super().__init__()
        self.stateful_metrics = set(stateful_metrics or ())

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self.seen = 0
        self.totals: dict[str, float] = {}

    def on_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        logs = logs or {}
        n = logs.get("size", 0)
        self.seen += n
        for name, value in logs.items():
            if name in self.stateful_metrics:
                self.totals[name] = value
            else:
                self.totals[name] = self.totals.get(name, 0) + value * n

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if logs is not None:
            for name in self.params.get("metrics", ()):
                if name in self.totals:
                    kept = name in self.stateful_metrics
                    logs[name] = self.totals[name] if kept else self.totals[name] / self.seen


class ProgbarLogger(Callback):
    """Prints the progress of each epoch, by "samples" or "steps". Raises `InvalidArgumentError` for another mode."""

    def __init__(self, count_mode: str = "samples", stateful_metrics: Sequence[str] | None = None) -> None:
        super().__init__()
        if count_mode not in ("samples", "steps"):
            raise InvalidArgumentError(f"Unknown `count_mode`: {count_mode}")
        self.use_steps = count_mode == "steps"
        self.stateful_metrics = set(stateful_metrics or ())

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self.verbose, self.epochs = self.params["verbose"], self.params["epochs"]

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self.seen = 0
        self.target = self.params.get("steps") if self.use_steps else self.params.get("samples")
        if self.verbose:
            if self.epochs > 1:
                print(f"Epoch {epoch + 1}/{self.epochs}")
            unit = "step" if self.use_steps else "sample"
            names = list(self.stateful_metrics)
            self.progbar = Progbar(self.target, verbose=self.verbose, stateful_metrics=names, unit_name=unit)

    def on_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        logs = logs or {}
        self.seen += 1 if self.use_steps else logs.get("size", 0)
        if self.verbose and (self.target is None or self.seen < self.target):
            self.progbar.update(self.seen, self._values(logs))

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if self.verbose:
            self.progbar.update(self.seen, self._values(logs or {}), last=True)

    def _values(self, logs: Mapping[str, Any]) -> list[tuple[str, Any]]:
        return [(k, v) for k, v in logs.items() if k not in ("batch", "size") and np.ndim(v) == 0]


def callback_list(model: Any, given: object, params: dict[str, Any], verbose: int) -> tuple[CallbackList, History]:
    """Returns the callbacks of a training: the given ones, between the progress and the history."""
    several = given if isinstance(given, (list, tuple)) else [given] if given is not None else []
    history = next((c for c in several if isinstance(c, History)), None) or History()
    callbacks = [*([_printer(model, params)] if verbose else []), *several]
    if history not in callbacks:
        callbacks.append(history)
    names = model.metrics_names if model._options is not None else []
    metrics = [*names, *(f"val_{n}" for n in names)]
    for callback in callbacks:
        callback.set_params({**params, "metrics": metrics})
        callback.set_model(model)
    return CallbackList(callbacks), history


def _printer(model: Any, params: Mapping[str, Any]) -> ProgbarLogger:
    names = list(model.metrics_names[1:])
    stateful = [*names, *(f"val_{n}" for n in ["loss", *names])]
    return ProgbarLogger("samples" if params.get("samples") else "steps", stateful)
