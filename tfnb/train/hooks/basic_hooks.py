"""Hooks that observe or control a training loop: logging, stopping, NaN checks, speed, feeds and final operations.

Invariant: a hook adds only its fetches to the cost of a step; work that is not due in every step happens outside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tfnb.client.platform import tf_logging as logging
from tfnb.errors import InvalidArgumentError, OpError
from tfnb.ir.default import get_default_graph
from tfnb.ir.operation import Operation
from tfnb.ir.protos import proto
from tfnb.ir.tensor import Tensor
from tfnb.session.session import Session
from tfnb.summary.writer import FileWriter, FileWriterCache
from tfnb.train.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from tfnb.train.hooks.timer import SecondOrStepTimer
from tfnb.train.optimizers.global_step import get_global_step
from tfnb.train.saving.checkpoint_state import FilePath
from tfnb.train.sessions.coordinator import Coordinator

__all__ = [
    "API",
    "FeedFnHook",
    "FinalOpsHook",
    "GlobalStepWaiterHook",
    "LoggingTensorHook",
    "NanLossDuringTrainingError",
    "NanTensorHook",
    "StepCounterHook",
    "StopAtStepHook",
    "needed_global_step",
]


class NanLossDuringTrainingError(OpError, RuntimeError):
    """The loss of a training is NaN."""

    def __init__(self, message: str = "NaN loss during training.", op: Operation | None = None) -> None:
        super().__init__(message, op)


def needed_global_step(who: str) -> Any:
    """Returns the global step of the default graph. Raises `InvalidArgumentError` when there is none."""
    step = get_global_step()
    if step is None:
        raise InvalidArgumentError(f"{who} needs a global step: make one with tf.train.get_or_create_global_step()")
    return step


def element(name_or_tensor: object) -> Any:
    """Returns the graph element that a tensor, an operation or a name stands for; a name may lack its output number
    ":0".
    """
    if not isinstance(name_or_tensor, str):
        return name_or_tensor
    name = name_or_tensor if ":" in name_or_tensor else f"{name_or_tensor}:0"
    return get_default_graph().as_graph_element(name)


class LoggingTensorHook(SessionRunHook):
    """Logs the values of tensors every `every_n_iter` steps or `every_n_secs` seconds, or at the end.

    tensors: a mapping of labels to tensors or names of tensors, or a list of them. formatter: a function that maps a
    dict of label to value to the line that is logged. at_end: log once more at the end. Raises `InvalidArgumentError`
    unless exactly one interval is given; with `at_end` none is needed.
    """

    def __init__(
        self,
        tensors: Sequence[str | Tensor] | Mapping[str, str | Tensor],
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[dict[str, Any]], str] | None = None,
    ) -> None:
        if at_end and every_n_iter is None and every_n_secs is None:
            self._timer: SecondOrStepTimer | None = None
        else:
            self._timer = SecondOrStepTimer(every_n_secs, every_n_iter)
        labelled = dict(tensors) if isinstance(tensors, Mapping) else {_label(t): t for t in tensors}
        self._tensors, self._formatter, self._at_end = labelled, formatter, at_end
        self._count, self._wanted = 0, False

    def begin(self) -> None:
        """Looks up the tensors in the default graph."""
        if self._timer is not None:
            self._timer.reset()
        self._count = 0
        self._fetches = {label: element(t) for label, t in self._tensors.items()}

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Requests the values of the tensors if they are to be logged after the step in `run_context`."""
        self._wanted = self._timer is not None and self._timer.should_trigger_for_step(self._count)
        return SessionRunArgs(self._fetches) if self._wanted else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Logs the values that the step in `run_context` returned, if they were requested (`run_values`)."""
        if self._wanted and self._timer is not None:
            seconds, _ = self._timer.update_last_triggered_step(self._count)
            self._log(run_values.results, seconds)
        self._count += 1

    def end(self, session: Session) -> None:
        """Logs the values once more, computed in `session`, if `at_end` was set."""
        if self._at_end:
            self._log(session.run(self._fetches), None)

    def _log(self, values: dict[str, Any], seconds: float | None) -> None:
        if self._formatter is not None:
            logging.info("%s", self._formatter(values))
            return
        text = ", ".join(f"{label} = {values[label]}" for label in self._fetches)
        logging.info("%s", text if seconds is None else f"{text} ({seconds:.3f} sec)")


def _label(tensor: str | Tensor) -> str:
    return tensor if isinstance(tensor, str) else str(tensor.name)


class StopAtStepHook(SessionRunHook):
    """Stops the training after `num_steps` more steps, or when the global step reaches `last_step`.

    Raises `InvalidArgumentError` unless exactly one of the two is given, and when the graph has no global step.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if (num_steps is None) == (last_step is None):
            raise InvalidArgumentError("StopAtStepHook needs exactly one of num_steps and last_step")
        self._num_steps, self._last_step = num_steps, last_step

    def begin(self) -> None:
        """Looks up the global step of the default graph."""
        self._step = needed_global_step("StopAtStepHook")

    def after_create_session(self, session: Session, coord: Coordinator) -> None:
        """Computes the last step from the global step of the new `session`; `coord` is not used."""
        if self._last_step is None:
            self._last_step = int(session.run(self._step)) + (self._num_steps or 0)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Requests the value of the global step; `run_context` is not used."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Requests the stop through `run_context` when the global step in `run_values` has reached the last step."""
        # The step may have been read before its increment, so near the last step it is read again.
        last = self._last_step or 0
        if run_values.results + 1 >= last and run_context.session.run(self._step) >= last:
            run_context.request_stop()


