"""Run metadata as TensorFlow's message: which node ran when on which device (white paper, section 9.2).

Invariant: an object of another kind is never written to a file.
"""

from __future__ import annotations

from typing import Any, Protocol

from tfnb.errors import InvalidArgumentError

__all__ = ["SupportsRunMetadata", "serialized_run_metadata"]


class SupportsRunMetadata(Protocol):
    """A `tf.RunMetadata` or the protocol buffer message of that name."""

    @property
    def step_stats(self) -> Any: ...

    def SerializeToString(self) -> bytes: ...


def serialized_run_metadata(metadata: SupportsRunMetadata) -> bytes:
    """Returns the serialized message of run metadata. Raises `InvalidArgumentError` for an object of another kind."""
    if not hasattr(metadata, "step_stats") or not hasattr(metadata, "SerializeToString"):
        raise InvalidArgumentError(f"needed a tf.RunMetadata, got {type(metadata).__name__}")
    return bytes(metadata.SerializeToString())
