"""`tf.contrib.tpu.TPUEstimator` with `use_tpu=False`: an estimator that tells its functions the size of a batch.

Programs that run on a TPU or without one are written with it. Invariant: what needs a TPU is refused; the options that
only describe one, and that TensorFlow does not use without it either, are kept for the program to read.
"""

from __future__ import annotations

import copy
import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from tfnb.errors import InvalidArgumentError, refuse_given
from tfnb.session.session import Session
from tfnb.train.hooks.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook
from tfnb.train.saving.checkpoint_state import FilePath
from tfnb.train.saving.signatures import ExportOutput
from tfnb.train.sessions.coordinator import Coordinator
from tfnb.train.sessions.scaffold import Scaffold
from tfnb.v1.contrib.summary.writers import summary_writer_initializer_op, writer_flush_ops
from tfnb.v1.estimators.estimator import Estimator
from tfnb.v1.estimators.spec import EstimatorSpec, ModeKeys, RunConfig, checked_hooks
from tfnb.v1.estimators.warm_start import WarmStartSettings

__all__ = ["InputPipelineConfig", "TPUConfig", "TPUEstimator", "TPUEstimatorSpec", "TPURunConfig"]

_NO_TPU = "TPUs are machines of Google's cloud; with use_tpu=False the same program runs on OpenCL devices"
_RESERVED = ("batch_size", "context")
# A function and its arguments, as a list or by name.
HostCall = tuple[Callable[..., Any], Any]


class InputPipelineConfig:
    """The ways in which the batches of an input function are divided over TPUs."""

    PER_SHARD_V1 = 1
    PER_HOST_V1 = 2
    PER_HOST_V2 = 3
    BROADCAST = 4
    SLICED = 5


class _TPUFields(NamedTuple):
    iterations_per_loop: int | str = 2
    num_shards: int | None = None
    num_cores_per_replica: int | None = None
    per_host_input_for_training: int = InputPipelineConfig.PER_HOST_V1
    tpu_job_name: str | None = None
    initial_infeed_sleep_secs: int | None = None
    input_partition_dims: Any = None
    eval_training_input_configuration: int = InputPipelineConfig.PER_HOST_V1
    experimental_host_call_every_n_steps: int = 1


