"""Functions of `tf.contrib.learn` that run a graph without an estimator: run_n, run_feeds, infer, evaluate, train.

Invariant: each opens its own session, in which all variables are initialised or restored.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.graph.default_graph import get_collection
from tfnb.client.lookup.vocabularies import tables_initializer
from tfnb.client.platform import tf_logging as logging
from tfnb.client.variables.variable import variables_initializer
from tfnb.errors import InvalidArgumentError, OutOfRangeError, refuse_given
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.default import graph_of
from tfnb.ir.operation import Operation
from tfnb.ir.protos import proto
from tfnb.ir.tensor import Tensor
from tfnb.session.session import Session
from tfnb.summary.writer import FileWriter, FileWriterCache
from tfnb.train.hooks.basic_hooks import FeedFnHook, LoggingTensorHook, NanTensorHook, StopAtStepHook
from tfnb.train.input.queue_runner import start_queue_runners
from tfnb.train.optimizers.global_step import get_global_step, get_or_create_global_step
from tfnb.train.saving.saver import Saver
from tfnb.train.sessions.coordinator import Coordinator
from tfnb.train.sessions.monitored_session import MonitoredTrainingSession
from tfnb.train.sessions.scaffold import Scaffold
from tfnb.v1.argument_types import TensorOrVariable
from tfnb.v1.learn.monitors import replace_monitors_with_hooks

__all__ = [
    "clear_summary_writers",
    "evaluate",
    "get_summary_writer",
    "infer",
    "run_feeds",
    "run_feeds_iter",
    "run_n",
    "train",
]


def get_summary_writer(logdir: str) -> FileWriter:
    """Returns the writer of event files in the folder `logdir`, which all callers share."""
    return FileWriterCache.get(logdir)


def clear_summary_writers() -> None:
    """Closes all writers of `get_summary_writer`."""
    FileWriterCache.clear()


def run_feeds_iter(
    output_dict: Mapping[str, Any], feed_dicts: Iterable[Any], restore_checkpoint_path: str | None = None
) -> Iterator[dict[str, Any]]:
    """Yields the values of the tensors `output_dict` for each dict of `feed_dicts`.

    restore_checkpoint_path: a checkpoint of the variables, which else are initialised. Raises `InvalidArgumentError`
    without outputs.
    """
    if not output_dict:
        raise InvalidArgumentError(f"output_dict is invalid: {output_dict}.")
    graph = graph_of(list(output_dict.values()))
    with graph.as_default(), Session() as session:
        session.run([tables_initializer(), variables_initializer(get_collection(GraphKeys.LOCAL_VARIABLES))])
        if restore_checkpoint_path is None:
            session.run(variables_initializer(get_collection(GraphKeys.GLOBAL_VARIABLES)))
        else:
            Saver().restore(session, restore_checkpoint_path)
        coordinator = Coordinator()
        threads = start_queue_runners(session, coordinator)
        try:
            for feeds in feed_dicts:
                yield session.run(dict(output_dict), feeds)
        finally:
            coordinator.request_stop()
            coordinator.join(threads, stop_grace_period_secs=120)


def run_feeds(
    output_dict: Mapping[str, Any], feed_dicts: Iterable[Any], restore_checkpoint_path: str | None = None
) -> list[dict[str, Any]]:
    """Returns a list of what `run_feeds_iter` yields."""
    return list(run_feeds_iter(output_dict, feed_dicts, restore_checkpoint_path))


def run_n(
    output_dict: Mapping[str, Any],
    feed_dict: Mapping[Any, Any] | None = None,
    restore_checkpoint_path: str | None = None,
    n: int = 1,
) -> list[dict[str, Any]]:
    """Returns the values of the tensors `output_dict` in `n` steps with the feeds `feed_dict`; see `run_feeds_iter`."""
    return run_feeds(output_dict, itertools.repeat(feed_dict, n), restore_checkpoint_path)


def infer(
    restore_checkpoint_path: str | None, output_dict: Mapping[str, Any], feed_dict: Mapping[Any, Any] | None = None
) -> dict[str, Any]:
    """Returns the values of the tensors `output_dict` in a step with the feeds `feed_dict`; see `run_feeds_iter`."""
    return run_n(output_dict, feed_dict, restore_checkpoint_path)[0]


def evaluate(
    graph: GraphBuilder,
    output_dir: str | None,
    checkpoint_path: str | None,
    eval_dict: Mapping[str, Any],
    update_op: object = None,
    global_step_tensor: TensorOrVariable | None = None,
    supervisor_master: str = "",
    log_every_steps: int = 10,
    feed_fn: Callable[[], Any] | None = None,
    max_steps: int | None = None,
) -> tuple[dict[str, Any] | None, int]:
    """Returns (values of `eval_dict`, global step) after at most `max_steps` steps that run `update_op`.

    graph: of the tensors. output_dir: where the values are written as a summary, None for nowhere. checkpoint_path: of
    the variables, None initialises them. global_step_tensor: by default that of the graph. log_every_steps: how often
    the number of the step is logged. feed_fn: returns what is fed. Raises `InvalidArgumentError` for a
    supervisor_master.
    """
    refuse_given("evaluate", "it runs in one process", supervisor_master=supervisor_master or None)
    with graph.as_default(), Session(graph=graph) as session:
        step_tensor = global_step_tensor if global_step_tensor is not None else get_global_step()
        session.run([tables_initializer(), variables_initializer(get_collection(GraphKeys.LOCAL_VARIABLES))])
        if checkpoint_path is None:
            session.run(variables_initializer(get_collection(GraphKeys.GLOBAL_VARIABLES)))
        else:
            Saver().restore(session, checkpoint_path)
        coordinator = Coordinator()
        threads = start_queue_runners(session, coordinator)
        step = int(session.run(step_tensor)) if step_tensor is not None else 0
        done = 0
        try:
            while update_op is not None and (max_steps is None or done < max_steps) and not coordinator.should_stop():
                session.run(update_op, feed_fn() if feed_fn is not None else None)
                done += 1
                if done % log_every_steps == 0:
                    logging.info("Results after %d steps.", done)
        except OutOfRangeError:
            logging.info("Input queue is exhausted.")
        values = session.run(dict(eval_dict), feed_fn() if feed_fn is not None else None)
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=120)
    if output_dir is not None:
        write_scalars(output_dir, values, step)
    return values, step


def write_scalars(folder: str, values: Mapping[str, Any], step: int) -> None:
    """Writes the numbers among `values` as a summary of the `step` to event files in `folder`."""
    summary = proto("summary").Summary()
    for tag, value in values.items():
        if np.ndim(value) == 0 and np.issubdtype(np.asarray(value).dtype, np.number):
            summary.value.add(tag=tag, simple_value=float(value))
    writer = FileWriterCache.get(folder)
    writer.add_summary(summary, step)
    writer.flush()


def train(
    graph: GraphBuilder,
    output_dir: str,
    train_op: object,
    loss_op: Tensor,
    global_step_tensor: Any = None,
    init_op: Operation | None = None,
    init_feed_dict: Mapping[Any, Any] | None = None,
    init_fn: Callable[..., Any] | None = None,
    log_every_steps: int = 10,
    supervisor_is_chief: bool = True,
    supervisor_master: str = "",
    supervisor_save_model_secs: float | None = 600,
    keep_checkpoint_max: int = 5,
    supervisor_save_summaries_steps: int | None = 100,
    feed_fn: Callable[[], Any] | None = None,
    steps: int | None = None,
    fail_on_nan_loss: bool = True,
    monitors: Sequence[Any] | None = None,
    max_steps: int | None = None,
) -> Any:
    """Runs `train_op` for `steps` steps, up to the step `max_steps`, or to the end of the data; returns the loss.

    graph: of the tensors. output_dir: of checkpoints and summaries, from whose latest checkpoint it continues.
    init_op, init_feed_dict, init_fn: initialise what no checkpoint has. log_every_steps: how often the loss is logged.
    supervisor_save_model_secs, keep_checkpoint_max, supervisor_save_summaries_steps: as in a RunConfig. feed_fn:
    returns what is fed. fail_on_nan_loss: whether a loss that is NaN is an error. monitors: monitors and hooks. Raises
    `InvalidArgumentError` for a master, for both steps and max_steps, and for a global step other than the graph's.
    """
    refuse_given(
        "train",
        "it runs in one process",
        supervisor_master=supervisor_master or None,
        not_the_chief=not supervisor_is_chief,
    )
    if steps is not None and max_steps is not None:
        raise InvalidArgumentError("Can not provide both steps and max_steps.")
    with graph.as_default():
        step = get_or_create_global_step() if global_step_tensor is None else global_step_tensor
        hooks = replace_monitors_with_hooks(monitors or (), _Folder(output_dir))
        hooks.append(NanTensorHook(loss_op, fail_on_nan_loss))
        hooks.append(LoggingTensorHook({"loss": loss_op, "step": step}, every_n_iter=log_every_steps))
        if steps is not None or max_steps is not None:
            hooks.append(StopAtStepHook(steps, max_steps))
        if feed_fn is not None:
            hooks.append(FeedFnHook(feed_fn))
        start = None if init_fn is None else (lambda scaffold, session: init_fn(session))
        scaffold = Scaffold(
            init_op=init_op,
            init_feed_dict=init_feed_dict,
            init_fn=start,
            saver=Saver(max_to_keep=keep_checkpoint_max, defer_build=True, allow_empty=True),
        )
        loss = None
        with MonitoredTrainingSession(
            checkpoint_dir=output_dir,
            scaffold=scaffold,
            hooks=hooks,
            save_checkpoint_secs=supervisor_save_model_secs,
            save_summaries_steps=supervisor_save_summaries_steps,
            save_summaries_secs=None,
        ) as session:
            while not session.should_stop():
                _, loss = session.run([train_op, loss_op])
    return loss


class _Folder:
    """What monitors know of a training without an estimator."""

    def __init__(self, model_dir: str) -> None:
        self.model_dir = model_dir
