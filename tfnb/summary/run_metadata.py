"""Run metadata as TensorFlow's message: what ran when, by device (white paper, section 9.2).

Invariant: what is not such metadata never gets into a file.
"""

from __future__ import annotations

from typing import Any

from tfnb.errors import InvalidArgumentError

__all__ = ["serialized_run_metadata"]


def serialized_run_metadata(metadata: Any) -> bytes:
    """A `tf.RunMetadata`, ours or the message, as bytes."""
    if not hasattr(metadata, "step_stats") or not hasattr(metadata, "SerializeToString"):
        raise InvalidArgumentError(f"needed a tf.RunMetadata, got {type(metadata).__name__}")
    return bytes(metadata.SerializeToString())