class TPUConfig(_TPUFields):
    """Describes the TPUs of a program, which reads the fields itself.

    iterations_per_loop: the number of steps that a TPU makes at once, or a time such as "60s"; here the loss is logged
    at multiples of it. Raises `InvalidArgumentError` for numbers below 1.
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> TPUConfig:
        """Takes the fields by position or by name; True and False for the inputs mean a host's or a shard's."""
        given = super().__new__(cls, *args, **kwargs)
        loop, shards = given.iterations_per_loop, given.num_shards
        valid = re.fullmatch(r"\d+[smh]", loop) if isinstance(loop, str) else int(loop) >= 1
        if not valid:
            raise InvalidArgumentError(f"TPUConfig: iterations_per_loop must be above 0, or a time, got {loop!r}")
        if shards is not None and shards < 1:
            raise InvalidArgumentError(f"TPUConfig: num_shards must be above 0, got {shards}")
        inputs: Any = given.per_host_input_for_training
        if isinstance(inputs, bool):
            kind = InputPipelineConfig.PER_HOST_V1 if inputs else InputPipelineConfig.PER_SHARD_V1
            return given._replace(per_host_input_for_training=kind)
        return given


class TPURunConfig(RunConfig):
    """`tf.contrib.tpu.RunConfig`: the configuration of an estimator and a `TPUConfig`.

    The other arguments are those of `tf.estimator.RunConfig`. Raises `InvalidArgumentError` for an address of a master
    or a cluster of TPUs.
    """

    def __init__(
        self,
        tpu_config: TPUConfig | None = None,
        evaluation_master: str | None = None,
        master: str | None = None,
        cluster: object = None,
        **options: Any,
    ) -> None:
        refuse_given(
            "RunConfig", _NO_TPU, evaluation_master=evaluation_master or None, master=master or None, cluster=cluster
        )
        object.__setattr__(self, "tpu_config", tpu_config or TPUConfig())
        super().__init__(**options)

    tpu_config: TPUConfig
    evaluation_master = master = ""
    cluster = None

    def replace(self, **changes: Any) -> RunConfig:
        """Returns a copy with some fields changed, among them `tpu_config`."""
        tpu_config = changes.pop("tpu_config", self.tpu_config)
        changed = super().replace(**changes)
        object.__setattr__(changed, "tpu_config", tpu_config)
        return changed


class _Fields(NamedTuple):
    mode: str
    predictions: Any = None
    loss: Any = None
    train_op: Any = None
    eval_metrics: HostCall | None = None
    export_outputs: Mapping[str, ExportOutput] | None = None
    scaffold_fn: Callable[[], Scaffold] | None = None
    host_call: HostCall | None = None
    training_hooks: Iterable[SessionRunHook] | None = None
    evaluation_hooks: Iterable[SessionRunHook] | None = None
    prediction_hooks: Iterable[SessionRunHook] | None = None


class TPUEstimatorSpec(_Fields):
    """The result of a model function for a `TPUEstimator`.

    As `EstimatorSpec`, but for: eval_metrics: a function and its arguments, a list or dict of tensors; it returns the
    dict of metrics. host_call: the same for tensors that are computed in each step. scaffold_fn: returns the scaffold.
    Raises `InvalidArgumentError` when such a pair is none, or has another number of arguments than its function.
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> TPUEstimatorSpec:
        """Takes the fields by position or by name, and checks them."""
        spec = super().__new__(cls, *args, **kwargs)
        for name in ("eval_metrics", "host_call"):
            _check_host_call(f"TPUEstimatorSpec: {name}", getattr(spec, name))
        return spec

    def as_estimator_spec(self) -> EstimatorSpec:
        """Returns the same as an `EstimatorSpec`; it calls the functions."""
        metrics = None if self.eval_metrics is None else _called(self.eval_metrics)
        more = [] if self.host_call is None else [_EachStep(_called(self.host_call))]
        hooks = {
            name: [*checked_hooks(getattr(self, name), f"TPUEstimatorSpec: {name}"), *more]
            for name in ("training_hooks", "evaluation_hooks", "prediction_hooks")
        }
        return EstimatorSpec(
            self.mode,
            self.predictions,
            self.loss,
            self.train_op,
            metrics,
            self.export_outputs,
            scaffold=self.scaffold_fn() if self.scaffold_fn else None,
            **hooks,
        )


def _check_host_call(name: str, call: object) -> None:
    if call is None:
        return
    if not isinstance(call, (tuple, list)) or len(call) != 2 or not callable(call[0]):
        raise InvalidArgumentError(f"{name} must be a function and its arguments, got {call!r}")
    if not isinstance(call[1], (tuple, list, dict)):
        raise InvalidArgumentError(f"{name}: the arguments must be a tuple, list or dict, got {call[1]!r}")
    kinds = [p.kind for p in inspect.signature(call[0]).parameters.values()]
    if isinstance(call[1], dict) or inspect.Parameter.VAR_POSITIONAL in kinds:
        return
    taken = sum(kind not in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD) for kind in kinds)
    if taken != len(call[1]):
        raise InvalidArgumentError(f"{name} has {len(call[1])} arguments, and its function takes {taken}")


def _called(call: HostCall) -> Any:
    function, tensors = call
    return function(**tensors) if isinstance(tensors, dict) else function(*tensors)


