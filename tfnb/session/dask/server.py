"""`Server`: runs this process as a task of a cluster, for scripts with one process per task (white paper, section 3.1).

The task answers at its address in the `ClusterSpec`, over Dask's comm, to those who show the cluster's secret. No
scheduler is needed. `connect` creates the master of a session for a target. Invariant: nothing listens beyond loopback
without TLS, whose certificates are a secret of their own.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from distributed import Security
from distributed.core import Server as CommServer
from distributed.utils import LoopRunner, get_ip, get_ipv6, sync

from tfnb.errors import (
    AddressInUseError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    UnavailableError,
)
from tfnb.ir.server_def import server_def_class
from tfnb.session.config import ConfigProto, config_message
from tfnb.session.dask.master.master import Master
from tfnb.session.dask.membership.membership import Membership
from tfnb.session.dask.membership.private_tasks import PrivateTasks, has_private_tasks
from tfnb.session.dask.membership.rpc_service import HANDLER, RpcService
from tfnb.session.dask.task.task import Task
from tfnb.session.dask.task_names import task_name
from tfnb.session.dask.transport.channel import Tls
from tfnb.session.dask.transport.comm import SEALED, SECRET, offer_schemes
from tfnb.session.dask.transport.secret import given_secret

__all__ = [
    "Server",
    "Target",
    "connect",
    "default_config",
    "is_loopback",
    "offer",
    "private_master",
    "tls_of",
    "withdraw",
]

Target = Callable[[ConfigProto], Master]
TaskAddresses = Mapping[int, str] | Sequence[str]


class _ClusterSpec(Protocol):
    """`tf.train.ClusterSpec`, which stands above this package."""

    def as_dict(self) -> Mapping[str, TaskAddresses]: ...


ClusterLike = _ClusterSpec | Mapping[str, TaskAddresses]
# The targets of servers and clusters of this process, with the configurations of sessions that have none.
_targets: dict[str, tuple[Target, ConfigProto]] = {}
_SCHEMES = ("grpc://", "tfnb://", "tcp://", "tls://")


def offer(target: str, make: Target, config: ConfigProto | None = None) -> None:
    """Registers `make`, which creates the master of each `Session(target)` in this process.

    config: that of sessions which have none.
    """
    _targets[target] = make, config or ConfigProto()


def default_config(target: str) -> ConfigProto:
    """Returns the configuration of sessions of a target that have none: that of a server of this process."""
    found = _targets.get(target)
    return ConfigProto() if found is None else found[1]


def withdraw(target: str) -> None:
    """Removes a target of this process. Does nothing for an unknown one."""
    _targets.pop(target, None)


def is_loopback(host: str) -> bool:
    """Returns whether a name or address of a host belongs to loopback.

    Raises `UnavailableError` for an unknown name.
    """
    return ipaddress.ip_address(_numeric(host)).is_loopback


def _numeric(host: str) -> str:
    """The IP address of a host, without the brackets of IPv6. Raises `UnavailableError` for an unknown name."""
    bare = host.removeprefix("[").removesuffix("]")
    try:
        addresses = socket.getaddrinfo(bare, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as e:
        raise UnavailableError(
            f"the host {host!r} is not known: {e}; needed a name or address of a machine that can be reached"
        ) from e
    # If a name has addresses of both kinds, the one of IPv4 is used, because older servers listen there.
    addresses.sort(key=lambda info: info[0] != socket.AF_INET)
    return str(addresses[0][4][0])


def _url(scheme: str, host: str, port: int) -> str:
    """The address of a comm in the form that Dask uses."""
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def _secure(security: Security | None, host: str) -> Security:
    """The security of a comm at `host`: `security`, or the one of Dask's configuration if `security` is None.

    Raises `PermissionDeniedError` for a host beyond loopback without TLS.
    """
    comm_security = security if security is not None else Security()
    if not is_loopback(host) and not comm_security.require_encryption:
        raise PermissionDeniedError(
            f"{host} can be reached from other machines, and whoever reaches a task can run its graphs: give "
            "security=distributed.Security(...) with TLS keys, or set them in Dask's configuration"
        )
    return comm_security


def tls_of(security: Security | None) -> Tls | None:
    """The TLS contexts of Dask's comm, which the channels use, too. None if the comm is not encrypted."""
    if security is None:
        return None
    roles = [security.get_listen_args("worker"), security.get_connection_args("worker")]
    listening, connecting = (role.get("ssl_context") for role in roles)
    return None if listening is None or connecting is None else Tls(listening, connecting)


