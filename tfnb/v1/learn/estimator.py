"""`tf.contrib.learn.Estimator`: fits, evaluates and applies a model function, of arrays or of an input function.

It is the estimator of `tf.estimator` under the older methods. Invariant: an array is the single feature ""; batches of
a fit are in random order and without end, all others in order and once.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tfnb.client.graph import nest
from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.platform import tf_logging as logging
from tfnb.errors import InvalidArgumentError, UnimplementedError
from tfnb.ir.default import get_default_graph
from tfnb.ir.operation import Operation
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor
from tfnb.train.hooks.basic_hooks import FeedFnHook
from tfnb.v1.estimators.estimator import Estimator as CoreEstimator
from tfnb.v1.estimators.export import ServingInputReceiver, TensorServingInputReceiver
from tfnb.v1.estimators.inputs import numpy_input_fn
from tfnb.v1.estimators.spec import EstimatorSpec
from tfnb.v1.estimators.spec import RunConfig as CoreRunConfig
from tfnb.v1.learn.model_fn import MetricSpec, ModelFnOps, RunConfig
from tfnb.v1.learn.monitors import replace_monitors_with_hooks

__all__ = ["BaseEstimator", "Estimator", "Evaluable", "NotFittedError", "SKCompat", "Trainable"]


class NotFittedError(InvalidArgumentError, AttributeError):
    """An estimator is asked for values before it is fitted."""


class Evaluable:
    """What has `evaluate` and `model_dir`."""


class Trainable:
    """What has `fit`."""


def _input_fn(x: Any, y: Any, batch_size: int | None, training: bool) -> Callable[[], Any]:
    """Returns the batches of arrays. An array of one feature gets the model as it is, not as a dict."""
    first = next(iter(x.values())) if isinstance(x, Mapping) else x
    size = batch_size or (128 if training else len(first))
    return numpy_input_fn(x, y, size, None if training else 1, training)


class _Once:
    """An input function that remembers whether its data end by themselves; of others one batch is predicted.

    As in TensorFlow, they do where the graph has queue runners. So do those of a data set's iterator, of which
    TensorFlow predicts the first batch only, and those of a Python function, as which arrays are read here.
    """

    def __init__(self, input_fn: Callable[..., Any]) -> None:
        self._input_fn, self._graph, self._iterates = input_fn, get_default_graph(), True
        functools.update_wrapper(self, input_fn)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        self._graph = get_default_graph()
        made = self._input_fn(*args, **kwargs)
        parts = [t.values if isinstance(t, SparseTensor) else t for t in nest.flatten(made) if t is not None]
        tensors = [t for t in parts if isinstance(t, Tensor)]
        self._iterates = len(tensors) < len(parts) or _may_end([t.op for t in tensors])  # or a data set itself
        return made

    def of(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yields the batches of data that end, and the first of those that do not."""
        for batch in batches:
            yield batch
            if not (self._iterates or self._graph.get_collection(GraphKeys.QUEUE_RUNNERS)):
                return


def _may_end(operations: list[Operation]) -> bool:
    """Do these operations need an operation that says when data end, whoever has made it?"""
    seen: set[Operation] = set()
    while operations:
        op = operations.pop()
        if op.type in ("IteratorGetNext", "PyFunc"):
            return True
        if op not in seen:
            seen.add(op)
            operations += [t.op for t in op.inputs]
            operations += op.control_inputs
    return False


def _rows(batch: Any) -> Iterator[Any]:
    if not isinstance(batch, Mapping):
        yield from batch
        return
    for k in range(len(next(iter(batch.values())))):
        yield {key: values[k] for key, values in batch.items()}


