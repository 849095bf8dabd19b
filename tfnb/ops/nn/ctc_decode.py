"""Decoding of class scores of frames into label sequences: by the best class of each frame, or by beam search.

Decoded sequences are sparse matrices of int64 with one row per sequence. Invariant: the last class is the blank, which
separates labels and does not appear in the output.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import NOT_DIFFERENTIABLE, HostCall, Infer, OpDef
from tfnb.ir.record import record
from tfnb.ir.shapes import with_rank
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor, TensorLike, is_tensor_like
from tfnb.ops.nn.ctc import LOWEST, check_lengths, log_softmax_frames
from tfnb.types import DEVICE_FLOATS, Shape, int32

__all__ = ["API", "OPS"]


@record
class GreedyAttrs:
    """`merge_repeated`: frames that repeat a class are one label; `blank_index`: may count from the end if negative."""

    merge_repeated: bool = False
    blank_index: int = -1


@record
class BeamAttrs:
    """`beam_width`: the number of sequences kept from frame to frame; `top_paths`: how many of them are returned.

    `merge_repeated`: repeated labels in the output count once.
    """

    beam_width: int = 100
    top_paths: int = 1
    merge_repeated: bool = True

    def __post_init__(self) -> None:
        if not 1 <= self.top_paths <= self.beam_width:
            raise InvalidArgumentError(
                f"top_paths must be in [1, beam_width = {self.beam_width}], got {self.top_paths}"
            )


def _infer(c: Infer, paths: int) -> tuple[Shape, ...]:
    batch = with_rank(c, 0, 3).as_list()[1]
    with_rank(c, 1, 1).merge_with(Shape((batch,)))
    pairs, values, matrix_shape = Shape((None, 2)), Shape((None,)), Shape((2,))
    return (*(pairs,) * paths, *(values,) * paths, *(matrix_shape,) * paths, Shape((batch, paths)))


def _sparse(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The indices, values and shape of the sparse matrix with these rows."""
    pairs = [(b, i) for b, row in enumerate(rows) for i in range(len(row))]
    indices = np.asarray(pairs, np.int64).reshape(-1, 2)
    values = np.asarray([v for row in rows for v in row], np.int64)
    shape = np.asarray([len(rows), max((len(row) for row in rows), default=0)], np.int64)
    return indices, values, shape


def _host_greedy(call: HostCall, x: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, ...]:
    check_lengths(call, x, lengths)
    classes = x.shape[2]
    blank = call.attrs.blank_index
    if not -classes <= blank < classes:
        raise InvalidArgumentError(f"{call.op.type}: blank_index {blank} is not a class of {classes}", call.op)
    best = x.argmax(axis=2)
    largest = np.take_along_axis(x, best[..., None], axis=2)[..., 0]
    rows = []
    for b, n in enumerate(lengths):
        path = best[:n, b]
        keep = path != blank % classes
        if call.attrs.merge_repeated:
            keep[1:] &= path[1:] != path[:-1]
        rows.append([int(k) for k in path[keep]])
    counts = np.arange(x.shape[0])[:, None] < lengths
    score = -np.where(counts, largest, 0).sum(axis=0, dtype=x.dtype)
    return (*_sparse(rows), score[:, None])


