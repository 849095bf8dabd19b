"""`tf.estimator.Estimator`: trains, evaluates, applies and exports a model function; each call builds a graph.

`model_fn(features, labels, mode, params, config)` returns an `EstimatorSpec`. The trained variables pass from one call
to the next through checkpoints in `model_dir`. Invariant: no graph or session outlives a call.
"""

from __future__ import annotations

import inspect
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.logging.summaries import scalar
from tfnb.client.losses_metrics.metrics import mean
from tfnb.client.platform import tf_logging as logging
from tfnb.client.variables.variable import group
from tfnb.errors import InvalidArgumentError, NotFoundError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.operation import Operation
from tfnb.ir.protos import proto
from tfnb.ir.tensor import Tensor
from tfnb.session.api import ConfigProto, Session
from tfnb.summary.writer import FileWriterCache
from tfnb.train.distribute.contexts import get_loss_reduction
from tfnb.train.distribute.strategies import Strategy
from tfnb.train.hooks.basic_hooks import (
    FinalOpsHook,
    LoggingTensorHook,
    NanTensorHook,
    StopAtStepHook,
)
from tfnb.train.hooks.saving_hooks import CheckpointSaverHook, CheckpointSaverListener
from tfnb.train.hooks.session_run_hook import SessionRunHook
from tfnb.train.optimizers.global_step import get_or_create_global_step
from tfnb.train.saving.checkpoint_reader import list_variables, load_variable
from tfnb.train.saving.checkpoint_state import FilePath, latest_checkpoint
from tfnb.train.saving.saved_model import SavedModelBuilder
from tfnb.train.saving.saver import Saver
from tfnb.train.saving.signatures import TAG_CONSTANTS
from tfnb.train.sessions.coordinator import Coordinator
from tfnb.train.sessions.monitored_session import MonitoredSession, MonitoredTrainingSession
from tfnb.train.sessions.scaffold import ChiefSessionCreator, Scaffold
from tfnb.v1.estimators.export import (
    ServingInputReceiver,
    add_extra_assets,
    signatures,
    timestamped_folder,
)
from tfnb.v1.estimators.replicas import joined_specs
from tfnb.v1.estimators.spec import EstimatorSpec, ModeKeys, RunConfig, checked_hooks
from tfnb.v1.estimators.warm_start import WarmStartSettings, warm_start

__all__ = ["Estimator"]

Hooks = Iterable[SessionRunHook] | None
_NEEDED = {
    ModeKeys.TRAIN: ("loss", "train_op"),
    ModeKeys.EVAL: ("loss",),
    ModeKeys.PREDICT: ("predictions",),
}


class _StartData(SessionRunHook):
    """Initializes the iterator of the data set of an input function in each new session."""

    def __init__(self, initializer: Operation) -> None:
        self._initializer = initializer

    def after_create_session(self, session: Session, coord: Coordinator) -> None:
        """Runs the initializer in `session`; `coord` is not used."""
        session.run(self._initializer)


