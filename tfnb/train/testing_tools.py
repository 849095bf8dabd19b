"""Parts of `tf.test` beside test cases: benchmarks, stand-ins for functions, equal graphs.

Invariant: nothing here changes a graph; stand-ins are undone in the reverse order.
"""

from __future__ import annotations

import contextlib
import random
import socket
import sys
import time
from collections.abc import Iterable
from types import TracebackType
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ResourceExhaustedError
from tfnb.ir.messages import GraphDef
from tfnb.session import dask
from tfnb.session.api import ConfigProto, Session

__all__ = [
    "Benchmark",
    "StubOutForTesting",
    "assert_equal_graph_def",
    "benchmark_config",
    "create_local_cluster",
    "free_ports",
    "is_built_with_gpu_support",
    "is_built_with_rocm",
]

_PORTS = range(10_000, 32_000)


def is_built_with_gpu_support() -> bool:
    """Returns True: kernels are written in OpenCL, which GPUs with a driver run."""
    return True


def is_built_with_rocm() -> bool:
    """Returns False, since kernels are written in OpenCL."""
    return False


def benchmark_config() -> ConfigProto:
    """Returns the configuration of a session for benchmarks: the usual one."""
    return ConfigProto()


def create_local_cluster(
    num_workers: int,
    num_ps: int,
    protocol: str = "grpc",
    worker_config: ConfigProto | None = None,
    ps_config: ConfigProto | None = None,
) -> tuple[list[Any], list[Any]]:
    """Starts a cluster of tasks in this process, at free ports of loopback.

    num_workers, num_ps: the numbers of tasks of the jobs "worker" and "ps". worker_config, ps_config: their
    configurations. Returns the servers (`tf.train.Server`) of the workers and of the parameter servers; the caller
    closes them.
    """
    numbers, configs = {"worker": num_workers, "ps": num_ps}, {"worker": worker_config, "ps": ps_config}
    ports = iter(free_ports(num_workers + num_ps))
    addresses = {job: [f"localhost:{next(ports)}" for _ in range(n)] for job, n in numbers.items() if n}
    servers: dict[str, list[Any]] = {"worker": [], "ps": []}
    try:
        for job, tasks in addresses.items():
            for i in range(len(tasks)):
                servers[job].append(dask.Server(addresses, job, i, protocol, configs[job]))
    except BaseException:
        for server in servers["worker"] + servers["ps"]:
            server.close()
        raise
    return servers["worker"], servers["ps"]


def free_ports(count: int) -> list[int]:
    """Returns `count` different ports of loopback at which nothing listens.

    A port is free only until somebody else takes it. These ports therefore lie below those that systems give to
    outgoing connections (from 32768 on under Linux, from 49152 on elsewhere): such a connection of this or another
    process would take a port before its server listens. They are drawn at random, so that programs that look for
    ports at the same time find different ones. Raises `ResourceExhaustedError` if too few are free.
    """
    found: list[int] = []
    for port in random.SystemRandom().sample(_PORTS, len(_PORTS)):
        if len(found) == count:
            break
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            found.append(port)
    if len(found) < count:
        raise ResourceExhaustedError(f"{count} free ports are needed, and only {len(found)} of {_PORTS} are free")
    return found


class Benchmark:
    """The base class of benchmarks: methods whose names begin with "benchmark", which report times."""

    def report_benchmark(
        self,
        iters: int | None = None,
        cpu_time: float | None = None,
        wall_time: float | None = None,
        throughput: float | None = None,
        extras: dict[str, Any] | None = None,
        name: str | None = None,
        metrics: list[dict[str, Any]] | None = None,
    ) -> None:
        """Prints what has been measured, as one line of `name: value`."""
        values = {
            "name": name or type(self).__name__,
            "iters": iters,
            "cpu_time": cpu_time,
            "wall_time": wall_time,
            "throughput": throughput,
            "extras": extras,
            "metrics": metrics,
        }
        sys.stdout.write(" ".join(f"{key}: {value}" for key, value in values.items() if value is not None) + "\n")
        sys.stdout.flush()

    def run_op_benchmark(
        self,
        sess: Session,
        op_or_tensor: object,
        feed_dict: dict[Any, Any] | None = None,
        burn_iters: int = 2,
        min_iters: int = 10,
        store_trace: bool = False,
        store_memory_usage: bool = True,
        name: str | None = None,
        extras: dict[str, Any] | None = None,
        mbs: float = 0,
    ) -> dict[str, Any]:
        """Runs an operation `min_iters` times after `burn_iters` others, and reports the median time.

        mbs: the megabytes that a run moves, for the throughput. Returns the report as a dict. Raises
        `InvalidArgumentError` for traces, which `tf.RunMetadata` has; memory is not measured, so leave
        `store_memory_usage` as it is.
        """
        if store_trace or not store_memory_usage:
            raise InvalidArgumentError("run_op_benchmark: needed the usual store_trace and store_memory_usage")
        times = []
        for i in range(burn_iters + min_iters):
            start = time.perf_counter()
            sess.run(op_or_tensor, feed_dict)
            if i >= burn_iters:
                times.append(time.perf_counter() - start)
        median = float(np.median(times))
        more = dict(extras or {}) | {"wall_time_mean": float(np.mean(times)), "wall_time_stdev": float(np.std(times))}
        throughput = mbs / median if mbs else None
        report: dict[str, Any] = {
            "iters": min_iters,
            "wall_time": median,
            "throughput": throughput,
            "extras": more,
            "name": name,
        }
        self.report_benchmark(**report)
        return report


