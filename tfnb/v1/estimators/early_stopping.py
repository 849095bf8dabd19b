"""Hooks that end a training early, by the metrics of its evaluations, or evaluate while it runs.

Invariant: a hook reads evaluations of the event files that `Estimator.evaluate` writes, so it works across processes.
"""

from __future__ import annotations

import glob
import operator
import os
import tempfile
from collections.abc import Callable, Iterable
from typing import Any

from tfnb.client.platform import tf_logging as logging
from tfnb.errors import DTypeError, InvalidArgumentError
from tfnb.session.session import Session
from tfnb.summary.frame import summary_iterator
from tfnb.train.hooks.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from tfnb.train.hooks.timer import SecondOrStepTimer
from tfnb.train.optimizers.global_step import get_or_create_global_step
from tfnb.train.saving.checkpoint_reader import load_variable
from tfnb.train.saving.saver import Saver
from tfnb.train.sessions.coordinator import Coordinator
from tfnb.v1.estimators.estimator import Estimator

__all__ = [
    "InMemoryEvaluatorHook",
    "make_early_stopping_hook",
    "make_stop_at_checkpoint_step_hook",
    "stop_if_higher_hook",
    "stop_if_lower_hook",
    "stop_if_no_decrease_hook",
    "stop_if_no_increase_hook",
]


