"""Callbacks that change or stop the training: early stopping, learning rates, functions of the user's.

Invariant: "auto" takes the larger value as better for names that contain "acc", and the smaller for others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.v1.keras.backend.values import get_value, set_value
from tfnb.v1.keras.callbacks.base import Callback

__all__ = [
    "EarlyStopping",
    "LambdaCallback",
    "LearningRateScheduler",
    "ReduceLROnPlateau",
    "TerminateOnNaN",
    "is_better",
]


def is_better(mode: str, monitor: str) -> Callable[[Any, Any], Any]:
    """Returns the comparison (new, best) of a mode: "min", "max" or "auto".

    Raises `InvalidArgumentError` for another mode.
    """
    if mode not in ("auto", "min", "max"):
        raise InvalidArgumentError(f"the mode {mode!r}; needed auto, min or max")
    larger = mode == "max" or (mode == "auto" and ("acc" in monitor or monitor.startswith("fmeasure")))
    return np.greater if larger else np.less


def _monitored(logs: dict[str, Any] | None, name: str) -> Any:
    value = (logs or {}).get(name)
    if value is None:
        print(f"WARNING: the callback needs `{name}`, which is not available. Available: {', '.join(logs or {})}")
    return value


class TerminateOnNaN(Callback):
    """Stops the training when the loss is infinite or not a number."""

    def on_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        loss = (logs or {}).get("loss")
        if loss is not None and not np.isfinite(loss):
            print(f"Batch {batch}: Invalid loss, terminating training")
            self.model.stop_training = True


class EarlyStopping(Callback):
    """Stops the training when a value has not become better by `min_delta` for `patience` epochs."""

    def __init__(
        self,
        monitor: str = "val_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
    ) -> None:
        super().__init__()
        self.monitor, self.patience, self.verbose, self.baseline = monitor, patience, verbose, baseline
        self.restore_best_weights, self.monitor_op = restore_best_weights, is_better(mode, monitor)
        self.min_delta = abs(min_delta) * (1 if self.monitor_op is np.greater else -1)

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self.wait, self.stopped_epoch, self.best_weights = 0, 0, None
        worst = np.inf if self.monitor_op is np.less else -np.inf
        self.best = worst if self.baseline is None else self.baseline

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        current = _monitored(logs, self.monitor)
        if current is None:
            return
        if self.monitor_op(current - self.min_delta, self.best):
            self.best, self.wait = current, 0
            if self.restore_best_weights:
                self.best_weights = self.model.get_weights()
            return
        self.wait += 1
        if self.wait >= self.patience:
            self.stopped_epoch, self.model.stop_training = epoch, True
            if self.restore_best_weights and self.best_weights is not None:
                self.model.set_weights(self.best_weights)

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        if self.stopped_epoch > 0 and self.verbose > 0:
            print(f"Epoch {self.stopped_epoch + 1:05d}: early stopping")


class LearningRateScheduler(Callback):
    """Sets the learning rate before each epoch to `schedule(epoch)`, or `schedule(epoch, rate)`."""

    def __init__(self, schedule: Callable[..., float], verbose: int = 0) -> None:
        super().__init__()
        self.schedule, self.verbose = schedule, verbose

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        try:
            rate = self.schedule(epoch, float(get_value(self.model.optimizer.lr)))
        except TypeError:
            rate = self.schedule(epoch)
        if not isinstance(rate, (float, np.float32, np.float64)):
            raise InvalidArgumentError('The output of the "schedule" function should be float.')
        set_value(self.model.optimizer.lr, rate)
        if self.verbose > 0:
            print(f"\nEpoch {epoch + 1:05d}: LearningRateScheduler reducing learning rate to {rate}.")

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if logs is not None:
            logs["lr"] = float(get_value(self.model.optimizer.lr))


class ReduceLROnPlateau(Callback):
    """Multiplies the learning rate by `factor` when a value has not become better for `patience` epochs."""

    def __init__(
        self,
        monitor: str = "val_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: int = 0,
        mode: str = "auto",
        min_delta: float = 0.0001,
        cooldown: int = 0,
        min_lr: float = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if factor >= 1.0:
            raise InvalidArgumentError("ReduceLROnPlateau does not support a factor >= 1.0.")
        self.min_delta = kwargs.pop("epsilon", min_delta)
        if kwargs:
            raise TypeError(f"ReduceLROnPlateau: unknown options {sorted(kwargs)}")
        self.monitor, self.factor, self.patience, self.verbose = monitor, factor, patience, verbose
        self.cooldown, self.min_lr, self.monitor_op = cooldown, min_lr, is_better(mode, monitor)

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self.best = np.inf if self.monitor_op is np.less else -np.inf
        self.wait = self.cooldown_counter = 0

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        rate = float(get_value(self.model.optimizer.lr))
        if logs is not None:
            logs["lr"] = rate
        current = _monitored(logs, self.monitor)
        if current is None:
            return
        if self.cooldown_counter > 0:
            self.cooldown_counter, self.wait = self.cooldown_counter - 1, 0
        delta = -self.min_delta if self.monitor_op is np.less else self.min_delta
        if self.monitor_op(current, self.best + delta):
            self.best, self.wait = current, 0
            return
        if self.cooldown_counter > 0:
            return
        self.wait += 1
        if self.wait >= self.patience and rate > np.float32(self.min_lr):
            rate = max(rate * self.factor, self.min_lr)
            set_value(self.model.optimizer.lr, rate)
            if self.verbose > 0:
                print(f"\nEpoch {epoch + 1:05d}: ReduceLROnPlateau reducing learning rate to {rate}.")
            self.cooldown_counter, self.wait = self.cooldown, 0


class LambdaCallback(Callback):
    """Calls functions of the user's, with the parameters of a callback's methods."""

    def __init__(
        self,
        on_epoch_begin: Callable[..., Any] | None = None,
        on_epoch_end: Callable[..., Any] | None = None,
        on_batch_begin: Callable[..., Any] | None = None,
        on_batch_end: Callable[..., Any] | None = None,
        on_train_begin: Callable[..., Any] | None = None,
        on_train_end: Callable[..., Any] | None = None,
        **kwargs: object,
    ) -> None:
        super().__init__()
        given = {
            "on_epoch_begin": on_epoch_begin,
            "on_epoch_end": on_epoch_end,
            "on_batch_begin": on_batch_begin,
            "on_batch_end": on_batch_end,
            "on_train_begin": on_train_begin,
            "on_train_end": on_train_end,
            **kwargs,
        }
        for name, function in given.items():
            if function is not None:
                setattr(self, name, function)