class BaseEstimator(Evaluable, Trainable):
    """An estimator without a model function; see `Estimator`."""

    def __init__(self, model_dir: str | None = None, config: CoreRunConfig | None = None) -> None:
        self._core = CoreEstimator(self._spec, model_dir, self._config(config))

    @staticmethod
    def _config(config: CoreRunConfig | None) -> CoreRunConfig:
        return config if config is not None else RunConfig()

    def _spec(self, features: object, labels: object, mode: str, params: object, config: object) -> EstimatorSpec:
        raise UnimplementedError("BaseEstimator has no model function; use Estimator")

    @property
    def core(self) -> CoreEstimator:
        """The estimator of `tf.estimator` that does the work."""
        return self._core

    @property
    def model_dir(self) -> str:
        """The folder of checkpoints and event files."""
        return self._core.model_dir

    @property
    def config(self) -> Any:
        """The configuration."""
        return self._core.config

    @property
    def params(self) -> Any:
        """The parameters of the model function."""
        return self._core.params

    def fit(
        self,
        x: object = None,
        y: object = None,
        input_fn: Callable[..., Any] | None = None,
        steps: int | None = None,
        batch_size: int | None = None,
        monitors: Sequence[Any] | None = None,
        max_steps: int | None = None,
    ) -> Any:
        """Trains for `steps` steps, up to the step `max_steps`, or to the end of the data; returns the estimator.

        x, y: arrays of features and labels, of which batches of `batch_size` are taken; or input_fn, which returns
        (features, labels). monitors: monitors or hooks. Raises `InvalidArgumentError` for both or none of the data.
        """
        hooks = replace_monitors_with_hooks(monitors or (), self)
        self._core.train(self._data(x, y, input_fn, batch_size, True), hooks, steps, max_steps)
        return self

    def partial_fit(
        self,
        x: object = None,
        y: object = None,
        input_fn: Callable[..., Any] | None = None,
        steps: int | None = 1,
        batch_size: int | None = None,
        monitors: Sequence[Any] | None = None,
    ) -> Any:
        """Trains on one batch, or `steps` batches; see `fit`."""
        return self.fit(x, y, input_fn, steps, batch_size, monitors)

    def _data(
        self, x: object, y: object, input_fn: Callable[..., Any] | None, batch_size: int | None, training: bool
    ) -> Callable[..., Any]:
        if (x is None) == (input_fn is None):
            raise InvalidArgumentError("Either x or input_fn must be provided, and not both.")
        if input_fn is not None:
            if y is not None or batch_size is not None:
                raise InvalidArgumentError("y and batch_size belong to x; an input_fn gives labels and batches itself.")
            return input_fn
        return _input_fn(x, y, batch_size, training)

    def evaluate(
        self,
        x: object = None,
        y: object = None,
        input_fn: Callable[..., Any] | None = None,
        feed_fn: Callable[[], Any] | None = None,
        batch_size: int | None = None,
        steps: int | None = None,
        metrics: Mapping[Any, Any] | None = None,
        name: str | None = None,
        checkpoint_path: str | None = None,
        hooks: Sequence[Any] | None = None,
        log_progress: bool = True,
    ) -> dict[str, Any]:
        """Returns a dict of the metrics over `steps` batches, or over all data, with "loss" and "global_step".

        x, y, input_fn, batch_size: the data, as in `fit`. feed_fn: returns what is fed in each step. metrics: a dict of
        name to `MetricSpec`, or to a function (predictions, labels), beside those of the model. name: of the
        evaluation. checkpoint_path: by default the latest one. hooks: run around the steps. log_progress: whether the
        result is logged. Raises `NotFittedError` without a checkpoint.
        """
        self._needs(checkpoint_path)
        all_hooks = list(hooks or ()) + ([FeedFnHook(feed_fn)] if feed_fn is not None else [])
        core = self._core
        if metrics:
            core = self._with_metrics(metrics)
        found = core.evaluate(self._data(x, y, input_fn, batch_size, False), steps, all_hooks, checkpoint_path, name)
        if log_progress:
            logging.info("Evaluation %s: %s", name or "", ", ".join(f"{k} = {v}" for k, v in sorted(found.items())))
        return found

    def _with_metrics(self, wanted: Mapping[Any, Any]) -> CoreEstimator:
        def model_fn(features: object, labels: object, mode: str) -> EstimatorSpec:
            spec = self._core.spec_of(features, labels, mode)
            found = dict(spec.eval_metric_ops or {})
            for key, metric in wanted.items():
                name, prediction = key if isinstance(key, tuple) else (key, getattr(metric, "prediction_key", None))
                made = metric if isinstance(metric, MetricSpec) else MetricSpec(metric, prediction)
                found[name] = made.create_metric_ops(features, labels, spec.predictions)
            return spec._replace(eval_metric_ops=found)

        return CoreEstimator(model_fn, self._core.model_dir, self._core.config)

    def predict(
        self,
        x: object = None,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        outputs: Sequence[str] | None = None,
        as_iterable: bool = True,
        iterate_batches: bool = False,
    ) -> Any:
        """Returns the predictions: an iterator over examples, or an array (or a dict of arrays) of all.

        x, input_fn, batch_size: the data, as in `fit`. outputs: which predictions, by default all. as_iterable: an
        iterator or arrays. iterate_batches: whether the iterator is over batches. Raises `NotFittedError` without a
        checkpoint.
        """
        self._needs(None)
        data = _Once(self._data(x, None, input_fn, batch_size, False))
        batches = data.of(self._core.predict(data, outputs, yield_single_examples=False))
        if iterate_batches and as_iterable:
            return batches
        if as_iterable:
            return (row for batch in batches for row in _rows(batch))
        all_batches = list(batches)
        if isinstance(all_batches[0], Mapping):
            return {k: np.concatenate([b[k] for b in all_batches]) for k in all_batches[0]}
        return np.concatenate(all_batches)

    def _needs(self, checkpoint_path: str | None) -> None:
        if checkpoint_path is None and self._core.latest_checkpoint() is None:
            raise NotFittedError(f"Couldn't find trained model at {self.model_dir}.")

    def get_variable_names(self) -> list[str]:
        """Returns the names of the variables in the latest checkpoint."""
        return self._core.get_variable_names()

    def get_variable_value(self, name: str) -> np.ndarray:
        """Returns the value of the variable `name` in the latest checkpoint."""
        return self._core.get_variable_value(name)

    def export_savedmodel(
        self,
        export_dir_base: str,
        serving_input_fn: Callable[[], Any],
        default_output_alternative_key: str | None = None,
        assets_extra: Mapping[str, Any] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
        strip_default_attrs: bool = False,
    ) -> bytes:
        """Writes the model as a SavedModel to a new folder below `export_dir_base`, and returns its path.

        serving_input_fn: returns `InputFnOps`. default_output_alternative_key: the output that is the default. For the
        rest see `tf.estimator.Estimator.export_savedmodel`.
        """

        def receive() -> ServingInputReceiver:
            ops = serving_input_fn()
            kind = ServingInputReceiver if isinstance(ops.features, Mapping) else TensorServingInputReceiver
            return kind(ops.features, ops.default_inputs)

        core = self._core
        if default_output_alternative_key is not None:
            core = self._with_default(default_output_alternative_key)
        return core.export_savedmodel(
            export_dir_base, receive, assets_extra, as_text, checkpoint_path, strip_default_attrs
        )

    def _with_default(self, key: str) -> CoreEstimator:
        def model_fn(features: object, labels: object, mode: str) -> EstimatorSpec:
            spec = self._core.spec_of(features, labels, mode)
            outputs = dict(spec.export_outputs or {})
            if key not in outputs:
                raise InvalidArgumentError(f"there is no output {key!r}, only {sorted(outputs)}")
            return spec._replace(export_outputs={**outputs, "serving_default": outputs[key]})

        return CoreEstimator(model_fn, self._core.model_dir, self._core.config)