class _StopOn(SessionRunHook):
    """Ends the training when a function says so, which it asks every few steps or seconds."""

    def __init__(self, should_stop: Callable[[], bool], secs: float | None, steps: int | None) -> None:
        self._should_stop, self._timer = should_stop, SecondOrStepTimer(secs, steps)
        self._step: Any = None

    def begin(self) -> None:
        """Finds the global step."""
        self._timer.reset()
        self._step = get_or_create_global_step()

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Asks for the global step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Asks the function, if it is time."""
        step = int(run_values.results)
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._should_stop():
                logging.info("Requesting early stopping at global step %d", step)
                run_context.request_stop()


def make_early_stopping_hook(
    estimator: Estimator,
    should_stop_fn: Callable[[], bool],
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> SessionRunHook:
    """Returns a hook that ends the training of `estimator` when `should_stop_fn()` returns True.

    run_every_secs, run_every_steps: how often it is called; one of them. Raises `DTypeError` for other arguments,
    `InvalidArgumentError` for both or none of the intervals.
    """
    if not isinstance(estimator, Estimator):
        raise DTypeError(f"`estimator` must have type `tf.estimator.Estimator`. Got: {type(estimator)}")
    if (run_every_secs is None) == (run_every_steps is None):
        raise InvalidArgumentError("Only one of `run_every_secs` and `run_every_steps` must be set.")
    return _StopOn(should_stop_fn, run_every_secs, run_every_steps)


def _history(folder: str, metric_name: str) -> list[tuple[int, float]]:
    """(step, value) of a metric in the event files of a folder, in the order of steps."""
    found: dict[int, float] = {}
    for path in glob.glob(os.path.join(folder, "events.out.tfevents.*")):
        for event in summary_iterator(path):
            for value in event.summary.value:
                if value.tag == metric_name:
                    found[event.step] = value.simple_value
    return sorted(found.items())


def _hook(
    estimator: Estimator,
    eval_dir: str | None,
    metric_name: str,
    stop: Callable[[list[tuple[int, float]]], bool],
    secs: float | None,
    steps: int | None,
) -> SessionRunHook:
    folder = eval_dir or estimator.eval_dir()
    return make_early_stopping_hook(estimator, lambda: stop(_history(folder, metric_name)), secs, steps)


def _stop_at_threshold(better: Callable[[float, float], bool], words: str) -> Callable[..., SessionRunHook]:
    def hook(
        estimator: Estimator,
        metric_name: str,
        threshold: float,
        eval_dir: str | None = None,
        min_steps: int = 0,
        run_every_secs: float | None = 60,
        run_every_steps: int | None = None,
    ) -> SessionRunHook:
        def stop(values: list[tuple[int, float]]) -> bool:
            return any(better(v, threshold) for step, v in values if step >= min_steps)

        return _hook(estimator, eval_dir, metric_name, stop, run_every_secs, run_every_steps)

    hook.__doc__ = f"""Returns a hook that ends the training when the metric `metric_name` is {words} `threshold`.

    eval_dir: the folder of the evaluations, by default that of `estimator`. min_steps: evaluations before this step do
    not count. For the rest see `make_early_stopping_hook`."""
    return hook


def _stop_without_progress(
    better: Callable[[float, float], bool], limit: str, words: str
) -> Callable[..., SessionRunHook]:
    def stopping(steps_without: int, min_steps: int) -> Callable[[list[tuple[int, float]]], bool]:
        def stop(values: list[tuple[int, float]]) -> bool:
            best: float | None = None
            best_step = 0
            for step, value in values:
                if step < min_steps:
                    continue
                if best is None or better(value, best):
                    best, best_step = value, step
                if step - best_step >= steps_without:
                    return True
            return False

        return stop

    def increase(
        estimator: Estimator,
        metric_name: str,
        max_steps_without_increase: int,
        eval_dir: str | None = None,
        min_steps: int = 0,
        run_every_secs: float | None = 60,
        run_every_steps: int | None = None,
    ) -> SessionRunHook:
        stop = stopping(max_steps_without_increase, min_steps)
        return _hook(estimator, eval_dir, metric_name, stop, run_every_secs, run_every_steps)

    def decrease(
        estimator: Estimator,
        metric_name: str,
        max_steps_without_decrease: int,
        eval_dir: str | None = None,
        min_steps: int = 0,
        run_every_secs: float | None = 60,
        run_every_steps: int | None = None,
    ) -> SessionRunHook:
        stop = stopping(max_steps_without_decrease, min_steps)
        return _hook(estimator, eval_dir, metric_name, stop, run_every_secs, run_every_steps)

    hook = increase if limit == "max_steps_without_increase" else decrease
    hook.__doc__ = f"""Returns a hook that ends the training when the metric `metric_name` has not {words} in `{limit}`.

    eval_dir: the folder of the evaluations, by default that of `estimator`. min_steps: evaluations before this step do
    not count. For the rest see `make_early_stopping_hook`."""
    return hook


stop_if_higher_hook = _stop_at_threshold(operator.gt, "higher than")
stop_if_lower_hook = _stop_at_threshold(operator.lt, "lower than")
stop_if_no_increase_hook = _stop_without_progress(operator.gt, "max_steps_without_increase", "increased")
stop_if_no_decrease_hook = _stop_without_progress(operator.lt, "max_steps_without_decrease", "decreased")


def make_stop_at_checkpoint_step_hook(
    estimator: Estimator, last_step: int, wait_after_file_check_secs: int = 30
) -> SessionRunHook:
    """Returns a hook that ends the training when `estimator` has a checkpoint of the step `last_step` or later.

    wait_after_file_check_secs: the least time between two looks at the folder. Raises `InvalidArgumentError` when
    `last_step` is None.
    """
    if last_step is None:
        raise InvalidArgumentError("last_step should not be None.")

    def stop() -> bool:
        path = estimator.latest_checkpoint()
        return path is not None and int(load_variable(path, "global_step")) >= last_step

    return make_early_stopping_hook(estimator, stop, wait_after_file_check_secs)


class InMemoryEvaluatorHook(SessionRunHook):
    """Evaluates the model of `estimator` every `every_n_iter` steps of its training, and at the beginning and the end.

    input_fn, steps, hooks, name: of the evaluation, as in `Estimator.evaluate`. Each evaluation saves a checkpoint of
    the running session to a temporary folder. Raises `InvalidArgumentError` for an interval that is not positive,
    `DTypeError` for an estimator of another class.
    """

    def __init__(
        self,
        estimator: Estimator,
        input_fn: Callable[..., Any],
        steps: int | None = None,
        hooks: Iterable[SessionRunHook] | None = None,
        name: str | None = None,
        every_n_iter: int = 100,
    ) -> None:
        if every_n_iter is None or every_n_iter <= 0:
            raise InvalidArgumentError(f"invalid every_n_iter={every_n_iter}.")
        if not isinstance(estimator, Estimator):
            raise DTypeError(f"InMemoryEvaluatorHook: needed a tf.estimator.Estimator, got {type(estimator)}")
        self._estimator, self._input_fn, self._steps, self._hooks, self._name = (
            estimator,
            input_fn,
            steps,
            list(hooks or ()),
            name,
        )
        self._every, self._count, self._saver = every_n_iter, 0, Saver(defer_build=True, allow_empty=True)

    def begin(self) -> None:
        """Makes the saver of the training's variables."""
        self._saver.build()

    def after_create_session(self, session: Session, coord: Coordinator) -> None:
        """Evaluates the initial values of `session`; `coord` is not used."""
        self._evaluate(session)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Evaluates the session of `run_context`, if it is time; `run_values` are not used."""
        self._count += 1
        if self._count % self._every == 0:
            self._evaluate(run_context.session)

    def end(self, session: Session) -> None:
        """Evaluates the last values."""
        self._evaluate(session)

    def _evaluate(self, session: Session) -> None:
        with tempfile.TemporaryDirectory(prefix="tfnb_evaluation_") as folder:
            path = self._saver.save(session, os.path.join(folder, "model"), write_meta_graph=False)
            self._estimator.evaluate(self._input_fn, self._steps, self._hooks, path, self._name)
