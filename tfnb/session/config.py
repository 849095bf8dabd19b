"""The configuration of sessions and runs: ConfigProto, RunOptions, RunMetadata.

They are plain Python objects with the field names of TensorFlow's messages. Invariant: an unknown field is an error and
is never ignored silently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from tfnb.errors import InvalidArgumentError
from tfnb.ir.protos import proto
from tfnb.session.step_messages import NodeStats, StepStatsMessage, fields_of, parsed, step_stats_message

__all__ = [
    "ConfigProto",
    "GPUOptions",
    "GraphOptions",
    "NodeStats",
    "OptimizerOptions",
    "RunMetadata",
    "RunOptions",
    "StepTimes",
    "config_message",
]


class RunMetadataMessage(Protocol):
    """The field of TensorFlow's RunMetadata message that is read here."""

    step_stats: StepStatsMessage


@dataclass
class GPUOptions:
    """Options for GPUs. `per_process_gpu_memory_fraction` is the share of a GPU's memory that may be used (0: all of
    it).

    `visible_device_list` has the numbers of the session's GPUs in the session's order, as "1,0" ("": all GPUs).
    `allow_growth` has no effect, because memory is always allocated when it is needed.
    """

    per_process_gpu_memory_fraction: float = 0.0
    allow_growth: bool = False
    visible_device_list: str = ""

    def visible_gpus(self) -> list[int] | None:
        """The numbers of `visible_device_list`, None for all. Raises `InvalidArgumentError` for other text."""
        text = self.visible_device_list.strip()
        parts = [part.strip() for part in text.split(",")] if text else []
        if not all(part.isdigit() for part in parts) or len(set(parts)) < len(parts):
            raise InvalidArgumentError(
                f"GPUOptions: visible_device_list={text!r}; needed different numbers of GPUs, as in '0,2'"
            )
        return [int(part) for part in parts] or None


@dataclass
class OptimizerOptions:
    """What is optimised in a graph, as in TensorFlow. `opt_level` is `L1` (also `DEFAULT`) or `L0`, which turns the
    optimisations off unless one of them is asked for by name; they are on or off together. Calls of functions are
    always inlined, and everything is compiled, so `do_function_inlining` and `global_jit_level` have no effect.
    """

    L0: ClassVar[int] = -1
    L1: ClassVar[int] = 0
    OFF: ClassVar[int] = -1
    DEFAULT: ClassVar[int] = 0
    ON_1: ClassVar[int] = 1
    ON_2: ClassVar[int] = 2

    opt_level: int = 0
    do_common_subexpression_elimination: bool = False
    do_constant_folding: bool = False
    do_function_inlining: bool = False
    global_jit_level: int = 0

    def optimizes(self) -> bool:
        """Whether graphs are optimised."""
        wanted = self.do_common_subexpression_elimination or self.do_constant_folding
        return wanted or self.opt_level != self.L0


@dataclass
class ThreadPoolOption:
    """A pool of host threads. The number of threads has no effect, because it follows the work."""

    num_threads: int = 0
    global_name: str = ""


class ThreadPools(list[ThreadPoolOption]):
    """The thread pools of a configuration."""

    def add(self, num_threads: int = 0, global_name: str = "") -> ThreadPoolOption:
        """Appends a pool and returns it."""
        self.append(ThreadPoolOption(num_threads, global_name))
        return self[-1]


@dataclass
class GraphOptions:
    """Options for compilation. `optimize=False` turns folding, CSE, simplification and fusion off, as do
    `optimizer_options` of level L0. `infer_shapes`: the session's `graph_def` has the static shapes of tensors.

    `enable_bfloat16_sendrecv`: float32 tensors are sent between devices as their upper 16 bits.

    `enable_recv_scheduling`: a device receives a tensor shortly before it needs it, according to a simulation of the
    step, which saves memory on that device.

    `placement` is the policy that chooses among the feasible devices of a group of nodes. "first" (also "") takes the
    first one, as TensorFlow does. "greedy" takes the one on which a simulated step continues earliest, by estimated
    costs and the measured times of traced steps. "search" improves the greedy placement by moving parts of the graph in
    simulation. "random:SEED" is for tests. With "greedy" and "search", a step that was traced into a RunMetadata is
    placed again for its next run with the measured times; state stays on its device, and the function that
    `make_callable` has returned keeps its placement.
    """

    optimize: bool = True
    enable_bfloat16_sendrecv: bool = False
    enable_recv_scheduling: bool = False
    placement: str = ""
    infer_shapes: bool = False
    optimizer_options: OptimizerOptions = field(default_factory=OptimizerOptions)