def _split(address: str) -> tuple[str, int]:
    """The host and the port of an address "host:port". Raises `InvalidArgumentError` for another form."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or (":" in host and not (host.startswith("[") and host.endswith("]"))):
        raise InvalidArgumentError(f"{address!r} is no address with a port, like 'localhost:2222' or '[::1]:2222'")
    return host, int(port)


def _scheme(security: Security) -> str:
    """The scheme of the comms of a cluster. With TLS, whoever has no certificate of the cluster's authority is refused
    before anything else, so there a secret is only demanded if one is given.
    """
    offer_schemes()
    if not security.require_encryption:
        return SECRET
    return "tls" if given_secret() is None else SEALED


def _try_to_bind(host: str, port: int) -> None:
    """Raises `OSError` if no socket can listen at this IP address and port."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))


class Server:
    """A task of a cluster in this process.

    `server_or_cluster_def` is a `ClusterSpec`, a dict of jobs, or a message, ClusterDef or ServerDef. `job_name` and
    `task_index` select the task of this process; they may be left out in a cluster of one task, or if the ServerDef
    has them. `config` has the devices and their limits. `security` is
    Dask's, with TLS; it is needed for an address beyond loopback. `Session(server.target)` runs graphs on all tasks.
    Raises `NotFoundError` for a task that is not in the cluster, `PermissionDeniedError` beyond loopback without TLS.

    Only peers that show the cluster's secret are heard: TFNB_CLUSTER_SECRET, or on one machine a file that only this
    user can read.
    """

    def __init__(
        self,
        server_or_cluster_def: ClusterLike,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: ConfigProto | None = None,
        start: bool = True,
        security: Security | None = None,
    ) -> None:
        if protocol not in (None, "grpc"):
            raise InvalidArgumentError(f"Server: protocol={protocol!r}; needed 'grpc' or None, which mean Dask's comm")
        cluster: Any = server_or_cluster_def
        if hasattr(cluster, "task_index"):  # a ServerDef
            job_name = cluster.job_name if job_name is None else job_name
            task_index = cluster.task_index if task_index is None else task_index
            cluster = cluster.cluster
        tasks = _tasks(cluster)
        matches = [t for t in tasks if job_name in (None, t[0]) and task_index in (None, t[1])]
        if len(matches) != 1:
            raise NotFoundError(
                f"job_name={job_name!r}, task_index={task_index!r} name {len(matches)} tasks of {list(tasks)}"
            )
        self._job, self._index = matches[0]
        self._host, port = _split(tasks[matches[0]])
        self._security = _secure(security, self._host)
        self._config, self._port = config or ConfigProto(), port
        self._tasks = list(tasks)
        self._addresses = {task_name(*t): a for t, a in tasks.items()}
        self._closed = threading.Event()
        self._runner: LoopRunner | None = None
        self._comm: CommServer | None = None
        self._service: RpcService | None = None
        self.task: Task | None = None
        if start:
            self.start()

    @staticmethod
    def create_local_server(config: ConfigProto | None = None, start: bool = True) -> Server:
        """A server of a cluster with one task, at a free port of loopback."""
        return Server({"local": ["localhost:0"]}, config=config, start=start)

    @property
    def name(self) -> str:
        """The full name of this task."""
        return task_name(self._job, self._index)

    @property
    def target(self) -> str:
        """The target for `tf.Session`."""
        return f"grpc://{self._host}:{self._port}"

    @property
    def server_def(self) -> Any:
        """The ServerDef message: the addresses of the cluster's tasks, which of them this is, and its configuration."""
        message = server_def_class()(job_name=self._job, task_index=self._index, protocol="grpc")
        message.default_session_config.CopyFrom(config_message(self._config))
        jobs: dict[str, Any] = {}
        for job, index in sorted(self._tasks):
            if job not in jobs:
                jobs[job] = message.cluster.job.add(name=job)
            jobs[job].tasks[index] = self._addresses[task_name(job, index)]
        return message

    def start(self) -> None:
        """Begins to listen. Does nothing if the server listens already."""
        if self._runner is not None:
            return
        numeric = _numeric(self._host)
        self.task = Task(self.name, numeric, self._config, tls_of(self._security))
        try:
            service = self._service = RpcService(self.task, self._addresses)
            self._runner = LoopRunner(asynchronous=False)
            self._runner.start()
            self._comm, self._port = sync(self._runner.loop, self._listen, service, numeric)
        except BaseException:
            self.close()
            raise
        self._addresses[self.name] = f"{self._host}:{self._port}"
        service.addresses.update(self._addresses)
        offer(self.target, self._master, self._config)

    async def _listen(self, service: RpcService, numeric: str) -> tuple[CommServer, int]:
        # What a message holds besides plain values would be unpickled; no request has such values.
        server = CommServer({HANDLER: service.handle}, needs_workdir=False, deserialize=False)
        address = _url(_scheme(self._security), numeric, self._port)
        try:
            _try_to_bind(numeric, self._port)  # because Tornado does not close its socket after a failure
            await server.listen(address, **self._security.get_listen_args("worker"))
        except OSError as e:
            raise AddressInUseError(f"the server of {self.name} cannot listen at {address}: {e}") from e
        return server, int(server.port)

    def join(self) -> None:
        """Waits until the server is closed. Ctrl-C ends the wait."""
        while not self._closed.wait(1.0):
            pass

    def close(self) -> None:
        """Stops the running steps of this task, and stops listening."""
        withdraw(self.target)
        runner, self._runner = self._runner, None
        comm, self._comm = self._comm, None
        try:
            if runner is not None:
                if comm is not None:
                    sync(runner.loop, comm.close)
                runner.stop()
        finally:
            if self._service is not None:
                self._service.close()
            if self.task is not None:
                self.task.close()
            self._closed.set()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _master(self, config: ConfigProto) -> Master:
        assert self.task is not None
        if has_private_tasks(config):
            return _private_master(self._addresses, self.task.channel.peer.host, config, self._security, self.name)
        return _master_of(self._addresses, self.task, config, self._security, self.name, None)


