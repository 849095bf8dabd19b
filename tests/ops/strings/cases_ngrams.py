"""Cases of n-grams."""

from __future__ import annotations

import numpy as np
from cases import Case

_DATA = np.array([b"a", b"b", b"c", b"d", b"e", b"f"], object)
_BASE = {"separator": "|", "left_pad": "L", "right_pad": "R"}


def _case(splits: list[int], widths: list[int], pad: int, short: bool, dtype: type = np.int64) -> Case:
    attrs = {**_BASE, "ngram_widths": widths, "pad_width": pad, "preserve_short_sequences": short}
    return Case("StringNGrams", (_DATA, np.array(splits, dtype)), attrs)


CASES = [
    _case([0, 4, 4, 6], [2], 0, False),
    _case([0, 4, 4, 6], [3, 1], -1, False, np.int32),
    _case([0, 4, 5, 6], [3], 0, True),
    _case([0, 1, 1, 6], [5], 1, True),
    _case([0, 2, 6], [4, 2], 2, False),
    Case(
        "StringNGrams",
        (np.array([], object), np.array([0, 0], np.int64)),
        {**_BASE, "ngram_widths": [2], "pad_width": -1, "preserve_short_sequences": True},
    ),
]
