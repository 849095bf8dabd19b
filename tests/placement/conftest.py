"""The random programs of the client's tests are those of the partitions too."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "client" / "control_flow")]
