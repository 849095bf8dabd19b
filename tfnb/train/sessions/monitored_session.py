"""Monitored sessions: a training loop with hooks, queue runners, checkpoints and recovery (OSDI'16, section 4.3).

When a step fails because a task is lost (`AbortedError`, `UnavailableError`), the session is closed, a new one is
created from the last checkpoint, and the step runs again. Invariant: hooks see every step of the user, and only those.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, NamedTuple

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.platform import tf_logging as logging
from tfnb.errors import (
    AbortedError,
    ClosedSessionError,
    InvalidArgumentError,
    OutOfRangeError,
    UnavailableError,
)
from tfnb.ir.default import get_default_graph
from tfnb.session.config import ConfigProto, RunMetadata, RunOptions
from tfnb.session.session import Session
from tfnb.train.hooks.basic_hooks import StepCounterHook
from tfnb.train.hooks.saving_hooks import CheckpointSaverHook, SummarySaverHook
from tfnb.train.hooks.session_run_hook import (
    SessionRunHook,
)
from tfnb.train.saving.checkpoint_state import FilePath
from tfnb.train.sessions.coordinator import Coordinator
from tfnb.train.sessions.hooked_session import run_with_hooks
from tfnb.train.sessions.scaffold import (
    ChiefSessionCreator,
    Scaffold,
    SessionCreator,
    WorkerSessionCreator,
)

__all__ = ["API", "MonitoredSession", "MonitoredTrainingSession", "SingularMonitoredSession"]

_RECOVERABLE = (AbortedError, UnavailableError)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0  # seconds between attempts to create a session
USE_DEFAULT: Any = object()  # stands for a value of any type


class _Running(NamedTuple):
    """A session with its coordinator and the threads of its queue runners."""

    session: Any
    coord: Coordinator
    threads: list[Any]


class StepContext:
    """The argument of a function that is passed to `run_step_fn`."""

    def __init__(self, session: Session, run: Callable[..., Any]) -> None:
        self._session, self._run = session, run

    @property
    def session(self) -> Session:
        """The session without hooks."""
        return self._session

    def run_with_hooks(self, *args: object, **kwargs: object) -> Any:
        """Runs a step like `run` of the monitored session."""
        return self._run(*args, **kwargs)

    def request_stop(self) -> None:
        """Ends the training: raises `StopIteration`, which also ends the loop and the `with` block of the session."""
        raise StopIteration("step_fn has requested the iterations to stop")


class _Monitored:
    """The common part of both kinds of monitored sessions, which are context managers."""

    def __init__(
        self,
        session_creator: SessionCreator,
        hooks: Iterable[SessionRunHook] | None,
        recover: bool,
        stop_grace_period_secs: float,
    ) -> None:
        self._hooks = list(hooks or ())
        self._creator, self._recover, self._grace = session_creator, recover, stop_grace_period_secs
        self._graph = get_default_graph()
        self._was_finalized = self._graph.finalized
        self._stop = False
        self._closed = False
        for hook in self._hooks:
            hook.begin()
        scaffold = getattr(session_creator, "_scaffold", None)
        if scaffold is not None:
            scaffold.finalize()
        self._running: _Running | None = self._start_again() if recover else self._start()

    # ---- sessions --------------------------------------------------------------------------------

    def _start(self) -> _Running:
        with self._graph.as_default():
            session = self._creator.create_session()
            coord = Coordinator(clean_stop_exception_types=())
            threads: list[Any] = []
            try:
                for runner in self._graph.get_collection(GraphKeys.QUEUE_RUNNERS):
                    threads += runner.create_threads(session, coord=coord, daemon=True, start=True)
                for hook in self._hooks:
                    hook.after_create_session(session, coord)
            except BaseException:
                self._end(_Running(session, coord, threads))
                raise
        return _Running(session, coord, threads)

    def _start_again(self) -> _Running:
        pause = _FIRST_PAUSE
        while True:
            try:
                return self._start()
            except _RECOVERABLE as e:
                logging.warning("A task was lost while the session was made, which begins anew: %s", e)
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _begin_again(self, error: BaseException) -> None:
        """Closes the session after a task was lost; the next step creates another one."""
        logging.warning("A task was lost; the session is made anew from the last checkpoint: %s", error)
        old_session, self._running = self._running, None
        if old_session is not None:
            self._end(old_session)

    def _end(self, running: _Running) -> None:
        """Stops the queue runners and closes the session; errors of their threads are ignored from here on."""
        running.coord.request_stop()
        try:
            running.session.close()
        finally:
            try:
                running.coord.join(running.threads, stop_grace_period_secs=self._grace, ignore_live_threads=True)
            except Exception as e:
                logging.info("A queue runner ended with: %s", e)

    @property
    def graph(self) -> Any:
        """The graph of the session."""
        return self._graph

    def should_stop(self) -> bool:
        """Returns whether the training is over: a hook requested the stop, an input ended, or the session is closed.

        Where an error ended an input thread, `close` raises it. If a lost task was its cause, another session is made
        and the training continues.
        """
        running = self._running
        if self._closed or self._stop or running is None or not running.coord.should_stop():
            return self._closed or self._stop
        try:
            running.coord.raise_requested_exception()
        except _RECOVERABLE as e:
            if not self._recover:
                raise
            self._begin_again(e)
            self._running = self._start_again()
            return False
        except Exception:  # `close` raises it
            return True
        return True

    # ---- steps -----------------------------------------------------------------------------------

    def run(
        self,
        fetches: object,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> Any:
        """Runs a step like `Session.run`, with all hooks.

        fetches, feed_dict, options, run_metadata: as in `Session.run`. Raises the error of the step, of a hook or of an
        input thread, and `ClosedSessionError` after `close`.
        """
        return self._attempt(lambda r: self._step(r, fetches, feed_dict, options, run_metadata))

    def run_step_fn(self, step_fn: Callable[..., Any]) -> Any:
        """Calls `step_fn(step_context)`, which may run steps with and without hooks, and returns its value.

        Raises `StopIteration` when it calls `step_context.request_stop()`, and `InvalidArgumentError` for a function
        that does not have one argument.
        """
        names = tuple(inspect.signature(step_fn).parameters)
        if len(names) != 1:
            raise InvalidArgumentError(
                f"`step_fn` may either have one `step_context` argument, or be a method with that one; it has {names}"
            )

        def act(running: _Running) -> Any:
            def run(
                fetches: object,
                feed_dict: Mapping[Any, Any] | None = None,
                options: RunOptions | None = None,
                run_metadata: RunMetadata | None = None,
            ) -> Any:
                return self._step(running, fetches, feed_dict, options, run_metadata)

            return step_fn(StepContext(running.session, run))

        return self._attempt(act)

    def _attempt(self, act: Callable[[_Running], Any]) -> Any:
        """Runs an action on the session, and again on a new session when a task is lost meanwhile."""
        while True:
            if self._closed:
                raise ClosedSessionError("the monitored session is closed")
            try:
                if self._running is None:
                    self._running = self._start_again()
                return self._checked(self._running, act)
            except _RECOVERABLE as e:
                if not self._recover:
                    raise
                self._begin_again(e)

    @staticmethod
    def _checked(running: _Running, act: Callable[[_Running], Any]) -> Any:
        """Raises the error of an input thread if the error of a step is only its consequence."""
        try:
            return act(running)
        except _RECOVERABLE:
            raise
        except Exception:
            running.coord.raise_requested_exception()
            raise

    def _step(
        self,
        running: _Running,
        fetches: object,
        feed_dict: Mapping[Any, Any] | None,
        options: RunOptions | None,
        run_metadata: RunMetadata | None,
    ) -> Any:
        value, context = run_with_hooks(running.session, self._hooks, fetches, feed_dict, options, run_metadata)
        self._stop = self._stop or context.stop_requested
        return value

    # ---- the end ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Ends the training: hooks end, input threads stop, and the session is closed.

        The graph can be changed again, unless it was finalized before. Raises the error that ended an input thread, and
        `ClosedSessionError` if the session is closed already.
        """
        self._finish(None)

    def _finish(self, error: type[BaseException] | None) -> None:
        if self._closed:
            if error is None:
                raise ClosedSessionError("Session is already closed.")
            return
        self._closed = True
        running, self._running = self._running, None
        try:
            if running is not None:
                self._leave(running, error)
        finally:
            self._graph.finalized = self._was_finalized

    def _leave(self, running: _Running, error: type[BaseException] | None) -> None:
        """Ends the hooks, unless the block ends with an error, and the session; raises the error of an input thread."""
        try:
            # An interrupt is not a failure, so the last checkpoint is saved.
            if error is None or issubclass(error, KeyboardInterrupt):
                with self._graph.as_default():
                    for hook in self._hooks:
                        hook.end(running.session)
        finally:
            failure = _failure_of(running.coord)
            self._end(running)
        if failure is not None and error is None:
            raise failure

    def __enter__(self) -> _Monitored:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        clean = kind is not None and issubclass(kind, (OutOfRangeError, StopIteration))
        self._finish(None if clean else kind)
        return clean