class Estimator(BaseEstimator):
    """Fits, evaluates and applies the model that `model_fn` builds.

    model_fn(features, labels, mode, params, config, model_dir) takes those that its parameters name; it returns
    `ModelFnOps`, or (predictions, loss, train_op). params: is passed to it. feature_engineering_fn: (features, labels)
    to those that the model gets.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any] | None = None,
        model_dir: str | None = None,
        config: CoreRunConfig | None = None,
        params: object = None,
        feature_engineering_fn: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        if model_fn is None or not callable(model_fn):
            raise InvalidArgumentError(f"Estimator: model_fn must be a function, got {model_fn!r}")
        self._model_fn, self._engineer = model_fn, feature_engineering_fn
        self._core = CoreEstimator(self._spec, model_dir, self._config(config), params)

    def _spec(self, features: object, labels: object, mode: str, params: object, config: object) -> EstimatorSpec:
        if self._engineer is not None:
            features, labels = self._engineer(features, labels)
        names = inspect.signature(self._model_fn).parameters
        known = {"mode": mode, "params": params, "config": config, "model_dir": self.model_dir}
        made = self._model_fn(features, labels, **{k: v for k, v in known.items() if k in names})
        if isinstance(made, EstimatorSpec):
            return made
        if isinstance(made, ModelFnOps):
            return made.spec()
        if not (isinstance(made, tuple) and len(made) == 3):
            raise InvalidArgumentError(f"model_fn must give ModelFnOps, or (predictions, loss, train_op), got {made!r}")
        return ModelFnOps(mode, *made).spec()


class SKCompat(BaseEstimator):
    """The estimator `estimator` with the methods of scikit-learn: arrays in, arrays out."""

    def __init__(self, estimator: BaseEstimator) -> None:
        self._estimator = estimator
        self._core = estimator.core

    def fit(  # type: ignore[override]
        self,
        x: object,
        y: object,
        batch_size: int = 128,
        steps: int | None = None,
        max_steps: int | None = None,
        monitors: Sequence[Any] | None = None,
    ) -> Any:
        """Trains on the arrays `x` and `y`; see `Estimator.fit`."""
        self._estimator.fit(x, y, None, steps, batch_size, monitors, max_steps)
        return self

    def score(
        self,
        x: object,
        y: object,
        batch_size: int = 128,
        steps: int | None = None,
        metrics: Mapping[Any, Any] | None = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """Returns the metrics on the arrays `x` and `y`; see `Estimator.evaluate`."""
        found = self._estimator.evaluate(x, y, batch_size=batch_size, steps=steps, metrics=metrics, name=name)
        return {k: v for k, v in found.items() if k != "global_step"}

    def predict(  # type: ignore[override]
        self, x: object, batch_size: int = 128, outputs: Sequence[str] | None = None
    ) -> Any:
        """Returns the predictions of the array `x` as arrays; see `Estimator.predict`."""
        return self._estimator.predict(x, None, batch_size, outputs, False)
