"""A session with hooks and nothing else, of which `MonitoredSession` of TensorFlow is made.

Libraries with a training loop of their own put it around their session. Invariant: hooks see every step, in the order
in which they were given, and no step runs after one has asked for the stop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from tfnb.errors import ClosedSessionError, InvalidArgumentError
from tfnb.session.config import RunMetadata, RunOptions
from tfnb.train.hooks.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues

__all__ = ["HookedSession", "run_with_hooks"]


class StepRunner(Protocol):
    """What hooks need of the session whose steps they surround."""

    @property
    def graph(self) -> Any: ...

    @property
    def sess_str(self) -> Any: ...

    def run(
        self,
        fetches: object,
        feed_dict: Mapping[Any, Any] | None,
        options: RunOptions | None,
        run_metadata: RunMetadata | None,
        /,
    ) -> Any: ...

    def close(self) -> None: ...


class HookedSession:
    """The session `sess` (any that runs steps), each of whose steps the hooks see."""

    def __init__(self, sess: StepRunner, hooks: Iterable[SessionRunHook]) -> None:
        self._sess, self._hooks, self._stop = sess, tuple(hooks), False

    @property
    def graph(self) -> Any:
        """The session's graph."""
        return self._sess.graph

    @property
    def sess_str(self) -> Any:
        """The session's target."""
        return self._sess.sess_str

    def should_stop(self) -> bool:
        """Returns whether a hook has asked for the stop."""
        return self._stop

    def close(self) -> None:
        """Closes the session."""
        self._sess.close()

    def run(
        self,
        fetches: object,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> Any:
        """Runs a step as `Session.run`, with what the hooks fetch and feed.

        fetches, feed_dict, options, run_metadata: as there. Raises `ClosedSessionError` after the stop, and
        `InvalidArgumentError` where two feed one tensor.
        """
        if self._stop:
            raise ClosedSessionError("Run called even after should_stop requested.")
        value, context = run_with_hooks(
            self._sess, self._hooks, fetches, feed_dict, options or RunOptions(), run_metadata or RunMetadata()
        )
        self._stop = context.stop_requested
        return value


def run_with_hooks(
    session: Any,
    hooks: Iterable[SessionRunHook],
    fetches: object,
    feed_dict: Mapping[Any, Any] | None,
    options: RunOptions | None,
    run_metadata: RunMetadata | None,
) -> tuple[Any, SessionRunContext]:
    """Returns what a step of the `session` fetches for the caller, and the context, in which a hook may ask to stop.

    hooks: each may fetch, feed and ask for options beside the caller. fetches, feed_dict, options, run_metadata: as in
    `Session.run`. Raises `InvalidArgumentError` where two feed one tensor.
    """
    hooks = tuple(hooks)
    context = SessionRunContext(SessionRunArgs(fetches, feed_dict, options), session)
    feeds = dict(feed_dict or {})
    all_fetches: dict[Any, Any] = {"caller": fetches}
    hook_options = []
    for i, hook in enumerate(hooks):
        args = hook.before_run(context)
        if args is None:
            continue
        if args.fetches is not None:
            all_fetches[i] = args.fetches
        for key, value in (args.feed_dict or {}).items():
            if key in feeds:
                raise InvalidArgumentError(f"Same tensor: {getattr(key, 'name', key)} is fed twice, once by a hook")
            feeds[key] = value
        if args.options is not None:
            hook_options.append(args.options)
    merged = _merged_options([*([options] if options is not None else []), *hook_options])
    metadata = run_metadata
    if metadata is None and merged is not None and merged.trace_level:
        metadata = RunMetadata()
    values = session.run(all_fetches, feeds, merged, metadata)
    for i, hook in enumerate(hooks):
        hook.after_run(context, SessionRunValues(values.get(i), merged, metadata))
    return values["caller"], context


def _merged_options(options: list[Any]) -> Any:
    """Returns RunOptions that contain everything that the user and the hooks requested."""
    if len(options) < 2:
        return options[0] if options else None
    return RunOptions(
        trace_level=max(o.trace_level for o in options),
        timeout_in_ms=max(o.timeout_in_ms for o in options),
    )