def _failure_of(coord: Coordinator) -> Exception | None:
    """Returns the error with which a thread has asked all others to stop, if any."""
    try:
        coord.raise_requested_exception()
    except Exception as e:
        return e
    return None


class MonitoredSession(_Monitored):
    """A session with hooks that recovers when a task is lost.

    session_creator: creates the sessions, by default a `ChiefSessionCreator`. hooks: `SessionRunHook` objects. At the
    end of its `with` block the end of an input (`OutOfRangeError`) is not an error; after an interrupt (Ctrl-C) hooks
    end as usual, so the last checkpoint is saved. Creating the object finalizes the graph.
    """

    StepContext = StepContext

    def __init__(
        self,
        session_creator: SessionCreator | None = None,
        hooks: Iterable[SessionRunHook] | None = None,
        stop_grace_period_secs: float = 120,
    ) -> None:
        super().__init__(session_creator or ChiefSessionCreator(), hooks, True, stop_grace_period_secs)


class SingularMonitoredSession(_Monitored):
    """A session with hooks that raises an error when a task is lost; `raw_session()` returns its `tf.Session`."""

    StepContext = StepContext

    def __init__(
        self,
        hooks: Iterable[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: ConfigProto | None = None,
        checkpoint_dir: FilePath | None = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: FilePath | None = None,
    ) -> None:
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path)
        super().__init__(creator, hooks, False, stop_grace_period_secs)

    def raw_session(self) -> Any:
        """Returns the session without hooks; None after `close`."""
        return None if self._running is None else self._running.session


