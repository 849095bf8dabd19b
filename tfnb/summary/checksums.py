"""CRC32C of many records at once.

A CRC is linear: records of one length that differ from a template in a few bytes have the template's CRC, changed by
what each differing byte contributes at its distance from the end. Invariant: equals the library's CRC, row by row.
"""

from __future__ import annotations

import numpy as np

__all__ = ["contributions", "crcs_like"]

_POLYNOMIAL = 0x82F63B78


def _table() -> np.ndarray:
    """What a byte contributes when it is the last."""
    values = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        values = (values >> np.uint32(1)) ^ np.where(values & 1, np.uint32(_POLYNOMIAL), np.uint32(0))
    return values.astype(np.uint32)


_tables = [_table()]


def contributions(distance: int) -> np.ndarray:
    """uint32[256]: what a byte contributes to a CRC when `distance` bytes follow it."""
    while len(_tables) <= distance:
        last = _tables[-1]
        _tables.append((last >> np.uint32(8)) ^ _tables[0][last & np.uint32(255)])
    return _tables[distance]


def crcs_like(rows: np.ndarray, template: np.ndarray, crc: int, columns: np.ndarray) -> np.ndarray:
    """uint32[n]: the CRC32C of each row of uint8[n, length].

    template: a uint8 row whose CRC32C is `crc`; only in `columns` may a row differ from it.
    """
    found = np.full(len(rows), crc, np.uint32)
    length = rows.shape[1]
    for c in columns:
        differs = rows[:, c] ^ template[c]
        if differs.any():
            found ^= contributions(length - 1 - int(c))[differs]
    return found
