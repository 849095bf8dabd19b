"""What model functions of `tf.contrib.learn` take and return, and how estimators are configured.

Invariant: a `ModelFnOps` has the fields of an `EstimatorSpec`, into which it is turned.
"""

from __future__ import annotations

import copy
import enum
import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tfnb.errors import InvalidArgumentError, refuse_given
from tfnb.session.config import ConfigProto
from tfnb.train.saving.signatures import PredictOutput
from tfnb.v1.estimators.spec import EstimatorSpec
from tfnb.v1.estimators.spec import RunConfig as CoreRunConfig

__all__ = [
    "InputFnOps",
    "MetricSpec",
    "ModeKeys",
    "ModelFnOps",
    "PredictionKey",
    "ProblemType",
    "RunConfig",
    "TaskType",
]


class ModeKeys:
    """The purposes for which a model function builds a graph."""

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"

    @classmethod
    def validate(cls, key: str) -> None:
        """Raises `InvalidArgumentError` unless `key` is a mode."""
        if key not in (cls.TRAIN, cls.EVAL, cls.INFER):
            raise InvalidArgumentError(f"Invalid mode {key}.")


class PredictionKey:
    """The names of predictions of ready-made models."""

    CLASSES = "classes"
    PROBABILITIES = "probabilities"
    LOGITS = "logits"
    LOGISTIC = "logistic"
    SCORES = "scores"
    TOP_K = "top_k"
    GENERIC = "output"


class ProblemType(enum.Enum):
    """What a model predicts."""

    UNSPECIFIED = 0
    CLASSIFICATION = 1
    LINEAR_REGRESSION = 2
    LOGISTIC_REGRESSION = 3


class TaskType:
    """The kinds of tasks of a cluster."""

    MASTER = "master"
    PS = "ps"
    WORKER = "worker"


class InputFnOps(NamedTuple):
    """The inputs of an exported model: features, labels (None), and the placeholders by name."""

    features: Any
    labels: Any
    default_inputs: Mapping[str, Any]


class _Fields(NamedTuple):
    mode: str
    predictions: Any = None
    loss: Any = None
    train_op: Any = None
    eval_metric_ops: Any = None
    output_alternatives: Any = None
    training_chief_hooks: Any = None
    training_hooks: Any = None
    scaffold: Any = None


