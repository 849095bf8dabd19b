"""`tf.estimator`: a model function, trained, evaluated and asked by steps that each build a graph of their own.

`model_fn(features, labels, mode, params, config)` gives an `EstimatorSpec`; what was learnt passes from one step to the
next through checkpoints in `model_dir`. Invariant: no graph or session outlives a call.
"""

from __future__ import annotations

import inspect
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tfnb.client.variables import global_variables_initializer, local_variables_initializer
from tfnb.errors import InvalidArgumentError, NotFoundError, OutOfRangeError
from tfnb.ir.builder import GraphBuilder
from tfnb.session.api import ConfigProto, Session
from tfnb.train.checkpoint_state import latest_checkpoint
from tfnb.train.coordinator import Coordinator
from tfnb.train.global_step import get_or_create_global_step
from tfnb.train.queue_runner import start_queue_runners
from tfnb.train.saver import Saver

__all__ = ["Estimator", "EstimatorSpec", "ModeKeys", "RunConfig"]


class ModeKeys:
    """What a model function is asked to build for."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"


class EstimatorSpec(NamedTuple):
    """What a model function gives: training needs `loss` and `train_op`, evaluation `loss`, prediction `predictions`.

    `eval_metric_ops`: name -> (value, update op), as `tf.metrics` makes them.
    """

    mode: str
    predictions: Any = None
    loss: Any = None
    train_op: Any = None
    eval_metric_ops: Mapping[str, Any] | None = None
    export_outputs: Any = None
    training_hooks: Any = ()
    scaffold: Any = None


@dataclass(frozen=True)
class RunConfig:
    """`model_dir`, the seed of each graph, the sessions' ConfigProto, and how many checkpoints are kept."""

    model_dir: str | None = None
    tf_random_seed: int | None = 1
    save_summary_steps: int = 100
    save_checkpoints_steps: int | None = None
    save_checkpoints_secs: int | None = None
    session_config: ConfigProto | None = None
    keep_checkpoint_max: int = 5

    def replace(self, **changes: Any) -> RunConfig:
        """A copy with some fields changed."""
        return replace(self, **changes)


class Estimator:
    """Trains, evaluates and asks what `model_fn` builds.

    `input_fn()` gives (features, labels), features alone, or a dataset of either; it ends the data by
    `OutOfRangeError`. Without `model_dir` the checkpoints go to a temporary folder.
    """

    def __init__(self, model_fn: Callable[..., EstimatorSpec], model_dir: str | None = None, config: Any = None,
                 params: Any = None) -> None:  # fmt: skip
        self._model_fn = model_fn
        self.config = config or RunConfig()
        self.model_dir = model_dir or self.config.model_dir or tempfile.mkdtemp(prefix="tfnb_model_")
        self.params = params

    def latest_checkpoint(self) -> str | None:
        """The path of the newest checkpoint, or None."""
        return latest_checkpoint(self.model_dir)

    def train(self, input_fn: Callable[..., Any], hooks: Any = None, steps: int | None = None,
              max_steps: int | None = None) -> Estimator:  # fmt: skip
        """Trains for `steps`, up to the global step `max_steps`, or to the end of the data."""
        with self._built(input_fn, ModeKeys.TRAIN, ("loss", "train_op")) as (spec, step, session, save):
            done = int(session.run(step))
            last = min(done + steps if steps else sys.maxsize, max_steps or sys.maxsize)
            try:
                while done < last:
                    session.run([spec.loss, spec.train_op])
                    done = int(session.run(step))
            except OutOfRangeError:
                pass
            save()
        return self

    def evaluate(self, input_fn: Callable[..., Any], steps: int | None = None, hooks: Any = None,
                 checkpoint_path: str | None = None, name: str | None = None) -> dict[str, Any]:  # fmt: skip
        """The metrics over `steps` batches or all data, the mean "loss" and the "global_step"."""
        with self._built(input_fn, ModeKeys.EVAL, ("loss",), checkpoint_path) as (spec, step, session, _):
            metrics = dict(spec.eval_metric_ops or {})
            seen: list[float] = []
            try:
                while steps is None or len(seen) < steps:
                    seen.append(float(session.run([spec.loss, [m[1] for m in metrics.values()]])[0]))
            except OutOfRangeError:
                pass
            found = session.run({k: m[0] for k, m in metrics.items()})
            return {**found, "loss": float(np.mean(seen)) if seen else 0.0, "global_step": int(session.run(step))}

    def predict(self, input_fn: Callable[..., Any], predict_keys: Sequence[str] | None = None, hooks: Any = None,
                checkpoint_path: str | None = None) -> Iterator[Any]:  # fmt: skip
        """The predictions, one example at a time."""
        with self._built(input_fn, ModeKeys.PREDICT, ("predictions",), checkpoint_path) as (spec, _, session, _save):
            wanted = spec.predictions
            if predict_keys is not None:
                wanted = {k: v for k, v in wanted.items() if k in predict_keys}
            while True:
                try:
                    batch = session.run(wanted)
                except OutOfRangeError:
                    return
                if not isinstance(batch, Mapping):
                    yield from batch
                    continue
                for k in range(len(next(iter(batch.values())))):
                    yield {key: rows[k] for key, rows in batch.items()}

    @contextmanager
    def _built(self, input_fn: Any, mode: str, needed: Sequence[str],
               checkpoint: str | None = None) -> Iterator[tuple[EstimatorSpec, Any, Session, Any]]:  # fmt: skip
        """The spec, the global step, a session with what was learnt, and a function that saves it."""
        path = checkpoint or self.latest_checkpoint()
        if mode != ModeKeys.TRAIN and path is None:
            raise NotFoundError(f"{self.model_dir} holds no trained model; call train first")
        with GraphBuilder().as_default() as graph:
            graph.seed = self.config.tf_random_seed
            step = get_or_create_global_step(graph)
            features, labels = _inputs(input_fn)
            spec = self._call(features, None if mode == ModeKeys.PREDICT else labels, mode)
            for part in needed:
                if getattr(spec, part) is None:
                    raise InvalidArgumentError(f"the EstimatorSpec for mode {mode!r} has no {part}")
            init = [global_variables_initializer(), local_variables_initializer()]
            saver = Saver(max_to_keep=self.config.keep_checkpoint_max)
            with Session(graph=graph, config=self.config.session_config) as session:
                session.run(init)
                if path is not None:
                    saver.restore(session, path)
                coordinator = Coordinator()
                threads = start_queue_runners(session, coordinator)
                try:
                    yield spec, step, session, lambda: self._save(saver, session, step)
                finally:
                    coordinator.request_stop()
                    coordinator.join(threads)

    def _save(self, saver: Any, session: Session, step: Any) -> None:
        Path(self.model_dir).mkdir(parents=True, exist_ok=True)
        saver.save(session, str(Path(self.model_dir) / "model.ckpt"), global_step=step)

    def _call(self, features: Any, labels: Any, mode: str) -> EstimatorSpec:
        """Calls the model function with those of labels, mode, params and config that it takes."""
        known = inspect.signature(self._model_fn).parameters
        given = {"labels": labels, "mode": mode, "params": self.params, "config": self.config}
        return self._model_fn(features, **{k: v for k, v in given.items() if k in known})


def _inputs(input_fn: Callable[..., Any]) -> tuple[Any, Any]:
    found = input_fn()
    if hasattr(found, "make_one_shot_iterator"):
        found = found.make_one_shot_iterator().get_next()
    if isinstance(found, tuple) and len(found) == 2:
        return found[0], found[1]
    return found, None
