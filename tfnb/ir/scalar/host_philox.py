"""Philox-4x32-10 (Salmon et al., SC'11): the counter-based generator of all random ops, by NumPy.

The generator of `kernels_cl/lib/philox.clh` computes the same words, so a seed gives equal numbers on every device.
Invariant: a word depends on key and counter only.
"""

from __future__ import annotations

import numpy as np

__all__ = ["philox_4x32"]

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = 0x9E3779B9, 0xBB67AE85
_MASK = np.uint64(0xFFFFFFFF)


def philox_4x32(key0: np.ndarray, key1: np.ndarray, ctr0: np.ndarray, ctr1: np.ndarray) -> tuple[np.ndarray, ...]:
    """Returns four arrays of uint32 words, for the counter (ctr0, ctr1, 0, 0); the arguments broadcast."""
    k0, k1, c0, c1 = np.broadcast_arrays(*(np.asarray(x, np.uint64) for x in (key0, key1, ctr0, ctr1)))
    c2 = c3 = np.zeros_like(c0)
    for _ in range(10):
        p0, p1 = _M0 * c0, _M1 * c2
        c0, c1, c2, c3 = (
            (p1 >> np.uint64(32)) ^ c1 ^ k0,
            p1 & _MASK,
            (p0 >> np.uint64(32)) ^ c3 ^ k1,
            p0 & _MASK,
        )
        k0, k1 = (k0 + np.uint64(_W0)) & _MASK, (k1 + np.uint64(_W1)) & _MASK
    return tuple(c.astype(np.uint32) for c in (c0, c1, c2, c3))
