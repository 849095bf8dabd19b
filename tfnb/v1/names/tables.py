"""What this house brings into the public namespace, read at the first look-up of a name.

Invariant: `NAMES` is what `scripts/public_names.py` writes from the definitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tfnb.v1.names import refused
from tfnb.v1.names.views import VIEWS

__all__ = ["NAMES", "REFUSED_NAMES", "REFUSED_PACKAGES", "VIEWS"]

NAMES = Path(__file__).with_name("public_names.txt").read_text(encoding="utf-8")
REFUSED_PACKAGES = refused.PACKAGES
REFUSED_NAMES: Mapping[str, str] = {**refused.LATER_NAMES, **refused.NAMES}
