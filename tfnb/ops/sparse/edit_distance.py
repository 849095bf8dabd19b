"""Edit distances (Levenshtein) between the sequences of two sparse tensors.

Invariant: the op runs on the host, since the shape of the result depends on the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.record import record
from tfnb.ir.sparse import SparseTensor, SparseTensorValue
from tfnb.ir.tensor import Tensor
from tfnb.types import ALL, Shape, unknown_shape

__all__ = ["API", "EDIT_DISTANCE", "OPS", "edit_distance"]


@record
class EditDistanceAttrs:
    """`normalize`: divide by the length of the truth."""

    normalize: bool = True


def _levenshtein(a: Sequence[Any], b: Sequence[Any]) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (x != y))
    return row[-1]


def _groups(indices: np.ndarray, values: np.ndarray) -> dict[tuple[int, ...], list[Any]]:
    groups: dict[tuple[int, ...], list[Any]] = {}
    for i, v in zip(indices.tolist(), values.tolist(), strict=True):
        groups.setdefault(tuple(i[:-1]), []).append(v)
    return groups


def _host_distance(call: HostCall, *arrays: np.ndarray) -> np.ndarray:
    hi, hv, hs, ti, tv, ts = arrays
    for indices, values, shape in ((hi, hv, hs), (ti, tv, ts)):
        if indices.shape != (values.size, shape.size):
            raise InvalidArgumentError(
                f"indices of shape {indices.shape} for {values.size} values of rank {shape.size}", call.op
            )
    if hs.shape != ts.shape or hs.size < 2:
        raise InvalidArgumentError(f"ranks {hs.size} and {ts.size}; needed one rank >= 2", call.op)
    sizes = np.maximum(hs[:-1], ts[:-1])
    guesses, truths = _groups(hi, hv), _groups(ti, tv)
    out = np.zeros(sizes.tolist(), np.float32)
    for at in {*guesses, *truths}:
        if any(i < 0 or i >= n for i, n in zip(at, sizes.tolist(), strict=True)):
            raise InvalidArgumentError(f"the index {at} is not inside shape {sizes.tolist()}", call.op)
        truth = truths.get(at, [])
        distance = float(_levenshtein(truth, guesses.get(at, [])))
        if call.attrs.normalize:
            distance = distance / len(truth) if truth else (np.inf if distance else 0.0)
        out[at] = distance
    return out


def _distance_shape(c: Infer) -> Shape:
    """The larger of both shapes without the last dimension, as far as they are known."""
    guesses, truths = c.as_shape(2).sizes, c.as_shape(5).sizes
    if not guesses or not truths or len(guesses) != len(truths):
        return unknown_shape
    pairs = zip(guesses[:-1], truths[:-1], strict=True)
    return Shape(tuple(None if a is None or b is None else max(a, b) for a, b in pairs))


EDIT_DISTANCE: OpDef[Tensor] = OpDef(
    "EditDistance",
    inputs="hypothesis_indices: int64, hypothesis_values: T, hypothesis_shape: int64, "
    "truth_indices: int64, truth_values: T, truth_shape: int64",
    outputs="output: float32",
    types={"T": ALL},
    attrs=EditDistanceAttrs,
    doc="""The number of insertions, deletions and replacements that turn each hypothesis into its truth (Levenshtein).

    The inputs are two sparse tensors of the same dtype and rank >= 2 in row-major order, whose last dimension holds the
    sequences. output: float32, the larger of both shapes without the last dimension; with `normalize` divided by the
    truth's length (infinite for an empty truth). Errors: the ranks differ. Runs on the host, since the shape depends
    on the data.""",
    infer=_distance_shape,
    host=_host_distance,
    grad=NOT_DIFFERENTIABLE,
    dynamic=True,
)


def edit_distance(
    hypothesis: SparseTensor | SparseTensorValue,
    truth: SparseTensor | SparseTensorValue,
    normalize: bool = True,
    name: str = "edit_distance",
) -> Tensor:
    """Returns the Levenshtein distances (float32) of the sequences along the last dimension of two sparse tensors.

    hypothesis, truth: SparseTensors of the same dtype and rank. normalize: divide each distance by the length of the
    true sequence. The shape of the result lacks the last dimension; see the op EditDistance.
    """
    h, t = hypothesis, truth
    return EDIT_DISTANCE(
        h.indices,
        h.values,
        h.dense_shape,
        t.indices,
        t.values,
        t.dense_shape,
        normalize=normalize,
        name=name,
    )


OPS: tuple[OpDef, ...] = (EDIT_DISTANCE,)
API: dict[str, Any] = {"edit_distance": edit_distance}
