"""Cases of the block cells; test_recurrent_blocks.py has their values of TensorFlow 1.15.5."""

from __future__ import annotations

import numpy as np
from cases import Case, arr

_STATE = (2, 4)
_CELL = (arr(2, 3), arr(*_STATE), arr(*_STATE), arr(7, 16), arr(4), arr(4), arr(4), arr(16))
_BLOCK = (np.array(2, np.int64), arr(3, 2, 3), *_CELL[1:])
_GRU = (arr(2, 3), arr(*_STATE), arr(7, 8), arr(7, 4), arr(8), arr(4))
_ONLY = {"grad": False, "oracle": False, "float32_only": True}

CASES = [
    Case("LSTMBlockCell", _CELL, **_ONLY),
    Case("LSTMBlockCell", _CELL, {"use_peephole": True}, **_ONLY),
    Case("LSTMBlockCellGrad", (*_CELL, *(arr(*_STATE) for _ in range(8))), {"use_peephole": True}, **_ONLY),
    Case("BlockLSTM", _BLOCK, **_ONLY),
    Case("BlockLSTMV2", _BLOCK, **_ONLY),
    Case("BlockLSTMGrad", (*_BLOCK, *(arr(3, *_STATE) for _ in range(9))), {"use_peephole": False}, **_ONLY),
    Case("BlockLSTMGradV2", (*_BLOCK, *(arr(3, *_STATE) for _ in range(9))), {"use_peephole": True}, **_ONLY),
    Case("GRUBlockCell", _GRU, **_ONLY),
    Case("GRUBlockCellGrad", (*_GRU, *(arr(*_STATE) for _ in range(4))), **_ONLY),
]
