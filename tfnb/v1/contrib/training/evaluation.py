"""Evaluation of checkpoints, once or each new one of a folder: `tf.contrib.training`.

Invariant: an evaluation counts its steps in the local variable `eval_step`, which begins at 0 for each checkpoint.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tfnb.client.argument_types import FilePath
from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.graph.nest import flatten
from tfnb.client.logging.summaries import merge_all
from tfnb.client.platform import tf_logging
from tfnb.client.variables.initializers import Zeros
from tfnb.client.variables.scope import get_variable
from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.tensor import Tensor
from tfnb.ops.array.shape_ops import IDENTITY
from tfnb.session.api import ConfigProto
from tfnb.session.session import Session
from tfnb.summary.writer import FileWriterCache
from tfnb.train.hooks.basic_hooks import FinalOpsHook
from tfnb.train.hooks.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues
from tfnb.train.optimizers.global_step import get_or_create_global_step, global_step
from tfnb.train.saving.checkpoint_state import latest_checkpoint
from tfnb.train.sessions.monitored_session import MonitoredSession
from tfnb.train.sessions.scaffold import ChiefSessionCreator, Scaffold
from tfnb.types import int64

__all__ = ["StopAfterNEvalsHook", "SummaryAtEndHook", "checkpoints_iterator", "evaluate_once", "evaluate_repeatedly"]


def get_or_create_eval_step() -> Any:
    """Returns the counter of evaluation steps, an int64 variable of the collections EVAL_STEP and LOCAL_VARIABLES.

    Raises `InvalidArgumentError` when the graph has several.
    """
    found = get_default_graph().get_collection(GraphKeys.EVAL_STEP)
    if len(found) > 1:
        raise InvalidArgumentError(f"the collection EVAL_STEP has {len(found)} counters")
    if found:
        return found[0]
    keys = [GraphKeys.LOCAL_VARIABLES, GraphKeys.EVAL_STEP]
    return get_variable("eval_step", [], int64, Zeros(int64), trainable=False, collections=keys)


class StopAfterNEvalsHook(SessionRunHook):
    """Stops after `num_evals` steps of an evaluation, None for the end of the input; `log_progress` logs the steps."""

    def __init__(self, num_evals: int | None, log_progress: bool = True) -> None:
        self._num_evals, self._logs = num_evals, log_progress
        self._every = 1 if num_evals is None or num_evals < 20 else num_evals // 10
        self._done: Any = None

    def count_by(self, updated_eval_step: Tensor) -> None:
        """Makes the tensor `updated_eval_step` the number of steps that are done."""
        self._done = updated_eval_step

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs({"evals_completed": self._done})

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        done, wanted = int(run_values.results["evals_completed"]), self._num_evals
        if self._logs and (wanted is None or done % self._every == 0 or done == wanted):
            tf_logging.info("Evaluation [%d%s]", done, "" if wanted is None else f"/{wanted}")
        if wanted is not None and done >= wanted:
            run_context.request_stop()


class SummaryAtEndHook(SessionRunHook):
    """Writes a summary when a session ends: `summary_op`, by default all, to `summary_writer` or `log_dir`."""

    def __init__(
        self,
        log_dir: FilePath | None = None,
        summary_writer: Any = None,
        summary_op: object = None,
        feed_dict: Mapping[Any, Any] | None = None,
    ) -> None:
        if log_dir is None and summary_writer is None:
            raise InvalidArgumentError("SummaryAtEndHook needs log_dir or summary_writer")
        self._given, self._op, self._feeds = summary_op, summary_op, feed_dict
        self._writer, self._dir = summary_writer, log_dir

    def begin(self) -> None:
        self._op = merge_all() if self._given is None else self._given
        self._step = get_or_create_global_step()

    def after_create_session(self, session: Session, coord: object) -> None:
        if self._writer is None and self._dir is not None:
            self._writer = FileWriterCache.get(self._dir)

    def end(self, session: Session) -> None:
        if self._op is not None:
            step = global_step(session, self._step)
            self._writer.add_summary(session.run(self._op, self._feeds), step)
        self._writer.flush()


def wait_for_new_checkpoint(
    checkpoint_dir: FilePath,
    last_checkpoint: str | None = None,
    seconds_to_sleep: float = 1,
    timeout: float | None = None,
) -> str | None:
    """Returns the latest checkpoint of a folder as soon as it is another than `last_checkpoint`.

    timeout: the seconds after which None is returned; None waits without end.
    """
    tf_logging.info("Waiting for new checkpoint at %s", checkpoint_dir)
    end = None if timeout is None else time.time() + timeout
    while True:
        path = latest_checkpoint(checkpoint_dir)
        if path is not None and path != last_checkpoint:
            tf_logging.info("Found new checkpoint at %s", path)
            return path
        if end is not None and time.time() + seconds_to_sleep > end:
            return None
        time.sleep(seconds_to_sleep)


def checkpoints_iterator(
    checkpoint_dir: FilePath,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """Yields the checkpoints of a folder as they come, at most one in `min_interval_secs` seconds.

    It ends when none came for `timeout` seconds, and `timeout_fn`, where there is one, returns True.
    """
    path: str | None = None
    while True:
        new = wait_for_new_checkpoint(checkpoint_dir, path, timeout=timeout)
        if new is None:
            if timeout_fn is None or timeout_fn():
                tf_logging.info("Timed-out waiting for a checkpoint.")
                return
            continue
        began, path = time.time(), new
        yield new
        time.sleep(max(0.0, began + min_interval_secs - time.time()))


def _counted(eval_ops: object, hooks: Iterable[Any]) -> Any:
    """Returns `eval_ops` with an increment of the counter, by which the hooks know how many steps are done."""
    step = get_or_create_eval_step()
    if eval_ops is None:
        return None
    update = step.assign_add(1)
    update = update.op if hasattr(update, "op") else update
    first = flatten(eval_ops)
    graph = get_default_graph()
    with graph.control_dependencies([*first, update]):
        done = IDENTITY(step.read_value())
    for hook in hooks:
        if isinstance(hook, StopAfterNEvalsHook):
            hook.count_by(done)
    if isinstance(eval_ops, Mapping):
        return {**eval_ops, "update_eval_step": update}
    return [*eval_ops, update] if isinstance(eval_ops, (list, tuple)) else [eval_ops, update]


def _evaluate(
    path: str,
    master: str,
    scaffold: Scaffold | None,
    counted: object,
    feed_dict: Mapping[Any, Any] | None,
    hooks: Sequence[Any],
    config: ConfigProto | None,
) -> None:
    tf_logging.info("Starting evaluation of %s", path)
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_filename_with_path=path)
    with MonitoredSession(creator, hooks) as session:
        while counted is not None and not session.should_stop():
            session.run(counted, feed_dict)
    tf_logging.info("Finished evaluation of %s", path)


def evaluate_once(
    checkpoint_path: str,
    master: str = "",
    scaffold: Scaffold | None = None,
    eval_ops: object = None,
    feed_dict: Mapping[Any, Any] | None = None,
    final_ops: object = None,
    final_ops_feed_dict: Mapping[Any, Any] | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
    config: ConfigProto | None = None,
) -> Any:
    """Evaluates a checkpoint once: runs `eval_ops` until a hook asks to stop, and returns the values of `final_ops`.

    checkpoint_path: the prefix of the checkpoint. eval_ops: an operation, or a list or dict of them.
    """
    final = FinalOpsHook(final_ops, final_ops_feed_dict)
    all_hooks = [*(hooks or ()), final]
    _evaluate(checkpoint_path, master, scaffold, _counted(eval_ops, all_hooks), feed_dict, all_hooks, config)
    return final.final_ops_values


def evaluate_repeatedly(
    checkpoint_dir: FilePath,
    master: str = "",
    scaffold: Scaffold | None = None,
    eval_ops: object = None,
    feed_dict: Mapping[Any, Any] | None = None,
    final_ops: object = None,
    final_ops_feed_dict: Mapping[Any, Any] | None = None,
    eval_interval_secs: float = 60,
    hooks: Sequence[SessionRunHook] | None = None,
    config: ConfigProto | None = None,
    max_number_of_evaluations: int | None = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Any:
    """Evaluates each new checkpoint of a folder as `evaluate_once` does, and returns the last values of `final_ops`.

    checkpoint_dir: the folder. It ends after `max_number_of_evaluations`, or as `checkpoints_iterator` does.
    """
    final = FinalOpsHook(final_ops, final_ops_feed_dict)
    all_hooks = [*(hooks or ()), final]
    counted = _counted(eval_ops, all_hooks)
    paths = checkpoints_iterator(checkpoint_dir, eval_interval_secs, timeout, timeout_fn)
    for number, path in enumerate(paths, 1):
        _evaluate(path, master, scaffold, counted, feed_dict, all_hooks, config)
        if max_number_of_evaluations is not None and number >= max_number_of_evaluations:
            break
    return final.final_ops_values
