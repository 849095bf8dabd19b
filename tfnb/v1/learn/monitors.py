"""`tf.contrib.learn.monitors`: the hooks of TensorFlow 0.x, which are told the number of each step.

Invariant: a monitor runs as the hook `RunHookAdapterForMonitors`, so it works wherever hooks do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.graph.default_graph import get_collection
from tfnb.client.platform import tf_logging as logging
from tfnb.client.variables.variable import Variable
from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.summary.writer import FileWriter
from tfnb.train.hooks.basic_hooks import NanLossDuringTrainingError, StepCounterHook
from tfnb.train.hooks.saving_hooks import CheckpointSaverHook, SummarySaverHook
from tfnb.train.hooks.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from tfnb.train.optimizers.global_step import get_or_create_global_step
from tfnb.train.saving.checkpoint_state import latest_checkpoint
from tfnb.train.saving.saver import Saver
from tfnb.train.sessions.scaffold import Scaffold

__all__ = [
    "BaseMonitor",
    "CaptureVariable",
    "CheckpointSaver",
    "EveryN",
    "GraphDump",
    "LoggingTrainable",
    "NanLoss",
    "PrintTensor",
    "RunHookAdapterForMonitors",
    "StepCounter",
    "StopAtStep",
    "SummarySaver",
    "ValidationMonitor",
    "get_default_monitors",
    "replace_monitors_with_hooks",
]


class BaseMonitor:
    """What is told about each step of a training; subclasses override what they need."""

    def __init__(self) -> None:
        self._estimator: Any = None
        self._max_steps: int | None = None

    @property
    def run_on_all_workers(self) -> bool:
        """Whether it runs on all workers, not on the chief only."""
        return False

    def set_estimator(self, estimator: object) -> None:
        """Tells the estimator that is trained. Raises `InvalidArgumentError` for None."""
        if estimator is None:
            raise InvalidArgumentError("Missing estimator.")
        self._estimator = estimator

    def begin(self, max_steps: int | None = None) -> None:
        """The training begins, and ends after `max_steps` steps if that is given."""
        self._max_steps = max_steps

    def end(self, session: object = None) -> None:
        """The training ends; `session` is still open."""

    def epoch_begin(self, epoch: int) -> None:
        """The epoch `epoch` begins."""

    def epoch_end(self, epoch: int) -> None:
        """The epoch `epoch` ends."""

    def step_begin(self, step: int) -> list[Any]:
        """The step `step` begins. Returns the tensors or names whose values `step_end` needs."""
        return []

    def step_end(self, step: int, output: Mapping[Any, Any]) -> bool:
        """The step `step` has ended, with the values `output` of what was asked for. Returns whether to stop."""
        return False

    def post_step(self, step: int, session: object) -> None:
        """The step `step` is over; `session` may be used."""


class EveryN(BaseMonitor):
    """A monitor that acts in every `every_n_steps`-th step, and in the first `first_n_steps` ones."""

    def __init__(self, every_n_steps: int = 100, first_n_steps: int = 1) -> None:
        super().__init__()
        self._every, self._first = every_n_steps, first_n_steps
        self._last_active = 0
        self._active = False

    def every_n_step_begin(self, step: int) -> list[Any]:
        """Such a step `step` begins. Returns the tensors or names that `every_n_step_end` needs."""
        return []

    def every_n_step_end(self, step: int, outputs: Mapping[Any, Any]) -> bool:
        """Such a step `step` has ended, with the values `outputs`. Returns whether to stop."""
        return False

    def every_n_post_step(self, step: int, session: object) -> None:
        """Such a step `step` is over; `session` may be used."""

    def step_begin(self, step: int) -> list[Any]:
        """Asks `every_n_step_begin` of the step `step`, if it is time."""
        last = self._max_steps is not None and step == self._max_steps
        self._active = step <= self._first or step >= self._every + self._last_active or last
        if not self._active:
            return []
        self._last_active = step
        return self.every_n_step_begin(step)

    def step_end(self, step: int, output: Mapping[Any, Any]) -> bool:
        """Asks `every_n_step_end` of the step `step` and its `output`, if it is time."""
        return self.every_n_step_end(step, output) if self._active else False

    def post_step(self, step: int, session: object) -> None:
        """Asks `every_n_post_step` of the step `step` and the `session`, if it is time."""
        if self._active:
            self.every_n_post_step(step, session)


class StopAtStep(BaseMonitor):
    """Ends the training after `num_steps` further steps, or at the global step `last_step`; one of them is given."""

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        super().__init__()
        if (num_steps is None) == (last_step is None):
            raise InvalidArgumentError("One of num_steps or last_step must be specified.")
        self._num_steps, self._last_step = num_steps, last_step

    def step_begin(self, step: int) -> list[Any]:
        """Notes the first step `step`."""
        if self._last_step is None:
            self._last_step = step + (self._num_steps or 0) - 1
        return []

    def step_end(self, step: int, output: Mapping[Any, Any]) -> bool:
        """Returns whether the step `step` is the last one, whatever the `output` is."""
        return step >= (self._last_step or 0)


class PrintTensor(EveryN):
    """Logs the values of `tensor_names`, a list of names or a dict of labels to names."""

    def __init__(self, tensor_names: Mapping[str, Any] | Iterable[Any], every_n: int = 100, first_n: int = 1) -> None:
        super().__init__(every_n, first_n)
        self._names = dict(tensor_names) if isinstance(tensor_names, Mapping) else {n: n for n in tensor_names}

    def every_n_step_begin(self, step: int) -> list[Any]:
        """Asks for the tensors in the step `step`."""
        return list(self._names.values())

    def every_n_step_end(self, step: int, outputs: Mapping[Any, Any]) -> bool:
        """Logs the values `outputs` of the step `step`."""
        logging.info("Step %d: %s", step, ", ".join(f"{tag} = {outputs[name]}" for tag, name in self._names.items()))
        return False


class LoggingTrainable(EveryN):
    """Logs the means of the absolute values of all trained variables, or of those in `scope`."""

    def __init__(self, scope: str | None = None, every_n: int = 100, first_n: int = 1) -> None:
        super().__init__(every_n, first_n)
        self._scope = scope
        self._names: dict[str, str] = {}

    def every_n_step_begin(self, step: int) -> list[Any]:
        """Asks for the variables in the step `step`."""
        self._names = {v.op.name: v.name for v in get_collection(GraphKeys.TRAINABLE_VARIABLES, scope=self._scope)}
        return list(self._names.values())

    def every_n_step_end(self, step: int, outputs: Mapping[Any, Any]) -> bool:
        """Logs the means of the `outputs` of the step `step`."""
        means = (f"{tag} = {np.mean(np.abs(outputs[name]))}" for tag, name in self._names.items())
        logging.info("Logging Trainable: %s", ", ".join(means))
        return False


class CaptureVariable(EveryN):
    """Keeps the values of the tensor `var_name` by step, in `values`."""

    def __init__(self, var_name: str, every_n: int = 100, first_n: int = 1) -> None:
        super().__init__(every_n, first_n)
        self._name = var_name
        self._values: dict[int, Any] = {}

    @property
    def values(self) -> Mapping[int, Any]:
        """The values by step."""
        return self._values

    def every_n_step_begin(self, step: int) -> list[Any]:
        """Asks for the tensor."""
        return [self._name]

    def every_n_step_end(self, step: int, outputs: Mapping[Any, Any]) -> bool:
        """Keeps the value in `outputs` of the step `step`."""
        self._values[step] = outputs[self._name]
        return False


class NanLoss(EveryN):
    """Ends the training when `loss_tensor` is NaN, by `NanLossDuringTrainingError` if `fail_on_nan_loss`."""

    def __init__(self, loss_tensor: str | Tensor, every_n_steps: int = 100, fail_on_nan_loss: bool = True) -> None:
        super().__init__(every_n_steps)
        self._loss, self._fail = loss_tensor, fail_on_nan_loss

    def every_n_step_begin(self, step: int) -> list[Any]:
        """Asks for the loss in the step `step`."""
        return [self._loss]

    def every_n_step_end(self, step: int, outputs: Mapping[Any, Any]) -> bool:
        """Returns whether the loss in `outputs` of the step `step` is NaN, or raises the error."""
        name = self._loss if isinstance(self._loss, str) else self._loss.name
        if not np.isnan(next(v for k, v in outputs.items() if k in (name, self._loss))).any():
            return False
        if self._fail:
            raise NanLossDuringTrainingError("NaN loss during training.")
        logging.warning("Model diverged with loss = NaN.")
        return True


class GraphDump(BaseMonitor):
    """Keeps the values of all operations of the graph but those of `ignore_ops`, in `data` by step."""

    IGNORE_OPS = ("Const", "Assign", "Identity", "Placeholder", "RandomUniform", "Cast", "RestoreSlice")

    def __init__(self, ignore_ops: Sequence[str] | None = None) -> None:
        super().__init__()
        self._ignored = tuple(ignore_ops or self.IGNORE_OPS)
        self._data: dict[int, dict[str, Any]] = {}

    @property
    def data(self) -> Mapping[int, Mapping[str, Any]]:
        """The values by step and name."""
        return self._data

    def step_begin(self, step: int) -> list[Any]:
        """Asks for all outputs of operations in the step `step`."""
        ops = get_default_graph().get_operations()
        return [t.name for op in ops if op.type not in self._ignored and "/" not in op.name for t in op.outputs]

    def step_end(self, step: int, output: Mapping[Any, Any]) -> bool:
        """Keeps the values `output` of the step `step`."""
        self._data[step] = dict(output)
        return False


class ValidationMonitor(EveryN):
    """Evaluates the estimator during its training, when there is a new checkpoint.

    x, y, input_fn, batch_size, eval_steps, metrics, hooks, name: as in `Estimator.evaluate`. every_n_steps: how often.
    early_stopping_rounds: the training ends when the metric `early_stopping_metric` has not become better, smaller if
    `early_stopping_metric_minimize`, for so many steps. check_interval_secs: the least time between two evaluations.
    Raises `InvalidArgumentError` without data.
    """

    def __init__(
        self,
        x: object = None,
        y: object = None,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        eval_steps: int | None = None,
        every_n_steps: int = 100,
        metrics: Mapping[Any, Any] | None = None,
        hooks: Sequence[Any] | None = None,
        early_stopping_rounds: int | None = None,
        early_stopping_metric: str = "loss",
        early_stopping_metric_minimize: bool = True,
        name: str | None = None,
        check_interval_secs: float | None = 5,
    ) -> None:
        super().__init__(every_n_steps, -1)
        if x is None and input_fn is None:
            raise InvalidArgumentError("Either x or input_fn should be provided.")
        self._arguments = {
            "x": x,
            "y": y,
            "input_fn": input_fn,
            "batch_size": batch_size,
            "steps": eval_steps,
            "metrics": metrics,
            "hooks": hooks,
            "name": name,
        }
        self._rounds, self._metric, self._minimize = (
            early_stopping_rounds,
            early_stopping_metric,
            early_stopping_metric_minimize,
        )
        self._wait, self._checked, self._path = check_interval_secs, 0.0, ""
        self._best: tuple[float, int] | None = None
        self._stopped = False
        self.best_metrics: dict[str, Any] | None = None

    @property
    def early_stopped(self) -> bool:
        """Whether it ended the training."""
        return self._stopped

    @property
    def best_step(self) -> int | None:
        """The step of the best evaluation."""
        return None if self._best is None else self._best[1]

    @property
    def best_value(self) -> float | None:
        """The best value of the metric."""
        return None if self._best is None else self._best[0]

    def every_n_step_end(self, step: int, outputs: Mapping[Any, Any]) -> bool:
        """Evaluates the latest checkpoint, if it is a new one, in the step `step`. Returns whether to stop.

        The values `outputs` are not needed.
        """
        now = time.time()
        path = latest_checkpoint(self._estimator.model_dir)
        if path is None or path == self._path or (self._wait and now - self._checked < self._wait):
            return False
        self._path, self._checked = path, now
        found = self._estimator.evaluate(**self._arguments)
        logging.info("Validation (step %d): %s", step, ", ".join(f"{k} = {v}" for k, v in found.items()))
        value = float(found[self._metric])
        better = self._best is None or (value < self._best[0] if self._minimize else value > self._best[0])
        if better:
            self._best, self.best_metrics = (value, step), found
        if self._rounds is not None and self._best is not None and step - self._best[1] >= self._rounds:
            self._stopped = True
            return True
        return False


class _Wrapped(BaseMonitor):
    """A monitor that stands for a hook of `tf.train`, by which it is replaced."""

    hook: SessionRunHook


class CheckpointSaver(_Wrapped):
    """Saves checkpoints every `save_secs` seconds or `save_steps` steps; see CheckpointSaverHook."""

    def __init__(
        self,
        checkpoint_dir: str,
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Saver | None = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Scaffold | None = None,
    ) -> None:
        super().__init__()
        self.hook = CheckpointSaverHook(checkpoint_dir, save_secs, save_steps, saver, checkpoint_basename, scaffold)


class StepCounter(_Wrapped):
    """Writes the steps for each second, every `every_n_steps` steps, to `output_dir` or with `summary_writer`."""

    def __init__(
        self, every_n_steps: int = 100, output_dir: str | None = None, summary_writer: FileWriter | None = None
    ) -> None:
        super().__init__()
        self.hook = StepCounterHook(every_n_steps, None, output_dir, summary_writer)


class SummarySaver(_Wrapped):
    """Writes `summary_op` every `save_steps` steps, to `output_dir` or with `summary_writer`; see SummarySaverHook."""

    def __init__(
        self,
        summary_op: Tensor | Sequence[Tensor],
        save_steps: int = 100,
        output_dir: str | None = None,
        summary_writer: FileWriter | None = None,
        scaffold: Scaffold | None = None,
    ) -> None:
        super().__init__()
        self.hook = SummarySaverHook(save_steps, None, output_dir, summary_writer, scaffold, summary_op)


class RunHookAdapterForMonitors(SessionRunHook):
    """The hook of the monitors `monitors`."""

    def __init__(self, monitors: Sequence[BaseMonitor]) -> None:
        self._monitors = list(monitors)
        self._step: Any = None
        self._last_step: int | None = None
        self._asked: list[list[Any]] = []

    def begin(self) -> None:
        """Tells the monitors that the training begins."""
        self._step = get_or_create_global_step()
        for monitor in self._monitors:
            monitor.begin(None)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Asks the monitors what they need of the step in `run_context`."""
        if self._last_step is None:
            self._last_step = int(run_context.session.run(self._step)) + 1
        graph = run_context.session.graph
        self._asked = [m.step_begin(self._last_step) for m in self._monitors]
        wanted = {_name(t): graph.as_graph_element(t) for asked in self._asked for t in asked}
        return SessionRunArgs({"step": self._step, "values": wanted})

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Gives the monitors the values `run_values`, and stops by `run_context` if one says so."""
        results = run_values.results
        step = self._last_step or 0
        stops = [
            m.step_end(step, {_name(t): results["values"][_name(t)] for t in asked})
            for m, asked in zip(self._monitors, self._asked, strict=True)
        ]
        for monitor in self._monitors:
            monitor.post_step(step, run_context.session)
        if any(stops):
            run_context.request_stop()
        self._last_step = step + 1

    def end(self, session: object) -> None:
        """Tells the monitors that the training ends, while the `session` is open."""
        for monitor in self._monitors:
            monitor.end(session=session)


def _name(tensor: str | Tensor | Variable | Operation) -> str:
    return tensor if isinstance(tensor, str) else tensor.name


def replace_monitors_with_hooks(monitors_or_hooks: Sequence[Any], estimator: object) -> list[Any]:
    """Returns the hooks of `monitors_or_hooks`, monitors and hooks of an `estimator` in any order."""
    hooks = [m.hook if isinstance(m, _Wrapped) else m for m in monitors_or_hooks or () if not _plain(m)]
    monitors = [m for m in monitors_or_hooks or () if _plain(m)]
    for monitor in monitors:
        monitor.set_estimator(estimator)
    return hooks + ([RunHookAdapterForMonitors(monitors)] if monitors else [])


def _plain(value: object) -> bool:
    return isinstance(value, BaseMonitor) and not isinstance(value, _Wrapped)


def get_default_monitors(
    loss_op: Tensor | None = None,
    summary_op: Tensor | Sequence[Tensor] | None = None,
    save_summary_steps: int = 100,
    output_dir: str | None = None,
    summary_writer: FileWriter | None = None,
) -> list[BaseMonitor]:
    """Returns monitors that log `loss_op`, and write `summary_op` every `save_summary_steps` steps.

    output_dir, summary_writer: where summaries go.
    """
    monitors: list[BaseMonitor] = []
    if loss_op is not None:
        monitors.append(PrintTensor({"loss": loss_op.name}))
    if summary_op is not None:
        monitors.append(SummarySaver(summary_op, save_summary_steps, output_dir, summary_writer))
    return monitors
