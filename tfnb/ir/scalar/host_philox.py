"""Philox-4x32-10 (Salmon et al., SC'11): the counter-based generator of all random ops, by NumPy.

The generator of `kernels_cl/lib/philox.clh` computes the same words, so a seed gives equal numbers on every device.
Invariant: a word depends on key and counter only.
"""

from __future__ import annotations

import sys

import numpy as np

__all__ = ["philox_4x32"]

_FACTORS = np.array([0xD2511F53, 0xCD9E8D57], np.uint64)
_KEY_STEPS = np.outer(np.arange(10, dtype=np.uint64), np.array([0x9E3779B9, 0xBB67AE85], np.uint64)).astype(np.uint32)
_LOW, _HIGH = (0, 1) if sys.byteorder == "little" else (1, 0)


def philox_4x32(key0: np.ndarray, key1: np.ndarray, ctr0: np.ndarray, ctr1: np.ndarray) -> tuple[np.ndarray, ...]:
    """Returns four arrays of uint32 words, for the counter (ctr0, ctr1, 0, 0); the arguments broadcast.

    Two words go through a round together, because for short arrays the calls of NumPy take longer than their work.
    """
    words = [np.asarray(x, np.uint32) for x in (key0, key1, ctr0, ctr1)]
    shape, key_shape = np.broadcast(*words).shape, np.broadcast(*words[:2]).shape
    ones = (1,) * len(shape)
    key = np.empty((2, *ones[len(key_shape) :], *key_shape), np.uint32)
    even, odd = np.zeros((2, 2, *shape), np.uint32)  # words 0 and 2, words 1 and 3
    key[0], key[1], even[0], odd[0] = words
    round_keys = key + _KEY_STEPS.reshape(10, 2, *ones)
    factors = _FACTORS.reshape(2, *ones)
    for round_key in round_keys:
        halves = np.multiply(factors, even, dtype=np.uint64).view(np.uint32).reshape(2, *shape, 2)[::-1]
        even, odd = halves[..., _HIGH] ^ odd ^ round_key, halves[..., _LOW]
    return even[0], odd[0].copy(), even[1], odd[1].copy()