class StubOutForTesting:
    """Replaces attributes of modules and classes while a test runs; with a `with` statement it undoes that itself."""

    def __init__(self) -> None:
        self._changes: list[tuple[Any, str, Any]] = []
        self._smart: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> StubOutForTesting:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.CleanUp()

    def CleanUp(self) -> None:
        """Undoes all replacements."""
        self.SmartUnsetAll()
        self.UnsetAll()

    def Set(self, parent: object, child_name: str, new_child: object) -> None:
        """Replaces the attribute `child_name` of `parent` by `new_child`. Raises `AttributeError` if there is none."""
        self._changes.append((parent, child_name, _own(parent, child_name)))
        setattr(parent, child_name, new_child)

    def UnsetAll(self) -> None:
        """Undoes the replacements by `Set`."""
        _undo(self._changes)

    def SmartSet(self, obj: object, attr_name: str, new_attr: object) -> None:
        """Replaces the attribute where it is defined: in the object, or in the class it comes from.

        Raises `AttributeError` when there is none.
        """
        getattr(obj, attr_name)
        places: Iterable[Any] = obj.__mro__ if isinstance(obj, type) else (obj, *type(obj).__mro__)
        place = next((p for p in places if attr_name in vars(p)), obj)
        self._smart.append((place, attr_name, _own(place, attr_name)))
        setattr(place, attr_name, new_attr)

    def SmartUnsetAll(self) -> None:
        """Undoes the replacements by `SmartSet`."""
        _undo(self._smart)


def _own(parent: object, name: str) -> Any:
    """The attribute as it stands in the parent, so that static methods stay static."""
    own = vars(parent).get(name) if hasattr(parent, "__dict__") else None
    return getattr(parent, name) if own is None else own


def _undo(changes: list[tuple[Any, str, Any]]) -> None:
    while changes:
        parent, name, value = changes.pop()
        setattr(parent, name, value)


_TABLES = ("HashTable", "HashTableV2", "MutableHashTable", "MutableHashTableV2")
_SHARDS = ("SaveV2", "RestoreV2")


def assert_equal_graph_def(
    actual: object, expected: object, checkpoint_v2: bool = False, hash_table_shared_name: bool = False
) -> None:
    """Raises `AssertionError` unless two GraphDefs have the same nodes, whatever their order.

    checkpoint_v2: constants with the names of checkpoint files need not be equal. hash_table_shared_name: nor do the
    shared names of tables. Raises `TypeError` for anything other than GraphDefs.
    """
    for graph in (actual, expected):
        if not isinstance(graph, GraphDef):
            raise TypeError(f"needed a GraphDef, got {type(graph).__name__}")
    left, right = (_nodes(g, checkpoint_v2, hash_table_shared_name) for g in (actual, expected))
    lacking, added = sorted(right.keys() - left.keys()), sorted(left.keys() - right.keys())
    if added:
        raise AssertionError(f"Found unexpected node '{added[-1]}'; all unexpected nodes: {added}")
    if lacking:
        raise AssertionError(f"Did not find expected node '{lacking[-1]}'; all missing nodes: {lacking}")
    for name, node in left.items():
        if node != right[name]:
            raise AssertionError(f"node {name} differs:\n{node}\nexpected:\n{right[name]}")


def _nodes(graph: object, checkpoint_v2: bool, shared_name: bool) -> dict[str, Any]:
    copy = GraphDef()
    copy.CopyFrom(graph)
    users = {i.lstrip("^").partition(":")[0] for n in copy.node if n.op in _SHARDS for i in n.input}
    for node in copy.node:
        if checkpoint_v2 and node.op == "Const" and node.name in users:
            del node.attr["value"].tensor.string_val[:]
        if shared_name and node.op in _TABLES:
            node.attr["shared_name"].s = b""
    return {node.name: node for node in copy.node}
