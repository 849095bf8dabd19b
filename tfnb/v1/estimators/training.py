"""`tf.estimator.train_and_evaluate`: training, evaluations of its checkpoints, and exports, in one call.

Invariant: no checkpoint is evaluated twice, and the last one always is.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.session.session import Session
from tfnb.train.hooks.saving_hooks import CheckpointSaverListener
from tfnb.train.hooks.session_run_hook import SessionRunHook
from tfnb.v1.estimators.estimator import Estimator
from tfnb.v1.estimators.exporters import Exporter
from tfnb.v1.estimators.spec import checked_hooks

__all__ = ["EvalSpec", "TrainSpec", "train_and_evaluate"]


class _TrainFields(NamedTuple):
    input_fn: Callable[..., Any]
    max_steps: int | None
    hooks: tuple[SessionRunHook, ...]


class TrainSpec(_TrainFields):
    """What `train_and_evaluate` trains with.

    input_fn: returns the data, see `tf.estimator.Estimator`. max_steps: the global step at which the training ends, or
    None for the end of the data. hooks: run around every step. Raises `InvalidArgumentError` for other values.
    """

    __slots__ = ()

    def __new__(
        cls, input_fn: Callable[..., Any], max_steps: int | None = None, hooks: Iterable[SessionRunHook] | None = None
    ) -> Any:
        """Checks the values."""
        if not callable(input_fn):
            raise DTypeError(f"input_fn must be a function, got {input_fn!r}")
        if max_steps is not None and max_steps <= 0:
            raise InvalidArgumentError(f"Must specify max_steps > 0, given: {max_steps}")
        return super().__new__(cls, input_fn, max_steps, tuple(checked_hooks(hooks, "TrainSpec: hooks")))


class _EvalFields(NamedTuple):
    input_fn: Callable[..., Any]
    steps: int | None
    name: str | None
    hooks: tuple[SessionRunHook, ...]
    exporters: tuple[Exporter, ...]
    start_delay_secs: float
    throttle_secs: float


class EvalSpec(_EvalFields):
    """What `train_and_evaluate` evaluates with.

    input_fn: returns the data. steps: the number of batches, None for all. name: of the evaluation. hooks: run around
    its steps. exporters: one or several of `tf.estimator`'s exporters. throttle_secs: the least time between two
    evaluations; start_delay_secs: that before the first. Raises `InvalidArgumentError` for other values.
    """

    __slots__ = ()

    def __new__(
        cls,
        input_fn: Callable[..., Any],
        steps: int | None = 100,
        name: str | None = None,
        hooks: Iterable[SessionRunHook] | None = None,
        exporters: Exporter | Iterable[Exporter] | None = None,
        start_delay_secs: float = 120,
        throttle_secs: float = 600,
    ) -> Any:
        """Checks the values."""
        if not callable(input_fn):
            raise DTypeError(f"input_fn must be a function, got {input_fn!r}")
        if steps is not None and steps <= 0:
            raise InvalidArgumentError(f"Must specify steps > 0, given: {steps}")
        if name is not None and not isinstance(name, str):
            raise DTypeError(f"`name` must be string, given: {name}")
        if start_delay_secs < 0 or throttle_secs < 0:
            raise InvalidArgumentError(
                f"Must specify start_delay_secs >= 0 and throttle_secs >= 0, given: {start_delay_secs}, {throttle_secs}"
            )
        found = (exporters,) if isinstance(exporters, Exporter) else tuple(exporters or ())
        for exporter in found:
            if not isinstance(exporter, Exporter):
                raise DTypeError(f"exporters must be tf.estimator.Exporter objects, got {exporter!r}")
        names = [e.name for e in found]
        if len(set(names)) != len(names):
            raise InvalidArgumentError(f"`exporters` must have unique names, given {names}")
        return super().__new__(
            cls,
            input_fn,
            steps,
            name,
            tuple(checked_hooks(hooks, "EvalSpec: hooks")),
            found,
            start_delay_secs,
            throttle_secs,
        )


class _EvaluateCheckpoints(CheckpointSaverListener):
    """Evaluates the model after a checkpoint, when enough time has passed since the last evaluation."""

    def __init__(self, estimator: Estimator, spec: EvalSpec, max_steps: int | None) -> None:
        self._estimator, self._spec, self._max_steps = estimator, spec, max_steps
        self._last_time, self._last_step = time.time(), -1
        self._first, self._wait = True, max(spec.start_delay_secs, spec.throttle_secs)
        self.result: tuple[dict[str, Any] | None, list[Any]] = (None, [])

    def after_save(self, session: Session, global_step_value: int) -> None:
        """Evaluates the checkpoint of this step, but not that which is there when the training begins."""
        del session
        if self._first:
            self._first = False
            return
        now = time.time()
        if now - self._last_time >= self._wait:
            self._wait = self._spec.throttle_secs
            self.evaluate(global_step_value, final=self._max_steps is not None and global_step_value >= self._max_steps)

    def end(self, session: Session, global_step_value: int) -> None:
        """Evaluates the last checkpoint."""
        del session
        self.evaluate(global_step_value, final=True)

    def evaluate(self, step: int, final: bool) -> None:
        """Evaluates and exports the latest checkpoint, that of `step`, unless that has been done."""
        if step == self._last_step:
            return
        self._last_step = step
        spec, estimator = self._spec, self._estimator
        found = estimator.evaluate(spec.input_fn, spec.steps, list(spec.hooks), name=spec.name)
        self._last_time = time.time()
        path = estimator.latest_checkpoint()
        exports = []
        for exporter in spec.exporters:
            folder = os.path.join(estimator.model_dir, "export", exporter.name)
            exports.append(exporter.export(estimator, folder, path, found, final))
        self.result = found, exports


def train_and_evaluate(
    estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec
) -> tuple[dict[str, Any] | None, list[Any]]:
    """Trains up to `train_spec.max_steps`, and evaluates and exports checkpoints on the way and at the end.

    Checkpoints are written as the estimator's `RunConfig` says. Returns (metrics of the last evaluation, results of the
    exporters). Raises `DTypeError` for arguments of other classes.
    """
    for value, kind in ((estimator, Estimator), (train_spec, TrainSpec), (eval_spec, EvalSpec)):
        if not isinstance(value, kind):
            raise DTypeError(f"train_and_evaluate: needed a tf.estimator.{kind.__name__}, got {type(value)}")
    listener = _EvaluateCheckpoints(estimator, eval_spec, train_spec.max_steps)
    estimator.train(
        train_spec.input_fn, list(train_spec.hooks), max_steps=train_spec.max_steps, saving_listeners=[listener]
    )
    return listener.result
