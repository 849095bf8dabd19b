"""`tf.train.Supervisor`, the predecessor of monitored sessions.

It prepares a session, and its threads save checkpoints and summaries while the program's own loop runs. Invariant: all
threads have ended at the end of the block of `managed_session`.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.graph.graph_def import write_graph
from tfnb.client.graph.meta_graph import export_meta_graph
from tfnb.client.logging.summaries import merge_all
from tfnb.client.platform import tf_logging as logging
from tfnb.client.variables.variable import (
    Variable,
    global_variables,
    global_variables_initializer,
    report_uninitialized_variables,
)
from tfnb.errors import AbortedError, InvalidArgumentError, NotReadyError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.default import get_default_graph
from tfnb.ir.operation import Operation
from tfnb.ir.protos import proto
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.session.api import ConfigProto, RunOptions
from tfnb.session.session import Session
from tfnb.summary.writer import FileWriter, Message
from tfnb.train.optimizers.global_step import find_global_step
from tfnb.train.saving.checkpoint_state import FilePath
from tfnb.train.saving.saver import Saver, step_number
from tfnb.train.sessions.coordinator import Coordinator, ExcInfo, LooperThread
from tfnb.train.sessions.scaffold import Scaffold, collected_saver
from tfnb.train.sessions.session_manager import SessionManager

__all__ = ["API", "Supervisor"]


class Supervisor:
    """Prepares a session, and saves checkpoints and summaries in threads during the training.

    logdir: the folder of checkpoints and summaries; without one nothing is saved. is_chief: only the chief initializes
    and saves.
    init_op (with init_feed_dict and init_fn(session)), ready_op, local_init_op, summary_op, saver, global_step,
    summary_writer: a part that is not given is taken from the graph's collections or created; None switches it off.
    save_model_secs, save_summaries_secs: the seconds between saves; 0 saves nothing. The graph is finalized.
    """

    USE_DEFAULT: Any = 0

    def __init__(
        self,
        graph: GraphBuilder | None = None,
        ready_op: Tensor | None = USE_DEFAULT,
        ready_for_local_init_op: Tensor | None = USE_DEFAULT,
        is_chief: bool = True,
        init_op: Operation | Tensor | None = USE_DEFAULT,
        init_feed_dict: Mapping[Any, Any] | None = None,
        local_init_op: Operation | Tensor | None = USE_DEFAULT,
        logdir: FilePath | None = None,
        summary_op: Operation | Tensor | None = USE_DEFAULT,
        saver: Saver | None = USE_DEFAULT,
        global_step: Variable | Tensor | None = USE_DEFAULT,
        save_summaries_secs: float = 120,
        save_model_secs: float = 600,
        recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: SessionManager | None = None,
        summary_writer: FileWriter | None = USE_DEFAULT,
        init_fn: Callable[[Any], None] | None = None,
        local_init_run_options: RunOptions | None = None,
    ) -> None:
        self._graph = graph if graph is not None else get_default_graph()
        self.coord = Coordinator()
        self.is_chief, self.init_fn, self.init_feed_dict = is_chief, init_fn, init_feed_dict
        self.stop_grace_secs = stop_grace_secs
        self.save_summaries_secs, self.save_model_secs = save_summaries_secs, save_model_secs
        self.logdir = os.fsdecode(logdir) if logdir else None
        with self._graph.as_default():
            get_or_default, chosen = Scaffold.get_or_default, self._chosen
            self.init_op = chosen(init_op, lambda: get_or_default("", GraphKeys.INIT_OP, global_variables_initializer))
            self.ready_op = chosen(
                ready_op, lambda: get_or_default("", GraphKeys.READY_OP, report_uninitialized_variables)
            )
            self.ready_for_local_init_op = chosen(
                ready_for_local_init_op, lambda: report_uninitialized_variables(global_variables())
            )
            self.local_init_op = chosen(
                local_init_op, lambda: get_or_default("", GraphKeys.LOCAL_INIT_OP, Scaffold.default_local_init_op)
            )
            self.summary_op = chosen(summary_op, lambda: get_or_default("", GraphKeys.SUMMARY_OP, merge_all))
            self.saver = chosen(saver, self._default_saver)
            self.global_step = chosen(global_step, lambda: find_global_step(self._graph))
        if not is_chief:
            self._check_devices()
        self._graph.finalize()
        self._graph_is_written = self._writer_is_closed = False
        saves = is_chief and self.logdir is not None
        self.save_path = os.path.join(self.logdir or "", checkpoint_basename) if saves else None
        self.summary_writer: Any = self._chosen(
            summary_writer, lambda: FileWriter(self.logdir) if saves and self.logdir is not None else None
        )
        self.session_manager = session_manager or SessionManager(
            local_init_op=self.local_init_op,
            ready_op=self.ready_op,
            ready_for_local_init_op=self.ready_for_local_init_op if self.local_init_op is not None else None,
            graph=self._graph,
            recovery_wait_secs=recovery_wait_secs,
            local_init_run_options=local_init_run_options,
        )

    @staticmethod
    def _chosen(given: object, default: Callable[[], Any]) -> Any:
        """Returns the given value, or the default if the value is USE_DEFAULT, which is 0."""
        return default() if given is Supervisor.USE_DEFAULT else given

    @staticmethod
    def _default_saver() -> Any:
        if not global_variables():
            return None
        return collected_saver() or Scaffold.get_or_default("", GraphKeys.SAVERS, Saver)

    def _meta_graph(self) -> Any:
        saver_def = None if self.saver is None else self.saver.as_saver_def()
        return export_meta_graph(saver_def=saver_def, graph=self._graph)

    def _check_devices(self) -> None:
        """Raises `InvalidArgumentError` for a variable without a device: the chief would have another one."""
        for op in self._graph.get_operations():
            if op.type in ("Variable", "VariableV2") and not op.device:
                raise InvalidArgumentError(f"When using replicas, all Variables must have their device set: {op.name}")

    # ---- sessions --------------------------------------------------------------------------------

    def prepare_or_wait_for_session(
        self,
        master: str = "",
        config: ConfigProto | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> Session:
        """Returns a session that is ready: the chief restores or initializes it, other workers wait for the chief."""
        self.coord.clear_stop()
        if self.is_chief:
            session = self.session_manager.prepare_session(
                master,
                init_op=self.init_op,
                saver=self.saver,
                checkpoint_dir=self.logdir,
                wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs,
                config=config,
                init_feed_dict=self.init_feed_dict,
                init_fn=self.init_fn,
            )
            if self.logdir is not None:
                write_graph(self._graph, self.logdir, "graph.pbtxt")
            if self.summary_writer is not None and not self._graph_is_written:
                self.summary_writer.reopen()
                self._writer_is_closed = False
                self.summary_writer.add_graph(self._graph)
                self.summary_writer.add_meta_graph(self._meta_graph())
                self._graph_is_written = True
            if start_standard_services:
                self.start_standard_services(session)
        else:
            session = self.session_manager.wait_for_session(master, config=config, max_wait_secs=max_wait_secs)
        if start_standard_services:
            self.start_queue_runners(session)
        return session

    @contextlib.contextmanager
    def managed_session(
        self,
        master: str = "",
        config: ConfigProto | None = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Any]:
        """Returns a context with a session; an error in the block or in a thread is raised at its end.

        At the end all threads stop. A last checkpoint is saved if the block ended normally, at the end of an input, or
        by an interrupt.
        """
        failed = True
        session = self.prepare_or_wait_for_session(master, config, start_standard_services=start_standard_services)
        interrupt: BaseException | None = None
        try:
            yield session
            failed = False
        except (KeyboardInterrupt, SystemExit) as e:
            failed, interrupt = False, e
        except Exception as e:
            self.request_stop(e)
        try:
            self.request_stop()
            self._join()  # before the session is closed, since a thread may be saving
            if not failed and start_standard_services and self._saves():
                self._save(session)
            self.stop(close_summary_writer=close_summary_writer)
        finally:
            session.close()
        if interrupt is not None:
            raise interrupt

    # ---- services --------------------------------------------------------------------------------

    def start_standard_services(self, sess: Session) -> list[Any]:
        """Starts the threads that save checkpoints and summaries of `sess`, and returns them.

        Raises `NotReadyError` unless this is the chief.
        """
        if not self.is_chief:
            raise NotReadyError("Only chief supervisor can start services: this is not the chief")
        threads: list[Any] = []
        if self.logdir is None:
            logging.warning("Standard services need a 'logdir' passed to the Supervisor")
            return threads
        if self.summary_writer is not None and not self._writer_is_closed and self.global_step is not None:
            log = proto("event").SessionLog(status=proto("event").SessionLog.START)
            self.summary_writer.add_session_log(log, step_number(sess, self.global_step))
        if self.summary_op is not None and self.summary_writer is not None and self.save_summaries_secs:
            threads.append(self._looper(self.save_summaries_secs, self._summarize, sess))
        if self.summary_writer is not None and self.global_step is not None and self.save_summaries_secs:
            threads.append(self._looper(self.save_summaries_secs, _StepRate(self), sess))
        if self._saves() and self.save_model_secs:
            threads.append(self._looper(self.save_model_secs, self._save, sess))
        for thread in threads:
            thread.start()
        return threads

    def _looper(self, seconds: float, target: Callable[[Any], None], sess: Session) -> LooperThread:
        return LooperThread(self.coord, seconds, target, args=(sess,))

    def _saves(self) -> bool:
        return self.is_chief and self.saver is not None and self.save_path is not None

    def _save(self, sess: Session) -> None:
        self.saver.save(sess, self.save_path, global_step=self.global_step)
        if self.summary_writer is not None and not self._writer_is_closed and self.global_step is not None:
            log = proto("event").SessionLog(status=proto("event").SessionLog.CHECKPOINT, checkpoint_path=self.save_path)
            self.summary_writer.add_session_log(log, step_number(sess, self.global_step))

    def _summarize(self, sess: Session) -> None:
        if self.global_step is None:
            self.summary_writer.add_summary(sess.run(self.summary_op))
        else:
            summary, step = sess.run([self.summary_op, self.global_step])
            self.summary_writer.add_summary(summary, np.asarray(step).item())

    def start_queue_runners(self, sess: Session, queue_runners: Iterable[Any] | None = None) -> list[Any]:
        """Starts the threads of `queue_runners`, by default all of the graph, in `sess`, and returns them."""
        runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS) if queue_runners is None else queue_runners
        threads: list[Any] = []
        for runner in runners:
            threads += runner.create_threads(sess, coord=self.coord, daemon=True, start=True)
        return threads

    def loop(
        self,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """Starts a thread that calls `target(*args, **kwargs)` every `timer_interval_secs` seconds, and returns it.

        It ends when the stop is requested.
        """
        return LooperThread.loop(self.coord, timer_interval_secs, target, args, kwargs)

    Loop = loop

    def summary_computed(self, sess: Session, summary: bytes | Message, global_step: TensorLike | None = None) -> None:
        """Writes a summary that the program computed in `sess`, for the step `global_step`, by default the current one.

        Raises `NotReadyError` without a writer.
        """
        if self.summary_writer is None:
            raise NotReadyError("writing a summary requires a summary writer")
        if global_step is None and self.global_step is not None:
            global_step = step_number(sess, self.global_step)
        self.summary_writer.add_summary(summary, global_step)

    # ---- stopping --------------------------------------------------------------------------------

    def stop(
        self,
        threads: Iterable[Any] | None = None,
        close_summary_writer: bool = True,
        ignore_live_threads: bool = False,
    ) -> None:
        """Stops all threads and waits for them; it may be called again. Raises the error of a thread or of
        `request_stop`.
        """
        self.coord.request_stop()
        try:
            self._join(threads, ignore_live_threads)
        finally:
            if close_summary_writer and self.summary_writer is not None and not self._writer_is_closed:
                log = proto("event").SessionLog(status=proto("event").SessionLog.STOP)
                self.summary_writer.add_session_log(log)
                self.summary_writer.close()
                self._graph_is_written, self._writer_is_closed = False, True

    def _join(self, threads: Iterable[Any] | None = None, ignore_live_threads: bool = False) -> None:
        self.coord.join(threads, stop_grace_period_secs=self.stop_grace_secs, ignore_live_threads=ignore_live_threads)

    def request_stop(self, ex: BaseException | ExcInfo | None = None) -> None:
        """Requests that all threads stop; `stop` raises `ex`."""
        self.coord.request_stop(ex)

    def should_stop(self) -> bool:
        """Returns whether the stop was requested."""
        return self.coord.should_stop()

    def stop_on_exception(self) -> contextlib.AbstractContextManager[None]:
        """Returns a context in which an exception requests the stop."""
        return self.coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Waits until the stop is requested."""
        self.coord.wait_for_stop()


