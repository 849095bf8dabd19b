"""The tests of this folder share their programs, and the gestures of the folder above."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
