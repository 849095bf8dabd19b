"""Queue runners: threads that keep queues filled during a training (white paper, section 4.6).

Each thread runs one enqueue operation repeatedly; the last thread whose input ends closes the queue. Invariant: the
threads of a runner end when the input ends, the coordinator stops, or the session is closed.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from tfnb.client.graph.collection_keys import GraphKeys
from tfnb.client.platform.tf_logging import warning
from tfnb.client.sync.queues import QueueBase
from tfnb.errors import (
    CancelledError,
    ClosedSessionError,
    DataLossError,
    DTypeError,
    FailedPreconditionError,
    InvalidArgumentError,
    OpError,
    OutOfRangeError,
)
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.default import get_default_graph
from tfnb.ir.graphdef.message_types import Message
from tfnb.ir.operation import Operation
from tfnb.session.default import get_default_session
from tfnb.session.session import Session
from tfnb.train.input.queue_runner_def import queue_runner_def
from tfnb.train.sessions.coordinator import Coordinator

__all__ = ["API", "QueueRunner", "add_queue_runner", "start_queue_runners"]


class QueueRunner:
    """Enqueue operations of one queue, each of which a thread runs repeatedly.

    queue: the queue. close_op: closes it when the input of the last thread ends; by default the queue's operation.
    cancel_op: closes it and cancels pending enqueues when the coordinator stops. queue_closed_exception_types: the
    classes of errors that mean the end of the input, by default OutOfRangeError; CancelledError means that the queue or
    the session was closed. queue_runner_def: given alone, it names nodes below `import_scope` that are already in the
    default graph. Raises `InvalidArgumentError` without a queue or operations, and `DTypeError` for other classes.
    """

    def __init__(
        self,
        queue: QueueBase | None = None,
        enqueue_ops: Sequence[Any] | None = None,
        close_op: Operation | None = None,
        cancel_op: Operation | None = None,
        queue_closed_exception_types: tuple[type[OpError], ...] | None = None,
        queue_runner_def: Message | bytes | None = None,
        import_scope: str | None = None,
    ) -> None:
        if queue_runner_def is not None:
            queue, enqueue_ops, close_op, cancel_op, queue_closed_exception_types = _named(
                queue_runner_def, f"{import_scope}/" if import_scope else ""
            )
        if queue is None or not enqueue_ops:
            raise InvalidArgumentError("a QueueRunner needs a queue and at least one enqueue operation")
        types = (OutOfRangeError,) if queue_closed_exception_types is None else queue_closed_exception_types
        if (
            not isinstance(types, (tuple, list))
            or not types
            or not all(isinstance(t, type) and issubclass(t, OpError) for t in types)
        ):
            raise DTypeError("queue_closed_exception_types must be a tuple of tf.errors types")
        self._queue = queue
        self._enqueue_ops = list(enqueue_ops)
        self._close_op = queue.close() if close_op is None else close_op
        self._cancel_op = queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
        self._ends = tuple(types)
        self._lock = threading.RLock()  # a signal handler may come while it is held
        self._runs: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._exceptions: list[BaseException] = []

    @property
    def queue(self) -> QueueBase:
        """The queue."""
        return self._queue

    @property
    def enqueue_ops(self) -> list[Any]:
        """The enqueue operations."""
        return self._enqueue_ops

    @property
    def close_op(self) -> Any:
        """The operation that closes the queue when its input ends."""
        return self._close_op

    @property
    def cancel_op(self) -> Any:
        """The operation that closes the queue and cancels pending enqueues."""
        return self._cancel_op

    @property
    def queue_closed_exception_types(self) -> tuple[type[BaseException], ...]:
        """The classes of errors that mean the end of the input."""
        return self._ends

    @property
    def name(self) -> str:
        """The name of the queue."""
        return str(self._queue.name)

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Returns the QueueRunnerDef message with names below `export_scope`; None if the queue is not below it."""
        scope = f"{export_scope}/" if export_scope else ""
        if not self.name.startswith(scope):
            return None
        return queue_runner_def()(
            queue_name=self.name.removeprefix(scope),
            enqueue_op_name=[op.name.removeprefix(scope) for op in self._enqueue_ops],
            close_op_name=self._close_op.name.removeprefix(scope),
            cancel_op_name=self._cancel_op.name.removeprefix(scope),
            queue_closed_exception_types=[t.code for t in self._ends],
        )

    @staticmethod
    def from_proto(queue_runner_def: Message | bytes, import_scope: str | None = None) -> QueueRunner:
        """Returns the runner of a QueueRunnerDef (or its bytes), whose nodes are in the default graph below
        `import_scope`.
        """
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)

    @property
    def exceptions_raised(self) -> list[BaseException]:
        """The errors that ended threads without a coordinator."""
        return self._exceptions

    def create_threads(
        self, sess: Session, coord: Coordinator | None = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """Returns the threads that run the operations in `sess`. With `coord` one more thread closes the queue at the
        stop.

        daemon, start: make them daemon threads, and start them. Returns no threads while those of an earlier call for
        this session are running.
        """
        with self._lock:
            if self._runs.get(sess, 0) > 0:
                return []
            self._runs[sess] = len(self._enqueue_ops)
            self._exceptions = []
        prefix = f"QueueRunnerThread-{self.name}-"
        threads = [
            threading.Thread(
                target=self._run, args=(sess, op, coord), daemon=daemon, name=f"{prefix}{getattr(op, 'name', op)}"
            )
            for op in self._enqueue_ops
        ]
        if coord is not None:
            stopper = threading.Thread(
                target=self._cancel_on_stop, args=(sess, coord), daemon=daemon, name=f"{prefix}close_on_stop"
            )
            threads.append(stopper)
            for t in threads:
                coord.register_thread(t)
        if start:
            for t in threads:
                t.start()
        return threads

    def _run(self, sess: Session, enqueue_op: Operation, coord: Coordinator | None) -> None:
        has_ended = False
        try:
            enqueue: Callable[[], Any] = sess.make_callable(enqueue_op)
            while coord is None or not coord.should_stop():
                enqueue()
        except self._ends:
            has_ended = True
        except (CancelledError, ClosedSessionError):
            has_ended = True  # another thread closed the queue or the session
        except BaseException as e:
            if coord is not None:
                coord.request_stop(e)
            else:
                warning("Error running enqueue operations of %s: %s", self.name, e)
                with self._lock:
                    self._exceptions.append(e)
                raise
        finally:
            with self._lock:
                running = self._runs[sess] = self._runs.get(sess, 1) - 1
            if has_ended and not running:
                _close(sess, self._close_op)

    def _cancel_on_stop(self, sess: Session, coord: Coordinator) -> None:
        coord.wait_for_stop()
        _close(sess, self._cancel_op)


def _named(message: Message | bytes, scope: str) -> tuple[Any, list[Any], Any, Any, tuple[type[OpError], ...]]:
    """Returns the nodes that a QueueRunnerDef names. Raises `NotFoundError` for a missing node, and `DataLossError`."""
    content = message if isinstance(message, bytes) else message.SerializeToString()
    runner_def = queue_runner_def()()
    try:
        runner_def.ParseFromString(content)
    except Exception as e:  # the class of protobuf's error depends on its implementation
        raise DataLossError(f"{len(content)} bytes that are no QueueRunnerDef: {e}") from None
    graph = get_default_graph()
    queue, close, cancel, *enqueue = (
        graph.get_operation_by_name(scope + name)
        for name in (
            runner_def.queue_name,
            runner_def.close_op_name,
            runner_def.cancel_op_name,
            *runner_def.enqueue_op_name,
        )
    )
    closed_errors = tuple(_ENDS[c] for c in runner_def.queue_closed_exception_types if c in _ENDS)
    return queue, enqueue, close, cancel, closed_errors or (OutOfRangeError,)


_ENDS: dict[int, type[OpError]] = {t.code: t for t in (OutOfRangeError, CancelledError)}


def _close(sess: Session, op: Operation) -> None:
    """Closes a queue; it may already be closed, as may the session, or the task of the queue may be lost."""
    with contextlib.suppress(OpError):
        sess.run(op)


def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Adds the queue runner `qr` to a collection of the graph, whose runners `start_queue_runners` starts."""
    get_default_graph().add_to_collection(collection, qr)


def start_queue_runners(
    sess: Session | None = None,
    coord: Coordinator | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Starts the threads of all queue runners of the graph of a session, and returns them.

    sess: by default the default session; a MonitoredSession starts its queue runners itself, so nothing is started for
    it. coord: the coordinator of the threads. Raises `FailedPreconditionError` without a session, and `DTypeError` for
    another object.
    """
    session = get_default_session() if sess is None else sess
    if session is None:
        raise FailedPreconditionError(
            "Cannot start queue runners: No default session is registered. Use `with sess.as_default()` or pass sess"
        )
    if not isinstance(session, Session):
        if isinstance(getattr(session, "graph", None), GraphBuilder):
            warning("start_queue_runners: a %s starts its queue runners itself", type(session).__name__)
            return []
        raise DTypeError(f"sess must be a tf.Session, got {type(session).__name__} {session!r}")
    runners = session.graph.get_collection(collection)
    return [t for qr in runners for t in qr.create_threads(session, coord, daemon, start)]


_NAMES: dict[str, Any] = {
    "QueueRunner": QueueRunner,
    "add_queue_runner": add_queue_runner,
    "start_queue_runners": start_queue_runners,
}
API: dict[str, Any] = {f"train.{name}": value for name, value in _NAMES.items()}
API |= {f"train.queue_runner.{name}": value for name, value in _NAMES.items()}