class _StepRate:
    """Writes the number of steps per second since its previous call."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._last: tuple[float, int] | None = None

    def __call__(self, sess: Session) -> None:
        sv = self._supervisor
        sample, step = time.time(), step_number(sess, sv.global_step)
        if self._last is not None and sample > self._last[0]:
            summary = proto("summary").Summary()
            rate = (step - self._last[1]) / (sample - self._last[0])
            summary.value.add(tag=f"{sv.global_step.op.name}/sec", simple_value=rate)
            sv.summary_writer.add_summary(summary, step)
        self._last = sample, step


def basic_train_loop(
    supervisor: Supervisor,
    train_step_fn: Callable[..., Any],
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    master: str = "",
) -> None:
    """Calls `train_step_fn(session, *args, **kwargs)` in a managed session until the stop is requested.

    A step that fails with `AbortedError`, as after the restart of a task, is followed by a new session for `master`.
    Raises the other errors of the steps.
    """
    aborted = True
    while aborted:
        aborted = False
        try:
            with supervisor.managed_session(master) as session:
                while not supervisor.should_stop():
                    train_step_fn(session, *(args or ()), **(kwargs or {}))
        except AbortedError:
            aborted = True


API: dict[str, Any] = {"train.basic_train_loop": basic_train_loop, "train.Supervisor": Supervisor}
