"""The result of a model function, and the configuration of an estimator (`EstimatorSpec`, `RunConfig`, `ModeKeys`).

Invariant: `estimator.py` or `export.py` in this folder uses every field; a value of the wrong class is an error when
the object is created, not after a long training.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from tfnb.errors import InvalidArgumentError, refuse_given
from tfnb.session.api import ConfigProto
from tfnb.train.hooks.session_run_hook import SessionRunHook
from tfnb.train.saving.signatures import ExportOutput
from tfnb.train.sessions.scaffold import Scaffold

__all__ = ["EstimatorSpec", "ModeKeys", "RunConfig", "checked_hooks"]

_DEFAULT_SAVE_SECS = 600
_NOT_GIVEN: Any = object()


class ModeKeys:
    """The purposes for which a model function builds a graph."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"


def checked_hooks(hooks: Iterable[SessionRunHook] | None, name: str) -> list[SessionRunHook]:
    """Returns the hooks as a list. Raises `InvalidArgumentError` for an object that is not a `SessionRunHook`."""
    checked = list(hooks or ())
    for hook in checked:
        if not isinstance(hook, SessionRunHook):
            raise InvalidArgumentError(f"{name} must be tf.train.SessionRunHook objects, got {hook!r}")
    return checked


_HOOKS = ("training_chief_hooks", "training_hooks", "evaluation_hooks", "prediction_hooks")


class _Fields(NamedTuple):
    mode: str
    predictions: Any = None
    loss: Any = None
    train_op: Any = None
    eval_metric_ops: Mapping[str, Any] | None = None
    export_outputs: Mapping[str, ExportOutput] | None = None
    training_chief_hooks: Iterable[SessionRunHook] | None = None
    training_hooks: Iterable[SessionRunHook] | None = None
    scaffold: Scaffold | None = None
    evaluation_hooks: Iterable[SessionRunHook] | None = None
    prediction_hooks: Iterable[SessionRunHook] | None = None


class EstimatorSpec(_Fields):
    """The result of a model function.

    Training needs `loss` and `train_op`, evaluation `loss`, prediction `predictions`. eval_metric_ops: a dict of name
    to (value, update op), as `tf.metrics` returns them. export_outputs: a dict of name to an output of
    `tf.estimator.export`, which becomes a signature of an exported model. training_hooks, training_chief_hooks,
    evaluation_hooks, prediction_hooks: run around the steps of their mode. scaffold: has the initialization, the
    summaries and the saver of the session. What is not given is empty, and the scaffold a new one. Raises
    `InvalidArgumentError` for values of other classes.
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> EstimatorSpec:
        """Takes the fields by position or by name, and checks their classes."""
        spec = super().__new__(cls, *args, **kwargs)
        modes = (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT)
        if spec.mode not in modes:
            raise InvalidArgumentError(f"EstimatorSpec: the mode {spec.mode!r}; needed one of {', '.join(modes)}")
        for name in _HOOKS:
            checked_hooks(getattr(spec, name), f"EstimatorSpec: {name}")
        if spec.scaffold is not None and not isinstance(spec.scaffold, Scaffold):
            raise InvalidArgumentError(f"EstimatorSpec: scaffold must be a tf.train.Scaffold, got {spec.scaffold!r}")
        for name, output in (spec.export_outputs or {}).items():
            if not isinstance(output, ExportOutput):
                raise InvalidArgumentError(
                    f"EstimatorSpec: export_outputs[{name!r}] must be a PredictOutput, ClassificationOutput or "
                    f"RegressionOutput of tf.estimator.export, got {output!r}"
                )
        hooks: dict[str, Any] = {n: tuple(getattr(spec, n) or ()) for n in _HOOKS}
        return spec._replace(eval_metric_ops=spec.eval_metric_ops or {}, scaffold=spec.scaffold or Scaffold(), **hooks)


@dataclass(frozen=True)
class RunConfig:
    """The configuration of an estimator.

    model_dir: the folder of checkpoints and event files. tf_random_seed: the seed of each graph. session_config: the
    ConfigProto of the sessions, by default one with `allow_soft_placement`. save_summary_steps: the number of steps
    between summaries; 0 or None saves none. save_checkpoints_steps, save_checkpoints_secs: the interval between
    checkpoints, by default 600 seconds; at most one of the two is given, and None for both saves no checkpoint.
    keep_checkpoint_max, keep_checkpoint_every_n_hours: as in `tf.train.Saver`. log_step_count_steps: the number of
    steps between log lines with loss and speed; None logs nothing. device_fn: chooses the device of each operation.
    train_distribute, eval_distribute: strategies of `tf.distribute` for training and evaluation, of which each replica
    gets a batch of its own. The rest is for models on several workers, and is refused. Raises `InvalidArgumentError`
    for negative numbers, or when both intervals are given.
    """

    model_dir: str | None = None
    tf_random_seed: int | None = 1
    save_summary_steps: int | None = 100
    save_checkpoints_steps: int | None = _NOT_GIVEN
    save_checkpoints_secs: float | None = _NOT_GIVEN
    session_config: ConfigProto | None = None
    keep_checkpoint_max: int | None = 5
    keep_checkpoint_every_n_hours: float = 10000
    log_step_count_steps: int | None = 100
    device_fn: Callable[[Any], str] | None = None
    train_distribute: Any = None
    protocol: str | None = None
    eval_distribute: Any = None
    experimental_distribute: Any = None
    experimental_max_worker_delay_secs: float | None = None
    session_creation_timeout_secs: float = 7200

    def __post_init__(self) -> None:
        distributed = ("protocol",)
        refuse_given(
            "RunConfig",
            "estimators run in one process",
            **{name: getattr(self, name) for name in (*distributed, "experimental_max_worker_delay_secs")},
        )
        steps, secs = self.save_checkpoints_steps, self.save_checkpoints_secs
        if steps is _NOT_GIVEN:
            object.__setattr__(self, "save_checkpoints_steps", None)
        if secs is _NOT_GIVEN:
            object.__setattr__(self, "save_checkpoints_secs", _DEFAULT_SAVE_SECS if steps is _NOT_GIVEN else None)
        if self.save_checkpoints_steps is not None and self.save_checkpoints_secs is not None:
            raise InvalidArgumentError(
                f"RunConfig: save_checkpoints_steps={steps} and save_checkpoints_secs={secs} are both given; needed "
                f"at most one of them"
            )
        for name in ("save_checkpoints_steps", "save_checkpoints_secs", "save_summary_steps", "keep_checkpoint_max"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise InvalidArgumentError(f"RunConfig: {name} must be at least 0, got {value}")

    def replace(self, **changes: Any) -> RunConfig:
        """Returns a copy with some fields changed. One kind of interval between checkpoints replaces the other."""
        intervals = ("save_checkpoints_steps", "save_checkpoints_secs")
        for name, other_interval in (intervals, intervals[::-1]):
            if changes.get(name) is not None:
                changes.setdefault(other_interval, None)
        return replace(self, **changes)