class Estimator:
    """Trains, evaluates, applies and exports the model that `model_fn` builds.

    An `input_fn()` returns (features, labels), features alone, or a data set of either. It ends the data by
    `OutOfRangeError`, and may take the arguments `mode`, `params` and `config`. Without `model_dir` checkpoints go to a
    temporary folder. warm_start_from: a checkpoint, or `WarmStartSettings`, whose values a new model begins with.
    Raises `InvalidArgumentError` for a config of another class, or when it has another `model_dir`.
    """

    def __init__(
        self,
        model_fn: Callable[..., EstimatorSpec],
        model_dir: str | None = None,
        config: RunConfig | None = None,
        params: object = None,
        warm_start_from: str | WarmStartSettings | None = None,
    ) -> None:
        self._model_fn = model_fn
        self.warm_start_from = (
            WarmStartSettings(warm_start_from) if isinstance(warm_start_from, str) else warm_start_from
        )
        self.config = config or RunConfig()
        if not isinstance(self.config, RunConfig):
            raise InvalidArgumentError(f"Estimator: config must be a tf.estimator.RunConfig, got {config!r}")
        config_folder = self.config.model_dir
        if model_dir is not None and config_folder is not None and model_dir != config_folder:
            raise InvalidArgumentError(
                f"Estimator: model_dir is {model_dir!r} and that of the RunConfig {config_folder!r}; needed one of them"
            )
        self.model_dir = model_dir or config_folder or tempfile.mkdtemp(prefix="tfnb_model_")
        self.config = self.config.replace(model_dir=self.model_dir)
        self.params = params

    # ---- trained variables -------------------------------------------------------------------------

    def latest_checkpoint(self) -> str | None:
        """Returns the prefix of the latest checkpoint, or None."""
        return latest_checkpoint(self.model_dir)

    def get_variable_names(self) -> list[str]:
        """Returns the names of the variables in the latest checkpoint. Raises `NotFoundError` when there is none."""
        return [name for name, _ in list_variables(self._checkpoint(None))]

    def get_variable_value(self, name: str) -> np.ndarray:
        """Returns the value of `name` in the latest checkpoint, an array. Raises `NotFoundError` when it is missing."""
        value: np.ndarray = load_variable(self._checkpoint(None), name)
        return value

    def eval_dir(self, name: str | None = None) -> str:
        """Returns the folder of the event files that `evaluate` writes for the evaluation `name`."""
        return os.path.join(self.model_dir, f"eval_{name}" if name else "eval")

    def _checkpoint(self, given: str | None) -> str:
        path = given or self.latest_checkpoint()
        if path is None:
            raise NotFoundError(f"{self.model_dir} holds no trained model; call train first")
        return path

    # ---- training --------------------------------------------------------------------------------

    def train(
        self,
        input_fn: Callable[..., Any],
        hooks: Hooks = None,
        steps: int | None = None,
        max_steps: int | None = None,
        saving_listeners: Iterable[CheckpointSaverListener] | None = None,
    ) -> Estimator:
        """Trains for `steps` steps, up to the global step `max_steps`, or to the end of the data.

        It continues from the latest checkpoint of `model_dir`. input_fn: returns the data (see `Estimator`). hooks: run
        around every step. saving_listeners: run around every save. Returns the estimator. Raises `InvalidArgumentError`
        when both `steps` and `max_steps` are given, or one is not positive.
        """
        if steps is not None and max_steps is not None:
            raise InvalidArgumentError(f"train: steps={steps} and max_steps={max_steps}; needed at most one of them")
        for name, value in (("steps", steps), ("max_steps", max_steps)):
            if value is not None and value <= 0:
                raise InvalidArgumentError(f"train: {name} must be above 0, got {value}")
        listeners = _checked_listeners(saving_listeners)
        all_hooks = checked_hooks(hooks, "train: hooks")
        last = self.latest_checkpoint()
        if max_steps is not None and last is not None and int(load_variable(last, "global_step")) >= max_steps:
            logging.info("The training is skipped: %s has had %d steps already.", last, max_steps)
            return self
        if steps is not None or max_steps is not None:
            all_hooks.append(StopAtStepHook(steps, max_steps))
        with self._graph():
            spec, scaffold, started = self._build(input_fn, ModeKeys.TRAIN)
            if self.warm_start_from is not None and last is None:
                warm_start(*self.warm_start_from)
            self._summarise_loss(spec.loss)
            chief = self._chief_hooks(spec, scaffold, all_hooks, listeners)
            config = self.config
            all_hooks = [*started, *all_hooks, NanTensorHook(spec.loss), *(spec.training_hooks or ())]
            if config.log_step_count_steps:
                logged = {"loss": spec.loss, "step": get_or_create_global_step()}
                all_hooks.append(LoggingTensorHook(logged, every_n_iter=config.log_step_count_steps))
            with MonitoredTrainingSession(
                checkpoint_dir=self.model_dir,
                scaffold=scaffold,
                hooks=all_hooks,
                chief_only_hooks=chief,
                save_checkpoint_secs=None,
                save_checkpoint_steps=None,
                save_summaries_steps=config.save_summary_steps or None,
                save_summaries_secs=None,
                config=self._session_config,
                log_step_count_steps=config.log_step_count_steps,
            ) as session:
                while not session.should_stop():
                    session.run([spec.train_op, spec.loss])
        return self

    def _chief_hooks(
        self,
        spec: EstimatorSpec,
        scaffold: Scaffold,
        asked: list[SessionRunHook],
        listeners: list[CheckpointSaverListener],
    ) -> list[SessionRunHook]:
        """Returns the model's hooks for the chief, and a hook that saves checkpoints unless one of them does."""
        config, chief = self.config, list(spec.training_chief_hooks or ())
        savers = [h for h in [*asked, *(spec.training_hooks or ()), *chief] if isinstance(h, CheckpointSaverHook)]
        if not savers and (config.save_checkpoints_steps or config.save_checkpoints_secs):
            savers = [
                CheckpointSaverHook(
                    self.model_dir, config.save_checkpoints_secs, config.save_checkpoints_steps, scaffold=scaffold
                )
            ]
            chief = [*chief, *savers]
        if listeners and not savers:
            raise InvalidArgumentError(
                "train: saving_listeners are given, and nothing saves a checkpoint; set save_checkpoints_steps or "
                "save_checkpoints_secs of the RunConfig"
            )
        for listener in listeners:
            savers[0].add_listener(listener)
        return chief

    @staticmethod
    def _summarise_loss(loss: Tensor) -> None:
        """Adds a summary of the loss, unless the model function has added one with that name."""
        summaries = loss.graph.get_collection(GraphKeys.SUMMARIES)
        if not any(getattr(s, "op", s).name == "loss" for s in summaries):
            scalar("loss", loss)

    # ---- evaluation ------------------------------------------------------------------------------

    def evaluate(
        self,
        input_fn: Callable[..., Any],
        steps: int | None = None,
        hooks: Hooks = None,
        checkpoint_path: str | None = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """Returns a dict of the metrics over `steps` batches, or over all data, with the mean "loss" and the
        "global_step".

        input_fn: returns the data. checkpoint_path: by default the latest checkpoint. The metrics are also written as
        summaries to `eval_dir(name)`, so evaluations of several data sets can be compared. Raises `NotFoundError`
        without a checkpoint.
        """
        if steps is not None and steps <= 0:
            raise InvalidArgumentError(f"evaluate: steps must be above 0, got {steps}")
        all_hooks, path = checked_hooks(hooks, "evaluate: hooks"), self._checkpoint(checkpoint_path)
        with self._graph():
            spec, scaffold, started = self._build(input_fn, ModeKeys.EVAL)
            metrics = dict(spec.eval_metric_ops or {})
            if "loss" in metrics or "global_step" in metrics:
                raise InvalidArgumentError("EstimatorSpec: eval_metric_ops must not be called 'loss' or 'global_step'")
            metrics["loss"] = mean(spec.loss)
            update = group(*(m[1] for m in metrics.values()))
            final_hook = FinalOpsHook(
                {**{k: m[0] for k, m in metrics.items()}, "global_step": get_or_create_global_step()}
            )
            all_hooks = [*started, *all_hooks, *(spec.evaluation_hooks or ()), final_hook]
            with self._session(scaffold, path, all_hooks) as session:
                done = 0
                while (steps is None or done < steps) and not session.should_stop():
                    session.run(update)
                    done += 1
            values: dict[str, Any] = dict(final_hook.final_ops_values)
        values["loss"], values["global_step"] = float(values["loss"]), int(values["global_step"])
        self._write_summary(self.eval_dir(name), values)
        return values

    @staticmethod
    def _write_summary(folder: str, results: Mapping[str, Any]) -> None:
        summary = proto("summary").Summary()
        for tag, value in results.items():
            if tag == "global_step":
                continue
            if np.ndim(value) == 0 and np.issubdtype(np.asarray(value).dtype, np.number):
                summary.value.add(tag=tag, simple_value=float(value))
            else:
                logging.warning("evaluate: the metric %r is no number, and is not written to %s", tag, folder)
        writer = FileWriterCache.get(folder)
        writer.add_summary(summary, results["global_step"])
        writer.flush()

    # ---- prediction ------------------------------------------------------------------------------

    def predict(
        self,
        input_fn: Callable[..., Any],
        predict_keys: Sequence[str] | str | None = None,
        hooks: Hooks = None,
        checkpoint_path: str | None = None,
        yield_single_examples: bool = True,
    ) -> Iterator[Any]:
        """Yields the predictions for one example at a time, or for one batch with `yield_single_examples=False`.

        input_fn: returns the data. predict_keys: the names of the predictions that are computed, by default all.
        checkpoint_path: by default the latest checkpoint. Raises `NotFoundError` without a checkpoint, and
        `InvalidArgumentError` when no prediction has one of these names.
        """
        all_hooks, path = checked_hooks(hooks, "predict: hooks"), self._checkpoint(checkpoint_path)
        with self._graph() as graph:
            spec, scaffold, started = self._build(input_fn, ModeKeys.PREDICT)
            requested = _wanted(spec.predictions, predict_keys)
            session = self._session(scaffold, path, [*started, *all_hooks, *(spec.prediction_hooks or ())])
        with session:
            while not session.should_stop():
                with graph.as_default():  # the graph is the default only here, not while the caller's code runs
                    batch = session.run(requested)
                if not yield_single_examples:
                    yield batch
                elif not isinstance(batch, Mapping):
                    yield from batch
                else:
                    for k in range(_batch_size(batch)):
                        yield {key: rows[k] for key, rows in batch.items()}

    # ---- export ----------------------------------------------------------------------------------

    def export_savedmodel(
        self,
        export_dir_base: FilePath,
        serving_input_receiver_fn: Callable[[], ServingInputReceiver],
        assets_extra: Mapping[str, Any] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
        strip_default_attrs: bool = False,
    ) -> bytes:
        """Writes the model as a SavedModel to a new folder below `export_dir_base`, and returns its path.

        The name of the folder is the time in seconds. serving_input_receiver_fn: returns the inputs of the model (see
        `tf.estimator.export`). Each of the `export_outputs` of the EstimatorSpec becomes a signature. assets_extra: a
        dict of paths below `assets.extra` to files that are copied there. Raises `NotFoundError` without a checkpoint.
        """
        path = self._checkpoint(checkpoint_path)
        with self._graph() as graph:
            get_or_create_global_step()
            receiver = serving_input_receiver_fn()
            spec = self.spec_of(receiver.features, None, ModeKeys.PREDICT)
            signature_map = signatures(receiver, spec.export_outputs, spec.predictions)
            scaffold = spec.scaffold or Scaffold()
            saver = scaffold.saver or Saver(allow_empty=True)
            local_init = scaffold.local_init_op
            if local_init is None:
                local_init = Scaffold.default_local_init_op()
            with Session(graph=graph, config=self._session_config) as session:
                saver.restore(session, path)
                folder = timestamped_folder(export_dir_base)
                builder = SavedModelBuilder(folder)
                builder.add_meta_graph_and_variables(
                    session,
                    [TAG_CONSTANTS["SERVING"]],
                    signature_map,
                    graph.get_collection(GraphKeys.ASSET_FILEPATHS),
                    legacy_init_op=local_init,
                    strip_default_attrs=strip_default_attrs,
                    saver=saver,
                )
                builder.add_extra(lambda scratch: add_extra_assets(scratch, assets_extra or {}))
                builder.save(as_text)
        return os.fsencode(folder)

    export_saved_model = export_savedmodel

    # ---- graphs and sessions ---------------------------------------------------------------------

    @contextmanager
    def _graph(self) -> Iterator[GraphBuilder]:
        with GraphBuilder().as_default() as graph:
            graph.seed = self.config.tf_random_seed
            with graph.device(self.config.device_fn) if self.config.device_fn is not None else nullcontext():
                yield graph

    @property
    def _session_config(self) -> ConfigProto:
        return self.config.session_config or ConfigProto(allow_soft_placement=True)

    def _session(self, scaffold: Scaffold, path: str, hooks: list[SessionRunHook]) -> MonitoredSession:
        """Returns a session whose variables have the values of a checkpoint."""
        creator = ChiefSessionCreator(scaffold, config=self._session_config, checkpoint_filename_with_path=path)
        return MonitoredSession(creator, hooks)

    def _build(self, input_fn: Callable[..., Any], mode: str) -> tuple[EstimatorSpec, Scaffold, list[SessionRunHook]]:
        """Returns the spec of the model, a scaffold with a saver, and the hooks that initialize the data."""
        graph_step = get_or_create_global_step()
        hooks: list[SessionRunHook] = []
        strategy = self._strategy(mode)
        data = self._with_known(input_fn, mode)()
        if strategy is not None:
            with strategy.scope():
                spec = self._spec_of_replicas(strategy, data, mode, hooks)
        else:
            if hasattr(data, "make_initializable_iterator"):
                iterator = data.make_initializable_iterator()
                hooks.append(_StartData(iterator.initializer))
                data = iterator.get_next()
            spec = self.spec_of(*_features_and_labels(data, mode), mode)
        for part in _NEEDED[mode]:
            if getattr(spec, part) is None:
                raise InvalidArgumentError(f"the EstimatorSpec for mode {mode!r} has no {part}")
        scaffold = spec.scaffold or Scaffold()
        if scaffold.saver is None and not graph_step.graph.get_collection(GraphKeys.SAVERS):
            saver = Saver(
                max_to_keep=self.config.keep_checkpoint_max,
                defer_build=True,
                allow_empty=True,
                keep_checkpoint_every_n_hours=self.config.keep_checkpoint_every_n_hours,
            )
            graph_step.graph.add_to_collection(GraphKeys.SAVERS, saver)  # for a CheckpointSaverHook of the user
        return spec, scaffold, hooks

    def _strategy(self, mode: str) -> Strategy | None:
        config, both = self.config, self.config.experimental_distribute
        given = {
            ModeKeys.TRAIN: config.train_distribute or getattr(both, "train_distribute", None),
            ModeKeys.EVAL: config.eval_distribute or getattr(both, "eval_distribute", None),
        }.get(mode)
        if given is not None and not isinstance(given, Strategy):
            raise InvalidArgumentError(f"RunConfig: needed a strategy of tf.distribute, got {given!r}")
        return given

    def _spec_of_replicas(
        self, strategy: Strategy, dataset: object, mode: str, hooks: list[SessionRunHook]
    ) -> EstimatorSpec:
        """Returns the spec of all replicas of the model, each with a batch of the data set."""
        iterator = strategy.make_input_fn_iterator(lambda _: dataset)
        hooks.append(_StartData(iterator.initializer))
        batch = iterator.get_next()

        def model(data: object) -> EstimatorSpec:
            return self.spec_of(*_features_and_labels(data, mode), mode)

        with strategy.scaling_losses():
            specs = strategy.extended.results_of_replicas(model, (batch,))
            return joined_specs(strategy, specs, get_loss_reduction())

    def _with_known(self, function: Callable[..., Any], mode: str, **more: object) -> Callable[..., Any]:
        """Returns `function` with those of mode, params, config and `more` bound that it takes."""
        parameters = inspect.signature(function).parameters
        available = {"mode": mode, "params": self.params, "config": self.config, **more}
        arguments = {k: v for k, v in available.items() if k in parameters}
        return lambda *args: function(*args, **arguments)

    @property
    def model_fn(self) -> Callable[..., EstimatorSpec]:
        """The model function with `params`: a function of (features, labels, mode, config)."""
        return self.spec_of

    def spec_of(self, features: object, labels: object, mode: str, config: RunConfig | None = None) -> EstimatorSpec:
        """Calls the model function, with `config` instead of the estimator's own if it is given.

        Raises `InvalidArgumentError` when it has no parameter for the labels, or returns no EstimatorSpec.
        """
        if labels is not None and "labels" not in inspect.signature(self._model_fn).parameters:
            raise InvalidArgumentError("the input function gives labels, and model_fn does not take `labels`")
        config = config or self.config
        return self._checked(self._with_known(self._model_fn, mode, labels=labels, config=config)(features))

    def _checked(self, spec: object) -> EstimatorSpec:
        if not isinstance(spec, EstimatorSpec):
            raise InvalidArgumentError(f"model_fn must give a tf.estimator.EstimatorSpec, got {spec!r}")
        return spec


def _features_and_labels(data: object, mode: str) -> tuple[Any, Any]:
    features, labels = data if isinstance(data, tuple) and len(data) == 2 else (data, None)
    return features, None if mode == ModeKeys.PREDICT else labels


def _checked_listeners(listeners: Iterable[CheckpointSaverListener] | None) -> list[CheckpointSaverListener]:
    checked = list(listeners or ())
    for listener in checked:
        if not isinstance(listener, CheckpointSaverListener):
            raise InvalidArgumentError(
                f"train: saving_listeners must be tf.train.CheckpointSaverListener objects, got {listener!r}"
            )
    return checked


def _wanted(predictions: Tensor | Mapping[str, Any], keys: Sequence[str] | str | None) -> Any:
    """Returns the predictions with the given names."""
    if keys is None:
        return predictions
    names = [keys] if isinstance(keys, str) else list(keys)
    if not isinstance(predictions, Mapping):
        raise InvalidArgumentError(f"predict: predict_keys={names}, and the predictions are no dict")
    selected = {k: v for k, v in predictions.items() if k in names}
    if not selected:
        raise InvalidArgumentError(f"predict: none of predict_keys={names} is among {sorted(predictions)}")
    return selected


def _batch_size(batch: Mapping[str, Any]) -> int:
    """Returns the number of examples in a batch. Raises `InvalidArgumentError` when its parts have different sizes."""
    sizes = {k: len(v) if np.ndim(v) else None for k, v in batch.items()}
    if len(set(sizes.values())) != 1 or None in sizes.values():
        raise InvalidArgumentError(
            f"predict: the predictions hold batches of different sizes: {sizes}; ask for batches with "
            f"yield_single_examples=False"
        )
    return next(n for n in sizes.values() if n is not None)
