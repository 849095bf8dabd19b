"""Cases of the summary ops."""

from __future__ import annotations

from typing import Any

import numpy as np
from cases import Case, arr, ints

_A = np.array(b"a", object)


def _scalar(tag: bytes) -> np.ndarray:
    """A Summary message: field 1 (value) of tag and simple_value 1.5."""
    value = b"\x0a" + bytes([len(tag)]) + tag + b"\x15\x00\x00\xc0\x3f"
    return np.array(b"\x0a" + bytes([len(value)]) + value, object)


def _case(*args: Any) -> Case:
    """Strings never reach a device; TensorFlow is asked in tests/oracle/train/test_summary.py."""
    return Case(*args, oracle=False, device=False, float32_only=True)


CASES = [
    _case("ScalarSummary", (_A, np.array(1.5, np.float32))),
    _case("ScalarSummary", (np.array([b"a", b"b"], object), ints(2))),
    _case("HistogramSummary", (_A, arr(3, 4))),
    _case("HistogramSummary", (_A, ints(5, dtype=np.int64))),
    _case("HistogramSummary", (_A, np.zeros(0, np.float32))),
    _case("ImageSummary", (_A, arr(2, 3, 4, 3))),
    _case("ImageSummary", (_A, ints(2, 3, 4, 1, lo=0, dtype=np.uint8)), {"max_images": 1}),
    _case("AudioSummary", (_A, arr(2, 9)), {"sample_rate": 8000.0}),
    _case("AudioSummaryV2", (_A, arr(2, 9, 2), np.array(8000, np.float32))),
    _case("AudioSummaryV2", (_A, arr(2, 9), np.array(8000, np.float32)), {"max_outputs": 1}),
    _case("TensorSummary", (ints(2, 3),)),
    _case("TensorSummaryV2", (_A, np.array([[b"x", b""]], object), np.array(b"", object))),
    _case("TensorSummaryV2", (_A, arr(2, 0), np.array(b"\x12\x01x", object))),
    _case("MergeSummary", ([_scalar(b"a"), _scalar(b"bc")],)),
]
