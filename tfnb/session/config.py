"""What a session and a run can be told: ConfigProto, RunOptions, RunMetadata.

Plain Python objects with the field names of TensorFlow's messages. Invariant: an unknown field is an error, never
ignored in silence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from tfnb.errors import InvalidArgumentError
from tfnb.ir.protos import proto
from tfnb.session.step_messages import NodeStats, StepStatsMessage, fields_of, parsed, step_stats_message

__all__ = ["ConfigProto", "GPUOptions", "GraphOptions", "NodeStats", "RunMetadata", "RunOptions", "StepTimes"]


class RunMetadataMessage(Protocol):
    """The field of TensorFlow's RunMetadata message that is read here."""

    step_stats: StepStatsMessage


@dataclass
class GPUOptions:
    """`per_process_gpu_memory_fraction`: the share of a GPU's memory that may be used (0: all).

    `visible_device_list`: the numbers of the GPUs that the session has, in their order there ("1,0"; "" for all).
    `allow_growth` is a hint without effect: memory always grows with need here.
    """

    per_process_gpu_memory_fraction: float = 0.0
    allow_growth: bool = False
    visible_device_list: str = ""

    def visible_gpus(self) -> list[int] | None:
        """The numbers of `visible_device_list`, None for all. Raises `InvalidArgumentError` for other text."""
        given = self.visible_device_list.strip()
        parts = [part.strip() for part in given.split(",")] if given else []
        if not all(part.isdigit() for part in parts) or len(set(parts)) < len(parts):
            raise InvalidArgumentError(
                f"GPUOptions: visible_device_list={given!r}; needed different numbers of GPUs, as in '0,2'"
            )
        return [int(part) for part in parts] or None


@dataclass
class GraphOptions:
    """`optimize`: False switches folding, CSE, simplification and fusion off.

    `enable_bfloat16_sendrecv`: float32 tensors go between devices as their upper 16 bits. `enable_recv_scheduling`:
    a device takes what others send when it is needed, by simulation, which saves memory there. `placement`: who chooses
    among the devices that a group of nodes may go to: "first" (also ""), the first of them, as in TensorFlow;
    "greedy", the one where a simulated step goes on first, by estimates and by what traced steps took; "search",
    which improves that by moving parts of the graph in simulation; "random:SEED", for tests. With "greedy" and "search"
    a step whose run is traced into a RunMetadata is placed again for its next run, with what was measured; state that
    is on a device stays there. What `make_callable` gave keeps its placement.
    """

    optimize: bool = True
    enable_bfloat16_sendrecv: bool = False
    enable_recv_scheduling: bool = False
    placement: str = ""


@dataclass
class ConfigProto:
    """Configuration of a session.

    `device_count`: devices per kind, e.g. {"CPU": 4} (several logical CPU devices share the processor; "NULL"
    devices compute nothing, and measure the runtime);
    `allow_soft_placement`: run an op elsewhere when its device does not exist or has no kernel for it;
    `log_device_placement`: print where every node of a step runs; `memory_limit`: bytes per device (0: no limit);
    `operation_timeout_in_ms`: the longest a step may wait (0: for ever); `device_filters`: of a cluster, only these
    tasks are looked for ("/job:ps"). The thread counts are hints without effect: OpenCL devices use all compute
    units.
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


@dataclass
class RunOptions:
    """Options of one `Session.run`: `trace_level` >= SOFTWARE_TRACE records step statistics."""

    NO_TRACE: ClassVar[int] = 0
    SOFTWARE_TRACE: ClassVar[int] = 1
    HARDWARE_TRACE: ClassVar[int] = 2
    FULL_TRACE: ClassVar[int] = 3

    trace_level: int = 0
    timeout_in_ms: int = 0


class StepTimes(list[NodeStats]):
    """The `step_stats` of a run: a list of NodeStats, by start; `dev_stats` is TensorFlow's view of them."""

    @property
    def dev_stats(self) -> Any:
        return step_stats_message(self).dev_stats


@dataclass
class RunMetadata:
    """What a traced run leaves: `step_stats` (a list of NodeStats) and the `passes` a new step went through.

    `wall_us` is how long the step took, `graph` the compiled step's graph, which says the shapes and lines of code
    of nodes (None in metadata that come from a file).
    """

    step_stats: StepTimes = field(default_factory=StepTimes)
    passes: list[tuple[str, Any]] = field(default_factory=list)
    wall_us: float = 0.0
    graph: Any = field(default=None, repr=False)

    def to_proto(self) -> Any:
        """TensorFlow's message of the same name."""
        message = proto("config").RunMetadata()
        message.step_stats.CopyFrom(step_stats_message(self.step_stats))
        return message

    def SerializeToString(self) -> bytes:
        """The bytes of TensorFlow's message."""
        return bytes(self.to_proto().SerializeToString())

    @staticmethod
    def FromString(data: bytes) -> RunMetadata:
        """From such bytes, TensorFlow's or ours. Raises `InvalidArgumentError` for others."""
        return RunMetadata.from_proto(parsed(proto("config").RunMetadata, data))

    @staticmethod
    def from_proto(message: RunMetadataMessage) -> RunMetadata:
        """From TensorFlow's message. Times begin with the first that it has."""
        times = StepTimes(NodeStats(**fields) for fields in fields_of(message.step_stats))
        return RunMetadata(times, wall_us=max((t.end_us for t in times), default=0.0))
