"""Cases of the pure op among those that save; the others have tests/ops/checkpoint/test_save_restore.py."""

from __future__ import annotations

import numpy as np
from cases import Case

CASES = [
    Case(
        "ShardedFilename",
        (np.array(b"a/b", object), np.array(1, np.int32), np.array(4, np.int32)),
        oracle=False,
        device=False,
    )
]
