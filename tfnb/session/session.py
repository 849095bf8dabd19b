"""Session: runs parts of a graph and holds their state (white paper, section 2; OSDI'16, sections 3.2, 3.3).

`run` looks up the compiled step for its fetches and feeds, or compiles it, and executes it. Invariant: after a failed
run the session is usable, and its variables have the values that completed kernels have written. Steps of several
threads may overlap.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from tfnb.caches import Cache, Caches, summary_of
from tfnb.errors import (
    ClosedSessionError,
    DTypeError,
    EmptyGraphError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    ReentryError,
)
from tfnb.ir.builder import GraphBuilder
from tfnb.ir.default import get_default_graph
from tfnb.ir.operation import Operation
from tfnb.ir.step_graph.graph import Graph
from tfnb.ir.tensor import Tensor
from tfnb.passes.partial import Exchange, feeds_behind, in_parts
from tfnb.passes.prune import Request
from tfnb.runtime.deadline import Deadline, bounded, current, within
from tfnb.runtime.resources import reset_shared
from tfnb.session import dask, default
from tfnb.session.compile import CompiledStep, Context, compile_step
from tfnb.session.config import ConfigProto, RunMetadata, RunOptions
from tfnb.session.feed import feed_array, feed_key, flat_feeds, flat_keys, own_feeds
from tfnb.session.fetch import FetchPlan, plan_fetches
from tfnb.session.local import DeviceDescription, LocalWorker
from tfnb.session.partial import PartialRun
from tfnb.session.recording import Recording
from tfnb.session.tensor_handle import HandleSource
from tfnb.system import process_end, threads
from tfnb.system.interrupts import ctrl_c_at_once, hold, holding_handlers, holding_interrupts, release
from tfnb.system.live_objects import LiveObjects
from tfnb.system.ownership import make_own

if TYPE_CHECKING:
    from tfnb.session.dask.master.master import Master
    from tfnb.session.dask.membership.health_monitor import HealthMonitor

__all__ = ["InteractiveSession", "Session", "open_sessions"]

T = TypeVar("T")


_MAX_KEPT = 512  # compiled steps, and as many requests, that a session keeps; the oldest is dropped
_open: LiveObjects[Session] = LiveObjects()  # the sessions of this process that are not closed


def _after_fork() -> None:
    """Closes the sessions in a forked process, without taking their locks, which other threads may have held."""
    for session in _open.list():
        session._lock = threading.Lock()
        session._closed = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def open_sessions() -> list[Session]:
    """The sessions of this process that are not closed."""
    return [session for session in _open.list() if not session.closed]


def _blame_operation(graph: GraphBuilder, error: OpError) -> None:
    """Replaces the node of the compiled step in an error by the user's operation of that name, if there is one."""
    if error.op is not None and not isinstance(error.op, Operation):
        with suppress(NotFoundError):
            error.op = graph.get_operation_by_name(error.op.name)


def _reset_tasks(target: str, containers: Sequence[str] | None, config: ConfigProto | None) -> None:
    """Drops the state of the tasks of a cluster in these containers (None: in all)."""
    master = dask.connect(target, config or ConfigProto())
    try:
        master.reset(containers)
    finally:
        master.close()


