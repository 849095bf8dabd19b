"""What a session and a run can be told: ConfigProto, RunOptions, RunMetadata.

Plain Python objects with the field names of TensorFlow's messages. Invariant: an unknown field is an error, never
ignored in silence.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

__all__ = ["ConfigProto", "GPUOptions", "GraphOptions", "NodeStats", "RunMetadata", "RunOptions"]


@dataclass
class GPUOptions:
    """`per_process_gpu_memory_fraction`: the share of a GPU's memory that may be used (0: all).

    `allow_growth` is accepted; memory always grows with need here.
    """

    per_process_gpu_memory_fraction: float = 0.0
    allow_growth: bool = False
    visible_device_list: str = ""


@dataclass
class GraphOptions:
    """`optimize`: False switches folding, CSE, simplification and fusion off."""

    optimize: bool = True


@dataclass
class ConfigProto:
    """Configuration of a session.

    `device_count`: devices per kind, e.g. {"CPU": 4} (several logical CPU devices share the processor);
    `allow_soft_placement`: run an op elsewhere when its device does not exist or has no kernel for it;
    `log_device_placement`: print where every node of a step runs; `memory_limit`: bytes per device (0: no limit);
    `operation_timeout_in_ms`: the longest a step may wait (0: for ever). The thread counts are accepted: OpenCL
    devices use all compute units.
    """

    device_count: dict[str, int] = field(default_factory=dict)
    intra_op_parallelism_threads: int = 0
    inter_op_parallelism_threads: int = 0
    allow_soft_placement: bool = False
    log_device_placement: bool = False
    operation_timeout_in_ms: int = 0
    memory_limit: int = 0
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


@dataclass(frozen=True)
class NodeStats:
    """When one launch or host kernel of a step ran. Times are microseconds since the step began."""

    name: str
    op: str
    device: str
    start_us: float
    end_us: float
    nbytes: int = 0
    nodes: tuple[str, ...] = ()


@dataclass
class RunMetadata:
    """What a traced run leaves: `step_stats` (a list of NodeStats) and the `passes` a new step went through."""

    step_stats: list[NodeStats] = field(default_factory=list)
    passes: list[tuple[str, Any]] = field(default_factory=list)
