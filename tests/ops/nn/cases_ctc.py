"""Cases of connectionist temporal classification: loss and decoders."""

from __future__ import annotations

import numpy as np
from cases import Case, arr

_ROWS = np.array([[0, 0], [1, 0], [1, 1], [2, 0]], np.int64)


def _loss(labels: list[int], lengths: list[int], **attrs: bool) -> Case:
    inputs = (arr(4, 3, 5), _ROWS, np.array(labels, np.int32), np.array(lengths, np.int32))
    # the gradient is measured in test_ctc.py: its own one is refused; TensorFlow's float64 is no better than float32
    return Case("CTCLoss", inputs, attrs, grad=False, device=False, float32_only=True, rtol=1e-4, atol=1e-5)


def _decoded(op: str, lengths: list[int], oracle: bool = True, **attrs: object) -> Case:
    inputs = (arr(6, len(lengths), 4), np.array(lengths, np.int32))
    return Case(op, inputs, attrs, device=False, oracle=oracle, float32_only=True, atol=1e-5)


CASES: tuple[Case, ...] = (
    _loss([0, 1, 1, 2], [4, 4, 4]),
    _loss([0, 1, 3, 2], [4, 3, 1]),
    _loss([0, 1, 1, 2], [4, 2, 1]),
    _loss([0, 1, 1, 2], [4, 3, 1], preprocess_collapse_repeated=True),
    _loss([0, 1, 1, 2], [4, 2, 1], ctc_merge_repeated=False),
    _loss([0, 1, 4, 2], [4, 2, 1]),
    _loss([0, 1, 1, 2], [3, 1, 2], ignore_longer_outputs_than_inputs=True),
    _decoded("CTCGreedyDecoder", [6, 3, 0], merge_repeated=True),
    _decoded("CTCGreedyDecoder", [6, 3, 0], merge_repeated=False),
    # A narrow beam: TensorFlow may find another, less probable last path (2 of 80 random inputs).
    _decoded("CTCBeamSearchDecoder", [6, 3], oracle=False, beam_width=4, top_paths=3, merge_repeated=False),
    _decoded("CTCBeamSearchDecoder", [6, 3], beam_width=12, top_paths=3, merge_repeated=False),
    _decoded("CTCBeamSearchDecoder", [6, 5, 1], beam_width=30, top_paths=2, merge_repeated=True),
)