def _tasks(given: ClusterLike) -> dict[tuple[str, int], str]:
    """The address of each task, by (job, index). Raises `InvalidArgumentError` for other objects."""
    jobs: Any = given
    if hasattr(given, "job"):  # a ClusterDef
        jobs = {job.name: dict(job.tasks) for job in given.job}
    elif not isinstance(given, Mapping) and hasattr(given, "as_dict"):
        jobs = given.as_dict()
    if not isinstance(jobs, Mapping):
        raise InvalidArgumentError(f"a cluster is a tf.train.ClusterSpec or a dict of jobs, got {type(given).__name__}")
    addresses = {}
    for job, tasks in jobs.items():
        pairs = tasks.items() if isinstance(tasks, Mapping) else enumerate(tasks)
        addresses.update({(str(job), int(i)): str(a) for i, a in pairs})
    return addresses


def _master_of(
    addresses: Mapping[str, str],
    local_task: Task,
    config: ConfigProto,
    security: Security,
    default: str,
    closing: Callable[[], None] | None,
) -> Master:
    """The master of a session in the process of `local_task`. It uses the tasks that pass the device filters of
    `config`.

    `default` is the task for operations without a requested device. `closing` is called when the master is closed.
    """
    others = [t for t in addresses if t != local_task.name and _passes(t, config.device_filters)]
    tasks = [*others, local_task.name]
    locate = _locator(addresses, security)
    membership = Membership(locate, local_task.name, local_task.channel.peer, security)
    try:
        return Master(config, local_task, membership, tasks, default, closing)
    except BaseException:
        membership.close()
        raise


def _locator(addresses: Mapping[str, str], security: Security) -> Callable[[str, str | None], str]:
    """Returns the function from the name of a task to the address of its comm, as `Membership` needs it."""
    scheme = _scheme(security)

    def locate(name: str, silent: str | None) -> str:
        host, port = _split(addresses[name])
        return _url(scheme, _numeric(host), port)

    return locate


