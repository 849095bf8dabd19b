"""How much a randomised test does: little in every run of the tests, all of it in `make strangers`.

Such a test draws what it tries from a generator with a seed. `rounds(short, long)` is the number of draws; with
TFNB_STRANGERS=1 in the environment it is the second one. Invariant: both forms run the same code.
"""

from __future__ import annotations

import os

IS_LONG = os.environ.get("TFNB_STRANGERS", "") not in ("", "0")


def rounds(short: int, long: int) -> int:
    """Returns how often to try: `short` in the ordinary tests, `long` in `make strangers`."""
    return long if IS_LONG else short
