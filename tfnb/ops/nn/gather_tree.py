"""Paths of a beam search, followed from their ends back to the first step (`tf.contrib.seq2seq.gather_tree`).

Invariant: after the first end token of a path all its entries are end tokens.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.shapes import with_rank
from tfnb.ir.tensor import Tensor
from tfnb.types import Shape, int32

__all__ = ["API", "GATHER_TREE", "OPS"]


def _gather_tree(
    call: HostCall, step_ids: np.ndarray, parent_ids: np.ndarray, lengths: np.ndarray, end_token: np.ndarray
) -> np.ndarray:
    if parent_ids.shape != step_ids.shape or lengths.shape != step_ids.shape[1:2]:
        raise InvalidArgumentError(
            f"GatherTree: step_ids {step_ids.shape}, parent_ids {parent_ids.shape} and max_sequence_lengths "
            f"{lengths.shape} do not fit",
            call.op,
        )
    steps, batch, width = step_ids.shape
    beams = np.full_like(step_ids, end_token)
    row = np.arange(batch)[:, None]
    beam = np.broadcast_to(np.arange(width), (batch, width)).copy()
    for step in range(steps - 1, -1, -1):
        inside = (step < lengths)[:, None]
        if ((beam < 0) | (beam >= width))[inside[:, 0]].any():
            raise InvalidArgumentError(f"GatherTree: a parent of step {step} is not one of {width} beams", call.op)
        safe = np.where(inside, beam, 0)
        beams[step] = np.where(inside, step_ids[step][row, safe], beams[step])
        beam = np.where(inside, parent_ids[step][row, safe], beam)
    ended = np.zeros((batch, width), bool)
    for step in range(steps):
        beams[step][ended] = end_token
        ended |= beams[step] == end_token
    return beams


def _shape(c: Infer) -> Shape:
    return with_rank(c, 0, 3)


GATHER_TREE: OpDef[Tensor] = OpDef(
    "GatherTree",
    "step_ids: T, parent_ids: T, max_sequence_lengths: int32, end_token: T",
    "beams: T",
    "The sequences of a beam search.\n\nstep_ids, parent_ids: [steps, batch, beams], the token of each step and the "
    "beam of the step before. max_sequence_lengths: [batch]. beams: [steps, batch, beams], the tokens along each path, "
    "and `end_token` behind its end. Errors: InvalidArgumentError for a parent that is not a beam. Host only.",
    types={"T": (int32,)},
    infer=_shape,
    host=_gather_tree,
    grad=NOT_DIFFERENTIABLE,
    api="contrib.seq2seq.gather_tree",
)

OPS: tuple[OpDef, ...] = (GATHER_TREE,)
API: dict[str, Any] = {}
