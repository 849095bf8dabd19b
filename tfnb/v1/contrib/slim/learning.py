"""`tf.contrib.slim.learning.train`: a training loop with a supervisor, which saves checkpoints and summaries.

Invariant: at the end, also that of the input, the model is saved in `logdir`; steps count in the global step.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tfnb.client.argument_types import FilePath
from tfnb.client.graph.default_graph import name_scope
from tfnb.client.logging.summaries import merge_all
from tfnb.client.lookup.vocabularies import tables_initializer
from tfnb.client.platform import tf_logging
from tfnb.client.platform.gfile import GFile
from tfnb.client.variables.variable import (
    global_variables_initializer,
    group,
    local_variables_initializer,
    report_uninitialized_variables,
)
from tfnb.errors import AbortedError, InvalidArgumentError, OutOfRangeError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.default import get_default_graph
from tfnb.ops.array.concat import concat
from tfnb.ops.array.constants import convert_to_tensor
from tfnb.ops.math.compare import EQUAL, GREATER_EQUAL
from tfnb.session.api import ConfigProto, RunMetadata, RunOptions, Timeline
from tfnb.session.session import Session
from tfnb.train.optimizers.global_step import get_or_create_global_step
from tfnb.train.optimizers.global_step import global_step as global_step_value
from tfnb.train.optimizers.sync_replicas import SyncReplicasOptimizer
from tfnb.train.saving.saver import Saver
from tfnb.train.sessions.supervisor import Supervisor
from tfnb.v1.argument_types import TensorOrVariable

__all__ = ["train", "train_step"]

_USE_DEFAULT = 0


def train_step(
    sess: Session, train_op: object, global_step: TensorOrVariable, train_step_kwargs: Mapping[str, Any]
) -> tuple[Any, Any]:
    """Runs one step and returns (the loss, whether to stop).

    train_step_kwargs: tensors "should_stop", "should_log" and "should_trace", with "logdir" for traces; each may lack.
    Raises `InvalidArgumentError` for "should_trace" without "logdir".
    """
    began = time.time()
    options = metadata = None
    if "should_trace" in train_step_kwargs:
        if "logdir" not in train_step_kwargs:
            raise InvalidArgumentError("train_step: should_trace needs logdir in train_step_kwargs")
        if sess.run(train_step_kwargs["should_trace"]):
            options, metadata = RunOptions(trace_level=RunOptions.FULL_TRACE), RunMetadata()
    loss, step = sess.run([train_op, global_step], options=options, run_metadata=metadata)
    seconds = time.time() - began
    if metadata is not None:
        _write_trace(metadata, step, train_step_kwargs)
    if "should_log" in train_step_kwargs and sess.run(train_step_kwargs["should_log"]):
        tf_logging.info("global step %d: loss = %.4f (%.3f sec/step)", step, loss, seconds)
    should_stop = sess.run(train_step_kwargs["should_stop"]) if "should_stop" in train_step_kwargs else False
    return loss, should_stop


def _write_trace(metadata: RunMetadata, step: object, kwargs: Mapping[str, Any]) -> None:
    path = os.path.join(os.fsdecode(kwargs["logdir"]), f"tf_trace-{step}.json")
    tf_logging.info("Writing trace to %s", path)
    with GFile(path, "w") as file:
        file.write(Timeline(metadata.step_stats).generate_chrome_trace_format())
    if kwargs.get("summary_writer") is not None:
        kwargs["summary_writer"].add_run_metadata(metadata, f"run_metadata-{step}")


@dataclass
class _Parts:
    """The operations of a training: those given, or those that the graph's collections give."""

    init_op: Any
    local_init_op: Any
    ready_op: Any
    ready_for_local_init_op: Any
    summary_op: Any