class ModelFnOps(_Fields):
    """The result of a model function of `tf.contrib.learn`.

    Training needs `loss` and `train_op`, evaluation `loss`, inference `predictions`. output_alternatives: a dict of
    name to (problem type, predictions), which become signatures of an exported model. Raises `InvalidArgumentError` for
    what lacks.
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> ModelFnOps:
        """Checks that the fields of the mode are there."""
        ops = super().__new__(cls, *args, **kwargs)
        ModeKeys.validate(ops.mode)
        needed = {ModeKeys.TRAIN: ("loss", "train_op"), ModeKeys.EVAL: ("loss",), ModeKeys.INFER: ("predictions",)}[
            ops.mode
        ]
        for name in needed:
            if getattr(ops, name) is None:
                raise InvalidArgumentError(f"Missing {name}.")
        return ops

    def spec(self) -> EstimatorSpec:
        """Returns the same as an EstimatorSpec."""
        outputs: dict[str, Any] | None = None
        if self.mode == ModeKeys.INFER:
            alternatives = self.output_alternatives or {None: (ProblemType.UNSPECIFIED, self.predictions)}
            outputs = {name or "serving_default": PredictOutput(values) for name, (_, values) in alternatives.items()}
        return EstimatorSpec(
            self.mode,
            self.predictions,
            self.loss,
            self.train_op,
            self.eval_metric_ops,
            outputs,
            self.training_chief_hooks,
            self.training_hooks,
            self.scaffold,
        )


class MetricSpec:
    """A metric, and what of predictions, labels and features it takes.

    metric_fn: takes predictions, labels and weights under names that begin so, and returns a metric. prediction_key,
    label_key, weight_key: choose an entry where there is a dict.
    """

    def __init__(
        self,
        metric_fn: Callable[..., Any],
        prediction_key: str | None = None,
        label_key: str | None = None,
        weight_key: str | None = None,
    ) -> None:
        self.metric_fn, self.prediction_key, self.label_key, self.weight_key = (
            metric_fn,
            prediction_key,
            label_key,
            weight_key,
        )

    def create_metric_ops(self, inputs: Any, labels: object, predictions: object) -> Any:
        """Returns the metric of the features `inputs`, `labels` and `predictions`.

        Raises `InvalidArgumentError` for a dict of several entries without a key.
        """
        made = _entry(predictions, self.prediction_key, "predictions")
        targets = _entry(labels, self.label_key, "labels")
        names = list(inspect.signature(self.metric_fn).parameters)
        given: dict[str, Any] = {}
        for kind, value in (("prediction", made), ("label", targets)):
            name = next((n for n in names if n.startswith(kind) or (kind == "label" and n.startswith("target"))), None)
            if name is None:
                return self.metric_fn(made, targets)
            given[name] = value
        if self.weight_key is not None:
            given["weights"] = inputs[self.weight_key]
        return self.metric_fn(**given)


def _entry(values: object, key: str | None, what: str) -> Any:
    if not isinstance(values, Mapping):
        return values
    if key is not None:
        return values[key]
    if len(values) != 1:
        raise InvalidArgumentError(
            f"MetricSpec without specified {what} key requires {what} tensor or single element dict, got "
            f"{sorted(values)}"
        )
    return next(iter(values.values()))


class RunConfig(CoreRunConfig):
    """The configuration of an estimator of `tf.contrib.learn`; see `tf.estimator.RunConfig`.

    gpu_memory_fraction: of a device that a process takes; devices here share memory, so only 1 is accepted. The rest,
    for clusters, is refused. Raises `InvalidArgumentError` for such values.
    """

    def __init__(
        self,
        master: str | None = None,
        num_cores: int = 0,
        log_device_placement: bool = False,
        gpu_memory_fraction: float = 1,
        tf_random_seed: int | None = None,
        save_summary_steps: int | None = 100,
        save_checkpoints_secs: float | None = 600,
        save_checkpoints_steps: int | None = None,
        keep_checkpoint_max: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000,
        log_step_count_steps: int | None = 100,
        protocol: str | None = None,
        evaluation_master: str = "",
        model_dir: str | None = None,
        session_config: ConfigProto | None = None,
        session_creation_timeout_secs: float = 7200,
    ) -> None:
        refuse_given(
            "RunConfig",
            "estimators run in one process",
            master=master or None,
            evaluation_master=evaluation_master or None,
            num_cores=num_cores or None,
        )
        if gpu_memory_fraction != 1:
            refuse_given(
                "RunConfig", "devices share the memory of the machine", gpu_memory_fraction=gpu_memory_fraction
            )
        if log_device_placement:
            session_config = session_config or ConfigProto(allow_soft_placement=True)
            session_config.log_device_placement = True
        super().__init__(
            model_dir=model_dir,
            tf_random_seed=tf_random_seed,
            save_summary_steps=save_summary_steps,
            session_config=session_config,
            save_checkpoints_steps=save_checkpoints_steps,
            save_checkpoints_secs=None if save_checkpoints_steps else save_checkpoints_secs,
            keep_checkpoint_max=keep_checkpoint_max,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            log_step_count_steps=log_step_count_steps,
            protocol=protocol,
            session_creation_timeout_secs=session_creation_timeout_secs,
        )

    is_chief, task_id, task_type, num_ps_replicas, num_worker_replicas, evaluation_master = True, 0, None, 0, 0, ""

    @property
    def tf_config(self) -> ConfigProto | None:
        """The ConfigProto of the sessions."""
        return self.session_config

    def replace(self, **changes: object) -> Any:
        """Returns a copy with some fields changed."""
        copied = copy.copy(self)
        for name, value in changes.items():
            object.__setattr__(copied, name, value)
        return copied