@dataclass
class ConfigProto:
    """Configuration of a session.

    `device_count`: number of devices of each kind, as {"CPU": 4}. Several logical CPU devices share the processor;
    "NULL" devices compute nothing and serve to measure the runtime. `allow_soft_placement`: run an operation on another
    device if the requested one does not exist or has no kernel. `log_device_placement`: print the device of every node
    of a step. `memory_limit`: bytes for each device (0: no limit). `operation_timeout_in_ms`: time limit of a step in
    milliseconds (0: none). `device_filters`: the session uses only these tasks of a cluster, as "/job:ps".
    `isolate_session_state`: on a cluster, the session has tasks with variables and queues of its own, in the processes
    of the cluster's tasks, until it is closed. `cluster_def`, a ClusterDef: these are the session's own tasks; they are
    in the processes of the servers at these addresses, whatever clusters those belong to. The thread counts and pools
    have no effect, because OpenCL devices use all their compute units.
    """

    device_count: dict[str, int] = field(default_factory=dict)
    intra_op_parallelism_threads: int = 0
    inter_op_parallelism_threads: int = 0
    allow_soft_placement: bool = False
    log_device_placement: bool = False
    operation_timeout_in_ms: int = 0
    memory_limit: int = 0
    device_filters: Sequence[str] = ()
    gpu_options: GPUOptions = field(default_factory=GPUOptions)
    graph_options: GraphOptions = field(default_factory=GraphOptions)
    use_per_session_threads: bool = False
    isolate_session_state: bool = False
    cluster_def: Any = None
    session_inter_op_thread_pool: ThreadPools = field(default_factory=ThreadPools)


@dataclass
class RunOptions:
    """Options of one `Session.run`. A `trace_level` of SOFTWARE_TRACE or more records step statistics; `timeout_in_ms`
    is the time limit in milliseconds (0: that of the session)."""

    NO_TRACE: ClassVar[int] = 0
    SOFTWARE_TRACE: ClassVar[int] = 1
    HARDWARE_TRACE: ClassVar[int] = 2
    FULL_TRACE: ClassVar[int] = 3

    trace_level: int = 0
    timeout_in_ms: int = 0


class StepTimes(list[NodeStats]):
    """The `step_stats` of a run: a list of NodeStats in the order of their start. `dev_stats` has them as TensorFlow's
    messages, by device."""

    @property
    def dev_stats(self) -> Any:
        return step_stats_message(self).dev_stats


@dataclass
class RunMetadata:
    """The result of a traced run: `step_stats`, a list of NodeStats, and for a new step the result of each of its
    `passes`.

    `wall_us` is the duration of the step in microseconds. `graph` is the graph of the compiled step, which has the
    shapes and source lines of nodes; it is None if the metadata was read from a file.
    """

    step_stats: StepTimes = field(default_factory=StepTimes)
    passes: list[tuple[str, Any]] = field(default_factory=list)
    wall_us: float = 0.0
    graph: Any = field(default=None, repr=False)

    def to_proto(self) -> Any:
        """The metadata as TensorFlow's RunMetadata message."""
        message = proto("config").RunMetadata()
        message.step_stats.CopyFrom(step_stats_message(self.step_stats))
        return message

    def HasField(self, field_name: str) -> bool:
        """Whether a field of TensorFlow's message is set. Raises `InvalidArgumentError` for another name."""
        if field_name not in ("step_stats", "cost_graph"):
            raise InvalidArgumentError(f"RunMetadata has no field {field_name!r} that may be set or not")
        return field_name == "step_stats" and bool(self.step_stats)

    def ParseFromString(self, data: bytes) -> int:
        """Takes the values of a serialised message, and returns its length. Raises `InvalidArgumentError` for other
        bytes."""
        other = RunMetadata.FromString(data)
        self.step_stats, self.passes, self.wall_us, self.graph = other.step_stats, [], other.wall_us, None
        return len(data)

    def SerializeToString(self) -> bytes:
        """The bytes of TensorFlow's RunMetadata message."""
        return bytes(self.to_proto().SerializeToString())

    @staticmethod
    def FromString(data: bytes) -> RunMetadata:
        """The metadata of a serialised RunMetadata message of TensorFlow or tfnb. Raises `InvalidArgumentError` for
        other bytes."""
        return RunMetadata.from_proto(parsed(proto("config").RunMetadata, data))

    @staticmethod
    def from_proto(message: RunMetadataMessage) -> RunMetadata:
        """The metadata of TensorFlow's RunMetadata message. Times are relative to the first event."""
        times = StepTimes(NodeStats(**fields) for fields in fields_of(message.step_stats))
        return RunMetadata(times, wall_us=max((t.end_us for t in times), default=0.0))


def config_message(config: ConfigProto) -> Any:
    """TensorFlow's ConfigProto message of a configuration, with the fields that the message has too."""
    message = proto("config").ConfigProto()
    message.device_count.update(config.device_count)
    message.device_filters.extend(config.device_filters)
    for name in ("intra_op_parallelism_threads", "inter_op_parallelism_threads", "operation_timeout_in_ms"):
        setattr(message, name, getattr(config, name))
    flags = ("allow_soft_placement", "log_device_placement", "use_per_session_threads", "isolate_session_state")
    for name in flags:
        setattr(message, name, getattr(config, name))
    if config.cluster_def is not None:
        message.cluster_def.MergeFromString(config.cluster_def.SerializeToString())
    for pool in config.session_inter_op_thread_pool:
        message.session_inter_op_thread_pool.add(num_threads=pool.num_threads, global_name=pool.global_name)
    for name, value in vars(config.gpu_options).items():
        setattr(message.gpu_options, name, value)
    options, into = config.graph_options, message.graph_options
    for name in ("enable_bfloat16_sendrecv", "enable_recv_scheduling", "infer_shapes"):
        setattr(into, name, getattr(options, name))
    for name, value in vars(options.optimizer_options).items():
        setattr(into.optimizer_options, name, value)
    return message