class NanTensorHook(SessionRunHook):
    """Checks after each step whether a loss is NaN.

    If it is, the hook raises `NanLossDuringTrainingError`, or with `fail_on_nan_loss=False` logs a warning and stops
    the training.
    """

    def __init__(self, loss_tensor: Tensor, fail_on_nan_loss: bool = True) -> None:
        self._tensor, self._fail = loss_tensor, fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Requests the value of the loss; `run_context` is not used."""
        return SessionRunArgs(element(self._tensor))

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Checks the loss in `run_values`, and may stop the training through `run_context`."""
        if not np.isnan(run_values.results).any():
            return
        if self._fail:
            logging.error("Model diverged with loss = NaN.")
            raise NanLossDuringTrainingError
        logging.warning("Model diverged with loss = NaN.")
        run_context.request_stop()


class StepCounterHook(SessionRunHook):
    """Logs the number of steps per second, and writes it as the summary "global_step/sec".

    every_n_steps, every_n_secs: the interval between measurements; one of them is given. output_dir, summary_writer:
    the folder or the writer of the summary.
    """

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: FilePath | None = None,
        summary_writer: FileWriter | None = None,
    ) -> None:
        self._timer = SecondOrStepTimer(every_n_secs, every_n_steps)
        self._output_dir, self._writer = output_dir, summary_writer

    def begin(self) -> None:
        """Looks up the global step of the default graph, and the writer of `output_dir`."""
        if self._writer is None and self._output_dir:
            self._writer = FileWriterCache.get(self._output_dir)
        self._step = needed_global_step("StepCounterHook")
        self._tag = f"{self._step.op.name}/sec"

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Requests the value of the global step; `run_context` is not used."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Measures the speed if it is due, from the global step in `run_values` or in the session of `run_context`."""
        if not self._timer.should_trigger_for_step(int(run_values.results) + 1):
            return
        step = int(run_context.session.run(self._step))
        if self._timer.should_trigger_for_step(step):
            seconds, steps = self._timer.update_last_triggered_step(step)
            if seconds and steps is not None:
                self._tell(steps / seconds, step)

    def _tell(self, rate: float, step: int) -> None:
        logging.info("%s: %g", self._tag, rate)
        if self._writer is not None:
            summary = proto("summary").Summary()
            summary.value.add(tag=self._tag, simple_value=rate)
            self._writer.add_summary(summary, step)


class FeedFnHook(SessionRunHook):
    """Feeds every step with the feed_dict that `feed_fn()` returns."""

    def __init__(self, feed_fn: Callable[[], Any]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Requests the feeds that `feed_fn()` returns; `run_context` is not used."""
        return SessionRunArgs(None, self.feed_fn())


class FinalOpsHook(SessionRunHook):
    """Runs `final_ops`, fed with `final_ops_feed_dict`, at the end; `final_ops_values` has their values."""

    def __init__(self, final_ops: object, final_ops_feed_dict: Mapping[Any, Any] | None = None) -> None:
        self._ops, self._feed = final_ops, final_ops_feed_dict
        self._values: Any = None

    @property
    def final_ops_values(self) -> Any:
        """The values of `final_ops` in the same structure; None before the end."""
        return self._values

    def end(self, session: Session) -> None:
        """Runs the operations in `session`."""
        if self._ops is not None:
            self._values = session.run(self._ops, self._feed)


class GlobalStepWaiterHook(SessionRunHook):
    """Delays the first step until the global step, which other workers increase, has reached a number."""

    def __init__(self, wait_until_step: int) -> None:
        self._until, self._reached = wait_until_step, wait_until_step <= 0

    def begin(self) -> None:
        """Looks up the global step of the default graph."""
        self._step = needed_global_step("GlobalStepWaiterHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Waits until the global step is large enough, by reading it in the session of `run_context`."""
        last_log = 0.0
        while not self._reached:
            step = int(run_context.session.run(self._step))
            self._reached = step >= self._until
            if not self._reached:
                if time.time() - last_log > 60:
                    last_log = time.time()
                    logging.info("Waiting for global step %d; it is %d.", self._until, step)
                time.sleep(0.5)
        return None


API: dict[str, Any] = {
    "train.LoggingTensorHook": LoggingTensorHook,
    "train.StopAtStepHook": StopAtStepHook,
    "train.NanTensorHook": NanTensorHook,
    "train.NanLossDuringTrainingError": NanLossDuringTrainingError,
    "train.StepCounterHook": StepCounterHook,
    "train.FeedFnHook": FeedFnHook,
    "train.FinalOpsHook": FinalOpsHook,
    "train.GlobalStepWaiterHook": GlobalStepWaiterHook,
}
