"""Cases of TensorFlow 1.15's operations on numbers."""

from __future__ import annotations

import numpy as np
from cases import SPECIAL, Case, arr, ints

_I = np.int32
_WORDS = np.array([b"a", b"", b"some longer text than sixteen bytes"], object)
_METHOD = np.array(b"farmhash64", object)

CASES = [
    Case("NextAfter", (arr(3, 1), arr(2))),
    Case("NextAfter", (SPECIAL, SPECIAL[::-1].copy()), note="special", grad=False),
    *(
        Case(
            "CumulativeLogsumexp",
            (arr(3, 4), _I(axis)),
            {"exclusive": e, "reverse": r},
            grad=not e,
            rtol=1e-4,
            atol=1e-5,
        )
        for axis, e, r in ((0, False, False), (1, False, True), (-1, True, False), (0, True, True))
    ),
    Case("CumulativeLogsumexp", (np.zeros((2, 0), np.float32), _I(1))),
    # TensorFlow 2 hides it: tf.raw_ops of 1.15 has it
    Case("CompareAndBitpack", (arr(2, 16), np.float32(0.5)), oracle=False),
    Case("CompareAndBitpack", (ints(8), _I(0)), oracle=False),
    Case("CompareAndBitpack", (arr(0, 8), np.float32(0)), oracle=False),
    Case("Fingerprint", (_WORDS, _METHOD)),
    Case("Fingerprint", (ints(3, 2, 5), _METHOD)),
    Case("Fingerprint", (arr(2, 3), _METHOD)),
    Case("Fact", (), oracle=False),
]
