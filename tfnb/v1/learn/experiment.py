"""`tf.contrib.learn.Experiment` and `learn_runner`: an estimator with its data, trained, evaluated and exported.

Invariant: an experiment runs in one process, whatever its schedule; a schedule is the name of a method.
"""

from __future__ import annotations

import inspect
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tfnb.errors import DTypeError, InvalidArgumentError, refuse_given
from tfnb.train.saving.checkpoint_state import latest_checkpoint
from tfnb.v1.estimators.early_stopping import InMemoryEvaluatorHook
from tfnb.v1.estimators.estimator import Estimator as CoreEstimator
from tfnb.v1.estimators.export import build_parsing_serving_input_receiver_fn, build_raw_serving_input_receiver_fn
from tfnb.v1.estimators.spec import RunConfig
from tfnb.v1.learn.estimator import BaseEstimator
from tfnb.v1.learn.model_fn import InputFnOps
from tfnb.v1.learn.monitors import ValidationMonitor, replace_monitors_with_hooks

__all__ = [
    "Experiment",
    "ExportStrategy",
    "build_default_serving_input_fn",
    "build_parsing_serving_input_fn",
    "make_export_strategy",
    "run",
    "tune",
]


class ExportStrategy(NamedTuple):
    """How a model is exported: `export_fn(estimator, folder, checkpoint_path=, eval_result=)`, below export/`name`.

    strip_default_attrs: whether attributes with their default are left out, or None.
    """

    name: str
    export_fn: Callable[..., Any]
    strip_default_attrs: bool | None = None

    def export(
        self,
        estimator: object,
        export_path: str,
        checkpoint_path: str | None = None,
        eval_result: Mapping[str, Any] | None = None,
    ) -> Any:
        """Exports the model below `export_path`; returns the path of the export."""
        names = inspect.signature(self.export_fn).parameters
        known = {
            "checkpoint_path": checkpoint_path,
            "eval_result": eval_result,
            "strip_default_attrs": self.strip_default_attrs,
        }
        return self.export_fn(
            estimator, export_path, **{k: v for k, v in known.items() if k in names and v is not None}
        )


def make_export_strategy(
    serving_input_fn: Callable[[], Any],
    default_output_alternative_key: str | None = None,
    assets_extra: Mapping[str, Any] | None = None,
    as_text: bool = False,
    exports_to_keep: int | None = 5,
    strip_default_attrs: bool | None = None,
) -> ExportStrategy:
    """Returns the strategy that writes SavedModels, of which `exports_to_keep` are kept.

    For the other arguments see `Estimator.export_savedmodel`.
    """

    def export(
        estimator: Any, export_dir_base: str, checkpoint_path: str | None = None, strip_default_attrs: bool = False
    ) -> Any:
        if isinstance(estimator, BaseEstimator):
            made = estimator.export_savedmodel(
                export_dir_base,
                serving_input_fn,
                default_output_alternative_key,
                assets_extra,
                as_text,
                checkpoint_path,
                strip_default_attrs,
            )
        else:
            refuse_given(
                "export",
                "an estimator of tf.estimator names its default output itself",
                default_output_alternative_key=default_output_alternative_key,
            )
            made = estimator.export_savedmodel(
                export_dir_base, serving_input_fn, assets_extra, as_text, checkpoint_path, strip_default_attrs
            )
        numbers = sorted(int(n) for n in os.listdir(export_dir_base) if n.isdigit())
        for number in numbers[:-exports_to_keep] if exports_to_keep else ():
            shutil.rmtree(os.path.join(export_dir_base, str(number)))
        return made

    return ExportStrategy("Servo", export, strip_default_attrs)


def build_parsing_serving_input_fn(
    feature_spec: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], InputFnOps]:
    """Returns a function of the inputs of a model that gets serialized tf.Examples, parsed by `feature_spec`.

    default_batch_size: the static batch size, by default unknown.
    """

    def receive() -> InputFnOps:
        made = build_parsing_serving_input_receiver_fn(feature_spec, default_batch_size)()
        return InputFnOps(made.features, None, made.receiver_tensors)

    return receive


def build_default_serving_input_fn(
    features: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], InputFnOps]:
    """Returns a function of the inputs of a model that gets tensors like `features`.

    default_batch_size: the static batch size, by default unknown.
    """

    def receive() -> InputFnOps:
        made = build_raw_serving_input_receiver_fn(features, default_batch_size)()
        return InputFnOps(made.features, None, made.receiver_tensors)

    return receive


