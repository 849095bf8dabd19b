"""Candidate samplers that learn their distribution, or return all classes without drawing (OSDI'16, section 4.2).

A learning sampler counts the true classes of its inputs, starting with one per class, and draws in proportion to the
counts. Invariant: a draw uses the counts before it; the counts persist as a resource of the session.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.record import record
from tfnb.ir.shapes import with_rank
from tfnb.ir.tensor import Tensor, TensorLike
from tfnb.ops.random.candidate_samplers import (
    SAMPLER_DOC,
    SamplerAttrs,
    classes_exist,
    infer_sampler,
    sampler_function,
    sampler_kernel,
)
from tfnb.ops.random.functions import seeds_for
from tfnb.types import Shape, int64

__all__ = ["API", "OPS"]


@record
class AllAttrs:
    """`num_true`: classes per example; `num_sampled`: the number of classes."""

    num_true: int = 1
    num_sampled: int = 1
    unique: bool = True
    seed: int = 0
    seed2: int = 0

    def __post_init__(self) -> None:
        if min(self.num_true, self.num_sampled) < 1:
            raise InvalidArgumentError(
                f"num_true {self.num_true} and num_sampled {self.num_sampled} must be at least 1"
            )


class Counts:
    """The counts of each class; all methods are thread-safe."""

    def __init__(self, classes: int) -> None:
        self._lock = threading.Lock()
        self._seen = np.ones(classes, np.int64)

    def now(self) -> np.ndarray:
        with self._lock:
            return self._seen.copy()

    def see(self, classes: np.ndarray) -> None:
        with self._lock:
            np.add.at(self._seen, classes.reshape(-1), 1)


def _counts(call: HostCall) -> Counts:
    """The counts of the node; new ones outside a session."""
    n = call.attrs.range_max
    if call.resources is None:
        return Counts(n)
    resource = call.resources.get("", str(call.op.name), lambda: Counts(n))
    if not isinstance(resource, Counts):
        raise InvalidArgumentError(
            f"{call.op.type}: the name {call.op.name} is taken by a {type(resource).__name__}", call.op
        )
    return resource


def _host_learned(call: HostCall, true_classes: np.ndarray) -> Any:
    n = call.attrs.range_max
    if not classes_exist(true_classes, n):  # there are no counts to which it could be added
        bad = (true_classes < 0) | (true_classes >= n)
        raise InvalidArgumentError(f"{call.op.type}: the class {int(true_classes[bad][0])} is not in [0, {n})", call.op)
    counts = _counts(call)
    counts_now = counts.now()
    ends = np.cumsum(counts_now, dtype=np.float64)

    def distribution(_: HostCall) -> tuple[Callable[..., Any], Callable[..., Any]]:
        return (
            lambda u: np.minimum(np.searchsorted(ends, u * ends[-1], side="right"), len(counts_now) - 1),
            lambda k: counts_now[k] / ends[-1],
        )

    outputs = sampler_kernel(distribution)(call, true_classes)
    counts.see(true_classes)
    return outputs


def _learned(name: str, doc: str) -> OpDef[tuple[Tensor, Tensor, Tensor]]:
    return OpDef(
        name,
        "true_classes: int64",
        "sampled_candidates: int64, true_expected_count: float32, sampled_expected_count: float32",
        f"{doc}{SAMPLER_DOC} A class is outside [0, range_max). Runs on the host.",
        attrs=SamplerAttrs,
        infer=infer_sampler,
        host=_host_learned,
        grad=NOT_DIFFERENTIABLE,
        stateful=True,
    )


LEARNED_UNIGRAM_CANDIDATE_SAMPLER = _learned(
    "LearnedUnigramCandidateSampler",
    "Draws each class in proportion to one plus its count among the `true_classes` of earlier steps.",
)
THREAD_UNSAFE_UNIGRAM_CANDIDATE_SAMPLER = _learned(
    "ThreadUnsafeUnigramCandidateSampler",
    "The same as LearnedUnigramCandidateSampler; in TensorFlow a faster, less thread-safe form.",
)


def _host_all(call: HostCall, true_classes: np.ndarray) -> tuple[np.ndarray, ...]:
    n = call.attrs.num_sampled
    return (
        np.arange(n, dtype=np.int64),
        np.ones(true_classes.shape, np.float32),
        np.ones(n, np.float32),
    )


def _infer_all(c: Infer) -> tuple[Shape, ...]:
    classes = with_rank(c, 0, 2).as_list()
    a = c.attrs
    if classes[1] not in (None, a.num_true):
        raise ShapeError(f"{c.op_name}: true_classes has shape {c.shapes[0]}, num_true is {a.num_true}")
    return Shape((a.num_sampled,)), Shape((classes[0], a.num_true)), Shape((a.num_sampled,))


ALL_CANDIDATE_SAMPLER: OpDef[tuple[Tensor, Tensor, Tensor]] = OpDef(
    "AllCandidateSampler",
    "true_classes: int64",
    "sampled_candidates: int64, true_expected_count: float32, sampled_expected_count: float32",
    """All classes 0, ..., num_sampled - 1, each with expected count 1, to compare sampled losses with full ones.

    true_classes: int64, shape (batch, num_true). sampled_candidates: int64, shape (num_sampled,). true_expected_count:
    float32, shape (batch, num_true); sampled_expected_count: float32, shape (num_sampled,); ones. Runs on the host.
    Errors: a class is outside [0, num_sampled).""",
    attrs=AllAttrs,
    infer=_infer_all,
    host=_host_all,
    grad=NOT_DIFFERENTIABLE,
)


def all_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns all classes 0, ..., num_sampled - 1, each with expected count 1; see the op AllCandidateSampler."""
    graph = graph_of((true_classes,))
    return ALL_CANDIDATE_SAMPLER(
        graph.to_tensor(true_classes, int64),
        num_true=int(num_true),
        num_sampled=int(num_sampled),
        unique=bool(unique),
        name=name,
        **seeds_for(graph, seed),
    )


OPS: tuple[OpDef, ...] = (
    LEARNED_UNIGRAM_CANDIDATE_SAMPLER,
    THREAD_UNSAFE_UNIGRAM_CANDIDATE_SAMPLER,
    ALL_CANDIDATE_SAMPLER,
)
API: dict[str, Any] = {
    "nn.learned_unigram_candidate_sampler": sampler_function(
        LEARNED_UNIGRAM_CANDIDATE_SAMPLER, "learned_unigram_candidate_sampler"
    ),
    "nn.all_candidate_sampler": all_candidate_sampler,
}
