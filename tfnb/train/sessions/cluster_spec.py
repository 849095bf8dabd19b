"""The tasks of a cluster, and the placement of variables on them (white paper, section 3.1; OSDI'16, section 3.3).

A cluster consists of named jobs ("ps", "worker") with numbered tasks. `replica_device_setter` distributes variables
over the parameter servers and places all other operations on the worker. Invariant: a `ClusterSpec` is immutable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from tfnb.errors import DTypeError, InvalidArgumentError, UnknownNameError
from tfnb.ir.device_spec import DeviceSpec
from tfnb.ir.operation import Operation
from tfnb.ir.protos import proto
from tfnb.types import as_dtype, as_shape

__all__ = [
    "API",
    "ClusterSpec",
    "GreedyLoadBalancingStrategy",
    "RoundRobinStrategy",
    "byte_size_load_fn",
    "replica_device_setter",
]

Jobs = Mapping[str, Sequence[str] | Mapping[int, str]]


class ClusterDefMessage(Protocol):
    """The field of TensorFlow's ClusterDef message."""

    job: Any


class ClusterSpec:
    """The addresses of the tasks of a cluster.

    `cluster`: a dict of job name to a list of "host:port", or to a dict of task number to "host:port" when only some
    are known; a ClusterDef message; or another `ClusterSpec`. Raises `DTypeError` for anything else, and
    `InvalidArgumentError` for an address that occurs twice.
    """

    def __init__(self, cluster: Jobs | ClusterDefMessage | ClusterSpec) -> None:
        self._jobs: dict[str, dict[int, str]]
        if hasattr(cluster, "job"):
            cluster = {job.name: dict(job.tasks) for job in cluster.job}
        if isinstance(cluster, ClusterSpec):
            self._jobs = cluster._jobs
            return
        if not isinstance(cluster, Mapping):
            raise DTypeError(f"a cluster is a dict of jobs, got {type(cluster).__name__}")
        self._jobs = {str(job): _tasks(str(job), cluster[job]) for job in sorted(cluster)}
        named = [a for tasks in self._jobs.values() for a in tasks.values()]
        duplicates = sorted({a for a in named if named.count(a) > 1})
        if duplicates:
            raise InvalidArgumentError(f"addresses of a cluster must differ; named more than once: {duplicates}")

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs, sorted."""
        return list(self._jobs)

    def num_tasks(self, job_name: str) -> int:
        """Returns the number of tasks of a job whose address is known. Raises `UnknownNameError` for an unknown job."""
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """Returns the sorted numbers of the known tasks of a job. Raises `UnknownNameError` for an unknown job."""
        return list(self._job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """Returns the address of the task `task_index` of the job `job_name`. Raises `UnknownNameError` for an unknown
        task.
        """
        tasks = self._job(job_name)
        if task_index not in tasks:
            raise UnknownNameError(f"the job {job_name!r} has the tasks {list(tasks)}, not {task_index}")
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """Returns the addresses of the tasks of a job, in the order of their numbers; None for an unknown address."""
        tasks = self._job(job_name)
        return [tasks.get(i) for i in range(max(tasks, default=-1) + 1)]

    def as_dict(self) -> dict[str, list[str] | dict[int, str]]:
        """Returns a dict of job name to its addresses: a list when all are known, else a dict by task number."""
        return {
            job: list(tasks.values()) if list(tasks) == list(range(len(tasks))) else dict(tasks)
            for job, tasks in self._jobs.items()
        }

    def as_cluster_def(self) -> Any:
        """Returns the ClusterDef message of the cluster."""
        message = proto("cluster").ClusterDef()
        for job, tasks in self._jobs.items():
            message.job.add(name=job).tasks.update(tasks)
        return message

    def _job(self, name: str) -> dict[int, str]:
        if name not in self._jobs:
            raise UnknownNameError(f"the cluster has the jobs {self.jobs}, not {name!r}")
        return self._jobs[name]

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    def __hash__(self) -> int:
        return hash(tuple((job, tuple(tasks.items())) for job, tasks in self._jobs.items()))

    def __repr__(self) -> str:
        return f"ClusterSpec({self.as_dict()})"


def _tasks(job: str, given: Sequence[str] | Mapping[int, str]) -> dict[int, str]:
    if isinstance(given, str) or not isinstance(given, Mapping | Sequence):
        raise DTypeError(f"the tasks of job {job!r} are a list of addresses or a dict of them, got {given!r}")
    pairs = sorted(given.items()) if isinstance(given, Mapping) else list(enumerate(given))
    for number, address in pairs:
        if not isinstance(number, int) or number < 0 or not isinstance(address, str):
            raise DTypeError(f"job {job!r}: a task is a number from 0 and an address, got {number!r}: {address!r}")
    return dict(pairs)


def byte_size_load_fn(op: Operation) -> float:
    """Returns the size in bytes of the variable that `op` creates, as a load for `GreedyLoadBalancingStrategy`.

    Raises `InvalidArgumentError` when its shape is not fully known.
    """
    shape, dtype = as_shape(op.attrs.shape), as_dtype(op.outputs[0].dtype.base_dtype)
    count = shape.num_elements()
    if count is None:
        raise InvalidArgumentError(f"the shape {shape} is not known, so its bytes are not", op)
    return float(dtype.size * count)


class GreedyLoadBalancingStrategy:
    """Assigns each variable to the task with the least load so far; `load_fn(op)` is the load of a variable."""

    def __init__(self, num_tasks: int, load_fn: Callable[[Any], float]) -> None:
        self._loads = [0.0] * num_tasks
        self._load_fn = load_fn

    def __call__(self, op: Operation) -> int:
        task = self._loads.index(min(self._loads))
        self._loads[task] += self._load_fn(op)
        return task


class RoundRobinStrategy:
    """Gives the numbers of `num_tasks` tasks in turn."""

    def __init__(self, num_tasks: int) -> None:
        self._count, self._next = num_tasks, 0

    def __call__(self, op: Operation) -> int:
        task, self._next = self._next, (self._next + 1) % self._count
        return task


STATE = ("Variable", "VariableV2", "VarHandleOp", "AutoReloadVariable")


def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str = "/job:ps",
    worker_device: str = "/job:worker",
    merge_devices: bool = True,
    cluster: ClusterSpec | ClusterDefMessage | Jobs | None = None,
    ps_ops: Sequence[str] | None = None,
    ps_strategy: Callable[[Any], int] | None = None,
) -> Callable[[Any], str] | None:
    """Returns a function for `tf.device` that places variables on parameter servers and other operations on
    `worker_device`.

    `ps_tasks`: the number of parameter servers; 0 takes it from the job of `cluster` that `ps_device` names. Returns
    None when there are none. `ps_ops`: the types of the operations that are placed there. `ps_strategy(op)`: the number
    of the server for an operation; by default they take turns. Raises `DTypeError` for a strategy that is not callable.
    """
    if cluster is not None:
        jobs = ClusterSpec(cluster).as_dict()
        ps_tasks = len(jobs.get(DeviceSpec.from_string(ps_device).job or "", ()))
    if not ps_tasks:
        return None
    if ps_strategy is not None and not callable(ps_strategy):
        raise DTypeError(f"ps_strategy must be callable, got {ps_strategy!r}")
    choose, types = ps_strategy or RoundRobinStrategy(ps_tasks), tuple(ps_ops or STATE)
    server, worker = DeviceSpec.from_string(ps_device), DeviceSpec.from_string(worker_device)

    def device_of(op: Operation) -> str:
        requested = DeviceSpec.from_string(op.device or "")
        if not merge_devices and op.device:
            return str(op.device)
        if op.type not in types:
            return requested.merged(worker).to_string()
        if server.job and requested.job in (None, server.job) and requested.task is None:
            requested = requested.merged(DeviceSpec(job=server.job, task=choose(op)))
        return requested.merged(server).to_string()

    return device_of


API: dict[str, Any] = {
    "train.ClusterSpec": ClusterSpec,
    "python.training.device_setter._RoundRobinStrategy": RoundRobinStrategy,
    "train.replica_device_setter": replica_device_setter,
    "contrib.training.GreedyLoadBalancingStrategy": GreedyLoadBalancingStrategy,
    "contrib.training.byte_size_load_fn": byte_size_load_fn,
}