def train(
    train_op: object,
    logdir: FilePath | None,
    train_step_fn: Callable[..., tuple[Any, Any]] = train_step,
    train_step_kwargs: Any = _USE_DEFAULT,
    log_every_n_steps: int = 1,
    graph: GraphBuilder | None = None,
    master: str = "",
    is_chief: bool = True,
    global_step: TensorOrVariable | None = None,
    number_of_steps: int | None = None,
    init_op: object = _USE_DEFAULT,
    init_feed_dict: Mapping[Any, Any] | None = None,
    local_init_op: object = _USE_DEFAULT,
    init_fn: Callable[[Any], Any] | None = None,
    ready_op: object = _USE_DEFAULT,
    summary_op: object = _USE_DEFAULT,
    save_summaries_secs: float = 600,
    summary_writer: Any = _USE_DEFAULT,
    startup_delay_steps: int = 0,
    saver: Saver | None = None,
    save_interval_secs: float = 600,
    sync_optimizer: Any = None,
    session_config: ConfigProto | None = None,
    session_wrapper: Callable[[Any], Any] | None = None,
    trace_every_n_steps: int | None = None,
    ignore_live_threads: bool = False,
) -> Any:
    """Runs `train_op`, a tensor of the loss, until `number_of_steps` or the end of the input; returns the last loss.

    logdir: the folder of checkpoints and summaries; the latest checkpoint there is restored, and None saves nothing.
    train_step_fn: the function of a step, with `train_step_kwargs`, see `train_step`. log_every_n_steps,
    trace_every_n_steps: how often the loss is logged, a trace written. graph, master, is_chief, init_op, local_init_op,
    ready_op, init_fn, summary_op, saver: as those of `tf.train.Supervisor`. startup_delay_steps: a worker that is not
    the chief waits for that step. sync_optimizer: a `SyncReplicasOptimizer`, or a list of them. session_wrapper: a
    function that wraps the session. Raises `InvalidArgumentError` for arguments that contradict each other.
    """
    sync = [sync_optimizer] if isinstance(sync_optimizer, SyncReplicasOptimizer) else sync_optimizer
    _check(train_op, logdir, summary_op, saver, trace_every_n_steps, sync, startup_delay_steps, number_of_steps)
    graph = graph or get_default_graph()
    with graph.as_default():
        step = get_or_create_global_step() if global_step is None else global_step
        saver = saver or Saver()
        parts = _Parts(init_op, local_init_op, ready_op, Supervisor.USE_DEFAULT, summary_op)
        tokens, runners = _prepare(parts, sync, is_chief)
        kwargs = train_step_kwargs
        if kwargs is _USE_DEFAULT:
            trace = trace_every_n_steps if is_chief else None
            kwargs = _step_kwargs(step, number_of_steps, log_every_n_steps, trace, logdir)
    supervisor = Supervisor(
        graph=graph,
        is_chief=is_chief,
        logdir=logdir,
        init_feed_dict=init_feed_dict,
        init_fn=init_fn,
        summary_writer=summary_writer,
        global_step=step,
        saver=saver,
        save_summaries_secs=save_summaries_secs,
        save_model_secs=save_interval_secs,
        **vars(parts),
    )
    if summary_writer is not None:
        kwargs["summary_writer"] = supervisor.summary_writer

    def steps(sess: Session) -> Any:
        loss, waits = None, min(startup_delay_steps, number_of_steps or sys.maxsize)
        if not is_chief and startup_delay_steps > 0:
            while global_step_value(sess, step) < waits:
                time.sleep(0.1)
        if is_chief and logdir:
            supervisor.start_standard_services(sess)
        threads = supervisor.start_queue_runners(sess)
        if is_chief and sync is not None:
            supervisor.start_queue_runners(sess, runners)
            sess.run(tokens)
        try:
            while not supervisor.should_stop():
                loss, should_stop = train_step_fn(sess, train_op, step, kwargs)
                if should_stop:
                    tf_logging.info("Stopping Training.")
                    supervisor.request_stop()
        except OutOfRangeError as e:
            tf_logging.info("Caught OutOfRangeError. Stopping Training. %s", e)
        if logdir and is_chief:
            tf_logging.info("Finished training! Saving model to disk.")
            supervisor.saver.save(sess, supervisor.save_path, global_step=supervisor.global_step)
            supervisor.stop(threads, close_summary_writer=False, ignore_live_threads=ignore_live_threads)
        return loss

    while True:
        try:
            with supervisor.managed_session(master, session_config, start_standard_services=False) as sess:
                tf_logging.info("Starting Session.")
                return steps(sess if session_wrapper is None else session_wrapper(sess))
        except AbortedError:
            tf_logging.info("Retrying training!")


