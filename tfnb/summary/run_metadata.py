"""Run metadata as TensorFlow's message: what ran when, by device (white paper, section 9.2).

Invariant: times are whole microseconds of the step's own clock.
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
        took = max(int(s.end_us - s.start_us), 0)
        for name in s.nodes or (s.name,):
            device.node_stats.add(
                node_name=name,
                all_start_micros=int(s.start_us),
                op_end_rel_micros=took,
                all_end_rel_micros=took,
                timeline_label=f"{name} = {s.op}()",
            )
    return bytes(message.SerializeToString())
