"""Hooks: code that runs around every step of a monitored session, and asks for fetches of its own.

Invariant: a hook's fetches and feeds join the user's in one step; what a hook returns from `before_run` it gets back,
as values, in `after_run`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tfnb.session.session import Session
from tfnb.train.sessions.coordinator import Coordinator

__all__ = ["API", "SessionRunArgs", "SessionRunContext", "SessionRunHook", "SessionRunValues"]


class SessionRunArgs(NamedTuple):
    """What a hook adds to a step: fetches (any structure), feeds, `tf.RunOptions`."""

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """What a hook gets after a step: the values of its fetches, the options used, the `tf.RunMetadata`."""

    results: Any
    options: Any
    run_metadata: Any


class SessionRunContext:
    """The step that is about to run, or has run."""

    def __init__(self, original_args: SessionRunArgs, session: Session) -> None:
        self._args, self._session = original_args, session
        self._stop = False

    @property
    def original_args(self) -> SessionRunArgs:
        """The user's fetches, feeds and options."""
        return self._args

    @property
    def session(self) -> Any:
        """The session, for steps beside this one."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        return self._stop

    def request_stop(self) -> None:
        """Makes `should_stop()` of the monitored session true after this step."""
        self._stop = True


class SessionRunHook:
    """The base of hooks: every method may be overridden, and does nothing."""

    def begin(self) -> None:
        """Once, before the session is made: the graph may still grow."""

    def after_create_session(self, session: Session, coord: Coordinator) -> None:
        """When a session was made, also after a failure: the graph is finished, variables have values."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Before each step: what to add to it."""
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """After each step that did not fail."""

    def end(self, session: Session) -> None:
        """At the end, when no error ended the training (an interrupt is none)."""


API: dict[str, Any] = {
    "train.SessionRunArgs": SessionRunArgs,
    "train.SessionRunContext": SessionRunContext,
    "train.SessionRunHook": SessionRunHook,
    "train.SessionRunValues": SessionRunValues,
}
