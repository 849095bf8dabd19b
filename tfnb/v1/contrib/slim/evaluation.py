"""`tf.contrib.slim.evaluation`: a number of evaluation steps for each checkpoint, and summaries of them.

Invariant: summaries are written when the steps of a checkpoint are done, for the global step that it has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfnb.client.argument_types import FilePath
from tfnb.client.logging.summaries import merge_all
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.session.api import ConfigProto
from tfnb.train.hooks.session_run_hook import SessionRunHook
from tfnb.train.saving.saver import Saver
from tfnb.train.sessions.scaffold import Scaffold
from tfnb.v1.contrib.training import evaluation
from tfnb.v1.contrib.training.evaluation import StopAfterNEvalsHook, SummaryAtEndHook

__all__ = ["evaluate_once", "evaluation_loop"]

_USE_DEFAULT = 0


def _hooks(
    num_evals: int | None,
    summary_op: object,
    logdir: FilePath | None,
    feed_dict: Mapping[Any, Any] | None,
    hooks: Sequence[SessionRunHook] | None,
) -> list[Any]:
    summary_op = merge_all() if summary_op is _USE_DEFAULT else summary_op
    found: list[Any] = [StopAfterNEvalsHook(num_evals)]
    if summary_op is not None:
        found.append(SummaryAtEndHook(logdir, summary_op=summary_op, feed_dict=feed_dict))
    return [*found, *(hooks or ())]


def evaluate_once(
    master: str,
    checkpoint_path: str,
    logdir: FilePath,
    num_evals: int | None = 1,
    initial_op: Operation | Tensor | None = None,
    initial_op_feed_dict: Mapping[Any, Any] | None = None,
    eval_op: object = None,
    eval_op_feed_dict: Mapping[Any, Any] | None = None,
    final_op: object = None,
    final_op_feed_dict: Mapping[Any, Any] | None = None,
    summary_op: object = _USE_DEFAULT,
    summary_op_feed_dict: Mapping[Any, Any] | None = None,
    variables_to_restore: Mapping[str, Any] | Sequence[Any] | None = None,
    session_config: ConfigProto | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
) -> Any:
    """Runs `eval_op` `num_evals` times with a checkpoint, writes summaries to `logdir`, and returns `final_op`'s value.

    variables_to_restore: the variables that the checkpoint has, by default all. See
    `tf.contrib.training.evaluate_once`.
    """
    saver = None if variables_to_restore is None else Saver(variables_to_restore)
    scaffold = Scaffold(init_op=initial_op, init_feed_dict=initial_op_feed_dict, saver=saver)
    more = _hooks(num_evals, summary_op, logdir, summary_op_feed_dict, hooks)
    return evaluation.evaluate_once(
        checkpoint_path,
        master,
        scaffold,
        eval_op,
        eval_op_feed_dict,
        final_op,
        final_op_feed_dict,
        more,
        session_config,
    )


def evaluation_loop(
    master: str,
    checkpoint_dir: FilePath,
    logdir: FilePath,
    num_evals: int | None = 1,
    initial_op: Operation | Tensor | None = None,
    initial_op_feed_dict: Mapping[Any, Any] | None = None,
    init_fn: Callable[..., Any] | None = None,
    eval_op: object = None,
    eval_op_feed_dict: Mapping[Any, Any] | None = None,
    final_op: object = None,
    final_op_feed_dict: Mapping[Any, Any] | None = None,
    summary_op: object = _USE_DEFAULT,
    summary_op_feed_dict: Mapping[Any, Any] | None = None,
    variables_to_restore: Mapping[str, Any] | Sequence[Any] | None = None,
    eval_interval_secs: float = 60,
    max_number_of_evaluations: int | None = None,
    session_config: ConfigProto | None = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
) -> Any:
    """Evaluates each new checkpoint of a folder as `evaluate_once` of slim does.

    See `tf.contrib.training.evaluate_repeatedly` for when it ends; it returns the last value of `final_op`.
    """
    saver = None if variables_to_restore is None else Saver(variables_to_restore)
    scaffold = Scaffold(init_op=initial_op, init_feed_dict=initial_op_feed_dict, init_fn=init_fn, saver=saver)
    more = _hooks(num_evals, summary_op, logdir, summary_op_feed_dict, hooks)
    return evaluation.evaluate_repeatedly(
        checkpoint_dir,
        master,
        scaffold,
        eval_op,
        eval_op_feed_dict,
        final_op,
        final_op_feed_dict,
        eval_interval_secs,
        more,
        session_config,
        max_number_of_evaluations,
        timeout,
        timeout_fn,
    )
