"""Makes this folder's own modules (cases, evaluate, building) importable by its tests, also under importlib
mode.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), *sorted({str(path.parent) for path in HERE.glob("*/cases_*.py")})]