class Experiment:
    """An `estimator` with the data of its training and evaluation.

    train_input_fn, eval_input_fn: return the data. eval_metrics: beside those of the model, for estimators of
    `tf.contrib.learn`. train_steps: up to which global step. eval_steps: the batches of an evaluation. train_monitors,
    eval_hooks: run around steps. min_eval_frequency: the least steps between two evaluations of `train_and_evaluate`.
    export_strategies: what is exported at its end. train_steps_per_iteration: the steps between two evaluations of
    `continuous_train_and_eval`. eval_delay_secs, continuous_eval_throttle_secs: the times before and between
    continuous evaluations. saving_listeners: run around saves. The other arguments are refused unless they are the
    usual ones. Raises `DTypeError` for another estimator.
    """

    def __init__(
        self,
        estimator: BaseEstimator | CoreEstimator,
        train_input_fn: Callable[..., Any],
        eval_input_fn: Callable[..., Any],
        eval_metrics: Mapping[Any, Any] | None = None,
        train_steps: int | None = None,
        eval_steps: int | None = 100,
        train_monitors: Sequence[Any] | None = None,
        eval_hooks: Sequence[Any] | None = None,
        local_eval_frequency: int | None = None,
        eval_delay_secs: float = 120,
        continuous_eval_throttle_secs: float = 60,
        min_eval_frequency: int | None = None,
        delay_workers_by_global_step: bool = False,
        export_strategies: ExportStrategy | Sequence[ExportStrategy] | None = None,
        train_steps_per_iteration: int | None = None,
        checkpoint_and_export: bool = False,
        saving_listeners: Sequence[Any] | None = None,
        check_interval_secs: float | None = 5,
    ) -> None:
        if not isinstance(estimator, (BaseEstimator, CoreEstimator)):
            raise DTypeError(f"`estimator` must implement `Evaluable` and `Trainable`, got {estimator!r}")
        refuse_given(
            "Experiment", "there are no workers to wait for", delay_workers_by_global_step=delay_workers_by_global_step
        )
        if isinstance(estimator, CoreEstimator):
            refuse_given("Experiment", "use the metrics of the model function", eval_metrics=eval_metrics)
        self.estimator = estimator
        self._train_fn, self._eval_fn, self._metrics = train_input_fn, eval_input_fn, eval_metrics
        self._train_steps, self._eval_steps = train_steps, eval_steps
        self._monitors, self._eval_hooks = list(train_monitors or ()), list(eval_hooks or ())
        self._every = min_eval_frequency if min_eval_frequency is not None else local_eval_frequency
        self._delay, self._throttle, self._interval = (
            eval_delay_secs,
            continuous_eval_throttle_secs,
            check_interval_secs,
        )
        self._per_iteration, self._listeners, self._export_each = (
            train_steps_per_iteration,
            list(saving_listeners or ()),
            checkpoint_and_export,
        )
        self.reset_export_strategies(export_strategies)

    @property
    def train_steps(self) -> int | None:
        """The global step at which the training ends."""
        return self._train_steps

    @property
    def eval_steps(self) -> int | None:
        """The batches of an evaluation."""
        return self._eval_steps

    def reset_export_strategies(
        self, new_export_strategies: ExportStrategy | Sequence[ExportStrategy] | None = None
    ) -> list[ExportStrategy]:
        """Replaces the export strategies, and returns the old ones."""
        old = getattr(self, "_strategies", [])
        new = new_export_strategies
        self._strategies = [new] if isinstance(new, ExportStrategy) else list(new or ())
        return old

    def extend_train_hooks(self, additional_hooks: Sequence[Any]) -> None:
        """Adds the hooks `additional_hooks` to the training."""
        self._monitors.extend(additional_hooks)

    def train(self, delay_secs: float | None = None) -> Any:
        """Trains, after `delay_secs`; returns the estimator."""
        return self._train(self._train_steps, (), delay_secs)

    def _train(self, max_steps: int | None, more: Sequence[Any], delay_secs: float | None = None) -> Any:
        if delay_secs:
            time.sleep(delay_secs)
        hooks = replace_monitors_with_hooks([*self._monitors, *more], self.estimator)
        core = self.estimator.core if isinstance(self.estimator, BaseEstimator) else self.estimator
        core.train(self._train_fn, hooks, max_steps=max_steps, saving_listeners=self._listeners)
        return self.estimator

    def evaluate(self, delay_secs: float | None = None, name: str | None = None) -> dict[str, Any]:
        """Returns the metrics of the latest checkpoint, after `delay_secs`; see `Estimator.evaluate`."""
        if delay_secs:
            time.sleep(delay_secs)
        if isinstance(self.estimator, CoreEstimator):
            return self.estimator.evaluate(self._eval_fn, self._eval_steps, self._eval_hooks, name=name)
        return self.estimator.evaluate(
            input_fn=self._eval_fn, steps=self._eval_steps, metrics=self._metrics, name=name, hooks=self._eval_hooks
        )

    def train_and_evaluate(self) -> tuple[dict[str, Any], list[Any]]:
        """Trains, with evaluations on the way, evaluates and exports; returns (metrics, results of the exports)."""
        monitors: list[Any] = []
        if self._every:
            if isinstance(self.estimator, BaseEstimator):
                arguments: dict[str, Any] = {
                    "metrics": self._metrics,
                    "hooks": self._eval_hooks,
                    "check_interval_secs": self._interval,
                }
                monitors = [
                    ValidationMonitor(
                        input_fn=self._eval_fn, eval_steps=self._eval_steps, every_n_steps=self._every, **arguments
                    )
                ]
            else:
                monitors = [
                    InMemoryEvaluatorHook(
                        self.estimator, self._eval_fn, self._eval_steps, self._eval_hooks, every_n_iter=self._every
                    )
                ]
        self._train(self._train_steps, monitors)
        found = self.evaluate()
        return found, self._export(found)

    local_run = train_and_evaluate

    def continuous_train_and_eval(
        self, continuous_eval_predicate_fn: Callable[..., bool] | None = None
    ) -> tuple[dict[str, Any] | None, list[Any]]:
        """Trains `train_steps_per_iteration` steps and evaluates, in turn, up to the last step.

        continuous_eval_predicate_fn: takes the last metrics, and returns whether to go on. Returns (metrics, results of
        the exports).
        """
        found: dict[str, Any] | None = None
        step = 0
        while continuous_eval_predicate_fn is None or continuous_eval_predicate_fn(found):
            each = self._per_iteration or self._every or 1000
            goal = step + each if self._train_steps is None else min(self._train_steps, step + each)
            self._train(goal, ())
            found = self.evaluate()
            if self._export_each:
                self._export(found)
            if found["global_step"] == step or (
                self._train_steps is not None and found["global_step"] >= self._train_steps
            ):
                break
            step = int(found["global_step"])
        return found, self._export(found or {})

    def continuous_eval(
        self,
        delay_secs: float | None = None,
        throttle_delay_secs: float | None = None,
        evaluate_checkpoint_only_once: bool = True,
        continuous_eval_predicate_fn: Callable[..., bool] | None = None,
        name: str = "continuous",
    ) -> dict[str, Any] | None:
        """Evaluates new checkpoints until the training has ended, or a function says so.

        delay_secs, throttle_delay_secs: the times before and between. evaluate_checkpoint_only_once: whether a
        checkpoint is evaluated once. continuous_eval_predicate_fn: takes the last metrics, returns whether to go on.
        name: of the evaluation. Returns the last metrics.
        """
        time.sleep(self._delay if delay_secs is None else delay_secs)
        wait = self._throttle if throttle_delay_secs is None else throttle_delay_secs
        found: dict[str, Any] | None = None
        last = None
        while continuous_eval_predicate_fn is None or continuous_eval_predicate_fn(found):
            path = latest_checkpoint(self.estimator.model_dir)
            if path is not None and (path != last or not evaluate_checkpoint_only_once):
                last, found = path, self.evaluate(name=name)
                if self._train_steps is not None and found["global_step"] >= self._train_steps:
                    break
            time.sleep(wait)
        return found

    def _export(self, found: Mapping[str, Any]) -> list[Any]:
        path = latest_checkpoint(self.estimator.model_dir)
        return [
            s.export(self.estimator, os.path.join(self.estimator.model_dir, "export", s.name), path, found)
            for s in self._strategies
        ]

    def test(self) -> dict[str, Any]:
        """Trains and evaluates one step; returns the metrics."""
        self._train(1, ())
        keep, self._eval_steps = self._eval_steps, 1
        found = self.evaluate(name="one_pass")
        self._eval_steps = keep
        return found


