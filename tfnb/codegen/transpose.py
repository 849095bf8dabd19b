"""Transposing kernels: copies whose innermost dimension is not the one that lies contiguous in the source."""

from __future__ import annotations

from tfnb.codegen.emission import Generated
from tfnb.codegen.group import Group
from tfnb.codegen.program import DeviceFacts

__all__ = ["emit_transpose"]


def emit_transpose(group: Group, facts: DeviceFacts, needed: frozenset[object]) -> Generated | None:
    """The blocked kernel of a group that is one transpose; None when it is something else."""
    return None
