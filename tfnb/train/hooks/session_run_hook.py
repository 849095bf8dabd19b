"""The interface of hooks: code that runs before and after each step of a monitored session.

Invariant: the fetches and feeds of all hooks are added to those of the user in one step; the fetches that a hook
returns from `before_run` are given to its `after_run` as values.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tfnb.session.session import Session
from tfnb.train.sessions.coordinator import Coordinator

__all__ = ["API", "SessionRunArgs", "SessionRunContext", "SessionRunHook", "SessionRunValues"]


class SessionRunArgs(NamedTuple):
    """What a hook adds to a step: fetches of any structure, feeds and `tf.RunOptions`."""

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """What a hook receives after a step: the values of its fetches, its options and its `tf.RunMetadata`."""

    results: Any
    options: Any
    run_metadata: Any


class SessionRunContext:
    """The step that is about to run or has just run."""

    def __init__(self, original_args: SessionRunArgs, session: Session) -> None:
        self._args, self._session = original_args, session
        self._stop = False

    @property
    def original_args(self) -> SessionRunArgs:
        """The fetches, feeds and options of the user's call."""
        return self._args

    @property
    def session(self) -> Session:
        """The session, in which a hook can run steps of its own."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Returns whether `request_stop` was called."""
        return self._stop

    def request_stop(self) -> None:
        """Requests that the training stops: `should_stop()` of the monitored session is true after this step."""
        self._stop = True


class SessionRunHook:
    """The base class of hooks. A subclass overrides the methods that it needs; by default they do nothing."""

    def begin(self) -> None:
        """The monitored session calls this method once, before it creates the session. The method may add nodes to the
        graph.
        """

    def after_create_session(self, session: Session, coord: Coordinator) -> None:
        """The monitored session calls this method after it created `session`, and again when it creates the session
        anew after a failure.

        The graph is final and the variables have values. `coord` is the coordinator of the threads of the session.
        """

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """The monitored session calls this method before each step; `run_context` describes the step.

        Returns the `SessionRunArgs` that the hook adds to the step, or None.
        """
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """The monitored session calls this method after each step that did not fail.

        `run_context` describes the step, and `run_values` has the values of the fetches that `before_run` requested.
        """

    def end(self, session: Session) -> None:
        """The monitored session calls this method at the end of `session`, unless an error ended the training. An
        interrupt does not count as an error.
        """


API: dict[str, Any] = {
    "train.SessionRunArgs": SessionRunArgs,
    "train.SessionRunContext": SessionRunContext,
    "train.SessionRunHook": SessionRunHook,
    "train.SessionRunValues": SessionRunValues,
}