@dataclass
class _Beam:
    """Label sequences as leaves of a tree, best first, with their log probabilities of ending in blank and in a label.

    parents, labels: those of each node of the tree (node 0 is the empty sequence); nodes: the node of each leaf.
    """

    parents: list[int] = field(default_factory=lambda: [-1])
    labels: list[int] = field(default_factory=lambda: [-1])
    children: dict[tuple[int, int], int] = field(default_factory=dict)
    nodes: np.ndarray = field(default_factory=lambda: np.zeros(1, np.int64))
    blank: np.ndarray = field(default_factory=lambda: np.zeros(1))
    label: np.ndarray = field(default_factory=lambda: np.full(1, LOWEST))

    def step(self, log_y: np.ndarray, width: int) -> None:
        """Extends the sequences by one frame, given its log probabilities; the last class is the blank."""
        total = np.logaddexp(self.blank, self.label)
        last = np.array([self.labels[n] for n in self.nodes])
        places = {int(n): i for i, n in enumerate(self.nodes)}
        extensions = total[:, None] + log_y[:-1]
        again = np.nonzero(last >= 0)[0]
        extensions[again, last[again]] = self.blank[again] + log_y[last[again]]
        stay_blank = total + log_y[-1]
        stay_label = np.full_like(total, LOWEST)
        stay_label[again] = self.label[again] + log_y[last[again]]
        for i in again:  # a leaf whose parent is also a leaf can be reached from this parent as well
            parent = places.get(self.parents[int(self.nodes[i])])
            if parent is not None:
                stay_label[i] = np.logaddexp(stay_label[i], extensions[parent, last[i]])
                extensions[parent, last[i]] = -np.inf
        totals = np.concatenate([np.logaddexp(stay_blank, stay_label), extensions.ravel()])
        selected = np.argsort(-totals, kind="stable")[:width]
        selected = selected[totals[selected] > -np.inf]
        old = len(total)
        self.nodes = np.array(
            [self.nodes[k] if k < old else self._child(*divmod(int(k) - old, extensions.shape[1])) for k in selected]
        )
        fresh = selected >= old
        survivors = np.where(fresh, 0, selected)
        self.blank = np.where(fresh, LOWEST, stay_blank[survivors])
        self.label = np.where(fresh, totals[selected], stay_label[survivors])

    def _child(self, leaf: int, label: int) -> int:
        key = (int(self.nodes[leaf]), label)
        if key not in self.children:
            self.children[key] = len(self.parents)
            self.parents.append(key[0])
            self.labels.append(label)
        return self.children[key]

    def paths(self, count: int, merge: bool) -> tuple[list[list[int]], np.ndarray]:
        """Returns the `count` best sequences, and their log probabilities."""
        total = np.logaddexp(self.blank, self.label)
        best = np.argsort(-total, kind="stable")[:count]
        return [self._path(int(self.nodes[i]), merge) for i in best], total[best]

    def _path(self, node: int, merge: bool) -> list[int]:
        labels: list[int] = []
        while node:
            if not (merge and labels and labels[-1] == self.labels[node]):
                labels.append(self.labels[node])
            node = self.parents[node]
        return labels[::-1]


def _host_beam(call: HostCall, x: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, ...]:
    a = call.attrs
    check_lengths(call, x, lengths)
    if x.shape[2] == 0:
        raise InvalidArgumentError(f"{call.op.type}: inputs of shape {x.shape} have no classes", call.op)
    log_y = log_softmax_frames(x)
    rows: list[list[list[int]]] = [[] for _ in range(a.top_paths)]
    scores = np.zeros((x.shape[1], a.top_paths))
    for b, n in enumerate(lengths):
        beam = _Beam()
        for t in range(n):
            beam.step(log_y[t, b], a.beam_width)
        paths, scores_b = beam.paths(a.top_paths, a.merge_repeated)
        if len(paths) < a.top_paths:
            raise InvalidArgumentError(
                f"{call.op.type}: sequence {b} has only {len(paths)} paths, top_paths is {a.top_paths}",
                call.op,
            )
        scores[b] = scores_b
        for k, path in enumerate(paths):
            rows[k].append(path)
    parts = [_sparse(r) for r in rows]
    return (*(p[0] for p in parts), *(p[1] for p in parts), *(p[2] for p in parts), scores.astype(x.dtype))


CTC_GREEDY_DECODER: OpDef[tuple[Tensor, Tensor, Tensor, Tensor]] = OpDef(
    "CTCGreedyDecoder",
    "inputs: T, sequence_length: int32",
    "decoded_indices: int64, decoded_values: int64, decoded_shape: int64, log_probability: T",
    """The sequence of the best class of each frame, without blanks and, with `merge_repeated`, without repetitions.

    inputs: shape (frames, batch, classes). sequence_length: (batch,). decoded_indices (n, 2), decoded_values (n,),
    decoded_shape (2,): a sparse matrix with one row per sequence. log_probability: (batch, 1), minus the sum of the
    best scores. Runs on the host, since the output's size depends on the data. Errors: a length is outside [0,
    frames].""",
    types={"T": DEVICE_FLOATS},
    attrs=GreedyAttrs,
    infer=lambda c: _infer(c, 1),
    host=_host_greedy,
    grad=NOT_DIFFERENTIABLE,
    dynamic=True,
)