def MonitoredTrainingSession(
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: FilePath | None = None,
    scaffold: Scaffold | None = None,
    hooks: Iterable[SessionRunHook] | None = None,
    chief_only_hooks: Iterable[SessionRunHook] | None = None,
    save_checkpoint_secs: float | None = USE_DEFAULT,
    save_summaries_steps: int | None = USE_DEFAULT,
    save_summaries_secs: float | None = USE_DEFAULT,
    config: ConfigProto | None = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: int | None = USE_DEFAULT,
    summary_dir: FilePath | None = None,
) -> MonitoredSession:
    """Returns a monitored session that saves checkpoints and summaries of a training.

    checkpoint_dir: the folder of the checkpoints; the latest one there is restored. By default a checkpoint is saved
    every 600 seconds and summaries every 100 steps; None switches either off. summary_dir: the folder of the summaries,
    by default `checkpoint_dir`. is_chief: a worker that is not the chief waits at most `max_wait_secs` seconds until
    the model is ready, and saves nothing. scaffold, hooks, config: as in `MonitoredSession`; `chief_only_hooks` run on
    the chief.
    """
    if save_summaries_steps is USE_DEFAULT and save_summaries_secs is USE_DEFAULT:
        save_summaries_steps, save_summaries_secs = 100, None
    if save_checkpoint_secs is USE_DEFAULT and save_checkpoint_steps is USE_DEFAULT:
        save_checkpoint_secs, save_checkpoint_steps = 600, None

    def given(x: object) -> Any:
        return None if x is USE_DEFAULT else x

    scaffold = scaffold or Scaffold()
    all_hooks = list(hooks or ())
    if not is_chief:
        worker = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(worker, all_hooks, stop_grace_period_secs)
    all_hooks += list(chief_only_hooks or ())
    summary_folder = summary_dir or checkpoint_dir
    if summary_folder:
        if log_step_count_steps:
            all_hooks.append(StepCounterHook(log_step_count_steps, output_dir=summary_folder))
        steps, secs = given(save_summaries_steps), given(save_summaries_secs)
        if steps or secs:
            all_hooks.append(SummarySaverHook(steps, secs, output_dir=summary_folder, scaffold=scaffold))
    secs, steps = given(save_checkpoint_secs), given(save_checkpoint_steps)
    if checkpoint_dir and (secs or steps):
        all_hooks.append(CheckpointSaverHook(checkpoint_dir, secs, steps, scaffold=scaffold))
    chief = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    return MonitoredSession(chief, all_hooks, stop_grace_period_secs)


API: dict[str, Any] = {
    "train.MonitoredSession": MonitoredSession,
    "train.SingularMonitoredSession": SingularMonitoredSession,
    "train.MonitoredTrainingSession": MonitoredTrainingSession,
}