def _check(
    train_op: object,
    logdir: FilePath | None,
    summary_op: object,
    saver: Saver | None,
    trace_every_n_steps: int | None,
    sync: Iterable[object] | None,
    startup_delay_steps: int,
    number_of_steps: int | None,
) -> None:
    if train_op is None:
        raise InvalidArgumentError("train: train_op cannot be None")
    given = {"summary_op": summary_op is not _USE_DEFAULT and summary_op is not None, "saver": saver is not None}
    given["trace_every_n_steps"] = trace_every_n_steps is not None
    if logdir is None and any(given.values()):
        raise InvalidArgumentError(f"Cannot provide {[k for k, v in given.items() if v]} because logdir=None")
    if sync is not None and startup_delay_steps > 0:
        raise InvalidArgumentError("startup_delay_steps must be zero when sync_optimizer is supplied")
    for one in sync or ():
        if not isinstance(one, SyncReplicasOptimizer):
            raise InvalidArgumentError(f"sync_optimizer must be a tf.train.SyncReplicasOptimizer, got {one!r}")
    if number_of_steps is not None and number_of_steps <= 0:
        raise InvalidArgumentError(f"number_of_steps must be None or positive, got {number_of_steps}")


def _prepare(parts: _Parts, sync: Sequence[Any] | None, is_chief: bool) -> tuple[list[Any], list[Any]]:
    """Replaces the defaults in `parts`, and returns what the chief of a synchronous training runs first."""
    with name_scope("init_ops"):
        if parts.init_op is _USE_DEFAULT:
            parts.init_op = global_variables_initializer()
        if parts.ready_op is _USE_DEFAULT:
            parts.ready_op = report_uninitialized_variables()
        if parts.local_init_op is _USE_DEFAULT:
            parts.local_init_op = group(local_variables_initializer(), tables_initializer())
        if sync is not None:
            with get_default_graph().control_dependencies([] if parts.local_init_op is None else [parts.local_init_op]):
                firsts = [o.chief_init_op if is_chief else o.local_step_init_op for o in sync]
                parts.local_init_op = group(*firsts)
            parts.ready_for_local_init_op = (
                sync[0].ready_for_local_init_op
                if len(sync) == 1
                else concat([o.ready_for_local_init_op for o in sync], 0)
            )
    if parts.summary_op is _USE_DEFAULT:
        parts.summary_op = merge_all()
    if sync is None or not is_chief:
        return [], []
    return [o.get_init_tokens_op() for o in sync], [o.get_chief_queue_runner() for o in sync]


def _step_kwargs(
    step: TensorOrVariable,
    number_of_steps: int | None,
    log_every: int,
    trace_every: int | None,
    logdir: FilePath | None,
) -> dict[str, Any]:
    with name_scope("train_step"):
        value = convert_to_tensor(step)
        kwargs: dict[str, Any] = {
            "should_stop": GREATER_EQUAL(value, number_of_steps) if number_of_steps else convert_to_tensor(False)
        }
        if log_every > 0:
            kwargs["should_log"] = EQUAL(value % log_every, 0)
        if trace_every is not None:
            kwargs |= {"should_trace": EQUAL(value % trace_every, 0), "logdir": logdir}
        return kwargs
