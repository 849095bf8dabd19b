"""Makes this folder's own modules (cases, evaluate, building) importable by its tests, also under importlib
mode.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