class Session:
    """Runs operations of `graph` (default: the default graph) on the OpenCL devices of this machine or of a cluster.

    `target` is "" for this machine, or the target of a `tf.train.Server` or `DaskCluster`; `config` is a `ConfigProto`,
    by default that of the server if it is in this process.
    Use the session as a context manager, or call `close`. Raises `DeviceNotFoundError` if there is no OpenCL device,
    `UnavailableError` if no task answers at the target, `NotFoundError` for a target that is no address, and
    `DTypeError` for another `graph` or `config`.
    """

    def __init__(self, target: str = "", graph: GraphBuilder | None = None, config: ConfigProto | None = None) -> None:
        if config is not None and not isinstance(config, ConfigProto):
            raise DTypeError(f"config must be a tf.ConfigProto, got {type(config).__name__}")
        if graph is not None and not isinstance(graph, GraphBuilder):
            raise DTypeError(f"graph must be a tf.Graph, got {type(graph).__name__}")
        self._graph = graph if graph is not None else get_default_graph()
        address = target.decode() if isinstance(target, bytes) else getattr(target, "target", target)
        if not isinstance(address, str):
            raise DTypeError(f"target must be a string, got {type(target).__name__} {target!r}")
        is_local = address in ("", "local")
        if config is None:
            config = ConfigProto() if is_local else dask.default_config(address)
        self._config = config
        with holding_handlers() if is_local else nullcontext():  # a cluster may come up late, which is waited for
            self._worker: LocalWorker | Master = self._bounded(
                lambda: LocalWorker(self._config) if is_local else dask.connect(address, self._config)
            )
        self._handles = HandleSource(self._worker)
        self._steps: Cache[Any, CompiledStep] = Cache("compiled steps", _MAX_KEPT)
        self._plans: Cache[Any, tuple[FetchPlan, tuple[Tensor, ...], CompiledStep]] = Cache("requests", _MAX_KEPT)
        self._lock = threading.Lock()
        self._closed = False
        self._pid = os.getpid()
        self._partial: dict[str, PartialRun] = {}
        self._contexts: list[AbstractContextManager[Any]] = []
        _open.add(self)

    @property
    def graph(self) -> Any:
        """The graph whose operations the session runs."""
        return self._graph

    @property
    def graph_def(self) -> Any:
        """The GraphDef of the session's graph."""
        return self._graph.as_graph_def(add_shapes=self._config.graph_options.infer_shapes)

    def run(
        self,
        fetches: object,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> Any:
        """Runs the operations that `fetches` needs and returns the values of `fetches` in the same structure.

        `fetches` is a tensor, operation, variable or name, or a nesting of lists, tuples and dicts of them. The value
        of an operation is None, that of a sparse tensor a `SparseTensorValue`. `feed_dict` maps feedable tensors to
        values of the same dtype and a compatible shape. Raises `InvalidFetchError`, `InvalidArgumentError` and the
        errors of kernels; the message names the operation and its source line.
        """
        held = hold()
        try:
            if self._closed:
                raise self._refusal()
            feeds = flat_feeds(feed_dict) if feed_dict else {}
            if options is None and not self._config.operation_timeout_in_ms and current() is None:
                plan, step, results = self._results(fetches, feeds, None, run_metadata)
            else:
                plan, step, results = self._bounded(
                    lambda: self._results(fetches, feeds, options, run_metadata), options
                )
            if run_metadata is not None and self._worker.context.placing.is_outdated(step.placement):
                self._forget(step)
            return plan.rebuild(results)
        except OpError as e:
            _blame_operation(self._graph, e)
            raise
        finally:
            if held is not None:
                release(held)

    def _results(
        self,
        fetches: object,
        feeds: Mapping[Any, Any],
        options: RunOptions | None,
        run_metadata: RunMetadata | None,
    ) -> tuple[FetchPlan, CompiledStep, list[Any]]:
        """Returns the plan of the fetches, the step that was run, and what it returned."""
        plan, tensors, step = self._find(fetches, feeds, run_metadata)
        values = [feed_array(t, v) for t, v in zip(tensors, feeds.values(), strict=True)]
        if step.kept_feeds:
            own_feeds(values, feeds.values(), step.kept_feeds)
        results = self._worker.execute(step, values, options, run_metadata)
        if step.shared_fetches:
            make_own(results, step.shared_fetches)
        return plan, step, results

    def _forget(self, step: CompiledStep) -> None:
        """Drops a compiled step, so that its next run compiles it again and places it with the costs known then."""
        with self._lock:
            self._steps.remove(lambda entry: entry is step)
            self._plans.remove(lambda entry: entry[2] is step)

    def _bounded(self, work: Callable[[], T], options: RunOptions | None = None) -> T:
        """Returns `work()`, done within the time limit of a step, from its options or else from the session's
        configuration."""
        timeout = (options.timeout_in_ms if options is not None else 0) or self._config.operation_timeout_in_ms
        return bounded(Deadline(timeout / 1000) if timeout else None, work)

    def make_callable(
        self, fetches: object, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """A function of the values of `feed_list` that runs the step with less overhead than `run`.

        With `accept_options` it also takes `options` and `run_metadata`. Raises as `run` does, and
        `InvalidArgumentError` for another number of values."""
        keys = tuple(feed_list or ())
        tensors = tuple(feed_key(self._graph, k) for k in flat_keys(keys))
        plan = plan_fetches(self._graph, fetches, self._handles)
        step = self._step(plan, tensors, None)

        def call(*values: object, options: RunOptions | None = None, run_metadata: RunMetadata | None = None) -> Any:
            if self._closed:
                raise self._refusal()
            if len(values) != len(keys):
                raise InvalidArgumentError(f"the callable takes {len(keys)} values, got {len(values)}")
            if len(keys) != len(tensors):
                values = tuple(flat_feeds(dict(zip(keys, values, strict=True))).values())
            arrays = [feed_array(t, v) for t, v in zip(tensors, values, strict=True)]
            if step.kept_feeds:
                own_feeds(arrays, values, step.kept_feeds)
            held = hold()
            try:
                results = self._bounded(lambda: self._worker.execute(step, arrays, options, run_metadata), options)
                if step.shared_fetches:
                    make_own(results, step.shared_fetches)
                return plan.rebuild(results)
            except OpError as e:
                _blame_operation(self._graph, e)
                raise
            finally:
                if held is not None:
                    release(held)

        return call if accept_options else lambda *values: call(*values)

    def partial_run_setup(self, fetches: object, feeds: Sequence[Any] | None = None) -> str:
        """Begins a step whose feeds and fetches are given in several calls of `partial_run`; returns its handle.

        Nodes that depend on no feed run at once. Raises as `run` does.
        """
        with holding_handlers():
            return self._set_up(fetches, feeds)

    def _set_up(self, fetches: object, feeds: Sequence[Any] | None) -> str:
        if self._closed:
            raise self._refusal()
        plan = plan_fetches(self._graph, fetches, self._handles)
        tensors = tuple(feed_key(self._graph, k) for k in flat_keys(tuple(feeds or ())))
        exchange, needs = Exchange(), []

        def rewrite(g: Graph) -> Graph:
            needs.extend(feeds_behind(g))
            return in_parts(g, exchange)

        request = Request(plan.tensors, plan.operations, tensors)
        step = compile_step(request, self._worker.context, rewrite=rewrite)

        def execute() -> None:
            self._bounded(lambda: self._worker.execute(step, (), None, None))

        run = PartialRun(plan, tensors, needs, exchange, execute)
        with self._lock:
            self._partial[run.handle] = run
        return run.handle

    def partial_run(self, handle: str, fetches: object, feed_dict: Mapping[Any, Any] | None = None) -> Any:
        """Continues a step of `partial_run_setup`: feeds values and returns the values of `fetches`.

        Each feed is given once and each fetch requested once. Raises `InvalidArgumentError` for a fetch that needs a
        missing feed, and for an unknown or finished handle.
        """
        run = self._partial.get(handle)
        if run is None:
            raise InvalidArgumentError(f"the partial run {handle!r} is not known, or everything was fetched")
        plan = plan_fetches(self._graph, fetches, self._handles)
        feeds = flat_feeds(feed_dict) if feed_dict else {}
        results = plan.rebuild(run.part(plan, {feed_key(self._graph, k): v for k, v in feeds.items()}))
        if run.finished:
            with holding_handlers(), self._lock:
                self._partial.pop(handle, None)
        return results

    @staticmethod
    def reset(
        target: str = "", containers: str | Sequence[str] | None = None, config: ConfigProto | None = None
    ) -> None:
        """Drops the state in the named `containers` (None: in all) of this process and closes its sessions.

        With a `target`, drops the state of all tasks of that cluster; a step that a session ran there before ends with
        `AbortedError` when it is run again. What is in no named container is in that of its task's job. Raises
        `DeadlineExceededError` after the `operation_timeout_in_ms` of `config`.
        """
        names = [containers] if isinstance(containers, str) else containers or None
        if target not in ("", "local"):
            limit = config.operation_timeout_in_ms if config is not None else 0
            reset = partial(_reset_tasks, target, names, config)
            deadline = Deadline(limit / 1000) if limit else None
            bounded(deadline, lambda: within(reset, f"the tasks of {target!r}", may_last=True))
            return
        for session in _open.list():
            session.close()
        reset_shared(names)

    def list_devices(self) -> list[DeviceDescription]:
        """The descriptions of the session's devices."""
        return self._worker.describe_devices()

    def list_caches(self) -> Caches:
        """The counters of the session's caches: requests, compiled steps, and the programs of their clusters.

        The built OpenCL programs that follow are shared with other sessions of this process that have the same
        settings; their seconds are those of the OpenCL compiler. Programs that other tasks have built are not included.
        """
        caches: list[Cache[Any, Any]] = [self._plans, self._steps]
        for step in list(self._steps.values()):
            caches.extend(step.caches())
        shared = {id(cache): cache for device in self._worker.context.devices.values() for cache in device.caches()}
        return summary_of([*caches, *shared.values()])

    def cluster_status(self) -> HealthMonitor:
        """A monitor of the tasks of the session's cluster, which `tf.show_cluster` displays.

        Its `poll()` returns the state of the tasks as a dict; `close()` ends it. Raises `FailedPreconditionError` for a
        session on this machine alone.
        """
        if isinstance(self._worker, LocalWorker):
            raise FailedPreconditionError("the session runs on this machine alone: it has no tasks")
        return self._worker.cluster_status()

    @property
    def closed(self) -> bool:
        """Whether `close` has been called."""
        return self._closed

    def _refusal(self) -> FailedPreconditionError:
        """The error of a call on a closed session."""
        if self._pid == os.getpid():
            return ClosedSessionError("Attempted to use a closed Session.")
        return FailedPreconditionError(
            f"the session was made in process {self._pid}, before a fork: its devices need threads that do not exist "
            "in this process. Make a new session here, or start the process with multiprocessing's 'spawn' method"
        )

    @property
    def compile_context(self) -> Context:
        """The devices, state and settings for which steps of this session are compiled."""
        return self._worker.context

    def compiled(self, plan: FetchPlan, feeds: tuple[Tensor, ...]) -> CompiledStep:
        """Returns the compiled step that `run` uses for a request: the fetches of `plan`, given the tensors `feeds`."""
        return self._step(plan, feeds, None)

    def explain_placement(self, fetches: object, feeds: Sequence[Any] = ()) -> str:
        """A text that lists every group of nodes of a step, by device, with the reason for the placement.

        `fetches` is as in `run`; `feeds` are the tensors that would be fed. The step is compiled and not run. Raises
        the errors of compilation, as `run` does.
        """
        plan = plan_fetches(self._graph, fetches, self._handles)
        placement = self._step(plan, tuple(feed_key(self._graph, f) for f in feeds), None).placement
        return self._worker.context.placing.explain(placement)

    @contextmanager
    def recorded(self, recording: Recording) -> Iterator[Recording]:
        """Adds the times of all steps in the block to `recording`; see `tf.profile`."""
        worker = self._worker
        with self._lock:
            if worker.recording is not None:
                raise FailedPreconditionError("the session is being recorded already")
            worker.recording = recording
        try:
            yield recording
        finally:
            worker.recording = None

    def _log_placement(self, step: CompiledStep) -> None:
        if self._config.log_device_placement:
            nodes = (step.graph.nodes[i] for i in step.graph.order)
            sys.stderr.write("".join(f"{n.name}: ({n.type}): {n.device or 'host'}\n" for n in nodes))

    def close(self) -> None:
        """Stops running steps and frees the session's state. Later calls of `run` raise."""
        with holding_interrupts():
            with threads.held(self._lock):
                if self._closed:
                    return
                self._closed = True
                self._plans.clear()
                self._steps.clear()
            self._worker.close()

    def as_default(self) -> _AsDefault:
        """A context manager that makes this the thread's default session, without closing it at the end."""
        return _AsDefault(self)

    def __enter__(self) -> Session:
        if self._contexts:
            raise ReentryError(
                "Session context managers are not re-entrant. Use `Session.as_default()` if you want to enter a "
                "session multiple times"
            )
        context = self._graph.as_default()
        context.__enter__()
        default.push(self)
        self._contexts.append(context)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        default.pop(self)
        self._contexts.pop().__exit__(kind, error, trace)
        self.close()

    def __del__(self, is_over: Callable[[], bool] = sys.is_finalizing) -> None:  # this module may be gone by then
        if not getattr(self, "_closed", True) and not is_over():
            self.close()

    # finding the compiled step

    def _find(
        self, fetches: object, feeds: Mapping[Any, Any], metadata: RunMetadata | None
    ) -> tuple[FetchPlan, tuple[Tensor, ...], CompiledStep]:
        """The fetch plan, the fed tensors and the compiled step of a request.

        Looks the request up by identity first, which is fast, and then by its graph elements."""
        key: Any = (tuple(fetches) if type(fetches) is list else fetches, type(fetches), tuple(feeds))
        try:
            request = self._plans.get(key)
        except TypeError:  # the structure contains dicts or lists, which cannot be hashed
            key, request = None, None
        if request is not None:
            self._plans.hits += 1
            return request
        tensors = tuple(feed_key(self._graph, k) for k in feeds)
        plan = plan_fetches(self._graph, fetches, self._handles)
        if not self._graph.version:
            raise EmptyGraphError("The Session graph is empty. Add operations to the graph before calling run().")
        request = (plan, tensors, within(lambda: self._step(plan, tensors, metadata), "the step to be compiled"))
        if key is not None:
            with threads.held(self._lock):
                self._plans.put(key, request)
        return request

    def _step(self, plan: FetchPlan, feeds: tuple[Tensor, ...], metadata: RunMetadata | None) -> CompiledStep:
        if len(set(feeds)) != len(feeds):
            raise InvalidArgumentError("a tensor is fed twice")
        if process_end.has_begun:
            process_end.hold()
        try:
            return self._compiled(plan, feeds, metadata)
        finally:
            if process_end.has_begun:
                process_end.hold()

    def _compiled(self, plan: FetchPlan, feeds: tuple[Tensor, ...], metadata: RunMetadata | None) -> CompiledStep:
        key = (plan.tensors, plan.operations, feeds)
        with threads.held(self._lock):
            if self._closed:  # another thread may have closed it after `run` has checked
                raise self._refusal()
            step = self._steps.find(key)
            if step is None:
                request = Request(plan.tensors, plan.operations, feeds)
                observe = None if metadata is None else lambda stage, g: metadata.passes.append((stage, g))
                with self._steps.timed(), ctrl_c_at_once():
                    step = compile_step(request, self._worker.context, observe)
                self._log_placement(step)
                self._steps.put(key, step)
            return step


process_end.register_compiling_code(Session._step.__code__)


class _AsDefault:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._graph = session.graph.as_default()

    def __enter__(self) -> Session:
        self._graph.__enter__()
        default.push(self._session)
        return self._session

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        default.leave(self._session)
        self._graph.__exit__(kind, error, trace)


class InteractiveSession(Session):
    """A session that is the default from its creation until `close`: for notebooks."""

    _explicit: AbstractContextManager[Any] | None = None  # the block that makes `graph` the default graph

    def __init__(self, target: str = "", graph: GraphBuilder | None = None, config: ConfigProto | None = None) -> None:
        super().__init__(target, graph, config)
        default.push(self)
        if graph is not None:
            self._explicit = graph.as_default()
            self._explicit.__enter__()

    def close(self) -> None:
        default.pop(self)
        explicit, self._explicit = self._explicit, None
        if explicit is not None:
            explicit.__exit__(None, None, None)
        super().close()
