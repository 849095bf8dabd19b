"""Run metadata as TensorFlow's message: what ran when, by device (white paper, section 9.2).

A kernel that computes several nodes gives each an equal share of its time, so that sums over scopes are right.
Invariant: times are whole microseconds of the step's own clock, nodes those of the user's graph.
"""

from __future__ import annotations

from typing import Any

from tfnb.errors import InvalidArgumentError
from tfnb.ir.protos import proto

__all__ = ["serialized_run_metadata"]


def serialized_run_metadata(metadata: Any) -> bytes:
    """A `tf.RunMetadata`, or already the message, as bytes."""
    if hasattr(metadata, "SerializeToString"):
        return bytes(metadata.SerializeToString())
    if not hasattr(metadata, "step_stats"):
        raise InvalidArgumentError(f"needed a tf.RunMetadata, got {type(metadata).__name__}")
    message = proto("config").RunMetadata()
    devices: dict[str, Any] = {}
    for s in metadata.step_stats:
        device = devices.get(s.device)
        if device is None:
            device = devices[s.device] = message.step_stats.dev_stats.add(device=s.device)
        names = list(dict.fromkeys(_users_node(n) for n in s.nodes or (s.name,)))
        took = max(round((s.end_us - s.start_us) / len(names)), 0)
        for name in names:
            device.node_stats.add(
                node_name=name,
                all_start_micros=int(s.start_us),
                op_end_rel_micros=took,
                all_end_rel_micros=took,
                timeline_label=f"{name} = {s.op}()",
            )
    return bytes(message.SerializeToString())


def _users_node(name: str) -> str:
    """The node of the user's graph: a part of a composite op is called `node/part#number`."""
    before, mark, _ = name.partition("#")
    return (before.rpartition("/")[0] or before) if mark else name
