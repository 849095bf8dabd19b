"""Hooks that write checkpoints and summaries during a training.

Invariant: a checkpoint is saved between steps, never within one; the last checkpoint has the values of the last step.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.graph.graph_def import write_graph
from tfnb.client.platform import tf_logging as logging
from tfnb.errors import FailedPreconditionError, InvalidArgumentError
from tfnb.ir.default import get_default_graph
from tfnb.ir.protos import proto
from tfnb.ir.tensor import Tensor
from tfnb.session.api import RunOptions, Timeline
from tfnb.session.session import Session
from tfnb.summary.writer import FileWriter, FileWriterCache
from tfnb.train.hooks.basic_hooks import element, needed_global_step
from tfnb.train.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from tfnb.train.hooks.timer import SecondOrStepTimer
from tfnb.train.saving.checkpoint_state import FilePath
from tfnb.train.saving.saver import Saver
from tfnb.train.sessions.coordinator import Coordinator
from tfnb.train.sessions.scaffold import Scaffold

__all__ = ["API", "CheckpointSaverHook", "CheckpointSaverListener", "ProfilerHook", "SummarySaverHook"]


class CheckpointSaverListener:
    """The interface of code that runs before and after a CheckpointSaverHook saves; by default it does nothing."""

    def begin(self) -> None:
        """The hook calls this method once, before the session is created."""

    def before_save(self, session: Session, global_step_value: int) -> None:
        """The hook calls this method before it saves a checkpoint of `session`; `global_step_value` is the number of
        steps so far.
        """

    def after_save(self, session: Session, global_step_value: int) -> Any:
        """The hook calls this method after it saved a checkpoint of `session` at the step `global_step_value`.

        Returning True requests that the training stops.
        """

    def end(self, session: Session, global_step_value: int) -> None:
        """The hook calls this method at the end, after it saved the last checkpoint of `session` at the step
        `global_step_value`.
        """


class CheckpointSaverHook(SessionRunHook):
    """Saves a checkpoint before the first step, then every `save_steps` steps or `save_secs` seconds, and at the end.

    checkpoint_dir: the folder. saver, scaffold: the saver, or the scaffold that has one; by default the saver in the
    graph's collection SAVERS. listeners: `CheckpointSaverListener` objects. asynchronous: a thread writes the
    checkpoint while the training continues. Raises `InvalidArgumentError` unless exactly one interval is given.
    """

    def __init__(
        self,
        checkpoint_dir: FilePath,
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Saver | None = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Scaffold | None = None,
        listeners: Iterable[CheckpointSaverListener] | None = None,
        asynchronous: bool = False,
    ) -> None:
        if saver is not None and scaffold is not None:
            raise InvalidArgumentError("CheckpointSaverHook: saver and scaffold cannot both be given")
        self._dir = os.fsdecode(checkpoint_dir)
        self._path = os.path.join(self._dir, checkpoint_basename)
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._saver, self._scaffold = saver, scaffold
        self._listeners = list(listeners or ())
        self._asynchronous = asynchronous

    def add_listener(self, listener: CheckpointSaverListener) -> None:
        """Adds a listener; to be called before the session is created."""
        self._listeners.append(listener)

    def begin(self) -> None:
        """Looks up the global step, and calls `begin` of the listeners."""
        os.makedirs(self._dir, exist_ok=True)
        self._writer = FileWriterCache.get(self._dir)
        self._step = needed_global_step("CheckpointSaverHook")
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: Session, coord: Coordinator) -> None:
        """Writes the graph to the folder and saves the first checkpoint of `session`; `coord` is not used."""
        step = int(session.run(self._step))
        write_graph(session.graph, self._dir, "graph.pbtxt")
        self._writer.add_graph(session.graph, step)
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Requests the value of the global step; `run_context` is not used."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Saves a checkpoint if it is due after the step in `run_context`; `run_values` has the global step."""
        if not self._timer.should_trigger_for_step(int(run_values.results) + 1):
            return
        step = int(run_context.session.run(self._step))
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._save(run_context.session, step):
                run_context.request_stop()

    def end(self, session: Session) -> None:
        """Saves the last checkpoint of `session`."""
        last = int(session.run(self._step))
        if last != self._timer.last_triggered_step():
            self._save(session, last)
        self._find_saver().wait()
        for listener in self._listeners:
            listener.end(session, last)

    def _save(self, session: Session, step: int) -> bool:
        """Saves a checkpoint. Returns True if a listener requests that the training stops."""
        logging.info("Saving checkpoints for %d into %s.", step, self._path)
        for listener in self._listeners:
            listener.before_save(session, step)
        saver = self._find_saver()
        save = saver.save_async if self._asynchronous else saver.save
        save(session, self._path, global_step=step)
        log = proto("event").SessionLog(status=proto("event").SessionLog.CHECKPOINT, checkpoint_path=self._path)
        self._writer.add_session_log(log, step)
        stop = False
        for listener in self._listeners:
            stop |= bool(listener.after_save(session, step))
        return stop

    def _find_saver(self) -> Any:
        if self._saver is not None:
            return self._saver
        if self._scaffold is not None:
            return self._scaffold.saver
        savers = get_default_graph().get_collection(GraphKeys.SAVERS)
        if len(savers) != 1:
            raise FailedPreconditionError(
                f"CheckpointSaverHook needs a saver or a scaffold; the collection SAVERS holds {len(savers)}"
            )
        self._saver = savers[0]
        return self._saver


