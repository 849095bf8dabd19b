"""Connectionist temporal classification (CTC): the loss of label sequences without alignment to their frames.

The probability of a sequence is the sum over all alignments. It is computed in logarithms, by dynamic programming over
the labels with blanks between them. Invariant: at each frame, the sum over states of forward times backward probability
is the probability of the whole sequence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tfnb.errors import InvalidArgumentError, ShapeError
from tfnb.ir.default import graph_of
from tfnb.ir.opdef import HostCall, Infer, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.record import record
from tfnb.ir.shapes import with_rank
from tfnb.ir.sparse import SparseTensor
from tfnb.ir.tensor import Tensor, TensorLike, is_tensor_like
from tfnb.ops.array.shape_ops import EXPAND_DIMS, PREVENT_GRADIENT
from tfnb.ops.array.transpose_pad_tile import TRANSPOSE
from tfnb.types import DEVICE_FLOATS, Shape, int32

__all__ = ["API", "CTC_LOSS", "OPS", "log_softmax_frames"]

LOWEST = -1e300  # represents log 0, since infinities would lead to NaN


@record
class CTCLossAttrs:
    """`preprocess_collapse_repeated`: repeated labels count once; `ctc_merge_repeated`: frames that repeat a label
    are one label; `ignore_longer_outputs_than_inputs`: a sequence with too few frames has loss 0."""

    preprocess_collapse_repeated: bool = False
    ctc_merge_repeated: bool = True
    ignore_longer_outputs_than_inputs: bool = False


def _infer(c: Infer) -> tuple[Shape, Shape]:
    x = with_rank(c, 0, 3)
    with_rank(c, 1, 2)
    with_rank(c, 2, 1)
    batch = Shape((x.as_list()[1],))
    if not batch.is_compatible_with(with_rank(c, 3, 1)):
        raise ShapeError(
            f"{c.op_name}: inputs of shape {x} (frames, batch, classes) need {batch} lengths, got {c.shapes[3]}"
        )
    batch = batch.merge_with(c.shapes[3])
    dims = x.as_list()
    return batch, Shape((dims[0], batch.as_list()[0], dims[2]))


def log_softmax_frames(x: np.ndarray) -> np.ndarray:
    """Returns the log softmax over the classes, in float64; a class of probability 0 gets a very low finite number."""
    wide_x = np.maximum(x.astype(np.float64), LOWEST)
    shifted = wide_x - wide_x.max(axis=-1, keepdims=True, initial=LOWEST)
    total = np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return np.asarray(np.maximum(shifted - total, LOWEST))


def _bad(call: HostCall, message: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"{call.op.type}: {message}", call.op)


def check_lengths(call: HostCall, x: np.ndarray, lengths: np.ndarray) -> None:
    """Raises `InvalidArgumentError` unless each sequence has a length in [0, frames]."""
    if lengths.shape != (x.shape[1],):
        raise _bad(call, f"{x.shape[1]} sequences, but sequence_length has shape {lengths.shape}")
    wrong = (lengths < 0) | (lengths > x.shape[0])
    if wrong.any():
        b = int(np.argmax(wrong))
        raise _bad(call, f"sequence_length[{b}] is {int(lengths[b])}, must be in [0, {x.shape[0]}]")


def _labels(call: HostCall, indices: np.ndarray, values: np.ndarray, batch: int, classes: int) -> list[np.ndarray]:
    """The label sequence of each batch entry. Raises `InvalidArgumentError` for malformed sequences."""
    if indices.shape != (values.size, 2):
        raise _bad(call, f"{values.size} labels, but labels_indices has shape {indices.shape}")
    rows = indices[:, 0]
    if values.size and (rows.min() < 0 or rows.max() >= batch):
        raise _bad(call, f"labels_indices names a sequence outside [0, {batch})")
    order = np.lexsort((indices[:, 1], rows))
    if not np.array_equal(order, np.arange(values.size)):
        raise _bad(call, "labels_indices must be in row-major order")
    sequences = []
    for b in range(batch):
        sequence = values[rows == b]
        if not sequence.size:
            raise _bad(call, f"sequence {b} has no labels")
        if sequence.min() < 0:
            raise _bad(call, f"sequence {b} has the negative label {int(sequence.min())}")
        null = sequence >= classes - 1
        if null.any():
            sequence = sequence[: int(np.argmax(null))]
            if not null[sequence.size :].all():
                raise _bad(call, f"sequence {b} has a label after one that is not below {classes - 1}")
        if call.attrs.preprocess_collapse_repeated and sequence.size:
            sequence = sequence[np.concatenate([[True], sequence[1:] != sequence[:-1]])]
        sequences.append(sequence)
    return sequences


def _log_sum(*parts: np.ndarray) -> np.ndarray:
    """The logarithm of the sum of exp(parts), without overflow."""
    largest = np.maximum.reduce(parts)
    total = np.exp(parts[0] - largest)
    for p in parts[1:]:
        total += np.exp(p - largest)
    return np.asarray(largest + np.log(total))


def _shifted(a: np.ndarray, by: int) -> np.ndarray:
    """The columns shifted by `by`; the columns that enter have probability 0."""
    out = np.full_like(a, LOWEST)
    if by > 0:
        out[:, by:] = a[:, :-by]
    else:
        out[:, :by] = a[:, -by:]
    return out


@dataclass(frozen=True)
class _Lattice:
    """The states of all sequences: blank, label, blank, label, ..., blank; padded to the longest sequence.

    labels: (batch, states). ends: the number of the last state. stay, skip: log 0 or log 1, for whether a state may be
    repeated, and reached from two states before. lengths: the numbers of frames.
    """

    labels: np.ndarray
    ends: np.ndarray
    stay: np.ndarray
    skip: np.ndarray
    lengths: np.ndarray

    @staticmethod
    def of(labels: list[np.ndarray], lengths: np.ndarray, blank: int, merge: bool) -> _Lattice:
        states = 2 * max((len(sequence) for sequence in labels), default=0) + 1
        extended = np.full((len(labels), states), blank, np.int64)
        for b, sequence in enumerate(labels):
            extended[b, 1 : 2 * len(sequence) : 2] = sequence
        previous = np.full_like(extended, blank)
        previous[:, 2:] = extended[:, :-2]
        may_skip = (extended != blank) & ((extended != previous) if merge else True)
        may_skip[:, :2] = False
        may_stay = (extended == blank) | merge
        ends = np.array([2 * len(sequence) for sequence in labels], np.int64)
        stay_log, skip_log = (np.where(m, 0.0, LOWEST) for m in (may_stay, may_skip))
        return _Lattice(extended, ends, stay_log, skip_log, lengths)

    def emitted(self, log_y: np.ndarray) -> np.ndarray:
        """Returns the log probability of each state in each frame, of shape (frames, batch, states).

        It is log 0 past a sequence's end.
        """
        log_p = np.take_along_axis(log_y, self.labels[None], axis=2)
        past = np.arange(self.labels.shape[1]) > self.ends[:, None]
        return np.where(past[None], LOWEST, log_p)

    def forward(self, emitted: np.ndarray) -> np.ndarray:
        """Returns the log probabilities that the frames up to and including t end in each state."""
        alpha = np.full(emitted.shape, LOWEST)
        if len(alpha):
            alpha[0, :, :2] = emitted[0, :, :2]
        for t in range(1, len(alpha)):
            a = alpha[t - 1]
            come = _log_sum(a + self.stay, _shifted(a, 1), _shifted(a, 2) + self.skip)
            alpha[t] = np.maximum(come + emitted[t], LOWEST)
        return alpha

    def backward(self, emitted: np.ndarray) -> np.ndarray:
        """Returns the log probabilities of the frames after t, given the state in frame t."""
        beta = np.full(emitted.shape, LOWEST)
        number = np.arange(self.labels.shape[1])
        last = np.where((number == self.ends[:, None]) | (number == self.ends[:, None] - 1), 0.0, LOWEST)
        for t in reversed(range(len(beta))):
            if t + 1 < len(beta):
                b = beta[t + 1] + emitted[t + 1]
                go = _log_sum(b + self.stay, _shifted(b, -1), _shifted(b + self.skip, -2))
                beta[t] = np.maximum(go, LOWEST)
            beta[t] = np.where((self.lengths == t + 1)[:, None], last, beta[t])
        return beta


def _host(
    call: HostCall, x: np.ndarray, indices: np.ndarray, values: np.ndarray, lengths: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    frames, batch, classes = x.shape
    check_lengths(call, x, lengths)
    if not batch:
        raise _bad(call, "batch_size must not be 0")
    if classes < 1:
        raise _bad(call, "there must be at least the class blank")
    labels = _labels(call, indices, values, batch, classes)
    short = np.array([len(sequence) > n for sequence, n in zip(labels, lengths, strict=True)], bool)
    if short.any():
        b = int(np.argmax(short))
        if not call.attrs.ignore_longer_outputs_than_inputs:
            raise _bad(call, f"sequence {b} has {len(labels[b])} labels, but only {int(lengths[b])} frames")
        labels = [sequence[:0] if s else sequence for sequence, s in zip(labels, short, strict=True)]
    lattice = _Lattice.of(labels, lengths, classes - 1, call.attrs.ctc_merge_repeated)
    log_y = log_softmax_frames(x)
    emitted = lattice.emitted(log_y)
    alpha, beta = lattice.forward(emitted), lattice.backward(emitted)
    log_p = np.zeros(batch)
    if frames:
        first = alpha[0] + beta[0]
        largest = np.maximum(first.max(axis=1), LOWEST)
        total = largest + np.log(np.exp(first - largest[:, None]).sum(axis=1))
        log_p = np.where(lengths > 0, total, 0)
    none = log_p <= LOWEST / 2
    gradient = np.exp(log_y)
    share = np.exp(np.minimum(alpha + beta - np.where(none, np.inf, log_p)[None, :, None], 0.0))
    number = np.arange(batch)[:, None]
    for t in range(frames):
        np.subtract.at(gradient[t], (number, lattice.labels), share[t])
    counts = (np.arange(frames)[:, None] < lengths) & ~short
    loss = np.where(short, 0.0, np.where(none, np.inf, -log_p))
    return loss.astype(x.dtype), np.where(counts[..., None], gradient, 0).astype(x.dtype)


def _grad(op: Operation, dloss: Tensor, _: Tensor) -> tuple[Tensor, None, None, None]:
    slope = PREVENT_GRADIENT(op.outputs[1], message="CTCLoss: the gradient of its gradient is not there")
    return EXPAND_DIMS(EXPAND_DIMS(dloss, 0), -1) * slope, None, None, None


CTC_LOSS: OpDef[tuple[Tensor, Tensor]] = OpDef(
    "CTCLoss",
    "inputs: T, labels_indices: int64, labels_values: int32, sequence_length: int32",
    "loss: T, gradient: T",
    """-log of the probability of label sequences, summed over their alignments with frames, and its gradient.

    inputs: shape (frames, batch, classes), scores to which softmax is applied; the last class is the blank.
    labels_indices (n, 2), labels_values (n,): a sparse matrix with one row of labels per sequence. sequence_length:
    (batch,), the numbers of frames to use. loss: (batch,), infinite where no alignment exists. gradient: shape of
    inputs. Runs on the host, since malformed labels must be reported. Errors: a sequence has no labels, a negative
    label or more labels than frames (unless `ignore_longer_outputs_than_inputs`, which makes the loss 0), or a length
    is outside [0, frames]. There is no second derivative.""",
    types={"T": DEVICE_FLOATS},
    attrs=CTCLossAttrs,
    infer=_infer,
    host=_host,
    grad=_grad,
)


def ctc_loss(
    labels: TensorLike | None = None,
    inputs: TensorLike | None = None,
    sequence_length: TensorLike | None = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """Returns the loss of connectionist temporal classification, one number per sequence; see the op CTCLoss.

    labels: a `SparseTensor` of int32, one row of labels per sequence. inputs (`logits`): (frames, batch, classes)
    scores, or (batch, frames, classes) unless `time_major`. sequence_length: (batch,) int32. The result has shape
    (batch,). The argument order of TensorFlow 0.x, with `inputs` first, is recognised. Raises `InvalidArgumentError`
    when an argument is missing or the labels are not sparse.
    """
    scores = logits if inputs is None else inputs
    if not isinstance(labels, SparseTensor) and isinstance(scores, SparseTensor):
        labels, scores = scores, labels
    if not isinstance(labels, SparseTensor) or scores is None or sequence_length is None:
        raise InvalidArgumentError("ctc_loss needs labels as a SparseTensor, inputs and sequence_length")
    graph = graph_of((scores, labels.values))
    x = graph.to_tensor(scores)
    if not time_major:
        x = TRANSPOSE(x, np.asarray([1, 0, 2], np.int32))
    lengths = graph.to_tensor(sequence_length, None if is_tensor_like(sequence_length) else int32)
    return CTC_LOSS(
        x,
        labels.indices,
        labels.values,
        lengths,
        preprocess_collapse_repeated=preprocess_collapse_repeated,
        ctc_merge_repeated=ctc_merge_repeated,
        ignore_longer_outputs_than_inputs=ignore_longer_outputs_than_inputs,
        name=name,
    )[0]


OPS: tuple[OpDef, ...] = (CTC_LOSS,)
API: dict[str, Any] = {"nn.ctc_loss": ctc_loss}
