"""`tf.profile`: records the steps of a session inside a `with` block.

Invariant: outside the block the session is not affected.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tfnb.errors import DTypeError, FailedPreconditionError
from tfnb.session.default import get_default_session
from tfnb.session.recording import Recording
from tfnb.session.session import Session

__all__ = ["profile"]


@contextmanager
def profile(session: Session | None = None, limit: int = 1_000_000) -> Iterator[Recording]:
    """Records every step that `session` (None: the default session) runs in the block, in any thread::

        with tf.profile(sess) as recording:
            for batch in batches:
                sess.run(train, {x: batch})
        tf.timeline(recording)

    `limit` is the largest number of events that are kept. Raises `FailedPreconditionError` if there is no session or if
    the session is being recorded already, and `DTypeError` if `session` is not a session.
    """
    recorded_session = session if session is not None else get_default_session()
    if recorded_session is None:
        raise FailedPreconditionError("there is no session to record: give one, or make one the default")
    if not isinstance(recorded_session, Session):
        raise DTypeError(f"needed a tf.Session, got {type(recorded_session).__name__}")
    with recorded_session.recorded(Recording(limit)) as recording:
        yield recording