CTC_BEAM_SEARCH_DECODER: OpDef[tuple[list[Tensor], list[Tensor], list[Tensor], Tensor]] = OpDef(
    "CTCBeamSearchDecoder",
    "inputs: T, sequence_length: int32",
    "decoded_indices: top_paths*int64, decoded_values: top_paths*int64, decoded_shape: top_paths*int64, "
    "log_probability: T",
    """The `top_paths` most probable label sequences found by a beam search of width `beam_width`.

    The probability of a sequence is summed over its alignments. inputs: shape (frames, batch, classes), scores to which
    softmax is applied; the last class is the blank. sequence_length: (batch,). decoded_indices (n, 2), decoded_values
    (n,), decoded_shape (2,): sparse matrices with one row per sequence, best path first. log_probability: (batch,
    top_paths). Runs on the host, since the output's size depends on the data. Errors: a length is outside [0, frames],
    or fewer than `top_paths` sequences are found.""",
    types={"T": DEVICE_FLOATS},
    attrs=BeamAttrs,
    infer=lambda c: _infer(c, c.attrs.top_paths),
    host=_host_beam,
    grad=NOT_DIFFERENTIABLE,
    dynamic=True,
)


def _inputs(inputs: TensorLike, sequence_length: TensorLike) -> tuple[Any, Any]:
    graph = graph_of((inputs, sequence_length))
    dtype = None if is_tensor_like(sequence_length) else int32
    return graph.to_tensor(inputs), graph.to_tensor(sequence_length, dtype)


def ctc_greedy_decoder(
    inputs: TensorLike,
    sequence_length: TensorLike,
    merge_repeated: bool = True,
    blank_index: int | None = None,
    name: str | None = None,
) -> tuple[list[SparseTensor], Any]:
    """Returns ([a `SparseTensor` of the decoded labels], minus the sum of the best scores, of shape (batch, 1)).

    inputs: (frames, batch, classes). sequence_length: (batch,) int32. See the op CTCGreedyDecoder.
    """
    outputs = CTC_GREEDY_DECODER(
        *_inputs(inputs, sequence_length),
        merge_repeated=merge_repeated,
        blank_index=-1 if blank_index is None else blank_index,
        name=name,
    )
    return [SparseTensor(*outputs[:3])], outputs[3]


def ctc_beam_search_decoder(
    inputs: TensorLike,
    sequence_length: TensorLike,
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
    name: str | None = None,
) -> tuple[list[SparseTensor], Any]:
    """Returns ([a `SparseTensor` for each of the best paths], their log probabilities, of shape (batch, top_paths)).

    inputs: (frames, batch, classes). sequence_length: (batch,) int32. See the op CTCBeamSearchDecoder. Raises
    `InvalidArgumentError` when top_paths exceeds beam_width.
    """
    outputs = CTC_BEAM_SEARCH_DECODER(
        *_inputs(inputs, sequence_length),
        beam_width=beam_width,
        top_paths=top_paths,
        merge_repeated=merge_repeated,
        name=name,
    )
    *paths, probability = outputs
    return [SparseTensor(*path) for path in zip(*paths, strict=True)], probability


def ctc_beam_search_decoder_v2(
    inputs: TensorLike, sequence_length: TensorLike, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[SparseTensor], Any]:
    """Decodes as `ctc_beam_search_decoder` does, without merging repeated labels in the output."""
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, False)


OPS: tuple[OpDef, ...] = (CTC_GREEDY_DECODER, CTC_BEAM_SEARCH_DECODER)
API: dict[str, Any] = {
    "nn.ctc_greedy_decoder": ctc_greedy_decoder,
    "nn.ctc_beam_search_decoder": ctc_beam_search_decoder,
    "nn.ctc_beam_search_decoder_v2": ctc_beam_search_decoder_v2,
}