class SummarySaverHook(SessionRunHook):
    """Writes summaries every `save_steps` steps or `save_secs` seconds to the folder `output_dir` or to a writer.

    summary_op: a summary tensor or a list of them; by default the `summary_op` of the scaffold. Raises
    `InvalidArgumentError` unless exactly one of `summary_op` and `scaffold`, and exactly one interval, is given.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: FilePath | None = None,
        summary_writer: FileWriter | None = None,
        scaffold: Scaffold | None = None,
        summary_op: Tensor | Sequence[Tensor] | None = None,
    ) -> None:
        if (scaffold is None) == (summary_op is None):
            raise InvalidArgumentError("SummarySaverHook needs exactly one of scaffold and summary_op")
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._output_dir, self._writer = output_dir, summary_writer
        self._scaffold, self._op = scaffold, summary_op

    def begin(self) -> None:
        """Looks up the global step, and the writer of `output_dir`."""
        if self._writer is None and self._output_dir:
            self._writer = FileWriterCache.get(self._output_dir)
        self._step = needed_global_step("SummarySaverHook")
        self._next: int | None = None
        self._wanted = False

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Requests the summaries if they are due in the step in `run_context`."""
        self._wanted = self._next is None or self._timer.should_trigger_for_step(self._next)
        fetches: dict[str, Any] = {"step": self._step}
        ops = self._ops() if self._wanted else []
        if ops:
            fetches["summaries"] = ops
        return SessionRunArgs(fetches)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Writes the summaries in `run_values`, if they were requested; `run_context` is not used."""
        if self._writer is None:
            return
        step = int(run_values.results["step"]) + 1
        if self._next is None or self._wanted:
            step = int(run_context.session.run(self._step))
        if self._next is None:
            log = proto("event").SessionLog(status=proto("event").SessionLog.START)
            self._writer.add_session_log(log, step)
        if self._wanted:
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results.get("summaries", ()):
                self._writer.add_summary(summary, step)
        self._next = step + 1

    def end(self, session: Session) -> None:
        """Waits until all summaries are in the file; `session` is not used."""
        if self._writer is not None:
            self._writer.flush()

    def _ops(self) -> list[Any]:
        summary_op: Any = self._op
        if summary_op is None and self._scaffold is not None:
            summary_op = self._scaffold.summary_op
        if summary_op is None:
            return []
        return [element(x) for x in (summary_op if isinstance(summary_op, (list, tuple)) else [summary_op])]


class ProfilerHook(SessionRunHook):
    """Traces a step every `save_steps` steps or `save_secs` seconds, and writes its timeline as a Chrome trace.

    The files are named `timeline-STEP.json` and are in the folder `output_dir`. show_dataflow: with arrows along edges.
    show_memory: is refused, as a trace holds times only. Raises `InvalidArgumentError` unless exactly one interval is
    given.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: FilePath = "",
        show_dataflow: bool = True,
        show_memory: bool = False,
    ) -> None:
        self._dir = os.fsdecode(output_dir)
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._show_dataflow, self._show_memory = show_dataflow, show_memory

    def begin(self) -> None:
        """Looks up the global step."""
        self._step = needed_global_step("ProfilerHook")
        self._next: int | None = None
        self._wanted = False

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Requests a trace if it is due in the next step; `run_context` is not used."""
        self._wanted = self._next is None or self._timer.should_trigger_for_step(self._next)
        options = RunOptions(trace_level=RunOptions.FULL_TRACE) if self._wanted else None
        return SessionRunArgs(self._step, options=options)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Writes the trace in `run_values`, if it was requested, under the number of the step in `run_context`."""
        step = int(run_values.results) + 1
        if self._wanted:
            step = int(run_context.session.run(self._step))
            self._timer.update_last_triggered_step(step)
            trace = Timeline(run_values.run_metadata.step_stats).generate_chrome_trace_format(
                show_dataflow=self._show_dataflow, show_memory=self._show_memory
            )
            with open(os.path.join(self._dir, f"timeline-{step}.json"), "w", encoding="utf-8") as file:
                file.write(trace)
        self._next = step + 1


API: dict[str, Any] = {
    "train.ProfilerHook": ProfilerHook,
    "train.CheckpointSaverHook": CheckpointSaverHook,
    "train.CheckpointSaverListener": CheckpointSaverListener,
    "train.SummarySaverHook": SummarySaverHook,
}
