"""Preparation of a session: from a checkpoint, by initial values, or by another process (OSDI'16, section 4.3).

Invariant: a session that is returned has passed the ready op; a session that failed it is closed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from tfnb.client.platform import tf_logging as logging
from tfnb.errors import DeadlineExceededError, FailedPreconditionError, InvalidArgumentError, NotReadyError
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.default import get_default_graph
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.session.api import ConfigProto, RunOptions
from tfnb.session.session import Session
from tfnb.train.saving.checkpoint_state import FilePath, get_checkpoint_state, latest_checkpoint
from tfnb.train.saving.saver import Saver

__all__ = ["API", "SessionManager"]

_FIRST_PAUSE = 0.1  # seconds until the second check; each pause is twice as long as the one before


class SessionManager:
    """Prepares sessions of a graph.

    local_init_op: runs in every session. ready_op: a string tensor with the names of what is not ready, empty when all
    is ready. ready_for_local_init_op: the same for the state before local_init_op. recovery_wait_secs: the longest
    time, in seconds, between two checks.
    """

    def __init__(
        self,
        local_init_op: Operation | Tensor | None = None,
        ready_op: Tensor | None = None,
        ready_for_local_init_op: Tensor | None = None,
        graph: GraphBuilder | None = None,
        recovery_wait_secs: float = 30,
        local_init_run_options: RunOptions | None = None,
        local_init_feed_dict: Mapping[Any, Any] | None = None,
    ) -> None:
        if ready_for_local_init_op is not None and local_init_op is None:
            raise InvalidArgumentError("If you pass a ready_for_local_init_op you must also pass a local_init_op .")
        self._local_init_op, self._local_feed = local_init_op, local_init_feed_dict
        self._local_options = local_init_run_options
        self._ready_op, self._ready_for_local = ready_op, ready_for_local_init_op
        self._graph = graph if graph is not None else get_default_graph()
        self._wait_secs = recovery_wait_secs

    def prepare_session(
        self,
        master: str = "",
        init_op: Operation | None = None,
        saver: Saver | None = None,
        checkpoint_dir: FilePath | None = None,
        checkpoint_filename_with_path: FilePath | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: ConfigProto | None = None,
        init_feed_dict: Mapping[Any, Any] | None = None,
        init_fn: Callable[[Session], None] | None = None,
    ) -> Session:
        """Returns a session whose variables come from the latest checkpoint or, without one, from init_op and
        init_fn(session).

        Raises `InvalidArgumentError` when there is neither a checkpoint nor an init_op or init_fn,
        `FailedPreconditionError` when variables are still uninitialized, and `DeadlineExceededError` when
        wait_for_checkpoint is set and no checkpoint appeared within max_wait_secs seconds.
        """
        with self._opened(master, config) as session:
            restored = self._restore(
                session,
                saver,
                checkpoint_dir,
                checkpoint_filename_with_path,
                wait_for_checkpoint,
                max_wait_secs,
            )
            if not restored:
                if init_op is None and init_fn is None and self._local_init_op is None:
                    raise InvalidArgumentError(
                        "there is no checkpoint, and neither init_op, init_fn nor local_init_op is given"
                    )
                if init_op is not None:
                    session.run(init_op, init_feed_dict)
                if init_fn is not None:
                    init_fn(session)
            problem = self._run_local_init(session)
            aim = "ready for local_init" if problem else "ready"
            problem = problem or self._not_ready(session, self._ready_op)
            if problem:
                raise NotReadyError(
                    f"Init operations did not make model {aim}: {problem}; init_op: "
                    f"{getattr(init_op, 'name', init_op)}, local_init_op: {getattr(self._local_init_op, 'name', None)}"
                )
        return session

    def recover_session(
        self,
        master: str = "",
        saver: Saver | None = None,
        checkpoint_dir: FilePath | None = None,
        checkpoint_filename_with_path: FilePath | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: ConfigProto | None = None,
    ) -> tuple[Session, bool]:
        """Returns a pair of a session and a bool, which is true if the session was restored from a checkpoint and is
        ready.
        """
        with self._opened(master, config) as session:
            restored = self._restore(
                session,
                saver,
                checkpoint_dir,
                checkpoint_filename_with_path,
                wait_for_checkpoint,
                max_wait_secs,
            )
            problem = self._run_local_init(session) or self._not_ready(session, self._ready_op)
        if restored and problem:
            logging.warning("Restored, but not ready: %s", problem)
        return session, restored and not problem

    def wait_for_session(
        self, master: str = "", config: ConfigProto | None = None, max_wait_secs: float = float("inf")
    ) -> Session:
        """Waits until another process has made the model ready, and returns a session.

        Raises `DeadlineExceededError` after max_wait_secs seconds.
        """
        end, pause = time.monotonic() + max_wait_secs, _FIRST_PAUSE
        while True:
            with self._opened(master, config) as session:
                problem = self._run_local_init(session) or self._not_ready(session, self._ready_op)
            if not problem:
                return session
            session.close()
            pause = min(pause, self._wait_secs)
            if time.monotonic() + pause > end:
                raise DeadlineExceededError(f"Session was not ready after waiting {max_wait_secs} secs: {problem}")
            logging.info("Waiting for model to be ready: %s", problem)
            time.sleep(pause)
            pause *= 2

    # ---- steps -----------------------------------------------------------------------------------

    @contextmanager
    def _opened(self, master: str, config: ConfigProto | None) -> Iterator[Session]:
        """Returns a context with a new session, which is closed if the block fails and stays open otherwise."""
        session = Session(master, graph=self._graph, config=config)
        try:
            yield session
        except BaseException:
            session.close()
            raise

    def _restore(
        self,
        session: Session,
        saver: Saver | None,
        folder: FilePath | None,
        path: FilePath | None,
        wait: bool,
        max_wait: float,
    ) -> bool:
        if folder is not None and path is not None:
            raise InvalidArgumentError("checkpoint_dir and checkpoint_filename_with_path cannot both be given")
        if saver is None:
            return False
        if path is not None:
            saver.restore(session, path)
            return True
        if folder is None:
            return False
        end = time.monotonic() + max_wait
        latest = latest_checkpoint(folder)
        while latest is None:
            if not wait:
                return False
            if time.monotonic() > end:
                raise DeadlineExceededError(f"no checkpoint came to {os.fsdecode(folder)} in {max_wait} seconds")
            time.sleep(min(self._wait_secs, 1.0))
            latest = latest_checkpoint(folder)
        logging.info("Restoring parameters from %s", latest)
        saver.restore(session, latest)
        state = get_checkpoint_state(folder)
        saver.recover_last_checkpoints(state.all_model_checkpoint_paths if state else [latest])
        return True

    def _run_local_init(self, session: Session) -> str:
        """Runs local_init_op if the model is ready for it; returns the names of what is not ready."""
        problem = self._not_ready(session, self._ready_for_local)
        if not problem and self._local_init_op is not None:
            session.run(self._local_init_op, self._local_feed, options=self._local_options)
        return problem

    @staticmethod
    def _not_ready(session: Session, ready_op: Tensor | None) -> str:
        """Returns a text that says what is not ready; the text is empty when everything is ready."""
        if ready_op is None:
            return ""
        try:
            uninitialized = session.run(ready_op)
        except FailedPreconditionError as e:
            return e.message
        found = np.asarray(uninitialized)
        if uninitialized is None or found.size == 0 or found.dtype.kind == "i":
            return ""  # numbers are the ranks that `tf.assert_variables_initialized` gives
        names = ", ".join(x.decode() for x in np.asarray(uninitialized, object).reshape(-1))
        return f"Variables not initialized: {names}"


API: dict[str, Any] = {"train.SessionManager": SessionManager}