def run(
    experiment_fn: Callable[..., Experiment],
    output_dir: str | None = None,
    schedule: str | None = None,
    run_config: RunConfig | None = None,
    hparams: object = None,
) -> Any:
    """Makes an experiment and calls its method `schedule`, by default "train_and_evaluate"; returns the result.

    experiment_fn: takes `output_dir`, or `run_config` and `hparams`. Raises `InvalidArgumentError` for both ways or
    none, or an unknown schedule.
    """
    if (output_dir is None) == (run_config is None):
        raise InvalidArgumentError("Must provide `output_dir` or `run_config`, and not both.")
    experiment = experiment_fn(output_dir) if run_config is None else experiment_fn(run_config, hparams)
    if not isinstance(experiment, Experiment):
        raise DTypeError("Experiment builder did not return an Experiment instance.")
    method = getattr(experiment, schedule or "train_and_evaluate", None)
    if not callable(method):
        raise InvalidArgumentError(f"Schedule references non-existent task {schedule}")
    return method()


def tune(experiment_fn: Callable[..., Experiment], tuner: Any) -> None:
    """Runs the experiments of the parameters that `tuner` proposes, until it has no more.

    tuner: has next_trial(), run_experiment(experiment_fn).
    """
    while tuner.next_trial():
        tuner.run_experiment(experiment_fn)