class _EachStep(SessionRunHook):
    """Computes tensors in each step. Writers of `tf.contrib.summary` have their files from the first step to the last.

    Invariant: the operations are those of the graph whose tensors it was given.
    """

    def __init__(self, tensors: Any) -> None:
        self._tensors = tensors
        self._openers, self._flushes = summary_writer_initializer_op(), writer_flush_ops()

    def after_create_session(self, session: Session, coord: Coordinator) -> None:
        """Opens the files of the writers in the new `session`; `coord` is not used."""
        session.run(self._openers)

    def end(self, session: Session) -> None:
        """Waits until all summaries are in the files."""
        session.run(self._flushes)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Adds the tensors to the fetches of the step."""
        return SessionRunArgs(self._tensors)


class TPUEstimator(Estimator):
    """An estimator whose functions find the size of a batch in `params["batch_size"]`.

    model_fn: returns a `TPUEstimatorSpec` or an `EstimatorSpec`, and, as each input function, takes `params`.
    train_batch_size, eval_batch_size, predict_batch_size: the sizes for the three modes; None sets none. config: a
    `tf.contrib.tpu.RunConfig`. eval_on_tpu, export_to_tpu, export_to_cpu, batch_axis say what happens on a TPU, and
    change nothing without one. Raises `InvalidArgumentError` for another config, for parameters with the reserved names
    "batch_size" and "context", and for `use_tpu=True`.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any],
        model_dir: str | None = None,
        config: TPURunConfig | None = None,
        params: object = None,
        use_tpu: bool = True,
        train_batch_size: int | None = None,
        eval_batch_size: int | None = None,
        predict_batch_size: int | None = None,
        batch_axis: object = None,
        eval_on_tpu: bool = True,
        export_to_tpu: bool = True,
        export_to_cpu: bool = True,
        warm_start_from: str | WarmStartSettings | None = None,
        embedding_config_spec: object = None,
        export_saved_model_api_version: object = None,
    ) -> None:
        del batch_axis, eval_on_tpu, export_to_tpu, export_saved_model_api_version
        refuse_given("TPUEstimator", _NO_TPU, use_tpu=bool(use_tpu), embedding_config_spec=embedding_config_spec)
        if not isinstance(config, TPURunConfig):
            raise InvalidArgumentError(f"TPUEstimator: config must be a tf.contrib.tpu.RunConfig, got {config!r}")
        if not export_to_cpu:
            raise InvalidArgumentError(f"TPUEstimator: export_to_cpu=False is not supported: {_NO_TPU}")
        given: Any = params or {}
        if any(name in given for name in _RESERVED):
            raise InvalidArgumentError(f"TPUEstimator: {_RESERVED} are reserved, got the params {params!r}")
        _check_takes_params("model_fn", model_fn)
        self._batch_sizes = {
            ModeKeys.TRAIN: train_batch_size,
            ModeKeys.EVAL: eval_batch_size,
            ModeKeys.PREDICT: predict_batch_size,
        }
        self._exports = False
        super().__init__(model_fn, model_dir, _logging_with_loops(config), given, warm_start_from)

    @contextmanager
    def _exporting(self) -> Iterator[None]:
        self._exports = True
        try:
            yield
        finally:
            self._exports = False

    def export_savedmodel(self, export_dir_base: FilePath, *args: Any, **kwargs: Any) -> bytes:
        """As `Estimator.export_savedmodel`; the model function gets no size of a batch."""
        with self._exporting():
            return super().export_savedmodel(export_dir_base, *args, **kwargs)

    export_saved_model = export_savedmodel

    def _with_known(self, function: Callable[..., Any], mode: str, **more: object) -> Callable[..., Any]:
        """Binds a copy of the parameters that has the size of a batch."""
        params = copy.deepcopy(self.params)
        size = None if self._exports else self._batch_sizes[mode]
        if function is self._model_fn:
            _set(params, "use_tpu", False)
        else:
            _check_takes_params("input_fn", function)
        if size is not None:
            _set(params, "batch_size", size)
        return super()._with_known(function, mode, **{**more, "params": params})

    def _checked(self, spec: object) -> EstimatorSpec:
        return super()._checked(spec.as_estimator_spec() if isinstance(spec, TPUEstimatorSpec) else spec)


def _check_takes_params(what: str, function: Callable[..., Any]) -> None:
    if "params" not in inspect.signature(function).parameters:
        raise InvalidArgumentError(
            f"TPUEstimator: {what} {function!r} must take `params`, which has the size of a batch as "
            f"params['batch_size']"
        )


def _set(params: Any, name: str, value: object) -> None:
    """Sets an entry of a dict, or a hyperparameter."""
    if not hasattr(params, "set_hparam"):
        params[name] = value
    elif name in params:
        params.set_hparam(name, value)
    else:
        params.add_hparam(name, value)


def _logging_with_loops(config: TPURunConfig) -> RunConfig:
    """Returns the config with the interval of log lines that is the nearest number of whole loops."""
    loop, interval = config.tpu_config.iterations_per_loop, config.log_step_count_steps
    if not interval or isinstance(loop, str):
        return config
    return config.replace(log_step_count_steps=math.ceil(interval / int(loop)))