def _private_master(
    addresses: Mapping[str, str], own_host: str, config: ConfigProto, security: Security, default: str
) -> Master:
    """The master of a session with tasks of its own: those of its `cluster_def`, or those of the cluster itself.

    `addresses` and `default` are those of the cluster at the session's target, `own_host` an address of this process.
    """
    if config.cluster_def is not None:
        addresses = {task_name(*t): a for t, a in _tasks(config.cluster_def).items()}
        if not addresses:
            raise InvalidArgumentError("ConfigProto.cluster_def has no tasks")
        for address in addresses.values():
            _secure(security, _split(address)[0])
        default = next(iter(addresses))
    tasks = [t for t in addresses if _passes(t, config.device_filters)]
    return private_master(_locator(addresses, security), tasks, default, own_host, config, security)


def private_master(
    locate: Callable[[str, str | None], str],
    tasks: Sequence[str],
    default: str,
    own_host: str,
    config: ConfigProto,
    security: Security | None,
    answer_timeout: float = 10.0,
) -> Master:
    """Creates the master of a session with tasks of its own in the processes that `locate` finds (see `PrivateTasks`).

    This process gets a task, which runs operations that cannot be sent, such as Python functions. For the other
    parameters see `Master` and `Membership`.
    """
    local_task = Task(task_name("client", 0), own_host, config, tls_of(security))
    try:
        private = PrivateTasks(locate)
        peer = local_task.channel.peer
        membership = private.membership = Membership(private.locate, local_task.name, peer, security, answer_timeout)
        try:
            return Master(config, local_task, membership, [*tasks, local_task.name], default, local_task.close)
        except BaseException:
            membership.close()
            raise
    except BaseException:
        local_task.close()
        raise


def _passes(task: str, filters: Sequence[str]) -> bool:
    """Returns whether a task matches one of the filters, such as "/job:ps" or "/job:worker/task:1".

    Without filters every task matches.
    """
    parts = set(filter(None, task.split("/")))
    return not filters or any(set(filter(None, f.split("/"))) <= parts for f in filters)


def connect(target: str, config: ConfigProto) -> Master:
    """Creates the master of a session for `target`: a server or cluster of this process, or the address of a task.

    Raises `UnavailableError` if no task answers there, and `NotFoundError` for a target that is no address.
    """
    found = _targets.get(target)  # once, since another thread may withdraw it
    if found is not None:
        return found[0](config)
    address = next((target[len(s) :] for s in _SCHEMES if target.startswith(s)), None)
    if address is None:
        raise NotFoundError(
            "No session factory registered for the given session options: "
            f"the session target {target!r} is not understood; needed '' for this machine, a server's or cluster's "
            "target, or an address like 'grpc://localhost:2222'"
        )
    return _from_outside(address, config)


def _from_outside(address: str, config: ConfigProto) -> Master:
    """Creates a master in a process that is not a task of the cluster.

    The process gets a task of its own, which runs operations that cannot be sent to other tasks, such as Python
    functions.
    """
    host, port = _split(address)
    security = _secure(None, host)
    numeric = _numeric(host)
    if is_loopback(host):
        own_host = "::1" if ":" in numeric else "127.0.0.1"
    else:
        own_host = get_ipv6(numeric, port) if ":" in numeric else get_ip(numeric, port)
    local_task = Task(task_name("client", 0), own_host, config, tls_of(security))
    try:
        address_url = _url(_scheme(security), numeric, port)
        membership = Membership(lambda name, silent: address_url, local_task.name, local_task.channel.peer, security)
        try:
            hello = membership.call_address(
                address_url, "hello", name=local_task.name, peer=list(local_task.channel.peer)
            )
        finally:
            membership.close()
        if has_private_tasks(config):
            local_task.close()
            return _private_master({**hello["cluster"]}, own_host, config, security, hello["name"])
        return _master_of({**hello["cluster"]}, local_task, config, security, hello["name"], local_task.close)
    except BaseException:
        local_task.close()
        raise
