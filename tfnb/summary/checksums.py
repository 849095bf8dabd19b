"""CRC32C checksums of many records at once.

A CRC is linear: if records of one length differ from a template in a few bytes, their CRC is that of the template,
changed by a contribution of each differing byte that depends on its distance from the end. Invariant: the results equal
those of the CRC library, row by row.
"""

from __future__ import annotations

import numpy as np

__all__ = ["contributions", "crcs_like"]

_POLYNOMIAL = 0x82F63B78


def _table() -> np.ndarray:
    """Returns the contribution of each byte value at the last position."""
    values = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        values = (values >> np.uint32(1)) ^ np.where(values & 1, np.uint32(_POLYNOMIAL), np.uint32(0))
    return values.astype(np.uint32)


_tables = [_table()]


def contributions(distance: int) -> np.ndarray:
    """Returns the contribution of each byte value to a CRC when `distance` bytes follow it, as uint32[256]."""
    while len(_tables) <= distance:
        last = _tables[-1]
        _tables.append((last >> np.uint32(8)) ^ _tables[0][last & np.uint32(255)])
    return _tables[distance]


def crcs_like(rows: np.ndarray, template: np.ndarray, crc: int, columns: np.ndarray) -> np.ndarray:
    """Returns the CRC32C of each row of `rows`, as uint32[n] for uint8[n, length].

    template: a uint8 row with the CRC32C `crc`. columns: the only columns in which the rows differ from it.
    """
    checksums = np.full(len(rows), crc, np.uint32)
    length = rows.shape[1]
    for c in columns:
        differs = rows[:, c] ^ template[c]
        if differs.any():
            checksums ^= contributions(length - 1 - int(c))[differs]
    return checksums
